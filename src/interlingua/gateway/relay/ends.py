"""How a stream says that it has come to its end, in each dialect. Only frames that may say so are
looked into, and of those only the members that do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.model.exchange import ErrorKind, ProviderError

BROKEN_OFF = ProviderError(ErrorKind.NETWORK, "the stream ended before the message did")
MARKS: dict[str, tuple[bytes, ...]] = {
    "anthropic": (b"message_stop",),
    "openai-chat": (b'"finish_reason":"', b'"finish_reason": "', b"[DONE]"),
    "openai-responses": (b"response.completed", b"response.incomplete", b"response.failed"),
    "gemini": (b"finishReason", b"finish_reason", b"lockReason", b"lock_reason"),
    "ollama": (b'"done":true', b'"done": true'),
}
"""What is in a frame that may be the last one."""


class _Named(msgspec.Struct):
    type: str = ""


class _Choice(msgspec.Struct):
    index: int = 0
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []


class _Candidate(msgspec.Struct):
    index: int = 0
    finish_reason: str | None = None
    camel: str | None = msgspec.field(default=None, name="finishReason")


class _Candidates(msgspec.Struct):
    candidates: list[_Candidate] = []
    feedback: Any = msgspec.field(default=None, name="promptFeedback")
    prompt_feedback: Any = None
    usage: Any = msgspec.field(default=None, name="usageMetadata")
    usage_metadata: Any = None


class _Line(msgspec.Struct):
    done: bool = False


_named = msgspec.json.Decoder(_Named).decode
_chunk = msgspec.json.Decoder(_Chunk).decode
_candidates = msgspec.json.Decoder(_Candidates).decode
_line = msgspec.json.Decoder(_Line).decode
_LAST_EVENTS = frozenset(
    {"message_stop", "response.completed", "response.incomplete", "response.failed"}
)


class End:
    """Whether a stream with so many answers has come to its end. Dialects that are not known here
    are taken to be at their end always."""

    def __init__(self, dialect: str, answers: int = 1) -> None:
        self.is_reached = dialect not in MARKS
        """Whether the answer is whole: if nothing more comes, nothing is missing."""
        self.is_last = False
        """Whether nothing more is to come."""
        self.marks = MARKS.get(dialect, ())
        self._answers = answers
        self._seen: dict[int, bool] = {}
        self._look = _LOOKS.get(dialect, End._at_name)

    def look(self, data: str) -> None:
        """The data of one frame."""
        try:
            self._look(self, data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return  # what we cannot read is the client's business

    def _reach(self, last: bool = True) -> None:
        self.is_reached = True
        self.is_last = self.is_last or last

    def _at_name(self, data: str) -> None:
        if _named(data).type in _LAST_EVENTS:
            self._reach()

    def _at_choices(self, data: str) -> None:
        if data.strip() == "[DONE]":
            self._reach()
            return
        for choice in _chunk(data).choices:
            if choice.finish_reason is not None:
                self._seen[choice.index] = True
        if len(self._seen) >= self._answers:
            self._reach(last=False)  # its usage comes after it

    def _at_candidates(self, data: str) -> None:
        said = _candidates(data)
        for each in said.candidates:
            ended = each.finish_reason is not None or each.camel is not None
            self._seen[each.index] = ended or self._seen.get(each.index, False)
        blocked = not self._seen and (said.feedback or said.prompt_feedback)
        if blocked or (self._seen and all(self._seen.values())):
            self._reach(last=(said.usage or said.usage_metadata) is not None)

    def _at_line(self, data: str) -> None:
        if _line(data).done:
            self._reach()


_LOOKS: dict[str, Callable[[End, str], None]] = {
    "openai-chat": End._at_choices,
    "gemini": End._at_candidates,
    "ollama": End._at_line,
}
