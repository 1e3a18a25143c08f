"""Files by the official SDKs, passed on to their provider, whose account all keys share."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from interlingua.gateway.shared.file_owners import file_ids
from interlingua.gateway.shared.state import Refusal
from tests.gateway.endpoints.vendors import KEY, Reply, Seen, Vendors
from tests.gateway.serving import Served, key, served

DATA = b"a secret of its owner " * 5000
GPT = "openai:gpt-4.1"


class Account:
    """The files of one account at each vendor, and models that are asked about them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def __call__(self, seen: Seen) -> Reply | None:
        vendor, path = seen.path.split("/")[1], seen.path.partition("?")[0]
        if path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": "read"}
            choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
            wire = {"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4.1"}
            return Reply({**wire, "choices": choices})
        if path.endswith("/images/edits"):
            return Reply({"created": 1, "data": []})
        if "/v1/files" not in path:
            return None
        _, _, rest = path.partition("/v1/files")
        if seen.method == "POST":
            id = f"file-{vendor}-{len(self.files)}"
            self.files[id] = seen.body
            return Reply(self._wire(vendor, id))
        id = rest.strip("/").partition("/")[0]
        if id not in self.files:
            return Reply({"error": {"message": "no such file"}}, 404)
        if seen.method == "DELETE":
            del self.files[id]
            return Reply({"id": id, "object": "file", "deleted": True, "type": "file_deleted"})
        if rest.endswith("/content"):
            return Reply(DATA, headers={"content-type": "text/plain"})
        return Reply(self._wire(vendor, id))

    def _wire(self, vendor: str, id: str) -> dict[str, Any]:
        wire: dict[str, Any] = {"id": id, "filename": "notes.txt"}
        if vendor == "anthropic":
            wire |= {"type": "file", "created_at": "2026-11-01T00:00:00Z", "size_bytes": 3}
            return {**wire, "mime_type": "text/plain", "downloadable": True}
        wire |= {"object": "file", "bytes": 3, "created_at": 5, "purpose": "user_data"}
        return {**wire, "status": "processed"}


def run(home: Path, work: Callable[[Vendors, Served, Account], Any]) -> None:
    account = Account()

    async def serve(vendors: Vendors) -> None:
        vendors.configure(home)
        async with served(home) as gateway:
            await work(vendors, gateway, account)

    with Vendors(account) as vendors:
        asyncio.run(serve(vendors))


def by_openai(url: str, token: str) -> str:
    with openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0) as client:
        made = client.files.create(file=("notes.txt", io.BytesIO(DATA)), purpose="user_data")
        assert client.files.retrieve(made.id).filename == "notes.txt"
        assert client.files.content(made.id).read() == DATA
        batch = client.files.create(file=("b.jsonl", io.BytesIO(b"{}\n")), purpose="batch")
        assert {file.id for file in client.files.list()} == {made.id, batch.id}
        assert [file.id for file in client.files.list(purpose="user_data")] == [made.id]
        other = client.files.create(file=("x", io.BytesIO(b"x")), purpose="fine-tune")
        assert client.files.delete(other.id).deleted
        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(other.id)
        return made.id


def by_anthropic(url: str, token: str) -> str:
    with anthropic.Anthropic(base_url=url, api_key=token, max_retries=0) as client:
        made = client.beta.files.upload(file=("notes.txt", io.BytesIO(DATA), "text/plain"))
        assert client.beta.files.retrieve_metadata(made.id).filename == "notes.txt"
        assert client.beta.files.download(made.id).read() == DATA
        assert [file.id for file in client.beta.files.list()] == [made.id]
        return made.id


PATHS = [("GET", "/v1/files/{id}"), ("GET", "/v1/files/{id}/content"), ("DELETE", "/v1/files/{id}")]
VERSION = {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize("by_sdk", [by_openai, by_anthropic])
def test_each_key_has_its_own_files(tmp_path: Path, by_sdk: Any) -> None:
    async def work(vendors: Vendors, gateway: Served, account: Account) -> None:
        owner, other = key(tmp_path, "owner", keep_content=True).token, key(tmp_path, "other").token
        id = await asyncio.to_thread(by_sdk, gateway.base, owner)
        assert all(KEY in str(seen.headers) for seen in vendors.seen)
        assert all(owner not in str(seen.headers) for seen in vendors.seen)
        assert DATA in account.files[id]
        vendors.seen.clear()
        headers = VERSION if by_sdk is by_anthropic else {}
        for method, path in PATHS:
            for token, expected in ((other, 404), (None, 401), ("gw_wrong", 401)):
                status, reply, _ = await gateway.ask(
                    method, path.format(id=id), token=token, headers=headers
                )
                assert status == expected, (path, reply)
        _, listed, _ = await gateway.ask("GET", "/v1/files", token=other, headers=headers)
        assert listed["data"] == []
        assert vendors.seen == [], "the provider is not asked"
        await gateway.stored()
        _, log, _ = await gateway.ask("GET", "/requests", token=owner)
        assert {row["action"] for row in log["requests"]} == {"files"}

    run(tmp_path, work)


def named(id: str) -> list[tuple[str, str, bytes]]:
    """Requests that name a file, plainly and not."""
    part = f'{{"type":"file","file":{{"file_id":"{id}"}}}}'
    hidden = f'{{"type":"file","file":{{"\\u0066ile_id":"{id}","file_id":"file-none"}}}}'
    twice = f'{{"type":"file","file":{{"file_id":"{id}","file_id":"file-none"}}}}'
    bodies = [
        f'{{"model":"{GPT}","messages":[{{"role":"user","content":[{each}]}}]}}'.encode()
        for each in (part, hidden, twice)
    ]
    found = [("plain", "/v1/chat/completions", bodies[0])]
    found += [("escaped", "/v1/chat/completions", bodies[1])]
    found += [("twice", "/v1/chat/completions", bodies[2])]
    image = {"model": "openai:gpt-image-1", "prompt": "x", "images": [{"file_id": id}]}
    return [*found, ("image", "/v1/images/edits", json.dumps(image).encode())]


def test_a_request_cannot_name_a_file_of_another_key(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served, account: Account) -> None:
        owner, other = key(tmp_path, "owner", keep_content=True).token, key(tmp_path, "other").token
        id = await asyncio.to_thread(by_openai, gateway.base, owner)
        vendors.seen.clear()
        for name, path, body in named(id):
            kind = {"content-type": "application/json", "authorization": f"Bearer {other}"}
            async with gateway.http.post(gateway.base + path, data=body, headers=kind) as reply:
                result = await reply.text()
                assert reply.status == 404, (name, result)
                assert "No such File object" in result
        assert vendors.seen == []
        for name, path, body in named(id):
            kind = {"content-type": "application/json", "authorization": f"Bearer {owner}"}
            async with gateway.http.post(gateway.base + path, data=body, headers=kind) as reply:
                assert reply.status == 200, (name, await reply.text())

    run(tmp_path, work)


def test_keys_for_some_models_and_caps(tmp_path: Path) -> None:
    async def work(vendors: Vendors, gateway: Served, account: Account) -> None:
        tokens = {
            200: key(tmp_path, "one", allowed_models=[GPT]).token,
            403: key(tmp_path, "two", allowed_models=["mistral:mistral-small"]).token,
        }
        for expected, token in tokens.items():
            status = await _sent(gateway, token, {})
            assert status == expected
        assert await _sent(gateway, tokens[403], {"x-interlingua-provider": "mistral"}) == 200
        assert vendors.last().path == "/mistral/v1/files"
        assert await _sent(gateway, tokens[200], {"x-interlingua-provider": "nobody"}) == 400
        capped = key(tmp_path, "capped", daily_cap_usd=Decimal(1)).token
        assert await _sent(gateway, capped, {}) == 200, "files cost nothing"

    run(tmp_path, work)


async def _sent(gateway: Served, token: str, headers: dict[str, str]) -> int:
    import aiohttp

    form = aiohttp.FormData()
    form.add_field("file", b"data", filename="a.txt")
    form.add_field("purpose", "user_data")
    headers = {"authorization": f"Bearer {token}", **headers}
    async with gateway.http.post(f"{gateway.base}/v1/files", data=form, headers=headers) as reply:
        return reply.status


def test_ids_are_found_wherever_they_are() -> None:
    body = b'{"a":[{"file_ids":["file-1","file-2"]},{"b":{"file_id":"file-3"}}],"file_id":null}'
    assert file_ids(body) == ["file-1", "file-2", "file-3"]
    with pytest.raises(Refusal):
        file_ids(b'{"file_id": ')
    with pytest.raises(Refusal, match="more than"):
        file_ids(json.dumps({"file_ids": [f"file-{n}" for n in range(1001)]}).encode())
