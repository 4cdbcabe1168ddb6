"""Appendix A3, long and cheap: its page."""
