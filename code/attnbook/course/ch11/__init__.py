"""Chapter 11, why self-attention: its page and its laboratory."""
