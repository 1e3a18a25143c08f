"""Tests stand where their module stands: `a/b.py` of the package has `tests/a/test_b.py`."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "interlingua"
LEAST = 71
"""Per cent of the modules; it only rises."""


def modules() -> list[Path]:
    return [
        path.relative_to(PACKAGE)
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.stem not in {"__init__", "__main__"}
    ]


def mirrored(module: Path) -> Path:
    """Where the tests of a module are."""
    return TESTS / module.parent / f"test_{module.name}"


def test_most_modules_have_a_test_file_in_the_same_place() -> None:
    missing = [module for module in modules() if not mirrored(module).is_file()]
    share = 100 - 100 * len(missing) / len(modules())
    names = "\n".join(mirrored(module).relative_to(TESTS).as_posix() for module in missing)
    assert share >= LEAST, f"{share:.1f} % of the modules have one; these are missing:\n{names}"
