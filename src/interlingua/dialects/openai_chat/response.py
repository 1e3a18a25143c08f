"""Responses of Chat Completions, two ways, and the errors that stand in place of one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from interlingua.dialects.kernel import preserved as kernel
from interlingua.dialects.kernel.errors import at_path, optional, read_each, read_whole, require
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore,
    restore_raw,
    spelling_in,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import lacks_stop_reason, own_word, report_stop_word
from interlingua.dialects.metadata import read_tokens, report_metadata, write_tokens
from interlingua.dialects.openai import ErrorBodies
from interlingua.dialects.openai_chat import calls, messages, tables
from interlingua.dialects.openai_chat.messages import (
    AssistantFields,
    read_assistant,
    write_assistant,
)
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, COUNTS, Tables, WriteContext
from interlingua.dialects.openai_chat.text import with_spelling
from interlingua.dialects.openai_usage import read_tier, read_usage, write_tier, write_usage
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, RefusalBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason
from interlingua.model.reasons import because

_COMPLETE, _END_TURN, _TOOL_USE = MessageStatus.COMPLETE, StopReason.END_TURN, StopReason.TOOL_USE


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWER_TABLES)


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    return write_answer(response, ANSWER_TABLES, recorder)


# -- why it ended: calls and refusals follow from the content, all else from `stop` ----------------


def read_stop(word: Any, content: Sequence[Block]) -> StopReason:
    reason = tables.READ_STOPS.get(word) if type(word) is str else None
    if reason is not _END_TURN:
        return reason or StopReason.OTHER
    for block in content:
        if type(block) is RefusalBlock:
            return StopReason.REFUSAL
        if type(block) is ToolUseBlock and block.executor == "client":
            return _TOOL_USE
    return reason


def write_stop(message: Message, to: WriteContext, own_raw: Wire) -> str | None:
    """The wire's own word while it still means the reason; else the nearest. `own_raw` is the
    choice's; it names a word that the wire had although the service does not list it."""
    t, recorder = to.t, to.recorder
    reason, word = message.metadata.stop_reason, own_word(message.metadata, t.name)
    if reason is None:
        if not t.null_stop and not kernel.was_absent(own_raw, "finish_reason"):
            recorder.lost(
                message, "metadata.stop_reason", because("stop_reason_as_stop"), "approximated"
            )
        return None if t.null_stop else "stop"
    stood = word is not None and (word in t.stops.words or spelling_in(own_raw).get("word") == word)
    if stood and read_stop(word, message.content) is reason:
        own: str = word
        return own
    if reason is StopReason.REFUSAL and read_stop("stop", message.content) is reason:
        return "stop"
    nearest = t.stops.write(reason) or tables.NEAREST_STOP.get(reason, "stop")
    if reason is StopReason.OTHER and lacks_stop_reason(message.metadata):
        nearest = "length"
    if (again := read_stop(nearest, message.content)) is not reason:
        report_stop_word(message, nearest, again, recorder)
    return nearest


# -- a choice whose answer is a list of messages: Mistral's, when it ran tools of its own ---------
# They are one canonical message; the counts in `raw` record where each of them ended.


def _read_run(wires: Any, t: Tables, origin: int | str | None) -> AssistantFields:
    blocks: list[Block] = []
    pieces: list[Wire] = []
    diagnostics: list[Diagnostic] = []

    def read(wire: Any) -> None:
        found: tuple[Block, ...]
        if require(wire, dict).get("role") == "tool":
            result = calls.read_result(wire, t, (), calls.Unanswered())
            found, own_raw = (result.replace(raw=None),), raw_of(t.name, result.raw)
        else:
            fields = read_assistant(wire, t, origin)
            found, own_raw = fields.content, raw_of(t.name, fields.preserved.raw(t.name))
            diagnostics.extend(fields.diagnostics)
        pieces.append({"role": wire.get("role"), "count": len(found), "said": own_raw})
        blocks.extend(found)

    read_each(wires, ".messages", read)
    preserved = Preserved(rest={"messages": pieces})
    return AssistantFields(tuple(_hosted(blocks, t)), None, t.name, preserved, tuple(diagnostics))


def _hosted(blocks: list[Block], t: Tables) -> list[Block]:
    """Calls that are answered in the same run were not for the client."""
    answered = {block.tool_use_id for block in blocks if type(block) is ToolResultBlock}
    return [
        with_spelling(block, t, **{"in": "tool_calls"}).replace(executor="provider")
        if type(block) is ToolUseBlock and block.id in answered
        else block
        for block in blocks
    ]


def _write_run(message: Message, pieces: list[Wire], to: WriteContext) -> Wire:
    """`messages`, while the pieces still add up; else one `message`."""
    if sum([piece["count"] for piece in pieces]) != len(message.content):
        return {"message": write_assistant(message, to)}
    wires: list[Wire] = []
    start = 0
    for piece in pieces:
        content = message.content[start : start + piece["count"]]
        start += piece["count"]
        wires.append(_write_piece(piece, content, message, to))
    return {"messages": wires}


def _write_piece(
    piece: Wire, content: tuple[Block, ...], message: Message, to: WriteContext
) -> Wire:
    raw = {to.t.name: piece["said"]} if piece["said"] else None
    if piece["role"] == "tool" and len(content) == 1 and type(content[0]) is ToolResultBlock:
        result = content[0].replace(raw={**(content[0].raw or {}), **(raw or {})})
        to.recorder.alias(result, content[0])
        return calls.write_result(result, to)
    metadata = MessageMetadata(protocol=message.metadata.protocol, provider_raw=raw)
    part_message = Message(Role.ASSISTANT, content, metadata=metadata)
    to.recorder.alias(part_message, message)
    return write_assistant(part_message, to)


# -- reading --------------------------------------------------------------------------------------


def read_answer(wire: Any, t: Tables) -> Response:
    return read_whole(f"{t.name} response", _read, wire, t)


def _read(wire: Wire, t: Tables) -> Response:
    if is_failure(wire):
        return read_failure(wire, t)
    preserved, taken = Preserved(), {"choices"}
    id, model = optional(wire, "id", str), optional(wire, "model", str)
    fields: dict[str, Any] = {"response_id": id or None, "response_model": model or None}
    taken.update([key for key, value in (("id", id), ("model", model)) if value])
    for key in ("object", "created", "model"):
        if wire.get(key) == t.fillers[key] and type(wire[key]) is type(t.fillers[key]):
            taken.add(key)
    if wire.get("usage") is not None:
        usage, odd = read_usage(wire["usage"], t.name, COUNTS)
        fields["usage"] = tiered = read_tier(usage, wire)
        taken.update(() if tiered is usage else ("service_tier",))
        fields["diagnostics"] = (odd,) if odd else ()
        taken.add("usage")
    first, *others = _read_choices(wire.get("choices"), t, id, fields, preserved)
    preserved.add_others(
        wire, taken, ("id", "model", "usage", "system_fingerprint", "service_tier")
    )
    preserved.mark_any_absent(wire, t.fillers)
    return Response(first, tuple(others), raw=preserved.raw(t.name))


def _read_choices(
    choices: Any, t: Tables, id: str | None, fields: dict[str, Any], preserved: Preserved
) -> list[Message]:
    if choices == []:
        preserved.spelling["choices"] = "none"
        metadata = MessageMetadata(protocol=t.name, stop_reason=StopReason.CONTENT_FILTER, **fields)
        return [Message(Role.ASSISTANT, metadata=metadata)]
    found: list[Message] = []

    def read(choice: Any) -> None:
        about = {} if found else fields
        found.append(_read_choice(require(choice, dict), len(found), t, id, about))

    read_each(choices, ".choices", read)
    return found


def _read_choice(
    choice: Wire, index: int, t: Tables, id: str | None, about: dict[str, Any]
) -> Message:
    key = "message"
    if choice.get(key) is None and type(choice.get("messages")) is list:
        key = "messages"
        fields = _read_run(choice[key], t, id or index)
    else:
        body = require(choice.get(key), dict, ".message")
        fields = at_path(".message", read_assistant, body, t, id or index)
    aside, word, taken = Preserved(), choice.get("finish_reason"), {key}
    if type(word) in (str, int, float, bool):
        taken.add("finish_reason")
        if word not in t.stops.words or fields.protocol != t.name:
            aside.spelling["word"] = word
    else:
        word = None
    if type(choice.get("index")) is int and choice["index"] == index:
        taken.add("index")
    tokens = _read_logprobs(choice, aside, taken)
    aside.add_others(choice, taken, ("index", "message", "finish_reason", "logprobs"))
    aside.mark_any_absent(choice, ("index", "finish_reason"))
    if aside.rest:
        fields.preserved.rest["choice"] = aside.rest
    if aside.spelling:
        fields.preserved.spelling["choice"] = aside.spelling
    metadata = MessageMetadata(
        protocol=fields.protocol,
        stop_reason=None if word is None else read_stop(word, fields.content),
        raw_stop_reason=word,
        logprobs=tokens,
        provider_raw=fields.preserved.raw(t.name),
        **{**about, "diagnostics": (*about.get("diagnostics", ()), *fields.diagnostics)},
    )
    return Message(Role.ASSISTANT, fields.content, fields.name, metadata=metadata)


def _read_logprobs(choice: Wire, aside: Preserved, taken: set[str]) -> tuple[JsonObject, ...]:
    logprobs = choice.get("logprobs")
    tokens = read_tokens(logprobs.get("content")) if type(logprobs) is dict else ()
    if tokens:
        taken.add("logprobs")
        aside.add_inside(choice, "logprobs", ("content",))
    return tokens


# -- writing --------------------------------------------------------------------------------------


def write_answer(response: Response, t: Tables, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_failure(response, response.error, t, recorder)
    metadata = response.message.metadata
    raw = response.raw
    own_raw = kernel.NOTHING if raw is None else raw_of(t.name, raw)
    wire = kernel.fill({}, own_raw, t.fillers) if own_raw else t.fillers.copy()
    if metadata.response_id is not None:
        wire["id"] = metadata.response_id
    if metadata.response_model is not None:
        wire["model"] = metadata.response_model
    wire["choices"] = _write_choices(response, own_raw, WriteContext(t, recorder))
    if metadata.usage is not None:
        usage = write_usage(metadata.usage, t.name, COUNTS, recorder)
        if usage is not None:
            wire["usage"] = usage
        if metadata.usage.service_tier is not None:
            write_tier(metadata.usage, t.name, wire, recorder)
    return wire if raw is None else restore_raw(wire, response, raw, recorder)


def _write_choices(response: Response, own_raw: Wire, to: WriteContext) -> list[Wire]:
    message = response.message
    if not response.alternatives and not own_raw:
        choice = _write_plain_choice(message, to)
        return [_write_choice(0, message, to) if choice is None else choice]
    if spelling_in(own_raw).get("choices") == "none" and not message.content:
        return []
    choices = enumerate((message, *response.alternatives))
    return [_write_choice(index, each, to) for index, each in choices]


def _write_plain_choice(message: Message, to: WriteContext) -> Wire | None:
    """The only choice of a response, if there is nothing special about it; else None."""
    metadata = message.metadata
    reason = metadata.stop_reason
    if metadata.logprobs or metadata.status is not _COMPLETE or metadata.cache_diagnosis:
        return None
    if metadata.input_transformations:
        return None
    if metadata.protocol == to.t.name and own_word(metadata, to.t.name) in to.t.stops.words:
        return None
    wire = messages.write_plainly(message, to)
    if wire is None:
        return None
    if reason is _END_TURN and "tool_calls" not in wire:
        word: str | None = "stop"
    elif reason is _TOOL_USE and "tool_calls" in wire:
        word = "tool_calls"
    else:
        word = write_stop(message, to, {})
    return {"index": 0, "message": wire, "finish_reason": word}


def _write_choice(index: int, message: Message, to: WriteContext) -> Wire:
    metadata, recorder = message.metadata, to.recorder
    own_raw = raw_of(to.t.name, metadata.provider_raw)
    rest, spelling = own_raw.get("choice", {}), spelling_in(own_raw).get("choice")
    preserved = rest if spelling is None else {**rest, "$form": spelling}
    word = write_stop(message, to, preserved)
    choice: Wire = {}
    fillers: Wire = {"index": index}
    if "messages" in own_raw:
        choice.update(_write_run(message, own_raw["messages"], to))
    else:
        choice["message"] = write_assistant(message, to)
    (choice if metadata.stop_reason is not None else fillers)["finish_reason"] = word
    report_metadata(message, recorder)
    if metadata.logprobs:
        choice["logprobs"] = {"content": write_tokens(message, recorder)}
    if index and metadata.usage is not None:
        recorder.lost(message, "metadata.usage", because("usage_once"))
    if metadata.status is not _COMPLETE:
        recorder.lost(message, "metadata.status", severity="info")
    return restore(choice, preserved, fillers) if preserved else {**fillers, **choice}


# -- errors ---------------------------------------------------------------------------------------


def is_failure(wire: Wire) -> bool:
    """Whether a body is an error, even one that came with status 200."""
    if wire.get("error"):
        return True
    if "choices" in wire:
        return False
    return "detail" in wire or type(wire.get("message")) is str or "error" in wire


@cache
def _bodies(name: str, status_codes: bool) -> ErrorBodies:
    return ErrorBodies(name, status_codes=status_codes)


def read_failure(wire: Wire, t: Tables) -> Response:
    return _bodies(t.name, t.status_codes).read_failure(wire)


def write_failure(
    response: Response, error: ProviderError, t: Tables, recorder: LossRecorder
) -> Wire:
    return _bodies(t.name, t.status_codes).write_failure(response, error, recorder)
