"""Chapter 7, positions: its page and its laboratory."""
