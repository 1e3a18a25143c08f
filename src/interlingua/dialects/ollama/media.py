"""Images: base64 data without a type, which the data itself has to tell."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.kept import form_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import IMAGE_STARTS
from interlingua.dialects.ollama.tables import NAME
from interlingua.model.blocks import ImageBlock, Source

_SHOWN = {NAME: {"$form": {"shown": True}}}
_SAID = frozenset({"source", "media_type"})


def read_image(data: Any) -> ImageBlock:
    return ImageBlock(Source("base64", want(data, str)), IMAGE_STARTS.get(data[:4]))


def read_shown_image(data: Any) -> ImageBlock:
    """One of an answer. The official client takes no image there (ollama-python 0.6.3, read
    2026-11), so that only those go out that came in like this."""
    return read_image(data).replace(raw=_SHOWN)


def write_image(block: ImageBlock, recorder: LossRecorder) -> str | None:
    source = block.source
    if source.kind != "base64" or source.data is None:
        recorder.dropped(block, "an image has to come with its data")
        return None
    if block.media_type not in (None, IMAGE_STARTS.get(source.data[:4])):
        recorder.lost(block, "media_type", "the data has to tell it", severity="info")
    recorder.unwritten(block, _SAID)
    return source.data


def write_shown_image(block: ImageBlock, recorder: LossRecorder) -> str | None:
    if "shown" in form_of(NAME, block.raw):
        return write_image(block, recorder)
    recorder.dropped(block, "an answer shows no images")
    return None
