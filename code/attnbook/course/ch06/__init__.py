"""Chapter 6, masks: its page and its laboratory."""
