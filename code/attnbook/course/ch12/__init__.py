"""Chapter 12, training on captions: its page and its laboratory."""
