"""Images, sound, film and documents as content parts, and the URLs that they are named or held by.

Readers give the fields of a block, or None where the part holds nothing of the kind; writers give
a part, or None where a source has no place."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from interlingua.dialects.kernel.errors import maybe, want
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.tables import (
    AUDIO_FORMATS,
    DEFAULT_AUDIO,
    DEFAULT_DOCUMENT,
    DEFAULT_IMAGE,
    DEFAULT_VIDEO,
    FILENAME,
    MAGIC,
    WEB,
    Tables,
)
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    VideoBlock,
)

Fields = dict[str, Any]

_DATA_URL = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+)((?:;[a-zA-Z0-9=._-]+)*?);base64,")
_LINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_LONGEST_HEAD = 200

# -- URLs -----------------------------------------------------------------------------------------


def _read_url(url: str, form: Wire) -> Fields:
    """A source and its media type; base64 where the URL holds the data itself."""
    if url.startswith("data:") and (head := _DATA_URL.match(url, 0, _LONGEST_HEAD)):
        if head[2]:
            form["parameters"] = head[2]
        return {"source": Source("base64", url[head.end() :]), "media_type": head[1]}
    if not url.startswith(WEB):
        form["url"] = True
    return {"source": Source("url", url)}


def _write_url(block: MediaBlock, otherwise: str, recorder: LossRecorder, form: Wire) -> str | None:
    """A URL for a block's source; None for sources that have none."""
    source, kind, data = block.source, block.media_type, block.source.data or ""
    if source.kind == "url":
        if not (form.get("url") or data.startswith(WEB)):
            return None
        if kind is not None:
            recorder.lost(block, "media_type", severity="info")
        return source.data
    if source.kind != "base64":
        return None
    kind = kind or next((MAGIC[start] for start in MAGIC if data.startswith(start)), otherwise)
    return f"data:{kind}{form.get('parameters', '')};base64,{data}"


def _read_held(part: Wire, key: str, kept: Kept, *known: str) -> Fields | None:
    """A URL that stands in an object under `key`, or bare."""
    held = part.get(key)
    if type(held) is str:
        kept.form["bare"] = True
        return _read_url(held, kept.form)
    if held is None or held == {}:
        return None
    fields = _read_url(want(want(held, dict, f".{key}").get("url"), str, f".{key}.url"), kept.form)
    kept.add_inside(part, key, ("url", *known))
    return fields


# -- images, film and sound -----------------------------------------------------------------------


def read_image(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    image = part.get("image_url")
    detail = maybe(image, "detail", str, ".image_url") if type(image) is dict else None
    fields = _read_held(part, "image_url", kept, *(() if detail is None else ("detail",)))
    if fields is None or detail is None:
        return fields
    if detail not in (t.words["detail"] or (detail,)):
        kept.form["detail"] = detail
    return {**fields, "detail": detail}


def write_image(block: ImageBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    url, detail = _write_url(block, DEFAULT_IMAGE, recorder, form), block.detail
    if url is None:
        return None
    if detail is None:
        return {"type": "image_url", "image_url": url if form.get("bare") else {"url": url}}
    if detail not in (t.words["detail"] or ()) and form.get("detail") != detail:
        recorder.lost(block, "detail", f"no detail is called {detail!r}")
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def read_video(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    return _read_held(part, "video_url", kept)


def write_video(block: VideoBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    url = _write_url(block, DEFAULT_VIDEO, recorder, form)
    if url is None:
        return None
    kind = form.get("kind", "video_url")
    return {"type": kind, "video_url": url if form.get("bare") else {"url": url}}


def read_audio(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    """An object with data and format, or Mistral's: base64 or a URL as it is."""
    audio = part.get("input_audio")
    if type(audio) is str:
        kept.form["bare"] = True
        remote = audio.startswith(("http://", "https://"))
        return {"source": Source("url" if remote else "base64", audio)}
    if audio is None or audio == {}:
        return None
    data = want(want(audio, dict, ".input_audio").get("data"), str, ".input_audio.data")
    word = maybe(audio, "format", str, ".input_audio")
    if word is None:
        kept.form["no_format"] = True
        kept.add_inside(part, "input_audio", ("data",))
        return {"source": Source("base64", data)}
    media_type = _audio_type(word)
    if _audio_format(media_type, t, {}) != word:
        kept.form["format"] = word
    kept.add_inside(part, "input_audio", ("data", "format"))
    return {"source": Source("base64", data), "media_type": media_type}


def write_audio(block: AudioBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    source, kind = block.source, block.media_type
    if form.get("bare") and source.kind in ("base64", "url") and kind is None:
        return {"type": "input_audio", "input_audio": source.data or ""}
    word = _audio_format(kind, t, form)
    if source.kind != "base64" or word is None:
        return None
    audio: Wire = {"data": source.data or ""}
    if kind is not None or not form.get("no_format"):
        audio["format"] = word
    return {"type": "input_audio", "input_audio": audio}


def _audio_type(word: str) -> str:
    return AUDIO_FORMATS.read(word) or f"audio/{word}"


def _audio_format(media_type: str | None, t: Tables, form: Wire) -> str | None:
    """The word for a media type; None where the wire has none."""
    if media_type is None:
        return DEFAULT_AUDIO
    stood: str | None = form.get("format")
    if stood is not None and _audio_type(stood) == media_type:
        return stood
    words, known = t.words["audio"], AUDIO_FORMATS.write(media_type)
    if words is None and known is None and media_type.startswith("audio/"):
        return media_type.removeprefix("audio/")
    return known if words is None or known in words else None


# -- documents ------------------------------------------------------------------------------------


def read_file(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    file = want(part["file"], dict, ".file")
    fields = _read_source(file, t, kept.form)
    if fields is None:
        return None
    named = fields["source"].kind == "file_id"
    taken = {"file_id" if named else "file_data"}
    name = maybe(file, "filename", str, ".file")
    if name is not None:
        taken.add("filename")
        fields["name"] = name
    elif not named:
        kept.form["filename"] = False
    kept.add_inside(part, "file", taken)
    return fields


def read_flat_file(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    """Mistral's part, with the id beside the type."""
    file_id = maybe(part, "file_id", str)
    if file_id is None:
        return None
    kept.form["flat"] = True
    return {"source": Source("file_id", file_id, provider="mistral")}


def _read_source(file: Wire, t: Tables, form: Wire) -> Fields | None:
    data = maybe(file, "file_data", str, ".file")
    if data is None:
        file_id = maybe(file, "file_id", str, ".file")
        named = None if file_id is None else Source("file_id", file_id, provider=t.provider)
        return None if named is None else {"source": named}
    fields = _read_url(data, form)
    if fields["source"].kind == "base64" or data.startswith("data:"):
        return fields
    if not _LINK.match(data):
        form.pop("url")
        form["bare"] = True
        return {"source": Source("base64", data)}
    if not t.file_urls:
        form["url"] = True
    return fields


def write_file(block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    source, file = block.source, {}
    if source.kind == "file_id":
        if form.get("flat"):
            return {"type": "file", "file_id": source.data}
        if source.provider not in (None, t.provider):
            return None
        if block.media_type is not None:
            recorder.lost(block, "media_type", severity="info")
        file["file_id"] = source.data
    else:
        file["file_data"] = _write_data(block, t, recorder, form)
        if file["file_data"] is None:
            return None
    if block.name is not None:
        file["filename"] = block.name
    elif form.get("filename", source.kind != "file_id"):
        file["filename"] = FILENAME
        recorder.filled(block, "name", FILENAME)
    return {"type": "file", "file": file}


def _write_data(block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire) -> str | None:
    source = block.source
    if form.get("bare") and source.kind == "base64" and block.media_type is None:
        return source.data
    linked = t.file_urls or form.get("url") or (source.data or "").startswith("data:")
    if source.kind == "url" and not linked:
        return None
    return _write_url(block, DEFAULT_DOCUMENT, recorder, form)


def read_document_url(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    url = maybe(part, "document_url", str)
    if url is None:
        return None
    return {**_read_url(url, kept.form), "name": maybe(part, "document_name", str)}


def write_document_url(
    block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire
) -> Wire | None:
    url = _write_url(block, DEFAULT_DOCUMENT, recorder, form)
    if url is None:
        return None
    part: Wire = {"type": "document_url", "document_url": url}
    return part if block.name is None else {**part, "document_name": block.name}


def read_json(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    """Groq's document of data (its API reference, read 2026-11)."""
    document = part.get("document")
    if type(document) is not dict or type(document.get("data")) is not dict:
        return None
    kept.add_inside(part, "document", ("data",))
    text = msgspec.json.encode(document["data"]).decode()
    return {"source": Source("text", text), "media_type": "application/json"}


def write_json(block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    try:
        data = msgspec.json.decode(block.source.data or "")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if block.source.kind != "text" or type(data) is not dict:
        return None
    return {"type": "document", "document": {"data": data}}


def read_link(part: Wire, t: Tables, kept: Kept) -> Fields | None:
    uri = maybe(part, "uri", str)
    return None if uri is None else {"source": Source("url", uri)}


def write_link(block: DocumentBlock, t: Tables, recorder: LossRecorder, form: Wire) -> Wire | None:
    is_url = block.source.kind == "url"
    return {"type": "resource_link", "uri": block.source.data} if is_url else None
