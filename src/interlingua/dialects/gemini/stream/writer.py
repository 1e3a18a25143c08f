"""Writing a stream that came from elsewhere: as this wire wants it.

Texts go out piece by piece, everything else as soon as it is whole. A signature follows its text as
an empty piece. Where two texts of one kind are neighbours, an empty piece stands before the second
in the same frame, so that they stay two."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini.errors import write_failure
from interlingua.dialects.gemini.messages import WRITERS
from interlingua.dialects.gemini.response import write_response
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.gemini.text import Turn
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.kept import kept
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_writer import (
    KINDS,
    PIECE,
    OpenBlock,
    beside_error,
    encode_text,
    spell,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.losses import Report
from interlingua.model import events as ev
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_BLANK = "a text that says nothing is no block of a stream"
_QUIET = quiet(NAME)
_NOTHING: Wire = {"role": MODEL, "parts": [{"text": ""}]}
"""The content of a frame that only ends a candidate."""
_END = "STOP"
_BLOCKED = "BLOCKED_REASON_UNSPECIFIED"
"""Without a reason a stream that has no answer would seem to be cut."""


class _Abroad(stream_writer.Abroad):
    """Events in, frames out. Each answer has a voice, and says one block after the other; usage,
    citations and reasons to stop are said at the end, and losses are counted there."""

    def __init__(self, name: str, report: Report) -> None:
        super().__init__(name, report)
        self._begin_anew()
        self.steps[ev.ToolUseInputDelta] = self._nothing

    def _begin_anew(self) -> None:
        self._about: Wire = {}
        self._voices: dict[int, _Voice] = {}

    def _start(self, event: ev.MessageStart) -> list[Frame]:
        if event.choice == 0 and not self._voices:
            told = {"modelVersion": event.model, "responseId": event.response_id}
            self._about = {key: item for key, item in told.items() if item is not None}
        return []

    def _voice(self, choice: int) -> _Voice:
        voice = self._voices.get(choice)
        if voice is None:
            voice = self._voices[choice] = _Voice(choice, self._about)
        return voice

    def _piece(self, event: ev.TextDelta | ev.ThinkingDelta) -> list[Frame]:
        voice, text = self._voices.get(event.choice), event.text
        said = None if voice is None else voice._current
        if said is None or said.index != event.index or said.cuts is None or not text:
            return self._block(event)
        said.length += len(text)
        return [tuple.__new__(Frame, (None, encode_text(text).decode().join(said.cuts)))]

    def _block(self, event: Any) -> list[Frame]:
        """Whatever concerns a block."""
        return [] if self._failed else self._voice(event.choice).hear(event)

    # -- the end ----------------------------------------------------------------------------------

    def _complete(self, event: ev.MessageComplete) -> list[Frame]:
        if self._failed:
            return []
        frames = [frame for voice in self._voices.values() for frame in voice.close_all()]
        response = event.response
        recorder = LossRecorder(NAME, response, self._report)
        wire = write_response(response, recorder)
        if blanks := _blanks_of(response):
            wire = write_response(_without_blanks(response), _QUIET)
        for block in blanks:
            recorder.lost(block, None, _BLANK, severity="info")
        body = wire[0] if type(wire) is list else wire
        if not body.get("candidates"):
            body["promptFeedback"] = {"blockReason": _BLOCKED, **(body.get("promptFeedback") or {})}
        messages = (response.message, *response.alternatives)
        for choice, candidate in enumerate(body.get("candidates") or ()):
            self._end(choice, candidate, messages[choice], recorder)
        frames.append(spell(None, {**self._about, **body}))
        self._begin_anew()
        return frames

    def _end(self, choice: int, candidate: Wire, message: Message, recorder: LossRecorder) -> None:
        """What is left to say of a candidate: all of it, if nothing was."""
        content = candidate.get("content")
        if choice in self._voices or not content or not content.get("parts"):
            candidate["content"] = {**(content or {}), **_NOTHING}
        if candidate.get("finishReason") is None:
            candidate["finishReason"] = _END
            reason = "a stream ends with a reason, and none is known"
            recorder.lost(message, "metadata.stop_reason", reason, kind="approximated")

    def _fail(self, event: ev.StreamError) -> list[Frame]:
        if self._failed:
            return []
        self._failed = True
        blank, recorder = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._voice(0).report_partial(event.partial, recorder)
        self._begin_anew()
        failure = Response(blank, error=event.error)
        return [spell(None, write_failure(failure, event.error, recorder))]


def _blanks_of(response: Response) -> list[Block]:
    """Texts that say nothing, which open no block of a stream."""
    messages = (response.message, *response.alternatives)
    return [block for each in messages for block in each.content if _is_blank(block)]


def _without_blanks(response: Response) -> Response:
    message, *others = [
        each.replace(content=tuple([block for block in each.content if not _is_blank(block)]))
        for each in (response.message, *response.alternatives)
    ]
    return response.replace(message=message, alternatives=tuple(others))


def _is_blank(block: Any) -> bool:
    is_text = type(block) is TextBlock or type(block) is ThinkingBlock
    return is_text and not block.text and not block.signature


# -- one answer -----------------------------------------------------------------------------------

_EMPTY: tuple[Wire, ...] = ({"text": ""}, {"text": "", "thought": True})
"""An empty piece of each kind of block that is told in pieces."""


class _Voice(stream_writer.Voice[OpenBlock]):
    def __init__(self, choice: int, about: Wire) -> None:
        super().__init__()
        self._choice = choice
        self._about = about
        self._last: Wire | None = None
        """The text that was said last, as an empty piece."""
        self._told: set[int] = set()
        self._turn = Turn(_QUIET, model=True, cites=True)

    def _open(self, index: int, block: Any) -> list[Frame]:
        kind = None if kept(NAME, block.raw) else KINDS.get(type(block))
        said = self._current = OpenBlock(index, kind)
        return [] if kind is None else self._say(said, block.text)

    def _first(self, said: OpenBlock, text: str) -> list[Frame]:
        """It may have to be kept apart from the text before."""
        if said.kind is None:
            return []
        said.length += len(text)
        empty = _EMPTY[said.kind]
        said.spell_as(None, self._wire({**empty, "text": PIECE}))
        frame = self._whole(said, {**empty, "text": text}, self._last == empty)
        self._last = empty
        return [frame]

    def _end(self, said: OpenBlock, block: Block) -> list[Frame]:
        """What was not said in pieces, and the end."""
        part = WRITERS[type(block)](block, self._turn)
        frames: list[Frame] = []
        if part is not None and said.kind is None:
            kind = KINDS.get(type(block))
            frames = [self._whole(said, part, kind is not None and self._last == _EMPTY[kind])]
            self._last = None
        elif part is not None and said.kind is not None:
            frames = self._say(said, (part.get("text") or "")[said.length :])
            if signature := part.get("thoughtSignature"):
                empty = _EMPTY[said.kind]
                apart = said.cuts is None and self._last == empty
                frames.append(self._whole(said, {**empty, "thoughtSignature": signature}, apart))
                self._last = None
        return [*frames, *self._close(said)]

    def _whole(self, said: OpenBlock, part: Wire, apart: bool) -> Frame:
        """A frame of one part, and an empty one before it where it has to be kept apart."""
        self._told.add(said.index)
        return spell(None, self._wire(*[self._last or {}] if apart else [], part))

    def _wire(self, *parts: Wire) -> Wire:
        content = {"role": MODEL, "parts": list(parts)}
        return {"candidates": [{"content": content, "index": self._choice}], **self._about}

    def _untold(self) -> set[int]:
        return self._seen - self._told

    def report_partial(self, partial: Message, recorder: LossRecorder) -> None:
        """What was said before a stream broke off is no loss, all else is."""
        turn = Turn(recorder, model=True, cites=True)
        for block, was_told in self._with_turns(partial):
            if was_told:
                WRITERS[type(block)](block, turn)
            else:
                reason = "the stream broke off before it was whole, or its turn came"
                recorder.dropped(block, reason)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of `streamGenerateContent`."""

    name = NAME
    way = _Abroad
