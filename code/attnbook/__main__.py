"""``python -m attnbook``: the same as the command ``attnbook``."""

from attnbook.translation.command_line import main

main()
