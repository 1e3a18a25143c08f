"""Small wires of Chat Completions, and the two questions that most tests ask of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from tests.laws import laws

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "Tells the weather.", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'},
}
PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQ="


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def image(url: str = f"data:image/png;base64,{PNG}", **more: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def user(content: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": content, **more}


def assistant(content: Any = "Hello", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def result(content: Any = "12 degrees", id: str = "call_1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "messages": list(messages) or [user()], **more}


def answer(
    message: dict[str, Any] | None = None, finish_reason: Any = "stop", **more: Any
) -> dict[str, Any]:
    choice = {"index": 0, "message": message or assistant(), "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-5",
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
        **more,
    }


def read(wire: dict[str, Any]) -> Request:
    """The request, once it is known that it goes home unchanged, also by way of storage."""
    assert laws.home(DIALECT, "request", wire) == []
    assert laws.pure(DIALECT, "request", wire) == []
    return DIALECT.read_request(wire)


def read_answer(wire: dict[str, Any]) -> Response:
    """The same for a response."""
    assert laws.home(DIALECT, "response", wire) == []
    assert laws.pure(DIALECT, "response", wire) == []
    return DIALECT.read_response(wire)


def first(*messages: Any, **more: Any) -> Message:
    """The first message of a body that goes home."""
    return read(body(*messages, **more)).messages[0]


def write(*messages: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    """What is written for messages that were not read here, and what was lost."""
    written = DIALECT.write_request(Request(messages, "gpt-5", **more))
    return written.wire, written.report


def write_answer(message: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    written = DIALECT.write_response(Response(message, **more))
    return written.wire, written.report


def made(*blocks: Any, **about: Any) -> Message:
    """An assistant's message that was not read here."""
    return Message.assistant(blocks, MessageMetadata(**about))


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]
