"""The camel view: a context of system prompt, messages and tools, with keys in camelCase.

Three kinds of message and four of block, each where it belongs: anything else is an error. The
assistant's messages say who made them, how they ended and what they cost (`camel_provenance`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from interlingua.losses import Report
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.tools import ToolDefinition
from interlingua.views.account import Account
from interlingua.views.base import Written, form_of, present, with_rest
from interlingua.views.camel_blocks import is_signed, read_block, write_content
from interlingua.views.camel_provenance import (
    NAME,
    account_for_provenance,
    read_provenance,
    write_provenance,
)
from interlingua.views.reading import Fields, item_list
from interlingua.views.view import View

ROLES: dict[str, Role] = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "toolResult": Role.TOOL,
}
_BETWEEN_PROMPTS = "\n\n"


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """The messages of a context, its system prompt first; or a list of messages."""
    return read_context(plain).messages


def read_context(plain: Any) -> Request:
    """A whole context, tools included; a list is a context of messages only."""
    if isinstance(plain, list):
        return Request(tuple(_read_messages(item_list(NAME, plain))))
    fields = Fields(NAME, plain, "$")
    prompt = fields.maybe("systemPrompt", str)
    system = [] if prompt is None else [Message.system(prompt)]
    messages = fields.items("messages")
    has_tools = fields.filled("tools", list)
    tools = item_list(NAME, has_tools or [], "$.tools")
    return Request(
        (*system, *_read_messages(messages)),
        tools=tuple([_read_tool(Fields(NAME, item, path)) for item, path in tools]),
        raw=fields.raw(),
    )


def _read_messages(items: list[tuple[Any, str]]) -> Iterator[Message]:
    for item, path in items:
        yield _read_message(Fields(NAME, item, path))


def _read_message(fields: Fields) -> Message:
    role = fields.word("role", ROLES)
    blocks, form = _read_content(fields, role)
    if role is Role.ASSISTANT:
        metadata, created_at = read_provenance(fields, form)
        return Message(role, tuple(blocks), metadata=metadata, created_at=created_at)
    if role is Role.USER:
        metadata = MessageMetadata(provider_raw=fields.raw(content=form))
        return Message(role, tuple(blocks), metadata=metadata)
    return _read_result(fields, blocks, form)


def _read_result(fields: Fields, blocks: Sequence[Any], form: str | None) -> Message:
    id, name = fields.need("toolCallId", str), fields.filled("toolName", str)
    is_error = fields.maybe("isError", bool)
    missing = {"tool_name": name is None, "is_error": is_error is None}
    block = ToolResultBlock(id, tuple(blocks), bool(is_error), name)
    raw = fields.raw(content=form, missing=[n for n, out in missing.items() if out] or None)
    metadata = MessageMetadata(parent_tool_use_id=id, provider_raw=raw)
    return Message(Role.TOOL, (block,), metadata=metadata)


def _read_content(fields: Fields, role: Role) -> tuple[list[Block], str | None]:
    """The blocks, and `string` where they were one; only a user's may be."""
    if role is Role.USER and isinstance(fields.left.get("content"), str):
        text = fields.need("content", str)
        return ([TextBlock(text)] if text else []), "string"
    items = fields.items("content")
    return [read_block(Fields(NAME, item, path), role) for item, path in items], None


def _read_tool(fields: Fields) -> ToolDefinition:
    name, description = fields.need("name", str), fields.maybe("description", str)
    parameters = fields.maybe("parameters", dict)
    return ToolDefinition(name, description, parameters, raw=fields.raw())


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """A context without tools; `issuer` is the dialect that the messages were read from, where they
    do not say it."""
    report = Report(NAME)
    return Written(_Writer(report, tuple(messages), "$", issuer).context(), report)


def write_context(request: Request, issuer: str | None = None) -> Written:
    """A context; paths in the report are those of the request."""
    report = Report(NAME)
    context = _Writer(report, request.messages, "$.messages", issuer).context()
    account = Account(report, "$")
    account.request(request)
    if request.tools:
        numbered = enumerate(request.tools)
        context["tools"] = [_write_tool(tool, f"$.tools[{n}]", account) for n, tool in numbered]
    return Written(with_rest(NAME, request.raw, context), report)


def _write_tool(tool: ToolDefinition, path: str, account: Account) -> JsonObject:
    account.fields(tool, path, "name", "description", "input_schema")
    out = present(name=tool.name, description=tool.description, parameters=tool.input_schema)
    return with_rest(NAME, tool.raw, out)


class _Writer:
    def __init__(
        self, report: Report, messages: Sequence[Message], root: str, issuer: str | None
    ) -> None:
        self.report = report
        self.messages = messages
        self.root = root
        self.issuer = issuer
        self.names: dict[str, str] = {}
        """The tool of each call so far."""

    def context(self) -> JsonObject:
        prompt = self.system_prompt()
        wire = [out for n, message in enumerate(self.messages) for out in self.message(n, message)]
        return present(systemPrompt=prompt, messages=wire)

    def message(self, number: int, message: Message) -> Iterator[JsonObject]:
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            return
        account = Account(self.report, f"{self.root}[{number}]", message)
        if message.role is Role.TOOL:
            for place, block in account.results(message):
                yield self.result(message, block, place, account)
            return
        self.names |= {b.id: b.name for b in message.content if isinstance(b, ToolUseBlock)}
        content = write_content(message.content, message.role, account.path, account)
        out: JsonObject = {"role": message.role.value, "content": content}
        if message.role is Role.ASSISTANT:
            account_for_provenance(message, account)
            out |= write_provenance(message, account)
            if self.issuer is not None and is_signed(message):
                out.setdefault("protocol", self.issuer)
        else:
            account.message(message)
            out["content"] = _as_string(content, message)
        yield with_rest(NAME, message.metadata.provider_raw, out)

    def result(
        self, message: Message, block: ToolResultBlock, path: str, account: Account
    ) -> JsonObject:
        account.fields(block, path, "tool_use_id", "content", "is_error", "tool_name")
        raw = message.metadata.provider_raw
        missing = form_of(NAME, raw).get("missing")
        missing = missing if isinstance(missing, list) else []
        name = block.tool_name
        if not name and "tool_name" not in missing:
            name = self.names.get(block.tool_use_id)
        out = present(role="toolResult", toolCallId=block.tool_use_id, toolName=name or None)
        out["content"] = write_content(block.content, Role.TOOL, path, account)
        if block.is_error or "is_error" not in missing:
            out["isError"] = block.is_error
        return with_rest(NAME, raw, out)

    def system_prompt(self) -> str | None:
        """The text of all instructions; one system message alone is said without loss."""
        said = [
            (number, message)
            for number, message in enumerate(self.messages)
            if message.role in (Role.SYSTEM, Role.DEVELOPER)
        ]
        if not said:
            return None
        for number, message in said:
            account = Account(self.report, f"{self.root}[{number}]", message)
            _account_for_prompt(message, account, len(said) > 1, number != 0)
        texts = [text for _, m in said if (text := m.text) or len(said) == 1]
        return _BETWEEN_PROMPTS.join(texts)


def _account_for_prompt(message: Message, account: Account, joined: bool, later: bool) -> None:
    account.message(message)
    texts = 0
    for number, block in enumerate(message.content):
        place = f"{account.path}.content[{number}]"
        if isinstance(block, TextBlock):
            account.fields(block, place, "text")
            texts += 1
        else:
            account.block(place, block)
    if joined or later:
        reason = "one system prompt for all instructions"
        account.lost(account.path, reason, kind="moved" if later else "approximated")
        return
    if message.role is Role.DEVELOPER:
        account.lost(f"{account.path}.role", "a system prompt", kind="approximated")
    if texts > 1 or (texts == 1 and not message.text):
        account.lost(f"{account.path}.content", "one string", "info", "approximated")


def _as_string(content: list[JsonObject], message: Message) -> str | list[JsonObject]:
    """A user's content, as a string where it was one."""
    if form_of(NAME, message.metadata.provider_raw).get("content") != "string":
        return content
    match content:
        case []:
            return ""
        case [{"type": "text", "text": str(text), **rest}] if text and not rest:
            return text
    return content


VIEW = View(NAME, read, write, read_context, write_context)
