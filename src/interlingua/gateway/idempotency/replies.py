"""Answers as they were sent to clients, stored for repeats."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any

import msgspec

from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.model.events import Event, MessageComplete, StreamError

MOST = 10_000
"""Replies of one tenant in memory."""
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one tenant in memory."""
MOST_OF_ALL = 64 * 1024 * 1024
OVERHEAD = 1024
"""Bytes that a reply takes beside its content."""
REPLAYED = b"x-interlingua-replayed"
"""The header of a replayed answer: the id of the original request."""
HEADERS = frozenset(
    {
        b"content-type",
        b"cache-control",
        b"x-accel-buffering",
        b"retry-after",
        b"x-interlingua-model",
        b"x-interlingua-losses",
        b"x-interlingua-upstream-id",
        b"x-interlingua-code",
    }
)
"""Headers that are replayed. Others belong to the first request: its id, its price, its rate
limits."""


class Reply(msgspec.Struct, frozen=True, array_like=True):
    """One answer, with everything needed to replay it."""

    print: str
    """The digest of the request."""
    request_id: str
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes | None
    """None if it was too long to store."""
    is_stream: bool = False

    @property
    def size(self) -> int:
        return OVERHEAD + len(self.body or b"")

    def headers_again(self, own: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """The headers for a request that is answered with it; `own` are those of that request."""
        length = [] if self.is_stream else [(b"content-length", b"%d" % len(self.body or b""))]
        return [*self.headers, *own, (REPLAYED, self.request_id.encode()), *length]


pack = msgspec.json.Encoder().encode
unpack = msgspec.json.Decoder(Reply).decode


class Recording:
    """Records the answer to a client, up to a size."""

    def __init__(self, longest: int) -> None:
        self.status = 0
        self.headers: tuple[tuple[bytes, bytes], ...] = ()
        self.is_whole = False
        self.is_too_long = False
        self.size = 0
        self._longest = longest
        self._pieces: list[bytes] = []

    def take(self, message: MutableMapping[str, Any]) -> int:
        """One ASGI message; by how many bytes more (or fewer) are held now."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = tuple([each for each in message["headers"] if each[0] in HEADERS])
            return 0
        piece = message.get("body", b"")
        self.is_whole = not message.get("more_body")
        if self.is_too_long or not piece:
            return 0
        if self.size + len(piece) > self._longest:
            return self.drop()
        self._pieces.append(piece)
        self.size += len(piece)
        return len(piece)

    def drop(self) -> int:
        """Hold nothing of it from now on."""
        freed, self.size = self.size, 0
        self.is_too_long = True
        self._pieces.clear()
        return -freed

    def body(self) -> bytes | None:
        return None if self.is_too_long else b"".join(self._pieces)


def is_whole_stream(dialect: str, body: bytes) -> bool:
    """Whether a stream is complete. An interrupted one is not replayed."""
    frames, reader = decoder(dialect), dialect_of(dialect).stream_reader()
    events: list[Event] = []
    try:
        for frame in (*frames.feed(body), *frames.close()):
            events += [each for each in reader.feed(frame) if _is_end(each)]
        events += [each for each in reader.close() if _is_end(each)]
    except InterlinguaError:
        return False
    return bool(events) and all(type(each) is MessageComplete for each in events)


def _is_end(event: Event) -> bool:
    return type(event) is MessageComplete or type(event) is StreamError


class ReplyCache:
    """Replies in memory, those of each tenant apart. A tenant that has too many loses its oldest;
    when all together are too much, the tenant with the most does."""

    def __init__(
        self,
        seconds: float,
        most: int = MOST,
        most_bytes: int = MOST_BYTES,
        most_of_all: int = MOST_OF_ALL,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._most = most
        self._most_bytes = most_bytes
        self._most_of_all = most_of_all
        self._clock = clock
        self._tenants: dict[str, _TenantReplies] = {}
        self.size = 0

    def __len__(self) -> int:
        return sum([len(own.replies) for own in self._tenants.values()])

    def get(self, tenant: str, id: str) -> Reply | None:
        own = self._tenants.get(tenant)
        if own is None:
            return None
        self._expire(tenant, own)
        found = own.replies.get(id)
        return None if found is None else found[1]

    def put(self, tenant: str, id: str, reply: Reply) -> None:
        own = self._tenants.get(tenant)
        if own is None:
            own = self._tenants[tenant] = _TenantReplies()
        else:
            self._expire(tenant, own)
            self._tenants[tenant] = own
        old = own.replies.pop(id, None)
        if old is not None:
            self._count(own, -old[1].size)
        own.replies[id] = (self._clock() + self._seconds, reply)
        self._count(own, reply.size)
        while len(own.replies) > self._most or own.size > self._most_bytes:
            self._lose(tenant, own)
        while self.size > self._most_of_all:
            self._lose(*max(self._tenants.items(), key=lambda item: item[1].size))

    def _expire(self, tenant: str, own: _TenantReplies) -> None:
        """All live equally long, so the oldest are the first to go."""
        now = self._clock()
        while own.replies and next(iter(own.replies.values()))[0] <= now:
            self._lose(tenant, own)

    def _lose(self, tenant: str, own: _TenantReplies) -> None:
        _, (_, reply) = own.replies.popitem(last=False)
        self._count(own, -reply.size)
        if not own.replies:
            self._tenants.pop(tenant, None)

    def _count(self, own: _TenantReplies, size: int) -> None:
        own.size += size
        self.size += size


class _TenantReplies:
    __slots__ = ("replies", "size")

    def __init__(self) -> None:
        self.replies: OrderedDict[str, tuple[float, Reply]] = OrderedDict()
        self.size = 0
