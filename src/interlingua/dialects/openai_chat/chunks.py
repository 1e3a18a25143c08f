"""Parts of content that other services have among the text: Mistral's thinking and references,
Anthropic's thinking where a server passes it on."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.media import Fields
from interlingua.dialects.openai_chat.shape import Note, maybe, mine_of, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.dialects.shape import each
from interlingua.model.blocks import Citation, RedactedThinkingBlock, TextBlock, ThinkingBlock


def read_thinking(part: Wire, t: Tables, note: Note) -> Fields | None:
    """Mistral's chunk, a list of smaller ones; or Anthropic's block, with a string."""
    inner = part.get("thinking")
    if inner is None:
        return None
    signature = maybe(part, "signature", str)
    if type(inner) is str:
        note.form["inner"] = "string"
        return {"text": inner, "signature": signature}
    texts = each(inner, ".thinking", _inner_text)
    if len(texts) != 1 or type(texts[0]) is not str:
        sizes = [len(text) if type(text) is str else text for text in texts]
        plain = all(type(size) is int for size in sizes)
        (note.form if plain else note.rest)["inner"] = sizes
    text = "".join([text for text in texts if type(text) is str])
    return {"text": text, "signature": signature}


def _inner_text(chunk: Any) -> Any:
    """The text of a plain chunk, or the chunk."""
    want(chunk, dict, "")
    plain = len(chunk) == 2 and chunk.get("type") == "text" and type(chunk.get("text")) is str
    return chunk["text"] if plain else chunk


def read_redacted(part: Wire, t: Tables, note: Note) -> Fields | None:
    data = maybe(part, "data", str)
    return None if data is None else {"data": data}


def read_reference(part: Wire, t: Tables, note: Note) -> Fields | None:
    """Mistral's `reference`: sources of the text before it, by number."""
    ids = part.get("reference_ids")
    if type(ids) is not list or not all(type(each) is int for each in ids):
        return None
    return {"text": "", "citations": tuple([Citation(document_index=each) for each in ids])}


def write_thinking(block: ThinkingBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire:
    inner = form.get("inner", mine_of(t.name, block.raw).get("inner"))
    part: Wire = {"type": "thinking", "thinking": _inner(block.text, inner)}
    if block.signature is not None:
        part["signature"] = block.signature
    return part


def _inner(text: str, inner: Any) -> Any:
    if inner == "string":
        return text
    if type(inner) is not list or sum(size for size in inner if type(size) is int) != len(text):
        return [{"type": "text", "text": text}]
    chunks, start = [], 0
    for size in inner:
        if type(size) is int:
            chunks.append({"type": "text", "text": text[start : start + size]})
            start += size
        else:
            chunks.append(size)
    return chunks


def write_redacted(block: RedactedThinkingBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire:
    return {"type": "redacted_thinking", "data": block.data}


def write_reference(block: TextBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    ids = [each.document_index for each in block.citations]
    plain = [Citation(document_index=index) for index in ids]
    if block.text or None in ids or list(block.citations) != plain:
        return None
    return {"type": "reference", "reference_ids": ids}
