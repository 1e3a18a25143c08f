"""Requests, both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, read_whole, require
from interlingua.dialects.kernel.preserved import NOTHING, Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import write_each
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai import is_plain
from interlingua.dialects.openai_responses.messages import ItemReader, ItemWriter, read_following
from interlingua.dialects.openai_responses.tables import NAME, REQUEST
from interlingua.dialects.openai_responses.text import is_string, own, own_spelling, restore_own
from interlingua.dialects.openai_responses.tools import (
    CONTINUES,
    has_unknown_keys,
    plain_choice,
    read_choice,
    read_continues,
    read_options,
    read_tools,
    write_choice,
    write_options,
    write_tools,
)
from interlingua.model.base import Raw, same, unchecked
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import NO_OPTIONS, Continues, Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return read_whole(REQUEST, _read, wire)


_PROBE = {"role": "user", "content": "."}


def read_without(wire: Wire, *_: Any) -> Request:
    """A request without the messages of its input, which is a list of some."""
    read = read_request({**wire, "input": [_PROBE]})
    return read.replace(messages=read.messages[:-1])


def read_more(wires: list[Any], messages: list[Message], before: Any) -> Iterator[Any]:
    """Appends messages that follow others: `before` is the number of items before them. Only
    items that do not change earlier ones are read so; for others the input has to be read whole."""
    return read_following(wires, messages, before or 0)


def _read(wire: Wire) -> Request:
    preserved, items = Preserved(), ItemReader()
    attrs = read_options(wire, preserved)
    continues = read_continues(wire, preserved)
    _read_messages(wire, items, preserved)
    raw_tools = preserved.take(wire, "tools", list) if wire.get("tools") is not None else None
    tools = (*(read_tools(raw_tools) if raw_tools else ()), *items.added)
    if None in wire.values():
        for key in ("model", "tools", "tool_choice", "input", "instructions"):
            if key in wire and wire[key] is None:
                preserved.keep_spelling(key, None)
    if wire.get("tool_choice") is not None:
        _read_choice(wire["tool_choice"], tools, attrs, preserved)
    model = wire.get("model")
    if model is not None:
        require(model, str, ".model")
    if items.lead.places:
        preserved.spelling["asides"] = items.lead.places
    if items.lead.content:
        preserved.rest["$asides"] = items.lead.content
    if items.references:
        continues["items"] = tuple(items.references)
        preserved.spelling["references"] = len(items.references)
    options = unchecked(Options, **attrs) if attrs else NO_OPTIONS
    goes_on = Continues(**continues) if continues else None
    return unchecked(
        Request, tuple(items.messages), model, tools, options, goes_on, preserved.raw(NAME)
    )


def _read_messages(wire: Wire, items: ItemReader, preserved: Preserved) -> None:
    """Whether the input was a list is spelling (`$form.input`)."""
    instructions, input = wire.get("instructions"), wire.get("input")
    if instructions:
        text = TextBlock(require(instructions, str, ".instructions"))
        items.messages.append(Message(Role.SYSTEM, (text,)))
    elif instructions is not None:
        preserved.keep_spelling("instructions", require(instructions, str, ".instructions"))
    if type(input) is list:
        items.read(input, ".input")
        items.flush()
        if not input:
            preserved.keep_spelling("input", [])
    elif type(input) is str:
        preserved.spelling["input"] = "string"
        if input:
            items.messages.append(Message(Role.USER, (TextBlock(input),)))
    elif input is not None:
        raise ShapeError(".input", "a string or a list", input)


def _read_choice(value: Any, tools: tuple[Any, ...], attrs: Wire, preserved: Preserved) -> None:
    choice = read_choice(value)
    if choice is None:
        preserved.hold("tool_choice", value)
        return
    attrs["tool_choice"] = choice
    if same(plain_choice(choice, tools), value):
        return
    if has_unknown_keys(value):
        preserved.rest["tool_choice"] = value
        preserved.spelling.setdefault("part", []).append("tool_choice")
    else:
        preserved.keep_respelled("tool_choice", value)


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    out: Wire = {}
    if request.model is not None:
        out["model"] = request.model
    raw, options = request.raw, request.options
    if raw is not None:
        recorder.unwritten_raw(request, raw)
    own_raw = _own(raw)
    brought = _write_messages(request, out, recorder)
    if request.tools:
        left = [tool for tool in request.tools if id(tool) not in brought] if brought else None
        if tools := write_tools(request.tools if left is None else left, recorder):
            out["tools"] = tools
    if request.continues is not None:
        CONTINUES.write(request.continues, out, own_raw, recorder)
    if options is not NO_OPTIONS:
        write_options(options, out, own_raw, recorder)
        if options.tool_choice is not None:
            spelled = (
                own_spelling(raw).get("as", NOTHING).get("tool_choice", own_raw.get("tool_choice"))
            )
            choice = write_choice(options.tool_choice, request.tools, spelled, recorder)
            out["tool_choice"] = choice
        if options.raw is not None:
            recorder.unwritten_raw(options, options.raw)
            restore_own(out, options.raw)
    return restore_own(out, raw if own_raw is own(raw) else {NAME: own_raw})


def _own(raw: Raw | None) -> Wire:
    """The raw data of a request. The first versions stored a format's own members separately."""
    own_raw = own(raw)
    if "text_format" not in own_raw:
        return own_raw
    rest = {key: item for key, item in own_raw.items() if key != "text_format"}
    return {**rest, "text": {**rest.get("text", NOTHING), "format": own_raw["text_format"]}}


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
    spelling = own_spelling(request.raw)
    if spelling.get("input") == "string" and _is_one_string(messages, start):
        only: Any = messages[start].content[0] if len(messages) > start else None
        out["input"] = only.text if only is not None else ""
        return set()
    writer = ItemWriter(recorder)
    writer.tools = request.tools
    # references go where they stood: by their number while they are as many, else by id
    if request.continues is not None and request.continues.items:
        ids = request.continues.items
        writer.by_number = spelling.get("references") == len(ids)
        writer.references = dict(enumerate(ids)) if writer.by_number else {id: id for id in ids}
    for aside in spelling.get("asides", ()):
        writer.aside(aside, request.raw)
    rest = messages[start:] if start else messages
    if writer.items or writer.references:  # memory has neither
        for message in rest:
            writer.add(message)
    else:
        write_each(rest, writer.items, writer, recorder)
    if writer.references:
        _write_unplaced(request, writer, recorder)
    if writer.items:
        out["input"] = writer.items
    return writer.brought


def _is_instruction(message: Message) -> bool:
    """Whether a leading message can be written as `instructions`, and was not read from another
    place."""
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


def _write_unplaced(request: Request, writer: ItemWriter, recorder: LossRecorder) -> None:
    """References without a position follow the one before them, or come first; those whose
    position is gone are not written."""
    assert request.continues is not None
    if writer.by_number:
        for id in writer.references.values():
            recorder.lost(request.continues, "items", because("item_place_lost", id=id))
        return
    position = 0
    for id in request.continues.items:
        if id in writer.references:
            writer.items.insert(position, {"type": "item_reference", "id": id})
        else:
            written = writer.referred[id]
            position = next(n for n, item in enumerate(writer.items) if item is written)
        position += 1
