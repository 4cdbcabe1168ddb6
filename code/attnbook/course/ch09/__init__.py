"""Chapter 9, the Transformer: its page and its laboratory."""
