"""Gaps of llama.cpp's three dialects, compared with the providers they imitate.

Each fix is a pure function on one JSON body or one frame of a stream. What is fixed, and how it
was found: docs/decisions/0013-local-model.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from interlingua.local.model import CONTEXT, USUAL_OUTPUT
from interlingua.model.exchange import ErrorKind, ProviderError, Request, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus
from interlingua.streams.frames import Frame

Wire = dict[str, Any]


def request_body(dialect: str, wire: Wire, request: Request) -> Wire:
    """The request in the form that llama.cpp needs for the same effect."""
    return _REQUESTS[dialect](dict(wire), request)


def _steady(body: Wire, request: Request) -> Wire:
    """A prompt that is taken from the cache is computed in other steps, and the last digits differ.
    Greedy answers are to be the same each time; others may be quick."""
    return {**_unhindered(body), "cache_prompt": request.options.temperature != 0}


def _unhindered(body: Wire) -> Wire:
    """JSON repeats its quotes and commas, so nothing is held against repeating them."""
    shape = body.get("response_format") or {}
    return body if shape.get("type", "text") == "text" else {"frequency_penalty": 0.0, **body}


def _as_items(body: Wire, request: Request) -> Wire:
    format = request.options.response_format
    if format is not None and format.kind != "text":
        body["response_format"] = _chat_format(format.kind, format.schema)
    if isinstance(body.get("input"), list):
        body["input"] = [_item(each) for each in body["input"]]
    return _steady(body, request)


_REQUESTS: dict[str, Callable[[Wire, Request], Wire]] = {
    "openai-chat": _steady,
    "openai-responses": _as_items,
    "anthropic": lambda body, request: body,
}


def response_body(dialect: str, body: Wire, request: Request) -> Wire:
    """An answer without a stream."""
    fix = _RESPONSES.get(dialect)
    return body if fix is None else fix(body, request)


def _cut_short(body: Wire, request: Request) -> Wire:
    return _cut(body) if _is_cut(body, request) else body


def _at_sequence(body: Wire, request: Request) -> Wire:
    if body.get("stop_sequence") is None:
        return body
    return {**body, "stop_reason": "stop_sequence"}


_RESPONSES: dict[str, Callable[[Wire, Request], Wire]] = {
    "openai-responses": _cut_short,
    "anthropic": _at_sequence,
}


class Frames:
    """The frames of one stream. llama.cpp leaves out where in the answer a frame of the Responses
    dialect belongs, and its number."""

    def __init__(self, dialect: str, request: Request) -> None:
        self._fix = {"openai-responses": self._of_responses, "anthropic": _of_messages}.get(dialect)
        self._request = request
        self._number = -1
        self._items: dict[str, int] = {}

    def fixed(self, frame: Frame) -> Frame:
        return frame if self._fix is None else self._fix(frame)

    def _of_responses(self, frame: Frame) -> Frame:
        data = msgspec.json.decode(frame.data)
        name = str(data.get("type"))
        if name == "response.completed" and _is_cut(data["response"], self._request):
            name = "response.incomplete"
            data = {**data, "response": _cut(data["response"])}
        self._number += 1
        data |= {"type": name, "sequence_number": self._number}
        item = data.get("item_id") or (data.get("item") or {}).get("id")
        if item is not None:
            data.setdefault("output_index", self._items.setdefault(item, len(self._items)))
        if "content_part" in name or "output_text" in name:
            data.setdefault("content_index", 0)
        return _frame(name, data)


def _of_messages(frame: Frame) -> Frame:
    if frame.event != "message_delta":
        return frame
    data = msgspec.json.decode(frame.data)
    if data["delta"].get("stop_sequence") is None:
        return frame
    return _frame(
        "message_delta", {**data, "delta": {**data["delta"], "stop_reason": "stop_sequence"}}
    )


def failure(status: int, body: bytes) -> Response:
    """An error of llama.cpp, as a canonical error."""
    try:
        error = msgspec.json.decode(body)["error"]
        text, kind = str(error["message"]), str(error.get("type"))
        count, limit = error.get("n_prompt_tokens"), error.get("n_ctx")
    except (ValueError, KeyError, TypeError, AttributeError):
        return failed(ErrorKind.SERVER_ERROR, "the local model gave no readable answer", 500)
    if kind == "exceed_context_size_error":
        message = f"prompt is too long: {count} tokens > {limit} maximum"
        return failed(ErrorKind.CONTEXT_OVERFLOW, message, 400, "context_length_exceeded")
    bad = status < 500 or "is required" in text
    return failed(
        ErrorKind.INVALID_REQUEST if bad else ErrorKind.SERVER_ERROR, text, 400 if bad else 500
    )


def failed(kind: ErrorKind, text: str, status: int, code: str | None = None) -> Response:
    """An error as a response."""
    message = Message(Role.ASSISTANT, (), metadata=MessageMetadata(status=MessageStatus.ERROR))
    return Response(message, error=ProviderError(kind, text, code, status))


def _item(item: Any) -> Any:
    """The model's answer in the long form, because llama.cpp does not accept the short one."""
    match item:
        case {"role": "assistant", "content": str(text)}:
            part = {"type": "output_text", "text": text, "annotations": []}
            return {**item, "type": "message", "content": [part]}
        case _:
            return item


def _chat_format(kind: str, schema: Wire | None) -> Wire:
    if kind == "json":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema or {}}}


def _is_cut(body: Wire, request: Request) -> bool:
    """Whether an answer reached its token limit. llama.cpp calls every Responses answer complete,
    but counts its tokens."""
    usage = body.get("usage") or {}
    read, made = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    limit = request.options.max_output_tokens or USUAL_OUTPUT
    return bool(made >= limit or read + made >= CONTEXT)


def _cut(body: Wire) -> Wire:
    output = [
        {**item, "status": "incomplete"} if item.get("type") == "message" else item
        for item in body.get("output", ())
    ]
    details = {"reason": "max_output_tokens"}
    return {**body, "output": output, "status": "incomplete", "incomplete_details": details}


def _frame(name: str, data: Wire) -> Frame:
    return Frame(name, msgspec.json.encode(data).decode())
