"""The flat view: one object a message, with reasoning, refusal and calls beside the content.

The order among those four is the view's own (reasoning, content, refusal, calls); a message with
another order loses it. Thinking blocks and signatures go into `extra`, keyed by issuer:
`thinking_blocks` as Claude has them, `thought_signatures` as Gemini has them; if the order alone
does not show which blocks are signed, `positions` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Required, TypedDict

from interlingua.dialects.registry import is_dialect
from interlingua.errors import ReadError
from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because
from interlingua.views.base import (
    ISSUER,
    Account,
    Fields,
    View,
    Written,
    item_list,
    one_or_more,
    placed,
    present,
    raw_of,
    read_arguments,
    read_source,
    recovered_again,
    spelling_of,
    with_form,
    with_rest,
    write_arguments,
    write_source,
)

NAME = "flat"


class GeminiExtra(TypedDict, total=False):
    """`extra.gemini`: signatures in the order of the blocks that they sign."""

    thought_signatures: list[str]
    positions: list[int]
    """The indexes of signed blocks, if their number alone is ambiguous."""


class ThinkingEntry(TypedDict, total=False):
    """A thinking block as Claude has it; a redacted one has `data` alone."""

    type: Required[Literal["thinking", "redacted_thinking"]]
    thinking: str
    signature: str
    data: str


class ClaudeExtra(TypedDict, total=False):
    """`extra.claude`: thinking with its signatures, redacted thinking included."""

    thinking_blocks: list[ThinkingEntry]


class Extra(TypedDict, total=False):
    """The `extra` of a flat message; other keys are passed through."""

    gemini: GeminiExtra
    claude: ClaudeExtra


Thinking = ThinkingBlock | RedactedThinkingBlock
Signable = TextBlock | ThinkingBlock | ToolUseBlock

FAMILIES: dict[str, str] = {
    "anthropic": "claude",
    "bedrock": "claude",
    "gemini": "gemini",
    "vertex": "gemini",
    "openai-chat": "openai",
    "openai-responses": "openai",
}
"""The key in `extra` for a message's dialect, or else its provider; others have their own name."""
LISTED = "gemini"
"""The family whose signatures are a list beside the text."""
ISSUERS: dict[str, str] = {"claude": "anthropic", "openai": "openai-responses"}
"""The dialect that a key in `extra` names as the issuer, where that is not the key itself."""


class Layout(NamedTuple):
    """The places of a message's thinking and signatures: keys of `extra`, or None for neither."""

    blocks: str | None
    signatures: str | None


def layout(message: Message, form: JsonObject, issuer: str | None = None) -> Layout:
    """The layout: by metadata, otherwise by the wire, the source dialect, or the likely ones,
    Claude and Gemini."""
    family = message.metadata.protocol or message.metadata.provider
    family = family or (None if _names_issuer(form) else issuer)
    family = FAMILIES.get(family, family) if family else None
    thinking = [b for b in message.content if isinstance(b, Thinking)]
    blocks = family or _key(form, "thinking_blocks") or "claude"
    signatures = family or _key(form, "thought_signatures") or LISTED
    return Layout(blocks if _needs_blocks(thinking, family, form) else None, signatures)


def _names_issuer(form: JsonObject) -> bool:
    return "thinking_blocks" in form or "thought_signatures" in form


def _key(form: JsonObject, name: str) -> str | None:
    key = form.get(name)
    return key if isinstance(key, str) else None


def _needs_blocks(thinking: Sequence[Thinking], family: str | None, form: JsonObject) -> bool:
    """Whether `reasoning` and `thought_signatures` cannot hold this thinking."""
    if not thinking:
        return False
    if "thinking_blocks" in form or any(isinstance(b, RedactedThinkingBlock) for b in thinking):
        return True
    in_list = family == LISTED or (family is None and "thought_signatures" in form)
    return not in_list and any(getattr(b, "signature", None) is not None for b in thinking)


def write_extra(blocks: Sequence[Block], where: Layout) -> JsonObject:
    """The two lists, for blocks in the order in which the flat view has them."""
    extra: dict[str, JsonObject] = {}
    if where.blocks:
        thinking = [_write_thinking(block) for block in blocks if isinstance(block, Thinking)]
        extra[where.blocks] = {"thinking_blocks": thinking}
    signable = _signable(blocks, where.blocks)
    signed = [number for number, block in enumerate(signable) if block.signature is not None]
    if signed and where.signatures:
        own = extra.setdefault(where.signatures, {})
        own["thought_signatures"] = [signable[number].signature for number in signed]
        if _usual(len(signed), signable) != signed:
            own["positions"] = signed
    return extra


def _write_thinking(block: Thinking) -> JsonObject:
    if isinstance(block, RedactedThinkingBlock):
        return with_rest(NAME, block.raw, {"type": "redacted_thinking", "data": block.data})
    out = present(type="thinking", thinking=block.text, signature=block.signature)
    return with_rest(NAME, block.raw, out)


def _signable(blocks: Sequence[Block], apart: str | None) -> list[Signable]:
    """The blocks that the list may sign, including thinking, unless it is `apart` with its own
    signature."""
    kinds = (TextBlock, ToolUseBlock) if apart else (TextBlock, ThinkingBlock, ToolUseBlock)
    return [block for block in blocks if isinstance(block, kinds)]


def _usual(count: int, blocks: Sequence[Signable]) -> list[int] | None:
    """The blocks that so many signatures belong to, unless `positions` names others."""
    texts = [number for number, block in enumerate(blocks) if isinstance(block, TextBlock)]
    calls = [number for number, block in enumerate(blocks) if isinstance(block, ToolUseBlock)]
    choices = (list(range(len(blocks))), calls, calls[:1], sorted(texts + calls), texts[-1:])
    return next((places for places in choices if len(places) == count), None)


def issuer_in(extra: JsonObject) -> str | None:
    """The dialect that `extra` names as the issuer of the whole message, if it names just one."""
    issuers = [name for key in extra if is_dialect(name := ISSUERS.get(key, key))]
    return issuers[0] if len(issuers) == 1 else None


def issued(block: Block, issuer: str) -> Block:
    """The block with its issuer, unless it has one."""
    if ISSUER in spelling_of(NAME, block.raw):
        return block
    return block.replace(raw=with_form(NAME, block.raw, issuer=issuer))


def read_thinking(extra: JsonObject, reasoning: Any, path: str) -> tuple[str, list[Thinking]]:
    """Thinking blocks that agree with `reasoning`, and the key they stand under; else nothing.

    They are taken out of `extra`; lists that do not fit stay there, to be written back."""
    for key, own in extra.items():
        if not isinstance(own, dict) or not isinstance(own.get("thinking_blocks"), list):
            continue
        place = f"{path}.extra.{key}.thinking_blocks"
        blocks = _read_blocks(own["thinking_blocks"], place, ISSUERS.get(key, key))
        if blocks and agrees(reasoning, blocks):
            _take(extra, key, "thinking_blocks")
            return key, blocks
    return "", []


def agrees(reasoning: Any, blocks: Sequence[Thinking]) -> bool:
    texts = [block.text for block in blocks if isinstance(block, ThinkingBlock)]
    parts = [{"type": "text", "text": text} for text in texts]
    return reasoning is None or reasoning in ("\n".join(texts), parts)


def _read_blocks(items: list[Any], path: str, issuer: str) -> list[Thinking]:
    try:
        return [
            _read_block(Fields(NAME, item, f"{path}[{number}]"), issuer)
            for number, item in enumerate(items)
        ]
    except ReadError:
        return []


def _read_block(fields: Fields, issuer: str) -> Thinking:
    kind = fields.word("type", {"thinking": ThinkingBlock, "redacted_thinking": None})
    if kind is None:
        return RedactedThinkingBlock(fields.require("data", str), raw=fields.raw(issuer=issuer))
    text, signature = fields.require("thinking", str), fields.optional("signature", str)
    return ThinkingBlock(text, signature, raw=fields.raw(issuer=issuer))


def read_signatures(
    extra: JsonObject, blocks: list[Block], apart: str | None
) -> tuple[str, list[Block]]:
    """The blocks with their signatures, and the key those stood under."""
    signable = _signable(blocks, apart)
    for key, own in extra.items():
        if not isinstance(own, dict) or not _are_texts(own.get("thought_signatures")):
            continue
        signatures: list[str] = own["thought_signatures"]
        places = _positions(own, len(signatures), signable)
        if places:
            signed = {id(signable[n]): s for n, s in zip(places, signatures, strict=True)}
            _take(extra, key, "thought_signatures", "positions")
            return key, [_signed(block, signed, ISSUERS.get(key, key)) for block in blocks]
    return "", blocks


def _signed(block: Block, signatures: dict[int, str], issuer: str) -> Block:
    signature = signatures.get(id(block))
    if signature is None:
        return block
    return block.replace(signature=signature, raw=with_form(NAME, block.raw, issuer=issuer))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(s, str) for s in value)


def _positions(own: JsonObject, count: int, blocks: Sequence[Signable]) -> list[int] | None:
    places = own.get("positions")
    if places is None:
        return _usual(count, blocks)
    fits = (
        isinstance(places, list)
        and len(places) == count
        and all(type(number) is int and 0 <= number < len(blocks) for number in places)
        and places == sorted(set(places))
    )
    return places if fits and places != _usual(count, blocks) else None


def _take(extra: JsonObject, key: str, *names: str) -> None:
    """Without these names; without the key, too, if it had no other members."""
    left = {name: item for name, item in extra[key].items() if name not in names}
    if left:
        extra[key] = left
    else:
        del extra[key]


Media = ImageBlock | AudioBlock | DocumentBlock
Part = TextBlock | Media | UnknownBlock
PARTS: dict[str, type[Media] | None] = {
    "text": None,
    "image": ImageBlock,
    "audio": AudioBlock,
    "file": DocumentBlock,
}
_PART_OF: dict[type[Block], str] = {cls: word for word, cls in PARTS.items() if cls is not None}

_TREES: dict[str, str] = {"image": "image", "audio": "audio", "file": "application"}
FORMATS: dict[str, str] = {
    "jpg": "image/jpeg",
    "mp3": "audio/mpeg",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
}
"""Short formats whose media type cannot be derived from the part and the format."""


def plain_text(blocks: Sequence[Part]) -> str | None:
    """The text of content that a string can hold as well."""
    match blocks:
        case [TextBlock(text=text) as block] if text and not raw_of(NAME, block.raw):
            return text
    return None


def read_part(fields: Fields) -> Part:
    whole = dict(fields.left)
    cls = fields.word("type", PARTS)
    if cls is None:
        return TextBlock(fields.require("text", str), raw=fields.raw())
    name, format = fields.optional("name", str), fields.optional("format", str)
    media_type = _media_type(whole["type"], format)
    source, media_type, url = read_source(fields, media_type)
    if source is None:
        return UnknownBlock({NAME: whole})  # nothing to show, and it is written back
    short = format if format != media_type else None
    return cls(source, media_type, name, raw=fields.raw(format=short, source=url))


def _media_type(part: str, format: str | None) -> str | None:
    if format is None or "/" in format:
        return format
    return FORMATS.get(format, f"{_TREES[part]}/{format}")


def text_part(block: TextBlock | ThinkingBlock | RefusalBlock) -> JsonObject:
    return with_rest(NAME, block.raw, {"type": "text", "text": block.text})


def write_part(block: Block, path: str, account: Account, *held: str) -> JsonObject | None:
    match block:
        case TextBlock():
            account.fields(block, path, "text", *held)
            return text_part(block)
        case ImageBlock() | AudioBlock() | DocumentBlock():
            return _write_media(block, path, account)
        case UnknownBlock() if raw_of(NAME, block.raw):
            account.fields(block, path)
    return account.own_or_dropped(path, block)


def _write_media(block: Media, path: str, account: Account) -> JsonObject | None:
    form = spelling_of(NAME, block.raw)
    where = write_source(block, path, account, as_url=form.get("source") == "url")
    if where is None:
        return None
    account.fields(block, path, "source", "media_type", "name")
    part = _PART_OF[type(block)]
    format = form.get("format")
    if not isinstance(format, str) or _media_type(part, format) != block.media_type:
        format = block.media_type
    if form.get("source") == "url" and "url" in where:
        format = None
    out = present(type=part, format=format, name=block.name, **where)
    return with_rest(NAME, block.raw, out)


ROLES: dict[str, Role] = {role.value: role for role in Role}
_SLOTS = ("reasoning", "content", "refusal", "tool_calls")
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
    calls = _Calls()
    messages: list[Message] = []
    for position, fields in enumerate(one_or_more(NAME, plain)):
        role = fields.word("role", ROLES)
        if role is Role.TOOL:
            message = _read_result(fields, calls, position)
        else:
            message = _read_message(fields, role, position)
        calls.see(message.content)
        messages.append(message)
    return tuple(messages)


def read_context(plain: Any) -> Request:
    """Flat messages alone, or under `messages` of a body that is otherwise OpenAI Chat's: `model`,
    `tools` and options."""
    if not isinstance(plain, dict) or "messages" not in plain:
        return Request(read(plain))
    from interlingua.dialects.openai_chat import DIALECT

    messages = read(plain["messages"])
    return DIALECT.read_request({**plain, "messages": []}).replace(messages=messages)


class _Calls:
    """Calls without an answer yet, for answers that name no call."""

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []
        self._other_ids: dict[str, str] = {}
        """The `id` of a call whose `call_id` is another, to that `call_id`."""

    def named(self, id: str) -> str:
        """The id of the call that a result means, which may be named by either of its ids."""
        return self._other_ids.get(id, id)

    def see(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            if isinstance(block, ToolUseBlock):
                self._open.append((block.id, block.name))
                other = raw_of(NAME, block.raw).get("id")
                self._other_ids.pop(block.id, None)  # its own id goes before another call's
                if isinstance(other, str) and all(other != id for id, _ in self._open):
                    self._other_ids[other] = block.id
            elif isinstance(block, ToolResultBlock):
                self._open = [each for each in self._open if each[0] != block.tool_use_id]

    def guess(self, name: str | None, position: int) -> str:
        ids = (id for id, called in self._open if name in (None, called))
        return next(ids, None) or synthetic_tool_id(position, 0, name or "")


def _read_result(fields: Fields, calls: _Calls, position: int) -> Message:
    name = fields.optional("name", str)
    content, content_form = _read_slot(fields, "content")
    call_id, id, form = fields.optional("call_id", str), fields.optional("id", str), None
    if call_id is None and id is not None:
        call_id, id, form = id, None, "id"
    elif call_id is None:
        call_id, form = calls.guess(name, position), "guess"
    answered = calls.named(call_id)
    spelled = None if answered == call_id else call_id
    block = ToolResultBlock(answered, tuple(content), tool_name=name)
    raw = fields.raw(content=content_form, answers=form, other_id=spelled)
    metadata = MessageMetadata(parent_tool_use_id=answered, provider_raw=raw)
    return Message(Role.TOOL, (block,), id=id, metadata=metadata)


def _read_message(fields: Fields, role: Role, position: int) -> Message:
    name, id = fields.optional("name", str), fields.optional("id", str)
    extra = dict(fields.filled("extra", dict) or {})
    issuer = issuer_in(extra)
    thinking, form = _read_reasoning(fields, extra)
    content, form["content"] = _read_slot(fields, "content")
    refusal, form["refusal"] = _read_slot(fields, "refusal")
    calls, diagnostics = _read_calls(fields, position)
    refused = [RefusalBlock(_text(part, fields, "refusal"), raw=part.raw) for part in refusal]
    apart = form.get("thinking_blocks")
    if issuer is not None:
        thinking = [issued(block, issuer) for block in thinking]
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
    has_text = any(block.text for block in blocks if isinstance(block, ThinkingBlock))
    if isinstance(value, str) and not has_text:
        fields.blank["reasoning"] = value
    form = "list" if isinstance(value, list) else "none" if has_text and value is None else None
    return list(blocks), {"reasoning": form, "thinking_blocks": key}


def _read_calls(fields: Fields, position: int) -> tuple[list[Block], tuple[Diagnostic, ...]]:
    listed = enumerate(fields.objects("tool_calls", optional=True))
    read = [_read_call(call, position, number) for number, call in listed]
    return [call for call, _ in read], tuple([each for _, more in read for each in more])


def _read_call(
    fields: Fields, position: int, number: int
) -> tuple[ToolUseBlock, tuple[Diagnostic, ...]]:
    name, text = fields.require("name", str), fields.require("arguments", str)
    id, call_id, form = fields.optional("id", str), fields.optional("call_id", str), None
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
    """`issuer` is the source dialect, for messages that name none."""
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
            for place, block in account.results(message, {"id"}):
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
        form = spelling_of(NAME, raw)
        parts = [write_part(each, place, account) for each, place in placed(block.content, path)]
        account.fields(block, path, "tool_use_id", "content", "tool_name")
        out = present(role="tool", name=block.tool_name, id=message.id)
        guess = self.calls.guess(block.tool_name, len(self.wire))
        other = form.get("other_id")
        id = other if other and self.calls.named(other) == block.tool_use_id else block.tool_use_id
        if form.get("answers") == "id" and message.id is None:
            out["id"] = id
        elif form.get("answers") != "guess" or guess != block.tool_use_id:
            out["call_id"] = id
        _write_slot(out, "content", [part for part in parts if part is not None], form)
        return with_rest(NAME, raw, out)


class _Blocks:
    """The blocks of one message, sorted into the places that the view has for them."""

    def __init__(self, message: Message, account: Account, position: int) -> None:
        self.account = account
        self.position = position
        self.written: list[Block] = []
        self.calls: list[ToolUseBlock] = []
        self.slots: dict[str, list[JsonObject]] = {slot: [] for slot in _SLOTS}
        for block, path in placed(message.content, account.path):
            self.place(block, path)
        ranks = [_ORDER.get(type(block), 1) for block in self.written]
        if ranks != sorted(ranks):
            reason = because("order_fixed")
            account.lost(f"{account.path}.content", reason, kind="moved")
        self.written.sort(key=lambda block: _ORDER.get(type(block), 1))

    def place(self, block: Block, path: str) -> None:
        match block:
            case ThinkingBlock() | RedactedThinkingBlock():
                self.account.fields(block, path, "text", "data", "signature")
                part = text_part(block) if isinstance(block, ThinkingBlock) else {}
                self.keep(block, "reasoning", part)
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
                self.account.block(path, block, because("no_hosted_tools"))
            case _:
                self.keep(block, "content", write_part(block, path, self.account, "signature"))

    def keep(self, block: Block, slot: str, part: JsonObject | None) -> None:
        if part is None:
            return
        self.written.append(block)
        if part:
            self.slots[slot].append(part)

    def call(self, block: ToolUseBlock, path: str) -> JsonObject:
        self.account.fields(
            block, path, "id", "name", "input", "raw_arguments", "signature", "executor"
        )
        form = spelling_of(NAME, block.raw).get("id")
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
    form = spelling_of(NAME, raw)
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
    if extra := write_extra(blocks.written, where):
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
            spelled = form.get("spelled")
            if not isinstance(spelled, dict) or name not in spelled:
                out[name] = ""


def _write_joined(out: JsonObject, parts: list[JsonObject], form: JsonObject) -> None:
    """Reasoning beside `thinking_blocks`, which have the same texts one by one."""
    texts = [part["text"] for part in parts]
    if form.get("reasoning") == "list":
        out["reasoning"] = [{"type": "text", "text": text} for text in texts]
    elif form.get("reasoning") != "none" and any(texts):
        out["reasoning"] = "\n".join(texts)


VIEW = View(NAME, read, write, read_context)
