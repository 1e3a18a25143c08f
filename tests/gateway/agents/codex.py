"""Codex through many compactions: by trigger, by its own summary, and over WebSocket."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import NamedTuple

from tests.gateway.agents.model import Planting
from tests.gateway.serving import ANTHROPIC, Served, served

CONFIG = """
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
model_context_window = 100000
model_auto_compact_token_limit = {limit}
[model_providers.scripted]
name = "{name}"
base_url = "{base}/v1"
wire_api = "responses"
supports_websockets = {sockets}
request_max_retries = 0
stream_max_retries = 0
env_key = "SCRIPTED_KEY"
"""


class Run(NamedTuple):
    """What came of one session."""

    title: str
    code: int | None
    summaries: int
    missing: list[str]
    statuses: list[int]
    actions: dict[str, int]
    sockets: int
    output: str

    @property
    def passed(self) -> bool:
        good = self.code == 0 and "All done" in self.output and set(self.statuses) == {200}
        return good and not self.missing


async def session(
    command: str, home: Path, title: str, *, name: str, sockets: bool, compactions: int
) -> Run:
    home.mkdir(parents=True)
    with Planting(rounds=2 * compactions) as model:
        model.configure(home)
        async with served(home) as here:
            (home / "codex").mkdir()
            config = CONFIG.format(
                model=ANTHROPIC,
                base=here.base,
                name=name,
                sockets=str(sockets).lower(),
                limit=model.limit,
            )
            (home / "codex/config.toml").write_text(config)
            process = await asyncio.create_subprocess_exec(
                command,
                *("exec", "--skip-git-repo-check", "--json", "Plant the facts."),
                cwd=home,
                env={**os.environ, "CODEX_HOME": str(home / "codex"), "SCRIPTED_KEY": "none"},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            try:
                output, _ = await asyncio.wait_for(process.communicate(), 300)
            except TimeoutError:
                process.kill()
                output = await process.stdout.read() if process.stdout else b""
            return await tally(title, here, process.returncode, model, output)


async def tally(title: str, here: Served, code: int | None, model: Planting, output: bytes) -> Run:
    """What came of a session, by the model and by the request log."""
    await here.stored()
    _, rows, _ = await here.ask("GET", "/requests?limit=200")
    actions: dict[str, int] = {}
    for row in rows["requests"]:
        actions[row["action"]] = actions.get(row["action"], 0) + 1
    statuses = [row["status"] for row in rows["requests"]]
    sockets = here.service.sockets.served
    facts = (model.summaries, model.missing, statuses, actions, sockets, output.decode())
    return Run(title, code, *facts)
