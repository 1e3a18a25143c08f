"""Steps that are no content: thoughts, function calls and results, and those of tools that Google
runs.

A function result is a text, a list of content, or any JSON, which is read as text; the spelling
remembers which (`$form.result`). A hosted step keeps its type there (`$form.type`). Each part of a
thought's summary is a block; the signature and other keys of the step are on the last one."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import (
    CALL,
    HOSTED,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    NAME,
    RESULT,
    THOUGHT,
)
from interlingua.dialects.gemini_interactions.text import read_contents, write_content
from interlingua.dialects.kernel.calls import report_recovered
from interlingua.dialects.kernel.errors import ShapeError, read_each, require, require_key
from interlingua.dialects.kernel.fields import Field, Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    content_of,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire, decode_quickly, encode
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.reasons import because

PART = "$part"
"""Members of a summary's part beside its text, or all of a part without text."""
THOUGHT_STEP = Table(
    ThinkingBlock,
    plain("signature", "signature", str, blank=True),
    beside=("type", "summary"),
    silent=("text",),
)


def read_thought(step: Wire) -> list[ThinkingBlock]:
    if len(step) == 2 and type(signature := step.get("signature")) is str and signature:
        return [ThinkingBlock("", signature)]  # what there nearly always is
    return _read_thought(step)


def _read_thought(step: Wire) -> list[ThinkingBlock]:
    summary, last = step.get("summary"), Preserved()
    attrs = THOUGHT_STEP.read(step, last)
    if not summary:
        if "summary" in step:
            last.keep_spelling(
                "summary", summary if summary is None else require(summary, list, ".summary")
            )
        return [ThinkingBlock("", **attrs, raw=last.raw(NAME))]
    parts = read_each(summary, ".summary", _read_part)
    blocks = [_block(part, number, Preserved()) for number, part in enumerate(parts[:-1])]
    return [*blocks, _block(parts[-1], len(blocks), last, **attrs)]


def _read_part(part: Any) -> Wire:
    if require(part, dict).get("type") == "text":
        require_key(part, "text", str)
    elif type(part.get("type")) is not str:
        raise ShapeError(".type", "a string", part.get("type"))
    return part  # type: ignore[no-any-return]  # an object


def _block(part: Wire, number: int, preserved: Preserved, **attrs: Any) -> ThinkingBlock:
    """`joined` records that a block continues the previous step, and `said` that it has a part
    although it is empty; no field can express either."""
    is_text = part["type"] == "text"
    text = part["text"] if is_text else ""
    beside = {k: v for k, v in part.items() if k not in ("type", "text")} if is_text else part
    if beside:
        preserved.rest[PART] = beside
    if number:
        preserved.spelling["joined"] = True
    if not text and is_text:
        preserved.spelling["said"] = True
    return ThinkingBlock(text, **attrs, raw=preserved.raw(NAME))


def write_thought(block: ThinkingBlock, steps: list[Wire], recorder: LossRecorder) -> None:
    """A step, or one more part of the one before."""
    spelling = spelling_of(NAME, block.raw)
    part = _part_of(block, spelling)
    before = steps[-1] if steps and spelling.get("joined") else None
    joins = before is not None and before["type"] == THOUGHT and "signature" not in before
    out: Wire = before if joins and before is not None else {"type": THOUGHT}
    if part is not None:
        out["summary"] = [*out.get("summary", ()), part]
    THOUGHT_STEP.write(block, out, raw_of(NAME, block.raw), recorder)
    if block.raw is not None:
        restore_raw(out, block, block.raw, recorder)
        out.pop(PART, None)
    if not joins:
        steps.append(out)


def _part_of(block: ThinkingBlock, spelling: Wire) -> Wire | None:
    beside = content_of(NAME, block.raw).get(PART)
    beside = beside if type(beside) is dict else {}
    if block.text or spelling.get("said") or (beside and "type" not in beside):
        return {**beside, "type": "text", "text": block.text}
    return beside or None


# -- calls ----------------------------------------------------------------------------------------


def _report_arguments(block: Any, recorder: LossRecorder) -> None:
    report_recovered(block, recorder)


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
        lambda value: {"signature": require(value, str)} if value else {},
        lost("signature", because("call_signature")).write,
    ),
    Field("", ("raw_arguments",), lambda _: {}, _report_arguments),
    lost("call_type", because("custom_call_as_function"), kind="downgraded"),
    beside=("type",),
    silent=("executor",),
)


def read_call(step: Wire) -> ToolUseBlock:
    id, name, arguments = (
        require_key(step, "id", str),
        require_key(step, "name", str),
        step.get("arguments"),
    )
    if len(step) == 4 and type(arguments) is dict:
        return ToolUseBlock(id, name, arguments)
    return _read_call(step)


def _read_call(step: Wire) -> ToolUseBlock:
    require_key(step, "id", str), require_key(step, "name", str)
    preserved = Preserved()
    return ToolUseBlock(**FUNCTION_CALL.read(step, preserved), raw=preserved.raw(NAME))


def write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire:
    bare = block.raw is None and block.signature is None and block.raw_arguments is None
    if bare and (block.call_type or block.cache or block.caller) is None:
        return {"type": CALL, "id": block.id, "name": block.name, "arguments": block.input}
    return _write_call(block, recorder)


def _write_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire:
    out: Wire = {"type": CALL}
    FUNCTION_CALL.write(block, out, raw_of(NAME, block.raw), recorder)
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


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
    require_key(step, "call_id", str)
    preserved = Preserved()
    content: Any = read_output(step, preserved)
    return ToolResultBlock(
        content=content, **FUNCTION_RESULT.read(step, preserved), raw=preserved.raw(NAME)
    )


def write_result(block: ToolResultBlock, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, block.raw)
    out: Wire = {"type": RESULT}
    FUNCTION_RESULT.write(block, out, own_raw, recorder)
    put_output(out, block, own_raw, recorder)
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)


def read_output(step: Wire, preserved: Preserved) -> tuple[Block, ...]:
    result = step.get("result")
    if type(result) is str:
        return (TextBlock(result),) if result else ()
    if result is None or result == []:
        if "result" in step:
            preserved.keep_spelling("result", result)
        else:
            preserved.mark_absent("result")
        return ()
    if type(result) is not list:
        preserved.spelling["result"] = "json"
        return (TextBlock(encode(result).decode()),)
    blocks = tuple(read_contents(result, ".result"))
    if _text_of(blocks) is not None:
        preserved.spelling["result"] = "list"
    return blocks


def put_output(out: Wire, block: ToolResultBlock, own_raw: Wire, recorder: LossRecorder) -> None:
    shape, text = spelling_in(own_raw).get("result"), _text_of(block.content)
    if not block.content:
        if not was_absent(own_raw, "result"):
            out["result"] = ""
    elif text is None or shape == "list":
        parts = [write_content(each, recorder) for each in block.content]
        out["result"] = [part for part in parts if part is not None]
    else:
        out["result"] = _json_of(text) if shape == "json" else text


def _text_of(content: tuple[Block, ...]) -> str | None:
    """The text, if a string can express the content. An empty string would mean no content."""
    if len(content) != 1:
        return None
    only = content[0]
    plain = type(only) is TextBlock and only == TextBlock(only.text) and only.raw is None
    return only.text or None if plain and type(only) is TextBlock else None


def _json_of(text: str) -> Any:
    """The JSON that a text was made of, as long as it still matches."""
    try:
        value = decode_quickly(text)
    except ValueError:
        return text
    return value if type(value) is not str and encode(value).decode() == text else text


_MCP = "mcp_server"
_CALL = (
    plain("id", "id", str),
    plain("arguments", "input", dict, missing={}),
    plain("signature", "signature", str, blank=True),
    Field("", ("raw_arguments",), lambda _: {}, lambda block, to: report_recovered(block, to)),
)
HOSTED_CALL = Table(ToolUseBlock, *_CALL, beside=("type",), silent=("executor", "name"))
MCP_CALL = Table(
    ToolUseBlock, *_CALL, plain("name", "name", str), beside=("type",), silent=("executor",)
)
"""The tool of a server has a name of its own."""
_RESULT = (plain("call_id", "tool_use_id", str), plain("is_error", "is_error", bool, blank=True))
HOSTED_RESULT = Table(ToolResultBlock, *_RESULT, beside=("type", "result"), silent=("content",))
MCP_RESULT = Table(
    ToolResultBlock,
    *_RESULT,
    plain("name", "tool_name", str),
    beside=("type", "result"),
    silent=("content",),
)

# -- calls ----------------------------------------------------------------------------------------


def read_hosted_call(step: Wire) -> ToolUseBlock:
    tool = HOSTED_CALLS[step["type"]]
    require_key(step, "id", str)
    preserved = Preserved(spelling={"type": step["type"]})
    if tool == _MCP:
        require_key(step, "name", str)
        attrs = MCP_CALL.read(step, preserved)
    else:
        attrs = {"name": tool, **HOSTED_CALL.read(step, preserved)}
    return ToolUseBlock(**attrs, executor="provider", raw=preserved.raw(NAME))


def write_hosted_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    kind = spelling_of(NAME, block.raw).get("type")
    tool = HOSTED_CALLS.get(kind) if type(kind) is str else None
    if tool is None or block.raw is None:
        recorder.dropped(block, because("hosted_tool_foreign"))
        return None
    if tool != _MCP and block.name != tool:
        recorder.lost(block, "name", because("tool_renamed", tool=tool))
    out: Wire = {"type": kind}
    (MCP_CALL if tool == _MCP else HOSTED_CALL).write(block, out, raw_of(NAME, block.raw), recorder)
    return restore_raw(out, block, block.raw, recorder)


# -- results --------------------------------------------------------------------------------------


def read_hosted_result(step: Wire) -> ToolResultBlock:
    tool = HOSTED_RESULTS[step["type"]]
    require_key(step, "call_id", str)
    preserved = Preserved(spelling={"type": step["type"]})
    content: tuple[Any, ...] = ()
    if HOSTED[tool].result is object:
        content = read_output(step, preserved)
    elif HOSTED[tool].result is str and step.get("result"):
        content = (TextBlock(require(step["result"], str, ".result")),)
    elif step.get("result"):
        preserved.hold("result", step["result"])
    elif "result" in step:
        preserved.keep_spelling("result", step["result"])
    table = MCP_RESULT if tool == _MCP else HOSTED_RESULT
    return ToolResultBlock(content=content, **table.read(step, preserved), raw=preserved.raw(NAME))


def write_hosted_result(block: ToolResultBlock, recorder: LossRecorder) -> Wire | None:
    kind = spelling_of(NAME, block.raw).get("type")
    tool = HOSTED_RESULTS.get(kind) if type(kind) is str else None
    if tool is None or block.raw is None:
        recorder.dropped(block, because("hosted_result_foreign"))
        return None
    own_raw, out = raw_of(NAME, block.raw), {"type": kind}
    (MCP_RESULT if tool == _MCP else HOSTED_RESULT).write(block, out, own_raw, recorder)
    if HOSTED[tool].result is object:
        put_output(out, block, own_raw, recorder)
    else:
        _put_text(out, block, HOSTED[tool].result is str, recorder)
    return restore_raw(out, block, block.raw, recorder)


def _put_text(out: Wire, block: ToolResultBlock, has_text: bool, recorder: LossRecorder) -> None:
    texts = []
    for each in block.content:
        if has_text and type(each) is TextBlock:
            recorder.unwritten(each, frozenset({"text"}))
            texts.append(each.text)
        else:
            recorder.dropped(each, because("result_content_unsupported"))
    if len(texts) > 1:
        recorder.lost(block, "content", because("joined_text"), kind="approximated")
    if texts:
        out["result"] = "\n".join(texts)
