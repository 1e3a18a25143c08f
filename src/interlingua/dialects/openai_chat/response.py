"""Responses of Chat Completions, two ways; errors are in `failures.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.logprobs import read_tokens, write_tokens
from interlingua.dialects.openai_chat.assistant import Said, read_assistant
from interlingua.dialects.openai_chat.failures import is_failure, read_failure, write_failure
from interlingua.dialects.openai_chat.quick import write_assistant, write_plain_choice
from interlingua.dialects.openai_chat.runs import read_run, write_run
from interlingua.dialects.openai_chat.shape import Note, form_in, maybe, mine_of, put_back, want
from interlingua.dialects.openai_chat.stops import read_stop, write_stop
from interlingua.dialects.openai_chat.tables import ANSWER_TABLES, Tables
from interlingua.dialects.openai_chat.usage import read_usage, write_usage
from interlingua.dialects.shape import ShapeError, each
from interlingua.model.base import JsonObject
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason

CHOICE_KEYS = ("index", "message", "finish_reason", "logprobs")


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWER_TABLES)


def write_response(response: Response, scribe: Scribe) -> Wire:
    return write_answer(response, ANSWER_TABLES, scribe)


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


def write_answer(response: Response, t: Tables, scribe: Scribe) -> Wire:
    if response.error is not None:
        return write_failure(response, response.error, t, scribe)
    message = response.message
    metadata = message.metadata
    mine = mine_of(t.name, response.raw)
    wire = t.fillers.copy()
    if metadata.response_id is not None:
        wire["id"] = metadata.response_id
    if metadata.response_model is not None:
        wire["model"] = metadata.response_model
    if not response.alternatives and not mine:
        choice = write_plain_choice(message, t, scribe)
        wire["choices"] = [_write_choice(0, message, t, scribe) if choice is None else choice]
    elif form_in(mine).get("choices") == "none" and not message.content:
        wire["choices"] = []
    else:
        messages = (message, *response.alternatives)
        wire["choices"] = [_write_choice(*each, t, scribe) for each in enumerate(messages)]
    if metadata.usage is not None:
        usage = write_usage(metadata.usage, t, scribe)
        if usage is not None:
            wire["usage"] = usage
    if response.raw is not None:
        scribe.unsaid_raw(response, response.raw)
        put_back(wire, mine, _fillers(wire, t))
    return wire


def _fillers(wire: Wire, t: Tables) -> Wire:
    return {key: value for key, value in t.fillers.items() if wire.get(key) == value}


def _write_choice(index: int, message: Message, t: Tables, scribe: Scribe) -> Wire:
    mine = mine_of(t.name, message.metadata.provider_raw)
    form = form_in(mine).get("choice", {})
    word = write_stop(message, t, scribe, form)
    choice: Wire = {"index": index}
    if "messages" in mine:
        choice.update(write_run(message, t, scribe))
    else:
        choice["message"] = write_assistant(message, t, scribe)
    choice["finish_reason"] = word
    if message.metadata.logprobs:
        choice["logprobs"] = {"content": write_tokens(message.metadata, t.name)}
    if index and message.metadata.usage is not None:
        scribe.lost(message, "metadata.usage", "usage is said once for all choices")
    if message.metadata.status is not MessageStatus.COMPLETE:
        scribe.lost(message, "metadata.status", severity="info")
    if not mine:
        return choice
    kept = {**mine.get("choice", {}), "$form": form}
    fillers: Wire = {"index": index}
    if message.metadata.stop_reason is None:
        fillers["finish_reason"] = word
    return put_back(choice, kept, fillers)
