"""Sync and async share one source: few functions differ from another by `await` alone
(docs/decisions/0046-one-source-for-sync-and-async.md)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "interlingua"
SHORT = 3
"""Lines of a function that is too short to be worth sharing."""
MOST = 76
"""Lines of such functions; it only falls."""
_KINDS = {ast.AsyncFunctionDef: ast.FunctionDef, ast.AsyncFor: ast.For, ast.AsyncWith: ast.With}
_WORDS = re.compile(r"Async|async_|_async|\ba(?=next|iter|close|enter|exit)")


class WithoutAwait(ast.NodeTransformer):
    """Makes a coroutine the function that it would be without an event loop."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, ast.Await):
            return node.value
        kind = _KINDS.get(type(node))  # type: ignore[call-overload]
        return node if kind is None else kind(**dict(ast.iter_fields(node)))


def plain(function: ast.AST) -> str:
    """The text of a function, whatever its name and result, without its docstring and `await`."""
    made = WithoutAwait().visit(function)
    made.name, made.returns, made.decorator_list = "plain", None, []
    if ast.get_docstring(made) is not None:
        made.body = made.body[1:] or [ast.Pass()]
    return _WORDS.sub("", ast.unparse(ast.fix_missing_locations(made)))


def twins(sources: dict[str, str]) -> list[tuple[str, int]]:
    """Coroutines that another function repeats, and how many lines each has."""
    sync: set[str] = set()
    found: list[tuple[str, str, int]] = []
    for path, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > SHORT and "overload" not in map(ast.unparse, node.decorator_list):
                    name = f"{path}: {node.name}"
                    if isinstance(node, ast.AsyncFunctionDef):
                        found.append((name, plain(node), lines))
                    else:
                        sync.add(plain(node))
    return [(name, lines) for name, text, lines in found if text in sync]


def test_few_lines_are_written_once_more_for_event_loops() -> None:
    sources = {
        path.relative_to(SOURCE).as_posix(): path.read_text("utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }
    again = twins(sources)
    text = "\n".join(f"{name} ({lines} lines)" for name, lines in again)
    assert sum(lines for _, lines in again) <= MOST, f"share one source, or a bridge:\n{text}"


def test_a_twin_is_found_by_what_it_does() -> None:
    opened = "with self.open() as file:\n        text = file.read()\n    return text\n"
    sync = f'def read(self):\n    """Reads."""\n    {opened}'
    twin = f"async def load(self):\n    async {opened}"
    other = twin.replace("load", "other").replace("return text", "return text.strip()")
    found = twins({"a.py": sync, "b.py": twin, "c.py": other})
    assert found == [("b.py: load", 4)]
