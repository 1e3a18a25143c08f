"""A choice whose answer is a list of messages: Mistral's, when it ran tools of its own.

They are one canonical message; the counts in `raw` say where each of them ended."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.assistant import Said, read_assistant
from interlingua.dialects.openai_chat.quick import write_assistant
from interlingua.dialects.openai_chat.results import OpenCalls, read_result, write_result
from interlingua.dialects.openai_chat.shape import Note, form_in, mine_of, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import each
from interlingua.model.blocks import Block, ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata


def read_run(wires: Any, t: Tables, origin: int | str | None) -> Said:
    blocks: list[Block] = []
    pieces: list[Wire] = []
    diagnostics: list[Diagnostic] = []

    def read(wire: Any) -> None:
        found: tuple[Block, ...]
        if want(wire, dict, "").get("role") == "tool":
            result = read_result(wire, t, (), OpenCalls())
            found, mine = (result.replace(raw=None),), mine_of(t.name, result.raw)
        else:
            said = read_assistant(wire, t, origin)
            found, mine = said.content, mine_of(t.name, said.note.raw(t.name))
            diagnostics.extend(said.diagnostics)
        pieces.append({"role": wire.get("role"), "count": len(found), "said": mine})
        blocks.extend(found)

    each(wires, ".messages", read)
    note = Note()
    note.rest["messages"] = pieces
    return Said(tuple(_hosted(blocks, t)), None, t.name, note, tuple(diagnostics))


def _hosted(blocks: list[Block], t: Tables) -> list[Block]:
    """Calls that are answered in the same run were not for the client."""
    answered = {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}
    return [
        _hosted_call(block, t)
        if isinstance(block, ToolUseBlock) and block.id in answered
        else block
        for block in blocks
    ]


def _hosted_call(call: ToolUseBlock, t: Tables) -> ToolUseBlock:
    mine = mine_of(t.name, call.raw)
    mine = {**mine, "$form": {**form_in(mine), "in": "tool_calls"}}
    return call.replace(executor="provider", raw={t.name: mine})


def write_run(message: Message, t: Tables, scribe: Scribe) -> Wire:
    """`messages`, while the pieces still add up; else one `message`."""
    pieces = mine_of(t.name, message.metadata.provider_raw)["messages"]
    counts = [piece["count"] for piece in pieces]
    if sum(counts) != len(message.content):
        return {"message": write_assistant(message, t, scribe)}
    wires: list[Wire] = []
    start = 0
    for piece in pieces:
        content = message.content[start : start + piece["count"]]
        start += piece["count"]
        wires.append(_write_piece(piece, content, message, t, scribe))
    return {"messages": wires}


def _write_piece(
    piece: Wire, content: tuple[Block, ...], message: Message, t: Tables, scribe: Scribe
) -> Wire:
    raw = {t.name: piece["said"]} if piece["said"] else None
    if piece["role"] == "tool" and len(content) == 1 and isinstance(content[0], ToolResultBlock):
        result = content[0].replace(raw={**(content[0].raw or {}), **(raw or {})})
        scribe.also_known(result, content[0])
        return write_result(result, t, scribe)
    metadata = MessageMetadata(protocol=message.metadata.protocol, provider_raw=raw)
    said = Message(Role.ASSISTANT, content, metadata=metadata)
    scribe.also_known(said, message)
    return write_assistant(said, t, scribe)
