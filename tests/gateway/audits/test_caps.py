"""Nobody spends more than a key may: what a request only names, several answers, kept histories."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.gateway.keys.key_admin import change
from interlingua.gateway.shared.sizes import PICTURE, SHORT, most_of, plainly, window
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, asked, key, served

URL = "https://pictures.example/a"
PICTURE_CHAT = [{"type": "image_url", "image_url": {"url": URL + ".png"}}]
PICTURE_ANTHROPIC = [{"type": "image", "source": {"type": "url", "url": URL + ".png"}}]
PAPER = [{"type": "document", "source": {"type": "url", "url": URL + ".pdf"}}]


def _said(content: Any, model: str = ANTHROPIC, **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": content}], **more}


@pytest.mark.parametrize(
    ("path", "body", "cap", "code"),
    [
        ("/v1/messages", _said(PAPER, max_tokens=1), "0.50", "unbounded_request"),
        (
            "/v1/chat/completions",
            _said(PICTURE_CHAT, OPENAI, max_tokens=1),
            "0.005",
            "quota_exceeded",
        ),
        ("/v1/messages", _said(PICTURE_ANTHROPIC, max_tokens=1), "0.01", "quota_exceeded"),
        (
            "/v1/responses",
            {
                "model": OPENAI,
                "input": "hi",
                "max_output_tokens": 1,
                "previous_response_id": "resp_1",
            },
            "0.50",
            "unbounded_request",
        ),
        (
            "/v1/chat/completions",
            asked("hi", OPENAI, max_tokens=1000, n=128),
            "0.50",
            "quota_exceeded",
        ),
        ("/v1/chat/completions", asked("hi", OPENAI, n=128), "0.25", "quota_exceeded"),
    ],
    ids=["paper", "picture", "picture of its own", "kept by the provider", "answers", "open ones"],
)
def test_what_a_request_only_names_is_set_aside(
    tmp_path: Path, path: str, body: dict[str, Any], cap: str, code: str
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        small = key(tmp_path, "small", daily_cap_usd=Decimal(cap)).token
        async with served(tmp_path) as gateway:
            status, reply, headers = await gateway.ask("POST", path, body, small)
            assert status == (403 if code == "unbounded_request" else 429), reply
            assert headers["x-interlingua-code"] == code
            assert provider.requests == []
            plain = asked("hi", max_tokens=1)
            status, reply, _ = await gateway.ask("POST", "/v1/chat/completions", plain, small)
            assert status == 200, reply

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_a_history_that_is_kept_here_is_paid_for(tmp_path: Path) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        issued = key(tmp_path, keep_content=True)
        token = issued.token
        async with served(tmp_path) as gateway:
            long = {"model": ANTHROPIC, "input": "word " * 90_000, "max_output_tokens": 1}
            status, reply, _ = await gateway.ask("POST", "/v1/responses", long, token)
            assert status == 200, reply
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                change(store, issued.key.id, daily_cap_usd=Decimal("0.1"))
            gateway.service.gateway.keys.forget()  # type: ignore[attr-defined]  # what it saw
            more = {"input": "and?", "previous_response_id": reply["id"], "max_output_tokens": 1}
            status, reply, _ = await gateway.ask(
                "POST", "/v1/responses", {"model": ANTHROPIC, **more}, token
            )
            assert status == 429, reply
            assert len(provider.requests) == 1

    with Upstream() as provider:
        asyncio.run(work(provider))


def test_what_cannot_be_seen_is_as_large_as_it_can_be() -> None:
    target = Targets(keys={"anthropic": "k"}).find(ANTHROPIC)

    def most(request: il.Request, body: bytes = b"") -> int:
        return most_of(request, (target,), "anthropic", body).input

    plain = il.Request(messages=(il.Message.user("hi"),))
    assert most(plain, b"{" + b" " * 98 + b"}") == 50
    picture = il.ImageBlock(il.Source("url", URL), "image/png")
    seen = il.Request(messages=(il.Message.user((picture, picture)),))
    assert most(seen) >= 2 * PICTURE
    inside = il.ToolResultBlock(
        "t", (il.DocumentBlock(il.Source("file_id", "f"), "application/pdf"),)
    )
    unseen = il.Request(messages=(il.Message(role=il.Role.TOOL, content=(inside,)),))
    assert most(unseen) >= window(ANTHROPIC) > 100_000
    stored = plain.replace(continues=il.Continues(response_id="r"))
    assert most(stored) >= window(ANTHROPIC)
    assert window("nobody:knows") > 100_000


def test_only_plain_requests_need_not_be_read() -> None:
    content = b'{"messages":[{"role":"user","content":"hi"}],"max_tokens":7%b}'
    assert plainly("openai-chat", content % b',"n":2') == (len(content) // 2 + 2, 7, 2, 0, ())
    assert plainly("openai-chat", content % (b" " * SHORT)) is None
    for more in (b'"tools":[]', b'"n":2.0', b'"n":0', b'"max_tokens":-1', b'"max_tokens":"7"'):
        assert plainly("openai-chat", content % (b"," + more)) is None
    parts = content.replace(b'"hi"', b'[{"type":"image_url"}]') % b""
    assert plainly("openai-chat", parts) is None
    assert plainly("gemini", b'{"contents":[]}') is None


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"content": "hi", "options": {"max_output_tokens": 1000, "n": 100}}, "quota_exceeded"),
        (
            {
                "content": [
                    {
                        "type": "document",
                        "source": {"kind": "url", "data": URL},
                        "media_type": "application/pdf",
                    }
                ],
                "options": {"max_output_tokens": 1},
            },
            "unbounded_request",
        ),
    ],
    ids=["answers", "paper"],
)
def test_turns_of_sessions_are_set_aside_in_the_same_way(
    tmp_path: Path, said: dict[str, Any], code: str
) -> None:
    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        token = key(tmp_path, daily_cap_usd=Decimal("0.5")).token
        async with served(tmp_path) as gateway:
            _, made, _ = await gateway.ask("POST", "/sessions", {"workspace_path": "."}, token)
            path = f"/sessions/{made['id']}/turns"
            status, reply, _ = await gateway.ask("POST", path, said, token)
            assert (status, reply["error"]["code"]) in ((429, code), (403, code)), reply
            assert provider.requests == []
            _, page, _ = await gateway.ask("GET", f"/sessions/{made['id']}/messages", token=token)
            assert page["messages"] == [], "nothing was stored"

    with Upstream() as provider:
        asyncio.run(work(provider))
