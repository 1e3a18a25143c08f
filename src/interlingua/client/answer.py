"""Results of calls: the response, with its attempts, losses and usage."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from decimal import Decimal
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from interlingua.adapt.caching import Caching
from interlingua.adapt.request import WrittenRequest
from interlingua.client.errors import CallError
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ErrorKind, Request, Response
from interlingua.model.human import dollars
from interlingua.model.losses import Locator, Report
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason, Usage, add_breakdowns
from interlingua.profiles.profile import Profile

if TYPE_CHECKING:
    from interlingua.client.targets import Prepared, Target


T = TypeVar("T")


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True, repr_omit_defaults=True):
    """One attempt. `kind` is None if it succeeded; `waited` are the seconds before it, `took` the
    seconds until it failed."""

    model: str
    kind: ErrorKind | None = None
    status: int | None = None
    request_id: str | None = None
    waited: float = 0.0
    took: float = 0.0


class Answer(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """A whole answer. `report` lists the losses of the request in the provider's dialect,
    `attempts` all attempts up to this one."""

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

    @property
    def cost(self) -> Decimal | None:
        """The cost of the answer in US dollars; None if the price or a count is unknown."""
        return None if self.usage is None else self.usage.cost_usd

    def __str__(self) -> str:
        """The text, then the model, the tokens and the cost on a line."""
        facts = [self.model]
        if (usage := self.usage) is not None and usage.is_known:
            facts.append(f"{usage.prompt_tokens or 0:,} in, {usage.output_tokens or 0:,} out")
        if self.cost is not None:
            facts.append(dollars(self.cost))
        if self.tool_calls:
            facts.append(f"calls {', '.join(call.name for call in self.tool_calls)}")
        return f"{self.text}\n({' · '.join(facts)})".lstrip()


class Step(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """One round of a tool loop: an answer, its calls, and their results in the same order. Calls
    that are the caller's to run have none."""

    answer: Answer
    calls: tuple[ToolUseBlock, ...] = ()
    results: tuple[ToolResultBlock, ...] = ()

    @property
    def usage(self) -> Usage | None:
        return self.answer.usage


class Run(msgspec.Struct, frozen=True, eq=False, repr_omit_defaults=True):
    """A whole tool loop. `messages` is the complete history, ready for the next call."""

    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    usage: Usage | None = None
    """The sum of all steps; None if no step reported any."""

    @property
    def answer(self) -> Answer:
        """The last answer."""
        return self.steps[-1].answer

    @property
    def text(self) -> str:
        return self.answer.text

    @property
    def cost(self) -> Decimal | None:
        """The cost of all answers in US dollars; None if that of one is unknown."""
        costs = [step.answer.cost for step in self.steps]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal()) if len(known) == len(costs) else None

    @property
    def pending(self) -> tuple[ToolUseBlock, ...]:
        """Calls of the last answer that were not run."""
        last = self.steps[-1]
        done = {result.tool_use_id for result in last.results}
        return tuple(call for call in last.calls if call.id not in done)


class Parsed(msgspec.Struct, Generic[T], frozen=True, eq=False, repr_omit_defaults=True):
    """Structured output: the validated value, and its answer."""

    value: T
    answer: Answer


class TokenCount(msgspec.Struct, frozen=True):
    """The number of tokens of a prompt, and its source."""

    tokens: int
    source: Literal["provider", "estimate"]
    model: str


def add_usage(one: Usage | None, other: Usage | None) -> Usage | None:
    """Adds two usages. A count that neither has stays unknown; None if there is no usage."""
    if one is None or other is None:
        return one if other is None else other
    sums: dict[str, Any] = {}
    for name in _COUNTS:
        first, second = getattr(one, name), getattr(other, name)
        if first is not None or second is not None:
            sums[name] = (first or 0) + (second or 0)
    sums |= add_breakdowns((one, other))
    tier = one.service_tier if one.service_tier == other.service_tier else None
    return Usage(**sums, service_tier=tier, estimated=one.estimated or other.estimated)


_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
    "cost_usd",
    "latency_ms",
)


class Call(msgspec.Struct, frozen=True, eq=False):
    """One call: the request and its models (the first, then the fallbacks)."""

    id: str
    models: tuple[str, ...]
    request: Request
    stream: bool = False
    dialect: str | None = None
    deadline: float | None = None
    """Seconds for everything: tries, waits, and the answer."""
    profile: Profile | Literal[False] | None = None
    """The rules of the first model, in place of the known ones; False: nothing is adapted."""
    headers: Mapping[str, str] = {}
    """Headers for every attempt, besides the provider's own."""
    written_request: WrittenRequest | None = None
    """The request as it was written already for one of the models."""
    caching: Caching | None = None
    """The mode of prompt caching for this call; None is that of the client."""
    targets: Mapping[str, Target] = {}
    """Explicit targets, by the names in `models`."""
    source: Locator | None = None
    """Finds the places of losses in the dicts that the request was made of."""

    def placed(self, report: Report) -> Report:
        """The report with the places of its losses in the caller's values."""
        if self.source is not None and report.source is None:
            report.source = self.source
        return report

    def replace(self, **changes: Any) -> Call:
        return msgspec.structs.replace(self, **changes)


class Middleware:
    """Base class of middleware: override what you need. `request` and `answer` may be
    coroutines."""

    def request(self, call: Call) -> Call | Awaitable[Call]:
        """Called for each request before it is adapted to a provider."""
        return call

    def sending(self, call: Call, prepared: Prepared) -> None:
        """Called for each attempt just before it is sent: the request and its losses."""

    def answer(self, call: Call, answer: Answer) -> Answer | Awaitable[Answer]:
        """Called for each complete answer, and at the end of each complete stream."""
        return answer

    def event(self, call: Call, event: Event) -> Event | None:
        """Called for each event of a stream; None leaves it out. The last event has the whole
        response, so a change of text has to change it there too."""
        return event

    def error(self, call: Call, error: CallError) -> CallError:
        """Called for a call that failed; the returned error is raised."""
        return error

    def dropped(self, call: Call) -> None:
        """Called for a call that neither succeeded nor failed: its task was cancelled, or it had no
        provider."""


class Layers:
    """Several middlewares as one."""

    def __init__(self, layers: Iterable[Middleware]) -> None:
        self._in = tuple(layers)
        self._out = self._in[::-1]
        self.on_event = tuple(
            each.event for each in self._out if type(each).event is not Middleware.event
        )
        self.on_sending = tuple(
            each.sending for each in self._in if type(each).sending is not Middleware.sending
        )

    async def request(self, call: Call) -> Call:
        for each in self._in:
            made = each.request(call)
            call = await made if isawaitable(made) else made
        return call

    async def answer(self, call: Call, answer: Answer) -> Answer:
        for each in self._out:
            made = each.answer(call, answer)
            answer = await made if isawaitable(made) else made
        return answer

    def error(self, call: Call, error: CallError) -> CallError:
        for each in self._out:
            error = each.error(call, error)
        return error

    def dropped(self, call: Call) -> None:
        for each in self._out:
            each.dropped(call)

    def event(self, call: Call, event: Event) -> Event | None:
        current: Event | None = event
        for each in self.on_event:
            if current is None:
                return None
            current = each(call, current)
        return current
