"""Gemini CLI's logs to a transcript."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

import msgspec
from msgspec.structs import replace

from interlingua.dialects.gemini.messages import read_contents
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import TranscriptError, contents
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Entry, Line, LinesFile
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.transcript import (
    Branch,
    Compaction,
    Origin,
    OriginFile,
    SubAgent,
    Transcript,
    is_summary,
    total,
)
from interlingua.transcripts.values import (
    NOT_JSON,
    as_text,
    from_iso,
    listed,
    members,
    remembered,
)

HEADER = 1 << 16
"""Bytes of a file's first line, and of the mark of a project."""
COMPACTED, AGAIN = "compacted", "again"
"""Our notes: a rewind that is a compaction, and a record that is repeated behind one."""
USER, ANSWER = "user", "gemini"
"""The types of records with content."""
_REPEATED = ("tokens", "model", "toolCalls", "thoughts")
"""Members that a replacing list leaves out, although the message had them."""


class Record(msgspec.Struct, frozen=True, eq=False, gc=False):
    value: dict[str, Any]
    line: Line


class Log:
    """`records` is the current list, `before` the records that a summary replaced; `left` are
    lists that a rewind gave up; `answers` every answer that ever was, by its id."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        self.records: dict[str, Record] = {}
        self.before: list[Record] = []
        self.left: list[list[Record]] = []
        self.answers: dict[str, Record] = {}
        self._known: dict[str, Record] = {}

    def take(self, line: Line) -> None:
        value = line.value
        if type(value.get("id")) is str and "$rewindTo" not in value and "$set" not in value:
            self._put(Record(value, line))
        elif "$rewindTo" in value and noted(value, COMPACTED):
            self.before += self.records.values()
            self.records = {}
        elif "$rewindTo" in value:
            self._rewind(str(value["$rewindTo"]))
        elif "$set" in value:
            self._set(value["$set"], line)
        elif "sessionId" in value:
            self.about = {**value, **{k: v for k, v in self.about.items() if k == "startTime"}}
            for old in listed(value.get("messages")):  # one file of JSON, as older versions wrote
                if isinstance(old, dict) and isinstance(old.get("id"), str):
                    self._put(Record(old, line))

    def _put(self, record: Record) -> None:
        name = record.value["id"]
        self.records[name] = self._known[name] = record
        if record.value.get("type") == ANSWER:
            before = self.answers.get(name)
            if before is None or record.value.get("tokens"):
                self.answers[name] = record

    def _set(self, changes: Any, line: Line) -> None:
        if not isinstance(changes, dict):
            return
        self.about |= {key: value for key, value in changes.items() if key != "messages"}
        messages = changes.get("messages")
        if isinstance(messages, list):
            self.records = {
                each["id"]: self._again(each, line)
                for each in messages
                if isinstance(each, dict) and isinstance(each.get("id"), str)
            }

    def _again(self, value: dict[str, Any], line: Line) -> Record:
        """A message of a list that replaces all messages, with the data of the previous one if its
        content is the same."""
        before = self._known.get(value["id"])
        if before is None:
            return Record(value, line)
        content = value.get("content")
        if before.value.get("content") == content or _says_the_same(before.value, value):
            return before
        earlier = {key: before.value[key] for key in _REPEATED if key in before.value}
        return Record({**earlier, **value}, line)

    def _rewind(self, name: str) -> None:
        names = list(self.records)
        cut = names.index(name) if name in self.records else 0
        if names[cut:]:
            self.left.append(list(self.records.values()))
        self.records = {each: self.records[each] for each in names[:cut]}


def noted(value: dict[str, Any], mark: str) -> bool:
    """Whether we left this mark on a line."""
    note = value.get(KEY)
    return isinstance(note, dict) and note.get(mark) is True


def _says_the_same(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two records have the same content; calls are separate in one form, and among the
    parts in the other."""
    same = text_of(before) == text_of(now)
    return same and (now.get("type") == ANSWER or _beside_text(before) == _beside_text(now))


def _beside_text(value: dict[str, Any]) -> list[Any]:
    parts = listed(value.get("content"))
    return [part for part in parts if not (isinstance(part, dict) and "text" in part)]


def text_of(value: dict[str, Any]) -> str:
    """The text of a record, without thoughts."""
    content = value.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    shown = (part for part in parts if isinstance(part, dict) and not part.get("thought"))
    return "".join(part["text"] for part in shown if isinstance(part.get("text"), str))


def projects_in(path: Path) -> dict[str, str]:
    try:
        known = msgspec.json.decode(contents(path))["projects"]
    except (OSError, TranscriptError, KeyError, TypeError, *NOT_JSON):
        return {}
    pairs = known.items() if isinstance(known, dict) else ()
    return {folder: name for folder, name in pairs if isinstance(name, str)}


def owner_of(place: Path) -> str | None:
    try:
        data = contents(place / ".project_root", HEADER)
        return data.decode(errors="replace").strip() or None
    except (OSError, TranscriptError):
        return None


def folder_of(path: Path) -> str | None:
    """The working folder of a session, from its project's folder."""
    owner = owner_of(path.parent.parent)
    if owner is not None or len(path.parents) < 4:
        return owner
    projects = projects_in(path.parents[3] / "projects.json")
    names = {name: folder for folder, name in projects.items()}
    return names.get(path.parent.parent.name)


NAME = "gemini-cli"
DIALECT = "gemini"
_CONTEXT = "<session_context>"
_REMEMBERED = 100
"""Results of one call, and media of results, that are looked through for a repeated one."""


class _Call(TypedDict, total=False):
    id: Any
    name: Any
    args: Any
    result: Any
    status: Any
    agentId: Any


_READ = (
    *("id", "timestamp", "type", "content", "thoughts", "tokens", "model", "$set", "$rewindTo"),
    *("sessionId", "startTime", "lastUpdated", "summary", "directories", "messages", KEY),
)
"""The members of records that are read; what the screen shows of a result is not among them."""
_record: dict[str, Any] = {**dict.fromkeys(_READ, Any), "toolCalls": list[_Call]}
_Record = TypedDict("_Record", _record, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Record).decode


def detect_file(sample: Sample) -> str | None:
    """The first line names session and project."""
    first = sample.head.partition(b"\n")[0]
    if b'"sessionId"' in first and b'"projectHash"' in first:
        return "a first line with sessionId and projectHash"
    return None


def read_file(path: Path) -> Transcript:
    """One session, and those of its helpers beside it."""
    report = Report(NAME)
    file = LinesFile(path, report)
    log = Log()
    for line in file.lines(decode=_decode):
        log.take(line)
    if "sessionId" not in log.about:
        raise TranscriptError(path, "no line contains the session id")
    return _Session(log, report).transcript(file.origin(), path)


class _ReadMessage(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message, and the id of its record."""

    entry: Entry
    record: str


class _Answered:
    """The results so far: a file has them with their calls, and once more in a record behind."""

    def __init__(self) -> None:
        self._responses: dict[str, list[Any]] = {}
        self._beside: deque[Any] = deque(maxlen=_REMEMBERED)
        """Media of results, inside them or beside them."""

    def add(self, parts: list[Any]) -> None:
        """The results among these parts, and their data."""
        responses = [part for part in parts if type(part) is dict and "functionResponse" in part]
        if not responses:
            return
        for part in responses:
            about = members(part["functionResponse"])
            known = self._responses.setdefault(_call_id(about), [])
            known.append(about.get("response"))
            del known[:-_REMEMBERED]
            if "parts" in about:
                self._beside += listed(about["parts"])
        if len(responses) < len(parts):
            self._beside += [part for part in parts if part not in responses]

    def without_repeated(self, value: dict[str, Any]) -> dict[str, Any]:
        """The record without results that were seen before."""
        parts = value.get("content")
        if type(parts) is not list:
            return value
        new = [part for part in parts if not self._is_repeated(part)]
        if len(new) < len(parts):
            value = {**value, "content": [part for part in new if part not in self._beside]}
        return value

    def _is_repeated(self, part: Any) -> bool:
        about = part.get("functionResponse") if type(part) is dict else None
        if type(about) is not dict or about.get("response") not in self._responses.get(
            _call_id(about), ()
        ):
            return False
        return all(media in self._beside for media in listed(about.get("parts")))


class _Session:
    def __init__(self, log: Log, report: Report) -> None:
        self.log = log
        self.report = report
        self.agents: dict[str, str] = {}

    def transcript(self, file: OriginFile, path: Path) -> Transcript:
        about = self.log.about
        read_messages = self.read([*self.log.before, *self.log.records.values()])
        entries = [each.entry for each in read_messages]
        messages = tuple(entry.message for entry in entries)
        helpers, beside = self._helpers(path)
        left = [self.read(records) for records in self.log.left]
        ways = [Branch(None, tuple(each.entry.message for each in way)) for way in left]
        return Transcript.of(
            NAME,
            messages,
            id=as_text(about.get("sessionId")),
            title=as_text(about.get("summary")),
            folder=next(iter(listed(about.get("directories"))), None) or folder_of(path),
            created_at=from_iso(about.get("startTime")),
            updated_at=from_iso(about.get("lastUpdated")),
            usage=total(read_usage(each.value) for each in self.log.answers.values()),
            branches=(*ways, Branch(None, messages, True)),
            compactions=self._compactions(read_messages),
            subagents=helpers,
            report=self.report,
            origin=Origin(NAME, (file, *beside), messages, tuple(entry.spans for entry in entries)),
        )

    def read(self, records: Iterable[Record]) -> list[_ReadMessage]:
        found: list[_ReadMessage] = []
        answered = _Answered()
        for record in records:
            value = record.value
            notes = value.get(KEY)
            if notes is not None and noted(value, AGAIN):
                continue
            try:
                made = self._messages(value, answered)
            except InterlinguaError as error:
                self.report.add(
                    "dropped", f"line {record.line.number}", because("unreadable", error=error)
                )
                continue
            if type(notes) is dict:
                shown = [(message, notes.get(str(at))) for at, message in enumerate(made)]
                made = [message for each, note in shown for message in apply_note(each, note)]
            for message in made:
                entry = Entry(message, [record.line], is_summary(message))
                found.append(_ReadMessage(entry, value["id"]))
        return found

    def _messages(self, value: dict[str, Any], answered: _Answered) -> list[Message]:
        if value.get("type") == USER:
            value = answered.without_repeated(value)
            answered.add(listed(value.get("content")))
        for call in listed(value.get("toolCalls")):
            if type(call) is dict:
                answered.add(_result_parts(call))
                if type(call.get("agentId")) is str:
                    self.agents[call["agentId"]] = _call_id(call)
        return read_record(value)

    def _compactions(self, read_messages: list[_ReadMessage]) -> tuple[Compaction, ...]:
        """The positions of summaries, and the messages that are repeated around them."""
        marks = {
            at: Compaction(at) for at, each in enumerate(read_messages) if each.entry.compaction
        }
        if not marks:
            return ()
        places: dict[str, list[int]] = {}
        for at, each in enumerate(read_messages):
            entry, name = each.entry, each.record
            if entry.compaction or entry.message.role not in (Role.SYSTEM, Role.DEVELOPER):
                places.setdefault(name, []).append(at)
        again: list[int] = []
        last: int | None = None
        for record in (*self.log.before, *self.log.records.values()):
            here = places.get(record.value["id"], [])
            if noted(record.value, AGAIN):
                again += here
                if last is not None:
                    marks[last] = Compaction(last, tuple(again))
                continue
            last = next((at for at in here if at in marks), None)
            if last is not None and again:
                marks[last] = Compaction(last, tuple(again), summary_last=True)
            again = []
        return tuple(marks.values())

    def _helpers(self, path: Path) -> tuple[tuple[SubAgent, ...], tuple[OriginFile, ...]]:
        session = str(self.log.about.get("sessionId"))
        folder = path.parent / session
        helpers, files = [], []
        inside = folder.parent == path.parent and session != ".." and folder.is_dir()
        for each in sorted(folder.glob("*.jsonl")) if inside else ():
            transcript = read_file(each)
            helpers.append(SubAgent(transcript, self.agents.get(each.stem)))
            name = each.relative_to(path.parent).as_posix()
            files.append(OriginFile(each, name, each.stat().st_size))
        return tuple(helpers), tuple(files)


def read_record(value: dict[str, Any]) -> list[Message]:
    """The messages of one record: a prompt, results, or an answer with its calls' results."""
    kind = value.get("type")
    if kind != USER and kind != ANSWER:
        return []
    time = from_iso(value.get("timestamp"))
    if kind == ANSWER:
        return _answer(value, value.get("id"), time)
    text = _only_text(value.get("content"))
    if text is not None and not text.startswith(_CONTEXT):
        return [Message(Role.USER, (TextBlock(text),), id=value.get("id"), created_at=time)]
    return [_placed(message, value.get("id"), time) for message in _user(value)]


def _only_text(content: Any) -> str | None:
    part = content[0] if type(content) is list and len(content) == 1 else None
    text = part.get("text") if type(part) is dict and len(part) == 1 else None
    return text if type(text) is str else None


def _placed(message: Message, id: str | None, time: datetime | None) -> Message:
    """A message that a dialect read, in its place; context does not count as typed by a person."""
    role, name = message.role, message.name
    if role is Role.USER and message.text.startswith(_CONTEXT):
        role, name = Role.SYSTEM, NAME
    id = id if role is not Role.TOOL else None
    metadata = message.metadata
    return Message(role, message.content, name, id, metadata=metadata, created_at=time)


def _user(value: dict[str, Any]) -> list[Message]:
    parts = value.get("content")
    if type(parts) is str:
        return [Message(Role.USER, (TextBlock(parts),))]
    return _from_parts("user", [_own_id(part) for part in listed(parts)])


def _from_parts(role: str, parts: list[Any]) -> list[Message]:
    """The messages of one turn. It was JSON, so no further checks are needed."""
    if not parts:
        return []
    if role == "user" and (common := common_turn(parts)) is not None:
        return [common]
    try:
        return read_contents([{"role": role, "parts": parts}])
    except ShapeError as error:
        raise error.error(f"{DIALECT} content") from None


def common_turn(parts: list[Any]) -> Message | None:
    """Texts, or one result that is a text, as the dialect reads them but faster; else None."""
    if len(parts) == 1 and type(parts[0]) is dict and "functionResponse" in parts[0]:
        block = _common_result(parts[0])
        return Message.of_result(block) if block is not None else None
    texts = [part.get("text") if type(part) is dict and len(part) == 1 else None for part in parts]
    if not all(type(text) is str for text in texts):
        return None
    return Message(Role.USER, tuple([TextBlock(text) for text in texts]))  # type: ignore[arg-type]  # all are texts


def _common_result(part: dict[str, Any], own_ids: bool = False) -> ToolResultBlock | None:
    about = part.get("functionResponse")
    if len(part) != 1 or type(about) is not dict or len(about) != 3:
        return None
    id, name, response = about.get("id"), about.get("name"), about.get("response")
    if type(id) is not str or not id or type(name) is not str or type(response) is not dict:
        return None
    output = response.get("output")
    if len(response) != 1 or type(output) is not str or not output:
        return None
    id = _call_id(about) if own_ids else id
    return ToolResultBlock(id, (TextBlock(output),), tool_name=name)


def _own_id(part: Any) -> Any:
    """Calls are stored under `<tool>__<id>`, and sent without the tool."""
    for key in ("functionResponse", "functionCall"):
        about = part.get(key) if type(part) is dict else None
        if type(about) is dict and type(about.get("id")) is str:
            return {**part, key: {**about, "id": _call_id(about)}}
    return part


def _call_id(call: dict[str, Any]) -> str:
    return str(call.get("id") or "").removeprefix(f"{call.get('name')}__")


def _answer(value: dict[str, Any], id: str | None, time: datetime | None) -> list[Message]:
    calls = [call for call in listed(value.get("toolCalls")) if type(call) is dict]
    blocks: list[Block] = [*_thoughts(value), *_content_blocks(value, bool(calls))]
    for call in calls:
        arguments = members(call.get("args"))
        blocks.append(ToolUseBlock(_call_id(call), str(call.get("name")), arguments))
    shared = _shared(value.get("model"), ToolUseBlock in map(type, blocks))
    metadata = replace(shared, usage=read_usage(value))
    messages = [Message(Role.ASSISTANT, tuple(blocks), None, id, None, metadata, time)]
    for call in calls:
        messages += _results(call, time)
    return messages


@remembered
def _shared(model: Any, called: bool) -> MessageMetadata:
    """What many answers have in common."""
    return MessageMetadata(
        model=f"gemini:{model}" if isinstance(model, str) else None,
        provider="gemini",
        protocol=DIALECT,
        response_model=model if isinstance(model, str) else None,
        stop_reason=StopReason.TOOL_USE if called else StopReason.END_TURN,
    )


def _thoughts(value: dict[str, Any]) -> list[Block]:
    blocks: list[Block] = []
    for thought in listed(value.get("thoughts")):
        if type(thought) is dict:
            lines = (thought.get("subject"), thought.get("description"))
            blocks.append(ThinkingBlock("\n".join([x for x in lines if type(x) is str and x])))
    return blocks


def _content_blocks(value: dict[str, Any], calls_apart: bool) -> list[Block]:
    content = value.get("content")
    if type(content) is str:
        return [TextBlock(content)] if content else []
    parts = [_own_id(part) for part in listed(content) if type(part) is dict]
    blocks = [block for message in _from_parts("model", parts) for block in message.content]
    return [each for each in blocks if not (calls_apart and type(each) is ToolUseBlock)]


_FAILED = ("error", "cancelled")


def _results(call: dict[str, Any], time: datetime | None) -> Iterator[Message]:
    """The results of a call, usually one; pictures beside it belong to it."""
    blocks = _result_blocks(_result_parts(call))
    failed = call.get("status") in _FAILED
    beside: Any = tuple([block for block in blocks if type(block) is not ToolResultBlock])
    if len(beside) == len(blocks) and beside:
        blocks, beside = (
            [ToolResultBlock(_call_id(call), beside, tool_name=as_text(call.get("name")))],
            (),
        )
    for block in blocks:
        if type(block) is ToolResultBlock:
            if beside or failed != block.is_error:
                failed = block.is_error or failed
                block = replace(block, content=block.content + beside, is_error=failed)
                beside = ()
            metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
            yield Message(Role.TOOL, (block,), None, None, None, metadata, time)


def _result_parts(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The client's message for the result of a call: parts, one part, or a text."""
    result = call.get("result")
    if type(result) is str and result:
        about = {"id": call.get("id"), "name": call.get("name"), "response": {"output": result}}
        return [{"functionResponse": about}]
    parts = [result] if type(result) is dict else listed(result)
    if len(parts) == 1 and type(parts[0]) is dict:
        return parts
    texts = [{"text": part} if type(part) is str else part for part in parts]
    return [part for part in texts if type(part) is dict]


def _result_blocks(parts: list[dict[str, Any]]) -> list[Block]:
    if len(parts) == 1 and (common := _common_result(parts[0], own_ids=True)) is not None:
        return [common]
    messages = _from_parts("user", [_own_id(part) for part in parts])
    return [block for message in messages for block in message.content]


def read_usage(value: dict[str, Any]) -> Usage | None:
    """`input` counts cached ones too, `output` leaves out thoughts."""
    tokens = value.get("tokens")
    if type(tokens) is not dict:
        return None
    get = tokens.get
    cached, thoughts = _count(get("cached")), _count(get("thoughts"))
    fresh = _count(get("input")) + _count(get("tool")) - cached
    output = _count(get("output")) + thoughts
    return Usage(fresh if fresh > 0 else 0, output, cached, reasoning_tokens=thoughts)


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
