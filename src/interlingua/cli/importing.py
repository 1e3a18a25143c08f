"""`interlingua import`: sessions made of files.

An exported session comes back under its own ids and is not imported twice; neither is a transcript
of another agent, of which only new messages are added. It comes with its branches and helpers, each
a session that names its parent. Anything else becomes a new session. What cannot be read is
reported with its line, and the rest is imported.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import msgspec

from interlingua import transcripts
from interlingua.adapt.formats import NO_CONVERSATION
from interlingua.cli import formats, reading
from interlingua.cli.files import FOLDER_SUFFIXES, all_files
from interlingua.cli.main import INTERRUPTED, unknown
from interlingua.cli.options import json_option, own_name, store_option
from interlingua.cli.reading import Exchange, Found, SessionLine
from interlingua.cli.stores import PAGE, all_messages, all_sessions, opened
from interlingua.cli.terminal import complain, plural, progress, put_json
from interlingua.dialects.registry import dialects
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.ids import Ulids, is_tool_id, new_tool_id
from interlingua.model.message import Message, Role
from interlingua.store.errors import InvalidError, NotFoundError, StoreError
from interlingua.store.rows import IMPORTED, EventRow, SessionRow
from interlingua.transcripts import formats as transcript_formats

if TYPE_CHECKING:
    from interlingua.store.base import Store
    from interlingua.transcripts import SubAgent, Transcript


ROWS = ("openai-finetune", "hf-messages")
"""Formats with rows of chat requests; ambiguous rows are read as these."""


@click.command(
    "import",
    help="Import requests, responses, transcripts or exports as sessions: files or folders.",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, allow_dash=True),
)
@click.option(
    "--from", "source", default=reading.AUTO, callback=own_name, help="The format; auto detects it."
)
@click.option("--model", help="The model, for formats that have it in the URL.")
@click.option("--provider", help="The provider, if the format does not name it.")
@click.option("--new-ids", is_flag=True, help="Import exported sessions as copies with new ids.")
@json_option
@store_option
def command(
    files: tuple[str, ...],
    source: str,
    model: str | None,
    provider: str | None,
    new_ids: bool,
    as_json: bool,
    address: str | None,
) -> None:
    known = [reading.AUTO, *formats.names(), *transcript_formats()]
    if source not in known:
        raise click.BadParameter(unknown("format", source, known), param_hint="--from")
    named = {Path(name) for name in files}
    paths = [Path(name) for name in all_files(files, (*FOLDER_SUFFIXES, ".db"))]
    total = sum(path.stat().st_size for path in paths if str(path) != reading.STDIN)
    failed = 0
    with (
        opened(address, make=True) as store,
        progress("importing", total, unit="items") as done,
        _continuable(),
    ):
        importer = SessionImporter(store, new_ids, provider)
        for path in paths:
            format = _transcript_format(path, source)
            if format is None and _is_database(path):
                failed += path in named
                _skip_database(path, importer, path in named)
            elif format is None:
                items = reading.items(path, source, model)
                failed += _import_items(path, items, importer, done, path in named)
            else:
                failed += _import_transcripts(path, format, importer)
                done(path.stat().st_size if str(path) != reading.STDIN else 0)
    if as_json:
        put_json({**msgspec.to_builtins(importer.counts), "failed": failed})
    else:
        _show_counts(importer, failed)
    sys.exit(1 if failed else 0)


@contextmanager
def _continuable() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        complain("interrupted; what was imported is stored, and the same command imports the rest")
        sys.exit(INTERRUPTED)


def _is_database(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _skip_database(path: Path, importer: SessionImporter, is_named: bool) -> None:
    """One in a folder is only counted, as other files without conversations are."""
    if is_named:
        complain(f"{path}: a SQLite file that is no log of llm; import JSON Lines in its place")
    else:
        importer.counts.other_files += 1


def _import_items(
    path: Path,
    items: Iterable[reading.Item],
    importer: SessionImporter,
    done: Callable[[int], object],
    is_named: bool,
) -> int:
    """Imports requests, responses and exports of a file; returns how many cannot be read. Other
    JSON files of a folder, found in it and not named, are only counted."""
    failed = 0
    for item in items:
        failure = item.error or importer.take(item.found)
        if not is_named and path.suffix == ".json" and NO_CONVERSATION in (failure or ""):
            importer.counts.other_files += 1
        elif failure is not None:
            failed += 1
            complain(f"{path}, line {item.line}: {failure}")
        done(item.size)
    if (failure := importer.finish()) is not None:
        failed += 1
        complain(f"{path}: {failure}")
    return failed


def _show_counts(importer: SessionImporter, failed: int) -> None:
    counts = importer.counts
    text = f"{plural(counts.sessions, 'session')}, {plural(counts.messages, 'message')}"
    click.echo(f"{text} imported, {failed:,} unreadable", err=True)
    for left in counts.left_out():
        click.echo(left, err=True)


def _transcript_format(path: Path, source: str) -> str | None:
    """The transcript format of a file, by its name or detected; None for all else. Rows of
    requests are read as requests, which have more detail."""
    if source != reading.AUTO:
        return source if source in transcript_formats() and source not in formats.names() else None
    if str(path) == reading.STDIN:
        return None
    try:
        found = transcripts.detect(path).format
    except InterlinguaError:
        return None
    return None if found in ROWS else found


def _import_transcripts(path: Path, format: str, arrivals: SessionImporter) -> int:
    """All sessions of a file; gives how many things in it cannot be read."""
    with _on_disk(path) as file:
        try:
            failed = 0
            for transcript in transcripts.read_all(file, format):
                for loss in transcript.report:
                    if loss.severity == "error":
                        failed += 1
                        complain(f"{path}, {loss.path}: {loss.reason}")
                for problem in arrivals.settle(transcript):
                    complain(f"{path}: {problem}")
        except InterlinguaError as error:
            if isinstance(error, StoreError):
                raise
            complain(f"{path}: {error}")
            return failed + 1
    return failed


@contextmanager
def _on_disk(path: Path) -> Iterator[Path]:
    """Standard input as a file, since formats may have to look at it twice."""
    if str(path) != reading.STDIN:
        yield path
        return
    with NamedTemporaryFile(suffix=".jsonl") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        yield Path(file.name)


_STEP = timedelta(microseconds=1)


class ImportedTranscript(NamedTuple):
    """The sessions that were made, the active branch first; how many messages are not copies; and
    the problems of messages that were imported as they are."""

    sessions: list[str]
    messages: int
    problems: list[str]
    known: list[str]
    """The sessions that were in the store already."""
    grown: int
    """The number of these with new messages."""
    main: str
    """The session of the active branch."""


class _StoredBranch(NamedTuple):
    """A branch that is in the store: its messages, and their ids there."""

    session: str
    messages: Sequence[Message]
    ids: list[str | None]

    def shared(self, other: Sequence[Message]) -> int:
        """The number of leading messages that two branches share."""
        pairs = enumerate(zip(self.messages, other, strict=False))
        return next((at for at, (a, b) in pairs if not _same(a, b)), min(len(self.ids), len(other)))


class ImportedSessions:
    """The sessions of a store that were imported from transcripts, by format and id."""

    def __init__(self, store: Store) -> None:
        self._rows: dict[tuple[str, str | None], list[SessionRow]] = {}
        for row in all_sessions(store):
            if IMPORTED in (row.routing_policy or {}):
                self.add(row)

    def add(self, row: SessionRow) -> None:
        origin = (row.routing_policy or {})[IMPORTED]
        self._rows.setdefault((origin["format"], origin["id"]), []).append(row)

    def of(self, transcript: Transcript) -> list[SessionRow]:
        if transcript.id is None:
            return []
        return self._rows.get((transcript.format, transcript.id), [])


class Pricing:
    """Adds costs to imported answers, by the price table of this machine."""

    def __init__(self, store: Store) -> None:
        from interlingua.costs.table import own_table
        from interlingua.sessions.effects import run
        from interlingua.sessions.holding import stored_prices

        own = own_table()
        self._table = run(store, stored_prices(own)) or own

    def __call__(self, message: Message) -> Message:
        from interlingua.costs.cost import priced, with_runs
        from interlingua.dialects.anthropic.response import hour_cache_tokens
        from interlingua.profiles.names import UnknownModelError

        metadata = message.metadata
        usage, model = with_runs(message), metadata.model
        if usage is None or usage.cost_usd is not None or model is None:
            return message
        try:
            longer = hour_cache_tokens(usage)
            usage = priced(usage, model, self._table, message.created_at, longer)
        except (UnknownModelError, ValueError):
            return message
        return message.replace(metadata=metadata.replace(usage=usage))


def import_transcript(
    store: Store,
    transcript: Transcript,
    known: ImportedSessions | None = None,
    pricing: Pricing | None = None,
) -> ImportedTranscript:
    """Puts a session with its branches and helpers into a store, all of it or nothing; of a
    stored one, the new part."""
    work = _TranscriptImport(store, known or ImportedSessions(store), pricing or Pricing(store))
    try:
        main = work.all(transcript)
    except BaseException:
        for id in work.made:
            with suppress(StoreError):
                store.delete_session(id)
        raise
    return ImportedTranscript(
        work.made, work.messages, work.problems, work.known, work.grown, main.session
    )


class _TranscriptImport:
    def __init__(self, store: Store, there: ImportedSessions, pricing: Pricing) -> None:
        self.store = store
        self.made: list[str] = []
        self.known: list[str] = []
        self.grown = 0
        self.messages = 0
        self.problems: list[str] = []
        self._there = there
        self._pricing = pricing
        self._ulids = Ulids()

    def all(
        self, transcript: Transcript, parent: _StoredBranch | None = None, at: str | None = None
    ) -> _StoredBranch:
        """Imports a session; with `parent`, as its helper, called by the message `at`."""
        main = self._continued(transcript, transcript.messages)
        main = main or self._settle(transcript, transcript.messages, parent, at)
        ways = [main]
        for branch in transcript.branches:
            if branch.active:
                continue
            if (way := self._continued(transcript, branch.messages)) is not None:
                ways.append(way)
            else:
                self._branch(transcript, branch.messages, ways)
        for helper in transcript.subagents:
            self.all(helper.transcript, main, _caller(main, helper))
        return main

    def _continued(
        self, transcript: Transcript, messages: Sequence[Message]
    ) -> _StoredBranch | None:
        """The stored session that begins with these messages, or is their beginning, with the
        missing ones added; None if there is none."""
        rows = self._there.of(transcript)
        prints = fingerprints(messages) if rows else []
        for row in rows:
            stored = list(all_messages(self.store, row))
            count = min(len(stored), len(messages))
            if not count or fingerprints(stored)[:count] != prints[:count]:
                continue
            self.known.append(row.id)
            ids = [message.id for message in stored[:count]]
            if count < len(messages):
                timed, _ = _timed(transcript, messages[count:], 0)
                ids += self._append(row.id, timed, _call_ids(messages, stored))
                self.messages += len(timed)
                self.grown += 1
            return _StoredBranch(row.id, messages, ids)
        return None

    def _branch(
        self, transcript: Transcript, messages: Sequence[Message], ways: list[_StoredBranch]
    ) -> None:
        nearest = max(ways, key=lambda way: way.shared(messages))
        count = nearest.shared(messages)
        if count < len(messages):
            last = nearest.ids[count - 1] if count else None
            ways.append(self._settle(transcript, messages, nearest, last, count))

    def _settle(
        self,
        transcript: Transcript,
        messages: Sequence[Message],
        parent: _StoredBranch | None,
        at: str | None,
        copied: int | None = None,
    ) -> _StoredBranch:
        """`copied`: of a branch, how many messages it has from its parent."""
        timed, begun = _timed(transcript, messages, copied or 0)
        helper = parent is not None and copied is None
        row = SessionRow(
            self._ulids.new(),
            transcript.folder or str(Path.cwd()),
            begun,
            begun,
            _model(messages),
            {IMPORTED: _origin(transcript, helper)},
            transcript.title or shown_name(messages),
            parent.session if parent is not None else None,
            at,
        )
        self.store.add_session(row)
        self._there.add(row)
        self.made.append(row.id)
        self.messages += len(timed) - (copied or 0)
        return _StoredBranch(row.id, messages, list(self._append(row.id, timed)))

    def _append(
        self, id: str, messages: Sequence[Message], calls: dict[str, str] | None = None
    ) -> Iterator[str | None]:
        """`calls`: the ids in the store of calls in earlier messages."""
        names = Names(self._ulids, {}, calls)
        for start in range(0, len(messages), PAGE):
            some = messages[start : start + PAGE]
            page = [self._pricing(names.message(message)) for message in some]
            append = partial(
                self.store.append, id, provider_ids=names.provider_ids, changed_at=_latest(some)
            )
            try:
                done = append(page)
            except InvalidError as error:
                self.problems.append(f"imported unchanged: {error}")
                done = append(page, check=False)
            yield from (message.id for message in done.messages)


def _call_ids(messages: Sequence[Message], stored: Sequence[Message]) -> dict[str, str]:
    """The ids of the calls in stored messages, by their original ids."""
    return {
        call.id: there.id
        for message, copy in zip(messages, stored, strict=False)
        for call, there in zip(message.tool_calls, copy.tool_calls, strict=True)
    }


def _latest(messages: Sequence[Message]) -> datetime | None:
    return max((each.created_at for each in messages if each.created_at), default=None)


def fingerprints(messages: Sequence[Message]) -> list[str]:
    """A digest of the role and content of each message, independent of the ids of its calls."""
    numbers: dict[str, str] = {}

    def numbered(block: Block) -> Block:
        if isinstance(block, ToolUseBlock):
            return block.replace(id=numbers.setdefault(block.id, str(len(numbers))))
        if isinstance(block, ToolResultBlock):
            return block.replace(tool_use_id=numbers.get(block.tool_use_id, ""))
        return block

    return [
        Message(message.role, tuple(map(numbered, message.content))).digest()
        for message in messages
    ]


def digest_of(messages: Sequence[Message]) -> str:
    """A digest of a conversation, by which it is recognized when it is imported again."""
    return sha256("".join(fingerprints(messages)).encode()).hexdigest()[:32]


def _timed(
    transcript: Transcript, messages: Sequence[Message], copied: int
) -> tuple[list[Message], datetime]:
    """The messages with times, and the beginning of the session: messages copied from its parent
    lie before that, its own do not."""
    time = transcript.created_at or datetime.now(UTC)
    timed: list[Message] = []
    begun = time
    for number, message in enumerate(messages):
        time = message.created_at or time
        if number == copied:
            before = [each.created_at for each in timed if each.created_at]
            begun = max([time, *(each + _STEP for each in before)])
        if number >= copied:
            time = max(time, begun)
        timed.append(message.replace(created_at=time))
    if not copied and timed:
        begun = min(each.created_at for each in timed if each.created_at)
    return timed, begun


def _caller(way: _StoredBranch, helper: SubAgent) -> str | None:
    """The message in the store that called a helper."""
    for message, id in zip(way.messages, way.ids, strict=True):
        if any(call.id == helper.tool_use_id for call in message.tool_calls):
            return id
    return None


def _same(first: Message, second: Message) -> bool:
    return first is second or (first.id == second.id and first == second)


def _origin(transcript: Transcript, helper: bool) -> dict[str, Any]:
    about: dict[str, Any] = {"format": transcript.format, "id": transcript.id}
    return {**about, "helper": True} if helper else about


def _model(messages: Sequence[Message]) -> str | None:
    used = (each.metadata.model for each in reversed(messages) if each.role is Role.ASSISTANT)
    return next((model for model in used if model and ":" in model), None)


PROVIDERS = {"openai-chat": "openai", "openai-responses": "openai"}
"""The provider of a format that names none; other dialects are named like their provider."""
LONGEST_NAME = 60
_SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:-]{0,199}")
"""Ids that are harmless in paths, addresses and terminals."""


class Counts(msgspec.Struct):
    """Counts of an import, and of data that a session cannot hold."""

    sessions: int = 0
    messages: int = 0
    events: int = 0
    already_there: int = 0
    grown: int = 0
    """Sessions that were there and got new messages."""
    requests_with_tools: int = 0
    requests_with_options: int = 0
    other_files: int = 0
    """Files of folders that are not conversations."""

    def left_out(self) -> Iterator[str]:
        if self.already_there:
            yield f"already imported: {plural(self.already_there, 'session')}"
        if self.grown:
            yield f"new messages added to {plural(self.grown, 'session')} imported before"
        if self.requests_with_tools:
            yield f"not imported: the tools of {plural(self.requests_with_tools, 'request')}"
        if self.requests_with_options:
            yield f"not imported: the options of {plural(self.requests_with_options, 'request')}"
        if self.other_files:
            yield f"skipped: {plural(self.other_files, 'file')} without a conversation"


class SessionImporter:
    """Puts the sessions and requests that are found in files into a store, one after another."""

    def __init__(self, store: Store, new_ids: bool = False, provider: str | None = None) -> None:
        self.store = store
        self.new_ids = new_ids
        self.provider = provider
        self.counts = Counts()
        self._ulids = Ulids()
        self._open: _OpenSession | None = None
        self._imported: ImportedSessions | None = None
        self._exchanges: Counter[str] | None = None
        self._prices: Pricing | None = None

    def take(self, found: Found | None) -> str | None:
        """Takes one item; returns its error, or that of the session that it ends."""
        ended = self.finish() if isinstance(found, SessionLine | Exchange) else None
        failed = self._tried(lambda: self._take(found))
        return "; ".join(problem for problem in (ended, failed) if problem) or None

    def finish(self) -> str | None:
        """Write the pending conversation; returns its problem, if any."""
        return self._tried(self._end)

    def _tried(self, work: Callable[[], None]) -> str | None:
        try:
            work()
        except InterlinguaError as error:
            if isinstance(error, StoreError) and error.reason not in (
                "conflict",
                "not_found",
                "invalid",
            ):
                raise  # the store itself is in trouble, and so would be all that follows
            return str(error)
        return None

    def _take(self, found: Found | None) -> None:
        match found:
            case SessionLine():
                self._open = self._begin(found)
            case Message():
                self._message(found)
            case EventRow():
                self._event(found)
            case Exchange():
                self._exchange(found)
            case None:
                pass

    def settle(self, transcript: Transcript) -> list[str]:
        """Imports a session of another agent with its branches and helpers; returns the problems of
        messages that were imported as they are. The file of a helper has nothing of its own."""
        if not (transcript.messages or transcript.branches or transcript.subagents):
            return []
        if self._imported is None:
            self._imported = ImportedSessions(self.store)
        settled = import_transcript(self.store, transcript, self._imported, self._pricing())
        self.counts.sessions += len(settled.sessions)
        self.counts.messages += settled.messages
        self.counts.already_there += len(settled.known) - settled.grown
        self.counts.grown += settled.grown
        return settled.problems

    def _pricing(self) -> Pricing:
        self._prices = self._prices or Pricing(self.store)
        return self._prices

    # Exported sessions

    def _begin(self, line: SessionLine) -> _OpenSession:
        row, names = line.session, line.provider_ids
        if self.new_ids:
            copy = self.store.create_session(
                row.workspace_path,
                name=row.name,
                active_model=row.active_model,
                routing_policy=row.routing_policy,
            )
            return _OpenSession(copy.id, row.id, names, Names(self._ulids, names))
        self._open = _OpenSession(row.id, row.id, names, skip=True)
        for id in (row.id, row.parent_id):
            if id is not None and not _SESSION_ID.fullmatch(id):
                problem = f"session id {id[:80]!r} is too long or has invalid characters"
                problem += "; --new-ids imports a copy"
                raise StoreError(self.store.where, problem, "invalid")
        try:
            there = self.store.session(row.id)
        except NotFoundError:
            self.store.add_session(msgspec.structs.replace(row, updated_at=datetime.now(UTC)))
            return _OpenSession(row.id, row.id, names)
        if there.message_count != row.message_count:
            problem = f"session {row.id!r} is already stored, with {there.message_count} messages"
            problem += f" instead of {row.message_count}; --new-ids imports a copy"
            raise StoreError(self.store.where, problem, "conflict")
        self.counts.already_there += 1
        return self._open

    def _message(self, message: Message) -> None:
        arrival = self._open
        if arrival is None or not arrival.holds(message):
            self._end()
            arrival = self._open = self._without_a_line(message)
        if arrival.skip:
            return
        arrival.waiting.append(message)
        if len(arrival.waiting) >= PAGE:
            self._write(arrival)

    def _without_a_line(self, message: Message) -> _OpenSession:
        """Bare messages: consecutive ones with the same session id form a session."""
        row = self.store.create_session(str(Path.cwd()), name=shown_name([message]))
        names = Names(self._ulids, {})
        return _OpenSession(row.id, message.session_id, {}, names)

    def _event(self, event: EventRow) -> None:
        arrival = self._open
        if arrival is None or arrival.skip:
            return
        self._write(arrival)
        id = self._ulids.new() if arrival.names else event.id
        arrived = msgspec.structs.replace(event, id=id, session_id=arrival.id)
        self.store.append_events([arrived])
        self.counts.events += 1

    def _end(self) -> None:
        arrival, self._open = self._open, None
        if arrival is not None and not arrival.skip:
            self._write(arrival)
            self.counts.sessions += 1
            self.counts.messages += arrival.written

    def _write(self, arrival: _OpenSession) -> None:
        messages, arrival.waiting = arrival.waiting, []
        provider_ids = arrival.provider_ids
        if arrival.names is not None:
            messages = [arrival.names.message(message) for message in messages]
            provider_ids = arrival.names.provider_ids
        if messages:
            try:
                self.store.append(arrival.id, messages, provider_ids=provider_ids)
            except InterlinguaError:
                self._open, arrival.skip = arrival, True  # and the rest of it
                with suppress(StoreError):
                    self.store.delete_session(arrival.id)
                raise
            arrival.written += len(messages)

    # Requests and responses

    def _exchange(self, exchange: Exchange) -> None:
        request, response = exchange.request, exchange.response
        messages = list(request.messages if request else ())
        provider = self._provider(exchange.source)
        if exchange.source in dialects():
            messages = [_read_from(message, exchange.source) for message in messages]
        if response is not None:
            messages.append(self._pricing()(_answer(response, exchange.source, provider)))
        origin = {"format": exchange.source, "id": digest_of(messages)}
        if not self.new_ids and self._known_exchanges()[origin["id"]] > 0:
            self._known_exchanges()[origin["id"]] -= 1
            self.counts.already_there += 1
            return
        names = Names(self._ulids, {})
        messages = [names.message(message) for message in messages]
        model = _model_of(request, response)
        row = self.store.create_session(
            str(Path.cwd()),
            name=shown_name(messages),
            active_model=_full(model, provider),
            routing_policy={IMPORTED: origin},
        )
        try:
            self.store.append(row.id, messages, provider_ids=names.provider_ids)
        except InterlinguaError:
            with suppress(StoreError):
                self.store.delete_session(row.id)
            raise
        self._count(request, len(messages))

    def _known_exchanges(self) -> Counter[str]:
        """How often each conversation was imported before, without this import."""
        if self._exchanges is None:
            policies = [row.routing_policy or {} for row in all_sessions(self.store)]
            ids = [each[IMPORTED]["id"] for each in policies if IMPORTED in each]
            self._exchanges = Counter(filter(None, ids))
        return self._exchanges

    def _count(self, request: Request | None, messages: int) -> None:
        self.counts.sessions += 1
        self.counts.messages += messages
        if request is not None:
            self.counts.requests_with_tools += bool(request.tools)
            self.counts.requests_with_options += request.options != Options()

    def _provider(self, source: str) -> str | None:
        if self.provider is not None:
            return self.provider
        return PROVIDERS.get(source, source) if source in dialects() else None


class _OpenSession:
    """A session that is being written. `skip`: nothing of it is wanted; `names`: under new ids."""

    def __init__(
        self,
        id: str,
        old_id: str | None,
        provider_ids: dict[str, str],
        names: Names | None = None,
        skip: bool = False,
    ) -> None:
        self.id = id
        self.old_id = old_id
        self.provider_ids = provider_ids
        self.names = names
        self.skip = skip
        self.waiting: list[Message] = []
        self.written = 0

    def holds(self, message: Message) -> bool:
        """Whether the next message belongs to this session."""
        return message.session_id == self.old_id


class Names:
    """New ids for messages and calls; the providers' own ids of calls stay the same."""

    def __init__(
        self, ulids: Ulids, known: dict[str, str], calls: dict[str, str] | None = None
    ) -> None:
        self._ulids = ulids
        self._known = known
        self._new = dict(calls or {})
        self.provider_ids: dict[str, str] = {}

    def message(self, message: Message) -> Message:
        content = tuple([self._block(block) for block in message.content])
        metadata = message.metadata
        if (parent := self._new.get(metadata.parent_tool_use_id or "")) is not None:
            metadata = metadata.replace(parent_tool_use_id=parent)
        return message.replace(id=None, session_id=None, content=content, metadata=metadata)

    def _block(self, block: Block) -> Block:
        if type(block) is ToolUseBlock:
            return block.replace(id=self._call(block.id))
        if type(block) is ToolResultBlock and block.tool_use_id in self._new:
            return block.replace(tool_use_id=self._new[block.tool_use_id])
        return block

    def _call(self, id: str) -> str:
        new = self._new[id] = new_tool_id(self._ulids)
        provider_id = self._known.get(id) or (None if is_tool_id(id) else id)
        if provider_id is not None:
            self.provider_ids[new] = provider_id
        return new


def _read_from(message: Message, source: str) -> Message:
    """Records the source dialect of an assistant's message, so that content for its issuer can be
    written back."""
    if message.role is not Role.ASSISTANT or message.metadata.protocol is not None:
        return message
    return message.replace(metadata=message.metadata.replace(protocol=source))


def _answer(response: Response, source: str, provider: str | None) -> Message:
    message = _read_from(response.message, source) if source in dialects() else response.message
    metadata = message.metadata
    model = metadata.model or _full(metadata.response_model, provider)
    provider = metadata.provider or provider
    return message.replace(metadata=metadata.replace(model=model, provider=provider))


def _model_of(request: Request | None, response: Response | None) -> str | None:
    if request is not None and request.model:
        return request.model
    if response is None:
        return None
    return response.message.metadata.model or response.message.metadata.response_model


def _full(model: str | None, provider: str | None) -> str | None:
    """`<provider>:<name>`; None where either is not known."""
    if model is None or provider is None or model.startswith(f"{provider}:"):
        return model if model and ":" in model else None
    return f"{provider}:{model}"


def shown_name(messages: Sequence[Message]) -> str | None:
    """A title: the start of the first question, or of the first text."""
    texts = [message.text for message in messages if message.role is Role.USER and message.text]
    texts += [message.text for message in messages if message.text]
    text = " ".join(texts[0].split()) if texts else ""
    return (text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1]}…") or None
