"""Outputs of the vendor's tools: text, a screenshot, what a shell wrote, tools that were found."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import ERROR_MARK, Scribe, Wire
from interlingua.dialects.openai_responses.content import is_plain
from interlingua.dialects.openai_responses.media import source_of_url, write_source
from interlingua.dialects.openai_responses.spelling import is_kept, own, put_back, raw_of, spare
from interlingua.dialects.openai_responses.tables import FILE_PROVIDER, OutputKind
from interlingua.model.blocks import (
    ImageBlock,
    ResultBlock,
    Source,
    TextBlock,
    ToolResultBlock,
)

_OPTIONAL = ("apply_patch_call_output", "mcp_approval_response")
"""Outputs that may do without their text."""
_DEMANDED = {
    "computer_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "status",
    "mcp_approval_response": "approve",
    "tool_search_output": "tools",
    "program_output": "result",
}
"""The key that each output has to have."""
_TEXT = frozenset({"text"})
_SCREENSHOT = "computer_screenshot"


# Reading -------------------------------------------------------------------------------------


def read_output(
    item: Wire, word: str, kind: OutputKind, spelling: Wire, known: set[str]
) -> tuple[tuple[ResultBlock, ...], bool]:
    """The content, and whether the call failed; keys that they hold are added to `known`."""
    if _DEMANDED[word] not in item:
        spelling["absent"] = [_DEMANDED[word]]
    if word == "computer_call_output":
        return _read_screenshot(item.get("output"), known), False
    if word == "shell_call_output":
        return _read_chunks(item.get("output"), known), False
    if word == "tool_search_output":
        return (), False
    return _read_text(item, word, kind, spelling, known)


def unmarked(text: str, spelling: Wire) -> tuple[str, bool]:
    if text.startswith(ERROR_MARK):
        spelling["mark"] = True
        return text[len(ERROR_MARK) :], True
    return text, False


def _read_text(
    item: Wire, word: str, kind: OutputKind, spelling: Wire, known: set[str]
) -> tuple[tuple[ResultBlock, ...], bool]:
    """Outputs that are one text, and how they say that the call failed."""
    text = item.get(kind.content_key)
    is_error = False
    if type(text) is str and (text or word not in _OPTIONAL):
        known.add(kind.content_key)
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


def _read_screenshot(value: Any, known: set[str]) -> tuple[ResultBlock, ...]:
    if type(value) is not dict:
        return ()
    key = next((key for key in ("image_url", "file_id") if type(value.get(key)) is str), None)
    if key is None:
        return ()
    known.add("output")
    if key == "image_url":
        source, media_type = source_of_url(value[key])
    else:
        source, media_type = Source("file_id", value[key], provider=FILE_PROVIDER), None
    rest, spelled = spare(value, (key,))
    spelling: Wire = {}
    if rest.get("type") == _SCREENSHOT:
        del rest["type"]
    elif "type" not in value:
        spelling["absent"] = ["type"]
    if spelled:
        spelling["spelled"] = spelled
    return (ImageBlock(source, media_type, raw=raw_of(rest, spelling)),)


def _read_chunks(value: Any, known: set[str]) -> tuple[ResultBlock, ...]:
    """What a shell wrote: the output of each command is a text, the rest beside it."""
    if type(value) is not list or not all(
        type(chunk) is dict and type(chunk.get("stdout")) is str for chunk in value
    ):
        return ()
    known.add("output")
    return tuple([kept_text(chunk, "stdout") for chunk in value])


def kept_text(wire: Wire, key: str) -> TextBlock:
    """The text of an object, with its other keys beside it."""
    rest, spelled = spare(wire, (key,))
    return TextBlock(wire[key], raw=raw_of(rest, {"spelled": spelled} if spelled else {}))


# Writing -------------------------------------------------------------------------------------


def write_output(
    item: Wire, block: ToolResultBlock, word: str, kind: OutputKind, spelling: Wire, scribe: Scribe
) -> None:
    if word == "computer_call_output":
        _write_screenshot(item, block, scribe)
    elif word == "shell_call_output":
        _write_chunks(item, block, scribe)
    elif word == "tool_search_output":
        for part in block.content:
            scribe.dropped(part)
        if not is_kept(block.raw, "tools"):
            item["tools"] = []
        tell_error(block, scribe)
    else:
        _write_text(item, block, word, kind, spelling, scribe)


def tell_error(block: ToolResultBlock, scribe: Scribe) -> None:
    if block.is_error:
        scribe.lost(block, "is_error")


def tell_marked(block: ToolResultBlock, spelling: Wire, scribe: Scribe) -> None:
    if "mark" not in spelling:
        reason = "the wire has no flag for it; the text says it"
        scribe.lost(block, "is_error", reason, kind="downgraded", severity="info")


def _write_text(
    item: Wire, block: ToolResultBlock, word: str, kind: OutputKind, spelling: Wire, scribe: Scribe
) -> None:
    text = text_of(block, scribe)
    if word == "apply_patch_call_output":
        if block.is_error or not is_kept(block.raw, "status"):
            item["status"] = "failed" if block.is_error else "completed"
    elif word == "mcp_approval_response":
        if block.is_error or not is_kept(block.raw, "approve"):
            item["approve"] = not block.is_error
    elif word == "local_shell_call_output":
        if block.is_error:
            tell_marked(block, spelling, scribe)
            text = ERROR_MARK + text
    else:
        tell_error(block, scribe)
    if text or not (word in _OPTIONAL or is_kept(block.raw, kind.content_key)):
        item[kind.content_key] = text


def text_of(block: ToolResultBlock, scribe: Scribe) -> str:
    """The content as one text, where the wire has no more."""
    texts: list[str] = []
    for part in block.content:
        if type(part) is TextBlock:
            texts.append(part.text)
            if not is_plain(part):
                scribe.unsaid(part, _TEXT)
        else:
            scribe.dropped(part)
    if len(texts) > 1:
        scribe.lost(block, "content", "said as one text", kind="approximated")
    return "".join(texts)


def _write_screenshot(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    tell_error(block, scribe)
    done = False
    for part in block.content:
        if type(part) is ImageBlock and not done:
            where = write_source(part, scribe, "image_url", "image_url", "image/png")
            if where is not None:
                item["output"] = put_back({**where}, part.raw)
                if not is_kept(part.raw, "type"):
                    item["output"]["type"] = _SCREENSHOT
                done = True
                said = {"source", "media_type"} if part.source.kind == "base64" else {"source"}
                scribe.unsaid(part, frozenset(said))
        else:
            scribe.dropped(part)
    if not done and not is_kept(block.raw, "output"):
        item["output"] = {"type": _SCREENSHOT}


def _write_chunks(item: Wire, block: ToolResultBlock, scribe: Scribe) -> None:
    tell_error(block, scribe)
    chunks: list[Wire] = []
    for part in block.content:
        if type(part) is not TextBlock:
            scribe.dropped(part)
            continue
        scribe.unsaid(part, _TEXT)
        chunk = put_back({"stdout": part.text}, part.raw)
        if not own(part.raw):
            code = 1 if block.is_error else 0
            chunk |= {"stderr": "", "outcome": {"type": "exit", "exit_code": code}}
        chunks.append(chunk)
    if chunks or not is_kept(block.raw, "output"):
        item["output"] = chunks
