"""Results of the vendor's tools: as items of their own (text, a screenshot, what a shell wrote,
tools that were found), and inside the item of their call, which is read as two blocks and written
as one item; and generated images, which are read as what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.kernel.fields import Table, constant, plain
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import ERROR_MARK
from interlingua.dialects.openai_responses.tables import DEMANDED, IMAGE_FORMATS, NAME, OUTPUTS
from interlingua.dialects.openai_responses.text import (
    add,
    form,
    is_kept,
    is_plain,
    own,
    put_item_back,
    raw_of,
    read_source,
    spare,
    write_source,
    written,
)
from interlingua.model.blocks import (
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
)

Content = tuple[ResultBlock, ...]
MIXED = ("function_call_output", "custom_tool_call_output")
"""Outputs that are a text or parts, as in messages."""
_OPTIONAL = ("apply_patch_call_output", "mcp_approval_response")
"""Outputs that may do without their text."""
_TEXT = frozenset({"text"})
_WHERE = ("source", "media_type")
_STDOUT = Table(TextBlock, plain("stdout", "text", str), blank=True)
_PASSAGE = Table(TextBlock, plain("text", "text", str), blank=True)
_LOGS = Table(TextBlock, plain("logs", "text", str), constant("type", "logs"), blank=True)
_PICTURE = Table(ImageBlock, constant("type", "image"), silent=_WHERE, blank=True)
_SCREENSHOT = Table(ImageBlock, constant("type", "computer_screenshot"), silent=_WHERE, blank=True)


def _texts(given: Any, key: str, table: Table) -> Content | None:
    """The text of each object of a list, its other keys beside it; None where one has none."""
    if type(given) is not list or not all(
        type(wire) is dict and type(wire.get(key)) is str for wire in given
    ):
        return None
    return tuple([_read_text(wire, table) for wire in given])


def _read_text(wire: Wire, table: Table) -> TextBlock:
    kept = Kept()
    return TextBlock(**table.read(wire, kept), raw=kept.raw(NAME))


def _write_texts(block: ToolResultBlock, table: Table, recorder: LossRecorder) -> list[Wire]:
    found: list[Wire] = []
    for part in block.content:
        if type(part) is TextBlock:
            found.append(written(table, None, part, recorder))
        else:
            recorder.dropped(part)
    return found


def _read_image(wire: Wire, table: Table, *keys: str) -> ImageBlock | None:
    where = read_source(wire, *keys)
    if where is None:
        return None
    key, source, media_type = where
    kept = Kept()
    attrs = table.read(wire, kept)
    del kept.rest[key]
    return ImageBlock(source, media_type, **attrs, raw=kept.raw(NAME))


def _write_image(block: ImageBlock, table: Table, key: str, recorder: LossRecorder) -> Wire | None:
    where = write_source(block, recorder, key, key)
    return None if where is None else written(table, None, block, recorder, where)


def text_of(block: ToolResultBlock, recorder: LossRecorder) -> str:
    """The content as one text, where the wire has no more."""
    texts: list[str] = []
    for part in block.content:
        if type(part) is TextBlock:
            texts.append(part.text)
            if not is_plain(part):
                recorder.unwritten(part, _TEXT)
        else:
            recorder.dropped(part)
    if len(texts) > 1:
        recorder.lost(block, "content", "said as one text", kind="approximated")
    return "".join(texts)


def unmarked(text: str, spelling: Wire) -> tuple[str, bool]:
    """A text without the mark of a failed result, which is no loss where the wire had it."""
    if text.startswith(ERROR_MARK):
        spelling["mark"] = True
        return text[len(ERROR_MARK) :], True
    return text, False


def tell_marked(block: ToolResultBlock, recorder: LossRecorder) -> None:
    if "mark" not in form(block.raw):
        reason = "the wire has no flag for it; the text says it"
        recorder.lost(block, "is_error", reason, kind="downgraded", severity="info")


def _tell_error(block: ToolResultBlock, recorder: LossRecorder) -> None:
    if block.is_error:
        recorder.lost(block, "is_error")


# -- items of their own ---------------------------------------------------------------------------


def read_output(item: Wire, spelling: Wire, known: set[str]) -> tuple[Content, bool]:
    """The content, and whether the call failed; keys that they hold are added to `known`."""
    word = item["type"]
    if DEMANDED[word] not in item:
        spelling["absent"] = [DEMANDED[word]]
    if word == "tool_search_output":
        return (), False
    output = item.get("output")
    found: Content | None = None
    if word == "computer_call_output":
        shot = type(output) is dict and _read_image(output, _SCREENSHOT, "image_url", "file_id")
        found = (shot,) if shot else None
    elif word == "shell_call_output":
        found = _texts(output, "stdout", _STDOUT)
    else:
        return _read_one_text(item, spelling, known)
    if found is not None:
        known.add("output")
    return found or (), False


def _read_one_text(item: Wire, spelling: Wire, known: set[str]) -> tuple[Content, bool]:
    """Outputs that are one text, and how they say that the call failed."""
    word, is_error = item["type"], False
    key = OUTPUTS[word].content_key
    text = item.get(key)
    if type(text) is str and (text or word not in _OPTIONAL):
        known.add(key)
    else:
        text = ""
    if word == "apply_patch_call_output" and item.get("status") in ("completed", "failed"):
        is_error = item["status"] == "failed"
        known.add("status")
    elif word == "mcp_approval_response" and type(item.get("approve")) is bool:
        is_error = not item["approve"]
        known.add("approve")
    elif word == "local_shell_call_output":
        text, is_error = unmarked(text, spelling)
    return ((TextBlock(text),) if text else ()), is_error


def write_output(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    word = item["type"]
    if word == "computer_call_output":
        _write_screenshot(item, block, recorder)
    elif word == "shell_call_output":
        _write_chunks(item, block, recorder)
    elif word == "tool_search_output":
        _tell_error(block, recorder)
        for part in block.content:
            recorder.dropped(part)
        if not is_kept(block.raw, "tools"):
            item["tools"] = []
    else:
        _write_one_text(item, block, recorder)


def _write_one_text(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    text, word = text_of(block, recorder), item["type"]
    said = block.is_error or not is_kept(block.raw, DEMANDED[word])
    if word == "apply_patch_call_output":
        item |= {"status": "failed" if block.is_error else "completed"} if said else {}
    elif word == "mcp_approval_response":
        item |= {"approve": not block.is_error} if said else {}
    elif word != "local_shell_call_output":
        _tell_error(block, recorder)
    elif block.is_error:
        tell_marked(block, recorder)
        text = ERROR_MARK + text
    key = OUTPUTS[word].content_key
    if text or not (word in _OPTIONAL or is_kept(block.raw, key)):
        item[key] = text


def _write_screenshot(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    _tell_error(block, recorder)
    shot = None
    for part in block.content:
        if type(part) is ImageBlock and shot is None:
            shot = _write_image(part, _SCREENSHOT, "image_url", recorder)
        else:
            recorder.dropped(part)
    if shot is not None or not is_kept(block.raw, "output"):
        item["output"] = shot or {"type": "computer_screenshot"}


def _write_chunks(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    _tell_error(block, recorder)
    ended = {"type": "exit", "exit_code": 1 if block.is_error else 0}
    chunks = _write_texts(block, _STDOUT, recorder)
    for chunk in chunks:
        if chunk.keys() == {"stdout"}:
            chunk |= {"stderr": "", "outcome": ended}
    if chunks or not is_kept(block.raw, "output"):
        item["output"] = chunks


# -- inside the item of their call ----------------------------------------------------------------

_SAID = frozenset({"tool_use_id", "content", "is_error"})
_OWN_KEYS = frozenset({"$form", "error", "tools"})
"""Keys of a result's `raw` that its writer looks at."""

Found = tuple[ToolResultBlock, tuple[str, ...]]
"""A result that is yet to be given the id of its call, and the keys of the item it was in."""


def read_inside(item: Wire) -> Found | None:
    """The result that a call's item holds, if it holds one."""
    ways = _INSIDE.get(item["type"])
    return ways[0](item) if ways is not None else None


def write_inside(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    """Put a result into the item of its call."""
    recorder.unwritten(block, _SAID)
    _INSIDE[item["type"]][1](item, block, recorder)
    add(item, {key: each for key, each in own(block.raw).items() if key not in _OWN_KEYS})


def _read_file_search(item: Wire) -> Found | None:
    content = _texts(item.get("results"), "text", _PASSAGE)
    return None if content is None else (ToolResultBlock("", content), ("results",))


def _write_file_search(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    _tell_error(block, recorder)
    item["results"] = _write_texts(block, _PASSAGE, recorder)


def _read_code(item: Wire) -> Found | None:
    outputs = item.get("outputs")
    if type(outputs) is not list or not all(type(each) is dict for each in outputs):
        return None
    return ToolResultBlock("", tuple([_read_code_output(each) for each in outputs])), ("outputs",)


def _read_code_output(output: Wire) -> ResultBlock:
    kind = output.get("type")
    if kind == "logs" and type(output.get("logs")) is str:
        return _read_text(output, _LOGS)
    image = _read_image(output, _PICTURE, "url") if kind == "image" else None
    return UnknownBlock({NAME: output}) if image is None else image


def _write_code(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    _tell_error(block, recorder)
    outputs: list[Any] = []
    for part in block.content:
        out: Any = None
        if type(part) is UnknownBlock and NAME in part.raw:
            out = part.raw[NAME]
        elif type(part) is ImageBlock:
            out = _write_image(part, _PICTURE, "url", recorder)
        elif type(part) is TextBlock:
            out = written(_LOGS, None, part, recorder)
        else:
            recorder.dropped(part)
        outputs += [] if out is None else [out]
    item["outputs"] = outputs


def _read_mcp(item: Wire) -> Found | None:
    output, error = item.get("output"), item.get("error")
    if type(output) is not str:
        if error is None:
            return None
        raw = raw_of({"error": error}, {"inside": True, "output": False})
        return ToolResultBlock("", (), True, raw=raw), ("error",)
    content = (TextBlock(output),) if output else ()
    if error is None:
        return ToolResultBlock("", content), ("output",)
    raw = raw_of({"error": error}, {"inside": True})
    return ToolResultBlock("", content, True, raw=raw), ("output", "error")


def _write_mcp(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    text = text_of(block, recorder)
    if text or form(block.raw).get("output") is not False:
        item["output"] = text
    if block.is_error:
        usual = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}
        item["error"] = own(block.raw).get("error", usual)


def _read_mcp_tools(item: Wire) -> Found | None:
    tools, error = item.get("tools"), item.get("error")
    if type(tools) is not list:
        return None
    raw = raw_of({"tools": tools}, {"inside": True})
    if type(error) is str:
        content = (TextBlock(error),) if error else ()
        return ToolResultBlock("", content, True, raw=raw), ("tools", "error")
    return ToolResultBlock("", raw=raw), ("tools",)


def _write_mcp_tools(item: Wire, block: ToolResultBlock, recorder: LossRecorder) -> None:
    text = text_of(block, recorder)
    item["tools"] = own(block.raw).get("tools", [])
    if block.is_error:
        item["error"] = text
    elif text:
        recorder.lost(block, "content")


_INSIDE: dict[
    str,
    tuple[Callable[[Wire], Found | None], Callable[[Wire, ToolResultBlock, LossRecorder], None]],
] = {
    "file_search_call": (_read_file_search, _write_file_search),
    "code_interpreter_call": (_read_code, _write_code),
    "mcp_call": (_read_mcp, _write_mcp),
    "mcp_list_tools": (_read_mcp_tools, _write_mcp_tools),
}
HOLDS_RESULT = frozenset(_INSIDE)


# -- generated images -----------------------------------------------------------------------------


def read_generated(item: Wire) -> ImageBlock:
    """A generated image; the item's result is text."""
    known = {"type", "result"}
    word = item.get("output_format")
    media_type = IMAGE_FORMATS.read(word) if type(word) is str else None
    if media_type is not None:
        known.add("output_format")
    rest, spelled = spare(item, known, ("id", "status"))
    spelling: Wire = {"item": spelled}
    if gone := [key for key in ("id", "status") if key not in item]:
        spelling["gone"] = gone
    return ImageBlock(Source("base64", item["result"]), media_type, raw=raw_of(rest, spelling))


def write_generated(block: ImageBlock, recorder: LossRecorder) -> Wire | None:
    """An image that a model made."""
    if block.source.kind != "base64":
        recorder.dropped(block, "a generated image is sent with its data only")
        return None
    item: Wire = {"type": "image_generation_call", "result": block.source.data or ""}
    said = {"source"}
    word = IMAGE_FORMATS.write(block.media_type) if block.media_type is not None else None
    if word is not None:
        item["output_format"] = word
        said.add("media_type")
    recorder.unwritten(block, frozenset(said))
    return put_item_back(item, block.raw)
