"""Through the gateway each model is asked as it takes it, and what was asked for in another way
comes back as the client wants it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from tests.gateway.loops import ANSWERS, Answered, ScriptedProvider, post

KEYS = {"openai": "k", "anthropic": "k", "gemini": "k"}
USER = {"role": "user", "content": "hi"}
SAID: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [{"type": "text", "text": "ho"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class Listening(ScriptedProvider):
    """Keeps the very bytes, too."""

    def __init__(self, dialect: str, answers: list[Any]) -> None:
        super().__init__(dialect, answers)
        self.bodies: list[bytes] = []
        self.urls: list[str] = []

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        self.bodies.append(request.body)
        self.urls.append(request.url)
        return await super().send(request, limits)


def through(
    provider: ScriptedProvider, path: str, body: Any, routes: dict[str, RouteSettings] | None = None
) -> Any:
    """The status and the answer of one request."""
    urls = {key: f"http://127.0.0.1:9/{key}" for key in KEYS}
    gateway = Gateway(
        Settings(routes=routes or {}, raises=True),
        targets=Targets(keys=KEYS, base_urls=urls, environ={}, profiles=()),
        transport=provider,
    )
    status, data = asyncio.run(post(App(gateway), path, body))
    assert status == 200, data
    return data


def claude(**fields: Any) -> dict[str, Any]:
    return {"model": "claude-opus-4-8", "max_tokens": 99, "messages": [USER], **fields}


@pytest.mark.parametrize(
    "body",
    [
        claude(),
        claude(system="be brief", tools=[{"name": "f", "input_schema": {"type": "object"}}]),
        claude(stop_sequences=["a"], metadata={"user_id": "u"}),
        claude(thinking={"type": "adaptive"}),
        claude(model="claude-sonnet-4-5", temperature=0.5),
    ],
)
def test_what_the_model_takes_goes_on_byte_for_byte(body: dict[str, Any]) -> None:
    provider = Listening("anthropic", [SAID])
    through(provider, "/v1/messages", body)
    assert provider.bodies == [json.dumps(body).encode()]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"temperature": 0.5}, {}),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 9000}},
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "medium"}},
        ),
        ({"max_tokens": 500_000}, {"max_tokens": 128_000}),
        (
            {"messages": [USER, {"role": "assistant", "content": "so"}]},
            {
                "messages": [
                    USER,
                    {"role": "assistant", "content": "so"},
                    {"role": "user", "content": [{"type": "text", "text": "Continue."}]},
                ]
            },
        ),
    ],
)
def test_what_the_model_refuses_is_fitted_and_all_else_stays(
    given: dict[str, Any], told: dict[str, Any]
) -> None:
    beside = {"metadata": {"user_id": "u"}, "beyond_us": {"a": [1]}}
    provider = Listening("anthropic", [SAID])
    through(provider, "/v1/messages", claude(**given, **beside))
    assert provider.asked == [claude(**told, **beside)]


def test_a_route_may_pass_everything_through() -> None:
    provider = Listening("anthropic", [SAID])
    routes = {"raw": RouteSettings("anthropic:claude-opus-4-8", passthrough=True)}
    through(provider, "/v1/messages", claude(model="raw", temperature=0.5), routes)
    assert provider.asked == [claude(temperature=0.5)]


def chat(**fields: Any) -> dict[str, Any]:
    return {"model": "gpt-5.6", "messages": [USER], **fields}


FUNCTION = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


def test_newer_models_of_openai_are_asked_about_tools_in_responses() -> None:
    provider = Listening("openai-responses", ANSWERS["openai-responses"])
    answer = json.loads(through(provider, "/v1/chat/completions", chat(tools=[FUNCTION])))
    assert provider.urls == ["http://127.0.0.1:9/openai/responses"]
    assert answer["object"] == "chat.completion"
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "answer", "schema": {"type": "object", "properties": {}}},
}


@pytest.mark.parametrize("stream", [False, True])
def test_json_that_was_asked_for_by_a_call_comes_back_as_the_answer(stream: bool) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "answer", "input": {"n": 1}}
    provider = Listening("anthropic", [{**SAID, "content": [call], "stop_reason": "tool_use"}])
    provider.stream = stream
    model = "anthropic:claude-sonnet-4-20250514"
    data = through(
        provider,
        "/v1/chat/completions",
        chat(model=model, response_format=FORMAT, stream=stream),
    )
    assert provider.asked[0]["tool_choice"] == {"type": "tool", "name": "answer"}
    text, reason, calls = _heard(data, stream)
    assert (json.loads(text), reason, calls) == ({"n": 1}, "stop", False)


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_that_had_to_be_renamed_is_called_by_its_own_name(stream: bool) -> None:
    named = {"type": "function", "function": {"name": "1st", "parameters": {"type": "object"}}}

    class Answering(Listening):
        async def send(self, request: HttpRequest, limits: Limits) -> Answered:
            (entry,) = json.loads(request.body)["tools"]
            name = entry["functionDeclarations"][0]["name"]
            part = {"functionCall": {"name": name, "args": {}}}
            content = {"role": "model", "parts": [part]}
            self.answers = [{"candidates": [{"content": content, "finishReason": "STOP"}]}]
            assert name != "1st"
            return await super().send(request, limits)

    answering = Answering("gemini", [])
    answering.stream = stream
    body = chat(model="gemini:gemini-2.5-flash", tools=[named], stream=stream)
    data = through(answering, "/v1/chat/completions", body)
    assert b'"1st"' in data
    assert b"_1st_" not in data


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_for_free_text_is_called_with_free_text(stream: bool) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "patch", "input": {"input": "*** Begin"}}
    provider = Listening("anthropic", [{**SAID, "content": [call], "stop_reason": "tool_use"}])
    provider.stream = stream
    body = {
        "model": "anthropic:claude-opus-4-8",
        "input": "patch it",
        "tools": [{"type": "custom", "name": "patch"}],
        "stream": stream,
    }
    data = through(provider, "/v1/responses", body)
    assert b'"custom_tool_call"' in data
    assert b'"function_call"' not in data
    assert b'"*** Begin"' in data


def _heard(data: bytes, stream: bool) -> tuple[str, str | None, bool]:
    """Text, reason to end, and whether anything was called."""
    if not stream:
        choice = json.loads(data)["choices"][0]
        message = choice["message"]
        return message["content"], choice["finish_reason"], bool(message.get("tool_calls"))
    lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: {")]
    choices = [choice for line in lines for choice in json.loads(line)["choices"]]
    text = "".join(choice["delta"].get("content") or "" for choice in choices)
    reasons = [choice["finish_reason"] for choice in choices if choice.get("finish_reason")]
    return text, reasons[-1], any("tool_calls" in choice["delta"] for choice in choices)
