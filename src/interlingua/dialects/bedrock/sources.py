"""Where media comes from: bytes in the body, a place in S3, or text."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back, spare
from interlingua.dialects.shape import ShapeError, each, take, want
from interlingua.model.blocks import DocumentBlock, MediaBlock, Source, TextBlock


def read_source(wire: Wire, form: Wire) -> Source | None:
    if len(wire) != 1:
        return None
    key, value = next(iter(wire.items()))
    if key == "bytes":
        return _read_bytes(value, form)
    if key == "s3Location":
        where = want(value, dict, ".source.s3Location")
        uri = want(where.get("uri"), str, ".source.s3Location.uri")
        if not uri.startswith("s3://"):
            form["s3"] = True
        return Source("url", uri)
    if key == "text":
        return Source("text", want(value, str, ".source.text"))
    if key == "content":
        return read_texts(value, ".source.content")
    return None


def _read_bytes(value: Any, form: Wire) -> Source:
    """Base64; or numbers, where a program wrote its own idea of bytes as JSON."""
    if type(value) is str:
        return Source("base64", value)
    for spelling, numbers in _SPELLINGS.items():
        listed = numbers(value)
        if type(listed) is list and all(type(n) is int and 0 <= n < 256 for n in listed):
            form["bytes"] = spelling
            return Source("base64", base64.b64encode(bytes(listed)).decode())
    raise ShapeError(".source.bytes", "a string", value)


def _by_index(value: Any) -> Any:
    """`{"0": 137, "1": 80, …}`"""
    if type(value) is not dict:
        return None
    listed = [value.get(str(index)) for index in range(len(value))]
    return None if None in listed else listed


def _as_buffer(value: Any) -> Any:
    if type(value) is dict and value.keys() == {"type", "data"} and value["type"] == "Buffer":
        return value["data"]
    return None


_SPELLINGS: dict[str, Callable[[Any], Any]] = {
    "list": lambda value: value,
    "buffer": _as_buffer,
    "index": _by_index,
}


def read_texts(parts: Any, path: str) -> Source:
    """A source that is a list of texts."""
    return Source("blocks", content=tuple(each(parts, path, _read_text)))


def _read_text(part: Any) -> TextBlock:
    text = take(want(part, dict), "text", str)
    if len(part) == 1:
        return TextBlock(text)
    return TextBlock(text, raw=spare(part, ("text",), {}, {}))


def write_source(block: MediaBlock, scribe: Scribe) -> Wire | None:
    """The source of a block of media; None where it has no place."""
    source, form = block.source, form_of(block.raw)
    if source.kind == "base64" and source.data is not None:
        return {"bytes": _write_bytes(source.data, form)}
    if source.kind == "url" and source.data is not None:
        if not source.data.startswith("s3://") and not form.get("s3"):
            return None
        more = mine_of(block.raw).get("source")
        return {"s3Location": {"uri": source.data, **(more if type(more) is dict else {})}}
    if type(block) is not DocumentBlock:
        return None
    if source.kind == "text" and source.data is not None:
        return {"text": source.data}
    if source.kind == "blocks":
        return {"content": write_texts(block, scribe)}
    return None


def _write_bytes(data: str, form: Wire) -> Any:
    spelling = form.get("bytes")
    if spelling is None:
        return data
    try:
        numbers = list(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return data
    if spelling == "buffer":
        return {"type": "Buffer", "data": numbers}
    return numbers if spelling == "list" else {str(i): n for i, n in enumerate(numbers)}


def write_texts(block: DocumentBlock, scribe: Scribe) -> list[Wire]:
    """The texts that a document is made of; all else in them is left out."""
    parts: list[Wire] = []
    plain = True
    for inner in block.source.content or ():
        if type(inner) is not TextBlock:
            plain = False
            continue
        part: Wire = {"text": inner.text}
        if inner.raw is not None:
            put_back(part, inner, scribe, inner.raw)
        plain = plain and not (inner.citations or inner.cache or inner.signature)
        parts.append(part)
    if not plain:
        reason = "a document is made of plain texts here"
        scribe.lost(block, "source", reason, kind="approximated")
    return parts
