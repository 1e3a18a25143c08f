"""A long conversation scrolls, and only a part of it is on the page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.page.conftest import NEEDED, standing
from tests.gateway.page.scrolling import conversation, scrolled, stored

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
THOROUGH = NEEDED in os.environ
FRAMES = 50 if THOROUGH else 5
"""A second; in the gate other tests run beside it."""
MOST_NODES = 12_000


def test_a_long_conversation_scrolls_with_few_elements(browser: Any, tmp_path: Path) -> None:
    """10,000 for longer: `python -m tests.gateway.page.scrolling`."""
    with standing(tmp_path) as (place, _):
        id = stored(place, 10_000 if THOROUGH else 1200)
        found = scrolled(browser, place, id, 10 if THOROUGH else 2)
    assert found.nodes < MOST_NODES
    assert found.frames_a_second >= FRAMES, found


def test_it_has_everything_that_conversations_have() -> None:
    told = conversation(400)
    assert len(told) == 400
    kinds = {type(block).__name__ for message in told for block in message.content}
    assert kinds == {"TextBlock", "ThinkingBlock", "ToolUseBlock", "ToolResultBlock"}
