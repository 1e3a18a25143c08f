"""Writing a stream that came from elsewhere.

What can be said in pieces is said as it comes. All else, the reason for the end and usage are said
at the end, as a whole response says them, and losses are counted there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Scribe, Wire, encode, kept
from interlingua.dialects.openai_chat.errors import write_failure
from interlingua.dialects.openai_chat.messages import write_assistant
from interlingua.dialects.openai_chat.response import write_answer
from interlingua.dialects.openai_chat.stream_frames import CHUNK, DONE, say
from interlingua.dialects.openai_chat.stream_voice import Voice
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.streaming import FAILED
from interlingua.losses import Report
from interlingua.model.blocks import TextBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    FrameMark,
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
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.frames import Frame

_JOINED = "joined with the text before it"
_NO_PARTS = "a stream says text without parts"
_ONE_MESSAGE = "a stream has one message"


class Abroad:
    """Events in, frames out."""

    def __init__(self, t: Tables, report: Report, mark: FrameMark | None) -> None:
        self._t = t
        self._report = report
        self._by = next(iter(mark.rest)) if mark is not None and mark.rest else t.name
        self._head: Wire = {}
        self._voices: dict[int, Voice] = {}
        self._is_over = False
        self.steps: dict[type, Callable[[Any], list[Frame]]] = {
            MessageStart: self._start,
            BlockStart: self._block,
            ToolUseStart: self._call,
            TextDelta: self._piece,
            ThinkingDelta: self._piece,
            ToolUseInputDelta: self._piece,
            BlockDelta: self._block,
            BlockEnd: self._block,
            ToolUseEnd: self._end_call,
            Stop: self._nothing,
            UsageUpdate: self._nothing,
            Other: self._nothing,
            MessageComplete: self._complete,
            StreamError: self._fail,
        }

    def close(self) -> list[Frame]:
        return []

    def _nothing(self, event: Event) -> list[Frame]:
        return []

    def _piece(self, event: TextDelta | ThinkingDelta | ToolUseInputDelta) -> list[Frame]:
        voice = self._voices.get(event.choice)
        said = voice.said.get(event.index) if voice is not None else None
        if said is not None and (cuts := said.cuts) is not None and (text := event.text):
            said.length += len(text)
            return [say(cuts, text)]
        return [] if type(event) is ToolUseInputDelta else self._block(event)

    # -- blocks -----------------------------------------------------------------------------------

    def _block(self, event: Any) -> list[Frame]:
        if self._is_over:
            return []
        voice, begun = self._voice(event.choice)
        return [*begun, *voice.block(event)]

    def _call(self, event: ToolUseStart) -> list[Frame]:
        if self._is_over:
            return []
        voice, begun = self._voice(event.choice)
        return [*begun, *voice.call(event)]

    def _end_call(self, event: ToolUseEnd) -> list[Frame]:
        voice = self._voices.get(event.choice)
        return [] if self._is_over or voice is None else voice.end_call(event)

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Frame]:
        if self._is_over:
            if event.choice == 0:
                self._report.add("dropped", "$", _ONE_MESSAGE)
            return []
        return self._voice(event.choice, event.model, event.response_id)[1]

    def _voice(
        self, number: int, model: str | None = None, id: str | None = None
    ) -> tuple[Voice, list[Frame]]:
        """A choice, and what has to be said if it begins."""
        voice = self._voices.get(number)
        if voice is not None:
            return voice, []
        if not self._head:
            self._head = {**self._t.fillers, "object": CHUNK}
            self._head.update({"id": id} if id is not None else {})
            self._head.update({"model": model} if model is not None else {})
        voice = self._voices[number] = Voice(number, self._t, self._head, self._by)
        return voice, [voice.frame({"role": "assistant", "content": ""})]

    def _complete(self, event: MessageComplete) -> list[Frame]:
        if self._is_over:
            return []
        response = event.response
        told = response.message.metadata
        frames: list[Frame] = []
        if not self._voices:
            frames += self._start(MessageStart(told.response_model, told.response_id))
        for voice in self._voices.values():
            frames += voice.flush()
        scribe = Scribe(self._t.name, response, self._report)
        wire = write_answer(response, self._t, scribe)
        usage, choices = wire.pop("usage", None), wire.pop("choices")
        self._head.update({**wire, "object": CHUNK})
        messages = (response.message, *response.alternatives)
        numbers = sorted(self._voices)
        for position, (message, choice) in enumerate(zip(messages, choices, strict=False)):
            number = numbers[position] if position < len(numbers) else position
            voice, begun = self._voice(number)
            frames += [*begun, *voice.finish(choice)]
            self._report_parts(message, choice.get("message"), scribe)
        if usage is not None:
            frames.append(_frame({**self._head, "choices": [], "usage": usage}))
        self._is_over = True
        return [*frames, Frame(None, DONE)]

    def _report_parts(self, message: Message, said: Any, scribe: Scribe) -> None:
        """What a whole message says and a stream does not: where a text in parts is cut."""
        if type(said) is not dict or type(said.get("content")) is not list:
            return
        texts = [block for block in message.content if type(block) is TextBlock]
        for block in texts[1:]:
            scribe.lost(block, None, _JOINED, "approximated", "info")
        for block in texts:
            for key in kept(self._t.name, block.raw):
                scribe.lost(block, f"raw.{self._t.name}.{key}", _NO_PARTS)

    def _fail(self, event: StreamError) -> list[Frame]:
        """What was said before is no loss; what was to be said at the end is said now."""
        if self._is_over:
            return []
        self._is_over = True
        error, partial, t = event.error, event.partial, self._t
        frames = [frame for voice in self._voices.values() for frame in voice.flush()]
        voice = self._voices[min(self._voices)] if self._voices else None
        scribe = Scribe(t.name, Response(partial or FAILED, error=error), self._report)
        blank = FAILED
        if partial is not None:
            usage = MessageMetadata(usage=partial.metadata.usage)
            blank = partial.replace(content=(), metadata=usage)
            scribe.also_known(blank, partial)
            message = write_assistant(partial, t, scribe)
            frames += voice.rest(message) if voice is not None else []
        wire = write_failure(Response(blank, error=error), error, t, scribe)
        if voice is None or not t.status_codes:
            return [*frames, _frame(wire)]
        chunk = voice.chunk({"content": ""}, finish_reason="error")
        return [*frames, _frame({**chunk, **wire}), Frame(None, DONE)]


def _frame(wire: Wire) -> Frame:
    return Frame(None, encode(wire).decode())
