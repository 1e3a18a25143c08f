"""The first hour of a new user: what people type first, typed into a fresh environment.

The environment is made from the built wheel and, of this environment's packages, those that the
documented extras ask for (see `test_installed`); `pydantic` is there as well, as in most programs.
The home folder is new, there are no settings, and every provider but the bundled local model is a
stand-in on loopback.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

import pytest

from tests.cli import chatting, forked
from tests.docs.standin import KEYS, StandIn
from tests.loopback import STOPS_WITHIN
from tests.test_installed import EXTRAS, ROOT, Installed, asked_for, link, made
from tests.test_wheel import built_wheel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="lines are typed into a Unix shell")

REQUEST = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
PLAINEST = {
    "model": "claude-sonnet-4-6",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "hi"}],
}


class Typed(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


class Terminal:
    """Somebody who has typed `pip install` and nothing else."""

    def __init__(self, installed: Installed, folder: Path, providers: StandIn) -> None:
        self.installed = installed
        self.home = folder
        self.providers = providers
        self.variables = {
            "PATH": f"{installed.folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            **providers.variables(is_local_here=False),
        }

    def types(self, line: str, given: str = "", code: int | None = 0) -> Typed:
        """What comes of a line; fails where it ends with another code, or with a traceback."""
        done = subprocess.run(
            ["bash", "--norc", "-c", line],
            input=given,
            capture_output=True,
            text=True,
            env=self.variables,
            cwd=self.home,
            timeout=120,
        )
        typed = Typed(done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in typed.said, f"{line}\n{typed.said}"
        assert code is None or done.returncode == code, f"{line}\n{typed.said}"
        return typed

    def runs(self, program: str, code: int | None = 0) -> Typed:
        """The same for a program in Python."""
        place = self.home / "program.py"
        place.write_text(program, encoding="utf-8")
        return self.types("python program.py", code=code)

    def writes(self, name: str, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        (self.home / name).write_text(text, encoding="utf-8")

    @contextmanager
    def serving(self, line: str = "interlingua serve --port 0 --json") -> Iterator[str]:
        """A gateway in another terminal: its address."""
        with subprocess.Popen(
            shlex.split(line),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.variables,
            cwd=self.home,
            executable=str(self.installed.folder / "bin" / "interlingua"),
        ) as gateway:
            assert gateway.stdout is not None
            try:
                yield json.loads(gateway.stdout.readline())["url"]
            finally:
                gateway.send_signal(signal.SIGINT)
                gateway.communicate(timeout=60)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    wheel = built_wheel(tmp_path_factory.mktemp("wheel"))
    fresh = made(tmp_path_factory.mktemp("fresh") / "venv", wheel, EXTRAS)
    todo = ["pydantic"]
    while todo:
        package = distribution(todo.pop())
        link(package, fresh.packages)
        todo += [name for name, _ in asked_for(package.requires or [], ())]
    command = fresh.folder / "bin" / "interlingua"
    python = fresh.folder / "bin" / "python"
    command.write_text(
        f"#!{python}\nimport sys\nfrom interlingua.cli.main import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    return fresh


@pytest.fixture(scope="module")
def providers() -> Iterator[StandIn]:
    with StandIn() as providers:
        yield providers


@pytest.fixture
def terminal(installed: Installed, providers: StandIn, tmp_path: Path) -> Terminal:
    return Terminal(installed, tmp_path, providers)


@pytest.fixture
def with_keys(terminal: Terminal) -> Terminal:
    terminal.variables |= dict.fromkeys(KEYS, "key-of-a-stand-in")
    return terminal


@pytest.fixture(scope="module")
def loaded(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The installed command, loaded once."""
    own = installed.folder / "bin"
    folder = tmp_path_factory.mktemp("loaded") / "bin"
    with forked.command_for(folder, own / "python", own / "interlingua") as place:
        yield place


@pytest.fixture
def quick(terminal: Terminal, loaded: Path) -> Terminal:
    """One who types much, and need not wait for each command to load."""
    terminal.variables["PATH"] = f"{loaded}:{terminal.variables['PATH']}"
    return terminal


def posted(url: str, body: dict[str, Any], key: str = "any") -> dict[str, Any]:
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    with urlopen(Request(url, json.dumps(body).encode(), headers), timeout=60) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def nothing_there() -> Iterator[str]:
    """The address of a server that has nothing but 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(STOPS_WITHIN,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/wrong"
        server.shutdown()


def test_1_what_was_installed_starts_and_says_what_to_do_next(terminal: Terminal) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"pip install 'interlingua[{','.join(EXTRAS)}]'" in readme
    alone = terminal.types("interlingua", code=None)
    assert "interlingua chat" in alone.said
    assert "interlingua convert" in alone.said
    assert "interlingua serve" in alone.said
    answer = terminal.types('interlingua chat --no-store "What is the capital of France?"')
    assert "What is the capital of France?" in answer.out
    with terminal.serving() as url, urlopen(f"{url}/health/ready", timeout=60) as ready:
        assert ready.status == 200


def test_2_money_and_requests_of_the_gateway_are_counted(
    with_keys: Terminal, quick: Terminal
) -> None:
    token = with_keys.types("interlingua keys issue laptop").out.strip()
    with with_keys.serving() as url:
        for _ in range(3):
            body = {**PLAINEST, "model": "anthropic:claude-sonnet-4-6"}
            posted(f"{url}/v1/messages", body, token)
    assert "$" in with_keys.types("interlingua cost").out
    assert "laptop" in with_keys.types("interlingua cost --by key").out
    listed = with_keys.types("interlingua requests").out
    assert listed.count("anthropic:claude-sonnet-4-6") == 3
    last = with_keys.types("interlingua requests last").out
    assert "200" in last
    assert "laptop" in last
    followed = with_keys.types("timeout 5 interlingua requests -f", code=None)
    assert followed.out.count("anthropic:claude-sonnet-4-6") == 3


def test_3_names_are_found_everywhere_alike(with_keys: Terminal, quick: Terminal) -> None:
    for name in ("gpt-5", "openai/gpt-5", "openai:gpt-5"):
        answer = with_keys.types(f'interlingua chat -m {name} "hi"')
        assert "stand-in for gpt-5" in answer.out
    answer = with_keys.types('interlingua chat -m claude-sonnet-4-6 "hi"')
    assert "stand-in for claude-sonnet-4-6" in answer.out
    unknown = with_keys.types('interlingua chat -m claude-sonet-4-6 "hi"', code=None)
    assert unknown.code != 0
    assert "claude-sonnet-4-6" in unknown.err
    program = 'import interlingua as il\nprint(il.Client().generate("gpt-5", "hi").text)'
    assert "stand-in for gpt-5" in with_keys.runs(program).out
    with with_keys.serving() as url:
        claude = posted(f"{url}/v1/chat/completions", {**REQUEST, "model": "claude-sonnet-4-6"})
        assert "stand-in for claude-sonnet-4-6" in claude["choices"][0]["message"]["content"]
        with urlopen(f"{url}/v1/models", timeout=60) as listed:
            ids = [model["id"] for model in json.load(listed)["data"]]
    assert any("gpt-5" in id for id in ids)
    assert not any(id.startswith("ollama") for id in ids)
    assert "ollama:" not in with_keys.types("interlingua models").out


GENERATE = """
import interlingua as il

with il.Client() as client:
    print(client.generate("local", [{"role": "user", "content": "hi"}]).text)
    print(client.generate("local", "hi", options={"temperature": 0}).text)
    print(client.generate("local", "hi", temperature=0, max_output_tokens=20).text)
    try:
        client.generate("local", 12)
    except TypeError as wrong:
        print("TypeError:", wrong)
"""
TOOL = '''
import interlingua as il


def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"Sunny in {city}."


with il.Client() as client:
    run = client.run("sonnet", "How is the weather in Oslo?", [weather])
    print(run.text)
'''
PARSE = """
from pydantic import BaseModel

import interlingua as il


class City(BaseModel):
    name: str
    inhabitants: int


with il.Client() as client:
    city = client.parse("sonnet", "Tell me about Bergen with its 290000 people.", City).value
    assert isinstance(city, City)
    print(city)
"""


def test_4_python_takes_what_users_of_other_tools_type_first(with_keys: Terminal) -> None:
    content = with_keys.runs(GENERATE).out
    assert content.count("heard: hi") == 3
    assert "TypeError:" in content
    assert "Sunny in Oslo." in with_keys.runs(TOOL).out
    assert "inhabitants=290000" in with_keys.runs(PARSE).out
    packages = with_keys.installed.packages
    stub = (packages / "interlingua" / "__init__.pyi").read_text(encoding="utf-8")
    assert "convert" in stub
    assert "convrt" not in stub


STREAM = """event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant",\
"model":"claude-sonnet-4-6","content":[],"stop_reason":null,"stop_sequence":null,\
"usage":{"input_tokens":14,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},\
"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"""


def test_5_files_are_converted_whatever_they_are(quick: Terminal) -> None:
    quick.writes("plainest.json", PLAINEST)
    quick.writes("request.json", REQUEST)
    quick.writes("lines.jsonl", f"{json.dumps(REQUEST)}\n{json.dumps(REQUEST)}\n")
    quick.writes("messages.json", REQUEST["messages"])
    quick.writes("answer.sse", STREAM)
    quick.writes("cut.sse", STREAM[: STREAM.index("event: content_block_stop")])
    quick.writes("empty.json", "")
    quick.writes("package.json", {"name": "left-pad", "version": "1.0.0"})
    packed = gzip.compress(json.dumps(REQUEST).encode())
    (quick.home / "request.json.gz").write_bytes(packed)

    assert '"contents"' in quick.types("interlingua convert plainest.json --to gemini").out
    assert '"contents"' in quick.types("interlingua convert request.json.gz -t gemini").out
    quick.types("interlingua convert request.json -f openai-chat -t anthropic -o out.json")
    assert json.loads((quick.home / "out.json").read_text())["messages"]
    lines = quick.types("interlingua convert lines.jsonl --lines -t anthropic").out
    assert [json.loads(line)["model"] for line in lines.splitlines()] == ["gpt-5", "gpt-5"]
    envelopes = quick.types("interlingua convert lines.jsonl --envelope -t anthropic").out
    assert [json.loads(line)["ok"] for line in envelopes.splitlines()] == [True, True]
    model = quick.types("interlingua convert request.json -t anthropic --model claude-opus-4-6")
    assert json.loads(model.out)["model"] == "claude-opus-4-6"
    assert "anthropic" in quick.types("interlingua convert --list-formats").out
    assert "[DONE]" in quick.types("interlingua convert answer.sse -t openai-chat").out
    assert "Hello." in quick.types("interlingua inspect answer.sse").out
    quick.types("interlingua check answer.sse")
    assert quick.types("interlingua convert cut.sse -t openai-chat", code=None).code != 0
    quick.types("interlingua inspect messages.json")
    for odd in ("empty.json", "package.json"):
        refused = quick.types(f"interlingua convert {odd} -t anthropic", code=1)
        assert odd in refused.err


def test_6_the_model_in_the_box_answers_the_first_question(
    terminal: Terminal, request: pytest.FixtureRequest
) -> None:
    from tests.docs.test_samples import weights

    terminal.variables["INTERLINGUA_LOCAL_WEIGHTS"] = str(weights(request))
    del terminal.variables["INTERLINGUA_LOCAL_URL"]
    answer = terminal.types('interlingua chat "What is the capital of France?"').out
    assert "Paris" in answer
    assert len(answer) < 1000


@chatting.needs_tmux
def test_7_a_chat_is_renamed_and_exported(
    with_keys: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = with_keys.installed.folder / "bin" / "python"
    monkeypatch.setattr(chatting, "COMMAND", [str(python), "-m", "interlingua", "chat"])
    variables = {**with_keys.variables, "PYTHONPATH": "", "INTERLINGUA_HOME": str(with_keys.home)}
    with chatting.terminal(with_keys.home, "-m", "gpt-5", **variables) as screen:
        screen.wait("gpt-5>")
        screen.type("Hello.")
        screen.wait("heard: Hello.")
        screen.type("/rename First words")
        screen.type("/export md")
        screen.wait(".md", times=1)
        screen.type("/quit")
        assert screen.ended() == 0
    (export,) = with_keys.home.glob("*.md")
    assert "heard: Hello." in export.read_text(encoding="utf-8")
    listed = with_keys.types(f"INTERLINGUA_HOME={with_keys.home} interlingua sessions list")
    assert "First words" in listed.out


def test_8_every_page_is_reached_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "(docs/getting-started.md)" in readme
    assert "(docs/README.md)" in readme


KIND = """
import interlingua as il

try:
    il.convert({}, source="anthropic", target="gemini", kind="foo")
except il.InterlinguaError as error:
    print(error)
"""


def test_9_small_ones(with_keys: Terminal, quick: Terminal) -> None:
    missing = with_keys.types("interlingua rules show nothere.toml", code=1)
    assert "nothere.toml" in missing.err
    assert len(missing.err.strip().splitlines()) == 1

    with nothing_there() as url:
        wrong = with_keys.types(f'OPENAI_BASE_URL={url} interlingua chat -m gpt-5 "hi"', code=1)
    assert url in wrong.err

    settings = '[routes.fast]\nmodel = "anthropic:claude-haiku-4-5"\n'
    folder = with_keys.home / ".config" / "interlingua"
    folder.mkdir(parents=True)
    (folder / "gateway.toml").write_text(settings)
    with_keys.types("interlingua keys issue laptop --model fast")

    assert "unknown kind 'foo'" in with_keys.runs(KIND).out
    demo = with_keys.types("interlingua demo --all").out
    assert all(f"\n{name}: " in demo for name in ("openai-chat", "anthropic", "gemini", "bedrock"))
    helped = with_keys.types("interlingua --help").out
    assert "module" not in helped.split("Options:")[0]
    with_keys.writes("bad.json", '{"model": ')
    bad = with_keys.types("interlingua convert bad.json --to gemini", code=1)
    assert "bad.json" in bad.err
    shown = with_keys.runs("import interlingua as il\nhelp(il.convert)\nprint(dir(il))").out
    assert "target" in shown
    assert re.search(r"'convert'", shown)
