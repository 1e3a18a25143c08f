"""Stores data that the client's dialect cannot carry, and restores it in later requests.

It is in the store, so that a restart or another machine makes no difference: under the tenant, the
issuer and the model, and found by a tool call's id as the client has it, or by the words of the
turn and of the question before it. It expires, its size is bounded, and only its issuer and its
tenant ever get it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from interlingua.adapt.remembered import Conversation, History, same_first
from interlingua.client.targets import Target
from interlingua.gateway.memory.signatures import (
    Turn,
    asked_before,
    calls_in,
    client_ids,
    digest,
    merged,
    turn_of,
    words_of,
)
from interlingua.gateway.shared.fronts import codec_of
from interlingua.gateway.shared.state import Arrival, Recall
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.ids import is_synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.profiles.capabilities import expected_capabilities
from interlingua.store.base import AsyncStore
from interlingua.store.errors import StoreError
from interlingua.store.idempotency import MemoryRow, MemoryScope

logger = logging.getLogger(__name__)

HOURS = 24.0
MOST = 64 * 1024 * 1024
"""Bytes for one tenant."""
MOST_OF_ALL = 1024 * 1024 * 1024
LONGEST = 4 * 1024 * 1024
"""Bytes of one turn; a longer one is not stored."""
RECENT = 1000
RECENT_BYTES = 16 * 1024 * 1024
TIDY_EVERY = 256
"""Turns stored between two sweeps."""
TURNS = 1000
"""The number of turns, from the end of a history, that are looked up."""
REFRESH = 600.0
"""Seconds after which all turns of a conversation are looked for again."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Turn).decode


class _Keys(NamedTuple):
    """The keys of a turn: its calls, or its text if there are no ids."""

    calls: tuple[str, ...]
    turn: str | None


class Memory:
    """The memory in a store."""

    def __init__(
        self,
        store: AsyncStore,
        *,
        hours: float = HOURS,
        most: int = MOST,
        most_of_all: int = MOST_OF_ALL,
    ) -> None:
        self._store = store
        self._seconds = hours * 3600
        self._most = most
        self._most_of_all = most_of_all
        self._recent = Recent(self._seconds)
        self._unswept = 0
        self._tenants: set[str] = set()
        self._tidying: asyncio.Task[None] | None = None

    # The way up

    async def put_back(
        self,
        request: Request,
        arrival: Arrival,
        target: Target,
        conversation: Conversation | None = None,
    ) -> Recall:
        """The request with everything that its issuer requires of earlier turns. When the store
        is away, the request is passed on unchanged: missing parts are then in the report of
        losses. Of a `conversation`, only turns that are new are looked up."""
        messages, issuer = request.messages, _issuer(arrival.front, target)
        if issuer is None:
            return Recall(request, None, messages, conversation)
        who = arrival.principal
        place = MemoryScope(who.account_id or who.key_id or "", issuer, target.model)
        raw = _asked_for(target)
        if raw is not None:
            request = request.replace(raw={**(request.raw or {}), target.dialect.name: dict(raw)})
        for message in messages:
            if message.role is Role.ASSISTANT:
                break
        else:
            return Recall(request, place, messages, conversation)
        before = None if conversation is None else conversation.recalled
        looked_up = LookedUp.after(before, place, messages)
        is_complete = await self._look_up(looked_up, arrival, target.dialect.name)
        if conversation is not None and is_complete:
            conversation.recalled = looked_up
        if not looked_up.whole:
            return Recall(request, place, messages, conversation)
        changed = list(messages)
        for index, message in looked_up.whole.items():
            changed[index] = message
        history = looked_up.history
        history.grow(tuple(changed))
        return Recall(request.replace(messages=history.messages), place, messages, history)

    async def _look_up(self, looked_up: LookedUp, arrival: Arrival, dialect: str) -> bool:
        """Finds turns that have lost something; False where the store is away."""
        optional_ids, messages = codec_of(arrival.front).traits.optional_ids, looked_up.messages
        lookups = _lookups(messages, looked_up.place, optional_ids, looked_up.known)
        try:
            found = await self._find(looked_up.place, lookups)
        except StoreError as error:
            logger.error("memory_unreadable", extra={"request": arrival.id, "why": error.reason})
            return False
        for index, turn in found.items():
            message = merged(messages[index], turn, dialect)
            if message is not None:
                looked_up.whole[index] = message
        return True

    async def _find(self, place: MemoryScope, lookups: dict[int, _Keys]) -> dict[int, Turn]:
        found = {index: self._recent.get(keys) for index, keys in lookups.items()}
        missing = [keys for index, keys in lookups.items() if found[index] is None]
        if missing:
            calls = [key for keys in missing for key in keys.calls]
            turns = [keys.turn for keys in missing if keys.turn is not None]
            rows = await self._store.remembered(place, calls, turns)
            by_call = {row.call_key: row.turn for row in rows if row.call_key is not None}
            by_turn = {row.turn_key: row.turn for row in rows}
            for index, keys in lookups.items():
                if found[index] is None:
                    data = next((by_call[key] for key in keys.calls if key in by_call), None)
                    if data is None and keys.turn is not None:
                        data = by_turn.get(keys.turn)
                    found[index] = None if data is None else _decode(data)
        return {index: turn for index, turn in found.items() if turn is not None}

    # The way down

    async def keep(self, response: Response, arrival: Arrival, recall: Recall) -> None:
        """Stores the parts of an answer that the client's dialect cannot carry. They are durable
        when this returns; if storing fails, the client still gets its answer."""
        place = recall.place
        if place is None or _is_plain(response):
            return
        rows = self._rows(response, arrival, recall.prompt, place)
        if not rows:
            return
        try:
            await self._store.remember(place, rows, self._seconds)
        except StoreError as error:
            logger.error("turn_not_stored", extra={"request": arrival.id, "why": error.reason})
            return
        self._tenants.add(place.tenant)
        self._unswept += len(rows)
        if self._unswept >= TIDY_EVERY and (self._tidying is None or self._tidying.done()):
            self._tidying = asyncio.ensure_future(self.tidy())

    def _rows(
        self, response: Response, arrival: Arrival, prompt: tuple[Message, ...], place: MemoryScope
    ) -> list[MemoryRow]:
        front = codec_of(arrival.front)
        rows: list[MemoryRow] = []
        for message in (response.message, *response.alternatives):
            turn = turn_of(message, front)
            if turn is None:
                continue
            data = _encode(turn)
            if len(data) > LONGEST:
                logger.warning("turn_too_long", extra={"request": arrival.id})
                continue
            calls = [call_key(place, id) for id in client_ids(message, front)]
            before = asked_before(prompt, len(prompt))
            words = turn_key(place, before, message)
            rows.append(MemoryRow(calls[0] if calls else None, words, data))
            self._recent.put([*calls[:1], words], turn, len(data))
        return rows

    async def tidy(self) -> None:
        """Delete expired entries, and the oldest if there are too many."""
        tenants, self._tenants, self._unswept = self._tenants, set(), 0
        try:
            await self._store.forget_remembered(sorted(tenants), self._most, self._most_of_all)
        except StoreError as error:
            self._tenants |= tenants
            logger.error("memory_sweep_failed", extra={"why": error.reason})

    async def close(self) -> None:
        if self._tidying is not None:
            await asyncio.wait({self._tidying}, timeout=5)


class LookedUp:
    """The messages of a conversation whose turns were looked up, and the restored ones. A turn is
    stored before its client has it, so a missing one never appears later."""

    def __init__(self, place: MemoryScope, messages: tuple[Message, ...]) -> None:
        self.place, self.messages = place, messages
        self.known = 0
        """The number of messages that need no lookup."""
        self.whole: dict[int, Message] = {}
        self.history = History()
        """The record of the messages, including restored ones."""
        self.until = monotonic() + REFRESH

    @classmethod
    def after(
        cls, before: LookedUp | None, place: MemoryScope, messages: tuple[Message, ...]
    ) -> LookedUp:
        """For a request whose conversation had another before it; results are reused for
        `REFRESH` seconds at most, since they expire in the store."""
        new = cls(place, messages)
        if before is not None and before.place == place and monotonic() < before.until:
            known = new.known = same_first(messages, before.messages)
            new.whole = {index: each for index, each in before.whole.items() if index < known}
            new.history, new.until = before.history, before.until
        return new


def _is_plain(response: Response) -> bool:
    """Whether an answer is nothing but text, which every client carries."""
    if response.alternatives:
        return False
    for block in response.message.content:
        if type(block) is not TextBlock or block.signature is not None:
            return False
    return True


class Recent:
    """The last turns that this process stored, to avoid reading them from the store."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._turns: OrderedDict[str, tuple[float, Turn, int]] = OrderedDict()
        self._size = 0

    def put(self, keys: list[str], turn: Turn, size: int) -> None:
        until = asyncio.get_running_loop().time() + self._seconds
        for key in keys:
            old = self._turns.pop(key, None)
            self._size += size - (old[2] if old is not None else 0)
            self._turns[key] = (until, turn, size)
        while len(self._turns) > RECENT or self._size > RECENT_BYTES:
            self._size -= self._turns.popitem(last=False)[1][2]

    def get(self, keys: _Keys) -> Turn | None:
        for key in (*keys.calls, keys.turn):
            found = None if key is None else self._turns.get(key)
            if found is not None and found[0] > asyncio.get_running_loop().time():
                return found[1]
        return None


@lru_cache(maxsize=1000)
def _asked_for(target: Target) -> Mapping[str, Any] | None:
    """What a request must ask for so that the API returns what has to be remembered: the Responses
    API returns its encrypted reasoning only to clients that hold the history themselves. Models
    that do not think reject the request for it."""
    thinking = target.dialect.traits.asks_for_thinking
    if thinking is None:
        return None
    thinks = expected_capabilities(target.model, target.dialect.name).supports_thinking
    return thinking if thinks else None


@lru_cache(maxsize=1000)
def _issuer(front: str, target: Target) -> str | None:
    """The issuer of a turn; None if nothing needs to be stored: the host accepts no thinking, or
    the client's dialect represents that family's itself."""
    dialect = target.dialect
    family = dialect.traits.family
    if family is None:
        carried = not _takes_thinking(target)
    else:
        carried = family == codec_of(front).traits.family
    return None if carried or dialect.name == front else family or dialect.name


def _takes_thinking(target: Target) -> bool:
    """Whether a host that signs nothing wants its own thinking back."""
    if target.dialect.traits.hosts is None:
        return False
    return target.host is None or target.host.replay != "never"


def _lookups(
    messages: tuple[Message, ...], place: MemoryScope, optional_ids: bool, known: int = 0
) -> dict[int, _Keys]:
    keys: dict[int, _Keys] = {}
    for index in range(len(messages) - 1, known - 1, -1):
        message = messages[index]
        if message.role is not Role.ASSISTANT:
            continue
        ids = [block.id for block in calls_in(message)]
        words = None
        if optional_ids or not ids or any(map(is_synthetic_tool_id, ids)):
            words = turn_key(place, asked_before(messages, index), message)
        keys[index] = _Keys(tuple([call_key(place, id) for id in ids]), words)
        if len(keys) >= TURNS:
            break
    return keys


@lru_cache(maxsize=4096)
def call_key(place: MemoryScope, id: str) -> str:
    return digest(*place, "call", id)


def turn_key(place: MemoryScope, prompt_digest: str, message: Message) -> str:
    return digest(*place, "turn", prompt_digest, *words_of(message))
