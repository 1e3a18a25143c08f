"""Requests on the wire: where one ends and the next begins, what headers may say, and what of them
goes on to providers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from interlingua.gateway.settings import Limits
from tests.gateway.audits.lines import Line
from tests.gateway.audits.smuggling import HIDDEN, OUTER, Case, cases, request
from tests.gateway.serving import ANTHROPIC, Served, Upstream, served, settings_in

FINE = 0.08
"""Seconds of silence after which an answer is taken to be all there is."""
LONG = 1.5
QUICK = Limits(header_seconds=1.0, body_seconds=1.0)


async def sent(gateway: Served, data: bytes, patience: float = FINE) -> tuple[bytes, bool]:
    """What came back, and whether the connection was closed."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(gateway.base.rpartition(":")[2])
    )
    out = b""
    try:
        writer.write(data)
        await writer.drain()
        while True:
            more = await asyncio.wait_for(
                reader.read(65536), patience if out else max(LONG, patience)
            )
            if not more:
                return out, True
            out += more
    except TimeoutError:
        return out, False
    except ConnectionError:
        return out, True
    finally:
        writer.close()


def answers(data: bytes) -> list[int]:
    """The statuses of the answers, in order."""
    parts = data.split(b"HTTP/1.1 ")[1:]
    return [status for part in parts if (status := int(part[:3])) >= 200]


def words_of(wire: dict[str, Any]) -> str:
    return str(wire["messages"][-1]["content"])


def test_no_request_is_hidden_in_another_one(tmp_path: Path) -> None:
    """What can be read in two ways is refused, and its connection ends with it; what is plain is
    answered once for each request, in order."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, limits=QUICK)) as gateway:
            odd = [case for case in cases(ANTHROPIC) if not case.plain]
            assert len(odd) > 400
            several = asyncio.Semaphore(32)

            async def refused(case: Case) -> None:
                async with several:
                    data, closed = await sent(gateway, case.data)
                assert len(answers(data)) <= 1, (case.name, data)
                assert closed, case.name
                assert all(400 <= status < 600 for status in answers(data)), (case.name, data)

            await asyncio.gather(*[refused(case) for case in odd])
            assert provider.requests == [], "nothing of all that went on"
            for case in cases(ANTHROPIC):
                if case.plain:
                    provider.requests.clear()
                    data, _ = await sent(gateway, case.data, 0.2)
                    heard = [words_of(wire) for wire in provider.requests]
                    _in_order(case, heard, answers(data))
            assert (await gateway.ask("GET", "/health/live"))[0] == 200

    with Upstream() as provider:
        asyncio.run(work(provider))


def _in_order(case: Case, heard: list[str], statuses: list[int]) -> None:
    assert len(statuses) in (1, 2), case.name
    assert [OUTER in words for words in heard[:1]] in ([True], [False]), case.name
    if len(heard) == 2:
        assert OUTER in heard[0], case.name
        assert HIDDEN in heard[1], case.name
        assert statuses == [200, 200], case.name


def test_requests_one_after_the_other_are_answered_in_order(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, limits=QUICK)) as gateway:
            many = b"".join(request(f"number {at}", ANTHROPIC) for at in range(5))
            data, _ = await sent(gateway, many, 1.0)
            assert answers(data) == [200] * 5
            places = [data.index(b"to: number %d" % at) for at in range(5)]
            assert places == sorted(places)

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_who_offers_another_protocol_is_answered_in_this_one(tmp_path: Path) -> None:
    """As clients do that would rather speak HTTP/2."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, limits=QUICK)) as gateway:
            lines = (
                b"Connection: Upgrade, HTTP2-Settings",
                b"Upgrade: h2c",
                b"HTTP2-Settings: AAM",
            )
            for more in (lines, lines[::-1], (b"connection: upgrade", b"UPGRADE: websocket")):
                provider.requests.clear()
                two = request("Upgrade: h2c", ANTHROPIC, *more) + request("next", ANTHROPIC)
                data, _ = await sent(gateway, two, 0.3)
                assert answers(data) == [200, 200], (more, data)
                heard = [words_of(wire) for wire in provider.requests]
                assert ["Upgrade: h2c" in heard[0], "next" in heard[1]] == [True, True]
            line = Line(gateway)
            offer = "Connection: Upgrade\r\nUpgrade: h2c\r\n"
            for _ in range(3):
                assert await line.status("POST", "/sessions", offer) == 400, "it read the body"
            line.close()

    with Upstream() as provider:
        asyncio.run(work(provider))
