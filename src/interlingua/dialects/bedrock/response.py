"""Converse responses, token counts and error bodies. `inputTokens` is the fresh part of the prompt.

The type of an error is in a header as a rule, and in `__type` where a body has it; an error without
one is classified by its message."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.messages import preserved_around, read_parts, write_parts
from interlingua.dialects.bedrock.tables import (
    COUNTS,
    DEFAULT_METRICS,
    NAME,
    STOP_REASONS,
    STOP_WORDS,
    TWINS,
)
from interlingua.dialects.bedrock.tools import points_in
from interlingua.dialects.kernel.claude import own_stop_word
from interlingua.dialects.kernel.errors import (
    ShapeError,
    at_path,
    failed_answer,
    read_whole,
    report_error_word,
    require,
    unwritten_answer,
)
from interlingua.dialects.kernel.fields import Attrs, Field, Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    fill,
    raw_inside,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, counted, report_unknown
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.metadata import report_metadata
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.reasons import because

NO_USAGE: Wire = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


def _report_tier(usage: Any, recorder: LossRecorder) -> None:
    """Reports the tier, which is beside the usage."""
    if tables.SERVICE_TIERS.write(usage.service_tier) is None:
        recorder.lost(usage, "service_tier")


USAGE = Table(
    Usage,
    *[counted(key, attr, key in NO_USAGE) for key, attr in COUNTS.items()],
    tables.CACHE_WRITES.field("cacheDetails"),
    Field("", ("service_tier",), lambda _: {}, _report_tier),
    beside=("totalTokens",),
)


def read_usage(wire: Wire, fields: Wire, preserved: Preserved) -> None:
    """Put the usage and its oddities into the fields of a message's metadata."""
    counts = preserved.may_take(wire, "usage", dict)
    if counts is None:
        return
    usage = fields["usage"] = at_path(".usage", _read_usage, counts)
    tier = wire.get("serviceTier")
    if type(tier) is dict and len(tier) == 1 and tables.SERVICE_TIERS.read(tier.get("type", "")):
        fields["usage"] = usage.replace(service_tier=tier["type"])
    if usage.raw is not None and "as" in spelling_in(usage.raw[NAME]):
        fields["diagnostics"] = (CONTRADICTS,)


def _read_usage(wire: Wire) -> Usage:
    preserved = Preserved()
    attrs = USAGE.read(_without_twins(wire, preserved), preserved)
    total = preserved.may_take(wire, "totalTokens", int, filled=True)
    if total is not None and not attrs:
        preserved.add("totalTokens", total)  # a total that no count explains is content
    elif total is not None and (more := total - _sum(attrs)):
        preserved.spelling["more"] = more  # than the counts add up to, whatever they become
    return Usage(**attrs, raw=preserved.raw(NAME))


def _sum(attrs: Attrs) -> int:
    return sum([number for number in attrs.values() if type(number) is int])


def _without_twins(wire: Wire, preserved: Preserved) -> Wire:
    """The counts without duplicates; one that differs from its duplicate is preserved."""
    counts = dict(wire)
    for twin, key in TWINS.items():
        number = wire.get(twin)
        if type(number) is not int:
            continue
        if key not in wire:
            counts[key] = counts.pop(twin)
            preserved.spelling.setdefault("named", {})[key] = twin
        elif number == wire[key]:
            del counts[twin]
            preserved.spelling.setdefault("twice", []).append(twin)
    return counts


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, usage.raw)
    spelling = spelling_in(own_raw)
    out: Wire = {}
    USAGE.write(usage, out, own_raw, recorder)
    report_unknown(usage, out, "inputTokens", "outputTokens", recorder)
    counts = [getattr(usage, attr) for attr in COUNTS.values()]
    known = [number for number in counts if number is not None]
    if not was_absent(own_raw, "totalTokens") and (known or "totalTokens" not in own_raw):
        out["totalTokens"] = sum(known) + spelling.get("more", 0)
    for twin in spelling.get("twice", ()):
        if TWINS[twin] in out:
            out[twin] = out[TWINS[twin]]
    return restore_raw(out, usage, usage.raw, recorder)


TYPE = "__type"
_NAMES = {"message": ("Message", "errorMessage"), TYPE: ("code", "errorCode")}
"""Other names of both keys."""


def _bare(word: str) -> str:
    """`com.amazon.coral.validate#ValidationException:http://…` is a `ValidationException`."""
    return word.rpartition("#")[2].partition(":")[0]


ERROR = Table(
    ProviderError,
    plain("message", "message", str, missing=""),
    Field(
        TYPE,
        ("code",),
        lambda value: {"code": _bare(require(value, str))},
        lambda error, _: error.code if _bare(error.code) == error.code else None,
        fill=lambda _: None,
    ),
    lost("status", because("status_in_http")),
    silent=("kind",),
)


def kind_of(code: str | None, text: str) -> ErrorKind:
    kind = tables.ERRORS.read(code) if code is not None else None
    if kind is None or kind is ErrorKind.INVALID_REQUEST:
        for pattern, hint in tables.HINTS:
            if (kind is None or hint is ErrorKind.CONTEXT_OVERFLOW) and pattern.search(text):
                return hint
    return kind or ErrorKind.OTHER


def read_error(wire: Wire) -> Response:
    preserved = Preserved()
    body = dict(wire)
    for key, others in _NAMES.items():
        name = next((each for each in (key, *others) if type(wire.get(each)) is str), key)
        if name != key and key not in wire:
            body[key] = body.pop(name)
            preserved.spelling.setdefault("named", {})[key] = name
        elif type(body.get(key)) is not str and key in body:
            preserved.add(key, body.pop(key))
    if "message" not in body and TYPE not in body:
        raise ShapeError("", "an output or an error", wire)
    attrs = {"message": "", "code": None, **ERROR.read(body, preserved)}
    kind = kind_of(attrs["code"], attrs["message"])
    return failed_answer(NAME, ProviderError(kind, **attrs, raw=preserved.raw(NAME)))


def write_error(response: Response, recorder: LossRecorder) -> Wire:
    error = response.error
    assert error is not None
    own_raw, out = raw_of(NAME, error.raw), _write(error, recorder)
    word = out.get(TYPE)
    says_none = word is None and error.code is None and was_absent(own_raw, TYPE)
    code = None if word is None else _bare(word)
    if not says_none or kind_of(None, error.message) is not error.kind:
        if code is None or kind_of(code, error.message) is not error.kind:
            code = tables.STATUS_ERRORS.get((error.kind, error.status))
            code = code or tables.NEAR_ERRORS.get(error.kind) or tables.ERRORS.write(error.kind)
            out[TYPE] = code = code or "InternalServerException"
        report_error_word(error, code, kind_of, recorder)
    return _finish(out, response, error, recorder)


def write_exception(response: Response, recorder: LossRecorder) -> tuple[str, Wire]:
    """An error as a frame of a stream: the frame's name and data. Streams have few kinds of
    errors."""
    error = response.error
    assert error is not None
    code, out = error.code, _write(error, recorder)
    if code not in tables.STREAM_ERRORS or kind_of(code, error.message) is not error.kind:
        code = tables.NEAR_STREAM_ERRORS.get(error.kind, "InternalServerException")
    report_error_word(error, code, kind_of, recorder)
    wire = _finish(out, response, error, recorder)
    named = spelling_in(raw_of(NAME, error.raw)).get("named", {})
    wire.pop(named.get(TYPE, TYPE), None)
    return code[:1].lower() + code[1:], wire


def _write(error: ProviderError, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    ERROR.write(error, out, raw_of(NAME, error.raw), recorder)
    return out


def _finish(out: Wire, response: Response, error: ProviderError, recorder: LossRecorder) -> Wire:
    unwritten_answer(response, recorder)
    restore_raw(out, response, response.raw, recorder)
    return restore_raw(out, error, error.raw, recorder)


_BODY = frozenset({"output", "stopReason", "usage"})
_ROLE: Wire = {"role": "assistant"}
_NEEDED = ("stopReason", "usage", "metrics")


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    return read_error(wire) if _BODY.isdisjoint(wire) else read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is not an error."""
    preserved = Preserved()
    fields: Wire = {"protocol": NAME}
    preserved.mark_any_absent(wire, _NEEDED)
    if (word := preserved.scalar(wire, "stopReason")) is not None:
        fields["raw_stop_reason"], fields["stop_reason"] = word, STOP_REASONS.read(word)
    if "trace" in wire and (id := _invoked(wire["trace"])) is not None:
        fields["response_model"] = _bare_model(id)
        preserved.spelling["invoked"] = id
        wire = _without_choice(wire)
    read_usage(wire, fields, preserved)
    content = _read_output(wire, fields, preserved)
    tier = getattr(fields.get("usage"), "service_tier", None)
    preserved.add_others(wire, _BODY if tier is None else _BODY | {"serviceTier"})
    message = Message(Role.ASSISTANT, content, metadata=MessageMetadata(**fields))
    return Response(message, raw=preserved.raw(NAME))


def _invoked(trace: Any) -> str | None:
    """The id of the model that a prompt router chose."""
    router = trace.get("promptRouter") if type(trace) is dict else None
    id = router.get("invokedModelId") if type(router) is dict else None
    return id if type(id) is str and _bare_model(id) else None


def _bare_model(id: str) -> str:
    """A model without the beginning of its ARN."""
    return id.rpartition("/")[2]


def _without_choice(wire: Wire) -> Wire:
    """An answer without the model that a router chose, which is a field."""
    trace = dict(wire["trace"])
    router = trace.pop("promptRouter")
    if rest := {key: item for key, item in router.items() if key != "invokedModelId"}:
        trace["promptRouter"] = rest
    other = {key: item for key, item in wire.items() if key != "trace"}
    return {**other, "trace": trace} if trace else other


def _with_choice(wire: Wire, model: str | None, own_raw: Wire) -> Wire:
    """An answer with the model that a router chose, if it was read from one."""
    id = spelling_in(own_raw).get("invoked")
    if id is None or model is None:
        return wire
    trace = wire.get("trace", {})
    router = {**trace.get("promptRouter", {}), "invokedModelId": model}
    if _bare_model(id) == model:
        router["invokedModelId"] = id
    return {**wire, "trace": {**trace, "promptRouter": router}}


def _read_output(wire: Wire, fields: Wire, preserved: Preserved) -> tuple[Any, ...]:
    output = preserved.take(wire, "output", dict)
    if output is None:
        return ()
    inner = Preserved()
    inner.add_others(output, frozenset({"message"}))
    message = at_path(".output", inner.may_take, output, "message", dict, True)
    preserved.absorb("output", inner)
    if message is None:
        return ()
    blocks, ahead = read_parts(message.get("content"), ".output.message.content", answer=True)
    if len(message) != 2 or message.get("role") != "assistant" or ahead:
        around = preserved_around(message, ahead)
        if message.get("role", "assistant") != "assistant":
            around.keep_spelling("role", message["role"])
        around.mark_any_absent(message, ("role",))
        fields["provider_raw"] = around.raw(NAME)
    return tuple(blocks)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, recorder)
    message, own_raw = response.message, raw_of(NAME, response.raw)
    metadata = message.metadata
    out: Wire = {}
    written = _write_message(message, recorder)
    if written["content"] or not (
        was_absent(own_raw, "output") or was_absent(raw_inside(own_raw, "output"), "message")
    ):
        out["output"] = {"message": written}
    if metadata.stop_reason is not None or not was_absent(own_raw, "stopReason"):
        own = own_stop_word(metadata, NAME, STOP_REASONS.words)
        out["stopReason"] = STOP_WORDS.of(message, own, recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
        if (tier := tables.SERVICE_TIERS.write(metadata.usage.service_tier or "")) is not None:
            out["serviceTier"] = {"type": tier}
    elif not was_absent(own_raw, "usage"):
        out["usage"] = NO_USAGE
    report_metadata(message, recorder)
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if not ("metrics" in own_raw or was_absent(own_raw, "metrics")):
        out["metrics"] = DEFAULT_METRICS
    for other in response.alternatives:
        recorder.lost(other, None, because("one_choice"))
    whole = restore_raw(out, response, response.raw, recorder)
    return _with_choice(whole, metadata.response_model, own_raw)


def _write_message(message: Message, recorder: LossRecorder) -> Wire:
    raw = message.metadata.provider_raw
    own_raw = raw_of(NAME, raw)
    content = points_in(own_raw)
    write_parts(message.content, content, recorder, answer=True)
    if message.name is not None:
        recorder.lost(message, "name")
    out = fill({}, own_raw, _ROLE) if own_raw else dict(_ROLE)
    out["content"] = content
    return restore_raw(out, message, raw, recorder, "metadata.provider_raw")
