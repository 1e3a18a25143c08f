"""The SDKs of hosts: Amazon's, Cohere's, and those that Anthropic and Google have for clouds."""

from __future__ import annotations

import base64
import json
from contextlib import closing
from typing import Any

import anthropic
import cohere
from botocore.config import Config
from botocore.exceptions import ClientError, EventStreamError
from botocore.session import Session
from cohere.core.api_error import ApiError
from google import genai
from google.auth.credentials import AnonymousCredentials
from google.genai import types

from tests.gateway.sdks.clients import (
    ABOUT,
    CLIENTS,
    SCHEMA,
    TIMEOUT,
    TOOL,
    Anthropic,
    Call,
    Client,
    Gemini,
    Heard,
)


class Converse(Client):
    """`converse` and `converse_stream`; the key is the id of the access key."""

    Auth = Limit = Invalid = Server = ClientError
    Broken = EventStreamError

    def _open(self, url: str, key: str) -> None:
        self.client = Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id=key,
            aws_secret_access_key="none",
            config=Config(retries={"max_attempts": 0}, read_timeout=TIMEOUT),
        )

    def say(self, text: str, image: bytes | None = None) -> None:
        content: list[Any] = [{"text": text}]
        if image is not None:
            content.append({"image": {"format": "png", "source": {"bytes": image}}})
        self.history.append({"role": "user", "content": content})

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"modelId": self.model, "messages": self.history, **more}
        if tools:
            spec = {"name": TOOL, "description": ABOUT, "inputSchema": {"json": SCHEMA}}
            asked["toolConfig"] = {"tools": [{"toolSpec": spec}]}
        if stream:
            with closing(self.client.converse_stream(**asked)["stream"]) as events:
                result = self._collected(events)
        else:
            result = self.client.converse(**asked)
        content = result["output"]["message"]["content"]
        self.history.append({"role": "assistant", "content": content})
        text = "".join(part.get("text", "") for part in content)
        calls = [
            Call(part["toolUse"]["toolUseId"], part["toolUse"]["name"], part["toolUse"]["input"])
            for part in content
            if "toolUse" in part
        ]
        thinking = "".join(
            part["reasoningContent"].get("reasoningText", {}).get("text", "")
            for part in content
            if "reasoningContent" in part
        )
        usage = result["usage"]
        tokens = (usage["inputTokens"], usage["outputTokens"])
        return Heard(text, calls, thinking, result["stopReason"], tokens)

    def _collected(self, events: Any) -> Any:
        """A stream as an application puts it together."""
        parts: dict[int, Any] = {}
        collected: dict[str, Any] = {}
        for event in events:
            ((kind, value),) = event.items()
            if kind == "contentBlockStart":
                parts[value["contentBlockIndex"]] = {"toolUse": {**value["start"]["toolUse"]}}
            elif kind == "contentBlockDelta":
                _add(parts.setdefault(value["contentBlockIndex"], {}), value["delta"])
            elif kind == "messageStop":
                collected["stopReason"] = value["stopReason"]
            elif kind == "metadata":
                collected["usage"] = value["usage"]
        for part in parts.values():
            if "toolUse" in part:
                part["toolUse"]["input"] = json.loads(part["toolUse"].get("input") or "{}")
        content = [parts[index] for index in sorted(parts)]
        return {**collected, "output": {"message": {"content": content}}}

    def answer(self, results: list[tuple[Call, str]]) -> None:
        blocks = [
            {"toolResult": {"toolUseId": call.id, "content": [{"text": text}]}}
            for call, text in results
        ]
        self.history.append({"role": "user", "content": blocks})

    def status_of(self, odd: Any) -> int:
        return int(odd.response["ResponseMetadata"]["HTTPStatusCode"])

    def headers_of(self, odd: Any) -> Any:
        return odd.response["ResponseMetadata"]["HTTPHeaders"]


def _add(part: dict[str, Any], delta: dict[str, Any]) -> None:
    if "text" in delta:
        part["text"] = part.get("text", "") + delta["text"]
    if "toolUse" in delta:
        call = part["toolUse"]
        call["input"] = call.get("input", "") + delta["toolUse"]["input"]
    if "reasoningContent" in delta:
        known = part.setdefault("reasoningContent", {}).setdefault("reasoningText", {"text": ""})
        known["text"] += delta["reasoningContent"].get("text", "")
        if "signature" in delta["reasoningContent"]:
            known["signature"] = delta["reasoningContent"]["signature"]


class Invoke(Converse):
    """`invoke_model` and `invoke_model_with_response_stream` with bodies for Claude; the key is
    the session token."""

    def _open(self, url: str, key: str) -> None:
        self.client = Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
            aws_secret_access_key="none",
            aws_session_token=key,
            config=Config(retries={"max_attempts": 0}, read_timeout=TIMEOUT),
        )

    say = Anthropic.say
    answer = Anthropic.answer

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        body: Any = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 1000, **more}
        body["messages"] = self.history
        if tools:
            body["tools"] = [{"name": TOOL, "description": ABOUT, "input_schema": SCHEMA}]
        asked = {"modelId": self.model, "body": json.dumps(body)}
        if stream:
            with closing(self.client.invoke_model_with_response_stream(**asked)["body"]) as events:
                parsed = self._message(events)
        else:
            parsed = json.loads(self.client.invoke_model(**asked)["body"].read())
        content = parsed["content"]
        self.history.append({"role": "assistant", "content": content})
        text = "".join(part.get("text", "") for part in content)
        thinking = "".join(part.get("thinking", "") for part in content)
        calls = [Call(p["id"], p["name"], p["input"]) for p in content if p["type"] == "tool_use"]
        tokens = (parsed["usage"]["input_tokens"], parsed["usage"]["output_tokens"])
        return Heard(text, calls, thinking, parsed["stop_reason"], tokens)

    def _message(self, events: Any) -> Any:
        collected: dict[str, Any] = {}
        for event in events:
            frame = json.loads(event["chunk"]["bytes"])
            if frame["type"] == "message_start":
                collected = {**frame["message"], "content": []}
            elif frame["type"] == "content_block_start":
                collected["content"].append(dict(frame["content_block"]))
            elif frame["type"] == "content_block_delta":
                _add_delta(collected["content"][frame["index"]], frame["delta"])
            elif frame["type"] == "message_delta":
                collected["usage"] |= frame["usage"]
                collected |= frame["delta"]
        for part in collected["content"]:
            if part["type"] == "tool_use":
                part["input"] = json.loads(part.pop("pieces", "{}"))
        return collected


def _add_delta(part: dict[str, Any], delta: dict[str, Any]) -> None:
    for kind, key in (("text", "text"), ("thinking", "thinking"), ("partial_json", "pieces")):
        if kind in delta:
            part[key] = part.get(key, "") + delta[kind]
    if "signature" in delta:
        part["signature"] = delta["signature"]


class Bedrock(Anthropic):
    """Anthropic's SDK for Bedrock; the key is a bearer token."""

    Auth = anthropic.PermissionDeniedError

    def _open(self, url: str, key: str) -> None:
        self.client: Any = anthropic.AnthropicBedrock(
            base_url=url, api_key=key, aws_region="us-east-1", max_retries=0, timeout=TIMEOUT
        )


class Mantle(Anthropic):
    """Anthropic's SDK for the newer endpoint of Bedrock."""

    def _open(self, url: str, key: str) -> None:
        self.client: Any = anthropic.AnthropicBedrockMantle(
            base_url=f"{url}/anthropic",
            api_key=key,
            aws_region="us-east-1",
            max_retries=0,
            timeout=TIMEOUT,
        )


class Vertex(Anthropic):
    """Anthropic's SDK for Vertex; its address has no version."""

    def _open(self, url: str, key: str) -> None:
        self.client: Any = anthropic.AnthropicVertex(
            base_url=url,
            access_token=key,
            project_id="some-project",
            region="us-east5",
            max_retries=0,
            timeout=TIMEOUT,
        )


class Token(AnonymousCredentials):  # type: ignore[misc, no-untyped-call]  # it has no types
    """A token that is good for ever."""

    def __init__(self, token: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # it has no types
        self.token = token


class VertexGemini(Gemini):
    """Google's SDK for Vertex; its address has a version."""

    def _open(self, url: str, key: str) -> None:
        options = types.HttpOptions(base_url=url, timeout=int(TIMEOUT * 1000))
        self.client = genai.Client(
            vertexai=True,
            project="some-project",
            location="us-central1",
            credentials=Token(key),
            http_options=options,
        )


class Cohere(Client):
    """`ClientV2`."""

    Auth, Limit = cohere.UnauthorizedError, cohere.TooManyRequestsError
    Invalid, Server = cohere.BadRequestError, ApiError
    Broken = ApiError

    def _open(self, url: str, key: str) -> None:
        self.client: Any = cohere.ClientV2(api_key=key, base_url=url, timeout=TIMEOUT)

    def headers_of(self, odd: Any) -> Any:
        return odd.headers

    def close(self) -> None:
        self.client._client_wrapper.httpx_client.httpx_client.close()

    def say(self, text: str, image: bytes | None = None) -> None:
        content: Any = text
        if image is not None:
            data = f"data:image/png;base64,{base64.b64encode(image).decode()}"
            picture = {"type": "image_url", "image_url": {"url": data}}
            content = [{"type": "text", "text": text}, picture]
        self.history.append({"role": "user", "content": content})

    def hear(self, stream: bool, tools: bool = False, **more: Any) -> Heard:
        asked: Any = {"model": self.model, "messages": self.history, **more}
        asked["request_options"] = {"max_retries": 0}
        if tools:
            function = {"name": TOOL, "description": ABOUT, "parameters": SCHEMA}
            asked["tools"] = [{"type": "function", "function": function}]
        if stream:
            message, stop, usage = self._collected(self.client.chat_stream(**asked))
        else:
            result = self.client.chat(**asked)
            message = json.loads(result.message.model_dump_json(exclude_none=True))
            stop, usage = result.finish_reason, result.usage
        self.history.append(message)
        content = message.get("content") or []
        text = "".join(part.get("text", "") for part in content)
        thinking = "".join(part.get("thinking", "") for part in content)
        calls = [
            Call(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        ]
        tokens = (int(usage.tokens.input_tokens), int(usage.tokens.output_tokens))
        return Heard(text or message.get("tool_plan") or "", calls, thinking, stop, tokens)

    def _collected(self, events: Any) -> tuple[dict[str, Any], str, Any]:
        content: dict[int, dict[str, str]] = {}
        calls: dict[int, Any] = {}
        plan, stop, usage = "", "", None
        for event in events:
            delta = getattr(event, "delta", None)
            if event.type == "content-start":
                content[event.index] = {"type": delta.message.content.type}
            elif event.type == "content-delta":
                part, piece = content[event.index], delta.message.content
                key = part["type"]
                part[key] = part.get(key, "") + (getattr(piece, key, None) or "")
            elif event.type == "tool-plan-delta":
                plan += delta.message.tool_plan
            elif event.type == "tool-call-start":
                calls[event.index] = json.loads(delta.message.tool_calls.model_dump_json())
            elif event.type == "tool-call-delta":
                piece = delta.message.tool_calls.function.arguments
                calls[event.index]["function"]["arguments"] += piece
            elif event.type == "message-end":
                if getattr(delta, "error", None):
                    raise ApiError(status_code=200, body=delta.error)
                stop, usage = delta.finish_reason, delta.usage
        if not stop:
            raise ApiError(status_code=200, body="the stream ended early")
        message: dict[str, Any] = {"role": "assistant", "content": list(content.values())}
        if calls:
            message |= {"tool_calls": list(calls.values()), "tool_plan": plan}
        return message, stop, usage

    def answer(self, results: list[tuple[Call, str]]) -> None:
        for call, text in results:
            message = {"role": "tool", "tool_call_id": call.id, "content": text}
            self.history.append(message)


HOSTED: dict[str, type[Client]] = {
    "bedrock": Converse,
    "bedrock-invoke": Invoke,
    "anthropic-bedrock": Bedrock,
    "anthropic-mantle": Mantle,
    "anthropic-vertex": Vertex,
    "gemini-vertex": VertexGemini,
    "cohere": Cohere,
}
ALL: dict[str, type[Client]] = {**CLIENTS, **HOSTED}
