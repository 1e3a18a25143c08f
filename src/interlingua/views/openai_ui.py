"""The chat-completion shapes in which a task's page and its daemon talk: text and calls only.

Messages are strings or lists of text parts; calls stand on assistant messages and nowhere else.
The end of the module has the envelopes that these messages travel in (ids and times belong to the
event stream), `openai_shapes` the types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

from interlingua.errors import WriteError
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role, blocks_of
from interlingua.model.metadata import Diagnostic, MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.views.base import (
    Account,
    Fields,
    View,
    Written,
    item_list,
    placed,
    present,
    raw_of,
    read_arguments,
    recovered_again,
    spelling_of,
    with_rest,
    write_arguments,
)

NAME = "openai-ui"
ROLES: dict[str, Role] = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
}
STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
}


# Making messages


def user_message(text: str) -> Message:
    return Message.user(text)


def system_message(text: str) -> Message:
    return Message.system(text)


def assistant_message(text: str, tool_calls: Iterable[ToolUseBlock] = ()) -> Message:
    return Message.assistant([*blocks_of(text), *tool_calls])


def tool_message(text: str, tool_call_id: str) -> Message:
    return Message.tool_result(tool_call_id, text)


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of messages, or a single one."""
    if isinstance(plain, dict):
        return (message_from_param(plain),)
    return tuple([message_from_param(item, path) for item, path in item_list(NAME, plain)])


def message_from_param(plain: Any, path: str = "$") -> Message:
    """A message of a request."""
    fields = Fields(NAME, plain, path)
    role = fields.word("role", ROLES)
    _refuse_misplaced(fields, role)
    if role is Role.TOOL:
        return _read_result(fields)
    name = fields.optional("name", str)
    texts, form = _read_content(fields)
    calls, diagnostics = _read_calls(fields)
    raw = fields.raw(content=None if form == _usual_form(role, texts, calls) else form)
    metadata = MessageMetadata(diagnostics=diagnostics, provider_raw=raw)
    return Message(role, (*texts, *calls), name, metadata=metadata)


def _refuse_misplaced(fields: Fields, role: Role) -> None:
    for name, owner in (("tool_calls", Role.ASSISTANT), ("tool_call_id", Role.TOOL)):
        if role is not owner and fields.left.get(name) is not None:
            raise fields.error(name, f"{name} only on {owner} messages", f"it on a {role} message")


def _read_result(fields: Fields) -> Message:
    id = fields.require("tool_call_id", str)
    texts, form = _read_content(fields)
    raw = fields.raw(content=None if form == _usual_form(Role.TOOL, texts, []) else form)
    metadata = MessageMetadata(parent_tool_use_id=id, provider_raw=raw)
    return Message(Role.TOOL, (ToolResultBlock(id, tuple(texts)),), metadata=metadata)


def _read_content(fields: Fields) -> tuple[list[TextBlock], str | None]:
    """The texts, and whether they were a `string` or a `list`; None if there are none."""
    value = fields.text_or_list("content")
    if not value:
        if value is not None:
            fields.blank["content"] = value
        return [], None
    if isinstance(value, str):
        return [TextBlock(value)], "string"
    parts = item_list(NAME, value, fields.place("content"))
    return [_read_part(Fields(NAME, part, path)) for part, path in parts], "list"


def _read_part(fields: Fields) -> TextBlock:
    if fields.optional("type", str) not in (None, "text"):
        raise fields.error("type", "text", "another type of part")
    return TextBlock(fields.require("text", str), raw=fields.raw())


def _usual_form(
    role: Role, texts: Sequence[TextBlock], calls: Sequence[ToolUseBlock]
) -> str | None:
    """The default form of content: one text as a string, but as a list beside calls."""
    if not texts:
        return None
    plain = len(texts) == 1 and texts[0].text and not with_rest(NAME, texts[0].raw, {})
    return "string" if plain and not (role is Role.ASSISTANT and calls) else "list"


def _read_calls(fields: Fields) -> tuple[list[ToolUseBlock], tuple[Diagnostic, ...]]:
    items = fields.items("tool_calls", optional=True)
    read = [tool_call_from_openai(item, path) for item, path in items]
    return [call for call, _ in read], tuple([each for _, more in read for each in more])


def tool_call_from_openai(
    plain: Any, path: str = "$"
) -> tuple[ToolUseBlock, tuple[Diagnostic, ...]]:
    """A call, and a diagnostic if its arguments were no JSON as they stood."""
    fields = Fields(NAME, plain, path)
    id = fields.require("id", str)
    if fields.optional("type", str) not in (None, "function"):
        raise fields.error("type", "function", "another type of call")
    function = fields.within("function")
    name, text = function.require("name", str), function.optional("arguments", str)
    input, raw_arguments, diagnostics = read_arguments(text or "", id)
    return ToolUseBlock(id, name, input, raw_arguments, raw=fields.raw()), diagnostics


def message_from_response(plain: Any) -> Message:
    """An answer: the message of a chat completion alone, or the whole completion. Of that the first
    choice counts, with the model, usage and stop reason of the response."""
    if isinstance(plain, dict) and "choices" not in plain and "role" in plain:
        return _answer(dict(plain), "$")
    fields = Fields(NAME, plain, "$")
    choices = fields.items("choices")
    if not choices:
        raise fields.error("choices", "a choice", "none")
    choice = Fields(NAME, *choices[0])
    message = _answer(dict(choice.require("message", dict)), choice.place("message"))
    word = choice.optional("finish_reason", str)
    metadata = message.metadata.replace(
        response_id=fields.optional("id", str),
        response_model=fields.optional("model", str),
        usage=usage_from_openai(fields.left.get("usage"), "$.usage"),
        stop_reason=None if word is None else STOP_REASONS.get(word, StopReason.OTHER),
        raw_stop_reason=word,
    )
    return message.replace(metadata=metadata)


def _answer(plain: JsonObject, path: str) -> Message:
    """A message of a response, which may have a refusal beside its content."""
    refusal = plain.pop("refusal", None)
    message = message_from_param(plain, path)
    refused = (RefusalBlock(refusal),) if isinstance(refusal, str) and refusal else ()
    return message.replace(content=(*message.content, *refused))


def usage_from_openai(plain: Any, path: str = "$") -> Usage | None:
    """Disjoint counts, from counts in which the prompt includes cached tokens."""
    if plain is None:
        return None
    fields = Fields(NAME, plain, path)
    prompt, output = (
        fields.optional("prompt_tokens", int),
        fields.optional("completion_tokens", int),
    )
    fields.optional("total_tokens", int)  # derived
    details = bool(fields.left.get("prompt_tokens_details"))
    cached = (
        fields.within("prompt_tokens_details").optional("cached_tokens", int) if details else None
    )
    fresh = None if prompt is None else prompt - (cached or 0)
    if fresh is not None and fresh < 0:
        fields.left["prompt_tokens"], fresh = prompt, 0  # more cached than there was
    return Usage(fresh, output, cached, raw=fields.raw(details=None if details else "none"))


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """There are no signatures here, so it does not matter whose they are."""
    report = Report(NAME)
    numbered = enumerate(messages)
    wire = [out for n, each in numbered for out in write_message(each, f"$[{n}]", report)]
    return Written(wire, report)


def message_to_param(message: Message) -> Written:
    """One message; its wire is None for a tool message without a call."""
    report = Report(NAME)
    wire = write_message(message, "$", report)
    return Written(wire[0] if wire else None, report)


def write_message(message: Message, path: str, report: Report) -> list[JsonObject]:
    account = Account(report, path, message)
    if message.role is Role.TOOL:
        results = account.results(message)
        return [_write_result(message, block, place, account) for place, block in results]
    texts, calls = _sorted(message, account)
    account.message(message, "name", metadata={"diagnostics"})
    account.diagnostics(message, recovered_again(NAME, calls))
    role = message.role
    if role is Role.DEVELOPER:
        role = Role.SYSTEM
        account.lost(f"{path}.role", because("instructions_one_level"), kind="approximated")
    out = present(role=role.value, name=message.name)
    usual = "list" if calls else "string"
    _write_content(out, texts, usual, spelling_of(NAME, message.metadata.provider_raw))
    if calls:
        out["tool_calls"] = [tool_call_to_openai(call) for call in calls]
    return [with_rest(NAME, message.metadata.provider_raw, out)]


def _sorted(message: Message, account: Account) -> tuple[list[JsonObject], list[ToolUseBlock]]:
    """The text parts and the calls of a message, and an account of everything else."""
    texts: list[JsonObject] = []
    calls: list[ToolUseBlock] = []
    moved = False
    for block, path in placed(message.content, account.path):
        if isinstance(block, (TextBlock, RefusalBlock)):
            texts.append(_write_text(block, path, account))
            moved = moved or bool(calls)
        elif isinstance(block, CompactionBlock):
            summary = account.summary(path, block)
            if summary is not None:
                texts.append({"type": "text", "text": summary.text})
                moved = moved or bool(calls)
        elif _is_client_call(block) and message.role is Role.ASSISTANT:
            account.fields(block, path, "id", "name", "input", "raw_arguments", "executor")
            calls.append(block)
        else:
            account.block(path, block)
    if moved:
        account.lost(f"{account.path}.content", because("order_fixed"), kind="moved")
    return texts, calls


def _is_client_call(block: Block) -> TypeGuard[ToolUseBlock]:
    return isinstance(block, ToolUseBlock) and block.executor == "client"


def _write_text(block: TextBlock | RefusalBlock, path: str, account: Account) -> JsonObject:
    account.fields(block, path, "text")
    if isinstance(block, RefusalBlock):
        account.lost(path, because("refusal_as_text"), kind="downgraded", block=block)
    return with_rest(NAME, block.raw, {"type": "text", "text": block.text})


def _write_content(out: JsonObject, texts: list[JsonObject], usual: str, form: JsonObject) -> None:
    """One text as a string, several as a list, and none not at all."""
    style = form.get("content", usual)
    match texts:
        case [{"type": "text", "text": str(text), **rest}] if text and not rest:
            out["content"] = text if style == "string" else texts
        case [_, *_]:
            out["content"] = texts


def _write_result(
    message: Message, block: ToolResultBlock, path: str, account: Account
) -> JsonObject:
    account.fields(block, path, "tool_use_id", "content")
    texts = []
    for each, place in placed(block.content, path):
        if isinstance(each, TextBlock):
            texts.append(_write_text(each, place, account))
        else:
            account.block(place, each)
    raw = message.metadata.provider_raw
    out: JsonObject = {"role": "tool"}
    _write_content(out, texts, "string", spelling_of(NAME, raw))
    return with_rest(NAME, raw, {**out, "tool_call_id": block.tool_use_id})


def tool_call_to_openai(block: ToolUseBlock, path: str = "$") -> JsonObject:
    function = {"name": block.name, "arguments": write_arguments(NAME, block, path)}
    return with_rest(NAME, block.raw, {"id": block.id, "type": "function", "function": function})


def usage_to_openai(usage: Usage) -> JsonObject:
    """Counts as OpenAI has them; unknown counts are left out, an unknown cache count is null."""
    known = usage.input_tokens is not None
    total = usage.total_tokens if known and usage.output_tokens is not None else None
    out = present(completion_tokens=usage.output_tokens, total_tokens=total)
    if known and "prompt_tokens" not in raw_of(NAME, usage.raw):
        out["prompt_tokens"] = usage.prompt_tokens
    known = usage.cached_input_tokens is not None
    if known or spelling_of(NAME, usage.raw).get("details") != "none":
        out["prompt_tokens_details"] = {"cached_tokens": usage.cached_input_tokens}
    return with_rest(NAME, usage.raw, out)


# Events and the queue of a task


MESSAGE_ADDED = "MessageAdded"
REQUEST_COMPLETED = "RequestCompleted"


def write_message_added(message: Message) -> Written:
    """The event of one message that joined the conversation."""
    wire, report = message_to_param(message)
    return Written({"msg": MESSAGE_ADDED, "message": wire}, report)


def read_message_added(plain: Any) -> Message:
    fields = _event(plain, MESSAGE_ADDED)
    return message_from_param(fields.require("message", dict), "$.message")


def write_request_completed(message: Message) -> Written:
    """The event of a finished answer: its content one string, its calls always a list.

    The usage is the message's own; it travels as null or as a list of one."""
    if message.role is not Role.ASSISTANT:
        raise WriteError(f"{NAME} view", "$.role", f"an answer of a {message.role}")
    usage = message.metadata.usage
    without = message.replace(metadata=message.metadata.replace(usage=None))
    report = Report(NAME)
    [param] = write_message(without, "$", report)
    account = Account(report, "$", message)
    answer = {**param, "content": _flat(param.get("content", ""), account)}
    answer["tool_calls"] = param.get("tool_calls", [])
    if usage is not None:
        _account_for_usage(usage, account)
    counts = None if usage is None else [usage_to_openai(usage)]
    return Written({"msg": REQUEST_COMPLETED, "usage": counts, "message": answer}, report)


def read_request_completed(plain: Any) -> Message:
    fields = _event(plain, REQUEST_COMPLETED)
    counts = fields.optional("usage", list)
    if counts is not None and len(counts) != 1:
        raise fields.error("usage", "null or a list of one", f"a list of {len(counts)}")
    message = message_from_param(fields.require("message", dict), "$.message")
    if counts is None:
        return message
    usage = usage_from_openai(counts[0], "$.usage[0]")
    return message.replace(metadata=message.metadata.replace(usage=usage))


def write_queue(queue: Iterable[tuple[str, Message]]) -> Written:
    """Messages that wait for their turn, each with its id."""
    report = Report(NAME)
    wire = []
    for number, (id, message) in enumerate(queue):
        for param in write_message(message, f"$[{number}]", report):
            wire.append({"id": id, "message": param})
    return Written(wire, report)


def read_queue(plain: Any) -> list[tuple[str, Message]]:
    return [
        (
            each.require("id", str),
            message_from_param(each.require("message", dict), each.place("message")),
        )
        for each in (Fields(NAME, item, path) for item, path in item_list(NAME, plain))
    ]


def _event(plain: Any, name: str) -> Fields:
    fields = Fields(NAME, plain, "$")
    fields.word("msg", {name: None})
    return fields


def _flat(content: str | list[JsonObject], account: Account) -> str:
    if isinstance(content, str):
        return content
    texts = [part["text"] for part in content]
    if len(texts) > 1 or texts == [""]:
        account.lost("$.content", because("joined"), "info", "approximated")
    return "".join(texts)


def _account_for_usage(usage: Usage, account: Account) -> None:
    path = "$.metadata.usage"
    counts = ("input_tokens", "output_tokens", "cached_input_tokens")
    account.fields(usage, path, *counts, severity="info")
    if usage.cache_creation_input_tokens and usage.input_tokens is not None:
        reason = because("cached_included_view")
        account.lost(f"{path}.input_tokens", reason, "info", "approximated")


VIEW = View(NAME, read, write)
