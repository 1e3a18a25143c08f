"""Tool loops through a gateway in this process: clients of every front, and scripted answers of
providers that sign their turns. All of it is the real code of dialects and gateway; what stands in
is the provider alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.dialects.framing import decoder, encoder
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.state import Caps, Keys

Wire = Any

TOOL = {
    "name": "weather",
    "description": "The weather in a city.",
    "schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


# Providers


def _anthropic(*content: Wire, stop: str = "tool_use") -> Wire:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 8, "output_tokens": 42},
    }


def _thinking(text: str, signature: str) -> Wire:
    return {"type": "thinking", "thinking": text, "signature": signature}


def _use(id: str, city: str) -> Wire:
    return {"type": "tool_use", "id": id, "name": "weather", "input": {"city": city}}


def _gemini(*parts: Wire, number: int = 1) -> Wire:
    return {
        "candidates": [
            {"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 9, "totalTokenCount": 17},
        "modelVersion": "gemini-3-pro-preview",
        "responseId": f"resp-{number}",
    }


def _call(city: str, signature: str | None = None) -> Wire:
    call = {"functionCall": {"name": "weather", "args": {"city": city}}}
    return call if signature is None else {**call, "thoughtSignature": signature}


def _responses(*output: Wire, number: int = 1) -> Wire:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "gpt-5",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 8,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 17,
        },
    }


def _reasoning(id: str, sealed: str, *summary: str) -> Wire:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": id, "summary": parts, "encrypted_content": sealed}


def _function(id: str, city: str) -> Wire:
    return {
        "type": "function_call",
        "id": f"fc_{id}",
        "call_id": f"call_{id}",
        "name": "weather",
        "arguments": json.dumps({"city": city}),
        "status": "completed",
    }


def _message(text: str) -> Wire:
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


ANSWERS: dict[str, list[Wire]] = {
    "anthropic": [
        _anthropic(
            _thinking("I look both up.", "c2lnLW9uZQ=="),
            {"type": "text", "text": "Let me look."},
            _use("toolu_01A", "Paris"),
            _use("toolu_01B", "Rome"),
        ),
        _anthropic(
            {"type": "redacted_thinking", "data": "c2VhbGVk"},
            _thinking("One more.", "c2lnLXR3bw=="),
            _use("toolu_01C", "Oslo"),
        ),
        _anthropic(
            _thinking("Done.", "c2lnLXRocmVl"),
            {"type": "text", "text": "It is sunny everywhere."},
            stop="end_turn",
        ),
        _anthropic({"type": "text", "text": "You are welcome."}, stop="end_turn"),
    ],
    "gemini": [
        _gemini(
            {"text": "I look both up.", "thought": True},
            {"text": "Let me look."},
            _call("Paris", "c2lnLW9uZQ=="),
            _call("Rome"),
        ),
        _gemini(_call("Oslo", "c2lnLXR3bw=="), number=2),
        _gemini({"text": "It is sunny everywhere.", "thoughtSignature": "c2lnLTM="}, number=3),
        _gemini({"text": "You are welcome."}, number=4),
    ],
    "openai-responses": [
        _responses(
            _reasoning("rs_1", "sealed-one", "I look", "both up."),
            _message("Let me look."),
            _function("1", "Paris"),
            _function("2", "Rome"),
        ),
        _responses(_reasoning("rs_2", "sealed-two"), _function("3", "Oslo"), number=2),
        _responses(
            _reasoning("rs_3", "sealed-three"), _message("It is sunny everywhere."), number=3
        ),
        _responses(_message("You are welcome."), number=4),
    ],
}
MODELS = {
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "gemini:gemini-3-pro-preview",
    "openai-responses": "thinker",
}
ROUTES = {"thinker": RouteSettings("openai:gpt-5", dialect="openai-responses")}


class Answered:
    """A reply that is there already, in pieces."""

    status = 200
    headers: Mapping[str, str] = {"content-type": "application/json"}

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def chunk(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    async def body(self, limit: int) -> bytes:
        return b"".join(self._pieces)

    def close(self) -> None:
        return None


class ScriptedProvider:
    """Gives one answer after the other, and keeps what it was asked."""

    def __init__(self, dialect: str, answers: list[Wire] | None = None) -> None:
        self.dialect = dialect
        self.answers = list(ANSWERS[dialect] if answers is None else answers)
        self.asked: list[Wire] = []
        self.stream = False

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        self.asked.append(json.loads(request.body))
        wire = self.answers.pop(0)
        if not self.stream:
            return Answered([json.dumps(wire).encode()])
        dialect = dialect_of(self.dialect)
        writer, encode = dialect.stream_writer(), encoder(self.dialect)
        frames = [f for event in il.unfold(dialect.read_response(wire)) for f in writer.feed(event)]
        return Answered([encode(frame) for frame in (*frames, *writer.close())])

    async def close(self) -> None:
        return None


# Clients, as their SDKs would put the next request together


class Client:
    """One conversation in one dialect. `body` is what it sends next."""

    def __init__(self, front: str, model: str, ask: str) -> None:
        self.front = front
        self.model = model
        self.history: list[Wire] = []
        self.say(ask)

    def say(self, text: str) -> None:
        if self.front == "gemini":
            self.history.append({"role": "user", "parts": [{"text": text}]})
        elif self.front == "gemini-interactions":
            part = {"type": "text", "text": text}
            self.history.append({"type": "user_input", "content": [part]})
        else:
            self.history.append({"role": "user", "content": text})

    @property
    def path(self) -> str:
        return {
            "openai-chat": "/v1/chat/completions",
            "openai-responses": "/v1/responses",
            "anthropic": "/v1/messages",
            "gemini": f"/v1beta/models/{self.model}:generateContent",
            "gemini-interactions": "/v1beta/interactions",
            "ollama": "/api/chat",
        }[self.front]

    def body(self, stream: bool) -> Wire:
        name, text, schema = TOOL["name"], TOOL["description"], TOOL["schema"]
        function = {"name": name, "description": text, "parameters": schema}
        if self.front == "gemini":
            return {"contents": self.history, "tools": [{"functionDeclarations": [function]}]}
        out: dict[str, Any] = {"model": self.model, "stream": stream}
        if self.front in ("openai-responses", "gemini-interactions"):
            tools: list[Wire] = [{"type": "function", **function}]
            return {**out, "input": self.history, "tools": tools}
        out["messages"] = self.history
        if self.front == "anthropic":
            tools = [{"name": name, "description": text, "input_schema": schema}]
            return {**out, "max_tokens": 4096, "tools": tools}
        return {**out, "tools": [{"type": "function", "function": function}]}

    def hear(self, wire: Wire) -> int:
        """Take an answer into the history, and answer its calls; gives how many there were."""
        return getattr(self, "_" + self.front.replace("-", "_"))(wire)  # type: ignore[no-any-return]  # all of them count

    def _openai_chat(self, wire: Wire) -> int:
        message = wire["choices"][0]["message"]
        calls = message.get("tool_calls") or []
        turn = {"role": "assistant", "content": message.get("content")}
        self.history.append({**turn, "tool_calls": calls} if calls else turn)
        for call in calls:
            city = json.loads(call["function"]["arguments"])["city"]
            result = {"role": "tool", "tool_call_id": call["id"], "content": f"sunny in {city}"}
            self.history.append(result)
        return len(calls)

    def _openai_responses(self, wire: Wire) -> int:
        self.history += wire["output"]
        calls = [item for item in wire["output"] if item["type"] == "function_call"]
        for call in calls:
            city = json.loads(call["arguments"])["city"]
            result = {"type": "function_call_output", "call_id": call["call_id"]}
            self.history.append({**result, "output": f"sunny in {city}"})
        return len(calls)

    def _anthropic(self, wire: Wire) -> int:
        self.history.append({"role": "assistant", "content": wire["content"]})
        calls = [block for block in wire["content"] if block["type"] == "tool_use"]
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": f"sunny in {call['input']['city']}",
            }
            for call in calls
        ]
        if results:
            self.history.append({"role": "user", "content": results})
        return len(calls)

    def _gemini(self, wire: Wire) -> int:
        content = wire["candidates"][0]["content"]
        self.history.append(content)
        calls = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
        results = []
        for call in calls:
            result = {"name": call["name"], "response": {"output": f"sunny in {call['args']}"}}
            id = {"id": call["id"]} if "id" in call else {}
            results.append({"functionResponse": {**id, **result}})
        if results:
            self.history.append({"role": "user", "parts": results})
        return len(calls)

    def _gemini_interactions(self, wire: Wire) -> int:
        self.history += wire["steps"]
        calls = [step for step in wire["steps"] if step["type"] == "function_call"]
        for call in calls:
            text = f"sunny in {call['arguments']['city']}"
            result = {"type": "function_result", "call_id": call["id"], "name": call["name"]}
            self.history.append({**result, "result": text})
        return len(calls)

    def _ollama(self, wire: Wire) -> int:
        message = wire["message"]
        self.history.append(message)
        calls = message.get("tool_calls") or []
        for call in calls:
            function = call["function"]
            text = f"sunny in {function['arguments']['city']}"
            self.history.append({"role": "tool", "tool_name": function["name"], "content": text})
        return len(calls)


async def post(app: App, path: str, body: Wire, token: str | None = None) -> tuple[int, bytes]:
    """One request to the gateway, straight to its code."""
    collected: list[Any] = []
    sent = [{"type": "http.request", "body": json.dumps(body).encode()}]

    async def receive() -> Any:
        if not sent:
            await asyncio.Event().wait()  # the client stays
        return sent.pop(0)

    async def send(message: Any) -> None:
        collected.append(message)

    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    scope = {
        "type": "http",
        "method": "POST",
        "path": path.partition("?")[0],
        "query_string": b"",
        "headers": headers,
    }
    await app(scope, receive, send)
    data = b"".join(each.get("body", b"") for each in collected)
    return collected[0]["status"], data


async def ask(app: App, client: Client, stream: bool, token: str | None = None) -> Wire:
    """The client's next request, and the answer as one wire."""
    path = client.path
    if stream and client.front == "gemini":
        path = path.replace("generateContent", "streamGenerateContent")
    status, data = await post(app, path, client.body(stream), token)
    assert status == 200, data
    if not stream:
        return json.loads(data)
    dialect = dialect_of(client.front)
    reader, frames = dialect.stream_reader(), decoder(client.front)
    events = [e for f in (*frames.feed(data), *frames.close()) for e in reader.feed(f)]
    return dialect.write_response(il.fold([*events, *reader.close()])).wire


def gateway_of(
    provider: ScriptedProvider,
    memory: Memory,
    keys: Keys | None = None,
    caps: Caps | None = None,
) -> App:
    key = {"openai-responses": "openai"}.get(provider.dialect, provider.dialect)
    targets = Targets(keys={key: "k"}, base_urls={key: "http://127.0.0.1:9"}, environ={})
    return App(
        Gateway(
            Settings(routes=ROUTES, raises=True),
            targets=targets,
            transport=provider,
            memory=memory,
            keys=keys,
            caps=caps,
        )
    )
