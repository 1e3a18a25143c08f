"""What the tests of the page need beside the package: Playwright, a browser, axe-core, TypeScript.

    python -m tests.gateway.page.install            what can be had; says what cannot
    python -m tests.gateway.page.install --needed   fails if one of them cannot be had

The browser is Debian's and needs root. Nothing here waits long for a network that is not there."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
AXE_VERSION = "4.14.0"
AXE_FOLDER = Path.home() / ".cache" / "interlingua" / "tools" / f"axe-core-{AXE_VERSION}"
AXE = AXE_FOLDER / "node_modules" / "axe-core" / "axe.min.js"

TYPESCRIPT_VERSION = "5.9.3"
TYPESCRIPT_FOLDER = AXE_FOLDER.parent / f"typescript-{TYPESCRIPT_VERSION}"
TSC = TYPESCRIPT_FOLDER / "node_modules" / "typescript" / "bin" / "tsc"


def browser_path() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def playwright(seconds: float) -> bool:
    if find_spec("playwright") is None:
        _install("playwright>=1.49", seconds)
        invalidate_caches()
    return find_spec("playwright") is not None


def _install(package: str, seconds: float) -> None:
    """By uv, if it is there, which is quick; pip may find what it does not."""
    python = Path(sys.executable)
    uv = shutil.which("uv", path=f"{python.parent}{os.pathsep}{os.environ['PATH']}")
    quick = [uv or "", "pip", "install", "--quiet", "--python", str(python), package]
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not uv or not _run(quick, seconds):
        _run([*pip, "--timeout", "10", "--retries", "1", package], seconds)


def browser(seconds: float) -> bool:
    if browser_path() is None and shutil.which("apt-get") and os.geteuid() == 0:
        limits = ["-o", "Acquire::http::Timeout=10", "-o", "DPkg::Lock::Timeout=30"]
        wanted = ["-y", "--no-install-recommends", BROWSERS[0]]
        _run(["apt-get", *limits, "update"], seconds)
        if _run(["apt-get", *limits, "install", "--download-only", *wanted], seconds):
            # Asks nobody any more, and breaking it off would leave half of it behind.
            _run(["apt-get", "install", "--no-download", *wanted], None)
    return browser_path() is not None


def axe(seconds: float) -> bool:
    if not AXE.exists() and shutil.which("npm"):
        AXE_FOLDER.mkdir(parents=True, exist_ok=True)
        (AXE_FOLDER / "package.json").write_text("{}")
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
        _run([*npm, f"axe-core@{AXE_VERSION}"], seconds, cwd=AXE_FOLDER)
    return AXE.exists()


def typescript(seconds: float) -> bool:
    if not TSC.exists() and shutil.which("npm"):
        TYPESCRIPT_FOLDER.mkdir(parents=True, exist_ok=True)
        (TYPESCRIPT_FOLDER / "package.json").write_text("{}")
        npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
        _run([*npm, f"typescript@{TYPESCRIPT_VERSION}"], seconds, cwd=TYPESCRIPT_FOLDER)
    return TSC.exists()


def _run(command: list[str], seconds: float | None, cwd: Path | None = None) -> bool:
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "check": False}
    try:
        done = subprocess.run(command, cwd=cwd, env=environ, timeout=seconds, **quiet)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


PARTS: dict[str, Callable[[float], bool]] = {
    "Playwright (from PyPI)": playwright,
    "a browser (Debian's chromium-headless-shell, as root)": browser,
    "axe-core (from npm)": axe,
    "TypeScript (from npm)": typescript,
}


def missing(seconds: float) -> str | None:
    """The first thing that cannot be had; without it the others are not tried."""
    return next((name for name, install in PARTS.items() if not install(seconds)), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--needed", action="store_true", help="fail if something cannot be had")
    needed = parser.parse_args().needed
    name = missing(seconds=600 if needed else 60)
    if name is not None:
        print(f"The page is not tested in full: {name} could not be installed.")
        sys.exit(1 if needed else 0)


if __name__ == "__main__":
    main()
