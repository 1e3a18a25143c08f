"""Tools that the service itself ran: Groq's `executed_tools`, OpenRouter's `server_tool_call`.

One wire item is a call and its result, two blocks of the same assistant message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.calls import read_arguments, write_arguments
from interlingua.dialects.openai_chat.shape import Note, form_in, maybe, mine_of, put_back, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import ShapeError
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock


class Keys(NamedTuple):
    """Where a kind of item has its parts; `place` is what `$form.in` says of its blocks."""

    place: str
    type: str | None
    name: str
    id: str | None
    result: str


EXECUTED = Keys("executed_tools", None, "type", None, "output")
SERVER_CALL = Keys("thinking", "reasoning.server_tool_call", "tool_name", "tool_call_id", "result")


def read_hosted(
    item: Any, ordinal: int, keys: Keys, t: Tables, origin: int | str | None
) -> list[Block]:
    """The call and the result of one item."""
    if type(item) is not dict:
        raise ShapeError("", "an object", item)
    note, taken = Note(), {keys.name, "index"}
    if keys.type is not None:
        taken.add("type")
    name = want(item.get(keys.name), str, f".{keys.name}")
    id = maybe(item, keys.id, str) if keys.id else None
    if id:
        taken.add(keys.id or "")
    else:
        note.form["no_id"] = True
        id = synthetic_tool_id(origin, keys.place, ordinal, name)
    fields = _read_given(item, note, taken)
    output = item.get(keys.result)
    if type(output) is str and output:
        taken.add(keys.result)
    read_index(item, ordinal, note)
    note.form["in"] = keys.place
    note.leave(item, taken, ("arguments", "id", "format", keys.result, keys.id or "id"))
    content = (TextBlock(output),) if type(output) is str and output else ()
    return [
        ToolUseBlock(id, name, executor="provider", raw=note.raw(t.name), **fields),
        ToolResultBlock(id, content, raw={t.name: {"$form": {"in": keys.place}}}),
    ]


def _read_given(item: Wire, note: Note, taken: set[str]) -> dict[str, Any]:
    given = item.get("arguments")
    if type(given) is dict:
        taken.add("arguments")
        note.form["arguments"] = "object"
        return {"input": given}
    if type(given) is not str:
        note.form["no_input"] = True
        return {"input": {}}
    taken.add("arguments")
    input, text, _ = read_arguments(given)
    return {"input": input, "raw_arguments": text}


def read_index(item: Wire, ordinal: int, note: Note) -> None:
    """An item's number is spelling; most often it is its place in the list."""
    if "index" in item:
        index = item["index"]
        note.form["index"] = True if type(index) is int and index == ordinal else index


def write_index(item: Wire, ordinal: int, form: Wire) -> None:
    if "index" in form:
        item["index"] = ordinal if form["index"] is True else form["index"]


def is_hosted(block: Block, t: Tables) -> str | None:
    """Where a provider's call or result stood, if this dialect read it."""
    place: str | None = form_in(mine_of(t.name, block.raw)).get("in")
    return place


def write_hosted(
    call: ToolUseBlock,
    result: ToolResultBlock | None,
    ordinal: int,
    keys: Keys,
    t: Tables,
    scribe: Scribe,
) -> Wire:
    mine = mine_of(t.name, call.raw)
    form = form_in(mine)
    item: Wire = {keys.name: call.name}
    if keys.type is not None:
        item["type"] = keys.type
    if form.get("arguments") == "object":
        item["arguments"] = call.input
    elif call.input or not form.get("no_input"):
        item["arguments"] = write_arguments(call)
    if keys.id and not (form.get("no_id") and is_synthetic_tool_id(call.id)):
        item[keys.id] = call.id
    write_index(item, ordinal, form)
    scribe.unsaid(call, _SAID_CALL)
    if result is not None:
        _write_output(item, result, keys, scribe)
    return put_back(item, mine)


def _write_output(item: Wire, result: ToolResultBlock, keys: Keys, scribe: Scribe) -> None:
    texts = [block for block in result.content if isinstance(block, TextBlock)]
    if texts:
        item[keys.result] = "".join([block.text for block in texts])
    for block in result.content:
        if not isinstance(block, TextBlock):
            scribe.dropped(block)
    for block in texts[1:]:
        scribe.lost(block, None, "joined with the text before it", "approximated", "info")
    scribe.unsaid(result, _SAID_RESULT)


def pairs(
    blocks: Sequence[Block], scribe: Scribe
) -> list[tuple[ToolUseBlock, ToolResultBlock | None]]:
    """Each call with its result; a result without a call is dropped."""
    results = {b.tool_use_id: b for b in blocks if isinstance(b, ToolResultBlock)}
    calls = [block for block in blocks if isinstance(block, ToolUseBlock)]
    found = [(call, results.pop(call.id, None)) for call in calls]
    for stray in results.values():
        scribe.dropped(stray, "its call is not there")
    return found


_SAID_CALL = frozenset({"id", "name", "input", "raw_arguments", "executor"})
_SAID_RESULT = frozenset({"tool_use_id", "content"})
