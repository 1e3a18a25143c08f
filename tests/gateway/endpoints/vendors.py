"""All vendors on one loopback port, each below its own name, with the paths beside conversations.

A vector is made of the text alone, so that a test knows which one it has to get; each word counts
as a token."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from tests.loopback import Loopback, body_of, reply

KEY = "canary-5b0e91d27c"
BASES = {
    "openai": "/openai/v1",
    "mistral": "/mistral/v1",
    "gemini": "/gemini/v1beta",
    "cohere": "/cohere",
    "ollama": "/ollama",
    "bedrock": "/bedrock",
    "anthropic": "/anthropic",
}
SIZE = 4


class Seen(NamedTuple):
    """One request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def wire(self) -> Any:
        return json.loads(self.body)


class Reply(NamedTuple):
    body: Any
    status: int = 200
    headers: dict[str, str] | None = None

    def data(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Handler = Callable[[Seen], Reply | None]


def vector(text: str, size: int = SIZE) -> list[float]:
    """Numbers that a float of 32 bits holds exactly."""
    return [((len(text) + 3) * (index + 1) + sum(text.encode()) % 97) / 64 for index in range(size)]


def tokens(texts: list[str]) -> int:
    return sum(len(text.split()) for text in texts)


class Vendors(Loopback):
    """Serves from `with` to its end. `extra` answers before the vendors do."""

    def __init__(self, extra: Handler | None = None) -> None:
        self.seen: list[Seen] = []
        self.extra = extra
        vendors = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                headers = {k.lower(): v for k, v in self.headers.items()}
                seen = Seen(self.command, self.path, headers, body_of(self))
                vendors.seen.append(seen)
                made = (vendors.extra and vendors.extra(seen)) or embeddings(seen)
                reply(self, made.data(), status=made.status, headers=made.headers)

            do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815  # the library's names

        super().__init__(Handler)

    def configure(self, home: Path) -> None:
        """Writes the user's file of providers."""
        home.mkdir(parents=True, exist_ok=True)
        parts = [
            f'[providers.{name}]\nbase_url = "{self.url}{base}"\nkey = "{KEY}"\n'
            for name, base in BASES.items()
        ]
        parts.append('[providers.bedrock.variables.region]\ndefault = "eu-west-1"\n')
        (home / "providers.toml").write_text("".join(parts))

    def last(self) -> Seen:
        return self.seen[-1]


def embeddings(seen: Seen) -> Reply:
    """Each vendor's own answer to a request for embeddings."""
    vendor = seen.path.split("/")[1]
    path = seen.path.removeprefix(BASES.get(vendor, ""))
    match vendor, path:
        case "openai", "/embeddings":
            return _openai(seen.wire)
        case "mistral", "/embeddings":
            answer = _openai(seen.wire)
            return Reply({"id": "emb-1", **answer.body})
        case "gemini", _ if path.endswith(":batchEmbedContents"):
            texts = [_text(each["content"]) for each in seen.wire["requests"]]
            size = seen.wire["requests"][0].get("outputDimensionality", SIZE)
            return Reply({"embeddings": [{"values": vector(text, size)} for text in texts]})
        case "cohere", "/v2/embed":
            return _cohere(seen.wire)
        case "ollama", "/api/embed":
            value = seen.wire["input"]
            texts = [value] if isinstance(value, str) else value
            made = [vector(text, seen.wire.get("dimensions", SIZE)) for text in texts]
            return Reply({"model": "m", "embeddings": made, "prompt_eval_count": tokens(texts)})
        case "bedrock", _ if "titan" in path and path.endswith("/invoke"):
            text = seen.wire["inputText"]
            made = vector(text, seen.wire.get("dimensions", SIZE))
            return Reply({"embedding": made, "inputTextTokenCount": tokens([text])})
        case "bedrock", _ if "cohere" in path and path.endswith("/invoke"):
            texts = seen.wire["texts"]
            count = {"x-amzn-bedrock-input-token-count": str(tokens(texts))}
            made = {"float": [vector(text) for text in texts]}
            return Reply({"id": "e1", "embeddings": made, "texts": texts}, headers=count)
    return Reply({"error": {"message": f"no such path: {seen.path}", "code": "none"}}, 404)


def _text(content: dict[str, Any]) -> str:
    return "\n".join(part["text"] for part in content["parts"])


def _openai(wire: dict[str, Any]) -> Reply:
    value = wire["input"]
    texts = [value] if isinstance(value, str) else value
    assert "input_type" not in wire or wire["model"] != "text-embedding-3-small"
    size = wire.get("dimensions") or wire.get("output_dimension") or SIZE
    data = []
    for index, text in enumerate(texts):
        made: Any = vector(text, size) if isinstance(text, str) else [1.0] * size
        if wire.get("encoding_format") == "base64":
            made = base64.b64encode(struct.pack(f"<{size}f", *made)).decode()
        data.append({"object": "embedding", "index": index, "embedding": made})
    count = sum(len(text.split()) if isinstance(text, str) else len(text) for text in texts)
    usage = {"prompt_tokens": count, "total_tokens": count}
    wire = {"object": "list", "data": data[::-1], "model": wire["model"], "usage": usage}
    return Reply(wire, headers={"x-request-id": "up-1"})


def _cohere(wire: dict[str, Any]) -> Reply:
    texts = wire.get("texts") or ["picture" for _ in wire.get("inputs") or ()]
    by_type: dict[str, Any] = {}
    for kind in wire.get("embedding_types") or ("float",):
        made = [vector(text, wire.get("output_dimension", SIZE)) for text in texts]
        by_type[kind] = [[1, 2] for _ in texts] if kind == "int8" else made
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": tokens(texts)}}
    return Reply({"id": "e1", "embeddings": by_type, "texts": texts, "meta": meta})
