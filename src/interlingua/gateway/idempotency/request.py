"""One request with an `Idempotency-Key`, on its way: answered again, or recorded."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import MutableMapping
from typing import Any

from interlingua.gateway.idempotency.keys import IdempotencyKeys, Landed, not_stored, refusal
from interlingua.gateway.idempotency.replies import Recording, Reply, is_whole_stream
from interlingua.gateway.shared.fronts import Send, front_of
from interlingua.gateway.shared.state import Exchange
from interlingua.model.ids import Ulids
from interlingua.store.idempotency import Claim

KEY = b"idempotency-key"
LONGEST_KEY = 255
RECORDING = 64 * 1024 * 1024
"""Bytes of answers that are under way, all together."""
LONGEST = 2.0
"""Seconds that the end of an answer waits until it is stored."""
PIECE = 64 * 1024
_LARGE = 256 * 1024
"""Bytes that are worked on in another thread."""
_IDS = Ulids()


class IdempotentRequest:
    """One request with a key: `begin`, then `send` in place of the client's own, then `end`."""

    def __init__(
        self,
        keys: IdempotencyKeys,
        exchange: Exchange,
        path: str,
        key: bytes,
        body: bytes,
        send: Send,
    ) -> None:
        self.answered = False
        """Whether the client has its answer: nothing else is to be done."""
        self._keys = keys
        self._exchange = exchange
        self._request = (path, key, body)
        self._send = send
        self._claim: Claim | None = None
        self._recording = Recording(keys.longest)

    async def begin(self) -> None:
        """Give the answer that was given before, if there is one, and wait for one that is under
        way. `Refusal` where the key was used for another request, or the answer cannot be had."""
        exchange, (path, key, body) = self._exchange, self._request
        if not 0 < len(key) <= LONGEST_KEY or not all(32 < byte < 127 for byte in key):
            text = f"an idempotency key is 1 to {LONGEST_KEY} visible ASCII characters"
            raise refusal(exchange.arrival, 400, text, "idempotency_key_invalid")
        self._request = ("", b"", b"")
        tenant = exchange.arrival.principal.tenant or ""
        if len(body) > _LARGE:
            claim = await asyncio.to_thread(_claim, tenant, path, key, body)
        else:
            claim = _claim(tenant, path, key, body)
        reply = await self._keys.take(exchange.arrival, claim)
        if reply is None:
            self._claim = claim
            return
        if reply.body is None:
            raise not_stored(exchange.arrival)
        self.answered = True
        await self._replay(reply, reply.body)

    async def _replay(self, reply: Reply, body: bytes) -> None:
        arrival, outcome = self._exchange.arrival, self._exchange.outcome
        send = self._send
        outcome.status, outcome.replayed = reply.status, True
        own = [(b"x-request-id", arrival.id.encode())]
        name = front_of(arrival.front).request_id
        if name is not None:
            own.append((name, arrival.id.encode()))
        headers = reply.headers_again(own)
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        for at in range(0, len(body), PIECE):
            piece = body[at : at + PIECE]
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Sends to the client and records. The end is sent once the answer is stored: a client that
        has seen it gets the same answer again even if this process dies."""
        keys, recording = self._keys, self._recording
        keys.recording += recording.take(message)
        if keys.recording > RECORDING:
            keys.recording += recording.drop()
        if message["type"] != "http.response.start" and (
            recording.is_whole or self._exchange.outcome.is_last
        ):
            ending = self.end()
            if ending is not None:
                await asyncio.wait({ending}, timeout=LONGEST)
        await self._send(message)

    def end(self) -> asyncio.Task[None] | None:
        """Whatever became of it; gives what is still to be done, if anything is."""
        claim, self._claim = self._claim, None
        if claim is None:
            return None
        return self._keys.work(self._end(claim, self._keys.over(claim)))

    async def _end(self, claim: Claim, waiting: Landed) -> None:
        """Stores a complete, successful answer; any other goes to those that waited for it, unless
        it is a refusal of our own."""
        arrival, outcome = self._exchange.arrival, self._exchange.outcome
        recording = self._recording
        reply: Reply | None = None
        good = False
        try:
            if (recording.is_whole or outcome.is_last) and outcome.status != 499:
                reply = Reply(
                    claim.print,
                    arrival.id,
                    recording.status,
                    recording.headers,
                    recording.body(),
                    arrival.stream and recording.status == 200,
                )
                good = recording.status == 200 and outcome.error is None
                good = good and await _is_whole(arrival.front, reply)
        finally:
            self._keys.recording += recording.drop()
            waiting.set_result(reply if good or outcome.attempts else None)
            if good and reply is not None:
                await self._keys.keep(arrival, claim, reply)
            else:
                await self._keys.give_up(claim)


async def _is_whole(dialect: str, reply: Reply) -> bool:
    if not reply.is_stream or reply.body is None:
        return True
    if len(reply.body) < _LARGE:
        return is_whole_stream(dialect, reply.body)
    return await asyncio.to_thread(is_whole_stream, dialect, reply.body)


def _claim(tenant: str, path: str, key: bytes, body: bytes) -> Claim:
    """A tenant's keys never lead to another's row, and without the key the request cannot be
    guessed from the row."""
    id = _digest(tenant.encode("utf-8", "surrogatepass"), key)
    request_digest = _digest(tenant.encode("utf-8", "surrogatepass"), key, path.encode(), body)
    return Claim(id, tenant, request_digest, _IDS.new())


def _digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d:" % len(part))
        whole.update(part)
    return whole.hexdigest()
