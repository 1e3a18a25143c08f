"""What coding agents really send: `python -m tests.laws.fits.capture BINARIES FOLDER`.

Each agent that is installed in the folder of binaries (`npm install @anthropic-ai/claude-code …`,
outside of this project) is run once, headless, against a server on this machine that writes its
requests down and answers with a script: a call of one of the agent's own tools first, then text. So
there are second turns too, with calls and results. The bodies are their makers' and stay out of
the project; `python -m tests.laws.fits.agents FOLDER` judges them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import interlingua as il

PROMPT = "List the files of this folder with one of your tools, then say what there is."
SECONDS = 90
"""For one run of an agent."""
PATHS = (
    (re.compile(r"/messages$"), "anthropic"),
    (re.compile(r"/responses$"), "openai-responses"),
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/models/([^/:]+):(?:streamG|g)enerateContent$"), "gemini"),
)
TOOL = re.compile(r"(?i)bash|shell|exec|list|^ls$|glob|read")


class Agent(NamedTuple):
    """How an agent is started: what follows its name, and its environment, where `{url}` is the
    server, `{home}` a folder of its own."""

    binary: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[tuple[str, str], ...] = ()
    """Files in its home that have to be there, and what is in them."""


CODEX = """model = "gpt-5.4"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "{url}/v1"
env_key = "HERE_KEY"
wire_api = "responses"
"""
GEMINI = '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'
OPENCODE = json.dumps(
    {
        "provider": {
            "here": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": "{url}/v1", "apiKey": "k"},
                "models": {"some": {"tool_call": True}},
            }
        },
        "autoupdate": False,
        "share": "disabled",
    }
)
AGENTS = (
    Agent(
        "claude",
        ("-p", PROMPT, "--allowedTools", "Bash,LS,Read,Glob", "--model", "claude-sonnet-4-6"),
        {
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_API_KEY": "k",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    Agent(
        "codex",
        ("exec", "--skip-git-repo-check", "-s", "danger-full-access", PROMPT),
        {"HERE_KEY": "k", "CODEX_HOME": "{home}/.codex"},
        ((".codex/config.toml", CODEX),),
    ),
    Agent(
        "gemini",
        ("-p", PROMPT, "--yolo", "-m", "gemini-2.5-pro", "--skip-trust"),
        {
            "GEMINI_API_KEY": "k",
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        ((".gemini/settings.json", GEMINI),),
    ),
    Agent(
        "qwen",
        ("-p", PROMPT, "--yolo", "--auth-type", "openai"),
        {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "{url}/v1", "OPENAI_MODEL": "qwen3-coder-plus"},
    ),
    Agent(
        "opencode",
        ("run", "-m", "here/some", PROMPT),
        {"XDG_CONFIG_HOME": "{home}/.config", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        ((".config/opencode/opencode.json", OPENCODE),),
    ),
    *(
        Agent(
            "copilot",
            ("-p", PROMPT, "--allow-all-tools"),
            {
                "COPILOT_PROVIDER_BASE_URL": "{url}" + ("" if kind == "anthropic" else "/v1"),
                "COPILOT_PROVIDER_TYPE": kind,
                "COPILOT_PROVIDER_WIRE_API": api,
                "COPILOT_PROVIDER_API_KEY": "k",
                "COPILOT_MODEL": model,
            },
        )
        for kind, api, model in (
            ("openai", "completions", "gpt-4.1"),
            ("openai", "responses", "gpt-5.4"),
            ("anthropic", "completions", "claude-sonnet-4.5"),
        )
    ),
)


class Captured(NamedTuple):
    """One request: who sent it, in which dialect, for which model."""

    agent: str
    dialect: str
    model: str
    body: Any


# -- the script -----------------------------------------------------------------------------------


def answer_to(dialect: str, model: str, body: Any) -> il.Response:
    """A call where there is a tool for it and no result yet, else text."""
    request = il.dialect(dialect).read_request(body, model)
    has_result = any(message.role is il.Role.TOOL for message in request.messages)
    tool = next((each for each in request.tools if is_usable(each)), None)
    if has_result or tool is None:
        return made(model, il.TextBlock("There is one file, notes.txt."), il.StopReason.END_TURN)
    call = il.ToolUseBlock("call_0001", tool.name, arguments(tool.input_schema or {}))
    return made(model, call, il.StopReason.TOOL_USE)


def made(model: str, block: Any, reason: il.StopReason) -> il.Response:
    usage = il.Usage(input_tokens=10, output_tokens=5)
    message = il.Message.assistant([block])
    metadata = message.metadata.replace(
        response_model=model, response_id="answer_1", stop_reason=reason, usage=usage
    )
    return il.Response(message.replace(metadata=metadata))


def is_usable(tool: il.ToolDefinition) -> bool:
    return tool.kind == "function" and bool(TOOL.search(tool.name))


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    known = schema.get("properties") or {}
    return {name: value_for(name, known.get(name) or {}) for name in schema.get("required") or ()}


def value_for(name: str, schema: dict[str, Any]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "array":
        return ["ls"]
    if kind in ("integer", "number"):
        return 1
    if kind == "boolean":
        return False
    return "ls" if re.search(r"(?i)command|cmd|desc|script", name) else os.getcwd()


# -- the server -----------------------------------------------------------------------------------


class Recorder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    agent = ""
    seen: list[Captured]

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        self.reply(200, "application/json", b'{"data": [], "models": []}')

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.partition("?")[0]
        for pattern, dialect in PATHS:
            if found := pattern.search(path):
                self.answer(dialect, data, found, "stream" in path)
                return
        result = b'{"input_tokens": 10, "totalTokens": 10}' if "ount" in path else b"{}"
        self.reply(200, "application/json", result)

    def answer(self, dialect: str, data: bytes, found: re.Match[str], streams: bool) -> None:
        body = json.loads(data)
        model = found[1] if found.re.groups else body.get("model", "")
        self.seen.append(Captured(self.agent, dialect, model, body))
        response = answer_to(dialect, model, body)
        if not (streams or body.get("stream")):
            whole = il.dialect(dialect).write_response(response).json()
            self.reply(200, "application/json", whole)
            return
        writer = il.dialect(dialect).stream_writer()
        frames = [frame for event in il.unfold(response) for frame in writer.feed(event)]
        result = b"".join(il.sse.encode(frame) for frame in [*frames, *writer.close()])
        self.reply(200, "text/event-stream", result)

    def reply(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


# -- the runs -------------------------------------------------------------------------------------


def run(agent: Agent, binary: Path) -> list[Captured]:
    """What one agent sends on its way to an answer."""
    handler = type("Handler", (Recorder,), {"agent": agent.binary, "seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with tempfile.TemporaryDirectory() as home:
            _start(agent, binary, f"http://127.0.0.1:{server.server_port}", Path(home))
    finally:
        server.shutdown()
        server.server_close()
    return list(handler.seen)  # type: ignore[attr-defined]  # made above


def _start(agent: Agent, binary: Path, url: str, home: Path) -> None:
    def filled(text: str) -> str:
        return text.replace("{url}", url).replace("{home}", str(home))

    for name, text in agent.files:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(filled(text), encoding="utf-8")
    work = home / "work"
    work.mkdir()
    (work / "notes.txt").write_text("milk\n", encoding="utf-8")
    remaining = {key: os.environ[key] for key in ("PATH", "LANG") if key in os.environ}
    fields = {key: filled(value) for key, value in agent.environment.items()}
    subprocess.run(
        [str(binary), *agent.arguments],
        cwd=work,
        env={**remaining, "HOME": str(home), "NO_COLOR": "1", "CI": "1", **fields},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binaries", type=Path, help="where the agents are, as node_modules/.bin")
    parser.add_argument("folder", type=Path, help="where their requests are put")
    parser.add_argument("--only", help="this agent alone")
    options = parser.parse_args(argv)
    options.folder.mkdir(parents=True, exist_ok=True)
    for number, agent in enumerate(AGENTS):
        binary = options.binaries / agent.binary
        if (options.only and agent.binary != options.only) or not binary.exists():
            continue
        try:
            seen = run(agent, binary)
        except subprocess.TimeoutExpired:
            print(f"{agent.binary}: not done after {SECONDS} seconds")
            continue
        for index, each in enumerate(seen):
            file = options.folder / f"{agent.binary}-{number}-{index}.json"
            file.write_text(json.dumps(each._asdict()), encoding="utf-8")
        print(f"{agent.binary}: {len(seen)} requests, {sorted({each.dialect for each in seen})}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
