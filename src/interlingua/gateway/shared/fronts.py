"""The fronts: which paths belong to which dialect, where a client's key is, and how errors look."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote

from msgspec import structs

from interlingua.dialects.front import Action, Front
from interlingua.dialects.registry import dialect, dialects
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

codec_of = cache(dialect)
"""The dialect of a front, by its name."""


@cache
def front_of(name: str) -> Front:
    """The front of a dialect that can be served."""
    front = dialect(name).front
    assert front is not None, f"{name} cannot be served"
    return front


CHAT = front_of("openai-chat")
RESPONSES = front_of("openai-responses")
ANTHROPIC = front_of("anthropic")
GEMINI = front_of("gemini")
INTERACTIONS = front_of("gemini-interactions")
OLLAMA = front_of("ollama")


@cache
def fronts() -> tuple[Front, ...]:
    """Every dialect that can be served."""
    found = (dialect(name).front for name in dialects())
    return tuple(front for front in found if front is not None)


@cache
def all_fronts() -> tuple[Front, ...]:
    """Every front: those of the dialects, then those of hosts that wrap one."""
    hosted = [front for name in dialects() for front in dialect(name).hosted]
    return (*fronts(), *hosted)


class Match(NamedTuple):
    """The operation of a path. `model` and `stream` are set if the path has them."""

    front: Front
    action: Action = "generate"
    model: str | None = None
    stream: bool | None = None


(ROUTER,) = dialect(CHAT.dialect).hosted
"""Chat as OpenRouter has it."""
COHERE = front_of("cohere")
BEDROCK = front_of("bedrock")
DECISIONS = {
    "/v1/decisions": "openai",
    "/decisions": "openai",
    "/v1beta/decisions": "gemini",
    "/api/alpha/decisions": "openrouter",
    "/alpha/decisions": "openrouter",
    "/v1/systemone": "systemone",
    "/systemone": "systemone",
    "/api/v1/systemone": "openrouter",
    "/v4/ai/decision-model": "vercel",
    "/v4/ai/evaluation-model": "vercel",
}
"""Paths for decisions, and the forms that they have."""
_DECIDING = {"gemini": GEMINI}
"""Fronts of decisions that have a form of their own; the others have Chat's errors."""
_BESIDE: dict[str, Match] = {
    "/v1/embeddings": Match(CHAT, "embed"),
    "/embeddings": Match(CHAT, "embed"),
    "/v2/embed": Match(COHERE, "embed"),
    "/api/embed": Match(OLLAMA, "embed"),
    "/api/embeddings": Match(OLLAMA, "embed"),
    "/v1/completions": Match(CHAT, "complete"),
    "/completions": Match(CHAT, "complete"),
    **{path: Match(_DECIDING.get(form, CHAT), "decide") for path, form in DECISIONS.items()},
}
"""Paths beside those of a conversation."""


@cache
def paths() -> dict[str, Match]:
    own = {
        path: Match(front, action) for front in all_fronts() for path, action in front.paths.items()
    }
    return {**own, **_BESIDE}


@cache
def _readers() -> tuple[Front, ...]:
    return tuple(front for front in all_fronts() if front.path is not None)


def match(path: str) -> Match | None:
    """The operation of a POST to this path."""
    found = _match(path)
    if found is None and (twice := _TWICE.match(path)) is not None:
        return _match(path[twice.end() :])
    if found is None and (there := at_host(path)) is not None:
        found = _match(there.path)
        if found is not None and there.is_router:
            return found._replace(front=_of_router(found.front))
        if found is not None and there.deployment is not None and found.model is None:
            return found._replace(model=there.deployment)
    return found


def decision_form(path: str) -> str:
    """The form of decisions at a path, which may have a version or a host before it."""
    twice, there = _TWICE.match(path), at_host(path)
    if path not in DECISIONS and twice is not None:
        path = path[twice.end() :]
    return DECISIONS[there.path if path not in DECISIONS and there is not None else path]


def _match(path: str) -> Match | None:
    found = paths().get(path)
    if found is not None:
        return found
    for front in _readers():
        matched = front.path(path) if front.path is not None else None
        if matched is not None:
            return Match(front, *matched)
    return None


_TWICE = re.compile(r"/v\d(?:beta\d*)?(?=/(?:v\d|api/|model/|anthropic/))")
"""The version in a base URL in front of the one that the SDK writes itself."""
_HOST = re.compile(
    r"/openai/deployments/(?P<model>[^/]+)(?=/)|/openai(?:/v1)?(?=/)|(?P<router>/api/v1)(?=/)"
)
"""Where Azure, Groq and OpenRouter have OpenAI's API, before its own paths."""


class HostPath(NamedTuple):
    """OpenAI's path for that of a host; `deployment` is the model that Azure's paths name."""

    path: str
    deployment: str | None
    is_router: bool


def at_host(path: str) -> HostPath | None:
    """A path of a host of OpenAI's API; None for any other."""
    host = _HOST.match(path)
    if host is None:
        return None
    deployment = None if host["model"] is None else unquote(host["model"])
    return HostPath(f"/v1{path[host.end() :]}", deployment, host["router"] is not None)


@cache
def _of_router(front: Front) -> Front:
    """The front where names without a provider are OpenRouter's."""
    errors = ROUTER.errors if front.dialect in _OPENAI else None
    return structs.replace(front, provider=ROUTER.provider, errors=errors)


SIGNED = "AWS4-HMAC-SHA256"
_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/")
KEY_PREFIX = "gw_"
"""The prefix of the gateway's keys."""


def _signer(signature: str, headers: Mapping[bytes, bytes]) -> str | None:
    """The key in a request that an SDK of Amazon signed: the id of its access key, or its session
    token. The signature is not checked: it proves a secret that the gateway does not have."""
    found = _CREDENTIAL.search(signature)
    id = found[1] if found is not None else None
    session = headers.get(b"x-amz-security-token")
    if session is None or (id is not None and id.startswith(KEY_PREFIX)):
        return id
    return session.decode("latin-1").strip() or id


GATEWAY_KEY = b"x-interlingua-key"
"""The header for the key of the gateway where the SDK's own header has a key of the provider."""


def token_of(headers: Mapping[bytes, bytes], query: bytes) -> str | None:
    """The gateway key of a client, wherever its SDK puts it."""
    if GATEWAY_KEY in headers:
        return headers[GATEWAY_KEY].decode("latin-1").strip() or None
    authorization = headers.get(b"authorization")
    if authorization is not None:
        style, _, token = authorization.decode("latin-1").partition(" ")
        if style == SIGNED:
            return _signer(token, headers)
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
"""The status for an error of the provider."""
_KINDS = {401: ErrorKind.AUTH, 403: ErrorKind.AUTH, 429: ErrorKind.RATE_LIMIT}


def kind_of(status: int) -> ErrorKind:
    """The kind of an error of ours."""
    usual = ErrorKind.SERVER_ERROR if status >= 500 else ErrorKind.INVALID_REQUEST
    return _KINDS.get(status, usual)


_OVERFLOW = "context_length_exceeded"
_OPENAI = (CHAT.dialect, RESPONSES.dialect)
_TOO_LONG = "prompt is too long"


def recognizable(front: Front, error: ProviderError) -> ProviderError:
    """The error with the text by which agents recognise that they have to compact."""
    if error.kind is not ErrorKind.CONTEXT_OVERFLOW or error.raw:
        return error
    if front.dialect == ANTHROPIC.dialect:
        is_known = _TOO_LONG in error.message.lower()
        return error if is_known else error.replace(message=f"{_TOO_LONG}: {error.message}")
    return error.replace(code=_OVERFLOW) if front.dialect in _OPENAI else error


def error_body(front: Front, error: ProviderError) -> bytes:
    """An error in the client's own dialect."""
    error = recognizable(front, error)
    metadata = MessageMetadata(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message=error.message
    )
    message = Message.assistant((), metadata)
    name = front.errors or front.dialect
    return dialect(name).write_response(Response(message, error=error)).json()


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]
PRINCIPAL = "interlingua.principal"
"""The scope key of a gateway's own requests with their principal; no client can set it."""
HOST = "interlingua.host"
"""The scope key of a request to a path of a host, with its `HostPath`."""
DRAIN = "interlingua.drain"
"""The scope key of a WebSocket with the event that is set when the gateway shuts down."""
