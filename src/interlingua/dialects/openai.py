"""What Chat Completions and the Responses API say alike: what went wrong, what an answer or a free
text has to look like, log probabilities, and which text is plain. Words are those of the Python
package `openai` 3.49.0 and of recorded answers of other hosts (read 2026-11).

Error bodies have the shapes that their hosts answer with:

    {"error": {"message", "type", "param", "code"}}      perhaps with the HTTP status beside it
    {"message": "…", "type", "code", …}                   Mistral and others
    {"error": "…", "code", …}                             xAI and others
    {"detail": "…"} or a list of problems                 FastAPI

Under which key the text stands of an error that is the body itself, no field can tell
(`$form.text`).
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    inside,
    one_of,
    plain,
    word,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.exchange import ErrorKind, ResponseFormat
from interlingua.model.reasons import because
from interlingua.model.tools import Grammar

_WORDS: dict[ErrorKind, str] = {
    ErrorKind.RATE_LIMIT: "rate_limit_error rate_limit_exceeded RateLimitReached tokens requests "
    "insufficient_quota too_many_requests",
    ErrorKind.AUTH: "authentication_error invalid_api_key authentication invalid_authentication "
    "permission_error permission_denied forbidden",
    ErrorKind.SERVER_ERROR: "server_error api_error internal_error internal_server_error server "
    "service_unavailable provider_overloaded provider_unavailable vector_store_timeout",
    ErrorKind.NETWORK: "network_error timeout",
    ErrorKind.CONTEXT_OVERFLOW: "context_length_exceeded exceed_context_size_error "
    "token_limit_exceeded payload_too_large",
    ErrorKind.CANCELLED: "cancelled",
    ErrorKind.INVALID_REQUEST: "invalid_request_error invalid_request invalid-argument "
    "invalid_prompt model_not_found invalid_model not_found not_found_error invalid_image "
    "invalid_image_format invalid_base64_image invalid_image_url",
    ErrorKind.OTHER: "unknown_error",
}
ERRORS: TwoWay[str, ErrorKind] = TwoWay(
    {word: kind for kind, words in _WORDS.items() for word in words.split()}
)
"""The `type` or `code` of an error; the first of each kind is the `type` that is written."""

ERROR_STATUS: TwoWay[int, ErrorKind] = TwoWay(
    {
        400: ErrorKind.INVALID_REQUEST,
        401: ErrorKind.AUTH,
        403: ErrorKind.AUTH,
        408: ErrorKind.NETWORK,
        413: ErrorKind.CONTEXT_OVERFLOW,
        429: ErrorKind.RATE_LIMIT,
        499: ErrorKind.CANCELLED,
        500: ErrorKind.SERVER_ERROR,
        520: ErrorKind.OTHER,
    }
)
"""HTTP statuses; others from 400 are invalid requests, from 500 server errors."""

OVERFLOW_SIGNS = ("context length", "context size", "context window", "maximum context")
AUTH_SIGNS = ("api key", "unauthorized", "authentication")
"""What messages speak of, in lower case, where no word and no number says it."""
_VAGUE = frozenset({ErrorKind.INVALID_REQUEST, ErrorKind.OTHER})


def error_kind(message: str, status: int | None, *words: str | None) -> ErrorKind:
    """What went wrong: by the words of the body, in their order, then by the status, then by what
    the message speaks of."""
    kinds = [ERRORS.words[word] for word in words if word in ERRORS.words]
    numbers = [int(word) for word in words if word and word.isdecimal() and len(word) == 3]
    kinds += [_status_kind(number) for number in (status, *numbers) if number is not None]
    found = next((k for k in kinds if k not in _VAGUE), kinds[0] if kinds else ErrorKind.OTHER)
    speaks = message.lower()
    if found in _VAGUE and any(sign in speaks for sign in OVERFLOW_SIGNS):
        return ErrorKind.CONTEXT_OVERFLOW
    if not kinds and any(sign in speaks for sign in AUTH_SIGNS):
        return ErrorKind.AUTH
    return found


def _status_kind(status: int) -> ErrorKind:
    known = ERROR_STATUS.read(status)
    if known is not None:
        return known
    if status >= 500:
        return ErrorKind.SERVER_ERROR
    return ErrorKind.INVALID_REQUEST if status >= 400 else ErrorKind.OTHER


def is_plain(block: Block) -> bool:
    """Text with nothing about it that a string could not say."""
    if type(block) is not TextBlock or block.raw is not None or block.cache is not None:
        return False
    return not block.citations and block.signature is None and block.phase is None


# -- the shape of an answer, and of free text -----------------------------------------------------
# What a shape says stands beside the word for it in Responses, and inside an object under that word
# in Chat Completions.

FORMATS: TwoWay[str, str] = TwoWay(
    {"text": "text", "json_object": "json", "json_schema": "json_schema"}
)
FORMAT_KEYS: dict[str, type] = {"name": str, "schema": dict, "strict": bool, "description": str}
FORMAT_NAME = "response"
"""The name of a JSON schema that has none; the wire demands one."""


def format_field(key: str, *, inside: bool, fillers: Wire) -> Field:
    """The `response_format` of options; `fillers` are what a schema demands."""

    def read(value: Any) -> Reading:
        if value == {}:
            return {}
        word = value.get("type") if type(value) is dict else None
        kind: Any = FORMATS.read(word) if type(word) is str else None
        if kind is None or kind != "json_schema":
            return NOT_OURS if kind is None else {"response_format": ResponseFormat(kind)}
        schema = value.get(word) if inside else value
        if type(schema) is not dict:
            return NOT_OURS
        found = {name: schema[name] for name in FORMAT_KEYS if schema.get(name) is not None}
        if any(type(each) is not FORMAT_KEYS[name] for name, each in found.items()):
            return NOT_OURS
        return {"response_format": ResponseFormat(kind, **found)}

    def write(options: Any, recorder: LossRecorder) -> Wire | None:
        response_format: ResponseFormat = options.response_format
        word = FORMATS.write(response_format.kind)
        if word is None:
            recorder.lost(options, "response_format")
            return None
        if response_format.kind != "json_schema":
            recorder.unwritten(response_format, frozenset({"kind"}))
            return {"type": word}
        for name, filler in fillers.items():
            if getattr(response_format, name) is None:
                recorder.filled(response_format, name, str(filler))
        attrs = {name: getattr(response_format, name) for name in FORMAT_KEYS}
        schema = {**fillers, **{name: each for name, each in attrs.items() if each is not None}}
        return {"type": word, **({word: schema} if inside else schema)}

    return Field(key, ("response_format",), read, write)


_CACHE_MODES: TwoWay[str, str] = TwoWay({"implicit": "implicit", "explicit": "explicit"})
_TTLS = ("5m", "30m", "1h", "12h", "24h")


def cache_options(ttls: tuple[str, ...], *, reports: bool = False) -> list[Field]:
    """What a request says of the prompt cache. `ttls` are the lifetimes that may be asked for;
    with `reports`, the answer can say why the cache was missed."""
    times = TwoWay({ttl: ttl for ttl in ttls})
    shortest = because("cache_ttl", ttl=ttls[0])
    within = [
        word("mode", "cache_mode", _CACHE_MODES),
        word("ttl", "cache_ttl", times, near=dict.fromkeys(_TTLS, ttls[0]), reason=shortest),
    ]
    if reports:
        within.append(plain("prewarm", "cache_prewarm", bool, lenient=True))
        within.append(plain("comparison_response_id", "cache_comparison", str, lenient=True))
    return [
        plain("prompt_cache_key", "cache_key", str, lenient=True),
        inside("prompt_cache_options", *within),
        one_of("prompt_cache_retention", "cache_retention", {"in_memory", "24h"}, lenient=True),
    ]


def explicit_cache_options() -> Field:
    """The same object where it may only ask for explicit breakpoints, and has to."""

    def read(value: Any) -> Reading:
        match value:
            case {"mode": "explicit", "ttl": str(ttl)}:
                return {"cache_mode": "explicit", "cache_ttl": ttl}
            case {"mode": "explicit"}:
                return {"cache_mode": "explicit"}
        return NOT_OURS

    def write(options: Any, recorder: LossRecorder) -> Wire | None:
        if options.cache_mode != "explicit":
            for attr in ("cache_mode", "cache_ttl"):
                if getattr(options, attr) is not None:
                    recorder.lost(options, attr)
            return None
        ttl = options.cache_ttl
        return {"mode": "explicit"} if ttl is None else {"mode": "explicit", "ttl": ttl}

    return Field("prompt_cache_options", ("cache_mode", "cache_ttl"), read, write)


def grammar_field(*, inside: bool) -> Field:
    """What the free text that a tool takes has to look like; that it may be any is spelling."""

    def read(value: Any) -> Reading:
        if value == {"type": "text"}:
            return {}
        inner = value.get("grammar") if inside and type(value) is dict else value
        match inner:
            case {"syntax": str(syntax), "definition": str(text)}:
                found = Grammar(syntax, text)
                return {"grammar": found} if value == spelled(found) else NOT_OURS
        return NOT_OURS

    def spelled(grammar: Grammar) -> Wire:
        inner = {"syntax": grammar.syntax, "definition": grammar.definition}
        return {"type": "grammar", "grammar": inner} if inside else {"type": "grammar", **inner}

    return Field("format", ("grammar",), read, lambda tool, _: spelled(tool.grammar))


def text_of(block: Any, recorder: LossRecorder) -> str:
    """The content as one text, where the wire has no more."""
    texts: list[str] = []
    for part in block.content:
        if type(part) is TextBlock:
            texts.append(part.text)
            if not is_plain(part):
                recorder.unwritten(part, _TEXT_ALONE)
        else:
            recorder.dropped(part)
    if len(texts) > 1:
        recorder.lost(block, "content", because("joined_text"), kind="approximated")
    return "".join(texts)


_TEXT_ALONE = frozenset({"text"})
