"""The command `interlingua`. Each subcommand is a module of its own, loaded when it is called.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 input that cannot be
read, 2 wrong usage, 3 losses under `--strict`, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from errno import EPIPE
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from interlingua.errors import InterlinguaError, MissingExtraError

if TYPE_CHECKING:
    import click

GROUPS: dict[str, dict[str, str]] = {
    "Convert": {
        "convert": "Convert conversations from one format to another.",
        "inspect": "Show conversations in any format.",
        "check": "Check that files survive a round trip: reading and writing them again.",
        "dialects": "List the formats and what survives between them.",
        "almanac": "List every field, literal, endpoint and model rule, with sources.",
        "schema": "Print the JSON Schema of the canonical types.",
        "demo": "Show a conversion of the bundled example.",
    },
    "Talk to models": {
        "chat": "Chat with a model; with a question, answer it and exit.",
        "models": "List models with capabilities and prices.",
        "rules": "Check or show the rules that choose a model.",
    },
    "Sessions and agents": {
        "sessions": "List, show, search, fork, export and delete sessions.",
        "transcripts": "List, show, search and convert the sessions of other agents.",
        "resume": "Continue a session in another tool.",
        "import": "Import requests, responses, transcripts or exports as sessions.",
        "export": "Export sessions to a file, for import elsewhere or for sending.",
    },
    "Spending": {
        "cost": "Show spending by session, model, day, user, team or key.",
        "reprice": "Recompute the cost of stored messages with another price table.",
        "prices": "Refresh the prices of models.",
    },
    "Gateway": {
        "serve": "Run the gateway, which connects any official SDK to any provider.",
        "requests": "Show the gateway's request log: list, follow, show one.",
        "keys": "Issue, list, change, rotate and revoke keys of the gateway.",
        "users": "Manage the users of keys and their caps.",
        "teams": "Manage teams of keys and their caps.",
        "budgets": "Cap the spending on models, tags and end users.",
        "maintain": "Delete old rows of the gateway's log and trace now.",
        "backup": "Copy the whole store into a file, while it is in use.",
        "restore": "Copy a backup into an empty store, also into PostgreSQL.",
    },
    "Shell": {
        "completion": "Print the script that completes commands in bash, zsh or fish.",
    },
}
COMMANDS: dict[str, str] = {name: help for group in GROUPS.values() for name, help in group.items()}
HELP = """Converts conversations between the formats of LLM providers and reports every loss. Chats
with models, stores sessions, and runs a gateway."""
EPILOG = """\b
What to do next:
  interlingua chat "How do whales sleep?"    ask a model on this machine; no key needed
  interlingua convert FILE --to anthropic    convert a request or a response to another format
  interlingua serve                          connect any SDK to any provider
  interlingua demo                           see a conversion first

`interlingua COMMAND --help` says more."""
MODULES = {
    "import": "importing",
    "users": "keys",
    "teams": "keys",
    "reprice": "cost",
    "maintain": "serve",
    "restore": "backup",
    "rules": "models",
    "check": "inspect",
    "schema": "demo",
    "dialects": "demo",
    "completion": "options",
}
"""The modules of commands that have another name."""


COMPLETING = "_INTERLINGUA_COMPLETE"
"""The variable with which a shell asks for completions."""
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def main() -> None:
    """The entry point; expected errors are one line, not a traceback."""
    try:
        import click  # noqa: F401  # tried here, used below

        group = commands()
    except ImportError:
        sys.exit(f"interlingua: {MissingExtraError('the command line', 'cli')}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    group.main(prog_name="interlingua", standalone_mode=True)


def module_of(name: str) -> ModuleType:
    """The module of a command."""
    return import_module(f"interlingua.cli.{MODULES.get(name, name)}")


def command_of(name: str) -> click.Command:
    """A command: `<name>_command` of its module, else `command`."""
    module = module_of(name)
    command: click.Command = getattr(module, f"{name}_command", None) or module.command
    if COMPLETING in os.environ:
        from interlingua.cli.options import attach

        attach(command)
    return command


def require_command(context: click.Context, args: list[str], names: Sequence[str]) -> None:
    """Refuse an unknown command with the nearest name."""
    if args and args[0] not in names and not args[0].startswith("-"):
        context.fail(unknown("command", args[0], names, listed=False))


def write_groups(formatter: Any) -> None:
    """The commands in groups, their descriptions in one column."""
    longest = max(map(len, COMMANDS))
    for title, group in GROUPS.items():
        with formatter.section(title):
            formatter.write_dl([(name.ljust(longest), help) for name, help in group.items()])


def commands() -> click.Group:
    """All commands. Their modules are loaded on demand."""
    import click

    from interlingua import __version__

    class Commands(click.Group):
        """Knows all names, and loads a command's module on demand."""

        def list_commands(self, context: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, context: click.Context, name: str) -> click.Command | None:
            return command_of(name) if name in COMMANDS else None

        def resolve_command(self, context: click.Context, args: list[str]) -> Any:
            require_command(context, args, list(COMMANDS))
            return super().resolve_command(context, args)

        def format_commands(self, context: click.Context, formatter: Any) -> None:
            write_groups(formatter)

        def invoke(self, context: click.Context) -> Any:
            try:
                return super().invoke(context)
            except (InterlinguaError, OSError) as error:
                if getattr(error, "errno", None) == EPIPE:
                    raise  # the reader has gone, which is not an error
                from interlingua.cli.terminal import complain

                complain(f"interlingua: {for_commands(problem_of(error))}")
                context.exit(1)
            except KeyboardInterrupt:
                click.echo("interlingua: interrupted; run the same command again", err=True)
                context.exit(INTERRUPTED)

    group = Commands("interlingua", help=HELP, epilog=EPILOG)
    click.version_option(__version__, package_name="interlingua")(group)
    return group


def unknown(what: str, name: str, known: Sequence[str], listed: bool = True) -> str:
    """An error for a name that is not known: the nearest one first, then all."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    if not listed:
        hint = f"; did you mean {near[0]!r}?" if near else "; --help lists all of them"
        return f"unknown {what} {name!r}{hint}"
    hint = f"; did you mean {near[0]!r}? Choose" if near else "; choose"
    return f"unknown {what} {name!r}{hint} one of {', '.join(known)}"


def problem_of(error: InterlinguaError | OSError) -> str:
    """The error in one line; for an unusable file, with its name."""
    if isinstance(error, InterlinguaError) or error.strerror is None:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def put(data: bytes | memoryview) -> None:
    """Writes data unchanged to a file or a pipe. For a terminal, control characters are escaped
    as in JSON."""
    if sys.stdout.isatty():
        from interlingua.cli.terminal import put as put_harmless

        put_harmless(bytes(data))
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def for_commands(text: str) -> str:
    """A report in which remedies are options of commands and not arguments of functions."""
    return re.sub(r"pass (model|source)=(?:'([^']*)')?", _as_option, shown(text))


def _as_option(found: re.Match[str]) -> str:
    option = {"model": "-m", "source": "--from"}[found[1]]
    return f"use {option} {found[2] or ''}".rstrip()


def shown(text: str) -> str:
    """Text for a terminal, with control and direction characters escaped, so that no message can
    move the cursor or reverse a line."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )
