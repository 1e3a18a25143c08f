"""Calls of functions and custom tools, and their results; and calls of the tools that the vendor
defines, whose results are in `hosted.py`.

A call's id is the one that its result names (`call_id`); the item's own id is spelling. Calls of
the vendor's tools keep the type of their item as `call_type`. Under which key an id stood, and
whether arguments were a text, no block can tell (`$form.key`, `$form.arguments`)."""

from __future__ import annotations

from typing import Any

from interlingua.arguments import recover, same, to_text
from interlingua.dialects.kernel.errors import ShapeError, take
from interlingua.dialects.kernel.kept import NOTHING
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.dialects.kernel.words import ERROR_MARK, PLACEHOLDER
from interlingua.dialects.openai_responses.hosted import (
    MIXED,
    read_output,
    tell_marked,
    unmarked,
    write_output,
)
from interlingua.dialects.openai_responses.tables import CALLS, OUTPUTS, CallKind
from interlingua.dialects.openai_responses.text import (
    BREAKPOINT,
    form,
    is_string,
    put_item_back,
    raw_of,
    read_parts,
    spare,
    write_cache,
    write_part,
)
from interlingua.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Cache,
    Executor,
    ResultBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)

_SAID = frozenset({"id", "name", "input", "raw_arguments", "executor", "call_type"})
_ITEM_KEYS = ("id", "status", "execution")
"""Keys of items that are spelling, not content."""

# -- calls ----------------------------------------------------------------------------------------


def read_function(item: Wire, seed: object) -> tuple[ToolUseBlock, str]:
    """The call, and how its arguments were recovered."""
    name, text, id = item.get("name"), item.get("arguments"), item.get("call_id")
    if len(item) == 4 and type(name) is str and type(text) is str and type(id) is str and id:
        given, mode = recover(text)
        return ToolUseBlock(id, name, given, _unless_plain(text, given, mode)), mode
    return read_named(item, seed)


def _unless_plain(text: str, given: Wire, mode: str) -> str | None:
    """The text of arguments, unless we would write the same."""
    return None if mode == "strict" and encode(given).decode() == text else text


def read_named(
    item: Wire, seed: object, consumed: tuple[str, ...] = ()
) -> tuple[ToolUseBlock, str]:
    """A call of a function, or of one that an MCP server has; `consumed` are keys of its result."""
    is_mcp = item["type"] == "mcp_call"
    name = take(item, "name", str)
    spelling: Wire = {}
    given, written, mode = _read_arguments(item, spelling)
    id = _read_id(item, "id" if is_mcp else "call_id", name, seed, spelling)
    raw = _raw(item, {"name", "arguments", *consumed}, spelling, "id" if is_mcp else "call_id")
    block = ToolUseBlock(id, name, given, written, raw=raw)
    if is_mcp:
        block = block.replace(executor="provider", call_type="mcp_call")
    return block, mode


def _read_arguments(item: Wire, spelling: Wire) -> tuple[Wire, str | None, str]:
    """Some hosts have an object in place of a text, or nothing."""
    given = item.get("arguments")
    if type(given) is str:
        found, mode = recover(given)
        return found, _unless_plain(given, found, mode), mode
    if type(given) is dict:
        spelling["arguments"] = "object"
    elif given is None:
        spelling["arguments"] = "null" if "arguments" in item else "absent"
    else:
        raise ShapeError(".arguments", "a string", given)
    return given or {}, None, "strict"


def read_custom(item: Wire, seed: object) -> ToolUseBlock:
    name, text = take(item, "name", str), take(item, "input", str)
    spelling: Wire = {}
    id = _read_id(item, "call_id", name, seed, spelling)
    raw = _raw(item, {"name", "input"}, spelling, "call_id")
    return ToolUseBlock(id, name, {"input": text}, call_type="custom", raw=raw)


def read_vendor(item: Wire, seed: object, consumed: tuple[str, ...]) -> ToolUseBlock:
    """A call of a tool that the vendor defines."""
    word: str = item["type"]
    kind = CALLS[word]
    spelling: Wire = {}
    known = {*consumed, *kind.keys}
    given: Any = {key: item[key] for key in kind.keys if key in item}
    if kind.inside is not None:
        given = item.get(kind.inside)
        if type(given) is dict:
            known.add(kind.inside)
        else:
            given = {}
            spelling["bare"] = True
    signature = item.get("fingerprint") if word == "program" else None
    if type(signature) is str:
        known.add("fingerprint")
    else:
        signature = None
    id = _read_id(item, kind.id_key, kind.name, seed, spelling)
    raw = _raw(item, known, spelling, kind.id_key)
    executor = _executor(item, word, kind)
    return ToolUseBlock(id, kind.name, given, None, signature, executor, word, raw=raw)


def _executor(item: Wire, word: str, kind: CallKind) -> Executor:
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
        raise ShapeError(f".{key}", "a string", id)
    other = item.get("id")
    if type(other) is str and other:
        spelling["key"] = "id"
        return other
    spelling["key"] = None
    return synthetic_tool_id(seed, name)


def _raw(item: Wire, known: set[str], spelling: Wire, id_key: str) -> Raw | None:
    nothing = (*_ITEM_KEYS, "call_id") if "key" in spelling else _ITEM_KEYS
    rest, spelled = spare(item, known | {"type", spelling.get("key", id_key)}, nothing)
    if spelled:
        spelling["item"] = spelled
    return raw_of(rest, spelling)


def write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    """None for calls that another provider ran; the report says so."""
    word = block.call_type
    if word is None and block.executor == "client":
        if block.raw is None and block.signature is None and block.cache is None:
            head = {"type": "function_call", "call_id": block.id, "name": block.name}
            return {**head, "arguments": write_arguments(block)}
        return _write_named(block, "function_call", recorder)
    if word == "custom":
        return _write_custom(block, recorder)
    if word == "mcp_call":
        return _write_named(block, word, recorder)
    if word in CALLS:
        return _write_vendor(block, word, CALLS[word], recorder)
    if block.executor == "client":
        recorder.lost(block, "call_type")
        return _write_named(block, "function_call", recorder)
    recorder.dropped(block, "tools that a provider runs do not cross vendors")
    return None


def _write_named(block: ToolUseBlock, word: str, recorder: LossRecorder) -> Wire:
    recorder.unwritten(block, _SAID)
    spelling = form(block.raw)
    item: Wire = {"type": word}
    _write_id(item, block, "id" if word == "mcp_call" else "call_id", spelling)
    item["name"] = block.name
    spelled = spelling.get("arguments")
    if spelled == "object":
        item["arguments"] = block.input
    elif spelled is None or block.input:
        item["arguments"] = write_arguments(block)
    elif spelled == "null":
        item["arguments"] = None
    if word == "mcp_call" and block.executor != "provider":
        recorder.lost(block, "executor")
    return put_item_back(item, block.raw)


def write_arguments(block: ToolUseBlock) -> str:
    """The provider's own text, while reading it again gives the input."""
    text = block.raw_arguments
    if text is not None and same(recover(text).input, block.input):
        return text
    return to_text(block.input)


def _write_custom(block: ToolUseBlock, recorder: LossRecorder) -> Wire:
    recorder.unwritten(block, _SAID)
    item: Wire = {"type": "custom_tool_call"}
    _write_id(item, block, "call_id", form(block.raw))
    item["name"] = block.name
    text = block.input.get("input")
    if len(block.input) != 1 or type(text) is not str:
        recorder.lost(block, "input", "free text is all that a custom tool takes", "approximated")
        text = to_text(block.input)
    if block.executor != "client":
        recorder.lost(block, "executor")
    item["input"] = text
    return put_item_back(item, block.raw)


def _write_vendor(block: ToolUseBlock, word: str, kind: CallKind, recorder: LossRecorder) -> Wire:
    item: Wire = {"type": word}
    spelling = form(block.raw)
    recorder.unwritten(block, _SAID | {"signature"} if word == "program" else _SAID)
    _write_id(item, block, kind.id_key, spelling)
    if kind.inside is None:
        for key, value in block.input.items():
            if key in kind.keys:
                item[key] = value
            else:
                recorder.lost(block, f"input.{key}")
    elif block.input or "bare" not in spelling:
        item[kind.inside] = block.input
    if word == "program" and block.signature is not None:
        item["fingerprint"] = block.signature
    if block.name != kind.name:
        recorder.lost(block, "name")
    put_item_back(item, block.raw)
    if word == "tool_search_call" and _executor(item, word, kind) != block.executor:
        item["execution"] = "client" if block.executor == "client" else "server"
    if _executor(item, word, kind) != block.executor:
        recorder.lost(block, "executor")
    return item


def _write_id(item: Wire, block: ToolUseBlock, key: str, spelling: Wire) -> None:
    where = spelling.get("key", key)
    if where is not None:
        item[where] = block.id
    elif not is_synthetic_tool_id(block.id):
        item[key] = block.id


# -- results --------------------------------------------------------------------------------------

_RESULT_SAID = frozenset({"tool_use_id", "content", "is_error", "tool_name", "cache"})


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
    kind = OUTPUTS[word]
    known = {"type"} if "key" in spelling else {"type", kind.id_key}
    cache = None
    if word in MIXED:
        known.add("output")
        content, is_error, cache = _read_mixed(item, spelling)
    else:
        content, is_error = read_output(item, spelling, known)
    name = item.get("name") if word == "function_call_output" else None
    if type(name) is str:
        known.add("name")
        spelling["named"] = True
    else:
        name = None
    nothing = {*_ITEM_KEYS, kind.id_key}
    if item.get(kind.content_key) == "":
        nothing.add(kind.content_key)
    rest, spelled = spare(item, known, nothing)
    if spelled:
        spelling["item"] = {**spelling.get("item", NOTHING), **spelled}
    return ToolResultBlock(id, content, is_error, name, cache, raw_of(rest, spelling))


def _read_mixed(item: Wire, spelling: Wire) -> tuple[tuple[ResultBlock, ...], bool, Cache | None]:
    """A string or a list of parts, whose last breakpoint is the result's. That one text was a list,
    or that there was nothing, no block can tell (`$form.list`, `$form.output`)."""
    value = item.get("output")
    if type(value) is str:
        text, is_error = unmarked(value, spelling)
        return ((TextBlock(text),) if text else ()), is_error, None
    if value is None:
        spelling["output"] = "null" if "output" in item else "absent"
        return (), False, None
    if type(value) is not list:
        raise ShapeError(".output", "a string or a list", value)
    blocks: list[Any] = read_parts(value, False, ".output")
    cache, is_error = None, False
    if blocks and (cache := getattr(blocks[-1], "cache", None)) is not None:
        blocks[-1] = blocks[-1].replace(cache=None)
    if blocks and type(blocks[0]) is TextBlock:
        text, is_error = unmarked(blocks[0].text, spelling)
        if is_error:
            blocks[0:1] = [blocks[0].replace(text=text)] if text else []
    content = tuple(blocks)
    if cache is None and is_string(content):
        spelling["list"] = True
    return content, is_error, cache


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
    recorder.unwritten(block, _RESULT_SAID)
    spelling, kind = form(block.raw), OUTPUTS[word]
    item: Wire = {"type": word}
    if spelling.get("key", "") is not None:
        item[kind.id_key] = id
    is_named = block.tool_name is not None and block.tool_name != name
    if is_named and word != "function_call_output":
        recorder.lost(block, "tool_name")
    elif is_named or (block.tool_name is not None and "named" in spelling):
        item["name"] = block.tool_name
    if word in MIXED:
        _write_mixed(item, block, spelling, recorder)
    else:
        write_output(item, block, recorder)
        if block.cache is not None:
            recorder.lost(block, "cache")
    return put_item_back(item, block.raw)


def _write_mixed(
    item: Wire, block: ToolResultBlock, spelling: Wire, recorder: LossRecorder
) -> None:
    content: tuple[Any, ...] = block.content
    if block.is_error:
        tell_marked(block, recorder)
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
    if not parts and content:
        reason = "nothing of it can be said; a placeholder stands in its place"
        recorder.lost(block, "content", reason, kind="approximated")
    item["output"] = parts if parts or not content else PLACEHOLDER


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
