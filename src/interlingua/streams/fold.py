"""Events to a response, and a response to events.

`Folder` takes one event at a time and has the message so far at any moment; readers of dialects use
it to make the last event of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from interlingua.errors import a_type
from interlingua.model.arguments import recover, to_text
from interlingua.model.base import JsonObject, Value
from interlingua.model.blocks import Block, CompactionBlock, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.streams.frames import MANY, thin


def fold(events: Iterable[Event]) -> Response:
    """The response of these events. Of several messages in one stream it is the last."""
    return fold_all(events)[-1]


def with_partial_input(events: Iterable[Event]) -> Iterator[Event]:
    """The same events; each delta of a tool's input has its `partial`."""
    folder = Folder()
    for event in events:
        folder.feed(event)
        yield event


def fold_all(events: Iterable[Event]) -> list[Response]:
    """Each message of a stream."""
    folders = [Folder()]
    for event in events:
        if not isinstance(event, Value):  # callers without a type checker
            found = a_type(event)  # type: ignore[unreachable]
            raise TypeError(f"il.fold takes events; found {found}: il.stream_convert takes chunks")
        if isinstance(event, MessageStart) and event.choice == 0 and folders[-1].ended:
            folders.append(Folder())
        folders[-1].feed(event)
    return [folder.response() for folder in folders]


_SHORT = 4096
"""Arguments up to this length are read anew for every snapshot."""
_SHARE = 8
"""Longer inputs are parsed again when they have grown by this fraction, so the total time stays
linear."""


class _ArgumentText:
    """The arguments of a call as they arrive, readable half way."""

    __slots__ = ("length", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0

    def add(self, piece: str) -> Callable[[], JsonObject]:
        """One more piece; gives how to read all up to here."""
        self.pieces.append(piece)
        if len(self.pieces) > MANY:
            thin(self.pieces)
        self.length += len(piece)
        length = self.length
        return lambda: recover("".join(self.pieces)[:length]).input


class _OpenBlock:
    """An open block: its first state, the deltas since by field, and the joined text so far."""

    __slots__ = ("arguments", "block", "input", "joined", "pieces", "read")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.pieces: dict[str, list[Any]] = {}
        self.joined: dict[str, str] = {}
        self.input: JsonObject = {}
        self.read = 0
        """The part of the arguments that `input` was read from."""
        self.arguments: _ArgumentText | None = None

    def add(self, field: str, piece: Any) -> None:
        """Adds a delta of a field; ignored if this kind of block does not have the field."""
        if not hasattr(self.block, field):
            return
        pieces = self.pieces.get(field)
        if pieces is None:
            self.pieces[field] = [piece]
            return
        pieces.append(piece)
        if len(pieces) > MANY and type(piece) is str:
            thin(pieces)

    def state(self) -> Block:
        """The block so far, at the cost of what is new. The `input` of a long call may lag behind
        its `raw_arguments`."""
        changes: dict[str, Any] = {}
        for field, pieces in self.pieces.items():
            if field == "citations":
                changes[field] = (*getattr(self.block, field), *pieces)
            elif field == "signature" or type(self.block) is CompactionBlock:
                changes[field] = pieces[-1]  # replaced by each piece
            elif field == "input":
                text = changes["raw_arguments"] = self._text(field, pieces)
                if len(text) <= _SHORT or len(text) - self.read > len(text) // _SHARE:
                    self.input, self.read = recover(text).input, len(text)
                changes["input"] = self.input
            elif type(getattr(self.block, field, None)) is str:
                changes[field] = self._text(field, pieces)
        return self.block.replace(**changes) if changes else self.block

    def _text(self, field: str, pieces: list[str]) -> str:
        """All of a text. It grows in place as long as no older one is referenced."""
        text = self.joined.pop(field, None)
        if text is None:
            text = "" if field == "input" else getattr(self.block, field)
        new = "".join(pieces)
        pieces.clear()
        text += new
        self.joined[field] = text
        return text


class _Choice:
    """One of the answers of a stream."""

    def __init__(self) -> None:
        self.role = Role.ASSISTANT
        self.blocks: dict[int, Block | _OpenBlock] = {}
        self.stop: Stop | None = None

    def content(self) -> tuple[Block, ...]:
        return tuple(
            each.state() if isinstance(each, _OpenBlock) else each
            for _, each in sorted(self.blocks.items())
        )


class Folder:
    """Events in; the message so far, and at the end the response, out."""

    def __init__(self) -> None:
        self.ended = False
        self._model: str | None = None
        self._response_id: str | None = None
        self._usage: Usage | None = None
        self._choices: dict[int, _Choice] = {0: _Choice()}
        self._response: Response | None = None
        self._error: ProviderError | None = None
        self._partial: Message | None = None

    def feed(self, event: Event) -> None:
        step = _STEPS.get(type(event))
        if step is not None:
            step(self, event)

    def message(self, choice: int = 0) -> Message:
        """The message so far; `partial` until the stream has ended."""
        if self._response is not None and choice == 0:
            return self._response.message
        if self._partial is not None and choice == 0:
            return self._partial
        each = self._choices[choice]
        stop = each.stop
        status = MessageStatus.ERROR if self._error else MessageStatus.PARTIAL
        reason = StopReason.ERROR if self._error else (stop.stop_reason if stop else None)
        metadata = MessageMetadata(
            response_model=self._model,
            response_id=self._response_id,
            usage=self._usage if choice == 0 else None,
            stop_reason=reason,
            raw_stop_reason=stop.raw_stop_reason if stop else None,
            status=status,
            error_message=self._error.message if self._error else None,
        )
        return Message(each.role, each.content(), metadata=metadata)

    def open_calls(self) -> list[ToolUseEnd]:
        """An end for each open call, with the input that can be parsed."""
        ends = []
        for choice, open_choice in self._choices.items():
            for index, each in sorted(open_choice.blocks.items()):
                if not isinstance(each, _OpenBlock) or not isinstance(each.block, ToolUseBlock):
                    continue
                state = each.state()
                assert isinstance(state, ToolUseBlock)
                read = recover(state.raw_arguments)
                raw = None if read.mode == "strict" else state.raw_arguments
                ends.append(ToolUseEnd(index, read.input, raw, choice=choice))
        return ends

    def response(self) -> Response:
        """The whole answer; without an end signal its message is `partial`."""
        if self._response is not None:
            return self._response
        others = [self.message(number) for number in sorted(self._choices) if number != 0]
        return Response(self.message(), tuple(others), self._error)

    def _of(self, choice: int) -> _Choice:
        if choice not in self._choices:
            self._choices[choice] = _Choice()
        return self._choices[choice]

    def _open(self, event: Any, block: Block) -> _OpenBlock:
        blocks = self._of(event.choice).blocks
        each = blocks.get(event.index)
        if not isinstance(each, _OpenBlock):
            each = blocks[event.index] = _OpenBlock(block)
        return each

    def _start(self, event: MessageStart) -> None:
        self._of(event.choice).role = event.role
        if event.model is not None:
            self._model = event.model
        if event.response_id is not None:
            self._response_id = event.response_id

    def _block_start(self, event: BlockStart) -> None:
        self._of(event.choice).blocks[event.index] = _OpenBlock(event.block)

    def _block_delta(self, event: BlockDelta) -> None:
        self._open(event, TextBlock("")).add(event.field, event.value)

    def _block_end(self, event: BlockEnd) -> None:
        self._of(event.choice).blocks[event.index] = event.block

    def _text(self, event: TextDelta) -> None:
        self._open(event, TextBlock("")).add("text", event.text)

    def _thinking(self, event: ThinkingDelta) -> None:
        self._open(event, ThinkingBlock("")).add("text", event.text)

    def _call(self, event: ToolUseStart) -> None:
        block = ToolUseBlock(
            event.id,
            event.name,
            {},
            executor=event.executor,
            call_type=event.call_type,
            raw=event.raw,
            caller=event.caller,
        )
        self._of(event.choice).blocks[event.index] = _OpenBlock(block)

    def _input(self, event: ToolUseInputDelta) -> None:
        each = self._open(event, ToolUseBlock("", "", {}))
        each.add("input", event.text)
        if each.arguments is None:
            each.arguments = _ArgumentText()
        event.read_by(each.arguments.add(event.text))

    def _call_end(self, event: ToolUseEnd) -> None:
        unnamed = ToolUseBlock("", "", {})
        block = self._open(event, unnamed).block
        if type(block) is not ToolUseBlock:  # what came before was of something else
            block = unnamed
        self._of(event.choice).blocks[event.index] = block.replace(
            input=event.input,
            raw_arguments=event.raw_arguments,
            signature=event.signature,
            raw=event.raw if event.raw is not None else block.raw,
        )

    def _stop(self, event: Stop) -> None:
        self._of(event.choice).stop = event

    def _usage_update(self, event: UsageUpdate) -> None:
        self._usage = event.usage

    def _complete(self, event: MessageComplete) -> None:
        self._response = event.response
        self.ended = True

    def _failed(self, event: StreamError) -> None:
        self._error = event.error
        self._partial = event.partial
        self.ended = True


_STEPS: dict[type, Any] = {
    MessageStart: Folder._start,
    BlockStart: Folder._block_start,
    BlockDelta: Folder._block_delta,
    BlockEnd: Folder._block_end,
    TextDelta: Folder._text,
    ThinkingDelta: Folder._thinking,
    ToolUseStart: Folder._call,
    ToolUseInputDelta: Folder._input,
    ToolUseEnd: Folder._call_end,
    Stop: Folder._stop,
    UsageUpdate: Folder._usage_update,
    MessageComplete: Folder._complete,
    StreamError: Folder._failed,
}


def unfold(response: Response) -> list[Event]:
    """The events of a stream of this response, each block in one piece."""
    if not isinstance(response, Response):
        raise TypeError(f"unfold takes il.Response; found {a_type(response)}")
    metadata = response.message.metadata
    events: list[Event] = []
    for choice, message in enumerate((response.message, *response.alternatives)):
        events.append(
            MessageStart(metadata.response_model, metadata.response_id, message.role, choice=choice)
        )
        for index, block in enumerate(message.content):
            events += unfold_block(block, index, choice)
        if message.metadata.stop_reason is not None:
            made = message.metadata
            events.append(Stop(made.stop_reason, made.raw_stop_reason, choice=choice))
    if metadata.usage is not None:
        events.append(UsageUpdate(metadata.usage))
    if response.error is not None:
        events.append(StreamError(response.error, response.message))
    else:
        events.append(MessageComplete(response))
    return events


def unfold_block(block: Block, index: int, choice: int = 0) -> list[Event]:
    """The events of a block that arrives in one piece."""
    if isinstance(block, ToolUseBlock):
        text = block.raw_arguments if block.raw_arguments is not None else to_text(block.input)
        return [
            ToolUseStart(
                index,
                block.id,
                block.name,
                block.executor,
                block.call_type,
                block.raw,
                block.caller,
                choice=choice,
            ),
            ToolUseInputDelta(index, text, choice=choice),
            ToolUseEnd(
                index, block.input, block.raw_arguments, block.signature, block.raw, choice=choice
            ),
        ]
    start: Block = block
    delta: list[Event] = []
    if isinstance(block, TextBlock) and block.text:
        start = block.replace(text="", signature=None, citations=())
        delta = [TextDelta(index, block.text, choice=choice)]
    elif isinstance(block, ThinkingBlock) and block.text:
        start = block.replace(text="", signature=None)
        delta = [ThinkingDelta(index, block.text, choice=choice)]
    return [
        BlockStart(index, start, choice=choice),
        *delta,
        BlockEnd(index, block, choice=choice),
    ]
