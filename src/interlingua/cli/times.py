"""Days and times as options: `2026-11-16`, `2026-11-16T08:30`, `7d` for seven days ago."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

_AGO = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


if TYPE_CHECKING:
    _Type = click.ParamType[datetime]
else:  # generic for type checkers only in the oldest versions that we take
    _Type = click.ParamType


class Moment(_Type):
    """A moment in UTC. A day alone is its beginning, or with `end` the beginning of the next."""

    name = "time"

    def __init__(self, end: bool = False) -> None:
        self.end = end

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            if ago := _AGO.fullmatch(text):
                return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            if self.end and len(text) == len("2026-11-16"):
                moment += timedelta(days=1)
            return moment.astimezone(UTC)
        except (ValueError, OverflowError):
            wanted = "a day (2026-11-16), a time (2026-11-16T08:30, in UTC), or 12h, 7d, 4w ago"
            self.fail(f"expected {wanted}, found {text!r}", param, context)
