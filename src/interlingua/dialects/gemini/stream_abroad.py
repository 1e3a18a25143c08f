"""Writing a stream that came from elsewhere: as this wire wants it.

Texts go out piece by piece, everything else as soon as it is whole. A signature follows its text as
an empty piece. Where two texts of one kind are neighbours, an empty piece stands before the second
in the same frame, so that they stay two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.failures import write_failure
from interlingua.dialects.gemini.response import write_response
from interlingua.dialects.gemini.stream_frames import MODEL_VERSION, RESPONSE_ID, spell_frame
from interlingua.dialects.gemini.stream_said import QUIET
from interlingua.dialects.gemini.stream_voice import Voice
from interlingua.dialects.gemini.tables import MODEL, NAME
from interlingua.dialects.streaming import beside_error
from interlingua.losses import Report
from interlingua.model.blocks import TextBlock, ThinkingBlock
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
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_NOTHING: Wire = {"role": MODEL, "parts": [{"text": ""}]}
"""The content of a frame that only ends a candidate."""
_END = "STOP"
_BLOCKED = "BLOCKED_REASON_UNSPECIFIED"
"""Without a reason a stream that has no answer would seem to be cut."""
_NO_REASON = "a stream ends with a reason, and none is known"
_BLANK = "a text that says nothing is no block of a stream"
_NO_TURN = "the stream broke off before it was whole, or its turn came"


class Abroad:
    """Events in, frames out. Each answer has a voice, and says one block after the other; usage,
    citations and reasons to stop are said at the end, and losses are counted there."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._begin_anew()
        self._failed = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = {
            MessageStart: self._start,
            BlockStart: self._block,
            ToolUseStart: self._block,
            TextDelta: self._piece,
            ThinkingDelta: self._piece,
            ToolUseInputDelta: self._nothing,
            BlockDelta: self._block,
            BlockEnd: self._block,
            ToolUseEnd: self._block,
            Stop: self._nothing,
            UsageUpdate: self._nothing,
            Other: self._nothing,
            MessageComplete: self._complete,
            StreamError: self._fail,
        }

    def _begin_anew(self) -> None:
        self._about: Wire = {}
        self._voices: dict[int, Voice] = {}

    def close(self) -> list[Frame]:
        return []

    def _nothing(self, event: Event) -> list[Frame]:
        return []

    def _start(self, event: MessageStart) -> list[Frame]:
        if event.choice == 0 and not self._voices:
            told = {MODEL_VERSION: event.model, RESPONSE_ID: event.response_id}
            self._about = {key: item for key, item in told.items() if item is not None}
        return []

    def _voice(self, choice: int) -> Voice:
        voice = self._voices.get(choice)
        if voice is None:
            voice = self._voices[choice] = Voice(choice, self._about)
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
        scribe = Scribe(NAME, response, self._report)
        wire = write_response(response, scribe)
        messages = (response.message, *response.alternatives)
        blanks = [block for each in messages for block in each.content if _is_blank(block)]
        if blanks:
            wire = write_response(_without_blanks(response), QUIET)
        for block in blanks:
            scribe.lost(block, None, _BLANK, severity="info")
        body = wire[0] if type(wire) is list else wire
        candidates = body.get("candidates")
        if not candidates:
            body["promptFeedback"] = {"blockReason": _BLOCKED, **(body.get("promptFeedback") or {})}
        for choice, candidate in enumerate(candidates or ()):
            self._end(choice, candidate, messages[choice], scribe)
        frames.append(spell_frame({**self._about, **body}))
        self._begin_anew()
        return frames

    def _end(self, choice: int, candidate: Wire, message: Message, scribe: Scribe) -> None:
        """What is left to say of a candidate: all of it, if nothing was."""
        content = candidate.get("content")
        if choice in self._voices or not content or not content.get("parts"):
            candidate["content"] = {**(content or {}), **_NOTHING}
        if candidate.get("finishReason") is None:
            candidate["finishReason"] = _END
            reason = "metadata.stop_reason"
            scribe.lost(message, reason, _NO_REASON, kind="approximated")

    def _fail(self, event: StreamError) -> list[Frame]:
        if self._failed:
            return []
        self._failed = True
        error = event.error
        blank, scribe = beside_error(event, NAME, self._report)
        if event.partial is not None:
            self._voice(0).report_partial(event.partial, scribe, _NO_TURN)
        self._begin_anew()
        return [spell_frame(write_failure(Response(blank, error=error), error, scribe))]


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
