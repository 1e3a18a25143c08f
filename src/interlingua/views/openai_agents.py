"""The openai-agents view: items of OpenAI's Agents SDK, as `result.to_input_list()` gives them.

They are items of the Responses API, which the dialect of that name reads and writes. Beside it, the
SDK keeps what other providers signed in `provider_data`. (openai-agents 0.24.0, read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from interlingua.dialects.registry import dialect
from interlingua.errors import ReadError, found
from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block, RedactedThinkingBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because
from interlingua.views.base import FORM, ISSUER, Account, View, Written, raw_of, spelling_of

NAME = "openai-agents"
DIALECT = "openai-responses"
DATA = "provider_data"
NO_ID = "__fake_id__"
"""The SDK's own id for reasoning that has none."""
THINKING, SIGNATURE = "thinking_blocks", "thought_signature"
OWN = (None, DIALECT, "openai", "azure", "openai-chat")
"""Issuers whose signatures are in the items themselves."""
CLAUDES = ("anthropic", "bedrock", "vertex")
GOOGLES = ("gemini",)
_ITEM = "$item"
"""The dialect's key for unknown members of an item."""


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """The messages of a list of items, of a single one, or of the text of a user."""
    return read_context(plain).messages


def read_context(plain: Any) -> Request:
    """The request with tools that were added later, and references to items that OpenAI stores."""
    items = [plain] if isinstance(plain, dict) else plain
    if not isinstance(items, (list, str)):
        raise ReadError(f"{NAME} view", "$", "a list of items", found(plain))
    if isinstance(items, str):
        return Request((Message.user(items),))
    request = dialect(DIALECT).read_request({"input": items})
    messages = tuple([_opened(message) for message in request.messages])
    return Request(messages, tools=request.tools, continues=request.continues)


def _opened(message: Message) -> Message:
    if message.role is not Role.ASSISTANT:
        return message
    return message.replace(content=tuple([_open(block) for block in message.content]))


def _open(block: Block) -> Block:
    """A block with the signature that another provider made, taken out of `provider_data`."""
    own = raw_of(DIALECT, block.raw)
    match block:
        case ThinkingBlock() if isinstance(_data(own.get(_ITEM)), dict):
            return _opened_thinking(block, own)
        case ToolUseBlock() if isinstance(_data(own), dict):
            data = own[DATA]
            if isinstance(data.get(SIGNATURE), str) and block.signature is None:
                rest = {**own, DATA: _without(data, SIGNATURE)}
                return block.replace(signature=data[SIGNATURE], raw=_raw_of_view(rest, "gemini"))
    return block


def _data(holder: Any) -> Any:
    return holder.get(DATA) if isinstance(holder, dict) else None


def _object(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _opened_thinking(block: ThinkingBlock, own: JsonObject) -> Block:
    item = own[_ITEM]
    data = item[DATA]
    id = None if block.id == NO_ID else block.id
    if block.signature is None and isinstance(data.get(SIGNATURE), str):
        rest = {**own, _ITEM: {**item, DATA: _without(data, SIGNATURE)}}
        return block.replace(signature=data[SIGNATURE], id=id, raw=_raw_of_view(rest, "gemini"))
    sealed = data.get(THINKING)
    if not isinstance(sealed, list) or not sealed:
        return block
    rest = {**own, _ITEM: {**item, DATA: _without(data, THINKING)}}
    match sealed, block:
        case (
            [{"type": "thinking", "thinking": str(text), "signature": str(signature), **more}],
            ThinkingBlock(signature=None),
        ) if text == block.text and not more:
            return block.replace(signature=signature, id=id, raw=_raw_of_view(rest, "anthropic"))
        case (
            [{"type": "redacted_thinking", "data": str(text), **more}],
            ThinkingBlock(text="", signature=None),
        ) if not more and id is None:
            return RedactedThinkingBlock(text, raw=_raw_of_view(rest, "anthropic"))
    return block.replace(raw=_raw_of_view(own, "anthropic"))  # all of it is preserved


def _without(data: JsonObject, name: str) -> JsonObject:
    return {key: item for key, item in data.items() if key != name}


def _raw_of_view(own: JsonObject, issuer: str) -> JsonObject:
    """The `raw` of a block that OpenAI did not make, under the name of the view, so no dialect
    takes it for its own."""
    form = own.get(FORM)
    return {NAME: {**own, FORM: {**(form if isinstance(form, dict) else {}), ISSUER: issuer}}}


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """A list of items; `issuer` is the source dialect, for messages that name none."""
    wire, report = write_context(Request(tuple(messages)), issuer)
    entries = [
        replace(entry, path=f"${entry.path.removeprefix('$.messages')}") for entry in report.entries
    ]
    return Written(wire, Report(NAME, entries))


def write_context(request: Request, issuer: str | None = None) -> Written:
    """The same with references and tools; paths in the report are those of the request."""
    report = Report(NAME)
    closed = []
    for number, message in enumerate(request.messages):
        account = Account(report, f"$.messages[{number}]", message, issuer)
        closed.append(_closed(message, account))
        _account_for_metadata(message, account)
    written = dialect(DIALECT).write_request(
        Request(tuple(closed), tools=request.tools, continues=request.continues)
    )
    report.extend(written.report)
    Account(report, "$").request(request.replace(continues=None))
    beside = [tool.get("name") for tool in written.wire.get("tools", [])]
    for number, tool in enumerate(request.tools):
        if tool.name in beside:
            report.add("dropped", f"$.tools[{number}]", because("unsupported"))
    return Written(_items(written.wire), report)


def _items(wire: JsonObject) -> list[JsonObject]:
    """All items; instructions are an item in front."""
    items = wire.get("input", [])
    items = [{"role": "user", "content": items}] if isinstance(items, str) else items
    instructions = wire.get("instructions")
    if instructions is None:
        return items
    first = (
        instructions
        if isinstance(instructions, list)
        else [{"role": "system", "content": instructions}]
    )
    return [*first, *items]


def _account_for_metadata(message: Message, account: Account) -> None:
    """Reports the metadata of an answer, which has no place among items."""
    known = message.metadata
    derived = {getattr(block, "tool_use_id", None) for block in message.content}
    aside = {"protocol", "provider_raw", "diagnostics"}
    if known.parent_tool_use_id in derived:
        aside.add("parent_tool_use_id")
    account.fields(known, f"{account.path}.metadata", *aside, severity="info")
    for name in ("id", "session_id", "created_at"):
        if getattr(message, name) is not None:
            account.lost(f"{account.path}.{name}", because("unsupported"))


def _closed(message: Message, account: Account) -> Message:
    if message.role is not Role.ASSISTANT:
        return message
    return message.replace(content=tuple([_close(block, account) for block in message.content]))


def _close(block: Block, account: Account) -> Block:
    """A block as the dialect writes it, with signatures of others in `provider_data`."""
    issuer = account.issuer_of(block)
    signature = getattr(block, "signature", None)
    if issuer in OWN or (signature is None and not isinstance(block, RedactedThinkingBlock)):
        return _with_dialect_raw(block)
    own = raw_of(NAME, block.raw)
    if THINKING in _object(_data(own.get(_ITEM))):
        return _with_dialect_raw(block)
    match block:
        case ThinkingBlock(text) if issuer in CLAUDES:
            sealed = {"type": "thinking", "thinking": text, "signature": signature}
            raw = _with_provider_data(block, {THINKING: [sealed]})
            return block.replace(signature=None, id=block.id or NO_ID, raw=raw)
        case ThinkingBlock() if issuer in GOOGLES:
            raw = _with_provider_data(block, {SIGNATURE: signature})
            return block.replace(signature=None, id=block.id or NO_ID, raw=raw)
        case RedactedThinkingBlock(sealed_data) if issuer in CLAUDES:
            sealed = {"type": "redacted_thinking", "data": sealed_data}
            raw = _with_provider_data(block, {THINKING: [sealed]})
            return ThinkingBlock("", id=NO_ID, cache=block.cache, raw=raw)
        case ToolUseBlock() if issuer in GOOGLES:
            data = _object(own.get(DATA))
            raw = {**(_with_dialect_raw(block).raw or {})}
            raw[DIALECT] = {**raw_of(DIALECT, raw), DATA: {**data, SIGNATURE: signature}}
            return block.replace(signature=None, raw=raw)
    return _with_dialect_raw(block)


def _with_dialect_raw(block: Block) -> Block:
    """A block whose `raw` of the view is moved back to the dialect."""
    if NAME not in (block.raw or {}):
        return block
    raw = dict(block.raw or {})
    own = {**raw.pop(NAME)}
    form = {key: item for key, item in spelling_of(NAME, block.raw).items() if key != ISSUER}
    own[FORM] = form
    return block.replace(raw={**raw, DIALECT: own})


def _with_provider_data(block: Block, more: JsonObject) -> JsonObject:
    """The `raw` of a block, with more in the `provider_data` of its item."""
    raw = dict(_with_dialect_raw(block).raw or {})
    own = raw_of(DIALECT, raw)
    item = _object(own.get(_ITEM))
    data = _object(_data(item))
    form = {**spelling_of(DIALECT, raw)}
    form.setdefault("item", {})
    raw[DIALECT] = {**own, _ITEM: {**item, DATA: {**data, **more}}, FORM: form}
    return raw


VIEW = View(NAME, read, write, read_context, write_context)
