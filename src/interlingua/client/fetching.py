"""Media by URL, fetched for models that accept only data. Opt-in, since the author of a request
decides which addresses are visited.

Only http and https, only public addresses (`public_sockets`), no proxy, no credentials, few
redirects, and limits for bytes, seconds and number. Nothing fetched is logged. Media that cannot be
fetched is left out and reported, and never makes a request fail."""

from __future__ import annotations

import asyncio
import errno
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urljoin, urlsplit

from interlingua.adapt.fit.media import BY_URL, left_out, wants_data, words_for
from interlingua.client.transport import HttpRequest, HttpTransport, Reply, least
from interlingua.client.transport_errors import Limits, TransportError, aiohttp
from interlingua.model.blocks import (
    TYPE_OF,
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.profiles.profile import Profile

NOT_PUBLIC = "its address is not on the public internet"
_NOT_IN_4 = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
    *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
    "168.63.129.16/32",  # Azure's metadata host
)
_IN_6 = "2000::/3"
"""Global unicast; loopback, mapped, NAT64, unique and link-local addresses are all outside."""
_NOT_IN_6 = (
    *("2001::/23", "2001:db8::/32", "3fff::/20"),
    "2002::/16",  # 6to4 has an address of IPv4 in it
)


@lru_cache(1)
def _tables() -> tuple[list[IPv4Network], IPv6Network, list[IPv6Network]]:
    refused = [IPv4Network(each) for each in _NOT_IN_4]
    return refused, IPv6Network(_IN_6), [IPv6Network(each) for each in _NOT_IN_6]


def is_public(address: str) -> bool:
    """Whether the text is an IP address in the usual spelling, and public."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    refused, allocated, reserved = _tables()
    if found.version == 4:
        return not any(found in network for network in refused)
    if found.scope_id is not None or found not in allocated:
        return False
    return not any(found in network for network in reserved)


def public_sockets(also: frozenset[str]) -> Callable[[Any], socket.socket]:
    """Sockets for public addresses, and `also` for these. It is the very address that is connected
    to which is looked at, however it was found: there is no second look-up that could differ."""

    def make(info: Any) -> socket.socket:
        family, kind, protocol, _, place = info
        if not is_public(place[0]) and place[0] not in also:
            raise OSError(errno.EACCES, NOT_PUBLIC)
        return socket.socket(family, kind, protocol)

    return make


MAX_BYTES = 20 * 2**20
SECONDS = 10.0
MOST = 10
REDIRECTS = 3
_AT_A_TIME = 16
_LONGEST_URL = 8192
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"user-agent": "interlingua", "accept": "*/*", "accept-encoding": "identity"}
_TYPES: dict[type, tuple[str, ...]] = {
    ImageBlock: ("image/",),
    AudioBlock: ("audio/",),
    VideoBlock: ("video/",),
    DocumentBlock: (
        *("text/", "application/pdf", "application/msword", "application/vnd.ms-excel"),
        "application/vnd.openxmlformats-officedocument.",
    ),
}
"""Prefixes of the content types that a block may have."""
B = TypeVar("B")


class FetchFailure(Exception):  # noqa: N818 - it is reported, and raised no further
    """Why media could not be fetched, safe to show."""


class FetchedMedia(NamedTuple):
    media_type: str
    data: bytes


_Key = tuple[type, str]
MediaCache = dict[_Key, FetchedMedia]
"""Fetched media, by the kind of the block and the address."""


class Note(NamedTuple):
    """The outcome for one block; `problem` is why it could not be fetched."""

    path: str
    message_id: str | None
    block_type: str
    problem: str | None


class InlinedRequest(NamedTuple):
    """A request with its media inlined, and the outcome for each block."""

    request: Request
    notes: tuple[Note, ...] = ()
    profile: Profile | None = None

    def tell(self, report: Report) -> None:
        rule = None if self.profile is None else self.profile.rule(BY_URL)
        for note in self.notes:
            id = None if rule is None else rule.id
            what, message = note.block_type, note.message_id
            if note.problem is None:
                reason = because("inlined").about(self._subject(), rule)
                report.add("approximated", note.path, reason, None, what, message, id)
            else:
                reason = because("not_inlined", why=note.problem).about(self._subject(), rule)
                report.dropped_block(note.path, what, reason, None, message, rule=id)

    def _subject(self) -> str:
        return (self.profile.name if self.profile is not None else None) or "the model"


class ByteAllowance:
    """Bytes that one request may still fetch."""

    def __init__(self, size: int) -> None:
        self._size = self._left = size

    def require(self, size: int) -> None:
        if size > self._left:
            raise FetchFailure(f"more than {self._size} bytes in one request")

    def take(self, size: int) -> None:
        self.require(size)
        self._left -= size


class MediaFetcher:
    """Fetches the media of requests: `most` of them, at most `max_bytes` together, each within
    `seconds`. `ca` is a file of certificates to trust. `also_at` lists addresses (`10.0.0.7`) that
    are allowed although they are not public; there is no setting for it, because everyone who sends
    requests could then reach them."""

    def __init__(
        self,
        *,
        max_bytes: int = MAX_BYTES,
        seconds: float = SECONDS,
        most: int = MOST,
        ca: str | None = None,
        also_at: Iterable[str] = (),
    ) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._most = most
        sockets = public_sockets(frozenset(also_at))
        self._transport = HttpTransport(ca=ca, proxy="", sockets=sockets)
        self._slots = asyncio.Semaphore(_AT_A_TIME)

    async def close(self) -> None:
        await self._transport.close()

    async def inlined(
        self,
        request: Request,
        profile: Profile | None,
        left: float | None = None,
        cache: MediaCache | None = None,
    ) -> InlinedRequest:
        """The request with media URLs replaced by data where the model needs that, within `left`
        seconds. `cache` holds the media fetched by earlier attempts of the call."""
        if profile is None:
            return InlinedRequest(request)
        to_fetch = _urls_to_fetch(request.messages, profile)
        if not to_fetch:
            return InlinedRequest(request)
        allowance = ByteAllowance(self._max_bytes)
        seconds = least(self._seconds, left)
        chosen = list(to_fetch)[: self._most]
        had = {} if cache is None else {key: cache[key] for key in chosen if key in cache}
        for each in had.values():
            allowance.take(len(each.data))
        new = [key for key in chosen if key not in had]
        came = await asyncio.gather(*[self._try(*each, allowance, seconds) for each in new])
        got: dict[_Key, FetchedMedia | FetchFailure] = {**had, **dict(zip(new, came, strict=True))}
        if cache is not None:
            cache |= {key: each for key, each in got.items() if isinstance(each, FetchedMedia)}
        return _with_fetched(request, profile, got, self._most)

    async def _try(
        self, kind: type, url: str, allowance: ByteAllowance, seconds: float | None
    ) -> FetchedMedia | FetchFailure:
        try:
            async with asyncio.timeout(seconds), self._slots:
                return await self._fetch(kind, url, allowance)
        except TimeoutError:
            return FetchFailure(f"not received within {seconds:g} seconds")
        except TransportError as error:
            return FetchFailure(NOT_PUBLIC if NOT_PUBLIC in error.problem else error.problem)
        except FetchFailure as error:
            return error

    async def _fetch(self, kind: type, url: str, allowance: ByteAllowance) -> FetchedMedia:
        for _ in range(REDIRECTS + 1):
            request = HttpRequest(_checked(url), _HEADERS, b"", method="GET")
            reply = await self._transport.send(request, _NO_LIMITS)
            try:
                if reply.status not in _ELSEWHERE:
                    return await _read(reply, kind, allowance)
                url = _next(url, reply)
            finally:
                reply.close()
        raise FetchFailure(f"more than {REDIRECTS} redirects")


_NO_LIMITS = Limits(None, None, None, None)
"""There is one for everything around it."""


def _checked(url: str) -> str:
    """The URL in the form in which it is requested."""
    if len(url) > _LONGEST_URL or _UNSAFE.search(url):
        raise FetchFailure("not a valid URL")
    try:
        parts = urlsplit(url)
        _ = parts.port
        host = parts.hostname
        aiohttp()  # which brings the next one along
        from yarl import URL

        clean = URL(url)
    except ValueError:
        raise FetchFailure("not a valid URL") from None
    if clean.scheme not in ("http", "https"):
        raise FetchFailure("only http and https are fetched")
    if not host or not clean.host:
        raise FetchFailure("not a valid URL")
    if "@" in parts.netloc or clean.user is not None or clean.password is not None:
        raise FetchFailure("the URL has credentials in it")
    return str(clean.with_fragment(None))


def _next(url: str, reply: Reply) -> str:
    place = reply.headers.get("location")
    if not place:
        raise FetchFailure(f"answered with status {reply.status}")
    try:
        new = urljoin(url, place)
    except ValueError:
        raise FetchFailure("a redirect to an invalid URL") from None
    if url[:6].lower() == "https:" and new[:6].lower() != "https:":
        raise FetchFailure("a redirect away from https")
    return new


async def _read(reply: Reply, kind: type, allowance: ByteAllowance) -> FetchedMedia:
    if reply.status != 200:
        raise FetchFailure(f"answered with status {reply.status}")
    content_type = reply.headers.get("content-type", "")
    media_type = content_type.partition(";")[0].strip().lower()
    if not media_type.startswith(_TYPES[kind]):
        raise FetchFailure(f"its content type {media_type[:80]!r} is not that of {TYPE_OF[kind]}")
    length = reply.headers.get("content-length", "")
    if length.isdecimal():
        allowance.require(int(length[:20]))
    pieces: list[bytes] = []
    while piece := await reply.chunk():  # unpacked, which may be more
        allowance.take(len(piece))
        pieces.append(piece)
    if not pieces:
        raise FetchFailure("it is empty")
    return FetchedMedia(media_type, b"".join(pieces))


# -- in a request ---------------------------------------------------------------------------------


def _urls_to_fetch(messages: Sequence[Message], profile: Profile) -> dict[_Key, None]:
    """The URLs to fetch, each once, in the order of the request."""
    found: dict[_Key, None] = {}
    for message in messages:
        for block in message.content:
            inner = block.content if type(block) is ToolResultBlock else (block,)
            for each in inner:
                if wants_data(profile, each):
                    found[_key(each)] = None
    return found


def _key(block: Any) -> _Key:
    return type(block), block.source.data


class _BlockInliner:
    """Blocks with data in place of addresses, and the notes of them."""

    def __init__(
        self, profile: Profile, came: dict[_Key, FetchedMedia | FetchFailure], most: int
    ) -> None:
        self.notes: list[Note] = []
        self._profile = profile
        self._came = came
        self._too_many = FetchFailure(f"more than {most} in one request")

    def blocks(self, blocks: Sequence[B], path: str, id: str | None) -> tuple[B, ...]:
        return tuple([self._block(each, f"{path}[{n}]", id) for n, each in enumerate(blocks)])

    def _block(self, block: Any, path: str, id: str | None) -> Any:
        if type(block) is ToolResultBlock:
            inner = self.blocks(block.content, f"{path}.content", id)
            same = all(new is old for new, old in zip(inner, block.content, strict=True))
            return block if same else block.replace(content=inner)
        if not wants_data(self._profile, block):
            return block
        new = _with_data(block, self._came.get(_key(block), self._too_many))
        problem = str(new) if isinstance(new, FetchFailure) else None
        self.notes.append(Note(path, id, block.type, problem))
        if isinstance(new, FetchFailure):
            return left_out(words_for(block), "it could not be fetched")
        return new


def _with_fetched(
    request: Request, profile: Profile, came: dict[_Key, FetchedMedia | FetchFailure], most: int
) -> InlinedRequest:
    inliner = _BlockInliner(profile, came, most)
    messages = []
    for number, message in enumerate(request.messages):
        content = inliner.blocks(message.content, f"$.messages[{number}].content", message.id)
        same = all(new is old for new, old in zip(content, message.content, strict=True))
        messages.append(message if same else message.replace(content=content))
    return InlinedRequest(request.replace(messages=tuple(messages)), tuple(inliner.notes), profile)


def _with_data(block: Any, got: FetchedMedia | FetchFailure) -> Any:
    if isinstance(got, FetchFailure):
        return got
    source = Source.from_bytes(got.data)
    if got.media_type.startswith("text/"):
        try:
            source = Source("text", got.data.decode("utf-8-sig"))
        except UnicodeDecodeError:
            return FetchFailure("its text is not in UTF-8")
    return block.replace(source=source, media_type=got.media_type)
