"""``python -m attnbook``: the same as the command ``attnbook``."""

from attnbook.command_line import main

main()
