"""The tools: where they come from, how they are told their model, and how they are asked to go
on with a session without a terminal."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from interlingua.transcripts.sessions import Plan

PROMPT = "Probe: which was the last thing that we did?"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "interlingua" / "tools"
"""Where the tools are installed, each version in a folder of its own."""
_PATIENCE = 180


class Place(NamedTuple):
    """Folders of one run: a home, a project, and the model's address."""

    home: Path
    project: Path
    url: str


class Tool(NamedTuple):
    """`settings` are files that tell the tool its model, `command` asks it to go on."""

    name: str
    packages: tuple[str, ...]
    """What is installed: the tool, and what it needs beside it."""
    version: str
    program: str
    settings: Callable[[Place], dict[Path, Any]]
    environ: Callable[[Place], dict[str, str]]
    command: Callable[[Plan], list[str]]

    def installed(self, version: str | None = None) -> Path:
        """The program, installed by npm if it is not there."""
        version = version or self.version
        folder = CACHE / f"{self.name}-{version}"
        program = folder / "node_modules" / ".bin" / self.program
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "package.json").write_text("{}")
            ask = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error"]
            first, *beside = self.packages
            subprocess.run([*ask, f"{first}@{version}", *beside], cwd=folder, check=True)
        return program

    def go_on(self, program: Path, place: Place, plan: Plan) -> str:
        """Brings the session to the tool and asks it to go on; what it printed."""
        for file, content in self.settings(place).items():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content))
        printed = ""
        bring = [command[1:] for command in plan.commands[:-1]]
        for command in (*bring, self.command(plan)):
            done = subprocess.run(
                [program, *command],
                cwd=place.project,
                env={**_environ(place, program), **self.environ(place)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
            printed += (done.stdout + done.stderr).decode(errors="replace")
        return printed


def _environ(place: Place, program: Path) -> dict[str, str]:
    """Nothing of this user's but the way to programs."""
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(place.home), "LANG": "C.UTF-8", "CI": "1"}


CLAUDE_CODE = Tool(
    "claude-code",
    ("@anthropic-ai/claude-code",),
    "2.1.325",
    "claude",
    lambda place: {},
    lambda place: {
        "ANTHROPIC_BASE_URL": place.url,
        "ANTHROPIC_AUTH_TOKEN": "any",
        "ANTHROPIC_MODEL": "claude-sonnet-4-6[1m]",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_AUTO_COMPACT": "1",
    },
    lambda plan: ["--resume", str(plan.id), "-p", PROMPT],
)

_CODEX = """
model = "gpt-5.5"
model_provider = "interlingua"
[model_providers.interlingua]
name = "interlingua"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
CODEX = Tool(
    "codex",
    ("@openai/codex",),
    "0.166.0",
    "codex",
    lambda place: {place.home / ".codex" / "config.toml": _CODEX.format(url=place.url)},
    lambda place: {"OPENAI_API_KEY": "any"},
    lambda plan: ["exec", "resume", "--skip-git-repo-check", str(plan.id), PROMPT],
)

PI = Tool(
    "pi",
    ("@earendil-works/pi-coding-agent", "node@24"),
    "0.87.1",
    "pi",
    lambda place: {
        place.home / ".pi" / "agent" / "models.json": {
            "providers": {
                "interlingua": {
                    "baseUrl": place.url,
                    "api": "anthropic-messages",
                    "apiKey": "any",
                    "models": [
                        {
                            "id": "claude-sonnet-4-6",
                            "input": ["text", "image"],
                            "contextWindow": 2_000_000,
                        }
                    ],
                }
            }
        }
    },
    lambda place: {"PI_OFFLINE": "1"},
    lambda plan: (
        ["--session", str(plan.path), "--model", "interlingua/claude-sonnet-4-6", "-p", PROMPT]
    ),
)

GEMINI_CLI = Tool(
    "gemini-cli",
    ("@google/gemini-cli", "node@24"),
    "0.61.0",
    "gemini",
    lambda place: {
        place.home / ".gemini" / "settings.json": {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"disableAutoUpdate": True},
        }
    },
    lambda place: {
        "GOOGLE_GEMINI_BASE_URL": place.url,
        "GEMINI_API_KEY": "any",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    lambda plan: ["--resume", str(plan.id), "-m", "gemini-3-pro-preview", "-p", PROMPT],
)

OPENCODE = Tool(
    "opencode",
    ("opencode-ai",),
    "1.18.33",
    "opencode",
    lambda place: {
        place.home / ".config" / "opencode" / "opencode.json": {
            "provider": {
                "anthropic": {
                    "options": {"baseURL": f"{place.url}/v1", "apiKey": "any"},
                    "models": {"claude-sonnet-4-6": {}},
                }
            }
        }
    },
    lambda place: {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
    lambda plan: ["run", "-s", plan.commands[-1][-1], "-m", "anthropic/claude-sonnet-4-6", PROMPT],
)

COPILOT = Tool(
    "copilot",
    ("@github/copilot",),
    "1.0.102",
    "copilot",
    lambda place: {},
    lambda place: {
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_PROVIDER_BASE_URL": place.url,
        "COPILOT_PROVIDER_TYPE": "anthropic",
        "COPILOT_PROVIDER_API_KEY": "any",
        "COPILOT_MODEL": "claude-sonnet-4-6",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "2000000",
    },
    lambda plan: [f"--resume={plan.id}", "-p", PROMPT, "--allow-all-tools", "-s"],
)

TOOLS = {tool.name: tool for tool in (CLAUDE_CODE, CODEX, PI, GEMINI_CLI, OPENCODE)}
OTHERS = {COPILOT.name: COPILOT}
"""Tools that leave something out of their own sessions too: asked only where they are named."""
