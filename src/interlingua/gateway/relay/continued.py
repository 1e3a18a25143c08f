"""Streams that go on after they broke off, on routes with `on_break = "continue"`: on the same
model, then on the others of the route, each once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from msgspec.structs import replace

from interlingua.client.answer import Attempt
from interlingua.client.attempt import OpenReply
from interlingua.client.errors import CallError
from interlingua.client.retry import RETRYABLE, Clock
from interlingua.client.targets import Prepared, Target
from interlingua.client.transport import TransportError
from interlingua.dialects.front import Front
from interlingua.errors import InterlinguaError, ReadError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.keys.tariffs import BYTES_A_TOKEN
from interlingua.gateway.relay.inbound import Inbound, read_request, shortened
from interlingua.gateway.relay.joined import (
    CallSeam,
    CutCall,
    JoinedConverter,
    SeamError,
    Sent,
    call_instruction,
)
from interlingua.gateway.relay.outgoing import TranslatedStream, shown
from interlingua.gateway.relay.replaced import replacing, tokens_of
from interlingua.gateway.relay.sending import pooled, prepare, provider_in, send
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import ErrorKind, ProviderError, Request, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

logger = logging.getLogger(__name__)

CONTINUE = "continue"
"""The word for `RouteSettings.on_break`."""
NOT_PROVED = ProviderError(
    ErrorKind.NETWORK,
    "the answer broke off, and the next attempt did not continue where it ended",
    "seam_not_proved",
)
_AGAIN = (4, 16)
"""Characters by which an answer that begins anew is known, at least and at most."""
_SHORTEST, _LONGEST = 40, 4000
"""Characters of the end of a text by which the next attempt shows that it goes on there."""


@cache
def instruction() -> str:
    return files(__package__).joinpath("continue.md").read_text("utf-8").strip()


class Tail(NamedTuple):
    """How the rest of an answer is asked for."""

    request: Request
    starts: tuple[str, ...]
    """What the rest begins with, one of these, so that the seam is proved."""
    again: str = ""
    """The text with which it must not begin: the beginning of the answer."""
    call: CallSeam | None = None
    """The call that it completes."""


def call_tail(request: Request, sent: Sent, call: CutCall) -> Tail | None:
    """How the rest of a call's arguments is asked for; None where nothing could be proved."""
    options, schema = request.options, call.schema(request)
    anchor = anchor_of(call.arguments)
    if schema is None or anchor is None or (options.n or 1) > 1 or options.response_format:
        return None
    texts = [text for text in sent.texts if text]
    asked = _with_answer(request, texts) if texts else request
    start = call.start
    words = call_instruction().replace("{name}", start.name).replace("{anchor}", anchor)
    words = words.replace("{arguments}", call.arguments)
    if options.tool_choice is not None and options.tool_choice.mode == "any":
        asked = asked.replace(options=options.replace(tool_choice=ToolChoice("auto")))
    asked = asked.replace(messages=(*asked.messages, Message.user(words)))
    return Tail(asked, (), call=CallSeam(call, anchor, schema))


def tail_of(request: Request, sent: Sent, target: Target) -> Tail | None:
    """None where no seam could be proved."""
    if (request.options.n or 1) > 1:
        return None
    texts = [text for text in sent.texts if text]
    if not texts:
        return Tail(request, ("",))
    whole = texts if len(texts) == 1 else []
    if request.options.response_format is not None:
        # constrained output cannot begin in the middle: it has to come out the same once more
        return Tail(request, tuple(whole)) if whole else None
    blank = "".join(texts)
    if blank.isspace():  # no model takes that as its own: an answer from the beginning may follow
        return Tail(request, (blank, ""))
    used = sum([len(text.encode()) for text in texts]) // BYTES_A_TOKEN
    profile = target.profile
    if profile is not None and profile.turns.prefill == "yes" and request.options.reasoning is None:
        last = texts[-1].rstrip()  # space at its end is not taken
        before = [*texts[:-1], last] if last else texts[:-1]
        space = texts[-1][len(last) :]
        if before and last and len(texts[0]) >= _AGAIN[0]:
            again = texts[0][: _AGAIN[1]]
            return Tail(_shortened(_with_answer(request, before), used), (space,), again)
    anchor = anchor_of(texts[-1])
    if anchor is None:
        return None
    is_short = len(anchor.strip()) < _AGAIN[0]
    if texts[1:] and (is_short or "".join(texts).startswith(anchor)):
        return None  # a beginning could not be distinguished from a continuation
    asked = _with_answer(request, texts)
    words = Message.user(instruction().format(anchor))
    asked = asked.replace(messages=(*asked.messages, words))
    most = used - len(anchor.encode()) // BYTES_A_TOKEN - 1
    return Tail(_shortened(asked, most), tuple(dict.fromkeys([anchor, *whole])))


def anchor_of(text: str) -> str | None:
    """The end of a text, from the beginning of a word on, which is nowhere else in it."""
    size = _SHORTEST
    while size <= _LONGEST:
        at = len(text) - size
        while at > 0 and not (text[at - 1].isspace() and not text[at].isspace()):
            at -= 1
        anchor = text[max(at, 0) :]
        if text.find(anchor) == len(text) - len(anchor):
            return anchor if len(anchor) <= _LONGEST else None
        size *= 2
    return None


def _with_answer(request: Request, texts: list[str]) -> Request:
    """The request with the beginning of its answer."""
    messages, blocks = request.messages, tuple([TextBlock(text) for text in texts])
    last = messages[-1] if messages else None
    if last is not None and last.role is Role.ASSISTANT:  # the client has begun it
        joined = last.replace(content=(*last.content, *blocks))
        return request.replace(messages=(*messages[:-1], joined))
    return request.replace(messages=(*messages, Message.assistant(blocks)))


def _shortened(request: Request, used: int) -> Request:
    """With room for as many tokens as the whole answer may still have."""
    most = request.options.max_output_tokens
    if most is None or used <= 0:
        return request
    return request.replace(options=request.options.replace(max_output_tokens=max(most - used, 1)))


class ContinuedStream(TranslatedStream):
    """A stream of any dialect that may break off and go on."""

    _converter: JoinedConverter

    def __init__(
        self,
        exchange: Exchange,
        inbound: Inbound,
        opened: OpenReply,
        front: Front,
        tells_usage: bool,
    ) -> None:
        arrival, outcome, prepared = exchange.arrival, exchange.outcome, opened.prepared
        body, secrets = inbound.body, opened.secrets
        super().__init__(arrival, outcome, prepared, front, tells_usage, body, secrets)
        self._inbound = inbound
        self.opened = opened
        self._left: list[str] | None = None
        """The labels of the targets that may still be asked to go on."""
        self._asked: set[str] = set()
        self._may_complete = True
        """Whether no call was completed yet, or was tried to be."""

    def _converter_of(self, prepared: Prepared, front: Front) -> JoinedConverter:
        source, back = prepared.target.dialect.name, prepared.answer_adapter
        return JoinedConverter(source, front.dialect, self._watch, back)

    @property
    def broke(self) -> ProviderError | None:
        """Why the stream broke off; None while it goes on, or where the answer was whole."""
        return None if self.is_whole else self._converter.broke

    def feed(self, data: bytes) -> bytes:
        return self._converted(self._converter.feed, data)

    def close(self) -> bytes:
        return self._converted(self._converter.close)

    def fail(self, error: CallError) -> bytes:
        out = self._converted(self._converter.end)
        if self.broke is not None:
            self._converter.broke = ProviderError(error.kind, error.problem)
        return out

    def _converted(self, step: Callable[..., bytes], *data: bytes) -> bytes:
        try:
            out = step(*data)
        except SeamError:
            self.is_whole, self.complete = False, None
            self._converter.broke = NOT_PROVED
            return b""
        if self._converter.joined is not None and self.complete is not None:
            self.complete = self._converter.joined
        return out if self._filler is None else self._filler.frames(out)

    def end(self) -> None:
        super().end()
        self.opened.reply.close()

    async def more(self, gateway: Gateway, exchange: Exchange) -> bytes | None:
        """The next bytes for the client, perhaps none yet; None at the end."""
        if self.broke is not None:
            return await self._after_break(gateway, exchange, self.broke)
        chunk = b""
        try:
            chunk = await self.opened.reply.chunk()
            out = self.feed(chunk) if chunk else self.close()
        except (TransportError, ReadError) as error:
            out = self.close() if self.is_whole else self.fail(self.opened.failure(error))
        return None if not (chunk or out or self.broke) else out

    async def _after_break(
        self, gateway: Gateway, exchange: Exchange, error: ProviderError
    ) -> bytes | None:
        self.opened.reply.close()
        tries = exchange.outcome.tries
        if tries and tries[-1].kind is None:
            broken = replace(tries[-1], kind=error.kind)
            exchange.outcome.tries = (*tries[:-1], broken)
        sent = self._converter.sent() if error.kind in RETRYABLE else None
        if sent is not None and await self._go_on(gateway, exchange, sent, error):
            return b""
        exchange.outcome.error = error.kind
        out = self._converter.give_up(shown(error, self._secrets))
        return out if self._filler is None else self._filler.frames(out)

    async def _go_on(
        self, gateway: Gateway, exchange: Exchange, sent: Sent, error: ProviderError
    ) -> bool:
        """Whether another attempt is under way; each target is asked once."""
        inbound, outcome = self._inbound, exchange.outcome
        request = inbound.request or read_request(inbound.match, inbound.body)
        self._hear(self._converter.message())
        if outcome.leave_pool is not None:
            outcome.leave_pool(tokens_of(outcome.usage))
        booked: Inbound | None = None
        for label, tail in self._tails(exchange, request, sent):
            if not self._may_ask(gateway, provider_in(label)):
                continue
            asked = inbound._replace(request=tail.request, ours=True, conversation=None)
            if inbound.shortened_to is not None:  # the limit is ours, and may be a lower one
                asked = asked._replace(shortens=True)
            try:
                if booked is None:
                    booked = asked = await replacing(gateway, exchange, asked, error.kind)
                elif booked.shortened_to is not None:
                    asked = shortened(asked, booked.shortened_to)
                if label not in booked.route.models:  # the budget of this model is spent
                    continue
                await self._open(gateway, exchange, label, tail, asked)
            except Refusal as refused:
                why = {"request": exchange.arrival.id, "why": refused.error.code}
                logger.info("stream_not_continued", extra=why)
                return False
            except InterlinguaError as failed:
                kind = failed.kind if isinstance(failed, CallError) else ErrorKind.OTHER
                outcome.tries = (*outcome.tries, Attempt(label, kind))
                continue
            outcome.tries = (*outcome.tries, Attempt(label))
            return True
        return False

    def _tails(
        self, exchange: Exchange, request: Request, sent: Sent
    ) -> Iterator[tuple[str, Tail]]:
        """Whom to ask for what: for the rest of a call, once, and then for the rest of the answer
        by each target."""
        call = self._converter.cut_call() if self._may_complete else None
        tail = None if call is None else call_tail(request, sent, call)
        if tail is not None:
            self._may_complete, first = False, self._first_label(exchange)
            self._asked.add(provider_in(first))
            yield first, tail
        for label in self._labels(exchange):
            tail = tail_of(request, sent, self._inbound.route.target(label))
            if tail is not None:
                yield label, tail

    def _first_label(self, exchange: Exchange) -> str:
        target = exchange.decision.target
        return self._inbound.route.models[0] if target is None else target.label

    def _labels(self, exchange: Exchange) -> Iterator[str]:
        """The targets that were not asked to go on yet: that of the first attempt, then others."""
        if self._left is None:
            first, models = self._first_label(exchange), self._inbound.route.models
            self._asked.add(provider_in(first))
            self._left = [first, *[label for label in models if label != first]]
        while self._left:
            yield self._left.pop(0)

    def _may_ask(self, gateway: Gateway, provider: str) -> bool:
        """Whether the budget for retries allows it; another provider is not asked again."""
        if provider in self._asked:
            return gateway.budget.retry(provider)
        self._asked.add(provider)
        gateway.budget.first(provider)
        return True

    async def _open(
        self, gateway: Gateway, exchange: Exchange, label: str, tail: Tail, asked: Inbound
    ) -> None:
        target, before = asked.route.target(label), exchange.decision

        async def once(label: str, clock: Clock) -> OpenReply:
            prepared, _ = await prepare(gateway, exchange, asked, target, {})
            return await send(gateway, exchange, asked, prepared, clock, True, [])

        route, size = asked.route, len(asked.body)
        pool = route.pool
        attempt = once if pool is None else pooled(gateway, exchange, route, pool, once, size)
        opened = await attempt(label, Clock(None))
        exchange.outcome.upstream_id = opened.request_id
        prepared, self.opened = opened.prepared, opened
        self._report = prepared.report
        if before.report is not None and before.target is not target:
            self._report.extend(before.report)
        reason = because("stream_continued", by=prepared.target.model)
        self._report.add("approximated", "$.message", reason)
        exchange.decision = Decision(prepared.target, self._report)
        source, back = prepared.target.dialect.name, prepared.answer_adapter
        if tail.call is not None:
            self._converter.complete(source, tail.call, back)
        else:
            self._converter.go_on(source, tail.starts, tail.again, back)
        self.seams += 1
        logger.info("stream_continued", extra={"request": exchange.arrival.id, "model": label})
