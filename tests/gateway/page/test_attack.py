"""Scripts in all that the gateway tells the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.gateway.page.attack import AT_ONCE, attacked, filled
from tests.gateway.page.conftest import standing
from tests.gateway.page.rooms import Scripted, furnished
from tests.gateway.page.scripts import payloads

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")


def test_no_script_in_any_field_of_any_view_runs(browser: Any, tmp_path: Path) -> None:
    """5,000 and more: `python -m tests.gateway.page.attack`."""
    content = payloads()[:: 300 // AT_ONCE]
    with standing(tmp_path, behind=Scripted) as (place, _):
        attacked(browser, place, furnished(place), content)


def test_every_text_that_is_not_the_gateways_own_is_a_script() -> None:
    collected = {"id": "1", "name": "n", "args": {"a": ["b", {"c": "d"}]}, "status": "idle", "n": 1}
    args = {"a": ["x", {"c": "x"}], "x": "x"}
    wanted = {"id": "1-7", "name": "x", "args": args, "status": "idle", "n": 1}
    assert filled(collected, "x", 7) == wanted
