"""`interlingua completion`: the script with which a shell completes commands, and the values that
it offers: formats, models, sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
MOST = 50
"""Sessions that are offered."""
HOW = {
    "bash": 'eval "$(interlingua completion bash)"        # in ~/.bashrc',
    "zsh": 'eval "$(interlingua completion zsh)"         # in ~/.zshrc, after compinit',
    "fish": "interlingua completion fish | source        # in ~/.config/fish/config.fish",
}
Offer = Callable[[str], "list[CompletionItem]"]


@click.command(
    "completion",
    help="Print the script that completes commands, options, formats, models and sessions.",
    epilog="\b\nTo switch it on:\n" + "\n".join(f"  {line}" for line in HOW.values()),
)
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    from click.shell_completion import get_completion_class

    from interlingua.cli.main import COMPLETING, commands

    complete = get_completion_class(shell)
    assert complete is not None  # by the choice above
    click.echo(complete(commands(), {}, "interlingua", COMPLETING).source())


def formats(text: str) -> list[CompletionItem]:
    """Formats of `convert`: dialects, views, rows and, to read, transcripts."""
    from interlingua.adapt.formats import names
    from interlingua.adapt.presets import PRESETS
    from interlingua.dialects.registry import ALIASES, dialect, dialects
    from interlingua.transcripts import formats as transcript_formats

    known = dict.fromkeys([*names(), *ALIASES, *PRESETS, *transcript_formats()], "")
    titles = {name: dialect(name).title for name in dialects()}
    return _items({**known, **titles}.items(), text)


def transcripts(text: str) -> list[CompletionItem]:
    """Formats of transcripts."""
    from interlingua.transcripts import formats as transcript_formats

    return _items(((name, "") for name in transcript_formats()), text)


def models(text: str) -> list[CompletionItem]:
    """Aliases of models, and their ids once a part of one is typed."""
    from interlingua.profiles.capabilities import known_models
    from interlingua.profiles.resolving import aliases

    ids = known_models() if text else []
    names = dict.fromkeys(each for id in ids for each in (id.partition(":")[2], id))
    return _items([*aliases().items(), *((name, "") for name in names)], text)


def sessions(text: str) -> list[CompletionItem]:
    """The last sessions of the store, with their names."""
    from interlingua.cli.stores import opened
    from interlingua.errors import InterlinguaError

    try:
        with opened(None) as store:
            rows = store.sessions(MOST)
    except (InterlinguaError, OSError):
        return []
    return _items(((row.id, row.name or "") for row in rows), text)


def agent_sessions(text: str) -> list[CompletionItem]:
    """The last sessions of agents on this machine, and files."""
    from interlingua.transcripts.sessions import here

    found = [(each.id or "", each.format) for each in here()[:MOST]]
    return _items([("latest", "the last changed"), *found], text) or _files()


def _files() -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem("", type="file")]


def _items(pairs: Iterable[tuple[str, str]], text: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(value, help=help or None)
        for value, help in pairs
        if value and value.startswith(text)
    ]


OPTIONS: dict[str, Offer] = {
    "--to": formats,
    "--from": formats,
    "--model": models,
    "--resume": sessions,
    "--in": transcripts,
}
ARGUMENTS: dict[str, Offer] = {"session": agent_sessions, "id": sessions, "ids": sessions}
"""What completes the values of options and arguments of these names."""
WITHOUT_SESSIONS = ("keys", "users", "teams", "requests")
"""Commands whose ids are not those of sessions."""


def attach(command: click.Command) -> None:
    """Have the values of a command's options and arguments completed."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            if command.name not in WITHOUT_SESSIONS:
                attach(inner)
    for param in command.params:
        names = (param.name or "",) if isinstance(param, click.Argument) else param.opts
        known = ARGUMENTS if isinstance(param, click.Argument) else OPTIONS
        offer = next((known[name] for name in names if name in known), None)
        if offer is not None and command.name not in WITHOUT_SESSIONS:
            _complete(param, offer)


def _complete(param: click.Parameter, offer: Offer) -> None:
    def complete(context: click.Context, text: str) -> list[CompletionItem]:
        return offer(text)

    param.shell_complete = complete  # type: ignore[method-assign,assignment]  # click asks the parameter
