"""Converse responses: the answer and its usage. Errors are in `errors.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock.errors import read_error, write_error
from interlingua.dialects.bedrock.messages import kept_around, read_parts, write_parts
from interlingua.dialects.bedrock.tables import DEFAULT_METRICS, NAME, STOP_REASONS, STOP_WORDS
from interlingua.dialects.bedrock.tools import points_in
from interlingua.dialects.bedrock.usage import NO_USAGE, read_usage, write_usage
from interlingua.dialects.kernel.claude import own_stop_word
from interlingua.dialects.kernel.errors import below, read_whole
from interlingua.dialects.kernel.kept import Kept, did_without, fill, mine_inside, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

_BODY = frozenset({"output", "stopReason", "usage"})
_ROLE: Wire = {"role": "assistant"}
_NEEDED = ("stopReason", "usage", "metrics")


# -- reading --------------------------------------------------------------------------------------


def read_response(wire: Wire) -> Response:
    return read_whole(f"{NAME} response", _read, wire)


def _read(wire: Wire) -> Response:
    return read_error(wire) if _BODY.isdisjoint(wire) else read_answer(wire)


def read_answer(wire: Wire) -> Response:
    """A response that is no error."""
    kept = Kept()
    fields: Wire = {"protocol": NAME}
    kept.miss_any(wire, _NEEDED)
    if (word := kept.scalar(wire, "stopReason")) is not None:
        fields["raw_stop_reason"], fields["stop_reason"] = word, STOP_REASONS.read(word)
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
    message = below(".output", inner.may_take, output, "message", dict, True)
    kept.absorb("output", inner)
    if message is None:
        return ()
    blocks, ahead = read_parts(message.get("content"), ".output.message.content", answer=True)
    if len(message) != 2 or message.get("role") != "assistant" or ahead:
        around = kept_around(message, ahead)
        if message.get("role", "assistant") != "assistant":
            around.spell("role", message["role"])
        around.miss_any(message, ("role",))
        fields["provider_raw"] = around.raw(NAME)
    return tuple(blocks)


# -- writing --------------------------------------------------------------------------------------


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_error(response, recorder)
    message, mine = response.message, mine_of(NAME, response.raw)
    metadata = message.metadata
    out: Wire = {}
    written = _write_message(message, recorder)
    if written["content"] or not (
        did_without(mine, "output") or did_without(mine_inside(mine, "output"), "message")
    ):
        out["output"] = {"message": written}
    if metadata.stop_reason is not None or not did_without(mine, "stopReason"):
        own = own_stop_word(metadata, NAME, STOP_REASONS.words)
        out["stopReason"] = STOP_WORDS.of(message, own, recorder)
    if metadata.usage is not None:
        out["usage"] = write_usage(metadata.usage, recorder)
    elif not did_without(mine, "usage"):
        out["usage"] = NO_USAGE
    if metadata.logprobs:
        recorder.lost(message, "metadata.logprobs", severity="info")
    if not ("metrics" in mine or did_without(mine, "metrics")):
        out["metrics"] = DEFAULT_METRICS
    for other in response.alternatives:
        recorder.lost(other, None, "there is one answer only")
    return put_back(out, response, response.raw, recorder)


def _write_message(message: Message, recorder: LossRecorder) -> Wire:
    raw = message.metadata.provider_raw
    mine = mine_of(NAME, raw)
    content = points_in(mine)
    write_parts(message.content, content, recorder, answer=True)
    if message.name is not None:
        recorder.lost(message, "name")
    out = fill({}, mine, _ROLE) if mine else dict(_ROLE)
    out["content"] = content
    return put_back(out, message, raw, recorder, "metadata.provider_raw")
