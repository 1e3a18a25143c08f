"""Requests, both ways."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, expect
from interlingua.dialects.openai_responses.content import is_plain
from interlingua.dialects.openai_responses.formats import Body
from interlingua.dialects.openai_responses.options import (
    READERS,
    finish,
    write_continues,
    write_options,
)
from interlingua.dialects.openai_responses.reading import ItemReader
from interlingua.dialects.openai_responses.spelling import (
    RESERVED,
    about,
    form,
    own,
    says_nothing,
)
from interlingua.dialects.openai_responses.tables import NAME, REQUEST
from interlingua.dialects.openai_responses.tools import (
    plain_choice,
    read_choice,
    read_tools,
    write_choice,
    write_tool,
)
from interlingua.dialects.openai_responses.writing import ItemWriter
from interlingua.errors import ReadError, found
from interlingua.model.base import same
from interlingua.model.blocks import TextBlock
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition

_APART = frozenset({"model", "input", "instructions", "tools", "tool_choice"})
_NO_OPTIONS = Request().options


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    try:
        return _read(wire)
    except ReadError as odd:
        raise about(odd, REQUEST) from None


def _read(wire: Any) -> Request:
    if type(wire) is not dict:
        raise ReadError(NAME, "$", "an object", found(wire))
    body = Body()
    spelled: Wire = {}
    for key, value in wire.items():
        if key in _APART:
            continue
        reader = READERS.get(key)
        if value is None or (reader is None and says_nothing(value)):
            spelled[key] = value
        elif reader is not None:
            reader(body, key, value)
        else:
            body.rest[key] = value
    finish(body, wire)
    items = ItemReader()
    _read_messages(wire, items, body, spelled)
    tools = _read_tools(wire, items, body, spelled)
    if wire.get("tool_choice") is not None:
        _read_tool_choice(wire["tool_choice"], tools, body)
    elif "tool_choice" in wire:
        spelled["tool_choice"] = None
    return _request(wire, items, tools, body, spelled)


def _request(
    wire: Wire, items: ItemReader, tools: tuple[ToolDefinition, ...], body: Body, spelled: Wire
) -> Request:
    model = wire.get("model")
    if model is None:
        if "model" in wire:
            spelled["model"] = None
    else:
        expect(model, str, NAME, "$.model")
    if items.lead[0]:
        body.form["asides"] = items.lead[0]
    if spelled:
        body.form["spelled"] = spelled
    mine: Wire = body.rest
    if items.lead[1]:
        mine = {**mine, "$asides": items.lead[1]}
    if items.references:
        body.continues["items"] = tuple(items.references)
        body.form["references"] = len(items.references)
    if body.form:
        mine = {**mine, "$form": body.form}
    return Request(
        tuple(items.messages),
        model,
        tools,
        Options(**body.options) if body.options else _NO_OPTIONS,
        Continues(**body.continues) if body.continues else None,
        {NAME: mine} if mine else None,
    )


def _read_messages(wire: Wire, items: ItemReader, body: Body, spelled: Wire) -> None:
    instructions = wire.get("instructions")
    if instructions:
        expect(instructions, str, NAME, "$.instructions")
        items.messages.append(Message(Role.SYSTEM, (TextBlock(instructions),)))
    elif "instructions" in wire:
        if instructions != "" and instructions is not None:
            raise ReadError(NAME, "$.instructions", "a string", found(instructions))
        spelled["instructions"] = instructions
    given = wire.get("input")
    if type(given) is list:
        items.read(given, "$.input")
        items.flush()
        if not given:
            spelled["input"] = []
    elif type(given) is str:
        body.form["input"] = "string"
        if given:
            items.messages.append(Message(Role.USER, (TextBlock(given),)))
    elif given is not None:
        raise ReadError(NAME, "$.input", "a string or a list", found(given))
    elif "input" in wire:
        spelled["input"] = None


def _read_tools(
    wire: Wire, items: ItemReader, body: Body, spelled: Wire
) -> tuple[ToolDefinition, ...]:
    given = wire.get("tools")
    tools: list[ToolDefinition] = []
    if given:
        expect(given, list, NAME, "$.tools")
        tools = read_tools(given, "$.tools")
    elif "tools" in wire:
        if not says_nothing(given) or given == {}:
            raise ReadError(NAME, "$.tools", "a list", found(given))
        spelled["tools"] = given
    return (*tools, *items.added)


def _read_tool_choice(wire: Any, tools: tuple[ToolDefinition, ...], body: Body) -> None:
    choice = read_choice(wire)
    if choice is None:
        body.rest["tool_choice"] = wire
        return
    body.options["tool_choice"] = choice
    if not same(plain_choice(choice, tools), wire):
        body.form["tool_choice"] = wire


# Writing -------------------------------------------------------------------------------------


def write_request(request: Request, scribe: Scribe) -> Wire:
    wire: Wire = {}
    if request.model is not None:
        wire["model"] = request.model
    raw = request.raw
    if raw is not None:
        scribe.unsaid_raw(request, raw)
    spelling = form(raw)
    rest = {key: value for key, value in own(raw).items() if key not in RESERVED}
    options = request.options
    for key, value in own(options.raw).items():
        rest.setdefault(key, value)
    brought = _write_messages(request, wire, spelling, scribe)
    if request.tools:
        _write_tools(request, wire, brought, scribe)
    if request.continues is not None:
        write_continues(request.continues, wire, spelling, scribe)
    if options is not _NO_OPTIONS or rest or spelling:
        write_options(options, wire, rest, spelling, scribe)
        if options.tool_choice is not None:
            spelled = spelling.get("tool_choice")
            wire["tool_choice"] = write_choice(options.tool_choice, request.tools, spelled, scribe)
    for kept in (rest, spelling.get("spelled") or {}):
        for key, value in kept.items():
            wire.setdefault(key, value)
    return wire


def _write_messages(request: Request, wire: Wire, spelling: Wire, scribe: Scribe) -> set[int]:
    """The answer is which tools were written among them, by identity."""
    messages = request.messages
    start = 0
    if messages and messages[0].role is Role.SYSTEM and _is_instruction(messages[0]):
        block: Any = messages[0].content[0]
        wire["instructions"] = block.text
        start = 1
        if messages[0].name is not None:
            scribe.lost(messages[0], "name")
        provider_raw = messages[0].metadata.provider_raw
        if provider_raw is not None:
            scribe.unsaid_raw(messages[0], provider_raw, "metadata.provider_raw")
    if spelling.get("input") == "string" and _is_one_string(messages, start):
        wire["input"] = messages[start].content[0].text if len(messages) > start else ""  # type: ignore[union-attr]  # plain is text
        return set()
    writer = ItemWriter(scribe)
    writer.tools = request.tools
    _give_references(request, writer, spelling)
    writer.asides(request.raw)
    for message in messages[start:] if start else messages:
        writer.message(message)
    _write_unplaced(request, writer, spelling, scribe)
    if writer.items:
        wire["input"] = writer.items
    return writer.brought


def _is_instruction(message: Message) -> bool:
    """Whether a leading message can be said as `instructions`, and did not stand elsewhere."""
    content = message.content
    mine = own(message.metadata.provider_raw)
    plain = len(content) == 1 and is_plain(content[0]) and bool(content[0].text)  # type: ignore[union-attr]  # plain is text
    return plain and not mine and message.changes is None


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


def _write_unplaced(request: Request, writer: ItemWriter, spelling: Wire, scribe: Scribe) -> None:
    """References that stood nowhere follow the one before them, or come first; those whose place
    is gone are not said."""
    if not writer.references:
        return
    assert request.continues is not None
    if writer.by_number:
        for id in writer.references.values():
            scribe.lost(request.continues, "items", f"the place of {id} in the history is gone")
        return
    place = 0
    for id in request.continues.items:
        if id in writer.references:
            writer.items.insert(place, {"type": "item_reference", "id": id})
        else:
            written = writer.referred[id]
            place = next(n for n, item in enumerate(writer.items) if item is written)
        place += 1


def _write_tools(request: Request, wire: Wire, brought: set[int], scribe: Scribe) -> None:
    tools: list[Wire] = []
    for tool in request.tools:
        if id(tool) not in brought:  # else it is written where it was brought
            written = write_tool(tool, scribe)
            if written is not None:
                tools.append(written)
    if tools:
        wire["tools"] = tools
