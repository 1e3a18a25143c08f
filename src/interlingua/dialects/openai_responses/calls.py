"""Calls: functions, custom tools, and the tools that the vendor defines.

A call's id is the one that its result names (`call_id`); the item's own id is spelling. Calls of
the vendor's tools keep the type of their item as `call_type`."""

from __future__ import annotations

from typing import Any

from interlingua.arguments import recover, same, to_text
from interlingua.dialects.base import Scribe, Wire, encode, expect
from interlingua.dialects.openai_responses.spelling import form, put_back, raw_of, spare
from interlingua.dialects.openai_responses.tables import CALLS, NAME, CallKind
from interlingua.errors import ReadError, found
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.blocks import Executor, ToolUseBlock

_FUNCTION = frozenset({"type", "call_id", "name", "arguments", "id", "status"})
_MCP = frozenset({"type", "name", "arguments", "id", "status"})
_CUSTOM = frozenset({"type", "call_id", "name", "input", "id", "status"})
_SAID = frozenset({"id", "name", "input", "raw_arguments", "executor", "call_type"})
_SAID_SIGNED = _SAID | {"signature"}
_ITEM_KEYS = ("id", "status", "execution")
"""Keys of items that are spelling, not content."""


# Reading -------------------------------------------------------------------------------------


def read_function(item: Wire, seed: object) -> tuple[ToolUseBlock, str]:
    """The call, and how its arguments were recovered."""
    name = expect(item.get("name"), str, NAME, "$.name")
    text = item.get("arguments")
    if type(text) is not str:
        return _read_odd_function(item, name, seed)
    given, mode = recover(text)
    written = _unless_plain(text, given, mode)
    id = item.get("call_id")
    if len(item) == 4 and type(id) is str and id:
        return ToolUseBlock(id, name, given, written), mode
    spelling: Wire = {}
    id = _read_id(item, "call_id", name, seed, spelling)
    return ToolUseBlock(id, name, given, written, raw=_raw(item, _FUNCTION, spelling)), mode


def _unless_plain(text: str, given: Wire, mode: str) -> str | None:
    """The text of arguments, unless we would write the same."""
    return None if mode == "strict" and encode(given).decode() == text else text


def _read_odd_function(item: Wire, name: str, seed: object) -> tuple[ToolUseBlock, str]:
    """Arguments as an object, or none at all."""
    given = item.get("arguments")
    spelling: Wire = {"arguments": "object"}
    if given is None:
        spelling["arguments"] = "null" if "arguments" in item else "absent"
        given = {}
    elif type(given) is not dict:
        raise ReadError(NAME, "$.arguments", "a string", found(given))
    id = _read_id(item, "call_id", name, seed, spelling)
    return ToolUseBlock(id, name, given, raw=_raw(item, _FUNCTION, spelling)), "strict"


def read_custom(item: Wire, seed: object) -> ToolUseBlock:
    name = expect(item.get("name"), str, NAME, "$.name")
    text = expect(item.get("input"), str, NAME, "$.input")
    spelling: Wire = {}
    id = _read_id(item, "call_id", name, seed, spelling)
    raw = _raw(item, _CUSTOM, spelling)
    return ToolUseBlock(id, name, {"input": text}, call_type="custom", raw=raw)


def read_mcp(item: Wire, seed: object, consumed: tuple[str, ...]) -> tuple[ToolUseBlock, str]:
    name = expect(item.get("name"), str, NAME, "$.name")
    text = expect(item.get("arguments"), str, NAME, "$.arguments")
    given, mode = recover(text)
    written = _unless_plain(text, given, mode)
    spelling: Wire = {}
    id = _read_id(item, "id", name, seed, spelling)
    raw = _raw(item, (*_MCP, *consumed), spelling, "id")
    return ToolUseBlock(id, name, given, written, None, "provider", "mcp_call", raw=raw), mode


def read_vendor(item: Wire, word: str, seed: object, consumed: tuple[str, ...]) -> ToolUseBlock:
    """A call of a tool that the vendor defines."""
    kind = CALLS[word]
    spelling: Wire = {}
    known = ["type", "id", kind.id_key, *_ITEM_KEYS, *consumed]
    given: Any = None
    if kind.inside is not None:
        given = item.get(kind.inside)
        if type(given) is dict:
            known.append(kind.inside)
        else:
            given = {}
            spelling["bare"] = True
    else:
        given = {key: item[key] for key in kind.keys if key in item}
        known += kind.keys
    signature = item.get("fingerprint") if word == "program" else None
    if type(signature) is str:
        known.append("fingerprint")
    else:
        signature = None
    id = _read_id(item, kind.id_key, kind.name, seed, spelling)
    raw = _raw(item, known, spelling, kind.id_key)
    return ToolUseBlock(
        id, kind.name, given, None, signature, executor_of(item, word, kind), word, raw=raw
    )


def executor_of(item: Wire, word: str, kind: CallKind) -> Executor:
    if word == "tool_search_call":
        return "client" if item.get("execution") == "client" else "provider"
    if word == "shell_call":
        where = item.get("environment")
        if type(where) is dict and str(where.get("type")).startswith("container"):
            return "provider"
    return kind.executor


def _read_id(item: Wire, key: str, name: str, seed: object, spelling: Wire) -> str:
    """The id that results name; the item's own where there is none, else one that is made up."""
    id = item.get(key)
    if type(id) is str and id:
        return id
    if id is not None and type(id) is not str:
        raise ReadError(NAME, f"$.{key}", "a string", found(id))
    other = item.get("id")
    if type(other) is str and other:
        spelling["key"] = "id"
        return other
    spelling["key"] = None
    return synthetic_tool_id(seed, name)


def _raw(item: Wire, known: Any, spelling: Wire, id_key: str = "call_id") -> Wire | None:
    rest, spelled = spare(item, known)
    for key in _ITEM_KEYS:
        if key in item and spelling.get("key", id_key) != key:
            spelled[key] = item[key]
    if "key" in spelling and "call_id" in item:
        spelled["call_id"] = item["call_id"]
    if spelled:
        spelling["item"] = spelled
    return raw_of(rest, spelling)


# Writing -------------------------------------------------------------------------------------


def write_call(block: ToolUseBlock, scribe: Scribe) -> Wire | None:
    """None for calls that another provider ran; the report says so."""
    word = block.call_type
    if word is None and block.executor == "client":
        return _write_function(block, scribe)
    if word == "custom":
        return _write_custom(block, scribe)
    if word == "mcp_call":
        return _write_mcp(block, scribe)
    if word in CALLS:
        return _write_vendor(block, word, CALLS[word], scribe)
    if block.executor == "client":
        scribe.lost(block, "call_type")
        return _write_function(block, scribe)
    scribe.dropped(block, "tools that a provider runs do not cross vendors")
    return None


def _write_function(block: ToolUseBlock, scribe: Scribe) -> Wire:
    item: Wire = {"type": "function_call"}
    if block.raw is None and block.signature is None and block.cache is None:
        item["call_id"] = block.id
        item["name"] = block.name
        item["arguments"] = write_arguments(block)
        return item
    scribe.unsaid(block, _SAID)
    spelling = form(block.raw)
    _write_id(item, block, "call_id", spelling)
    item["name"] = block.name
    spelled = spelling.get("arguments")
    if spelled == "object":
        item["arguments"] = block.input
    elif spelled is None or block.input:
        item["arguments"] = write_arguments(block)
    elif spelled == "null":
        item["arguments"] = None
    return put_back(item, block.raw, "item")


def write_arguments(block: ToolUseBlock) -> str:
    """The provider's own text, while reading it again gives the input."""
    text = block.raw_arguments
    if text is not None and same(recover(text).input, block.input):
        return text
    return to_text(block.input)


def _write_custom(block: ToolUseBlock, scribe: Scribe) -> Wire:
    item: Wire = {"type": "custom_tool_call"}
    if block.raw is not None or block.signature is not None or block.cache is not None:
        scribe.unsaid(block, _SAID)
    _write_id(item, block, "call_id", form(block.raw))
    item["name"] = block.name
    text = block.input.get("input")
    if len(block.input) != 1 or type(text) is not str:
        scribe.lost(block, "input", "free text is all that a custom tool takes", "approximated")
        text = to_text(block.input)
    if block.executor != "client":
        scribe.lost(block, "executor")
    item["input"] = text
    return put_back(item, block.raw, "item")


def _write_mcp(block: ToolUseBlock, scribe: Scribe) -> Wire:
    item: Wire = {"type": "mcp_call"}
    scribe.unsaid(block, _SAID)
    _write_id(item, block, "id", form(block.raw))
    item["name"] = block.name
    item["arguments"] = write_arguments(block)
    if block.executor != "provider":
        scribe.lost(block, "executor")
    return put_back(item, block.raw, "item")


def _write_vendor(block: ToolUseBlock, word: str, kind: CallKind, scribe: Scribe) -> Wire:
    item: Wire = {"type": word}
    spelling = form(block.raw)
    scribe.unsaid(block, _SAID_SIGNED if word == "program" else _SAID)
    _write_id(item, block, kind.id_key, spelling)
    _write_input(item, block, kind, scribe, "bare" in spelling)
    if word == "program" and block.signature is not None:
        item["fingerprint"] = block.signature
    if block.name != kind.name:
        scribe.lost(block, "name")
    put_back(item, block.raw, "item")
    if executor_of(item, word, kind) != block.executor and word == "tool_search_call":
        item["execution"] = "client" if block.executor == "client" else "server"
    if executor_of(item, word, kind) != block.executor:
        scribe.lost(block, "executor")
    return item


def _write_input(
    item: Wire, block: ToolUseBlock, kind: CallKind, scribe: Scribe, bare: bool
) -> None:
    if kind.inside is not None:
        if block.input or not bare:
            item[kind.inside] = block.input
        return
    for key, value in block.input.items():
        if key in kind.keys:
            item[key] = value
        else:
            scribe.lost(block, f"input.{key}")


def _write_id(item: Wire, block: ToolUseBlock, key: str, spelling: Wire) -> None:
    where = spelling.get("key", key)
    if where is not None:
        item[where] = block.id
    elif not is_synthetic_tool_id(block.id):
        item[key] = block.id
