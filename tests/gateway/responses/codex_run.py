"""The real Codex over WebSocket, against a scripted model of another vendor: a command, since it
installs the newest `@openai/codex` from npm (or takes the one that `CODEX` names).

    python -m tests.gateway.responses.codex_run

It asks twice in one session: the first answer calls a tool, so that Codex goes on inside of its
socket and sends only what is new. Without npm and without `CODEX` it is skipped.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interlingua as il
from tests.gateway.serving import ANTHROPIC, Upstream, served

MARK = "the-word-is-amber"
CONFIG = """
model = "{model}"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{base}/v1"
wire_api = "responses"
supports_websockets = true
request_max_retries = 0
stream_max_retries = 0
"""


class Shell(Upstream):
    """A model that runs one command, and then repeats what the command printed."""

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        results = [
            block
            for message in request.messages
            for block in message.content
            if isinstance(block, il.ToolResultBlock)
        ]
        shell = next((tool for tool in request.tools if "exec" in tool.name), None)
        content: list[il.Block] = [il.TextBlock("nothing to run")]
        reason = il.StopReason.END_TURN
        if results:
            heard = MARK if MARK in str(results[-1].content) else "nothing"
            content = [il.TextBlock(f"The command printed {heard}.")]
        elif shell is not None:
            given = {"cmd": f"echo {MARK}"}
            content = [il.ToolUseBlock("toolu_1", shell.name, given)]
            reason = il.StopReason.TOOL_USE
        metadata = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=reason,
            usage=il.Usage(input_tokens=100, output_tokens=20),
        )
        yield from il.unfold(il.Response(il.Message.assistant(content, metadata)))


def codex(home: Path) -> str | None:
    """The command, installed if need be; None where that is impossible."""
    named = os.environ.get("CODEX")
    if named or shutil.which("npm") is None:
        return named
    install = ["npm", "i", "--silent", "--prefix", str(home / "npm"), "@openai/codex"]
    done = subprocess.run(install, check=False, capture_output=True, text=True, timeout=600)
    return str(home / "npm/node_modules/.bin/codex") if done.returncode == 0 else None


async def run(command: str, home: Path) -> int:
    with Shell() as provider:
        provider.configure(home)
        async with served(home) as here:
            (home / "codex").mkdir()
            config = CONFIG.format(model=ANTHROPIC, base=here.base)
            (home / "codex/config.toml").write_text(config)
            arguments = ["exec", "--skip-git-repo-check", "--json", "Run the command."]
            began = asyncio.get_running_loop().time()
            process = await asyncio.create_subprocess_exec(
                command,
                *arguments,
                cwd=home,
                env={**os.environ, "CODEX_HOME": str(home / "codex")},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            output, _ = await asyncio.wait_for(process.communicate(), 120)
            took = asyncio.get_running_loop().time() - began
            await here.stored()
            _, rows, _ = await here.ask("GET", "/requests")
    print(output.decode())
    actions = [row["action"] for row in reversed(rows["requests"])]
    statuses = [row["status"] for row in rows["requests"]]
    sockets = here.service.sockets.served
    print(f"requests {actions}, statuses {statuses}, sockets {sockets}, {took:.1f} s")
    good = process.returncode == 0 and f"printed {MARK}" in output.decode()
    good = good and set(statuses) == {200} and sockets > 0
    print("passed" if good else "FAILED")
    return 0 if good else 1


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        command = codex(Path(folder))
        if command is None:
            print("skipped: neither npm nor the variable CODEX is here, so Codex cannot be run")
            return 0
        return asyncio.run(run(command, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
