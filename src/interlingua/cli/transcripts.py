"""`interlingua transcripts`: the sessions of the agents on this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from interlingua import config
from interlingua.cli.main import shown, unknown
from interlingua.cli.options import (
    Group,
    Moment,
    from_option,
    home_option,
    json_option,
    limit_option,
    own_name,
    redact_options,
    report_options,
    since_option,
)
from interlingua.cli.resume import SESSION, complain_of_losses, known_format, pick_session
from interlingua.cli.terminal import (
    Column,
    cell,
    complain,
    minute,
    on_terminal,
    plural,
    progress,
    put,
    put_json,
    show_table,
    spent,
)
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.transcripts.exports import clipped, head, labelled_text
from interlingua.transcripts.transcript import title_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlingua.cli.export import Hiding
    from interlingua.transcripts import Found, Made, Skipped, Transcript
    from interlingua.transcripts.sessions import Hit
    from interlingua.transcripts.transcript import Overview


COLOURS = {"user": "green", "assistant": "cyan", "tool": "yellow"}
_FOLDED = 72
"""Characters of a call's input that are shown."""


def paged(lines: Iterable[str], no_pager: bool) -> None:
    """To a terminal page by page, elsewhere all at once and without colours."""
    if on_terminal() and not no_pager:
        click.echo_via_pager(f"{line}\n" for line in lines)
        return
    for line in lines:
        click.echo(line if on_terminal() else click.unstyle(line))


def lines_of(transcript: Transcript, first: int, full: bool, tools: bool) -> Iterator[str]:
    """The session from its message at `first` on."""
    yield from _title(transcript)
    if first:
        yield from ("", click.style(f"({plural(first, 'earlier message')})", dim=True))
    results = {} if tools else _results(transcript.messages)
    folded = {id(block) for block in results.values()}
    compacted = {each.at for each in transcript.compactions}
    for at, message in enumerate(transcript.messages[first:], first):
        if at in compacted:
            yield from ("", click.style("── summary of the messages above ──", dim=True))
        if message.content and all(id(block) in folded for block in message.content):
            continue
        yield from _message(at + 1, message, full, None if tools else results)
    for helper in transcript.subagents:
        about = (
            f"helper {helper.transcript.id}: {plural(len(helper.transcript.messages), 'message')}"
        )
        yield from ("", click.style(cell(about), dim=True))


def _title(transcript: Transcript) -> Iterator[str]:
    title = transcript.title or title_of(transcript.messages) or transcript.id
    yield click.style(cell(title or ""), bold=True)
    facts = [transcript.format, transcript.id or "", plural(len(transcript.messages), "message")]
    facts += [", ".join(transcript.models)]
    if transcript.created_at is not None:
        facts.append(f"started {minute(transcript.created_at)}")
    if transcript.updated_at is not None:
        facts.append(f"changed {minute(transcript.updated_at)} UTC")
    yield click.style(cell(" · ".join(fact for fact in facts if fact)), dim=True)
    if transcript.folder:
        yield click.style(cell(transcript.folder), dim=True)
    if len(transcript.branches) > 1:
        active = [number for number, each in enumerate(transcript.branches, 1) if each.active]
        which = f"; this is {active[0]}" if active else ""
        text = f"{len(transcript.branches)} branches{which} (--branch shows another)"
        yield click.style(text, dim=True)


def _results(messages: Iterable[Message]) -> dict[str, ToolResultBlock]:
    """By call: the first result that is alone in its message."""
    found: dict[str, ToolResultBlock] = {}
    for message in messages:
        only = message.content[0] if len(message.content) == 1 else None
        if message.role is Role.TOOL and isinstance(only, ToolResultBlock):
            found.setdefault(only.tool_use_id, only)
    return found


def _message(
    number: int, message: Message, full: bool, results: dict[str, ToolResultBlock] | None
) -> Iterator[str]:
    role = message.role.value
    known = head(message)
    yield ""
    line = f"[{number}] {role}{cell(f' · {known}' if known else '')}"
    yield click.style(line, fg=COLOURS.get(role), bold=True)
    for block in message.content:
        if results is not None and isinstance(block, ToolUseBlock):
            yield click.style(f"    {_folded(block, results.get(block.id))}", dim=True)
            continue
        label, text, _ = labelled_text(block)
        label = f"[{label}] " if label else ""
        for each in f"{label}{shown(clipped(text, full))}".split("\n"):
            yield click.style(f"    {each}", dim=bool(label)) if each else ""


def _folded(call: ToolUseBlock, result: ToolResultBlock | None) -> str:
    """A call and its outcome on one line."""
    arguments = " ".join(labelled_text(call).text.split())
    arguments = arguments if len(arguments) <= _FOLDED else f"{arguments[: _FOLDED - 1]}…"
    return f"▸ {cell(call.name)} {shown(arguments)} → {_outcome(result)}"


def _outcome(result: ToolResultBlock | None) -> str:
    if result is None:
        return "no result"
    text = labelled_text(result).text
    size = f"{plural(text.count(chr(10)) + 1, 'line')}, {plural(len(text), 'character')}"
    return f"an error, {size}" if result.is_error else size


_MEMBERS = (
    *("format", "id", "title", "folder", "path", "created_at", "updated_at", "messages"),
    *("models", "cost_usd", "unpriced", "parent", "skipped"),
)
"""The keys of each session in `list --json`."""
FEW = 20
"""Sessions that a terminal shows by default."""


@click.group(
    "transcripts", cls=Group, help="List, show, search and convert the sessions of other agents."
)
def command() -> None:
    pass


class Row(NamedTuple):
    """One session of the list. `cost` is the known part of its cost, `unpriced` counts answers
    without a price."""

    found: Found
    overview: Overview
    changed: datetime
    models: list[str]
    cost: Decimal | None
    unpriced: int


@command.command(
    "list", help="List the sessions of all agents on this machine, most recently changed first."
)
@from_option("Only sessions of this agent; repeatable.", many=True)
@click.option(
    "--folder", type=click.Path(path_type=Path), help="Only sessions that worked in this folder."
)
@click.option("--title", help="Only sessions with this text in their title.")
@since_option
@click.option("--helpers", is_flag=True, help="Include sessions of sub-agents.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"Maximum number to show; {FEW} on a terminal, otherwise all.",
)
@click.option("--no-cache", is_flag=True, help="Read every file again instead of using the cache.")
@json_option
@home_option
def list_(
    formats: tuple[str, ...],
    folder: Path | None,
    title: str | None,
    since: datetime | None,
    helpers: bool,
    limit: int | None,
    no_cache: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    skipped: list[Skipped] = []
    found = _found(home, formats, since, skipped)
    cache = None if no_cache else config.cache_folder() / "transcripts"
    rows = [
        row
        for row in _rows(found, cache, skipped)
        if (helpers or row.overview.parent is None)
        and (folder is None or _is_in(row.overview.folder, folder))
        and (title is None or title.lower() in (row.overview.title or "").lower())
        and (since is None or row.changed >= since)
    ]
    rows.sort(key=lambda row: row.changed, reverse=True)
    most = limit or (FEW if on_terminal() and not as_json else len(rows))
    if as_json:
        put_json([*map(_row_dict, rows[:most]), *map(_passed_over, skipped)])
    elif not rows:
        click.echo("There are no sessions.", err=True)
    else:
        _show_list(rows[:most])
        if len(rows) > most:
            click.echo(f"There are {len(rows) - most:,} more; show them with --limit.", err=True)


def _found(
    home: Path | None, formats: tuple[str, ...], since: datetime | None, skipped: list[Skipped]
) -> list[Found]:
    """The sessions; prints what was skipped."""
    from interlingua.transcripts.sessions import here

    for name in formats:
        known_format(name, "--from")
    found = here(home, formats, skipped, named=False)
    for one in skipped:
        complain(str(one))
    if since is None:
        return found
    return [each for each in found if (each.updated_at or 0.0) >= since.timestamp()]


def _rows(found: list[Found], cache: Path | None, skipped: list[Skipped]) -> Iterator[Row]:
    """Overviews of the sessions; errors of unreadable ones are printed."""
    from interlingua.transcripts import Skipped
    from interlingua.transcripts.prices import Prices
    from interlingua.transcripts.sessions import Overviews, changed, overviews

    known = Overviews(Prices(), cache)
    sizes = [_size(each) for each in found]
    with progress("looking", sum(sizes)) as done:
        for (each, priced), size in zip(overviews(found, known.of), sizes, strict=True):
            done(size)
            if isinstance(priced, str):
                skipped.append(Skipped(each.format, each.path, priced))
                complain(priced)
                continue
            time = datetime.fromtimestamp(changed(priced.overview, each), UTC)
            yield Row(each, priced.overview, time, priced.models, priced.cost, priced.unpriced)


def _size(found: Found) -> int:
    try:
        return found.path.stat().st_size
    except OSError:
        return 0


def _is_in(folder: str | None, parent: Path) -> bool:
    if folder is None:
        return False
    return Path(folder).is_relative_to(parent.expanduser().absolute())


def _row_dict(row: Row) -> dict[str, Any]:
    from interlingua.transcripts.values import encodable

    overview = row.overview
    return {
        "format": row.found.format,
        "id": overview.id or row.found.id,
        "title": overview.title,
        "folder": overview.folder,
        "path": encodable(str(row.found.path)),
        "created_at": overview.created_at,
        "updated_at": row.changed,
        "messages": overview.messages,
        "models": row.models,
        "cost_usd": row.cost,
        "unpriced": row.unpriced,
        "parent": overview.parent,
        "skipped": None,
    }


def _passed_over(skipped: Skipped) -> dict[str, Any]:
    """A row with the same keys for a session that was skipped, with the reason."""
    from interlingua.transcripts.values import encodable

    about = {"format": skipped.format, "path": encodable(str(skipped.path))}
    return {**dict.fromkeys(_MEMBERS), **about, "skipped": encodable(skipped.reason)}


def _show_list(rows: list[Row]) -> None:
    columns = [
        Column("title", shrink=True),
        Column("agent", "green"),
        Column("id", "cyan"),
        Column("messages", right=True, wide=70),
        Column("cost", "green", right=True, wide=80),
        Column("changed (UTC)", "dim", wide=100),
        Column("folder", "dim", shrink=True, wide=120),
    ]
    show_table(columns, [_cells(row) for row in rows])


def _cells(row: Row) -> list[str]:
    id = row.overview.id or row.found.id or str(row.found.path)
    return [
        row.overview.title or "",
        row.found.format,
        id[:SHORT] if on_terminal() else id,
        f"{row.overview.messages:,}",
        _cost(row),
        minute(row.changed),
        row.overview.folder or "",
    ]


SHORT = 8
"""Characters of an id on a terminal; commands take the beginning of an id."""


def _cost(row: Row) -> str:
    if row.cost is None:
        return "?" if row.unpriced else ""
    return spent(round(row.cost, 4) if row.cost >= COARSE else row.cost, row.unpriced)


COARSE = Decimal("0.01")
"""From this amount on, four decimals are enough in a list."""


@command.command("show", help=f"Show the messages of a session. {SESSION}")
@click.argument("session")
@click.option("--limit", type=click.IntRange(1), help="Show only the last messages.")
@click.option("--full", is_flag=True, help="Show full texts instead of their beginnings.")
@click.option("--tools", is_flag=True, help="Show calls and results in full.")
@click.option("--branch", type=click.IntRange(1), help="Show another branch, by its number.")
@click.option("--no-pager", is_flag=True, help="Do not use a pager.")
@from_option("The format, if it is not clear.")
@json_option
@home_option
def show(
    session: str,
    limit: int | None,
    full: bool,
    tools: bool,
    branch: int | None,
    no_pager: bool,
    format: str | None,
    as_json: bool,
    home: Path | None,
) -> None:
    from interlingua.model.codec import dumps

    transcript = _opened(session, format, home)
    if branch is not None:
        if branch > len(transcript.branches):
            problem = f"there are {len(transcript.branches)}"
            raise click.BadParameter(problem, param_hint="--branch")
        messages = transcript.branches[branch - 1].messages
        transcript = transcript.replace(messages=messages, compactions=())
    first = max(len(transcript.messages) - limit, 0) if limit else 0
    if as_json:
        shown = [msgspec.Raw(dumps(message)) for message in transcript.messages[first:]]
        put_json({**_facts(transcript), "messages": shown})
        return
    paged(lines_of(transcript, first, full, tools), no_pager)


def _opened(session: str, format: str | None, home: Path | None) -> Transcript:
    from interlingua.transcripts.sessions import opened

    return opened(pick_session(session, home, format))


def _facts(transcript: Transcript) -> dict[str, Any]:
    return {
        "format": transcript.format,
        "id": transcript.id,
        "title": transcript.title,
        "folder": transcript.folder,
        "created_at": transcript.created_at,
        "updated_at": transcript.updated_at,
        "models": transcript.models,
        "usage": transcript.usage,
        "branches": len(transcript.branches),
        "compactions": [each.at for each in transcript.compactions],
        "subagents": [helper.transcript.id for helper in transcript.subagents],
        "losses": transcript.report.losses,
        "notes": transcript.report.notes,
    }


@command.command("search", help="Search for a text in the sessions of all agents.")
@click.argument("text")
@from_option("Only sessions of this agent; repeatable.", many=True)
@click.option("--since", type=Moment(), help="Only files changed since this day or time.")
@limit_option(100)
@json_option
@home_option
def search(
    text: str,
    formats: tuple[str, ...],
    since: datetime | None,
    limit: int,
    as_json: bool,
    home: Path | None,
) -> None:
    if not text.strip():
        raise click.BadParameter("the text to search for is empty", param_hint="TEXT")
    hits = _hits(_found(home, formats, since, []), text, limit)
    if as_json:
        put_json(hits)
    elif not hits:
        click.echo("No matches.", err=True)
    else:
        columns = [
            Column("agent", "green"),
            Column("session", "cyan"),
            Column("place", right=True),
            Column("role", "green", wide=70),
            Column("text", shrink=True),
        ]
        rows = [[h.format, h.session or h.path, h.place, h.role, h.text] for h in hits]
        show_table(columns, rows)
        if len(hits) >= limit:
            click.echo(f"The first {limit:,} matches; show more with --limit.", err=True)


def _hits(found: Sequence[Found], text: str, limit: int) -> list[Hit]:
    """At most so many; files that cannot be read are complained of."""
    from interlingua.transcripts.sessions import hits_in

    hits: list[Hit] = []
    with progress("searching", sum(_size(each) for each in found)) as done:
        for each in found:
            for hit in hits_in(each, text):
                if isinstance(hit, str):
                    complain(hit)
                else:
                    hits.append(hit)
                if len(hits) >= limit:
                    return hits
            done(_size(each))
    return hits


@command.command("convert", help=f"Convert a session to another format. {SESSION}")
@click.argument("session")
@click.option(
    "--to",
    "target",
    required=True,
    callback=own_name,
    help="The target format: codex, openai-chat, markdown, …; an unknown one lists all.",
)
@click.option("--model", help="The model to continue with, in formats of providers.")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    help="The output file; default: standard output.",
)
@from_option("The format, if it is not clear.")
@redact_options
@report_options
@home_option
def convert(
    session: str,
    target: str,
    model: str | None,
    output: Path | None,
    format: str | None,
    redact: bool,
    patterns: tuple[str, ...],
    report: str | None,
    strict: bool,
    home: Path | None,
) -> None:
    from interlingua.transcripts import write_files

    _require_target(target)
    transcript = _opened(session, format, home)
    complain_of_losses(transcript.report)
    made, hiding = _made(transcript, target, output, patterns if redact else None, model)
    if output is None and len(made.files) > 1:
        problem = f"it has sub-agents, {len(made.files)} files in all: name the first with -o"
        raise click.UsageError(problem)
    if output is not None:
        write_files(made.files, output)
        click.echo(f"{plural(len(transcript.messages), 'message')} in {output}", err=True)
    else:
        for pieces in made.files.values():
            for piece in pieces:
                put(piece)
    if hiding is not None:
        hiding.tell()
    complain_of_losses(made.report)
    if report is not None:
        Path(report).write_bytes(made.report.to_json() + b"\n")
    sys.exit(3 if strict and made.report else 0)


def _require_target(target: str) -> None:
    from interlingua.cli.export import targets
    from interlingua.transcripts import formats

    known = [*formats(), *(each for each in targets() if each not in formats())]
    if target not in known:
        raise click.BadParameter(unknown("format", target, known), param_hint="--to")


def _exported(transcript: Transcript, target: str, model: str | None) -> Made:
    """A session in a format that is not one of an agent: a request, an export for people."""
    from tempfile import TemporaryDirectory

    from interlingua.cli.convert_many import request_of
    from interlingua.cli.export import HTML, JSONL, MARKDOWN, ExportOptions, pieces
    from interlingua.cli.importing import import_transcript
    from interlingua.model.losses import Report
    from interlingua.store.open import open_store
    from interlingua.transcripts import Made

    if target not in (JSONL, MARKDOWN, HTML):
        written = request_of(transcript, target, model)
        return Made({"": [written.json() + b"\n"]}, written.report)
    report = Report(target)
    with TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/one.db") as store:
        row = store.session(import_transcript(store, transcript).main)
        return Made({"": list(pieces(store, row, ExportOptions(target), report))}, report)


def _made(
    transcript: Transcript,
    target: str,
    output: Path | None,
    patterns: tuple[str, ...] | None,
    model: str | None,
) -> tuple[Made, Hiding | None]:
    """The files, redacted if requested. A session that stays in its format keeps its lines but for
    the redactions; any other is written anew."""
    from interlingua.cli.export import Hiding
    from interlingua.transcripts import Made, draft, formats

    name = output.name if output is not None else None
    hiding = None if patterns is None else Hiding(patterns)
    if target not in formats():
        shown = transcript if hiding is None else hiding.transcript(transcript)
        return _exported(shown, target, model), hiding
    if hiding is None:
        return draft(transcript, target, name), None
    if transcript.origin is None or transcript.format != target:
        return draft(hiding.transcript(transcript), target, name), hiding
    files, report = draft(transcript, target, name)
    return Made({each: hiding.lines(pieces) for each, pieces in files.items()}, report), hiding
