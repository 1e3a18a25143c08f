"""What a gateway says when it is ready can be done as it stands; `make run` gets there."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import anthropic
import cohere
import ollama
import openai
import pytest
from botocore.session import Session
from google import genai

import interlingua as il
from interlingua.gateway.keys.key_admin import issue
from interlingua.gateway.server.serve import Welcome
from interlingua.gateway.settings import Settings
from interlingua.local.model import VARIABLE
from tests.gateway.forks import Fork
from tests.gateway.serving import ANTHROPIC, Upstream
from tests.local.conftest import weights

__all__ = ["weights"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
ROOT = Path(__file__).parents[3]
LAST = "Stop "


def _made(command: list[str], environ: dict[str, str]) -> subprocess.Popen[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, text=True, start_new_session=True, **streams
    )


class Run:
    """A command that says what to try; `text` is all that it said up to there, on any stream."""

    def __init__(self, command: list[str], **environment: str) -> None:
        variables = {**os.environ, "PYTHONUNBUFFERED": "1", **environment}
        for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "INTERLINGUA_STORE", "MAKEFLAGS"):
            variables.pop(name, None)
        self.process: subprocess.Popen[str] | Fork = (
            _made(command, variables)
            if command[0] == "make"
            else Fork(command, cwd=ROOT, env=variables, stderr=subprocess.STDOUT, own_session=True)
        )
        self.text = ""
        self._said = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.text += line
            if line.startswith((LAST, "{")):
                self._said.set()
        self._said.set()

    def ready(self) -> str:
        assert self._said.wait(60), self.text
        return self.text

    def wait(self) -> int:
        code = self.process.wait(30)
        self._reader.join(5)
        return code

    def stop(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def running(command: list[str], home: Path, **environment: str) -> Iterator[Run]:
    run = Run(command, INTERLINGUA_HOME=str(home), **environment)
    try:
        yield run
    finally:
        run.stop()


def serve(*arguments: str) -> list[str]:
    """The words after `python -m`."""
    return ["interlingua", "serve", "--port", "0", *arguments]


def commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("curl ")]


def done(command: str, **environment: str) -> str:
    """What the command of a shell says; where there is no curl, the same request by other means."""
    variables = {**os.environ, **environment}
    if shutil.which("curl"):
        line = command.replace("curl ", "curl --max-time 60 --fail-with-body ", 1)
        made = subprocess.run(
            line, shell=True, env=variables, capture_output=True, text=True, timeout=90, check=False
        )
        assert made.returncode == 0, (command, made.stdout, made.stderr)
        return made.stdout
    words = [os.path.expandvars(word) for word in shlex.split(command)]
    for name, value in environment.items():
        words = [word.replace(f"${name}", value) for word in words]
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    body = words[words.index("-d") + 1].encode()
    url = next(word for word in words if word.startswith("http://"))
    with urlopen(Request(url, body, headers), timeout=60) as reply:
        return str(reply.read().decode())


def said(front: str, text: str) -> str:
    """The words of an answer in one piece."""
    response = il.dialect(front).read_response(json.loads(text))
    return response.message.text


def pid_of(text: str) -> int:
    found = re.search(r"or kill (\d+)$", text, re.MULTILINE)
    assert found is not None, text
    return int(found.group(1))


FRONTS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "ollama",
    "bedrock",
    "cohere",
)


def make(*arguments: str) -> list[str]:
    """`make run` as a user says it, but for the install, and with this interpreter's folder."""
    if shutil.which("make") is None:
        pytest.skip("there is no make here")
    folder = Path(sys.executable).parent
    if not (folder / "interlingua").exists():
        pytest.skip("the command is not installed beside this interpreter")
    return ["make", "RUN=", f"BIN={folder}", *arguments, "run"]


def test_make_run_shows_a_conversion_and_serves_what_it_prints(
    tmp_path: Path, weights: Path
) -> None:
    with running(make("PORT=0"), tmp_path, **{VARIABLE: str(weights)}) as run:
        text = run.ready()
        assert "One message of a conversation" in text, "the demonstration comes first"
        assert text.index("One message of a conversation") < text.index(
            "interlingua gateway on http://"
        )
        tried = commands(text)
        assert len(tried) == len(FRONTS) + 1
        for front, command in zip(FRONTS, tried, strict=False):
            assert said(front, done(command)).strip(), (front, "the bundled local model answers")
        stream = done(tried[-1])
        assert stream.count("data: ") > 2
        assert stream.rstrip().endswith("data: [DONE]")
        for url in re.findall(r"^(?:Models|Health|Metrics|API) +(http\S+)$", text, re.MULTILINE):
            assert urlopen(url, timeout=20).status == 200
        assert (tmp_path / "interlingua.db").exists()
        os.kill(pid_of(text), signal.SIGTERM)
        assert run.wait() == 0, run.text
        assert "Traceback" not in run.text


def test_ctrl_c_stops_make_run_in_good_order(tmp_path: Path) -> None:
    with running(make("PORT=0"), tmp_path) as run:
        url = run.ready().split("interlingua gateway on ", 1)[1].split()[0]
        os.killpg(run.process.pid, signal.SIGINT)  # as a terminal does: make, and what it runs
        run.wait()
        assert "drained" in run.text
        assert "Traceback" not in run.text
        assert "Error" not in run.text
        with pytest.raises(OSError, match="refused"):
            urlopen(f"{url}/health/live", timeout=5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_gateway_ends_with_code_0_after_either_signal(tmp_path: Path, number: int) -> None:
    with running(serve(), tmp_path) as run:
        run.ready()
        run.process.send_signal(number)
        assert run.wait() == 0
        assert "Traceback" not in run.text


def test_a_port_that_is_taken_comes_with_a_way_out(tmp_path: Path) -> None:
    with running(serve("--json"), tmp_path) as first:
        port = json.loads(first.ready())["url"].rpartition(":")[2]
        with running(serve("--port", port), tmp_path) as second:
            assert second.wait() == 1
            assert f"cannot listen on 127.0.0.1:{port}" in second.text
            assert f"--port {int(port) + 1}" in second.text
            assert "--port 0" in second.text
            assert "Traceback" not in second.text


@contextmanager
def scripted(home: Path, *arguments: str) -> Iterator[Run]:
    """A gateway whose usual model is a scripted one."""
    with Upstream(0.0) as provider:
        provider.configure(home)
        (home / "gateway.toml").write_text(f'default_model = "{ANTHROPIC}"\n')
        with running(serve(*arguments), home) as run:
            yield run


def test_programs_get_one_line_of_json_and_sdks_need_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted(tmp_path, "--json") as run:
        lines = [line for line in run.ready().splitlines() if line.startswith("{")]
        parsed = json.loads(lines[0])
        assert parsed["model"] == ANTHROPIC
        assert parsed["needs_key"] is False
        assert parsed["pid"] == run.process.pid
        assert parsed["config"] == str(tmp_path / "gateway.toml")
        for name in [name for name in os.environ if name.startswith(("GOOGLE_", "OPENAI_"))]:
            monkeypatch.delenv(name)
        for variables in parsed["sdks"].values():
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
        heard = {
            "openai": _openai(),
            "anthropic": _anthropic(),
            "google-genai": _google(),
            "ollama": _ollama(),
            "boto3": _amazon(),
            "cohere": _cohere(),
        }
        assert set(heard) == set(parsed["sdks"])
        assert all(text.endswith("to: hello") for text in heard.values()), heard


def _openai() -> str:
    with openai.OpenAI(max_retries=0) as client:
        return client.responses.create(model=ANTHROPIC, input="hello").output_text


def _anthropic() -> str:
    with anthropic.Anthropic(max_retries=0) as client:
        message = client.messages.create(
            model=ANTHROPIC, max_tokens=50, messages=[{"role": "user", "content": "hello"}]
        )
    return "".join(block.text for block in message.content if block.type == "text")


def _google() -> str:
    client = genai.Client()
    text = client.models.generate_content(model=ANTHROPIC, contents="hello").text
    client.close()
    return text or ""


def _amazon() -> str:
    client = Session().create_client("bedrock-runtime", region_name=os.environ["AWS_REGION"])
    said = {"role": "user", "content": [{"text": "hello"}]}
    result = client.converse(modelId=ANTHROPIC, messages=[said])
    client.close()
    return str(result["output"]["message"]["content"][0]["text"])


def _cohere() -> str:
    # It reads the variable once, when it is imported, which may have been before.
    with cohere.ClientV2(base_url=os.environ["CO_API_URL"]) as client:
        result = client.chat(model=ANTHROPIC, messages=[{"role": "user", "content": "hello"}])
    return "".join(getattr(part, "text", "") for part in result.message.content or ())


def _ollama() -> str:
    with ollama.Client() as client:
        reply = client.chat(model=ANTHROPIC, messages=[{"role": "user", "content": "hello"}])
    return reply.message.content or ""


def test_a_gateway_with_keys_prints_commands_that_take_one(tmp_path: Path) -> None:
    with il.open_store(str(tmp_path / "interlingua.db")) as store:
        token = issue(store, "one", ".").token
    with scripted(tmp_path) as run:
        text = run.ready()
        assert "interlingua keys issue" in text
        assert token not in text
        for front, command in zip(FRONTS, commands(text), strict=False):
            assert "to: Say hello." in said(front, done(command, INTERLINGUA_KEY=token))
        with pytest.raises((AssertionError, OSError)):
            done(commands(text)[0], INTERLINGUA_KEY="gw_wrong")


def test_several_workers_are_not_started_where_nobody_has_a_key(tmp_path: Path) -> None:
    with running(serve("--host", "0.0.0.0", "--workers", "2"), tmp_path) as run:
        assert run.wait() == 1
        assert "no keys are defined" in run.text
        assert "worker_died" not in run.text


@pytest.mark.parametrize("model", ["local", "openrouter:a/b", "team:it's & $HOME `x`"])
def test_no_name_of_a_model_breaks_a_command(model: str) -> None:
    welcome = Welcome("http://127.0.0.1:1", Settings(default_model=model), True, "store.db")
    bodies: list[Any] = []
    for command in commands(welcome.text()):
        words = shlex.split(command)
        assert words[0] == "curl"
        bodies.append(json.loads(words[words.index("-d") + 1]))
        assert [word for word in words if word.startswith("http://127.0.0.1:1/")], words
    assert [body.get("model") for body in bodies].count(model) == len(FRONTS) - 1  # in an address


def test_a_gateway_without_keys_warns_if_another_known_store_has_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlingua.gateway.keys import key_admin
    from interlingua.gateway.server.serve import asks_for_keys, store_with_keys
    from interlingua.store.open import open_store

    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    monkeypatch.delenv("INTERLINGUA_STORE", raising=False)
    settings = Settings(store=f"sqlite:///{tmp_path / 'own.db'}")
    keyed, where = asks_for_keys(settings)
    assert (keyed, store_with_keys(where)) == (False, None)
    with open_store() as usual:
        key_admin.issue(usual, "app", ".", key_admin.Terms())
        other = usual.where
    assert store_with_keys(where) == other
    welcome = Welcome("http://127.0.0.1:1", settings, keyed, where, other)
    assert f"gateway; {other} has keys" in welcome.text()
    assert welcome.as_json()["keys_elsewhere"] == other
    assert store_with_keys(other) is None
