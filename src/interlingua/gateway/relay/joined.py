"""A stream that may break off and go on with that of another attempt, as one answer: bytes in,
bytes out.

The text of an answer goes on at once. Everything else is held back until it is whole, thinking
until its block ends and calls until the answer does: if the stream breaks off in it, the client has
nothing of it, and the next attempt makes it anew. So the seam is always in text, or between blocks,
and it has to be proved: what the next attempt writes begins with what is expected, which is left
out, or it is not used.

The rest of a call whose arguments broke off is asked for once, as text, if there is enough of it to
be worth that; it is used if it goes on exactly where the arguments ended and all of them fit the
tool's schema. Otherwise the call is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.adapt.history.stream import PIECES, StreamRewriter
from interlingua.client.answer import add_usage
from interlingua.dialects.framing import decoder, encoder
from interlingua.dialects.kernel.stream_reader import BROKEN_OFF
from interlingua.dialects.registry import dialect
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import Block, RedactedThinkingBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason, Usage
from interlingua.streams.fold import Folder
from interlingua.tools.registry import build_validator

if TYPE_CHECKING:
    from interlingua.adapt.fit.answers import AnswerAdapter


LEAST = 200
"""Characters of arguments that are worth completing."""


class SeamError(Exception):
    """The next attempt does not go on where the answer broke off."""


@cache
def call_instruction() -> str:
    return files(__package__).joinpath("complete.md").read_text("utf-8").strip()


class CutCall(NamedTuple):
    start: ToolUseStart
    arguments: str

    def schema(self, request: Request) -> dict[str, Any] | None:
        """What the arguments have to fit; None where the call cannot be completed."""
        if len(self.arguments) < LEAST:
            return None
        for tool in request.tools:
            if tool.name == self.start.name and tool.executor == "client":
                return tool.input_schema if tool.kind == "function" else None
        return None


def cut_call(held: Iterable[Event]) -> CutCall | None:
    """The call that was under way, if it is the only one and nothing else is held back."""
    calls: list[ToolUseStart] = []
    pieces: list[str] = []
    for event in held:
        if isinstance(event, ToolUseStart):
            calls.append(event)
        elif isinstance(event, ToolUseInputDelta):
            pieces.append(event.text)
        elif not isinstance(event, BlockEnd | UsageUpdate):
            return None
    if len(calls) != 1 or calls[0].executor != "client" or calls[0].call_type == "custom":
        return None
    return CutCall(calls[0], "".join(pieces))


class CallSeam:
    """The text of an attempt that completes a call."""

    def __init__(self, call: CutCall, anchor: str, schema: dict[str, Any]) -> None:
        self.call = call
        self._anchor, self._schema = anchor, schema
        self._text = ""
        self.is_joined = False
        self.others: set[int] = set()
        """Further calls of the attempt."""

    def add(self, piece: str) -> None:
        self._text += piece
        if not self._anchor.startswith(self._text[: len(self._anchor)]):
            raise SeamError

    def arguments(self) -> tuple[str, dict[str, Any]]:
        """All of them, as text and read; `SeamError` if they are not what the tool takes."""
        if not self._text.startswith(self._anchor):
            raise SeamError
        text = self.call.arguments + self._text[len(self._anchor) :].rstrip()
        try:
            input = msgspec.json.decode(text)
            valid = build_validator(self.call.start.name, self._schema).is_valid(input)
        except (msgspec.DecodeError, UnicodeError, RecursionError, InterlinguaError):
            raise SeamError from None
        if not valid or not isinstance(input, dict):
            raise SeamError
        return text, input


Watch = Callable[[Event], Event | None]
_REPEATABLE = (TextBlock, ThinkingBlock, RedactedThinkingBlock)
_ENDED = (StopReason.END_TURN, StopReason.TOOL_USE)
_HIDDEN = (ThinkingBlock, RedactedThinkingBlock)


class Sent(NamedTuple):
    """The text that the client has when a stream breaks off."""

    texts: tuple[str, ...]
    is_open: bool
    """Whether the last of them may go on."""


class _Seam:
    """What the text of the next attempt has to begin with: one of `starts`, and not `again`, by
    which one that begins anew is known. After white space (with `""` beside it) anything may
    follow that does not begin with white space itself."""

    def __init__(self, starts: tuple[str, ...], again: str, is_open: bool) -> None:
        self._starts = starts
        self._again = again
        self._is_open = is_open
        self._text = ""
        self.length = 0
        self.is_proved = starts == ("",) and not again

    def text(self, piece: str) -> str:
        """The part of a piece that is new; `SeamError` if the text begins with something else."""
        if self.is_proved:
            return piece
        self._text += piece
        if self._again and self._again.startswith(self._text[: len(self._again)]):
            if len(self._text) >= len(self._again):
                raise SeamError
            return ""
        for start in filter(None, self._starts):
            if self._text.startswith(start):
                self.is_proved, self.length = True, len(start)
                return self._text[len(start) :]
        if any(start.startswith(self._text) for start in self._starts):
            return ""
        if "" in self._starts and (len(self._starts) == 1 or not self._text[0].isspace()):
            self.is_proved = True
            return self._text
        raise SeamError

    def settle(self) -> None:
        """No more text comes: what there is has to do."""
        self._again = ""

    def other(self) -> None:
        """Something else than text comes: that may follow text that had ended, and no other."""
        if not self.is_proved and (self._text or (self._is_open and "" not in self._starts)):
            raise SeamError
        self.is_proved = True


class JoinedConverter:
    """Converts one stream after another into a single one. `watch` sees every event but pieces, as
    their source has them, and may change it or leave it out."""

    def __init__(
        self, source: str, target: str, watch: Watch, answer_adapter: AnswerAdapter | None = None
    ) -> None:
        self._target, self._watch = dialect(target), watch
        self._encode, self._writer = encoder(target), self._target.stream_writer()
        self._writer.source = source
        self._client = Folder()
        """All that the client has."""
        self._blocks: dict[int, Block | None] = {}
        """The blocks it has of the answer; None while one is open."""
        self._held: list[Event] = []
        self._waiting: set[int] = set()
        self._until_end = False
        self._has_stop = False
        self._is_plain = True
        """Whether there is one answer, and nothing in it but text, thinking and calls."""
        self._seam: _Seam | None = None
        self._call: CallSeam | None = None
        """The call that the stream under way completes."""
        self._usage: Usage | None = None
        self._earlier: Usage | None = None
        self.report = Report(target)
        self.broke: ProviderError | None = None
        """Why the stream under way broke off."""
        self.joined: Response | None = None
        """The whole answer, if it was put together from several streams."""
        self._begin(source, answer_adapter)

    def _begin(self, source: str, answer_adapter: AnswerAdapter | None) -> None:
        codec = dialect(source)
        self._ends_with_connection = codec.traits.ends_with_connection
        self._decoder, self._reader = decoder(source), codec.stream_reader()
        if answer_adapter is not None:
            self._reader = answer_adapter.reader(self._reader)
        self._reader.marks = False
        is_home = codec is self._target and answer_adapter is None
        self._rewriter = None if is_home else StreamRewriter(source, self._target)
        self._first = max(self._blocks, default=-1) + 1
        open = [index for index, block in self._blocks.items() if block is None]
        self._open = open[0] if open else None
        """The block of text that was open when the stream before this one broke off."""
        self._cut: tuple[int, int] | None = None
        """The block of this stream that repeats the seam, and with how many characters."""
        self._merged: int | None = None
        """The block of this stream that goes on with the one that was open, at `_at`."""
        self._at = 0
        self._hidden: set[int] = set()
        self._starts: dict[int, Event] = {}
        """Blocks of text that have no text yet."""

    # One stream

    def feed(self, data: bytes) -> bytes:
        out: list[bytes] = []
        for frame in self._decoder.feed(data):
            self._convert(self._reader.feed(frame), out)
        return b"".join(out)

    def close(self) -> bytes:
        """The stream has ended; `broke` is set if that was too early."""
        out: list[bytes] = []
        for frame in self._decoder.close():
            self._convert(self._reader.feed(frame), out)
        return b"".join(out) + self.end(getattr(self._decoder, "is_cut", False))

    def end(self, is_cut: bool = True) -> bytes:
        """The same where the rest in the decoder cannot be trusted. A stop reason does not prove
        then that no further call was to come: some hosts give it after each of several."""
        out: list[bytes] = []
        may_go_on = self._ends_with_connection or any(type(e) is ToolUseStart for e in self._held)
        if is_cut and self.broke is None and may_go_on:
            self.broke = ProviderError(ErrorKind.NETWORK, BROKEN_OFF)
        events = list(self._reader.close()) if self.broke is None else []
        failures = [event.error for event in events if isinstance(event, StreamError)]
        if failures:
            self.broke = failures[0]
        else:
            self._convert(events, out)
            if self.broke is None:
                out.extend(map(self._encode, self._writer.close()))
                self._count()
        return b"".join(out)

    def give_up(self, error: ProviderError) -> bytes:
        """The end of an answer that does not go on."""
        self._held.clear()
        event = self._watch(StreamError(error, self._client.message()))
        frames = [] if event is None else self._writer.feed(event)
        self._count()
        return b"".join(map(self._encode, (*frames, *self._writer.close())))

    def _count(self) -> None:
        if self._rewriter is None:
            self.report.extend(self._writer.report)
        else:
            self._rewriter.written(self._writer.report)
            self.report.extend(self._rewriter.report)

    # The next stream

    def message(self) -> Message:
        """All that the client has."""
        return self._client.message()

    def sent(self) -> Sent | None:
        """What the client has; None if the answer cannot go on: it was over, there are several, or
        there is more in it than text and thinking."""
        if self._has_stop or not self._is_plain:
            return None
        message = self._client.message()
        if not all(isinstance(block, _REPEATABLE) for block in message.content):
            return None
        texts = [block.text for block in message.content if isinstance(block, TextBlock)]
        return Sent(tuple(texts), None in self._blocks.values())

    def cut_call(self) -> CutCall | None:
        """The call whose arguments broke off, if it can be completed."""
        return cut_call(self._held)

    def complete(
        self, source: str, seam: CallSeam, answer_adapter: AnswerAdapter | None = None
    ) -> None:
        """From here on, bytes are those of an attempt that completes a call."""
        self.go_on(source, ("",), "", answer_adapter)
        self._call, self._first = seam, max(self._first, seam.call.start.index + 1)

    def go_on(
        self,
        source: str,
        starts: tuple[str, ...],
        again: str = "",
        answer_adapter: AnswerAdapter | None = None,
    ) -> None:
        """From here on, bytes are those of another attempt, whose text begins with one of `starts`,
        and not with `again`."""
        self._earlier = self._usage
        self._held.clear()
        self._waiting.clear()
        self._until_end, self.broke, self._call = False, None, None
        self._begin(source, answer_adapter)
        self._seam = _Seam(starts, again, self._open is not None)

    # Events

    def _convert(self, events: Iterable[Event], out: list[bytes]) -> None:
        for event in events:
            if isinstance(event, StreamError):
                self.broke = event.error
            if self.broke is not None:
                return
            if isinstance(event, BlockStart) and not isinstance(event.block, _REPEATABLE):
                self._is_plain = False
            seen = event if type(event) in PIECES else self._watch(event)
            if seen is None:
                continue
            for rewritten in [seen] if self._rewriter is None else self._rewriter.feed(seen):
                joined = [rewritten] if self._seam is None else self._join(rewritten, self._seam)
                for each in joined:
                    self._put(each, out)

    def _join(self, event: Event, seam: _Seam) -> list[Event]:
        """An event of a later stream as part of the whole answer."""
        if event.choice:
            return []  # an answer that was not asked for
        if self._call is not None:
            return self._join_call(event, self._call)
        match event:
            case MessageStart() | Other():
                return []
            case UsageUpdate() if not seam.is_proved:
                return []  # there will be another
            case UsageUpdate():
                return [event.replace(usage=add_usage(self._earlier, event.usage))]
            case Stop() | MessageComplete():
                seam.other()
                ends = self._closed()
                return [*ends, event if isinstance(event, Stop) else self._whole(event, ends)]
        index: int = event.index  # type: ignore[union-attr]  # all others have one
        if isinstance(event, BlockStart) and isinstance(event.block, _HIDDEN) and self._blocks:
            self._hidden.add(index)  # its thoughts on how to go on
        if index in self._hidden:
            return []
        if isinstance(event, BlockStart) and isinstance(event.block, TextBlock):
            self._starts[index] = event.replace(index=self._first + index)
            return []
        if isinstance(event, TextDelta):
            return self._join_text(event, seam)
        if index in self._starts or index == self._merged:
            return self._join_rest(event, seam)
        seam.other()
        if isinstance(event, BlockEnd) and self._cut is not None and self._cut[0] == index:
            block = event.block
            assert isinstance(block, TextBlock)
            event = event.replace(block=block.replace(text=block.text[self._cut[1] :]))
        return [*self._closed(), event.replace(index=self._first + index)]

    def _join_call(self, event: Event, seam: CallSeam) -> list[Event]:
        """An event of a stream that completes a call."""
        match event:
            case UsageUpdate():
                return [event.replace(usage=add_usage(self._earlier, event.usage))]
            case TextDelta():
                seam.add(event.text)
            case Stop():
                if event.stop_reason not in _ENDED:
                    raise SeamError
                stop = event.replace(stop_reason=StopReason.TOOL_USE, raw_stop_reason=None)
                return [*self._completed(seam), stop]
            case MessageComplete():
                return [self._whole(event, self._completed(seam))]
            case ToolUseStart():
                seam.others.add(event.index)
                return [*self._completed(seam), event.replace(index=self._first + event.index)]
            case ToolUseInputDelta() | ToolUseEnd() if event.index in seam.others:
                return [event.replace(index=self._first + event.index)]
            case BlockStart() if not isinstance(event.block, _REPEATABLE):
                raise SeamError
        return []

    def _completed(self, seam: CallSeam) -> list[Event]:
        """The whole call, once."""
        if seam.is_joined:
            return []
        (text, input), start = seam.arguments(), seam.call.start
        seam.is_joined = True
        end = ToolUseEnd(start.index, input, raw_arguments=text)
        return [*self._closed(), start, ToolUseInputDelta(start.index, text), end]

    def _join_text(self, event: TextDelta, seam: _Seam) -> list[Event]:
        """Text that goes on in the block that is open, or begins one of its own."""
        was_proved, index = seam.is_proved, event.index
        text = seam.text(event.text)
        if seam.is_proved and not was_proved:
            self._cut = (index, seam.length)
        if not text:
            return []
        if self._merged is None and self._open is not None:
            self._merged, self._at = index, self._open
        if index == self._merged:
            self._starts.pop(index, None)
            return [event.replace(index=self._at, text=text)]
        start = self._starts.pop(index, None)
        starts = [] if start is None else [*self._closed(), start]
        return [*starts, event.replace(index=self._first + index, text=text)]

    def _join_rest(self, event: Event, seam: _Seam) -> list[Event]:
        """Other events of a text block: it has no text yet, or continues in another block."""
        index: int = event.index  # type: ignore[union-attr]  # as above
        if not isinstance(event, BlockEnd):
            return [event.replace(index=self._at)] if index == self._merged else []
        rest: list[Any] = []
        if not seam.is_proved:
            seam.settle()
            rest = self._join_text(TextDelta(index, ""), seam)
        if not seam.is_proved:
            raise SeamError
        if index == self._merged:
            return [*rest, *self._closed("".join([each.text for each in rest]))]
        if rest:
            return [*rest, *self._join(event, seam)]
        self._starts.pop(index, None)
        return []

    def _closed(self, rest: str = "") -> list[Event]:
        """The end of the text that was open when the stream broke off, after the rest of it."""
        at, self._open = self._open, None
        if at is None:
            return []
        content = self._client.message().content
        block = content[sorted(self._blocks).index(at)]
        if rest and isinstance(block, TextBlock):
            block = block.replace(text=block.text + rest)
        self._blocks[at] = block
        return [BlockEnd(at, block)]

    def _whole(self, event: MessageComplete, ends: list[Event]) -> MessageComplete:
        """The end, with all that the client has got and is about to get."""
        for each in (*self._held, *ends):
            self._client.feed(each)
        start, response = self._client.message(), event.response
        metadata = response.message.metadata
        metadata = metadata.replace(
            response_id=start.metadata.response_id or metadata.response_id,
            usage=add_usage(self._earlier, metadata.usage),
            provider_raw=None,
        )
        if self._call is not None:
            metadata = metadata.replace(stop_reason=StopReason.TOOL_USE, raw_stop_reason=None)
        message = response.message.replace(content=start.content, metadata=metadata)
        self.joined = Response(message)
        return event.replace(response=self.joined)

    # What is passed on at once, and what is held back

    def _put(self, event: Event, out: list[bytes]) -> None:
        if event.choice:
            self._is_plain = False
        if isinstance(event, BlockStart) and not isinstance(event.block, TextBlock):
            self._waiting.add(event.index)
        elif isinstance(event, ToolUseStart | Stop):
            self._until_end = True
            self._has_stop = self._has_stop or isinstance(event, Stop)
        self._held.append(event)
        if isinstance(event, BlockEnd):
            self._waiting.discard(event.index)
        elif isinstance(event, MessageComplete):
            self._until_end = False
            self._waiting.clear()
        if not self._until_end and not self._waiting:
            held, self._held = self._held, []
            for each in held:
                self._note(each)
                out.extend(map(self._encode, self._writer.feed(each)))

    def _note(self, event: Event) -> None:
        if self.joined is None:
            self._client.feed(event)
        if isinstance(event, BlockEnd):
            self._blocks[event.index] = event.block
        elif isinstance(event, BlockStart | TextDelta | ThinkingDelta | BlockDelta):
            self._blocks.setdefault(event.index, None)
        elif isinstance(event, UsageUpdate):
            self._usage = event.usage
