"""The pydantic-ai view: what `ModelMessagesTypeAdapter` of pydantic-ai dumps.

A request holds parts that are messages of ours: instructions, a user's prompt, a tool's result. A
response is one answer. (pydantic-ai 2.66.0, read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from interlingua.errors import found
from interlingua.model.base import JsonObject, Raw
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.views.base import (
    Fields,
    Written,
    one_or_more,
    own_raw,
    present,
    spelling_of,
    take_text,
    with_form,
    with_rest,
)
from interlingua.views.makers import PYDANTIC_AI, name_of, named
from interlingua.views.missing import Draft
from interlingua.views.pydantic_ai_parts import (
    NAME,
    read_answer_part,
    read_returned,
    read_user_content,
    write_answer_part,
    write_returned,
    write_user_content,
)
from interlingua.views.view import Account, View

STOP_REASONS: dict[str, StopReason] = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
    "tool_call": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
}
STOP_WORDS: dict[StopReason, str] = {
    **{reason: word for word, reason in STOP_REASONS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.PAUSE: "stop",
    StopReason.REFUSAL: "content_filter",
    StopReason.CANCELLED: "error",
}
"""The word for every reason that has a near one."""
STATES: dict[str, MessageStatus] = {
    "complete": MessageStatus.COMPLETE,
    "incomplete": MessageStatus.PARTIAL,
    "suspended": MessageStatus.PARTIAL,
    "interrupted": MessageStatus.CANCELLED,
}
COUNTS: dict[str, str] = {
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cached_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
    "output_reasoning_tokens": "reasoning_tokens",
}
"""Beside `input_tokens`, which counts what was read from a cache or written to one as well."""
INSTRUCTIONS = "instructions"


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of requests and responses, or a single one. The instructions of the last request that
    has any come first: only those reach a model."""
    each = list(one_or_more(NAME, plain))
    instructions = [fields.left.get(INSTRUCTIONS) for fields in each]
    last = next((text for text in reversed(instructions) if isinstance(text, str)), None)
    messages: list[Message] = [] if last is None else [_instructions(last)]
    before = None
    for fields in each:
        kind = fields.word("kind", {"request": "request", "response": "response"})
        if kind == "response":
            messages.append(_read_response(fields))
        else:
            messages += _read_request(fields, last, before == "request")
        before = kind
    return tuple(messages)


def _instructions(text: str) -> Message:
    metadata = MessageMetadata(provider_raw={NAME: {"$form": {"place": INSTRUCTIONS}}})
    return Message(Role.SYSTEM, (TextBlock(text),) if text else (), metadata=metadata)


def _read_request(fields: Fields, last: str | None, apart: bool) -> list[Message]:
    parts = fields.items("parts")
    form: JsonObject = {"apart": True} if apart else {}
    if fields.left.get(INSTRUCTIONS) == last and last is not None:
        form[INSTRUCTIONS] = True
        del fields.left[INSTRUCTIONS]
    read = [_read_request_part(Fields(NAME, part, path)) for part, path in parts]
    raw = fields.raw()
    own = (raw or {}).get(NAME, {})
    if own:
        form["request"] = own.pop("$form", {})
    if not read:
        read, form["empty"] = [Message(Role.USER)], True
    return [_with_request(read[0], own, form), *read[1:]]


def _with_request(message: Message, rest: JsonObject, form: JsonObject) -> Message:
    """The first message of a request, with what the request has beside its parts."""
    if not rest and not form:
        return message
    raw = with_form(NAME, message.metadata.provider_raw, **form)
    if rest:
        raw = {NAME: {**raw[NAME], "request": rest}}
    return message.replace(metadata=message.metadata.replace(provider_raw=raw))


def _read_request_part(fields: Fields) -> Message:
    whole, path = dict(fields.left), fields.path
    match fields.maybe("part_kind", str):
        case "system-prompt":
            text = fields.need("content", str)
            return _message(fields, Role.SYSTEM, (TextBlock(text),) if text else ())
        case "user-prompt":
            blocks, form = read_user_content(fields)
            return _message(fields, Role.USER, tuple(blocks), content=form)
        case "tool-return":
            return _read_return(fields)
        case "retry-prompt" if isinstance(fields.left.get("content"), str):
            return _read_retry(fields)
    return Message(Role.USER, (UnknownBlock({NAME: Fields(NAME, whole, path).left}),))


def _message(fields: Fields, role: Role, blocks: tuple[Block, ...], **form: Any) -> Message:
    created_at = _read_time(fields)
    metadata = MessageMetadata(provider_raw=fields.raw(**form))
    return Message(role, blocks, metadata=metadata, created_at=created_at)


def _read_time(fields: Fields) -> datetime | None:
    text = fields.maybe("timestamp", str)
    if text is None:
        return None
    time = _parsed(text)
    if time is None:
        raise fields.error("timestamp", "a time", found(text))
    if _write_time(time, None) != text:
        fields.left["timestamp"] = text
    return time


def _parsed(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None


def _read_return(fields: Fields) -> Message:
    block, form = read_returned(fields)
    message = _message(fields, Role.TOOL, (block,), **form)
    metadata = message.metadata.replace(parent_tool_use_id=block.tool_use_id)
    return message.replace(metadata=metadata)


def _read_retry(fields: Fields) -> Message:
    """What a model is asked to do again: a failed call, or its whole answer."""
    text, name = fields.need("content", str), fields.maybe("tool_name", str)
    content = (TextBlock(text),) if text else ()
    if name is None:
        return _message(fields, Role.USER, content, part="retry-prompt", content="string")
    id = fields.need("tool_call_id", str)
    block = ToolResultBlock(id, content, True, name)
    message = _message(fields, Role.TOOL, (block,), part="retry-prompt")
    return message.replace(metadata=message.metadata.replace(parent_tool_use_id=id))


def _read_response(fields: Fields) -> Message:
    parts = fields.items("parts")
    metadata = named(
        PYDANTIC_AI.read(fields.filled("provider_name", str)), fields.filled("model_name", str)
    )
    blocks: list[Block] = []
    diagnostics: list[Diagnostic] = []
    for part, path in parts:
        block, made = read_answer_part(Fields(NAME, part, path))
        blocks.append(block)
        diagnostics += made
    stop = fields.maybe("finish_reason", str)
    state = fields.maybe("state", str)
    details = dict(fields.filled("provider_details", dict) or {})
    word = take_text(details, "finish_reason")
    if details:
        fields.left["provider_details"] = details
    created_at, usage = _read_time(fields), _read_usage(fields)
    metadata = metadata.replace(
        response_id=fields.maybe("provider_response_id", str),
        usage=usage,
        stop_reason=None if stop is None else STOP_REASONS.get(stop, StopReason.OTHER),
        raw_stop_reason=word,
        status=STATES.get(state or "complete", MessageStatus.COMPLETE),
        diagnostics=tuple(diagnostics),
    )
    form = {"state": state, "stop": stop if stop not in STOP_REASONS else None}
    metadata = metadata.replace(provider_raw=fields.raw(**form))
    return Message(Role.ASSISTANT, tuple(blocks), metadata=metadata, created_at=created_at)


def _read_usage(fields: Fields) -> Usage | None:
    data = fields.object("usage")
    if data is None:
        return None
    counts: dict[str, Any] = {field: data.maybe(name, int) for name, field in COUNTS.items()}
    prompt = data.maybe("input_tokens", int)
    cached = (counts["cached_input_tokens"] or 0) + (counts["cache_creation_input_tokens"] or 0)
    fresh = prompt
    if prompt is not None:
        fresh = max(prompt - cached, 0)
        if prompt < cached:
            data.left["input_tokens"] = prompt
    return Usage(input_tokens=fresh, cost_usd=_read_cost(data), raw=data.raw(), **counts)


def _read_cost(data: Fields) -> Decimal | None:
    """Dumped as text; a number is taken as well."""
    value = data.left.get("cost")
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        return None
    try:
        cost = Decimal(str(value))
    except InvalidOperation:
        return None
    if not cost.is_finite():
        return None
    if isinstance(value, str) and str(cost) == value:
        del data.left["cost"]
    return cost


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer`: the dialect that the messages were read from, for those that name none."""
    draft = Draft(NAME, messages, issuer)
    return draft.written(_Writer(draft).wire(), read)


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.out: list[JsonObject] = []
        self.instructions = self._instructions()

    def _instructions(self) -> str | None:
        """Instructions that stand beside the parts; only a first message can."""
        first = self.draft.messages[0] if self.draft.messages else None
        if first is None or first.role is not Role.SYSTEM:
            return None
        form = spelling_of(NAME, first.metadata.provider_raw)
        plain = all(isinstance(block, TextBlock) for block in first.content)
        if form.get("place") != INSTRUCTIONS or not plain or first.created_at is not None:
            return None
        has_place = any(
            spelling_of(NAME, message.metadata.provider_raw).get(INSTRUCTIONS)
            for message in self.draft.messages[1:]
        )
        return first.text if has_place else None

    def wire(self) -> list[JsonObject]:
        for number, message in enumerate(self.draft.messages):
            if number == 0 and self.instructions is not None:
                self.draft.add(0, range(len(message.content)))
            elif message.role is Role.ASSISTANT:
                self.out.append(self.response(number, message))
            else:
                for part in self.parts(number, message):
                    self._request(message)["parts"].append(part)
                if spelling_of(NAME, message.metadata.provider_raw).get("empty"):
                    self._request(message)
        return self.out

    def _request(self, message: Message) -> JsonObject:
        """The request that is being filled, or a new one."""
        raw = message.metadata.provider_raw
        form = spelling_of(NAME, raw)
        last = self.out[-1] if self.out else None
        starts = form.get("apart") or form.get("empty")
        if last is not None and last["kind"] == "request" and not (starts and last["parts"]):
            return last
        new: JsonObject = {"parts": [], "kind": "request"}
        if form.get(INSTRUCTIONS) and self.instructions is not None:
            new[INSTRUCTIONS] = self.instructions
        rest, spelled = own_raw(NAME, raw).get("request"), form.get("request")
        content = rest if isinstance(rest, dict) else {}
        spelling = spelled if isinstance(spelled, dict) else {}
        self.out.append(with_rest(NAME, {NAME: {**content, "$form": spelling}}, new))
        return self.out[-1]

    def parts(self, number: int, message: Message) -> Iterator[JsonObject]:
        account = self.draft.account(number)
        form = spelling_of(NAME, message.metadata.provider_raw)
        if message.role is Role.TOOL:
            yield from self.results(number, message)
        elif [type(block) for block in message.content] == [UnknownBlock] and _own(message.content):
            self.draft.add(number, (0,))
            yield own_raw(NAME, message.content[0].raw)
        elif message.role is Role.USER and not form.get("empty"):
            content, numbers = write_user_content(message, account)
            kind = (
                "retry-prompt" if form.get("part") and isinstance(content, str) else "user-prompt"
            )
            self.draft.add(number, numbers)
            yield self._part(message, {"content": content, "part_kind": kind})
        elif message.role is Role.USER:
            self.draft.add(number, ())
        else:
            yield self._system(number, message)

    def _system(self, number: int, message: Message) -> JsonObject:
        texts = self.draft.parts(number, _write_instruction)
        return self._part(message, {"content": "".join(texts), "part_kind": "system-prompt"})

    def results(self, number: int, message: Message) -> Iterator[JsonObject]:
        account = self.draft.account(number)
        form = spelling_of(NAME, message.metadata.provider_raw)
        for path, block in self.draft.results(number):
            name = self.draft.tool_of(block)
            yield self._part(message, write_returned(block, name, form, path, account))

    def _part(self, message: Message, out: JsonObject) -> JsonObject:
        raw = message.metadata.provider_raw
        out |= present(timestamp=_write_time(message.created_at, raw))
        own = {key: item for key, item in own_raw(NAME, raw).items() if key != "request"}
        return with_rest(NAME, {NAME: own}, out)

    def response(self, number: int, message: Message) -> JsonObject:
        known = message.metadata
        parts = self.draft.parts(number, write_answer_part)
        form = spelling_of(NAME, known.provider_raw)
        out = present(
            parts=parts,
            usage=_write_usage(known.usage),
            model_name=name_of(known),
            timestamp=_write_time(message.created_at, known.provider_raw),
            kind="response",
            provider_name=PYDANTIC_AI.word(known.provider, known.protocol or self.draft.issuer),
            provider_details=_details(known),
            provider_response_id=known.response_id,
            finish_reason=_stop_word(known, form),
            state=_state(known, form),
        )
        return with_rest(NAME, known.provider_raw, out)


def _write_instruction(block: Block, path: str, account: Account) -> str | None:
    match block:
        case TextBlock(text):
            return text
        case CompactionBlock():
            summary = account.summary(path, block)
            return None if summary is None else summary.text
    account.block(path, block)
    return None


def _own(content: tuple[Block, ...]) -> bool:
    return bool(own_raw(NAME, content[0].raw))


def _write_time(time: datetime | None, raw: Raw | None) -> str | None:
    """As it was spelled, while that is the time; else as pydantic writes it."""
    if time is None:
        return None
    spelled = own_raw(NAME, raw).get("timestamp")
    if isinstance(spelled, str) and _parsed(spelled) == time:
        return spelled
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _details(known: MessageMetadata) -> JsonObject | None:
    word = known.raw_stop_reason
    return {"finish_reason": word} if isinstance(word, str) else None


def _stop_word(known: MessageMetadata, form: JsonObject) -> str | None:
    if known.stop_reason is None:
        return None
    if known.stop_reason is StopReason.OTHER:
        word = form.get("stop")
        return word if isinstance(word, str) and word not in STOP_REASONS else None
    return STOP_WORDS.get(known.stop_reason)


def _state(known: MessageMetadata, form: JsonObject) -> str | None:
    word = form.get("state")
    if isinstance(word, str) and STATES.get(word, MessageStatus.COMPLETE) is known.status:
        return word
    if known.status is MessageStatus.COMPLETE:
        return None
    return next((word for word, status in STATES.items() if status is known.status), None)


def _write_usage(usage: Usage | None) -> JsonObject | None:
    if usage is None:
        return None
    out = present(
        input_tokens=usage.prompt_tokens,
        **{name: getattr(usage, field) for name, field in COUNTS.items()},
        cost=None if usage.cost_usd is None else str(usage.cost_usd),
    )
    own = own_raw(NAME, usage.raw)
    if "input_tokens" in own and _same_prompt(usage, own["input_tokens"]):
        out.pop("input_tokens", None)
    if "cost" in own and "cost" in out and Decimal(str(own["cost"])) == usage.cost_usd:
        del out["cost"]
    return with_rest(NAME, usage.raw, out)


def _same_prompt(usage: Usage, prompt: Any) -> bool:
    """Whether the wire counted fewer prompt tokens than cached ones, and none are fresh still."""
    return usage.input_tokens == 0 and isinstance(prompt, int)


VIEW = View(NAME, read, write)
