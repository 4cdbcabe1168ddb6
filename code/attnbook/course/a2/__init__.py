"""Appendix A2, today's block: its page."""
