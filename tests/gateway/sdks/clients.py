"""The official SDKs as an application uses them: one conversation each, whole or streamed, with
tools and pictures. None of them knows that it talks to a gateway."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import anthropic
import ollama
import openai
from google import genai
from google.genai import errors as gemini_errors
from google.genai import types

TOOL = "get_weather"
ABOUT = "Tells the weather of a city."
SCHEMA: Any = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Its name"}},
    "required": ["city"],
}
TIMEOUT = 20.0


class Call(NamedTuple):
    id: str | None
    name: str
    input: Any


class Heard(NamedTuple):
    """An answer as a user of the SDK has it."""

    text: str
    calls: list[Call]
    thinking: str
    stop: str | None
    tokens: tuple[int | None, int | None]


class Client:
    """One conversation through one SDK."""

    Auth: type[Exception]
    Limit: type[Exception]
    Invalid: type[Exception]
    Server: type[Exception]
    Broken: type[Exception]
    """What a stream raises that fails in the middle."""

    def __init__(self, url: str, model: str, key: str = "any") -> None:
        self.model = model
        self.history: list[Any] = []
        self._open(url, key)

    def _open(self, url: str, key: str) -> None:
        raise NotImplementedError

    def say(self, text: str, image: bytes | None = None) -> None:
        raise NotImplementedError

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        """Ask for the next turn, and take it into the history."""
        raise NotImplementedError

    def answer(self, results: list[tuple[Call, str]]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self.client.close()  # type: ignore[attr-defined]  # each opens one

    def status_of(self, odd: Exception) -> int:
        return int(odd.status_code)  # type: ignore[attr-defined]  # as most SDKs have it

    def headers_of(self, odd: Any) -> Any:
        return odd.response.headers


class Chat(Client):
    Auth, Limit = openai.AuthenticationError, openai.RateLimitError
    Invalid, Server = openai.BadRequestError, openai.InternalServerError
    Broken = openai.APIError

    def _open(self, url: str, key: str) -> None:
        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=TIMEOUT
        )

    def say(self, text: str, image: bytes | None = None) -> None:
        content: Any = text
        if image is not None:
            data = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            picture = {"type": "image_url", "image_url": {"url": data}}
            content = [{"type": "text", "text": text}, picture]
        self.history.append({"role": "user", "content": content})

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"model": self.model, "messages": self.history, **more}
        if tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": SCHEMA}
            asked["tools"] = [{"type": "function", "function": function}]
        if stream:
            usage: Any = {"include_usage": True}
            with self.client.chat.completions.stream(**asked, stream_options=usage) as events:
                for _ in events:
                    pass
                result: Any = events.get_final_completion()
        else:
            result = self.client.chat.completions.create(**asked)
        choice = result.choices[0]
        message = choice.message
        stored = message.model_dump(
            exclude_none=True, include={"role", "content", "tool_calls"}, exclude={"parsed"}
        )
        for call in stored.get("tool_calls", []):
            call["function"].pop("parsed_arguments", None)
            call.pop("index", None)
        self.history.append(stored)
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
        tokens = (result.usage.prompt_tokens, result.usage.completion_tokens)
        thinking = getattr(message, "reasoning_content", None) or ""
        return Heard(message.content or "", calls, thinking, choice.finish_reason, tokens)

    def answer(self, results: list[tuple[Call, str]]) -> None:
        for call, text in results:
            self.history.append({"role": "tool", "tool_call_id": call.id, "content": text})


class FailedEvent(openai.OpenAIError):  # this SDK leaves it to the application
    """How the Responses API says that a stream has failed."""


class Responses(Client):
    Auth, Limit = openai.AuthenticationError, openai.RateLimitError
    Invalid, Server = openai.BadRequestError, openai.InternalServerError
    Broken = openai.OpenAIError

    def _open(self, url: str, key: str) -> None:
        self.client = openai.OpenAI(
            base_url=f"{url}/v1", api_key=key, max_retries=0, timeout=TIMEOUT
        )

    def say(self, text: str, image: bytes | None = None) -> None:
        content: Any = text
        if image is not None:
            data = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            picture = {"type": "input_image", "image_url": data, "detail": "auto"}
            content = [{"type": "input_text", "text": text}, picture]
        self.history.append({"role": "user", "content": content})

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"model": self.model, "input": self.history, "store": False, **more}
        asked["include"] = ["reasoning.encrypted_content"]
        if tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": SCHEMA, "strict": False}
            asked["tools"] = [{"type": "function", **function}]
        if stream:
            with self.client.responses.stream(**asked) as events:
                for event in events:
                    if event.type in ("error", "response.failed"):
                        raise FailedEvent(event.type)
                result: Any = events.get_final_response()
        else:
            result = self.client.responses.create(**asked)
        for item in result.output:
            stored = item.model_dump(exclude_none=True)
            stored.pop("parsed_arguments", None)
            for part in stored.get("content", ()):
                part.pop("parsed", None)
            self.history.append(stored)
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in result.output
            if item.type == "function_call"
        ]
        thinking = "".join(
            part.text for item in result.output if item.type == "reasoning" for part in item.summary
        )
        tokens = (result.usage.input_tokens, result.usage.output_tokens)
        return Heard(result.output_text, calls, thinking, result.status, tokens)

    def answer(self, results: list[tuple[Call, str]]) -> None:
        for call, text in results:
            result = {"type": "function_call_output", "call_id": call.id, "output": text}
            self.history.append(result)


class Anthropic(Client):
    Auth, Limit = anthropic.AuthenticationError, anthropic.RateLimitError
    Invalid, Server = anthropic.BadRequestError, anthropic.InternalServerError
    Broken = anthropic.APIStatusError

    def _open(self, url: str, key: str) -> None:
        self.client = anthropic.Anthropic(base_url=url, api_key=key, max_retries=0, timeout=TIMEOUT)

    def say(self, text: str, image: bytes | None = None) -> None:
        content: Any = text
        if image is not None:
            data = base64.b64encode(image).decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            content = [{"type": "text", "text": text}, {"type": "image", "source": source}]
        self.history.append({"role": "user", "content": content})

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"model": self.model, "messages": self.history, "max_tokens": 4096, **more}
        if tools:
            asked["tools"] = [{"name": TOOL, "description": ABOUT, "input_schema": SCHEMA}]
        if stream:
            with self.client.messages.stream(**asked) as events:
                for _ in events:
                    pass
                result: Any = events.get_final_message()
        else:
            result = self.client.messages.create(**asked)
        content = [block.model_dump(exclude_none=True) for block in result.content]
        for block in content:
            block.pop("parsed_output", None)
        self.history.append({"role": "assistant", "content": content})
        text = "".join(block.text for block in result.content if block.type == "text")
        thinking = "".join(b.thinking for b in result.content if b.type == "thinking")
        calls = [Call(b.id, b.name, b.input) for b in result.content if b.type == "tool_use"]
        tokens = (result.usage.input_tokens, result.usage.output_tokens)
        return Heard(text, calls, thinking, result.stop_reason, tokens)

    def answer(self, results: list[tuple[Call, str]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text in results
        ]
        self.history.append({"role": "user", "content": blocks})


class Gemini(Client):
    Auth = Limit = Invalid = gemini_errors.ClientError
    Server = gemini_errors.ServerError
    Broken = gemini_errors.APIError

    def _open(self, url: str, key: str) -> None:
        options = types.HttpOptions(base_url=url, timeout=int(TIMEOUT * 1000))
        self.client = genai.Client(api_key=key, vertexai=False, http_options=options)

    def say(self, text: str, image: bytes | None = None) -> None:
        parts = [types.Part(text=text)]
        if image is not None:
            parts.append(types.Part.from_bytes(data=image, mime_type="image/png"))
        self.history.append(types.Content(role="user", parts=parts))

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        config: Any = {**more}
        if tools:
            function: Any = {"name": TOOL, "description": ABOUT, "parameters_json_schema": SCHEMA}
            config["tools"] = [{"function_declarations": [function]}]
        asked: Any = {"model": self.model, "contents": self.history, "config": config}
        if stream:
            chunks = list(self.client.models.generate_content_stream(**asked))
        else:
            chunks = [self.client.models.generate_content(**asked)]
        parts = [
            part
            for chunk in chunks
            for candidate in chunk.candidates or ()
            for part in (candidate.content and candidate.content.parts) or ()
        ]
        self.history.append(types.Content(role="model", parts=parts))
        text = "".join(part.text for part in parts if part.text and not part.thought)
        thinking = "".join(part.text for part in parts if part.text and part.thought)
        calls = [
            Call(part.function_call.id, part.function_call.name or "", part.function_call.args)
            for part in parts
            if part.function_call
        ]
        last: Any = chunks[-1]
        usage = last.usage_metadata
        tokens = (usage.prompt_token_count, usage.candidates_token_count)
        return Heard(text, calls, thinking, str(last.candidates[0].finish_reason.value), tokens)

    def answer(self, results: list[tuple[Call, str]]) -> None:
        parts = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id, name=call.name, response={"output": text}
                )
            )
            for call, text in results
        ]
        self.history.append(types.Content(role="user", parts=parts))

    def status_of(self, odd: Exception) -> int:
        return int(odd.code)  # type: ignore[attr-defined]  # as this SDK calls it


class Ollama(Client):
    Auth = Limit = Invalid = Server = Broken = ollama.ResponseError

    def _open(self, url: str, key: str) -> None:
        headers = {"authorization": f"Bearer {key}"}
        self.client = ollama.Client(host=url, headers=headers, timeout=TIMEOUT)

    def say(self, text: str, image: bytes | None = None) -> None:
        images = None if image is None else [ollama.Image(value=image)]
        self.history.append(ollama.Message(role="user", content=text, images=images))

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"model": self.model, "messages": self.history, **more}
        if tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": SCHEMA}
            asked["tools"] = [{"type": "function", "function": function}]
        if stream:
            lines: list[Any] = list(self.client.chat(**asked, stream=True))
        else:
            lines = [self.client.chat(**asked)]
        text = "".join(line.message.content or "" for line in lines)
        thinking = "".join(line.message.thinking or "" for line in lines)
        made = [call for line in lines for call in line.message.tool_calls or ()]
        message = ollama.Message(role="assistant", content=text, tool_calls=made or None)
        message.thinking = thinking or None
        self.history.append(message)
        calls = [Call(None, call.function.name, dict(call.function.arguments)) for call in made]
        last = lines[-1]
        tokens = (last.prompt_eval_count, last.eval_count)
        return Heard(text, calls, thinking, last.done_reason, tokens)

    def answer(self, results: list[tuple[Call, str]]) -> None:
        for call, text in results:
            message = ollama.Message(role="tool", content=text, tool_name=call.name)
            self.history.append(message)


CLIENTS: dict[str, type[Client]] = {
    "openai-chat": Chat,
    "openai-responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "ollama": Ollama,
}
