"""`interlingua chat "question"`: the real command against a provider on loopback."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.store.base import Store
from tests.agents.chat.provider import ANTHROPIC, KEY, ODD, OPENAI, Provider
from tests.cli.chatting import COMMAND, chat, variables


@pytest.fixture
def provider(home: Path) -> Iterator[Provider]:
    with Provider() as served:
        served.configure(home)
        yield served


def test_the_text_alone_goes_into_a_pipe(provider: Provider, home: Path) -> None:
    done = chat(home, "-m", ANTHROPIC, "think")
    assert (done.returncode, done.stdout) == (0, "Thought.\n")
    assert "Hm, let me think." in done.stderr
    hidden = chat(home, "-m", ANTHROPIC, "--hide-thinking", "think")
    assert (hidden.stdout, hidden.stderr) == ("Thought.\n", "")


def test_a_pipe_gets_the_text_as_the_model_wrote_it(provider: Provider, home: Path) -> None:
    done = chat(home, "-m", ANTHROPIC, "odd")
    assert done.stdout == f"{ODD}\n"


def test_what_is_piped_in_follows_the_question(provider: Provider, home: Path) -> None:
    assert chat(home, "-m", ANTHROPIC, "sum", "up", piped="a long text\n").returncode == 0
    (message,) = provider.requests[0]["messages"]
    assert [part["text"] for part in message["content"]] == ["sum up", "a long text\n"]
    done = chat(home, "-m", ANTHROPIC, piped="only this")
    assert done.stdout == "Answer 2 to: only this\n"


def test_files_are_attached(provider: Provider, home: Path) -> None:
    (home / "cat.png").write_bytes(b"\x89PNG of a cat")
    (home / "notes.md").write_text("some notes")
    done = chat(home, "-m", ANTHROPIC, "-a", "cat.png", "-a", "notes.md", "what is it?")
    assert done.returncode == 0, done.stderr
    kinds = [part["type"] for part in provider.requests[0]["messages"][0]["content"]]
    assert kinds == ["image", "document", "text"]
    missing = chat(home, "-m", ANTHROPIC, "-a", "gone.png", "what is it?")
    assert missing.returncode == 1
    assert missing.stderr == "interlingua: attachment gone.png: No such file or directory\n"
    assert len(provider.requests) == 1


def test_a_session_goes_on_by_last_or_by_the_beginning_of_its_id(
    provider: Provider, home: Path, store: Store
) -> None:
    chat(home, "-m", ANTHROPIC, "-s", "Be brief.", "one")
    chat(home, "-c", "two")
    (row,) = store.sessions()
    chat(home, "-r", row.id[:20].lower(), "three")
    assert provider.requests[2]["system"] == "Be brief."
    texts = [m["content"][0]["text"] for m in provider.requests[2]["messages"]]
    assert texts == ["one", "Answer 1 to: one", "two", "Answer 2 to: two", "three"]
    assert store.session(row.id).message_count == 7
    assert store.session(row.id).name == "one"
    assert chat(home, "-r", "zzz", "four").returncode == 1


def test_the_model_is_changed_in_the_middle_and_what_is_lost_is_reported(
    provider: Provider, home: Path, store: Store
) -> None:
    chat(home, "-m", ANTHROPIC, "think")
    done = chat(home, "-c", "-m", OPENAI, "and now?")
    assert done.stdout == "Answer 2 to: and now?\n"
    assert "losses for openai-chat: 1 dropped" in done.stderr
    models = [m.metadata.model for m in store.messages(store.sessions()[0].id)]
    assert models == [None, ANTHROPIC, None, OPENAI]
    again = chat(home, "-c", "once more")
    assert again.returncode == 0
    assert len(provider.requests[2]["messages"]) == 5
    assert "system" not in provider.requests[2], "the choice holds: it is still the other model"


def test_one_message_can_go_to_another_model(provider: Provider, home: Path, store: Store) -> None:
    chat(home, "-m", ANTHROPIC, "one")
    done = chat(home, "-c", f"@{OPENAI} two")
    assert done.stdout == "Answer 2 to: two\n"
    assert OPENAI in done.stderr
    assert chat(home, "-c", "three").returncode == 0
    models = [m.metadata.model for m in store.messages(store.sessions()[0].id)]
    assert models == [None, ANTHROPIC, None, OPENAI, None, ANTHROPIC]


def test_nothing_is_stored_where_that_is_asked_for(
    provider: Provider, home: Path, store: Store
) -> None:
    chat(home, "-m", ANTHROPIC, "one")
    done = chat(home, "-c", "--no-store", "two")
    assert done.stdout == "Answer 2 to: two\n"
    assert len(provider.requests[1]["messages"]) == 3
    (row,) = store.sessions()
    assert row.message_count == 2
    alone = chat(home, "--no-store", "-m", ANTHROPIC, "fail")
    assert alone.returncode == 1
    assert len(store.sessions()) == 1


def test_the_answer_as_json_is_the_message_as_it_is_stored(
    provider: Provider, home: Path, store: Store
) -> None:
    done = chat(home, "-m", ANTHROPIC, "--json", "hello")
    message = il.loads(done.stdout, il.Message)
    assert message == store.messages(store.sessions()[0].id)[-1]
    assert message.text == "Answer 1 to: hello"


def test_an_answer_has_to_fit_the_schema(provider: Provider, home: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (home / "s.json").write_text(json.dumps({**schema, "additionalProperties": False}))
    model = ["-m", "anthropic:claude-sonnet-4-6"]
    good = chat(home, *model, "--schema", "s.json", 'json {"n": 7}')
    assert (good.returncode, json.loads(good.stdout)) == (0, {"n": 7}), good.stderr
    asked = provider.requests[0]["output_config"]["format"]
    assert asked["schema"]["properties"] == {"n": {"type": "integer"}}
    bad = chat(home, *model, "--schema", "s.json", 'json {"n": "seven"}')
    assert bad.returncode == 1
    assert "structured output, at $.n" in bad.stderr
    (home / "broken.json").write_text("{")
    assert "schema broken.json" in chat(home, *model, "--schema", "broken.json", "x").stderr


def test_tools_read_files_of_the_folder(provider: Provider, home: Path) -> None:
    (home / "a.txt").write_text("the file's text")
    done = chat(home, "-m", ANTHROPIC, "--tools", "read a.txt")
    assert done.stdout == "Answer 2 to: read a.txt\n"
    assert '→ read_file {"path":"a.txt"}' in done.stderr
    assert "← the file's text" in done.stderr
    tools = [tool["name"] for tool in provider.requests[0]["tools"]]
    assert tools == ["read_file", "list_files", "write_file"]


def test_servers_of_the_users_file_bring_their_tools(provider: Provider, home: Path) -> None:
    pytest.importorskip("mcp", reason="needs the extra mcp")
    script = Path(__file__).parents[1] / "tools" / "mcp_server.py"
    server = {"command": sys.executable, "args": [str(script), "stdio"]}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"test": server}}))
    done = chat(home, "-m", ANTHROPIC, "--tools", "echo hello there")
    assert done.stdout == "Answer 2 to: echo hello there\n", done.stderr
    assert "← hello there" in done.stderr
    assert "echo" in [tool["name"] for tool in provider.requests[0]["tools"]]
    (home / "mcp.json").write_text("{}")
    broken = chat(home, "-m", ANTHROPIC, "--tools", "echo hello")
    assert broken.returncode == 1
    assert "mcp.json, at $.mcpServers: expected an object" in broken.stderr


def test_nothing_is_written_where_nobody_can_be_asked(provider: Provider, home: Path) -> None:
    command = [*COMMAND, "-m", ANTHROPIC, "--tools", "write b.txt"]
    # Without a terminal at all, not even one behind the pipes.
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=variables(home),
        cwd=home,
        timeout=60,
        start_new_session=True,
    )
    assert done.returncode == 0
    assert "denied, as it needs confirmation and there is no terminal" in done.stderr
    assert not (home / "b.txt").exists()


@pytest.mark.parametrize(("words", "kept"), [("fail", ""), ("break", "Answer 1 to: break")])
def test_a_failed_call_says_so_in_one_line_and_keeps_what_arrived(
    provider: Provider, home: Path, store: Store, words: str, kept: str
) -> None:
    done = chat(home, "-m", ANTHROPIC, words)
    assert done.returncode == 1
    assert done.stdout == (f"{kept}\n" if kept else "")
    problem, *where = done.stderr.strip().split("\n")
    assert problem.startswith(f"interlingua: {ANTHROPIC}: ")
    assert KEY not in done.stderr
    if not kept:  # nothing arrived: there is nothing to continue
        assert not where
        assert not store.sessions()
        return
    (row,) = store.sessions()
    assert where == [f"the conversation is stored: continue with -r {row.id}"]
    last = store.messages(row.id)[-1]
    assert (last.text, last.metadata.status) == (kept, il.MessageStatus.ERROR)


def test_a_missing_key_names_the_variables(home: Path) -> None:
    done = chat(home, "-m", "sonnet", "hello")
    assert done.returncode == 1
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [[], ["-c", "-r", "x", "q"], ["--dialect", "klingon", "q"], ["--schema", "gone.json", "q"]],
)
def test_wrong_usage_is_exit_code_2(home: Path, arguments: list[str]) -> None:
    done = chat(home, *arguments)
    assert done.returncode == 2, done.stderr
    assert not (home / "interlingua.db").exists()


def test_an_unknown_model_leaves_no_session_behind(home: Path, store: Store) -> None:
    done = chat(home, "-m", "sonet", "hello")
    assert done.returncode == 1
    assert "did you mean sonnet" in done.stderr
    assert store.sessions() == []
    done = chat(home, "@nobody hello")
    assert done.returncode == 1
    assert "no model or alias is called 'nobody'" in done.stderr
    assert store.sessions() == []


def test_the_interrupt_keeps_the_part_that_arrived_and_hangs_up(
    provider: Provider, home: Path, store: Store
) -> None:
    with subprocess.Popen(
        [*COMMAND, "-m", ANTHROPIC, "slow"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables(home),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        seen = running.stdout.read(20)
        running.send_signal(signal.SIGINT)
        rest, collected = running.stdout.read(), running.stderr.read().decode()
        assert running.wait(20) == 130
    assert (seen + rest).startswith(b"w0 w1 w2 ")
    (row,) = store.sessions()
    assert row.id in collected
    message = store.messages(row.id)[-1]
    assert message.metadata.status is il.MessageStatus.CANCELLED
    assert message.text.split() == (seen + rest).decode().split()
    assert provider.left.wait(5)
    types = [event.type for event in store.events(row.id)]
    assert types[-2:] == ["llm.call_failed", "turn.cancelled"]


def test_a_reader_that_leaves_stops_the_answer_without_a_traceback(
    provider: Provider, home: Path, store: Store
) -> None:
    with subprocess.Popen(
        [*COMMAND, "-m", ANTHROPIC, "slow"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=variables(home),
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        result = running.stderr.read().decode()
        assert running.wait(20) == 1
    assert "Traceback" not in result
    assert "Exception" not in result
    assert provider.left.wait(5)
    last = store.messages(store.sessions()[0].id)[-1]
    assert last.metadata.status is il.MessageStatus.CANCELLED


def test_a_killed_chat_left_what_had_arrived_and_goes_on(
    provider: Provider, home: Path, store: Store
) -> None:
    with subprocess.Popen(
        [*COMMAND, "-m", ANTHROPIC, "slow"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env=variables(home),
    ) as running:
        assert running.stdout is not None
        running.stdout.read(200)
        running.kill()
        running.wait(20)
    (row,) = store.sessions()
    partial = store.messages(row.id)[-1]
    assert partial.metadata.status is il.MessageStatus.PARTIAL
    assert partial.text.startswith("w0")
    done = chat(home, "-c", "still there?")
    assert done.stdout == "Answer 2 to: still there?\n"
    stored = store.messages(row.id)[1]
    assert stored.metadata.status is il.MessageStatus.ERROR
    assert stored.text == partial.text


# Requests that are not sent


def test_a_dry_run_prints_the_request_sends_nothing_and_stores_nothing(
    provider: Provider, home: Path, store: Store
) -> None:
    chat(home, "-m", ANTHROPIC, "one")
    done = chat(home, "-c", "--dry-run", "two")
    assert done.returncode == 0
    head, _, body = done.stdout.partition("\n\n")
    lines = head.split("\n")
    assert lines[0] == f"POST {provider.url}/v1/messages"
    assert "x-api-key: ***" in lines
    assert KEY not in done.stdout + done.stderr
    assert len(provider.requests) == 1
    assert store.sessions()[0].message_count == 2
    sent = chat(home, "-c", "two")
    assert sent.returncode == 0
    assert json.loads(body) == provider.requests[1], "what is sent is what was shown"
    shown = dict(line.split(": ", 1) for line in lines[1:])
    real = {name: provider.headers[1][name] for name in shown}
    assert {**real, "x-api-key": "***"} == shown


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("anthropic:claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
        ("openai:gpt-4.1", "OPENAI_API_KEY"),
        ("gemini:gemini-2.5-flash", "GEMINI_API_KEY"),
        ("openrouter:meta/llama", "OPENROUTER_API_KEY"),
        ("mistral:mistral-large-2512", "MISTRAL_API_KEY"),
    ],
)
def test_a_dry_run_shows_no_secret(home: Path, model: str, variable: str) -> None:
    secret = "sk-canary-0123456789abcdef"
    for form in ([], ["--json"]):
        done = chat(home, "-m", model, "--dry-run", *form, f"say {secret}", **{variable: secret})
        assert done.returncode == 0, done.stderr
        assert "***" in done.stdout
        assert secret not in done.stdout + done.stderr


def test_a_dry_run_works_without_a_key_and_for_the_model_in_the_box(home: Path) -> None:
    done = chat(home, "-m", "sonnet", "--dry-run", "--json", "hello")
    parsed = json.loads(done.stdout)
    assert parsed["url"] == "https://api.anthropic.com/v1/messages"
    assert parsed["body"]["messages"][0]["content"][0]["text"] == "hello"
    assert "ANTHROPIC_API_KEY" in done.stderr
    boxed = chat(home, "--dry-run", "hello")
    assert boxed.stdout.startswith("POST http://127.0.0.1/v1/chat/completions\n")
    assert not (home / "local").exists(), "nothing was started or fetched"


def test_convert_starts_without_any_of_this() -> None:
    code = (
        "import sys; import interlingua.cli.main as m; m.commands(); m.module_of('convert');"
        "print([n for n in sys.modules if n.startswith(('aiohttp', 'prompt_toolkit', 'asyncio',"
        " 'interlingua.agents.chat', 'interlingua.client', 'interlingua.sessions'))])"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stderr
    assert time.monotonic() - begun < 30


def test_models_that_can_be_used_now_are_those_with_a_key(home: Path) -> None:
    command = [sys.executable, "-m", "interlingua", "models", "--now", "--json"]
    seen = subprocess.run(
        command, env=variables(home, MISTRAL_API_KEY="k"), capture_output=True, check=True
    )
    providers = {model["provider"] for model in json.loads(seen.stdout)["models"]}
    assert {"mistral", "local"} <= providers
    assert not providers & {"anthropic", "openai", "gemini", "groq"}


def test_a_global_default_is_recorded_as_one(provider: Provider, home: Path) -> None:
    (home / "rules.toml").write_text(f'schema_version = 1\ndefault = "{ANTHROPIC}"\n')
    done = chat(home, "hello", "--store", str(home / "own.db"))
    assert done.returncode == 0, done.stderr
    with il.open_store(f"sqlite:///{home}/own.db") as store:
        (row,) = store.sessions()
        (decided,) = store.events(row.id, 0, 10, ["route.decided"])
    assert decided.payload["chain"][-1]["policy"] == "global_default"


class OneDown(Provider):
    """Is overloaded for one model."""

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        if wire["model"] == OPENAI.partition(":")[2]:
            self.requests.append(wire)
            handler.send_response(503)
            handler.send_header("content-length", "0")
            handler.end_headers()
            return
        super().answer(handler, dialect, wire)


def test_a_route_asks_its_pool_and_then_its_fallbacks(home: Path, store: Store) -> None:
    """As `/v1` does: for `-m`, for one message with `@`, for the default, and when resumed."""
    down, up = OPENAI.partition(":")[2], ANTHROPIC.partition(":")[2]
    with OneDown() as provider:
        provider.configure(home)
        (home / "gateway.toml").write_text(
            f'default_model = "sure"\n[routes.sure]\nmodel = "{OPENAI}"\n'
            f'fallbacks = ["{ANTHROPIC}"]\nretries = 0\n'
            f'[routes.pool]\nmodels = [{{model = "{OPENAI}"}}, {{model = "{ANTHROPIC}"}}]\n'
        )
        first = [(), ("-m", "sure"), ("-m", "pool")]
        for arguments in (*first, ("-c",)):
            provider.requests.clear()
            done = chat(home, *arguments, "hi")
            assert (done.returncode, provider.requests[-1]["model"]) == (0, up), done.stderr
            answer = list(store.messages(store.sessions()[0].id))[-1]
            assert answer.metadata.model == ANTHROPIC, "the one that answered"
        provider.requests.clear()
        assert chat(home, "-m", OPENAI, "hi").returncode != 0, "a model alone"
        assert {wire["model"] for wire in provider.requests} == {down}
        assert chat(home, "-m", OPENAI, "@sure hi").returncode == 0
