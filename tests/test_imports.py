"""What importing the package costs, and which of its parts may know which others."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

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

INSIDE_MODEL = {"model", "errors", "losses"}
INSIDE_VIEWS = {"views", "model", "errors", "losses", "arguments", "ids", "dialects", "transcripts"}
MODEL_AND_ERRORS = {"model", "errors", "losses", "arguments", "ids"}
INSIDE: dict[str, set[str]] = {
    "model": INSIDE_MODEL,
    "views": INSIDE_VIEWS,
    "arrow": MODEL_AND_ERRORS | {"store", "transcripts"},
    "bulk": MODEL_AND_ERRORS
    | {"arrow", "batches", "formats", "models", "packed", "providers", "translate"},
    "engines": MODEL_AND_ERRORS | {"arrow", "bulk", "store"},
    "bus": MODEL_AND_ERRORS,
    "models": MODEL_AND_ERRORS | {"config", "prices"},
    "prices": MODEL_AND_ERRORS | {"config", "models"},
    "estimate": MODEL_AND_ERRORS,
    "redaction": MODEL_AND_ERRORS,
    "exports": MODEL_AND_ERRORS | {"prices", "redaction", "store"},
    "routing": MODEL_AND_ERRORS | {"bus", "models"},
    "store": MODEL_AND_ERRORS | {"config"},
    "tools": MODEL_AND_ERRORS | {"bus"},
    "adapters": MODEL_AND_ERRORS
    | {"dialects", "estimate", "fitting", "models", "outbound", "prices", "providers", "retell"}
    | {"say", "streams", "tools"},
    "sessions": MODEL_AND_ERRORS
    | {"adapters", "bus", "dialects", "estimate", "given", "models", "outbound", "prices"}
    | {"providers", "retell", "routing", "say", "store", "tools"},
    "providers": MODEL_AND_ERRORS | {"config", "dialects", "models"},
    "local": MODEL_AND_ERRORS
    | {"", "config", "dialects", "providers", "retell", "streams"},  # its version
    "client": MODEL_AND_ERRORS
    | {"dialects", "estimate", "fitting", "given", "local", "models", "outbound", "providers"}
    | {"say", "streams", "telemetry", "tools"},
    "fitting": MODEL_AND_ERRORS
    | {"dialects", "estimate", "models", "retelling", "schemas", "streams"},
    "tasks": MODEL_AND_ERRORS
    | {"chat", "client", "given", "routing", "sessions", "store", "tools", "views"},
    # tasks have no HTTP of their own
}
"""What each part may import of the others; whatever is not named here is free to."""
OUTSIDE_DIALECTS = {
    *("adapters", "bus", "cli", "client", "estimate", "gateway", "local", "models", "prices"),
    *("providers", "routing", "sessions", "store", "tasks", "translate"),
}
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


@pytest.mark.parametrize("folder", INSIDE)
def test_inner_parts_import_only_what_lies_further_in(folder: str) -> None:
    allowed = INSIDE[folder] | {folder}
    wrong = [(path, target) for path, target in imports_of(folder) if part(target) not in allowed]
    assert list(imports_of(folder))
    assert not listed(wrong)


def test_dialects_do_not_know_what_is_built_on_them() -> None:
    forbidden = OUTSIDE_DIALECTS | {""}
    wrong = [(path, target) for path, target in imports_of("dialects") if part(target) in forbidden]
    assert not listed(wrong)


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
