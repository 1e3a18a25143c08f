"""Tools that Google itself runs: calls and results, both among the steps of the model. Of which
tool a step is, its type tells (`$form.type`). What a tool found is opaque but for texts."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.calls import put_output, read_output
from interlingua.dialects.gemini_interactions.tables import (
    HOSTED,
    HOSTED_CALLS,
    HOSTED_RESULTS,
    NAME,
)
from interlingua.dialects.kernel.calls import tell_recovered
from interlingua.dialects.kernel.errors import take, want
from interlingua.dialects.kernel.fields import Field, Table, plain
from interlingua.dialects.kernel.kept import Kept, form_of, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock

_MCP = "mcp_server"
_CALL = (
    plain("id", "id", str),
    plain("arguments", "input", dict, missing={}),
    plain("signature", "signature", str, blank=True),
    Field("", ("raw_arguments",), lambda _: {}, lambda block, to: tell_recovered(block, to)),
)
HOSTED_CALL = Table(ToolUseBlock, *_CALL, beside=("type",), silent=("executor", "name"))
MCP_CALL = Table(
    ToolUseBlock, *_CALL, plain("name", "name", str), beside=("type",), silent=("executor",)
)
"""The tool of a server has a name of its own."""
_RESULT = (
    plain("call_id", "tool_use_id", str),
    plain("is_error", "is_error", bool, blank=True),
)
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
    take(step, "id", str)
    kept = Kept(form={"type": step["type"]})
    if tool == _MCP:
        take(step, "name", str)
        attrs = MCP_CALL.read(step, kept)
    else:
        attrs = {"name": tool, **HOSTED_CALL.read(step, kept)}
    return ToolUseBlock(**attrs, executor="provider", raw=kept.raw(NAME))


def write_hosted_call(block: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    kind = form_of(NAME, block.raw).get("type")
    tool = HOSTED_CALLS.get(kind) if type(kind) is str else None
    if tool is None or block.raw is None:
        recorder.dropped(block, "hosted tools do not cross from one service to another")
        return None
    if tool != _MCP and block.name != tool:
        recorder.lost(block, "name", f"the tool is called {tool}")
    out: Wire = {"type": kind}
    (MCP_CALL if tool == _MCP else HOSTED_CALL).write(
        block, out, mine_of(NAME, block.raw), recorder
    )
    return put_back(out, block, block.raw, recorder)


# -- results --------------------------------------------------------------------------------------


def read_hosted_result(step: Wire) -> ToolResultBlock:
    tool = HOSTED_RESULTS[step["type"]]
    take(step, "call_id", str)
    kept = Kept(form={"type": step["type"]})
    content: tuple[Any, ...] = ()
    if HOSTED[tool].result is object:
        content = read_output(step, kept)
    elif HOSTED[tool].result is str and step.get("result"):
        content = (TextBlock(want(step["result"], str, ".result")),)
    elif step.get("result"):
        kept.hold("result", step["result"])
    elif "result" in step:
        kept.spell("result", step["result"])
    table = MCP_RESULT if tool == _MCP else HOSTED_RESULT
    return ToolResultBlock(content=content, **table.read(step, kept), raw=kept.raw(NAME))


def write_hosted_result(block: ToolResultBlock, recorder: LossRecorder) -> Wire | None:
    kind = form_of(NAME, block.raw).get("type")
    tool = HOSTED_RESULTS.get(kind) if type(kind) is str else None
    if tool is None or block.raw is None:
        recorder.dropped(block, "no hosted tool of this service gave it")
        return None
    mine, out = mine_of(NAME, block.raw), {"type": kind}
    (MCP_RESULT if tool == _MCP else HOSTED_RESULT).write(block, out, mine, recorder)
    if HOSTED[tool].result is object:
        put_output(out, block, mine, recorder)
    else:
        _put_text(out, block, HOSTED[tool].result is str, recorder)
    return put_back(out, block, block.raw, recorder)


def _put_text(out: Wire, block: ToolResultBlock, has_text: bool, recorder: LossRecorder) -> None:
    texts = []
    for each in block.content:
        if has_text and type(each) is TextBlock:
            recorder.unwritten(each, frozenset({"text"}))
            texts.append(each.text)
        else:
            recorder.dropped(each, "what the service found is its own")
    if len(texts) > 1:
        recorder.lost(block, "content", "a result has one text", kind="approximated")
    if texts:
        out["result"] = "\n".join(texts)
