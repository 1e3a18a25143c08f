"""Live events of a session: the events of the trace as they are stored, and between them the pieces
of an answer while it arrives. Those pieces are never stored: later readers see the message instead.

An event of the trace has an id, its number in the session, from which a client can go on
(`Last-Event-ID`); a piece has none.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from interlingua.events.bus import Bus
from interlingua.events.event import Event
from interlingua.events.log import Filter, Subscription
from interlingua.gateway.shared import feed
from interlingua.gateway.shared.feed import frame
from interlingua.model import events as ev
from interlingua.model.blocks import TextBlock, ThinkingBlock
from interlingua.model.codec import dumps
from interlingua.model.message import Message
from interlingua.model.metadata import MessageStatus
from interlingua.sessions.holding import holder, is_under_way
from interlingua.store.base import AsyncStore
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.idempotency import MemoryRow, MemoryScope
from interlingua.store.rows import EventRow, Hold, SessionRow

logger = logging.getLogger(__name__)

TOUCH = 5.0
"""Seconds between two signs of life of a turn."""
LOOK = 0.25
"""Seconds between two polls for requests to stop a turn."""
PATIENCE = 10.0
"""Seconds that a turn in another worker gets to stop."""
ENDS = ("turn.completed", "turn.cancelled")
EVENTS_PAGE = 1000
_STOP_REQUESTS = MemoryScope("gateway", "turns", "stop")
_MARK_SECONDS = 60.0
_ROOM = 1024 * 1024 * 1024


def turn_of(row: SessionRow) -> str | None:
    """The current turn in any worker; None if there is none."""
    return row.turn.id if row.turn is not None and is_under_way(row.turn) else None


class OtherWorkers:
    """One worker's view of all turns, and the requests to stop them."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store
        self._touched = time.monotonic()

    async def stop(self, session_id: str) -> bool:
        """Asks the worker with the turn to stop it, and waits for that. False if there is none, or
        if it ended by itself."""
        try:
            turn = turn_of(await self._store.session(session_id))
        except NotFoundError:
            return False
        if turn is None:
            return False
        await self._store.remember(
            _STOP_REQUESTS, [MemoryRow(turn, session_id, b"{}")], _MARK_SECONDS
        )
        ended = await self._ended(session_id, turn)
        await self._store.forget_remembered([], 0, _ROOM)
        return ended is not None and ended.type == "turn.cancelled"

    async def _ended(self, session_id: str, turn: str) -> EventRow | None:
        end, after = time.monotonic() + PATIENCE, 0
        while time.monotonic() < end:
            page = await self._store.events(session_id, after, EVENTS_PAGE, ENDS)
            for event in page:
                if event.turn_id == turn:
                    return event
                after = event.seq
            if len(page) < EVENTS_PAGE:
                await asyncio.sleep(LOOK / 2)
        return None

    async def tend(self, turns: Mapping[str, str]) -> list[str]:
        """Polls once, with the ids of the sessions and turns that run here; returns the sessions
        whose turn is to stop."""
        if not turns:
            return []
        try:
            if time.monotonic() - self._touched >= TOUCH:
                self._touched = time.monotonic()
                for id, turn in turns.items():
                    await self._touch(id, turn)
            rows = await self._store.remembered(_STOP_REQUESTS, sorted(turns.values()), [])
        except StoreError as error:
            logger.warning("turns_heartbeat_failed", extra={"why": error.reason})
            return []
        stopped = {row.call_key for row in rows}
        return [id for id, turn in turns.items() if turn in stopped]

    async def _touch(self, id: str, turn: str) -> None:
        try:
            await self._store.hold_turn(id, Hold(turn, holder(), turn, firm=False))
        except NotFoundError:
            return  # it was deleted; its turn will find out


WAITING = 1000
"""Pieces that one watcher may be behind; a slower one is disconnected, and can come back."""
POLL = 0.5
"""Seconds between two polls of the trace while nothing arrives: turns of other workers, whose
events the bus of this one does not have."""
POLL_SAYING = 0.2
"""The same while another worker gets an answer."""
LATE = 5.0
"""Seconds for the rest of an answer that the store has whole already."""
PAGE = 200


class Piece(NamedTuple):
    """One thing to show. `call` is its request to a model."""

    name: str
    fields: dict[str, Any]
    call: str | None = None


TURN_END = Piece("", {})
"""Nothing to show: a turn has ended, and the trace has new events."""
STORED = Piece("", {"stored": True})
"""Nothing to show: the trace has new events."""
_ENDS = ("message.complete", "error")
_ANSWERED = ("llm.call_completed", "llm.call_failed")


class Watcher:
    """One watcher of a session."""

    def __init__(self) -> None:
        self.pieces: asyncio.Queue[Piece] = asyncio.Queue(WAITING)
        self.too_slow = False
        self.open: set[str] = set()
        """Calls that have begun to answer, and whose end this watcher has not seen."""

    def put(self, piece: Piece) -> None:
        if self.too_slow:
            return
        try:
            self.pieces.put_nowait(piece)
        except asyncio.QueueFull:
            self.too_slow = True
            return
        if piece.call is not None and piece.name == "message.start":
            self.open.add(piece.call)

    async def on_event(self, event: Event) -> None:
        """An event of this process is in the trace. A reader with pieces to show looks there
        behind them anyway."""
        if self.pieces.empty():
            self.pieces.put_nowait(STORED)

    async def next(self, seconds: float) -> Piece | None:
        """The next piece, if one arrives in time."""
        try:
            piece = await asyncio.wait_for(self.pieces.get(), seconds)
        except TimeoutError:
            return None
        if piece.name in _ENDS and piece.call is not None:
            self.open.discard(piece.call)
        elif piece is TURN_END:
            self.open.clear()
        return piece


class Hub:
    """The watchers of each session in this process. The bus signals new events of the trace."""

    def __init__(self, bus: Bus | None = None) -> None:
        self._bus = bus or Bus()
        self._watchers: dict[str, list[Watcher]] = {}
        self._subscriptions: dict[Watcher, Subscription] = {}
        self.closed = asyncio.Event()
        self.is_local: Callable[[str], bool] = lambda session_id: False
        """Whether this process has a turn in progress in a session."""

    def watch(self, session_id: str) -> Watcher:
        watcher = Watcher()
        self._watchers.setdefault(session_id, []).append(watcher)
        self._subscriptions[watcher] = self._bus.subscribe(
            watcher.on_event,
            name="session watcher",
            filter=Filter.of(session_ids=[session_id]),
            fast_path=True,
        )
        return watcher

    def leave(self, session_id: str, watcher: Watcher) -> None:
        watchers = self._watchers.get(session_id, [])
        if watcher in watchers:
            watchers.remove(watcher)
            self._bus.unsubscribe(self._subscriptions.pop(watcher))
        if not watchers:
            self._watchers.pop(session_id, None)

    def expect(self, session_id: str, call: str) -> None:
        """An answer has begun: its pieces come, even if the trace has its end before they do."""
        for watcher in self._watchers.get(session_id, ()):
            watcher.open.add(call)

    def tell(self, session_id: str, piece: Piece) -> None:
        for watcher in self._watchers.get(session_id, ()):
            watcher.put(piece)

    def __len__(self) -> int:
        return sum(len(watchers) for watchers in self._watchers.values())


class SessionFeed:
    """Turns events of answers into the pieces that watchers get. A message has an id from its
    first stored piece on, so earlier events are held back. Blocks are numbered as they appear."""

    def __init__(self) -> None:
        self._start: ev.MessageStart | None = None
        self._calls: dict[int, str] = {}
        self._numbers: dict[int, int] = {}
        self._held: list[tuple[str, dict[str, Any]]] = []

    def pieces(self, event: Any, message_id: str | None, call: str | None = None) -> list[Piece]:
        if isinstance(event, ev.MessageStart):
            self._start, self._calls, self._numbers = event, {}, {}
            return []
        piece = self._piece_of(event)
        if piece is None:
            return []
        self._held.append(piece)
        if message_id is None and not is_last(event):
            return []
        if self._start is not None:
            start = {"role": self._start.role.value, "model": self._start.model}
            self._held.insert(0, ("message.start", start))
            self._start = None
        held, self._held = self._held, []
        return [Piece(name, {"message_id": message_id, **each}, call) for name, each in held]

    def _number(self, index: int) -> int:
        return self._numbers.setdefault(index, len(self._numbers))

    def _piece_of(self, event: Any) -> tuple[str, dict[str, Any]] | None:
        match event:
            case ev.UsageUpdate():
                return "usage_update", {"usage": plain(event.usage)}
            case ev.MessageComplete():
                return "message.complete", _complete(event.response.message)
            case ev.StreamError():
                kind = event.error.kind.value
                return "error", {"error_class": kind, "code": event.error.code}
        of_block = self._of_block(event)
        if of_block is None:
            return None
        name, data = of_block
        return name, {"content_block_index": self._number(event.index), **data}

    def _of_block(self, event: Any) -> tuple[str, dict[str, Any]] | None:
        """An event's part of one block; None if it has nothing that is shown."""
        match event:
            case ev.TextDelta():
                return "text.delta", {"text": event.text}
            case ev.ThinkingDelta():
                return "thinking.delta", {"text": event.text}
            case ev.ToolUseStart():
                self._calls[event.index] = event.id
                return "tool.use_start", {"tool_use_id": event.id, "tool_name": event.name}
            case ev.ToolUseInputDelta():
                call = self._calls.get(event.index)
                return "tool.use_input_delta", {"tool_use_id": call, "partial_json": event.text}
            case ev.ToolUseEnd():
                call = self._calls.get(event.index)
                return "tool.use_end", {"tool_use_id": call, "final_input": event.input}
            case _:
                return None


def _complete(message: Message) -> dict[str, Any]:
    stop = message.metadata.stop_reason
    return {
        "stop_reason": None if stop is None else stop.value,
        "final_content": plain(message.content),
        "usage": plain(message.metadata.usage),
    }


def is_last(event: Any) -> bool:
    return isinstance(event, (ev.MessageComplete, ev.StreamError))


def plain(value: Any) -> msgspec.Raw:
    """A canonical value inside an answer of ours."""
    return msgspec.Raw(dumps(value))


def event_json(row: EventRow) -> dict[str, Any]:
    """An event of the trace as clients see it."""
    return {
        "id": row.id,
        "seq": row.seq,
        "type": row.type,
        "timestamp": row.timestamp,
        "session_id": row.session_id,
        "turn_id": row.turn_id,
        "parent_event_id": row.parent_event_id,
        "actor": row.actor,
        "sensitivity": row.sensitivity,
        "payload": row.payload,
    }


async def watch_session(
    store: AsyncStore, hub: Hub, session_id: str, after: int, types: Sequence[str] = ()
) -> AsyncIterator[bytes]:
    """Yields all events after a number, without gaps or duplicates, until the client or the gateway
    disconnects. Pieces of an answer come between the events before and after it."""
    watching = _SessionWatch(store, hub, session_id, after, types)
    try:
        async for piece in watching.run():
            yield piece
    finally:
        hub.leave(session_id, watching.watcher)


class _SessionWatch:
    def __init__(
        self, store: AsyncStore, hub: Hub, session_id: str, after: int, types: Sequence[str]
    ) -> None:
        self.watcher = hub.watch(session_id)
        self._store = store
        self._hub = hub
        self._session_id = session_id
        self._after = after
        self._types = types
        self._remote = RemoteAnswer()

    async def run(self) -> AsyncIterator[bytes]:
        last = time.monotonic()
        while not self._hub.closed.is_set():
            heard = False
            async for out in self._trace():
                heard = True
                yield out
            try:
                elsewhere = await self._listen()
            except NotFoundError:
                yield frame("error", {"code": "session_not_found", "after": self._after})
                return
            for out in self._shown(elsewhere):
                heard = True
                yield out
            piece = await self.watcher.next(POLL_SAYING if self._remote.id else POLL)
            if piece is not None:
                if piece.name == "message.start":  # what led to it stands before it
                    async for out in self._trace(before=piece.call):
                        yield out
                async for out in self._answer(piece):
                    heard = True
                    yield out
            if self.watcher.too_slow:
                yield frame("error", {"code": "client_too_slow", "after": self._after})
                return
            now = time.monotonic()
            if heard:
                last = now
            elif now - last >= feed.BEAT:
                last = now
                yield feed.PING
        yield frame("error", {"code": "shutting_down", "after": self._after})

    async def _listen(self) -> list[Piece]:
        """The stored part of another worker's answer."""
        row = await self._store.session(self._session_id)
        if turn_of(row) is None or self._hub.is_local(self._session_id):
            return []
        tail = await self._store.tail(self._session_id, 1)
        if not tail or tail[0].metadata.status is not MessageStatus.PARTIAL:
            return []
        return self._remote.growth(tail[0])

    async def _rest(self, row: EventRow) -> list[Piece]:
        """The end of an answer of another worker that was overheard."""
        id = row.payload.get("message_id")
        if id is None or id != self._remote.id:
            return []
        try:
            message = await self._store.message(self._session_id, id)
        except NotFoundError:
            return []
        return self._remote.end(message)

    async def _trace(self, before: str | None = None) -> AsyncIterator[bytes]:
        """Events that are stored now, or those `before` the end of a call. Before that come the
        pieces of its answer."""
        while True:
            rows = await self._store.events(self._session_id, self._after, PAGE)
            for row in rows:
                call = row.payload.get("request_id")
                if row.type in _ANSWERED and call is not None and call == before:
                    return
                while row.type in _ANSWERED and call in self.watcher.open:
                    piece = await self.watcher.next(LATE)
                    if piece is None or self.watcher.too_slow:
                        break
                    if self._shows(piece.name):
                        yield frame(piece.name, piece.fields)
                if row.type in _ANSWERED:
                    for out in self._shown(await self._rest(row)):
                        yield out
                self._after = row.seq
                if self._shows(row.type):
                    yield frame(row.type, event_json(row), row.seq)
            if len(rows) < PAGE:
                return

    async def _answer(self, piece: Piece | None) -> AsyncIterator[bytes]:
        """Pieces until the answer is complete, or none arrives for a moment."""
        while piece is not None:
            if self._shows(piece.name):
                yield frame(piece.name, piece.fields)
            if piece.name in ("", *_ENDS) or self.watcher.too_slow:
                return
            piece = await self.watcher.next(POLL)

    def _shown(self, pieces: Sequence[Piece]) -> list[bytes]:
        return [frame(piece.name, piece.fields) for piece in pieces if self._shows(piece.name)]

    def _shows(self, name: str) -> bool:
        return bool(name) and (not self._types or name in self._types)


class RemoteAnswer:
    """An answer of another worker, as far as it has been sent; its stored part grows."""

    def __init__(self) -> None:
        self.id: str | None = None
        self._lengths: dict[int, int] = {}

    def growth(self, message: Message) -> list[Piece]:
        """The new pieces."""
        out: list[Piece] = []
        if message.id != self.id:
            self.id, self._lengths = message.id, {}
            start = {"role": message.role.value, "model": message.metadata.response_model}
            out.append(Piece("message.start", {"message_id": self.id, **start}))
        for number, block in enumerate(message.content):
            if isinstance(block, (TextBlock, ThinkingBlock)):
                known = self._lengths.get(number, 0)
                self._lengths[number] = max(known, len(block.text))
                if len(block.text) > known:
                    name = "text.delta" if isinstance(block, TextBlock) else "thinking.delta"
                    at = {"message_id": self.id, "content_block_index": number}
                    out.append(Piece(name, {**at, "text": block.text[known:]}))
        return out

    def end(self, message: Message) -> list[Piece]:
        """The rest of it, and all of it."""
        whole = {"message_id": message.id, **_complete(message)}
        out = [*self.growth(message), Piece("message.complete", whole)]
        self.id, self._lengths = None, {}
        return out
