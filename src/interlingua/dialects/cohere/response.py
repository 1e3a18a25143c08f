"""Chat responses: one message, a reason and counts. Errors are in `errors.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.errors import read_error, write_error
from interlingua.dialects.cohere.messages import read_content, write_message
from interlingua.dialects.cohere.tables import DEFAULT_ID, NAME, STOP_REASONS, STOP_WORDS
from interlingua.dialects.cohere.usage import read_usage, write_usage
from interlingua.dialects.kernel.errors import ShapeError, read_whole, want
from interlingua.dialects.kernel.kept import Kept, did_without, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import own_word
from interlingua.model.blocks import Block
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

_KEYS = frozenset({"id", "message", "finish_reason", "usage"})


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    if type(wire.get("message")) is str:
        return read_error(wire)
    return read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is no error."""
    kept = Kept()
    found: list[Diagnostic] = []
    id = kept.take(wire, "id", str)
    fields: Wire = {"protocol": NAME, "response_id": id}
    blocks = _read_message(wire, id or 0, fields, found)
    kept.miss_any(wire, ("finish_reason",))
    if (word := kept.scalar(wire, "finish_reason")) is not None:
        fields |= {"raw_stop_reason": word, "stop_reason": STOP_REASONS.read(word)}
    if "usage" in wire:
        fields["usage"] = read_usage(wire["usage"], found)
        if wire["usage"] is None:
            kept.spell("usage", None)
    kept.add_others(wire, _KEYS)
    if found:
        fields["diagnostics"] = tuple(found)
    message = Message(Role.ASSISTANT, blocks, metadata=MessageMetadata(**fields))
    return Response(message, raw=kept.raw(NAME))


def _read_message(
    wire: Wire, place: Any, fields: Wire, found: list[Diagnostic]
) -> tuple[Block, ...]:
    given = wire.get("message")
    if type(given) is not dict:
        raise ShapeError(".message", "a message of v2, or the text of an error", given)
    try:
        blocks, kept = read_content(given, place, found, is_answer=True)
        if "role" not in given:
            kept.miss("role")
        elif want(given["role"], str, ".role") != "assistant":
            raise ShapeError(".role", "assistant", given["role"])
    except ShapeError as error:
        raise error.inside(".message") from None
    fields["provider_raw"] = kept.raw(NAME)
    return blocks


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, response.error, recorder)
    message, metadata = response.message, response.message.metadata
    mine = mine_of(NAME, response.raw)
    out: Wire = {}
    if metadata.response_id is not None or not did_without(mine, "id"):
        out["id"] = DEFAULT_ID if metadata.response_id is None else metadata.response_id
    out["message"] = write_message(message, recorder, is_answer=True)
    if did_without(mine_of(NAME, metadata.provider_raw), "role"):
        del out["message"]["role"]
    if metadata.stop_reason is not None or not did_without(mine, "finish_reason"):
        out["finish_reason"] = STOP_WORDS.of(message, own_word(metadata, NAME), recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    _report(response, recorder)
    return out if response.raw is None else put_back(out, response, response.raw, recorder)


def _report(response: Response, recorder: LossRecorder) -> None:
    message = response.message
    if message.name is not None:
        recorder.lost(message, "name")
    if message.metadata.logprobs:
        reason = "pieces of text have them here, not tokens"
        recorder.lost(message, "metadata.logprobs", reason, severity="info")
    for other in response.alternatives:
        recorder.lost(other, None, "there is one answer only")
