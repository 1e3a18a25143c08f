"""The llm-messages view: messages of Simon Willison's `llm`, as `Message.to_dict` writes them.

Output of `Response.to_dict` is read as well: the prompt's messages, then the answer. (llm 0.36,
read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from mimetypes import guess_type
from typing import Any, Never, assert_type

from interlingua.model.base import JsonObject, Raw
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
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
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import source_unsupported
from interlingua.views.base import (
    WORDS,
    Account,
    Fields,
    View,
    Written,
    class_for,
    inline,
    item_list,
    one_or_more,
    placed,
    present,
    raw_of,
    spelling_of,
    with_rest,
)
from interlingua.views.libraries import LLM, Draft

NAME = "llm-messages"
ROLES: dict[str, Role] = {role.value: role for role in Role}
SEALS = {"openai": "encrypted_content", "gemini": "thoughtSignature"}
"""The key of a signature for these providers; others use `signature`."""
PARTS = ("text", "reasoning", "tool_call", "tool_result", "attachment")
SIGNATURE, REDACTED = "signature", "redacted_thinking"
PLACES = {"content": "base64", "url": "url", "path": "file_ref"}


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of messages, a single one, or a response with its prompt."""
    if isinstance(plain, dict) and "prompt" in plain:
        whole = Fields(NAME, plain, "$")
        prompt, answer = whole.within("prompt").objects("messages"), whole.objects("messages")
        return tuple([each for fields in chain(prompt, answer) for each in _read(fields)])
    return tuple([each for fields in one_or_more(NAME, plain) for each in _read(fields)])


def _read(fields: Fields) -> list[Message]:
    role = fields.word("role", ROLES)
    parts = [_read_part(item, path) for item, path in fields.items("parts")]
    if role is Role.TOOL and parts and all(isinstance(part, ToolResultBlock) for part in parts):
        return _results(fields, parts)
    metadata = MessageMetadata(provider_raw=fields.raw())
    return [Message(role, tuple(parts), metadata=metadata)]


def _results(fields: Fields, results: list[Any]) -> list[Message]:
    """One message for each result; those behind the first remember that they stood with it."""
    joined: Raw = {NAME: {"$form": {"joined": True}}}
    raws = [fields.raw(), *[joined for _ in results[1:]]]
    return [
        Message(
            Role.TOOL,
            (result,),
            metadata=MessageMetadata(parent_tool_use_id=result.tool_use_id, provider_raw=raw),
        )
        for result, raw in zip(results, raws, strict=True)
    ]


def _read_part(item: Any, path: str) -> Block:
    fields = Fields(NAME, item, path)
    match item:
        case {"type": "text", "text": str()}:
            del fields.left["type"]
            signature, issuer = _unsealed(fields)
            text = fields.require("text", str)
            return TextBlock(text, signature, raw=fields.raw(issuer=issuer))
        case {"type": "reasoning", "text": str()}:
            return _read_reasoning(fields)
        case {"type": "tool_call", "name": str(), "arguments": dict()}:
            return _read_call(fields)
        case {"type": "tool_result", "name": str(), "output": str(), "tool_call_id": str()}:
            return _read_result(fields)
        case {"type": "attachment", "attachment": dict(inside)} if _place(inside):
            del fields.left["type"]
            attachment = fields.left.pop("attachment")
            block = _read_attachment(Fields(NAME, attachment, fields.place("attachment")))
            return block.replace(raw=fields.raw(attachment=(block.raw or {}).get(NAME)))
    return UnknownBlock({NAME: item})


def _unsealed(fields: Fields, word: str | None = None) -> tuple[str | None, str | None]:
    """A signature, taken out of the provider's data, and its dialect."""
    for maker, about in _makers(fields):
        key = word or SEALS.get(maker, SIGNATURE)
        if isinstance(about.left.get(key), str):
            return about.left.pop(key), LLM.dialect(maker) or maker
    return None, None


def _makers(fields: Fields) -> list[tuple[str, Fields]]:
    """The metadata of each provider; taking a key out of it takes it out of the part."""
    metadata = fields.left.get("provider_metadata")
    if (
        isinstance(metadata, dict)
        and metadata
        and all(isinstance(a, dict) and a for a in metadata.values())
    ):
        inside = fields.within("provider_metadata")
        for maker in metadata:
            inside.within(maker)
    known = fields.inside.get("provider_metadata")
    return list(known.inside.items()) if known is not None else []


def _read_reasoning(fields: Fields) -> Block:
    del fields.left["type"]
    text = fields.require("text", str)
    for maker, about in _makers(fields):
        if about.left.get("type") == REDACTED and isinstance(about.left.get("data"), str):
            del about.left["type"]
            sealed = about.left.pop("data")
            whose = LLM.dialect(maker) or maker
            return RedactedThinkingBlock(sealed, raw=fields.raw(issuer=whose, words=text or None))
    id = next(
        (a.left.pop("id") for _, a in _makers(fields) if isinstance(a.left.get("id"), str)), None
    )
    signature, issuer = _unsealed(fields)
    return ThinkingBlock(text, signature, id, raw=fields.raw(issuer=issuer))


def _read_call(fields: Fields) -> ToolUseBlock:
    del fields.left["type"]
    id, name = fields.optional("tool_call_id", str), fields.require("name", str)
    hosted = fields.filled("server_executed", bool)
    signature, issuer = _unsealed(fields)
    raw = fields.raw(issuer=issuer, nameless=True if id is None else None)
    block = ToolUseBlock(id or "", name, fields.optional("arguments", dict) or {}, None, signature)
    return block.replace(executor="provider" if hosted else "client", raw=raw)


def _read_result(fields: Fields) -> ToolResultBlock:
    del fields.left["type"]
    id, name = fields.require("tool_call_id", str), fields.filled("name", str)
    output, problem = fields.require("output", str), fields.left.get("exception")
    files = fields.filled("attachments", list) or []
    if not all(isinstance(file, dict) and _place(file) for file in files):
        fields.left["attachments"], files = files, []
    content: list[ResultBlock] = [TextBlock(output)] if output else []
    for file, path in item_list(NAME, files, fields.place("attachments")):
        content.append(_read_attachment(Fields(NAME, file, path)))
    return ToolResultBlock(id, tuple(content), problem is not None, name, raw=fields.raw())


def _place(item: JsonObject) -> str | None:
    filled = [place for place in PLACES if isinstance(item.get(place), str)]
    return filled[0] if len(filled) == 1 else None


def _read_attachment(fields: Fields) -> MediaBlock:
    place, media_type = _place(fields.left), fields.optional("type", str)
    assert place is not None
    source = Source(PLACES[place], fields.require(place, str))  # type: ignore[arg-type]  # one of them
    kind = media_type or guess_type(source.data or "")[0] or "image/*"
    return class_for(kind)(source, media_type, raw=fields.raw())


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer` is the source dialect, for messages that name none."""
    draft = Draft(NAME, messages, issuer)
    wire: list[JsonObject] = []
    for number in range(len(draft.messages)):
        _write(draft, number, wire)
    return draft.written(wire, read)


def _write(draft: Draft, number: int, wire: list[JsonObject]) -> None:
    message, account = draft.messages[number], draft.account(number)
    raw = message.metadata.provider_raw
    if message.role is not Role.TOOL or _is_odd(message):
        out: JsonObject = {"role": message.role.value, "parts": draft.parts(number, _write_part)}
        wire.append(with_rest(NAME, raw, out))
        return
    for path, block in draft.results(number):
        part = _write_result(block.replace(tool_name=draft.tool_of(block)), path, account, False)
        if spelling_of(NAME, raw).get("joined") and wire and wire[-1]["role"] == "tool":
            wire[-1]["parts"].append(part)
        else:
            wire.append(with_rest(NAME, raw, {"role": "tool", "parts": [part]}))


def _is_odd(message: Message) -> bool:
    """Whether it came from a tool's message that contains other parts than results."""
    own = [block for block in message.content if raw_of(NAME, block.raw)]
    return (
        NAME in (message.metadata.provider_raw or {})
        and len(own) == len(message.content)
        and any(isinstance(block, UnknownBlock) for block in message.content)
    )


def _write_part(block: Block, path: str, account: Account) -> JsonObject | None:
    if isinstance(block, MediaBlock):
        return _write_attached(block, path, account)
    match block:
        case TextBlock(text):
            out: JsonObject = {"type": "text", "text": text}
            return _sealed(out, block, block.signature, path, account)
        case RefusalBlock(text):
            return with_rest(NAME, block.raw, {"type": "text", "text": text})
        case ThinkingBlock(text):
            out = {"type": "reasoning", "text": text}
            return _sealed(out, block, block.signature, path, account, block.id)
        case RedactedThinkingBlock(data):
            maker = LLM.of_issuer(account.issuer_of(block)) or "anthropic"
            metadata = {maker: {"type": REDACTED, "data": data}}
            words = spelling_of(NAME, block.raw).get("words", "")
            out = {"type": "reasoning", "text": words, "provider_metadata": metadata}
            return with_rest(NAME, block.raw, out)
        case ToolUseBlock():
            return _write_call(block, path, account)
        case ToolResultBlock():
            return _write_result(block, path, account, True)
        case CompactionBlock():
            summary = account.summary(path, block)
            return None if summary is None else {"type": "text", "text": summary.text}
        case UnknownBlock():
            return account.own_or_dropped(path, block)
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            return account.own_or_dropped(path, block)


def _sealed(
    out: JsonObject,
    block: Block,
    signature: str | None,
    path: str,
    account: Account,
    id: str | None = None,
) -> JsonObject:
    """Adds the signature where the plugin of its provider expects it."""
    issuer = account.issuer_of(block)
    maker = LLM.of_issuer(issuer) or issuer or ("openai" if id is not None else "anthropic")
    about = present(**{SEALS.get(maker, SIGNATURE): signature}, id=id)
    if about:
        out["provider_metadata"] = {maker: about}
    return with_rest(NAME, block.raw, out)


def _write_call(block: ToolUseBlock, path: str, account: Account) -> JsonObject:
    out: JsonObject = {"type": "tool_call", "name": block.name, "arguments": block.input}
    if block.id or not spelling_of(NAME, block.raw).get("nameless"):
        out["tool_call_id"] = block.id
    if block.executor == "provider":
        out["server_executed"] = True
    return _sealed(out, block, block.signature, path, account)


def _write_result(block: ToolResultBlock, path: str, account: Account, hosted: bool) -> JsonObject:
    texts: list[str] = []
    files: list[JsonObject] = []
    for each, place in placed(block.content, path):
        if isinstance(each, TextBlock):
            texts.append(each.text)
        elif type(each) in WORDS:
            file = _attachment(each, place, account)  # type: ignore[arg-type]  # just looked up
            files += [] if file is None else [file]
        else:
            account.block(place, each)
    content = account.owner.content if account.owner is not None else ()
    calls = [b for b in content if isinstance(b, ToolUseBlock) and b.id == block.tool_use_id]
    name = block.tool_name or (calls[0].name if calls else "")
    out: JsonObject = {"type": "tool_result", "name": name, "output": "".join(texts)}
    out["tool_call_id"] = block.tool_use_id
    if hosted:
        out["server_executed"] = True
    if block.is_error and "exception" not in raw_of(NAME, block.raw):
        out["exception"] = "".join(texts)
    if files:
        out["attachments"] = files
    own = raw_of(NAME, block.raw)
    if not block.is_error:  # nor any more, where it was one
        own = {key: item for key, item in own.items() if key != "exception"}
    return with_rest(NAME, {NAME: own}, out)


def _write_attached(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    inside = spelling_of(NAME, block.raw).get("attachment")
    raw = {NAME: inside} if isinstance(inside, dict) else None
    attachment = _attachment(block.replace(raw=raw), path, account)
    if attachment is None:
        return None
    return with_rest(NAME, block.raw, {"type": "attachment", "attachment": attachment})


def _attachment(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    source, data = block.source, inline(block)
    place = {"url": "url", "file_ref": "path"}.get(source.kind, "content")
    text = data if place == "content" else source.data
    if not text:
        account.block(path, block, source_unsupported(source.kind))
        return None
    return with_rest(NAME, block.raw, present(type=block.media_type, **{place: text}))


VIEW = View(NAME, read, write)
