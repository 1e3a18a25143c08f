"""The samples of a Markdown page: fenced blocks, and invisible comments that say how to run them.

A sample is a block of `python`, `sh` or `console`. A comment on the line above it may say

    <!-- sample: not run, because … -->   it cannot be run here; the reason is listed by a test
    <!-- sample: keeps running -->        it goes on in another terminal until the page ends
    <!-- sample: exit 1 -->               its last command ends with this code

and a comment anywhere on a page may say what its reader has:

    <!-- samples: keys -->                keys of providers, for which a stand-in answers
    <!-- samples: local model -->         the real bundled local model, not its stand-in
    <!-- samples: before: COMMAND -->     typed first, to have something to look at

A `text` block right below a sample is what it prints.
"""

from __future__ import annotations

import ast
import re
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
RUN = ("python", "sh", "console")
HEAVY = {
    *("daft", "datasets", "duckdb", "pandas", "polars", "pyarrow", "pyspark", "ray"),
    *("agents", "langchain_core", "llama_index", "llm", "pydantic_ai"),
}
"""Packages that pages use and that tests can do without: their samples are skipped, with words,
where they are not installed."""
NEEDED_BY = {"interlingua.bulk.arrow": "pyarrow", "interlingua.bulk.engines": "pyarrow"}
"""Parts of ours that import such a package."""
SHOWN = ("text", "json", "toml", "sql", "mermaid", "yaml", "ini", "dockerfile")

_FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<language>[a-z]*)\n(?P<text>.*?)^(?P=indent)```$")
_MARK = re.compile(r"<!-- sample: (?P<mark>.*?) -->\s*\Z")
_PAGE_MARK = re.compile(r"<!-- samples: (?P<mark>.*?) -->")


class Block(NamedTuple):
    """One fenced block, the line it begins in, and what the comment above it says."""

    language: str
    text: str
    line: int
    mark: str
    follows: bool
    """Nothing but blank lines is between it and the block before it."""


class Typed(NamedTuple):
    """What is typed at once: a program, some lines of shell, or one command of a console. `shown`
    is what the page shows of its output, None where it shows nothing."""

    language: str
    text: str
    line: int
    mark: str
    shown: str | None

    @property
    def keeps_running(self) -> bool:
        return self.mark == "keeps running"

    @property
    def exit_code(self) -> int:
        return int(self.mark.removeprefix("exit ")) if self.mark.startswith("exit ") else 0


class Page(NamedTuple):
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def marks(self) -> list[str]:
        """What the page says of its reader."""
        return _PAGE_MARK.findall(self.text)

    def blocks(self) -> list[Block]:
        found: list[Block] = []
        end = 0
        for match in _FENCE.finditer(self.text):
            between = self.text[end : match.start()]
            mark = _MARK.search(between)
            indent = re.compile(rf"(?m)^{match['indent']}")
            found.append(
                Block(
                    match["language"],
                    indent.sub("", match["text"]),
                    self.text.count("\n", 0, match.start()) + 1,
                    mark["mark"] if mark else "",
                    bool(found) and not between.strip(),
                )
            )
            end = match.end()
        return found

    def missing(self) -> set[str]:
        """Packages of other projects that samples import and that are not installed here."""
        programs = [block.text for block in self.blocks() if block.language == "python"]
        return {name for text in programs for name in _imported(text) if _is_missing(name)}

    def typed(self) -> list[Typed]:
        """All that can be run here, in order."""
        steps: list[Typed] = []
        blocks = self.blocks()
        for block, below in zip_longest(blocks, blocks[1:]):
            if block.language not in RUN or not_run(block):
                continue
            if block.language == "python" and any(map(_is_missing, _imported(block.text))):
                continue
            if block.language == "console":
                steps += _commands(block)
                continue
            is_output = below is not None and below.follows and below.language == "text"
            shown = below.text if below is not None and is_output else None
            steps.append(Typed(block.language, block.text, block.line, block.mark, shown))
        return steps


def pages() -> list[Page]:
    """The README and every page of the docs but the decisions, which tell of the past."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    remaining = [path for path in paths if "decisions" not in path.parts]
    return [Page(path, path.read_text(encoding="utf-8")) for path in remaining]


def not_run(block: Block) -> str | None:
    """Why it is not run, if it is not."""
    return block.mark.removeprefix("not run, ") if block.mark.startswith("not run") else None


def _imported(program: str) -> set[str]:
    """The packages that a program imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
            parts = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            names |= {package for part, package in NEEDED_BY.items() if part in parts}
    return names


def _is_missing(package: str) -> bool:
    return package in HEAVY and find_spec(package) is None


def _commands(block: Block) -> list[Typed]:
    """Each command behind a `$`, with what is shown below it. The mark is for the last one."""
    pieces = re.split(r"(?m)^\$ ", block.text)
    assert not pieces[0].strip(), f"line {block.line}: a console begins with a command"
    steps: list[Typed] = []
    line = block.line + 1 + pieces[0].count("\n")
    for number, piece in enumerate(pieces[1:], 2):
        command, shown = _parted(piece)
        mark = block.mark if number == len(pieces) else ""
        steps.append(Typed("console", command, line, mark, shown or None))
        line += piece.count("\n")
    return steps


def _parted(piece: str) -> tuple[str, str]:
    """A command, which goes on behind a backslash and in a here document, and its output."""
    lines = piece.splitlines(keepends=True)
    count = 1
    while lines[count - 1].endswith("\\\n"):
        count += 1
    if here := re.search(r"<<'?(\w+)'?", "".join(lines[:count])):
        count = lines.index(f"{here[1]}\n") + 1
    return "".join(lines[:count]), "".join(lines[count:])
