"""Claude Code's files to a transcript."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypedDict

import msgspec
from msgspec.structs import replace

from interlingua.dialects.anthropic.messages import read_turns
from interlingua.dialects.anthropic.response import read_usage
from interlingua.dialects.anthropic.tables import STOP_REASONS
from interlingua.dialects.anthropic.text import ANSWER, read_parts
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.blocks import TextBlock, ToolResultBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.transcripts.files import TranscriptError, contents, opened
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import (
    Entry,
    Line,
    LinesFile,
    Node,
    TreeReader,
    mark_continued,
    only,
    tips,
    way_to,
)
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.rows import partly
from interlingua.transcripts.transcript import (
    Answer,
    Compaction,
    Origin,
    OriginFile,
    Overview,
    Span,
    SubAgent,
    Transcript,
    is_summary,
    short,
    summary_message,
)
from interlingua.transcripts.values import (
    NOT_JSON,
    as_text,
    decoded,
    from_iso,
    listed,
    members,
    remembered,
)

NODES = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""Types of lines that have a `uuid` and belong to the tree; all others are bookkeeping."""

NOISE = (
    b'{"type":"api-request',
    b'{"type":"file-history-snapshot"',
    b'{"type":"queue-operation"',
    b'{"type":"last-prompt"',
    b'{"type":"cost-state"',
    b'{"type":"atis-latch"',
    b'{"type":"tools-used"',
    b'{"type":"mode"',
)
"""Beginnings of lines without conversation, often three quarters of a file: not decoded."""

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that name the session, the most telling kind first, and the key of the name."""

NOT_TYPED = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-stdout>",
)
"""Prefixes of user lines that no person typed as a prompt."""

SYNTHETIC = "<synthetic>"
"""The model of answers that the client made up: errors, and notes to itself."""


class Tree:
    """All nodes of a session, helpers' lines inside the file apart.

    An answer is one line per block, and the result of each call has the line of its own call as its
    parent, so the way up from the last line misses parallel calls. Lines are therefore joined
    first: an answer with its results is one node, and only nodes have parents and children."""

    def __init__(self, lines: list[Line]) -> None:
        self.nodes: list[Node] = []
        self._by_uuid: dict[str, Node] = {}
        self._answers: dict[str, Node] = {}
        self._callers: dict[str, Node] = {}
        for line in lines:
            self._take(line)
        for node in self.nodes:
            node.parent = self._parent(node)
        mark_continued(self.nodes)

    def active(self) -> Node | None:
        """The tip from which the session continues: the one with the latest message."""
        found = tips(self.nodes)
        return max(found, key=lambda node: node.lines[-1].number) if found else None

    def _take(self, line: Line) -> None:
        value = line.value
        kind, uuid = str(value.get("type")), value.get("uuid")
        if kind not in NODES or not isinstance(uuid, str) or uuid in self._by_uuid:
            return
        node = self._answer(line) if kind == "assistant" else self._other(line, kind == "user")
        self._by_uuid[uuid] = node

    def _other(self, line: Line, is_turn: bool) -> Node:
        """The node of a line that no model made: a result is a part of the answer with its call."""
        results = result_ids(line.value) if is_turn else []
        caller = self._callers.get(results[0]) if results else None
        if caller is None:
            return self._new(line, is_turn)
        caller.lines.append(line)
        return caller

    def _new(self, line: Line, is_turn: bool) -> Node:
        node = Node([line], is_turn)
        self.nodes.append(node)
        return node

    def _answer(self, line: Line) -> Node:
        """The node of an answer, which has the lines of the same answer before it."""
        name = answer_id(line.value)
        node = self._answers.get(name) if name is not None else None
        if node is None:
            node = self._new(line, True)
            if name is not None:
                self._answers[name] = node
        else:
            node.lines.append(line)
        for block in content(line.value):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                self._callers[block["id"]] = node
        return node

    def _parent(self, node: Node) -> Node | None:
        value = node.lines[0].value
        above = value.get("parentUuid") or value.get("logicalParentUuid")
        found = self._by_uuid.get(above) if isinstance(above, str) else None
        return None if found is node else found


def content(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of a line's message; a string is no block."""
    message = value.get("message")
    blocks = message.get("content") if type(message) is dict else None
    if type(blocks) is not list:
        return []
    if len(blocks) == 1 and type(blocks[0]) is dict:
        return blocks
    return [block for block in blocks if type(block) is dict]


def result_ids(value: dict[str, Any]) -> list[str]:
    """The calls that a line has results of."""
    return [
        block["tool_use_id"]
        for block in content(value)
        if block.get("type") == "tool_result" and isinstance(block.get("tool_use_id"), str)
    ]


def answer_id(value: dict[str, Any]) -> str | None:
    """The id that the lines of one answer share."""
    message = value.get("message")
    name = message.get("id") if isinstance(message, dict) else None
    return name if isinstance(name, str) else None


def is_error(value: dict[str, Any]) -> bool:
    """Whether the client reports a failure in the model's place; it is never sent."""
    message = value.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return value.get("isApiErrorMessage") is True or model == SYNTHETIC


_LISTS = ("loglines", "events", "messages", "lines", "entries", "data")
_LIST = re.compile(rb'"(?:%s)"\s*:\s*\[' % "|".join(_LISTS).encode())
_TURNS = ("user", "assistant")
_ALIASES = {"sessionId": "session_id", "timestamp": "created_at"}
_IDS = ("sessionId", "session_id", "id", "uuid")
_HEAD = 1 << 16
_DOCUMENTS = (".json", ".json.gz", ".json.zst")


def variant_of(name: str) -> str:
    """The variant of the format for a file of this name."""
    return "document" if name.endswith(_DOCUMENTS) else "lines"


def detect_document(sample: Sample) -> str | None:
    """A list of events with a type, a message and an id."""
    head = sample.head.lstrip()
    if not head.startswith(b"[") and _LIST.search(head) is None:
        return None
    lines = _events(partly(head))
    return "one document with the events of a session" if any(map(_is_turn, lines)) else None


def is_document(path: Path) -> bool:
    """Whether a file is such a document."""
    with opened(path) as file:
        return detect_document(Sample(path, file.read(_HEAD))) is not None


def lines_of(path: Path) -> list[Line]:
    """The events as lines, with their data from elsewhere in the document."""
    data = contents(path)
    try:
        document = msgspec.json.decode(data)
    except NOT_JSON as error:
        raise TranscriptError(path, f"invalid JSON: {error}") from error
    about = members(document)
    about = {**about, **members(about.get("session"))}
    session = next(filter(None, (as_text(about.get(key)) for key in _IDS)), None)
    above: str | None = None
    lines = []
    for number, event in enumerate(_events(document), 1):
        value = _completed(event, number, session, above)
        above = value["uuid"] if value.get("type") in NODES else above
        lines.append(Line(number, Span(0, 0), value))
    title = as_text(about.get("title")) or as_text(about.get("name"))
    if title is not None:
        name = {"type": "custom-title", "customTitle": title}
        lines.append(Line(len(lines) + 1, Span(0, 0), name))
    return lines


def _events(document: Any) -> list[dict[str, Any]]:
    found = document
    if isinstance(document, dict):
        found = next((document[key] for key in _LISTS if listed(document.get(key))), None)
    return [event for event in listed(found) if isinstance(event, dict)]


def _is_turn(event: dict[str, Any]) -> bool:
    message = event.get("message")
    return (
        event.get("type") in _TURNS
        and isinstance(message, dict)
        and ("role" in message or "content" in message)
        and ("uuid" in event or "parentUuid" in event)
    )


def _completed(
    event: dict[str, Any], number: int, session: str | None, above: str | None
) -> dict[str, Any]:
    """The event as a line of a file: each follows the one before where it names no parent."""
    value = dict(event)
    for key, alias in _ALIASES.items():
        if key not in value and alias in value:
            value[key] = value[alias]
    if session is not None:
        value.setdefault("sessionId", session)
    if value.get("type") in NODES:
        if not isinstance(value.get("uuid"), str):
            value["uuid"] = f"event-{number}"
        value.setdefault("parentUuid", above)
        if isinstance(value.get("parent_tool_use_id"), str):
            value.setdefault("isSidechain", True)  # a helper's, named by the call that began it
    return value


NAME = "claude-code"
WANTED = (
    *("type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "message", "timestamp"),
    *("isMeta", "isCompactSummary", "isApiErrorMessage", "compactMetadata", "rendered"),
    *("cwd", "sessionId", "version", "gitBranch", *TITLES.values(), KEY),
)
"""The keys of lines that are read; the copies of results for the screen are not among them."""
_decode = only(*WANTED)
_STRING = MessageMetadata(provider_raw={"anthropic": {"$form": {"content": "string"}}})
"""The keys of a prompt that is spelled as a string."""
_RESULT: dict[str, Any] = {"anthropic": {"$form": {"content": "string"}}}
"""The keys of a result that is."""
_SIGNS = (b'"parentUuid":', b'"sessionId":')
_SIGNS_ALONE = (b'"parentUuid"', b'"uuid"', b'"message"')


def detect_file(sample: Sample) -> str | None:
    """Lines with `sessionId` and, for messages, `parentUuid`; or a document of them."""
    as_document = detect_document(sample)
    if as_document is not None:
        return as_document
    if sample.path.suffix != ".jsonl" and b"\n" not in sample.head.strip():
        return None
    if all(sign in sample.head for sign in _SIGNS):
        return "lines with parentUuid and sessionId"
    first = sample.head.lstrip().partition(b"\n")[0]
    if first.startswith(b"{") and all(sign in first for sign in _SIGNS_ALONE):
        return "a first line with parentUuid, uuid and message"  # a file needs no sessionId
    return None


def read_file(path: Path) -> Transcript:
    """One session: the file, and those of its helpers beside it."""
    report = Report(NAME)
    file = LinesFile(path, report)
    lines = list(file.lines(NOISE, _decode))
    as_lines = lines and lines[0].number == 1 and "type" in lines[0].value
    if not as_lines and is_document(path):
        return _whole(lines_of(path), file.origin())
    session = Session(lines, report)
    if not session.lines:
        raise TranscriptError(path, "it contains no readable line of a Claude Code session")
    helpers, beside = _helpers(path, report)
    return session.transcript(file.origin(), helpers, beside)


def _whole(lines: list[Line], file: OriginFile) -> Transcript:
    """A session in one document; under the name of a file of lines it is written as lines."""
    found = Session(lines, Report(NAME)).transcript(file)
    origin = Origin(NAME, (file,), found.messages, ((),) * len(found.messages))
    return found.replace(origin=origin if variant_of(file.name) == "document" else None)


class Session:
    """The lines of one file, sorted by purpose."""

    def __init__(self, lines: list[Line], report: Report, helper: bool = False) -> None:
        self.lines = lines
        self.report = report
        own = [line for line in lines if helper or line.value.get("isSidechain") is not True]
        self.notes = [line for line in lines if "uuid" not in line.value]
        self.tree = Tree(own)

    def transcript(
        self,
        file: OriginFile,
        helpers: tuple[SubAgent, ...] = (),
        beside: tuple[OriginFile, ...] = (),
    ) -> Transcript:
        tip = self.tree.active()
        reader = TreeReader(self._entries)
        entries = reader.entries(tip)
        messages = tuple(entry.message for entry in entries)
        spans = tuple(entry.spans for entry in entries)
        details = {"version": self.latest("version"), "git_branch": self.latest("gitBranch")}
        self._report_attachments()
        return Transcript.of(
            NAME,
            messages,
            id=self.session_id(file.path),
            title=self.title(),
            folder=self.latest("cwd"),
            created_at=from_iso(self.first("timestamp")),
            updated_at=from_iso(self.latest("timestamp")),
            usage=reader.usage(self.tree.nodes),
            branches=reader.branches(self.tree.nodes, tip),
            compactions=self._compactions(entries),
            subagents=helpers,
            report=self.report,
            details={key: value for key, value in details.items() if value},
            origin=Origin(NAME, (file, *beside), messages, spans),
        )

    def _entries(self, node: Node) -> list[Entry]:
        kind = node.lines[0].value["type"]
        if kind == "user":
            return self._tried(_user_entries, node.lines)
        if kind != "assistant":
            return []
        answer = [line for line in node.lines if line.value["type"] == "assistant"]
        found = [] if is_error(answer[0].value) else self._tried(_answer_entries, answer)
        if len(answer) < len(node.lines):
            for line in node.lines:
                if line.value["type"] == "user":
                    found += self._tried(_user_entries, [line])
        return found

    def _tried(self, make: Callable[[list[Line]], list[Entry]], lines: list[Line]) -> list[Entry]:
        try:
            return make(lines)
        except InterlinguaError as error:
            self.report.add(
                "dropped", f"line {lines[0].number}", because("unreadable", error=error)
            )
            return []

    def _compactions(self, entries: list[Entry]) -> tuple[Compaction, ...]:
        if not any(entry.compaction for entry in entries):
            return ()
        places = {line.value.get("uuid"): at for at, e in enumerate(entries) for line in e.lines}
        found = []
        for at, entry in enumerate(entries):
            if entry.compaction:
                uuids = self._preserved(entry.lines[0].value)
                indexes = sorted({places[uuid] for uuid in uuids if places.get(uuid, at) < at})
                found.append(Compaction(at, tuple(indexes)))
        return tuple(found)

    def _preserved(self, summary: dict[str, Any]) -> list[str]:
        """The lines that are repeated behind a summary."""
        for line in self.lines:
            if line.value.get("uuid") == summary.get("parentUuid"):
                about = line.value.get("compactMetadata") or {}
                preserved = about.get("preservedMessages") or {}
                return preserved.get("uuids") or preserved.get("allUuids") or []
        return []

    def _report_attachments(self) -> None:
        """The client's own messages to the model stay in the file; the report counts them."""
        count = sum(1 for line in self.lines if line.value.get("rendered"))
        if count:
            reason = because("client_notes", count=count)
            self.report.add("dropped", "attachments", reason)

    def title(self) -> str | None:
        for kind, key in TITLES.items():
            for line in reversed(self.notes):
                if line.value.get("type") == kind and isinstance(line.value.get(key), str):
                    title: str = line.value[key]
                    return title
        return None

    def session_id(self, path: Path) -> str:
        """The name of the file is the session's; a fork's first lines still name the old one."""
        found = self.latest("sessionId")
        return found if found is not None and found in path.stem else found or path.stem

    def first(self, key: str) -> str | None:
        found = (line.value.get(key) for line in self.lines)
        return next((value for value in found if isinstance(value, str)), None)

    def latest(self, key: str) -> str | None:
        found = (line.value.get(key) for line in reversed(self.lines))
        return next((value for value in found if isinstance(value, str)), None)


def _answer_entries(lines: list[Line]) -> list[Entry]:
    """One answer: the blocks of its lines together, usage counted once."""
    first = lines[0].value
    wires = [_message(line) for line in lines]
    blocks = content(first)
    for line in lines[1:]:
        blocks = blocks + content(line.value)
    usage, stop = most_usage(wires), wires[0].get("stop_reason")
    for wire in wires[1:]:
        stop = stop if wire.get("stop_reason") is None else wire["stop_reason"]
    id, model = wires[0].get("id"), wires[0].get("model")
    try:
        counts, diagnostics = read_usage(usage)
        id = id if type(id) is str else None
        shared = _shared(model, stop)
        metadata = replace(shared, response_id=id, usage=counts, diagnostics=diagnostics)
        found = read_parts(blocks, ANSWER)
    except ShapeError as shape:
        raise shape.inside(".message").error("Claude Code") from None
    time = from_iso(first.get("timestamp"))
    message = Message(Role.ASSISTANT, found, None, first.get("uuid"), None, metadata, time)
    return _with_notes(message, lines)


@remembered
def _shared(model: Any, stop: Any) -> MessageMetadata:
    """What many answers have in common."""
    return MessageMetadata(
        protocol="anthropic",
        model=f"anthropic:{model}" if type(model) is str else None,
        provider="anthropic" if type(model) is str else None,
        response_model=model if type(model) is str else None,
        stop_reason=STOP_REASONS.read(stop) if type(stop) is str else None,
        raw_stop_reason=stop if type(stop) is str else None,
    )


def shown_as(values: list[dict[str, Any]]) -> Message | None:
    """The reading of lines that were just made, without their notes."""
    lines = [Line(0, Span(0, 0), value) for value in values if value["type"] != "system"]
    made = _answer_entries(lines) if lines[0].value["type"] == "assistant" else _user_entries(lines)
    return next((entry.message for entry in made), None)


def most_usage(wires: list[dict[str, Any]]) -> Any:
    """The usage of an answer: every line of it repeats that, and the last ones are the most
    complete."""
    if len(wires) == 1:
        return wires[0].get("usage")
    found: dict[str, Any] = {}
    most: float = -math.inf
    for wire in wires:
        usage = members(wire.get("usage"))
        count = usage.get("output_tokens")
        count = count if isinstance(count, int) else -1
        if count > most:
            found, most = usage, count
    return found


def _user_entries(lines: list[Line]) -> list[Entry]:
    """A prompt, results of calls, a summary, or a message of the client in the user's role."""
    value = lines[0].value
    wire = _message(lines[0])
    if len(wire) == 2 and "isMeta" not in value and "isCompactSummary" not in value:
        common = _common(wire.get("content"), value)
        if common is not None:
            return _with_notes(common, lines)
    if value.get("isCompactSummary") is True:
        return _with_notes(_placed(_summary(wire), value), lines, compaction=True)
    found: list[Entry] = []
    for message in _turn(wire):
        if message.role is Role.USER and _is_not_typed(value, message):
            message = replace(message, role=Role.SYSTEM, name="claude-code")
        found += _with_notes(_placed(message, value), lines)
    return found


def _common(parts: Any, value: dict[str, Any]) -> Message | None:
    """A prompt or a result that is one text, as the dialect reads it but faster; else None."""
    id, time = value.get("uuid"), from_iso(value.get("timestamp"))
    if type(parts) is str:
        if not parts or parts.startswith(NOT_TYPED):
            return None
        text = (TextBlock(parts),)
        return Message(Role.USER, text, id=id, metadata=_STRING, created_at=time)
    part = parts[0] if type(parts) is list and len(parts) == 1 else None
    if type(part) is not dict or len(part) != 3 or part.get("type") != "tool_result":
        return None
    call, text_of_it = part.get("tool_use_id"), part.get("content")
    if type(call) is not str or type(text_of_it) is not str or not text_of_it:
        return None
    block = ToolResultBlock(call, (TextBlock(text_of_it),), raw=_RESULT)
    metadata = MessageMetadata(parent_tool_use_id=call)
    return Message(Role.TOOL, (block,), id=id, metadata=metadata, created_at=time)


def _turn(wire: dict[str, Any]) -> list[Message]:
    """The messages of one turn."""
    try:
        return read_turns([{**wire, "role": "user"}], [])
    except ShapeError as error:
        raise error.inside(".message").error("Claude Code") from None


def _with_notes(shown: Message, lines: list[Line], compaction: bool = False) -> list[Entry]:
    """The shown messages, and the notes of another tool."""
    note = lines[0].value.get(KEY)
    if note is None:
        return [Entry(shown, lines, compaction)]
    return [Entry(each, lines, compaction and is_summary(each)) for each in apply_note(shown, note)]


def _message(line: Line) -> dict[str, Any]:
    message = line.value.get("message")
    if not isinstance(message, dict):
        raise ReadError("Claude Code", "$.message", "an object", found(message))
    return message


def _summary(wire: dict[str, Any]) -> Message:
    text = wire.get("content")
    if isinstance(text, list):
        text = "\n".join(block.get("text", "") for block in text if isinstance(block, dict))
    return summary_message(text or "")


def _is_not_typed(value: dict[str, Any], message: Message) -> bool:
    if value.get("isMeta") is True:
        return True
    only = message.content[0] if len(message.content) == 1 else None
    text = only.text if type(only) is TextBlock else message.text
    return text.startswith(NOT_TYPED)


def _placed(message: Message, value: dict[str, Any]) -> Message:
    return replace(message, id=value.get("uuid"), created_at=from_iso(value.get("timestamp")))


def _helpers(path: Path, report: Report) -> tuple[tuple[SubAgent, ...], tuple[OriginFile, ...]]:
    """The sessions of helpers, which lie in a folder named like the file."""
    folder = path.with_suffix("") / "subagents"
    helpers, files = [], []
    for each in sorted(folder.glob("agent-*")) if folder.is_dir() else ():
        name = each.relative_to(path.parent).as_posix()
        try:
            if each.suffix == ".jsonl":
                inside = Report(NAME)
                file = LinesFile(each, inside, name)
                session = Session(list(file.lines(NOISE, _decode)), inside, helper=True)
                helpers.append(SubAgent(session.transcript(file.origin()), _caller(each)))
                files.append(file.origin())
            else:
                opened(each).close()
                files.append(OriginFile(each, name, each.stat().st_size))
        except (OSError, TranscriptError) as error:
            report.add("dropped", name, because("unreadable", error=error))
    return tuple(helpers), tuple(files)


def _caller(path: Path) -> str | None:
    """The call that began a helper, by the file beside it."""
    about = path.with_suffix(".meta.json")
    try:
        name = members(decoded(contents(about))).get("toolUseId")
    except (OSError, TranscriptError):
        return None
    return name if isinstance(name, str) else None


class _Block(TypedDict, total=False):
    type: Any
    id: Any
    tool_use_id: Any
    text: Any


class _Message(TypedDict, total=False):
    id: Any
    model: Any
    usage: Any
    content: list[_Block] | str | None


_keys: dict[str, Any] = {**dict.fromkeys(WANTED, Any), "message": _Message}
_Line = TypedDict("_Line", _keys, total=False)  # type: ignore[misc]  # made of a list
_decode_little = msgspec.json.Decoder(_Line).decode


def overview_at(path: Path, id: str | None) -> Overview | None:
    """None where another tool left notes, which count as messages."""
    session = _session(path)
    if session is None or not session.lines or "type" not in session.lines[0].value:
        return None
    way = way_to(session.tree.active())
    answers = list(_answers(session))
    for helper in sorted((path.with_suffix("") / "subagents").glob("agent-*.jsonl")):
        other = _session(helper)
        if other is None:
            return None
        answers += _answers(other)
    return Overview(
        session.session_id(path),
        session.title() or _first_prompt(way),
        session.latest("cwd"),
        from_iso(session.first("timestamp")),
        from_iso(session.latest("timestamp")),
        sum(_count(node) for node in way),
        tuple(answers),
    )


def _session(path: Path) -> Session | None:
    lines = list(LinesFile(path, Report(NAME)).lines(NOISE, _decode_little))
    if any(KEY in line.value for line in lines):
        return None
    return Session(lines, Report(NAME), helper=path.name.startswith("agent-"))


def _answers(session: Session) -> Iterator[Answer]:
    for node in session.tree.nodes:
        lines = [line for line in node.lines if line.value["type"] == "assistant"]
        if lines and not is_error(lines[0].value):
            answer = _answer(lines)
            if answer is not None:
                yield answer


def _answer(lines: list[Line]) -> Answer | None:
    first = lines[0].value
    messages = [_message_in(line.value) for line in lines]
    try:
        usage, _ = read_usage(most_usage(messages))
    except ShapeError:
        return None
    if usage is None:
        return None
    model, name = messages[0].get("model"), messages[0].get("id")
    full = f"anthropic:{model}" if type(model) is str else None
    known = name if type(name) is str else str(first.get("uuid"))
    return Answer(full, usage, from_iso(first.get("timestamp")), known)


def _count(node: Node) -> int:
    """The messages of a node."""
    count = 0
    for line in node.lines:
        if line.value["type"] == "user":
            count += _turns(line.value)
    answered = node.lines[0].value["type"] == "assistant"
    return count + (answered and not is_error(node.lines[0].value))


def _turns(value: dict[str, Any]) -> int:
    """Each result is a message, and each run of other blocks is one."""
    if type(value.get("message")) is not dict:
        return 0
    parts = value["message"].get("content")
    if type(parts) is not list or value.get("isCompactSummary") is True:
        return 1
    count, run = 0, False
    for part in parts:
        if type(part) is dict and part.get("type") == "tool_result":
            count, run = count + 1, False
        elif not run:
            count, run = count + 1, True
    return max(count, 1)


def _first_prompt(way: list[Node]) -> str | None:
    for node in way:
        value = node.lines[0].value
        if value["type"] == "user" and not (value.get("isMeta") or value.get("isCompactSummary")):
            text = _text(_message_in(value).get("content"))
            if text and not text.startswith(NOT_TYPED):
                return short(text) or None
    return None


def _message_in(value: dict[str, Any]) -> dict[str, Any]:
    message = value.get("message")
    return message if type(message) is dict else {}


def _text(parts: Any) -> str:
    if type(parts) is not list:
        return parts if type(parts) is str else ""
    found = [part for part in parts if type(part) is dict and part.get("type") == "text"]
    return "".join(part["text"] for part in found if type(part.get("text")) is str)
