"""Converse responses: the answer and its usage. Errors are in `errors.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.errors import read_error, write_error
from interlingua.dialects.bedrock.messages import read_parts, write_parts
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.tools import POINTS, points_in
from interlingua.dialects.bedrock.usage import NO_USAGE, read_usage, write_usage
from interlingua.dialects.kernel.errors import ShapeError, read_whole, want
from interlingua.dialects.kernel.kept import NOTHING, Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ended_unsaid, own_word
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, StopReason

_BODY = frozenset({"output", "stopReason", "usage"})
_NEEDED = ("stopReason", "usage", "metrics")
_MESSAGE = frozenset({"role", "content"})


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    return read_error(wire) if _BODY.isdisjoint(wire) else read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is no error."""
    kept = Kept()
    fields: Wire = {"protocol": NAME}
    for key in _NEEDED:
        if key not in wire:
            kept.miss(key)
    _read_stop_reason(wire, fields, kept)
    read_usage(wire, fields, kept)
    content = _read_output(wire, fields, kept)
    kept.add_others(wire, _BODY)
    message = Message(Role.ASSISTANT, content, metadata=MessageMetadata(**fields))
    return Response(message, raw=kept.raw(NAME))


def _read_output(wire: Wire, fields: Wire, kept: Kept) -> tuple[Any, ...]:
    output = kept.take(wire, "output", dict)
    if output is None:
        return ()
    inner = Kept()
    inner.add_others(output, frozenset({"message"}))
    given = output.get("message")
    if given is None:
        inner.spell("message", None) if "message" in output else inner.miss("message")
    kept.absorb("output", inner)
    if given is None:
        return ()
    message = want(given, dict, ".output.message")
    blocks, ahead = read_parts(message.get("content"), ".output.message.content", answer=True)
    if len(message) != 2 or message.get("role") != "assistant" or ahead:
        fields["provider_raw"] = _around(message, ahead).raw(NAME)
    return tuple(blocks)


def _around(message: Wire, ahead: list[Wire]) -> Kept:
    """What a message says beside its parts."""
    kept = Kept()
    if "role" not in message:
        kept.miss("role")
    elif message["role"] != "assistant":
        kept.respell("role", message["role"])
    if ahead:
        kept.rest[POINTS] = ahead
    kept.add_others(message, _MESSAGE)
    return kept


def _read_stop_reason(wire: Wire, fields: Wire, kept: Kept) -> None:
    word = wire.get("stopReason")
    if word is None:
        if "stopReason" in wire:
            kept.spell("stopReason", None)
        return
    if type(word) in (dict, list):
        raise ShapeError(".stopReason", "a string", word)
    fields["raw_stop_reason"] = word
    fields["stop_reason"] = tables.STOP_REASONS.read(word)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, recorder)
    message, mine = response.message, mine_of(NAME, response.raw)
    metadata = message.metadata
    out: Wire = {}
    written = _write_message(message, recorder)
    if written["content"] or not _did_without_message(mine):
        out["output"] = {"message": written}
    if metadata.stop_reason is not None or not did_without(mine, "stopReason"):
        out["stopReason"] = _write_stop_reason(message, metadata, recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    elif not did_without(mine, "usage"):
        out["usage"] = NO_USAGE
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if not ("metrics" in mine or did_without(mine, "metrics")):
        out["metrics"] = tables.DEFAULT_METRICS
    for other in response.alternatives:
        recorder.lost(other, None, "there is one answer only")
    return put_back(out, response, response.raw, recorder)


def _did_without_message(mine: Wire) -> bool:
    inner = form_in(mine).get("inside", {}).get("output", {})
    return did_without(mine, "output") or did_without({"$form": inner}, "message")


def _write_message(message: Message, recorder: LossRecorder) -> Wire:
    raw = message.metadata.provider_raw
    mine = mine_of(NAME, raw)
    content = points_in(mine)
    write_parts(message.content, content, recorder, answer=True)
    if message.name is not None:
        recorder.lost(message, "name")
    role = form_in(mine).get("as", NOTHING).get("role", "assistant")
    out: Wire = {} if did_without(mine, "role") else {"role": role}
    out["content"] = content
    return put_back(out, message, raw, recorder, "metadata.provider_raw")


def _own_word(metadata: MessageMetadata) -> Any:
    """The word that was read here, or by Anthropic's own API, most of whose words are these."""
    word = own_word(metadata, NAME)
    claudes = own_word(metadata, "anthropic")
    return claudes if word is None and claudes in tables.STOP_REASONS.words else word


def _write_stop_reason(message: Message, metadata: MessageMetadata, recorder: LossRecorder) -> Any:
    reason, word = metadata.stop_reason, _own_word(metadata)
    if word is not None and tables.STOP_REASONS.read(word) is reason:
        return word
    near = tables.NEAR_STOP_REASONS.get(reason)
    if reason is StopReason.OTHER and ended_unsaid(metadata):
        near = "max_tokens"
    if near is None:
        near = (tables.STOP_REASONS.write(reason) if reason is not None else None) or "end_turn"
    if tables.STOP_REASONS.read(near) is not reason:
        severity: Any = "info" if reason is None else "warning"
        recorder.lost(message, "metadata.stop_reason", f"said as {near}", "approximated", severity)
    return near
