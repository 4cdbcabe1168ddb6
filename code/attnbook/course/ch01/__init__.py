"""Chapter 1, RNN seq2seq: its page and its laboratory."""
