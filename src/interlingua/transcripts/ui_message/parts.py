"""Parts of UI messages and our blocks. A tool's part is its call and, once it is there, its result.

Members without a field are stored in `raw`, and under `$form` the spelling of a part."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.dialects.kernel.preserved import content_of, keep, spelling_of
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    Citation,
    CompactionBlock,
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
from interlingua.model.metadata import StopReason
from interlingua.transcripts.values import ANY, NOT_JSON, is_media, media_block, source_of, url_of

NAME = "ui-message"

PROVIDERS = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("openai", "openai-responses"),
    "azure": ("azure", "openai-responses"),
    "google": ("gemini", "gemini"),
    "vertex": ("vertex", "gemini"),
    "googleVertex": ("vertex", "gemini"),
    "bedrock": ("bedrock", "bedrock"),
    "amazonBedrock": ("bedrock", "bedrock"),
    "openrouter": ("openrouter", "openrouter"),
}
"""Keys of `providerMetadata`, with their provider and dialect."""

SEALS = {
    "anthropic": "signature",
    "bedrock": "signature",
    "amazonBedrock": "signature",
    "openai": "reasoningEncryptedContent",
    "azure": "reasoningEncryptedContent",
    "google": "thoughtSignature",
    "vertex": "thoughtSignature",
    "googleVertex": "thoughtSignature",
}
"""The key of a signature for each of them."""

ISSUERS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai",
    "azure": "azure",
    "gemini": "google",
    "google": "google",
    "vertex": "google",
    "bedrock": "bedrock",
    "openrouter": "openrouter",
}
"""The key for a provider or, if that is unknown, for a dialect."""

STOPS = {
    "stop": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "content-filter": StopReason.CONTENT_FILTER,
    "tool-calls": StopReason.TOOL_USE,
    "error": StopReason.ERROR,
    "interrupted": StopReason.CANCELLED,
    "other": StopReason.OTHER,
}
STOP_WORDS = {
    **{reason: word for word, reason in STOPS.items()},
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.REFUSAL: "content-filter",
}


Part = dict[str, Any]
DENIED = "Tool call execution denied."
"""The package's text to a model about a call that its user refused."""
_CALLED = ("type", "toolName", "toolCallId", "input", "providerExecuted", "callProviderMetadata")
_ANSWERED = ("output", "errorText", "resultProviderMetadata", "preliminary")
_BESIDE = ("resultProviderMetadata", "preliminary")
_ENDS = {"output-available": False, "output-error": True, "output-denied": True}
"""States of a call that has its result, and whether it failed."""


def is_call(part: Part) -> bool:
    kind = part.get("type")
    if not isinstance(kind, str) or not isinstance(part.get("toolCallId"), str):
        return False
    return kind.startswith("tool-") or isinstance(part.get("toolName"), str)


def read_part(part: Part, whose: str | None = None) -> Block:
    """The block that a part is; `whose` is the key of the provider that the answer is from."""
    match part:
        case {"type": "text", "text": str(text), **rest}:
            return _read_text(text, rest, whose)
        case {"type": "reasoning", "text": str(text), **rest}:
            return _read_thinking(text, rest, whose)
        case {"type": "file", "url": str(url), "mediaType": str(media), **rest}:
            return _read_file(url, media, rest)
        case _ if is_call(part):
            return _read_call(part, whose)
    return UnknownBlock({NAME: part})


def _read_text(text: str, rest: Part, whose: str | None) -> TextBlock:
    form = _form(rest, "state")
    cited = tuple(_read_citation(each) for each in rest.pop("citations", None) or ())
    signature = _unsealed(rest, "providerMetadata", form, whose)
    return TextBlock(text, signature, cited, raw=keep(NAME, rest, form))


def _read_citation(wire: Any) -> Citation:
    wire = wire if isinstance(wire, dict) else {"citedText": str(wire)}
    source = wire["source"] if isinstance(wire.get("source"), dict) else {}
    return Citation(
        cited_text=wire.get("citedText"),
        url=source.get("url"),
        title=source.get("title"),
        start=wire.get("startIndex"),
        end=wire.get("endIndex"),
        raw=keep(NAME, {"source": source}),
    )


def _read_thinking(text: str, rest: Part, whose: str | None) -> Block:
    form = _form(rest, "state", "id")
    for issuer, about in _each_issuer(rest.get("providerMetadata")):
        sealed = about.get("redactedData")
        if isinstance(sealed, str):
            rest["providerMetadata"] = _without(rest, "providerMetadata", issuer, "redactedData")
            form |= _named(issuer, whose)
            _drop_empty(rest)
            return RedactedThinkingBlock(sealed, raw=keep(NAME, rest, form))
    signature = _unsealed(rest, "providerMetadata", form, whose)
    name = _item(rest, form, whose)
    return ThinkingBlock(text, signature, name, raw=keep(NAME, rest, form))


def _item(rest: Part, form: Part, whose: str | None) -> str | None:
    """The id of the item that reasoning is a part of."""
    for issuer, about in _each_issuer(rest.get("providerMetadata")):
        name = about.get("itemId")
        if isinstance(name, str):
            rest["providerMetadata"] = _without(rest, "providerMetadata", issuer, "itemId")
            form |= _named(issuer, whose)
            _drop_empty(rest)
            return name
    return None


def _read_file(url: str, media: str, rest: Part) -> Block:
    name = rest.pop("filename", None)
    held = rest.get("providerReference")
    if not url and isinstance(held, dict) and len(held) == 1:
        [(provider, reference)] = rest.pop("providerReference").items()
        source = Source("file_id", reference, provider=provider)
    else:
        source = source_of(url)
    return media_block(source, media, name).replace(raw=keep(NAME, rest))


def tool_name(part: Part) -> str:
    name: str = part["toolName"] if "toolName" in part else part["type"].removeprefix("tool-")
    return name


def _read_call(part: Part, whose: str | None) -> ToolUseBlock:
    rest = {key: value for key, value in part.items() if key not in (*_CALLED, *_ANSWERED)}
    form: Part = {"dynamic": True} if part["type"] == "dynamic-tool" else {}
    if part.get("state") in ("output-available", "output-error", "input-available"):
        del rest["state"]
    if "callProviderMetadata" in part:
        rest["callProviderMetadata"] = part["callProviderMetadata"]
    signature = _unsealed(rest, "callProviderMetadata", form, whose)
    arguments = part.get("input")
    free = isinstance(arguments, str)
    if not free and not isinstance(arguments, dict) and "input" in part:
        rest["input"] = arguments
    if part.get("providerExecuted") is False:
        form["executed"] = False
    return ToolUseBlock(
        part["toolCallId"],
        tool_name(part),
        {"input": arguments} if free else arguments if isinstance(arguments, dict) else {},
        signature=signature,
        executor="provider" if part.get("providerExecuted") is True else "client",
        call_type="custom" if free else None,
        raw=keep(NAME, rest, form),
    )


def read_result(part: Part) -> ToolResultBlock | None:
    """The result in a call's part; None if it is missing."""
    failed = _ENDS.get(str(part.get("state")))
    if failed is None:
        return None
    form: Part = {}
    rest: Part = {key: part[key] for key in _BESIDE if key in part}
    if "resultProviderMetadata" in rest and rest["resultProviderMetadata"] == part.get(
        "callProviderMetadata"
    ):
        form["same"] = bool(rest.pop("resultProviderMetadata"))
    content = _read_failure(part) if failed else _read_output(part.get("output"), form)
    return ToolResultBlock(
        part["toolCallId"], content, failed, tool_name(part), raw=keep(NAME, rest, form)
    )


def _read_failure(part: Part) -> tuple[ResultBlock, ...]:
    text = part.get("errorText")
    if part.get("state") == "output-denied":
        approval = part.get("approval")
        reason = approval.get("reason") if isinstance(approval, dict) else None
        text = reason or DENIED
    return (TextBlock(text),) if isinstance(text, str) and text else ()


def _read_output(output: Any, form: Part) -> tuple[ResultBlock, ...]:
    """A model sees a text unchanged, and any other value as JSON."""
    if isinstance(output, str):
        return (TextBlock(output),) if output else ()
    match output:
        case {"content": list(parts)} if len(output) == 1:
            blocks = [block for part in parts if (block := _read_mcp(part)) is not None]
            if blocks and len(blocks) == len(parts):
                form["content"] = True
                return tuple(blocks)
    form["json"] = True
    return (TextBlock(msgspec.json.encode(output).decode()),)


def _read_mcp(part: Any) -> ResultBlock | None:
    """A block of content in the form of the Model Context Protocol; None for all else."""
    match part:
        case {"type": "text", "text": str(text)} if len(part) == 2:
            return TextBlock(text)
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(media)}:
            return media_block(Source("base64", data), media) if len(part) == 3 else None
    return None


def write_part(block: Block, issuer: str | None) -> Part | None:
    """A block as a part; None if it has no equivalent. `issuer` is the answer's."""
    match block:
        case TextBlock(text):
            part = _with({"type": "text", "text": text}, block.raw, "state")
            _seal(part, "providerMetadata", block.signature, _issuer(block.raw, issuer))
            if block.citations:
                part["citations"] = [_write_citation(each) for each in block.citations]
            return part
        case ThinkingBlock(text):
            return _write_thinking(block, _issuer(block.raw, issuer))
        case RedactedThinkingBlock(data):
            part = _with({"type": "reasoning", "text": ""}, block.raw, "state", "id")
            key = _issuer(block.raw, issuer) or "anthropic"
            _put(part, "providerMetadata", key, "redactedData", data)
            return part
        case RefusalBlock(text):
            return {"type": "text", "text": text}
        case CompactionBlock(str(text)):
            return {"type": "text", "text": text}
        case UnknownBlock(raw) if NAME in raw:
            return raw[NAME] if isinstance(raw[NAME], dict) else None
    return _write_file(block) if is_media(block) else None


def _write_citation(citation: Citation) -> Part:
    wire = content_of(NAME, citation.raw).get("source") or {}
    source = {"type": "source", "sourceType": "url", "id": citation.url or "", **wire}
    if "mediaType" not in source:
        source["url"] = citation.url or ""
    if citation.title is not None:
        source["title"] = citation.title
    span = {"startIndex": citation.start, "endIndex": citation.end}
    span |= {"citedText": citation.cited_text}  # type: ignore[dict-item]
    return {"source": source, **{key: value for key, value in span.items() if value is not None}}


def _write_thinking(block: ThinkingBlock, issuer: str | None) -> Part:
    part = _with({"type": "reasoning", "text": block.text}, block.raw, "state", "id")
    _seal(part, "providerMetadata", block.signature, issuer)
    if block.id is not None and issuer is not None:
        _put(part, "providerMetadata", issuer, "itemId", block.id)
    return part


def _write_file(block: Any) -> Part | None:
    part = {"type": "file", "mediaType": block.media_type or ANY}
    if block.name is not None:
        part["filename"] = block.name
    if block.source.kind == "file_id" and block.source.provider:
        held = {block.source.provider: block.source.data}
        return {**part, "url": "", "providerReference": held, **content_of(NAME, block.raw)}
    url = url_of(block)
    return None if url is None else {**part, "url": url, **content_of(NAME, block.raw)}


def write_call(call: ToolUseBlock, result: ToolResultBlock | None, issuer: str | None) -> Part:
    """A call with its result, if it has one."""
    form = spelling_of(NAME, call.raw)
    dynamic = {"type": "dynamic-tool", "toolName": call.name}
    part: Part = dynamic if form.get("dynamic") else {"type": f"tool-{call.name}"}
    part |= {"toolCallId": call.id, "state": "input-available"}
    free = call.call_type == "custom" and call.input.keys() == {"input"}
    part["input"] = call.input["input"] if free else call.input
    if call.executor == "provider" or "executed" in form:
        part["providerExecuted"] = call.executor == "provider"
    part |= content_of(NAME, call.raw)
    _seal(part, "callProviderMetadata", call.signature, _issuer(call.raw, issuer))
    if result is not None:
        _answer(part, result)
    return part


def _answer(part: Part, result: ToolResultBlock) -> None:
    if part["state"] == "output-denied" and _read_failure(part) == result.content:
        return
    part["state"] = "output-error" if result.is_error else "output-available"
    if result.is_error:
        part["errorText"] = _text(result)
    else:
        part["output"] = _output(result)
    part |= content_of(NAME, result.raw)
    if spelling_of(NAME, result.raw).get("same") and "callProviderMetadata" in part:
        part["resultProviderMetadata"] = part["callProviderMetadata"]


def _output(result: ToolResultBlock) -> Any:
    """A text, JSON if it was JSON, or parts in the form of tools if there is more than text."""
    form = spelling_of(NAME, result.raw)
    if form.get("json"):
        return _decoded(_text(result))
    if all(isinstance(each, TextBlock) for each in result.content) and not form.get("content"):
        return _text(result)
    parts = [_mcp(each) for each in result.content]
    return {"content": [part for part in parts if part is not None]}


def _decoded(text: str) -> Any:
    """The JSON value of a text; any other text stays a text."""
    try:
        value = msgspec.json.decode(text)
    except NOT_JSON:
        return text
    return value if msgspec.json.encode(value).decode() == text else text


def _mcp(block: ResultBlock) -> Part | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
    if is_media(block) and block.source.kind == "base64":  # type: ignore[union-attr]
        kind = "audio" if block.type == "audio" else "image"
        media = block.media_type or ANY  # type: ignore[union-attr]
        return {"type": kind, "data": block.source.data, "mimeType": media}  # type: ignore[union-attr]
    return None


def _text(result: ToolResultBlock) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextBlock))


def _form(rest: Part, *names: str) -> Part:
    """Members that only spell, taken out of the others."""
    return {name: rest.pop(name) for name in names if name in rest}


def _with(part: Part, raw: Raw | None, *names: str) -> Part:
    """A part with its raw data."""
    form = spelling_of(NAME, raw)
    return {**part, **{name: form[name] for name in names if name in form}, **content_of(NAME, raw)}


def _each_issuer(metadata: Any) -> list[tuple[str, Part]]:
    if not isinstance(metadata, dict):
        return []
    return [(issuer, about) for issuer, about in metadata.items() if isinstance(about, dict)]


def _unsealed(rest: Part, key: str, form: Part, whose: str | None) -> str | None:
    """The signature, taken out of a provider's data."""
    for issuer, about in _each_issuer(rest.get(key)):
        word = SEALS.get(issuer)
        sealed = about.get(word) if word else None
        if isinstance(sealed, str):
            assert word is not None
            rest[key] = _without(rest, key, issuer, word)
            form |= _named(issuer, whose)
            _drop_empty(rest)
            return sealed
    return None


def _named(issuer: str, whose: str | None) -> Part:
    """The issuer of the data, unless it is the answer's own provider."""
    return {} if issuer == whose else {"issuer": issuer}


def _without(rest: Part, key: str, issuer: str, word: str) -> Part:
    others = {name: value for name, value in rest[key][issuer].items() if name != word}
    whole = {**rest[key], issuer: others}
    return whole if others else {name: each for name, each in whole.items() if name != issuer}


def _drop_empty(rest: Part) -> None:
    for key in ("providerMetadata", "callProviderMetadata"):
        if rest.get(key) == {}:
            del rest[key]


def _issuer(raw: Raw | None, issuer: str | None) -> str | None:
    known: str | None = spelling_of(NAME, raw).get("issuer")
    return known or issuer


def _seal(part: Part, key: str, signature: str | None, issuer: str | None) -> None:
    word = SEALS.get(issuer or "")
    if signature is not None and issuer is not None and word is not None:
        _put(part, key, issuer, word, signature)


def _put(part: Part, key: str, issuer: str, word: str, value: str) -> None:
    about = part.get(key) or {}
    part[key] = {**about, issuer: {**about.get(issuer, {}), word: value}}
