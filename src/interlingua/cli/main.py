"""The command `interlingua`. Each subcommand is a module of its own, loaded when it is called.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 input that cannot be
read, 2 wrong usage, 3 losses under `--strict`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from interlingua.errors import InterlinguaError, MissingExtraError

COMMANDS: dict[str, str] = {
    "convert": "Say a conversation of one format in another.",
    "inspect": "Show a conversation, whatever format it is in.",
    "check": "Run the laws on a file of your own.",
    "dialects": "The formats, and what each can say.",
    "demo": "Show a conversion, with the example that is shipped.",
    "schema": "The JSON Schema of the canonical types.",
}


def main() -> None:
    """The entry point; what goes wrong on purpose is one line, not a traceback."""
    try:
        import click
    except ImportError:
        sys.exit(f"interlingua: {MissingExtraError('the command line', 'cli')}")

    class Commands(click.Group):
        """Knows all names, and loads a command's module when it is asked for."""

        def list_commands(self, context: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, context: click.Context, name: str) -> click.Command | None:
            if name not in COMMANDS:
                return None
            module = import_module(f"interlingua.cli.{name}")
            command: click.Command = module.command
            return command

        def format_commands(self, context: click.Context, formatter: Any) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(COMMANDS.items()))

    from interlingua import __version__

    group = Commands("interlingua", help=__doc__.split("\n", 1)[0] if __doc__ else None)
    click.version_option(__version__, package_name="interlingua")(group)
    try:
        group.main(prog_name="interlingua", standalone_mode=True)
    except InterlinguaError as odd:
        click.echo(f"interlingua: {shown(str(odd))}", err=True)
        sys.exit(1)


def shown(text: str) -> str:
    """Text for a terminal: control and direction characters as escapes, so that no message can
    move the cursor or turn a line around."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
