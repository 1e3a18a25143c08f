"""Copilot's events to a transcript."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, TypedDict

import msgspec
from msgspec.structs import replace

from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.arguments import recover
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    MediaBlock,
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
    usage_of,
    usage_with,
)
from interlingua.transcripts.values import (
    as_count,
    as_text,
    decoded,
    from_iso,
    media_block,
    members,
    remembered,
)

VERSION = "1.0.102"
"""The version of Copilot that the events are written for."""

ENDPOINTS = {
    "/v1/messages": "anthropic",
    "/responses": "openai-responses",
    "ws:/responses": "openai-responses",
    "/chat/completions": "openai-chat",
}
"""The dialect of an answer; the first endpoint of a dialect is written."""

REASONERS = {"anthropic-messages": "anthropic", "openai-responses": "openai-responses"}
"""Issuers whose blocks of reasoning are stored unchanged."""

STOPS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}
STOP_WORDS = {reason: word for word, reason in STOPS.items()}


NAME = "copilot"
Data = dict[str, Any]
MESSAGES = "anthropic"
OF_ITEMS = frozenset({"openai-responses"})
"""Dialects whose requests are lists of items."""
_REASONER_OF = {name: word for word, name in REASONERS.items()}


class Assets:
    """The bytes that a session's events name."""

    def __init__(self) -> None:
        self._data: dict[str, str] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._data

    def keep(self, event: Data) -> None:
        name, data = event.get("assetId"), event.get("data")
        if isinstance(name, str) and isinstance(data, str):
            self._data[name] = data

    def read(self, parts: Any) -> Iterator[Any]:
        """Attachments, or a tool's output beside its text."""
        for part in parts if isinstance(parts, list) else ():
            data = self._bytes(part)
            media = as_text(part.get("mimeType")) if isinstance(part, dict) else None
            if data is None or media is None:
                yield UnknownBlock({NAME: part})
                continue
            name = as_text(part.get("displayName"))
            yield media_block(Source("base64", data), media, name)

    def _bytes(self, part: Any) -> str | None:
        if not isinstance(part, dict):
            return None
        data = part.get("data", self._data.get(str(part.get("assetId"))))
        return data if isinstance(data, str) else None


def read_blocks(data: Data) -> tuple[Block, ...]:
    """An answer: its thoughts, the text, the calls; in their own order if it is stored."""
    about = members(data.get("reasoningBlocks"))
    requests = data.get("toolRequests")
    calls = tuple([_call_in(each) for each in requests]) if type(requests) is list else ()
    if isinstance(about.get("orderedBlocks"), list):
        return tuple(_in_order(about["orderedBlocks"], calls))
    return (*_thinking(data, about), *texts(data.get("content")), *calls)


def _in_order(ordered: list[Any], calls: Sequence[Block]) -> Iterator[Block]:
    waiting = {each.id: each for each in calls if isinstance(each, ToolUseBlock)}
    for part in ordered:
        if isinstance(part, dict) and part.get("type") == "tool_use":
            call = waiting.pop(str(part.get("id")), None)
            if call is not None:
                yield call
        else:
            yield from _native([part], MESSAGES)
    yield from waiting.values()


def _thinking(data: Data, about: Data) -> Iterator[Block]:
    name = REASONERS.get(str(about.get("provider")))
    if name is not None and isinstance(about.get("blocks"), list):
        yield from _native(about["blocks"], name)
        return
    text = as_text(data.get("reasoningText"))
    seal = data.get("reasoningOpaque") or data.get("encryptedContent")
    if text is not None or seal:
        yield ThinkingBlock(text or "", as_text(seal))


def _native(parts: list[Any], name: str) -> tuple[Block, ...]:
    """Parts in the format of a provider's API."""
    usual = _usual_thought(parts) if name == MESSAGES else None
    if usual is not None:
        return (usual,)
    turn = {"role": "assistant", "content": parts}
    wire: Data = {"input": parts} if name in OF_ITEMS else {"messages": [turn]}
    try:
        messages = dialect(name).read_request(wire).messages
    except InterlinguaError:
        return tuple(UnknownBlock({NAME: part}) for part in parts)
    return tuple(block for message in messages for block in message.content)


def _usual_thought(parts: list[Any]) -> ThinkingBlock | None:
    """A signed thought alone, as the dialect reads it but faster."""
    part = parts[0] if len(parts) == 1 else None
    if type(part) is not dict or len(part) != 3 or part.get("type") != "thinking":
        return None
    text, signature = part.get("thinking"), part.get("signature")
    usual = type(text) is str and type(signature) is str and signature
    return ThinkingBlock(text, signature) if usual else None  # type: ignore[arg-type]  # both are texts


def _call_in(call: Any) -> Block:
    name = call.get("toolCallId") if type(call) is dict else None
    tool = call.get("name") if type(name) is str else None
    if type(name) is str and type(tool) is str:
        arguments = call.get("arguments")
        if type(arguments) is dict or arguments is None:
            return ToolUseBlock(name, tool, arguments or {})
        if type(arguments) is str and call.get("type") == "custom":
            return ToolUseBlock(name, tool, {"input": arguments}, call_type="custom")
        if type(arguments) is str:
            return ToolUseBlock(name, tool, recover(arguments).input, arguments)
    return UnknownBlock({NAME: call})


def texts(text: Any) -> tuple[TextBlock, ...]:
    return (TextBlock(text),) if isinstance(text, str) and text else ()


def write_answer(message: Message) -> Data:
    """The members of an answer, without content that they cannot show."""
    calls = [_call(each) for each in message.content if isinstance(each, ToolUseBlock)]
    data = {"content": joined(message.content), "toolRequests": calls}
    return data | _write_thinking(message)


def joined(blocks: Sequence[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextBlock))


def _call(block: ToolUseBlock) -> Data:
    custom = block.call_type == "custom"
    arguments = block.input.get("input") if custom else block.input
    call = {"toolCallId": block.id, "name": block.name, "arguments": arguments}
    return {**call, "type": "custom" if custom else "function"}


def _write_thinking(message: Message) -> Data:
    """The text, and for an API whose reasoning is sent back its own blocks."""
    thought = [
        each for each in message.content if isinstance(each, ThinkingBlock | RedactedThinkingBlock)
    ]
    seen = [each for each in thought if isinstance(each, ThinkingBlock)]
    data: Data = {}
    if any(each.text for each in seen):
        data["reasoningText"] = "\n\n".join(each.text for each in seen if each.text)
    seal = next((each.signature for each in seen if each.signature), None)
    if seal is not None:
        data["reasoningOpaque"] = seal
    if thought and message.metadata.protocol == MESSAGES:
        alone = Request((Message(Role.ASSISTANT, tuple(thought)),))
        turns = dialect(MESSAGES).write_request(alone).wire["messages"]
        data["reasoningBlocks"] = {
            "provider": _REASONER_OF[MESSAGES],
            "blocks": turns[0]["content"],
        }
    return data


def assets_of(blocks: Sequence[Block]) -> list[tuple[MediaBlock, Data]]:
    """MediaBlock whose bytes are there, and the event that keeps them."""
    found = []
    for block in blocks:
        if isinstance(block, MediaBlock):
            asset = _asset(block)
            if asset is not None:
                found.append((block, asset))
    return found


def _asset(block: MediaBlock) -> Data | None:
    data, media = block.source.data, block.media_type
    if block.source.kind != "base64" or data is None or media is None:
        return None
    try:
        plain = b64decode(data, validate=True)
    except NoBase64:
        return None
    kind = "image" if isinstance(block, ImageBlock) else "resource"
    asset = {"assetId": f"sha256:{sha256(plain).hexdigest()}", "type": kind, "mimeType": media}
    return {**asset, "byteLength": len(plain), "data": data}


def attachment(block: MediaBlock, asset: Data) -> Data:
    named = {key: asset[key] for key in ("assetId", "byteLength", "mimeType")}
    return {"type": "blob", **named, **({"displayName": block.name} if block.name else {})}


def picture(block: MediaBlock, asset: Data) -> Data:
    """Beside a tool's text."""
    return {key: value for key, value in asset.items() if key != "data"}


EVENTS = "events.jsonl"


class _Result(TypedDict, total=False):
    content: Any
    binaryResultsForLlm: Any


_READ = (
    *("sessionId", "copilotVersion", "startTime", "context", "title", "role", "name", "content"),
    *("attachments", "interactionId", "apiCallId", "chunkIndex", "model", "toolRequests", "usage"),
    *("reasoningText", "reasoningOpaque", "encryptedContent", "reasoningBlocks", "toolCallId"),
    *("success", "error", "summaryContent", "upToEventId", "eventIds", "assetId", "data"),
    *("agentName", "agentDisplayName"),
)
"""The members of events that are read; what the screen shows and what is measured are not."""
_data: dict[str, Any] = {**dict.fromkeys(_READ, Any), "result": _Result}
_Data = TypedDict("_Data", _data, total=False)  # type: ignore[misc]  # made of a list
_event = {**dict.fromkeys(("type", "id", "timestamp", "agentId", KEY), Any), "data": _Data}
_Event = TypedDict("_Event", _event, total=False)  # type: ignore[misc]  # made of a list
_decode = msgspec.json.Decoder(_Event).decode
_IN_HISTORY = frozenset(
    {
        *("system.message", "user.message", "assistant.message", "tool.execution_complete"),
        *("system.notification", "session.compaction_complete", "session.usage_record"),
        "session.snapshot_rewind",
    }
)
"""The events that a history is made of."""
_USED = _IN_HISTORY | {"session.binary_asset", "subagent.started"}
_OF_SESSION = frozenset({"session.start", "session.resume", "session.title_changed"})


class History:
    """Takes events in order; `entries` are the messages so far, `left` the rewound branches."""

    def __init__(self, report: Report, assets: Assets) -> None:
        self.report = report
        self.assets = assets
        self.entries: list[Entry] = []
        self.left: list[tuple[Message, ...]] = []
        self._used: dict[str | None, Data] = {}
        self._tools: dict[str, str] = {}

    def take(self, line: Line) -> None:
        kind, data = line.value["type"], line.value["data"]
        try:
            match kind:
                case "assistant.message":
                    self._answer(line, data)
                case "tool.execution_complete":
                    block = self._result(data)
                    about = MessageMetadata(parent_tool_use_id=block.tool_use_id)
                    self._put(line, Role.TOOL, (block,), about)
                case "session.usage_record" if isinstance(data.get("usage"), dict):
                    self._used[as_text(data["usage"].get("apiCallId"))] = data["usage"]
                case "system.message":
                    role = Role.DEVELOPER if data.get("role") == "developer" else Role.SYSTEM
                    self._instruct(line, role, data)
                case "user.message":
                    media = self.assets.read(data.get("attachments"))
                    self._put(line, Role.USER, (*texts(data.get("content")), *media))
                case "system.notification":
                    self._put(line, Role.SYSTEM, texts(data.get("content")), name=NAME)
                case "session.compaction_complete" if data.get("success") is True:
                    text = as_text(data.get("summaryContent")) or ""
                    self._put(line, Role.SYSTEM, (CompactionBlock(text),))
                case "session.snapshot_rewind":
                    self._rewind(data)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {line.number}", because("unreadable", error=error))

    def _instruct(self, line: Line, role: Role, data: Data) -> None:
        """Adds instructions before the first prompt, although the file has them after it."""
        last = self.entries[-1].lines[-1].value if self.entries else {}
        interaction = last.get("type") == "user.message" and last["data"].get("interactionId")
        first = interaction and interaction == data.get("interactionId")
        prompt = [self.entries.pop()] if first else []
        self._put(line, role, texts(data.get("content")), name=as_text(data.get("name")))
        self.entries += prompt

    def _answer(self, line: Line, data: Data) -> None:
        content = read_blocks(data)
        called = False
        for block in content:
            if type(block) is ToolUseBlock:
                self._tools[block.id] = block.name
                called = True
        if self._goes_on(data):
            last = self.entries[-1]
            joined = replace(last.message, content=last.message.content + content)
            self.entries[-1] = replace(last, message=joined, lines=[*last.lines, line])
            return
        used = self._used.pop(as_text(data.get("apiCallId")), None) or self._used.pop(None, {})
        self._put(line, Role.ASSISTANT, content, _metadata(data, used, called))

    def _goes_on(self, data: Data) -> bool:
        """Whether this is a later piece of the last answer."""
        call, piece = as_text(data.get("apiCallId")), data.get("chunkIndex")
        if call is None or not isinstance(piece, int) or piece == 0 or not self.entries:
            return False
        last = self.entries[-1].lines[-1].value
        return bool(last["type"] == "assistant.message" and last["data"].get("apiCallId") == call)

    def _result(self, data: Data) -> ToolResultBlock:
        name = data.get("toolCallId")
        if not isinstance(name, str):
            raise ReadError("Copilot", "$.data.toolCallId", "a string", found(name))
        result, error = data.get("result"), data.get("error")
        content: tuple[Any, ...] = ()
        if isinstance(result, dict):
            media = self.assets.read(result.get("binaryResultsForLlm"))
            content = (*texts(result.get("content")), *media)
        elif isinstance(error, dict):
            content = texts(error.get("message"))
        failed = data.get("success") is False
        return ToolResultBlock(name, content, failed, self._tools.get(name))

    def _rewind(self, data: Data) -> None:
        first = data.get("upToEventId")
        listed = data.get("eventIds")
        names = [as_text(entry.lines[-1].value.get("id")) for entry in self.entries]
        if isinstance(listed, list):
            listed = {each for each in listed if isinstance(each, str)}
            gone = {at for at, name in enumerate(names) if name in listed}
        elif first in names:
            gone = set(range(names.index(first), len(names)))
        else:
            return
        if gone:
            self.left.append(tuple(entry.message for entry in self.entries))
            numbered = enumerate(self.entries)
            self.entries = [entry for at, entry in numbered if at not in gone]

    def _put(
        self,
        line: Line,
        role: Role,
        content: tuple[Block, ...],
        metadata: MessageMetadata = NO_METADATA,
        name: str | None = None,
    ) -> None:
        value = line.value
        time, note = from_iso(value.get("timestamp")), value.get(KEY)
        shown = Message(role, content, name, as_text(value.get("id")), None, metadata, time)
        for each in (shown,) if note is None else apply_note(shown, note):
            self.entries.append(Entry(each, [line], is_summary(each)))


def _metadata(data: Data, used: Data, called: bool) -> MessageMetadata:
    model, provider = as_text(data.get("model")) or used.get("model"), used.get("modelProvider")
    about = data.get("reasoningBlocks")
    reasoner = about.get("provider") if type(about) is dict else None
    stop = used.get("finishReason")
    shared = _shared(model, provider, used.get("apiEndpoint"), reasoner, stop, called)
    return replace(shared, response_id=as_text(data.get("apiCallId")), usage=_usage(used))


@remembered
def _shared(
    model: Any, provider: Any, endpoint: Any, reasoner: Any, stop: Any, called: bool
) -> MessageMetadata:
    """What many answers have in common."""
    model, provider = as_text(model), as_text(provider)
    return MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=ENDPOINTS.get(str(endpoint)) or REASONERS.get(str(reasoner)),
        response_model=model,
        stop_reason=STOPS.get(str(stop))
        or (StopReason.TOOL_USE if called else StopReason.END_TURN),
    )


def _usage(used: Data) -> Usage | None:
    """`inputTokens` includes tokens that were read from a cache or written to it."""
    prompt, output = as_count(used.get("inputTokens")), as_count(used.get("outputTokens"))
    if prompt is None and output is None:
        return None
    cached, written = as_count(used.get("cacheReadTokens")), as_count(used.get("cacheWriteTokens"))
    reasoned = as_count(used.get("reasoningTokens"))
    return usage_with(prompt, output, cached, written, reasoning_tokens=reasoned)


def other_files(path: Path) -> tuple[OriginFile, ...]:
    """The other files in a session's folder: its name, checkpoints, snapshots of files."""
    if path.name != EVENTS or not (path.parent / "workspace.yaml").is_file():
        return ()
    files = (each for each in sorted(path.parent.rglob("*")) if each.is_file() and each != path)
    return tuple(
        OriginFile(each, each.relative_to(path.parent).as_posix(), each.stat().st_size, aside=True)
        for each in files
        if not each.is_symlink()  # it leads to a file of others
    )


def detect_file(sample: Sample) -> str | None:
    """The first event names its session."""
    first = sample.head.partition(b"\n")[0].replace(b" ", b"")
    if b'"type":"session.start"' in first and b'"sessionId"' in first:
        return "a first event session.start"
    return None


def read_file(path: Path) -> Transcript:
    """One session with its sub-agents, whose events are between its own."""
    report = Report(NAME)
    file = LinesFile(path, report)
    lines = [
        line
        for line in file.lines(decode=_decode)
        if type(line.value.get("type")) is str and type(line.value.get("data")) is dict
    ]
    if not lines:
        raise TranscriptError(path, "it contains no readable event of a Copilot session")
    return _Session(lines, report).transcript(file.origin(), other_files(path))


class _Session:
    """The events of one file, sorted by speaker."""

    def __init__(self, lines: list[Line], report: Report) -> None:
        self.lines = lines
        self.report = report
        self.assets = Assets()
        self.own = History(report, self.assets)
        self.helpers: dict[str, History] = {}
        self.started: dict[str, dict[str, Any]] = {}
        self.about = [line for line in lines if line.value["type"] in _OF_SESSION]
        for line in lines:
            if line.value["type"] in _USED:
                self._take(line)

    def _take(self, line: Line) -> None:
        kind, data = line.value["type"], line.value["data"]
        agent = line.value.get("agentId")
        if kind == "session.binary_asset":
            self.assets.keep(data)
        elif not isinstance(agent, str):
            self.own.take(line)
        elif kind == "subagent.started":
            self.started[agent] = data
            self.helpers[agent] = History(self.report, self.assets)
        elif agent in self.helpers:
            self.helpers[agent].take(line)
        elif kind in ("user.message", "assistant.message"):
            reason = because("subagent_unknown")
            self.report.add("dropped", f"line {line.number}", reason)

    def transcript(self, file: OriginFile, files: tuple[OriginFile, ...]) -> Transcript:
        entries = self.own.entries
        messages = tuple(entry.message for entry in entries)
        left = tuple(Branch(None, each) for each in self.own.left)
        each_once = {id(each): each for way in (*self.own.left, messages) for each in way}
        start = self._latest("session.start", "sessionId")
        return Transcript.of(
            NAME,
            messages,
            id=start or (file.path.parent.name if files else file.path.stem),
            title=self._latest("session.title_changed", "title") or _named(files),
            folder=self._folder(),
            created_at=from_iso(self._latest("session.start", "startTime")),
            updated_at=from_iso(self.lines[-1].value.get("timestamp")),
            usage=usage_of(each_once.values()),
            branches=(*left, Branch(None, messages, True)),
            compactions=_compactions(entries),
            subagents=tuple(self._subagents()),
            report=self.report,
            details={"version": self._latest("session.start", "copilotVersion")},
            origin=Origin(NAME, (file, *files), messages, tuple(entry.spans for entry in entries)),
        )

    def _subagents(self) -> Iterator[SubAgent]:
        for name, history in self.helpers.items():
            messages = tuple(entry.message for entry in history.entries)
            about = self.started[name]
            helper = Transcript.of(
                NAME,
                messages,
                id=name,
                title=as_text(about.get("agentDisplayName")),
                compactions=_compactions(history.entries),
                details={"agent": about.get("agentName")},
            )
            yield SubAgent(helper, as_text(about.get("toolCallId")))

    def _latest(self, kind: str, key: str) -> str | None:
        found = (line.value["data"].get(key) for line in self.about if line.value["type"] == kind)
        return next((each for each in reversed([*found]) if isinstance(each, str)), None)

    def _folder(self) -> str | None:
        """The session's present folder: it may be resumed elsewhere than it was begun."""
        for line in reversed(self.about):
            context = line.value["data"].get("context")
            if line.value["type"] in ("session.start", "session.resume") and context:
                return as_text(context.get("cwd")) if isinstance(context, dict) else None
        return None


def _compactions(entries: list[Entry]) -> tuple[Compaction, ...]:
    """The compactions. A model gets a summary together with all prompts before it (seen by resuming
    with 1.0.102, 2026-11-17); one at the end of the session has not been sent yet."""
    marks = []
    for at, entry in enumerate(entries):
        if entry.compaction:
            ends = at == len(entries) - 1
            indexes = [i for i in range(at) if ends or entries[i].message.role is Role.USER]
            marks.append(Compaction(at, tuple(indexes), summary_last=True))
    return tuple(marks)


def _named(files: tuple[OriginFile, ...]) -> str | None:
    """The name in the session's own description, which is YAML of plain lines."""
    about = next((each.path for each in files if each.name == "workspace.yaml"), None)
    lines = contents(about).split(b"\n") if about is not None else []
    name = next((line[6:].strip() for line in lines if line.startswith(b"name: ")), b"")
    if name.startswith(b'"'):
        return as_text(decoded(name))
    if name.startswith(b"'") and name.endswith(b"'"):
        name = name[1:-1].replace(b"''", b"'")
    return as_text(name.decode(errors="replace")) if name[:1] not in b"|>" else None
