"""Events in the order in which they came, as messages: of the session itself, or of one helper.

What an answer used stands in an event before it. Events that were rewound are no longer said; if
they still are in the file, they are a way that was left.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason, Usage
from interlingua.transcripts.copilot.blocks import NAME, Assets, Data, read_blocks, texts
from interlingua.transcripts.copilot.blocks import text_or_none as _text
from interlingua.transcripts.copilot.tables import ENDPOINTS, REASONERS, STOPS
from interlingua.transcripts.lines import Line
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.summary import is_summary, summary_message
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.totals import usage_with
from interlingua.transcripts.tree import Entry


class History:
    """Takes events one after another; `entries` are the messages so far, `left` the ways that
    were rewound."""

    def __init__(self, report: Report, assets: Assets) -> None:
        self.report = report
        self.assets = assets
        self.entries: list[Entry] = []
        self.left: list[tuple[Message, ...]] = []
        self._used: dict[str | None, Data] = {}
        self._tools: dict[str, str] = {}

    def take(self, line: Line) -> None:
        data = line.value["data"]
        try:
            match line.value["type"]:
                case "system.message":
                    self._instruct(line, _instructions(data))
                case "user.message":
                    self._put(line, self._prompt(data))
                case "assistant.message":
                    self._answer(line, data)
                case "tool.execution_complete":
                    self._put(line, self._result(data))
                case "system.notification":
                    self._put(line, Message(Role.SYSTEM, texts(data.get("content")), NAME))
                case "session.compaction_complete" if data.get("success") is True:
                    self._put(line, summary_message(_text(data.get("summaryContent")) or ""))
                case "session.usage_record":
                    self._count(data.get("usage"))
                case "session.snapshot_rewind":
                    self._rewind(data)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {line.number}", str(error), "error")

    def _instruct(self, line: Line, message: Message) -> None:
        """The first prompt is written before the instructions that it is sent with."""
        last = self.entries[-1].lines[-1].value if self.entries else {}
        said = last.get("type") == "user.message" and last["data"].get("interactionId")
        if said and said == line.value["data"].get("interactionId"):
            prompt = self.entries.pop()
            self._put(line, message)
            self.entries.append(prompt)
        else:
            self._put(line, message)

    def _prompt(self, data: Data) -> Message:
        media = self.assets.read(data.get("attachments"))
        return Message(Role.USER, (*texts(data.get("content")), *media))

    def _answer(self, line: Line, data: Data) -> None:
        content = read_blocks(data)
        self._tools |= {each.id: each.name for each in content if isinstance(each, ToolUseBlock)}
        if self._goes_on(data):
            last = self.entries[-1]
            joined = replace(last.message, content=last.message.content + content)
            self.entries[-1] = replace(last, message=joined, lines=[*last.lines, line])
            return
        used = self._used.pop(_text(data.get("apiCallId")), None) or self._used.pop(None, {})
        metadata = _metadata(data, used, any(isinstance(each, ToolUseBlock) for each in content))
        self._put(line, Message(Role.ASSISTANT, content, metadata=metadata))

    def _goes_on(self, data: Data) -> bool:
        """Whether this is a later piece of the answer that was said last."""
        call, piece = _text(data.get("apiCallId")), data.get("chunkIndex")
        if call is None or not isinstance(piece, int) or piece == 0 or not self.entries:
            return False
        last = self.entries[-1].lines[-1].value
        return bool(last["type"] == "assistant.message" and last["data"].get("apiCallId") == call)

    def _result(self, data: Data) -> Message:
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
        return Message.of_result(ToolResultBlock(name, content, failed, self._tools.get(name)))

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            self._used[_text(usage.get("apiCallId"))] = usage

    def _rewind(self, data: Data) -> None:
        first = data.get("upToEventId")
        listed = data.get("eventIds")
        names = [_text(entry.lines[-1].value.get("id")) for entry in self.entries]
        if isinstance(listed, list):
            listed = {each for each in listed if isinstance(each, str)}
            gone = {at for at, name in enumerate(names) if name in listed}
        elif first in names:
            gone = set(range(names.index(first), len(names)))
        else:
            return
        if gone:
            self.left.append(tuple(entry.message for entry in self.entries))
            kept = enumerate(self.entries)
            self.entries = [entry for at, entry in kept if at not in gone]

    def _put(self, line: Line, message: Message) -> None:
        value = line.value
        shown = replace(
            message, id=_text(value.get("id")), created_at=from_iso(value.get("timestamp"))
        )
        for each in recall(shown, value.get(KEY)):
            self.entries.append(Entry(each, [line], is_summary(each)))


def _instructions(data: Data) -> Message:
    role = Role.DEVELOPER if data.get("role") == "developer" else Role.SYSTEM
    return Message(role, texts(data.get("content")), _text(data.get("name")))


def _metadata(data: Data, used: Data, called: bool) -> MessageMetadata:
    model = _text(data.get("model")) or _text(used.get("model"))
    about = data.get("reasoningBlocks")
    reasoner = REASONERS.get(str(about.get("provider"))) if isinstance(about, dict) else None
    protocol = ENDPOINTS.get(str(used.get("apiEndpoint"))) or reasoner
    provider = _text(used.get("modelProvider"))
    stop = STOPS.get(str(used.get("finishReason")))
    return MessageMetadata(
        model=f"{provider}:{model}" if provider and model else model,
        provider=provider,
        protocol=protocol,
        response_model=model,
        response_id=_text(data.get("apiCallId")),
        usage=_usage(used),
        stop_reason=stop or (StopReason.TOOL_USE if called else StopReason.END_TURN),
    )


def _usage(used: Data) -> Usage | None:
    """`inputTokens` counts what was read from a cache or written to it too."""
    prompt, output = _whole(used.get("inputTokens")), _whole(used.get("outputTokens"))
    if prompt is None and output is None:
        return None
    cached, written = _whole(used.get("cacheReadTokens")), _whole(used.get("cacheWriteTokens"))
    usage = usage_with(prompt, output, cached, written)
    return usage.replace(reasoning_tokens=_whole(used.get("reasoningTokens")))


def _whole(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
