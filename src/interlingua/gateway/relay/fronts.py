"""The fronts: which paths speak which dialect, where a client says who it is, and in which words it
is told what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, unquote

from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

Action = Literal["generate", "count_tokens", "nothing"]


class Front(NamedTuple):
    """One dialect as we serve it."""

    dialect: str
    provider: str
    """Whose model a name without a provider is."""
    stream_type: str = "text/event-stream"
    streams_by_default: bool = False
    keep_alive: bytes | None = b": keep-alive\n\n"
    """What may be sent while there is nothing to say; None where the dialect has nothing."""

    def codec(self) -> Dialect:
        return dialect_of(self.dialect)


CHAT = Front("openai-chat", "openai")
RESPONSES = Front("openai-responses", "openai")
ANTHROPIC = Front("anthropic", "anthropic", keep_alive=b'event: ping\ndata: {"type":"ping"}\n\n')
GEMINI = Front("gemini", "gemini")
OLLAMA = Front(
    "ollama",
    "ollama",
    stream_type="application/x-ndjson",
    streams_by_default=True,
    keep_alive=None,
)
FRONTS = (CHAT, RESPONSES, ANTHROPIC, GEMINI, OLLAMA)


class Match(NamedTuple):
    """What a path asks for. `model` and `stream` are there where the path says them."""

    front: Front
    action: Action = "generate"
    model: str | None = None
    stream: bool | None = None


PATHS: dict[str, Match] = {
    "/v1/chat/completions": Match(CHAT),
    "/chat/completions": Match(CHAT),
    "/v1/responses": Match(RESPONSES),
    "/responses": Match(RESPONSES),
    "/v1/responses/compact": Match(RESPONSES, "nothing"),
    "/v1/messages": Match(ANTHROPIC),
    "/v1/messages/count_tokens": Match(ANTHROPIC, "count_tokens"),
    "/api/chat": Match(OLLAMA),
}
_GEMINI = ("/v1beta/models/", "/v1/models/", "/models/")
"""The last one is for clients whose users gave a base URL without a version."""
_GEMINI_ACTIONS: dict[str, tuple[Action, bool]] = {
    "generateContent": ("generate", False),
    "streamGenerateContent": ("generate", True),
    "countTokens": ("count_tokens", False),
}


def match(path: str) -> Match | None:
    """What a POST to this path asks for."""
    found = PATHS.get(path)
    if found is not None or not path.startswith(_GEMINI):
        return found
    place, _, word = path.rpartition(":")
    model = place.partition("/models/")[2]
    action = _GEMINI_ACTIONS.get(word)
    if action is None or not model:
        return None
    return Match(GEMINI, action[0], unquote(model), action[1])


def token_of(headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """The key or token that a client came with, wherever its SDK puts it."""
    said = headers.get(b"authorization")
    if said is not None:
        style, _, token = said.decode("latin-1").partition(" ")
        return token.strip() if style.lower() == "bearer" and token.strip() else None
    for name in (b"x-api-key", b"x-goog-api-key", b"api-key"):
        if name in headers:
            return headers[name].decode("latin-1").strip() or None
    if query:
        keys = parse_qs(query.decode("latin-1")).get("key")
        return keys[0] if keys else None
    return None


STATUSES: dict[ErrorKind, int] = {
    ErrorKind.RATE_LIMIT: 429,
    ErrorKind.AUTH: 502,  # the provider does not know us; the client did nothing wrong
    ErrorKind.SERVER_ERROR: 502,
    ErrorKind.NETWORK: 502,
    ErrorKind.CONTEXT_OVERFLOW: 400,
    ErrorKind.INVALID_REQUEST: 400,
    ErrorKind.CANCELLED: 499,
    ErrorKind.OTHER: 502,
}
"""The status for an error that came from upstream."""


def error_body(front: Front, error: ProviderError) -> bytes:
    """An error in the client's own dialect."""
    metadata = MessageMetadata(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message=error.message
    )
    message = Message.assistant((), metadata)
    return front.codec().write_response(Response(message, error=error)).json()
