"""Providers are asked what their models take; what they say is a file of rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from interlingua.client.refresh import RefreshError, listed_rules
from interlingua.profiles.overlay import own_profiles
from interlingua.providers import provider
from tests.cli.running import run, told
from tests.client.lists import claude
from tests.loopback import Loopback, body_of, reply


class Script:
    """Answers by path and query, and what was asked."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[tuple[str, Script]]:
    """A server on loopback: `GET /path?query` to a body, or to (status, body)."""
    script = Script(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = body_of(self)
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append((self.command, self.path, headers, body))
            answer = script.answers.get(f"{self.command} {self.path}", (404, {"error": "no"}))
            if callable(answer):
                answer = answer(json.loads(body))
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            reply(self, data, status=status)

        do_POST = do_GET  # noqa: N815  # the library's name

    with Loopback(Handler) as server:
        yield server.url, script


def test_a_list_of_several_pages_is_asked_for_with_the_key() -> None:
    pages = {
        "GET /v1/models?limit=1000": {"data": [claude("a-1")], "has_more": True, "last_id": "a/1"},
        "GET /v1/models?limit=1000&after_id=a%2F1": {"data": [claude("b-1")], "has_more": False},
    }
    with serving(pages) as (url, script):
        environ = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k-123"}
        rules = asyncio.run(listed_rules(provider("anthropic"), environ))
    assert [rule.models for rule in rules] == [("a-1",), ("b-1",)]
    assert all(headers["x-api-key"] == "k-123" for _, _, headers, _ in script.asked)
    assert all("anthropic-version" in headers for _, _, headers, _ in script.asked)


def test_ollama_is_asked_about_each_of_its_models() -> None:
    answers = {
        "GET /api/tags": {"models": [{"name": "a:1", "model": "a:1"}, {"name": "b:2"}]},
        "POST /api/show": lambda asked: {
            "capabilities": ["completion", "tools"] if asked["model"] == "a:1" else ["completion"]
        },
    }
    with serving(answers) as (url, script):
        rules = asyncio.run(listed_rules(provider("ollama"), {"OLLAMA_HOST": url}))
    assert [rule.tools.calls for rule in rules if rule.tools] == [True, False]
    assert [method for method, _, _, _ in script.asked] == ["GET", "POST", "POST"]


def test_gemini_pages_go_on_by_token_and_bedrock_is_signed(tmp_path: Path) -> None:
    entry = {"name": "models/gemini-9", "inputTokenLimit": 7}
    pages = {
        "GET /models?pageSize=1000": {"models": [entry], "nextPageToken": "t+1"},
        "GET /models?pageSize=1000&pageToken=t%2B1": {"models": [{**entry, "name": "models/g-8"}]},
        "GET /foundation-models": {
            "modelSummaries": [{"modelId": "amazon.nova-9-v1:0", "inputModalities": ["TEXT"]}]
        },
    }
    with serving(pages) as (url, script):
        environ = {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "k"}
        assert len(asyncio.run(listed_rules(provider("gemini"), environ))) == 2
        file = tmp_path / "providers.toml"
        file.write_text(f'[providers.bedrock]\nbase_url = "{url}"\nmodels = "/foundation-models"\n')
        secrets = {"AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s"}
        aws = {"AWS_REGION": "eu-west-1", **secrets}
        assert len(asyncio.run(listed_rules(provider("bedrock", file), aws))) == 1
    assert script.asked[-1][2]["authorization"].startswith("AWS4-HMAC-SHA256")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"error": "bad key"}), "answered with status 401"),
        (b"<html>", "the response is not JSON"),
        ([1], "the response is not a JSON object"),
        ({"models": []}, "no list 'data' in the answer"),
    ],
)
def test_what_is_no_list_is_an_error(answer: Any, said: str) -> None:
    with serving({"GET /models": answer}) as (url, _):
        environ = {"MISTRAL_BASE_URL": url, "MISTRAL_API_KEY": "k"}
        with pytest.raises(RefreshError, match=f"provider 'mistral': .*{said}"):
            asyncio.run(listed_rules(provider("mistral"), environ))


def test_a_provider_that_is_not_there_or_says_only_names_is_an_error() -> None:
    with serving({}) as (url, _):
        pass
    with pytest.raises(RefreshError, match="request failed"):
        asyncio.run(listed_rules(provider("ollama"), {"OLLAMA_HOST": url}))
    with pytest.raises(RefreshError, match="has only names"):
        asyncio.run(listed_rules(provider("openai"), {}))


def test_the_command_keeps_what_it_was_told_and_shows_where_it_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    answer = {"data": [claude("claude-opus-4-6")], "has_more": False}
    with serving({"GET /v1/models?limit=1000": answer}) as (url, _):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        result = run("models", "--refresh", "anthropic")
        assert result.exit_code == 0, result.stderr
        assert "limits.output" in result.stdout
        assert "claude-output-128k" in result.stdout
        both = told("models", "--refresh", "anthropic")
    assert both["file"] == str(tmp_path / "profiles" / "anthropic.toml")
    assert {"model": "claude-opus-4-6", "field": "limits.output"}.items() <= next(
        each for each in both["differences"] if each["field"] == "limits.output"
    ).items()
    found = own_profiles().of("claude-opus-4-6", "anthropic", "anthropic")
    assert found.limits.output == 64_000
