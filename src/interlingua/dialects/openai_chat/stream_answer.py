"""The answer of a stream, so far. It is put together as the wire would have it whole, and read as
such, so that both ways give the same value."""

from __future__ import annotations

from interlingua.dialects.base import Wire
from interlingua.dialects.openai_chat.response import read_answer
from interlingua.dialects.openai_chat.stream_choice import Choice
from interlingua.dialects.openai_chat.stream_frames import CHUNK, PADS
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.streaming import failed, without_reason
from interlingua.errors import ReadError
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic

_APART = frozenset({"id", "object", "choices", "usage", "error", *PADS})
_OBJECTS = {CHUNK: "chat.completion", "chat.completion.done": "chat.completion"}

GROQ = "x_groq"
"""The key under which Groq says what is its own; in a stream usage stands there too (SDK 1.7.0)."""

NO_DONE = Diagnostic("stream_end_missing", "no [DONE] after the last finish_reason")


class Answer:
    """All that the chunks have said."""

    def __init__(self, t: Tables) -> None:
        self.t = t
        self.choices: dict[int, Choice] = {}
        self.usage: Wire | None = None
        self._id: str | None = None
        self._top: Wire = {}

    def merge(self, chunk: Wire) -> None:
        if type(chunk.get("id")) is str:
            self._id = self._id or chunk["id"] or None
        kind = chunk.get("object")
        if kind:
            self._top["object"] = _OBJECTS.get(kind, kind) if type(kind) is str else kind
        for key, value in chunk.items():
            if key == GROQ and type(value) is dict:
                value = {name: item for name, item in value.items() if name != "usage"}
            if key not in _APART and (key not in self._top or value not in (None, "", {})):
                self._top[key] = value

    def choice(self, number: int) -> Choice:
        choice = self.choices[number] = Choice(number, self.t, self._id or number)
        return choice

    def response(self) -> Response:
        wire = dict(self._top)
        if self._id is not None:
            wire["id"] = self._id
        if self.usage is not None:
            wire["usage"] = self.usage
        wire["choices"] = [choice.wire() for _, choice in sorted(self.choices.items())]
        return read_answer(wire, self.t)

    def ended(self, has_done: bool) -> Response:
        """The answer, with what is odd about its end."""
        response = self.response()
        if has_done and self.has_stopped():
            return response
        messages = [response.message, *response.alternatives]
        words = [choice.word for _, choice in sorted(self.choices.items())]
        for number, (message, word) in enumerate(zip(messages, words, strict=True)):
            metadata = message.metadata
            if word is None:
                metadata = without_reason(metadata)
            elif not has_done:
                metadata = metadata.replace(diagnostics=(*metadata.diagnostics, NO_DONE))
            messages[number] = message.replace(metadata=metadata)
        return response.replace(message=messages[0], alternatives=tuple(messages[1:]))

    def partial(self, error: ProviderError) -> Message | None:
        """What there is of it when the stream fails."""
        if not self.choices:
            return None
        try:
            message = self.response().message
        except ReadError:  # which whoever feeds the stream was told
            message = Message(Role.ASSISTANT, self.choices[min(self.choices)].blocks())
        return failed(message, error)

    def has_stopped(self) -> bool:
        """Whether every choice has told why it ended."""
        return bool(self.choices) and all(each.word is not None for each in self.choices.values())

    def is_void(self) -> bool:
        """Whether nothing at all was said, nor why."""
        return not any(each.word is not None or each.blocks() for each in self.choices.values())

    def is_whole(self) -> bool:
        """Whether all has ended at a host that repeats the message all along."""
        return self.has_stopped() and all(each.is_snapshot for each in self.choices.values())
