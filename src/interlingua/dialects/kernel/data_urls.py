"""Data URLs in fields that hold addresses: the data itself, read as base64 with its media type."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from interlingua.dialects.kernel.preserved import spelling_of
from interlingua.model.blocks import MediaBlock, Source

FORM = "data_url"
"""In `$form`: how the URL begins, up to its data."""
_HEAD = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+)(?:;[a-zA-Z0-9=._-]+)*?;base64,")
_LONGEST_HEAD = 200


class DataUrl(NamedTuple):
    head: str
    media_type: str
    data: str

    @property
    def source(self) -> Source:
        return Source("base64", self.data)


def data_url(url: str) -> DataUrl | None:
    """The parts of a data URL in base64; None for every other address."""
    if not url.startswith("data:") or (head := _HEAD.match(url, 0, _LONGEST_HEAD)) is None:
        return None
    return DataUrl(head[0], head[1], url[head.end() :])


def url_of(dialect: str, block: MediaBlock, typed: bool = False) -> str | None:
    """The data URL that a block was read from, while it still has that type. With `typed`, the wire
    has the type beside the URL, so that any will do."""
    head: Any = spelling_of(dialect, block.raw).get(FORM)
    if type(head) is not str or block.source.kind != "base64":
        return None
    found = data_url(head)
    if found is None or not (typed or found.media_type == block.media_type):
        return None
    return head + (block.source.data or "")
