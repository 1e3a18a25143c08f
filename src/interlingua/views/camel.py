"""The camel view: a context of system prompt, messages and tools, with keys in camelCase.

Three kinds of message and four of block, each where it belongs: anything else is an error. The
assistant's messages have their maker, stop reason and cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from decimal import Decimal
from math import isfinite
from typing import Any

from interlingua.errors import found
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role, from_micros, micros
from interlingua.model.metadata import (
    CostBreakdown,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)
from interlingua.model.reasons import because, source_unsupported
from interlingua.model.tools import ToolDefinition
from interlingua.views.base import (
    Account,
    Fields,
    View,
    Written,
    as_string,
    one_or_more,
    placed,
    present,
    raw_of,
    spelling_of,
    with_rest,
)

NAME = "camel"

STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "toolUse": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "aborted": StopReason.CANCELLED,
}
STOP_WORDS: dict[StopReason, str] = {
    **{reason: word for word, reason in STOP_REASONS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.OTHER: "stop",
    StopReason.CONTENT_FILTER: "error",
    StopReason.REFUSAL: "error",
}
"""The stop word for each reason; those beyond the first five are approximations."""

STATUSES: dict[str | None, MessageStatus] = {
    "error": MessageStatus.ERROR,
    "aborted": MessageStatus.CANCELLED,
}
"""The status that a stop word implies; all others mean a complete message."""

STRINGS: dict[str, str] = {
    "protocol": "protocol",
    "provider": "provider",
    "responseModel": "response_model",
    "responseId": "response_id",
    "errorMessage": "error_message",
}
COUNTS: dict[str, str] = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cacheRead": "cached_input_tokens",
    "cacheWrite": "cache_creation_input_tokens",
}
COSTS: dict[str, str] = {
    "input": "input",
    "output": "output",
    "cacheRead": "cached_input",
    "cacheWrite": "cache_creation",
}
"""Fields of the wire and of the model, for metadata, usage and cost."""

PROTOCOLS: dict[str, str] = {
    "anthropic-messages": "anthropic",
    "azure-openai-responses": "openai-responses",
    "bedrock-converse-stream": "bedrock",
    "google-gemini-cli": "gemini",
    "google-generative-ai": "gemini",
    "google-vertex": "gemini",
    "openai-codex-responses": "openai-responses",
    "openai-completions": "openai-chat",
}
"""Other names of protocols (from pi-ai, read 2026-11) and their dialects."""
DIALECTS = frozenset({*PROTOCOLS.values(), "gemini-interactions", "ollama", "openrouter"})
PROVIDERS: dict[str, str] = {
    "amazon-bedrock": "bedrock",
    "anthropic": "anthropic",
    "azure": "openai-responses",
    "bedrock": "bedrock",
    "gemini": "gemini",
    "google": "gemini",
    "ollama": "ollama",
    "openai": "openai-responses",
    "openrouter": "openrouter",
    "vertex": "gemini",
}
"""The dialect of a provider's signatures, for messages with a protocol of their own naming."""

_HELD = {*STRINGS.values(), "model", "usage", "stop_reason", "status", "diagnostics"}


# Reading the metadata of an answer


def read_provenance(fields: Fields, form: str | None) -> tuple[MessageMetadata, datetime | None]:
    strings: dict[str, Any] = {f: fields.filled(name, str) for name, f in STRINGS.items()}
    protocol = strings["protocol"]
    strings["protocol"] = _dialect(protocol, strings["provider"])
    model, word = fields.filled("model", str), fields.filled("stopReason", str)
    if model is not None and strings["provider"] is not None:
        model = f"{strings['provider']}:{model}"
    metadata = MessageMetadata(
        model=model,
        usage=_read_usage(fields),
        stop_reason=None if word is None else fields.known("stopReason", word, STOP_REASONS),
        status=STATUSES.get(word, MessageStatus.COMPLETE),
        diagnostics=_read_diagnostics(fields),
        **strings,
    )
    created_at = _read_time(fields, "timestamp")
    wire_protocol = None if protocol == metadata.protocol else protocol or ""
    return metadata.replace(
        provider_raw=fields.raw(content=form, protocol=wire_protocol)
    ), created_at


def _dialect(protocol: str | None, provider: str | None) -> str | None:
    """The dialect of a protocol name, otherwise the provider's; the name itself if both are
    unknown."""
    if protocol in DIALECTS:
        return protocol
    return PROTOCOLS.get(protocol or "") or PROVIDERS.get(provider or "") or protocol


def _read_time(fields: Fields, name: str) -> datetime | None:
    ms = fields.optional(name, int)
    try:
        return None if ms is None else from_micros(ms * 1000)
    except OverflowError:
        raise fields.error(name, "milliseconds of a year up to 9999", found(ms)) from None


def _read_usage(fields: Fields) -> Usage | None:
    data = fields.object("usage")
    if data is None:
        return None
    counts: dict[str, Any] = {field: data.optional(name, int) for name, field in COUNTS.items()}
    usage = Usage(**counts)
    total = data.optional("totalTokens", int)
    if total is not None and total != usage.total_tokens:
        data.left["totalTokens"] = total  # the provider counts something more, or less
    form = "none" if total is None else None
    usage = _with_cost(usage, data)
    return usage.replace(raw=data.raw(totalTokens=form))


def _with_cost(usage: Usage, data: Fields) -> Usage:
    plain = data.filled("cost", dict)
    if plain is None:
        return usage
    cost = data.inside["cost"] = Fields(NAME, plain, data.place("cost"))
    parts = {field: _read_money(cost, name) for name, field in COSTS.items()}
    known = {field: item for field, item in parts.items() if item is not None}
    breakdown = CostBreakdown(**known) if known else None
    return usage.replace(cost_usd=_read_money(cost, "total"), cost_breakdown=breakdown)


def _read_money(fields: Fields, name: str) -> Decimal | None:
    number = fields.optional(name, float)
    return None if number is None else Decimal(repr(number))


def _read_diagnostics(fields: Fields) -> tuple[Diagnostic, ...]:
    listed = list(fields.objects("diagnostics", optional=True))
    read = [
        Diagnostic(
            each.require("type", str),
            each.optional("message", str),
            _read_time(each, "timestamp"),
            each.optional("details", dict),
        )
        for each in listed
    ]
    if any(each.left for each in listed):
        fields.left["diagnostics"] = [each.left for each in listed]
    return tuple(read)


# Writing the metadata of an answer


def account_for_provenance(message: Message, account: Account) -> None:
    """Everything beside the content that the view has no field for."""
    account.message(message, "created_at", metadata=_HELD)
    known, place = message.metadata, f"{account.path}.metadata"
    if known.usage is not None:
        held = (*COUNTS.values(), "cost_usd", "cost_breakdown")
        account.fields(known.usage, f"{place}.usage", *held, severity="info")
    word = _stop_word(known)
    if known.stop_reason is not None and STOP_REASONS[str(word)] is not known.stop_reason:
        reason = because("sent_as", value=word)
        account.lost(f"{place}.stop_reason", reason, kind="approximated")
    status = STATUSES.get(word, MessageStatus.COMPLETE)
    if status is not known.status:
        account.lost(f"{place}.status", because("read_as", value=status), kind="approximated")


def write_provenance(message: Message, account: Account) -> JsonObject:
    known, place = message.metadata, f"{account.path}.metadata"
    strings = {name: getattr(known, field) for name, field in STRINGS.items()}
    strings["protocol"] = _protocol(known)
    return present(
        **strings,
        model=_bare_model(known, place, account),
        usage=_write_usage(known.usage, f"{place}.usage", account),
        stopReason=_stop_word(known),
        diagnostics=_write_diagnostics(known, f"{place}.diagnostics", account),
        timestamp=_write_time(message.created_at, f"{account.path}.created_at", account),
    )


def _protocol(metadata: MessageMetadata) -> str | None:
    """The original protocol name, if it still means the dialect."""
    word = spelling_of(NAME, metadata.provider_raw).get("protocol")
    if isinstance(word, str) and _dialect(word or None, metadata.provider) == metadata.protocol:
        return word or None
    return metadata.protocol


def _stop_word(metadata: MessageMetadata) -> str | None:
    if metadata.stop_reason is not None:
        return STOP_WORDS.get(metadata.stop_reason, STOP_WORDS[StopReason.OTHER])
    return next((word for word, status in STATUSES.items() if status is metadata.status), None)


def _bare_model(metadata: MessageMetadata, path: str, account: Account) -> str | None:
    """The model's name without the provider, which has a field of its own."""
    model, provider = metadata.model, metadata.provider
    if model is None or not provider:
        return model
    if not model.startswith(f"{provider}:"):
        reason = because("read_as_provider", provider=provider)
        account.lost(f"{path}.model", reason, "info", "approximated")
    return model.removeprefix(f"{provider}:")


def _write_time(time: datetime | None, path: str, account: Account) -> int | None:
    if time is None:
        return None
    ms, rest = divmod(micros(time), 1000)
    if rest:
        account.lost(path, because("milliseconds"), "info", "approximated")
    return ms


def _write_usage(usage: Usage | None, path: str, account: Account) -> JsonObject | None:
    if usage is None:
        return None
    out = present(**{name: getattr(usage, field) for name, field in COUNTS.items()})
    has_own_total = "totalTokens" in raw_of(NAME, usage.raw)
    if not has_own_total and spelling_of(NAME, usage.raw).get("totalTokens") != "none":
        out |= present(totalTokens=usage.total_tokens)
    if cost := _write_cost(usage, path, account):
        out["cost"] = cost
    return with_rest(NAME, usage.raw, out)


def _write_cost(usage: Usage, path: str, account: Account) -> JsonObject:
    breakdown, parts = usage.cost_breakdown, {}
    if breakdown is not None:
        place = f"{path}.cost_breakdown"
        parts = {
            name: _write_money(getattr(breakdown, field), f"{place}.{field}", account)
            for name, field in COSTS.items()
        }
        if breakdown.tools:
            account.lost(f"{place}.tools", because("only_in_total"), "info")
    return present(**parts, total=_write_money(usage.cost_usd, f"{path}.cost_usd", account))


def _write_money(amount: Decimal | None, path: str, account: Account) -> float | int | None:
    """A JSON number; the amount is exact in most cases, and else as near as it gets."""
    if amount is None:
        return None
    number = float(amount)
    if not isfinite(number):
        account.lost(path, because("not_a_number"))
        return None
    if Decimal(repr(number)) != amount:
        account.lost(path, because("nearest_float"), "info", "approximated")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _write_diagnostics(
    metadata: MessageMetadata, path: str, account: Account
) -> list[JsonObject] | None:
    rests: Any = raw_of(NAME, metadata.provider_raw).get("diagnostics")
    out = [
        present(
            type=each.type,
            message=each.message,
            timestamp=_write_time(each.timestamp, f"{path}[{number}].timestamp", account),
            details=each.details,
        )
        for number, each in enumerate(metadata.diagnostics)
    ]
    if isinstance(rests, list) and len(rests) == len(out):
        pairs = zip(rests, out, strict=True)
        out = [{**rest, **each} if isinstance(rest, dict) else each for rest, each in pairs]
    return out or None


BLOCKS: tuple[str, ...] = ("text", "thinking", "image", "toolCall")
PLACEMENT: dict[Role, frozenset[str]] = {
    Role.USER: frozenset({"text", "image"}),
    Role.ASSISTANT: frozenset({"text", "thinking", "toolCall"}),
    Role.TOOL: frozenset({"text", "image"}),
}
"""The block types that each kind of message may contain."""


def read_block(fields: Fields, role: Role) -> Block:
    kind = fields.word("type", {name: name for name in BLOCKS})
    if kind not in PLACEMENT[role]:
        allowed = ", ".join(name for name in BLOCKS if name in PLACEMENT[role])
        raise fields.error("type", f"one of {allowed} in this message", repr(kind))
    match kind:
        case "text":
            text, signature = fields.require("text", str), fields.filled("textSignature", str)
            return TextBlock(text, signature, raw=fields.raw())
        case "image":
            return _read_image(fields)
        case "thinking":
            return _read_thinking(fields)
        case _:
            return _read_call(fields)


def _read_image(fields: Fields) -> ImageBlock:
    source = Source("base64", fields.require("data", str))
    return ImageBlock(source, fields.filled("mimeType", str), raw=fields.raw())


def _read_thinking(fields: Fields) -> Block:
    text, signature = fields.require("thinking", str), fields.filled("thinkingSignature", str)
    if fields.filled("redacted", bool):
        raw = fields.raw(thinking=text or None)  # a placeholder, nothing that was thought
        return RedactedThinkingBlock(signature or "", raw=raw)
    return ThinkingBlock(text, signature, raw=fields.raw())


def _read_call(fields: Fields) -> ToolUseBlock:
    id, name = fields.require("id", str), fields.require("name", str)
    arguments, signature = (
        fields.optional("arguments", dict),
        fields.filled("thoughtSignature", str),
    )
    return ToolUseBlock(id, name, arguments or {}, signature=signature, raw=fields.raw())


def write_content(
    blocks: Sequence[Block], role: Role, path: str, account: Account
) -> list[JsonObject]:
    parts = [_write_block(block, role, place, account) for block, place in placed(blocks, path)]
    return [part for part in parts if part is not None]


_WORDS: Mapping[type[Block], str] = {
    TextBlock: "text",
    RefusalBlock: "text",
    ImageBlock: "image",
    ThinkingBlock: "thinking",
    RedactedThinkingBlock: "thinking",
    ToolUseBlock: "toolCall",
}


def _write_block(block: Block, role: Role, path: str, account: Account) -> JsonObject | None:
    if type(block) is CompactionBlock:
        text = account.summary(path, block)
        return None if text is None else {"type": "text", "text": text.text}
    if _WORDS.get(type(block)) not in PLACEMENT[role]:
        account.block(path, block, because("content_unsupported"))
        return None
    match block:
        case TextBlock() | RefusalBlock():
            return _write_text(block, path, account)
        case ImageBlock():
            return _write_image(block, path, account)
        case ThinkingBlock():
            account.fields(block, path, *_held(block, "text"))
            out = {"type": "thinking", "thinking": block.text}
            return _signed(block, out, "thinkingSignature")
        case RedactedThinkingBlock():
            return _write_redacted(block, path, account)
        case ToolUseBlock(executor="client"):
            return _write_call(block, path, account)
        case _:
            account.block(path, block, because("no_hosted_tools"))
            return None


def is_signed(message: Message) -> bool:
    """Whether something in it is only for its issuer to read."""
    return any(
        isinstance(block, RedactedThinkingBlock) or getattr(block, "signature", None)
        for block in message.content
    )


def _held(block: TextBlock | ThinkingBlock | ToolUseBlock, *names: str) -> tuple[str, ...]:
    """The fields that the wire holds; it leaves out empty signatures."""
    return (*names, "signature") if block.signature != "" else names


def _signed(
    block: TextBlock | ThinkingBlock | ToolUseBlock, out: JsonObject, key: str
) -> JsonObject:
    if block.signature:
        out[key] = block.signature
    return with_rest(NAME, block.raw, out)


def _write_text(block: TextBlock | RefusalBlock, path: str, account: Account) -> JsonObject:
    out: JsonObject = {"type": "text", "text": block.text}
    if isinstance(block, RefusalBlock):
        account.fields(block, path, "text")
        account.lost(path, because("refusal_as_text"), kind="downgraded", block=block)
        return with_rest(NAME, block.raw, out)
    account.fields(block, path, *_held(block, "text"))
    return _signed(block, out, "textSignature")


def _write_image(block: ImageBlock, path: str, account: Account) -> JsonObject | None:
    if block.source.kind != "base64" or block.source.data is None:
        account.block(path, block, source_unsupported(block.source.kind))
        return None
    account.fields(block, path, "source", "media_type")
    out = present(type="image", data=block.source.data, mimeType=block.media_type or None)
    return with_rest(NAME, block.raw, out)


def _write_redacted(block: RedactedThinkingBlock, path: str, account: Account) -> JsonObject:
    account.fields(block, path, "data")
    placeholder = spelling_of(NAME, block.raw).get("thinking")
    text = placeholder if isinstance(placeholder, str) else ""
    out: JsonObject = {"type": "thinking", "thinking": text}
    if block.data:
        out["thinkingSignature"] = block.data
    return with_rest(NAME, block.raw, {**out, "redacted": True})


def _write_call(block: ToolUseBlock, path: str, account: Account) -> JsonObject:
    held = _held(block, "id", "name", "input", "raw_arguments", "executor")
    account.fields(block, path, *held)
    account.arguments(block, path)
    out: JsonObject = {"type": "toolCall", "id": block.id, "name": block.name}
    out["arguments"] = block.input
    return _signed(block, out, "thoughtSignature")


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
        return Request(tuple([_read_message(each) for each in one_or_more(NAME, plain)]))
    fields = Fields(NAME, plain, "$")
    prompt = fields.optional("systemPrompt", str)
    system = [] if prompt is None else [Message.system(prompt)]
    messages, tools = fields.items("messages"), fields.items("tools", optional=True)
    return Request(
        (*system, *[_read_message(Fields(NAME, item, path)) for item, path in messages]),
        tools=tuple([_read_tool(Fields(NAME, item, path)) for item, path in tools]),
        raw=fields.raw(),
    )


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
    id, name = fields.require("toolCallId", str), fields.filled("toolName", str)
    is_error = fields.optional("isError", bool)
    missing = {"tool_name": name is None, "is_error": is_error is None}
    block = ToolResultBlock(id, tuple(blocks), bool(is_error), name)
    raw = fields.raw(content=form, missing=[n for n, out in missing.items() if out] or None)
    metadata = MessageMetadata(parent_tool_use_id=id, provider_raw=raw)
    return Message(Role.TOOL, (block,), metadata=metadata)


def _read_content(fields: Fields, role: Role) -> tuple[list[Block], str | None]:
    """The blocks, and `string` where they were one; only a user's may be."""
    if role is Role.USER and isinstance(fields.left.get("content"), str):
        text = fields.require("content", str)
        return ([TextBlock(text)] if text else []), "string"
    items = fields.items("content")
    return [read_block(Fields(NAME, item, path), role) for item, path in items], None


def _read_tool(fields: Fields) -> ToolDefinition:
    name, description = fields.require("name", str), fields.optional("description", str)
    parameters = fields.optional("parameters", dict)
    return ToolDefinition(name, description, parameters, raw=fields.raw())


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """A context without tools; `issuer`: the dialect that the messages were read from, for those
    that name none."""
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
            form = spelling_of(NAME, message.metadata.provider_raw)
            out["content"] = as_string(content, form.get("content") == "string")
        yield with_rest(NAME, message.metadata.provider_raw, out)

    def result(
        self, message: Message, block: ToolResultBlock, path: str, account: Account
    ) -> JsonObject:
        account.fields(block, path, "tool_use_id", "content", "is_error", "tool_name")
        raw = message.metadata.provider_raw
        missing = spelling_of(NAME, raw).get("missing")
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
        """The text of all instructions; a single system message is written without loss."""
        prompts = [
            (number, message)
            for number, message in enumerate(self.messages)
            if message.role in (Role.SYSTEM, Role.DEVELOPER)
        ]
        if not prompts:
            return None
        for number, message in prompts:
            account = Account(self.report, f"{self.root}[{number}]", message)
            _account_for_prompt(message, account, len(prompts) > 1, number != 0)
        texts = [text for _, m in prompts if (text := m.text) or len(prompts) == 1]
        return _BETWEEN_PROMPTS.join(texts)


def _account_for_prompt(message: Message, account: Account, joined: bool, later: bool) -> None:
    account.message(message)
    texts = 0
    for block, place in placed(message.content, account.path):
        if isinstance(block, TextBlock):
            account.fields(block, place, "text")
            texts += 1
        else:
            account.block(place, block)
    if joined or later:
        reason = because("instructions_joined")
        account.lost(account.path, reason, kind="moved" if later else "approximated")
        return
    if message.role is Role.DEVELOPER:
        account.lost(f"{account.path}.role", because("instructions_one_level"), kind="approximated")
    if texts > 1 or (texts == 1 and not message.text):
        account.lost(f"{account.path}.content", because("joined"), "info", "approximated")


VIEW = View(NAME, read, write, read_context, write_context)


class CamelMessage(Mapping[str, Any]):
    """A message in the terms of this view: its JSON by key, `Text()` and `ToolCalls()`."""

    def __init__(self, message: Message | None) -> None:
        self._plain: dict[str, Any] = {}
        if message is not None:
            self._plain = write([message]).wire["messages"][0]

    def __getitem__(self, key: str) -> Any:
        return self._plain[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)

    def Text(self) -> str:  # noqa: N802 - the document's own name
        """The text blocks in order; empty for no message."""
        return "".join(block["text"] for block in self._blocks("text"))

    def ToolCalls(self) -> list[dict[str, Any]]:  # noqa: N802 - as above
        """Copies of the calls in order."""
        return deepcopy(self._blocks("toolCall"))

    def _blocks(self, type: str) -> list[dict[str, Any]]:
        content = self._plain.get("content", [])
        if isinstance(content, str):
            return [{"type": "text", "text": content}] if type == "text" else []
        return [block for block in content if block["type"] == type]
