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
FRAMES = 50
"""A second; beside other tests, as many as would fit into the thread's own time."""
MOST_NODES = 12_000


def test_a_long_conversation_scrolls_with_few_elements(browser: Any, tmp_path: Path) -> None:
    """For longer: `python -m tests.gateway.page.scrolling`."""
    with standing(tmp_path) as (place, _):
        found = scrolled(browser, place, stored(place, 10_000), 10 if THOROUGH else 4)
    assert found.nodes < MOST_NODES
    assert found.frame_cost <= 1000 / FRAMES, found
    if THOROUGH:
        assert found.frames_a_second >= FRAMES, found


def test_it_has_everything_that_conversations_have() -> None:
    result = conversation(400)
    assert len(result) == 400
    kinds = {type(block).__name__ for message in result for block in message.content}
    assert kinds == {"TextBlock", "ThinkingBlock", "ToolUseBlock", "ToolResultBlock"}
