"""Requests that ask for compaction, or bring back history that was compacted here: handled by
the gateway if the model's own service does not, and passed on unchanged if it does."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from interlingua.adapt.history.compacted import summarized
from interlingua.client.answer import add_usage
from interlingua.client.targets import COMPACTING, Target
from interlingua.dialects.front import Front
from interlingua.gateway.compaction import answers
from interlingua.gateway.compaction.clearing import cleared, note_edits, relay_compaction
from interlingua.gateway.compaction.forms import (
    BEGINNING,
    COMPACT_EDIT,
    FORMS,
    INSTRUCTING,
    OWN_ID,
    SHORTENED,
    Ask,
    Form,
    Sealed,
    SealError,
    Wire,
    edits_of,
    refused,
    tail_start,
)
from interlingua.gateway.compaction.history import Compactions
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.inbound import JSON, HttpAnswer, Inbound, parse_inbound, reserve
from interlingua.gateway.relay.outgoing import error_frames
from interlingua.gateway.relay.whole import relay
from interlingua.gateway.shared.fronts import (
    ANTHROPIC,
    RESPONSES,
    Match,
    Send,
    codec_of,
    error_body,
)
from interlingua.gateway.shared.redaction import redaction_of
from interlingua.gateway.shared.sizes import window
from interlingua.gateway.shared.state import Decision, Exchange, Refusal
from interlingua.model.blocks import SUMMARY
from interlingua.model.exchange import ErrorKind, ProviderError
from interlingua.model.losses import Report
from interlingua.model.metadata import Usage
from interlingua.model.reasons import because
from interlingua.profiles.estimate.estimator import estimate_input_tokens
from interlingua.sessions.compact import prompt

logger = logging.getLogger(__name__)

MARK = b'"compaction'
"""In every body with a compaction or a trigger; not in texts, whose quotes are escaped."""
_MEMBERS = frozenset({"compaction", "context_management"})
_OURS = re.compile(f'"(?:{BEGINNING}|{OWN_ID})'.encode())
HAS = {
    RESPONSES.dialect: frozenset({"openai", "azure"}),
    ANTHROPIC.dialect: frozenset({"anthropic", "azure", "bedrock", "vertex"}),
}
"""Providers that compact by themselves, by the dialect of the request."""
COMPACTED = b"x-interlingua-compacted"
"""The header with the number of entries that a summary has replaced."""
COMPACTION = b"x-interlingua-compaction"
"""The header with the id under which the full history is found."""
_MOST_CALLS = 16
"""Calls for one summary: a conversation that is larger than the model's window is read in parts."""
_HALVINGS = 3
"""Times that the parts are made smaller, where the model takes less than is known of it."""
_SHARE = 0.7
"""The share of the model's window that one of these parts may fill."""
_BYTES_PER_TOKEN = 3
_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class Client(Protocol):
    """The client that gets the answer."""

    send: Send


class Summary(NamedTuple):
    """A summary, and the work it took."""

    text: str
    usage: Usage
    model: str


class SummaryError(Exception):
    """The model gave no summary; `answer` is the reason in the client's dialect."""

    def __init__(self, answer: HttpAnswer, is_overflow: bool) -> None:
        super().__init__("no summary")
        self.answer = answer
        self.is_overflow = is_overflow


def has_compaction(target: Target, front: str) -> bool:
    """Whether the service behind compacts for clients of this API itself."""
    if target.dialect.name != front:
        return False
    # whichever provider serves it
    is_claude = front == ANTHROPIC.dialect and "claude" in target.name
    return is_claude or target.provider.key in HAS.get(front, ())


def has_twin(target: Target, form: Form, ask: Ask) -> bool:
    """Whether the service behind has the same in its own API. OpenAI's takes neither instructions
    nor a pause."""
    dialect = COMPACTING.get(target.provider.key)
    reaches = target.dialect_is_default or target.dialect.name == dialect
    plain = form.front is ANTHROPIC and not ask.pause and ask.instructions is None
    return plain and reaches and dialect in target.provider.dialects


class Compactor:
    def __init__(self, gateway: Gateway, compactions: Compactions) -> None:
        self._gateway = gateway
        self._compactions = compactions

    async def handle(self, exchange: Exchange, inbound: Inbound, client: Client) -> Inbound | None:
        """The request with its compactions applied; None if it is already answered."""
        form, action = FORMS.get(inbound.front.dialect), inbound.match.action
        asks = MARK in inbound.body or not _MEMBERS.isdisjoint(inbound.envelope.members)
        if form is None or not (asks or action == "compact"):
            return inbound
        native = has_compaction(inbound.route.targets[0], form.front.dialect)
        if native and action == "compact":
            native = redaction_of(self._gateway, exchange.arrival.principal) == "off"
        if native and not _OURS.search(inbound.body):
            if action != "compact":
                return inbound
            await _send(client.send, await relay_compaction(self._gateway, exchange, inbound))
            return None
        work = _Work(self._gateway, self._compactions, exchange, inbound, form)
        await work.open()
        if native and action != "compact":
            return work.as_native()
        ask = form.ask(work.as_sent, action)
        if ask is not None and ask.is_explicit:
            await self._deliver(exchange, inbound, work.answer(ask), client.send)
            return None
        work.clear()
        if ask is not None and has_twin(inbound.route.targets[0], form, ask):
            work.pass_on(ask)
        elif ask is not None and await work.shorten(ask) and ask.pause:
            await _send(client.send, work.paused(ask))
            return None
        client.send = work.sender(client.send)
        return work.rewritten()

    async def _deliver(
        self,
        exchange: Exchange,
        inbound: Inbound,
        making: Coroutine[Any, Any, HttpAnswer],
        send: Send,
    ) -> None:
        """Sends the answer; a client that waits for a stream gets signs of life until then."""
        limits, front = self._gateway.settings.limits, inbound.front
        streams = exchange.arrival.stream and inbound.match.action != "compact"
        task = asyncio.ensure_future(making)
        try:
            await asyncio.wait({task}, timeout=limits.first_event if streams else None)
            if task.done():
                await _send(send, task.result())
                return
            exchange.outcome.status = 200
            kind = (b"content-type", front.stream_type.encode())
            await send({"type": "http.response.start", "status": 200, "headers": [kind]})
            while not task.done():
                alive = {"type": "http.response.body", "body": front.keep_alive, "more_body": True}
                await send(alive)
                await asyncio.wait({task}, timeout=limits.keep_alive)
            await send({"type": "http.response.body", "body": _late(front, task)})
        finally:
            task.cancel()

    async def shorten(self, exchange: Exchange, inbound: Inbound, client: Client) -> Inbound | None:
        """The same request, compacted because the model does not take it; once."""
        form = SHORTENED.get(inbound.front.dialect)
        if form is None:
            return None
        work = _Work(self._gateway, self._compactions, exchange, inbound, form)
        await work.open()
        if not await work.shorten(Ask("threshold")):
            return None
        client.send = work.sender(client.send)
        shorter, route = work.rewritten(), inbound.route
        once = dataclasses.replace(route.settings, overflow=None)
        return shorter._replace(route=route._replace(settings=once))


class _Work:
    """One request."""

    def __init__(
        self,
        gateway: Gateway,
        compactions: Compactions,
        exchange: Exchange,
        inbound: Inbound,
        form: Form,
    ) -> None:
        self._gateway = gateway
        self._compactions = compactions
        self._exchange = exchange
        self._inbound = inbound
        self._form = form
        self._principal = exchange.arrival.principal
        self.as_sent: Wire = _decode(inbound.body)
        self._wire = form.plain(self.as_sent, inbound.match.action)
        self._entries = self._whole = form.entries(self._wire)
        self._changes: dict[str, Any] = {}
        """Members of the answer."""
        self._shown: Wire | None = None
        self._usage = Usage()
        self._replaced = 0
        self._packed = False
        self._edits: list[Wire] = []
        self._applied: list[Wire] = []
        self._passes_on = False
        self._id = ""

    # What the client brings back

    async def open(self) -> None:
        """Expands history that was compacted here, and the responses that the request continues."""
        seal = await self._compactions.seal()
        if self._form.front is RESPONSES and self._wire.get("previous_response_id") is not None:
            await self._expand()

        def opened(text: str) -> Sealed:
            try:
                return seal.open(text, self._principal.tenant)
            except SealError:
                raise self._unopened() from None

        self._whole = self._entries
        self._entries, self._packed = self._form.opened(self._entries, opened)
        self._wire = self._form.with_entries(self._wire, self._entries)

    def _unopened(self) -> Refusal:
        text = "the compaction cannot be opened: it was changed, or made for another key or store"
        if self._form.front is ANTHROPIC:
            return refused(ANTHROPIC.dialect, "compaction_signature_invalid", text)
        return refused(RESPONSES.dialect, "invalid_encrypted_content", text, "input")

    async def _expand(self) -> None:
        responses, id = self._gateway.responses, self._wire["previous_response_id"]
        if responses is None or not isinstance(id, str):
            return
        items = await responses.items(id, self._exchange.arrival)
        self._entries = [*items, *self._entries]
        self._changes["previous_response_id"] = id
        del self._wire["previous_response_id"]

    def clear(self) -> None:
        """Applies the edits that clear."""
        edits = edits_of(self._wire) if self._form.front is ANTHROPIC else []
        if not edits:
            return
        tokens = len(self._inbound.body) // _BYTES_PER_TOKEN
        self._entries, applied = cleared(self._entries, edits, tokens)
        self._edits, self._applied = edits, applied
        self._wire = self._form.with_entries(self._wire, self._entries)
        del self._wire["context_management"]
        self._changes["context_management"] = {"applied_edits": applied}

    def pass_on(self, ask: Ask) -> None:
        """Leaves the compaction to the service behind, at the client's threshold."""
        trigger = {"type": "input_tokens", "value": ask.threshold}
        self._wire["context_management"] = {"edits": [{"type": COMPACT_EDIT, "trigger": trigger}]}
        self._passes_on = True

    def as_native(self) -> Inbound:
        """The request for a service that compacts itself; history that another service encrypted
        is taken out by conversion, which reports it."""
        asked = {name: self.as_sent[name] for name in _MEMBERS & self.as_sent.keys()}
        last = self._form.entries(self.as_sent)[-1:]
        entries = [*self._entries, *[e for e in last if e.get("type") == "compaction_trigger"]]
        self._wire = self._form.with_entries({**self._wire, **asked}, entries)
        return self.rewritten()

    def rewritten(self) -> Inbound:
        inbound = self._inbound
        body = _encode(self._wire)
        match = inbound.match
        new = parse_inbound(self._gateway, self._exchange, match, body, inbound.headers)
        new = new._replace(ours=True) if self._packed else new
        if not self._is_changed:
            return new
        changes = self._changed()
        if new.changes is not None:
            changes.extend(new.changes)
        return new._replace(changes=changes)

    @property
    def _is_changed(self) -> bool:
        return bool(self._replaced or self._edits)

    def _changed(self) -> Report:
        """The changes of the conversation, for the report of losses."""
        report = Report(self._form.front.dialect)
        if self._replaced:
            reason = because("context_compacted", count=self._replaced)
            report.add("approximated", "$.messages", reason)
        note_edits(report, self._edits, self._applied)
        return report

    # A compaction on demand

    async def answer(self, ask: Ask) -> HttpAnswer:
        """The answer to a request for a compaction only."""
        arrival = self._exchange.arrival
        stream = arrival.stream and ask.kind != "compact"
        self._exchange.arrival = replace(arrival, action="compact", stream=stream)
        if not self._entries:
            text = "there is no conversation to compact"
            raise refused(self._form.front.dialect, "compaction_nothing_to_summarize", text)
        try:
            summary = await self._summarize(self._entries, ask.instructions)
        except SummaryError as error:
            self._exchange.outcome.status = error.answer.status
            self._exchange.outcome.error = ErrorKind.OTHER
            return error.answer
        await self._seal(ask, summary, self._entries, [], replaces=ask.kind == "summarize")
        return self._written(ask)

    def paused(self, ask: Ask) -> HttpAnswer:
        """An answer with the compaction alone, because the client continues with its next
        request."""
        arrival = self._exchange.arrival
        self._exchange.arrival = replace(arrival, action="compact")
        return self._written(ask)

    def _written(self, ask: Ask) -> HttpAnswer:
        assert self._shown is not None
        self._exchange.outcome.status = 200
        self._exchange.decision = Decision(self._exchange.decision.target, self._changed())
        arrival, id = self._exchange.arrival, f"{self._gateway.ids.new()}"
        model = arrival.client_model
        if self._form.front is ANTHROPIC:
            wire = answers.message_wire(f"msg_{id}", model, self._shown, self._usage)
            events = answers.message_events(wire)
        elif ask.kind == "compact":
            wire, events = self._compacted(f"resp_{id}"), []
        else:
            body = self._inbound.body
            wire = answers.response_wire(f"resp_{id}", self._shown, self._usage, body)
            wire |= self._changes
            events = answers.response_events(wire)
        headers = [JSON, *self._headers()]
        if not arrival.stream or ask.kind == "compact":
            return HttpAnswer(200, headers, _encode(wire))
        headers[0] = (b"content-type", self._form.front.stream_type.encode())
        return HttpAnswer(200, headers, answers.framed(events))

    def _compacted(self, id: str) -> Wire:
        """The user's messages, then the compaction."""
        users = [
            {"id": f"msg_{self._gateway.ids.new()}", "status": "completed", **entry}
            for entry in self._whole
            if self._form.is_question(entry)
        ]
        created = int(self._exchange.arrival.at.timestamp())
        wire = {"id": id, "object": "response.compaction", "created_at": created}
        usage = answers.openai_usage(self._usage)
        return {**wire, "output": [*map(_typed, users), self._shown], "usage": usage}

    # A compaction on the way

    async def shorten(self, ask: Ask) -> bool:
        """Whether the conversation was too long and is shorter now."""
        if not self._is_longer(ask.threshold):
            return False
        start = tail_start(self._form, self._entries)
        tail = self._entries[start:]
        if start == 0 or _size(tail) > _size(self._entries[:start]):
            start = max(start, self._form.last_round(self._entries))
            tail = [*tail[:1], *self._entries[start:]] if start < len(self._entries) else tail[:1]
        if len(tail) >= len(self._entries):
            return False
        before = self._entries[: max(start, 1)]
        try:
            summary = await self._summarize(before, ask.instructions)
        except SummaryError:
            logger.warning("compaction_failed", extra={"request": self._exchange.arrival.id})
            return False
        instructions = [each for each in before if each.get("role") in INSTRUCTING]
        if self._form.front.dialect in FORMS:
            await self._seal(ask, summary, self._entries, tail, replaces=True)
        self._replaced = len(self._entries) - len(tail) - len(instructions)
        message = self._form.message(SUMMARY.format(summary.text))
        self._entries = [*instructions, message, *tail]
        self._wire = self._form.with_entries(self._wire, self._entries)
        return True

    def _is_longer(self, threshold: int) -> bool:
        body = _encode(self._wire)
        if len(body) <= threshold:
            return False  # a token has at least one byte
        request = codec_of(self._form.front.dialect).read_request(body)
        model = self._inbound.route.targets[0].model
        options, tools = request.options, request.tools
        return estimate_input_tokens(request.messages, tools, model, options) >= threshold

    def sender(self, send: Send) -> Send:
        """Sends an answer with the edits that were applied to the conversation."""
        prefixed, headers = send, self._headers() if self._replaced else []
        dialect, changes = self._form.front.dialect, self._changes
        if self._shown is not None or changes or self._passes_on:
            prefixed = answers.PrefixedSend(
                send, dialect, self._shown, self._usage, changes, self._seal_packed
            )
        if prefixed is send and not headers:
            return send

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *headers]}
            await prefixed(message)

        return with_headers

    # The summary

    async def _seal(
        self, ask: Ask, summary: Summary, entries: Sequence[Wire], tail: list[Wire], replaces: bool
    ) -> None:
        """Creates the client's compaction, after storing the full history."""
        dialect, id = self._form.front.dialect, f"{OWN_ID}{self._gateway.ids.new()}"
        self._id = id
        sealed = Sealed(id, dialect, summary.text, tail, replaces, summary.model)
        await self._compactions.keep(sealed, entries, self._principal)
        text = (await self._compactions.seal()).close(sealed, self._principal.tenant)
        self._shown = answers.shown_as(ask, dialect, id, summary.text, text)
        self._replaced = len(entries) - len(tail)

    async def _seal_packed(self, block: Wire) -> None:
        """The same for history that the service behind has encrypted, with a summary of ours that
        the client, and models of other vendors, can read."""
        try:
            summary: Summary | None = await self._summarize(self._entries, None)
        except (SummaryError, Refusal):
            summary = None
        packed, text = block["encrypted_content"], block["content"]
        if summary is not None:
            packed, text = summarized(packed, summary.text), summary.text
        dialect, id = self._form.front.dialect, f"{OWN_ID}{self._gateway.ids.new()}"
        sealed = Sealed(id, dialect, text, packed=packed)
        await self._compactions.keep(sealed, self._entries, self._principal)
        closed = (await self._compactions.seal()).close(sealed, self._principal.tenant)
        block["content"], block["encrypted_content"] = text, closed

    def _headers(self) -> list[tuple[bytes, bytes]]:
        id = [(COMPACTION, self._id.encode())] if self._id else []
        return [(COMPACTED, b"%d" % self._replaced), *id]

    async def _summarize(self, entries: Sequence[Wire], instructions: str | None) -> Summary:
        """Asks the model for a summary, in parts if the conversation is larger than its window."""
        settings = self._gateway.settings.compaction
        words = instructions or prompt()
        model = self._inbound.route.targets[0].model
        most = int((window(model) - settings.summary_tokens) * _SHARE) * _BYTES_PER_TOKEN
        for _ in range(_HALVINGS):
            try:
                return await self._in_parts(entries, words, max(most, 4096))
            except SummaryError as error:
                most = min(most, _size(entries)) // 2
                if not error.is_overflow or most < 4096:
                    raise
        return await self._in_parts(entries, words, most)

    async def _in_parts(self, entries: Sequence[Wire], words: str, most: int) -> Summary:
        summary: Summary | None = None
        for part in _parts(entries, most):
            if summary is not None:
                part = [self._form.message(SUMMARY.format(summary.text)), *part]
            summary = await self._ask(part, words)
        assert summary is not None
        return summary

    async def _ask(self, entries: Sequence[Wire], words: str) -> Summary:
        gateway, settings = self._gateway, self._gateway.settings.compaction
        form, outer = self._form, self._exchange.arrival
        wire = form.summary_request(self._wire, entries, words, settings.summary_tokens)
        if settings.model is not None:
            wire["model"] = settings.model
        exchange = Exchange(
            replace(outer, id=f"req_{gateway.ids.new()}", action="summarize", stream=False)
        )
        match = Match(form.front, "generate", self._inbound.match.model, False)
        try:
            inbound = parse_inbound(gateway, exchange, match, _encode(wire), self._inbound.headers)
            inbound = inbound._replace(ours=self._packed or inbound.ours)
            if self._principal.capped:
                inbound = await reserve(gateway, exchange, inbound)
            answer = await relay(gateway, exchange, inbound)
            is_overflow = exchange.outcome.error is ErrorKind.CONTEXT_OVERFLOW
            if answer.status == 200:
                exchange.outcome.error = None  # a summary that was cut off is paid for all the same
            if self._principal.capped:
                await gateway.caps.settle(exchange)
        except Refusal as refusal:
            exchange.outcome.fail(refusal.status, refusal.error.kind, refusal.error.code)
            raise
        except BaseException:
            exchange.outcome.fail(499, ErrorKind.CANCELLED)
            if self._principal.capped:
                gateway.caps.settle_soon(exchange)
            raise
        finally:
            gateway.trace.finished(exchange)
        return self._heard(answer, inbound, is_overflow)

    def _heard(self, answer: HttpAnswer, inbound: Inbound, is_overflow: bool) -> Summary:
        if answer.status == 200 and is_overflow:  # the summary is cut
            message = "the model's context window is too small for the summary"
            error = ProviderError(ErrorKind.SERVER_ERROR, message, "compaction_unavailable")
            answer = HttpAnswer(502, [JSON], error_body(self._form.front, error))
        if answer.status != 200:
            raise SummaryError(answer, is_overflow)
        response = codec_of(self._form.front.dialect).read_response(answer.body)
        text, usage = response.message.text.strip(), response.message.metadata.usage or Usage()
        self._usage = add_usage(self._usage, usage) or usage
        if not text:
            message = "the model wrote no summary; the conversation is unchanged, try again"
            raise Refusal(502, ErrorKind.SERVER_ERROR, message, "compaction_unavailable")
        return Summary(text, usage, inbound.route.targets[0].model)


def _late(front: Front, task: asyncio.Future[HttpAnswer]) -> bytes:
    """The rest of a stream that has begun: the answer, or the error in its place."""
    try:
        answer = task.result()
    except Refusal as refusal:
        return error_frames(front, refusal.error)
    if answer.status == 200:
        return answer.body
    error = codec_of(front.dialect).read_response(answer.body).error
    return error_frames(front, error or ProviderError(ErrorKind.OTHER, "no summary"))


def _typed(entry: Wire) -> Wire:
    """A message of the user as items of an output have it."""
    content = entry.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    return {**entry, "type": "message", "content": content}


def _parts(entries: Sequence[Wire], most: int) -> list[list[Wire]]:
    """The entries in runs of at most so many bytes, or in as many as are allowed."""
    sizes = [len(_encode(entry)) for entry in entries]
    most = max(most, -(-sum(sizes) // _MOST_CALLS))
    parts: list[list[Wire]] = [[]]
    size = 0
    for entry, length in zip(entries, sizes, strict=True):
        if parts[-1] and size + length > most and len(parts) < _MOST_CALLS:
            parts.append([])
            size = 0
        parts[-1].append(entry)
        size += length
    return parts


def _size(entries: Sequence[Wire]) -> int:
    return len(_encode(entries))


async def _send(send: Send, answer: HttpAnswer) -> None:
    length = (b"content-length", b"%d" % len(answer.body))
    start: Mapping[str, Any] = {"status": answer.status, "headers": [*answer.headers, length]}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": answer.body})
