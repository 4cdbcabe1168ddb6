"""The command ``attnbook``, with ``train`` and ``translate`` under it.

It is made with click, which suggests the nearest name for one that is mistyped.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from attnbook.translation.distributed import is_first
from attnbook.translation.train_command import train_command
from attnbook.translation.translate_command import translate_command

EXAMPLES = """\b
Examples:
  attnbook translate "A dog runs through the snow."
  attnbook train --config toy
  attnbook train --help
"""


class Commands(click.Group):
    """Commands whose wrong values are told in one line, with the exit code 2."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except ValueError as error:
            refusal = click.ClickException(str(error))
            refusal.exit_code = 2
            raise refusal from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command by its name; a text instead of a name gets a hint."""
        if len(args[0].split()) > 1:
            text = shlex.quote(args[0])
            ctx.fail(f"This is no command. Did you mean: attnbook translate {text}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    commands=[train_command, translate_command],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXAMPLES,
)
@click.version_option(package_name="attnbook")
def attnbook() -> None:
    """Train a Transformer that translates, or translate with it.

    The package of the course "Attention, Step by Step". It comes with a translator from
    English to German, trained on captions of photographs.
    """


def show(error: click.ClickException) -> None:
    """Tell an error once, though several processes of ``torchrun`` may have it.

    The first one tells it. What the others write for torchrun stands at the end of its
    own report.
    """
    if is_first():
        error.show()
    if file := os.environ.get("TORCHELASTIC_ERROR_FILE"):
        text, now = error.format_message(), int(time.time())
        told = {"message": text, "extraInfo": {"py_callstack": text, "timestamp": now}}
        Path(file).write_text(json.dumps({"message": told}), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Args:
        arguments: By default those of the program.

    Raises:
        SystemExit: With the code 2 if something is wrong, and with 130 after Ctrl-C.
    """
    try:
        attnbook.main(arguments, prog_name="attnbook", standalone_mode=False)
    except click.ClickException as error:
        show(error)
        sys.exit(error.exit_code)
    except click.Abort:  # Ctrl-C, before a command had words of its own for it
        click.echo("stopped", err=True)
        sys.exit(130)
