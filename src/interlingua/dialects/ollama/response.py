"""Chat responses: one message, counts and durations. Errors are in `failure.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, ended_unsaid, own_word
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.ollama.content import (
    SAYING,
    leave_out,
    read_content,
    shown,
    write_content,
)
from interlingua.dialects.ollama.failure import read_error, write_error
from interlingua.dialects.ollama.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.ollama.tables import (
    DEFAULT_MODEL,
    DEFAULT_TIME,
    NAME,
    NEAR_STOP_REASONS,
    SAID_USAGE,
    STOP_REASONS,
)
from interlingua.dialects.shape import Kept, ShapeError, may_take, want
from interlingua.errors import ReadError, found
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import (
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)

COUNTS = {"prompt_eval_count": "input_tokens", "eval_count": "output_tokens"}
_BODY = frozenset({"model", "message", "done", "done_reason", *COUNTS})
_FILLED = ("model", "created_at", "message", "done")
"""Keys that the writer fills in by itself."""


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    if type(wire) is not dict:
        raise ReadError(f"{NAME} response", "$", "an object", found(wire))
    try:
        if "error" in wire and "message" not in wire:
            return read_error(wire)
        if "message" not in wire and "done" not in wire:
            raise ShapeError("", "a message or an error", wire)
        return _read_answer(wire)
    except ShapeError as odd:
        raise odd.error(f"{NAME} response") from None


def _read_answer(wire: Wire) -> Response:
    kept = Kept({}, {}, {})
    absent = [key for key in _FILLED if key not in wire]
    if absent:
        kept.form["absent"] = absent
    odd: list[Diagnostic] = []
    fields: Wire = {"protocol": NAME}
    fields["response_model"] = may_take(wire, "model", str, kept.spelled)
    content = _read_message(wire, fields, kept, odd)
    if may_take(wire, "done", bool, kept.spelled) is False:
        fields["status"] = MessageStatus.PARTIAL
    word = wire.get("done_reason")
    if type(word) in (dict, list):
        raise ShapeError(".done_reason", "a string", word)
    if word is not None:
        fields["raw_stop_reason"] = word
        fields["stop_reason"] = read_reason(word, content)
    elif "done_reason" in wire:
        kept.spelled["done_reason"] = None
    fields["usage"] = read_usage(wire, kept, odd)
    fields["logprobs"] = read_tokens(wire.get("logprobs"))
    if odd:
        fields["diagnostics"] = tuple(odd)
    message = Message(Role.ASSISTANT, content, metadata=MessageMetadata(**fields))
    known = _BODY | {"logprobs"} if fields["logprobs"] else _BODY
    return Response(message, raw=spare(wire, known, kept.spelled, kept.form))


def _read_message(wire: Wire, fields: Wire, kept: Kept, odd: list[Diagnostic]) -> tuple[Block, ...]:
    given = may_take(wire, "message", dict, kept.spelled)
    if given is None:
        return ()
    inner = Kept({}, {}, {})
    try:
        if "role" not in given:
            inner.form["role"] = None
        elif given["role"] != "assistant":
            inner.form["role"] = want(given["role"], str, ".role")
        place = wire.get("created_at")
        blocks = read_content(given, place if type(place) is str else 0, inner, odd)
    except ShapeError as misfit:
        raise misfit.inside(".message") from None
    fields["provider_raw"] = spare(given, SAYING, inner.spelled, inner.form)
    return tuple([shown(block) for block in blocks])


def read_reason(word: Any, content: tuple[Block, ...]) -> StopReason | None:
    """What a reason means: a turn that ended with calls stopped for them."""
    reason = STOP_REASONS.read(word)
    if reason is StopReason.END_TURN and any(type(block) is ToolUseBlock for block in content):
        return StopReason.TOOL_USE
    return reason


def read_usage(wire: Wire, kept: Kept, odd: list[Diagnostic]) -> Usage | None:
    counts: dict[str, int] = {}
    for key, name in COUNTS.items():
        if key in wire and (number := may_take(wire, key, int, kept.spelled)) is not None:
            counts[name] = number
    if not counts:
        return None
    raw = None
    if any(number < 0 for number in counts.values()):
        raw = {NAME: {"$form": {"wire": {key: wire[key] for key in COUNTS if key in wire}}}}
        odd.append(Diagnostic("usage_contradicts"))
    input, output = counts.get("input_tokens"), counts.get("output_tokens")
    return Usage(_at_least_0(input), _at_least_0(output), raw=raw)


def _at_least_0(number: int | None) -> int | None:
    return None if number is None else max(number, 0)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, scribe: Scribe) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, scribe)
    message, metadata = response.message, response.message.metadata
    mine, form = mine_of(response.raw), form_of(response.raw)
    missing = {*form.get("absent", ()), *form.get("spelled", ())}
    out: Wire = {}
    if metadata.response_model is not None or "model" not in missing:
        model = metadata.response_model
        out["model"] = DEFAULT_MODEL if model is None else model
    if "created_at" not in mine and "created_at" not in missing:
        out["created_at"] = DEFAULT_TIME
    if message.content or "message" not in missing:
        out["message"] = _write_message(message, scribe)
    if "done" not in missing:
        out["done"] = metadata.status is not MessageStatus.PARTIAL
    _put_reason(out, message, metadata, scribe)
    if metadata.usage is not None:
        _put_usage(out, metadata.usage, scribe)
    if metadata.logprobs:
        out["logprobs"] = write_tokens(metadata, NAME)
    for other in response.alternatives:
        scribe.lost(other, None, "there is one answer only")
    return out if response.raw is None else put_back(out, response, scribe, response.raw)


def _write_message(message: Message, scribe: Scribe) -> Wire:
    raw = message.metadata.provider_raw
    out: Wire = {"role": "assistant"}
    write_content(message, out, scribe, is_answer=True)
    if message.name is not None:
        scribe.lost(message, "name")
    if raw is None:
        return out
    form = form_of(raw)
    if "role" in form:
        out["role"] = form["role"]
        if form["role"] is None:
            del out["role"]
    leave_out(out, form)
    return put_back(out, message, scribe, raw, "metadata.provider_raw")


def _put_reason(out: Wire, message: Message, metadata: MessageMetadata, scribe: Scribe) -> None:
    reason, word = metadata.stop_reason, own_word(metadata, NAME)
    if reason is None:
        return
    calls = (out.get("message") or {}).get("tool_calls")
    content = message.content if calls else ()
    if word is None or read_reason(word, content) is not reason:
        word = NEAR_STOP_REASONS.get(reason, "stop")
        if reason is StopReason.OTHER and ended_unsaid(metadata):
            word = "length"
    out["done_reason"] = word
    if read_reason(word, content) is not reason:
        scribe.lost(message, "metadata.stop_reason", f"said as {word}", kind="approximated")


def _put_usage(out: Wire, usage: Usage, scribe: Scribe) -> None:
    """The prompt is one number here, what came from a cache included."""
    scribe.unsaid(usage, SAID_USAGE)
    own = form_of(usage.raw).get("wire")
    if type(own) is dict and read_usage(own, Kept({}, {}, {}), []) == usage:
        out.update(own)
        return
    prompt = usage.prompt_tokens
    if prompt is not None:
        out["prompt_eval_count"] = prompt
        if usage.input_tokens is not None and usage.input_tokens != prompt:
            reason = "the whole prompt is said as one number"
            scribe.lost(usage, "input_tokens", reason, kind="approximated")
    if usage.output_tokens is not None:
        out["eval_count"] = usage.output_tokens
    for key, item in mine_of(usage.raw).items():
        if key != "$form":
            out.setdefault(key, item)
