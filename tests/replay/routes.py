"""Paths of the providers' APIs: which dialect a request is in, and whether it asks for a stream."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import parse_qs, quote, unquote

import msgspec

ANY_MODEL = "some-model"
"""Stands in a path whose recording does not name the model."""


class Route(NamedTuple):
    """What a path says: the dialect, whether the answer is a stream (None: the body says so), the
    framing where it is a choice, and the model where it is in the path."""

    dialect: str
    is_stream: bool | None = None
    framing: str | None = None
    model: str | None = None


_PATHS: list[tuple[re.Pattern[str], Route]] = [
    (re.compile(pattern), route)
    for pattern, route in [
        (r"/model/(?P<model>.+)/converse", Route("bedrock", False)),
        (r"/model/(?P<model>.+)/converse-stream", Route("bedrock", True)),
        (r"/model/(?P<model>.+)/invoke", Route("anthropic", False)),
        (
            r"/model/(?P<model>.+)/invoke-with-response-stream",
            Route("anthropic", True, "invoke"),
        ),
        (r".*/models/(?P<model>.+):rawPredict", Route("anthropic", False)),
        (r".*/models/(?P<model>.+):streamRawPredict", Route("anthropic", True)),
        (r".*/models/(?P<model>.+):generateContent", Route("gemini", False)),
        (r".*/models/(?P<model>.+):streamGenerateContent", Route("gemini", True)),
        (r".*/messages", Route("anthropic")),
        (r".*/interactions", Route("gemini-interactions")),
        (r"/api/chat", Route("ollama")),
        (r"/v[12]/chat", Route("cohere")),
        (r"/api/v1/chat/completions", Route("openrouter")),
        (r".*/chat/completions", Route("openai-chat")),
        (r".*/responses", Route("openai-responses")),
    ]
]


def route_of(path: str, query: str = "", body: bytes = b"") -> Route | None:
    """What a request asks for; None for a path that no dialect has."""
    for pattern, route in _PATHS:
        found = pattern.fullmatch(path)
        if found is None:
            continue
        model = found.groupdict().get("model")
        is_stream, framing = route.is_stream, route.framing
        if is_stream is None:
            is_stream = _asks_for_stream(route.dialect, body)
        if route.dialect == "gemini" and is_stream:
            framing = "sse" if parse_qs(query).get("alt") == ["sse"] else "json"
        return Route(route.dialect, is_stream, framing, model and unquote(model))
    return None


def _asks_for_stream(dialect: str, body: bytes) -> bool:
    try:
        asked = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return False
    # Ollama streams unless it is told not to.
    return bool(isinstance(asked, dict) and asked.get("stream", dialect == "ollama"))


def path_of(dialect: str, model: str | None, is_stream: bool, endpoint: str | None = None) -> str:
    """Where the provider takes such a request."""
    name = quote(model or ANY_MODEL, safe="")
    match dialect, endpoint:
        case "anthropic", "invoke" | "invoke-with-response-stream":
            return f"/model/{name}/{endpoint}"
        case "anthropic", "rawPredict" | "streamRawPredict":
            return f"/v1/publishers/anthropic/models/{name}:{endpoint}"
        case "anthropic", _:
            return "/v1/messages"
        case "bedrock", _:
            return f"/model/{name}/converse{'-stream' if is_stream else ''}"
        case "gemini", _:
            # A model may be called `publishers/google/models/x`; only its last word is its name.
            last = quote((model or ANY_MODEL).rpartition("/")[2], safe="")
            verb = "streamGenerateContent" if is_stream else "generateContent"
            return f"/v1beta/models/{last}:{verb}"
        case "gemini-interactions", _:
            return "/v1/interactions"
        case "ollama", _:
            return "/api/chat"
        case "cohere", _:
            return "/v2/chat"
        case "openrouter", _:
            return "/api/v1/chat/completions"
        case "openai-responses", _:
            return "/v1/responses"
    return "/v1/chat/completions"
