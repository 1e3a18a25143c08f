"""`interlingua chat` with the bundled local model, on a machine where nothing is configured."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

import interlingua as il
from interlingua import local
from interlingua.local.model import VARIABLE
from interlingua.store.base import Store
from tests.cli.chatting import chat, needs_tmux, terminal
from tests.local.conftest import folder, server, weights

__all__ = ["folder", "server", "weights"]

MODEL = "local:smollm2-135m-instruct"
GREEDY = ("--temperature", "0", "--max-tokens", "12")
SYSTEM = "You are a helpful AI assistant."


@pytest.fixture(scope="session")
def box(request: pytest.FixtureRequest) -> dict[str, str]:
    """The variable that names the weights, which are kept between runs."""
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    assert request.config.cache is not None
    try:
        return {VARIABLE: str(local.weights_path(request.config.cache.mkdir("local")))}
    except local.WeightsError as missing:
        pytest.skip(f"the weights cannot be had here: {missing}")


def test_a_fresh_machine_talks_to_it_in_three_dialects_of_one_session(
    home: Path, store: Store, box: dict[str, str]
) -> None:
    first = chat(home, *GREEDY, "-s", SYSTEM, "What is the capital of France?", **box)
    assert first.returncode == 0, first.stderr
    assert "Paris" in first.stdout
    for dialect in ("openai-responses", "anthropic"):
        done = chat(home, "-c", *GREEDY, "--dialect", dialect, "And of Italy?", **box)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
    (row,) = store.sessions()
    answers = [m for m in store.messages(row.id) if m.role is il.Role.ASSISTANT]
    dialect_name = [m.metadata.protocol for m in answers]
    assert dialect_name == ["openai-chat", "openai-responses", "anthropic"]
    assert {m.metadata.model for m in answers} == {MODEL}
    assert all(m.metadata.usage and m.metadata.usage.output_tokens for m in answers)


@pytest.fixture
def running(home: Path, server: local.LocalServer, folder: Path) -> None:
    """A server that runs already, and that a chat will find."""
    shutil.copytree(folder, home / "local", ignore=shutil.ignore_patterns("*.lock"))


@pytest.mark.usefixtures("running")
def test_its_answers_fit_a_schema(home: Path, box: dict[str, str]) -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}},
        "required": ["city"],
        "additionalProperties": False,
    }
    home.mkdir(exist_ok=True)
    (home / "s.json").write_text(json.dumps(schema))
    greedy = (*GREEDY[:-1], "24")
    done = chat(home, *greedy, "--schema", "s.json", "The capital of Italy, as JSON.", **box)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["city"] in ("Paris", "Rome")


@needs_tmux
@pytest.mark.usefixtures("running")
def test_it_is_stopped_and_resumed_in_a_terminal(
    home: Path, store: Store, box: dict[str, str]
) -> None:
    home.mkdir(exist_ok=True)
    with terminal(home, **box) as shown:
        assert shown.wait("local>").startswith(f"{MODEL} · new session")
        shown.type("Tell me a very long story about a river, a mill and a cat.")
        end = time.monotonic() + 40
        while not (store.sessions() and store.sessions()[0].message_count > 1):
            assert time.monotonic() < end, shown.screen()
            time.sleep(0.05)
        shown.press("C-c")
        shown.wait("stopped; the part that arrived is stored")
        shown.press("C-d")
        assert shown.ended() == 0
    (row,) = store.sessions()
    cancelled = store.messages(row.id)[-1]
    assert cancelled.metadata.status is il.MessageStatus.CANCELLED
    with terminal(home, "-c", *GREEDY, **box) as shown:
        shown.wait("> Tell me a very long story")
        shown.wait("local>")
        shown.type("Say hello.")
        shown.wait(f"{MODEL} · ")
        shown.wait(" out · ")
    assert store.session(row.id).message_count == 4
