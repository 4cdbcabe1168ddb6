"""``attnbook train …`` and ``attnbook translate …``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from attnbook.translation import train_command, translate_command

COMMANDS = {"train": train_command.main, "translate": translate_command.main}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command named by the first argument.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: If there is no such command.
    """
    name, *rest = list(sys.argv[1:] if arguments is None else arguments) or [""]
    if name not in COMMANDS:
        usage = f"usage: attnbook {{{','.join(COMMANDS)}}} …; --help after either"
        asked = name in ("-h", "--help")
        print(usage, file=sys.stdout if asked else sys.stderr)
        sys.exit(0 if asked else 2)
    COMMANDS[name](rest)
