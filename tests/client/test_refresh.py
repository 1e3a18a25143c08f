"""Providers are asked what their models take; what they say is a file of rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from interlingua.client.refresh import RefreshError, listed_rules
from interlingua.profiles.overlay import own_profiles
from interlingua.profiles.profile import Profile, Profiles
from interlingua.profiles.provider_lists import as_toml, rules_from_list
from interlingua.profiles.reading import read_rules
from interlingua.providers import provider
from tests.cli.running import run, told
from tests.loopback import STOPS_WITHIN

YES, NO = {"supported": True}, {"supported": False}


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
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            script.asked.append((self.command, self.path, headers, body))
            answer = script.answers.get(f"{self.command} {self.path}", (404, {"error": "no"}))
            if callable(answer):
                answer = answer(json.loads(body))
            status, content = answer if isinstance(answer, tuple) else (200, answer)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(STOPS_WITHIN,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def claude(id: str, **changed: Any) -> dict[str, Any]:
    """An entry of Anthropic's list."""
    types = {"adaptive": YES, "enabled": NO, "disabled": NO, "between_tools": YES}
    efforts = {"low": YES, "medium": YES, "high": YES, "xhigh": NO, "max": YES}
    able = {
        "image_input": YES,
        "pdf_input": NO,
        "structured_outputs": YES,
        "effort": {**YES, **efforts},
        "thinking": {**YES, "types": types},
    }
    tokens = {"max_tokens": 64_000, "max_input_tokens": 500_000}
    return {"id": id, "type": "model", "capabilities": able, **tokens, **changed}


def one(key: str, *entries: dict[str, Any], model: str) -> Profile:
    """The profile that a list makes, with nothing under it."""
    return Profiles(rules_from_list(key, entries, "2026-11-17")).of(model, key)


def test_anthropic_tells_efforts_ways_of_thinking_media_and_limits() -> None:
    found = one("anthropic", claude("claude-opus-7"), model="claude-opus-7-20270101")
    assert found.reasoning.efforts == ("low", "medium", "high", "max")
    assert found.reasoning.carrier == "adaptive"
    assert (found.reasoning.off, found.reasoning.off_as) == (False, "between_tools")
    assert (found.media.image, found.media.pdf) == (True, False)
    assert (found.limits.output, found.limits.context) == (64_000, 500_000)
    assert found.output.schema == "native"
    rule = found.rule("limits.output")
    assert rule is not None
    assert (rule.id, rule.sure, rule.since) == (
        "anthropic says of claude-opus-7",
        "told",
        "2026-11-17",
    )


def test_ollama_tells_tools_pictures_and_thinking_of_each_tag() -> None:
    plain = {"model": "qwen3:8b", "capabilities": ["completion", "tools", "thinking"]}
    seeing = {"model": "qwen3:vl", "capabilities": ["completion", "vision"]}
    window = {"model_info": {"qwen3.context_length": 40_960}}
    found = one("ollama", {**plain, **window}, seeing, model="qwen3:8b")
    assert (found.tools.calls, found.media.image) == (True, False)
    assert found.reasoning.carrier == "toggle"
    assert found.limits.context == 40_960
    other = one("ollama", {**plain, **window}, seeing, model="qwen3:vl")
    assert (other.tools.calls, other.media.image) == (False, True)
    assert other.reasoning.carrier == "none"


def test_gemini_tells_limits_and_whether_it_thinks() -> None:
    flash = {
        "name": "models/gemini-9-flash",
        "inputTokenLimit": 1000,
        "outputTokenLimit": 100,
        "maxTemperature": 2.0,
        "thinking": False,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }
    drawing = {"name": "models/imagen-9", "supportedGenerationMethods": ["predict"]}
    found = one("gemini", drawing, flash, model="gemini-9-flash")
    assert (found.limits.context, found.limits.output) == (1000, 100)
    assert found.sampling.temperature_range == (0, 2)
    assert found.reasoning.carrier == "none"
    assert len(rules_from_list("gemini", [drawing, flash], "x")) == 1


def test_openrouter_tells_which_parameters_a_model_takes() -> None:
    entry = {
        "id": "acme/large-2",
        "context_length": 9000,
        "top_provider": {"max_completion_tokens": None},
        "architecture": {"input_modalities": ["text", "image", "file"]},
        "supported_parameters": ["temperature", "tools", "reasoning", "response_format"],
        "reasoning": {"mandatory": True, "supported_efforts": ["high", "low"]},
    }
    found = one("openrouter", entry, model="acme/large-2:nitro")
    assert (found.sampling.temperature, found.sampling.top_k) == ("always", "never")
    assert found.tools.choice == ("auto",)
    assert found.output.schema == "json"
    assert found.reasoning.efforts == ("low", "high")
    assert (found.reasoning.off, found.reasoning.off_as) == (False, "lowest")
    assert (found.media.image, found.media.audio, found.media.pdf) == (True, False, True)
    assert (found.limits.output, found.limits.stop) == (None, 0)


def test_mistral_groq_and_bedrock_tell_what_they_do() -> None:
    able = {"completion_chat": True, "function_calling": True, "vision": False, "reasoning": False}
    entry = {"id": "mistral-x-2611", "aliases": ["mistral-x-latest"], "capabilities": able}
    found = one("mistral", entry, model="mistral-x-latest")
    assert (found.tools.calls, found.media.image) == (True, False)
    assert found.reasoning.carrier == "none"
    window = {"id": "acme/m", "context_window": 10, "max_completion_tokens": 5}
    assert one("groq", window, model="acme/m").limits.output == 5
    nova = {"modelId": "amazon.nova-9-v1:0", "inputModalities": ["TEXT", "IMAGE"]}
    found = one("bedrock", nova, model="eu.amazon.nova-9-v1:0")
    assert (found.media.image, found.media.video) == (True, False)


@pytest.mark.parametrize("key", ["anthropic", "bedrock", "gemini", "groq", "mistral", "ollama"])
def test_entries_that_say_nothing_or_nonsense_make_no_rule(key: str) -> None:
    name = {"id": "m", "name": "m", "model": "m", "modelId": "m"}
    odd = {"capabilities": 3, "max_tokens": "x", "context_window": -1, "inputTokenLimit": True}
    assert rules_from_list(key, [None, 3, {}, name, {**name, **odd}], "x") == []


def test_told_rules_are_a_file_that_is_read_again() -> None:
    rules = rules_from_list(
        "anthropic", [claude('odd"\\ name\n'), claude("claude-x-1")], "2026-11-17"
    )
    assert list(read_rules(as_toml(rules, "a\nb").encode(), "f")) == rules


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
    with pytest.raises(RefreshError, match="no more than their names"):
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
