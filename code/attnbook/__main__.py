"""``python -m attnbook``: the same as the command ``attnbook``."""

import sys


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: With its exit code; 130 after Ctrl-C.
    """
    try:  # to import PyTorch takes seconds, in which Ctrl-C may come, too
        from attnbook.translation import command_line
    except KeyboardInterrupt:
        sys.exit(130)
    command_line.main()


if __name__ == "__main__":
    main()
