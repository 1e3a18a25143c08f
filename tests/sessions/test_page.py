"""The page about sessions names what there is; its samples run in `tests/docs`."""

from __future__ import annotations

import re
from pathlib import Path

from interlingua.model.metadata import MessageStatus
from interlingua.sessions import PARTS, AsyncSession, Session

PAGE = (Path(__file__).parents[2] / "docs" / "sessions.md").read_text(encoding="utf-8")


def test_the_page_names_what_there_is() -> None:
    for part in PARTS:
        assert f"`{part}`" in PAGE
    for status in MessageStatus:
        assert f"`{status.value}`" in PAGE
    for name in re.findall(r"`session\.(\w+)\(", PAGE):
        assert hasattr(Session, name)
        assert hasattr(AsyncSession, name)
