"""Calls of functions and custom tools, and their results; and calls of the tools that the vendor
defines, whose results are in `hosted.py`.

A call's id is the one that its result names (`call_id`); the item's own id is spelling. Calls of
the vendor's tools keep the type of their item as `call_type`. Under which key an id stood, and
whether arguments were a text, no block can tell (`$form.key`, `$form.arguments`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from interlingua.dialects.kernel.calls import read_arguments, write_arguments
from interlingua.dialects.kernel.errors import ShapeError, require_key
from interlingua.dialects.kernel.fields import Attrs
from interlingua.dialects.kernel.preserved import NOTHING, Preserved
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK, placeholder, unmarked
from interlingua.dialects.openai_responses import tables
from interlingua.dialects.openai_responses.hosted import MIXED, RESULTS, report_error_mark
from interlingua.dialects.openai_responses.tables import CALLS, FUNCTION, ITEM_KEYS, NAME, CallKind
from interlingua.dialects.openai_responses.text import (
    BREAKPOINT,
    is_string,
    item_raw,
    own,
    own_spelling,
    put_item_back,
    read_parts,
    write_cache,
    write_part,
)
from interlingua.model.arguments import to_text
from interlingua.model.blocks import (
    Executor,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import is_synthetic_tool_id, synthetic_tool_id

_WRITTEN = frozenset({"id", "name", "input", "raw_arguments", "executor", "call_type"})
_SEALED = frozenset({*_WRITTEN, "signature"})

# -- calls ----------------------------------------------------------------------------------------


def read_call(item: Wire, seed: object, consumed: tuple[str, ...] = ()) -> tuple[ToolUseBlock, str]:
    """The call, and how its arguments were recovered; `consumed` are keys of its result."""
    word: str = item["type"]
    kind = CALLS[word]
    spelling: Wire = {}
    name, id = kind.name or require_key(item, "name", str), item.get(kind.id_key)
    if kind.text:
        input, text, mode = _read_arguments(item, spelling)
        if len(item) == 4 and word == FUNCTION and type(id) is str and id and not spelling:
            return ToolUseBlock(id, name, input, text), mode
    else:
        input, text, mode = _read_input(item, kind, spelling), None, "strict"
    if type(id) is not str or not id:
        id = _other_id(item, kind.id_key, name, seed, spelling)
    known: Collection[Any] = _KNOWN[word]
    if spelling or consumed:
        gone = [kind.inside] if "bare" in spelling else []
        gone += [kind.id_key] if "key" in spelling else []
        known = {*known, *consumed, spelling.get("key")}.difference(gone)
    signature = item.get("fingerprint") if word == "program" else None
    if type(signature) is str:
        known = {*known, "fingerprint"}
    else:
        signature = None
    raw = item_raw(item, known, spelling, _NOTHING if "key" in spelling else ITEM_KEYS)
    executor, call_type = _executor(item, word, kind), tables.CALL_TYPES.read(word)
    return ToolUseBlock(id, name, input, text, signature, executor, call_type, raw=raw), mode


_NOTHING = (*ITEM_KEYS, "call_id")
_KNOWN = {
    word: frozenset({"type", None if kind.name else "name", kind.id_key, kind.inside, *kind.keys})
    for word, kind in CALLS.items()
}
"""The keys of an item that a block has."""


def _read_input(item: Wire, kind: CallKind, spelling: Wire) -> Wire:
    if kind.inside is None:
        if kind.name is None:
            require_key(item, "input", str)
        return {key: item[key] for key in kind.keys if key in item}
    input = item.get(kind.inside)
    if type(input) is dict:
        return input
    spelling["bare"] = True
    return {}


def _read_arguments(item: Wire, spelling: Wire) -> tuple[Wire, str | None, str]:
    """Some hosts have an object in place of a text, or nothing."""
    value = item.get("arguments")
    if type(value) is str:
        return read_arguments(value)
    if type(value) is dict:
        spelling["arguments"] = "object"
    elif value is None:
        spelling["arguments"] = "null" if "arguments" in item else "absent"
    else:
        raise ShapeError(".arguments", "a string", value)
    return value or {}, None, "strict"


def _executor(item: Wire, word: str, kind: CallKind) -> Executor:
    if word == "tool_search_call":
        return "client" if item.get("execution") == "client" else "provider"
    if word == "shell_call":
        where = item.get("environment")
        if type(where) is dict and str(where.get("type")).startswith("container"):
            return "provider"
    return kind.executor


def _other_id(item: Wire, key: str, name: str, seed: object, spelling: Wire) -> str:
    """Where there is no id that results name, the item's own, else one that is made up."""
    id, other = item.get(key), item.get("id")
    if id is not None and type(id) is not str:
        raise ShapeError(f".{key}", "a string", id)
    if type(other) is str and other:
        spelling["key"] = "id"
        return other
    spelling["key"] = None
    return synthetic_tool_id(seed, name)


def write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    """None for calls that another provider ran; the report says so."""
    word = tables.CALL_TYPES.write(block.call_type) if block.call_type is not None else None
    if word is None:
        if block.executor != "client":
            recorder.dropped(block, "tools that a provider runs do not cross vendors")
            return None
        if block.call_type is not None:
            recorder.lost(block, "call_type")
        elif block.raw is None and block.signature is None and block.cache is None:
            head = {"type": FUNCTION, "call_id": block.id, "name": block.name}
            return {**head, "arguments": write_arguments(block)}
    return _write_call(block, word or FUNCTION, recorder)


def _write_call(block: ToolUseBlock, word: str, recorder: LossRecorder) -> Wire:
    kind, spelling = CALLS[word], own_spelling(block.raw)
    recorder.unwritten(block, _SEALED if word == "program" else _WRITTEN)
    item: Wire = {"type": word}
    where = spelling.get("key", kind.id_key)
    if where is not None or not is_synthetic_tool_id(block.id):
        item[where or kind.id_key] = block.id
    if kind.name is None:
        item["name"] = block.name
    elif block.name != kind.name:
        recorder.lost(block, "name")
    _write_input(item, block, kind, recorder)
    if word == "program" and block.signature is not None:
        item["fingerprint"] = block.signature
    put_item_back(item, block.raw)
    if _executor(item, word, kind) != block.executor:
        if word == "tool_search_call":
            item["execution"] = "client" if block.executor == "client" else "server"
        else:
            recorder.lost(block, "executor")
    return item


def _write_input(item: Wire, block: ToolUseBlock, kind: CallKind, recorder: LossRecorder) -> None:
    input, spelling = block.input, own_spelling(block.raw)
    if kind.text:
        spelled = spelling.get("arguments")
        if spelled == "object":
            item["arguments"] = input
        elif spelled is None or input:
            item["arguments"] = write_arguments(block)
        elif spelled == "null":
            item["arguments"] = None
    elif kind.inside is not None:
        if input or "bare" not in spelling:
            item[kind.inside] = input
    elif kind.name is None and (len(input) != 1 or type(input.get("input")) is not str):
        recorder.lost(block, "input", "free text is all that a custom tool takes", "approximated")
        item["input"] = to_text(input)
    else:
        for key, value in input.items():
            if key in kind.keys:
                item[key] = value
            else:
                recorder.lost(block, f"input.{key}")


# -- results --------------------------------------------------------------------------------------


def read_result(item: Wire, id: str, spelling: Wire) -> ToolResultBlock:
    """A result that answers the call `id`; `spelling` is what is known of it already."""
    output = item.get("output")
    if (
        type(output) is str
        and len(item) == 3
        and item["type"] == "function_call_output"
        and "call_id" in item
        and not spelling
        and not output.startswith(ERROR_MARK)
    ):
        return ToolResultBlock(id, (TextBlock(output),) if output else ())
    return _read_result(item, id, spelling)


def _read_result(item: Wire, id: str, spelling: Wire) -> ToolResultBlock:
    word: str = item["type"]
    preserved, id_key = Preserved(spelling=spelling), tables.OUTPUTS[word].id_key
    table = RESULTS[word]
    attrs = table.read(item, preserved)
    beside = {key: item[key] for key in ITEM_KEYS if key in item and key not in table.keys}
    if "key" not in spelling:
        beside.pop(id_key, None)
    elif id_key in item:
        beside[id_key] = item[id_key]
    if beside:
        spelling["item"] = {**spelling.get("item", NOTHING), **beside}
    if word in MIXED:
        attrs = _read_mixed(item, spelling)
    elif attrs.get("is_error") and word == "local_shell_call_output":
        spelling["mark"] = True
    name = item.get("name")
    if word == MIXED[0] and "name" in item:
        if type(name) is str:
            attrs["tool_name"] = name
            spelling["named"] = True
        else:
            preserved.add("name", name)
    return ToolResultBlock(id, **attrs, raw=preserved.raw(NAME))


def _read_mixed(item: Wire, spelling: Wire) -> Attrs:
    """A string or a list of parts, whose last breakpoint is the result's. That one text was a list,
    or that there was nothing, no block can tell (`$form.list`, `$form.output`)."""
    value = item.get("output")
    if value is None:
        spelling["output"] = "null" if "output" in item else "absent"
        return {}
    if type(value) is not list:
        if type(value) is not str:
            raise ShapeError(".output", "a string or a list", value)
        text, failed = unmarked(value)
        spelling |= {"mark": True} if failed else {}
        return {"content": (TextBlock(text),) if text else (), "is_error": failed}
    blocks: list[Any] = read_parts(value, False, ".output")
    cache, failed = None, False
    if blocks and (cache := getattr(blocks[-1], "cache", None)) is not None:
        blocks[-1] = blocks[-1].replace(cache=None)
    if blocks and type(blocks[0]) is TextBlock:
        text, failed = unmarked(blocks[0].text)
        if failed:
            spelling["mark"] = True
            blocks[0:1] = [blocks[0].replace(text=text)] if text else []
    content = tuple(blocks)
    if cache is None and is_string(content):
        spelling["list"] = True
    return {"content": content, "is_error": failed, "cache": cache}


def write_result(
    block: ToolResultBlock, word: str, id: str, name: str | None, recorder: LossRecorder
) -> Wire:
    """`word` is the type of the item, `id` what it says about its call, `name` the name of the
    tool that was called, where the call is there to say it."""
    content: tuple[Any, ...] = block.content
    if (
        block.raw is None
        and word == "function_call_output"
        and (block.tool_name is None or block.tool_name == name)
        and not block.is_error
        and block.cache is None
        and is_string(content)
        and not (content and content[0].text.startswith(ERROR_MARK))
    ):
        return {"type": word, "call_id": id, "output": content[0].text if content else ""}
    return _write_result(block, word, id, name, recorder)


def _write_result(
    block: ToolResultBlock, word: str, id: str, name: str | None, recorder: LossRecorder
) -> Wire:
    spelling, tool = own_spelling(block.raw), block.tool_name
    item: Wire = {"type": word}
    if spelling.get("key", "") is not None:
        item[tables.OUTPUTS[word].id_key] = id
    if word == MIXED[0]:
        if tool is not None and (tool != name or "named" in spelling):
            item["name"] = tool
    elif tool is not None and tool != name:
        recorder.lost(block, "tool_name")
    RESULTS[word].write(block, item, own(block.raw), recorder)
    if word in MIXED:
        _write_mixed(item, block, spelling, recorder)
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    return put_item_back(item, block.raw)


def _write_mixed(
    item: Wire, block: ToolResultBlock, spelling: Wire, recorder: LossRecorder
) -> None:
    content: tuple[Any, ...] = block.content
    if block.is_error:
        report_error_mark(block, recorder)
    elif content and type(content[0]) is TextBlock and content[0].text.startswith(ERROR_MARK):
        reason = "its text begins like that of a failed result"
        recorder.lost(block, "is_error", reason, kind="approximated")
    if block.cache is None and is_string(content) and "list" not in spelling:
        text = (ERROR_MARK if block.is_error else "") + (content[0].text if content else "")
        if text or "output" not in spelling:
            item["output"] = text
        elif spelling["output"] == "null":
            item["output"] = None
        return
    parts = _write_parts(block, recorder)
    item["output"] = parts if parts or not content else placeholder(block, recorder)


def _write_parts(block: ToolResultBlock, recorder: LossRecorder) -> list[Wire]:
    parts: list[Wire] = []
    last = None
    for each in block.content:
        part = write_part(each, recorder)
        if part is not None:
            parts.append(part)
            last = each
    carries = last is not None and type(last) is not UnknownBlock
    if carries and parts[-1].pop(BREAKPOINT, None) is not None:
        recorder.lost(last, "cache", "a breakpoint after the last part is the result's")
    if block.is_error:
        if parts and parts[0].get("type") == "input_text" and parts[0]["text"]:
            parts[0]["text"] = ERROR_MARK + parts[0]["text"]
        else:
            parts.insert(0, {"type": "input_text", "text": ERROR_MARK})
    if block.cache is not None:
        if parts and (carries or last is None):
            parts[-1][BREAKPOINT] = write_cache(block, recorder)
        else:
            recorder.lost(block, "cache", "nothing is there to carry it")
    return parts
