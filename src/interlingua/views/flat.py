"""The flat view: one object a message, with reasoning, refusal and calls beside the content.

The order among those four is the view's own (reasoning, content, refusal, calls); where a message
had another, that is a loss. `flat_extra` has what goes into `extra`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.ids import synthetic_tool_id
from interlingua.losses import Report
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.views.account import Account
from interlingua.views.base import Written, form_of, present, was_blank, with_rest
from interlingua.views.calls import read_arguments, recovered_again, write_arguments
from interlingua.views.flat_extra import (
    NAME,
    layout,
    read_signatures,
    read_thinking,
    write_extra,
)
from interlingua.views.flat_parts import Part, plain_text, read_part, text_part, write_part
from interlingua.views.reading import Fields, item_list
from interlingua.views.view import View

ROLES: dict[str, Role] = {role.value: role for role in Role}
_ORDER: dict[type[Block], int] = {
    ThinkingBlock: 0,
    RedactedThinkingBlock: 0,
    RefusalBlock: 2,
    ToolUseBlock: 3,
}
"""The place of a block among the four; everything else is content."""

# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of flat messages, or a single one."""
    if isinstance(plain, dict):
        return (_Reader().message(Fields(NAME, plain, "$"), 0),)
    reader = _Reader()
    items = enumerate(item_list(NAME, plain))
    return tuple([reader.message(Fields(NAME, item, path), n) for n, (item, path) in items])


class _Calls:
    """Which calls have no answer yet, for answers that do not say what they answer."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []

    def see(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                self._open.append((block.id, block.name))
            elif isinstance(block, ToolResultBlock):
                self._open = [each for each in self._open if each[0] != block.tool_use_id]

    def guess(self, name: str | None, position: int) -> str:
        ids = (id for id, called in self._open if name in (None, called))
        return next(ids, None) or synthetic_tool_id(position, 0, name or "")


class _Reader:
    def __init__(self) -> None:
        self.calls = _Calls()

    def message(self, fields: Fields, position: int) -> Message:
        role = fields.word("role", ROLES)
        if role is Role.TOOL:
            message = self.result(fields, position)
        else:
            message = _read_message(fields, role, position)
        self.calls.see(message.content)
        return message

    def result(self, fields: Fields, position: int) -> Message:
        name = fields.maybe("name", str)
        content, content_form = _read_slot(fields, "content")
        call_id, id, form = fields.maybe("call_id", str), fields.maybe("id", str), None
        if call_id is None and id is not None:
            call_id, id, form = id, None, "id"
        elif call_id is None:
            call_id, form = self.calls.guess(name, position), "guess"
        block = ToolResultBlock(call_id, tuple(content), tool_name=name)
        raw = fields.raw(content=content_form, answers=form)
        metadata = MessageMetadata(parent_tool_use_id=call_id, provider_raw=raw)
        return Message(Role.TOOL, (block,), id=id, metadata=metadata)


def _read_message(fields: Fields, role: Role, position: int) -> Message:
    name, id = fields.maybe("name", str), fields.maybe("id", str)
    extra = dict(fields.filled("extra", dict) or {})
    thinking, form = _read_reasoning(fields, extra)
    content, form["content"] = _read_slot(fields, "content")
    refusal, form["refusal"] = _read_slot(fields, "refusal")
    calls, diagnostics = _read_calls(fields, position)
    refused = [RefusalBlock(_text(part, fields, "refusal"), raw=part.raw) for part in refusal]
    apart = form.get("thinking_blocks")
    key, blocks = read_signatures(extra, [*thinking, *content, *refused, *calls], apart)
    if extra:
        fields.left["extra"] = extra
    raw = fields.raw(thought_signatures=key or None, **form)
    metadata = MessageMetadata(diagnostics=diagnostics, provider_raw=raw)
    return Message(role, tuple(blocks), name, id, metadata=metadata)


def _read_slot(fields: Fields, name: str) -> tuple[list[Part], str | None]:
    """Content that is a string or a list of parts, and how it was spelled if not as we would."""
    missing = name not in fields.left
    value = fields.text_or_list(name)
    if isinstance(value, list):
        parts = item_list(NAME, value, fields.place(name))
        blocks = [read_part(Fields(NAME, part, path)) for part, path in parts]
        return blocks, "list" if not blocks or plain_text(blocks) else None
    if value:
        return [TextBlock(value)], None
    if value == "" and name != "content":
        fields.blank[name] = ""
    return [], "none" if missing and name == "content" else None


def _text(part: Part, fields: Fields, name: str) -> str:
    if not isinstance(part, TextBlock):
        raise fields.error(name, "text", "media")
    return part.text


def _read_reasoning(fields: Fields, extra: JsonObject) -> tuple[list[Block], dict[str, Any]]:
    """Thinking out of `extra` where that agrees with `reasoning`, else out of `reasoning`."""
    value = fields.left.get("reasoning")
    key, blocks = read_thinking(extra, value, fields.path)
    if not key:
        parts, form = _read_slot(fields, "reasoning")
        texts = [(_text(part, fields, "reasoning"), part.raw) for part in parts]
        return [ThinkingBlock(text, raw=raw) for text, raw in texts], {"reasoning": form}
    fields.text_or_list("reasoning")
    said = any(block.text for block in blocks if isinstance(block, ThinkingBlock))
    if isinstance(value, str) and not said:
        fields.blank["reasoning"] = value
    form = "list" if isinstance(value, list) else "none" if said and value is None else None
    return list(blocks), {"reasoning": form, "thinking_blocks": key}


def _read_calls(fields: Fields, position: int) -> tuple[list[Block], tuple[Diagnostic, ...]]:
    items = fields.filled("tool_calls", list) or []
    calls: list[Block] = []
    diagnostics: list[Diagnostic] = []
    for number, (item, path) in enumerate(item_list(NAME, items, fields.place("tool_calls"))):
        call, more = _read_call(Fields(NAME, item, path), position, number)
        calls.append(call)
        diagnostics.extend(more)
    return calls, tuple(diagnostics)


def _read_call(
    fields: Fields, position: int, number: int
) -> tuple[ToolUseBlock, tuple[Diagnostic, ...]]:
    name, text = fields.need("name", str), fields.need("arguments", str)
    id, call_id, form = fields.maybe("id", str), fields.maybe("call_id", str), None
    if call_id is not None:
        form = "both" if id == call_id else "call_id"
        if id is not None and id != call_id:
            fields.left["id"] = id
        id = call_id
    if id is None:
        id = synthetic_tool_id(position, number, name)
    input, raw_arguments, diagnostics = read_arguments(text, id)
    return ToolUseBlock(id, name, input, raw_arguments, raw=fields.raw(id=form)), diagnostics


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer` is the dialect that the messages were read from, where they do not say it."""
    writer = _Writer(issuer)
    for number, message in enumerate(messages):
        writer.message(message, f"$[{number}]")
    return Written(writer.wire, writer.report)


class _Writer:
    def __init__(self, issuer: str | None) -> None:
        self.issuer = issuer
        self.report = Report(NAME)
        self.wire: list[JsonObject] = []
        self.calls = _Calls()

    def message(self, message: Message, path: str) -> None:
        account = Account(self.report, path, message)
        if message.role is Role.TOOL:
            for place, block in account.results(message, "id"):
                self.wire.append(self.result(message, block, place, account))
                self.calls.see([block])
            return
        blocks = _Blocks(message, account, len(self.wire))
        account.message(message, "name", "id", metadata={"diagnostics"})
        account.diagnostics(message, recovered_again(NAME, blocks.calls))
        self.calls.see(blocks.calls)
        self.wire.append(_write_message(message, blocks, self.issuer))

    def result(
        self, message: Message, block: ToolResultBlock, path: str, account: Account
    ) -> JsonObject:
        raw = message.metadata.provider_raw
        form = form_of(NAME, raw)
        parts = [
            write_part(each, f"{path}.content[{number}]", account)
            for number, each in enumerate(block.content)
        ]
        account.fields(block, path, "tool_use_id", "content", "tool_name")
        out = present(role="tool", name=block.tool_name, id=message.id)
        guess = self.calls.guess(block.tool_name, len(self.wire))
        if form.get("answers") == "id" and message.id is None:
            out["id"] = block.tool_use_id
        elif form.get("answers") != "guess" or guess != block.tool_use_id:
            out["call_id"] = block.tool_use_id
        _write_slot(out, "content", [part for part in parts if part is not None], form)
        return with_rest(NAME, raw, out)


class _Blocks:
    """The blocks of one message, sorted into the places that the view has for them."""

    def __init__(self, message: Message, account: Account, position: int) -> None:
        self.account = account
        self.position = position
        self.kept: list[Block] = []
        self.calls: list[ToolUseBlock] = []
        self.slots: dict[str, list[JsonObject]] = {
            "reasoning": [],
            "content": [],
            "refusal": [],
            "tool_calls": [],
        }
        for number, block in enumerate(message.content):
            self.place(block, f"{account.path}.content[{number}]")
        ranks = [_ORDER.get(type(block), 1) for block in self.kept]
        if ranks != sorted(ranks):
            reason = "the order among reasoning, content, refusal and calls"
            account.lost(f"{account.path}.content", reason, kind="moved")
        self.kept.sort(key=lambda block: _ORDER.get(type(block), 1))

    def place(self, block: Block, path: str) -> None:
        match block:
            case ThinkingBlock() | RedactedThinkingBlock():
                self.account.fields(block, path, "text", "data", "signature")
                self.keep(block, "reasoning", _write_thinking(block))
            case CompactionBlock():
                text = self.account.summary(path, block)
                if text is not None:
                    self.keep(text, "content", text_part(text))
            case RefusalBlock():
                self.account.fields(block, path, "text")
                self.keep(block, "refusal", text_part(block))
            case ToolUseBlock(executor="client"):
                self.calls.append(block)
                self.keep(block, "tool_calls", self.call(block, path))
            case ToolUseBlock() | ToolResultBlock():
                self.account.block(path, block, f"{NAME} has no tools that the provider runs")
            case _:
                self.keep(block, "content", write_part(block, path, self.account, "signature"))

    def keep(self, block: Block, slot: str, part: JsonObject | None) -> None:
        if part is None:
            return
        self.kept.append(block)
        if part:
            self.slots[slot].append(part)

    def call(self, block: ToolUseBlock, path: str) -> JsonObject:
        self.account.fields(
            block, path, "id", "name", "input", "raw_arguments", "signature", "executor"
        )
        form = form_of(NAME, block.raw).get("id")
        out: JsonObject = {}
        made_up = synthetic_tool_id(self.position, len(self.calls) - 1, block.name)
        if form == "both" or (form != "call_id" and block.id != made_up):
            out["id"] = block.id
        if form in ("both", "call_id"):
            out["call_id"] = block.id
        out |= {"name": block.name, "arguments": write_arguments(NAME, block, path)}
        return with_rest(NAME, block.raw, out)


def _write_message(message: Message, blocks: _Blocks, issuer: str | None) -> JsonObject:
    raw = message.metadata.provider_raw
    form = form_of(NAME, raw)
    where = layout(message, form, issuer)
    out = present(role=message.role.value, name=message.name, id=message.id)
    _write_slot(out, "content", blocks.slots["content"], form)
    if where.blocks:
        _write_joined(out, blocks.slots["reasoning"], form)
    else:
        _write_slot(out, "reasoning", blocks.slots["reasoning"], form)
    _write_slot(out, "refusal", blocks.slots["refusal"], form)
    if blocks.slots["tool_calls"]:
        out["tool_calls"] = blocks.slots["tool_calls"]
    if extra := write_extra(blocks.kept, where):
        out["extra"] = extra
    return with_rest(NAME, raw, out)


def _write_slot(out: JsonObject, name: str, parts: list[JsonObject], form: JsonObject) -> None:
    match parts:
        case [{"type": "text", "text": str(text), **rest}] if text and not rest:
            out[name] = parts if form.get(name) == "list" else text
        case [_, *_]:
            out[name] = parts
        case _ if form.get(name) == "list":
            out[name] = []
        case _ if name == "content" and form.get(name) != "none":
            if not was_blank(form, name):
                out[name] = ""


def _write_joined(out: JsonObject, parts: list[JsonObject], form: JsonObject) -> None:
    """Reasoning beside `thinking_blocks`, which have the same texts one by one."""
    texts = [part["text"] for part in parts]
    if form.get("reasoning") == "list":
        out["reasoning"] = [{"type": "text", "text": text} for text in texts]
    elif form.get("reasoning") != "none" and any(texts):
        out["reasoning"] = "\n".join(texts)


def _write_thinking(block: ThinkingBlock | RedactedThinkingBlock) -> JsonObject:
    return text_part(block) if isinstance(block, ThinkingBlock) else {}


VIEW = View(NAME, read, write)
