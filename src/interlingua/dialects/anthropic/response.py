"""Responses, token counts and error bodies. The three input counts are disjoint on the wire too;
thinking is part of the output."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.anthropic import messages as messages  # which knows all parts
from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.calls import report_repaired
from interlingua.dialects.anthropic.tables import (
    ERRORS,
    NAME,
    NEAR_ERRORS,
    OVERFLOW,
    STATUS_ERRORS,
)
from interlingua.dialects.anthropic.text import ANSWER, read_parts, write_parts
from interlingua.dialects.kernel.claude import CACHE_WRITES, TOOL_USES, own_stop_word
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    failed_answer,
    optional,
    read_whole,
    report_error_word,
    require,
    scalar,
    unwritten_answer,
)
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Attrs,
    Field,
    Reading,
    Table,
    lost,
    plain,
    together,
    usual,
    word,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    keep,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, clamped, count, report_unknown
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.metadata import Transformations, report_cache_details
from interlingua.model.base import Raw
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    CacheDiagnosis,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    Usage,
)
from interlingua.model.reasons import because


def _counted(key: str, attr: str, fill: Callable[[Any], int] | None = None) -> Field:
    """A count. A value that is not a count is written back, and sets no field."""

    def read(value: Any) -> Reading:
        tokens = count(value)
        return NOT_OURS if tokens is None else {attr: tokens}

    return plain(key, attr, int, fill=fill)._replace(read=read)


def _read_details(value: Any) -> Reading:
    tokens = count(value.get("thinking_tokens")) if type(value) is dict else None
    return NOT_OURS if tokens is None else {"reasoning_tokens": tokens}


def _write_details(usage: Any, recorder: LossRecorder) -> Wire:
    if usage.output_tokens is not None and usage.reasoning_tokens > usage.output_tokens:
        recorder.lost(
            usage, "reasoning_tokens", because("reasoning_exceeds_output"), kind="approximated"
        )
    return {"thinking_tokens": usage.reasoning_tokens}


_TIER = Usage.__struct_fields__.index("service_tier")
_NOTHING = astuple(Usage())[4:_TIER] + astuple(Usage())[_TIER + 1 : -1]
_ODD = frozenset({"$form"})
USAGE = Table(
    Usage,
    _counted("input_tokens", "input_tokens", fill=lambda _: 0),
    _counted("output_tokens", "output_tokens", fill=lambda usage: usage.reasoning_tokens or 0),
    _counted("cache_read_input_tokens", "cached_input_tokens"),
    _counted("cache_creation_input_tokens", "cache_creation_input_tokens"),
    Field("output_tokens_details", ("reasoning_tokens",), _read_details, _write_details),
    TOOL_USES.field("server_tool_use"),
    CACHE_WRITES.field("cache_creation"),
    word("service_tier", "service_tier", tables.SERVED_TIERS),
)


def read_usage(wire: Any) -> tuple[Usage | None, tuple[Diagnostic, ...]]:
    if wire is None:
        return None, ()
    if type(wire) is not dict:
        raise ShapeError(".usage", "an object", wire)
    fresh, output = wire.get("input_tokens"), wire.get("output_tokens")
    if len(wire) == 2:
        if type(fresh) is type(output) is int and fresh >= 0 and output >= 0:
            return Usage(fresh, output), ()
    elif len(wire) == 4:
        read, created = wire.get("cache_read_input_tokens"), wire.get("cache_creation_input_tokens")
        whole = type(fresh) is type(output) is type(read) is type(created) is int
        if whole and fresh >= 0 and output >= 0 and read >= 0 and created >= 0:  # type: ignore[operator]  # integers
            return Usage(fresh, output, read, created), ()
    elif len(wire) == 6 and wire.get("service_tier") == "standard":
        counts = (fresh, output, *map(wire.get, _CACHED), *_split(wire.get("cache_creation")))
        if [*map(type, counts)] == _INTEGERS and min(counts) >= 0:
            fresh, output, read, created, hour, minutes = counts
            writes = {"1h": hour, "5m": minutes}
            usage = Usage(fresh, output, read, created, service_tier="default", cache_writes=writes)
            return usage, ()
    elif len(wire) == len(_ALL) and (usual := _read_all(wire)) is not None:
        return usual, ()
    return _read_usage(wire)


_BESIDE = frozenset({"inference_geo", "iterations", "speed", "fallback_credit"})
_ALL = _BESIDE | {
    *("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    *("cache_creation", "output_tokens_details", "server_tool_use", "service_tier"),
}
"""The members that answers have in November 2026, and those that set no field."""


@lru_cache(16)
def _beside(keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """Those of these members that set no field; None unless all of them are there."""
    return tuple(key for key in keys if key in _BESIDE) if set(keys) == _ALL else None


def _read_all(wire: Wire) -> Usage | None:
    """A usage with all of those members, which contradict nothing; None for any other."""
    beside, details = _beside(tuple(wire)), wire.get("output_tokens_details")
    tools = wire.get("server_tool_use")
    if beside is None or wire["service_tier"] != "standard" or type(tools) is not dict:
        return None
    if type(details) is not dict or len(details) != 1 or len(tools) != 2:
        return None
    fresh, output, thought = wire["input_tokens"], wire["output_tokens"], details.get(_THOUGHT)
    read, created = wire["cache_read_input_tokens"], wire["cache_creation_input_tokens"]
    fetched, searched = tools.get("web_fetch_requests"), tools.get("web_search_requests")
    split = _split(wire["cache_creation"])
    counts = (fresh, output, read, created, thought, fetched, searched, *split)
    if [*map(type, counts)] != _ALL_INTEGERS or min(counts) < 0 or thought > output:
        return None
    rest: Raw = {}
    nulls: Raw = {}
    for key in beside:
        (nulls if wire[key] is None else rest)[key] = wire[key]
    if nulls:
        rest["$form"] = {"spelled": nulls}
    uses: Any = {"web_fetch": fetched, "web_search": searched}
    writes = {"1h": split[0], "5m": split[1]}
    return Usage(
        fresh,
        output,
        read,
        created,
        thought,
        service_tier="default",
        tool_uses=uses,
        cache_writes=writes,
        raw={NAME: rest} if rest else None,
    )


_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
_THOUGHT = "thinking_tokens"
_INTEGERS, _ALL_INTEGERS = [int] * 6, [int] * 9


def _split(wire: Any) -> tuple[Any, ...]:
    """The cache writes for an hour and for five minutes, if there are no others."""
    if type(wire) is not dict or len(wire) != 2:
        return ()
    return wire.get("ephemeral_1h_input_tokens"), wire.get("ephemeral_5m_input_tokens")


def _read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    preserved = Preserved()
    attrs = USAGE.read(wire, preserved)
    if "cache_creation" in preserved.rest and not _adds_up(preserved.rest["cache_creation"], attrs):
        preserved.spelling["uneven"] = True
    counts = {name: item for name, item in attrs.items() if type(item) is int}
    agreeing = clamped(counts)
    if agreeing is counts:
        return Usage(**attrs, raw=preserved.raw(NAME)), ()
    return Usage(**{**attrs, **agreeing}, raw={NAME: {"$form": {"wire": wire}}}), (CONTRADICTS,)


def _adds_up(split: Any, counts: Attrs) -> bool:
    """Whether the counts by time to live are those of the whole."""
    return type(split) is dict and sum(
        [tokens for tokens in split.values() if type(tokens) is int]
    ) == counts.get("cache_creation_input_tokens", 0)


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    raw, fresh, output = usage.raw, usage.input_tokens, usage.output_tokens
    fields = astuple(usage)
    if fresh is None or output is None or fields[4:_TIER] + fields[_TIER + 1 : -1] != _NOTHING:
        return _write_usage(usage, recorder)
    tier = usage.service_tier
    if tier is not None and tables.SERVED_TIERS.write(tier) is None:
        return _write_usage(usage, recorder)
    if raw is not None and (len(raw) != 1 or "$form" in raw.get(NAME, _ODD)):
        return _write_usage(usage, recorder)
    out: Wire = {"input_tokens": fresh, "output_tokens": output}
    if usage.cached_input_tokens is not None:
        out["cache_read_input_tokens"] = usage.cached_input_tokens
    if usage.cache_creation_input_tokens is not None:
        out["cache_creation_input_tokens"] = usage.cache_creation_input_tokens
    if tier is not None:
        out["service_tier"] = tables.SERVED_TIERS.write(tier)
    return out if raw is None else _put_rest(out, usage, raw[NAME], recorder)


def _write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, usage.raw)
    spelling = spelling_in(own_raw)
    wire = spelling.get("wire")
    if type(wire) is dict and read_usage(wire)[0] == usage:
        return wire
    out: Wire = {}
    USAGE.write(usage, out, own_raw, recorder)
    report_unknown(usage, out, "input_tokens", "output_tokens", recorder)
    return out if usage.raw is None else _put_rest(out, usage, own_raw, recorder)


def _put_rest(out: Wire, usage: Usage, own_raw: Wire, recorder: LossRecorder) -> Wire:
    restore_raw(out, usage, usage.raw or {}, recorder)
    if "cache_creation" in own_raw and not spelling_in(own_raw).get("uneven"):
        written = {"cache_creation_input_tokens": usage.cache_creation_input_tokens or 0}
        if not _adds_up(own_raw["cache_creation"], written):
            out.pop("cache_creation", None)  # the split of another sum
    return out


def hour_cache_tokens(usage: Usage) -> int:
    """The number of cache writes with a lifetime of an hour, which cost more."""
    tokens = (usage.cache_writes or {}).get("1h")
    if tokens is None:  # a value that was stored before there were lifetimes
        split = raw_of(NAME, usage.raw).get("cache_creation")
        tokens = split.get("ephemeral_1h_input_tokens") if type(split) is dict else None
    written = usage.cache_creation_input_tokens or 0
    return tokens if type(tokens) is int and 0 <= tokens <= written else 0


def is_error(wire: Wire) -> bool:
    if "content" in wire:
        return wire.get("type") == "error"
    return "error" in wire or wire.get("type") == "error" or type(wire.get("message")) is str


def _kind_of(code: str | None, message: str) -> ErrorKind:
    if code is None:
        return ErrorKind.OTHER
    if code == "invalid_request_error" and OVERFLOW.search(message):
        return ErrorKind.CONTEXT_OVERFLOW
    return ERRORS.read(code) or ErrorKind.OTHER


def _read_words(wire: Wire) -> Reading:
    message, code = wire.get("message", ""), wire.get("type")
    code = code if type(code) is str else None
    message = require(message, str, ".message")
    return {"kind": _kind_of(code, message), "code": code, "message": message}


def _write_words(error: Any, recorder: LossRecorder) -> Wire:
    code, message = error.code, error.message
    if code is not None and code in ERRORS.words and _kind_of(code, message) is error.kind:
        return {"type": code, "message": message}
    word = STATUS_ERRORS.get((error.kind, error.status)) or NEAR_ERRORS.get(error.kind)
    word = word or ERRORS.write(error.kind) or "api_error"
    report_error_word(error, word, _kind_of, recorder)
    return {"type": word, "message": message}


ERROR = Table(
    ProviderError,
    together(("type", "message"), ("kind", "code", "message"), _read_words, _write_words),
    lost("status", because("status_in_http")),
)


BODY = Table(None, usual("type", "error", filled=True), beside=("error",))
"""The members beside the error."""
BARE = Table(None, beside=("message",))
"""A body that is only a message, as a host in front of the service sends it."""
_SHAPE = "shape"


def read_error(wire: Wire) -> Response:
    preserved = Preserved()
    if "error" in wire:
        BODY.read(wire, preserved)
        error = _read_error(wire["error"])
    else:
        BARE.read(wire, preserved)
        error = _plain(wire, "bare")
    return failed_answer(NAME, error).replace(raw=preserved.raw(NAME))


def _read_error(value: Any) -> ProviderError:
    if type(value) is str:
        return _plain({"message": value}, "string")
    preserved = Preserved()
    attrs = at_path(".error", ERROR.read, require(value, dict, ".error"), preserved)
    if not attrs:
        attrs = {"kind": ErrorKind.OTHER, "message": ""}
        preserved.mark_any_absent(value, sorted(ERROR.keys))
    return ProviderError(**attrs, raw=preserved.raw(NAME))


def _plain(wire: Wire, shape: str) -> ProviderError:
    """An error that is only its message."""
    spelling: Wire = {_SHAPE: shape}
    message = wire.get("message")
    if message is None:
        spelling["spelled" if "message" in wire else "absent"] = {"message": None}
    text = "" if message is None else require(message, str, ".message")
    return ProviderError(ErrorKind.OTHER, text, raw=keep(NAME, None, spelling))


def write_error(response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    spelling, body = spelling_of(NAME, error.raw), raw_of(NAME, response.raw)
    shape = spelling.get(_SHAPE) if error.kind is ErrorKind.OTHER and error.code is None else None
    if error.status is not None and shape is not None:
        recorder.lost(error, "status", because("status_in_http"))
    out: Wire = {}
    if shape == "bare":
        silent = not error.message and ("spelled" in spelling or "absent" in spelling)
        if not silent or "spelled" in spelling:
            out["message"] = None if silent else error.message
    else:
        if "type" not in body and not was_absent(body, "type"):
            out["type"] = "error"
        out["error"] = error.message if shape == "string" else ERROR.write_value(error, recorder)
    if error.raw is not None and shape is not None:
        recorder.unwritten_raw(error, error.raw)
    unwritten_answer(response, recorder)
    if response.message.metadata.error_message not in (None, error.message):
        recorder.lost(response.message, "metadata.error_message", because("error_has_message"))
    return restore_raw(out, response, response.raw, recorder)


# -- why the prompt cache was missed --------------------------------------------------------------


def _read_diagnosis(wire: Any) -> CacheDiagnosis | None:
    """The cache diagnosis in `diagnostics`; None if no field can hold it. A null in the wire is
    a diagnosis that is still pending."""
    if type(wire) is not dict or list(wire) != ["cache_miss_reason"]:
        return None
    match wire["cache_miss_reason"]:
        case None:
            return CacheDiagnosis("pending")
        case {"type": "previous_message_not_found"} as found if len(found) == 1:
            return CacheDiagnosis("not_found")
        case {"type": "unavailable"} as found if len(found) == 1:
            return CacheDiagnosis("unavailable")
        case {"type": str(reason), "cache_missed_input_tokens": int(tokens)} as found if (
            len(found) == 2 and reason in _MISSED and type(tokens) is int
        ):
            return CacheDiagnosis("miss", reason, tokens)
    return None


def _write_diagnosis(message: Message, found: CacheDiagnosis, recorder: LossRecorder) -> Any:
    """The member `diagnostics`; null for a hit, since it describes misses only."""
    match found.outcome:
        case "hit":
            recorder.lost(message, _DIAGNOSIS, because("cache_hit_unstated"))
            return None
        case "pending":
            reason: Wire | None = None
        case "not_found":
            reason = {"type": "previous_message_not_found"}
        case "miss" if found.reason in _MISSED:
            reason = {"type": found.reason, "cache_missed_input_tokens": found.missed_tokens or 0}
        case _:
            reason = {"type": "unavailable"}
            if found.outcome == "miss":
                because_of = because("cache_reason", reason=found.reason, value="unavailable")
                recorder.lost(message, f"{_DIAGNOSIS}.reason", because_of, "approximated")
    report_cache_details(message, found, recorder, tokens=False)
    return {"cache_miss_reason": reason}


_DIAGNOSIS = "metadata.cache_diagnosis"
_MISSED = frozenset({"model_changed", "system_changed", "tools_changed", "messages_changed"})


# -- transformations of the input
# -------------------------------------------------------------------

_CHANGED = Transformations(
    NAME,
    ("path", "path"),
    ("type", {"thinking_dropped": "removed", "thinking_mismatch_allowed": "allowed"}),
    {
        "model_binding_mismatch": "model_mismatch",
        "prefix_binding_mismatch": "prefix_mismatch",
        "organization_binding_mismatch": "organization_mismatch",
        "end_user_binding_mismatch": "end_user_mismatch",
    },
)


_ASSISTANT = Role.ASSISTANT
_FIELDS = frozenset({"id", "model", "content", "stop_reason", "usage"})
_CONSTANT: Wire = {"type": "message", "role": "assistant", "stop_sequence": None}
_WRITTEN = sorted({*_FIELDS, *_CONSTANT} - {"content"})
"""Members that the writer always writes, besides the content."""


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Any) -> Response:
    if type(wire) is not dict:
        return read_whole(_WHAT, _read, wire)
    try:
        return _read(wire)
    except ShapeError as error:
        raise error.error(_WHAT) from None


def _read(wire: Wire) -> Response:
    content = wire.get("content")
    if (content is None or wire.get("type") == "error") and is_error(wire):
        return read_error(wire)
    if type(content) is not list:
        raise ShapeError(".content", "a list", content)
    try:
        blocks = read_parts(content, ANSWER)
    except ShapeError as error:
        raise error.inside(".content") from None
    id, model, word = wire.get("id"), wire.get("model"), wire.get("stop_reason")
    reason = _REASONS.get(word) if type(word) is str else None
    if reason is None and word is not None:
        reason = tables.STOP_REASONS.read(scalar(wire, "stop_reason"))
    usage, diagnostics = read_usage(wire.get("usage"))
    metadata = MessageMetadata(
        protocol=NAME,
        response_model=model if type(model) is str else optional(wire, "model", str),
        response_id=id if type(id) is str else optional(wire, "id", str),
        usage=usage,
        stop_reason=reason,
        raw_stop_reason=word,
        diagnostics=diagnostics,
        cache_diagnosis=_read_diagnosis(wire["diagnostics"]) if "diagnostics" in wire else None,
        input_transformations=_CHANGED.read(wire[_CHANGED.key]) if _CHANGED.key in wire else (),
    )
    plain = len(wire) == _COUNT and id is not None and model is not None and usage is not None
    raw = None if plain and _is_plain(wire) else _rest(wire)
    return Response(Message(_ASSISTANT, blocks, metadata=metadata), raw=raw)


_WHAT = f"{NAME} response"
_REASONS = tables.STOP_REASONS.words
_COUNT = len(_FIELDS) + len(_CONSTANT)


def _is_plain(wire: Wire) -> bool:
    """Whether the constant members are as the writer writes them, and a stop reason is there."""
    return (
        wire.get("type") == "message"
        and wire.get("role") == "assistant"
        and wire.get("stop_sequence", "") is None
        and "stop_reason" in wire
    )


def _rest(wire: Wire) -> Raw | None:
    """The members that no field holds."""
    preserved = Preserved()
    for key, value in wire.items():
        if key in _FIELDS:
            if value is None and key != "stop_reason":
                preserved.keep_spelling(key, None)
        elif key == "diagnostics" and _read_diagnosis(value) is not None:
            continue
        elif key == _CHANGED.key and (not value or _CHANGED.read(value)):
            if not value:
                preserved.keep_spelling(key, value)
        elif key not in _CONSTANT or _CONSTANT[key] != value:
            preserved.add(key, value)
    preserved.mark_any_absent(wire, _WRITTEN)
    return preserved.raw(NAME)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message = response.message
    metadata = message.metadata
    out: Wire = {
        "id": tables.DEFAULT_ID if metadata.response_id is None else metadata.response_id,
        "type": "message",
        "role": "assistant",
        "model": _model(metadata),
        "content": write_parts(message.content, ANSWER, recorder),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }
    if metadata.stop_reason is not None:
        own = own_stop_word(metadata, NAME, tables.STOP_REASONS.words)
        out["stop_reason"] = tables.STOP_WORDS.of(message, own, recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    if metadata.cache_diagnosis is not None:
        out["diagnostics"] = _write_diagnosis(message, metadata.cache_diagnosis, recorder)
    if metadata.input_transformations and (stated := _CHANGED.write(message, recorder)):
        out[_CHANGED.key] = stated
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if message.name is not None:
        recorder.lost(message, "name")
    if metadata.status is not MessageStatus.COMPLETE:
        recorder.lost(message, "metadata.status", severity="info")
    report_repaired(message, recorder)
    if response.raw is not None:
        _leave_out(out, metadata, raw_of(NAME, response.raw))
        restore_raw(out, response, response.raw, recorder)
    return restore_raw(out, message, metadata.provider_raw, recorder, "metadata.provider_raw")


def _model(metadata: MessageMetadata) -> str:
    if metadata.response_model is not None:
        return metadata.response_model
    return tables.DEFAULT_MODEL if metadata.model is None else metadata.model


def _leave_out(out: Wire, metadata: MessageMetadata, own_raw: Wire) -> None:
    """Removes members that the wire did not have, or restores their spelling, unless a field has
    changed."""
    spelling = spelling_in(own_raw)
    fields: Wire = {
        "id": metadata.response_id,
        "model": metadata.response_model,
        "stop_reason": metadata.stop_reason,
        "usage": metadata.usage,
    }
    for key in (
        *spelling.get("absent", ()),
        *spelling.get("spelled", ()),
        *(_CONSTANT.keys() & own_raw),
    ):
        if fields.get(key) is None:
            out.pop(key, None)
