"""Calls of the client's functions and their results, each a step.

What a tool gave is a text, a list of content, or any JSON, which is read as text; which of them it
was no block can tell (`$form.result`)."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import CALL, NAME, RESULT
from interlingua.dialects.gemini_interactions.text import read_contents, write_content
from interlingua.dialects.kernel.calls import tell_recovered
from interlingua.dialects.kernel.errors import take, want
from interlingua.dialects.kernel.fields import Field, Reading, Table, lost, plain
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, decode_quickly, encode
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock

# -- calls ----------------------------------------------------------------------------------------


def _read_signature(given: Any) -> Reading:
    return {"signature": want(given, str)} if given else {}


def _tell_arguments(block: Any, recorder: LossRecorder) -> None:
    tell_recovered(block, recorder)


FUNCTION_CALL = Table(
    ToolUseBlock,
    plain("id", "id", str),
    plain("name", "name", str),
    plain("arguments", "input", dict, missing={}),
    # No part of its types, and empty where it was seen (recorded traffic, 2026-05): a call is
    # signed by the thought before it.
    Field(
        "signature",
        ("signature",),
        _read_signature,
        lost("signature", "the thought before a call is signed").write,
    ),
    Field("", ("raw_arguments",), lambda _: {}, _tell_arguments),
    lost("call_type", "an object that holds the text", kind="downgraded"),
    beside=("type",),
    silent=("executor",),
)


def read_call(step: Wire) -> ToolUseBlock:
    id, name, given = take(step, "id", str), take(step, "name", str), step.get("arguments")
    if len(step) == 4 and type(given) is dict:
        return ToolUseBlock(id, name, given)
    return _read_call(step)


def _read_call(step: Wire) -> ToolUseBlock:
    take(step, "id", str), take(step, "name", str)
    kept = Kept()
    return ToolUseBlock(**FUNCTION_CALL.read(step, kept), raw=kept.raw(NAME))


def write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire:
    bare = block.raw is None and block.signature is None and block.raw_arguments is None
    if bare and block.call_type is None and block.cache is None:
        return {"type": CALL, "id": block.id, "name": block.name, "arguments": block.input}
    return _write_call(block, recorder)


def _write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": CALL}
    FUNCTION_CALL.write(block, out, mine_of(NAME, block.raw), recorder)
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


# -- results --------------------------------------------------------------------------------------

FUNCTION_RESULT = Table(
    ToolResultBlock,
    plain("call_id", "tool_use_id", str),
    plain("name", "tool_name", str),
    plain("is_error", "is_error", bool, blank=True),
    beside=("type", "result"),
    silent=("content",),
)


def read_result(step: Wire) -> ToolResultBlock:
    take(step, "call_id", str)
    kept = Kept()
    content: Any = read_output(step, kept)
    return ToolResultBlock(content=content, **FUNCTION_RESULT.read(step, kept), raw=kept.raw(NAME))


def write_result(block: ToolResultBlock, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, block.raw)
    out: Wire = {"type": RESULT}
    FUNCTION_RESULT.write(block, out, mine, recorder)
    put_output(out, block, mine, recorder)
    return out if block.raw is None else put_back(out, block, block.raw, recorder)


def read_output(step: Wire, kept: Kept) -> tuple[Block, ...]:
    given = step.get("result")
    if type(given) is str:
        return (TextBlock(given),) if given else ()
    if given is None or given == []:
        if "result" in step:
            kept.spell("result", given)
        else:
            kept.miss("result")
        return ()
    if type(given) is not list:
        kept.form["result"] = "json"
        return (TextBlock(encode(given).decode()),)
    blocks = tuple(read_contents(given, ".result"))
    if _text_of(blocks) is not None:
        kept.form["result"] = "list"
    return blocks


def put_output(out: Wire, block: ToolResultBlock, mine: Wire, recorder: LossRecorder) -> None:
    shape, text = form_in(mine).get("result"), _text_of(block.content)
    if not block.content:
        if not did_without(mine, "result"):
            out["result"] = ""
    elif text is None or shape == "list":
        parts = [write_content(each, recorder) for each in block.content]
        out["result"] = [part for part in parts if part is not None]
    else:
        out["result"] = _json_of(text) if shape == "json" else text


def _text_of(content: tuple[Block, ...]) -> str | None:
    """The text that a string can say as well. An empty one would say that there is nothing."""
    if len(content) != 1:
        return None
    only = content[0]
    plain = type(only) is TextBlock and only == TextBlock(only.text) and only.raw is None
    return only.text or None if plain and type(only) is TextBlock else None


def _json_of(text: str) -> Any:
    """The JSON that a text was made of, while it still says that."""
    try:
        value = decode_quickly(text)
    except ValueError:
        return text
    return value if type(value) is not str and encode(value).decode() == text else text
