"""Requests of the shapes that coding agents send, which are odder than those of plain SDKs: fields
of their makers' own, tools that only their maker runs, paths beside the well-known ones."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anthropic
import ollama
import openai
import pytest

import interlingua as il
from interlingua.client.targets import Targets
from tests.gateway.sdks.provider import BACKS, CITIES, Upstream, settings, targets
from tests.gateway.sdks.standing import standing

STAINLESS = {
    "x-stainless-lang": "js",
    "x-stainless-retry-count": "0",
    "accept-language": "*",
    "sec-fetch-mode": "cors",
    "accept-encoding": "br, gzip, deflate",
}
"""What SDKs for Node send, from the `fetch` that they are built on too."""
SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "exclusiveMinimum": 0, "default": 1},
    },
    "required": ["city"],
    "additionalProperties": False,
}
HEARD = "I heard: it rains in Paris; it rains in Tromsø"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """What the frames of a stream say."""
        lines = [line[6:] for line in self.body.split(b"\n") if line.startswith(b"data: {")]
        return [json.loads(line) for line in lines]


class Place(NamedTuple):
    url: str
    upstream: Upstream

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Reply:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=20)
        try:
            data = None if body is None else json.dumps(body)
            said = {**STAINLESS, "content-type": "application/json", **(headers or {})}
            connection.request(method, path, data, said)
            reply = connection.getresponse()
            collected = {name.lower(): value for name, value in reply.getheaders()}
            return Reply(reply.status, collected, reply.read())
        finally:
            connection.close()

    def losses(self, reply: Reply) -> list[Any]:
        if reply.headers["x-interlingua-losses"] == "0":
            return []
        report = self.ask("GET", f"/losses/{reply.headers['x-request-id']}").json()
        return [*report["losses"], *report["notes"]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    store = str(tmp_path_factory.mktemp("agents") / "gateway.db")
    with Upstream() as up, standing(settings(store=store), targets(up.url)) as here:
        yield Place(here.url, up)


# -- Anthropic's: Claude Code 2.1 ------------------------------------------------------------------

BETAS = "agent-20250219,interleaved-thinking-2025-05-14,a-beta-of-tomorrow-2027-01-01"
ANTHROPIC_HEADERS = {
    "authorization": "Bearer any",
    "anthropic-version": "2023-06-01",
    "anthropic-beta": BETAS,
    "anthropic-dangerous-direct-browser-access": "true",
    "x-app": "cli",
    "x-stainless-timeout": "600",
}


def agentic(model: str, words: str, **more: Any) -> dict[str, Any]:
    """A first request: thinking that adapts, an effort, edits of the context, a user id that is
    JSON inside JSON, instructions in the middle of the conversation, cache marks everywhere."""
    cached = {"cache_control": {"type": "ephemeral"}}
    return {
        "model": model,
        "max_tokens": 32000,
        "stream": True,
        "system": [{"type": "text", "text": "You work in a terminal.", **cached}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "<note>today is Monday</note>"},
                    {"type": "text", "text": words, **cached},
                ],
            },
            {"role": "system", "content": "Two more agents can be asked."},
            {"role": "user", "content": words},
        ],
        "tools": [{"name": "weather", "description": "Looks out.", "input_schema": SCHEMA}],
        "metadata": {"user_id": '{"device_id":"0011","account_uuid":"","session_id":"22"}'},
        "thinking": {"type": "adaptive"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        **more,
    }


def answered(events: list[Any]) -> list[dict[str, Any]]:
    """The content of a stream of Anthropic's, as a client puts it together."""
    blocks: dict[int, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = {**event["content_block"], "input": ""}
        elif event["type"] == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            for name in ("text", "thinking", "signature"):
                if name in delta:
                    block[name] = block.get(name, "") + delta[name]
            block["input"] += delta.get("partial_json", "")
    made = []
    for block in blocks.values():
        value = block.pop("input")
        made.append({**block, "input": json.loads(value)} if block["type"] == "tool_use" else block)
    return made


def with_results(asked: dict[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    results = [
        {
            "type": "tool_result",
            "tool_use_id": block["id"],
            "content": f"it rains in {block['input']['city']}",
            "is_error": False,
            "cache_control": {"type": "ephemeral"},
        }
        for block in content
        if block["type"] == "tool_use"
    ]
    more = [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    return {**asked, "messages": [*asked["messages"], *more]}


def said(content: list[dict[str, Any]]) -> str:
    return "".join(block.get("text", "") for block in content)


@pytest.mark.parametrize("back", [name for name in BACKS if name != "bedrock"])
def test_an_agent_on_messages_loops_with_tools_on_every_back(place: Place, back: str) -> None:
    asked = agentic(f"back-{back}", "how is the weather")
    first = place.ask("POST", "/v1/messages?beta=true", asked, ANTHROPIC_HEADERS)
    assert first.status == 200, first.body
    content = answered(first.events())
    assert [b["input"]["city"] for b in content if b["type"] == "tool_use"] == list(CITIES)
    second = place.ask(
        "POST", "/v1/messages?beta=true", with_results(asked, content), ANTHROPIC_HEADERS
    )
    assert second.status == 200, second.body
    assert said(answered(second.events())) == HEARD
    seen = place.upstream.asked[-1]
    assert seen.tools[0].input_schema is not None
    assert "city" in seen.tools[0].input_schema["properties"]
    assert any("Two more agents" in message.text for message in seen.messages)
    if back != "anthropic":
        paths = [loss["path"] for loss in place.losses(first)]
        assert "$.raw.anthropic.context_management" not in paths, "the gateway clears by itself"
        ends = [event for event in first.events() if event["type"] == "message_delta"]
        assert ends[-1]["context_management"] == {"applied_edits": []}


def test_betas_reach_anthropic_and_nobody_else(place: Place) -> None:
    place.upstream.clear()
    for back in ("anthropic", "openai-chat"):
        body = agentic(f"back-{back}", "hello")
        assert place.ask("POST", "/v1/messages?beta=true", body, ANTHROPIC_HEADERS).status == 200
    to_anthropic, to_openai = [
        {name.lower(): value for name, value in each.headers} for each in place.upstream.received
    ]
    assert to_anthropic["anthropic-beta"] == BETAS
    assert "anthropic-beta" not in to_openai
    for headers in (to_anthropic, to_openai):
        assert "x-app" not in headers
        assert "any" not in headers.get("authorization", "")


def test_a_stream_that_passes_through_has_the_name_that_the_client_asked_for(place: Place) -> None:
    """An agent that finds another model's name in an answer takes its thoughts for somebody
    else's and leaves them out of the next request, and then their maker refuses it."""
    body = agentic("back-anthropic", "think of something")
    reply = place.ask("POST", "/v1/messages?beta=true", body, ANTHROPIC_HEADERS)
    started = [event for event in reply.events() if event["type"] == "message_start"]
    assert [event["message"]["model"] for event in started] == ["back-anthropic"]


def test_an_empty_list_of_tools_is_no_list_of_tools(place: Place) -> None:
    for back in BACKS:
        if back in ("bedrock", "anthropic"):
            continue
        body = agentic(f"back-{back}", "hello", tools=[])
        reply = place.ask("POST", "/v1/messages?beta=true", body, ANTHROPIC_HEADERS)
        assert reply.status == 200, (back, reply.body)
        assert place.upstream.asked[-1].tools == ()


def test_tokens_are_estimated_where_the_provider_does_not_count(place: Place) -> None:
    """The scripted provider has no such path, as many that speak the dialect of Anthropic."""
    words = "count these words, please " * 50
    body = {
        "model": "back-anthropic",
        "messages": [{"role": "user", "content": words}],
        "tools": [],
    }
    reply = place.ask("POST", "/v1/messages/count_tokens?beta=true", body, ANTHROPIC_HEADERS)
    assert reply.status == 200, reply.body
    assert reply.headers["x-interlingua-count"] == "estimate"
    assert 100 < reply.json()["input_tokens"] < 1000


# -- OpenAI's: Codex 0.166, Copilot 1.0, OpenCode 1.18 ---------------------------------------------

CODEX_HEADERS = {
    "authorization": "Bearer any",
    "originator": "an_agent",
    "session-id": "01a1e323-bbf0",
    "x-agent-turn-metadata": '{"session_id":"01a1e323-bbf0"}',
}


def on_responses(model: str, words: str) -> dict[str, Any]:
    """A first request: instructions as a developer's messages, a space of names with tools in it,
    a search that runs at OpenAI's, reasoning without an effort, and notes of the agent's own."""
    function = {
        "type": "function",
        "name": "weather",
        "description": "Looks out.",
        "strict": False,
        "parameters": SCHEMA,
    }
    inner = {**function, "name": "spawn_agent"}
    text = [{"type": "input_text", "text": words}]
    return {
        "model": model,
        "stream": True,
        "input": [
            {"type": "message", "role": "developer", "content": [{**text[0], "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": text},
        ],
        "tools": [
            function,
            {"type": "namespace", "name": "agents", "description": "More.", "tools": [inner]},
            {"type": "web_search", "external_web_access": True},
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "reasoning": {"summary": "auto"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a1e323-bbf0",
        "client_metadata": {"turn": "1", "host": "cli"},
    }


def items(reply: Reply) -> list[Any]:
    """What a client keeps of a stream of the Responses API, to send it again."""
    done = [e["item"] for e in reply.events() if e["type"] == "response.output_item.done"]
    return [{k: v for k, v in item.items() if k != "status"} for item in done]


@pytest.mark.parametrize("back", [name for name in BACKS if name != "bedrock"])
def test_an_agent_on_responses_loops_with_tools_on_every_back(place: Place, back: str) -> None:
    asked = on_responses(f"back-{back}", "how is the weather")
    first = place.ask("POST", "/v1/responses", asked, CODEX_HEADERS)
    assert first.status == 200, first.body
    content = items(first)
    calls = [item for item in content if item["type"] == "function_call"]
    assert [json.loads(call["arguments"])["city"] for call in calls] == list(CITIES)
    outputs = [
        {
            "type": "function_call_output",
            "call_id": call["call_id"],
            "output": f"it rains in {json.loads(call['arguments'])['city']}",
        }
        for call in calls
    ]
    asked = {**asked, "input": [*asked["input"], *content, *outputs]}
    second = place.ask("POST", "/v1/responses", asked, CODEX_HEADERS)
    assert second.status == 200, second.body
    texts = [part["text"] for item in items(second) for part in item.get("content") or ()]
    assert "".join(texts) == HEARD
    seen = [tool.name for tool in place.upstream.asked[-1].tools]
    assert "weather" in seen
    if back != "openai-responses":
        lost = [loss["path"] for loss in place.losses(first)]
        assert {"$.tools[1]", "$.tools[2]"} <= set(lost), "tools that cannot cross are told"


def test_zeros_and_fields_of_others_in_chat_do_no_harm(place: Place) -> None:
    """As some agents send them to everybody: penalties of zero, a search of another maker's."""
    with openai.OpenAI(base_url=f"{place.url}/v1", api_key="any", max_retries=0) as client:
        for back in ("anthropic", "gemini", "ollama"):
            reply = client.chat.completions.create(
                model=f"back-{back}",
                messages=[
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "hello"},
                ],
                temperature=0,
                top_p=0.95,
                frequency_penalty=0,
                presence_penalty=0,
                max_tokens=1536,
                extra_body={"search_parameters": {"mode": "off"}},
            )
            assert reply.choices[0].message.content, back


# -- Gemini's: Gemini CLI 0.61, Qwen Code 0.15, aider 0.86 -----------------------------------------

LEVELS: list[dict[str, Any]] = [
    {},
    {"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"},
    {"thinkingBudget": -1},
    {"thinkingLevel": "low"},
]


@pytest.mark.parametrize("level", LEVELS, ids=["none", "unspecified", "dynamic", "low"])
@pytest.mark.parametrize("version", ["/v1beta", "/v1", ""], ids=["v1beta", "v1", "bare"])
def test_an_agent_on_generate_content_is_heard(
    place: Place, version: str, level: dict[str, Any]
) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "how is the weather"}]}],
        "systemInstruction": {"role": "user", "parts": [{"text": "You work in a terminal."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "weather",
                        "description": "Looks out.",
                        "parametersJsonSchema": SCHEMA,
                    }
                ]
            }
        ],
        "generationConfig": {
            "temperature": 1,
            "topP": 0.95,
            "topK": 64,
            "thinkingConfig": {"includeThoughts": True, **level},
        },
    }
    path = f"{version}/models/back-anthropic:streamGenerateContent?alt=sse"
    headers = {"x-goog-api-key": "any", "x-goog-api-client": "google-genai-sdk/1.30.0 gl-node/v20"}
    reply = place.ask("POST", path, body, headers)
    assert reply.status == 200, reply.body
    parts = [
        part
        for event in reply.events()
        for candidate in event.get("candidates", ())
        for part in candidate.get("content", {}).get("parts", ())
    ]
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [call["args"]["city"] for call in calls] == list(CITIES)


# -- Ollama's: aider, Continue ---------------------------------------------------------------------


def test_a_model_is_shown_as_ollama_shows_it(place: Place) -> None:
    with ollama.Client(host=place.url) as client:
        shown = client.show("back-anthropic")
        with pytest.raises(ollama.ResponseError, match="model not found") as odd:
            client.show("nobody-has-this")
    assert odd.value.status_code == 404
    assert {"completion", "tools", "vision"} <= set(shown.capabilities or ())
    info = dict(shown.modelinfo or {})
    can = il.capabilities(BACKS["anthropic"])
    assert info[f"{info['general.architecture']}.context_length"] == can.max_context_tokens
    old = place.ask("POST", "/api/show", {"name": "back-anthropic"})
    assert old.json()["capabilities"] == shown.capabilities, "older clients say `name`"
    assert place.ask("POST", "/api/show", {}).status == 400


# -- Everybody's -----------------------------------------------------------------------------------


def test_somebody_is_here(place: Place) -> None:
    assert place.ask("HEAD", "/").status == 200
    assert place.ask("GET", "/").json()["name"] == "interlingua"


@pytest.mark.parametrize(
    ("path", "headers", "message"),
    [
        ("/v1/messages/nothing", {}, ("error", "message")),
        ("/v1/nothing", {"anthropic-version": "2023-06-01"}, ("error", "message")),
        ("/v1beta/nothing", {}, ("error", "message")),
        ("/v1/nothing", {}, ("error", "message")),
        ("/api/nothing", {}, ("error",)),
    ],
)
def test_a_path_that_is_not_served_is_refused_in_the_words_of_its_dialect(
    place: Place, path: str, headers: dict[str, str], message: tuple[str, ...]
) -> None:
    reply = place.ask("POST", path, {}, headers)
    assert reply.status == 404
    result = reply.json()
    for name in message:
        result = result[name]
    assert result == "no such endpoint"
    is_anthropic = reply.json().get("type") == "error"
    assert is_anthropic == (path.startswith("/v1/messages/") or bool(headers))


def test_a_side_model_without_a_key_is_refused_once_and_clearly(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Agents ask for small models of their own choice; nobody may have given a key for them."""
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    chosen = settings(store=str(tmp_path / "gateway.db"))
    with standing(chosen, Targets(environ={})) as here:
        with (
            anthropic.Anthropic(base_url=here.url, api_key="any", max_retries=2) as client,
            pytest.raises(anthropic.NotFoundError, match="no key configured") as odd,
        ):
            client.messages.create(
                model="claude-haiku-4-5",
                max_tokens=10,
                messages=[{"role": "user", "content": "hi"}],
            )
        assert "ANTHROPIC_API_KEY" in str(odd.value)
        assert str(tmp_path) not in str(odd.value), "files of the gateway are not the client's"
        with openai.OpenAI(base_url=f"{here.url}/v1", api_key="any", max_retries=2) as other:
            for stream in (False, True):
                with pytest.raises(openai.NotFoundError, match="no key configured"):
                    other.responses.create(model="gpt-5-nano", input="hi", stream=stream)
