"""Writing a stream that came from elsewhere: as this wire wants it.

Texts go out piece by piece, everything else as soon as it is whole. A signature follows its text as
an empty piece. Where two texts of one kind are neighbours, an empty piece stands before the second
in the same frame, so that they stay two."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.gemini.errors import write_failure
from interlingua.dialects.gemini.messages import WRITERS
from interlingua.dialects.gemini.response import write_response
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.gemini.text import Turn
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.kept import kept
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_reader import call_of
from interlingua.dialects.kernel.stream_writer import beside_error
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.losses import Report
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    MessageComplete,
    MessageStart,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_QUIET = quiet(NAME)
_NOTHING: Wire = {"role": MODEL, "parts": [{"text": ""}]}
"""The content of a frame that only ends a candidate."""
_END = "STOP"
_BLOCKED = "BLOCKED_REASON_UNSPECIFIED"
"""Without a reason a stream that has no answer would seem to be cut."""
_NO_REASON = "a stream ends with a reason, and none is known"
_BLANK = "a text that says nothing is no block of a stream"
_NO_TURN = "the stream broke off before it was whole, or its turn came"


def _spell_frame(wire: object) -> Frame:
    return Frame(None, encode(wire).decode())


class _Abroad(stream_writer.Abroad):
    """Events in, frames out. Each answer has a voice, and says one block after the other; usage,
    citations and reasons to stop are said at the end, and losses are counted there."""

    def __init__(self, name: str, report: Report) -> None:
        super().__init__(name, report)
        self._begin_anew()
        self.steps[ToolUseInputDelta] = self._nothing

    def _begin_anew(self) -> None:
        self._about: Wire = {}
        self._voices: dict[int, _Voice] = {}

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice == 0 and not self._voices:
            told = {"modelVersion": event.model, "responseId": event.response_id}
            self._about = {key: item for key, item in told.items() if item is not None}
        return []

    def _voice(self, choice: int) -> _Voice:
        voice = self._voices.get(choice)
        if voice is None:
            voice = self._voices[choice] = _Voice(choice, self._about)
        return voice

    def _piece(self, event: TextDelta | ThinkingDelta) -> list[Frame]:
        voice = self._voices.get(event.choice)
        if voice is None or voice.index != event.index or voice.head is None or not event.text:
            return self._block(event)
        voice.length += len(event.text)
        return [voice.say(event.text)]

    def _block(self, event: Any) -> list[Frame]:
        """Whatever concerns a block."""
        return [] if self._failed else self._voice(event.choice).hear(event)

    # -- the end ----------------------------------------------------------------------------------

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        frames = [frame for voice in self._voices.values() for frame in voice.finish()]
        response = event.response
        recorder = LossRecorder(NAME, response, self._report)
        wire = write_response(response, recorder)
        messages = (response.message, *response.alternatives)
        blanks = [block for each in messages for block in each.content if _is_blank(block)]
        if blanks:
            wire = write_response(_without_blanks(response), _QUIET)
        for block in blanks:
            recorder.lost(block, None, _BLANK, severity="info")
        body = wire[0] if type(wire) is list else wire
        candidates = body.get("candidates")
        if not candidates:
            body["promptFeedback"] = {"blockReason": _BLOCKED, **(body.get("promptFeedback") or {})}
        for choice, candidate in enumerate(candidates or ()):
            self._end(choice, candidate, messages[choice], recorder)
        frames.append(_spell_frame({**self._about, **body}))
        self._begin_anew()
        return frames

    def _end(self, choice: int, candidate: Wire, message: Message, recorder: LossRecorder) -> None:
        """What is left to say of a candidate: all of it, if nothing was."""
        content = candidate.get("content")
        if choice in self._voices or not content or not content.get("parts"):
            candidate["content"] = {**(content or {}), **_NOTHING}
        if candidate.get("finishReason") is None:
            candidate["finishReason"] = _END
            reason = "metadata.stop_reason"
            recorder.lost(message, reason, _NO_REASON, kind="approximated")

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        self._failed = True
        error = event.error
        blank, recorder = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._voice(0).report_partial(event.partial, recorder, _NO_TURN)
        self._begin_anew()
        return [_spell_frame(write_failure(Response(blank, error=error), error, recorder))]


def _is_blank(block: Any) -> bool:
    """Whether it is a text that says nothing, which opens no block of a stream."""
    kind = type(block)
    return (kind is TextBlock or kind is ThinkingBlock) and not block.text and not block.signature


def _without_blanks(response: Response) -> Response:
    message, *others = [
        each.replace(content=tuple([block for block in each.content if not _is_blank(block)]))
        for each in (response.message, *response.alternatives)
    ]
    return response.replace(message=message, alternatives=tuple(others))


# -- one answer -----------------------------------------------------------------------------------

_KINDS: dict[type[Block], Wire] = {
    TextBlock: {"text": ""},
    RefusalBlock: {"text": ""},
    ThinkingBlock: {"text": "", "thought": True},
}
"""Blocks that are told in pieces, and an empty piece of each. All others come whole."""

_encode_text = msgspec.json.Encoder().encode


class _Voice:
    """One block is open at a time; what others say meanwhile waits. `head` is how a piece of the
    open block begins, once one was said."""

    def __init__(self, choice: int, about: Wire) -> None:
        self.index: int | None = None
        self.head: str | None = None
        self.length = 0
        self._choice = choice
        self._about = about
        more = encode(about).decode()[1:-1]
        self._tail = f'}}],"role":"{MODEL}"}},"index":{choice}}}]{"," if more else ""}{more}}}'
        self._empty: Wire | None = None
        self._start: ToolUseStart | None = None
        self._last: Wire | None = None
        self._waiting: dict[int, list[Any]] = {}
        self._seen: set[int] = set()
        self._told: set[int] = set()
        self._turn = Turn(_QUIET, model=True, cites=True)

    # -- events -----------------------------------------------------------------------------------

    def hear(self, event: Any) -> list[Frame]:
        self._seen.add(event.index)
        if self.index is not None and self.index != event.index:
            self._waiting.setdefault(event.index, []).append(event)
            return []
        return [*self._tell(event), *self._go_on()]

    def finish(self) -> list[Frame]:
        """All that still waits; a block that nothing ended has said all it had to say."""
        frames: list[Frame] = []
        while self.index is not None:
            self._close()
            frames += self._go_on()
        return frames

    def _go_on(self) -> list[Frame]:
        frames: list[Frame] = []
        while self.index is None and self._waiting:
            for event in self._waiting.pop(min(self._waiting)):
                frames += self._tell(event)
        return frames

    def _tell(self, event: Any) -> list[Frame]:
        match event:
            case BlockStart():
                return self._open(event.index, event.block)
            case ToolUseStart():
                self._open(event.index, None)
                self._start = event
                return []
            case BlockEnd() if self.index is not None:
                return self._end(event.block)
            case ToolUseEnd() if self._start is not None:
                call = call_of(self._start, event)
                return self._end(call)
            case TextDelta() | ThinkingDelta() if self.index is None and event.text:
                blank = TextBlock("") if type(event) is TextDelta else ThinkingBlock("")
                return [*self._open(event.index, blank), *self._say(event.text)]
            case TextDelta() | ThinkingDelta():
                return self._say(event.text)
            case BlockDelta(field="text", value=str()):
                return self._say(event.value)
            case _:
                return []

    # -- blocks -----------------------------------------------------------------------------------

    def _open(self, index: int, block: Any) -> list[Frame]:
        self.index, self.length, self._start = index, 0, None
        kind = _KINDS.get(type(block))
        if kind is None or kept(NAME, block.raw):
            return []
        self._empty = kind
        return self._say(block.text)

    def _say(self, text: str) -> list[Frame]:
        """A piece of the open text. The first may have to be kept apart from the text before."""
        if self._empty is None or not text:
            return []
        self.length += len(text)
        if self.head is None:
            extra = encode({key: item for key, item in self._empty.items() if key != "text"})
            more = extra.decode()[1:-1]
            self.head = (
                f'{{"candidates":[{{"content":{{"parts":[{{{more}{"," if more else ""}"text":'
            )
            frame = self._frame({**self._empty, "text": text})
            self._last = self._empty
            return [frame]
        return [self.say(text)]

    def say(self, text: str) -> Frame:
        """The frame that there are most of, so it is made the fastest way."""
        data = f"{self.head}{_encode_text(text).decode()}{self._tail}"
        return tuple.__new__(Frame, (None, data))

    def _end(self, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        part = WRITERS[type(block)](block, self._turn)
        frames: list[Frame] = []
        empty = self._empty
        if part is not None and empty is None:
            frames.append(self._frame(part, follows=type(block) not in _KINDS))
            self._last = None
        elif part is not None and empty is not None:
            frames += self._say((part.get("text") or "")[self.length :])
            if part.get("thoughtSignature"):
                late = {**empty, "thoughtSignature": part["thoughtSignature"]}
                frames.append(self._frame(late, follows=self.head is not None))
                self._last = None
        self._close()
        return frames

    def _frame(self, part: Wire, follows: bool = False) -> Frame:
        """A frame of one part. `follows` says that it needs not be kept apart."""
        assert self.index is not None
        self._told.add(self.index)
        apart = self._last is not None and not follows and self._last == _kind_of(part)
        parts = [self._last, part] if apart else [part]
        candidate = {"content": {"role": MODEL, "parts": parts}, "index": self._choice}
        return _spell_frame({"candidates": [candidate], **self._about})

    def _close(self) -> None:
        self.index = self.head = self._empty = self._start = None

    # -- what was not said ------------------------------------------------------------------------

    def report_partial(self, partial: Message, recorder: LossRecorder, reason: str) -> None:
        """What was said before a stream broke off is no loss, all else is."""
        told = [index in self._told for index in sorted(self._seen)]
        if len(told) != len(partial.content):
            told = [True] * len(partial.content)
        turn = Turn(recorder, model=True, cites=True)
        for block, was_told in zip(partial.content, told, strict=True):
            if was_told:
                WRITERS[type(block)](block, turn)
            else:
                recorder.dropped(block, reason)


def _kind_of(part: Wire) -> Wire:
    """An empty piece of the kind of text that a part is."""
    return {key: item for key, item in {**part, "text": ""}.items() if key in ("text", "thought")}


class StreamWriter(stream_writer.StreamWriter):
    """One stream of `streamGenerateContent`."""

    name, way = NAME, _Abroad
