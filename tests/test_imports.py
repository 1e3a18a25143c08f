"""What importing the package costs, and which of its parts may know which others."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tools.layers import LATER, LAYERS

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "interlingua"

# Slow to import, or behind an extra: `import interlingua` does without all of them.
NOT_AT_START = {
    "aiohttp",
    "anthropic",
    "asyncio",
    "boto3",
    "botocore",
    "click",
    "fastapi",
    "google",
    "groq",
    "http",
    "httpx",
    "jsonschema_rs",
    "mcp",
    "mistralai",
    "multiprocessing",
    "ollama",
    "openai",
    "openrouter",
    "opentelemetry",
    "prompt_toolkit",
    "psycopg",
    "pyarrow",
    "pydantic",
    "requests",
    "rich",
    "sqlite3",
    "ssl",
    "starlette",
    "uvicorn",
    "xllamacpp",
    "zstandard",
}

EMPTY_NAMES = {"util", "utils", "helper", "helpers"}

# One dialect that is nearly another may build on it; hosts is data, and speaks nothing; all of them
# are made of the kernel.
DIALECT_NEIGHBOURS = {("openrouter", "openai_chat")}
SHARED_BY_DIALECTS = {"hosts", "kernel"}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def is_module(name: tuple[str, ...]) -> bool:
    path = SOURCE.joinpath(*name)
    return path.is_dir() or path.with_suffix(".py").is_file()


@cache
def imported(path: Path) -> tuple[tuple[str, ...], ...]:
    """The modules of ours that a file imports, type-checking imports included."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[tuple[str, ...]]:
    name = module_name(path)
    package = name if path.name == "__init__.py" else name[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            names = [(*base, alias.name) for alias in node.names]
            targets = [name if is_module(name) else base for name in names]
        else:
            continue
        yield from (target for target in targets if target[0] == "interlingua")


def part(name: tuple[str, ...]) -> str:
    """The first level below the package; empty for the package itself, which loads everything."""
    return name[1] if len(name) > 1 else ""


def imports_of(folder: str) -> Iterator[tuple[Path, tuple[str, ...]]]:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for target in imported(path):
            yield path, target


def listed(pairs: list[tuple[Path, tuple[str, ...]]]) -> list[str]:
    return [f"{path.relative_to(SOURCE)} imports {'.'.join(target)}" for path, target in pairs]


def test_importing_the_package_loads_nothing_heavy() -> None:
    program = (
        "import sys; before = set(sys.modules); import interlingua, json;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert run.returncode == 0, run.stderr
    assert not {name.split(".")[0] for name in json.loads(run.stdout)} & NOT_AT_START


def entries() -> set[str]:
    """Folders and modules at the top of the package."""
    return {
        path.stem
        for path in PACKAGE.iterdir()
        if path.stem not in {"__init__", "__main__", "__pycache__", "py"}
    }


def test_every_entry_of_the_package_has_its_layer() -> None:
    assert entries() == set(LAYERS)
    assert len(LAYERS) <= 26


def test_a_layer_names_only_layers_before_it() -> None:
    order = list(LAYERS)
    for name, inner in LAYERS.items():
        assert not [each for each in inner.split() if order.index(each) >= order.index(name)]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_what_its_row_names_and_nothing_else(layer: str) -> None:
    used, wrong = set(), []
    for path in modules():
        if part(module_name(path)) != layer:
            continue
        for target in imported(path):
            where = (path.relative_to(PACKAGE).as_posix(), ".".join(target[1:]))
            if part(target) not in {"", layer} and where not in LATER:
                used.add(part(target))
                if part(target) not in LAYERS[layer].split():
                    wrong.append((path, target))
    assert not listed(wrong)
    assert used == set(LAYERS[layer].split())


def test_imports_of_later_layers_are_not_at_the_top_of_a_module() -> None:
    found = {
        (path.relative_to(PACKAGE).as_posix(), ".".join(target[1:]))
        for path in modules()
        for target in imported(path)
    }
    assert set(LATER) <= found, "remove from LATER what is imported no more"
    for file, target in LATER:
        tree = ast.parse((PACKAGE / file).read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        assert f"interlingua.{target}" not in {node.module for node in top}, file


def test_dialects_do_not_know_each_other() -> None:
    wrong = []
    for path, target in imports_of("dialects"):
        own = path.relative_to(PACKAGE / "dialects").parts[:-1]
        if not own or target[1:2] != ("dialects",) or len(target) < 3:
            continue  # not inside a dialect's folder, or no import of one
        other = target[2]
        is_folder = (PACKAGE / "dialects" / other).is_dir()
        allowed = other in {own[0]} | SHARED_BY_DIALECTS or (own[0], other) in DIALECT_NEIGHBOURS
        if is_folder and not allowed:
            wrong.append((path, target))
    assert not listed(wrong)


def test_module_names_say_what_is_inside() -> None:
    names = [path.relative_to(PACKAGE) for path in modules()]
    assert not [name for name in names if EMPTY_NAMES & {*name.parts[:-1], name.stem}]


def test_benchmarks_import() -> None:
    """No test runs them, so a renamed module would go unnoticed."""
    root = SOURCE.parent
    for path in sorted((root / "bench").rglob("*.py")):
        if path.stem != "__main__":
            import_module(".".join(path.relative_to(root).with_suffix("").parts))
