"""The front page: its pictures, and what the reader's own file will hold."""
