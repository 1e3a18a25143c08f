"""Requests, both ways."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, read_whole, want
from interlingua.dialects.kernel.kept import NOTHING, Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_responses.messages import ItemReader, ItemWriter
from interlingua.dialects.openai_responses.options import (
    CONTINUES,
    read_continues,
    read_options,
    write_options,
)
from interlingua.dialects.openai_responses.tables import NAME, REQUEST
from interlingua.dialects.openai_responses.text import form, is_string, own, put_back
from interlingua.dialects.openai_responses.tools import (
    plain_choice,
    read_choice,
    read_tools,
    write_choice,
    write_tools,
)
from interlingua.model.base import Raw, same
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role

_NO_OPTIONS = Request().options

# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(REQUEST, _read, wire)


def _read(wire: Wire) -> Request:
    kept, items = Kept(), ItemReader()
    attrs = read_options(wire, kept)
    continues = read_continues(wire, kept)
    _read_messages(wire, items, kept)
    given = kept.take(wire, "tools", list) if wire.get("tools") is not None else None
    tools = (*(read_tools(given) if given else ()), *items.added)
    if None in wire.values():
        for key in ("model", "tools", "tool_choice", "input", "instructions"):
            if key in wire and wire[key] is None:
                kept.spell(key, None)
    if wire.get("tool_choice") is not None:
        _read_choice(wire["tool_choice"], tools, attrs, kept)
    model = wire.get("model")
    if model is not None:
        want(model, str, ".model")
    if items.lead.places:
        kept.form["asides"] = items.lead.places
    if items.lead.content:
        kept.rest["$asides"] = items.lead.content
    if items.references:
        continues["items"] = tuple(items.references)
        kept.form["references"] = len(items.references)
    options = Options(**attrs) if attrs else _NO_OPTIONS
    goes_on = Continues(**continues) if continues else None
    return Request(tuple(items.messages), model, tools, options, goes_on, kept.raw(NAME))


def _read_messages(wire: Wire, items: ItemReader, kept: Kept) -> None:
    """That the input was no list no message can tell (`$form.input`)."""
    instructions, given = wire.get("instructions"), wire.get("input")
    if instructions:
        text = TextBlock(want(instructions, str, ".instructions"))
        items.messages.append(Message(Role.SYSTEM, (text,)))
    elif instructions is not None:
        kept.spell("instructions", want(instructions, str, ".instructions"))
    if type(given) is list:
        items.read(given, ".input")
        items.flush()
        if not given:
            kept.spell("input", [])
    elif type(given) is str:
        kept.form["input"] = "string"
        if given:
            items.messages.append(Message(Role.USER, (TextBlock(given),)))
    elif given is not None:
        raise ShapeError(".input", "a string or a list", given)


def _read_choice(given: Any, tools: tuple[Any, ...], attrs: Wire, kept: Kept) -> None:
    choice = read_choice(given)
    if choice is None:
        kept.hold("tool_choice", given)
        return
    attrs["tool_choice"] = choice
    if not same(plain_choice(choice, tools), given):
        kept.respell("tool_choice", given)


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    if request.model is not None:
        out["model"] = request.model
    raw, options = request.raw, request.options
    if raw is not None:
        recorder.unwritten_raw(request, raw)
    mine = _own(raw)
    brought = _write_messages(request, out, recorder)
    if request.tools:
        left = [tool for tool in request.tools if id(tool) not in brought] if brought else None
        if tools := write_tools(request.tools if left is None else left, recorder):
            out["tools"] = tools
    if request.continues is not None:
        CONTINUES.write(request.continues, out, mine, recorder)
    if options is not _NO_OPTIONS:
        write_options(options, out, mine, recorder)
        if options.tool_choice is not None:
            spelled = form(raw).get("as", NOTHING).get("tool_choice")
            choice = write_choice(options.tool_choice, request.tools, spelled, recorder)
            out["tool_choice"] = choice
        if options.raw is not None:
            recorder.unwritten_raw(options, options.raw)
            put_back(out, options.raw)
    return put_back(out, raw if mine is own(raw) else {NAME: mine})


def _own(raw: Raw | None) -> Wire:
    """What a request kept. The first versions had what a format says of its own apart."""
    mine = own(raw)
    if "text_format" not in mine:
        return mine
    rest = {key: item for key, item in mine.items() if key != "text_format"}
    return {**rest, "text": {**rest.get("text", NOTHING), "format": mine["text_format"]}}


def _write_messages(request: Request, out: Wire, recorder: LossRecorder) -> set[int]:
    """The answer is which tools were written among them, by identity."""
    messages = request.messages
    start = 0
    if messages and messages[0].role is Role.SYSTEM and _is_instruction(messages[0]):
        first: Any = messages[0]
        out["instructions"] = first.content[0].text
        start = 1
        if first.name is not None:
            recorder.lost(first, "name")
        if first.metadata.provider_raw is not None:
            recorder.unwritten_raw(first, first.metadata.provider_raw, "metadata.provider_raw")
    spelling = form(request.raw)
    if spelling.get("input") == "string" and _is_one_string(messages, start):
        only: Any = messages[start].content[0] if len(messages) > start else None
        out["input"] = only.text if only is not None else ""
        return set()
    writer = ItemWriter(recorder)
    writer.tools = request.tools
    _give_references(request, writer, spelling)
    for aside in spelling.get("asides", ()):
        writer.aside(aside, request.raw)
    for message in messages[start:] if start else messages:
        writer.message(message)
    if writer.references:
        _write_unplaced(request, writer, recorder)
    if writer.items:
        out["input"] = writer.items
    return writer.brought


def _is_instruction(message: Message) -> bool:
    """Whether a leading message can be said as `instructions`, and did not stand elsewhere."""
    is_text = bool(message.content) and is_string(message.content)
    return is_text and not own(message.metadata.provider_raw) and message.changes is None


def _is_one_string(messages: tuple[Message, ...], start: int) -> bool:
    if len(messages) == start:
        return True
    message = messages[start]
    return (
        len(messages) == start + 1
        and message.role is Role.USER
        and message.name is None
        and message.changes is None
        and len(message.content) == 1
        and is_plain(message.content[0])
        and message.metadata.provider_raw is None
    )


def _give_references(request: Request, writer: ItemWriter, spelling: Wire) -> None:
    """References go where they stood: by their number while they are as many, else by id."""
    if request.continues is not None and request.continues.items:
        ids = request.continues.items
        writer.by_number = spelling.get("references") == len(ids)
        writer.references = dict(enumerate(ids)) if writer.by_number else {id: id for id in ids}


def _write_unplaced(request: Request, writer: ItemWriter, recorder: LossRecorder) -> None:
    """References that stood nowhere follow the one before them, or come first; those whose place
    is gone are not said."""
    assert request.continues is not None
    if writer.by_number:
        for id in writer.references.values():
            recorder.lost(request.continues, "items", f"the place of {id} in the history is gone")
        return
    place = 0
    for id in request.continues.items:
        if id in writer.references:
            writer.items.insert(place, {"type": "item_reference", "id": id})
        else:
            written = writer.referred[id]
            place = next(n for n, item in enumerate(writer.items) if item is written)
        place += 1
