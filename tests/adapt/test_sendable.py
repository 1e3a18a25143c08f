"""What is converted can be sent: the vendors' own SDKs take it, as it is."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from inspect import signature
from typing import Any

import pytest

import interlingua as il

BODY = {"model": "gpt-5", "messages": [{"role": "user", "content": "What is the capital?"}]}
TOOL = {
    **{"name": "look", "description": "Look it up."},
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"q":"a"}'}}
LONGER = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is the capital?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "Ulaanbaatar"},
    ],
    "tools": [{"type": "function", "function": TOOL}],
    "temperature": 0.5,
    "max_tokens": 50,
    "stop": ["END"],
    "top_p": 0.9,
}
PICTURE = b64encode(b"\xff\xfe\xfb\xef\xbe").decode()
SEEN = {
    **{"model": "gpt-5", "temperature": 0.5},
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            ],
        }
    ],
}
ANSWER = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6"},
    **{"content": [], "stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        server: Any = self.server
        server.asked.append(json.loads(body))
        server.paths.append(self.path)
        answer = json.dumps(server.answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.paths, server.answer = [], [], ANSWER
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5"])
def test_a_request_without_a_limit_is_sent_by_the_sdk(server: Any, model: str) -> None:
    anthropic = pytest.importorskip("anthropic")
    written = il.convert(BODY, to="anthropic", model=model)
    client = anthropic.Anthropic(base_url=server.address, api_key="k", max_retries=0)
    client.messages.create(**written.wire)
    assert server.asked == [written.wire]
    assert written.wire["model"] == model


def _openai_chat(address: str, written: il.Written) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=address, api_key="k", max_retries=0)
    client.chat.completions.create(**written.for_sdk())


def _openai_responses(address: str, written: il.Written) -> None:
    openai = pytest.importorskip("openai")
    client = openai.OpenAI(base_url=address, api_key="k", max_retries=0)
    client.responses.create(**written.for_sdk())


def _anthropic(address: str, written: il.Written) -> None:
    anthropic = pytest.importorskip("anthropic")
    client = anthropic.Anthropic(base_url=address, api_key="k", max_retries=0)
    client.messages.create(**written.for_sdk())


def _gemini(address: str, written: il.Written) -> None:
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": address})
    client.models.generate_content(**written.for_sdk())


def _interactions(address: str, written: il.Written) -> None:
    genai = pytest.importorskip("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": address})
    client.interactions.create(**written.for_sdk())


def _cohere(address: str, written: il.Written) -> None:
    cohere = pytest.importorskip("cohere")
    cohere.ClientV2("k", base_url=address).chat(**written.for_sdk())


def _ollama(address: str, written: il.Written) -> None:
    ollama = pytest.importorskip("ollama")
    ollama.Client(host=address).chat(**{**written.for_sdk(), "stream": False})


def _openrouter(address: str, written: il.Written) -> None:
    openrouter = pytest.importorskip("openrouter")
    openrouter.OpenRouter(api_key="k", server_url=address).chat.send(**written.for_sdk())


def _mistral(address: str, written: il.Written) -> None:
    mistral = pytest.importorskip("mistralai.client")
    mistral.Mistral(api_key="k", server_url=address).chat.complete(**written.for_sdk())


def _bedrock(address: str, written: il.Written) -> None:
    session = pytest.importorskip("botocore.session").get_session()
    session.set_credentials("k", "s")
    client = session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=address)
    client.converse(**written.for_sdk())


def _as_gemini_sends(wire: dict[str, Any]) -> dict[str, Any]:
    """The SDK spells this member in its own way, which the API takes as well."""
    text = json.dumps(wire).replace('"parametersJsonSchema"', '"parameters_json_schema"')
    sent: dict[str, Any] = json.loads(text)
    return sent


def _as_ollama_sends(wire: dict[str, Any]) -> dict[str, Any]:
    """The SDK always has a list of tools, leaves out empty texts, and knows no ids of calls."""

    def as_sent(value: Any) -> Any:
        if isinstance(value, list):
            return [as_sent(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: as_sent(item)
            for key, item in value.items()
            if key not in ("id", "tool_call_id") and item != ""
        }

    return {"tools": [], **wire, "messages": as_sent(wire["messages"])}


def _as_mistral_sends(wire: dict[str, Any]) -> dict[str, Any]:
    """The SDK says of each answer that it is no beginning of one, and numbers calls."""
    messages = [
        {**each, "prefix": False} if each["role"] == "assistant" else each
        for each in json.loads(json.dumps(wire["messages"]))
    ]
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["index"] = 0
    return {**wire, "messages": messages, "stream": False}


CHANGED_BY_SDK: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "gemini": _as_gemini_sends,
    "mistral": _as_mistral_sends,
    "cohere": lambda wire: {**wire, "stream": False},
    "openrouter": lambda wire: {**wire, "stream": False},
    "ollama": _as_ollama_sends,
}
"""What SDKs do to a body by themselves; the others send it as it is."""

Send = Callable[[str, il.Written], None]
_CHAT_ANSWER = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": []}
SENDERS: dict[str, tuple[Send, str, dict[str, Any]]] = {
    "openai-chat": (_openai_chat, "gpt-4.1", _CHAT_ANSWER),
    "openai-responses": (_openai_responses, "gpt-4.1", {"id": "r", "output": []}),
    "anthropic": (_anthropic, "claude-sonnet-4-6", ANSWER),
    "openrouter": (_openrouter, "openai/gpt-4.1", {**_CHAT_ANSWER, "system_fingerprint": None}),
    "mistral": (
        _mistral,
        "mistral-large-latest",
        {
            **_CHAT_ANSWER,
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        },
    ),
    "gemini-interactions": (
        _interactions,
        "gemini-2.5-pro",
        {"id": "i", "status": "completed", "steps": []},
    ),
    "gemini": (_gemini, "gemini-2.5-pro", {"candidates": []}),
    "cohere": (
        _cohere,
        "command-a-03-2025",
        {"id": "1", "finish_reason": "COMPLETE", "message": {"role": "assistant", "content": []}},
    ),
    "ollama": (_ollama, "llama3.2", {"message": {"role": "assistant", "content": "a"}}),
    "bedrock": (
        _bedrock,
        "amazon.nova-pro-v1:0",
        {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "end_turn"},
    ),
}


@pytest.mark.parametrize("body", [BODY, LONGER], ids=["short", "longer"])
@pytest.mark.parametrize("target", SENDERS)
def test_the_sdk_of_each_vendor_sends_what_was_converted(
    server: Any, target: str, body: dict[str, Any]
) -> None:
    send, model, server.answer = SENDERS[target]
    source = "anthropic" if target == "openai-chat" else "openai-chat"
    if source == "anthropic":
        body = il.convert(body, to="anthropic", model="claude-sonnet-4-6").wire
    written = il.convert(body, source, target, model=model)
    send(server.address, written)
    (asked,) = server.asked
    assert asked == CHANGED_BY_SDK.get(target, dict)(written.wire)
    assert asked.get("model") == model or model in server.paths[0].replace("%3A", ":")


@pytest.mark.parametrize("target", SENDERS)
def test_a_picture_arrives_as_it_is(server: Any, target: str) -> None:
    send, model, server.answer = SENDERS[target]
    picture = "gpt-4o" if target.startswith("openai") else model
    picture = {"cohere": "command-a-vision-07-2025", "ollama": "llava"}.get(target, picture)
    send(server.address, il.convert(SEEN, "openai-chat", target, model=picture))
    (asked,) = server.asked
    sent = json.dumps(asked).replace("_", "/").replace("-", "+")
    assert PICTURE in sent
    assert target == "ollama" or asked.get("temperature", 0.5) == 0.5


def test_keys_that_an_sdk_does_not_take_go_into_its_extra_body() -> None:
    anthropic = pytest.importorskip("anthropic.resources.messages.messages")
    written = il.convert({**BODY, "temperature": 0.5}, to="anthropic", model="claude-sonnet-4-5")
    taken = signature(anthropic.Messages.create).parameters
    assert written.wire["temperature"] == 0.5
    found = written.for_sdk()
    assert found.keys() <= set(taken)
    assert found.pop("extra_body", {}) | found == written.wire


def test_bytes_of_tools_stay_what_they_are() -> None:
    call = {"toolUse": {"toolUseId": "t", "name": "f", "input": {"bytes": "x"}}}
    image = {"image": {"format": "png", "source": {"bytes": PICTURE}}}
    body = {"messages": [{"role": "user", "content": [image, call]}], "toolConfig": {"tools": []}}
    found = il.Written(body, il.Report("bedrock"), "amazon.nova-pro-v1:0").for_sdk()
    assert found["modelId"] == "amazon.nova-pro-v1:0"
    assert found["messages"][0]["content"][0]["image"]["source"]["bytes"] == b"\xff\xfe\xfb\xef\xbe"
    assert found["messages"][0]["content"][1] == call
    assert body["messages"][0]["content"][0] == image, "the wire is as it was"  # type: ignore[index]


def test_a_model_that_the_target_does_not_serve_is_named_first() -> None:
    report = il.convert(BODY, to="anthropic").report
    (note,) = [note for note in report.notes if note.severity == "warning"]
    assert (note.code, note.at) == ("foreign_model", ("$.model",))
    assert str(report).splitlines()[1].strip() == str(note)
    named = il.convert(BODY, to="anthropic", model="claude-sonnet-4-6").report
    assert "foreign_model" not in [note.code for note in named.notes]


@pytest.mark.parametrize(
    ("body", "how", "code"),
    [
        ({"model": "claude-sonnet-4-6", "max_tokens": 9}, {"to": "vertex"}, "foreign_model"),
        ({"model": "x"}, {"to": "anthropic", "model": "openai:gpt-5"}, "foreign_model"),
        ({}, {"to": "anthropic"}, "model_missing"),
        ({"model": "sonnet"}, {"to": "anthropic"}, "model_alias"),
        ({"model": "anthropic:claude-sonnet-4-6"}, {"to": "anthropic"}, "model_alias"),
        ({"model": "sonnet"}, {"to": "gemini"}, "foreign_model"),
        ({"model": "openai/gpt-5"}, {"to": "anthropic"}, "foreign_model"),
        ({"model": "models/gemini-2.5-pro"}, {"to": "cohere"}, "foreign_model"),
        ({"model": "us.anthropic.claude-sonnet-4-6-v1:0"}, {"to": "gemini"}, "foreign_model"),
        ({"model": "gpt-5"}, {"to": "mistral"}, "foreign_model"),
        ({"model": "gpt-5"}, {"to": "perplexity"}, "foreign_model"),
        ({"model": "claude-sonnet-4-6"}, {"to": "openai"}, "foreign_model"),
        ({"model": "openai:gpt-5"}, {"to": "deepseek"}, "foreign_model"),
        ({"model": "openai/gpt-oss-120b"}, {"to": "groq"}, None),
        ({"model": "anthropic/claude-sonnet-4.6"}, {"to": "openrouter"}, None),
        ({"model": "gpt-5"}, {"to": "openrouter", "model": "openrouter:openai/gpt-5"}, None),
        ({"model": "x"}, {"to": "anthropic", "model": "local:smollm2-135m-instruct"}, None),
    ],
)
def test_a_name_that_the_target_would_not_know_is_noted(
    body: dict[str, Any], how: dict[str, str], code: str | None
) -> None:
    messages = [{"role": "user", "content": "hi"}]
    report = il.convert({**body, "messages": messages}, "openai-chat", **how).report  # type: ignore[arg-type]
    names = [entry.code for entry in report.notes if entry.path == "$.model"]
    assert names == ([] if code is None else [code])


def test_an_alias_in_a_body_is_resolved() -> None:
    body = {"model": "sonnet", "messages": [{"role": "user", "content": "hi"}]}
    named = il.convert(body, "openai-chat", "anthropic").wire["model"]
    assert named == il.convert(body, to="anthropic", model="sonnet").wire["model"] != "sonnet"
    assert il.convert(body, "openai-chat", "openai-chat").wire == body, "the way home"


@pytest.mark.parametrize(
    ("name", "to", "own"),
    [
        ("anthropic/claude-sonnet-4.6", "anthropic", "claude-sonnet-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude", "claude-sonnet-4-5-20250929"),
        ("models/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("google/gemini-2.5-pro", "gemini", "gemini-2.5-pro"),
        ("openai/gpt-5", "openai", "gpt-5"),
        ("openai/gpt-oss-120b", "groq", "openai/gpt-oss-120b"),
    ],
)
def test_the_name_of_another_service_becomes_the_vendors_own(name: str, to: str, own: str) -> None:
    body = {"model": name, "messages": [{"role": "user", "content": "hi"}]}
    written = il.convert(body, "openai-chat", to=to)
    assert (written.model or written.wire["model"]) == own
