"""The lines of a rollout in the order in which they were said, joined to messages.

Only `response_item` is history; events say the same once more for the screen. The items of one
answer stand before the record of what it used.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.openai_responses.messages import ItemReader
from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from interlingua.transcripts.codex import quick
from interlingua.transcripts.codex.tables import MODEL_MADE, NOT_TYPED, OUTPUTS
from interlingua.transcripts.lines import Line
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.summary import is_summary, summary_message
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.tree import Entry
from interlingua.transcripts.values import text

NAME = "codex"
DIALECT = "openai-responses"
_READ: dict[str, Any] = {}
_COMMON = ("message", "function_call_output")


class History:
    """Takes lines one after another; `entries` are the messages so far."""

    def __init__(self, report: Report, provider: str | None) -> None:
        self.report = report
        self.provider = provider or "openai"
        self.entries: list[Entry] = []
        self.usages: list[Usage] = []
        self.model: str | None = None
        self._answer: list[Line] = []
        self._recorded = False
        self._counted: set[int] = set()

    def take(self, line: Line) -> None:
        payload = line.value.get("payload")
        if not isinstance(payload, dict):
            return
        match line.value.get("type"):
            case "response_item":
                self._item(line, payload)
            case "turn_context":
                self.end_answer()
                self.model = text(payload.get("model")) or self.model
            case "token_usage_record":
                self._recorded = True
                self._used(read_usage(payload.get("usage")), payload.get("response_id"))
            case "event_msg" if payload.get("type") == "token_count" and not self._recorded:
                info = payload.get("info")
                last = info.get("last_token_usage") if isinstance(info, dict) else None
                self._used(read_usage(last), None)
            case "compacted":
                self.end_answer()
                self._put([line], compacted(payload), line)

    def end_answer(self) -> None:
        """What the model has said so far is one answer."""
        if self._answer:
            lines, self._answer = self._answer, []
            made = quick.answer([line.value["payload"] for line in lines])
            if made is None:
                self._read(lines)
            else:
                self._put(lines, made, lines[0])

    def _item(self, line: Line, item: dict[str, Any]) -> None:
        kind = str(item.get("type"))
        if kind in MODEL_MADE or (kind == "message" and item.get("role") == "assistant"):
            self._answer.append(line)
            return
        self.end_answer()
        quickly = quick.turn if kind == "message" else quick.result
        made = quickly(item) if kind in _COMMON else None
        if made is None:
            self._read([line])
        else:
            self._put([line], typed(made), line)

    def _used(self, usage: Usage | None, response: Any) -> None:
        self.end_answer()
        if usage is None:
            return
        at = len(self.entries) - 1
        while at >= 0 and self.entries[at].message.role is Role.TOOL:
            at -= 1
        last = self.entries[at].message if at >= 0 else None
        if last is None or last.role is not Role.ASSISTANT or at in self._counted:
            return
        self._counted.add(at)
        self.usages.append(usage)
        if last.metadata.usage is not None:
            return  # another tool knew more of it
        name = response if isinstance(response, str) else None
        metadata = replace(last.metadata, usage=usage, response_id=name)
        self.entries[at] = replace(self.entries[at], message=replace(last, metadata=metadata))

    def _read(self, lines: list[Line]) -> None:
        items = [line.value["payload"] for line in lines]
        try:
            messages = read_items(items)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {lines[0].number}", str(error), "error")
            return
        for message in messages:
            self._put(lines, message, lines[0])

    def _put(self, lines: list[Line], message: Message, first: Line) -> None:
        shown = self._placed(message, first.value)
        note = first.value.get(KEY)
        if note is None:
            is_short = is_summary(shown)
            if not is_short:  # of what was read, only the place in the file is still asked for
                lines = [Line(line.number, line.span, _READ) for line in lines]
            self.entries.append(Entry(shown, lines, is_short))
            return
        for each in recall(shown, note):
            self.entries.append(Entry(each, lines, is_summary(each)))

    def _placed(self, message: Message, value: dict[str, Any]) -> Message:
        name = value["payload"].get("id")
        name = name if type(name) is str else None
        time = from_iso(value.get("timestamp"))
        if message.role is not Role.ASSISTANT:
            return replace(message, id=name, created_at=time)
        called = any(type(block) is ToolUseBlock for block in message.content)
        metadata = replace(
            message.metadata,
            protocol=DIALECT,
            provider=self.provider,
            model=f"{self.provider}:{self.model}" if self.model else None,
            response_model=self.model,
            stop_reason=StopReason.TOOL_USE if called else StopReason.END_TURN,
            status=MessageStatus.COMPLETE,
        )
        return replace(message, id=name, created_at=time, metadata=metadata)


def read_items(items: list[dict[str, Any]]) -> list[Message]:
    """Items as messages; what the client says as the user is an instruction. They were JSON, so
    that nobody need look them over again."""
    reader = ItemReader()
    try:
        reader.read(items, ".input")
    except ShapeError as error:
        raise error.error(NAME) from None
    reader.flush()
    return [typed(message) for message in reader.messages]


def typed(message: Message) -> Message:
    if message.role is Role.USER and message.text.startswith(NOT_TYPED):
        return replace(message, role=Role.SYSTEM, name=NAME)
    return message


def compacted(payload: dict[str, Any]) -> Message:
    text = payload.get("message")
    return summary_message(text if isinstance(text, str) else "")


def read_usage(usage: Any) -> Usage | None:
    """`input_tokens` counts cached ones too."""
    if not isinstance(usage, dict):
        return None
    counts = {key: value for key, value in usage.items() if type(value) is int and value >= 0}
    cached = counts.get("cached_input_tokens", 0)
    written = counts.get("cache_write_input_tokens", 0)
    return Usage(
        input_tokens=max(counts.get("input_tokens", 0) - cached - written, 0),
        output_tokens=counts.get("output_tokens"),
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        reasoning_tokens=counts.get("reasoning_output_tokens"),
    )


def is_output(item: dict[str, Any]) -> bool:
    return item.get("type") in OUTPUTS


def results(message: Message) -> list[ToolResultBlock]:
    return [block for block in message.content if isinstance(block, ToolResultBlock)]
