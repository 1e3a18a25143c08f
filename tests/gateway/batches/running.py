"""Batches by the official SDKs, as an application runs them."""

from __future__ import annotations

import io
import json
import time
from typing import Any

import anthropic
import openai

PATIENCE = 30.0


def lines_of(texts: list[str], model: str, url: str = "/v1/chat/completions") -> bytes:
    """A file of OpenAI's with one request for each text."""
    rows = []
    for number, text in enumerate(texts):
        body: dict[str, Any] = {"model": model, "max_tokens": 20}
        body |= {"messages": [{"role": "user", "content": text}]}
        if url == "/v1/embeddings":
            body = {"model": model, "input": text}
        rows.append({"custom_id": f"id-{number}", "method": "POST", "url": url, "body": body})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def openai_client(url: str, token: str = "any") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)


def anthropic_client(url: str, token: str = "any") -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key=token, max_retries=0)


def begun(client: openai.OpenAI, data: bytes, endpoint: str = "/v1/chat/completions") -> str:
    """The id of a batch that has been begun."""
    file = client.files.create(file=("requests.jsonl", io.BytesIO(data)), purpose="batch")
    assert file.bytes == len(data)
    assert client.files.content(file.id).read() == data
    made = client.batches.create(
        input_file_id=file.id,
        endpoint=endpoint,  # type: ignore[arg-type]  # one of its words
        completion_window="24h",
        metadata={"who": "test"},
    )
    return made.id


def ended(client: openai.OpenAI, id: str) -> Any:
    """The batch when it is over."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        batch = client.batches.retrieve(id)
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(0.05)
    raise AssertionError(f"{id} has not ended")


def messages_ended(client: anthropic.Anthropic, id: str) -> Any:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        batch = client.messages.batches.retrieve(id)
        if batch.processing_status == "ended":
            return batch
        time.sleep(0.05)
    raise AssertionError(f"{id} has not ended")


def rows_of(client: openai.OpenAI, file: str | None) -> dict[str, Any]:
    """Lines of a file of results by their id; an id that is there twice is an error."""
    if file is None:
        return {}
    rows = [json.loads(line) for line in client.files.content(file).text.splitlines()]
    found = {row["custom_id"]: row for row in rows}
    assert len(found) == len(rows), "a result is there twice"
    return found
