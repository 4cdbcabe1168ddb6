"""Chapter 8, the layers of a Transformer: its page and its laboratory."""
