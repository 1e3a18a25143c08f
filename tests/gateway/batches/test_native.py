"""Batches that are handed over to a provider: each API in front of the other one's provider."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from interlingua.gateway.batches import native
from interlingua.gateway.settings import BatchSettings
from tests.gateway.batches.running import (
    anthropic_client,
    begun,
    ended,
    lines_of,
    messages_ended,
    openai_client,
    rows_of,
)
from tests.gateway.endpoints.vendors import Reply, Seen, Vendors
from tests.gateway.serving import ANTHROPIC, OPENAI, Upstream, key, served, settings_in

TEXTS = ["one", "two", "fail", "four"]


class Provider:
    """The batch APIs of OpenAI and Anthropic, as far as a gateway asks for them. The answer to a
    batch that was begun is lost `lost` times."""

    def __init__(self, lost: int = 0) -> None:
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, Any] = {}
        self.looks = 0
        self.lost = lost
        self.single = 0

    def __call__(self, seen: Seen) -> Reply | None:
        path = seen.path.partition("?")[0]
        if seen.method == "POST" and path in (
            "/openai/v1/batches",
            "/anthropic/v1/messages/batches",
        ):
            made = self._begun(seen, path)
            self.lost -= 1
            return Reply(made) if self.lost < 0 else Reply({"error": {"message": "lost"}}, 500)
        if path == "/openai/v1/files":
            data = re.split(rb"\r\n\r\n", seen.body, maxsplit=2)[2].rpartition(b"\r\n--")[0]
            self.files["file-in"] = data
            return Reply({"id": "file-in", "object": "file"})
        if path.endswith("/cancel"):
            self.looks = 3
            return Reply({})
        if path.endswith("/content"):
            return Reply(self.files[path.split("/")[-2]])
        if path.endswith("/results"):
            return Reply(self.files["results"])
        if path in ("/openai/v1/batches", "/anthropic/v1/messages/batches"):
            return Reply({"data": list(self.batches.values())})
        if "batches/" in path:
            self.looks += 1
            return Reply(self._shown(self.batches[path.split("/")[-1]]))
        self.single += 1
        return None

    def _begun(self, seen: Seen, path: str) -> Any:
        id = f"b{len(self.batches)}"
        if path.startswith("/openai"):
            self.batches[id] = {"id": id, "status": "in_progress", **seen.wire}
        else:
            count = len(seen.wire["requests"])
            counts = {"processing": count, "succeeded": 0}
            wire = {"id": id, "processing_status": "in_progress", "request_counts": counts}
            self.batches[id] = {**wire, "created_at": "2999-01-01T00:00:00+00:00"}
            self.files["requests"] = seen.body
        return self.batches[id]

    def _shown(self, batch: Any) -> Any:
        if self.looks < 3:
            return batch
        if "status" not in batch:
            requests = json.loads(self.files["requests"])["requests"]
            lines = [_message_line(each) for each in requests]
            self.files["results"] = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
            return {**batch, "processing_status": "ended"}
        lines = [_chat_line(json.loads(line)) for line in self.files["file-in"].splitlines()]
        for name in ("output", "error"):
            chosen = [
                line
                for line in lines
                if (line["response"]["status_code"] == 200) == (name == "output")
            ]
            self.files[name] = b"".join(json.dumps(line).encode() + b"\n" for line in chosen[::-1])
        return {
            **batch,
            "status": "completed",
            "output_file_id": "output",
            "error_file_id": "error",
        }


def _chat_line(line: Any) -> Any:
    assert line["url"] == "/v1/chat/completions"
    text = line["body"]["messages"][-1]["content"]
    text = text if isinstance(text, str) else text[0]["text"]
    message = {"role": "assistant", "content": f"said {text}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    body: Any = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4.1"}
    body |= {"choices": choices, "usage": usage}
    status = 200
    if text == "fail":
        status, body = 400, {"error": {"message": "not this", "type": "invalid_request_error"}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return {"id": "x", "custom_id": line["custom_id"], "response": response, "error": None}


def _message_line(line: Any) -> Any:
    content = line["params"]["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[0]["text"]
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": [{"type": "text", "text": f"said {text}"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    result: Any = {"type": "succeeded", "message": message}
    if text == "fail":
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "not this"}}
        result = {"type": "errored", "error": error}
    return {"custom_id": line["custom_id"], "result": result}


def chats(url: str) -> None:
    with openai_client(url) as client:
        batch = ended(client, begun(client, lines_of(TEXTS, ANTHROPIC)))
        assert batch.status == "completed", batch
        rows = rows_of(client, batch.output_file_id)
        fields = {
            id: row["response"]["body"]["choices"][0]["message"]["content"]
            for id, row in rows.items()
        }
        assert fields == {"id-0": "said one", "id-1": "said two", "id-3": "said four"}
        failed = rows_of(client, batch.error_file_id)
        assert "not this" in json.dumps(failed["id-2"])
        assert (batch.request_counts.completed, batch.request_counts.failed) == (3, 1)


def messages(url: str) -> None:
    with anthropic_client(url) as client:
        requests: Any = [
            {
                "custom_id": f"id-{number}",
                "params": {
                    "model": OPENAI,
                    "max_tokens": 20,
                    "messages": [{"role": "user", "content": text}],
                },
            }
            for number, text in enumerate(TEXTS)
        ]
        made = client.messages.batches.create(requests=requests)
        messages_ended(client, made.id)
        found = {each.custom_id: each.result for each in client.messages.batches.results(made.id)}
        assert {id: result.type for id, result in found.items()} == {
            **{"id-0": "succeeded", "id-1": "succeeded", "id-2": "errored", "id-3": "succeeded"},
        }
        first: Any = found["id-0"]
        assert first.message.content[0].text == "said one"


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("client_side", [chats, messages])
def test_a_batch_is_run_once_by_the_provider_of_its_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client_side: Any, lost: int
) -> None:
    """Also if the answer of the provider was lost when it was handed over."""
    monkeypatch.setattr(native, "POLL", 0.05)
    provider = Provider(lost)

    async def work(vendors: Vendors) -> None:
        vendors.configure(tmp_path)
        settings = replace(settings_in(tmp_path), batches=BatchSettings(at_provider=True))
        async with served(tmp_path, settings) as gateway:
            await asyncio.to_thread(client_side, gateway.base)
            await gateway.stored()
            _, listed, _ = await gateway.ask("GET", "/requests")
            rows = [row for row in listed["requests"] if row["status"] == 200]
            assert len(rows) == 3
            assert {row["usage"]["input_tokens"] for row in rows} == {3}
            price = {OPENAI: 3 * 2 + 2 * 8, ANTHROPIC: 3 * 3 + 2 * 15}[rows[0]["model"]]
            assert {float(row["usage"]["cost_usd"]) for row in rows} == {price / 2 / 1e6}

    with Vendors(provider) as vendors:
        asyncio.run(work(vendors))
    assert (len(provider.batches), provider.single) == (1, 0)


def test_a_cancelled_batch_is_cancelled_at_its_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "POLL", 0.05)
    provider = Provider()
    provider.looks = -1_000_000

    def client_side(url: str) -> None:
        with openai_client(url) as client:
            id = begun(client, lines_of(TEXTS, OPENAI))
            while not provider.batches:
                pass
            assert client.batches.cancel(id).status == "cancelling"
            batch = ended(client, id)
            assert batch.status == "cancelled"
            assert len(rows_of(client, batch.output_file_id)) == 3

    async def work(vendors: Vendors) -> None:
        vendors.configure(tmp_path)
        settings = replace(settings_in(tmp_path), batches=BatchSettings(at_provider=True))
        async with served(tmp_path, settings) as gateway:
            await asyncio.to_thread(client_side, gateway.base)

    with Vendors(provider) as vendors:
        asyncio.run(work(vendors))
    assert (len(provider.batches), provider.single) == (1, 0)


def test_requests_for_several_providers_and_of_capped_keys_are_run_by_the_queue(
    tmp_path: Path,
) -> None:
    async def work(upstream: Upstream) -> None:
        upstream.configure(tmp_path)
        settings = replace(settings_in(tmp_path), batches=BatchSettings(at_provider=True))
        capped = key(tmp_path, "capped", keep_content=True, daily_cap_usd=Decimal(5)).token
        free = key(tmp_path, "free", keep_content=True).token
        both = lines_of(["a"], OPENAI) + lines_of(["b"], ANTHROPIC).replace(b"id-0", b"id-1")
        async with served(tmp_path, settings) as gateway:
            for token, data in ((capped, lines_of(["a", "b"], OPENAI)), (free, both)):
                with openai_client(gateway.base, token) as client:
                    id = await asyncio.to_thread(begun, client, data)
                    batch = await asyncio.to_thread(ended, client, id)
                    assert batch.request_counts.completed == 2

    with Upstream() as upstream:
        asyncio.run(work(upstream))
    assert len(upstream.requests) == 4
