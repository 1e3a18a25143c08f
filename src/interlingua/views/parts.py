"""The parts view: roles in upper case, and a list of parts that `kind` distinguishes.

Each kind has its data under a key of its own. A tool's answer is a `TOOL_RESULT` part, its content
one string.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Never, assert_type

from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    Executor,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.views.base import (
    Account,
    Fields,
    View,
    Written,
    one_or_more,
    placed,
    present,
    raw_of,
    read_source,
    spelling_of,
    with_rest,
    write_source,
)


class ContentKind(StrEnum):
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    AUDIO = "AUDIO"
    TOOL_CALL = "TOOL_CALL"
    TOOL_RESULT = "TOOL_RESULT"
    THINKING = "THINKING"
    REDACTED_THINKING = "REDACTED_THINKING"
    DOCUMENT = "DOCUMENT"


TEXT, IMAGE, AUDIO, TOOL_CALL, TOOL_RESULT, THINKING, REDACTED_THINKING, DOCUMENT = ContentKind


class _Short:
    """A `repr` without fields that have their default."""

    def __repr__(self) -> str:
        shown = [(each, getattr(self, each.name)) for each in fields(self)]  # type: ignore[arg-type]
        texts = [f"{each.name}={value!r}" for each, value in shown if value != each.default]
        return f"{type(self).__name__}({', '.join(texts)})"


@dataclass(kw_only=True, repr=False)
class _Media(_Short):
    """A URL, or inline data: the bytes of the file, or base64 of them as text or bytes."""

    url: str | None = None
    data: bytes | str | None = None
    media_type: str | None = None


@dataclass(kw_only=True, repr=False)
class ImageData(_Media):
    detail: str | None = None


@dataclass(kw_only=True, repr=False)
class AudioData(_Media):
    pass


@dataclass(kw_only=True, repr=False)
class DocumentData(_Media):
    file_name: str | None = None


@dataclass(repr=False)
class ToolCallData(_Short):
    id: str
    name: str
    arguments: JsonObject


@dataclass(repr=False)
class ToolResultData(_Short):
    tool_call_id: str
    content: str
    is_error: bool = False


@dataclass(repr=False)
class ThinkingData(_Short):
    """For `REDACTED_THINKING`, `text` is the encrypted data."""

    text: str
    signature: str | None = None


@dataclass(kw_only=True, repr=False)
class ContentPart(_Short):
    """`kind` names the one other field that is set."""

    kind: ContentKind
    text: str | None = None
    image: ImageData | None = None
    audio: AudioData | None = None
    document: DocumentData | None = None
    tool_call: ToolCallData | None = None
    tool_result: ToolResultData | None = None
    thinking: ThinkingData | None = None

    def __post_init__(self) -> None:
        word = str(self.kind).upper()
        if word not in ContentKind.__members__:
            known = ", ".join(ContentKind)
            raise ValueError(f"ContentPart.kind is one of {known}; found {self.kind!r}")
        self.kind = ContentKind(word)

    @classmethod
    def of(cls, block: Block) -> ContentPart:
        """The part for a block; `LossError` if it cannot hold all of it."""
        plain = part_of(block)
        data = {name: _DATA[name](**item) for name, item in plain.items() if name in _DATA}
        return cls(**{**plain, **data, "kind": ContentKind(plain["kind"])})

    def as_block(self) -> Block:
        return block_of(self.plain())

    def plain(self) -> JsonObject:
        """The part as the JSON of the parts view."""
        out = present(**asdict(self))
        for name, data in out.items():
            if name in _DATA:
                out[name] = present(**data)
        inline: JsonObject = next((out[name] for name in _MEDIA_FIELDS if name in out), {})
        if "data" in inline:
            inline["data"] = as_base64(inline["data"])
        return {**out, "kind": str(self.kind)}


@dataclass(frozen=True)
class PartsMessage:
    """A message in the terms of this view: its `role`, parts as `content`, and `tool_call_id`."""

    role: str
    content: list[ContentPart]
    tool_call_id: str | None = None

    @classmethod
    def of(cls, message: Message) -> PartsMessage:
        """The message in these terms; `LossError` for a block that no part can represent."""
        parts = [ContentPart.of(block) for block in message.content]
        return cls(message.role.name, parts, message.tool_call_id)

    @property
    def text(self) -> str:
        """The TEXT parts together."""
        return "".join(part.text or "" for part in self.content if part.kind is ContentKind.TEXT)


_MEDIA_FIELDS = ("image", "audio", "document")
_DATA: dict[str, type[Any]] = {
    "image": ImageData,
    "audio": AudioData,
    "document": DocumentData,
    "tool_call": ToolCallData,
    "tool_result": ToolResultData,
    "thinking": ThinkingData,
}


def as_base64(data: bytes | str) -> str:
    """Inline data as base64 text. Bytes that are base64 already are not changed: no picture,
    recording or document is made of that alphabet alone."""
    if isinstance(data, str):
        return data
    try:
        if a2b_base64(data, strict_mode=True):
            return data.decode()
    except NotBase64:
        pass
    return b2a_base64(data, newline=False).decode()


NAME = "parts"
ROLES: dict[str, Role] = {role.name: role for role in Role}
KINDS: dict[str, str] = {
    "TEXT": "text",
    "IMAGE": "image",
    "AUDIO": "audio",
    "TOOL_CALL": "tool_call",
    "TOOL_RESULT": "tool_result",
    "THINKING": "thinking",
    "REDACTED_THINKING": "thinking",
    "DOCUMENT": "document",
}
"""The key under which a part of each kind has its data."""

_MEDIA: dict[type[Block], str] = {
    ImageBlock: "IMAGE",
    AudioBlock: "AUDIO",
    DocumentBlock: "DOCUMENT",
}
_NAMES: dict[str, dict[str, str]] = {
    "IMAGE": {"detail": "detail"},
    "AUDIO": {},
    "DOCUMENT": {"file_name": "name"},
}
"""Beside the source and `media_type`: the wire's field and the block's."""

_PLACES = ("data", "url")
SIGNER = "anthropic"
"""The issuer of the view's thinking: it names no other, so it holds no other's signatures."""
_SIGNERS = frozenset({SIGNER, "bedrock", "vertex"})


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of messages, or a single one."""
    return tuple([each for fields in one_or_more(NAME, plain) for each in _read(fields)])


def _read(fields: Fields) -> list[Message]:
    role, name = fields.word("role", ROLES), fields.optional("name", str)
    parts = list(fields.objects("content"))
    if role is Role.TOOL:
        return _read_results(fields, parts, name)
    blocks = _with_executors([_read_part(part) for part in parts])
    metadata = MessageMetadata(provider_raw=fields.raw())
    return [Message(role, tuple(blocks), name, metadata=metadata)]


def _with_executors(blocks: list[Block]) -> list[Block]:
    """A call with its result in the same message is one that the provider ran."""
    answered = {block.tool_use_id for block in blocks if isinstance(block, ToolResultBlock)}
    return [
        block.replace(executor="provider")
        if isinstance(block, ToolUseBlock) and block.id in answered
        else block
        for block in blocks
    ]


def _read_results(fields: Fields, parts: list[Fields], name: str | None) -> list[Message]:
    """One message for each result; text without a result answers the message's own call."""
    call_id = fields.optional("tool_call_id", str)
    blocks = [_read_tool_part(part) for part in parts]
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    texts = [block for block in blocks if isinstance(block, TextBlock)]
    if results and texts:
        raise fields.error("content", "results, or text, not both", "both")
    if results:
        return _one_each(fields, results, call_id, name)
    if call_id is None:
        raise fields.error("tool_call_id", "a string", "nothing")
    return [_tool_message(ToolResultBlock(call_id, tuple(texts)), name, fields.raw(result="text"))]


def _read_tool_part(part: Fields) -> ToolResultBlock | TextBlock:
    block = _read_part(part)
    if not isinstance(block, (ToolResultBlock, TextBlock)):
        raise part.error("kind", "TOOL_RESULT or TEXT in a TOOL message", block.type)
    return block


def _one_each(
    fields: Fields, results: list[ToolResultBlock], call_id: str | None, name: str | None
) -> list[Message]:
    form = None if call_id is not None else "none"
    if call_id is not None and call_id != results[0].tool_use_id:
        fields.left["tool_call_id"] = call_id
    first = _tool_message(results[0], name, fields.raw(tool_call_id=form))
    joined = {NAME: {"$form": {"result": "joined"}}}
    return [first, *[_tool_message(result, None, joined) for result in results[1:]]]


def _tool_message(block: ToolResultBlock, name: str | None, raw: Any) -> Message:
    metadata = MessageMetadata(parent_tool_use_id=block.tool_use_id, provider_raw=raw)
    return Message(Role.TOOL, (block,), name, metadata=metadata)


def block_of(plain: JsonObject) -> Block:
    """The block that one part stands for."""
    return _read_part(Fields(NAME, plain, "$"))


def _read_part(part: Fields) -> Block:
    kind = part.left.get("kind")
    key = part.word("kind", KINDS)
    if key == "text":
        return TextBlock(part.require("text", str), raw=part.raw())
    data = part.within(key)
    match kind:
        case "TOOL_CALL":
            id, name = data.require("id", str), data.require("name", str)
            return ToolUseBlock(id, name, data.require("arguments", dict), raw=part.raw())
        case "TOOL_RESULT":
            return _read_result(part, data)
        case "THINKING":
            text, signature = data.require("text", str), data.optional("signature", str)
            signer = SIGNER if signature is not None else None
            return ThinkingBlock(text, signature, raw=part.raw(issuer=signer))
        case "REDACTED_THINKING":
            sealed = data.optional("data", str)
            if sealed is None:
                return RedactedThinkingBlock(data.require("text", str), raw=part.raw(issuer=SIGNER))
            return RedactedThinkingBlock(sealed, raw=part.raw(issuer=SIGNER, sealed="data"))
        case _:
            return _read_media(str(kind), part, data)


def _read_result(part: Fields, data: Fields) -> ToolResultBlock:
    id, text = data.require("tool_call_id", str), data.require("content", str)
    is_error = data.optional("is_error", bool)
    form = "none" if is_error is None else None
    content: tuple[ResultBlock, ...] = (TextBlock(text),) if text else ()
    return ToolResultBlock(id, content, bool(is_error), raw=part.raw(is_error=form))


def _read_media(kind: str, part: Fields, data: Fields) -> Block:
    source, media_type, url = read_source(data, data.optional("media_type", str), _PLACES)
    if source is None:
        raise data.error("", "a url or data", "neither")
    named = {field: data.optional(name, str) for name, field in _NAMES[kind].items()}
    cls: Any = {"IMAGE": ImageBlock, "AUDIO": AudioBlock, "DOCUMENT": DocumentBlock}[kind]
    block: Block = cls(source, media_type, raw=part.raw(source=url), **named)
    return block


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer` is the source dialect, for messages that name none."""
    report = Report(NAME)
    wire: list[JsonObject] = []
    for number, message in enumerate(messages):
        account = Account(report, f"$[{number}]", message, issuer)
        if message.role is Role.TOOL:
            for place, block in account.results(message, {"name"}):
                _write_tool_message(wire, message, block, place, account)
        else:
            account.message(message, "name")
            wire.append(_write_message(message, account))
    return Written(wire, report)


def _write_message(message: Message, account: Account) -> JsonObject:
    parts = _write_parts(message.content, account.path, account)
    out = present(role=message.role.name, content=parts, name=message.name)
    return with_rest(NAME, message.metadata.provider_raw, out)


def _write_parts(blocks: Iterable[Block], path: str, account: Account) -> list[JsonObject]:
    parts = [_write_part(block, place, account) for block, place in placed(blocks, path)]
    return [part for part in parts if part is not None]


def _write_tool_message(
    wire: list[JsonObject], message: Message, block: ToolResultBlock, path: str, account: Account
) -> None:
    raw = message.metadata.provider_raw
    form = spelling_of(NAME, raw)
    is_text = all(isinstance(each, TextBlock) for each in block.content)
    if form.get("result") == "text" and not block.is_error and is_text:
        account.fields(block, path, "tool_use_id", "content")
        parts = _write_parts(block.content, path, account)
    else:
        parts = [_write_result(block, path, account)]
    joined = form.get("result") == "joined" and message.name is None
    if joined and wire and wire[-1]["role"] == "TOOL":
        wire[-1]["content"] += parts
        return
    out = present(role="TOOL", content=parts, name=message.name)
    if form.get("tool_call_id") != "none" and "tool_call_id" not in raw_of(NAME, raw):
        out["tool_call_id"] = block.tool_use_id
    wire.append(with_rest(NAME, raw, out))


def _write_part(block: Block, path: str, account: Account) -> JsonObject | None:
    match block:
        case TextBlock() | RefusalBlock():
            return _write_text(block, path, account)
        case CompactionBlock():
            text = account.summary(path, block)
            return None if text is None else _part("TEXT", text, text.text)
        case ThinkingBlock():
            return _write_thinking(block, path, account)
        case RedactedThinkingBlock():
            if account.issuer_of(block) not in (None, *_SIGNERS):
                account.block(path, block, _FOREIGN)
                return None
            account.fields(block, path, "data")
            key = spelling_of(NAME, block.raw).get("sealed", "text")
            return _part("REDACTED_THINKING", block, {key: block.data})
        case ToolUseBlock():
            return _write_call(block, path, account)
        case ToolResultBlock():
            return _write_result(block, path, account)
        case ImageBlock() | AudioBlock() | DocumentBlock():
            return _write_media(block, path, account)
        case VideoBlock() | UnknownBlock():
            account.block(path, block)
            return None
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            account.block(path, block)
            return None


_FOREIGN = because("signature_foreign", issuer=SIGNER)


def _write_thinking(block: ThinkingBlock, path: str, account: Account) -> JsonObject:
    signature = block.signature
    account.fields(block, path, "text", "signature")
    if signature is not None and account.issuer_of(block) not in (None, *_SIGNERS):
        account.lost(f"{path}.signature", _FOREIGN, block=block)
        signature = None
    return _part("THINKING", block, present(text=block.text, signature=signature))


def part_of(block: Block) -> JsonObject:
    """The part for a block; `LossError` if it has no equivalent."""
    report = Report(NAME)
    part = _write_part(block, "$", Account(report, "$"))
    report.require_lossless()
    return part or {}


def _part(kind: str, block: Block, data: Any) -> JsonObject:
    return with_rest(NAME, block.raw, {"kind": kind, KINDS[kind]: data})


def _write_text(block: TextBlock | RefusalBlock, path: str, account: Account) -> JsonObject:
    if isinstance(block, RefusalBlock):
        account.lost(path, because("refusal_as_text"), kind="downgraded", block=block)
    account.fields(block, path, "text")
    return _part("TEXT", block, block.text)


def _write_call(block: ToolUseBlock, path: str, account: Account) -> JsonObject:
    account.fields(block, path, "id", "name", "input", "raw_arguments", "executor")
    account.arguments(block, path)
    owner = account.owner
    content = owner.content if owner is not None else ()
    answered = any(isinstance(b, ToolResultBlock) and b.tool_use_id == block.id for b in content)
    read_as: Executor = "provider" if answered else "client"
    if read_as != block.executor:
        reason = because("executor_read_as", who=read_as)
        account.lost(f"{path}.executor", reason, kind="approximated", block=block)
    return _part("TOOL_CALL", block, {"id": block.id, "name": block.name, "arguments": block.input})


def _write_result(block: ToolResultBlock, path: str, account: Account) -> JsonObject:
    account.fields(block, path, "tool_use_id", "content", "is_error")
    texts = []
    for each, place in placed(block.content, path):
        if isinstance(each, TextBlock):
            account.fields(each, place, "text")
            texts.append(each.text)
        else:
            account.block(place, each, because("result_content_unsupported"))
    if len(texts) > 1 or texts == [""]:
        reason = because("joined")
        account.lost(f"{path}.content", reason, "info", "approximated", block)
    data: JsonObject = {"tool_call_id": block.tool_use_id, "content": "".join(texts)}
    if block.is_error or spelling_of(NAME, block.raw).get("is_error") != "none":
        data["is_error"] = block.is_error
    return _part("TOOL_RESULT", block, data)


def _write_media(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    form = spelling_of(NAME, block.raw)
    as_url = form.get("source") == "url"
    where = write_source(block, path, account, as_url, _PLACES)
    if where is None:
        return None
    kind = _MEDIA[type(block)]
    named = _NAMES[kind]
    account.fields(block, path, "source", "media_type", *named.values())
    media_type = None if as_url and "url" in where else block.media_type
    more = {name: getattr(block, field) for name, field in named.items()}
    return _part(kind, block, present(**where, media_type=media_type, **more))


VIEW = View(NAME, read, write)
