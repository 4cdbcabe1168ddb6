"""The figures and tables of each chapter, drawn from runs and stored results."""
