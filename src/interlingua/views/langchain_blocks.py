"""Content blocks of LangChain's messages, standard (v1) and those of providers, and our blocks."""

from __future__ import annotations

from typing import Any, Never, assert_type

import msgspec

from interlingua.model.base import JsonObject, Raw
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Citation,
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
from interlingua.views.base import (
    Fields,
    item_list,
    json_value,
    placed,
    present,
    spelling_of,
    take_text,
    with_rest,
)
from interlingua.views.media import KINDS, WORDS
from interlingua.views.view import Account

NAME = "langchain"
MEDIA = {**KINDS, "file": DocumentBlock, "text-plain": DocumentBlock}
PLACES = ("base64", "url", "file_id", "text")
SIGNATURE, SEALED = "signature", "encrypted_content"
AS_OPENAI = frozenset({"openai-responses", "openai", "azure"})
"""Who seals reasoning as OpenAI does."""
_CITED = {
    "url": "url",
    "title": "title",
    "start_index": "start",
    "end_index": "end",
    "cited_text": "cited_text",
}


# Reading


def read_block(item: Any, path: str, issuer: str | None = None) -> Block:
    """One block of a content list; `issuer` is whose signatures they are."""
    if isinstance(item, str):
        return TextBlock(item, raw={NAME: {"$form": {"bare": True}}})
    fields = Fields(NAME, item, path)
    match item:
        case {"type": "text", "text": str()}:
            return _read_text(fields, issuer)
        case {"type": "reasoning"}:
            return _read_reasoning(fields, issuer)
        case {"type": "thinking", "thinking": str()}:
            fields.left.pop("type")
            text, signature = fields.need("thinking", str), fields.maybe(SIGNATURE, str)
            return ThinkingBlock(text, signature, raw=fields.raw(type="thinking", issuer=issuer))
        case {"type": "redacted_thinking", "data": str(data), **rest} if not rest:
            return RedactedThinkingBlock(data, raw=_form(native=True, issuer=issuer))
        case {"type": "non_standard", "value": dict(value), **rest} if not rest:
            return _read_non_standard(item, value, issuer)
        case {"type": "image_url", "image_url": {"url": str()}}:
            return _read_image_url(fields)
        case {"type": "server_tool_call", "id": str(), "name": str(), "args": dict()}:
            return _read_server_call(fields)
        case {"type": "server_tool_result", "tool_call_id": str()}:
            return _read_server_result(fields)
        case {"type": str(word)} if word in MEDIA and any(p in item for p in PLACES):
            return _read_media(fields)
    return UnknownBlock({NAME: item})


def _form(**form: Any) -> Raw | None:
    filled = present(**form)
    return {NAME: {"$form": filled}} if filled else None


def _extra(fields: Fields, name: str) -> str | None:
    """Taken out of what is for the provider."""
    if fields.left.get("extras") == {}:
        fields.filled("extras", dict)
    if isinstance(fields.left.get("extras"), dict):
        fields.within("extras")
    extras = fields.inside.get("extras")
    return None if extras is None else take_text(extras.left, name)


def _read_text(fields: Fields, issuer: str | None) -> TextBlock:
    del fields.left["type"]
    text, signature = fields.need("text", str), _extra(fields, SIGNATURE)
    citations = _read_citations(fields)
    return TextBlock(
        text, signature, citations, raw=fields.raw(issuer=issuer if signature else None)
    )


def _read_citations(fields: Fields) -> tuple[Citation, ...]:
    """Those in `annotations`, if each of them is a citation."""
    plain = fields.left.get("annotations")
    if not isinstance(plain, list) or not plain:
        return ()
    if not all(isinstance(each, dict) and each.get("type") == "citation" for each in plain):
        return ()
    return tuple([_read_citation(each) for each in fields.left.pop("annotations")])


def _read_citation(plain: JsonObject) -> Citation:
    known: JsonObject = {field: plain.get(word) for word, field in _CITED.items()}
    rest = {key: item for key, item in plain.items() if key not in (*_CITED, "type")}
    return Citation(**known, raw={NAME: rest} if rest else None)


def _read_reasoning(fields: Fields, issuer: str | None) -> ThinkingBlock:
    del fields.left["type"]
    text, id = fields.maybe("reasoning", str), fields.maybe("id", str)
    parts = fields.left.get("summary") if text is None else None
    summary = fields.left.pop("summary") if _words(parts) is not None else None
    signature, place = _unsealed(fields)
    form = {
        "issuer": issuer if signature is not None else None,
        "sealed": place,
        "missing": True if text is None else None,
        "summary": summary,
    }
    return ThinkingBlock(text or _words(summary) or "", signature, id, raw=fields.raw(**form))


def _words(summary: Any) -> str | None:
    """The text of a summary as OpenAI has it; None where it is none."""
    if not isinstance(summary, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) else None for part in summary]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "\n\n".join(map(str, texts))


def _unsealed(fields: Fields) -> tuple[str | None, str | None]:
    """The signature, and where it was."""
    if isinstance(fields.left.get(SEALED), str):
        return fields.need(SEALED, str), "beside"
    for word in (SIGNATURE, SEALED):
        signature = _extra(fields, word)
        if signature is not None:
            return signature, word
    return None, None


def _read_non_standard(item: JsonObject, value: JsonObject, issuer: str | None) -> Block:
    match value:
        case {"type": "redacted_thinking", "data": str(data), **rest} if not rest:
            return RedactedThinkingBlock(data, raw=_form(issuer=issuer))
        case {"type": "refusal", "refusal": str(text), **rest} if not rest:
            return RefusalBlock(text)
    return UnknownBlock({NAME: item})


def _read_image_url(fields: Fields) -> ImageBlock:
    del fields.left["type"]
    inside = fields.within("image_url")
    url, detail = inside.need("url", str), inside.maybe("detail", str)
    head, comma, data = url.partition(",")
    form = fields.raw(type="image_url")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return ImageBlock(Source("base64", data), media_type or None, detail=detail, raw=form)
    return ImageBlock(Source("url", url), detail=detail, raw=form)


def _read_media(fields: Fields) -> Block:
    word = fields.need("type", str)
    place = next(place for place in PLACES if place in fields.left)
    data, media_type = fields.need(place, str), fields.maybe("mime_type", str)
    source = Source(place, data)  # type: ignore[arg-type]  # the same words
    cls = MEDIA[word]
    more: JsonObject = {}
    if cls is ImageBlock:
        more["detail"] = _extra(fields, "detail")
    if cls is DocumentBlock and word == "text-plain":
        more = {name: fields.maybe(name, str) for name in ("title", "context")}
    if cls is DocumentBlock:
        more["name"] = _extra(fields, "filename")
    usual = _word_of(cls, source)
    return cls(source, media_type, raw=fields.raw(type=word if word != usual else None), **more)


def _word_of(cls: type[MediaBlock], source: Source) -> str:
    if cls is not DocumentBlock:
        return WORDS[cls]
    return "text-plain" if source.kind == "text" else "file"


def _read_server_call(fields: Fields) -> ToolUseBlock:
    del fields.left["type"]
    id, name = fields.need("id", str), fields.need("name", str)
    return ToolUseBlock(id, name, fields.need("args", dict), executor="provider", raw=fields.raw())


def _read_server_result(fields: Fields) -> ToolResultBlock:
    del fields.left["type"]
    id, status = fields.need("tool_call_id", str), fields.maybe("status", str)
    output = fields.left.pop("output", None)
    content, form = read_output(output, fields.place("output"))
    raw = fields.raw(output=form, status=None if status in ("success", "error") else status or "")
    return ToolResultBlock(id, content, status == "error", raw=raw)


def read_output(output: Any, path: str) -> tuple[tuple[ResultBlock, ...], str | None]:
    """What a tool gave: a text, a list of blocks, or any other value as JSON."""
    if output is None:
        return (), "none"
    if isinstance(output, str):
        return ((TextBlock(output),) if output else ()), "string"
    if isinstance(output, list) and output and all(map(_is_result, output)):
        read: Any = tuple([read_block(item, at) for item, at in item_list(NAME, output, path)])
        return read, "list"
    return (TextBlock(msgspec.json.encode(output).decode()),), "json"


def _is_result(item: Any) -> bool:
    """Whether it is a block that a result may hold."""
    if isinstance(item, str):
        return True
    return isinstance(item, dict) and item.get("type") in ("text", "image_url", *MEDIA)


# Writing


def write_block(block: Block, path: str, account: Account) -> Any:
    """A standard block, or the provider's where it was that; None for what has none. Calls that a
    client runs are written by the message."""
    form = spelling_of(NAME, block.raw)
    match block:
        case TextBlock(text):
            return _write_text(block, form)
        case ThinkingBlock():
            return _write_thinking(block, form, account.issuer_of(block))
        case RedactedThinkingBlock(data):
            value = {"type": "redacted_thinking", "data": data}
            return value if form.get("native") else {"type": "non_standard", "value": value}
        case RefusalBlock(text):
            value = {"type": "refusal", "refusal": text}
            return with_rest(NAME, block.raw, {"type": "non_standard", "value": value})
        case CompactionBlock():
            summary = account.summary(path, block)
            return None if summary is None else {"type": "text", "text": summary.text}
        case ToolUseBlock(id, name, args):
            out: JsonObject = {"type": "server_tool_call", "id": id, "name": name, "args": args}
            return with_rest(NAME, block.raw, out)
        case ToolResultBlock():
            return _write_server_result(block, path, account)
        case ImageBlock() | AudioBlock() | VideoBlock() | DocumentBlock():
            return _write_media(block, form, path, account)
        case UnknownBlock():
            return account.own_or_dropped(path, block)
        case _:
            assert_type(block, Never)  # type: ignore[unreachable]  # types of later versions
            return account.own_or_dropped(path, block)


def _write_text(block: TextBlock, form: JsonObject) -> Any:
    if form.get("bare") and not block.signature and not block.citations:
        return block.text
    out: JsonObject = {"type": "text", "text": block.text}
    if block.citations:
        out["annotations"] = [_write_citation(each) for each in block.citations]
    if block.signature is not None:
        out["extras"] = {SIGNATURE: block.signature}
    return with_rest(NAME, block.raw, out)


def _write_citation(citation: Citation) -> JsonObject:
    known = {word: getattr(citation, field) for word, field in _CITED.items()}
    return with_rest(NAME, citation.raw, {"type": "citation", **present(**known)})


def _write_thinking(block: ThinkingBlock, form: JsonObject, issuer: str | None) -> JsonObject:
    if form.get("type") == "thinking" and block.id is None:
        out = {"type": "thinking", "thinking": block.text, **present(signature=block.signature)}
        return with_rest(NAME, block.raw, out)
    out = {"type": "reasoning", **present(id=block.id)}
    from_openai = issuer in AS_OPENAI
    summary = form.get("summary")
    wordless = form.get("missing") or (from_openai and not block.raw and block.signature)
    if summary is not None and _words(summary) == block.text:
        out["summary"] = summary
    elif block.text or not wordless:
        out["reasoning"] = block.text
    if block.signature is not None:
        out |= _sealed(block.signature, form, from_openai, "reasoning" in out)
    return with_rest(NAME, block.raw, out)


def _sealed(signature: str, form: JsonObject, from_openai: bool, worded: bool) -> JsonObject:
    """OpenAI's integration looks for it beside the words, and in `extras` where there are none."""
    place = form.get("sealed")
    if place is None and from_openai:
        place = "beside" if worded else SEALED
    if place == "beside":
        return {SEALED: signature}
    return {"extras": {SEALED if place == SEALED else SIGNATURE: signature}}


def _write_media(block: Any, form: JsonObject, path: str, account: Account) -> Any:
    source: Source = block.source
    if source.kind not in PLACES or source.data is None:
        account.block(path, block, f"{NAME} has no {source.kind} source")
        return None
    if form.get("type") == "image_url" and source.kind in ("base64", "url"):
        return _write_image_url(block)
    word = form.get("type")
    cls = type(block)
    word = word if isinstance(word, str) and MEDIA.get(word) is cls else _word_of(cls, source)
    if source.kind == "text" and word != "text-plain":
        account.block(path, block, f"{NAME} has no {source.kind} source")
        return None
    out = {"type": word, source.kind: source.data, **present(mime_type=block.media_type)}
    extras = present(detail=getattr(block, "detail", None))
    if cls is DocumentBlock:
        extras = present(filename=block.name)
        if word == "text-plain":
            out |= present(title=block.title, context=block.context)
    if extras:
        out["extras"] = extras
    return with_rest(NAME, block.raw, out)


def _write_image_url(block: ImageBlock) -> JsonObject:
    url = block.source.data
    if block.source.kind == "base64":
        url = f"data:{block.media_type or ''};base64,{url}"
    inside = {"url": url, **present(detail=block.detail)}
    return with_rest(NAME, block.raw, {"type": "image_url", "image_url": inside})


def _write_server_result(block: ToolResultBlock, path: str, account: Account) -> JsonObject:
    form = spelling_of(NAME, block.raw)
    status: Any = "error" if block.is_error else form.get("status", "success")
    out: JsonObject = {"type": "server_tool_result", "tool_call_id": block.tool_use_id}
    out |= present(status=status or None)
    content = write_output(block, form.get("output"), path, account)
    if content is not None:
        out["output"] = content
    return with_rest(NAME, block.raw, out)


def write_output(block: ToolResultBlock, form: Any, path: str, account: Account) -> Any:
    written = [write_block(each, place, account) for each, place in placed(block.content, path)]
    items = [item for item in written if item is not None]
    match items:
        case []:
            return None if form == "none" else [] if form == "list" else ""
        case [{"type": "text", "text": str(text), **rest}] if not rest and form != "list":
            value = json_value(text) if form == "json" else text or items
            return text if value is None else value
    return items
