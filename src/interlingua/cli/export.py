"""`interlingua export`: sessions out of the store, to be imported elsewhere or sent on."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click
import msgspec
from msgspec.structs import replace

from interlingua import transcripts
from interlingua.cli import formats
from interlingua.cli.main import shown, unknown
from interlingua.cli.options import own_name, redact_options, report_options, store_option
from interlingua.cli.sessions import TARGETS
from interlingua.cli.stores import PAGE, all_messages, all_sessions, find_session, opened
from interlingua.cli.terminal import complain, plural, progress, put
from interlingua.costs.table import bundled
from interlingua.dialects.record import Written
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.exchange import Request
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.store.rows import SessionRow
from interlingua.transcripts import Transcript, format_of
from interlingua.transcripts.exports import (
    SessionExport,
    answers_of,
    losses_of,
    markdown,
    session_lines,
    totals_of,
)
from interlingua.transcripts.redaction import (
    Finding,
    OwnPattern,
    PatternError,
    Redactor,
    Rules,
    redact_lines,
)
from interlingua.transcripts.transcript import summaries_in

if TYPE_CHECKING:
    from interlingua.store.base import Store


T = TypeVar("T")
TOLD = 20
"""Findings that are listed one by one."""


def rules_of(patterns: Iterable[str]) -> Rules:
    """The rules with the user's patterns; a usage error if one of them is invalid."""
    try:
        return Rules(patterns=tuple(_own(at, text) for at, text in enumerate(patterns, 1)))
    except (PatternError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--pattern") from None


def _own(number: int, text: str) -> OwnPattern:
    name, equals, rest = text.partition("=")
    if equals and name.replace("-", "").replace("_", "").isalnum():
        return OwnPattern(name, rest)
    return OwnPattern(f"own-{number}", text)


class Hiding:
    """Redacts values, and collects the findings."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self.rules = rules_of(patterns)
        self.findings: list[Finding] = []

    def transcript(self, transcript: Transcript, keep_folder: bool = False) -> Transcript:
        """A session with its branches and sub-agents. It is written anew, because it differs from
        its source; a tool that resumes it needs the folder unchanged."""
        redactor = Redactor(self.rules)
        for each in _all(transcript):
            redactor.learn([list(_redacted_messages(each)), each.title, each.folder])
        return self._changed(transcript, redactor, keep_folder, "")

    def _changed(
        self, transcript: Transcript, redactor: Redactor, keep_folder: bool, place: str
    ) -> Transcript:
        made: dict[int, Message] = {}
        for message in _redacted_messages(transcript):
            if id(message) not in made:
                where = f"{place}/messages/{len(made)}"
                made[id(message)] = self._noted(redactor, message, where)
        branches = tuple(
            replace(each, messages=tuple(made[id(message)] for message in each.messages))
            for each in transcript.branches
        )
        helpers = tuple(
            replace(
                each,
                transcript=self._changed(
                    each.transcript, redactor, keep_folder, f"{place}/subagents/{at}"
                ),
            )
            for at, each in enumerate(transcript.subagents)
        )
        folder = transcript.folder
        return transcript.replace(
            messages=tuple(made[id(message)] for message in transcript.messages),
            title=self._noted(redactor, transcript.title, f"{place}/title"),
            folder=folder if keep_folder else self._noted(redactor, folder, f"{place}/folder"),
            branches=branches,
            subagents=helpers,
            details=self._noted(redactor, transcript.details, f"{place}/details"),
            origin=None,
        )

    def session(self, row: SessionRow, messages: list[Message]) -> list[Message]:
        """The messages of a stored session, redacted; secrets are learned from its row, too."""
        redactor = Redactor(self.rules)
        redactor.learn([messages, row.name, row.workspace_path])
        return [
            self._noted(redactor, message, f"/{row.id}/messages/{at}")
            for at, message in enumerate(messages)
        ]

    def row(self, row: SessionRow) -> SessionRow:
        name, folder = (self.value(each, row.id) for each in (row.name, row.workspace_path))
        return replace(row, name=name, workspace_path=folder)

    def value(self, value: T, place: str, fixed_keys: bool = False) -> T:
        """Something beside the messages; `fixed_keys` are keys of a schema, which stay."""
        redactor = Redactor(self.rules)
        redactor.learn(value, fixed_keys)
        return self._noted(redactor, value, f"/{place}", fixed_keys)

    def _noted(self, redactor: Redactor, value: T, place: str, fixed_keys: bool = False) -> T:
        changed, found = redactor.redact(value, place, fixed_keys)
        self.findings += found
        same: T = changed
        return same

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Lines of a JSON Lines file, redacted and otherwise unchanged."""
        data = b"".join(pieces)
        done = redact_lines(data.split(b"\n"), self.rules)
        self.findings += done.findings
        yield b"\n".join(done.value)

    def tell(self) -> None:
        """Reports what was removed, and where; never the value itself."""
        if not self.findings:
            click.echo("Nothing was redacted.", err=True)
            return
        kinds = Counter(each.kind for each in self.findings)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        complain(f"redacted, {plural(len(self.findings), 'place')}: {counts}")
        for each in self.findings[:TOLD]:
            complain(f"  {each.kind} at {each.place}")
        if len(self.findings) > TOLD:
            complain(f"  and {len(self.findings) - TOLD:,} more")


def _all(transcript: Transcript) -> Iterator[Transcript]:
    yield transcript
    for helper in transcript.subagents:
        yield from _all(helper.transcript)


def _redacted_messages(transcript: Transcript) -> Iterator[Message]:
    """The messages of all branches, redacted; a message may come more than once."""
    yield from transcript.messages
    for branch in transcript.branches:
        yield from branch.messages


@click.command("export", help="Export sessions to a file, for import elsewhere or for sending.")
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--to", "target", default="jsonl", show_default=True, callback=own_name, help=TARGETS)
@click.option("--output", "-o", type=click.Path(writable=True), help="The output file or folder.")
@click.option("--model", help="The model to continue with; default: the session's own.")
@click.option("--trace", is_flag=True, help="Include the events of each session (jsonl only).")
@redact_options
@report_options
@store_option
def command(ids: tuple[str, ...], **options: Any) -> None:
    sys.exit(export_sessions(ids, **options))


def export_sessions(
    ids: tuple[str, ...],
    *,
    output: str | None = None,
    report: str | None,
    strict: bool,
    address: str | None,
    redact: bool,
    patterns: tuple[str, ...],
    **more: Any,
) -> int:
    """Exports sessions by id, or all; returns the exit code."""

    options = ExportOptions(hide=Hiding(patterns) if redact else None, **more)
    _require_target(options)
    lost = 0
    with opened(address) as store:
        chosen = _chosen(store, ids)
        in_one = _is_one_file(options, output, len(chosen))
        quiet = output is None and sys.stdout.isatty()
        with (
            _writer(output if in_one else None) as write,
            _writer(report) as note,
            progress("exporting", len(chosen), quiet) as done,
        ):
            for id in chosen:
                place = _Place(Path(output) if output else None, len(chosen) == 1, write or put)
                losses = _export(store, id, options, place)
                if losses and note:
                    note(msgspec.json.encode({"session": id, "losses": losses}) + b"\n")
                lost += len(losses)
                done(1)
    if options.hide is not None:
        options.hide.tell()
    if output:
        click.echo(f"{plural(len(chosen), 'session')} in {shown(output)}", err=True)
    return 3 if strict and lost else 0


def _require_target(options: ExportOptions) -> None:
    known = [*targets(), *transcript_targets()]
    if options.target not in known:
        raise click.BadParameter(unknown("format", options.target, known), param_hint="--to")
    if options.trace and options.target != JSONL:
        raise click.UsageError("--trace works only with --to jsonl")


def _is_one_file(options: ExportOptions, output: str | None, sessions: int) -> bool:
    """Whether all sessions go into one file; the output must then be none or a file."""
    is_abroad = options.target in transcript_targets()
    if is_abroad:
        require_place(options.target, output, sessions)
    if options.target == HTML and sessions != 1:
        raise click.UsageError("--to html exports one session: name it")
    in_one = not is_abroad or format_of(options.target).rows
    if output and in_one and os.path.isdir(output):
        raise click.BadParameter(f"{output} is a folder", param_hint="--output")
    return in_one


@contextmanager
def _writer(path: str | None) -> Iterator[Callable[[bytes], object] | None]:
    """A file that is written to, for its owner alone, since conversations are private."""
    if path is None:
        yield None
        return
    try:
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            yield file.write
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise  # standard output, and not ours to name
        raise click.FileError(path, error.strerror or type(error).__name__) from None


class _Place(NamedTuple):
    """The target of an export: a file or folder, whether it is a single session, and the writer for
    sessions in one file."""

    output: Path | None
    single: bool
    write: Callable[[bytes], object]


def _export(store: Store, id: str, options: ExportOptions, place: _Place) -> list[Loss]:
    report = Report(options.target)
    if options.target in transcript_targets():
        transcript = transcript_of(store, store.session(id), report, options.hide)
        report.extend(_write_transcript(transcript, options.target, place))
    else:
        for piece in pieces(store, store.session(id), options, report):
            place.write(piece)
    if report:
        complain(f"session {id}: {report}")
    return report.losses


def _chosen(store: Store, ids: tuple[str, ...]) -> list[str]:
    """All sessions are in the order of their last change, which an import keeps."""
    if ids:
        return list(dict.fromkeys(find_session(store, id).id for id in ids))
    return [row.id for row in all_sessions(store)][::-1]


JSONL = "jsonl"
MARKDOWN = "markdown"
HTML: Final = "html"
"""One session a file."""


def targets() -> list[str]:
    """The targets of a session, apart from the formats of other agents."""
    return [JSONL, MARKDOWN, HTML, *formats.names()]


class ExportOptions(NamedTuple):
    """How to write sessions: the format, the model that continues, whether with events, and the
    redaction."""

    target: str
    model: str | None = None
    trace: bool = False
    hide: Hiding | None = None


def pieces(
    store: Store, row: SessionRow, options: ExportOptions, report: Report
) -> Iterator[bytes]:
    """One session as bytes that end with a line; losses go to the report."""
    target, hide = options.target, options.hide
    row = row if hide is None else hide.row(row)
    if target == JSONL:
        yield from _lines(store, row, options, report)
    elif target == HTML:
        yield _page(store, row, options, report)
    elif target == MARKDOWN:
        yield from (piece.encode() for piece in markdown(row, _messages(store, row, report, hide)))
    elif target == formats.CANONICAL:
        yield from _canonical(store, row, report, hide)
    else:
        written = _as_request(store, row, options, report)
        report.extend(written.report.of_history())
        yield formats.to_bytes(written.wire, pretty=False) + b"\n"


def _messages(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None
) -> Iterator[Message]:
    """All messages, redacted if `hide` is set."""
    found = _all_messages(store, row, report)
    return found if hide is None else iter(hide.session(row, list(found)))


def _all_messages(store: Store, row: SessionRow, report: Report) -> Iterator[Message]:
    """All messages; those with an unknown role of a newer version are reported as losses."""
    count = 0
    for message in all_messages(store, row):
        count += 1
        yield message
    if count < row.message_count:
        missing = because("unknown_roles", count=row.message_count - count)
        report.add("dropped", "$.messages", missing)


def _lines(
    store: Store, row: SessionRow, options: ExportOptions, report: Report
) -> Iterator[bytes]:
    hide = options.hide
    messages = _messages(store, row, report, hide)
    yield from session_lines(msgspec.to_builtins(row), _provider_ids(store, row), messages)
    after = 0
    while options.trace and (events := store.events(row.id, after, PAGE)):
        after = events[-1].seq
        for event in events:
            if hide is not None:
                payload = hide.value(event.payload, event.id)
                event = msgspec.structs.replace(event, payload=payload)
            yield msgspec.json.encode({"event": event}) + b"\n"


def _page(store: Store, row: SessionRow, options: ExportOptions, report: Report) -> bytes:
    """The page's transcript as a file of its own."""
    hide = options.hide
    messages = tuple(_messages(store, row, report, hide))
    summary = totals_of(answers_of(messages, bundled()))
    changed = {change["message_id"] for change in summary["changes"]}
    losses = losses_of(changed, _answers(store, row.id) if changed else ())
    for change in summary["changes"]:
        change["losses"] = losses.get(change["message_id"])
    if hide is not None:
        summary = hide.value(summary, "summary", fixed_keys=True)
    return SessionExport(row, messages, summary, {}).written(HTML)


def _answers(store: Store, id: str) -> Iterator[dict[str, Any]]:
    """The events of a session's answers in the trace."""
    after = 0
    while events := store.events(id, after, PAGE, ["llm.call_completed"]):
        after = events[-1].seq
        yield from (event.payload for event in events)


def _provider_ids(store: Store, row: SessionRow) -> dict[str, str]:
    calls = store.tool_calls(row.id)
    return {call.id: call.provider_id for call in calls if call.provider_id is not None}


def _canonical(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None
) -> Iterator[bytes]:
    """The messages as one JSON list."""
    yield b"["
    for number, message in enumerate(_messages(store, row, report, hide)):
        yield (b",\n" if number else b"") + dumps(message)
    yield b"]\n"


def _as_request(store: Store, row: SessionRow, options: ExportOptions, report: Report) -> Written:
    """The request that would continue this session."""
    messages = messages_abroad(store, row, report, options.hide)
    model = options.model or _model(row, messages)
    value = Request(messages, model.partition(":")[2] or model if model else None)
    return formats.write(value, options.target, formats.CANONICAL)


def messages_abroad(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None = None
) -> tuple[Message, ...]:
    """All messages, with the providers' own ids of calls."""
    known = _provider_ids(store, row)
    messages = _messages(store, row, report, hide)
    return tuple([_renamed(message, known) if known else message for message in messages])


def _model(row: SessionRow, messages: tuple[Message, ...]) -> str | None:
    if row.active_model:
        return row.active_model
    used = (message.metadata.model for message in reversed(messages))
    return next((model for model in used if model), None)


def _renamed(message: Message, ids: dict[str, str]) -> Message:
    content = tuple([_renamed_block(block, ids) for block in message.content])
    parent = message.metadata.parent_tool_use_id
    if parent in ids:
        metadata = message.metadata.replace(parent_tool_use_id=ids[parent])
        return message.replace(content=content, metadata=metadata)
    return message if content == message.content else message.replace(content=content)


def _renamed_block(block: Block, ids: dict[str, str]) -> Block:
    if type(block) is ToolUseBlock and block.id in ids:
        return block.replace(id=ids[block.id])
    if type(block) is ToolResultBlock and block.tool_use_id in ids:
        return block.replace(tool_use_id=ids[block.tool_use_id])
    return block


OURS = "interlingua"
"""The format of transcripts that come from a store."""
_FILE_NAME = re.compile("[0-9A-Za-z_-]{1,100}")


def transcript_targets() -> list[str]:
    """The formats that sessions can be written in, beside those of this package."""
    known = (transcripts.format_of(name) for name in transcripts.formats())
    return [each.name for each in known if each.write and each.name not in formats.names()]


def transcript_of(
    store: Store, row: SessionRow, report: Report, hide: Hiding | None = None
) -> Transcript:
    """A session, with the providers' own ids of calls."""
    row = row if hide is None else hide.row(row)
    messages = messages_abroad(store, row, report, hide)
    return Transcript.of(
        OURS,
        messages,
        id=row.id,
        title=row.name,
        folder=row.workspace_path,
        created_at=row.created_at,
        updated_at=row.updated_at,
        compactions=summaries_in(messages),
    )


def _write_transcript(transcript: Transcript, target: str, place: _Place) -> Report:
    """Into the file, or a file of the folder where there are several; else to `write`, where lines
    of several sessions can follow each other, or there is but one."""
    format, output = transcripts.format_of(target), place.output
    if output is not None and not format.rows:
        if place.single:
            return transcripts.write(transcript, output, target)
        file = output / f"{_file_name(transcript.id or '')}{format.suffix}"
        return transcripts.write(transcript, file, target, output)
    files, report = transcripts.draft(transcript, target, f"{transcript.id}{format.suffix}")
    if len(files) > 1:
        raise click.UsageError(
            f"it has sub-agents, {len(files)} files in all: name the first with --output"
        )
    for each in files.values():
        for piece in each:
            place.write(piece)
    return report


def _file_name(id: str) -> str:
    """A session's id; an imported one may be no name of a file, and is hashed."""
    return id if _FILE_NAME.fullmatch(id) else f"session-{sha256(id.encode()).hexdigest()[:16]}"


def require_place(target: str, output: str | None, count: int) -> None:
    """Wrong usage where several sessions would be one file that can hold but one."""
    format = transcripts.format_of(target)
    if format.rows or count == 1:
        return
    if output is None:
        problem = f"a {target} file holds one session, not {count}"
        raise click.UsageError(f"{problem}: name a folder with --output")
    if Path(output).is_file():
        raise click.BadParameter(
            "expected a folder for several sessions, found a file", param_hint="--output"
        )
