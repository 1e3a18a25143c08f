"""The langchain view: messages of LangChain, as `messages_to_dict` writes them.

Output of `dumpd` and `model_dump` is read as well. (langchain-core 1.7.2, read 2026-11-17.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Never, assert_type

import msgspec

from interlingua.model.arguments import recover
from interlingua.model.base import JsonObject, Raw, same
from interlingua.model.blocks import (
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
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because, source_unsupported
from interlingua.views.base import (
    KINDS,
    WORDS,
    Account,
    Fields,
    View,
    Written,
    as_string,
    item_list,
    json_value,
    one_or_more,
    placed,
    present,
    raw_of,
    read_arguments,
    spelling_of,
    take_text,
    with_rest,
    write_arguments,
)
from interlingua.views.libraries import LANGCHAIN, Draft, name_of, named

NAME = "langchain"
MEDIA = {**KINDS, "file": DocumentBlock, "text-plain": DocumentBlock}
PLACES = ("base64", "url", "file_id", "text")
SIGNATURE, SEALED = "signature", "encrypted_content"
AS_OPENAI = frozenset({"openai-responses", "openai", "azure"})
"""Services that encrypt reasoning as OpenAI does."""
_CITED = {
    "url": "url",
    "title": "title",
    "start_index": "start",
    "end_index": "end",
    "cited_text": "cited_text",
}


# Reading blocks


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
            text, signature = fields.require("thinking", str), fields.optional(SIGNATURE, str)
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
    """A text, taken out of the provider's data."""
    if fields.left.get("extras") == {}:
        fields.filled("extras", dict)
    if isinstance(fields.left.get("extras"), dict):
        fields.within("extras")
    extras = fields.inside.get("extras")
    return None if extras is None else take_text(extras.left, name)


def _read_text(fields: Fields, issuer: str | None) -> TextBlock:
    del fields.left["type"]
    text, signature = fields.require("text", str), _extra(fields, SIGNATURE)
    citations = _read_citations(fields)
    return TextBlock(
        text, signature, citations, raw=fields.raw(issuer=issuer if signature else None)
    )


def _read_citations(fields: Fields) -> tuple[Citation, ...]:
    """Citations in `annotations`, if all of them are citations."""
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
    text, id = fields.optional("reasoning", str), fields.optional("id", str)
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
    """The text of a summary in OpenAI's form; None for other forms."""
    if not isinstance(summary, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) else None for part in summary]
    if not all(isinstance(text, str) for text in texts):
        return None
    return "\n\n".join(map(str, texts))


def _unsealed(fields: Fields) -> tuple[str | None, str | None]:
    """The signature, and where it was."""
    if isinstance(fields.left.get(SEALED), str):
        return fields.require(SEALED, str), "beside"
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
    url, detail = inside.require("url", str), inside.optional("detail", str)
    head, comma, data = url.partition(",")
    form = fields.raw(type="image_url")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        media_type = head.removeprefix("data:").removesuffix(";base64")
        return ImageBlock(Source("base64", data), media_type or None, detail=detail, raw=form)
    return ImageBlock(Source("url", url), detail=detail, raw=form)


def _read_media(fields: Fields) -> Block:
    word = fields.require("type", str)
    place = next(place for place in PLACES if place in fields.left)
    data, media_type = fields.require(place, str), fields.optional("mime_type", str)
    source = Source(place, data)  # type: ignore[arg-type]  # the same words
    cls = MEDIA[word]
    more: JsonObject = {}
    if cls is ImageBlock:
        more["detail"] = _extra(fields, "detail")
    if cls is DocumentBlock and word == "text-plain":
        more = {name: fields.optional(name, str) for name in ("title", "context")}
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
    id, name = fields.require("id", str), fields.require("name", str)
    return ToolUseBlock(
        id, name, fields.require("args", dict), executor="provider", raw=fields.raw()
    )


def _read_server_result(fields: Fields) -> ToolResultBlock:
    del fields.left["type"]
    id, status = fields.require("tool_call_id", str), fields.optional("status", str)
    output = fields.left.pop("output", None)
    content, form = read_output(output, fields.place("output"))
    raw = fields.raw(output=form, status=None if status in ("success", "error") else status or "")
    return ToolResultBlock(id, content, status == "error", raw=raw)


def read_output(output: Any, path: str) -> tuple[tuple[ResultBlock, ...], str | None]:
    """A tool's output: a text, a list of blocks, or any other value as JSON."""
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


# Writing blocks


def write_block(block: Block, path: str, account: Account) -> Any:
    """A standard block, or the provider's if it was read from one; None for a block without
    either. Calls that a client runs are written by the message."""
    form = spelling_of(NAME, block.raw)
    if isinstance(block, MediaBlock):
        return _write_media(block, form, path, account)
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
    """OpenAI's integration looks for it beside the text, and in `extras` if there is no text."""
    place = form.get("sealed")
    if place is None and from_openai:
        place = "beside" if worded else SEALED
    if place == "beside":
        return {SEALED: signature}
    return {"extras": {SEALED if place == SEALED else SIGNATURE: signature}}


def _write_media(block: Any, form: JsonObject, path: str, account: Account) -> Any:
    source: Source = block.source
    if source.kind not in PLACES or source.data is None:
        account.block(path, block, source_unsupported(source.kind))
        return None
    if form.get("type") == "image_url" and source.kind in ("base64", "url"):
        return _write_image_url(block)
    word = form.get("type")
    cls = type(block)
    word = word if isinstance(word, str) and MEDIA.get(word) is cls else _word_of(cls, source)
    if source.kind == "text" and word != "text-plain":
        account.block(path, block, source_unsupported(source.kind))
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


ROLES: dict[str, Role] = {
    "system": Role.SYSTEM,
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "tool": Role.TOOL,
}
TYPES: dict[Role, str] = {**{role: word for word, role in ROLES.items()}, Role.DEVELOPER: "system"}
CLASSES: dict[str, str] = {
    "SystemMessage": "system",
    "HumanMessage": "human",
    "AIMessage": "ai",
    "ToolMessage": "tool",
}
DEVELOPER = "__openai_role__"
"""In `additional_kwargs`: the role of a system message, as LangChain marks it for OpenAI."""
SIGNATURES = "__gemini_function_call_thought_signatures__"
"""In `additional_kwargs`: signatures by call, as langchain-google-genai keeps them."""
STOP_KEYS = ("stop_reason", "finish_reason")
STOPS_AS_REASON = frozenset({"anthropic"})
"""Dialects whose integration has the first of these; all others have the second."""
STOP_REASONS: dict[str, StopReason] = {
    "end_turn": StopReason.END_TURN,
    "stop": StopReason.END_TURN,
    "STOP": StopReason.END_TURN,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "max_tokens": StopReason.MAX_TOKENS,
    "length": StopReason.MAX_TOKENS,
    "MAX_TOKENS": StopReason.MAX_TOKENS,
    "tool_use": StopReason.TOOL_USE,
    "tool_calls": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
    "SAFETY": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "pause_turn": StopReason.PAUSE,
}
STOP_WORDS: dict[StopReason, str] = {
    StopReason.END_TURN: "stop",
    StopReason.STOP_SEQUENCE: "stop_sequence",
    StopReason.MAX_TOKENS: "length",
    StopReason.TOOL_USE: "tool_calls",
    StopReason.CONTENT_FILTER: "content_filter",
    StopReason.REFUSAL: "refusal",
    StopReason.PAUSE: "pause_turn",
}
"""Stop words to use if the provider's own is unknown."""
_CALL = ("tool_use", "tool_call")
"""Blocks of content that a call in `tool_calls` is repeated in."""


# Reading


def read(plain: Any) -> tuple[Message, ...]:
    """A list of messages, or a single one."""
    return tuple([_read(fields) for fields in one_or_more(NAME, plain)])


def _read(fields: Fields) -> Message:
    whole = dict(fields.left)
    word, data, style = _opened(fields)
    kind = word.removesuffix("MessageChunk").lower() if word.endswith("MessageChunk") else word
    if kind not in ROLES or data is None:
        return Message(Role.USER, (UnknownBlock({NAME: whole}),))
    form: JsonObject = {"style": style, "type": word if word != kind else None}
    role = ROLES[kind]
    if role is Role.ASSISTANT:
        return _read_answer(data, form)
    kwargs, _ = data.members("additional_kwargs"), data.members("response_metadata")
    if role is Role.SYSTEM and kwargs.get(DEVELOPER) == "developer":
        role = Role.DEVELOPER
        del kwargs[DEVELOPER]
    if role is Role.TOOL:
        return _read_result(data, form)
    content, form["content"] = _read_content(data, None)
    name, id = data.optional("name", str), data.optional("id", str)
    metadata = MessageMetadata(provider_raw=data.raw(**form))
    return Message(role, tuple(content), name, id=id, metadata=metadata)


def _opened(fields: Fields) -> tuple[str, Fields | None, str]:
    """The kind of message, its fields, and which of the three spellings it has."""
    match fields.left:
        case {"lc": 1, "id": [*_, str(name)], "kwargs": dict(data)}:
            data = {**data, "": {key: fields.left[key] for key in fields.left if key != "kwargs"}}
            return CLASSES.get(name, name), _inner(data, fields.place("kwargs")), "lc"
        case {"type": str(word), "data": dict(data)} if len(fields.left) == 2:
            return word, _inner(data, fields.place("data")), "dict"
        case {"type": str(word), "content": _}:
            return word, _inner(fields.left, fields.path), "plain"
    return "", None, ""


def _inner(data: JsonObject, path: str) -> Fields:
    return Fields(NAME, {key: item for key, item in data.items() if key != "type"}, path)


def _read_content(data: Fields, issuer: str | None) -> tuple[list[Block], str | None]:
    content = data.text_or_list("content")
    if not isinstance(content, list):
        return ([TextBlock(content)] if content else []), "string" if content is not None else None
    items = item_list(NAME, content, data.place("content"))
    return [read_block(item, path, issuer) for item, path in items], None


def _read_result(data: Fields, form: JsonObject) -> Message:
    id, name = data.require("tool_call_id", str), data.optional("name", str)
    status = data.optional("status", str)
    content, form["content"] = read_output(data.left.pop("content", None), data.place("content"))
    form["status"] = None if status == "error" else status or ""
    block = ToolResultBlock(id, content, status == "error", name)
    own = data.optional("id", str)
    metadata = MessageMetadata(parent_tool_use_id=id, provider_raw=data.raw(**form))
    return Message(Role.TOOL, (block,), id=own, metadata=metadata)


def _read_answer(data: Fields, form: JsonObject) -> Message:
    kwargs, about = data.members("additional_kwargs"), data.members("response_metadata")
    metadata = _provenance(about, form)
    blocks, form["content"] = _read_content(data, metadata.protocol)
    signatures = kwargs.pop(SIGNATURES, None)
    signatures = signatures if isinstance(signatures, dict) else {}
    calls, diagnostics = _read_calls(data, signatures)
    blocks = _with_calls(blocks, calls)
    name, id = data.optional("name", str), data.optional("id", str)
    metadata = metadata.replace(
        usage=_read_usage(data), diagnostics=diagnostics, provider_raw=data.raw(**form)
    )
    return Message(Role.ASSISTANT, tuple(blocks), name, id=id, metadata=metadata)


def _provenance(about: JsonObject, form: JsonObject) -> MessageMetadata:
    """Taken out of the metadata of the response, which every integration fills in its own way."""
    maker = about.get("model_provider")
    metadata = LANGCHAIN.read(maker if isinstance(maker, str) else None)
    if isinstance(maker, str) and LANGCHAIN.word(metadata.provider, metadata.protocol) == maker:
        del about["model_provider"]
    metadata = named(metadata, take_text(about, "model_name"))
    metadata = metadata.replace(response_id=take_text(about, "id"))
    for key in STOP_KEYS:
        word = take_text(about, key)
        if word is not None:
            form["stop"] = key
            stop = STOP_REASONS.get(word, StopReason.OTHER)
            return metadata.replace(stop_reason=stop, raw_stop_reason=word)
    return metadata


def _read_calls(
    data: Fields, signatures: JsonObject
) -> tuple[list[ToolUseBlock], tuple[Diagnostic, ...]]:
    calls: list[ToolUseBlock] = []
    diagnostics: list[Diagnostic] = []
    for fields in data.objects("tool_calls", optional=True):
        block = _read_call(fields, fields.optional("args", dict) or {}, None)
        calls.append(block.replace(signature=signatures.get(block.id)))
    for fields in data.objects("invalid_tool_calls", optional=True):
        text = fields.optional("args", str)
        input, spelled, made = read_arguments(text or "", fields.left.get("id") or "")
        block = _read_call(fields, input, spelled or text, invalid=True)
        calls.append(block.replace(signature=signatures.get(block.id)))
        diagnostics += made
    return calls, tuple(diagnostics)


def _read_call(fields: Fields, input: JsonObject, text: str | None, **form: Any) -> ToolUseBlock:
    id, name = fields.optional("id", str), fields.optional("name", str)
    missing = True if fields.left.pop("type", None) is None else None
    return ToolUseBlock(
        id or "", name or "", input, text, raw=fields.raw(untyped=missing, listed=True, **form)
    )


def _with_calls(blocks: list[Block], calls: list[ToolUseBlock]) -> list[Block]:
    """Calls where the content repeats them, the others behind it."""
    waiting = list(calls)
    placed: list[Block] = []
    for block in blocks:
        wire = raw_of(NAME, block.raw) if isinstance(block, UnknownBlock) else {}
        call = next((c for c in waiting if wire.get("type") in _CALL and c.id == wire["id"]), None)
        if call is None:
            placed.append(block)
            continue
        waiting.remove(call)
        own = raw_of(NAME, call.raw)
        form = {**spelling_of(NAME, call.raw), "block": wire}
        placed.append(call.replace(raw={NAME: {**own, "$form": form}}))
    return [*placed, *waiting]


def _read_usage(data: Fields) -> Usage | None:
    fields = data.object("usage_metadata")
    if fields is None:
        return None
    prompt, output = fields.optional("input_tokens", int), fields.optional("output_tokens", int)
    inputs, outputs = (
        _details(fields, "input_token_details"),
        _details(fields, "output_token_details"),
    )
    cached, written = inputs.pop("cache_read", None), inputs.pop("cache_creation", None)
    usage = Usage(
        input_tokens=None if prompt is None else max(prompt - (cached or 0) - (written or 0), 0),
        output_tokens=output,
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        reasoning_tokens=outputs.pop("reasoning", None),
    )
    total = fields.optional("total_tokens", int)
    form: Any = None if total == usage.total_tokens else "none" if total is None else total
    wire_prompt = prompt if prompt != usage.prompt_tokens else None
    return usage.replace(raw=fields.raw(total=form, prompt=wire_prompt))


def _details(fields: Fields, name: str) -> JsonObject:
    """Token counts; those without a field of ours are preserved."""
    plain = fields.left.get(name)
    if not isinstance(plain, dict) or not all(type(item) is int for item in plain.values()):
        return {}
    if not plain:
        fields.filled(name, dict)
        return {}
    return fields.within(name).left


# Writing


def write(messages: Iterable[Message], issuer: str | None = None) -> Written:
    """`issuer` is the source dialect, for messages that name none."""
    draft = Draft(NAME, messages, issuer)
    wire = [out for number in range(len(draft.messages)) for out in _write(draft, number)]
    return draft.written(wire, read)


def _write(draft: Draft, number: int) -> Iterator[JsonObject]:
    message = draft.messages[number]
    if _is_whole(message):
        draft.add(number, (0,))
        yield raw_of(NAME, message.content[0].raw)
    elif message.role is Role.TOOL:
        yield from _write_results(draft, number)
    elif message.role is Role.ASSISTANT:
        yield _closed(message, _write_answer(draft, number))
    else:
        content = draft.parts(number, _write_input_block)
        data: JsonObject = {"content": _as_string(content, message)}
        data |= present(name=message.name, id=message.id)
        if message.role is Role.DEVELOPER:
            data["additional_kwargs"] = {DEVELOPER: "developer"}
        yield _closed(message, data)


def _is_whole(message: Message) -> bool:
    """Whether it is a message of an unknown kind."""
    if len(message.content) != 1 or not isinstance(message.content[0], UnknownBlock):
        return False
    wire = raw_of(NAME, message.content[0].raw)
    return _opened(Fields(NAME, wire, "$"))[0] not in ROLES and bool(wire) and _is_message(wire)


def _is_message(wire: JsonObject) -> bool:
    return "lc" in wire or "data" in wire or "content" in wire


def _write_input_block(block: Block, path: str, account: Account) -> Any:
    if isinstance(block, ToolUseBlock) and block.executor == "client":
        account.block(path, block)
        return None
    return write_block(block, path, account)


def _as_string(content: list[Any], message: Message) -> Any:
    """Content as a string where it was one, or is nothing else."""
    raw = message.metadata.provider_raw or {}
    return as_string(content, NAME not in raw or spelling_of(NAME, raw).get("content") == "string")


def _write_results(draft: Draft, number: int) -> Iterator[JsonObject]:
    message, account = draft.messages[number], draft.account(number)
    form = spelling_of(NAME, message.metadata.provider_raw)
    for path, block in draft.results(number):
        content = write_output(block, form.get("content"), path, account)
        data: JsonObject = {"content": content, "tool_call_id": block.tool_use_id}
        data |= present(name=block.tool_name, id=message.id)
        status = "error" if block.is_error else form.get("status", "success")
        yield _closed(message, {**data, **present(status=status or None)})


def _write_answer(draft: Draft, number: int) -> JsonObject:
    message = draft.messages[number]
    known = message.metadata
    writer = _CallWriter(message)
    content = [part for part in draft.parts(number, writer.part) if part is not _LISTED]
    data: JsonObject = {"content": _as_string(content, message)}
    data |= present(name=message.name, id=message.id)
    data |= {"tool_calls": writer.calls, "invalid_tool_calls": writer.invalid}
    if writer.signatures:
        data["additional_kwargs"] = {SIGNATURES: writer.signatures}
    data["response_metadata"] = _write_provenance(known, writer, draft.issuer, content)
    data |= present(usage_metadata=_write_usage(known.usage, draft.account(number)))
    return data


_LISTED = object()
"""A placeholder for a call in a list beside the content."""


class _CallWriter:
    """Writes the calls of an answer, which are beside its content."""

    def __init__(self, message: Message) -> None:
        self.calls: list[JsonObject] = []
        self.invalid: list[JsonObject] = []
        self.signatures: JsonObject = {}
        self.standard = not _is_plain(message)

    def part(self, block: Block, path: str, account: Account) -> Any:
        if not isinstance(block, ToolUseBlock) or block.executor != "client":
            return write_block(block, path, account)
        form = spelling_of(NAME, block.raw)
        invalid = _is_invalid(block)
        call: JsonObject = {"name": block.name, "args": block.input, "id": block.id}
        if invalid:
            call["args"] = write_arguments(NAME, block, path)
            call |= {} if form.get("invalid") else {"error": None}
        if not form.get("untyped"):
            call["type"] = "invalid_tool_call" if invalid else "tool_call"
        call = with_rest(NAME, block.raw, call)
        (self.invalid if invalid else self.calls).append(call)
        if block.signature is not None:
            self.signatures[block.id] = block.signature
        return self._repeated(block, form, invalid)

    def _repeated(self, block: ToolUseBlock, form: JsonObject, invalid: bool) -> Any:
        """The call as a block of the content, where it is one there."""
        wire = form.get("block")
        if isinstance(wire, dict):
            key = "input" if wire.get("type") == "tool_use" else "args"
            args = wire.get(key)
            same_input = not isinstance(args, dict) or same(args, block.input) or invalid
            return {**wire, "id": block.id, "name": block.name} | (
                {} if same_input else {key: block.input}
            )
        if not self.standard or invalid or form.get("listed"):
            return _LISTED
        return {"type": "tool_call", "id": block.id, "name": block.name, "args": block.input}


def _is_plain(message: Message) -> bool:
    """Whether it is at most one plain text with calls behind it; a string and a list hold that."""
    texts = 1 if message.content and isinstance(message.content[0], TextBlock) else 0
    first = message.content[0] if texts else None
    is_bare = first is None or first == TextBlock(getattr(first, "text", ""))
    rest = message.content[texts:]
    return is_bare and all(isinstance(b, ToolUseBlock) and b.executor == "client" for b in rest)


def _is_invalid(block: ToolUseBlock) -> bool:
    """Whether its arguments were no JSON; such a call is never run."""
    if spelling_of(NAME, block.raw).get("invalid"):
        return True
    text = block.raw_arguments
    if text is None:
        return False
    recovered = recover(text)
    return recovered.mode != "strict" and same(recovered.input, block.input)


def _write_provenance(
    known: MessageMetadata, writer: _CallWriter, issuer: str | None, content: list[Any]
) -> JsonObject:
    form = spelling_of(NAME, known.provider_raw)
    key = form.get("stop")
    out = present(
        model_provider=LANGCHAIN.word(known.provider, known.protocol or issuer),
        model_name=name_of(known),
        id=known.response_id,
    )
    word = _stop_word(known)
    if word is not None:
        usual = STOP_KEYS[0 if known.protocol in STOPS_AS_REASON else 1]
        out[key if key in STOP_KEYS else usual] = word
    if NAME not in (known.provider_raw or {}) and writer.standard and content:
        out["output_version"] = "v1"
    return out


def _stop_word(known: MessageMetadata) -> str | None:
    """The provider's own stop word if it has the same meaning, otherwise a common one."""
    if known.stop_reason is None:
        return None
    word = known.raw_stop_reason
    if isinstance(word, str) and STOP_REASONS.get(word, StopReason.OTHER) is known.stop_reason:
        return word
    return STOP_WORDS.get(known.stop_reason)


def _write_usage(usage: Usage | None, account: Account) -> JsonObject | None:
    """The three counts that LangChain demands, and those inside of them."""
    if usage is None:
        return None
    form = spelling_of(NAME, usage.raw)
    prompt, total = form.get("prompt"), form.get("total")
    out = present(
        input_tokens=prompt if isinstance(prompt, int) else usage.prompt_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=total if isinstance(total, int) else usage.total_tokens,
    )
    if total == "none":
        out.pop("total_tokens", None)
    if NAME not in (usage.raw or {}) and not {"input_tokens", "output_tokens"} <= out.keys():
        place = f"{account.path}.metadata.usage"
        account.lost(place, because("unknown_as_zero"), "info", "approximated")
        out = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0, **out}
    inputs = present(
        cache_creation=usage.cache_creation_input_tokens, cache_read=usage.cached_input_tokens
    )
    outputs = present(reasoning=usage.reasoning_tokens)
    if inputs:
        out["input_token_details"] = inputs
    if outputs:
        out["output_token_details"] = outputs
    return with_rest(NAME, usage.raw, out)


_EVERY: JsonObject = {
    "content": "",
    "additional_kwargs": {},
    "response_metadata": {},
    "name": None,
    "id": None,
}
_DEFAULTS: dict[str, JsonObject] = {
    "system": _EVERY,
    "human": _EVERY,
    "ai": {**_EVERY, "tool_calls": [], "invalid_tool_calls": [], "usage_metadata": None},
    "tool": {**_EVERY, "artifact": None, "status": "success"},
}
"""Members that `messages_to_dict` always writes."""


def _closed(message: Message, data: JsonObject) -> JsonObject:
    """The message in its original spelling; otherwise as `messages_to_dict` writes it."""
    raw = message.metadata.provider_raw or {}
    form = spelling_of(NAME, raw)
    kind = TYPES[message.role]
    type_ = form.get("type") if isinstance(form.get("type"), str) else kind
    if NAME not in raw:
        return {"type": kind, "data": {**_DEFAULTS[kind], "type": kind, **data}}
    for name in ("tool_calls", "invalid_tool_calls", "response_metadata"):
        if not data.get(name):
            data.pop(name, None)
    data = with_rest(NAME, raw, data)
    if form.get("style") == "dict":
        return {"type": type_, "data": {**data, "type": type_}}
    outside = data.pop("", None)
    if isinstance(outside, dict):
        return {**outside, "kwargs": {**data, "type": type_}}
    return {**data, "type": type_}


VIEW = View(NAME, read, write)
