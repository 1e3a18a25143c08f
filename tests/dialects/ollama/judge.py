"""What the server's own types take. The SDK's are lenient and lag behind the server, so they are
asked, and then a closed schema of the wire."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import ollama
from ollama._types import ChatRequest
from pydantic import ValidationError

NUMBER = (int, float)
CALL: dict[str, Any] = {"id": str, "function": {"name": str, "arguments": dict, "index": int}}
MESSAGE: dict[str, Any] = {
    "role": ("system", "user", "assistant", "tool"),
    "content": str,
    "thinking": str,
    "images": [bytes],
    "tool_calls": [CALL],
    "tool_name": str,
    "tool_call_id": str,
}
TOOL: dict[str, Any] = {
    "type": ("function",),
    "function": {"name": str, "description": str, "parameters": dict},
}
OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("num_predict", "top_k", "seed", "num_keep", "repeat_last_n", "num_ctx"), int),
    **dict.fromkeys(("temperature", "top_p", "min_p", "typical_p", "repeat_penalty"), NUMBER),
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), NUMBER),
    "stop": [str],
}
REQUEST: dict[str, Any] = {
    "model": str,
    "messages": [MESSAGE],
    "tools": [TOOL],
    "stream": bool,
    "format": (dict, "json"),
    "options": OPTIONS,
    "think": (bool, "low", "medium", "high", "max"),
    "logprobs": bool,
    "top_logprobs": int,
}
RESPONSE: dict[str, Any] = {
    "model": str,
    "created_at": str,
    "message": MESSAGE,
    "done": bool,
    "done_reason": ("stop", "length"),
    "prompt_eval_count": int,
    "eval_count": int,
}


def request_problems(wire: Any) -> list[str]:
    return [*_sdk(ChatRequest, {"model": "m", **wire}), *_misfits(wire, REQUEST, "$")]


def response_problems(wire: Any) -> list[str]:
    return [*_sdk(ollama.ChatResponse, wire), *_misfits(wire, RESPONSE, "$")]


def _sdk(type: Any, wire: Any) -> list[str]:
    wire = _with_images(wire)
    try:
        type.model_validate(wire)
        for message in wire.get("messages", ()):
            ollama.Message.model_validate(message)
    except ValidationError as error:
        return [str(error)]
    return []


def _with_images(value: Any) -> Any:
    """Images as the SDK has them before it sends them."""
    if isinstance(value, list):
        return [_with_images(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: [{"value": each} for each in item] if key == "images" else _with_images(item)
        for key, item in value.items()
    }


def _misfits(value: Any, shape: Any, path: str) -> list[str]:
    if isinstance(shape, tuple):
        fits = any(
            each == value if isinstance(each, str) else not _misfits(value, each, path)
            for each in shape
        )
        return [] if fits else [f"{path}: {str(value)[:40]}"]
    if isinstance(shape, dict) and isinstance(value, dict):
        found = [f"{path}.{key}: not a key" for key in value if key not in shape]
        known = [(key, item) for key, item in value.items() if key in shape]
        return found + [
            odd for key, item in known for odd in _misfits(item, shape[key], f"{path}.{key}")
        ]
    if isinstance(shape, list) and isinstance(value, list):
        return [odd for each in value for odd in _misfits(each, shape[0], f"{path}[]")]
    if shape is bytes and isinstance(value, str):
        try:
            base64.b64decode(value, validate=True)
            return []
        except binascii.Error:
            return [f"{path}: no base64"]
    fits = isinstance(shape, type) and type(value) is shape
    return [] if fits else [f"{path}: {str(value)[:40]}"]
