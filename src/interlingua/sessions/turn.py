"""A turn: from a user's message to the answer that ends it. Its model is chosen once."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from interlingua.coerce import MessageLike, OptionsLike, as_message, as_options, is_option
from interlingua.events.event import Event, TurnTrace
from interlingua.events.payloads import (
    Payload,
    ToolFailed,
    ToolInputInvalid,
    TurnCancelled,
    TurnCompleted,
    TurnStarted,
    ValidationProblem,
)
from interlingua.model.blocks import ToolResultBlock
from interlingua.model.exchange import Options
from interlingua.model.ids import Ulids
from interlingua.model.message import Message, Role, UserContent
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from interlingua.routing.decision import Decision
from interlingua.routing.patterns import TurnResult
from interlingua.routing.swap import address
from interlingua.routing.turn import Turn as RoutedTurn
from interlingua.routing.turn import facts_of, needs_from, turn_of
from interlingua.sessions.adapters.assemble import INPUT_INVALID
from interlingua.sessions.core import Core, LastTurn, cost_of_messages, open_calls
from interlingua.sessions.effects import Effects, TurnError
from interlingua.sessions.holding import HERE, free_turn, holder
from interlingua.sessions.patterns import (
    after_routing,
    implicit,
    question_digest,
    record,
    with_patterns,
)
from interlingua.store.errors import StoreError
from interlingua.store.rows import Hold

logger = logging.getLogger(__name__)

CANCELLED = "cancelled before it had a result"
_TELL_EVERY = 5.0
"""Seconds between two renewals of the hold on a turn."""
_IDS = Ulids()

Reason = Literal["user_cancel", "client_disconnect", "timeout"]


@dataclass
class Beginning:
    """The inputs of a turn before it starts."""

    message: Message | None
    override: str | None = None
    options: Options | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a routed turn that only the caller has: skills, budgets, delegation."""


def beginning(
    core: Core,
    content: UserContent | MessageLike,
    override: str | None,
    options: OptionsLike | None,
    more: Mapping[str, Any],
) -> Beginning:
    """Splits the caller's arguments: the message, options for this turn, and facts for routing."""
    words = {word: value for word, value in more.items() if is_option(word)}
    rest = {word: value for word, value in more.items() if word not in words}
    if words and options is None:
        options = core.setting.options
    return Beginning(as_message(content), override, as_options(options, words), rest)


def begin(core: Core, beginning: Beginning) -> Effects[TurnCore]:
    """Routes, then stores the user's message and emits the start of the turn. If no model is
    found, nothing is stored and nothing has started, and the decision is in the trace."""
    _require_can_begin(core, beginning.message)
    core.look_up_models()
    left = yield from free_turn(core.id, resuming=beginning.message is None)
    history = yield from core.interrupted()
    message, routed = _routed(core, beginning, history)
    routed, kind = yield from with_patterns(core, routed)
    turn_id = _IDS.new()
    trace = TurnTrace(core.recorder, core.id, turn_id)
    emitted: list[tuple[str, Payload | Mapping[str, Any]]] = []

    def note(type: str, payload: Payload | Mapping[str, Any], /) -> Event | None:
        emitted.append((type, payload))
        return None

    decision = core.decision = core.setting.router.route(routed, note, core.capabilities())
    if decision.chosen_model is None:
        for type, payload in emitted:
            trace.emit(type, payload)
        yield from core.recorder.stored()
        decision.require()
    question = message or last_user_message(history)
    hold = Hold(turn_id, holder(), left)
    stored = (yield from _held(core, message, hold, len(history))) or question
    trace.emit("turn.started", _started(question, routed))
    for type, payload in emitted:
        trace.emit(type, payload)
    if kind is not None:
        kind = yield from after_routing(core, routed, kind, decision, question, trace.emit)
    core.choice.begin_turn()
    core.recorder.ended_tools.clear()
    turn = TurnCore(core, turn_id, decision, trace, beginning.options, stored, kind)
    core.turn = turn_id
    yield from core.recorder.stored()
    return turn


def _held(core: Core, message: Message | None, hold: Hold, count: int) -> Effects[Message | None]:
    """Claims the session for this turn; returns the user's message as stored."""
    if message is None:
        yield lambda store: store.hold_turn(core.id, hold, after=count)
        return None
    return (yield from core.add([message], after=count, hold=hold))[0]


def _require_can_begin(core: Core, message: Message | None) -> None:
    if core.turn is not None:
        raise TurnError(f"session {core.id} has a turn in progress; end or cancel it first")
    if message is not None and message.role is not Role.USER:
        found = message.role.value
        raise TurnError(f"a turn starts with a message of the role user, not {found}")


def _started(question: Message | None, routed: RoutedTurn) -> TurnStarted:
    return TurnStarted(
        message_hash=question.digest() if question is not None else "",
        estimated_input_tokens=routed.estimated_input_tokens,
        has_images=routed.has_images,
        has_tool_calls_in_history=routed.has_tool_calls_in_history,
    )


def _routed(
    core: Core, beginning: Beginning, history: list[Message]
) -> tuple[Message | None, RoutedTurn]:
    """The message without a leading model name, and the turn as routing sees it."""
    options = beginning.options or core.setting.options
    names = core.setting.router.config().names
    message, override = beginning.message, beginning.override
    if message is not None:
        addressed = address(message, names)
        message, override = addressed.message, override or addressed.name
    model = override or core.model or ""
    try:
        adapter = core.turn_adapter(names.resolve(model) or model) if model else None
    except ValueError:
        adapter = None  # not a name of a model; choosing one raises with the reason
    tokens = core.expected(adapter, message, options) if adapter else 0
    facts = core.facts()
    new = None if message is None else facts_of([message])
    needs = needs_from(facts if new is None else facts | new, core.tools, options, tokens)
    question = message or last_user_message(history) or Message(Role.USER)
    known = {
        "override": override,
        "override_via": "message" if beginning.override is None else "api",
        "sticky": core.choice.model,
        "workspace_path": core.row.workspace_path,
        "workspace_default": core.default_model,
        "time_of_day": datetime.now().time(),
        **beginning.more,
    }
    return message, turn_of(facts, question, needs, new, **known)


def is_whole(message: Message) -> bool:
    """Whether a message is a complete answer; one that only paused is not."""
    metadata = message.metadata
    if message.role is not Role.ASSISTANT or metadata.status is not MessageStatus.COMPLETE:
        return False
    return metadata.stop_reason is not StopReason.PAUSE


def last_user_message(history: Sequence[Message]) -> Message | None:
    return next((m for m in reversed(history) if m.role is Role.USER), None)


def _since(history: Sequence[Message], made: Iterable[Message]) -> Sequence[Message]:
    """The end of a history, from the first of these messages on."""
    missing = {message.id for message in made}
    for index in range(len(history) - 1, -1, -1):
        missing.discard(history[index].id)
        if not missing:
            return history[index:]
    return history


class TurnCore:
    """The steps of a turn, as effects."""

    def __init__(
        self,
        core: Core,
        id: str,
        decision: Decision,
        trace: TurnTrace,
        options: Options | None,
        question: Message | None,
        kind: str | None = None,
    ) -> None:
        self.core = core
        self.id = id
        self.decision = decision
        self.model = decision.require()
        self.trace = trace
        self.options = options or core.setting.options
        self.question = question
        self.kind = kind
        """The kind of turn whose outcome is recorded; None if this one is not learned from."""
        self.failed_tools = 0
        self.ended = False
        self.calls = 0
        self.made: list[Message] = []
        """The answers of this turn."""
        self.tool_calls = 0
        self.calling = False
        """Whether an answer is waited for."""
        self._held_at: float | None = time.monotonic()
        """When the hold was last renewed; None once it is released."""
        HERE[id] = self
        self._began = time.perf_counter()

    def hold(self, firm: bool = True) -> Hold:
        """The condition of this turn's writes: that the turn is still ours."""
        return Hold(self.id, holder(), self.id, firm)

    def held(self) -> Effects[None]:
        """Checks that the turn is still ours before it continues. After a failure, others may have
        taken it over."""
        if self._held_at is not None and time.monotonic() - self._held_at < _TELL_EVERY:
            return
        hold, after = self.hold(), None
        if self._held_at is None:
            hold, after = hold._replace(instead_of=None), len(self.core.history or ())
        yield lambda store: store.hold_turn(self.core.id, hold, after=after)
        self._held_at = time.monotonic()

    def let_go(self) -> Effects[None]:
        """Release the session. A store that fails here does not fail the turn: a hold expires."""
        self._held_at = None
        try:
            yield lambda store: store.end_turn(self.core.id, self.id)
        except StoreError as problem:
            extra = {"session_id": self.core.id, "reason": problem.reason}
            logger.warning("turn_release_failed", extra=extra)

    def open(self) -> dict[str, str]:
        """Calls of this turn that wait for a result of ours, by id."""
        ids = {block.id for message in self.made for block in message.tool_calls}
        if not ids:
            return {}
        waiting = open_calls(_since(self.core.history or [], self.made))
        return {id: name for id, name in waiting.items() if id in ids}

    def answered(self, message: Message) -> Effects[None]:
        """An answer is stored: the turn ends with it, unless it waits for results."""
        self.made = [*[m for m in self.made if m.id != message.id], message]
        for found in message.metadata.diagnostics:
            if found.type == INPUT_INVALID and found.details is not None:
                invalid = ToolInputInvalid(
                    tool_use_id=found.details["tool_use_id"],
                    tool_name=found.details["tool_name"],
                    validation_errors=tuple(
                        [
                            ValidationProblem(path=path, problem=problem)
                            for path, problem in found.details["problems"]
                        ]
                    ),
                )
                self.trace.emit("tool.input_invalid", invalid)
        if is_whole(message) and not self.open():
            yield from self.end()
            return
        if message.metadata.status is not MessageStatus.COMPLETE:
            yield from self.let_go()
        yield from self.core.recorder.stored()

    def results(self, results: Iterable[Message | ToolResultBlock]) -> Effects[tuple[Message, ...]]:
        """Stores the results of tools. The next call is possible once all results are stored; the
        list may be empty."""
        messages = [Message.of_result(r) if isinstance(r, ToolResultBlock) else r for r in results]
        if not messages:
            return ()
        self.require_open()
        stored = yield from self.core.append(messages, self.hold())
        self.tool_calls += len(stored)
        blocks = (block for message in stored for block in message.content)
        self.failed_tools += sum(isinstance(b, ToolResultBlock) and b.is_error for b in blocks)
        return stored

    def end(self) -> Effects[None]:
        """The turn is over; a second time changes nothing."""
        if self.ended:
            return
        self.ended = True
        yield from self._learn(cancelled=False)
        usages = [m.metadata.usage or Usage() for m in self.made]
        last = self.made[-1].metadata.stop_reason if self.made else None
        completed = TurnCompleted(
            stop_reason=last or StopReason.OTHER,
            llm_call_count=self.calls,
            tool_call_count=self.tool_calls,
            input_tokens=sum(usage.input_tokens or 0 for usage in usages),
            output_tokens=sum(usage.output_tokens or 0 for usage in usages),
            cached_input_tokens=sum(usage.cached_input_tokens or 0 for usage in usages),
            cache_creation_input_tokens=sum(
                usage.cache_creation_input_tokens or 0 for usage in usages
            ),
            cost_usd=cost_of_messages(self.made),
            wall_time_ms=self.elapsed_ms(),
            gateway_key_id=self.core.setting.gateway_key_id,
            user_id=self.core.setting.user_id,
            team_id=self.core.setting.team_id,
        )
        self.trace.emit("turn.completed", completed)
        yield from self._over()

    def cancel(self, reason: Reason = "user_cancel") -> Effects[None]:
        """Gives up. Waiting calls get a result with the reason; a second time changes nothing,
        and a cancelled turn is never resumed."""
        if self.ended:
            return
        waiting = self.open()
        if waiting:
            results = [_cancelled(id, name) for id, name in waiting.items()]
            yield from self.core.add(results, hold=self.hold())
        self.ended = True
        for id, name in waiting.items():
            if id not in self.core.recorder.ended_tools:
                failed = ToolFailed(tool_use_id=id, name=name, error_class="cancelled")
                self.trace.emit("tool.failed", failed)
        if reason == "user_cancel":
            yield from self._learn(cancelled=True)
        usages = [m.metadata.usage or Usage() for m in self.made]
        cancelled = TurnCancelled(
            reason=reason,
            llm_call_count=self.calls,
            tool_call_count=self.tool_calls,
            output_tokens=sum(usage.output_tokens or 0 for usage in usages),
        )
        self.trace.emit("turn.cancelled", cancelled)
        yield from self._over()

    def _over(self) -> Effects[None]:
        yield from self.core.turn_ended()
        if not (yield from self.core.recorder.stored(ended_turn=self.id)):
            yield from self.let_go()

    def _learn(self, cancelled: bool) -> Effects[None]:
        """Records the outcome of the turn, if routing learns from turns."""
        if self.kind is None:
            return
        failed = sum(m.metadata.status is MessageStatus.ERROR for m in self.made)
        whole = bool(self.made) and is_whole(self.made[-1])
        stop = self.made[-1].metadata.stop_reason if whole else None
        result = TurnResult(stop, cancelled, failed, self.tool_calls, self.failed_tools)
        turn = (self.id, self.kind, self.model)
        counts = (self.calls, self.elapsed_ms())
        yield from record(self.core, *turn, self.made, result, *counts, self.trace.emit)
        answer = self.made[-1].id if self.made else None
        if answer is not None and self.question is not None:
            self.core.last_turn = LastTurn(question_digest(self.question), self.model, answer)
            if cancelled:
                self.core.last_turn = None
                yield from implicit(self.core, answer, "abandoned")

    def require_open(self) -> None:
        if self.ended:
            raise TurnError(f"turn {self.id} has ended")

    def elapsed_ms(self) -> int:
        return int((time.perf_counter() - self._began) * 1000)


def _cancelled(id: str, name: str) -> Message:
    message = Message.tool_result(id, CANCELLED, is_error=True, tool_name=name)
    metadata = message.metadata.replace(status=MessageStatus.CANCELLED)
    return message.replace(metadata=metadata)
