"""Chapter 3, Luong attention: its page and its laboratory."""
