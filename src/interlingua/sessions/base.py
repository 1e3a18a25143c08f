"""Sessions, turns and calls, written once for programs with and without an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Generic, Literal, Never, Self, TypeVar

from interlingua.adapt.request import WrittenRequest, adapt, write
from interlingua.adapt.target import ProfileChoice, conversion_target
from interlingua.coerce import MessageLike, OptionsLike, as_messages, as_options
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.events.event import TurnTrace
from interlingua.model.blocks import ToolResultBlock
from interlingua.model.codec import dumps
from interlingua.model.events import Event
from interlingua.model.exchange import Options, ProviderError, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role, UserContent
from interlingua.model.metadata import MessageStatus
from interlingua.routing.decision import Decision, show
from interlingua.sessions import patterns
from interlingua.sessions.adapters.adapter import Adapter
from interlingua.sessions.call import CallCore, started
from interlingua.sessions.core import Core, open_calls, require_model
from interlingua.sessions.effects import Effects, Method, TurnError
from interlingua.sessions.plans import SwapPlan
from interlingua.sessions.turn import Beginning, Reason, TurnCore, begin, beginning, is_whole
from interlingua.store.rows import EventRow, SearchHit, SessionRow
from interlingua.tools.registry import ToolRegistry

_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_TURN_EVENTS = ("turn.started", "turn.completed", "turn.cancelled")
_PAGE = 1000


def resume(core: Core, options: Options | None) -> Effects[TurnCore]:
    """A turn that continues where the history ends: with results that no answer followed, a
    question without an answer, or calls without results. Calls without results belong to the new
    turn."""
    history = yield from core.load()
    recent = last_turn(history)
    waiting = open_calls(recent)
    last = _last_message(recent)
    if last is None or not is_unfinished(history):
        raise TurnError(f"session {core.id} has nothing to resume")
    if last.metadata.status is MessageStatus.CANCELLED or (yield from _was_cancelled(core, last)):
        raise TurnError(f"the last turn of session {core.id} was cancelled; begin a new one")
    turn = yield from begin(core, Beginning(None, options=options))
    turn.made = [m for m in recent if any(call.id in waiting for call in m.tool_calls)]
    return turn


def is_unfinished(history: Sequence[Message]) -> bool:
    """Whether the last turn lacks an answer, or results."""
    recent = last_turn(history)
    last = _last_message(recent)
    return last is not None and (not is_whole(last) or bool(open_calls(recent)))


def _last_message(messages: Sequence[Message]) -> Message | None:
    return next((m for m in reversed(messages) if m.role not in _INSTRUCTS), None)


def last_turn(history: Sequence[Message]) -> Sequence[Message]:
    """The messages from the last one of the user's on."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].role is Role.USER:
            return history[index:]
    return history


def _was_cancelled(core: Core, last: Message) -> Effects[bool]:
    """Whether the turn of the last message was cancelled; if there is no answer to mark, the trace
    has it."""
    after, found = 0, None
    while True:
        page = yield from _turn_events(core, after)
        found = page[-1] if page else found
        if len(page) < _PAGE:
            break
        after = page[-1].seq
    if found is None or found.type != "turn.cancelled" or last.created_at is None:
        return False
    return last.created_at <= found.timestamp


def _turn_events(core: Core, after: int) -> Effects[list[EventRow]]:
    rows: list[EventRow] = yield lambda store: store.events(core.id, after, _PAGE, _TURN_EVENTS)
    return rows


CANONICAL = "canonical"


def export(
    messages: Sequence[Message], to: str = CANONICAL, model: str | None = None
) -> tuple[bytes, Report]:
    """All messages as canonical JSON, or as one request in a dialect."""
    if to == CANONICAL:
        return dumps(list(messages)), Report(CANONICAL)
    name = None if model is None else model.partition(":")[2] or model
    target = conversion_target(dialect_of(to), profile=False)
    written = write(adapt(Request(tuple(messages), name), target))
    return written.json(), written.report.of_history()


StoreT = TypeVar("StoreT")
TurnT = TypeVar("TurnT")
CallT = TypeVar("CallT")


class SessionBase(Generic[StoreT, TurnT]):
    """One stored conversation. Made by `create` or `open`; not to be shared between threads."""

    _turn: Callable[[StoreT, TurnCore], TurnT]

    def __init__(self, store: StoreT, core: Core | None = None, **_: Never) -> None:
        if core is None:
            made = f"il.{type(self).__name__}.create(store, model=…) or .open(store, id)"
            raise TypeError(f"create a session with {made}")
        self.store = self._store = store
        self._core = core

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} with {self.model}>"

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def row(self) -> SessionRow:
        """The session as the store has it."""
        return self._core.row

    @property
    def model(self) -> str | None:
        """The model in use: the one that was chosen, else the session's default."""
        return self._core.model

    @property
    def decision(self) -> Decision | None:
        """The routing decision of the last turn."""
        return self._core.decision

    @property
    def tools(self) -> ToolRegistry | None:
        """The tools of this session."""
        return self._core.setting.tools

    @property
    def in_turn(self) -> bool:
        return self._core.turn is not None

    def show(self) -> str:
        """The output of `/model show`."""
        return show(self._core.decision)

    @Method
    def messages(self) -> Effects[list[Message]]:
        """The whole history, in order."""
        return list((yield from self._core.load()))

    @Method
    def tail(self, count: int = 50) -> Effects[list[Message]]:
        """The last messages; as quick in a long session as in a short one."""
        return self._core.tail(count)

    @Method
    def search(self, words: str, limit: int = 50) -> Effects[list[SearchHit]]:
        """Messages of this session that contain all the words."""
        return self._core.search(words, limit)

    @Method
    def unanswered(self) -> Effects[dict[str, str]]:
        """Calls that wait for a result: id to the tool's name."""
        return open_calls((yield from self._core.load()))

    @Method
    def cost(self) -> Effects[Decimal | None]:
        """The total cost of the answers in US dollars; None if the cost of one is unknown."""
        return self._core.cost()

    @Method
    def reload(self) -> Effects[list[Message]]:
        """Loads the messages that other programs have appended."""
        return list((yield from self._core.reload()))

    @Method
    def append(self, *messages: MessageLike) -> Effects[tuple[Message, ...]]:
        """Stores messages from elsewhere. Calls get ids of ours, and results follow."""
        return self._core.append(as_messages(messages))

    @Method
    def compose(self, parts: Mapping[str, str | None]) -> Effects[Message]:
        """Set parts of the system prompt (`base`, `memory`, `skills`, `workspace`, or others)."""
        return self._core.composed(parts)

    @Method
    def begin(
        self,
        /,
        content: UserContent | MessageLike,
        *,
        override: str | None = None,
        options: OptionsLike | None = None,
        **more: Any,
    ) -> Effects[TurnT]:
        """Start a turn with a user's message; `@model` at its start, or `override`, chooses the
        model of this turn alone. A message is text, blocks, `il.Message`, or a dict with role and
        content. `options` are those of this turn, and each may be a keyword (`temperature=0`);
        other keywords are what routing may ask about (`skills`, `cost_today_usd`, …)."""
        core = beginning(self._core, content, override, options, more)
        return self._turn(self._store, (yield from begin(self._core, core)))

    @Method
    def resume(self, *, options: OptionsLike | None = None) -> Effects[TurnT]:
        """Go on where a turn broke off: results or an answer are missing, not a question."""
        return self._turn(self._store, (yield from resume(self._core, as_options(options))))

    @Method
    def plan(self, model: str) -> Effects[SwapPlan]:
        """The losses and cost of a change to this model. Nothing is changed."""
        return self._core.plan(model)

    @Method
    def swap(self, model: str | None) -> Effects[bool]:
        """Change the model for the turns to come, or with None go back to the default. True if the
        change waits for the end of a turn. A model that cannot take the history over raises
        `SwapError`, and nothing is changed."""
        return self._core.swap(model)

    @Method
    def fork(self, message_id: str | None = None, *, name: str | None = None) -> Effects[Self]:
        """A new session with this one's messages, up to and including `message_id`."""
        core = yield from patterns.forked(self._core, message_id, name)
        return type(self)(self._store, core)

    @Method
    def rate(self, rating: Literal["up", "down"], message_id: str | None = None) -> Effects[None]:
        """Rate an answer; the last one if none is named. Patterns learn from it."""
        return patterns.rate(self._core, message_id, rating)

    @Method
    def export(
        self, to: str = "canonical", model: str | None = None
    ) -> Effects[tuple[bytes, Report]]:
        """The conversation as JSON: `canonical`, or as a request in a dialect, with the report
        of that."""
        return export((yield from self._core.load()), to, model)

    @Method
    def adapter(self, model: str | None = None) -> Effects[Adapter]:
        """The adapter of a model for this session."""
        yield from self._core.load()
        return self._core.adapter(require_model(self._core, model))

    @Method
    def end(
        self, disposition: Literal["completed", "abandoned", "error"] = "completed"
    ) -> Effects[None]:
        """Records in the trace that the session is over. It can be opened again."""
        return self._core.end(disposition)


class TurnBase(Generic[StoreT, CallT]):
    """From a user's message to the answer that ends it. Made by `begin` of a session."""

    _call: Callable[[StoreT, CallCore], CallT]

    def __init__(self, store: StoreT, core: TurnCore) -> None:
        self._store = store
        self._core = core

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def model(self) -> str:
        return self._core.model

    @property
    def decision(self) -> Decision:
        return self._core.decision

    @property
    def trace(self) -> TurnTrace:
        """Emits further events of this turn, such as those of tools."""
        return self._core.trace

    @property
    def options(self) -> Options | None:
        """The options of this turn, else of its session."""
        return self._core.options

    @property
    def ended(self) -> bool:
        return self._core.ended

    @property
    def answers(self) -> tuple[Message, ...]:
        """The model's messages in this turn."""
        return tuple(self._core.made)

    def open_calls(self) -> dict[str, str]:
        """Calls that wait for a result: id to the tool's name."""
        return self._core.open()

    @Method
    def call(
        self,
        options: OptionsLike | None = None,
        clock: Callable[[], float] = time.perf_counter,
        *,
        profile: ProfileChoice = None,
        stream: bool | None = None,
    ) -> Effects[CallT]:
        """The next request. Every call of the answer before it needs its result first. `profile`
        replaces the rules for the model, or with False sends the request as it is. With `stream`
        the answer comes as a stream, if the model has any."""
        effects = started(self._core, as_options(options), clock, profile, stream)
        return self._call(self._store, (yield from effects))

    @Method
    def results(self, *results: Message | ToolResultBlock) -> Effects[tuple[Message, ...]]:
        """Store the results of tools."""
        return self._core.results(results)

    @Method
    def end(self) -> Effects[None]:
        """End the turn; an answer without open calls has ended it already."""
        return self._core.end()

    @Method
    def cancel(self, reason: Reason = "user_cancel") -> Effects[None]:
        """Gives up. A second time changes nothing."""
        return self._core.cancel(reason)


class CallBase(Generic[StoreT]):
    """One request and its answer. Made by `call` of a turn."""

    def __init__(self, store: StoreT, core: CallCore) -> None:
        self._store = store
        self._core = core

    @property
    def id(self) -> str:
        return self._core.id

    @property
    def adapter(self) -> Adapter:
        return self._core.adapter

    @property
    def request(self) -> Request:
        """The canonical request, with the ids that the provider knows."""
        return self._core.request

    @property
    def wire(self) -> Any:
        """The same as the provider takes it."""
        return self._core.wire()

    @property
    def report(self) -> Report:
        """The losses of the request."""
        report = self._core.report
        return self._core.written.report if report is None else report

    @property
    def written_request(self) -> WrittenRequest | None:
        """The wire, for a client that is to send it; None where something may not be left out."""
        return self._core.written_request()

    def sent(self, report: Report | None, model: str | None = None) -> None:
        """Takes the report of a client that wrote the request itself, and the model that answers,
        which may not be the turn's own."""
        self._core.sent(report, model)

    @property
    def message(self) -> Message | None:
        """The stored answer."""
        return self._core.message

    @property
    def ended(self) -> bool:
        return self._core.ended

    @Method
    def complete(self, wire: dict[str, Any] | bytes | str) -> Effects[Message]:
        """Store the provider's answer, in its wire form."""
        return self._core.complete(wire)

    @Method
    def answer(self, response: Response) -> Effects[Message]:
        """Store an answer that was read already."""
        return self._core.answer(response)

    @Method
    def feed(self, data: bytes) -> Effects[list[Event]]:
        """Bytes of a streamed answer."""
        return self._core.feed(data)

    @Method
    def take(self, event: Event) -> Effects[list[Event]]:
        """An event of a streamed answer, from a reader of the dialect."""
        return self._core.take(event)

    @Method
    def close(self) -> Effects[list[Event]]:
        """The stream has ended, well or not."""
        return self._core.close()

    @Method
    def fail(
        self, error: ProviderError, retries: int = 0, *, provider_asked: bool = True
    ) -> Effects[Message]:
        """Ends the call without an answer, or with a part of it; the turn may try again. Without
        `provider_asked`, the failure does not count against the provider."""
        return self._core.fail(error, retries, provider_asked)

    @Method
    def cancel(self, reason: Reason = "user_cancel") -> Effects[list[Event]]:
        """Cancels the call for the user: the part that arrived is stored, and the turn ends."""
        return self._core.cancel(reason)
