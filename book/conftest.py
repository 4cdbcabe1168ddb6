"""Where nbval compares the notebooks: stills of the explorers, and the CPU."""

import os

os.environ["ATTNBOOK_STILL"] = "1"
os.environ["ATTNBOOK_DEVICE"] = "cpu"
