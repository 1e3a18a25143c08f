"""Converse requests: turns, instructions, and the body around them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import PLACEHOLDER, Scribe, Wire, unsaid_changes
from interlingua.dialects.bedrock.changes import read_changes, write_changes
from interlingua.dialects.bedrock.content import points_ahead, read_parts, write_parts
from interlingua.dialects.bedrock.options import read_options, write_options
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.bedrock.tables import BODY, NAME, SAID_OPTIONS
from interlingua.dialects.bedrock.tools import read_tools, stand_ins, write_tools
from interlingua.dialects.shape import Kept, ShapeError, may_take, want
from interlingua.errors import ReadError, found
from interlingua.model.base import Raw
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock, UnknownBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata

_MADE_HERE = MessageMetadata(protocol=NAME)
_NO_OPTIONS = Options()
_NO_FORM: Wire = {}
_ONLY = {"messages"}
# Bound once: looking up a member of an enum takes as long as writing a part.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER


# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """`model` and `stream` are what the URL says; a `modelId` in the body comes first."""
    if type(wire) is not dict:
        raise ReadError(f"{NAME} request", "$", "an object", found(wire))
    try:
        return _read_request(wire, model, stream)
    except ShapeError as odd:
        raise odd.error(f"{NAME} request") from None


def _read_request(wire: Wire, model: str | None, stream: bool | None) -> Request:
    kept = Kept({}, {}, {})
    messages = _read_system(wire, kept.spelled) if "system" in wire else []
    tools, choice = read_tools(wire, kept) if "toolConfig" in wire else ((), None)
    messages += _read_turns(wire, kept, frozenset([tool.name for tool in tools]))
    fields = read_options(wire, kept) if wire.keys() != _ONLY else {}
    if choice is not None:
        fields["tool_choice"] = choice
    if stream is not None:
        fields["stream"] = stream
    if "modelId" in wire and (named := may_take(wire, "modelId", str, kept.spelled)) is not None:
        kept.form["model"] = "body"
        model = named
    if not tools and stand_ins(messages):
        kept.form["untooled"] = True
    options = Options(**fields) if fields else _NO_OPTIONS
    raw = spare(wire, BODY, kept.spelled, kept.form, kept.rest)
    return Request(tuple(messages), model, tools, options, raw=raw)


def _read_system(wire: Wire, spelled: Wire) -> list[Message]:
    listed = may_take(wire, "system", list, spelled)
    if not listed:
        spelled["system"] = listed
        return []
    blocks, ahead = read_parts(listed, ".system")
    if not ahead:
        return [Message(_SYSTEM, tuple(blocks))]
    metadata = MessageMetadata(provider_raw={NAME: {"$cachePoints": ahead}})
    return [Message(_SYSTEM, tuple(blocks), metadata=metadata)]


def _read_turns(wire: Wire, kept: Kept, tools: frozenset[str]) -> list[Message]:
    turns = may_take(wire, "messages", list, kept.spelled)
    if "messages" not in wire:
        kept.form["absent"] = ["messages"]
    messages: list[Message] = []
    last = None
    leading = True
    index = -1
    try:
        for turn in turns or ():
            index += 1
            role = want(turn, dict).get("role")
            leading = leading and role == "system"
            if role == last or leading or not _read_plain(turn, role, messages):
                _read_turn(turn, role, role == last, leading, messages, tools)
            last = role
    except ShapeError as odd:
        raise odd.inside(f".messages[{index}]") from None
    return messages


def _read_plain(turn: Wire, role: Any, messages: list[Message]) -> bool:
    """The hot path: a turn of one text. Gives False for any other."""
    parts = turn.get("content")
    if len(turn) != 2 or type(parts) is not list or len(parts) != 1:
        return False
    part = parts[0]
    if type(part) is not dict or len(part) != 1:
        return False
    text = part.get("text")
    if type(text) is not str or not text:
        return False
    if role == "user":
        messages.append(Message(_USER, (TextBlock(text),)))
    elif role == "assistant":
        messages.append(Message(_ASSISTANT, (TextBlock(text),), metadata=_MADE_HERE))
    else:
        return False
    return True


def _read_turn(
    turn: Wire,
    role: Any,
    apart: bool,
    leading: bool,
    messages: list[Message],
    tools: frozenset[str],
) -> None:
    """The messages of one turn: results are messages of their own."""
    blocks, ahead = read_parts(turn.get("content"), ".content")
    raw, changes = None, None
    form: Wire = {} if blocks else {"empty": True}
    if role == "system":
        blocks, changes = read_changes(blocks, form, tools)
    if len(turn) != 2 or ahead or apart or leading or form:
        raw = _turn_raw(turn, ahead, apart, leading, form)
    if role == "assistant":
        metadata = _MADE_HERE if raw is None else MessageMetadata(protocol=NAME, provider_raw=raw)
        messages.append(Message(_ASSISTANT, tuple(blocks), metadata=metadata))
        return
    start = len(messages)
    if role == "user":
        _split(blocks, messages)
    elif role == "system":
        messages.append(Message(_SYSTEM, tuple(blocks), changes=changes))
    else:
        raise ShapeError(".role", "user, assistant or system", role)
    if raw is not None:
        first = messages[start]
        messages[start] = first.replace(metadata=first.metadata.replace(provider_raw=raw))


def _turn_raw(turn: Wire, ahead: list[Wire], apart: bool, leading: bool, form: Wire) -> Raw | None:
    """What a turn says beside its parts."""
    if apart:
        form["apart"] = True
    if leading:
        form["place"] = "messages"
    return spare(turn, ("role", "content"), {}, form, {"$cachePoints": ahead} if ahead else None)


def _split(blocks: list[Block], messages: list[Message]) -> None:
    plain: list[Block] = []
    for block in blocks:
        if type(block) is ToolResultBlock:
            if plain:
                messages.append(Message(_USER, tuple(plain)))
                plain = []
            messages.append(Message.of_result(block))
        else:
            plain.append(block)
    if plain or not blocks:
        messages.append(Message(_USER, tuple(plain)))


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, scribe: Scribe) -> Wire:
    mine, form = mine_of(request.raw), form_of(request.raw)
    out: Wire = {}
    turns: list[Wire] = []
    system: list[Wire] = []
    tools = frozenset([tool.name for tool in request.tools])
    _write_messages(request.messages, system, turns, scribe, tools)
    if system:
        out["system"] = system
    if turns or not ("messages" in form.get("absent", ()) or "messages" in form.get("spelled", ())):
        out["messages"] = turns
    write_tools(out, request, mine, form, scribe)
    options = request.options
    if options is not _NO_OPTIONS or mine:
        write_options(out, options, mine, form, scribe)
        scribe.unsaid(options, SAID_OPTIONS)
        for key, item in mine_of(options.raw).items():
            if key != "$form":
                out.setdefault(key, item)
    if request.continues is not None:
        scribe.lost(request, "continues", severity="error")
    if form.get("model") == "body" and request.model is not None:
        out["modelId"] = request.model
    return out if request.raw is None else put_back(out, request, scribe, request.raw)


def _write_messages(
    messages: tuple[Message, ...],
    system: list[Wire],
    turns: list[Wire],
    scribe: Scribe,
    tools: frozenset[str],
) -> None:
    last = None
    leading = True
    for message in messages:
        role, raw = message.role, message.metadata.provider_raw
        form = _NO_FORM if raw is None else form_of(raw)
        if message.name is not None:
            scribe.lost(message, "name")
        if role is _USER or role is _TOOL:
            word = "user"
        elif role is _ASSISTANT:
            word = "assistant"
        else:
            word = "system"
            if role is _DEVELOPER:
                scribe.lost(message, "role", "instructions have one level", kind="downgraded")
            if leading and form.get("place") != "messages":
                _write_instructions(message, system, scribe)
                continue
        leading = leading and word == "system"
        if message.changes is not None and word != "system":
            unsaid_changes(message, scribe)
        parts = _write_message(message, raw, form, scribe, tools)
        if parts is None:
            continue
        if word == last and not form.get("apart"):
            turns[-1]["content"] += parts
        else:
            turns.append({"role": word, "content": parts})
        last = word
        if raw is not None:
            put_back(turns[-1], message, scribe, raw, "metadata.provider_raw")


def _write_message(
    message: Message, raw: Raw | None, form: Wire, scribe: Scribe, tools: frozenset[str]
) -> Any:
    """The parts of a message; None where it says nothing at all."""
    role = message.role
    if role is _TOOL or role is _USER:
        for block in message.content:
            if (type(block) is ToolResultBlock) is not (role is _TOOL):
                _report_misplaced(block, scribe)
    parts = [] if raw is None else points_ahead(raw)
    if message.changes is not None and role in (_SYSTEM, _DEVELOPER):
        write_changes(message, parts, scribe, tools)
    else:
        write_parts(message.content, parts, scribe)
    if parts or form.get("empty"):
        return parts
    if message.content:
        reason = "nothing of it can be said; a placeholder stands in its place"
        scribe.lost(message, "content", reason, kind="approximated")
        return [{"text": PLACEHOLDER}]
    if raw is not None:
        scribe.unsaid_raw(message, raw, "metadata.provider_raw")
    return None


def _report_misplaced(block: Block, scribe: Scribe) -> None:
    """User turns hold both roles, so what stands in the wrong one is told by its kind."""
    if type(block) is not UnknownBlock:
        reason = "in a user turn results are a tool's, and all else is the user's"
        scribe.lost(block, None, reason, kind="moved", severity="info")


_INSTRUCTIONS = frozenset({"text", "guardContent", "cachePoint"})
"""What `system` may hold."""


def _write_instructions(message: Message, system: list[Wire], scribe: Scribe) -> None:
    raw = message.metadata.provider_raw
    if message.changes is not None:
        unsaid_changes(message, scribe)
    system += points_ahead(raw)
    for block in message.content:
        own = block.raw is not None and NAME in block.raw
        if type(block) is TextBlock and block.citations and not own:
            scribe.lost(block, "citations", "instructions cite nothing")
            plain = block.replace(citations=())
            scribe.also_known(plain, block)
            block = plain
        parts: list[Wire] = []
        write_parts((block,), parts, scribe)
        if own or all(_INSTRUCTIONS.issuperset(part) for part in parts):
            system += parts
        else:
            scribe.dropped(block, "instructions are plain text")
    if raw is not None:
        scribe.unsaid_raw(message, raw, "metadata.provider_raw")
