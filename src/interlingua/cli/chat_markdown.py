"""An answer in Markdown on a terminal, as it comes.

Finished blocks are written once. The block that still grows (a paragraph, a list, a table) is
rewritten from the first line that changes: most of the time words are appended and nothing moves.
`rich` is imported with this module.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TextIO

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown
from rich.padding import Padding
from rich.segment import Segment
from rich.style import Style
from rich.syntax import Syntax
from rich.theme import Theme

PAUSE = 0.04
"""Seconds between two looks at the block that grows: eyes are not faster."""
LONG = 4000
"""Letters of a block from which on it is looked at less often, as that takes its time."""
_THEME = Theme(
    {
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.code": "cyan",
        "markdown.item.bullet": "none",
        "markdown.item.number": "none",
        "markdown.link": "underline",
        "markdown.link_url": "dim",
        "markdown.table.border": "dim",
        "markdown.table.header": "bold",
        "markdown.block_quote": "dim",
        "markdown.hr": "dim",
    }
)
_MARK = re.compile(r"(?:^|\n)[ \t>]*(?:[-=*_#+`~]+|\d{1,9}[.)]?|\|[^\n]*)?[ \t]*\Z")
"""A last line that may still become anything: it is not shown before it is more than a mark."""
Size = Callable[[], tuple[int, int]]
"""Columns and lines of the terminal."""


class _Heading(Heading):
    LEVEL_ALIGN = {}  # noqa: RUF012  as the class above has it; all stand on the left


class _Code(CodeBlock):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = Syntax(
            str(self.text).rstrip(),
            self.lexer_name,
            theme="ansi_dark",
            background_color="default",
            word_wrap=True,
        )
        yield Padding(code, (0, 0, 0, 2))


class _Answer(Markdown):
    """Markdown that shows everything: HTML as written, addresses of links and images,
    definitions; with the model's own line ends."""

    elements = {  # noqa: RUF012  as the class above has it
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }

    def __init__(self, tokens: list[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = tokens


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    return parser.disable(["image", "reference"])


def show(text: str, out: TextIO, width: int) -> None:
    """A whole page at once."""
    _console(width, out).print(_Answer(_parser().parse(text)))


class Flow:
    """Takes an answer's text piece by piece. `clean` makes text harmless for the terminal."""

    def __init__(
        self,
        out: TextIO,
        clean: Callable[[str], str],
        size: Size,
        widest: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = out
        self._clean = clean
        self._size = size
        self._widest = widest
        self._clock = clock
        self._parser = _parser()
        self._console = _console(self._width(), out)
        self._open = ""
        """The text of the block that may still grow."""
        self._begun = False
        """Whether a block was written before it."""
        self._fixed = 0
        """Lines of it that have left our reach, upwards."""
        self._drawn: list[str] = []
        """Lines of it that are on the screen; the cursor is at the end of the last."""
        self._at = -PAUSE

    def feed(self, text: str) -> None:
        self._open += self._clean(text)
        if self._clock() - self._at >= PAUSE * max(1.0, len(self._open) / LONG):
            self._look(_MARK.sub("", self._open))
            self._at = self._clock()

    def end(self) -> None:
        """The end of the text: all of it is on the screen, and the last line has ended."""
        self._look(self._open)
        self._close()
        self._open, self._begun = "", False

    def _look(self, text: str) -> None:
        """Writes new text: complete blocks, then the growing one."""
        tokens = self._parser.parse(text)
        *whole, last = _blocks(tokens) or [[]]
        for block in whole:
            self._draw(block)
            self._close()
        if whole and last[0].map:
            self._open = "\n".join(self._open.split("\n")[last[0].map[0] :])
        self._draw(last)

    def _close(self) -> None:
        """The block is complete: the next one begins below it."""
        if self._drawn or self._fixed:
            self._write("\n")
            self._begun = True
        self._drawn, self._fixed = [], 0

    def _draw(self, block: list[Token]) -> None:
        lines = self._rendered(block)[self._fixed :] if block else []
        if not lines:
            return
        if not self._drawn and not self._fixed and self._begun:
            self._write("\n")  # room between two blocks
        self._write(_change(self._drawn, lines))
        self._drawn = lines
        room = max(4, self._size()[1] - 2)
        if len(lines) > room:
            gone = len(lines) - room // 2
            self._fixed += gone
            self._drawn = lines[gone:]

    def _rendered(self, block: list[Token]) -> list[str]:
        if self._console.width != self._width():
            self._console = _console(self._width(), self._out)
        segments = self._console.render_lines(_Answer(self._with_line_breaks(block)), pad=False)
        lines = [self._line(each) for each in segments]
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        return lines

    def _with_line_breaks(self, tokens: list[Token]) -> list[Token]:
        """The same tokens with the model's line breaks and without repeated plain links.

        Text from entities is cleaned here, before it is split into lines."""
        for token in tokens:
            if token.children:
                token.children = [each for each in token.children if not _is_plain_link(each)]
            for child in token.children or ():
                child.type = "hardbreak" if child.type == "softbreak" else child.type
                child.content = self._clean(child.content)
        return tokens

    def _width(self) -> int:
        return max(20, min(self._widest, self._size()[0] - 1))

    def _line(self, segments: list[Segment]) -> str:
        """One line with its styles, without empty segments at its end."""
        left = len("".join(each.text for each in segments).rstrip())
        pieces = []
        for text, style, _ in segments:
            text, left = text[:left], left - len(text[:left])
            if text:
                pieces.append(self._styled(self._clean(text), style))
        return "".join(pieces)

    def _styled(self, text: str, style: Style | None) -> str:
        if style is None or self._console.no_color:
            return text
        return style.render(text, color_system=self._console._color_system)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def _blocks(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each top-level block."""
    blocks: list[list[Token]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            blocks.append([])
        blocks[-1].append(token)
    return blocks


def _is_plain_link(token: Token) -> bool:
    return token.type.startswith("link_") and token.markup == "autolink"


def _console(width: int, out: TextIO) -> Console:
    return Console(file=out, width=width, theme=_THEME, highlight=False, markup=False, emoji=False)


def _change(old: list[str], new: list[str]) -> str:
    """The terminal output that turns the old lines into the new ones, from the first that
    differs."""
    same = 0
    while same < len(old) and same < len(new) and old[same] == new[same]:
        same += 1
    if same == len(new) == len(old):
        return ""
    same = min(same, len(new) - 1)  # the cursor belongs at the end of the last line
    if same >= len(old):
        return ("\n" if old else "") + "\n".join(new[same:])
    if same == len(old) - 1 and len(new) > same and new[same].startswith(old[same]):
        return "\n".join([new[same][len(old[same]) :], *new[same + 1 :]])
    up = len(old) - 1 - same
    back = f"\x1b[{up}A" if up else ""
    rest = "\x1b[J" if len(new) < len(old) else ""
    # Each line is written over and only then cleared behind its end, so that nothing blinks.
    return f"\r{back}" + "\n".join(f"{line}\x1b[K" for line in new[same:]) + rest
