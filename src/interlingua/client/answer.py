"""What a call gives back: the response, and how it came about."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from interlingua.losses import Report
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, Response
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason, Usage

T = TypeVar("T")


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """One try. `kind` is None for the one that succeeded; `waited` are the seconds before it."""

    model: str
    kind: ErrorKind | None = None
    status: int | None = None
    request_id: str | None = None
    waited: float = 0.0


class Answer(msgspec.Struct, frozen=True, eq=False):
    """A whole answer. `report` lists what the request could not say in the provider's dialect,
    `attempts` every try that led here, the last one included."""

    response: Response
    report: Report
    model: str
    request_id: str | None = None
    latency_ms: int | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def message(self) -> Message:
        return self.response.message

    @property
    def text(self) -> str:
        return self.response.message.text

    @property
    def tool_calls(self) -> list[ToolUseBlock]:
        return self.response.message.tool_calls

    @property
    def usage(self) -> Usage | None:
        return self.response.message.metadata.usage

    @property
    def stop_reason(self) -> StopReason | None:
        return self.response.message.metadata.stop_reason


class Step(msgspec.Struct, frozen=True, eq=False):
    """One round of a tool loop: an answer, its calls, and their results in the same order. Calls
    that are the caller's to run have none."""

    answer: Answer
    calls: tuple[ToolUseBlock, ...] = ()
    results: tuple[ToolResultBlock, ...] = ()

    @property
    def usage(self) -> Usage | None:
        return self.answer.usage


class Run(msgspec.Struct, frozen=True, eq=False):
    """A whole tool loop. `messages` is the history with everything that was said, ready for the
    next call."""

    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    usage: Usage | None = None
    """Of all steps together; None where no step told any."""

    @property
    def answer(self) -> Answer:
        """The last answer."""
        return self.steps[-1].answer

    @property
    def text(self) -> str:
        return self.answer.text

    @property
    def pending(self) -> tuple[ToolUseBlock, ...]:
        """Calls of the last answer that nobody ran."""
        last = self.steps[-1]
        done = {result.tool_use_id for result in last.results}
        return tuple(call for call in last.calls if call.id not in done)


class Parsed(msgspec.Struct, Generic[T], frozen=True, eq=False):
    """Structured output: the value, and the answer that it was read from."""

    value: T
    answer: Answer


class TokenCount(msgspec.Struct, frozen=True):
    """Tokens of a prompt, and who counted them."""

    tokens: int
    source: Literal["provider", "estimate"]
    model: str


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Two usages together. A count that neither knows stays unknown, and so does a usage that
    neither has."""
    if one is None or other is None:
        return one if other is None else other
    sums: dict[str, Any] = {}
    for name in _COUNTS:
        first, second = getattr(one, name), getattr(other, name)
        if first is not None or second is not None:
            sums[name] = (first or 0) + (second or 0)
    return Usage(**sums, estimated=one.estimated or other.estimated)


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "cost_usd",
    "latency_ms",
)
