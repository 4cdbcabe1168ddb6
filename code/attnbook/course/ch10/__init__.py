"""Chapter 10, decoding: its page and its laboratory."""
