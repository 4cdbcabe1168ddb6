"""Chapter 5, multi-head attention: its page and its laboratory."""
