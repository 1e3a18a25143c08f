"""Odd JSON from clients, addresses that nobody here may follow, and answers that are too much."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects.registry import dialect
from interlingua.gateway.relay.passthrough import Passthrough
from interlingua.gateway.settings import Limits
from tests.gateway.audits.test_framing import answers, sent
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, served, settings_in

ODD = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400", b'"\\ud800"', b'"\\udc00\\ud800"'),
    *(b'"\\u0000"', b"9" * 5000, b"[" * 100_000, b"[" * 5000 + b"]" * 5000, b'"\xff"'),
    *(b'{"a":' * 5000 + b"1" + b"}" * 5000, b'"\xed\xa0\x80"', b'"a\x01b"', b"tru", b"", b"'a'"),
    *(
        b'"' + b"\\u0041" * 50_000 + b'"',
        b"1" + b"0" * 400,
        b"0.1e-9999",
        b"// x\n1",
        b"1,",
        b"\xef\xbb\xbf1",
    ),
    *(
        b'{"a":1,"a":2}',
        b'"\\x"',
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"[1,]",
        b'{"a":1,}',
        b"{a:1}",
        b"\x00",
    ),
)
SAID = b'"messages":[{"role":"user","content":"hi"}]'
PLACES = (
    (b"/v1/chat/completions", b'{"model":"%b",%b,"temperature":%%b}' % (ANTHROPIC.encode(), SAID)),
    (b"/v1/chat/completions", b'{"model":"%b",%b,"seed":%%b}' % (OPENAI.encode(), SAID)),
    (b"/v1/messages", b'{"model":"%b",%b,"max_tokens":%%b}' % (ANTHROPIC.encode(), SAID)),
    (b"/v1/messages", b'{"model":"%b",%b,"metadata":{"x":%%b}}' % (OPENAI.encode(), SAID)),
    (b"/v1/responses", b'{"model":"%b","input":%%b}' % ANTHROPIC.encode()),
    (b"/v1beta/models/x:generateContent", b'{"contents":%b}'),
    (b"/api/chat", b'{"model":%%b,%b}' % SAID),
    (b"/sessions", b'{"workspace_path":%b}'),
    (b"/routing/check", b'{"rules":%b}'),
    (b"/v1/messages/count_tokens", b'{"model":"%b","messages":%%b}' % OPENAI.encode()),
)


def test_no_json_breaks_the_gateway(tmp_path: Path) -> None:
    """It is refused in good order, or goes on to whom it is for, who may refuse it."""

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        several = asyncio.Semaphore(8)
        async with served(tmp_path) as gateway:

            async def one(path: bytes, data: bytes) -> None:
                head = b"POST %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" % path
                head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(data)
                async with several:
                    out, closed = await sent(gateway, head + data, 60)
                (status,) = answers(out)
                assert closed
                assert status in (200, 201, 400, 404, 502), (path, data[:80], out[-300:])
                if status >= 400:
                    assert "error" in json.loads(out.partition(b"\r\n\r\n")[2]), (path, data[:80])

            await asyncio.gather(*[one(path, form % odd) for path, form in PLACES for odd in ODD])
            assert (await gateway.ask("GET", "/health/ready"))[0] == 200

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_no_address_in_a_request_is_ever_followed(tmp_path: Path) -> None:
    async def work(provider: Upstream, canary: Upstream) -> None:
        provider.configure(tmp_path)
        url = canary.url
        schema = {"$ref": f"{url}/s.json", "properties": {"a": {"$ref": "file:///etc/passwd"}}}
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        parts: list[Any] = [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": f"{url}/a.png"}},
            {"type": "file", "file": {"file_data": f"{url}/a.pdf", "filename": "../../a.pdf"}},
        ]
        form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        async with served(tmp_path) as gateway:
            for model in (ANTHROPIC, OPENAI):
                body = _said(model, parts[:2], tools=[tool], response_format=form)
                status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                assert status in (200, 400), reply
                body = _said(model, parts)
                status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", body)
                assert status in (200, 400), reply
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."})
            image = {"type": "image", "media_type": "image/png"}
            for source, status in (
                ({"kind": "url", "data": f"{url}/b.png"}, 202),
                ({"kind": "file_ref", "data": "/etc/passwd"}, 400),
                ({"kind": "file_ref", "data": "../../etc/passwd"}, 400),
            ):
                path = f"/sessions/{made['id']}/turns"
                content = [{**image, "source": source}]
                found, reply, _ = await gateway.ask("POST", path, {"content": content})
                assert found == status, reply
                while gateway.service.turns.running(made["id"]) is not None:
                    await asyncio.sleep(0.01)
            assert any(f"{url}/a.png" in json.dumps(wire) for wire in provider.requests)
            assert "root:" not in json.dumps(provider.requests)
            assert canary.requests == []

    with Upstream() as provider, Upstream() as canary:
        asyncio.run(work(provider, canary))


def _said(model: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], **more}


class TooMuch(Upstream):
    """Answers with a bomb, without an end, or with the way to somebody else."""

    mode = ""
    elsewhere = ""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        self.requests.append(wire)
        kind = "text/event-stream" if wire.get("stream") else "application/json"
        if self.mode == "redirect":
            handler.send_response(307)
            handler.send_header("location", f"{self.elsewhere}{handler.path}")
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        handler.send_response(200)
        handler.send_header("content-type", kind)
        if self.mode == "bomb":
            packer = zlib.compressobj(9, zlib.DEFLATED, 31)
            data = b"".join(packer.compress(bytes(2**20)) for _ in range(16)) + packer.flush()
            handler.send_header("content-encoding", "gzip")
            handler.send_header("content-length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
            return
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        while True:  # until nobody listens
            handler.wfile.write(b"10000\r\n" + b"a" * 65536 + b"\r\n")


@pytest.mark.parametrize("mode", ["bomb", "endless", "redirect"])
def test_an_answer_that_is_none_is_an_error_in_the_clients_words(tmp_path: Path, mode: str) -> None:
    async def work(provider: TooMuch, canary: Upstream) -> None:
        provider.configure(tmp_path)
        provider.mode, provider.elsewhere = mode, canary.url
        limits = Limits(answer=2**20)
        async with served(tmp_path, replace(settings_in(tmp_path), limits=limits)) as gateway:
            for path in ("/v1/messages", "/v1/chat/completions"):
                for stream in (False, True):
                    body = asked("hi", max_tokens=3, stream=stream)
                    async with asyncio.timeout(20):
                        status, reply, headers = await gateway.ask("POST", path, body)
                    assert status == 502, (path, stream, reply)
                    assert reply["error"]["message"], reply
                    assert "location" not in headers
            assert canary.requests == []

    with TooMuch() as provider, Upstream() as canary:
        asyncio.run(work(provider, canary))


@given(
    st.lists(st.sampled_from([b"data: a", b"b" * 9, b"\n", b"\r", b"\n\n", b"\r\n\r\n", b": x"])),
    st.lists(st.integers(1, 7)),
)
def test_however_a_stream_is_cut_only_whole_frames_go_on(
    parts: list[bytes], cuts: list[int]
) -> None:
    whole = b"data: begin\n\n" + b"".join(parts)
    passing = Passthrough(dialect("anthropic"))
    out, at = b"", 0
    for size in (*cuts, len(whole)):
        out += passing.feed(whole[at : at + size])
        assert whole.startswith(out)
        assert not out or out.endswith((b"\n\n", b"\r\n\r\n", b"\r\r"))
        at += size
    assert passing.close() == b"", "half a frame, of an answer that has not come to its end"
    assert passing.error is not None


def test_a_long_frame_takes_time_in_proportion() -> None:
    """A picture in a stream is one frame of megabytes, and nobody else may wait for it."""

    def took(size: int) -> float:
        passing = Passthrough(dialect("openai-responses"))
        began = time.process_time()
        passing.feed(b"data: ")
        for _ in range(size // 16_384):
            assert passing.feed(b"a" * 16_384) == b""
        assert len(passing.feed(b"\n\n")) == size + 8
        return time.process_time() - began

    took(2**20)
    short, long = min(took(2**20) for _ in range(3)), min(took(2**23) for _ in range(3))
    assert long < 8 * short * 4 + 0.05, (short, long)
