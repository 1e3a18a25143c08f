"""Messages of AG-UI and ours. Reasoning is a message of its own there and belongs to the answer
that follows it here."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.kernel.preserved import content_of, keep, spelling_of
from interlingua.model.arguments import recover, spelled, to_text
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.notes import KEY
from interlingua.transcripts.transcript import Span, is_summary, summary_text
from interlingua.transcripts.values import ANY, from_millis, is_media, media_block, objects

Part = dict[str, Any]
NOTE = "$note"
RUN = "$run"
END = "$end"
"""Roles of entries that are not messages: our note on the message before, a run's start and end."""


class Entry(msgspec.Struct, eq=False):
    """A message under construction, from pieces of text."""

    message: Part
    time: datetime | None = None
    pieces: list[str] = []
    run: int = 0
    at: int = 0
    """Its place among the entries."""
    span: Span | None = None
    """The line in which it begins."""

    @property
    def role(self) -> str:
        return str(self.message.get("role"))


class Call(msgspec.Struct, eq=False):
    """A call in the making, inside the message of an assistant."""

    wire: Part
    pieces: list[str] = []


class Thread:
    """One agent's conversation: events in, entries out; `ways` are abandoned branches."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.entries: list[Entry] = []
        self.ways: list[list[Entry]] = []
        self.helpers: dict[str, Thread] = {}
        self.started: Part = {}
        """The event that began a helper."""
        self.inputs: list[Part] = []
        self.beside: int = 0
        """The number of events without messages."""
        self._named: dict[str, Entry] = {}
        self._calls: dict[str, Call] = {}
        self._ends: dict[str, int] = {}
        """The number of entries at the end of each run."""
        self.running: str | None = None
        """The run that has begun and not ended."""
        self._run = 0
        self._time: datetime | None = None
        self._span: Span | None = None
        self._open: dict[str, Entry] = {}
        """The text and the thought that events without an id go on with."""
        self._open_call: str | None = None
        """The call that they go on with."""

    def feed(self, event: Part, span: Span | None = None) -> None:
        self._time, self._span = from_millis(event.get("timestamp")), span
        kind = event.get("type")
        if isinstance(kind, str) and not kind.isupper():
            event = {**event, "type": (kind := kind.upper())}  # some SDKs write `messages_snapshot`
        helper = event.get("subagentRunId")
        if isinstance(helper, str):
            self._helper(helper, event)
            return
        if kind is None and isinstance(event.get("messages"), list):
            self._input(event)
            return
        handler = _HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self.beside += 1
            return
        handler(self, event)

    def close(self) -> None:
        """Joins the pieces; an open run ends here."""
        if self.running is not None:
            self._add({"role": END, "partial": True})
        for entries in (self.entries, *self.ways):
            for entry in entries:
                if entry.pieces:
                    entry.message["content"] = "".join(entry.pieces)
                    entry.pieces = []
        for call in self._calls.values():
            if call.pieces:
                call.wire.setdefault("function", {})["arguments"] = "".join(call.pieces)
                call.pieces = []
        for helper in self.helpers.values():
            helper.close()

    # -- runs --------------------------------------------------------------------------------------

    def _started(self, event: Part) -> None:
        self._run += 1
        self.running = str(event.get("runId"))
        self._join(event.get("threadId"))
        parent = event.get("parentRunId")
        if isinstance(parent, str) and parent in self._ends:
            self._cut(self._ends[parent])
        if self.entries and self.entries[-1].role != RUN:
            self._add({"role": RUN})
        run_input = event.get("input")
        if isinstance(run_input, dict):
            self._input(run_input)

    def _join(self, name: Any) -> None:
        if self.id is None and isinstance(name, str):
            self.id = name

    def _finished(self, event: Part) -> None:
        outcome = event.get("outcome")
        cancelled = isinstance(outcome, dict) and outcome.get("type") == "cancelled"
        self._end({"usage": event.get("usage"), "cancelled": cancelled})
        if isinstance(event.get("runId"), str):
            self._ends[event["runId"]] = len(self.entries)

    def _failed(self, event: Part) -> None:
        self._end({"usage": event.get("usage"), "error": str(event.get("message") or "")})

    def _end(self, outcome: Part) -> None:
        self.running = None
        if any(outcome.values()) or "error" in outcome:
            self._add({"role": END, **outcome})

    def _cut(self, end: int) -> None:
        """Continue from here; later messages become an abandoned branch."""
        while end < len(self.entries) and not _speaks(self.entries[end]):
            end += 1
        if end < len(self.entries):
            self.ways.append(self.entries)
            self.entries = self.entries[:end]

    def _input(self, run_input: Part) -> None:
        """Adds the messages of a run's input, behind the last message that it repeats."""
        self.inputs.append(run_input)
        self._join(run_input.get("threadId"))
        listed = objects(run_input.get("messages"))
        places = [self._place(message) for message in listed]
        last = max((place for place in places if place is not None), default=None)
        if last is not None:
            self._cut(last + 1)
        for message, place in zip(listed, places, strict=True):
            if place is None:
                self._message(message)

    def _place(self, message: Part) -> int | None:
        """The index of this message, if it is there already."""
        entry = self._named.get(str(message.get("id")))
        if entry is None or entry.at >= len(self.entries) or self.entries[entry.at] is not entry:
            return None
        return entry.at

    def _snapshot(self, event: Part) -> None:
        """All messages in their current state. Reasoning that the snapshot omits keeps its
        place."""
        listed = objects(event.get("messages"))
        before, self.entries = self.entries, []
        thoughts = {} if any(m.get("role") == "reasoning" for m in listed) else _thoughts(before)
        times = {str(entry.message.get("id")): entry.time for entry in before}
        for message in listed:
            for entry in thoughts.pop(str(message.get("id")), []):
                self._append(entry)
            self._time = times.get(str(message.get("id")))
            self._message(message)

    def _message(self, message: Part) -> None:
        helper = message.get("subagentRunId")
        if isinstance(helper, str):
            rest = {key: each for key, each in message.items() if key != "subagentRunId"}
            self._thread(helper)._message(rest)
        elif message.get("role") == "activity":
            self.beside += 1
        else:
            self._add(dict(message))

    def _add(self, message: Part) -> Entry:
        entry = Entry(message, self._time, [], self._run, span=self._span)
        self._append(entry)
        if isinstance(message.get("id"), str):
            self._named[message["id"]] = entry
        for wire in objects(message.get("toolCalls")):
            if isinstance(wire.get("id"), str):
                self._calls[wire["id"]] = Call(wire)
        return entry

    def _append(self, entry: Entry) -> None:
        entry.at = len(self.entries)
        self.entries.append(entry)

    # -- helpers -----------------------------------------------------------------------------------

    def _thread(self, name: str) -> Thread:
        return self.helpers.setdefault(name, Thread())

    def _helper(self, name: str, event: Part) -> None:
        helper = self._thread(name)
        rest = {key: each for key, each in event.items() if key != "subagentRunId"}
        if rest.get("type") == "SUBAGENT_STARTED":
            helper.started = rest
        elif rest.get("type") == "SUBAGENT_ERROR":
            helper.feed({**rest, "type": "RUN_ERROR"}, self._span)
        else:
            helper.feed(rest, self._span)

    # -- content
    # ------------------------------------------------------------------------------------

    def _text(self, event: Part) -> None:
        role = event.get("role")
        self._say(event, "text", role if isinstance(role, str) else "assistant")

    def _reasoning(self, event: Part) -> None:
        self._say(event, "thought", "reasoning")

    def _thinking(self, event: Part) -> None:
        """Older events have no ids: each start is a block of its own."""
        if str(event.get("type")).endswith("_START"):
            self._open.pop("thought", None)
        else:
            self._reasoning(event)

    def _say(self, event: Part, kind: str, role: str) -> None:
        """A text begins, if it has not begun yet: shorthand has neither beginning nor end."""
        name = event.get("messageId")
        entry = self._named.get(name) if isinstance(name, str) else self._open.get(kind)
        if entry is None or str(event.get("type")).endswith("_START"):
            named = {"id": name} if isinstance(name, str) else {}
            entry = self._add({**named, "role": role, "content": ""})
            for member in ("name", "metadata"):
                if event.get(member) is not None:
                    entry.message[member] = event[member]
        self._open[kind] = entry
        if isinstance(event.get("delta"), str):
            entry.pieces.append(event["delta"])

    def _seal(self, event: Part) -> None:
        name, value = str(event.get("entityId")), event.get("encryptedValue")
        if event.get("subtype") == "tool-call" and name in self._calls:
            self._calls[name].wire["encryptedValue"] = value
        elif name in self._named:
            self._named[name].message["encryptedValue"] = value
        else:
            self._add({"id": name, "role": "reasoning", "content": "", "encryptedValue": value})

    def _call(self, event: Part) -> None:
        call_id = event.get("toolCallId")
        name = call_id if isinstance(call_id, str) else self._open_call
        if name is None:
            return
        tool = event.get("toolCallName")
        if isinstance(tool, str) and (
            name not in self._calls or event["type"] == "TOOL_CALL_START"
        ):
            wire = {"id": name, "type": "function", "function": {"name": tool, "arguments": ""}}
            if event.get("metadata") is not None:
                wire["metadata"] = event["metadata"]
            self._calls[name] = Call(wire, [])
            asking = self._asking(event.get("parentMessageId"), name)
            asking.setdefault("toolCalls", []).append(wire)
        self._open_call = name
        if isinstance(event.get("delta"), str) and name in self._calls:
            self._calls[name].pieces.append(event["delta"])

    def _asking(self, parent: Any, call: str) -> Part:
        """The assistant's message of a call: the named one, else the last, else a new one."""
        named = self._named.get(parent) if isinstance(parent, str) else None
        if named is not None and named.role == "assistant":
            return named.message
        unnamed = named is not None or not isinstance(parent, str)
        last = self.entries[-1] if self.entries and unnamed else None
        if last is not None and last.role == "assistant" and last.run == self._run:
            return last.message
        name = parent if isinstance(parent, str) and parent not in self._named else call
        return self._add({"id": name, "role": "assistant"}).message

    def _result(self, event: Part) -> None:
        keys = ("toolCallId", "content", "error", "metadata")
        message = {key: event[key] for key in keys if key in event}
        self._add({"id": event.get("messageId"), "role": "tool", **message})

    def _custom(self, event: Part) -> None:
        if event.get("name") == KEY:
            self._add({"role": NOTE, "value": event.get("value")})
        else:
            self.beside += 1

    def _nothing(self, event: Part) -> None:
        """Beginnings and ends without content of their own."""


def _speaks(entry: Entry) -> bool:
    return not entry.role.startswith("$")


def _thoughts(entries: list[Entry]) -> dict[str, list[Entry]]:
    """Reasoning blocks by the message that follows them."""
    found: dict[str, list[Entry]] = {}
    waiting: list[Entry] = []
    for entry in entries:
        if entry.role == "reasoning":
            waiting.append(entry)
        elif _speaks(entry):
            if waiting:
                found[str(entry.message.get("id"))] = waiting
            waiting = []
    return found


_HANDLERS = {
    "RUN_STARTED": Thread._started,
    "RUN_FINISHED": Thread._finished,
    "RUN_ERROR": Thread._failed,
    "MESSAGES_SNAPSHOT": Thread._snapshot,
    **{f"TEXT_MESSAGE_{step}": Thread._text for step in ("START", "CONTENT", "CHUNK")},
    **{f"REASONING_MESSAGE_{step}": Thread._reasoning for step in ("START", "CONTENT", "CHUNK")},
    "REASONING_ENCRYPTED_VALUE": Thread._seal,
    **{f"THINKING_{step}": Thread._thinking for step in ("START", "CONTENT")},
    **{f"THINKING_TEXT_MESSAGE_{step}": Thread._thinking for step in ("START", "CONTENT")},
    **{f"TOOL_CALL_{step}": Thread._call for step in ("START", "ARGS", "CHUNK")},
    "TOOL_CALL_RESULT": Thread._result,
    "CUSTOM": Thread._custom,
    **dict.fromkeys(("REASONING_START", "REASONING_END", "THINKING_END"), Thread._nothing),
    **dict.fromkeys(("TEXT_MESSAGE_END", "REASONING_MESSAGE_END"), Thread._nothing),
    **dict.fromkeys(("THINKING_TEXT_MESSAGE_END", "TOOL_CALL_END"), Thread._nothing),
}
EVENTS = frozenset(_HANDLERS) | {
    *("STEP_STARTED", "STEP_FINISHED", "STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT"),
    *("ACTIVITY_DELTA", "SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR", "RAW"),
}


def folded(events: Iterable[Part]) -> Thread:
    """The thread that all these events build up."""
    thread = Thread()
    for event in events:
        thread.feed(event)
    thread.close()
    return thread


NAME = "ag-ui"

ROLES = {str(role): role for role in Role}

PROVIDERS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai-responses"),
    "google": ("gemini", "gemini"),
    "google-gla": ("gemini", "gemini"),
    "google-vertex": ("vertex", "gemini"),
    "bedrock": ("bedrock", "bedrock"),
    "openrouter": ("openrouter", "openrouter"),
    "mistral": ("mistral", "openai-chat"),
    "groq": ("groq", "openai-chat"),
}
"""Providers as agents name them beside encrypted thinking (pydantic-ai 2.66.0, 2026-11-16)."""

NAMES = {"gemini": "google", "vertex": "google-vertex"}
"""The other way round, where a provider has another name there than here."""

FAILED = frozenset({"failed", "denied", "retried"})
"""Outcomes of a tool that pydantic-ai writes beside its result (2.66.0, 2026-11-16)."""


class Sealed(NamedTuple):
    """A signature, the id of the item it belongs to, and whose they are."""

    signature: str
    id: str | None = None
    provider: str | None = None
    protocol: str | None = None


UNSIGNED = {"openai-responses": "openai-chat"}
"""The dialect of a value without a signature, if its provider has two."""


def unsealed(value: Any) -> Sealed | None:
    """The parts of such a value; if it names no signature, all of it is one."""
    if not isinstance(value, str) or not value:
        return None
    inside = _object(value)
    signature, name = inside.get("signature"), inside.get("id")
    named = inside.get("provider_name")
    provider: str | None = None
    protocol: str | None = None
    if isinstance(named, str):
        provider, protocol = PROVIDERS.get(named, (named, None))
    signed = isinstance(signature, str) and bool(signature)
    if not signed and protocol in UNSIGNED:
        protocol = UNSIGNED[protocol]  # it names the member that held reasoning, and signs nothing
    return Sealed(
        str(signature) if signed else value,
        name if isinstance(name, str) and signed else None,
        provider,
        protocol,
    )


def sealed(signature: str, name: str | None, provider: str | None) -> str:
    """The inverse of `unsealed`, spelled as pydantic-ai spells it."""
    known = unsealed(signature)
    protocol = known.protocol if known is not None and _object(signature) else None
    if known == Sealed(signature, None, provider, protocol):
        return signature
    inside = {"id": name, "signature": signature}
    inside["provider_name"] = NAMES.get(provider or "", provider)
    return json.dumps({key: each for key, each in inside.items() if each is not None})


def has_failed(value: Any) -> bool:
    """Whether an agent marks a result as failed."""
    about = _object(value).get("pydantic_ai") if isinstance(value, str) else None
    return isinstance(about, dict) and about.get("outcome") in FAILED


def _object(value: str) -> dict[str, Any]:
    if not value.startswith("{"):
        return {}
    try:
        inside = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return inside if isinstance(inside, dict) else {}


_KNOWN = frozenset({"id", "role", "content", "name", "toolCalls", "toolCallId", "metadata"})
_REDACTED = "redacted_thinking"
"""The id with which pydantic-ai marks thinking that is sealed as a whole (2.66.0, 2026-11-16)."""
_MADE = re.compile(r"il-\d+(-\d+)?")
"""Ids that we gave to messages that had none."""
_MEDIA = ("image", "audio", "video", "document")


# -- reading ---------------------------------------------------------------------------------------


def message_id(wire: Part) -> str | None:
    name = wire.get("id")
    return name if isinstance(name, str) and name and not _MADE.fullmatch(name) else None


def note_of(wire: Part) -> Any:
    metadata = wire.get("metadata")
    return metadata.get(KEY) if isinstance(metadata, dict) else None


def raw_of(wire: Part, *aside: str) -> Raw | None:
    """The members of a message without a field."""
    rest = {key: each for key, each in wire.items() if key not in _KNOWN and key not in aside}
    metadata = wire.get("metadata")
    metadata = (
        {key: each for key, each in metadata.items() if key != KEY}
        if isinstance(metadata, dict)
        else {}
    )
    return keep(NAME, {**rest, **({"metadata": metadata} if metadata else {})})


def read_thinking(wire: Part) -> tuple[Block, Sealed | None]:
    """A piece of thinking, and whose it is."""
    content = wire.get("content")
    text = content if isinstance(content, str) else ""
    value = wire.get("encryptedValue")
    known = unsealed(value)
    form: Part = {"id": name} if (name := message_id(wire)) is not None else {}
    if known is None:
        return ThinkingBlock(text, raw=keep(NAME, None, form)), None
    if known.id == _REDACTED and not text:
        return RedactedThinkingBlock(known.signature, raw=keep(NAME, None, form)), known
    if sealed(known.signature, known.id, known.provider) != value:
        form["sealed"] = value
    return ThinkingBlock(text, known.signature, known.id, raw=keep(NAME, None, form)), known


def read_answer(wire: Part) -> tuple[Block, ...]:
    """The text and the calls of an answer."""
    text = wire.get("content")
    blocks: list[Block] = []
    if isinstance(text, str) and text:
        known = unsealed(wire.get("encryptedValue"))
        blocks.append(TextBlock(text, known.signature if known is not None else None))
    elif isinstance(text, list):
        blocks += read_content(text)
    calls = wire.get("toolCalls")
    return (*blocks, *(_read_call(each) for each in (calls if isinstance(calls, list) else ())))


def _read_call(wire: Any) -> Block:
    match wire:
        case {"id": str(name), "function": {"name": str(tool), **rest}}:
            text = rest.get("arguments")
            text = text if isinstance(text, str) else ""
            arguments = recover(text)
            exact = arguments.mode == "strict" and to_text(arguments.input) == text
            known = unsealed(wire.get("encryptedValue"))
            beside = {key: each for key, each in wire.items() if key == "metadata"}
            return ToolUseBlock(
                name,
                tool,
                arguments.input,
                None if exact else text,
                known.signature if known is not None else None,
                raw=keep(NAME, beside),
            )
    return UnknownBlock({NAME: wire})


def read_content(content: Any) -> tuple[Any, ...]:
    """A text, or parts."""
    if isinstance(content, str):
        return (TextBlock(content),) if content else ()
    return tuple(map(_read_part, content)) if isinstance(content, list) else ()


def _read_part(part: Any) -> Block:
    match part:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text, raw=keep(NAME, _less(part, "type", "text")))
        case {"type": str(kind), "source": dict(source)} if kind in _MEDIA:
            found = _read_source(source)
            rest = _less(part, "type", "source")
            media = source.get("mimeType") if isinstance(source.get("mimeType"), str) else None
            if found is not None:
                made = media_block(found, media or f"{kind}/*")
                return made.replace(media_type=media, raw=keep(NAME, rest))
        case {"type": "binary", "mimeType": str(media)}:
            return _read_binary(media, part)
    return UnknownBlock({NAME: part})


def _read_source(source: Part) -> Source | None:
    match source:
        case {"type": "data", "value": str(data)}:
            return Source("base64", data)
        case {"type": "url", "value": str(url)}:
            return Source("url", url)
        case {"type": "file", "value": str(name)}:
            return Source("file_id", name, provider=source.get("provider"))
    return None


def _less(part: Part, *names: str) -> Part:
    return {key: value for key, value in part.items() if key not in names}


def _read_binary(media: str, part: Part) -> Block:
    """The one kind of part for all media before version 1.0."""
    name = part.get("filename")
    for key, kind in (("data", "base64"), ("url", "url"), ("id", "file_id")):
        value = part.get(key)
        if isinstance(value, str) and value:
            source = Source(kind, value)  # type: ignore[arg-type]  # of these three
            return media_block(source, media, name if isinstance(name, str) else None)
    return UnknownBlock({NAME: part})


def read_result(wire: Part, tool: str | None) -> Message:
    """A result. Messages have a field for its failure; events have an addition of agents."""
    name = wire.get("toolCallId")
    error = wire.get("error")
    failed = isinstance(error, str) or has_failed(wire.get("encryptedValue"))
    content = read_content(wire.get("content"))
    if not content and isinstance(error, str):
        content = read_content(error)
    aside = ("error",) if read_content(error) == content else ()
    block = ToolResultBlock(
        name if isinstance(name, str) else "", content, failed, tool, raw=raw_of(wire, *aside)
    )
    return Message.of_result(block)


# -- writing ---------------------------------------------------------------------------------------


def write_message(message: Message, name: str) -> list[Part]:
    """A message as AG-UI messages, with separate ones for thinking; `name` is used if there is no
    id."""
    main: Part = {"id": message.id or name, "role": str(message.role)}
    if message.name is not None:
        main["name"] = message.name
    if message.role is Role.TOOL:
        return _write_result(main, message)
    if is_summary(message):
        main["content"] = summary_text(message)
    elif message.role is Role.USER:
        main["content"] = _content(message.content)
    else:
        main["content"] = "".join(_texts(message.content))
    before: list[Part] = []
    if message.role is Role.ASSISTANT:
        provider = message.metadata.provider
        before = list(_write_thinking(message, name))
        _write_work(main, message, provider)
    return [*before, {**main, **content_of(NAME, message.metadata.provider_raw)}]


def _texts(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, TextBlock | RefusalBlock | CompactionBlock):
            yield block.text or ""


def _content(blocks: Sequence[Block]) -> Any:
    """A text if one is enough, else parts."""
    if not blocks or (len(blocks) == 1 and type(blocks[0]) is TextBlock and not blocks[0].raw):
        return "".join(_texts(blocks))
    parts = [_write_part(block) for block in blocks]
    return [part for part in parts if part is not None]


def _write_part(block: Block) -> Part | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text, **content_of(NAME, block.raw)}
        case UnknownBlock(raw) if isinstance(raw.get(NAME), dict):
            own: Part = raw[NAME]
            return own if own.get("type") != "function" else None
    source = _write_source(block) if is_media(block) else None
    if source is None:
        return None
    return {"type": block.type, "source": source, **content_of(NAME, getattr(block, "raw", None))}


def _write_source(block: Any) -> Part | None:
    source, media = block.source, block.media_type
    typed = {"mimeType": media} if media is not None else {}
    match source.kind:
        case "base64":
            return {"type": "data", "value": source.data, "mimeType": media or ANY}
        case "text":
            value = b64encode((source.data or "").encode()).decode()
            return {"type": "data", "value": value, "mimeType": media or "text/plain"}
        case "url":
            return {"type": "url", "value": source.data, **typed}
        case "file_id":
            whose = {"provider": source.provider} if source.provider else {}
            return {"type": "file", "value": source.data, **whose, **typed}
    return None


def _write_thinking(message: Message, name: str) -> Iterator[Part]:
    provider = message.metadata.provider
    for number, block in enumerate(message.content):
        if not isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            continue
        form = spelling_of(NAME, block.raw)
        wire: Part = {"id": form.get("id") or f"{name}-{number + 1}", "role": "reasoning"}
        match block:
            case ThinkingBlock(text, signature):
                wire["content"] = text
                if signature is not None:
                    wire["encryptedValue"] = _sealed_again(block, form, provider)
                yield wire
            case RedactedThinkingBlock(data):
                value = sealed(data, _REDACTED, provider)
                yield {**wire, "content": "", "encryptedValue": value}


def _sealed_again(block: ThinkingBlock, form: Part, provider: str | None) -> str:
    """In its original spelling, if that still means the same."""
    assert block.signature is not None
    known = unsealed(form.get("sealed"))
    if known is not None and (known.signature, known.id) == (block.signature, block.id):
        value: str = form["sealed"]
        return value
    return sealed(block.signature, block.id, provider)


def _write_work(main: Part, message: Message, provider: str | None) -> None:
    calls = [
        _write_call(block, provider) for block in message.content if isinstance(block, ToolUseBlock)
    ]
    if calls:
        main["toolCalls"] = calls
    signed = [each for each in message.content if isinstance(each, TextBlock) and each.signature]
    if signed and signed[-1].signature is not None:
        main["encryptedValue"] = sealed(signed[-1].signature, None, provider)


def _write_call(block: ToolUseBlock, provider: str | None) -> Part:
    text = block.raw_arguments
    exact = text is not None and (spelled(text, block.input) or recover(text).input == block.input)
    function = {"name": block.name, "arguments": text if exact else to_text(block.input)}
    wire: Part = {"id": block.id, "type": "function", "function": function}
    if block.signature is not None:
        wire["encryptedValue"] = sealed(block.signature, None, provider)
    return {**wire, **content_of(NAME, block.raw)}


def _write_result(main: Part, message: Message) -> list[Part]:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return []
    wire = {**main, "toolCallId": block.tool_use_id, "content": _content(block.content)}
    wire |= content_of(NAME, block.raw)
    if block.is_error and not has_failed(wire.get("encryptedValue")):
        wire.setdefault("error", "".join(_texts(block.content)) or "failed")
    return [wire]


def whose(known: Sequence[Sealed | None]) -> MessageMetadata | None:
    """The provider that sealed something of an answer."""
    for each in known:
        if each is not None and each.provider is not None:
            return MessageMetadata(provider=each.provider, protocol=each.protocol)
    return None
