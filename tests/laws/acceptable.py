"""Would the provider take it? The official SDKs' own types, and the rules of order, alternation
and ids that the types cannot see."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel, ValidationError

from interlingua.dialects.anthropic.request import betas_of
from tests.laws import cohere_types
from tests.laws.closed_types import misfit


def problems(dialect: str, kind: str, wire: Any) -> list[str]:
    """What an official SDK's types, or the rules of the wire, have against this."""
    if kind == "response":
        return RESPONSES[dialect](wire)
    return [*REQUESTS[dialect](wire), *ORDER.get(dialect, lambda _: [])(wire)]


def _one(problem: str | None) -> list[str]:
    return [problem] if problem else []


def _validates(model: type[BaseModel], wire: Any) -> list[str]:
    try:
        model.model_validate(wire)
    except ValidationError as error:
        return [f"{model.__name__}: {error.errors()[0]['loc']}: {error.errors()[0]['msg']}"]
    return []


# -- requests -------------------------------------------------------------------------------------


def _chat_request(wire: Any) -> list[str]:
    from openai.types.chat import completion_create_params as params

    streaming = wire.get("stream") is True
    hint = (
        params.CompletionCreateParamsStreaming
        if streaming
        else params.CompletionCreateParamsNonStreaming
    )
    return _one(misfit(wire, hint))


def _openrouter_request(wire: Any) -> list[str]:
    from openrouter.components import ChatRequest

    return _validates(ChatRequest, wire)


def _responses_request(wire: Any) -> list[str]:
    from openai.types.responses import response_create_params as params

    streaming = wire.get("stream") is True
    hint = (
        params.ResponseCreateParamsStreaming
        if streaming
        else params.ResponseCreateParamsNonStreaming
    )
    return _one(misfit(wire, hint))


def _anthropic_request(wire: Any) -> list[str]:
    from anthropic.types import message_create_params as params
    from anthropic.types.beta import message_create_params as beta

    known: Any = beta if betas_of(wire) else params
    streaming = wire.get("stream") is True
    hint = (
        known.MessageCreateParamsStreaming if streaming else known.MessageCreateParamsNonStreaming
    )
    return _one(misfit(wire, hint))


_GEMINI_BODY = frozenset(
    {"contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent"}
    | {"labels", "serviceTier", "store", "continuationToken", "generationConfig"}
)


def _gemini_request(wire: Any) -> list[str]:
    from google.genai import types

    found = [f"/{key}: not a key of the body" for key in wire if key not in _GEMINI_BODY]
    for content in [*wire.get("contents", []), *_some(wire.get("systemInstruction"))]:
        found += _validates(types.Content, content)
    for tool in wire.get("tools", []):
        found += _validates(types.Tool, tool)
    found += [p for one in _some(wire.get("toolConfig")) for p in _validates(types.ToolConfig, one)]
    for config in _some(wire.get("generationConfig")):
        found += _validates(types.GenerationConfig, config)
    return found


def _some(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _interactions_request(wire: Any) -> list[str]:
    from google.genai.interactions import CreateAgentInteractionParam, CreateModelInteractionParam

    wire = _listed_words(wire)
    if "agent" in wire:
        return _one(misfit(wire, CreateAgentInteractionParam))
    return _one(misfit({**wire, "model": "gemini-2.5-flash"}, CreateModelInteractionParam))


_TYPES = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


def _listed_words(wire: Any) -> Any:
    """The types list names of models and media types, and take others; SDK 3.3 has one more level
    of thinking than 3.1. All other words have to be those that are listed."""
    if isinstance(wire, list):
        return [_listed_words(each) for each in wire]
    if not isinstance(wire, dict):
        return wire
    out = {key: _listed_words(item) for key, item in wire.items()}
    if "mime_type" in out and out.get("type") in (*_TYPES, "document"):
        out["mime_type"] = _TYPES.get(out["type"], "application/pdf")
    if out.get("thinking_level") == "xhigh":
        out["thinking_level"] = "high"
    return out


_OLLAMA_BODY = frozenset(
    {"model", "messages", "tools", "stream", "format", "options", "keep_alive", "think"}
    | {"truncate", "shift", "logprobs", "top_logprobs"}
)
_OLLAMA_MESSAGE = frozenset(
    {"role", "content", "thinking", "images", "tool_calls", "tool_name", "tool_call_id"}
)


def _ollama_request(wire: Any) -> list[str]:
    import ollama

    found = [f"/{key}: not a key of the body" for key in wire if key not in _OLLAMA_BODY]
    for index, message in enumerate(wire.get("messages", [])):
        found += [
            f"/messages/{index}/{key}: no key" for key in message if key not in _OLLAMA_MESSAGE
        ]
        if message.get("role") not in ("system", "user", "assistant", "tool"):
            found.append(f"/messages/{index}/role: {message.get('role')!r}")
        if not isinstance(message.get("content", ""), str):
            found.append(f"/messages/{index}/content: no string")
        images = message.get("images", [])
        if not isinstance(images, list) or not all(isinstance(each, str) for each in images):
            found.append(f"/messages/{index}/images: not all base64 texts")
        fields = {key: item for key, item in message.items() if key != "images"}
        found += _validates(ollama.Message, fields)
    if wire.get("think") not in (None, True, False, "low", "medium", "high", "max"):
        found.append(f"/think: {wire['think']!r}")
    return found


_COHERE_BODY = frozenset(
    {"model", "messages", "stream", "tools", "strict_tools", "documents", "citation_options"}
    | {"response_format", "safety_mode", "max_tokens", "stop_sequences", "temperature", "seed"}
    | {"frequency_penalty", "presence_penalty", "k", "p", "logprobs", "tool_choice", "thinking"}
    | {"priority"}
)
"""The keyword arguments of `cohere` 7.3.1 (`V2Client.chat`, read 2026-11-15)."""


def _cohere_request(wire: Any) -> list[str]:
    found = [f"/{key}: not a key of the body" for key in wire if key not in _COHERE_BODY]
    return found + cohere_types.request_problems(wire)


# -- Bedrock: the service model that botocore ships -----------------------------------------------


@cache
def _bedrock_shape(direction: str) -> Any:
    import botocore.loaders
    import botocore.model

    model = botocore.loaders.Loader().load_service_model("bedrock-runtime", "service-2")
    operation = botocore.model.ServiceModel(model).operation_model("Converse")
    return operation.input_shape if direction == "request" else operation.output_shape


def _bedrock_request(wire: Any) -> list[str]:
    return _bedrock({"modelId": "model", **wire}, "request")


def _bedrock_response(wire: Any) -> list[str]:
    if "output" not in wire:
        return [] if isinstance(wire.get("message"), str) else ["an error without a message"]
    return _bedrock(wire, "response")


def _bedrock(wire: Any, direction: str) -> list[str]:
    import botocore.validate

    shape = _bedrock_shape(direction)
    found = list(_constraints(wire, shape, ""))
    report = botocore.validate.ParamValidator().validate(_with_blobs(wire, shape), shape)
    return found + ([report.generate_report()] if report.has_errors() else [])


def _with_blobs(value: Any, shape: Any) -> Any:
    if shape.type_name == "blob" and isinstance(value, str):
        return _bytes(value)
    if shape.type_name == "structure" and isinstance(value, dict) and not _is_document(shape):
        members = shape.members
        return {k: _with_blobs(v, members[k]) if k in members else v for k, v in value.items()}
    if shape.type_name == "list" and isinstance(value, list):
        return [_with_blobs(item, shape.member) for item in value]
    return value


def _bytes(text: str) -> bytes:
    """Recorded media may be cut short; that it is base64 at all is the caller's business."""
    try:
        return base64.b64decode(text)
    except ValueError:
        return text.encode()


def _is_document(shape: Any) -> bool:
    return bool(getattr(shape, "is_document_type", False))


def _constraints(value: Any, shape: Any, path: str) -> Iterator[str]:
    """Enums, patterns and lengths, which botocore's own validator leaves to the service."""
    if shape.type_name == "structure" and isinstance(value, dict) and not _is_document(shape):
        for key, item in value.items():
            if key in shape.members:
                yield from _constraints(item, shape.members[key], f"{path}/{key}")
    elif shape.type_name == "list" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _constraints(item, shape.member, f"{path}/{index}")
    elif shape.type_name == "string" and isinstance(value, str):
        limits = shape.metadata
        if limits.get("enum") and value not in limits["enum"]:
            yield f"{path}: {value!r} is none of {limits['enum']}"
        if limits.get("pattern") and not re.fullmatch(limits["pattern"], value, re.DOTALL):
            yield f"{path}: {value[:40]!r} does not match {limits['pattern']}"
        if len(value) < limits.get("min", 0) or len(value) > limits.get("max", len(value)):
            yield f"{path}: {len(value)} characters"


# -- responses ------------------------------------------------------------------------------------


def _chat_response(wire: Any) -> list[str]:
    from openai.types.chat import ChatCompletion
    from openai.types.shared import ErrorObject

    if "error" in wire:
        return _validates(ErrorObject, wire["error"])
    return _validates(ChatCompletion, wire)


def _openrouter_response(wire: Any) -> list[str]:
    from openrouter.components import ChatResult

    if "error" in wire:
        error = wire["error"]
        fits = isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
        return [] if fits else [f"an error of another shape: {sorted(error)}"]
    return _validates(ChatResult, wire)


def _responses_response(wire: Any) -> list[str]:
    from openai.types.responses import Response
    from openai.types.shared import ErrorObject

    if "object" not in wire and "error" in wire:
        return _validates(ErrorObject, wire["error"])
    return _validates(Response, wire)


def _anthropic_response(wire: Any) -> list[str]:
    from anthropic.types import Message
    from anthropic.types.beta import BetaMessage
    from anthropic.types.shared import ErrorResponse

    if wire.get("type") == "error":
        return _validates(ErrorResponse, wire)
    # compacted history is part of an answer only if a beta was asked for
    is_beta = any(part.get("type") == "compaction" for part in wire["content"])
    return _validates(BetaMessage if is_beta else Message, wire)


def _gemini_response(wire: Any) -> list[str]:
    from google.genai.types import GenerateContentResponse

    if "error" in wire:
        error = wire["error"]
        fits = isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
        return [] if fits else [f"an error of another shape: {sorted(error)}"]
    return _validates(GenerateContentResponse, wire)


def _interactions_response(wire: Any) -> list[str]:
    from google.genai.interactions import Error, Interaction

    if "error" in wire:
        return _validates(Error, wire["error"])
    return _validates(Interaction, wire)


def _ollama_response(wire: Any) -> list[str]:
    import ollama

    if "error" in wire:
        return [] if isinstance(wire["error"], str) else ["an error that is no string"]
    return _validates(ollama.ChatResponse, wire)


def _cohere_response(wire: Any) -> list[str]:
    if isinstance(wire.get("message"), str):
        return []
    return cohere_types.response_problems(wire)


# -- order, alternation, ids, signatures ----------------------------------------------------------


def _chat_order(wire: Any) -> list[str]:
    found: list[str] = []
    open_ids: set[str] = set()
    for index, message in enumerate(wire["messages"]):
        if message["role"] == "tool":
            if message.get("tool_call_id") not in open_ids:
                found.append(f"/messages/{index}: answers no open call")
            open_ids.discard(message.get("tool_call_id"))
            continue
        if open_ids:
            found.append(f"/messages/{index}: {len(open_ids)} calls are not answered yet")
        calls = message.get("tool_calls") or []
        open_ids = {call["id"] for call in calls}
        found += [f"/messages/{index}: a call id of over 40" for i in open_ids if len(i) > 40]
        if len(open_ids) != len(calls):
            found.append(f"/messages/{index}: a call id twice")
        if message["role"] == "assistant" and not calls and message.get("content") in (None, []):
            found.append(f"/messages/{index}: an assistant message with nothing in it")
    return found + ([f"{len(open_ids)} calls are never answered"] if open_ids else [])


def _cohere_order(wire: Any) -> list[str]:
    """The order of Chat. How long an id may be is not said anywhere."""
    return [each for each in _chat_order(wire) if "over 40" not in each]


def _anthropic_order(wire: Any) -> list[str]:
    found: list[str] = []
    waiting: set[str] = set()
    seen: set[str] = set()
    for index, message in enumerate(wire["messages"]):
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        place = f"/messages/{index}"
        if not blocks or any(b["type"] == "text" and not b["text"] for b in blocks):
            found.append(f"{place}: empty")
        results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if message["role"] == "user":
            if set(results) != waiting or len(results) != len(set(results)):
                found.append(f"{place}: answers {len(results)} of {len(waiting)} calls")
            first = [b["type"] == "tool_result" for b in blocks]
            if first != sorted(first, reverse=True):
                found.append(f"{place}: results are not first")
            waiting = set()
        elif waiting:
            found.append(f"{place}: {len(waiting)} calls are not answered yet")
        ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if seen & set(ids) or len(ids) != len(set(ids)):
            found.append(f"{place}: a call id twice")
        found += [f"{place}: id {i!r}" for i in ids if not re.fullmatch(r"[a-zA-Z0-9_-]+", i)]
        seen |= set(ids)
        waiting = waiting | set(ids)
    return found + ([f"{len(waiting)} calls are never answered"] if waiting else [])


def _bedrock_order(wire: Any) -> list[str]:
    found: list[str] = []
    waiting: set[str] = set()
    used = False
    for index, message in enumerate(wire.get("messages", [])):
        blocks = message["content"]
        results = {b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b}
        calls = {b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b}
        used = used or bool(results or calls)
        if message["role"] == "user":
            if results != waiting:
                found.append(f"/messages/{index}: answers {len(results)} of {len(waiting)} calls")
            waiting = set()
        waiting = waiting | (calls - results)  # the service answers its own calls at once
        if not blocks:
            found.append(f"/messages/{index}: empty")
    if used and "toolConfig" not in wire:
        found.append("/toolConfig: missing though the history has tools")
    return found


def _gemini_order(wire: Any) -> list[str]:
    found: list[str] = []
    waiting: list[str] = []
    for index, content in enumerate(wire.get("contents", [])):
        parts = content.get("parts", [])
        results = [p["functionResponse"]["name"] for p in parts if "functionResponse" in p]
        if content.get("role") == "user":
            if results != waiting:
                found.append(f"/contents/{index}: answers {results} where {waiting} were called")
            waiting = []
        waiting = waiting + [p["functionCall"]["name"] for p in parts if "functionCall" in p]
        if not parts:
            found.append(f"/contents/{index}: empty")
    return found


def _interactions_order(wire: Any) -> list[str]:
    """Results answer calls by id, in a step of their own, before the user says more."""
    found: list[str] = []
    waiting: set[str] = set()
    steps = wire.get("input", [])
    for index, step in enumerate(steps if isinstance(steps, list) else []):
        kind = step.get("type")
        if kind == "function_call":
            waiting.add(step["id"])
        elif kind == "function_result" and "previous_interaction_id" not in wire:
            if step["call_id"] not in waiting:
                found.append(f"/input/{index}: answers no open call")
            waiting.discard(step["call_id"])
        elif kind == "user_input":
            if waiting:
                found.append(f"/input/{index}: {len(waiting)} calls are not answered yet")
            if not step.get("content"):
                found.append(f"/input/{index}: empty")
    return found + ([f"{len(waiting)} calls are never answered"] if waiting else [])


def _responses_order(wire: Any) -> list[str]:
    found: list[str] = []
    items = wire.get("input", [])
    calls = {
        i["call_id"] for i in items if isinstance(i, dict) and i.get("type") == "function_call"
    }
    for index, item in enumerate(items if isinstance(items, list) else []):
        kind = item.get("type")
        if kind == "function_call_output" and item.get("call_id") not in calls:
            found.append(f"/input/{index}: answers no call")
        if kind in ("function_call", "function_call_output") and len(item["call_id"]) > 64:
            found.append(f"/input/{index}: a call id of over 64")
    return found


Judge = Callable[[Any], list[str]]
REQUESTS: dict[str, Judge] = {
    "openai-chat": _chat_request,
    "openrouter": _openrouter_request,
    "openai-responses": _responses_request,
    "anthropic": _anthropic_request,
    "gemini": _gemini_request,
    "gemini-interactions": _interactions_request,
    "ollama": _ollama_request,
    "bedrock": _bedrock_request,
    "cohere": _cohere_request,
}
RESPONSES: dict[str, Judge] = {
    "openai-chat": _chat_response,
    "openrouter": _openrouter_response,
    "openai-responses": _responses_response,
    "anthropic": _anthropic_response,
    "gemini": _gemini_response,
    "gemini-interactions": _interactions_response,
    "ollama": _ollama_response,
    "bedrock": _bedrock_response,
    "cohere": _cohere_response,
}
ORDER: dict[str, Judge] = {
    "openai-chat": _chat_order,
    "openrouter": _chat_order,
    "openai-responses": _responses_order,
    "anthropic": _anthropic_order,
    "gemini": _gemini_order,
    "gemini-interactions": _interactions_order,
    "bedrock": _bedrock_order,
    "cohere": _cohere_order,
}
