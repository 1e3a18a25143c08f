"""A canonical value as facts, each with its path: what the paths of a report point at."""

from __future__ import annotations

from typing import Any

from tests.laws.facts.shape import NO_JSON, Facts, Piece, Tool, allowed, change, parsed, parted

MEDIA = {"ImageBlock": "image", "AudioBlock": "audio", "VideoBlock": "video"}
NAMES = {
    "input_tokens": "input",
    "cached_input_tokens": "cached",
    "cache_creation_input_tokens": "creation",
    "output_tokens": "output",
    "reasoning_tokens": "reasoning",
}
"""Our word for a count of tokens, and the facts'."""
PARTS = {
    "tools": "tool_uses",
    "writes": "cache_writes",
    "prompt": "input_modalities",
    "answer": "output_modalities",
}
"""The facts' word for a breakdown, and ours."""
ASIDE = frozenset(
    {"raw", "response_format", "reasoning", "compaction", "task_budget", "tool_choice", "cache"}
)


def request(value: Any) -> Facts:
    facts = Facts()
    for number, message in enumerate(value.messages):
        facts.pieces += message_pieces(message, f"$.messages[{number}]")
    for number, tool in enumerate(value.tools):
        facts.tools.append(_tool(tool, f"$.tools[{number}]"))
    added = {p.data[1]: at for at, p in enumerate(facts.pieces) if _adds(p)}
    for tool in facts.tools:
        tool.since = added.get(tool.name, 0)
    facts.options = options(value.options)
    if value.continues is not None:
        fields = {
            name: getattr(value.continues, name) for name in value.continues.__struct_fields__
        }
        facts.continues = {name: item for name, item in fields.items() if item}
    return facts


def _adds(piece: Piece) -> bool:
    return piece.kind == "change" and piece.data[0] == "addition"


def response(value: Any) -> Facts:
    facts = _answer(value.message, "$.message")
    for number, other in enumerate(value.alternatives):
        facts.others.append(_answer(other, f"$.alternatives[{number}]"))
    if value.error is not None:
        facts.error = value.error.message
    return facts


def _answer(message: Any, path: str) -> Facts:
    facts = Facts(message_pieces(message, path))
    metadata = message.metadata
    facts.stop = None if metadata.stop_reason is None else metadata.stop_reason.value
    if metadata.usage is not None:
        fields = {NAMES[name]: getattr(metadata.usage, name) for name in NAMES}
        facts.usage = {name: item for name, item in fields.items() if item is not None}
        for of, name in PARTS.items():
            facts.usage |= parted(of, (getattr(metadata.usage, name) or {}).items())
    return facts


def message_pieces(message: Any, path: str) -> list[Piece]:
    pieces = []
    for number, block in enumerate(message.content):
        for piece in _pieces(block, message.role.value):
            piece.place = piece.place or f"{path}.content[{number}]"
            if piece.place.startswith("content["):
                piece.place = f"{path}.content[{number}].{piece.place}"
            piece.speaker = message.name
            pieces.append(piece)
    changes = getattr(message, "changes", None)
    if changes is not None:
        pieces += _changes(changes, f"{path}.changes")
    return pieces


def _changes(value: Any, path: str) -> list[Piece]:
    items = [change("addition", name) for name in value.tools_added]
    items += [change("removal", name) for name in value.tools_removed]
    schema = None if value.response_format is None else value.response_format.schema
    more = {"effort": value.effort, "clear_at": value.clear_at, "format": schema}
    items += [change(what, item) for what, item in more.items() if item is not None]
    for piece in items:
        piece.place = path
    return items


def _pieces(block: Any, role: str) -> list[Piece]:
    kind = type(block).__name__
    cache = None if block.cache is None else block.cache.ttl or ""
    signature = getattr(block, "signature", None)
    match kind:
        case "TextBlock":
            cites = tuple(_cited(each) for each in block.citations)
            return [
                Piece(
                    "text",
                    role,
                    block.text,
                    signature=signature,
                    cache=cache,
                    cites=cites,
                    phase=getattr(block, "phase", None),
                )
            ]
        case "ThinkingBlock":
            return [Piece("thinking", role, block.text, signature=signature, cache=cache)]
        case "RedactedThinkingBlock":
            return [Piece("redacted", role, data=block.data)]
        case "RefusalBlock":
            return [Piece("refusal", role, block.text, cache=cache)]
        case "CompactionBlock":
            return [
                Piece("compaction", role, block.text or "", data=block.data, signature=signature)
            ]
        case "ToolUseBlock" if block.executor == "client":
            word = "custom" if block.call_type == "custom" else ""
            return [
                Piece(
                    "call",
                    role,
                    word,
                    block.id,
                    block.name,
                    _arguments(block),
                    signature=signature,
                    cache=cache,
                    caller=block.caller,
                )
            ]
        case "ToolResultBlock" if role == "tool":
            return _result(block, cache)
        case "UnknownBlock" | "ToolUseBlock" | "ToolResultBlock":
            return [Piece("opaque", role, data=kind)]
    return [_media(block, kind, role, cache)]


def _arguments(block: Any) -> Any:
    """What the model wrote, where that is no JSON: what we made of it is a repair."""
    written = parsed(block.raw_arguments) if block.raw_arguments is not None else {}
    is_broken = isinstance(written, dict) and NO_JSON in written
    return written if is_broken and block.call_type != "custom" else block.input


def _result(block: Any, cache: str | None) -> list[Piece]:
    texts = [part.text for part in block.content if type(part).__name__ == "TextBlock"]
    result = Piece("result", "tool", "\n".join(texts), block.tool_use_id, block.tool_name)
    result.is_error, result.cache = block.is_error, cache
    inner = []
    for number, part in enumerate(block.content):
        if type(part).__name__ != "TextBlock":
            for piece in _pieces(part, "tool"):
                piece.place = f"content[{number}]"
                inner.append(piece)
    return [result, *inner]


def _media(block: Any, kind: str, role: str, cache: str | None) -> Piece:
    source = block.source
    data = source.data
    if source.content is not None:
        data = "\n".join(getattr(part, "text", "") for part in source.content)
    piece = Piece(MEDIA.get(kind, "document"), role, data=data, name=block.name, cache=cache)
    piece.media_type = block.media_type
    piece.detail = getattr(block, "detail", None)
    piece.title = getattr(block, "title", None)
    piece.text = getattr(block, "transcript", None) or ""
    return piece


def _cited(citation: Any) -> str:
    for word in (citation.url, citation.file_id, citation.title, citation.cited_text):
        if word:
            return str(word)
    return str(citation.document_index)


def _tool(tool: Any, path: str) -> Tool:
    found = Tool(tool.name, tool.kind, tool.description, tool.input_schema, tool.strict)
    found.cache = None if tool.cache is None else tool.cache.ttl or ""
    found.deferred, found.output_schema = tool.deferred, tool.output_schema
    found.callers, found.is_async = allowed(tool.callers), tool.asynchronous is True
    grammar = getattr(tool, "grammar", None)
    if grammar is not None:
        found.grammar = grammar.syntax, grammar.definition
    found.place = path
    return found


def options(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if item is not None and name not in ASIDE:
            found[name] = list(item) if isinstance(item, tuple) else item
    for name in ("response_format", "reasoning", "compaction", "task_budget"):
        inner = getattr(value, name)
        for field in inner.__struct_fields__ if inner is not None else ():
            if getattr(inner, field) is not None:
                found[f"{name}.{field}"] = getattr(inner, field)
    if value.compaction is not None:
        found["compaction"] = True
    if value.reasoning is not None and not any(name.startswith("reasoning.") for name in found):
        found["reasoning.mode"] = "adaptive"
    if value.tool_choice is not None:
        found["tool_choice"] = (value.tool_choice.mode, tuple(sorted(value.tool_choice.names)))
    if value.cache is not None:
        found["cache"] = value.cache.ttl or ""
    return found
