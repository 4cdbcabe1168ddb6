"""Appendix A3, a cache that stops growing: its page."""
