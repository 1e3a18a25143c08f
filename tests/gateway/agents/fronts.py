"""Real coding agents at every front, with a scripted model of another vendor behind the gateway.

    python -m tests.gateway.agents.fronts [--agent NAME]

Each agent is installed by npm, runs without a terminal in a home folder of its own, and is asked
to run a command: the model calls the agent's shell, sees what it printed, and says it. An agent
passes if the text that it prints has it, and every request came in at the front that is named."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import interlingua as il
from interlingua.gateway.keys.key_admin import Terms, issue
from tests.gateway.serving import ANTHROPIC, OPENAI, Served, Upstream, served, settings_in
from tests.transcripts.resume import tools

PROMPT = "Run the command that prints the fact, then say the fact."
FACT = "fact-7919-cafe"
SECONDS = 150
SHELL = re.compile(r"(?i)^(bash|shell|run_shell_command|exec_command|local_shell|terminal)$")
MODELS = {"openai": OPENAI, "anthropic": ANTHROPIC}


class Shelling(Upstream):
    """Calls the shell of an agent once, and says what it printed."""

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        text = il.dumps(request.messages[1:]).decode()
        results = [m for m in request.messages if m.role is il.Role.TOOL]
        shell = next((each for each in request.tools if SHELL.match(each.name)), None)
        reason = il.StopReason.END_TURN
        content: list[il.Block] = [il.TextBlock("A title.")]
        if any(FACT in il.dumps(message).decode() for message in results):
            content = [il.TextBlock(f"The fact is {FACT}.")]
        elif results:
            content = [il.TextBlock(f"No fact: {text[-300:]}")]
        elif shell is not None:
            arguments = _arguments(shell.input_schema or {})
            content = [il.ToolUseBlock(f"call_{len(self.requests)}", shell.name, arguments)]
            reason = il.StopReason.TOOL_USE
        metadata = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=reason,
            usage=il.Usage(input_tokens=100, output_tokens=20),
        )
        yield from il.unfold(il.Response(il.Message.assistant(content, metadata)))


def _arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """What the schema asks for; the command prints the fact in two pieces."""
    command = f"echo {FACT[:5]}''{FACT[5:]}"
    known, made = schema.get("properties") or {}, {}
    for name in {*(schema.get("required") or ()), *({"command", "cmd"} & known.keys())}:
        kind = (known.get(name) or {}).get("type")
        if name in ("command", "cmd"):
            made[name] = ["sh", "-c", command] if kind == "array" else command
        elif kind in ("integer", "number"):
            made[name] = 10_000
        else:
            made[name] = False if kind == "boolean" else "sync" if name == "mode" else "print"
    return made


class Front(NamedTuple):
    """An agent at one front. `{url}`, `{model}` and `{key}` are filled in."""

    tool: tools.Tool
    front: str
    vendor: str
    """Whose model is behind the gateway."""
    arguments: tuple[str, ...]
    environ: dict[str, str]
    files: Mapping[str, Any] = MappingProxyType({})


_QUIET = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
_CLAUDE = {**_QUIET, "ANTHROPIC_MODEL": "{model}", "ANTHROPIC_DEFAULT_HAIKU_MODEL": "{model}"}
_BEDROCK = {
    **_CLAUDE,
    "CLAUDE_CODE_USE_BEDROCK": "1",
    "ANTHROPIC_BEDROCK_BASE_URL": "{url}",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_PRINT = ("-p", PROMPT, "--allowedTools", "Bash")
_COPILOT = {
    "COPILOT_OFFLINE": "true",
    "COPILOT_AUTO_UPDATE": "false",
    "COPILOT_PROVIDER_API_KEY": "{key}",
    "COPILOT_MODEL": "{model}",
}
_COPILOT_ASKS = ("-p", PROMPT, "--allow-all-tools", "-s")
QWEN = tools.Tool(
    "qwen-code",
    ("@qwen-code/qwen-code", "node@24"),
    "0.24.4",
    "qwen",
    lambda place: {},
    lambda place: {},
    lambda plan: [],
)
_PI_MODEL = {"id": "{model}", "input": ["text"], "contextWindow": 200_000}
_OPENCODE = ("run", "-m", "here/some", PROMPT)


def _opencode(package: str, path: str, **options: str) -> dict[str, Any]:
    provider = {
        "npm": package,
        "options": {"baseURL": "{url}" + path, "apiKey": "{key}", **options},
        "models": {"some": {"id": "{model}", "tool_call": True}},
    }
    whole = {"provider": {"here": provider}, "autoupdate": False, "share": "disabled"}
    return {".config/opencode/opencode.json": whole}


def _pi(api: str, path: str = "") -> dict[str, Any]:
    here = {"baseUrl": "{url}" + path, "api": api, "apiKey": "{key}", "models": [_PI_MODEL]}
    return {".pi/agent/models.json": {"providers": {"interlingua": here}}}


FRONTS = {
    "claude-code": Front(
        tools.CLAUDE_CODE,
        "anthropic",
        "openai",
        _PRINT,
        {**_CLAUDE, "ANTHROPIC_BASE_URL": "{url}", "ANTHROPIC_AUTH_TOKEN": "{key}"},
    ),
    "claude-code-bedrock": Front(
        tools.CLAUDE_CODE,
        "bedrock",
        "openai",
        _PRINT,
        {**_BEDROCK, "AWS_BEARER_TOKEN_BEDROCK": "{key}"},
    ),
    "claude-code-bedrock-signed": Front(
        tools.CLAUDE_CODE,
        "bedrock",
        "openai",
        _PRINT,
        {**_BEDROCK, "AWS_ACCESS_KEY_ID": "{key}", "AWS_SECRET_ACCESS_KEY": "none"},
    ),
    "claude-code-vertex": Front(
        tools.CLAUDE_CODE,
        "vertex",
        "openai",
        _PRINT,
        {
            **_CLAUDE,
            "CLAUDE_CODE_USE_VERTEX": "1",
            "CLAUDE_CODE_SKIP_VERTEX_AUTH": "1",
            "ANTHROPIC_VERTEX_BASE_URL": "{url}/v1",
            "ANTHROPIC_VERTEX_PROJECT_ID": "some-project",
            "CLOUD_ML_REGION": "us-east5",
            "ANTHROPIC_CUSTOM_HEADERS": "Authorization: Bearer {key}",
        },
    ),
    "codex": Front(
        tools.CODEX,
        "openai-responses",
        "anthropic",
        ("exec", "--skip-git-repo-check", "-s", "danger-full-access", PROMPT),
        {"OPENAI_API_KEY": "{key}"},
        {
            ".codex/config.toml": 'model = "{model}"\nmodel_provider = "here"\n'
            '[model_providers.here]\nname = "here"\nbase_url = "{url}/v1"\n'
            'wire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
        },
    ),
    "gemini-cli": Front(
        tools.GEMINI_CLI,
        "gemini",
        "anthropic",
        ("-p", PROMPT, "--yolo", "-m", "{model}"),
        {
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_API_KEY": "{key}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        {
            ".gemini/settings.json": {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": False},
                "general": {"disableAutoUpdate": True},
            }
        },
    ),
    "opencode": Front(
        tools.OPENCODE,
        "openai-chat",
        "anthropic",
        _OPENCODE,
        {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        _opencode("@ai-sdk/openai-compatible", "/v1"),
    ),
    "qwen-code": Front(
        QWEN,
        "openai-chat",
        "anthropic",
        ("-p", PROMPT, "--yolo", "--auth-type", "openai"),
        {"OPENAI_BASE_URL": "{url}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"},
    ),
    "copilot": Front(
        tools.COPILOT,
        "openai-chat",
        "anthropic",
        _COPILOT_ASKS,
        {**_COPILOT, "COPILOT_PROVIDER_BASE_URL": "{url}/v1"},
    ),
    "copilot-anthropic": Front(
        tools.COPILOT,
        "anthropic",
        "openai",
        _COPILOT_ASKS,
        {
            **_COPILOT,
            "COPILOT_PROVIDER_BASE_URL": "{url}",
            "COPILOT_PROVIDER_TYPE": "anthropic",
        },
    ),
    "pi": Front(
        tools.PI,
        "anthropic",
        "openai",
        ("--model", "interlingua/{model}", "-p", PROMPT),
        {"PI_OFFLINE": "1"},
        _pi("anthropic-messages"),
    ),
    "pi-bedrock": Front(
        tools.PI,
        "bedrock",
        "openai",
        ("--model", "interlingua/{model}", "-p", PROMPT),
        {
            "PI_OFFLINE": "1",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "{key}",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_BEDROCK_FORCE_HTTP1": "1",  # without TLS, the SDK would speak HTTP/2 at once
        },
        _pi("bedrock-converse-stream"),
    ),
}
PATHS: dict[str, Callable[[str], bool]] = {
    "anthropic": lambda path: path.startswith("/v1/messages"),
    "bedrock": lambda path: path.startswith("/model/"),
    "vertex": lambda path: "/projects/" in path,
    "gemini": lambda path: path.startswith("/v1beta/"),
    "openai-chat": lambda path: path.endswith("/chat/completions"),
    "openai-responses": lambda path: path.endswith("/responses"),
}


class Run(NamedTuple):
    title: str
    passed: bool
    paths: list[str]
    output: str


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(item, words) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(item, words) for item in value]
    if isinstance(value, str):
        for name, word in words.items():
            value = value.replace(f"{{{name}}}", word)
    return value


async def run(title: str, front: Front, home: Path) -> Run:
    program = await asyncio.to_thread(front.tool.installed)
    project = home / "project"
    project.mkdir(parents=True)
    with Shelling() as model:
        model.configure(home)
        settings = settings_in(home)
        with il.open_store(settings.store) as store:
            token = issue(store, "agent", ".", Terms()).token
        async with served(home, settings) as here:
            seen = _watch(here)
            words = {"url": here.base, "model": MODELS[front.vendor], "key": token}
            for name, content in front.files.items():
                file, content = home / name, _filled(content, words)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content if isinstance(content, str) else json.dumps(content))
            output = await _ask(program, project, home, front, words)
    asked = [path for path in seen if any(is_of(path) for is_of in PATHS.values())]
    passed = bool(asked) and all(map(PATHS[front.front], asked))
    return Run(title, passed and f"The fact is {FACT}" in output, seen, output)


def _watch(here: Served) -> list[str]:
    """The paths of all requests from now on."""
    seen: list[str] = []
    inner = here.server.config.loaded_app

    async def watching(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            seen.append(scope["path"])
        await inner(scope, receive, send)

    here.server.config.loaded_app = watching
    return seen


async def _ask(
    program: Path, project: Path, home: Path, front: Front, words: dict[str, str]
) -> str:
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        program,
        *_filled(front.arguments, words),
        cwd=project,
        env={"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", **_filled(front.environ, words)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    except TimeoutError:
        process.kill()
        return "timed out"
    return output.decode(errors="replace")


async def work(chosen: list[str]) -> int:
    passed = 0
    for title in chosen:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            done = await run(title, FRONTS[title], Path(folder))
        passed += done.passed
        word = "passed" if done.passed else "FAILED"
        vendor = MODELS[FRONTS[title].vendor]
        print(f"{title}: {word}; {vendor}; {sorted(set(done.paths))}", flush=True)
        if not done.passed:
            print(done.output[-2000:], flush=True)
    print(f"{passed} of {len(chosen)} passed")
    return 0 if passed == len(chosen) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", action="append", choices=sorted(FRONTS))
    return asyncio.run(work(parser.parse_args().agent or list(FRONTS)))


if __name__ == "__main__":
    sys.exit(main())
