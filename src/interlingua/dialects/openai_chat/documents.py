"""Documents as content parts: files, Mistral's URLs and resources, Groq's JSON data."""

from __future__ import annotations

import re

import msgspec

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.media import Fields, read_url, write_url
from interlingua.dialects.openai_chat.shape import Note, maybe, want
from interlingua.dialects.openai_chat.tables import DEFAULT_DOCUMENT, FILENAME, Tables
from interlingua.model.blocks import DocumentBlock, Source

_LINK = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")


def read_file(part: Wire, t: Tables, note: Note) -> Fields | None:
    file = want(part["file"], dict, ".file")
    fields = _read_source(file, t, note.form)
    if fields is None:
        return None
    taken = {"file_id" if fields["source"].kind == "file_id" else "file_data"}
    name = maybe(file, "filename", str, ".file")
    if name is not None:
        taken.add("filename")
        fields["name"] = name
    elif _is_filled(fields["source"]):
        note.form["filename"] = False
    note.leave_inner(part, "file", taken)
    return fields


def read_flat_file(part: Wire, t: Tables, note: Note) -> Fields | None:
    """Mistral's part, with the id beside the type."""
    file_id = maybe(part, "file_id", str)
    if file_id is None:
        return None
    note.form["flat"] = True
    return {"source": Source("file_id", file_id, provider="mistral")}


def _is_filled(source: Source) -> bool:
    """Whether a nameless file of this kind is written with a name."""
    return source.kind != "file_id"


def _read_source(file: Wire, t: Tables, form: Wire) -> Fields | None:
    data = maybe(file, "file_data", str, ".file")
    if data is not None:
        fields = read_url(data, form)
        if fields["source"].kind == "base64" or data.startswith("data:"):
            return fields
        if not _LINK.match(data):
            form.pop("url")
            form["bare"] = True
            return {"source": Source("base64", data)}
        if not t.file_urls:
            form["url"] = True
        return fields
    file_id = maybe(file, "file_id", str, ".file")
    if file_id is None:
        return None
    return {"source": Source("file_id", file_id, provider=t.provider)}


def write_file(block: DocumentBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    source, file = block.source, {}
    if source.kind == "file_id":
        if form.get("flat"):
            return {"type": "file", "file_id": source.data}
        if source.provider not in (None, t.provider):
            return None
        if block.media_type is not None:
            scribe.lost(block, "media_type", severity="info")
        file["file_id"] = source.data
    elif form.get("bare") and source.kind == "base64" and block.media_type is None:
        file["file_data"] = source.data
    elif source.kind == "base64" or (source.kind == "url" and _is_linked(source, t, form)):
        file["file_data"] = write_url(block, DEFAULT_DOCUMENT, scribe, form)
        if file["file_data"] is None:
            return None
    else:
        return None
    if block.name is not None:
        file["filename"] = block.name
    elif form.get("filename", _is_filled(source)):
        file["filename"] = FILENAME
        scribe.filled(block, "name", FILENAME)
    return {"type": "file", "file": file}


def _is_linked(source: Source, t: Tables, form: Wire) -> bool:
    return t.file_urls or bool(form.get("url")) or (source.data or "").startswith("data:")


def read_document_url(part: Wire, t: Tables, note: Note) -> Fields | None:
    url = maybe(part, "document_url", str)
    if url is None:
        return None
    return {**read_url(url, note.form), "name": maybe(part, "document_name", str)}


def write_document_url(block: DocumentBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    url = write_url(block, DEFAULT_DOCUMENT, scribe, form)
    if url is None:
        return None
    part: Wire = {"type": "document_url", "document_url": url}
    return part if block.name is None else {**part, "document_name": block.name}


def read_json(part: Wire, t: Tables, note: Note) -> Fields | None:
    document = part.get("document")
    if type(document) is not dict or type(document.get("data")) is not dict:
        return None
    note.leave_inner(part, "document", ("data",))
    text = msgspec.json.encode(document["data"]).decode()
    return {"source": Source("text", text), "media_type": "application/json"}


def write_json(block: DocumentBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    try:
        data = msgspec.json.decode(block.source.data or "")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if block.source.kind != "text" or type(data) is not dict:
        return None
    return {"type": "document", "document": {"data": data}}


def read_link(part: Wire, t: Tables, note: Note) -> Fields | None:
    uri = maybe(part, "uri", str)
    return None if uri is None else {"source": Source("url", uri)}


def write_link(block: DocumentBlock, t: Tables, scribe: Scribe, form: Wire) -> Wire | None:
    is_url = block.source.kind == "url"
    return {"type": "resource_link", "uri": block.source.data} if is_url else None
