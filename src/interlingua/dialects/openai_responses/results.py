"""Results as items of their own: of functions and custom tools, which are text or parts."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import ERROR_MARK, PLACEHOLDER, Scribe, Wire
from interlingua.dialects.openai_responses.content import is_plain, read_parts, write_part
from interlingua.dialects.openai_responses.media import breakpoint_of
from interlingua.dialects.openai_responses.outputs import (
    read_output,
    tell_marked,
    unmarked,
    write_output,
)
from interlingua.dialects.openai_responses.spelling import form, is_ours, put_back, raw_of, spare
from interlingua.dialects.openai_responses.tables import NAME, OUTPUTS, OutputKind
from interlingua.errors import ReadError, found
from interlingua.model.blocks import Cache, ResultBlock, TextBlock, ToolResultBlock, UnknownBlock

_MIXED = ("function_call_output", "custom_tool_call_output")
_ITEM_KEYS = ("id", "status", "execution")
_SAID = frozenset({"tool_use_id", "content", "is_error", "tool_name", "cache"})
_BREAKPOINT = "prompt_cache_breakpoint"


# Reading -------------------------------------------------------------------------------------


def read_result(item: Wire, word: str, id: str, spelling: Wire) -> ToolResultBlock:
    """A result that answers the call `id`; `spelling` is what is known of it already."""
    output = item.get("output")
    if (
        type(output) is str
        and len(item) == 3
        and word == "function_call_output"
        and not spelling
        and not output.startswith(ERROR_MARK)
    ):
        return ToolResultBlock(id, (TextBlock(output),) if output else ())
    kind = OUTPUTS[word]
    known = {"type"} if "key" in spelling else {"type", kind.id_key}
    content, is_error, cache = _read_content(item, word, kind, spelling, known)
    name = item.get("name") if word == "function_call_output" else None
    if type(name) is str:
        known.add("name")
        spelling["named"] = True
    else:
        name = None
    rest, spelled = spare(item, known)
    for key in (*_ITEM_KEYS, kind.id_key):
        if key in rest:
            spelled[key] = rest.pop(key)
    if rest.get(kind.content_key) == "":
        spelled[kind.content_key] = rest.pop(kind.content_key)
    if spelled:
        spelling["item"] = {**spelling.get("item", {}), **spelled}
    return ToolResultBlock(id, content, is_error, name, cache, raw_of(rest, spelling))


def _read_content(
    item: Wire, word: str, kind: OutputKind, spelling: Wire, known: set[str]
) -> tuple[tuple[ResultBlock, ...], bool, Cache | None]:
    value = item.get(kind.content_key)
    if word in _MIXED:
        known.add(kind.content_key)
        return _read_mixed(value, kind.content_key in item, spelling)
    return *read_output(item, word, kind, spelling, known), None


def _read_mixed(
    value: Any, there: bool, spelling: Wire
) -> tuple[tuple[ResultBlock, ...], bool, Cache | None]:
    """A string or a list of parts."""
    if type(value) is str:
        text, is_error = unmarked(value, spelling)
        return ((TextBlock(text),) if text else ()), is_error, None
    if value is None:
        spelling["output"] = "null" if there else "absent"
        return (), False, None
    if type(value) is not list:
        raise ReadError(NAME, "$.output", "a string or a list", found(value))
    blocks: list[Any] = read_parts(value, False, "$.output")
    cache, is_error = None, False
    if blocks and (cache := getattr(blocks[-1], "cache", None)) is not None:
        blocks[-1] = blocks[-1].replace(cache=None)
    if blocks and type(blocks[0]) is TextBlock:
        text, is_error = unmarked(blocks[0].text, spelling)
        if is_error:
            blocks[0:1] = [blocks[0].replace(text=text)] if text else []
    content = tuple(blocks)
    if _is_string(content, cache):
        spelling["list"] = True
    return content, is_error, cache


def _is_string(content: tuple[ResultBlock, ...], cache: Cache | None) -> bool:
    """Whether the plain spelling of a result is a string."""
    if cache is not None or len(content) > 1:
        return False
    return not content or (is_plain(content[0]) and bool(content[0].text))  # type: ignore[union-attr]  # plain is text


# Writing -------------------------------------------------------------------------------------


def write_result(
    block: ToolResultBlock, word: str, id: str, name: str | None, scribe: Scribe
) -> Wire:
    """`word` is the type of the item, `id` what it says about its call, `name` the name of the
    tool that was called, where the call is there to say it."""
    kind = OUTPUTS[word]
    is_named = block.tool_name is not None and block.tool_name != name
    if block.raw is None and word == "function_call_output" and not is_named and _is_quick(block):
        text = block.content[0].text if block.content else ""  # type: ignore[union-attr]  # plain is text
        return {"type": word, "call_id": id, "output": text}
    if not is_ours(block.raw):
        scribe.unsaid(block, _SAID)
    spelling = form(block.raw)
    item: Wire = {"type": word, kind.id_key: id}
    if spelling.get("key", "") is None:
        del item[kind.id_key]
    if is_named and word != "function_call_output":
        scribe.lost(block, "tool_name")
    elif is_named or (block.tool_name is not None and "named" in spelling):
        item["name"] = block.tool_name
    _write_content(item, block, word, kind, spelling, scribe)
    if block.cache is not None and word not in _MIXED:
        scribe.lost(block, "cache")
    return put_back(item, block.raw, "item")


def _is_quick(block: ToolResultBlock) -> bool:
    content = block.content
    return (
        not block.is_error
        and _is_string(content, block.cache)
        and not (content and content[0].text.startswith(ERROR_MARK))  # type: ignore[union-attr]  # plain is text
    )


def _write_content(
    item: Wire, block: ToolResultBlock, word: str, kind: OutputKind, spelling: Wire, scribe: Scribe
) -> None:
    if word in _MIXED:
        _write_mixed(item, block, spelling, scribe)
    else:
        write_output(item, block, word, kind, spelling, scribe)


def _write_mixed(item: Wire, block: ToolResultBlock, spelling: Wire, scribe: Scribe) -> None:
    content = block.content
    first = content[0] if content else None
    if block.is_error:
        tell_marked(block, spelling, scribe)
    elif type(first) is TextBlock and first.text.startswith(ERROR_MARK):
        reason = "its text begins like that of a failed result"
        scribe.lost(block, "is_error", reason, kind="approximated")
    if _is_string(content, block.cache) and "list" not in spelling:
        text = (ERROR_MARK if block.is_error else "") + (first.text if first else "")  # type: ignore[union-attr]  # plain is text
        if text or "output" not in spelling:
            item["output"] = text
        elif spelling["output"] == "null":
            item["output"] = None
        if block.cache is not None:
            scribe.lost(block, "cache", "nothing is there to carry it")
        return
    parts = _write_parts(block, scribe)
    if parts or not content:
        item["output"] = parts
    else:
        reason = "nothing of it can be said; a placeholder stands in its place"
        scribe.lost(block, "content", reason, kind="approximated")
        item["output"] = PLACEHOLDER


def _write_parts(block: ToolResultBlock, scribe: Scribe) -> list[Wire]:
    parts: list[Wire] = []
    last = None
    for each in block.content:
        part = write_part(each, scribe)
        if part is not None:
            parts.append(part)
            last = each
    carries = last is not None and type(last) is not UnknownBlock
    if carries and parts[-1].pop(_BREAKPOINT, None) is not None:
        scribe.lost(last, "cache", "a breakpoint after the last part is the result's")
    if block.is_error:
        if parts and parts[0].get("type") == "input_text" and parts[0]["text"]:
            parts[0]["text"] = ERROR_MARK + parts[0]["text"]
        else:
            parts.insert(0, {"type": "input_text", "text": ERROR_MARK})
    if block.cache is not None:
        if parts and (carries or last is None):
            parts[-1][_BREAKPOINT] = breakpoint_of(block, scribe)
        else:
            scribe.lost(block, "cache", "nothing is there to carry it")
    return parts
