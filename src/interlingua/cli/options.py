"""Options that several commands have, and their types; and 'interlingua completion', the script
with which a shell completes commands, with the values that it offers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from interlingua import config
from interlingua.cli.main import require_command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    _Type = click.ParamType[datetime]
else:  # generic for type checkers only in the oldest versions that we take
    _Type = click.ParamType


F = TypeVar("F", bound=Callable[..., object])

_AGO = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class Moment(_Type):
    """A moment in UTC. A day alone is its beginning, or with `end` the beginning of the next."""

    name = "time"

    def __init__(self, end: bool = False) -> None:
        self.end = end

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if ago := _AGO.fullmatch(text):
                return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            if self.end and len(text) == len("2026-11-16"):
                moment += timedelta(days=1)
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            expected = "a day (2026-11-16), a time (2026-11-16T08:30, in UTC), or 12h, 7d, 4w ago"
            self.fail(f"expected {expected}, found {text!r}", param, context)


class Group(click.Group):
    """Commands; an unknown name is answered with the nearest one."""

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        require_command(context, args, self.list_commands(context))
        return super().resolve_command(context, args)


STORE_SOURCE = "interlingua.store_source"
"""In the context's `meta`: the settings that named the store of a command."""
_CONFIG = "interlingua.gateway_config"


def _note_config(context: click.Context, _: click.Parameter, file: Path | None) -> Path | None:
    context.meta[_CONFIG] = file
    return file


def _resolve_store(context: click.Context, _: click.Parameter, address: str | None) -> str | None:
    """The store of a command: `--store`, `INTERLINGUA_STORE`, then the gateway's settings."""
    if address is not None:
        return address
    if config.store_address():
        return None
    file = context.meta.get(_CONFIG) or config.gateway_path()
    if (named := config.gateway_store(file)) is not None:
        context.meta[STORE_SOURCE] = str(file)
    return named


def gateway_file() -> Path | None:
    """The gateway's settings of a command, or the default ones if they exist."""
    context = click.get_current_context(silent=True)
    named = None if context is None else context.meta.get(_CONFIG)
    usual = config.gateway_path()
    return named or (usual if usual.is_file() else None)


def config_option(
    help: str = "The gateway's settings, which may name the store; default: gateway.toml.",
    expose: bool = True,
) -> Callable[[F], F]:
    """`--config`: the gateway's settings, whose store the command uses."""
    return click.option(
        "--config",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        is_eager=True,
        callback=_note_config,
        expose_value=expose,
        help=help,
    )


bare_store_option: Callable[[F], F] = click.option(
    "--store",
    "address",
    metavar="URL",
    callback=_resolve_store,
    help="A file, sqlite:///path or postgresql://…; default: INTERLINGUA_STORE, the store of"
    " gateway.toml, or your own file.",
)
"""`--store` for commands that use the gateway's settings themselves, and have `config_option`."""


def store_option(command: F) -> F:
    """`--store`, and `--config` for the settings that may name it."""
    return bare_store_option(config_option(expose=False)(command))


json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)
since_option: Callable[[F], F] = click.option(
    "--since", type=Moment(), help="From this day or time on; 7d is seven days ago."
)
until_option: Callable[[F], F] = click.option(
    "--until", type=Moment(end=True), help="Up to the end of this day, or up to this time."
)
strict_option: Callable[[F], F] = click.option(
    "--strict", is_flag=True, help="Exit with code 3 if anything is lost."
)


def own_name(context: click.Context, param: click.Parameter, value: str) -> str:
    """A format by its own name, where an alias or a provider was named."""
    from interlingua.adapt.formats import format_named

    return value and format_named(value).name


source_option: Callable[[F], F] = click.option(
    *("-f", "--from", "source"),
    default="auto",
    callback=own_name,
    help="The source format; default: detected.",
)
kind_option: Callable[[F], F] = click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="What the data is; default: detected.",
)
home_option: Callable[[F], F] = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The home folder in which the agents keep their files; default: yours.",
)


def from_option(help: str, many: bool = False) -> Callable[[F], F]:
    """`--from`: a format of transcripts, or several."""
    name = "formats" if many else "format"
    return click.option("--from", name, metavar="FORMAT", multiple=many, help=help)


def redact_options(command: F) -> F:
    """`--redact`, and `--pattern` for the user's own patterns."""
    pattern = click.option(
        "--pattern",
        "patterns",
        multiple=True,
        metavar="[NAME=]REGEX",
        help="With --redact: also remove this pattern; repeatable.",
    )
    redact = click.option(
        "--redact", is_flag=True, help="Remove keys, addresses and home folders, and report them."
    )
    return redact(pattern(command))


def limit_option(default: int, least: int = 1) -> Callable[[F], F]:
    """`--limit`: how many rows are shown."""
    return click.option(
        "--limit",
        type=click.IntRange(least),
        default=default,
        show_default=True,
        help="Maximum number to show.",
    )


def report_options(command: F) -> F:
    """`--report` and `--strict`, for commands that may lose something."""
    report = click.option(
        "--report", type=click.Path(dir_okay=False), help="Write the losses to a file, as JSON."
    )
    return report(strict_option(command))


def input_options(command: F) -> F:
    """Files to look at, their format and their kind."""
    files = click.argument(
        "files", nargs=-1, type=click.Path(exists=True, allow_dash=True), metavar="[FILE]..."
    )
    lines = click.option("--lines", is_flag=True, help="Treat each line as one conversation.")
    return files(source_option(kind_option(lines(command))))


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
    script = complete(commands(), {}, "interlingua", COMPLETING).source()
    click.echo(_with_colons(script) if shell == "bash" else script)


_JOINED = """    local words=() word prefix=
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        if [[ ${#words[@]} -gt 0 && ( $word == :* || ${words[-1]} == *: ) ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
    done
    if [[ ${words[-1]} == *:* && $COMP_WORDBREAKS == *:* ]]; then
        prefix=${words[-1]%"${words[-1]##*:}"}
    fi
    response=$(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) """


def _with_colons(script: str) -> str:
    """The script for bash, which splits words at colons: joins `anthropic:claude…` again."""
    start = '    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD '
    script = script.replace(start, _JOINED)
    return script.replace("COMPREPLY+=($value)", 'COMPREPLY+=("${value#"$prefix"}")')


def formats(text: str, *more: str) -> list[CompletionItem]:
    """Formats of `convert`: dialects, views and rows under all their names."""
    from interlingua.adapt.formats import names
    from interlingua.adapt.presets import PRESETS
    from interlingua.dialects.registry import ALIASES, dialect, dialects

    known = dict.fromkeys([*names(), *ALIASES, *PRESETS, *more], "")
    titles = {name: dialect(name).title for name in dialects()}
    return _items({**known, **titles}.items(), text)


def dialects(text: str) -> list[CompletionItem]:
    """Dialects under all their names."""
    from interlingua.dialects.registry import ALIASES, dialect, dialects

    titles = {name: dialect(name).title for name in dialects()}
    return _items({**titles, **dict.fromkeys(ALIASES, "")}.items(), text)


def transcripts(text: str) -> list[CompletionItem]:
    """Formats of transcripts."""
    from interlingua.transcripts import formats as transcript_formats

    return _items(((name, "") for name in transcript_formats()), text)


def readable(text: str) -> list[CompletionItem]:
    """All formats that a file can have."""
    from interlingua.transcripts import formats as transcript_formats

    return formats(text, *transcript_formats())


def exports(text: str) -> list[CompletionItem]:
    """Formats that a session of the store is written in."""
    from interlingua.cli.export import targets, transcript_targets

    written = [*targets(), *transcript_targets()]
    return [each for each in formats(text, *written) if _is_written(each.value, written)]


def written(text: str) -> list[CompletionItem]:
    """Formats that a session of an agent is written in."""
    from interlingua.cli.export import targets
    from interlingua.transcripts import formats as transcript_formats

    written = [*targets(), *transcript_formats()]
    return [each for each in formats(text, *written) if _is_written(each.value, written)]


def _is_written(name: str, known: list[str]) -> bool:
    from interlingua.adapt.formats import format_named

    return format_named(name).name in known


def tools(text: str) -> list[CompletionItem]:
    """Agents that go on with a session."""
    from interlingua.cli.resume import CHAT
    from interlingua.transcripts.sessions import agents

    return _items(((name, "") for name in (*agents(), CHAT)), text)


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
    "--to": exports,
    "--from": transcripts,
    "--model": models,
    "--resume": sessions,
    "--in": tools,
}
OF_COMMANDS: dict[tuple[str, str], Offer] = {
    ("check", "--from"): dialects,
    ("convert", "--from"): readable,
    ("convert", "--to"): formats,
    ("dialects", "--from"): dialects,
    ("dialects", "--to"): dialects,
    ("import", "--from"): readable,
    ("inspect", "--from"): formats,
    ("transcripts convert", "--to"): written,
}
"""Completions of options whose values differ from those of most commands."""
ARGUMENTS: dict[str, Offer] = {"session": agent_sessions, "id": sessions, "ids": sessions}
"""Completions of options and arguments, by name."""
WITHOUT_SESSIONS = ("keys", "users", "teams", "requests")
"""Commands whose ids are not those of sessions."""


def attach(command: click.Command, of: str = "") -> None:
    """Attach completions to a command's parameters; `of` is its group."""
    path = f"{of} {command.name}".lstrip()
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            if command.name not in WITHOUT_SESSIONS:
                attach(inner, path)
    for param in command.params:
        names = (param.name or "",) if isinstance(param, click.Argument) else param.opts
        known = ARGUMENTS if isinstance(param, click.Argument) else OPTIONS
        known = known | {name: offer for (at, name), offer in OF_COMMANDS.items() if at == path}
        offer = next((known[name] for name in names if name in known), None)
        has_own = isinstance(param.type, click.Choice) or command.name in WITHOUT_SESSIONS
        if offer is not None and not has_own:
            _complete(param, offer)


def _complete(param: click.Parameter, offer: Offer) -> None:
    def complete(context: click.Context, text: str) -> list[CompletionItem]:
        return offer(text)

    param.shell_complete = complete  # type: ignore[method-assign,assignment]  # click asks the parameter
