"""Chat requests: a flat list of messages, and the body around them."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire, unsaid_changes
from interlingua.dialects.ollama.calls import OpenCalls
from interlingua.dialects.ollama.content import SAYING, leave_out, read_content, write_content
from interlingua.dialects.ollama.options import STREAMED, WHOLE, read_options, write_options
from interlingua.dialects.ollama.results import read_result, write_results
from interlingua.dialects.ollama.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.ollama.tables import BODY, NAME, ROLES, WORDS
from interlingua.dialects.ollama.tools import read_tools, write_tools
from interlingua.dialects.shape import Kept, ShapeError, may_take, take, want
from interlingua.errors import ReadError, found
from interlingua.model.blocks import TextBlock, ToolUseBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

_MADE_HERE = MessageMetadata(protocol=NAME)
# Bound once: looking up a member of an enum takes as long as writing a message.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER
_NO_FORM: Wire = {}


# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body says model and stream itself; `model` is for one that does not."""
    if type(wire) is not dict:
        raise ReadError(f"{NAME} request", "$", "an object", found(wire))
    try:
        return _read_request(wire, model)
    except ShapeError as odd:
        raise odd.error(f"{NAME} request") from None


def _read_request(wire: Wire, model: str | None) -> Request:
    kept = Kept({}, {}, {})
    named = may_take(wire, "model", str, kept.spelled)
    if named is None:
        kept.form["model"] = "elsewhere"
    messages = _read_messages(wire, kept)
    tools = read_tools(wire, kept) if "tools" in wire else ()
    options = read_options(wire, kept)
    raw = spare(wire, BODY, kept.spelled, kept.form, kept.rest)
    return Request(messages, model if named is None else named, tools, options, raw=raw)


def _read_messages(wire: Wire, kept: Kept) -> tuple[Message, ...]:
    listed = may_take(wire, "messages", list, kept.spelled)
    if "messages" not in wire:
        kept.form["absent"] = ["messages"]
    calls = OpenCalls()
    messages: list[Message] = []
    try:
        for each in listed or ():
            messages.append(_read_message(want(each, dict), len(messages), calls))
    except ShapeError as odd:
        raise odd.inside(f".messages[{len(messages)}]") from None
    return tuple(messages)


def _read_message(wire: Wire, position: int, calls: OpenCalls) -> Message:
    word = wire.get("role")
    if len(wire) == 2:  # the hot path: a text
        text = wire.get("content")
        if type(text) is str:
            content = (TextBlock(text),) if text else ()
            if word == "user":
                return Message(_USER, content)
            if word == "assistant":
                return Message(_ASSISTANT, content, metadata=_MADE_HERE)
    if word == "tool":
        return read_result(wire, position, calls)
    return _read_full(wire, take(wire, "role", str), position, calls)


def _read_full(wire: Wire, word: str, position: int, calls: OpenCalls) -> Message:
    kept = Kept({}, {}, {})
    odd: list[Diagnostic] = []
    blocks = read_content(wire, position, kept, odd)
    role = ROLES.get(word.lower(), _SYSTEM)
    if role is _TOOL:
        role = _SYSTEM
    if WORDS[role] != word:
        kept.form["role"] = word
    for block in blocks:
        if type(block) is ToolUseBlock:
            calls.add(block.id, block.name)
    raw = spare(wire, SAYING, kept.spelled, kept.form)
    if role is not _ASSISTANT:
        if raw is None and not odd:
            return Message(role, tuple(blocks))
        metadata = MessageMetadata(diagnostics=tuple(odd), provider_raw=raw)
    elif raw is None and not odd:
        metadata = _MADE_HERE
    else:
        metadata = MessageMetadata(protocol=NAME, diagnostics=tuple(odd), provider_raw=raw)
    return Message(role, tuple(blocks), metadata=metadata)


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, scribe: Scribe) -> Wire:
    mine, form = mine_of(request.raw), form_of(request.raw)
    missing = {*form.get("absent", ()), *form.get("spelled", ())}
    out: Wire = {}
    if request.model is not None and form.get("model") != "elsewhere":
        out["model"] = request.model
    messages = _write_messages(request.messages, scribe)
    if messages or "messages" not in missing:
        out["messages"] = messages
    if request.tools:
        tools = write_tools(request.tools, scribe)
        if tools:
            out["tools"] = tools
    options = request.options
    if mine or not (options is WHOLE or options is STREAMED):
        write_options(out, options, mine, form, scribe)
    else:
        out["stream"] = options is STREAMED
    if request.continues is not None:
        scribe.lost(request, "continues", severity="error")
    return out if request.raw is None else put_back(out, request, scribe, request.raw)


def _write_messages(messages: tuple[Message, ...], scribe: Scribe) -> list[Wire]:
    calls = OpenCalls()
    written: list[Wire] = []
    for message in messages:
        if message.name is not None:
            scribe.lost(message, "name")
        if message.changes is not None:
            unsaid_changes(message, scribe)
            if not message.content:
                continue
        if message.role is _TOOL:
            written += write_results(message, calls, scribe)
            raw = message.metadata.provider_raw
            if raw is not None:
                scribe.unsaid_raw(message, raw, "metadata.provider_raw")
            continue
        written.append(write_message(message, scribe))
        for block in message.content:
            if type(block) is ToolUseBlock:
                calls.add(block.id, block.name)
    return written


def write_message(message: Message, scribe: Scribe) -> Wire:
    role, raw = message.role, message.metadata.provider_raw
    word = "user" if role is _USER else "assistant" if role is _ASSISTANT else "system"
    out: Wire = {"role": word}
    write_content(message, out, scribe)
    form = _NO_FORM if raw is None else form_of(raw)
    if "role" in form:
        out["role"] = form["role"]
    elif role is _DEVELOPER:
        scribe.lost(message, "role", "instructions have one level", kind="downgraded")
    if raw is None:
        return out
    leave_out(out, form)
    return put_back(out, message, scribe, raw, "metadata.provider_raw")
