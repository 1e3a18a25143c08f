"""pi: a file of JSON Lines a session, a tree by `parentId`; each answer records its API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import NAMESPACE_URL, uuid5

import msgspec
from msgspec.structs import replace

from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.files import TranscriptError
from interlingua.transcripts.format import (
    Draft,
    Format,
    Found,
    Sample,
    Skipped,
    Utterance,
    candidate,
)
from interlingua.transcripts.lines import (
    Entry,
    Line,
    LinesFile,
    LineWriter,
    Node,
    TreeReader,
    joined,
    mark_continued,
    session_uuid,
    spelled,
    way_to,
)
from interlingua.transcripts.notes import (
    KEY,
    apply_note,
    join_results,
    leave_instructions,
    note_for,
)
from interlingua.transcripts.transcript import (
    Compaction,
    Origin,
    OriginFile,
    Transcript,
    bare,
    is_summary,
    summary_message,
    summary_text,
)
from interlingua.transcripts.values import (
    NOT_JSON,
    as_count,
    as_string,
    as_text,
    dollars,
    from_iso,
    members,
    remembered,
    to_iso,
    to_millis,
)

VERSION = 3
"""The version of the files that are written."""

APIS = {
    "anthropic-messages": "anthropic",
    "openai-responses": "openai-responses",
    "openai-codex-responses": "openai-responses",
    "azure-openai-responses": "openai-responses",
    "openai-completions": "openai-chat",
    "mistral-conversations": "openai-chat",
    "google-generative-ai": "gemini",
    "google-gemini-cli": "gemini",
    "google-vertex": "gemini",
    "bedrock-converse-stream": "bedrock",
}
"""The dialect of an answer, by the name of the API; the first name is written."""

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.CANCELLED,
}
STOP_WORDS: dict[StopReason | None, str] = {
    **{reason: word for word, reason in STOPS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.OTHER: "stop",
    StopReason.REFUSAL: "stop",
    StopReason.CONTENT_FILTER: "stop",
}


RESPONSES = "openai-responses"
SIGNED_TEXTS = frozenset({"gemini"})
"""Dialects that sign texts."""
Wire = dict[str, Any]


def read_blocks(content: Any, protocol: str | None) -> list[Block]:
    """Content as in the file: a string, a list of blocks, or none. Signed content is spelled as its
    API needs it: a Responses answer has the whole reasoning item as text."""
    if type(content) is str:
        return [TextBlock(content)] if content else []
    if content is None:
        return []
    blocks: list[Block] = []
    for part in content if type(content) is list else [content]:
        kind = part.get("type") if type(part) is dict else None
        read = _READERS.get(kind) if type(kind) is str else None
        found = read(part, protocol) if read is not None else None
        if type(found) is list:
            blocks += found
        else:
            blocks.append(UnknownBlock({"pi": part}) if found is None else found)  # type: ignore[arg-type]  # no list
    return blocks


def _read_text(part: Wire, protocol: str | None) -> Block | None:
    text = part.get("text")
    if type(text) is not str:
        return None
    signature = as_string(part.get("textSignature")) if protocol in SIGNED_TEXTS else None
    return TextBlock(text, signature)


def _read_thinking(part: Wire, protocol: str | None) -> list[Block] | None:
    text, signature = part.get("thinking"), as_string(part.get("thinkingSignature"))
    if text is None and signature is not None:
        text = ""  # a thought of which nothing is shown
    redacted = part.get("redacted") is True
    if type(text) is not str and not (redacted and signature is not None):
        return None
    return _thinking(text or "", signature, redacted, protocol)


def _thinking(
    text: str, signature: str | None, redacted: bool, protocol: str | None
) -> list[Block]:
    if redacted and signature is not None:
        return [RedactedThinkingBlock(signature)]
    if protocol == RESPONSES and signature is not None and signature.startswith("{"):
        try:
            item = msgspec.json.decode(signature)
            messages = dialect(RESPONSES).read_request({"input": [item]}).messages
        except (InterlinguaError, *NOT_JSON):
            pass
        else:
            return [block for message in messages for block in message.content]
    return [ThinkingBlock(text, signature or None)]


def _read_call(part: Wire, protocol: str | None) -> Block | None:
    name, tool, arguments = part.get("id"), part.get("name"), part.get("arguments")
    if type(name) is not str or type(tool) is not str or type(arguments) is not dict:
        return None
    signature = as_string(part.get("thoughtSignature"))
    return ToolUseBlock(call_id(name, protocol), tool, arguments, signature=signature)


def _read_image(part: Wire, protocol: str | None) -> Block | None:
    data, media = part.get("data"), part.get("mimeType")
    if type(data) is not str or not (media is None or type(media) is str):
        return None
    return ImageBlock(Source("base64", data), media)


_READERS: dict[str, Callable[[Wire, str | None], Block | list[Block] | None]] = {
    "text": _read_text,
    "thinking": _read_thinking,
    "toolCall": _read_call,
    "image": _read_image,
}
"""By the type of a part; None for one that is not as it should be."""


def call_id(name: str, protocol: str | None) -> str:
    """The call's own id, from a name that may contain its item too."""
    return name.partition("|")[0] if "|" in name else name


def write_blocks(message: Message) -> list[dict[str, Any]]:
    """The blocks of a message in pi's form; other content is left to the note beside it."""
    items = _items(message) if message.metadata.protocol == RESPONSES else {}
    written = (_write_block(block, items) for block in message.content)
    return [part for part in written if part is not None]


def _write_block(block: Block, items: dict[str, Any]) -> dict[str, Any] | None:
    match block:
        case TextBlock(text, signature):
            return {"type": "text", "text": text, **_some(textSignature=signature)}
        case ThinkingBlock(text, signature):
            item = items.get(block.id or "")
            spelled = msgspec.json.encode(item).decode() if item else signature
            return {"type": "thinking", "thinking": text, **_some(thinkingSignature=spelled)}
        case RedactedThinkingBlock(data):
            shown = "[Reasoning redacted]"
            return {
                "type": "thinking",
                "thinking": shown,
                "thinkingSignature": data,
                "redacted": True,
            }
        case ToolUseBlock(name, tool, arguments, signature=signature):
            item = items.get(name)
            name = f"{name}|{item['id']}" if item and item.get("id") else name
            call = {"type": "toolCall", "id": name, "name": tool, "arguments": arguments}
            return {**call, **_some(thoughtSignature=signature)}
        case ImageBlock(Source("base64", data), media):
            return {"type": "image", "data": data, "mimeType": media or "image/png"}
        case UnknownBlock({"pi": dict(part)}):
            return part
    return None


def _items(message: Message) -> dict[str, Any]:
    """The Responses items of an answer, by the id of the reasoning or of the call."""
    wire = dialect(RESPONSES).write_request(Request((message,))).wire
    items = wire["input"] if isinstance(wire.get("input"), list) else []
    return {str(item.get("call_id") or item.get("id")): item for item in items}


def _some(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def sections(message: dict[str, Any]) -> str:
    """The instructions of a system entry: its text, or its sections in order."""
    text = message.get("content")
    if isinstance(text, str) and text:
        return text
    parts = message.get("sections")
    values: Iterable[Any] = parts.values() if isinstance(parts, dict) else ()
    return "\n\n".join(part for part in values if isinstance(part, str) and part)


class _Text(msgspec.Struct, tag="text", rename="camel", gc=False):
    text: str
    text_signature: str | None = None


class _Thinking(msgspec.Struct, tag="thinking", rename="camel", gc=False):
    thinking: str
    thinking_signature: str | None = None
    redacted: bool = False


class _Call(msgspec.Struct, tag="toolCall", rename="camel", gc=False):
    id: str
    name: str
    arguments: dict[str, Any]
    thought_signature: str | None = None


_Parts = str | list[_Text | _Thinking | _Call]
_Count = Annotated[int, msgspec.Meta(ge=0)] | None


class _Cost(msgspec.Struct, rename="camel", gc=False):
    total: int | float | None = None


class _Usage(msgspec.Struct, rename="camel", gc=False):
    input: _Count = None
    output: _Count = None
    cache_read: _Count = None
    cache_write: _Count = None
    reasoning: _Count = None
    cost: _Cost | None = None


class _Prompt(msgspec.Struct, tag="user", tag_field="role", rename="camel", gc=False):
    content: _Parts


class _Result(msgspec.Struct, tag="toolResult", tag_field="role", rename="camel", gc=False):
    tool_call_id: str
    content: _Parts
    tool_name: str | None = None
    is_error: bool = False


class _Answer(msgspec.Struct, tag="assistant", tag_field="role", rename="camel", gc=False):
    content: _Parts
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    response_id: str | None = None
    usage: _Usage | None = None
    stop_reason: str | None = None
    raw_stop_reason: str | None = None
    error_message: str | None = None


_READ = (
    *("type", "id", "parentId", "timestamp", "version", "cwd", "name", "summary", KEY),
    *("firstKeptEntryId", "content", "customType", "targetId", "replacement"),
)
_entry: dict[str, Any] = {**dict.fromkeys(_READ, Any), "message": _Prompt | _Result | _Answer}
_Entry = TypedDict("_Entry", _entry, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Entry).decode
"""Usual entries, with a typed message; all others are decoded whole."""


def _straight(wire: Any, id: str | None, time: datetime | None) -> Message:
    """The message of a usual entry."""
    if type(wire) is _Answer:
        shared = _shared(wire.api, wire.provider, wire.model, wire.stop_reason)
        usage = wire.usage
        metadata = replace(
            shared,
            response_id=wire.response_id or None,
            usage=usage and _counted(usage),
            raw_stop_reason=wire.raw_stop_reason or None,
            error_message=wire.error_message or None,
        )
        content = _straight_blocks(wire.content, shared.protocol)
        return Message(Role.ASSISTANT, content, None, id, None, metadata, time)
    content = _straight_blocks(wire.content, None)
    if type(wire) is _Prompt:
        return Message(Role.USER, content, None, id, None, NO_METADATA, time)
    name = call_id(wire.tool_call_id, None)
    block = ToolResultBlock(name, content, wire.is_error, wire.tool_name or None)
    metadata = MessageMetadata(parent_tool_use_id=name)
    return Message(Role.TOOL, (block,), None, id, None, metadata, time)


def _straight_blocks(parts: Any, protocol: str | None) -> tuple[Any, ...]:
    if type(parts) is str:
        return (TextBlock(parts),) if parts else ()
    blocks: list[Block] = []
    for part in parts:
        if type(part) is _Text:
            signature = part.text_signature if protocol in SIGNED_TEXTS else None
            blocks.append(TextBlock(part.text, signature))
        elif type(part) is _Call:
            name, signature = call_id(part.id, protocol), part.thought_signature
            blocks.append(ToolUseBlock(name, part.name, part.arguments, signature=signature))
        else:
            blocks += _thinking(part.thinking, part.thinking_signature, part.redacted, protocol)
    return tuple(blocks)


def _counted(usage: _Usage) -> Usage:
    spent = dollars(usage.cost.total) if usage.cost is not None else None
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
    return Usage(*counts, spent)


@remembered
def _shared(api: Any, provider: str | None, model: str | None, stop: Any) -> MessageMetadata:
    """What many answers have in common."""
    return MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model or None,
        provider=provider or None,
        protocol=APIS.get(str(api)),
        response_model=model or None,
        stop_reason=STOPS.get(str(stop)),
        status=_STATUSES.get(str(stop), MessageStatus.COMPLETE),
    )


NAME = "pi"
_HEADER = b'{"type":"session"'


def detect_file(sample: Sample) -> str | None:
    """The first line is a session's header."""
    first = sample.head.partition(b"\n")[0].replace(b" ", b"")
    if first.startswith(_HEADER) and b'"cwd"' in first:
        return "a first line of type session"
    return None


def read_file(path: Path) -> Transcript:
    """One session."""
    report = Report(NAME)
    file = LinesFile(path, report)
    lines = list(file.lines(decode=_decode))
    if not lines or lines[0].value.get("type") != "session":
        raise TranscriptError(path, "it does not start with a session header")
    return _Session(lines, report).transcript(file.origin())


class _Session:
    def __init__(self, lines: list[Line], report: Report) -> None:
        self.header = lines[0].value
        self.lines = lines[1:]
        self.report = report
        self.nodes = _nodes(self.lines)
        edits = [each.value for each in self.lines if each.value.get("type") == "context_edit"]
        self.edits = {each.get("targetId"): each.get("replacement") for each in edits}
        """The replacement of an entry: the last edit counts; None: it is removed."""

    def transcript(self, file: OriginFile) -> Transcript:
        self._report_edits()
        infos = (
            each.value for each in reversed(self.lines) if each.value.get("type") == "session_info"
        )
        titles = (as_text(info.get("name")) for info in infos)
        tip = self.nodes[-1] if self.nodes else None
        reader = TreeReader(self._entries)
        entries = reader.entries(tip)
        messages = tuple(entry.message for entry in entries)
        branches = reader.branches(self.nodes, _last_turn(tip))
        return Transcript.of(
            NAME,
            messages,
            id=as_text(self.header.get("id")),
            title=next(titles, None),
            folder=as_text(self.header.get("cwd")),
            created_at=from_iso(self.header.get("timestamp")),
            updated_at=from_iso(self.lines[-1].value.get("timestamp")) if self.lines else None,
            usage=reader.usage(self.nodes),
            branches=branches,
            compactions=self._compactions(entries),
            report=self.report,
            details={"version": self.header.get("version", 1)},
            origin=Origin(NAME, (file,), messages, tuple(entry.spans for entry in entries)),
        )

    def _entries(self, node: Node) -> list[Entry]:
        line = node.lines[0]
        value = line.value
        try:
            shown = message_of(value)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {line.number}", because("unreadable", error=error))
            return []
        if shown is None:
            return []
        note = value.get(KEY)
        if note is None:
            return [Entry(shown, node.lines, is_summary(shown))]
        return [Entry(each, node.lines, is_summary(each)) for each in apply_note(shown, note)]

    def _compactions(self, entries: list[Entry]) -> tuple[Compaction, ...]:
        if not any(entry.compaction for entry in entries):
            return ()
        names = (as_text(entry.lines[0].value.get("id")) for entry in entries)
        places = {name: at for at, name in enumerate(names)}
        marks = []
        for at, entry in enumerate(entries):
            if entry.compaction:
                first = self._first_preserved(entry.lines[0].value, places, at)
                indexes = [i for i in range(first, at) if self._is_preserved(entries[i])]
                marks.append(Compaction(at, tuple(indexes)))
        return tuple(marks)

    def _is_preserved(self, entry: Entry) -> bool:
        edits = self.edits.get(entry.lines[0].value.get("id"), ...)
        return entry.message.role is not Role.SYSTEM and edits is not None

    def _report_edits(self) -> None:
        """Replacements for the model stay in the file."""
        for line in self.lines:
            if line.value.get("type") == "context_edit" and line.value.get("replacement"):
                reason = because("context_edit")
                self.report.add("dropped", f"line {line.number}", reason)

    def _first_preserved(self, value: dict[str, Any], places: dict[Any, int], at: int) -> int:
        """The first message that is still sent; an entry that is not a message stands for the next
        one."""
        name = as_text(value.get("firstKeptEntryId"))
        if name in places:
            return places[name]
        later = False
        for line in self.lines:
            later = later or line.value.get("id") == name
            if later and as_text(line.value.get("id")) in places:
                return min(places[line.value["id"]], at)
        return at


def _nodes(lines: list[Line]) -> list[Node]:
    """Entries with their parents; in files without ids (version 1) each follows the one before."""
    nodes = [Node([line], line.value.get("type") == "message") for line in lines]
    names = [line.value.get("id") for line in lines]
    by_id = {name: at for name, at in zip(names, nodes, strict=True) if type(name) is str and name}
    before: Node | None = None
    for node in nodes:
        value = node.lines[0].value
        above = value.get("parentId")
        if "id" not in value:
            node.parent = before
        elif type(above) is str:
            node.parent = by_id.get(above)
        before = node
    mark_continued(nodes)
    return nodes


def _last_turn(tip: Node | None) -> Node | None:
    if tip is None or tip.is_turn:
        return tip
    return next((node for node in reversed(way_to(tip)) if node.is_turn), None)


def message_of(value: dict[str, Any]) -> Message | None:
    """The message of an entry; None for entries that the model does not see."""
    kind = value.get("type")
    if kind == "message":
        name, time = as_text(value.get("id")), from_iso(value.get("timestamp"))
        wire = value.get("message")
        usual = isinstance(wire, msgspec.Struct)
        return _straight(wire, name, time) if usual else _turn(members(wire), name, time)
    match kind:
        case "compaction":
            message = summary_message(as_text(value.get("summary")) or "")
        case "branch_summary":
            text = as_text(value.get("summary")) or ""
            message = Message(Role.SYSTEM, (TextBlock(text),), "branch_summary")
        case "custom_message":
            content = tuple(read_blocks(value.get("content"), None))
            message = Message(Role.SYSTEM, content, as_text(value.get("customType")))
        case _:
            return None
    return replace(
        message, id=as_text(value.get("id")), created_at=from_iso(value.get("timestamp"))
    )


def _turn(wire: dict[str, Any], id: str | None, time: datetime | None) -> Message:
    name: str | None = None
    content: tuple[Block, ...]
    match wire.get("role"):
        case "assistant":
            return _read_answer(wire, id, time)
        case "toolResult":
            block = _read_result(wire)
            metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id)
            return Message(Role.TOOL, (block,), id=id, metadata=metadata, created_at=time)
        case "user":
            content = tuple(read_blocks(wire.get("content"), None))
            return Message(Role.USER, content, id=id, created_at=time)
        case "system":
            content = _texts(sections(wire))
        case "bashExecution" as name:
            content = _texts(f"$ {wire.get('command', '')}\n{wire.get('output', '')}")
        case "custom" | "hookMessage" as role:
            content = tuple(read_blocks(wire.get("content"), None))
            name = as_text(wire.get("customType")) or role
        case other:
            raise ReadError("pi", "$.message.role", "a role of pi", found(other))
    return Message(Role.SYSTEM, content, name, id=id, created_at=time)


_STATUSES = {"error": MessageStatus.ERROR, "aborted": MessageStatus.CANCELLED}


def _read_answer(wire: dict[str, Any], id: str | None, time: datetime | None) -> Message:
    provider, model = as_text(wire.get("provider")), as_text(wire.get("model"))
    shared = _shared(wire.get("api"), provider, model, wire.get("stopReason"))
    metadata = replace(
        shared,
        response_id=as_text(wire.get("responseId")),
        usage=_read_usage(wire),
        raw_stop_reason=as_text(wire.get("rawStopReason")),
        error_message=as_text(wire.get("errorMessage")),
    )
    content = tuple(read_blocks(wire.get("content"), shared.protocol))
    return Message(Role.ASSISTANT, content, id=id, metadata=metadata, created_at=time)


def _read_result(wire: dict[str, Any]) -> ToolResultBlock:
    name = wire.get("toolCallId")
    if not isinstance(name, str):
        raise ReadError("pi", "$.message.toolCallId", "a string", found(name))
    content: Any = tuple(read_blocks(wire.get("content"), None))
    failed = wire.get("isError") is True
    return ToolResultBlock(call_id(name, None), content, failed, as_text(wire.get("toolName")))


def _read_usage(wire: dict[str, Any]) -> Usage | None:
    usage = wire.get("usage")
    if not isinstance(usage, dict) or wire.get("role") != "assistant":
        return None
    cost = usage.get("cost")
    spent = cost.get("total") if isinstance(cost, dict) else None
    return Usage(
        input_tokens=as_count(usage.get("input")),
        output_tokens=as_count(usage.get("output")),
        cached_input_tokens=as_count(usage.get("cacheRead")),
        cache_creation_input_tokens=as_count(usage.get("cacheWrite")),
        reasoning_tokens=as_count(usage.get("reasoning")),
        cost_usd=dollars(spent),
    )


def _texts(text: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if text else ()


_API_OF = {dialect: api for api, dialect in reversed(APIS.items())}
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def write_file(transcript: Transcript, name: str) -> Draft:
    """A session of its own; pi has all dialects, so an answer keeps its API's signatures."""
    report = Report(NAME)
    entries = _Entries(transcript)
    header = {"type": "session", "version": VERSION, "id": session_uuid(transcript)}
    header |= {"timestamp": to_iso(entries.time), "cwd": transcript.folder or "/"}
    entries.all(transcript, report)
    transcript.report_left_out(report)
    data = joined((header, *entries.made))
    return Draft({name: data}, report)


def append_lines(transcript: Transcript, start: int, last: bytes) -> bytes:
    """Entries for the messages from `start` on, after the last existing one."""
    entries = _Entries(transcript)
    entries.parent = msgspec.json.decode(last).get("id")
    entries.time = transcript.updated_at or entries.time
    entries.all(transcript, Report(NAME), start)
    return entries.data()


def patch_lines(transcript: Transcript, index: int, lines: list[bytes]) -> list[bytes] | None:
    """The entry of one message that was changed."""
    value = msgspec.json.decode(lines[0])
    message = transcript.messages[index]
    if value.get("type") != "message" or message.role in (Role.SYSTEM, Role.DEVELOPER):
        return None
    value["message"] = {**value["message"], **_wire_message(message)}
    return [spelled(value)]


class _Entries(LineWriter):
    """Makes entry after entry, each the child of the one before."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__(transcript.created_at)
        self.parent: str | None = None
        self._space = uuid5(NAMESPACE_URL, transcript.id or transcript.format)
        self._names: dict[int, str] = {}
        """The entry of each message."""
        self._calls: dict[str, str] = {}
        """The ids of calls here, if their API names the item too."""

    def all(self, transcript: Transcript, report: Report, start: int = 0) -> None:
        marks = {mark.at: mark for mark in transcript.compactions}
        messages = transcript.messages
        left = leave_instructions(messages, report) if not start else set()
        joined = join_results(messages, report) if not start else list(messages)
        hidden: list[Message] = []
        for at in range(start, len(messages)):
            message = joined[at]
            if at in left or message is None:
                hidden.append(messages[at])
                continue
            entry = self._entry(message, at, marks.get(at), report)
            self._names[at] = entry["id"]
            shown = message_of(entry)
            if shown is not None and _meant(shown) != _meant(message):
                reason = because("kept_as_extra_part")
                report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
            note = None if shown is None else note_for(messages[at], shown, hidden)
            if note is not None:
                entry[KEY] = note
            hidden = []
        if hidden and self.made:
            self._keep_after(hidden)

    def _entry(
        self, message: Message, at: int, mark: Compaction | None, report: Report
    ) -> dict[str, Any]:
        if is_summary(message):
            return self._compact(message, at, mark or Compaction(at), report)
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            note = {"customType": message.name or str(message.role), "content": message.text}
            return self.add(message, at, "custom_message", {**note, "display": True})
        wire = _wire_message(message)
        for part in wire["content"]:
            if part.get("type") == "toolCall" and isinstance(part.get("id"), str):
                self._calls[call_id(part["id"], None)] = part["id"]
        if wire["role"] == "toolResult":
            wire["toolCallId"] = self._calls.get(wire["toolCallId"], wire["toolCallId"])
        entry = self.add(message, at, "message", {"message": wire})
        wire["timestamp"] = to_millis(self.time)
        return entry

    def _compact(
        self, message: Message, at: int, mark: Compaction, report: Report
    ) -> dict[str, Any]:
        """Writes a summary; entries between that are not preserved are removed by edits."""
        preserved = [self._names[each] for each in mark.preserved if each in self._names]
        later, names = list(self._names.values()), set(preserved)
        if preserved:
            for name in later[later.index(preserved[0]) :]:
                if name not in names:
                    self.add(message, at, "context_edit", {"targetId": name, "replacement": None})
            if mark.summary_last:
                reason = because("summary_moved")
                report.add("moved", f"$.messages[{at}]", reason, "info", None, message.id)
        summary = {"summary": summary_text(message), "tokensBefore": 0}
        entry = self.add(message, at, "compaction", summary)
        entry["firstKeptEntryId"] = preserved[0] if preserved else entry["id"]
        return entry

    def _keep_after(self, hidden: list[Message]) -> None:
        """Messages that cannot be written behind the last entry."""
        entry = next(each for each in reversed(self.made) if each["type"] != "context_edit")
        shown = message_of(entry)
        assert shown is not None, "entries of every other kind are messages"
        entry[KEY] = {**(note_for(shown, shown, (), hidden) or {}), **entry.get(KEY, {})}

    def add(self, message: Message, at: int, kind: str, members: dict[str, Any]) -> dict[str, Any]:
        time = self.next_time(message.created_at)
        name = uuid5(self._space, f"{at}:{len(self.made)}:{message.digest()}").hex[:8]
        entry = {"type": kind, "id": name, "parentId": self.parent}
        entry |= {"timestamp": time, **members}
        self.parent = name
        self.made.append(entry)
        return entry


def _meant(message: Message) -> tuple[Block, ...]:
    """Blocks without the spelling of arguments, which are an object here."""
    return tuple(
        replace(block, raw_arguments=None) if isinstance(block, ToolUseBlock) else block
        for block in message.content
    )


def _wire_message(message: Message) -> dict[str, Any]:
    match message.role:
        case Role.ASSISTANT:
            return _answer(message)
        case Role.TOOL:
            return _result(message)
        case _:
            return {"role": "user", "content": write_blocks(message)}


def _answer(message: Message) -> dict[str, Any]:
    metadata = message.metadata
    wire: dict[str, Any] = {"role": "assistant", "content": write_blocks(message)}
    wire["api"] = _API_OF.get(metadata.protocol or "", "anthropic-messages")
    wire["provider"] = metadata.provider or "unknown"
    wire["model"] = bare(metadata.model) or metadata.response_model or "unknown"
    wire["usage"] = _usage(metadata.usage or Usage())
    wire["stopReason"] = STOP_WORDS.get(metadata.stop_reason, "stop")
    if metadata.response_id is not None:
        wire["responseId"] = metadata.response_id
    if metadata.error_message is not None:
        wire["errorMessage"] = metadata.error_message
    return wire


def _usage(usage: Usage) -> dict[str, Any]:
    """All counts are needed: pi adds them up at the next turn."""
    cost = {**_NO_COST, "total": float(usage.cost_usd or 0)}
    counts: dict[str, Any] = {
        "input": usage.input_tokens or 0,
        "output": usage.output_tokens or 0,
        "cacheRead": usage.cached_input_tokens or 0,
        "cacheWrite": usage.cache_creation_input_tokens or 0,
        "totalTokens": usage.total_tokens or 0,
        "cost": cost,
    }
    if usage.reasoning_tokens is not None:
        counts["reasoning"] = usage.reasoning_tokens
    return counts


def _result(message: Message) -> dict[str, Any]:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return {"role": "toolResult", "toolCallId": "", "toolName": "", "content": []}
    content = write_blocks(Message(Role.USER, block.content))
    wire = {"role": "toolResult", "toolCallId": block.tool_use_id}
    return {
        **wire,
        "toolName": block.tool_name or "",
        "content": content,
        "isError": block.is_error,
    }


class Pi(Format):
    name = "pi"
    title = "pi"
    tested = "0.87.1 (file version 3), 2026-11-17"
    file_version = str(VERSION)
    tested_tool = "0.87.1"
    unsupported_fields = ("title", "tools")

    detect = staticmethod(detect_file)
    read = staticmethod(read_file)
    write = staticmethod(write_file)
    patch = staticmethod(patch_lines)
    append = staticmethod(append_lines)

    def root(self, home: Path) -> Path:
        return home / ".pi" / "agent" / "sessions"

    def find(self, home: Path) -> Iterator[Found | Skipped]:
        for path in sorted(self.root(home).glob("*/*.jsonl")):
            yield candidate(self.name, path, path.stem.partition("_")[2] or path.stem)

    def place(self, transcript: Transcript, home: Path) -> Path:
        """Folders are named after the working folder, files after time and id."""
        folder = (transcript.folder or str(Path.cwd())).removeprefix("/")
        for mark in "/\\:":
            folder = folder.replace(mark, "-")
        time = to_iso(transcript.created_at or datetime.now(UTC))
        name = f"{time.replace(':', '-').replace('.', '-')}_{transcript.id}.jsonl"
        return self.root(home) / f"--{folder}--" / name

    def resume(self, transcript: Transcript, path: Path) -> list[str]:
        return ["pi", "--session", str(path)]

    def search_text(self, value: dict[str, Any]) -> Utterance | None:
        """Messages and summaries."""
        message = value.get("message")
        if isinstance(message, dict):
            content = [message.get(key) for key in ("content", "sections", "command", "output")]
            role = "tool" if message.get("role") == "toolResult" else str(message.get("role"))
            return Utterance(role, content, value.get("timestamp"))
        summary = value.get("summary") or value.get("content")
        return Utterance("system", summary, value.get("timestamp")) if summary else None


FORMATS = (Pi(),)
