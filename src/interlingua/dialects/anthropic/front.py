"""The Messages API as a gateway serves it."""

from __future__ import annotations

import re
from urllib.parse import unquote

import msgspec
from msgspec.structs import replace

from interlingua.dialects.anthropic.response import read_usage
from interlingua.dialects.anthropic.tables import NAME, STOP_REASONS
from interlingua.dialects.front import (
    BEDROCK_NAMES,
    ERROR_TYPE,
    Action,
    Filler,
    Front,
    InvokeWrapping,
    MessagesWrapping,
    NamedEnding,
    Peek,
    PlainTurn,
    RequestPath,
    Wire,
    code_beside,
)

_MESSAGE: Wire = {"stop_details": None, "container": None}
_USAGE: Wire = {  # null is unknown; the first two may not be null
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation": None,
    "cache_creation_input_tokens": None,
    "cache_read_input_tokens": None,
    "inference_geo": None,
    "output_tokens_details": None,
    "server_tool_use": None,
    "service_tier": None,
}
_BLOCKS: dict[str, Wire] = {"text": {"citations": None}, "tool_use": {"caller": {"type": "direct"}}}


class MessageFiller(Filler):
    def whole(self, wire: Wire) -> Wire:
        content = [
            {**_BLOCKS.get(block.get("type"), {}), **block} for block in wire.get("content", ())
        ]
        usage = {**_USAGE, **(wire.get("usage") or {})}
        return {**_MESSAGE, **wire, "content": content, "usage": usage}


class MessageEnding(NamedEnding):
    marks = (b"message_stop",)
    silent = frozenset(marks)
    last = frozenset({"message_stop"})


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    messages: list[PlainTurn]
    model: str | None = None
    max_tokens: int | None = None
    system: str | None = None
    stream: bool | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    n: None = None

    def limits(self) -> tuple[int | None, ...]:
        return (self.max_tokens,)


class _Message(msgspec.Struct):
    type: str
    content: list[msgspec.Raw]
    usage: Wire
    stop_reason: str


_message = msgspec.json.Decoder(_Message).decode
_HOSTED_KEY = "server_tool_use"
_HOSTED = f'"{_HOSTED_KEY}"'.encode()
"""A key in the usage, and in each block of a tool that the provider ran."""


def _peek(body: bytes) -> Peek | None:
    message = _message(body)
    reason = STOP_REASONS.words.get(message.stop_reason)
    if message.type != "message" or reason is None:
        return None
    if body.count(_HOSTED) > (_HOSTED_KEY in message.usage):
        return None  # the provider ran tools, which are counted by the whole content
    usage, _ = read_usage(message.usage)
    return None if usage is None else Peek(usage, reason)


_PATHS: dict[str, Action] = {"": "generate", "/count_tokens": "count_tokens"}

FRONT = Front(
    dialect=NAME,
    provider="anthropic",
    paths={
        f"{base}/v1/messages{rest}": action
        for base in ("", "/anthropic")  # as the hosts of Amazon and Microsoft have it
        for rest, action in _PATHS.items()
    },
    keep_alive=b'event: ping\ndata: {"type":"ping"}\n\n',
    request_id=b"request-id",
    headers_up=frozenset({b"anthropic-beta", b"anthropic-version"}),
    error_details=code_beside,
    filler=MessageFiller,
    ending=MessageEnding,
    marks=(b'"usage"', b'"error"', _HOSTED),
    texts=b"text|thinking|partial_json",
    peek=_peek,
    plain=msgspec.json.Decoder(_Plain),
    unbounded={
        "mcp_servers": "MCP servers",
        "container": "a container",
        "speed": "a faster tier, which costs more",
        "inference_geo": "a region that may cost more",
        "fallbacks": "models that the provider falls back to",
        "thread": "a conversation stored at the provider",
        "compaction": "summaries that the provider makes",
        "context_management": "summaries that the provider makes",
    },
    counted="input_tokens",
)


_INVOKE = re.compile(r"/model/(.+)/invoke(-with-response-stream)?")
_VERTEX = re.compile(
    r"(?:/v1(?:beta1)?)?/projects/[^/]+/locations/[^/]+/publishers/[^/]+/models/([^/]+)"
    r":(rawPredict|streamRawPredict)"
)


def _invoke_path(path: str) -> RequestPath | None:
    found = _INVOKE.fullmatch(path)
    return found and RequestPath("generate", unquote(found[1]), found[2] is not None)


def _vertex_path(path: str) -> RequestPath | None:
    """A request may ask for a stream at either path; that for a count names its model itself."""
    found = _VERTEX.fullmatch(path)
    if found is None:
        return None
    if found[1] == "count-tokens":
        return RequestPath("count_tokens")
    return RequestPath("generate", unquote(found[1]), True if found[2][0] == "s" else None)


HOSTED = (
    replace(
        FRONT,
        provider="bedrock",
        paths={},
        path=_invoke_path,
        own_names=BEDROCK_NAMES,
        request_id=b"x-amzn-requestid",
        counted="inputTokens",
        wrapping=InvokeWrapping(),
        error_header=ERROR_TYPE.decode(),
    ),
    replace(FRONT, provider="vertex", paths={}, path=_vertex_path, wrapping=MessagesWrapping()),
)
"""Claude at Bedrock (`invoke`) and at Vertex (`rawPredict`), in Anthropic's own format."""
