"""Items that hold a call of a hosted tool and its result: read as two blocks, written as one item;
and generated images, which are read as what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_responses.media import source_of_url, write_source
from interlingua.dialects.openai_responses.outputs import kept_text, tell_error, text_of
from interlingua.dialects.openai_responses.spelling import (
    form,
    own,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import IMAGE_FORMATS, NAME
from interlingua.model.blocks import (
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
)

_SAID = frozenset({"tool_use_id", "content", "is_error"})
_OWN_KEYS = frozenset({"$form", "error", "tools"})
"""Keys of a result's `raw` that its writer looks at."""

Found = tuple[ToolResultBlock, tuple[str, ...]]
"""A result that is yet to be given the id of its call, and the keys of the item it was in."""


# Reading -------------------------------------------------------------------------------------


def read_inside(item: Wire, word: str) -> Found | None:
    """The result that a call's item holds, if it holds one."""
    reader = _READERS.get(word)
    return reader(item) if reader is not None else None


def _read_file_search(item: Wire) -> Found | None:
    results = item.get("results")
    if type(results) is not list or not all(
        type(each) is dict and type(each.get("text")) is str for each in results
    ):
        return None
    content = tuple([kept_text(each, "text") for each in results])
    return ToolResultBlock("", content), ("results",)


def _read_code(item: Wire) -> Found | None:
    outputs = item.get("outputs")
    if type(outputs) is not list or not all(type(each) is dict for each in outputs):
        return None
    return ToolResultBlock("", tuple([_read_code_output(each) for each in outputs])), ("outputs",)


def _read_code_output(output: Wire) -> ResultBlock:
    if output.get("type") == "logs" and type(output.get("logs")) is str:
        rest, spelled = spare(output, ("type", "logs"))
        return TextBlock(output["logs"], raw=_part_raw(rest, spelled))
    if output.get("type") == "image" and type(output.get("url")) is str:
        rest, spelled = spare(output, ("type", "url"))
        source, media_type = source_of_url(output["url"])
        return ImageBlock(source, media_type, raw=_part_raw(rest, spelled))
    return UnknownBlock({NAME: output})


def _read_mcp(item: Wire) -> Found | None:
    output, error = item.get("output"), item.get("error")
    if type(output) is not str and error is None:
        return None
    keys: tuple[str, ...] = ()
    content: tuple[ResultBlock, ...] = ()
    spelling: Wire = {"inside": True}
    if type(output) is str:
        content = (TextBlock(output),) if output else ()
        keys = ("output",)
    else:
        spelling["output"] = False
    if error is None:
        return ToolResultBlock("", content), keys
    raw = raw_of({"error": error}, spelling)
    return ToolResultBlock("", content, True, raw=raw), (*keys, "error")


def _read_mcp_tools(item: Wire) -> Found | None:
    tools, error = item.get("tools"), item.get("error")
    if type(tools) is not list:
        return None
    raw = raw_of({"tools": tools}, {"inside": True})
    if type(error) is str:
        content = (TextBlock(error),) if error else ()
        return ToolResultBlock("", content, True, raw=raw), ("tools", "error")
    return ToolResultBlock("", raw=raw), ("tools",)


_READERS: dict[str, Callable[[Wire], Found | None]] = {
    "file_search_call": _read_file_search,
    "code_interpreter_call": _read_code,
    "mcp_call": _read_mcp,
    "mcp_list_tools": _read_mcp_tools,
}


def _part_raw(rest: Wire, spelled: Wire) -> Wire | None:
    return raw_of(rest, {"spelled": spelled} if spelled else None)


def read_generated(item: Wire) -> ImageBlock:
    """A generated image; the item's result is text."""
    media_type = None
    known: set[str] = {"type", "result"}
    word = item.get("output_format")
    if type(word) is str and (media_type := IMAGE_FORMATS.read(word)) is not None:
        known.add("output_format")
    rest, spelled = spare(item, known)
    for key in ("id", "status"):
        if key in rest:
            spelled[key] = rest.pop(key)
    spelling: Wire = {"item": spelled}
    if gone := [key for key in ("id", "status") if key not in item]:
        spelling["gone"] = gone
    raw = raw_of(rest, spelling)
    return ImageBlock(Source("base64", item["result"]), media_type, raw=raw)


# Writing -------------------------------------------------------------------------------------


def write_inside(item: Wire, word: str, block: ToolResultBlock, scribe: Scribe) -> None:
    """Put a result into the item of its call."""
    scribe.unsaid(block, _SAID)
    _WRITERS[word](item, block, scribe)
    for key, value in own(block.raw).items():
        if key not in _OWN_KEYS:
            item.setdefault(key, value)


def _write_file_search(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    tell_error(block, scribe)
    item["results"] = _each_text(block, "text", {}, scribe)


def _write_code(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    tell_error(block, scribe)
    outputs: list[Any] = []
    for part in block.content:
        if type(part) is UnknownBlock and NAME in part.raw:
            outputs.append(part.raw[NAME])
        elif type(part) is ImageBlock:
            where = write_source(part, scribe, "url", "url", "image/png")
            if where is not None:
                said = {"source", "media_type"} if part.source.kind == "base64" else {"source"}
                scribe.unsaid(part, frozenset(said))
                outputs.append(put_back({"type": "image", **where}, part.raw))
        elif type(part) is TextBlock:
            scribe.unsaid(part, frozenset({"text"}))
            outputs.append(put_back({"type": "logs", "logs": part.text}, part.raw))
        else:
            scribe.dropped(part)
    item["outputs"] = outputs


def _write_mcp(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    text = text_of(block, scribe)
    if text or form(block.raw).get("output") is not False:
        item["output"] = text
    if block.is_error:
        plain = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
        item["error"] = own(block.raw).get("error", plain)


def _write_mcp_tools(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    text = text_of(block, scribe)
    item["tools"] = own(block.raw).get("tools", [])
    if block.is_error:
        item["error"] = text
    elif text:
        scribe.lost(block, "content")


_WRITERS: dict[str, Callable[[Wire, ToolResultBlock, Scribe], None]] = {
    "file_search_call": _write_file_search,
    "code_interpreter_call": _write_code,
    "mcp_call": _write_mcp,
    "mcp_list_tools": _write_mcp_tools,
}
HOLDS_RESULT = frozenset(_WRITERS)


def _each_text(block: ToolResultBlock, key: str, more: Wire, scribe: Scribe) -> list[Wire]:
    found: list[Wire] = []
    for part in block.content:
        if type(part) is TextBlock:
            scribe.unsaid(part, frozenset({"text"}))
            found.append(put_back({key: part.text, **more}, part.raw))
        else:
            scribe.dropped(part)
    return found


def write_generated(block: ImageBlock, scribe: Scribe) -> Wire | None:
    """An image that a model made."""
    if block.source.kind != "base64":
        scribe.dropped(block, "a generated image is sent with its data only")
        return None
    item: Wire = {"type": "image_generation_call", "result": block.source.data or ""}
    said = {"source"}
    if block.media_type is not None:
        word = IMAGE_FORMATS.write(block.media_type)
        if word is not None:
            item["output_format"] = word
            said.add("media_type")
    scribe.unsaid(block, frozenset(said))
    return put_back(item, block.raw, "item")
