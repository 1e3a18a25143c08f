"""Images and files, and lists of parts of any kind, in messages and in results."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from interlingua.dialects.kernel.errors import ShapeError, want
from interlingua.dialects.kernel.fields import NOT_OURS, Field, Table, plain
from interlingua.dialects.kernel.kept import Kept
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import compaction_as_text
from interlingua.dialects.openai_responses.tables import (
    DETAILS,
    FILE_NAME,
    FILE_NAMES,
    FILE_PROVIDER,
    FOREIGN_FILES,
    NAME,
)
from interlingua.dialects.openai_responses.text import (
    CACHE,
    form,
    is_kept,
    put_back,
    read_refusal,
    read_text,
    write_refusal,
    write_text,
    written,
)
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    UnknownBlock,
)

# -- parts of any kind ----------------------------------------------------------------------------


def read_parts(parts: list[Any], made: bool, place: str) -> list[Block]:
    """`made` parts are a model's."""
    blocks: list[Block] = []
    try:
        for part in parts:
            blocks.append(read_part(part, made))
    except ShapeError as error:
        raise error.inside(f"{place}[{len(blocks)}]") from None
    return blocks


def read_part(part: Any, made: bool = False) -> Block:
    kind = want(part, dict).get("type")
    if kind == "input_text" or kind == "output_text":
        return read_text(part, made)
    if kind == "input_image":
        return _read_image(part, made) or UnknownBlock({NAME: part})
    if kind == "input_file":
        return _read_file(part, made) or UnknownBlock({NAME: part})
    if kind == "refusal":
        return read_refusal(part)
    return UnknownBlock({NAME: {**part, "$form": {"part": True}}} if made else {NAME: part})


def write_part(block: Block, recorder: LossRecorder, made: bool = False) -> Wire | None:
    """None where the block has no place in a message or result; the report says so."""
    match block:
        case TextBlock():
            return write_text(block, recorder, made)
        case ImageBlock() if not made or form(block.raw).get("type"):
            return _write_image(block, recorder)
        case DocumentBlock() if not made or form(block.raw).get("type"):
            return _write_file(block, recorder)
        case RefusalBlock() if made:
            return write_refusal(block, recorder)
        case CompactionBlock():
            text = compaction_as_text(block, recorder)
            return None if text is None else write_text(text, recorder, made)
        case UnknownBlock() if NAME in block.raw:
            return put_back({}, block.raw)
        case UnknownBlock():
            recorder.dropped(block, "only the dialect that read it can write it")
        case _:
            recorder.dropped(block)
    return None


# -- where the data is ----------------------------------------------------------------------------


def source_of_url(url: str) -> tuple[Source, str | None]:
    """A data URL as its data and media type; any other as a URL."""
    if url.startswith("data:"):
        media_type, mark, data = url[5:].partition(";base64,")
        if mark and media_type and not ("," in media_type or ";" in media_type):
            return Source("base64", data), media_type
    return Source("url", url), None


def read_source(wire: Wire, *keys: str) -> tuple[str, Source, str | None] | None:
    """The first of these keys that says where the data is, and what it says."""
    for key in keys:
        given = wire.get(key)
        if type(given) is str:
            if key == "file_id":
                return key, Source("file_id", given, provider=FILE_PROVIDER), None
            return key, *source_of_url(given)
    return None


def write_source(
    block: ImageBlock | DocumentBlock,
    recorder: LossRecorder,
    data_key: str,
    url_key: str,
    default: str = "image/png",
) -> Wire | None:
    """Where the data is, in the wire's keys; None where the block was left out."""
    source = block.source
    data = source.data or ""
    if source.kind == "base64":
        return {data_key: f"data:{block.media_type or default};base64,{data}"}
    if source.kind == "url":
        key = url_key
    elif source.kind == "file_id" and source.provider not in FOREIGN_FILES:
        key = "file_id"
        if source.provider not in (None, FILE_PROVIDER):
            reason = "the wire does not say whose file it is"
            recorder.lost(block, "source.provider", reason, "approximated", "info")
    else:
        recorder.dropped(block, _NO_SOURCE.get(source.kind, "").format(source.provider) or None)
        return None
    if block.media_type is not None:
        recorder.lost(block, "media_type")
    return {key: data}


_NO_SOURCE = {
    "file_id": "the file is known to {} alone",
    "file_ref": "a path in the workspace means nothing to the provider",
}


# -- images and files -----------------------------------------------------------------------------


def _write_detail(block: Any, recorder: LossRecorder) -> str | None:
    if block.detail in DETAILS:
        return str(block.detail)
    recorder.lost(block, "detail")
    return None


_WHERE = ("source", "media_type")
_DETAIL = Field(
    "detail",
    ("detail",),
    lambda given: {"detail": given} if type(given) is str and given in DETAILS else NOT_OURS,
    _write_detail,
    fill=lambda _: "auto",  # typed as required in messages
)
_IMAGE = Table(ImageBlock, _DETAIL, CACHE, beside=("type",), silent=_WHERE, blank=True)
_NAME = plain("filename", "name", str, lenient=True)
_FILE = Table(DocumentBlock, _NAME, CACHE, beside=("type",), silent=_WHERE, blank=True)


def _read_image(part: Wire, made: bool) -> ImageBlock | None:
    where = read_source(part, "image_url", "file_id")
    if where is None:
        return None
    key, source, media_type = where
    kept = Kept(form={"type": "input_image"} if made else {})
    attrs = _IMAGE.read(part, kept)
    del kept.rest[key]
    return ImageBlock(source, media_type, **attrs, raw=kept.raw(NAME))


def _write_image(block: ImageBlock, recorder: LossRecorder) -> Wire | None:
    where = write_source(block, recorder, "image_url", "image_url")
    return None if where is None else written(_IMAGE, "input_image", block, recorder, where)


def _read_file(part: Wire, made: bool) -> DocumentBlock | None:
    where = read_source(part, "file_data", "file_url", "file_id")
    if where is None:
        return None
    key, source, media_type = where
    kept = Kept(form={"type": "input_file"} if made else {})
    attrs = _FILE.read(part, kept)
    del kept.rest[key]
    if key == "file_url":
        source, media_type = Source("url", part[key]), None
    elif key == "file_data" and source.kind == "url":  # base64 alone, as some servers take it
        source = Source("base64", part[key])
        kept.form["bare"] = True
    if source.kind == "base64" and "filename" not in part:
        kept.miss("filename")
    return DocumentBlock(source, media_type, **attrs, raw=kept.raw(NAME))


def _write_file(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    kind = block.source.kind
    if kind == "base64" and block.media_type is None and form(block.raw).get("bare"):
        where: Wire | None = {"file_data": block.source.data or ""}
    elif kind == "text" or kind == "blocks":
        where = _text_as_file(block, recorder)
    else:
        where = write_source(block, recorder, "file_data", "file_url", "application/pdf")
    if where is None:
        return None
    out = written(_FILE, "input_file", block, recorder, where)
    if "file_data" in where and "filename" not in out and not is_kept(block.raw, "filename"):
        out["filename"] = name = FILE_NAMES.get(block.media_type, FILE_NAME)
        recorder.filled(block, "name", name)
    return out


def _text_as_file(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    """A document of text, as an inline file."""
    inner = block.source.content or ()
    if block.source.kind == "text":
        text = block.source.data or ""
    elif all(type(each) is TextBlock for each in inner):
        text = "\n".join([each.text for each in inner if type(each) is TextBlock])
    else:
        recorder.dropped(block, "a document of other blocks than text has no place")
        return None
    reason = "said as a plain text file"
    recorder.lost(block, "source", reason, kind="approximated", severity="info")
    if block.media_type not in (None, "text/plain"):
        recorder.lost(block, "media_type")
    data = b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return {"file_data": f"data:text/plain;base64,{data}"}
