"""One request of a turn and its answer, whole or as a stream.

A streamed answer is stored as `partial` when its first piece arrives, again about once a second,
and at its end: a program that is killed in between has lost at most that second.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import msgspec

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.converter import adapt_remembered, write_adapted
from interlingua.adapt.remembered import WrittenTurns
from interlingua.adapt.request import WrittenRequest, adapt, write
from interlingua.adapt.target import ProfileChoice
from interlingua.dialects.kernel.wire import decode_quickly, encode
from interlingua.dialects.record import Written
from interlingua.errors import LossError
from interlingua.events.payloads import LlmCallCompleted, LlmCallFailed, LlmCallStarted
from interlingua.model.blocks import RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.events import Event, MessageComplete, StreamError
from interlingua.model.exchange import ErrorKind, Options, ProviderError, Request, Response
from interlingua.model.ids import Ulids
from interlingua.model.losses import DeferredWarnings, Report
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from interlingua.sessions.adapters.assemble import AdapterStream, RequestContext
from interlingua.sessions.effects import Effects, TurnError
from interlingua.sessions.pruning import limited, sendable, with_files
from interlingua.sessions.turn import Reason, TurnCore
from interlingua.store.errors import StoreError

logger = logging.getLogger(__name__)

MOST_LOSSES = 200
"""Losses of one request in the trace; their total number is beside them."""
SAVE_EVERY = 1.0
"""Seconds between two savings of an answer that is still arriving."""
_IDS = Ulids()


def started(
    turn: TurnCore,
    options: Options | None,
    clock: Callable[[], float],
    profile: ProfileChoice = None,
    stream: bool | None = None,
) -> Effects[CallCore]:
    """The next request of a turn. All calls of the last answer must have their results."""
    turn.require_open()
    if waiting := turn.open():
        names = ", ".join(waiting.values())
        raise TurnError(f"turn {turn.id}: the calls to {names} have no result yet")
    core = turn.core
    history = core.history or (yield from core.load())
    yield from turn.held()
    turn.calling = True
    messages = tuple(history)
    if core.is_compacted():
        messages = tuple(sendable(history, core.turn_adapter(turn.model, profile).dialect.name))
    call = CallCore(turn, messages, options or turn.options, clock, profile, stream)
    turn.calls += 1
    started = LlmCallStarted(
        model=turn.model,
        provider=turn.model.partition(":")[0],
        estimated_input_tokens=call.estimate,
        request_id=call.id,
        is_worker=core.setting.is_worker,
    )
    turn.trace.emit("llm.call_started", started)
    yield from core.recorder.stored()
    return call


def _streaming(options: Options | None, stream: bool | None, can: bool) -> Options:
    """The options with `stream` set explicitly: the wire needs it."""
    options = options or Options()
    streams = bool(options.stream if stream is None else stream and can)
    return options if options.stream is streams else options.replace(stream=streams)


def broken_off(problem: Exception) -> ProviderError:
    """The error of a stream whose source raised this."""
    return ProviderError(ErrorKind.NETWORK, f"the stream broke off: {type(problem).__name__}")


class CallCore:
    """`request` is canonical, with the provider's ids; `written` is its wire, with the report of
    its losses."""

    def __init__(
        self,
        turn: TurnCore,
        messages: tuple[Message, ...],
        options: Options | None,
        clock: Callable[[], float] = time.perf_counter,
        profile: ProfileChoice = None,
        stream: bool | None = None,
    ) -> None:
        self.turn = turn
        self.id = _IDS.new()
        self.message: Message | None = None
        """The stored answer, once a part of it is stored."""
        self.ended = False
        self._provider_asked = True
        self.report: Report | None = None
        """The losses of the request, as sent by the caller's own client."""
        tools = turn.core.tools
        if turn.core.facts().files:
            messages = with_files(messages, turn.core.row.workspace_path)
        usual = turn.core.turn_adapter(turn.model, profile)
        options = _streaming(options, stream, usual.capabilities.supports_streaming)
        self.request: Request = usual.request(messages, tools, options)
        self.adapter = usual.for_request(self.request)
        self.unlogged = DeferredWarnings()
        self._turns: WrittenTurns | None = None
        self._text: bytes | None = None
        """The writer's record of the turns on the wire, and its JSON."""
        self.estimate = self._estimated()
        self._clock = clock
        self._began = clock()
        self._at = datetime.now(UTC)
        self._incoming: AdapterStream | None = None
        self._last: Event | None = None
        """The end of the stream, to be stored again should the store have failed."""
        self._saved_at: float | None = None

    @cached_property
    def adapted(self) -> Adapted:
        """The request as its model accepts it; losses are logged when it is sent."""
        sent, target = self.turn.core.sent, self.adapter.target
        with self.unlogged.collecting():
            sent.grow(self.request.messages)
            found = adapt_remembered(sent, self.request, target)
            if found is None:
                return adapt(self.request, target)
        adapted, self._turns = found
        return adapted

    @cached_property
    def written(self) -> Written:
        """The body; parts of its wire are shared with those of other turns."""
        adapted = self.adapted
        with self.unlogged.collecting():
            if self._turns is None:
                return write(adapted)
            written, self._text = write_adapted(self.turn.core.sent, adapted, self._turns)
        if written is None:
            self._turns, self.unlogged = None, DeferredWarnings()
            with self.unlogged.collecting():
                return write(adapt(self.request, self.adapter.target))
        return written

    @cached_property
    def _own_wire(self) -> Any:
        wire = self.written.wire
        if self._turns is None or not self._turns.turns:
            return wire
        return decode_quickly(encode(wire) if self._text is None else self._text)

    def wire(self) -> Any:
        """The body of the request."""
        wire = self._own_wire
        self.unlogged.log()
        return wire

    def written_request(self) -> WrittenRequest | None:
        try:
            written = self.written
        except LossError:
            return None  # writing it again raises with the reason
        log = self.unlogged.log
        return WrittenRequest(self.request, self.adapter.target, written, log, self._text)

    def sent(self, report: Report | None, model: str | None) -> None:
        self.report = report
        if model is not None and model != self.adapter.model:
            self.adapter = self.turn.core.turn_adapter(model).for_request(self.request)
            self.__dict__.pop("adapted", None)  # that was for the other model

    def _estimated(self) -> int:
        """The estimated number of tokens in the adapted prompt, without parts that are left out."""
        try:
            request = self.adapted.value
        except LossError:
            request = self.request
        return self.turn.core.estimate(self.adapter.model, request)

    # Whole answers

    def complete(self, wire: dict[str, Any] | bytes | str) -> Effects[Message]:
        """Read the provider's answer in its wire form."""
        return (yield from self.answer(self.adapter.dialect.read_response(wire)))

    def answer(self, response: Response) -> Effects[Message]:
        """An answer that was read already."""
        self._require_open()
        message = self.adapter.take(response, self._context())
        return (yield from self._finished(message, response.error))

    def fail(
        self, error: ProviderError, retries: int = 0, provider_asked: bool = True
    ) -> Effects[Message]:
        """Ends the call without an answer, or with a part of it; the turn may try again. An
        error before the provider was asked does not count against the provider."""
        self._require_open()
        self._provider_asked = provider_asked
        if self._incoming is not None:
            return (yield from self._ended(self._incoming_now().fail(error), retries))
        empty = Response(Message.assistant(()), error=error)
        message = self.adapter.take(empty, self._context())
        return (yield from self._finished(message, error, retries))

    def cancel(self, reason: Reason = "user_cancel") -> Effects[list[Event]]:
        """Cancel the call and its turn; what arrived is stored."""
        events: list[Event] = []
        if not self.ended:
            events = self._incoming_now().cancel()
            yield from self._ended(events)
        yield from self.turn.cancel(reason)
        return events

    # Streams

    def feed(self, data: bytes) -> Effects[list[Event]]:
        """Bytes of a streamed answer; returns their events."""
        self._require_open()
        return (yield from self._store_events(self._incoming_now().feed(data)))

    def take(self, event: Event) -> Effects[list[Event]]:
        """An event of a streamed answer, as the dialect's reader gave it."""
        self._require_open()
        return (yield from self._store_events(self._incoming_now().take(event)))

    def close(self) -> Effects[list[Event]]:
        """Ends the stream; if it broke off, the answer is an error with the part that arrived."""
        if self.ended:
            return []
        return (yield from self._store_events(self._incoming_now().close()))

    def _incoming_now(self) -> AdapterStream:
        if self._incoming is None:
            self._incoming = self.adapter.incoming(self._context())
        self._incoming.context = self._context()
        return self._incoming

    def _store_events(self, events: list[Event]) -> Effects[list[Event]]:
        incoming = self._incoming
        assert incoming is not None
        if incoming.ended:
            yield from self._ended(events)
        elif events and self._is_time():
            partial = incoming.message()
            if _says_something(partial):
                yield from self._saved(partial)
        return events

    def _is_time(self) -> bool:
        return self._saved_at is None or self._clock() - self._saved_at >= SAVE_EVERY

    def _saved(self, partial: Message) -> Effects[None]:
        """Stores the answer so far. If the store fails, the answer continues; everything is stored
        at the end."""
        self._saved_at = self._clock()
        try:
            yield from self._store(partial)
        except StoreError as problem:
            extra = {"session_id": self.turn.core.id, "reason": problem.reason}
            logger.warning("partial_answer_not_stored", extra=extra)

    def _ended(self, events: list[Event], retries: int = 0) -> Effects[Message]:
        last = self._last = events[-1] if events else self._last
        if isinstance(last, StreamError):
            assert last.partial is not None
            return (yield from self._finished(last.partial, last.error, retries))
        assert isinstance(last, MessageComplete)
        message, error = last.response.message, last.response.error
        if message.metadata.status is MessageStatus.CANCELLED:
            error = ProviderError(ErrorKind.CANCELLED, "cancelled")
        return (yield from self._finished(message, error, retries))

    def _diagnosed(self, message: Message) -> Message:
        """The answer with the reason for a missed prompt cache. A client of ours adds it itself;
        this is for requests that another program sends."""
        from interlingua.costs.comparing import SentPrompts, SentTurns, merged

        core, turns, metadata = self.turn.core, self._turns, message.metadata
        prompts = core.prompts = core.prompts or SentPrompts()
        body = encode(self.written.wire) if self._text is None else self._text
        sent = None
        if turns is not None and self._text is not None:
            sent = SentTurns(turns.outside, turns.text, turns.start, turns.places(), turns.digests)
        compared = prompts.compare(None, body, self.adapter.model, "", (core.id,), self._at, sent)
        if compared is None:
            return message
        own = compared.diagnosis(metadata.usage, self.adapter.prices)
        prompts.answered(compared, metadata.usage)
        found = merged(metadata.cache_diagnosis, own)
        if found is metadata.cache_diagnosis:
            return message
        return message.replace(metadata=metadata.replace(cache_diagnosis=found))

    # Storing

    def _store(self, message: Message) -> Effects[Message]:
        core = self.turn.core
        message = limited(message, core.setting.most_raw)
        if self.message is None:
            new = message
            if message.id is not None or message.session_id is not None:
                new = message.replace(id=None, session_id=None)
            hold = self.turn.hold(firm=False)
            (self.message,) = yield from core.add([new], check=False, hold=hold)
        else:
            stored = self.message
            placed = message.replace(
                id=stored.id, session_id=stored.session_id, created_at=stored.created_at
            )
            self.message = yield from core.save(placed, hold=self.turn.hold(firm=False))
        return self.message

    def _finished(
        self, message: Message, error: ProviderError | None, retries: int = 0
    ) -> Effects[Message]:
        if error is None and "_own_wire" in self.__dict__:
            message = self._diagnosed(message)
        stored = yield from self._store(message)
        self.ended = True
        self.turn.calling = False
        if error is None:
            self.turn.trace.emit("llm.call_completed", self._completed(stored))
        else:
            self.turn.trace.emit("llm.call_failed", self._failed(error, retries))
        if error is None or error.kind is not ErrorKind.CANCELLED:
            self._account(error)
            yield from self.turn.answered(stored)
        else:
            self.turn.made.append(stored)
            yield from self.turn.core.recorder.stored()
        return stored

    def _account(self, error: ProviderError | None) -> None:
        """Reports the outcome of the call to routing."""
        if not self._provider_asked:
            return
        router, model = self.turn.core.setting.router, self.adapter.model
        if error is None:
            router.tell(router.availability.succeeded(model))
        else:
            router.tell(router.availability.failed(model, error.kind))

    def _completed(self, message: Message) -> LlmCallCompleted:
        metadata = message.metadata
        usage = metadata.usage or Usage()
        return LlmCallCompleted(
            model=self.adapter.model,
            provider=self.adapter.provider,
            input_tokens=usage.input_tokens or 0,
            output_tokens=usage.output_tokens or 0,
            cached_input_tokens=usage.cached_input_tokens or 0,
            cache_creation_input_tokens=usage.cache_creation_input_tokens or 0,
            cost_usd=usage.cost_usd,
            pricing_version=usage.pricing_version,
            latency_ms=usage.latency_ms or self._elapsed_ms(),
            stop_reason=metadata.stop_reason or StopReason.OTHER,
            produced_tool_calls=sum(type(b) is ToolUseBlock for b in message.content),
            produced_thinking_blocks=sum(
                type(b) in (ThinkingBlock, RedactedThinkingBlock) for b in message.content
            ),
            request_id=self.id,
            gateway_key_id=self.turn.core.setting.gateway_key_id,
            user_id=metadata.user_id,
            team_id=metadata.team_id,
            losses=self._losses(),
            message_id=message.id,
        )

    def _losses(self) -> dict[str, Any] | None:
        """The report of the request, for the trace; None without losses."""
        report = self.report
        if report is None and "written" in self.__dict__:
            report = self.written.report
        if report is None or not (losses := report.losses):
            return None
        few = msgspec.to_builtins(losses[:MOST_LOSSES])
        return {"target": report.target, "count": len(losses), "losses": few}

    def _failed(self, error: ProviderError, retries: int) -> LlmCallFailed:
        code = f" ({error.code})" if error.code else ""
        setting = self.turn.core.setting
        return LlmCallFailed(
            model=self.adapter.model,
            provider=self.adapter.provider,
            error_class=error.kind,
            redacted_message=f"{error.kind.value}{code}",  # their text may quote the prompt
            retry_count=retries,
            latency_ms=self._elapsed_ms(),
            request_id=self.id,
            gateway_key_id=setting.gateway_key_id,
            user_id=setting.user_id,
            team_id=setting.team_id,
        )

    def _context(self) -> RequestContext:
        setting = self.turn.core.setting
        known = RequestContext(
            routing=self.turn.decision.record(),
            latency_ms=self._elapsed_ms(),
            at=self._at,
            input_tokens=self.estimate,
            user_id=setting.user_id,
            team_id=setting.team_id,
            gateway_key_id=setting.gateway_key_id,
            tools=setting.tools,
            answer_adapter=self.adapted.answer_adapter if "adapted" in self.__dict__ else None,
        )
        if self.message is None:
            return known
        return replace(known, message_id=self.message.id, session_id=self.message.session_id)

    def _elapsed_ms(self) -> int:
        return max(0, int((self._clock() - self._began) * 1000))

    def _require_open(self) -> None:
        self.turn.require_open()
        if self.ended:
            raise TurnError(f"call {self.id} already has its answer")


def _says_something(message: Message) -> bool:
    """Whether there is more than the beginning of a text: that alone is not worth a second."""
    return any(
        type(block) not in (TextBlock, ThinkingBlock) or block.text  # type: ignore[union-attr]  # texts
        for block in message.content
    )
