"""Members that an API promises in every answer, although there is nothing to say in them.

A translated answer has what the provider said. Typed clients, and judges of conformance, also look
for the rest: nulls, zeros, and what a response repeats of its request. They are put in here, on
the way to the client alone, so that nothing of them is ever kept or counted as said."""

from __future__ import annotations

import re
import time
from typing import Any

import msgspec

Wire = dict[str, Any]

_MESSAGE: Wire = {"content": None, "refusal": None}
_ANTHROPIC: Wire = {"stop_details": None, "container": None}
_ANTHROPIC_USAGE: Wire = {  # null is unknown; the first two may not be null
    "input_tokens": 0,
    "output_tokens": 0,
    "cache_creation": None,
    "cache_creation_input_tokens": None,
    "cache_read_input_tokens": None,
    "inference_geo": None,
    "output_tokens_details": None,
    "server_tool_use": None,
    "service_tier": None,
}
_ANTHROPIC_BLOCKS: dict[str, Wire] = {
    "text": {"citations": None},
    "tool_use": {"caller": {"type": "direct"}},
}
_RESPONSE: Wire = {
    "completed_at": None,
    "error": None,
    "incomplete_details": None,
    "usage": None,
}
_PLAIN_TEXT = {"type": "text"}
_RESPONSE_USAGE: Wire = {
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
FRAMES = frozenset({"openai-chat", "openai-responses"})
"""Dialects whose streams have something to fill in."""
_RESPONSE_FRAME = re.compile(rb'data: (\{[^\r\n]*"response":\{[^\r\n]*)')


class Echo(msgspec.Struct):
    """What a response repeats of its request, with what goes without saying."""

    model: str | None = None
    tools: Any = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    instructions: Any = None
    previous_response_id: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    top_logprobs: int | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    truncation: str | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    store: bool | None = None
    background: bool | None = None
    service_tier: str | None = None
    metadata: dict[str, Any] | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None

    def members(self) -> Wire:
        reasoning = self.reasoning or {}
        return {
            "model": self.model or "",
            "output": [],
            "tools": self.tools or [],
            "tool_choice": self.tool_choice or "auto",
            "parallel_tool_calls": self.parallel_tool_calls is not False,
            "instructions": self.instructions,
            "previous_response_id": self.previous_response_id,
            "temperature": 1.0 if self.temperature is None else self.temperature,
            "top_p": 1.0 if self.top_p is None else self.top_p,
            "presence_penalty": self.presence_penalty or 0.0,
            "frequency_penalty": self.frequency_penalty or 0.0,
            "top_logprobs": self.top_logprobs or 0,
            "max_output_tokens": self.max_output_tokens,
            "max_tool_calls": self.max_tool_calls,
            "truncation": self.truncation or "disabled",
            "text": {"format": _PLAIN_TEXT, **(self.text or {})},
            "reasoning": {"effort": None, "summary": None, **reasoning},
            "store": bool(self.store),
            "background": bool(self.background),
            "service_tier": self.service_tier or "default",
            "metadata": self.metadata or {},
            "safety_identifier": self.safety_identifier,
            "prompt_cache_key": self.prompt_cache_key,
        }


_echo = msgspec.json.Decoder(Echo)
_decode = msgspec.json.Decoder(Wire).decode
_encode = msgspec.json.Encoder().encode


class Filler:
    """Fills the answers to one request in one dialect."""

    def __init__(self, dialect: str, asked: bytes) -> None:
        self._dialect = dialect
        self._now = int(time.time())
        self._echoed: Wire = {}
        if dialect == "openai-responses":
            try:
                self._echoed = _echo.decode(asked).members()
            except msgspec.DecodeError:
                self._echoed = Echo().members()

    def body(self, data: bytes) -> bytes:
        """An answer as bytes."""
        try:
            return _encode(self.whole(_decode(data)))
        except msgspec.DecodeError:
            return data

    def whole(self, wire: Wire) -> Wire:
        """An answer with all that is promised; what it says itself stays."""
        if self._dialect == "openai-responses":
            return self._response(wire)
        if self._dialect == "openai-chat":
            return self._completion(wire)
        return _message(wire) if self._dialect == "anthropic" else wire

    def frames(self, data: bytes) -> bytes:
        """Frames of a stream: those of the Responses API that hold the response as it is so far,
        and the time in those of Chat. No text can look like that: in a text, quotes are escaped."""
        if self._dialect == "openai-chat":
            return data.replace(b'"created":0,', b'"created":%d,' % self._now)
        if self._dialect != "openai-responses" or b'"response":{' not in data:
            return data
        return _RESPONSE_FRAME.sub(self._frame, data)

    def _frame(self, found: re.Match[bytes]) -> bytes:
        wire = _decode(found.group(1))
        if not isinstance(wire.get("response"), dict):
            return found.group()
        return b"data: " + _encode({**wire, "response": self._response(wire["response"])})

    def _response(self, wire: Wire) -> Wire:
        out = {**_RESPONSE, **self._echoed, **wire}
        if out["usage"]:
            out["usage"] = {**_RESPONSE_USAGE, **out["usage"]}
        out["created_at"] = wire.get("created_at") or self._now
        if out["completed_at"] is None and wire.get("status") == "completed":
            out["completed_at"] = int(time.time())
        return out

    def _completion(self, wire: Wire) -> Wire:
        choices = [
            {"logprobs": None, **choice, "message": {**_MESSAGE, **choice["message"]}}
            for choice in wire.get("choices", ())
        ]
        return {**wire, "created": wire.get("created") or self._now, "choices": choices}


def _message(wire: Wire) -> Wire:
    content = [
        {**_ANTHROPIC_BLOCKS.get(block.get("type"), {}), **block}
        for block in wire.get("content", ())
    ]
    usage = {**_ANTHROPIC_USAGE, **(wire.get("usage") or {})}
    return {**_ANTHROPIC, **wire, "content": content, "usage": usage}
