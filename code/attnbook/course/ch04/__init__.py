"""Chapter 4, scaled dot-product attention: its page and its laboratory."""
