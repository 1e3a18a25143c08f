"""Real coding agents and a gateway that is killed.

    python -m tests.gateway.agents [--compactions 20] [--kills 4]

Codex and Claude Code are installed from npm, or taken from the variables `CODEX` and `CLAUDE`;
without npm and without these the agents are skipped."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gateway.agents import claude_code, codex, kills
from tests.gateway.agents.codex import Run

PACKAGES = {"CODEX": ("@openai/codex", "codex"), "CLAUDE": ("@anthropic-ai/claude-code", "claude")}


def commands(home: Path) -> dict[str, str]:
    """The agents that are there, or can be installed."""
    found = {name: os.environ[name] for name in PACKAGES if os.environ.get(name)}
    missing = {name: package for name, package in PACKAGES.items() if name not in found}
    if missing and shutil.which("npm") is not None:
        names = [package for package, _ in missing.values()]
        install = ["npm", "i", "--silent", "--prefix", str(home), *names]
        done = subprocess.run(install, check=False, capture_output=True, timeout=600)
        if done.returncode == 0:
            bin = home / "node_modules/.bin"
            found |= {name: str(bin / command) for name, (_, command) in missing.items()}
    return found


async def agents(found: dict[str, str], home: Path, compactions: int) -> list[Run]:
    runs: list[Run] = []
    for title, name, sockets in (
        ("codex by trigger", "OpenAI", False),
        ("codex by its own summary", "scripted", False),
        ("codex by trigger over WebSocket", "OpenAI", True),
    ):
        if "CODEX" in found:
            place = home / title.replace(" ", "-")
            how = {"name": name, "sockets": sockets, "compactions": compactions}
            runs.append(await codex.session(found["CODEX"], place, title, **how))  # type: ignore[arg-type]
            report(runs[-1])
    if "CLAUDE" in found:
        least = min(compactions, 5)
        runs.append(await claude_code.session(found["CLAUDE"], home / "cc", compactions=least))
        report(runs[-1])
        for refused in (False, True):
            how = {"compactions": least, "refused": refused}
            place = home / f"cc-{refused}"
            runs.append(await claude_code.automatic(found["CLAUDE"], place, **how))  # type: ignore[arg-type]
            report(runs[-1])
    return runs


def report(run: Run) -> None:
    word = "passed" if run.passed else "FAILED"
    facts = f"{run.summaries} summaries, {len(run.missing)} facts missing, {run.sockets} sockets"
    print(f"{run.title}: {word}; {facts}; requests {run.actions}", flush=True)
    if not run.passed:
        print(run.output[-2000:])


async def work(arguments: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        found = commands(home / "npm")
        for name in sorted(PACKAGES.keys() - found.keys()):
            print(f"skipped: neither npm nor the variable {name} is here")
        runs = await agents(found, home, arguments.compactions)
        problems = await kills.run(home / "kills", arguments.kills) if arguments.kills else []
        print(f"{arguments.kills} kills of each kind: {problems or 'nothing lost, nothing twice'}")
    return 0 if all(run.passed for run in runs) and not problems else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compactions", type=int, default=20)
    parser.add_argument("--kills", type=int, default=4)
    return asyncio.run(work(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
