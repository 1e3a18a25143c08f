"""The rooms of the gateway: what they share lies below them, and none leads back to itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import interlingua.gateway

HOME = Path(interlingua.gateway.__file__).parent
PACKAGE = "interlingua.gateway"
BELOW = {"shared", "settings"}
"""What the shared words themselves may use."""


def room_of(module: str) -> str:
    """A sub-package, or a module that stands alone."""
    return module.removeprefix(PACKAGE).lstrip(".").partition(".")[0]


def imported(path: Path) -> Iterator[str]:
    """What a module imports when it runs, inside functions too; types alone are none."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(PACKAGE):
            names = [node.module] if node.module != PACKAGE else []
            yield from names or [f"{PACKAGE}.{name.name}" for name in node.names]
        waiting.extend(ast.iter_child_nodes(node))


def rooms() -> dict[str, set[str]]:
    """Every room, and those that it leads to."""
    found: dict[str, set[str]] = {}
    for path in HOME.rglob("*.py"):
        name = ".".join((PACKAGE, *path.relative_to(HOME).with_suffix("").parts))
        own = room_of(name.removesuffix(".__init__"))
        others = {room_of(module) for module in imported(path)} - {own}
        found.setdefault(own, set()).update(others)
    return found


def test_no_room_of_the_gateway_leads_back_to_itself() -> None:
    left = rooms()
    assert len(left) > 10
    while free := [room for room, others in left.items() if not others & left.keys()]:
        for room in free:
            del left[room]
    assert not left, f"these lead in a circle: {left}"


def test_shared_words_know_none_of_the_rooms() -> None:
    assert rooms()["shared"] <= BELOW
