"""Which models can be asked now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import msgspec
import pytest

from interlingua.client.targets import Targets, askable
from interlingua.providers.read import providers
from tests.loopback import Loopback, reply

NOBODY = "http://127.0.0.1:9"
TAGS = {"models": [{"name": "mine:7b", "model": "mine:7b"}, {"model": "llama3.2:1b"}]}


@pytest.fixture(autouse=True)
def _forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.client.targets._cache", {})


@contextmanager
def listing(body: object, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server with one list, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            reply(self, msgspec.json.encode(body), status=status)

    with Loopback(Handler) as server:
        yield server.url, asked


def of(ids: list[str]) -> set[str]:
    return {id.partition(":")[0] for id in ids}


def test_models_of_providers_with_a_key_can_be_asked_and_no_others() -> None:
    found = askable(Targets(environ={"OPENAI_API_KEY": "k", "OLLAMA_HOST": NOBODY}))
    assert "openai:gpt-5" in found
    assert of(found) <= {"openai", "local"}


def test_a_key_that_a_program_gives_counts() -> None:
    found = askable(Targets(environ={"OLLAMA_HOST": NOBODY}, keys={"anthropic": "k"}))
    assert "anthropic:claude-sonnet-4-6" in found


def test_a_key_without_the_rest_of_an_address_does_not() -> None:
    environ = {"GOOGLE_OAUTH_ACCESS_TOKEN": "k", "OLLAMA_HOST": NOBODY}
    assert "vertex" not in of(askable(Targets(environ=environ)))
    assert "vertex" in of(askable(Targets(environ={**environ, "GOOGLE_CLOUD_PROJECT": "p"})))


def test_an_ollama_has_what_it_says_and_is_asked_once_in_a_while() -> None:
    with listing(TAGS) as (url, asked):
        targets = Targets(environ={"OLLAMA_HOST": url})
        for _ in range(3):
            ollama = [id for id in askable(targets) if id.startswith("ollama:")]
            assert ollama == ["ollama:mine:7b", "ollama:llama3.2:1b"]
        assert asked == ["/api/tags"]


@pytest.mark.parametrize(("body", "status"), [("no list", 200), (TAGS, 500), ([1], 200)])
def test_a_server_that_tells_nothing_has_nothing(body: object, status: int) -> None:
    with listing(body, status) as (url, _):
        assert "ollama" not in of(askable(Targets(environ={"OLLAMA_HOST": url})))


def test_a_server_of_the_users_own_lists_its_models_too() -> None:
    with listing({"object": "list", "data": [{"id": "big"}]}) as (url, _):
        own = msgspec.structs.replace(providers()["ollama"], key="mine", models="/v1/models")
        found = askable(Targets({"mine": own}, environ={}, base_urls={"mine": url}))
        assert found == ["mine:big"]


def test_the_model_in_the_box_is_listed_where_it_can_be_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets = Targets({"local": providers()["local"]}, environ={})
    monkeypatch.setattr("interlingua.client.targets.find_spec", lambda name: object())
    assert askable(targets) == ["local:smollm2-135m-instruct"]
    monkeypatch.setattr("interlingua.client.targets.find_spec", lambda name: None)
    assert askable(targets) == []
