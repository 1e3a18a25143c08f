"""The page's modules: their types, and what of them needs no browser."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.gateway.page.install import TSC, TYPESCRIPT_VERSION

HERE = Path(__file__).parent
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(NODE), *command], capture_output=True, text=True, timeout=120, check=False, cwd=HERE
    )


@pytest.mark.skipif(
    not TSC.exists(), reason=f"TypeScript {TYPESCRIPT_VERSION} is not installed: `make page` does"
)
def test_types_fit() -> None:
    done = ran(str(TSC), "-p", "tsconfig.json")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.mjs")), ids=lambda file: file.stem)
def test_functions(file: Path) -> None:
    done = ran("--test", str(file))
    if "Cannot use import statement outside a module" in done.stdout + done.stderr:
        pytest.skip("this node does not recognize modules in .js files; 20.19 and later do")
    assert done.returncode == 0, done.stdout
