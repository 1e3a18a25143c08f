"""Tool calls and their results."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua import arguments
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock import media
from interlingua.dialects.bedrock.parts import (
    Reader,
    Writer,
    beside,
    finish,
    read_part,
    write_unknown,
)
from interlingua.dialects.bedrock.shape import form_of, put_back, spare
from interlingua.dialects.bedrock.tables import EMPTY_ERROR, NAME
from interlingua.dialects.bedrock.text import read_text
from interlingua.dialects.shape import ShapeError, each, take, tell_recovered, want
from interlingua.model.base import same
from interlingua.model.blocks import (
    DocumentBlock,
    Executor,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)

# -- calls ----------------------------------------------------------------------------------------

_TOOL_USE = frozenset({"toolUseId", "name", "input", "type"})


def read_tool_use(inner: Any) -> ToolUseBlock:
    want(inner, dict)
    id, name = take(inner, "toolUseId", str), take(inner, "name", str)
    given = inner.get("input")
    if type(given) is dict and len(inner) == 3:
        return ToolUseBlock(id, name, given)
    if "input" not in inner:
        raise ShapeError(".input", "an object", None)
    form: Wire = {}
    if type(given) is not dict:
        form["input"] = given
        given = _input_of(given)
    kind = inner.get("type")
    if "type" in inner and kind != "server_tool_use":
        form["type"] = kind
    executor: Executor = "provider" if kind == "server_tool_use" else "client"
    return ToolUseBlock(id, name, given, executor=executor, raw=spare(inner, _TOOL_USE, {}, form))


def _input_of(given: Any) -> Wire:
    """What input that is no object comes to."""
    return arguments.recover(given).input if type(given) is str else {}


def write_tool_use(block: ToolUseBlock, scribe: Scribe, answer: bool) -> Wire:
    out: Wire = {"toolUseId": block.id, "name": block.name, "input": block.input}
    executor: str = block.executor
    if executor == "provider":
        out["type"] = "server_tool_use"
    elif executor != "client":
        scribe.lost(block, "executor")
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no call here")
    if block.call_type is not None:
        scribe.lost(block, "call_type", "an object with the text", kind="downgraded")
    if block.raw_arguments is not None:
        tell_recovered(block, scribe)
    if block.raw is None:
        return {"toolUse": out}
    form = form_of(block.raw)
    if "input" in form and same(_input_of(form["input"]), block.input):
        out["input"] = form["input"]
    if "type" in form and executor == "client":
        out["type"] = form["type"]
    return finish("toolUse", out, block, scribe)


# -- results --------------------------------------------------------------------------------------

_TOOL_RESULT = frozenset({"toolUseId", "content", "status"})


def read_tool_result(inner: Any) -> ToolResultBlock:
    want(inner, dict)
    id = take(inner, "toolUseId", str)
    content: Any = _read_plain(inner.get("content"))
    if content is None:
        content = tuple(each(inner.get("content"), ".content", _read_inside))
    status = inner.get("status")
    failed = status == "error"
    if len(inner) == 2 + failed and (content or not failed):
        return ToolResultBlock(id, content, failed)
    form: Wire = {}
    if "status" in inner and not failed:
        form["status"] = status
    if failed and not content:
        form["odd"] = True
    return ToolResultBlock(id, content, failed, raw=spare(inner, _TOOL_RESULT, {}, form))


def _read_plain(parts: Any) -> tuple[TextBlock] | None:
    """The hot path: one text."""
    if type(parts) is list and len(parts) == 1:
        part = parts[0]
        if type(part) is dict and len(part) == 1:
            text = part.get("text")
            if type(text) is str and text:
                return (TextBlock(text),)
    return None


def _read_inside(part: Any) -> Any:
    return read_part(part, _READERS)


def _read_json(value: Any) -> TextBlock:
    return TextBlock(msgspec.json.encode(value).decode(), raw={NAME: {"$form": {"json": True}}})


def _json_of(text: str) -> Wire | None:
    """The part for a text that was read from a `json` part, as long as it still says one."""
    try:
        value = msgspec.json.decode(text)
        if msgspec.json.encode(value).decode() == text:
            return {"json": value}
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return None


def write_tool_result(block: ToolResultBlock, scribe: Scribe, answer: bool) -> Wire:
    content: list[Wire] = []
    for inner in block.content:
        if type(inner) is TextBlock and inner.text and _is_plain(inner):
            content.append({"text": inner.text})
        elif (part := _write_inside(inner, scribe)) is not None:
            content.append(part)
    out: Wire = {"toolUseId": block.tool_use_id, "content": content}
    if block.is_error:
        out["status"] = "error"
        if not content and not form_of(block.raw).get("odd"):
            content.append({"text": EMPTY_ERROR})
    if block.raw is None:
        return {"toolResult": out}
    form = form_of(block.raw)
    if "status" in form and not block.is_error:
        out["status"] = form["status"]
    return finish("toolResult", out, block, scribe)


def _is_plain(block: TextBlock) -> bool:
    more = block.raw or block.cache or block.citations or block.signature or block.phase
    return not more


def _write_inside(block: Any, scribe: Scribe) -> Wire | None:
    if type(block) is TextBlock:
        part = _write_text(block, scribe)
    else:
        part = _WRITERS.get(type(block), _drop)(block, scribe, False)
    if part is not None and block.cache is not None:
        scribe.lost(block, "cache", "no breakpoint may stand in a result")
    return part


def _write_text(block: TextBlock, scribe: Scribe) -> Wire | None:
    form = form_of(block.raw)
    if not block.text and not form.get("odd"):
        scribe.dropped(block, "empty", "info")
        return None
    if block.signature is not None:
        scribe.lost(block, "signature", "signs no result")
    if block.citations:
        scribe.lost(block, "citations", "a result cites nothing")
    if block.phase is not None:
        scribe.lost(block, "phase")
    out: Wire = (_json_of(block.text) if form.get("json") else None) or {"text": block.text}
    return out if block.raw is None else beside(put_back(out, block, scribe, block.raw), block.raw)


def _drop(block: Any, scribe: Scribe, answer: bool) -> None:
    scribe.dropped(block, "a result holds none of it")


_READERS: dict[str, Reader] = {"text": read_text, "json": _read_json, **media.READERS}
_WRITERS: dict[type[Any], Writer] = {
    ImageBlock: media.write_media,
    DocumentBlock: media.write_media,
    VideoBlock: media.write_media,
    UnknownBlock: write_unknown,
}
"""What a result may hold beside text."""
