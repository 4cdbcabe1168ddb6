"""Chapter 2, Bahdanau attention: its page and its laboratory."""
