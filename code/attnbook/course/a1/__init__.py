"""Appendix A1, one block and three models: its page."""
