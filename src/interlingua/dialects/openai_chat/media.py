"""Content parts: images, audio, video and documents as parts, and the URLs that name or hold
them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.kernel.errors import optional, require
from interlingua.dialects.kernel.preserved import Preserved
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat import tables
from interlingua.dialects.openai_chat.tables import (
    AUDIO_FORMATS,
    FILENAME,
    WEB,
    Tables,
    WriteContext,
)
from interlingua.model import blocks as model
from interlingua.model.blocks import DocumentBlock, MediaBlock, Source
from interlingua.model.reasons import because

Fields = dict[str, Any]


class Part(NamedTuple):
    """A type of part, for reading and writing: its content is under one key."""

    block: type
    key: str
    read: Callable[[Any, Tables, Preserved], Fields | None]
    """Reads its value, which is never null, into the fields of a block; None if it is of another
    kind."""
    write: Callable[[Any, WriteContext, Wire], Any]
    """The content of the part, or None for a block that cannot be written so; the last argument
    is its `$form`."""
    attrs: frozenset[str]
    """The fields that it sets."""
    beside: dict[str, str]
    """Other keys with a string, and its field."""


def part_of(block: type, key: str, read: Any, write: Any, attrs: str, **beside: str) -> Part:
    fields = frozenset({"cache", *attrs.split(), *beside.values()})
    return Part(block, key, read, write, fields, beside)


_DATA_URL = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+)((?:;[a-zA-Z0-9=._-]+)*?);base64,")
_LINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_LONGEST_HEAD = 200

# -- URLs -----------------------------------------------------------------------------------------


def _read_url(url: str, spelling: Wire) -> Fields:
    """A source and its media type; base64 where the URL holds the data itself."""
    if url.startswith("data:") and (head := _DATA_URL.match(url, 0, _LONGEST_HEAD)):
        if head[2]:
            spelling["parameters"] = head[2]
        return {"source": Source("base64", url[head.end() :]), "media_type": head[1]}
    if not url.startswith(WEB):
        spelling["url"] = True
    return {"source": Source("url", url)}


def _write_url(block: MediaBlock, otherwise: str, to: WriteContext, spelling: Wire) -> str | None:
    """A URL for a block's source; None for sources that have none."""
    source, kind, data = block.source, block.media_type, block.source.data or ""
    if source.kind == "url":
        if not (spelling.get("url") or data.startswith(WEB)):
            return None
        if kind is not None:
            to.recorder.lost(block, "media_type", severity="info")
        return source.data
    if source.kind != "base64":
        return None
    magic = tables.MAGIC.items()
    kind = kind or next((known for start, known in magic if data.startswith(start)), otherwise)
    return f"data:{kind}{spelling.get('parameters', '')};base64,{data}"


def _read_held(key: str, held: Any, t: Tables, preserved: Preserved, *known: str) -> Fields | None:
    """A URL in an object under `key`, or bare."""
    if type(held) is str:
        preserved.spelling["bare"] = True
        return _read_url(held, preserved.spelling)
    if held == {}:
        return None
    fields = _read_url(require(require(held, dict).get("url"), str, ".url"), preserved.spelling)
    preserved.add_inside({key: held}, key, ("url", *known))
    return fields


def _write_held(otherwise: str, block: Any, to: WriteContext, spelling: Wire) -> Any:
    url = _write_url(block, otherwise, to, spelling)
    return url if url is None or spelling.get("bare") else {"url": url}


def _held(block: type, key: str, otherwise: str, **beside: str) -> Part:
    read, write = partial(_read_held, key), partial(_write_held, otherwise)
    return part_of(block, key, read, write, "source media_type", **beside)


def _named(key: str, kind: Any, provider: str | None = None, **spelling: Any) -> Part:
    """A document whose location is one string."""

    def read(value: Any, t: Tables, preserved: Preserved) -> Fields:
        preserved.spelling.update(spelling)
        return {"source": Source(kind, require(value, str), provider=provider)}

    def write(block: DocumentBlock, to: WriteContext, spelling: Wire) -> str | None:
        return block.source.data if block.source.kind == kind else None

    return part_of(DocumentBlock, key, read, write, "source")


# -- images, film and sound -----------------------------------------------------------------------


def _read_image(image: Any, t: Tables, preserved: Preserved) -> Fields | None:
    detail = optional(image, "detail", str) if type(image) is dict else None
    fields = _read_held("image_url", image, t, preserved, *(() if detail is None else ("detail",)))
    if fields is None or detail is None:
        return fields
    if detail not in (t.words["detail"] or (detail,)):
        preserved.spelling["detail"] = detail
    return {**fields, "detail": detail}


def _write_image(block: model.ImageBlock, to: WriteContext, spelling: Wire) -> Any:
    held, detail = _write_held(tables.DEFAULT_IMAGE, block, to, spelling), block.detail
    if held is None or detail is None:
        return held
    held = held if type(held) is dict else {"url": held}
    if detail in (to.t.words["detail"] or ()) or spelling.get("detail") == detail:
        return {**held, "detail": detail}
    to.recorder.lost(block, "detail", because("detail_unsupported", detail=detail))
    return held


def _read_audio(audio: Any, t: Tables, preserved: Preserved) -> Fields | None:
    """An object with data and format, or Mistral's form: base64 or a URL."""
    if type(audio) is str:
        preserved.spelling["bare"] = True
        remote = audio.startswith(("http://", "https://"))
        return {"source": Source("url" if remote else "base64", audio)}
    if audio == {}:
        return None
    source = Source("base64", require(require(audio, dict).get("data"), str, ".data"))
    word = optional(audio, "format", str)
    if word is None:
        preserved.spelling["no_format"] = True
        preserved.add_inside({"input_audio": audio}, "input_audio", ("data",))
        return {"source": source}
    media_type = _audio_type(word)
    if _audio_format(media_type, t, {}) != word:
        preserved.spelling["format"] = word
    preserved.add_inside({"input_audio": audio}, "input_audio", ("data", "format"))
    return {"source": source, "media_type": media_type}


def _write_audio(block: model.AudioBlock, to: WriteContext, spelling: Wire) -> Any:
    source, kind = block.source, block.media_type
    if spelling.get("bare") and source.kind in ("base64", "url") and kind is None:
        return source.data or ""
    word = _audio_format(kind, to.t, spelling)
    if source.kind != "base64" or word is None:
        return None
    unnamed = kind is None and spelling.get("no_format")
    return {"data": source.data or "", **({} if unnamed else {"format": word})}


def _audio_type(word: str) -> str:
    return AUDIO_FORMATS.read(word) or f"audio/{word}"


def _audio_format(media_type: str | None, t: Tables, spelling: Wire) -> str | None:
    """The format for a media type; None if the wire has none."""
    if media_type is None:
        return tables.DEFAULT_AUDIO
    stood: str | None = spelling.get("format")
    if stood is not None and _audio_type(stood) == media_type:
        return stood
    words, known = t.words["audio"], AUDIO_FORMATS.write(media_type)
    if words is None and known is None and media_type.startswith("audio/"):
        return media_type.removeprefix("audio/")
    return known if words is None or known in words else None


# -- documents ------------------------------------------------------------------------------------


def _read_file(file: Any, t: Tables, preserved: Preserved) -> Fields | None:
    fields = _read_source(require(file, dict), t, preserved.spelling)
    if fields is None:
        return None
    named = fields["source"].kind == "file_id"
    taken = {"file_id" if named else "file_data"}
    name = optional(file, "filename", str)
    if name is not None:
        taken.add("filename")
        fields["name"] = name
    elif not named:
        preserved.spelling["filename"] = False
    preserved.add_inside({"file": file}, "file", taken)
    return fields


def _read_source(file: Wire, t: Tables, spelling: Wire) -> Fields | None:
    data = optional(file, "file_data", str)
    if data is None:
        id = optional(file, "file_id", str)
        return None if id is None else {"source": Source("file_id", id, provider=t.provider)}
    fields = _read_url(data, spelling)
    if fields["source"].kind == "base64" or data.startswith("data:"):
        return fields
    if not _LINK.match(data):
        spelling.pop("url")
        spelling["bare"] = True
        return {"source": Source("base64", data)}
    if not t.file_urls:
        spelling["url"] = True
    return fields


def _write_file(block: DocumentBlock, to: WriteContext, spelling: Wire) -> Wire | None:
    source = block.source
    if source.kind == "file_id":
        if source.provider not in (None, to.t.provider):
            return None
        if block.media_type is not None:
            to.recorder.lost(block, "media_type", severity="info")
        file = {"file_id": source.data}
    else:
        file = {"file_data": _write_data(block, to, spelling)}
        if file["file_data"] is None:
            return None
    if block.name is not None:
        file["filename"] = block.name
    elif spelling.get("filename", source.kind != "file_id"):
        file["filename"] = FILENAME
        to.recorder.filled(block, "name", FILENAME)
    return file


def _write_data(block: DocumentBlock, to: WriteContext, spelling: Wire) -> str | None:
    source = block.source
    if spelling.get("bare") and source.kind == "base64" and block.media_type is None:
        return source.data
    linked = to.t.file_urls or spelling.get("url") or (source.data or "").startswith("data:")
    if source.kind == "url" and not linked:
        return None
    return _write_url(block, tables.DEFAULT_DOCUMENT, to, spelling)


def _read_json(document: Any, t: Tables, preserved: Preserved) -> Fields | None:
    """Groq's document of data (its API reference, read 2026-11)."""
    if type(document) is not dict or type(document.get("data")) is not dict:
        return None
    preserved.add_inside({"document": document}, "document", ("data",))
    text = msgspec.json.encode(document["data"]).decode()
    return {"source": Source("text", text), "media_type": "application/json"}


def _write_json(block: DocumentBlock, to: WriteContext, spelling: Wire) -> Wire | None:
    try:
        data = msgspec.json.decode(block.source.data or "")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return {"data": data} if block.source.kind == "text" and type(data) is dict else None


_TYPED, _DETAILED = "source media_type", "source media_type detail"
_VIDEO = _held(model.VideoBlock, "video_url", tables.DEFAULT_VIDEO)
PARTS = {
    "image_url": part_of(model.ImageBlock, "image_url", _read_image, _write_image, _DETAILED),
    "input_audio": part_of(model.AudioBlock, "input_audio", _read_audio, _write_audio, _TYPED),
    "video_url": _VIDEO,
    "input_video": _VIDEO,
    "file": part_of(DocumentBlock, "file", _read_file, _write_file, f"{_TYPED} name"),
    "file_id": _named("file_id", "file_id", "mistral", flat=True),
    "document_url": _held(
        DocumentBlock, "document_url", tables.DEFAULT_DOCUMENT, document_name="name"
    ),
    "document": part_of(DocumentBlock, "document", _read_json, _write_json, _TYPED),
    "resource_link": _named("uri", "url"),
}
"""By the wire's type; `file_id` is Mistral's file."""
