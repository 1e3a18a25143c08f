"""Converse responses: the answer and its usage. Errors are in `failure.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, ended_unsaid, own_word
from interlingua.dialects.bedrock.content import points_ahead, read_parts, write_parts
from interlingua.dialects.bedrock.failure import read_error, write_error
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.bedrock.tables import (
    DEFAULT_METRICS,
    NAME,
    NEAR_STOP_REASONS,
    STOP_REASONS,
)
from interlingua.dialects.bedrock.usage import NO_USAGE, read_usage, write_usage
from interlingua.dialects.shape import ShapeError, may_take, want
from interlingua.errors import ReadError, found
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason

_BODY = frozenset({"output", "stopReason", "usage"})


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    if type(wire) is not dict:
        raise ReadError(f"{NAME} response", "$", "an object", found(wire))
    try:
        return read_error(wire) if _BODY.isdisjoint(wire) else _read_answer(wire)
    except ShapeError as odd:
        raise odd.error(f"{NAME} response") from None


def _read_answer(wire: Wire) -> Response:
    form: Wire = {}
    spelled: Wire = {}
    rest: Wire = {}
    absent = [key for key in ("output", "stopReason", "usage", "metrics") if key not in wire]
    if absent:
        form["absent"] = absent
    fields: Wire = {"protocol": NAME}
    _read_stop_reason(wire, fields, spelled)
    read_usage(wire, fields, spelled)
    content = _read_output(wire, fields, rest, spelled)
    message = Message(Role.ASSISTANT, content, metadata=MessageMetadata(**fields))
    return Response(message, raw=spare(wire, _BODY, spelled, form, rest))


def _read_output(wire: Wire, fields: Wire, rest: Wire, spelled: Wire) -> tuple[Any, ...]:
    output = may_take(wire, "output", dict, spelled)
    if output is None:
        return ()
    left = {key: item for key, item in output.items() if key != "message"}
    if left:
        rest["output"] = left
    if output.get("message") is None:
        spelled["output"] = {"message": None} if "message" in output else {}
        return ()
    message = want(output["message"], dict, ".output.message")
    blocks, ahead = read_parts(message.get("content"), ".output.message.content", answer=True)
    form: Wire = {}
    if "role" not in message:
        form["absent"] = ["role"]
    elif message["role"] != "assistant":
        form["role"] = message["role"]
    inner = {"$cachePoints": ahead} if ahead else None
    fields["provider_raw"] = spare(message, ("role", "content"), {}, form, inner)
    return tuple(blocks)


def _read_stop_reason(wire: Wire, fields: Wire, spelled: Wire) -> None:
    word = wire.get("stopReason")
    if word is None:
        if "stopReason" in wire:
            spelled["stopReason"] = None
        return
    if type(word) in (dict, list):
        raise ShapeError(".stopReason", "a string", word)
    fields["raw_stop_reason"] = word
    fields["stop_reason"] = read_word(word)


def read_word(word: Any) -> StopReason | None:
    """What a stop reason means; a word that is none is like one that we do not know."""
    return STOP_REASONS.read(word)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, scribe: Scribe) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, scribe)
    metadata, mine, form = response.message.metadata, mine_of(response.raw), form_of(response.raw)
    missing = {*form.get("absent", ()), *form.get("spelled", ())}
    out: Wire = {}
    message = _write_message(response.message, scribe)
    if message["content"] or "output" not in missing:
        out["output"] = {**mine.get("output", {}), "message": message}
    elif "output" in mine:
        out["output"] = {**mine["output"], **form["spelled"]["output"]}
    if metadata.stop_reason is not None or "stopReason" not in missing:
        out["stopReason"] = _write_stop_reason(response.message, metadata, scribe)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, scribe)
    elif "usage" not in missing:
        out["usage"] = NO_USAGE
    if metadata.logprobs:
        scribe.lost(response.message, "metadata.logprobs", severity="info")
    if "metrics" not in missing and "metrics" not in mine:
        out["metrics"] = DEFAULT_METRICS
    for other in response.alternatives:
        scribe.lost(other, None, "there is one answer only")
    return out if response.raw is None else put_back(out, response, scribe, response.raw)


def _write_message(message: Message, scribe: Scribe) -> Wire:
    raw = message.metadata.provider_raw
    content = points_ahead(raw)
    write_parts(message.content, content, scribe, answer=True)
    if message.name is not None:
        scribe.lost(message, "name")
    out: Wire = {"role": "assistant", "content": content}
    if raw is None:
        return out
    form = form_of(raw)
    if "role" in form:
        out["role"] = form["role"]
    if "role" in form.get("absent", ()):
        del out["role"]
    return put_back(out, message, scribe, raw, "metadata.provider_raw")


def _own_word(metadata: MessageMetadata) -> Any:
    """The word that was read here, or by Anthropic's own API, most of whose words are these."""
    word = own_word(metadata, NAME)
    claudes = own_word(metadata, "anthropic")
    return claudes if word is None and claudes in STOP_REASONS.words else word


def _write_stop_reason(message: Message, metadata: MessageMetadata, scribe: Scribe) -> Any:
    reason, word = metadata.stop_reason, _own_word(metadata)
    if word is not None and read_word(word) is reason:
        return word
    near = NEAR_STOP_REASONS.get(reason)
    if reason is StopReason.OTHER and ended_unsaid(metadata):
        near = "max_tokens"
    if near is None:
        near = (STOP_REASONS.write(reason) if reason is not None else None) or "end_turn"
    if STOP_REASONS.read(near) is not reason:
        severity: Any = "info" if reason is None else "warning"
        scribe.lost(message, "metadata.stop_reason", f"said as {near}", "approximated", severity)
    return near
