"""Claude Code through compactions of its own (`/compact`), with a model of another vendor behind
the gateway."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from tests.gateway.agents.codex import Run, tally
from tests.gateway.agents.model import Planting
from tests.gateway.serving import OPENAI, served


async def session(command: str, home: Path, *, compactions: int) -> Run:
    home.mkdir(parents=True)
    with Planting(rounds=0) as model:
        model.configure(home)
        async with served(home) as here:
            output, code = b"", 0
            for number in range(compactions):
                model.rounds += 2
                for words in ("Plant the facts.", "/compact"):
                    arguments = ["-p", words, "--allowedTools", "Bash"]
                    if number or words == "/compact":
                        arguments.append("--continue")
                    status, text = await _run(command, arguments, home, here.base)
                    code, output = code or status, output + text
            return await tally("claude code", here, code, model, output)


async def automatic(command: str, home: Path, *, compactions: int, refused: bool) -> Run:
    """Compactions that it starts by itself: as the model says that the conversation fills the
    window that it may use, or refuses it as too long."""
    home.mkdir(parents=True)
    window = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}  # the least that it takes
    title = f"claude code, {'after an error' if refused else 'automatic'}"
    # It gives up if it has to compact again within three turns.
    with Planting(5 * compactions, every=5, limit=95_000, refuses=refused) as model:
        model.configure(home)
        async with served(home) as here:
            arguments = ["-p", "Plant the facts.", "--allowedTools", "Bash"]
            more = None if refused else window
            code, output = await _run(command, arguments, home, here.base, more)
            run = await tally(title, here, code, model, output)
            expected = [status for status in run.statuses if status == 200]
            refusals = len(run.statuses) - len(expected)
            good = run.summaries == compactions and refusals == model.refused
            return run._replace(
                statuses=expected if good else run.statuses, code=code if good else 1
            )


async def _run(
    command: str, arguments: list[str], home: Path, base: str, more: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    process = await asyncio.create_subprocess_exec(
        command,
        *arguments,
        cwd=home,
        env={
            **os.environ,
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / "claude"),
            "ANTHROPIC_BASE_URL": base,
            "ANTHROPIC_AUTH_TOKEN": "none",
            "ANTHROPIC_MODEL": OPENAI,
            "ANTHROPIC_DEFAULT_HAIKU_MODEL": OPENAI,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **(more or {}),
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), 120)
    except TimeoutError:
        process.kill()
        return 1, b"timed out"
    return process.returncode or 0, output
