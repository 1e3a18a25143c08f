"""The providers' own SDKs, each asked one question at some URL: what did it hear?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import botocore.config  # type: ignore[import-untyped]  # it has no types
import botocore.session  # type: ignore[import-untyped]
import ollama
import pytest
from anthropic import Anthropic
from google import genai
from google.genai import types
from mistralai.client import Mistral
from openai import OpenAI
from openrouter import OpenRouter

MODEL = "some-model"
HELLO: Any = [{"role": "user", "content": "Hello"}]
Call = tuple[str, Any]


class Heard(NamedTuple):
    """The text of an answer and its tool calls, as a user of the SDK has them."""

    text: str
    calls: list[Call]


class Sdk(NamedTuple):
    whole: Callable[[str], Heard]
    streamed: Callable[[str], Heard]


def _arguments(text: str | None) -> Any:
    return json.loads(text or "{}")


class _Pieces:
    """Text and calls that come in pieces."""

    def __init__(self) -> None:
        self.text = ""
        self._calls: dict[Any, list[str]] = {}

    def call(self, key: Any, name: str | None, arguments: str | None) -> None:
        call = self._calls.setdefault(key, ["", ""])
        call[0] += name or ""
        call[1] += arguments or ""

    def heard(self) -> Heard:
        calls = [(name, _arguments(text)) for name, text in self._calls.values()]
        return Heard(self.text, calls)


# -- OpenAI, Chat Completions ---------------------------------------------------------------------


@contextmanager
def _openai(url: str) -> Iterator[OpenAI]:
    with OpenAI(api_key="none", base_url=f"{url}/v1", max_retries=0) as client:
        yield client


def _chat(url: str) -> Heard:
    with _openai(url) as client:
        result: Any = client.chat.completions.create(model=MODEL, messages=HELLO)
    return _chat_message(result.choices[0].message)


def _chat_message(message: Any) -> Heard:
    calls = [(call.function.name, _arguments(call.function.arguments)) for call in _calls(message)]
    return Heard(_chat_text(message.content), calls)


def _chat_text(content: Any) -> str:
    """Mistral's models that think say a list of parts."""
    if isinstance(content, list):
        return "".join(part.text for part in content if part.type == "text")
    return content or ""


def _calls(message: Any) -> list[Any]:
    return list(getattr(message, "tool_calls", None) or ())


def _chat_stream(url: str) -> Heard:
    with _openai(url) as client:
        chunks: Any = client.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
        return _chat_chunks(chunks)


def _chat_chunks(chunks: Any) -> Heard:
    content = _Pieces()
    for chunk in chunks:
        for choice in [each for each in chunk.choices if each.index == 0]:
            content.text += _chat_text(choice.delta.content)
            for call in _calls(choice.delta):
                content.call(call.index, call.function.name, call.function.arguments)
    return content.heard()


# -- OpenAI, Responses ----------------------------------------------------------------------------


def _responses(url: str) -> Heard:
    with _openai(url) as client:
        return _response(client.responses.create(model=MODEL, input="Hello"))


def _response(told: Any) -> Heard:
    calls = [
        (item.name, _arguments(item.arguments))
        for item in told.output
        if item.type == "function_call"
    ]
    return Heard(told.output_text, calls)


def _responses_stream(url: str) -> Heard:
    with _openai(url) as client:
        events: Any = client.responses.create(model=MODEL, input="Hello", stream=True)
        content = _Pieces()
        for event in events:
            if event.type == "response.output_text.delta":
                content.text += event.delta
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                content.call(event.output_index, event.item.name, event.item.arguments)
    return content.heard()


# -- Anthropic ------------------------------------------------------------------------------------


def _anthropic(url: str) -> Heard:
    with Anthropic(api_key="none", base_url=url, max_retries=0) as client:
        result: Any = client.messages.create(model=MODEL, messages=HELLO, max_tokens=9)
    return _anthropic_message(result)


def _anthropic_message(message: Any) -> Heard:
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
    return Heard(text, calls)


def _anthropic_stream(url: str) -> Heard:
    with (
        Anthropic(api_key="none", base_url=url, max_retries=0) as client,
        client.messages.stream(model=MODEL, messages=HELLO, max_tokens=9) as stream,
    ):
        return _anthropic_message(stream.get_final_message())


# -- Gemini ---------------------------------------------------------------------------------------


@contextmanager
def _genai(url: str) -> Iterator[genai.Client]:
    client = genai.Client(
        api_key="none", vertexai=False, http_options=types.HttpOptions(base_url=url)
    )
    try:
        yield client
    finally:
        client.close()


def _gemini(url: str) -> Heard:
    with _genai(url) as client:
        return _gemini_parts([client.models.generate_content(model=MODEL, contents="Hello")])


def _gemini_stream(url: str) -> Heard:
    with _genai(url) as client:
        chunks = client.models.generate_content_stream(model=MODEL, contents="Hello")
        return _gemini_parts(list(chunks))


def _gemini_parts(chunks: list[Any]) -> Heard:
    parts = [
        part
        for chunk in chunks
        for candidate in (chunk.candidates or ())[:1]
        for part in (candidate.content and candidate.content.parts) or ()
    ]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    return Heard(text, [(call.name, call.args or {}) for call in calls])


def _interactions(url: str) -> Heard:
    with _genai(url) as client:
        result: Any = client.interactions.create(model=MODEL, input="Hello")
        steps = result.steps or ()
        parts = [part for step in steps if step.type == "model_output" for part in step.content]
        calls = [(step.name, step.arguments) for step in steps if step.type == "function_call"]
        return Heard("".join(part.text for part in parts if part.type == "text"), calls)


def _interactions_stream(url: str) -> Heard:
    pieces = _Pieces()
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    with _genai(url) as client:
        events: Any = client.interactions.create(model=MODEL, input="Hello", stream=True)
        for event in events:
            if event.event_type == "step.start" and event.step.type == "function_call":
                names[event.index] = event.step.name
            elif event.event_type == "step.delta" and event.delta.type == "text":
                pieces.text += event.delta.text
            elif event.event_type == "step.delta" and event.delta.type == "arguments_delta":
                text = arguments.get(event.index, "")
                arguments[event.index] = text + (event.delta.arguments or "")
            elif event.event_type == "error":
                raise RuntimeError(event.error.message)
    return Heard(pieces.text, [(n, _arguments(arguments.get(i))) for i, n in names.items()])


# -- Ollama ---------------------------------------------------------------------------------------


def _ollama(url: str) -> Heard:
    with ollama.Client(host=url) as client:
        return _ollama_messages([client.chat(MODEL, HELLO).message])


def _ollama_stream(url: str) -> Heard:
    with ollama.Client(host=url) as client:
        return _ollama_messages([line.message for line in client.chat(MODEL, HELLO, stream=True)])


def _ollama_messages(messages: list[Any]) -> Heard:
    calls = [call.function for message in messages for call in message.tool_calls or ()]
    text = "".join(message.content or "" for message in messages)
    return Heard(text, [(call.name, dict(call.arguments)) for call in calls])


# -- Bedrock --------------------------------------------------------------------------------------


@cache
def _bedrock_session() -> Any:
    """One, which reads the description of the service once."""
    return botocore.session.Session()


@contextmanager
def bedrock_client(url: str) -> Iterator[Any]:
    client = _bedrock_session().create_client(
        "bedrock-runtime",
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="none",
        aws_secret_access_key="none",
        config=botocore.config.Config(retries={"total_max_attempts": 1}, proxies={}),
    )
    try:
        yield client
    finally:
        client.close()


_ASKED: Any = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "Hello"}]}]}


def _bedrock(url: str) -> Heard:
    with bedrock_client(url) as client:
        content = client.converse(**_ASKED)["output"]["message"]["content"]
    calls = [part["toolUse"] for part in content if "toolUse" in part]
    cited = [
        part["citationsContent"]["content"] if "citationsContent" in part else [part]
        for part in content
    ]
    text = "".join(part.get("text", "") for parts in cited for part in parts)
    return Heard(text, [(call["name"], call["input"]) for call in calls])


def _bedrock_stream(url: str) -> Heard:
    content = _Pieces()
    with bedrock_client(url) as client:
        stream = client.converse_stream(**_ASKED)["stream"]
        try:
            for event in stream:
                for data in event.values():
                    start, delta = data.get("start", {}), data.get("delta", {})
                    call = start.get("toolUse") or delta.get("toolUse")
                    content.text += delta.get("text", "")
                    if call is not None:
                        content.call(data["contentBlockIndex"], call.get("name"), call.get("input"))
        finally:
            stream.close()
    return content.heard()


# -- OpenRouter, Mistral --------------------------------------------------------------------------


def _openrouter(url: str) -> Heard:
    with OpenRouter(server_url=f"{url}/api/v1", api_key="none") as client:
        reply: Any = client.chat.send(model=MODEL, messages=HELLO)
    return _chat_message(reply.choices[0].message)


def _openrouter_stream(url: str) -> Heard:
    with OpenRouter(server_url=f"{url}/api/v1", api_key="none") as client:
        reply: Any = client.chat.send(model=MODEL, messages=HELLO, stream=True)
        with reply as chunks:
            return _chat_chunks(chunks)


def _mistral(url: str) -> Heard:
    with Mistral(server_url=url, api_key="none") as client:
        result: Any = client.chat.complete(model=MODEL, messages=HELLO)
    return _chat_message(result.choices[0].message)


def _mistral_stream(url: str) -> Heard:
    with (
        Mistral(server_url=url, api_key="none") as client,
        client.chat.stream(model=MODEL, messages=HELLO) as events,
    ):
        return _chat_chunks(event.data for event in events)


# -- Cohere ---------------------------------------------------------------------------------------


@contextmanager
def _coherent(url: str) -> Iterator[Any]:
    cohere = pytest.importorskip("cohere", reason="the package `cohere` is not installed")
    with cohere.ClientV2(api_key="none", base_url=url) as client:
        yield client


def _cohere(url: str) -> Heard:
    with _coherent(url) as client:
        message = client.chat(model=MODEL, messages=HELLO).message
    text = "".join(part.text for part in message.content or () if part.type == "text")
    calls = [each.function for each in message.tool_calls or ()]
    return Heard(text, [(each.name, _arguments(each.arguments)) for each in calls])


def _cohere_stream(url: str) -> Heard:
    pieces = _Pieces()
    with _coherent(url) as client:
        for event in client.chat_stream(model=MODEL, messages=HELLO):
            if event.type == "content-delta":
                pieces.text += event.delta.message.content.text or ""
            elif event.type in ("tool-call-start", "tool-call-delta"):
                function = event.delta.message.tool_calls.function
                name = getattr(function, "name", None)
                pieces.call(event.index, name, function.arguments)
    return pieces.heard()


SDKS: dict[str, Sdk] = {
    "openai-chat": Sdk(_chat, _chat_stream),
    "openai-responses": Sdk(_responses, _responses_stream),
    "anthropic": Sdk(_anthropic, _anthropic_stream),
    "gemini": Sdk(_gemini, _gemini_stream),
    "gemini-interactions": Sdk(_interactions, _interactions_stream),
    "ollama": Sdk(_ollama, _ollama_stream),
    "bedrock": Sdk(_bedrock, _bedrock_stream),
    "openrouter": Sdk(_openrouter, _openrouter_stream),
    "cohere": Sdk(_cohere, _cohere_stream),
}
MISTRAL = Sdk(_mistral, _mistral_stream)
