"""Responses of Chat Completions, two ways; errors are in `failures.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, each
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ended_unsaid, own_word
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.openai_chat.calls import OpenCalls, read_result, write_result
from interlingua.dialects.openai_chat.errors import is_failure, read_failure, write_failure
from interlingua.dialects.openai_chat.messages import (
    Said,
    read_assistant,
    write_assistant,
    write_plainly,
)
from interlingua.dialects.openai_chat.shape import (
    NOTHING,
    Note,
    form_in,
    maybe,
    mine_of,
    put_back,
    want,
)
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, NEAREST_STOP, READ_STOPS, Tables
from interlingua.dialects.openai_chat.usage import read_usage, write_usage
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, RefusalBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason

# -- why it ended ---------------------------------------------------------------------------------


def read_stop(word: Any, content: Sequence[Block]) -> StopReason:
    reason = READ_STOPS.get(word, StopReason.OTHER) if type(word) is str else StopReason.OTHER
    if reason is not StopReason.END_TURN:
        return reason
    for block in content:
        if type(block) is RefusalBlock:
            return StopReason.REFUSAL
        if type(block) is ToolUseBlock and block.executor == "client":
            return StopReason.TOOL_USE
    return reason


def write_stop(message: Message, t: Tables, recorder: LossRecorder, form: Wire) -> Any:
    """The wire's own word while it still says the reason; else the nearest. `form` is the
    choice's; it names words that stood there although the service does not list them."""
    reason, word = message.metadata.stop_reason, own_word(message.metadata, t.name)
    if reason is None:
        return _write_none(message, t, recorder, form)
    stood = word is not None and (word in t.stops.words or form.get("word") == word)
    if stood and read_stop(word, message.content) is reason:
        return word
    if reason is StopReason.OTHER and ended_unsaid(message.metadata):
        nearest = "length"
    else:
        nearest = t.stops.write(reason) or NEAREST_STOP.get(reason, "stop")
    if read_stop(nearest, message.content) is not reason:
        recorder.lost(message, "metadata.stop_reason", f"sent as {nearest!r}", "approximated")
    return nearest


def _write_none(message: Message, t: Tables, recorder: LossRecorder, form: Wire) -> str | None:
    """No reason: null, where the wire may have it; what it was at home, the form says."""
    stood = "finish_reason" in form.get("empty", ()) or "finish_reason" in form.get("absent", ())
    if t.null_stop or stood:
        return None if t.null_stop else "stop"
    recorder.lost(message, "metadata.stop_reason", "sent as 'stop'", "approximated")
    return "stop"


# -- answers of several messages ------------------------------------------------------------------


def read_run(wires: Any, t: Tables, origin: int | str | None) -> Said:
    blocks: list[Block] = []
    pieces: list[Wire] = []
    diagnostics: list[Diagnostic] = []

    def read(wire: Any) -> None:
        found: tuple[Block, ...]
        if want(wire, dict, "").get("role") == "tool":
            result = read_result(wire, t, (), OpenCalls())
            found, mine = (result.replace(raw=None),), mine_of(t.name, result.raw)
        else:
            said = read_assistant(wire, t, origin)
            found, mine = said.content, mine_of(t.name, said.note.raw(t.name))
            diagnostics.extend(said.diagnostics)
        pieces.append({"role": wire.get("role"), "count": len(found), "said": mine})
        blocks.extend(found)

    each(wires, ".messages", read)
    note = Note()
    note.rest["messages"] = pieces
    return Said(tuple(_hosted(blocks, t)), None, t.name, note, tuple(diagnostics))


def _hosted(blocks: list[Block], t: Tables) -> list[Block]:
    """Calls that are answered in the same run were not for the client."""
    answered = {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}
    return [
        _hosted_call(block, t)
        if isinstance(block, ToolUseBlock) and block.id in answered
        else block
        for block in blocks
    ]


def _hosted_call(call: ToolUseBlock, t: Tables) -> ToolUseBlock:
    mine = mine_of(t.name, call.raw)
    mine = {**mine, "$form": {**form_in(mine), "in": "tool_calls"}}
    return call.replace(executor="provider", raw={t.name: mine})


def write_run(message: Message, t: Tables, recorder: LossRecorder) -> Wire:
    """`messages`, while the pieces still add up; else one `message`."""
    pieces = mine_of(t.name, message.metadata.provider_raw)["messages"]
    counts = [piece["count"] for piece in pieces]
    if sum(counts) != len(message.content):
        return {"message": write_assistant(message, t, recorder)}
    wires: list[Wire] = []
    start = 0
    for piece in pieces:
        content = message.content[start : start + piece["count"]]
        start += piece["count"]
        wires.append(_write_piece(piece, content, message, t, recorder))
    return {"messages": wires}


def _write_piece(
    piece: Wire, content: tuple[Block, ...], message: Message, t: Tables, recorder: LossRecorder
) -> Wire:
    raw = {t.name: piece["said"]} if piece["said"] else None
    if piece["role"] == "tool" and len(content) == 1 and isinstance(content[0], ToolResultBlock):
        result = content[0].replace(raw={**(content[0].raw or {}), **(raw or {})})
        recorder.alias(result, content[0])
        return write_result(result, t, recorder)
    metadata = MessageMetadata(protocol=message.metadata.protocol, provider_raw=raw)
    said = Message(Role.ASSISTANT, content, metadata=metadata)
    recorder.alias(said, message)
    return write_assistant(said, t, recorder)


# -- responses ------------------------------------------------------------------------------------

CHOICE_KEYS = ("index", "message", "finish_reason", "logprobs")


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWER_TABLES)


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    return write_answer(response, ANSWER_TABLES, recorder)


# Reading


def read_answer(wire: Any, t: Tables) -> Response:
    try:
        want(wire, dict, "")
        return read_failure(wire, t) if is_failure(wire) else _read(wire, t)
    except ShapeError as odd:
        raise odd.error(f"{t.name} response") from None


def _read(wire: Wire, t: Tables) -> Response:
    note, taken = Note(), {"choices"}
    id, model = maybe(wire, "id", str), maybe(wire, "model", str)
    fields: dict[str, Any] = {"response_id": id or None, "response_model": model or None}
    taken.update(key for key, value in (("id", id), ("model", model)) if value)
    for key in ("object", "created", "model"):
        if wire.get(key) == t.fillers[key] and type(wire[key]) is type(t.fillers[key]):
            taken.add(key)
    if wire.get("usage") is not None:
        fields["usage"], odd = read_usage(wire["usage"], t)
        fields["diagnostics"] = (odd,) if odd else ()
        taken.add("usage")
    messages = _read_choices(wire.get("choices"), t, id, fields, note)
    note.leave(wire, taken, ("id", "model", "usage", "system_fingerprint", "service_tier"))
    note.absent(wire, t.fillers)
    return Response(messages[0], tuple(messages[1:]), raw=note.raw(t.name))


def _read_choices(
    choices: Any, t: Tables, id: str | None, fields: dict[str, Any], note: Note
) -> list[Message]:
    if choices == []:
        note.form["choices"] = "none"
        metadata = MessageMetadata(protocol=t.name, stop_reason=StopReason.CONTENT_FILTER, **fields)
        return [Message(Role.ASSISTANT, metadata=metadata)]
    messages: list[Message] = []

    def read(choice: Any) -> None:
        about = {} if messages else fields
        messages.append(_read_choice(choice, len(messages), t, id, about))

    each(choices, ".choices", read)
    return messages


def _read_choice(
    choice: Any, index: int, t: Tables, id: str | None, about: dict[str, Any]
) -> Message:
    want(choice, dict, "")
    if choice.get("message") is None and type(choice.get("messages")) is list:
        said, key = read_run(choice["messages"], t, id or index), "messages"
    else:
        said, key = _read_message(choice.get("message"), t, id or index), "message"
    note, aside, word = said.note, Note(), choice.get("finish_reason")
    taken = {key}
    if type(word) is str or type(word) in (int, float, bool):
        taken.add("finish_reason")
        if word not in t.stops.words or said.protocol != t.name:
            aside.form["word"] = word
    else:
        word = None
    if type(choice.get("index")) is int and choice["index"] == index:
        taken.add("index")
    tokens = _read_logprobs(choice, aside, taken)
    aside.leave(choice, taken, CHOICE_KEYS)
    aside.absent(choice, ("index", "finish_reason"))
    if aside.rest:
        note.rest["choice"] = aside.rest
    if aside.form:
        note.form["choice"] = aside.form
    metadata = MessageMetadata(
        protocol=said.protocol,
        stop_reason=None if word is None else read_stop(word, said.content),
        raw_stop_reason=word,
        logprobs=tokens,
        provider_raw=note.raw(t.name),
        **{**about, "diagnostics": (*about.get("diagnostics", ()), *said.diagnostics)},
    )
    return Message(Role.ASSISTANT, said.content, said.name, metadata=metadata)


def _read_logprobs(choice: Wire, aside: Note, taken: set[str]) -> tuple[JsonObject, ...]:
    given = choice.get("logprobs")
    tokens = read_tokens(given.get("content")) if type(given) is dict else ()
    if tokens:
        taken.add("logprobs")
        aside.leave_inner(choice, "logprobs", {"content"})
    return tokens


def _read_message(wire: Any, t: Tables, origin: int | str) -> Said:
    try:
        return read_assistant(want(wire, dict, ""), t, origin)
    except ShapeError as odd:
        raise odd.inside(".message") from None


# Writing


def write_answer(response: Response, t: Tables, recorder: LossRecorder) -> Wire:
    if response.error is not None:
        return write_failure(response, response.error, t, recorder)
    message = response.message
    metadata = message.metadata
    mine = mine_of(t.name, response.raw)
    wire = t.fillers.copy()
    if metadata.response_id is not None:
        wire["id"] = metadata.response_id
    if metadata.response_model is not None:
        wire["model"] = metadata.response_model
    if not response.alternatives and not mine:
        choice = write_plain_choice(message, t, recorder)
        wire["choices"] = [_write_choice(0, message, t, recorder) if choice is None else choice]
    elif form_in(mine).get("choices") == "none" and not message.content:
        wire["choices"] = []
    else:
        messages = (message, *response.alternatives)
        wire["choices"] = [_write_choice(*each, t, recorder) for each in enumerate(messages)]
    if metadata.usage is not None:
        usage = write_usage(metadata.usage, t, recorder)
        if usage is not None:
            wire["usage"] = usage
    if response.raw is not None:
        recorder.unwritten_raw(response, response.raw)
        put_back(wire, mine, _fillers(wire, t))
    return wire


def _fillers(wire: Wire, t: Tables) -> Wire:
    return {key: value for key, value in t.fillers.items() if wire.get(key) == value}


_COMPLETE, _END_TURN, _TOOL_USE = (
    MessageStatus.COMPLETE,
    StopReason.END_TURN,
    StopReason.TOOL_USE,
)


def write_plain_choice(message: Message, t: Tables, recorder: LossRecorder) -> Wire | None:
    """The only choice of a response, if there is nothing special about it; else None."""
    metadata = message.metadata
    reason = metadata.stop_reason
    if (
        metadata.logprobs
        or metadata.status is not _COMPLETE
        or own_word(metadata, t.name) in t.stops.words
    ):
        return None
    said = write_plainly(message, t, recorder)
    if said is None:
        return None
    if reason is _END_TURN and "tool_calls" not in said:
        word = "stop"
    elif reason is _TOOL_USE and "tool_calls" in said:
        word = "tool_calls"
    else:
        word = write_stop(message, t, recorder, NOTHING)
    return {"index": 0, "message": said, "finish_reason": word}


def _write_choice(index: int, message: Message, t: Tables, recorder: LossRecorder) -> Wire:
    mine = mine_of(t.name, message.metadata.provider_raw)
    form = form_in(mine).get("choice", {})
    word = write_stop(message, t, recorder, form)
    choice: Wire = {"index": index}
    if "messages" in mine:
        choice.update(write_run(message, t, recorder))
    else:
        choice["message"] = write_assistant(message, t, recorder)
    choice["finish_reason"] = word
    if message.metadata.logprobs:
        choice["logprobs"] = {"content": write_tokens(message.metadata, t.name)}
    if index and message.metadata.usage is not None:
        recorder.lost(message, "metadata.usage", "usage is said once for all choices")
    if message.metadata.status is not MessageStatus.COMPLETE:
        recorder.lost(message, "metadata.status", severity="info")
    if not mine:
        return choice
    kept = {**mine.get("choice", {}), "$form": form}
    fillers: Wire = {"index": index}
    if message.metadata.stop_reason is None:
        fillers["finish_reason"] = word
    return put_back(choice, kept, fillers)
