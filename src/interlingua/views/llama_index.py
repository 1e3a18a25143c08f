"""The llama-index view: what `model_dump` of LlamaIndex's `ChatMessage` gives.

A message has blocks and `additional_kwargs`, which go to a provider as they are: nothing of ours is
put there. (llama-index-core 0.14.25, read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from interlingua.model.base import JsonObject
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Cache,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because, source_unsupported
from interlingua.views.base import (
    WORDS,
    Account,
    Fields,
    View,
    Written,
    inline,
    one_or_more,
    placed,
    present,
    read_arguments,
    spelling_of,
    take_text,
    with_form,
    with_rest,
    write_arguments,
)
from interlingua.views.libraries import Draft

NAME = "llama-index"
ROLES: dict[str, Role] = {
    **{role.value: role for role in Role},
    "chatbot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "function": Role.TOOL,
}
MEDIA: dict[str, tuple[type[MediaBlock], str, str]] = {
    "image": (ImageBlock, "image", "image_mimetype"),
    "audio": (AudioBlock, "audio", "format"),
    "video": (VideoBlock, "video", "video_mimetype"),
    "document": (DocumentBlock, "data", "document_mimetype"),
}
"""The class of each media type, and the keys of its bytes and its media type."""
FORMATS = {"mp3": "audio/mpeg"}
"""Formats of recordings whose media type has another name."""
UNTITLED = "input_document"
"""The name of a document without a title."""
REDACTED = "redacted_thinking"
SIGNATURES = "thought_signatures"
SEALS: dict[str, str] = {
    "signature": "anthropic",
    "encrypted_content": "openai-responses",
    "thought_signature": "gemini",
}
"""Keys of signatures in `additional_information`, and their issuers."""
_WORDS = {"bedrock": "signature", "vertex": "thought_signature"} | {
    issuer: word for word, issuer in SEALS.items()
}


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of messages, or a single one."""
    return tuple([_read(fields) for fields in one_or_more(NAME, plain)])


def _read(fields: Fields) -> Message:
    word = fields.require("role", str)
    role = fields.known("role", word, ROLES)
    form: JsonObject = {"role": word if word != role.value else None}
    kwargs = fields.members("additional_kwargs")
    items = fields.items("blocks")
    blocks, diagnostics = _read_blocks(items)
    if role is Role.TOOL:
        return _read_result(fields, kwargs, blocks, form)
    if len(items) == len(blocks) and _are_signatures(kwargs.get(SIGNATURES), len(blocks)):
        form["signatures"] = kwargs.pop(SIGNATURES)
        blocks = _signed(blocks, form["signatures"])
    calls, more = _read_listed(kwargs, blocks)
    metadata = MessageMetadata(diagnostics=(*diagnostics, *more), provider_raw=fields.raw(**form))
    return Message(role, (*blocks, *calls), metadata=metadata)


def _are_signatures(listed: Any, count: int) -> bool:
    """Gemini's integration keeps a list of them beside the blocks, one for each."""
    return (
        isinstance(listed, list)
        and len(listed) == count
        and any(isinstance(each, str) for each in listed)
    )


def _signed(blocks: list[Block], signatures: list[Any]) -> list[Block]:
    return [
        block.replace(signature=each, raw=with_form(NAME, block.raw, issuer="gemini"))
        if isinstance(each, str) and isinstance(block, (TextBlock, ToolUseBlock))
        else block
        for block, each in zip(blocks, signatures, strict=True)
    ]


def _read_result(
    fields: Fields, kwargs: JsonObject, blocks: list[Block], form: JsonObject
) -> Message:
    id = take_text(kwargs, "tool_call_id")
    if id is None:
        raise fields.error("additional_kwargs", "a tool_call_id", "none")
    content: Any = tuple(blocks)
    block = ToolResultBlock(id, content, tool_name=take_text(kwargs, "name"))
    metadata = MessageMetadata(parent_tool_use_id=id, provider_raw=fields.raw(**form))
    return Message(Role.TOOL, (block,), metadata=metadata)


def _read_blocks(items: list[tuple[Any, str]]) -> tuple[list[Block], list[Diagnostic]]:
    blocks: list[Block] = []
    diagnostics: list[Diagnostic] = []
    for item, path in items:
        ttl = _cache_point(item)
        if ttl is not None and blocks and blocks[-1].cache is None:
            blocks[-1] = blocks[-1].replace(cache=Cache(ttl or None))
            continue
        block, made = _read_block(Fields(NAME, item, path), item)
        blocks.append(block)
        diagnostics += made
    return blocks, diagnostics


def _cache_point(item: Any) -> str | None:
    """The lifetime of a cache: empty if none is named, None if it is no cache point."""
    match item:
        case {"block_type": "cache", "cache_control": {"type": "ephemeral", **control}, **rest}:
            ttl = control.get("ttl", "")
            return ttl if not rest and control.keys() <= {"ttl"} and isinstance(ttl, str) else None
    return None


def _read_block(fields: Fields, item: Any) -> tuple[Block, Iterable[Diagnostic]]:
    match item:
        case {"block_type": "text", "text": str()}:
            del fields.left["block_type"]
            return TextBlock(fields.require("text", str), raw=fields.raw()), ()
        case {"block_type": "thinking"}:
            return _read_thinking(fields), ()
        case {"block_type": "tool_call", "tool_name": str()}:
            return _read_call(fields)
        case {"block_type": str(word)} if word in MEDIA and _place(item, MEDIA[word][1]):
            return _read_media(fields, word), ()
    return UnknownBlock({NAME: item}), ()


def _place(item: Any, data: str) -> str | None:
    """Which of the three fields for a source is set."""
    return next((p for p in (data, "url", "path") if isinstance(item.get(p), str)), None)


def _read_media(fields: Fields, word: str) -> Block:
    del fields.left["block_type"]
    cls, data, mime = MEDIA[word]
    place = _place(fields.left, data)
    assert place is not None
    text = fields.require(place, str)
    kind = {"url": "url", "path": "file_ref"}.get(place, "base64")
    source = Source(kind, text)  # type: ignore[arg-type]  # one of the kinds
    media_type = fields.optional(mime, str)
    more: JsonObject = {}
    if cls is AudioBlock and media_type is not None:
        media_type = FORMATS.get(media_type, f"audio/{media_type}")
    if cls is ImageBlock:
        more["detail"] = fields.optional("detail", str)
    if cls is DocumentBlock and fields.left.get("title") == UNTITLED:
        fields.blank["title"] = fields.left.pop("title")
    elif cls is DocumentBlock:
        more["name"] = fields.optional("title", str)
    return cls(source, media_type, raw=fields.raw(), **more)


def _read_thinking(fields: Fields) -> Block:
    del fields.left["block_type"]
    text = fields.optional("content", str)
    information = fields.members("additional_information")
    if (
        text is None
        and information.get("type") == REDACTED
        and isinstance(information.get("data"), str)
    ):
        del information["type"]
        data = information.pop("data")
        return RedactedThinkingBlock(data, raw=fields.raw(issuer="anthropic"))
    seal = next((word for word in SEALS if isinstance(information.get(word), str)), "")
    signature, id = take_text(information, seal), take_text(information, "id")
    raw = fields.raw(issuer=SEALS.get(seal), missing=True if text is None else None)
    return ThinkingBlock(text or "", signature, id, raw=raw)


def _read_call(fields: Fields) -> tuple[ToolUseBlock, Iterable[Diagnostic]]:
    del fields.left["block_type"]
    id, name = fields.optional("tool_call_id", str), fields.require("tool_name", str)
    args, text = fields.left.pop("tool_kwargs", None), None
    made: Iterable[Diagnostic] = ()
    form = "text" if isinstance(args, str) else None
    if isinstance(args, str):
        args, text, made = read_arguments(args, id or "")
    block = ToolUseBlock(id or "", name, args or {}, text, raw=fields.raw(args=form))
    return block, made


def _read_listed(kwargs: JsonObject, blocks: list[Block]) -> tuple[list[Block], list[Diagnostic]]:
    """Calls that are only in `additional_kwargs`, as in OpenAI's API."""
    listed = kwargs.get("tool_calls")
    known = {block.id for block in blocks if isinstance(block, ToolUseBlock)}
    if not isinstance(listed, list) or not listed or not all(map(_is_listed, listed)):
        return [], []
    if any(call["id"] in known for call in listed):
        return [], []  # repeats the calls among the blocks
    del kwargs["tool_calls"]
    calls: list[Block] = []
    diagnostics: list[Diagnostic] = []
    for call in listed:
        input, text, made = read_arguments(call["function"]["arguments"], call["id"])
        raw = {NAME: {"$form": {"listed": True}}}
        name = call["function"]["name"]
        calls.append(ToolUseBlock(call["id"], name, input, text, raw=raw))
        diagnostics += made
    return calls, diagnostics


def _is_listed(call: Any) -> bool:
    match call:
        case {
            "id": str(),
            "type": "function",
            "function": {"name": str(), "arguments": str(), **more},
            **rest,
        }:
            return not more and not rest
    return False


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer` is the source dialect, for messages that name none."""
    draft = Draft(NAME, messages, issuer)
    wire = [out for number in range(len(draft.messages)) for out in _write(draft, number)]
    return draft.written(wire, read)


def _write(draft: Draft, number: int) -> Iterator[JsonObject]:
    message = draft.messages[number]
    if message.role is Role.TOOL:
        yield from _write_results(draft, number)
        return
    listed: list[JsonObject] = []

    def part(block: Block, path: str, account: Account) -> Any:
        if isinstance(block, ToolUseBlock) and spelling_of(NAME, block.raw).get("listed"):
            listed.append(_write_listed(block, path))
            return []
        return _write_block(block, path, account)

    blocks = [each for parts in draft.parts(number, part) for each in parts]
    kwargs: JsonObject = {"tool_calls": listed} if listed else {}
    signatures = _write_signatures(draft, number, len(blocks))
    yield _message(message, kwargs | present(thought_signatures=signatures), blocks)


def _write_signatures(draft: Draft, number: int, count: int) -> list[Any] | None:
    """One for each block that is written, where a text or a call has one of Gemini's; signatures of
    others have no place."""
    message, account = draft.messages[number], draft.account(number)
    written = [message.content[place] for place in draft.entries[-1].blocks]
    signatures = [
        getattr(b, "signature", None) for b in written if isinstance(b, (TextBlock, ToolUseBlock))
    ]
    form = spelling_of(NAME, message.metadata.provider_raw).get("signatures")
    if not any(signatures) and not isinstance(form, list):
        return None
    known = form if isinstance(form, list) and len(form) == count else [None] * count
    out: list[Any] = []
    for block, old in zip(written, known, strict=False):
        if not isinstance(block, (TextBlock, ToolUseBlock)):
            out.append(old)
        elif _WORDS.get(account.issuer_of(block) or "gemini") == "thought_signature":
            out.append(block.signature)
        else:
            out.append(None)
        out += [None] if block.cache is not None else []
    return out if any(out) or form else None


def _message(message: Message, kwargs: JsonObject, blocks: list[JsonObject]) -> JsonObject:
    raw = message.metadata.provider_raw
    word = spelling_of(NAME, raw).get("role")
    role = word if ROLES.get(word or "") is message.role else message.role.value
    out: JsonObject = {"role": role, "blocks": blocks}
    if kwargs or NAME not in (raw or {}):
        out["additional_kwargs"] = kwargs
    return with_rest(NAME, raw, out)


def _write_results(draft: Draft, number: int) -> Iterator[JsonObject]:
    message, account = draft.messages[number], draft.account(number)
    for path, block in draft.results(number):
        content: list[JsonObject] = []
        for each, place in placed(block.content, path):
            content += _write_block(each, place, account) or []
        kwargs = {"tool_call_id": block.tool_use_id, **present(name=block.tool_name)}
        yield _message(message, kwargs, content)


def _write_block(block: Block, path: str, account: Account) -> list[JsonObject] | None:
    """A block, followed by its cache point if it has one."""
    out = _one(block, path, account)
    if out is None:
        return None
    if block.cache is None:
        return [out]
    control = {"type": "ephemeral", **present(ttl=block.cache.ttl)}
    return [out, {"block_type": "cache", "cache_control": control}]


def _one(block: Block | ResultBlock, path: str, account: Account) -> JsonObject | None:
    match block:
        case TextBlock(text) | RefusalBlock(text):
            return with_rest(NAME, block.raw, {"block_type": "text", "text": text})
        case ThinkingBlock():
            return _write_thinking(block, path, account)
        case RedactedThinkingBlock(data):
            information = {"type": REDACTED, "data": data}
            out = {"block_type": "thinking", "content": None, "additional_information": information}
            return with_rest(NAME, block.raw, out)
        case ToolUseBlock(executor="client"):
            return _write_call(block, path)
        case ToolUseBlock():
            account.block(path, block, because("no_hosted_tools"))
            return None
        case CompactionBlock():
            summary = account.summary(path, block)
            return None if summary is None else {"block_type": "text", "text": summary.text}
    if type(block) in WORDS:
        return _write_media(block, path, account)  # type: ignore[arg-type]  # just looked up
    return account.own_or_dropped(path, block)


def _write_thinking(block: ThinkingBlock, path: str, account: Account) -> JsonObject:
    out: JsonObject = {"block_type": "thinking", "content": block.text}
    if spelling_of(NAME, block.raw).get("missing") and not block.text:
        del out["content"]
    information = present(id=block.id)
    issuer = account.issuer_of(block)
    if block.signature is not None:
        word = _WORDS.get(issuer or "anthropic")
        if word is None:
            reason = because("signature_foreign", issuer=issuer)
            account.lost(f"{path}.signature", reason, block=block)
        else:
            information[word] = block.signature
    if information:
        out["additional_information"] = information
    return with_rest(NAME, block.raw, out)


def _write_call(block: ToolUseBlock, path: str) -> JsonObject:
    args: Any = block.input
    if spelling_of(NAME, block.raw).get("args") == "text" or block.raw_arguments is not None:
        args = write_arguments(NAME, block, path)
    out = {"block_type": "tool_call", "tool_call_id": block.id, "tool_name": block.name}
    return with_rest(NAME, block.raw, {**out, "tool_kwargs": args})


def _write_listed(block: ToolUseBlock, path: str) -> JsonObject:
    function = {"name": block.name, "arguments": write_arguments(NAME, block, path)}
    return {"id": block.id, "type": "function", "function": function}


def _write_media(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    word = WORDS[type(block)]
    _, data, mime = MEDIA[word]
    source, bytes_ = block.source, inline(block)
    place = {"url": "url", "file_ref": "path"}.get(source.kind, data)
    text = bytes_ if place == data else source.data
    if place == "path" and NAME not in (block.raw or {}):
        text = None  # it reads no path where there is no file
    if text is None:
        account.block(path, block, source_unsupported(source.kind))
        return None
    media_type = block.media_type
    if isinstance(block, AudioBlock) and media_type is not None:
        media_type = _format(media_type)
    out = {"block_type": word, place: text, **present(**{mime: media_type})}
    if isinstance(block, ImageBlock):
        out |= present(detail=block.detail)
    if isinstance(block, DocumentBlock):
        out |= present(title=block.name)
    return with_rest(NAME, block.raw, out)


def _format(media_type: str) -> str:
    known = {known_type: word for word, known_type in FORMATS.items()}
    return known.get(media_type, media_type.removeprefix("audio/"))


VIEW = View(NAME, read, write)
