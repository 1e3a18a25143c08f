"""Images, audio and documents in the views that name a URL, inline data or a file."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import (
    ImageBlock,
    Source,
    UnknownBlock,
)
from tests.views.test_flat import comes_home, one


@pytest.mark.requirement("S000-12")
@pytest.mark.parametrize("kind", ["image", "audio", "file"])
def test_media_share_five_optional_fields(kind: str) -> None:
    whole = {"format": "x/y", "file_id": "f1", "name": "n", "url": "https://e.com/", "data": "AAAA"}
    for given_fields in ({}, whole, *({name: item} for name, item in whole.items())):
        assert comes_home([{"role": "user", "content": [{"type": kind, **given_fields}]}])


@pytest.mark.requirement("S000-12")
def test_media_sources() -> None:
    def block(**fields: str) -> Any:
        return one({"role": "user", "content": [{"type": "image", **fields}]}).content[0]

    assert block(data="AAAA", format="png") == ImageBlock(Source("base64", "AAAA"), "image/png")
    assert block(url="https://e.com/i") == ImageBlock(Source("url", "https://e.com/i"))
    assert block(file_id="f") == ImageBlock(Source("file_id", "f"))
    assert block(url="data:image/png;base64,AAAA") == ImageBlock(
        Source("base64", "AAAA"), "image/png"
    )
    assert isinstance(block(name="nothing to show"), UnknownBlock)
