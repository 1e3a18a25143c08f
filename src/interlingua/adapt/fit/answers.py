"""Translates answers back: undoes changes that the request needed for this model.

Tools have their own names again, a call that stood for an answer in JSON is that answer, and a tool
that takes free text is called with free text. Whole answers and streams alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from interlingua.adapt.history.request_parts import GROUP, RESPONSES
from interlingua.dialects.record import StreamReader
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    Stop,
    StreamError,
    TextDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason
from interlingua.streams.frames import Frame

Call = TypeVar("Call", ToolUseBlock, ToolUseStart)
_NONE: Mapping[str, tuple[str, str]] = {}


class AnswerAdapter(msgspec.Struct, frozen=True):
    """`names` maps the names in calls to the tools' own; `json_tool` is the tool that stands for
    an answer; `custom` are the tools with free text, which were declared with an object that
    holds it; `groups` are the tools that were taken out of a group, with the group and their
    names in it."""

    names: dict[str, str] = {}
    json_tool: str | None = None
    custom: frozenset[str] = frozenset()
    groups: dict[str, tuple[str, str]] = {}

    @classmethod
    def of(
        cls,
        names: Mapping[str, str],
        json_tool: str | None,
        custom: frozenset[str] = frozenset(),
        groups: Mapping[str, tuple[str, str]] = _NONE,
    ) -> AnswerAdapter | None:
        """None if the request was sent unchanged."""
        if not (names or json_tool or custom or groups):
            return None
        return cls(dict(names), json_tool, custom, dict(groups))

    def response(self, response: Response) -> Response:
        """A whole answer as it was wanted."""
        others = tuple([self.message(each) for each in response.alternatives])
        return response.replace(message=self.message(response.message), alternatives=others)

    def message(self, message: Message) -> Message:
        content = tuple([self.block(block) for block in message.content])
        if all(new is old for new, old in zip(content, message.content, strict=True)):
            return message
        metadata = message.metadata
        calls = any(type(b) is ToolUseBlock and b.executor == "client" for b in content)
        if metadata.stop_reason is StopReason.TOOL_USE and not calls:
            metadata = metadata.replace(stop_reason=StopReason.END_TURN, raw_stop_reason=None)
        return message.replace(content=content, metadata=metadata)

    def block(self, block: Block) -> Block:
        if type(block) is not ToolUseBlock or block.executor != "client":
            return block
        if block.name == self.json_tool:
            return TextBlock(_text(block.input, block.raw_arguments))
        name = self.names.get(block.name, block.name)
        if name in self.custom and free_text(block.input) is not None:
            return self.called(block, name, call_type="custom", raw_arguments=None)
        return self.called(block, name)

    def called(self, value: Call, name: str, **changes: Any) -> Call:
        """A call, or its beginning, under the name that its tool has; inside its group."""
        found = self.groups.get(name)
        if found is None:
            return value.replace(name=name, **changes) if changes or name != value.name else value
        group, own = found
        raw = dict(value.raw or {})
        raw[RESPONSES] = {**(raw.get(RESPONSES) or {}), GROUP: group}
        return value.replace(name=own, raw=raw, **changes)

    def reader(self, reader: StreamReader) -> StreamReader:
        """A stream reader whose events have the client's tools and formats."""
        return _Reader(reader, self)


def free_text(input: dict[str, Any]) -> str | None:
    """The text in a call of a tool for free text; None if it is no such call."""
    text = input.get("input")
    return text if len(input) == 1 and isinstance(text, str) else None


def _text(input: dict[str, Any], spelled: str | None) -> str:
    """The answer that a call holds."""
    return spelled if spelled is not None else msgspec.json.encode(input).decode()


class _Reader:
    """Wraps a stream reader: frames in, events out."""

    def __init__(self, reader: StreamReader, answer_adapter: AnswerAdapter) -> None:
        self._reader = reader
        self._answer_adapter = answer_adapter
        self._answers: dict[tuple[int, int], str] = {}
        """Calls that carry an answer, with the parts of it that were emitted."""
        self._free: dict[tuple[int, int], list[ToolUseInputDelta]] = {}
        """Calls of free-text tools, whose wrapping object is removed once it is complete."""
        self._calls = False

    @property
    def marks(self) -> bool:
        return self._reader.marks

    @marks.setter
    def marks(self, value: bool) -> None:
        self._reader.marks = value

    def feed(self, frame: Frame) -> list[Event]:
        return [
            restored for event in self._reader.feed(frame) for restored in self._restored(event)
        ]

    def close(self) -> list[Event]:
        return [restored for event in self._reader.close() for restored in self._restored(event)]

    def _restored(self, event: Event) -> list[Event]:
        kind = type(event)
        if kind is ToolUseStart:
            return [self._start(event)]  # type: ignore[arg-type]  # by its kind
        if kind is ToolUseInputDelta or kind is ToolUseEnd:
            key = (event.choice, event.index)  # type: ignore[union-attr]  # by its kind
            if key in self._free:
                return self._text(event, key)
            return self._answer(event, key) if key in self._answers else [event]
        if kind is BlockStart or kind is BlockEnd:
            return [event.replace(block=self._answer_adapter.block(event.block))]  # type: ignore[union-attr]  # by its kind
        if kind is Stop:
            return [self._stop(event)]  # type: ignore[arg-type]  # by its kind
        if kind is MessageComplete:
            return [event.replace(response=self._answer_adapter.response(event.response))]  # type: ignore[union-attr]  # by its kind
        if kind is StreamError and event.partial is not None:  # type: ignore[union-attr]  # by its kind
            return [event.replace(partial=self._answer_adapter.message(event.partial))]  # type: ignore[union-attr, arg-type]  # by its kind
        return [event]

    def _start(self, event: ToolUseStart) -> Event:
        if event.executor != "client":
            return event
        if event.name == self._answer_adapter.json_tool:
            self._answers[event.choice, event.index] = ""
            return BlockStart(event.index, TextBlock(""), choice=event.choice, frame=event.frame)
        self._calls = True
        name = self._answer_adapter.names.get(event.name, event.name)
        if name in self._answer_adapter.custom:
            self._free[event.choice, event.index] = []
            return self._answer_adapter.called(event, name, call_type="custom")
        return self._answer_adapter.called(event, name)

    def _text(self, event: Any, key: tuple[int, int]) -> list[Event]:
        if type(event) is ToolUseInputDelta:
            self._free[key].append(event)
            return []
        held = self._free.pop(key)
        text = free_text(event.input)
        if text is None:
            return [*held, event]
        piece = ToolUseInputDelta(event.index, text, choice=event.choice)
        return [piece, event.replace(raw_arguments=None)]

    def _answer(self, event: Any, key: tuple[int, int]) -> list[Event]:
        """Pieces of a call as pieces of text."""
        if type(event) is ToolUseInputDelta:
            self._answers[key] += event.text
            return [TextDelta(event.index, event.text, choice=event.choice, frame=event.frame)]
        text = _text(event.input, event.raw_arguments)
        end: Event = BlockEnd(event.index, TextBlock(text), choice=event.choice, frame=event.frame)
        if self._answers[key]:
            return [end]
        return [TextDelta(event.index, text, choice=event.choice), end]

    def _stop(self, event: Stop) -> Stop:
        if event.stop_reason is StopReason.TOOL_USE and self._answers and not self._calls:
            return event.replace(stop_reason=StopReason.END_TURN, raw_stop_reason=None)
        return event
