"""Images, sound, film and documents: `data` is base64, `uri` an address."""

from __future__ import annotations

from interlingua.dialects.gemini_interactions.tables import (
    MEDIA,
    MEDIA_WORDS,
    NAME,
    NEAR_RESOLUTIONS,
    RESOLUTIONS,
)
from interlingua.dialects.google import address_of, source_of
from interlingua.dialects.kernel.errors import may_take
from interlingua.dialects.kernel.fields import Table, plain, word
from interlingua.dialects.kernel.kept import Kept, mine_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    UnknownBlock,
    VideoBlock,
)

_TYPE = plain("mime_type", "media_type", str)
_BESIDE = ("type", "data", "uri")
TABLES: dict[type[MediaBlock], Table] = {
    ImageBlock: Table(
        ImageBlock,
        _TYPE,
        word("resolution", "detail", RESOLUTIONS, near=NEAR_RESOLUTIONS),
        beside=_BESIDE,
        silent=("source",),
    ),
    AudioBlock: Table(AudioBlock, _TYPE, beside=_BESIDE, silent=("source",)),
    VideoBlock: Table(
        VideoBlock, _TYPE, plain("name", "name", str), beside=_BESIDE, silent=("source",)
    ),
    DocumentBlock: Table(DocumentBlock, _TYPE, beside=_BESIDE, silent=("source",)),
}


def read_media(part: Wire) -> MediaBlock | UnknownBlock:
    """Data, or an address; where there is neither, nothing can be shown."""
    kind, kept = MEDIA[part["type"]], Kept()
    spelled: Wire = {}
    data, uri = may_take(part, "data", str, spelled), may_take(part, "uri", str, spelled)
    if data is None and uri is None:
        return UnknownBlock({NAME: part})
    source = source_of(uri) if uri is not None and not data else Source("base64", data)
    if source.kind == "base64" and uri is not None:
        kept.rest["uri"] = uri
    elif data is not None and source.kind != "base64":
        spelled["data"] = data
    for key, item in spelled.items():
        kept.spell(key, item)
    return kind(source, **TABLES[kind].read(part, kept), raw=kept.raw(NAME))


def write_media(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    """None where the service cannot reach what the source names."""
    where = _write_source(block, recorder)
    if where is None:
        return None
    out: Wire = {"type": MEDIA_WORDS[type(block)], **where}
    TABLES[type(block)].write(block, out, mine_of(NAME, block.raw), recorder)
    return out


def _write_source(block: MediaBlock, recorder: LossRecorder) -> Wire | None:
    kind = block.source.kind
    if kind == "base64":
        return {"data": block.source.data or ""}
    if kind in ("url", "file_id"):
        uri = address_of(block, recorder)
        return None if uri is None else {"uri": uri}
    is_file = kind == "file_ref"
    reason = "a file of the workspace has to be loaded first" if is_file else "shows no text"
    recorder.dropped(block, reason)
    return None
