"""Responses of Chat Completions, two ways; errors have a room of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.kernel import kept as kernel
from interlingua.dialects.kernel.errors import below, each, maybe, read_whole, want
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back, restore
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ended_unsaid, own_word
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.openai_chat import calls, messages, tables
from interlingua.dialects.openai_chat.errors import is_failure, read_failure, write_failure
from interlingua.dialects.openai_chat.messages import Said, read_assistant, write_assistant
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, COUNTS, Tables, Target
from interlingua.dialects.openai_chat.text import with_form
from interlingua.dialects.openai_usage import read_usage, write_usage
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, RefusalBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason

_COMPLETE, _END_TURN, _TOOL_USE = MessageStatus.COMPLETE, StopReason.END_TURN, StopReason.TOOL_USE


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWER_TABLES)


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    return write_answer(response, ANSWER_TABLES, recorder)


# -- why it ended: `stop` says it all but for calls and refusals, which the content tells ---------


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


def write_stop(message: Message, to: Target, mine: Wire) -> str | None:
    """The wire's own word while it still says the reason; else the nearest. `mine` is the choice's;
    it names a word that stood there although the service does not list it."""
    t, recorder = to
    reason, word = message.metadata.stop_reason, own_word(message.metadata, t.name)
    if reason is None:
        if not t.null_stop and not kernel.did_without(mine, "finish_reason"):
            recorder.lost(message, "metadata.stop_reason", "sent as 'stop'", "approximated")
        return None if t.null_stop else "stop"
    stood = word is not None and (word in t.stops.words or form_in(mine).get("word") == word)
    if stood and read_stop(word, message.content) is reason:
        own: str = word
        return own
    nearest = t.stops.write(reason) or tables.NEAREST_STOP.get(reason, "stop")
    if reason is StopReason.OTHER and ended_unsaid(message.metadata):
        nearest = "length"
    if read_stop(nearest, message.content) is not reason:
        recorder.lost(message, "metadata.stop_reason", f"sent as {nearest!r}", "approximated")
    return nearest


# -- a choice whose answer is a list of messages: Mistral's, when it ran tools of its own ---------
# They are one canonical message; the counts in `raw` say where each of them ended.


def _read_run(wires: Any, t: Tables, origin: int | str | None) -> Said:
    blocks: list[Block] = []
    pieces: list[Wire] = []
    diagnostics: list[Diagnostic] = []

    def read(wire: Any) -> None:
        found: tuple[Block, ...]
        if want(wire, dict).get("role") == "tool":
            result = calls.read_result(wire, t, (), calls.Unanswered())
            found, mine = (result.replace(raw=None),), mine_of(t.name, result.raw)
        else:
            said = read_assistant(wire, t, origin)
            found, mine = said.content, mine_of(t.name, said.kept.raw(t.name))
            diagnostics.extend(said.diagnostics)
        pieces.append({"role": wire.get("role"), "count": len(found), "said": mine})
        blocks.extend(found)

    each(wires, ".messages", read)
    kept = Kept(rest={"messages": pieces})
    return Said(tuple(_hosted(blocks, t)), None, t.name, kept, tuple(diagnostics))


def _hosted(blocks: list[Block], t: Tables) -> list[Block]:
    """Calls that are answered in the same run were not for the client."""
    answered = {block.tool_use_id for block in blocks if type(block) is ToolResultBlock}
    return [
        with_form(block, t, **{"in": "tool_calls"}).replace(executor="provider")
        if type(block) is ToolUseBlock and block.id in answered
        else block
        for block in blocks
    ]


def _write_run(message: Message, pieces: list[Wire], to: Target) -> Wire:
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


def _write_piece(piece: Wire, content: tuple[Block, ...], message: Message, to: Target) -> Wire:
    raw = {to.t.name: piece["said"]} if piece["said"] else None
    if piece["role"] == "tool" and len(content) == 1 and type(content[0]) is ToolResultBlock:
        result = content[0].replace(raw={**(content[0].raw or {}), **(raw or {})})
        to.recorder.alias(result, content[0])
        return calls.write_result(result, to)
    metadata = MessageMetadata(protocol=message.metadata.protocol, provider_raw=raw)
    said = Message(Role.ASSISTANT, content, metadata=metadata)
    to.recorder.alias(said, message)
    return write_assistant(said, to)


# -- reading --------------------------------------------------------------------------------------


def read_answer(wire: Any, t: Tables) -> Response:
    return read_whole(f"{t.name} response", _read, wire, t)


def _read(wire: Wire, t: Tables) -> Response:
    if is_failure(wire):
        return read_failure(wire, t)
    kept, taken = Kept(), {"choices"}
    id, model = maybe(wire, "id", str), maybe(wire, "model", str)
    fields: dict[str, Any] = {"response_id": id or None, "response_model": model or None}
    taken.update([key for key, value in (("id", id), ("model", model)) if value])
    for key in ("object", "created", "model"):
        if wire.get(key) == t.fillers[key] and type(wire[key]) is type(t.fillers[key]):
            taken.add(key)
    if wire.get("usage") is not None:
        fields["usage"], odd = read_usage(wire["usage"], t.name, COUNTS)
        fields["diagnostics"] = (odd,) if odd else ()
        taken.add("usage")
    first, *others = _read_choices(wire.get("choices"), t, id, fields, kept)
    kept.add_others(wire, taken, ("id", "model", "usage", "system_fingerprint", "service_tier"))
    kept.miss_any(wire, t.fillers)
    return Response(first, tuple(others), raw=kept.raw(t.name))


def _read_choices(
    choices: Any, t: Tables, id: str | None, fields: dict[str, Any], kept: Kept
) -> list[Message]:
    if choices == []:
        kept.form["choices"] = "none"
        metadata = MessageMetadata(protocol=t.name, stop_reason=StopReason.CONTENT_FILTER, **fields)
        return [Message(Role.ASSISTANT, metadata=metadata)]
    found: list[Message] = []

    def read(choice: Any) -> None:
        about = {} if found else fields
        found.append(_read_choice(want(choice, dict), len(found), t, id, about))

    each(choices, ".choices", read)
    return found


def _read_choice(
    choice: Wire, index: int, t: Tables, id: str | None, about: dict[str, Any]
) -> Message:
    key = "message"
    if choice.get(key) is None and type(choice.get("messages")) is list:
        key = "messages"
        said = _read_run(choice[key], t, id or index)
    else:
        body = want(choice.get(key), dict, ".message")
        said = below(".message", read_assistant, body, t, id or index)
    aside, word, taken = Kept(), choice.get("finish_reason"), {key}
    if type(word) in (str, int, float, bool):
        taken.add("finish_reason")
        if word not in t.stops.words or said.protocol != t.name:
            aside.form["word"] = word
    else:
        word = None
    if type(choice.get("index")) is int and choice["index"] == index:
        taken.add("index")
    tokens = _read_logprobs(choice, aside, taken)
    aside.add_others(choice, taken, ("index", "message", "finish_reason", "logprobs"))
    aside.miss_any(choice, ("index", "finish_reason"))
    if aside.rest:
        said.kept.rest["choice"] = aside.rest
    if aside.form:
        said.kept.form["choice"] = aside.form
    metadata = MessageMetadata(
        protocol=said.protocol,
        stop_reason=None if word is None else read_stop(word, said.content),
        raw_stop_reason=word,
        logprobs=tokens,
        provider_raw=said.kept.raw(t.name),
        **{**about, "diagnostics": (*about.get("diagnostics", ()), *said.diagnostics)},
    )
    return Message(Role.ASSISTANT, said.content, said.name, metadata=metadata)


def _read_logprobs(choice: Wire, aside: Kept, taken: set[str]) -> tuple[JsonObject, ...]:
    given = choice.get("logprobs")
    tokens = read_tokens(given.get("content")) if type(given) is dict else ()
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
    mine = kernel.NOTHING if raw is None else mine_of(t.name, raw)
    wire = kernel.fill({}, mine, t.fillers) if mine else t.fillers.copy()
    if metadata.response_id is not None:
        wire["id"] = metadata.response_id
    if metadata.response_model is not None:
        wire["model"] = metadata.response_model
    wire["choices"] = _write_choices(response, mine, Target(t, recorder))
    if metadata.usage is not None:
        usage = write_usage(metadata.usage, t.name, COUNTS, recorder)
        if usage is not None:
            wire["usage"] = usage
    return wire if raw is None else put_back(wire, response, raw, recorder)


def _write_choices(response: Response, mine: Wire, to: Target) -> list[Wire]:
    message = response.message
    if not response.alternatives and not mine:
        choice = _write_plain_choice(message, to)
        return [_write_choice(0, message, to) if choice is None else choice]
    if form_in(mine).get("choices") == "none" and not message.content:
        return []
    choices = enumerate((message, *response.alternatives))
    return [_write_choice(index, each, to) for index, each in choices]


def _write_plain_choice(message: Message, to: Target) -> Wire | None:
    """The only choice of a response, if there is nothing special about it; else None."""
    metadata = message.metadata
    reason = metadata.stop_reason
    if metadata.logprobs or metadata.status is not _COMPLETE:
        return None
    if metadata.protocol == to.t.name and own_word(metadata, to.t.name) in to.t.stops.words:
        return None
    said = messages.write_plainly(message, to)
    if said is None:
        return None
    if reason is _END_TURN and "tool_calls" not in said:
        word: str | None = "stop"
    elif reason is _TOOL_USE and "tool_calls" in said:
        word = "tool_calls"
    else:
        word = write_stop(message, to, {})
    return {"index": 0, "message": said, "finish_reason": word}


def _write_choice(index: int, message: Message, to: Target) -> Wire:
    metadata, recorder = message.metadata, to.recorder
    mine = mine_of(to.t.name, metadata.provider_raw)
    rest, form = mine.get("choice", {}), form_in(mine).get("choice")
    kept = rest if form is None else {**rest, "$form": form}
    word = write_stop(message, to, kept)
    choice: Wire = {}
    fillers: Wire = {"index": index}
    if "messages" in mine:
        choice.update(_write_run(message, mine["messages"], to))
    else:
        choice["message"] = write_assistant(message, to)
    (choice if metadata.stop_reason is not None else fillers)["finish_reason"] = word
    if metadata.logprobs:
        choice["logprobs"] = {"content": write_tokens(metadata, to.t.name)}
    if index and metadata.usage is not None:
        recorder.lost(message, "metadata.usage", "usage is said once for all choices")
    if metadata.status is not _COMPLETE:
        recorder.lost(message, "metadata.status", severity="info")
    return restore(choice, kept, fillers) if kept else {**fillers, **choice}
