"""Recording: requests are sent over HTTP to whoever answers, and what comes back is taped.

Secrets are taken off before anything is kept; a secret that is told in pieces, so that it cannot
be taken off, stops the recording."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import aiohttp
import msgspec

from interlingua.dialects.framing import decoder
from interlingua.dialects.registry import traits_of
from tests.cassettes import cases
from tests.cassettes.cassette import FORMAT, Cassette, Taped, spell
from tests.cassettes.scrub import Scrubber, SecretFoundError
from tests.replay.answers import Header
from tests.replay.exchanges import Exchange
from tests.replay.server import ReplayServer

TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=5)
LARGEST = 8 * 2**20
"""Bytes of an answer; a cassette is to be read by people."""


def auth_headers(dialect: str, key: str) -> list[Header]:
    """How a provider of this dialect wants its key."""
    match dialect:
        case "anthropic":
            return [("x-api-key", key), ("anthropic-version", "2023-06-01")]
        case "gemini" | "gemini-interactions":
            return [("x-goog-api-key", key)]
        case "ollama":
            return []
    return [("authorization", f"Bearer {key}")]


def record(
    base_url: str,
    asked: Sequence[Exchange],
    source: str,
    case: str,
    headers: Sequence[Header] = (),
    secrets: Iterable[str] = (),
) -> Cassette:
    """Send the requests of some exchanges of one dialect, and tape what is answered now."""
    (dialect,) = {each.dialect for each in asked}
    return asyncio.run(_record(base_url, dialect, asked, source, case, headers, Scrubber(secrets)))


async def _record(
    base_url: str,
    dialect: str,
    asked: Sequence[Exchange],
    source: str,
    case: str,
    headers: Sequence[Header],
    scrubber: Scrubber,
) -> Cassette:
    async with aiohttp.ClientSession(timeout=TIMEOUT) as session:
        taped = [await _tape(session, base_url, each, headers, scrubber) for each in asked]
    return Cassette(FORMAT, source, dialect, case, taped)


async def _tape(
    session: aiohttp.ClientSession,
    base_url: str,
    asked: Exchange,
    headers: Sequence[Header],
    scrubber: Scrubber,
) -> Taped:
    sent = [("content-type", "application/json"), ("accept-encoding", "identity"), *headers]
    async with session.request(
        asked.method,
        base_url.rstrip("/") + asked.path,
        data=asked.request,
        headers=sent,
        allow_redirects=False,
    ) as response:
        chunks = await _chunks(response)
    is_aws = (
        traits_of(asked.dialect).framing == "aws" and asked.is_stream and response.status == 200
    )
    stored = scrubber.chunks(chunks, is_aws)
    is_stream = asked.is_stream and response.status == 200
    if is_stream:
        _refuse_secrets_in_pieces(asked, stored, scrubber)
    request = scrubber.body(asked.request or b"")
    received = [(name.lower(), value) for name, value in response.headers.items()]
    return Taped(
        name=asked.id.removeprefix(f"{asked.dialect}."),
        path=scrubber.path(asked.path),
        request_headers=dict(scrubber.request_headers(sent)),
        request=spell(request),
        status=response.status,
        headers=dict(scrubber.response_headers(received)),
        response=None if is_stream else spell(b"".join(stored)),
        chunks=[spell(chunk, is_aws) for chunk in stored] if is_stream else None,
        method=asked.method,
    )


async def _chunks(response: aiohttp.ClientResponse) -> list[bytes]:
    """The body in the pieces that the server sent."""
    chunks: list[bytes] = []
    current, size = b"", 0
    async for data, is_end in response.content.iter_chunks():
        current += data
        size += len(data)
        if size > LARGEST:
            raise ValueError(f"an answer of more than {LARGEST} bytes is not for a cassette")
        if is_end and current:
            chunks.append(current)
            current = b""
    return [*chunks, current] if current else chunks


def _refuse_secrets_in_pieces(asked: Exchange, chunks: list[bytes], scrubber: Scrubber) -> None:
    """A stream may spell a secret in several deltas: look at what the strings that stand in the
    same place of each frame come to."""
    spelled: dict[str, str] = defaultdict(str)
    for frame in decoder(asked.dialect).feed(b"".join(chunks)):
        for place, text in _strings(frame.data):
            spelled[place] += text
    for text in spelled.values():
        if found := scrubber.leaks(text):
            raise SecretFoundError(f"{asked.id}: the stream spells {', '.join(found)}")


def _strings(data: str) -> Iterator[tuple[str, str]]:
    """The strings of a frame, each with its place, whatever its number in a list."""
    try:
        waiting = [("", msgspec.json.decode(data))]
    except msgspec.MsgspecError:
        return
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            waiting += [(f"{place}/{key}", item) for key, item in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{place}/*", item) for item in reversed(value)]


def record_generated(dialect: str) -> list[Cassette]:
    """What our own writers say, served by the replay server and taped over HTTP."""
    made = cases.exchanges(dialect)
    with ReplayServer(made) as server:
        return [
            record(
                server.url,
                [each for each in made if _case(each) == case.name],
                "generated",
                case.name,
                auth_headers(dialect, "no-key-was-used"),
                ["no-key-was-used"],
            )
            for case in cases.cases(dialect)
        ]


def _case(exchange: Exchange) -> str:
    return exchange.id.removeprefix(f"{exchange.dialect}.").removesuffix(".stream")
