"""Images and files: where they come from, as parts and back."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_responses.spelling import (
    form,
    is_kept,
    put_back,
    raw_of,
    spare,
)
from interlingua.dialects.openai_responses.tables import (
    CACHE_TTLS,
    DETAILS,
    FILE_NAME,
    FILE_NAMES,
    FILE_PROVIDER,
    FOREIGN_FILES,
    NAME,
)
from interlingua.model.blocks import (
    Cache,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    UnknownBlock,
)

_BREAKPOINT = "prompt_cache_breakpoint"
_SAID = frozenset({"source", "cache", "detail", "name"})
_SAID_INLINE = _SAID | {"media_type"}


# Reading -------------------------------------------------------------------------------------


def read_image(part: Wire, made: bool) -> ImageBlock | UnknownBlock:
    known = {"type"}
    if type(part.get("image_url")) is str:
        known.add("image_url")
        source, media_type = source_of_url(part["image_url"])
    elif type(part.get("file_id")) is str:
        known.add("file_id")
        source, media_type = Source("file_id", part["file_id"], provider=FILE_PROVIDER), None
    else:
        return UnknownBlock({NAME: part})
    spelling: Wire = {"type": "input_image"} if made else {}
    detail = _detail(part, known)
    if "detail" not in part:
        spelling["absent"] = ["detail"]
    cache = read_cache(part, known)
    return ImageBlock(source, media_type, None, detail, cache, part_raw(part, known, spelling))


def read_file(part: Wire, made: bool) -> DocumentBlock | UnknownBlock:
    spelling: Wire = {"type": "input_file"} if made else {}
    known = {"type"}
    media_type = None
    if type(part.get("file_data")) is str:
        known.add("file_data")
        source, media_type = source_of_url(part["file_data"])
        if source.kind == "url":  # base64 alone, as some servers take it
            source = Source("base64", part["file_data"])
            spelling["bare"] = True
    elif type(part.get("file_url")) is str:
        known.add("file_url")
        source = Source("url", part["file_url"])
    elif type(part.get("file_id")) is str:
        known.add("file_id")
        source = Source("file_id", part["file_id"], provider=FILE_PROVIDER)
    else:
        return UnknownBlock({NAME: part})
    name = part.get("filename")
    if type(name) is str:
        known.add("filename")
    else:
        name = None
        if source.kind == "base64" and "filename" not in part:
            spelling["absent"] = ["filename"]
    cache = read_cache(part, known)
    return DocumentBlock(source, media_type, name, cache=cache, raw=part_raw(part, known, spelling))


def _detail(part: Wire, known: set[str]) -> str | None:
    detail = part.get("detail")
    if type(detail) is str and detail in DETAILS:
        known.add("detail")
        return detail
    return None


def source_of_url(url: str) -> tuple[Source, str | None]:
    """A data URL as its data and media type; any other as a URL."""
    if url.startswith("data:"):
        media_type, mark, data = url[5:].partition(";base64,")
        if mark and media_type and not ("," in media_type or ";" in media_type):
            return Source("base64", data), media_type
    return Source("url", url), None


# Writing -------------------------------------------------------------------------------------


def write_image(block: ImageBlock, scribe: Scribe) -> Wire | None:
    where = write_source(block, scribe, "image_url", "image_url", "image/png")
    if where is None:
        return None
    part: Wire = {"type": "input_image", **where}
    if block.detail in DETAILS:
        part["detail"] = block.detail
    elif not is_kept(block.raw, "detail"):
        part["detail"] = "auto"  # typed as required in messages
    if block.detail is not None and block.detail not in DETAILS:
        scribe.lost(block, "detail")
    if block.name is not None:
        scribe.lost(block, "name")
    scribe.unsaid(block, _SAID_INLINE if block.source.kind == "base64" else _SAID)
    write_cache(part, block, scribe)
    return put_back(part, block.raw)


def write_file(block: DocumentBlock, scribe: Scribe) -> Wire | None:
    spelling = form(block.raw)
    kind = block.source.kind
    if spelling.get("bare") and kind == "base64" and block.media_type is None:
        where: Wire | None = {"file_data": block.source.data or ""}
    elif kind == "text" or kind == "blocks":
        where = _text_as_file(block, scribe)
    else:
        where = write_source(block, scribe, "file_data", "file_url", "application/pdf")
    if where is None:
        return None
    part: Wire = {"type": "input_file", **where}
    if block.name is not None:
        part["filename"] = block.name
    elif "file_data" in part and not is_kept(block.raw, "filename"):
        part["filename"] = name = FILE_NAMES.get(block.media_type, FILE_NAME)
        scribe.filled(block, "name", name)
    scribe.unsaid(block, _SAID_INLINE if "file_data" in part else _SAID)
    write_cache(part, block, scribe)
    return put_back(part, block.raw)


def write_source(
    block: ImageBlock | DocumentBlock, scribe: Scribe, data_key: str, url_key: str, default: str
) -> Wire | None:
    """Where the data is, in the wire's keys."""
    source = block.source
    data = source.data or ""
    match source.kind:
        case "base64":
            return {data_key: f"data:{block.media_type or default};base64,{data}"}
        case "url":
            return {url_key: data}
        case "file_id" if source.provider not in FOREIGN_FILES:
            if source.provider not in (None, FILE_PROVIDER):
                reason = "the wire does not say whose file it is"
                scribe.lost(block, "source.provider", reason, "approximated", "info")
            return {"file_id": data}
        case "file_id":
            scribe.dropped(block, f"the file is known to {source.provider} alone")
        case "file_ref":
            scribe.dropped(block, "a path in the workspace means nothing to the provider")
        case _:
            scribe.dropped(block)
    return None


def _text_as_file(block: DocumentBlock, scribe: Scribe) -> Wire | None:
    """A document of text, as an inline file."""
    inner = block.source.content or ()
    if block.source.kind == "text":
        text = block.source.data or ""
    elif all(type(each) is TextBlock for each in inner):
        text = "\n".join([each.text for each in inner if type(each) is TextBlock])
    else:
        scribe.dropped(block, "a document of other blocks than text has no place")
        return None
    reason = "said as a plain text file"
    scribe.lost(block, "source", reason, kind="approximated", severity="info")
    if block.media_type not in (None, "text/plain"):
        scribe.lost(block, "media_type")
    data = b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return {"file_data": f"data:text/plain;base64,{data}"}


# Cache breakpoints, which any part may carry --------------------------------------------------


def read_cache(part: Wire, known: set[str]) -> Cache | None:
    """A breakpoint, if it is one of those that a field can hold."""
    mark = part.get(_BREAKPOINT)
    if type(mark) is not dict or mark.get("mode") != "explicit":
        return None
    if len(mark) == 1:
        known.add(_BREAKPOINT)
        return Cache()
    ttl = mark.get("ttl")
    if len(mark) == 2 and type(ttl) is str and ttl in CACHE_TTLS:
        known.add(_BREAKPOINT)
        return Cache(ttl)
    return None


def write_cache(part: Wire, block: Any, scribe: Scribe) -> None:
    if block.cache is not None:
        part[_BREAKPOINT] = breakpoint_of(block, scribe)


def breakpoint_of(block: Any, scribe: Scribe) -> Wire:
    ttl = block.cache.ttl
    if ttl is None:
        return {"mode": "explicit"}
    if ttl not in CACHE_TTLS:
        reason = f"lifetimes here are {' and '.join(sorted(CACHE_TTLS))}; its own default is used"
        scribe.lost(block, "cache", reason, kind="approximated")
        return {"mode": "explicit"}
    return {"mode": "explicit", "ttl": ttl}


def part_raw(part: Wire, known: set[str], spelling: Wire) -> Wire | None:
    if len(part) > len(known):
        rest, spelled = spare(part, known)
        if spelled:
            spelling["spelled"] = spelled
        return raw_of(rest, spelling)
    return raw_of(None, spelling)
