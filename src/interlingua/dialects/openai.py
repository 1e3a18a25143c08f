"""Shared by Chat Completions and the Responses API: errors, formats of answers and free text, log
probabilities, and plain text. Words are those of the Python package `openai` 3.49.0 and of recorded
answers of other hosts (read 2026-11).

Error bodies have the shapes that their hosts answer with:

    {"error": {"message", "type", "param", "code"}}      perhaps with the HTTP status beside it
    {"message": "…", "type", "code", …}                   Mistral and others
    {"error": "…", "code", …}                             xAI and others
    {"detail": "…"} or a list of problems                 FastAPI

The key of the text in an error that is the body itself is spelling (`$form.text`).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from interlingua.dialects.kernel.errors import failed_answer, is_status, require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Attrs,
    Field,
    Reading,
    Table,
    inside,
    one_of,
    plain,
    together,
    word,
)
from interlingua.dialects.kernel.preserved import (
    FORM,
    Preserved,
    fill,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.blocks import Block, TextBlock
from interlingua.model.exchange import ErrorKind, ProviderError, Response, ResponseFormat
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
STATUS_ERRORS: dict[tuple[ErrorKind, int | None], str] = {
    (ErrorKind.AUTH, 403): "permission_error",
}
"""The `type` of kinds with these HTTP statuses."""

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
"""Phrases of messages about authentication, in lower case, for errors without a code."""
_VAGUE = frozenset({ErrorKind.INVALID_REQUEST, ErrorKind.OTHER})


def error_kind(message: str, status: int | None, *words: str | None) -> ErrorKind:
    """The kind of an error: by the codes of the body, in their order, then by the status, then by
    words in the message."""
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
    """Whether a block is a text that a string can express completely."""
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
"""The name of a JSON schema without one; the wire requires a name."""


def format_field(key: str, *, inside: bool, fillers: Wire) -> Field:
    """The `response_format` of options; `fillers` are the members that a schema requires."""

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
    """The members of a request that control the prompt cache. `ttls` are the lifetimes that may
    be requested; with `reports`, a diagnosis of a missed cache may be requested."""
    times = TwoWay({ttl: ttl for ttl in ttls})
    shortest = because("cache_ttl", ttl=ttls[0])
    ttl = word("ttl", "cache_ttl", times, near=dict.fromkeys(_TTLS, ttls[0]), reason=shortest)
    within = [word("mode", "cache_mode", _CACHE_MODES), ttl._replace(read=_read_ttl)]
    if reports:
        within.append(plain("prewarm", "cache_prewarm", bool, lenient=True))
        within.append(plain("comparison_response_id", "cache_comparison", str, lenient=True))
    return [
        plain("prompt_cache_key", "cache_key", str, lenient=True),
        inside("prompt_cache_options", *within),
        one_of("prompt_cache_retention", "cache_retention", {"in_memory", "24h"}, lenient=True),
    ]


def _read_ttl(value: Any) -> Reading:
    """Any known lifetime, whichever the API takes."""
    return {"cache_ttl": value} if require(value, str) in _TTLS else NOT_OURS


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
    """The grammar of a tool's free text; an explicit "any text" is spelling."""

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
    """The content as one text, for a wire that supports only that."""
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


_TEXTS = ("error", "detail", "message")
_BESIDE = "$status"
"""The key, among the codes of an error, of an HTTP status beside it."""
_STATUS = (_BESIDE, "code", "raw_status_code", "status_code", "status", "statusCode")
_NULLS: Wire = {"param": None, "code": None}
"""Fields that are written even if they are null."""
_ATTRS = ("kind", "message", "code", "status")


class ErrorBodies:
    """How a dialect classifies errors: which of two codes decides the kind first, the type of an
    unclassified error, and whether codes are HTTP statuses."""

    def __init__(
        self,
        name: str,
        *,
        first: str = "type",
        other: str | None = ERRORS.write(ErrorKind.OTHER),
        status_codes: bool = False,
    ) -> None:
        self._name, self._first, self._other = name, first, other
        self._status_codes = status_codes
        keys = ("type", *_STATUS, *(("metadata",) if status_codes else ()))
        self._tables = {
            text: Table(
                ProviderError,
                together(
                    (text, *keys),
                    _ATTRS,
                    partial(self._read_words, text),
                    partial(self._write_words, text),
                ),
                blank=True,
            )
            for text in _TEXTS
        }

    # -- the words --------------------------------------------------------------------------------

    def _read_words(self, text: str, fields: Wire) -> Attrs:
        found = [fields.get(key) for key in (text, "type", "code")]
        message, word, code = [each if type(each) is str else None for each in found]
        inner = fields.get("metadata") if self._status_codes else None
        if code is None and type(inner) is dict and type(inner.get("error_type")) is str:
            code = inner["error_type"]
        status = next((fields[key] for key in _STATUS if is_status(fields.get(key))), None)
        words = (word, code) if self._first == "type" else (code, word)
        kind = error_kind(message or "", status, *words)
        return {"kind": kind, "message": message or "", "code": code, "status": status}

    def _write_words(self, text: str, error: Any, recorder: LossRecorder) -> Wire:
        out: Wire = {text: error.message}
        if self._status_codes:
            if error.code is not None:
                out["metadata"] = {"error_type": error.code}
            known = error.status is not None
            out["code"] = error.status if known else ERROR_STATUS.write(error.kind)
        else:
            if error.code is not None:
                out["code"] = error.code
            if error.status is not None:
                recorder.lost(error, "status", severity="info")
        if not self._status_codes or self._read_words(text, out)["kind"] is not error.kind:
            other = error.kind is ErrorKind.OTHER
            word = STATUS_ERRORS.get((error.kind, error.status)) or ERRORS.write(error.kind)
            out["type"] = self._other if other else word
        report_error_kind(error, self._read_words(text, out)["kind"], recorder)
        return out

    # -- an error object --------------------------------------------------------------------------

    def read(
        self, wire: Wire, text: str = "message", spelling: Wire | None = None
    ) -> ProviderError:
        """The text may be more than a text."""
        preserved, message = Preserved(spelling=spelling or {}), wire.get(text)
        if message is not None and type(message) is not str:
            preserved.hold(text, message)
            wire = {**wire, text: _text_of(message)}
        preserved.mark_any_absent(wire, _NULLS)
        attrs = self._tables[text].read(wire, preserved)
        if not attrs:
            preserved.mark_any_absent(wire, (text, "type"))
        return ProviderError(**attrs or self._read_words(text, {}), raw=preserved.raw(self._name))

    def write(self, error: ProviderError, recorder: LossRecorder) -> Wire:
        return self._write(error, raw_of(self._name, error.raw), "message", recorder)

    def _write(
        self, error: ProviderError, own_raw: Wire, text: str, recorder: LossRecorder
    ) -> Wire:
        out: Wire = {}
        self._tables[text].write(error, out, own_raw, recorder)
        if text in own_raw and text in out and _text_of(own_raw[text]) == error.message:
            out[text] = own_raw[text]
        if not self._status_codes:
            fill(out, own_raw, _NULLS)
        if error.raw is not None:
            recorder.unwritten_raw(error, error.raw)
        return restore(out, own_raw)

    # -- a body -----------------------------------------------------------------------------------

    def read_failure(self, wire: Wire) -> Response:
        inner, status = wire.get("error"), wire.get("status")
        if type(inner) is not dict:
            texts = [key for key in _TEXTS if type(wire.get(key)) is str]
            text = texts[0] if texts else "detail" if "detail" in wire else "message"
            return failed_answer(self._name, self.read(wire, text, {"text": text}))
        around, beside = Preserved(), is_status(status)
        around.add_others(wire, ("error", "status") if beside else ("error",))
        error = self.read({**inner, _BESIDE: status} if beside else inner)
        return failed_answer(self._name, error).replace(raw=around.raw(self._name))

    def write_failure(
        self, response: Response, error: ProviderError, recorder: LossRecorder
    ) -> Wire:
        _account(response, error, recorder)
        own_raw = _as_now(raw_of(self._name, error.raw), error)
        text = spelling_in(own_raw).get("text")
        wire = self._write(error, own_raw, text or "message", recorder)
        if text is None:
            status = wire.pop(_BESIDE, None)
            wire = {"error": wire} if status is None else {"status": status, "error": wire}
        return wire if response.raw is None else restore_raw(wire, response, response.raw, recorder)


def report_error_kind(error: ProviderError, again: ErrorKind, recorder: LossRecorder) -> None:
    if again is not error.kind:
        recorder.lost(error, "kind", because("read_as", value=again.value), kind="approximated")


def _text_of(value: Any) -> str:
    """A text; the problems of a validation in one line."""
    if type(value) is str:
        return value
    problems = value if type(value) is list else [value]
    texts = [each.get("msg") or each.get("message") for each in problems if type(each) is dict]
    return "; ".join([text for text in texts if type(text) is str])


_SHAPES = {"top": "message", "string": "error", "detail": "detail"}


def _as_now(own_raw: Wire, error: ProviderError) -> Wire:
    """Preserved members under their current names. Earlier versions had `shape` in Chat
    Completions, `flat` and `status` in Responses, and did not record most of the absent members."""
    spelling = spelling_in(own_raw)
    text = spelling.get("flat") or _SHAPES.get(spelling.get("shape", ""))
    if text is None:
        return own_raw
    now = {**spelling, "text": text}
    if spelling.get("shape") != "top":
        now["absent"] = ["type", "param", *(["code"] if error.code is None else [])]
    if "status" in spelling:
        now["as"] = {spelling["status"]: error.status}
    return {**own_raw, FORM: now}


def _account(response: Response, error: ProviderError, recorder: LossRecorder) -> None:
    """An error body has no place for a message."""
    message, metadata = response.message, response.message.metadata
    for each in (message, *response.alternatives):
        for block in each.content:
            recorder.dropped(block, because("error_without_message"))
    for field in ("usage", "response_id", "response_model"):
        if getattr(metadata, field) is not None:
            recorder.lost(message, f"metadata.{field}", because("error_without_message"))
    if metadata.error_message not in (None, error.message):
        recorder.lost(message, "metadata.error_message", because("error_has_message"))
