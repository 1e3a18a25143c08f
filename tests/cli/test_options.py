"""Options that several commands have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from interlingua.cli.options import Moment


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("7d", 168), ("2w", 336)])
def test_a_time_may_be_counted_back_from_now(text: str, hours: int) -> None:
    moment = Moment().convert(text, None, None)
    assert abs(datetime.now(UTC) - timedelta(hours=hours) - moment) < timedelta(seconds=5)
