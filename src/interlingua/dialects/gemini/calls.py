"""Calls: of the client's functions, and of tools that Google runs.

Ids are optional on this wire. A call without one gets an id made of its place, which is not written
back."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Wire
from interlingua.dialects.gemini.spelling import Taking, account, dress, mine
from interlingua.dialects.gemini.tables import CODE, SERVER_TOOLS
from interlingua.dialects.gemini.turn import Calls, Turn
from interlingua.dialects.shape import tell_recovered
from interlingua.ids import is_synthetic_tool_id
from interlingua.model.base import Raw
from interlingua.model.blocks import ToolUseBlock

_SAID = frozenset({"id", "name", "input", "signature", "raw_arguments"})
_SAID_HOSTED = _SAID | {"executor"}
_EXECUTORS = frozenset({"client", "provider"})

# -- reading --------------------------------------------------------------------------------------


def quick_call(inner: Wire, part: Wire, calls: Calls) -> ToolUseBlock | None:
    """A call in the plain spelling that nearly all have; None for any other."""
    name, args, signature = inner.get("name"), inner.get("args"), part.get("thoughtSignature")
    if type(name) is not str or type(args) is not dict or not is_plain(inner):
        return None
    if len(part) != 1 and (len(part) != 2 or type(signature) is not str):
        return None
    id = calls.called(inner.get("id"), name, {})
    return ToolUseBlock(id, name, args, signature=signature)


def is_plain(inner: Wire) -> bool:
    """Whether beside two other keys there is an id that says nothing special, or none."""
    id = inner.get("id")
    if id is None:
        return len(inner) == 2
    return len(inner) == 3 and type(id) is str and id != "" and id[:3] != "il_"


def read_call(part: Taking, calls: Calls) -> ToolUseBlock:
    inner = part.inside("functionCall")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("name", str, due=True) or ""
    args = inner.take("args", dict, due=True)
    id = calls.called(given, name, inner.form)
    signature = part.take("thoughtSignature", str)
    return ToolUseBlock(id, name, args or {}, signature=signature, raw=raw_of(part, inner))


def read_code(part: Taking, calls: Calls) -> ToolUseBlock:
    """`executableCode`: the input is the language and the code."""
    inner = part.inside("executableCode")
    assert inner is not None
    given = inner.take("id", str)
    id = calls.called(given, CODE, inner.form, hosted=True)
    input, inner.left = inner.left, {}
    signature = part.take("thoughtSignature", str)
    raw = raw_of(part, inner)
    return ToolUseBlock(id, CODE, input, signature=signature, executor="provider", raw=raw)


def read_tool_call(part: Taking, calls: Calls) -> ToolUseBlock:
    inner = part.inside("toolCall")
    assert inner is not None
    given = inner.take("id", str)
    name = inner.take("toolType", str, due=True) or ""
    args = inner.take("args", dict, due=True)
    id = calls.called(given, name, inner.form, hosted=True)
    signature = part.take("thoughtSignature", str)
    if name not in SERVER_TOOLS:
        part.form["kind"] = "toolCall"
    raw = raw_of(part, inner)
    return ToolUseBlock(id, name, args or {}, signature=signature, executor="provider", raw=raw)


def raw_of(part: Taking, inner: Taking) -> Raw | None:
    """What is left of a part and of the object inside it."""
    assert inner.place is not None
    part.absorb(str(inner.place[1]), inner)
    return part.raw()


# -- writing --------------------------------------------------------------------------------------


def write_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    turn.names[block.id] = block.name
    if block.executor == "provider":
        return _write_hosted_call(block, turn)
    call: Wire = {"name": block.name, "args": block.input}
    part: Wire = {"functionCall": call}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature
    if block.raw is None and block.id[:3] != "il_":
        call["id"] = block.id
    else:
        put_id(call, block.id, mine(block.raw)[1].get("functionCall"))
        dress(part, "functionCall", block.raw)
    if block.call_type is not None or block.executor not in _EXECUTORS:
        turn.scribe.unsaid(block, _SAID)
    else:
        account(block, _SAID, turn.scribe)
    if block.raw_arguments is not None:
        tell_recovered(block, turn.scribe)
    return part


def put_id(inner: Wire, id: str, form: Any) -> None:
    """The id as the wire had it: made-up ids are not written, unless they stood there."""
    form = form if type(form) is dict else {}
    if form.get("paired") == id or (is_synthetic_tool_id(id) and form.get("id") is not True):
        if form.get("id") == "":
            inner["id"] = ""
    else:
        inner["id"] = id


def _write_hosted_call(block: ToolUseBlock, turn: Turn) -> Wire | None:
    form = mine(block.raw)[1]
    if block.name == CODE and "kind" not in form:
        kind, inner = "executableCode", dict(block.input)
    elif block.name in SERVER_TOOLS or form.get("kind") == "toolCall":
        kind, inner = "toolCall", {"toolType": block.name, "args": block.input}
    else:
        turn.scribe.dropped(block, "tools that another provider runs are not known here")
        return None
    put_id(inner, block.id, form.get(kind))
    part = {kind: inner}
    if block.signature is not None:
        part["thoughtSignature"] = block.signature  # type: ignore[assignment]  # a part is any JSON
    if block.call_type is not None:
        turn.scribe.unsaid(block, _SAID_HOSTED)
    else:
        account(block, _SAID_HOSTED, turn.scribe)
    return dress(part, kind, block.raw)
