"""What reading and writing a stream have in common: the names of its frames, how the pieces of a
block are told, and what a frame's mark keeps.

Most of a frame can be foretold from what came before it. A mark keeps the difference only: keys
that have another value, in `$form.without` those that the frame did not have, and in `$form.items`
what is different in single items of an output."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects.base import Wire, encode
from interlingua.dialects.openai_responses.spelling import form
from interlingua.model.base import same
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock
from interlingua.streams.frames import Frame

CREATED = "response.created"
ITEM_ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
PART_ADDED = "response.content_part.added"
PART_DONE = "response.content_part.done"
SUMMARY_ADDED = "response.reasoning_summary_part.added"
SUMMARY_DONE = "response.reasoning_summary_part.done"
ANNOTATION = "response.output_text.annotation.added"
COMPLETED = "response.completed"
INCOMPLETE = "response.incomplete"
FAILED = "response.failed"
ERROR = "error"

REPEATS = frozenset({"response.in_progress", "response.queued"})
"""Frames that say again how the response began."""
LAST = frozenset({COMPLETED, INCOMPLETE, FAILED})
"""The frames that end a stream."""
_ENDINGS = {"incomplete": INCOMPLETE, "cancelled": INCOMPLETE, "failed": FAILED}

_STAGES: dict[str, tuple[str, ...]] = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "code_interpreter_call": ("in_progress", "interpreting", "completed"),
    "image_generation_call": ("in_progress", "generating", "partial_image", "completed"),
    "mcp_call": ("in_progress", "completed", "failed"),
    "mcp_list_tools": ("in_progress", "completed", "failed"),
    "compaction": ("compacting",),
}
PROGRESS = frozenset(f"response.{name}.{stage}" for name in _STAGES for stage in _STAGES[name])
"""Frames that say how far a hosted tool is, and of which item."""

CONTENT, SUMMARY = "content_index", "summary_index"
"""The keys that number the parts of an item."""


class Piece(NamedTuple):
    """How a part is told in pieces: the frame of a piece, the frame of all, the key of all there,
    and the key of the part's number, where an item has several."""

    delta: str
    done: str
    whole: str
    key: str | None = None


def _piece(name: str, whole: str, key: str | None = None) -> Piece:
    return Piece(f"response.{name}.delta", f"response.{name}.done", whole, key)


TEXT = _piece("output_text", "text", CONTENT)
REFUSAL = _piece("refusal", "refusal", CONTENT)
THOUGHT = _piece("reasoning_text", "text", CONTENT)
SUMMARIZED = _piece("reasoning_summary_text", "text", SUMMARY)
ARGUMENTS = _piece("function_call_arguments", "arguments")
INPUT = _piece("custom_tool_call_input", "input")
MCP = _piece("mcp_call_arguments", "arguments")
CODE = _piece("code_interpreter_call_code", "code")

PIECES = (TEXT, REFUSAL, THOUGHT, SUMMARIZED, ARGUMENTS, INPUT, MCP, CODE)
BY_DELTA = {piece.delta: piece for piece in PIECES}
BY_DONE = {piece.done: piece for piece in PIECES}
CALL_PIECES = {
    "function_call": ARGUMENTS,
    "custom_tool_call": INPUT,
    "mcp_call": MCP,
    "code_interpreter_call": CODE,
}
"""How calls are told, by the type of the item."""
PART_PIECES = {
    "output_text": TEXT,
    "refusal": REFUSAL,
    "reasoning_text": THOUGHT,
    "summary_text": SUMMARIZED,
}
PART_TYPES = {piece: word for word, piece in PART_PIECES.items()}


def kind_of(wire: Wire) -> str:
    """The type of a frame or an item; empty where it has none."""
    kind = wire.get("type")
    return kind if type(kind) is str else ""


def ending_of(response: Wire) -> str:
    """The frame that says a whole response."""
    status = response.get("status")
    return _ENDINGS.get(status, COMPLETED) if type(status) is str else COMPLETED


def piece_of(block: Block) -> Piece | None:
    """How a part that begins like this goes on."""
    if type(block) is TextBlock:
        return TEXT
    if type(block) is RefusalBlock:
        return REFUSAL
    if type(block) is ThinkingBlock:
        return THOUGHT if form(block.raw).get("list") == "content" else SUMMARIZED
    return None


def difference(expected: Wire, found: Wire) -> Wire:
    """What has to be changed of an object to get the other."""
    rest: Wire = {}
    spelling: Wire = {}
    for key, value in found.items():
        if key not in expected:
            rest[key] = value
        elif type(value) is dict and type(expected[key]) is dict:
            inner = difference(expected[key], value)
            if inner:
                rest[key] = inner
        elif not same(expected[key], value):
            items = _items(expected[key], value) if key == "output" else None
            if items is None:
                rest[key] = value
            else:
                spelling["items"] = items
    without = [key for key in expected if key not in found]
    if without:
        spelling["without"] = without
    if spelling:
        rest["$form"] = spelling
    return rest


def _items(expected: Any, found: Any) -> Wire | None:
    """What has to be changed of the items of an output, by their place; None if not that alone."""
    if type(expected) is not list or type(found) is not list or len(expected) != len(found):
        return None
    rest: Wire = {}
    for place, (before, item) in enumerate(zip(expected, found, strict=True)):
        if type(before) is dict and type(item) is dict:
            inner = difference(before, item)
            if inner:
                rest[str(place)] = inner
        elif not same(before, item):
            return None
    return rest


def changed(expected: Wire, rest: Wire) -> Wire:
    """The other object again."""
    spelling = rest.get("$form") or {}
    without = spelling.get("without") or ()
    wire = {key: value for key, value in expected.items() if key not in without}
    for key, value in rest.items():
        if key[:1] == "$" and key in _MARKS:
            continue
        if type(value) is dict and type(wire.get(key)) is dict:
            value = changed(wire[key], value)
        wire[key] = value
    items, output = spelling.get("items"), wire.get("output")
    if items and type(output) is list:
        wire["output"] = [
            changed(item, items[str(place)]) if str(place) in items else item
            for place, item in enumerate(output)
        ]
    return wire


_MARKS = frozenset({"$form", "$event", "$after", "$data"})


def spell(wire: Wire, name: Any = None) -> Frame:
    """A frame of this data."""
    name = wire.get("type") if name is None else name
    return Frame(name if type(name) is str else None, encode(wire).decode())
