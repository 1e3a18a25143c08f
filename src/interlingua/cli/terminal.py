"""Output of commands: tables with colour and bars on a terminal, plain text elsewhere.

`rich` is loaded for a terminal only. Everything that is shown went through `shown`, so that no
message can move the cursor.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.errors import MissingExtraError
from interlingua.model.human import dollars as dollars
from interlingua.model.human import minute as minute
from interlingua.model.human import plural as plural
from interlingua.model.human import spent as spent

if TYPE_CHECKING:
    from rich.console import Console

GAP = "  "
LONGEST_BAR = 24
SHORT_BAR = 8
SHORTEST_BAR = 4
WIDE = 100
"""Columns of a terminal from which on bars are long."""


class Column(NamedTuple):
    """A column of a table. One that may `shrink` gives way when the terminal is narrow; a `wide`
    one is left out where the terminal has fewer columns than that."""

    title: str
    style: str = ""
    right: bool = False
    shrink: bool = False
    wide: int = 0
    narrow_last: bool = False
    """Whether it is the last column on a narrow terminal, so that titles come first."""


def on_terminal() -> bool:
    return sys.stdout.isatty()


@cache
def console() -> Console:
    """The terminal, with its width and its colours."""
    try:
        from rich.console import Console
    except ImportError:
        raise MissingExtraError("output on a terminal", "cli") from None
    return Console(file=sys.stdout, highlight=False, markup=False, emoji=False)


def say(text: str, style: str = "") -> None:
    """A line, or several; coloured on a terminal."""
    text = shown(text)
    if not on_terminal():
        click.echo(text)
        return
    from rich.text import Text

    console().print(Text(text, style))


def cell(text: str) -> str:
    """Text on one line."""
    return shown(" ".join(text.split("\n")))


def show_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    bars: Sequence[Decimal] | None = None,
    total: Sequence[str] | None = None,
) -> None:
    """A table; on a terminal with a bar for each row, if there are numbers for them."""
    clean = [[cell(text) for text in row] for row in rows]
    last = [cell(text) for text in total] if total is not None else None
    if on_terminal():
        _rich_table(columns, clean, bars, last)
    else:
        _plain_table(columns, [*clean, *([last] if last else [])])


def _plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    lines = [[column.title for column in columns], *rows]
    widths = [max(map(_width, texts)) for texts in zip(*lines, strict=True)]
    for line in lines:
        padded = [
            " " * (width - _width(text)) + text
            if column.right
            else text + " " * (width - _width(text))
            for column, text, width in zip(columns, line, widths, strict=True)
        ]
        click.echo(GAP.join(padded).rstrip())


def _width(text: str) -> int:
    """Cells of a terminal: wide letters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _rich_table(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    bars: Sequence[Decimal] | None,
    total: Sequence[str] | None,
) -> None:
    screen = console()
    from rich.bar import Bar
    from rich.table import Table
    from rich.text import Text

    fitting = [at for at, column in enumerate(columns) if column.wide <= screen.width]
    if screen.width < WIDE:
        fitting.sort(key=lambda at: columns[at].narrow_last)
    table = Table(box=None, pad_edge=False, header_style="bold underline")
    for column in [columns[at] for at in fitting]:
        justify: Any = "right" if column.right else "left"
        # A column that may wrap is the first to be made narrower; its cells are cut all the same.
        table.add_column(
            column.title, justify=justify, style=column.style, no_wrap=not column.shrink
        )
    titles = [column.title for column in columns]
    longest = _bar_width(screen.width, fitting, [titles, *rows, *([total] if total else [])])
    if (bars := bars if longest else None) is not None:
        table.add_column("", style="magenta", min_width=longest, max_width=longest)
    most = float(max(bars or [Decimal(0)])) or 1.0
    for number, row in enumerate(rows):
        cells: list[Any] = [
            Text(text, no_wrap=True, overflow="ellipsis") for text in _at(fitting, row)
        ]
        if bars is not None:
            cells.append(Bar(most, 0, float(bars[number]), color="magenta"))
        table.add_row(*cells)
    if total is not None:
        ends = [
            Text(text, "bold", no_wrap=True, overflow="ellipsis") for text in _at(fitting, total)
        ]
        table.add_row(*ends, *([""] if bars is not None else []))
    screen.print(table)


def _bar_width(width: int, fitting: Sequence[int], lines: Sequence[Sequence[str]]) -> int:
    """Cells that are left for bars: 0 where they would cut texts short."""
    used = sum(max(_width(line[at]) for line in lines) + len(GAP) for at in fitting)
    longest = LONGEST_BAR if width >= WIDE else SHORT_BAR
    return min(longest, width - used) if width - used >= SHORTEST_BAR else 0


def _at(places: Sequence[int], row: Sequence[str]) -> list[str]:
    return [row[place] for place in places]


def put_json(value: Any) -> None:
    """JSON for machines: a line; on a terminal indented, with no character that acts on it."""
    data = msgspec.json.encode(value)
    if on_terminal():
        click.echo(_harmless(msgspec.json.format(data, indent=2).decode()))
    else:
        put(data + b"\n")


def put(data: bytes) -> None:
    """Writes data unchanged to a file or a pipe, and without control characters to a terminal."""
    if on_terminal():
        click.echo(_harmless(data.decode(errors="backslashreplace")), nl=False)
    else:
        stream = sys.stdout.buffer
        stream.write(data)
        stream.flush()


def _harmless(json: str) -> str:
    """The same JSON; unprintable characters as escapes."""
    return "".join(char if char.isprintable() or char == "\n" else _escape(char) for char in json)


def _escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def complain(text: str) -> None:
    """Prints lines on standard error, wrapped on a terminal; a progress bar is printed again after
    them."""
    if not sys.stderr.isatty():
        click.echo(shown(text), err=True)
        return
    click.echo(f"\r\x1b[K{_fitted(text, sys.stderr)}", err=True)


def tell(text: str) -> None:
    """The same on standard output."""
    click.echo(_fitted(text, sys.stdout) if on_terminal() else shown(text))


def _fitted(text: str, stream: TextIO) -> str:
    columns = os.get_terminal_size(stream.fileno()).columns
    return "\n".join(_wrapped(line, columns) for line in shown(text).split("\n"))


def _wrapped(line: str, columns: int) -> str:
    """A line wrapped for the terminal; continuation lines are indented if it is an entry: indented
    itself, or beginning with a name and a colon."""
    from textwrap import fill

    if _width(line) <= columns:
        return line
    start = len(line) - len(line.lstrip())
    is_entry = start > 0 or line.split(" ", 1)[0].endswith(":")
    indent = " " * (start + 4 * is_entry)
    return fill(
        line,
        max(columns, 40),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Progress:
    """A line on the terminal with the progress, the rows, their rate and the time left. It appears
    only after a second."""

    def __init__(self, label: str, total: int, unit: str | None = None) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._started = self._shown = time.monotonic()
        self._done = self._rows = 0
        self._is_visible = False

    def __call__(self, done: int, rows: int = 1) -> None:
        """Adds progress since the last call, in units of the total, and in rows."""
        self._done += done
        self._rows += rows
        now = time.monotonic()
        if now - self._started >= FIRST_SHOWN and now - self._shown >= REDRAWN:
            self._shown, self._is_visible = now, True
            sys.stderr.write(f"\r{self.line(now - self._started)}\x1b[K")
            sys.stderr.flush()

    def line(self, seconds: float) -> str:
        share = min(self._done / self._total, 1.0) if self._total else 0.0
        facts = [f"{share:.0%}"] if self._total else []
        if self._unit is not None:
            facts.append(f"{self._rows:,} {self._unit}")
            facts.append(f"{self._rows / seconds:,.0f}/s")
        if 0 < share < 1:
            facts.append(f"{duration(seconds / share - seconds)} left")
        return f"{self._label}: {', '.join(facts)}"[: shutil.get_terminal_size().columns - 1]

    def clear(self) -> None:
        if self._is_visible:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


FIRST_SHOWN = 1.0
"""Seconds after which progress is shown."""
REDRAWN = 0.1


def duration(seconds: float) -> str:
    """`45 s`, `3 min 05 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


@contextmanager
def progress(
    label: str, total: int, quiet: bool = False, unit: str | None = None
) -> Iterator[Callable[..., None]]:
    """Progress on a terminal, silence elsewhere; yields a function that adds progress."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, rows=1: None
        return
    bar = Progress(label, total, unit)
    try:
        yield bar
    finally:
        bar.clear()
