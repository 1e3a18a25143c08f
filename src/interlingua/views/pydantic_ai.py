"""The pydantic-ai view: what `ModelMessagesTypeAdapter` of pydantic-ai dumps.

A request holds parts that are messages of ours: instructions, a user's prompt, a tool's result. A
response is one answer. (pydantic-ai 2.66.0, read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Never, assert_type

import msgspec

from interlingua.errors import found
from interlingua.model.base import JsonObject, Raw, same
from interlingua.model.blocks import (
    Block,
    Cache,
    Citation,
    CompactionBlock,
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
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because, source_unsupported
from interlingua.views.base import (
    KINDS,
    WORDS,
    Account,
    Fields,
    View,
    Written,
    class_for,
    inline,
    item_list,
    json_value,
    one_or_more,
    placed,
    present,
    raw_of,
    read_arguments,
    spelling_of,
    standard,
    take_text,
    url_safe,
    with_form,
    with_rest,
    write_arguments,
)
from interlingua.views.libraries import PYDANTIC_AI, Draft, name_of, named

NAME = "pydantic-ai"
REDACTED = {"redacted_thinking": "anthropic", "redacted_content": "bedrock"}
"""Ids of thinking that is sealed, and whose it is."""
REDACTED_BY = {issuer: id for id, issuer in REDACTED.items()}
URLS = {f"{word}-url": cls for word, cls in KINDS.items()}
KEEPERS = (
    *("anthropic", "openai", "google", "google-cloud", "google-gla", "google-vertex"),
    *("bedrock", "xai"),
)
"""Services that may hold an uploaded file."""
SIGNATURE = "thought_signature"
SEALED = "encrypted_content"
FAILED = ("failed", "denied", "interrupted", "retried")
"""Outcomes of a call that are no success; the first is written."""


# Reading user prompts


def read_user_content(fields: Fields) -> tuple[list[Block], str | None]:
    """The blocks, and `string` where they were one."""
    content = fields.text_or_list("content")
    if content is None:
        raise fields.error("content", "a string or a list", "nothing")
    if isinstance(content, str):
        return ([TextBlock(content)] if content else []), "string"
    blocks: list[Block] = []
    for item, path in item_list(NAME, content, fields.place("content")):
        if _is_cache_point(item) and blocks and getattr(blocks[-1], "cache", None) is None:
            blocks[-1] = blocks[-1].replace(cache=Cache(item.get("ttl")))
        else:
            blocks.append(_read_item(item, path))
    return blocks, None


def _is_cache_point(item: Any) -> bool:
    match item:
        case {"kind": "cache-point", **rest} if rest.keys() <= {"ttl"}:
            return isinstance(rest.get("ttl", ""), str)
    return False


def _read_item(item: Any, path: str) -> Block:
    if isinstance(item, str):
        return TextBlock(item)
    fields = Fields(NAME, item, path)
    kind = fields.left.get("kind")
    if kind == "text-content":
        del fields.left["kind"]
        return TextBlock(fields.require("content", str), raw=fields.raw(kind=kind))
    return read_media(item, path) if _is_media(item) else UnknownBlock({NAME: item})


def _is_media(item: Any) -> bool:
    match item:
        case {"kind": "image-url" | "audio-url" | "video-url" | "document-url", "url": str()}:
            return True
        case {"kind": "binary", "data": str(), "media_type": str()}:
            return True
        case {"kind": "uploaded-file", "file_id": str(), "provider_name": str()}:
            return True
    return False


def read_media(item: Any, path: str) -> MediaBlock:
    fields = Fields(NAME, item, path)
    kind, media_type = fields.require("kind", str), fields.optional("media_type", str)
    cls = URLS.get(kind) or class_for(media_type)
    if kind == "binary":
        source = Source("base64", standard(fields.require("data", str)))
    elif kind == "uploaded-file":
        file_id, provider = fields.require("file_id", str), fields.require("provider_name", str)
        source = Source("file_id", file_id, provider=PYDANTIC_AI.read(provider).provider)
        if PYDANTIC_AI.word(source.provider, None) != provider:
            fields.left["provider_name"] = provider
    else:
        source = Source("url", fields.require("url", str))
    more: JsonObject = {}
    if cls is ImageBlock:
        more["detail"] = _detail(fields)
    return cls(source, media_type, raw=fields.raw(), **more)


def _detail(fields: Fields) -> str | None:
    """The level of detail of an image: OpenAI's value, in the vendor data."""
    return _inner_text(fields, "vendor_metadata", "detail")


# Writing user prompts


def write_user_content(message: Message, account: Account) -> tuple[Any, list[int]]:
    """A string, or a list of items, and the numbers of the blocks that they hold."""
    items: list[Any] = []
    numbers: list[int] = []
    for number, block in enumerate(message.content):
        item = _write_item(block, f"{account.path}.content[{number}]", account)
        if item is None:
            continue
        items.append(item)
        numbers.append(number)
        if block.cache is not None:
            items.append({"kind": "cache-point", **present(ttl=block.cache.ttl)})
    raw = message.metadata.provider_raw or {}
    was_string = spelling_of(NAME, raw).get("content") == "string"
    match items:
        case [] if was_string:
            return "", numbers
        case [str(text)] if text and (was_string or NAME not in raw):
            return text, numbers
    return items, numbers


def _write_item(block: Block, path: str, account: Account) -> Any:
    match block:
        case TextBlock(text):
            out = {"content": text}
            kind = spelling_of(NAME, block.raw).get("kind")
            if isinstance(kind, str) or raw_of(NAME, block.raw):
                out["kind"] = "text-content"
                return with_rest(NAME, block.raw, out)
            return text
        case CompactionBlock():
            summary = account.summary(path, block)
            return None if summary is None else summary.text
        case RefusalBlock(text):
            return text
    if type(block) in WORDS:
        return write_media(block, path, account)  # type: ignore[arg-type]  # just looked up
    return account.own_or_dropped(path, block)


def write_media(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    source = block.source
    out: JsonObject | None = None
    data = inline(block)
    if data is not None and block.media_type is not None:
        out = {"data": url_safe(data), "media_type": block.media_type, "kind": "binary"}
    elif source.kind == "url" and source.data is not None:
        kind = f"{WORDS[type(block)]}-url"
        out = {"url": source.data, **present(media_type=block.media_type), "kind": kind}
    elif source.kind == "file_id" and source.data is not None and _keeper(block) in KEEPERS:
        provider = _keeper(block)
        out = {"file_id": source.data, "provider_name": provider, "kind": "uploaded-file"}
        out |= present(media_type=block.media_type)
    if out is None:
        untyped = because("media_type_missing")
        account.block(path, block, source_unsupported(source.kind) if data is None else untyped)
        return None
    detail = getattr(block, "detail", None)
    if detail is not None:
        out["vendor_metadata"] = {"detail": detail}
    return with_rest(NAME, block.raw, out)


def _keeper(block: MediaBlock) -> str | None:
    """The name of the provider that stores a file; of several names, the one that the wire had."""
    word = raw_of(NAME, block.raw).get("provider_name")
    if isinstance(word, str) and PYDANTIC_AI.read(word).provider == block.source.provider:
        return word
    return PYDANTIC_AI.word(block.source.provider, None)


# Results of tools


def read_returned(fields: Fields) -> tuple[ToolResultBlock, JsonObject]:
    """The result of a call, and how the wire spelled it."""
    name, id = fields.require("tool_name", str), fields.require("tool_call_id", str)
    content, form = _read_output(fields)
    outcome = fields.optional("outcome", str)
    failed = outcome in FAILED
    block = ToolResultBlock(id, content, failed, name)
    return block, {"output": form, "outcome": outcome}


def _read_output(fields: Fields) -> tuple[tuple[ResultBlock, ...], str | None]:
    """Text, or files with text between them; any other value as JSON."""
    output = fields.left.pop("content", None)
    if isinstance(output, str):
        return ((TextBlock(output),) if output else ()), None
    place = fields.place("content")
    if _is_media(output):
        return (read_media(output, place),), "item"
    if isinstance(output, list) and any(map(_is_media, output)):
        items = item_list(NAME, output, place)
        if all(isinstance(item, str) or _is_media(item) for item in output):
            read = [TextBlock(i) if isinstance(i, str) else read_media(i, p) for i, p in items]
            return tuple(read), None
    return (TextBlock(msgspec.json.encode(output).decode()),), "json"


def write_returned(
    block: ToolResultBlock, name: str, form: JsonObject, path: str, account: Account
) -> JsonObject:
    output = _write_output(block, form, path, account)
    retry = form.get("part") == "retry-prompt" and block.is_error and isinstance(output, str)
    out: JsonObject = {"tool_name": name, "content": output, "tool_call_id": block.tool_use_id}
    if retry:
        return {**out, "part_kind": "retry-prompt"}
    outcome = _outcome(block, form)
    return {**out, **present(outcome=outcome), "part_kind": "tool-return"}


def _outcome(block: ToolResultBlock, form: JsonObject) -> str | None:
    word = form.get("outcome")
    if isinstance(word, str) and (word in FAILED) == block.is_error:
        return word
    return FAILED[0] if block.is_error else None


def _write_output(block: ToolResultBlock, form: JsonObject, path: str, account: Account) -> Any:
    items: list[Any] = []
    for each, place in placed(block.content, path):
        if isinstance(each, TextBlock):
            items.append(each.text)
        elif type(each) in WORDS:
            item = write_media(each, place, account)  # type: ignore[arg-type]  # just looked up
            items += [] if item is None else [item]
        else:
            account.block(place, each)
    if all(isinstance(item, str) for item in items):
        text = "".join(items)
        return json_value(text) if form.get("output") == "json" else text
    if len(items) == 1 and form.get("output") == "item":
        return items[0]
    return items


# Reading an answer


def read_answer_part(fields: Fields) -> tuple[Block, Sequence[Diagnostic]]:
    """The block of a part, and the repairs needed to read it."""
    whole = dict(fields.left)
    match fields.optional("part_kind", str), whole:
        case "text", {"content": str()}:
            return _read_text(fields), ()
        case "thinking", {"content": str()}:
            return _read_thinking(fields), ()
        case ("tool-call" | "builtin-tool-call") as kind, {
            "tool_name": str(),
            "tool_call_id": str(),
        }:
            return _read_call(fields, kind)
        case "builtin-tool-return", {"tool_name": str(), "tool_call_id": str()}:
            block, form = read_returned(fields)
            return block.replace(raw=fields.raw(**form)), ()
        case "file", {"content": dict(item)} if _is_media(item):
            inside = read_media(fields.left.pop("content"), fields.place("content"))
            raw = fields.raw(content=(inside.raw or {}).get(NAME))
            return inside.replace(raw=raw), ()
        case "compaction", {"content": None | str()}:
            return _read_compaction(fields), ()
    return UnknownBlock({NAME: whole}), ()


def _signature(fields: Fields, word: str = SIGNATURE) -> str | None:
    """Taken out of the details that are for the provider."""
    return _inner_text(fields, "provider_details", word)


def _inner_text(fields: Fields, name: str, key: str) -> str | None:
    """Takes a string out of an object in a field; without one, the object is unchanged."""
    inner = fields.left.get(name)
    if not isinstance(inner, dict) or not isinstance(inner.get(key), str):
        return None
    return take_text(fields.within(name).left, key)


def _raw(fields: Fields, signed: str | None, **form: Any) -> Raw | None:
    """The raw data of a part; if it is signed, also its signer."""
    word = fields.left.get("provider_name")
    if signed is None:
        return fields.raw(**form)
    unnamed = True if word is None else None
    return fields.raw(issuer=PYDANTIC_AI.dialect(word), unnamed=unnamed, **form)


def _read_text(fields: Fields) -> TextBlock:
    text, signature = fields.require("content", str), _signature(fields)
    citations = _read_citations(fields)
    return TextBlock(text, signature, citations, raw=_raw(fields, signature))


def _read_citations(fields: Fields) -> tuple[Citation, ...]:
    plain = fields.left.get("citations")
    if not isinstance(plain, list) or not plain:
        return ()
    read = [_spelled(_read_citation(each), each) for each in plain]
    if any(each is None for each in read):
        return ()
    del fields.left["citations"]
    return tuple([each for each in read if each is not None])


def _spelled(citation: Citation | None, plain: Any) -> Citation | None:
    if citation is None or same(_write_citation(citation), plain):
        return citation
    return citation.replace(raw={NAME: {"$form": {"as": plain}}})


_CITED = ("kind", "url", "document_id", "title")


def _read_citation(plain: Any) -> Citation | None:
    """One source with at most one excerpt; anything richer is preserved."""
    rest = dict(plain) if isinstance(plain, dict) else {}
    match rest.pop("sources", None):
        case [{"kind": "web", "url": str(url)} as cited]:
            made = Citation(url=url, title=cited.get("title"))
        case [{"kind": "document"} as cited]:
            made = Citation(file_id=cited.get("document_id"), title=cited.get("title"))
        case _:
            return None
    source = {key: item for key, item in cited.items() if key not in _CITED}
    excerpts, anchor = source.pop("excerpts", []), rest.pop("anchor", None)
    if not isinstance(excerpts, list) or len(excerpts) > 1 or source or rest:
        return None
    made = made.replace(cited_text=excerpts[0] if excerpts else None)
    match anchor:
        case None:
            return made
        case {"start": int(start), "end": int(end), "kind": "content", **more} if not more:
            return made.replace(start=start, end=end)
    return None


def _read_thinking(fields: Fields) -> Block:
    signature, id = fields.optional("signature", str), fields.left.get("id")
    if id in REDACTED and signature is not None and fields.left["content"] == "":
        del fields.left["id"], fields.left["content"]
        return RedactedThinkingBlock(signature, raw=_raw(fields, signature, id=id))
    text, id = fields.require("content", str), fields.optional("id", str)
    return ThinkingBlock(text, signature, id, raw=_raw(fields, signature))


def _read_call(fields: Fields, kind: str) -> tuple[ToolUseBlock, Sequence[Diagnostic]]:
    id, name = fields.require("tool_call_id", str), fields.require("tool_name", str)
    args, text = fields.left.pop("args", None), None
    made: Sequence[Diagnostic] = ()
    form = "text" if isinstance(args, str) else "none" if args is None else None
    if isinstance(args, str):
        args, text, made = read_arguments(args, id)
    signature = _signature(fields)
    raw = _raw(fields, signature, args=form)
    block = ToolUseBlock(id, name, args or {}, text, signature, raw=raw)
    return block.replace(executor="provider") if kind != "tool-call" else block, made


def _read_compaction(fields: Fields) -> CompactionBlock:
    text, data = fields.optional("content", str), _signature(fields, SEALED)
    return CompactionBlock(text, data, raw=_raw(fields, data))


# Writing an answer


def write_answer_part(block: Block, path: str, account: Account) -> JsonObject | None:
    if isinstance(block, MediaBlock):
        return _write_file(block, path, account)
    issuer = PYDANTIC_AI.of_issuer(account.issuer_of(block))
    match block:
        case TextBlock(text):
            out = {"content": text, **_signed(block.signature, issuer)}
            if block.citations:
                out |= present(citations=_write_citations(block, path, account))
            return _part("text", block, out)
        case RefusalBlock(text):
            return _part("text", block, {"content": text})
        case ThinkingBlock(text, signature, id):
            out = present(content=text, signature=signature, id=id)
            return _part("thinking", block, out | _provider(signature, issuer))
        case RedactedThinkingBlock(data):
            return _write_redacted(block, data, issuer)
        case ToolUseBlock():
            return _write_call(block, path, account, issuer)
        case ToolResultBlock():
            return _write_result(block, path, account)
        case CompactionBlock(text, data):
            out = {"content": text, **_signed(data, issuer, SEALED)}
            return _part("compaction", block, out)
        case UnknownBlock():
            return account.own_or_dropped(path, block)
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            return account.own_or_dropped(path, block)


def _part(kind: str, block: Block, out: JsonObject) -> JsonObject:
    if spelling_of(NAME, block.raw).get("unnamed"):
        out.pop("provider_name", None)
    return with_rest(NAME, block.raw, {**out, "part_kind": kind})


def _provider(signed: str | None, issuer: str | None) -> JsonObject:
    return present(provider_name=issuer) if signed is not None else {}


def _signed(signature: str | None, issuer: str | None, word: str = SIGNATURE) -> JsonObject:
    if signature is None:
        return {}
    return {"provider_details": {word: signature}, **_provider(signature, issuer)}


def _write_redacted(block: RedactedThinkingBlock, data: str, issuer: str | None) -> JsonObject:
    id = spelling_of(NAME, block.raw).get("id")
    if id not in REDACTED:
        id = REDACTED_BY.get(issuer or "", "redacted_thinking")
    out = {"content": "", "id": id, "signature": data}
    return _part("thinking", block, {**out, **_provider(data, issuer)})


def _write_call(block: ToolUseBlock, path: str, account: Account, issuer: str | None) -> JsonObject:
    kind = "builtin-tool-call" if block.executor == "provider" else "tool-call"
    form = spelling_of(NAME, block.raw).get("args")
    args: Any = block.input
    if form == "text" or block.raw_arguments is not None:
        args = write_arguments(NAME, block, path)
    elif form == "none" and not block.input:
        args = None
    out = {"tool_name": block.name, "args": args, "tool_call_id": block.id}
    out |= _signed(block.signature, issuer)
    if kind != "tool-call" and not block.raw:
        out |= present(provider_name=issuer)
    return _part(kind, block, out)


def _write_result(block: ToolResultBlock, path: str, account: Account) -> JsonObject:
    owner = account.owner
    calls = [b for b in owner.content if isinstance(b, ToolUseBlock)] if owner else []
    name = block.tool_name or next((b.name for b in calls if b.id == block.tool_use_id), "")
    form = {**spelling_of(NAME, block.raw), "part": None}
    out = write_returned(block, name, form, path, account)
    return _part("builtin-tool-return", block, out)


def _write_file(block: MediaBlock, path: str, account: Account) -> JsonObject | None:
    """An answer holds files by their bytes alone."""
    if inline(block) is None or block.media_type is None:
        account.block(
            path,
            block,
            source_unsupported(block.source.kind)
            if inline(block) is None
            else because("media_type_missing"),
        )
        return None
    inside = spelling_of(NAME, block.raw).get("content")
    raw = {NAME: inside} if isinstance(inside, dict) else None
    content = write_media(block.replace(raw=raw), path, account)
    return None if content is None else _part("file", block, {"content": content})


def _write_citations(block: TextBlock, path: str, account: Account) -> list[JsonObject] | None:
    out: list[Any] = []
    for number, each in enumerate(block.citations):
        if each.url is None and each.file_id is None and each.title is None:
            reason = because("citation_without_place")
            account.lost(f"{path}.citations[{number}]", reason, block=block)
            continue
        spelled = spelling_of(NAME, each.raw).get("as")
        again = spelled is not None and _read_citation(spelled) == each
        out.append(spelled if again else _write_citation(each))
    return out or None


def _write_citation(citation: Citation) -> JsonObject:
    excerpts = [citation.cited_text] if citation.cited_text is not None else []
    source: JsonObject = {**present(title=citation.title), "excerpts": excerpts}
    if citation.url is not None:
        source = {"url": citation.url, **source, "kind": "web"}
    else:
        source = {**present(document_id=citation.file_id), **source, "kind": "document"}
    anchor = None
    start, end = citation.start, citation.end
    if start is not None and end is not None and 0 <= start < end:  # it refuses any other
        anchor = {"start": start, "end": end, "kind": "content"}
    return {"sources": [source], **present(anchor=anchor)}


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
"""The stop word for every reason that has a similar one."""
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
"""Beside `input_tokens`, which includes tokens that were read from a cache or written to one."""
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
    """The first message of a request, with the request's data beside its parts."""
    if not rest and not form:
        return message
    raw = with_form(NAME, message.metadata.provider_raw, **form)
    if rest:
        raw = {NAME: {**raw[NAME], "request": rest}}
    return message.replace(metadata=message.metadata.replace(provider_raw=raw))


def _read_request_part(fields: Fields) -> Message:
    whole, path = dict(fields.left), fields.path
    match fields.optional("part_kind", str):
        case "system-prompt":
            text = fields.require("content", str)
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
    text = fields.optional("timestamp", str)
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
    """A request for a retry: of a failed call, or of the whole answer."""
    text, name = fields.require("content", str), fields.optional("tool_name", str)
    content = (TextBlock(text),) if text else ()
    if name is None:
        return _message(fields, Role.USER, content, part="retry-prompt", content="string")
    id = fields.require("tool_call_id", str)
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
    stop = fields.optional("finish_reason", str)
    state = fields.optional("state", str)
    details = dict(fields.filled("provider_details", dict) or {})
    word = take_text(details, "finish_reason")
    if details:
        fields.left["provider_details"] = details
    created_at, usage = _read_time(fields), _read_usage(fields)
    metadata = metadata.replace(
        response_id=fields.optional("provider_response_id", str),
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
    counts: dict[str, Any] = {field: data.optional(name, int) for name, field in COUNTS.items()}
    prompt = data.optional("input_tokens", int)
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
    """`issuer` is the source dialect, for messages that name none."""
    draft = Draft(NAME, messages, issuer)
    return draft.written(_Writer(draft).wire(), read)


class _Writer:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.out: list[JsonObject] = []
        self.instructions = self._instructions()

    def _instructions(self) -> str | None:
        """Instructions beside the parts; only a first message can have them."""
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
        rest, spelled = raw_of(NAME, raw).get("request"), form.get("request")
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
            yield raw_of(NAME, message.content[0].raw)
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
        own = {key: item for key, item in raw_of(NAME, raw).items() if key != "request"}
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
    return bool(raw_of(NAME, content[0].raw))


def _write_time(time: datetime | None, raw: Raw | None) -> str | None:
    """In its original spelling, if that is the time; else as pydantic writes it."""
    if time is None:
        return None
    spelled = raw_of(NAME, raw).get("timestamp")
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
    own = raw_of(NAME, usage.raw)
    if "input_tokens" in own and _same_prompt(usage, own["input_tokens"]):
        out.pop("input_tokens", None)
    if "cost" in own and "cost" in out and Decimal(str(own["cost"])) == usage.cost_usd:
        del out["cost"]
    return with_rest(NAME, usage.raw, out)


def _same_prompt(usage: Usage, prompt: Any) -> bool:
    """Whether the wire counted fewer prompt tokens than cached ones, and none are fresh still."""
    return usage.input_tokens == 0 and isinstance(prompt, int)


VIEW = View(NAME, read, write)
