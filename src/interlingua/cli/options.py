"""Options that several commands have, and their types."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., object])

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
            expected = "a day (2026-11-16), a time (2026-11-16T08:30, in UTC), or 12h, 7d, 4w ago"
            self.fail(f"expected {expected}, found {text!r}", param, context)


store_option: Callable[[F], F] = click.option(
    "--store",
    "address",
    metavar="URL",
    help="A file, sqlite:///path or postgresql://…; default: INTERLINGUA_STORE or your own store.",
)
json_option: Callable[[F], F] = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)
since_option: Callable[[F], F] = click.option(
    "--since", type=Moment(), help="From this day or time on; 7d is seven days ago."
)
until_option: Callable[[F], F] = click.option(
    "--until", type=Moment(end=True), help="Up to the end of this day, or up to this time."
)
strict_option: Callable[[F], F] = click.option(
    "--strict", is_flag=True, help="Exit with code 3 if anything is lost."
)
source_option: Callable[[F], F] = click.option(
    "-f", "--from", "source", default="auto", help="The source format; detected if not given."
)
kind_option: Callable[[F], F] = click.option(
    "--kind",
    type=click.Choice(["request", "response", "stream"]),
    help="What the data is; detected if not given.",
)
home_option: Callable[[F], F] = click.option(
    "--home",
    type=click.Path(file_okay=False, path_type=Path),
    help="The home folder in which the agents keep their files; default: yours.",
)


def from_option(help: str, many: bool = False) -> Callable[[F], F]:
    """`--from`: a format of transcripts, or several."""
    name = "formats" if many else "format"
    return click.option("--from", name, metavar="FORMAT", multiple=many, help=help)


def redact_options(command: F) -> F:
    """`--redact`, and `--pattern` for what else is to be taken out."""
    pattern = click.option(
        "--pattern",
        "patterns",
        multiple=True,
        metavar="[NAME=]REGEX",
        help="With --redact: also remove this pattern; repeatable.",
    )
    redact = click.option(
        "--redact", is_flag=True, help="Remove keys, addresses and home folders, and report them."
    )
    return redact(pattern(command))


def limit_option(default: int, least: int = 1) -> Callable[[F], F]:
    """`--limit`: how many rows are shown."""
    return click.option(
        "--limit",
        type=click.IntRange(least),
        default=default,
        show_default=True,
        help="Maximum number to show.",
    )


def report_options(command: F) -> F:
    """`--report` and `--strict`, for commands that may lose something."""
    report = click.option(
        "--report", type=click.Path(dir_okay=False), help="Write the losses to a file, as JSON."
    )
    return report(strict_option(command))


def input_options(command: F) -> F:
    """A file to look at, its format and its kind."""
    file = click.argument(
        "file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), default="-"
    )
    lines = click.option("--lines", is_flag=True, help="Treat each line as one conversation.")
    return file(source_option(kind_option(lines(command))))
