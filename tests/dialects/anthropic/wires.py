"""Small wires of the Messages API, and the two questions that most tests ask of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic import DIALECT
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from tests.laws import laws

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"name": "get_weather", "description": "Tells the weather.", "input_schema": SCHEMA}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}
PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQ="


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def result(content: Any = "12 degrees", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, **more}


def body(*turns: Any, **more: Any) -> dict[str, Any]:
    messages = list(turns) or [user(text("Hello"))]
    return {"model": "claude-sonnet-5", "max_tokens": 1024, "messages": messages, **more}


def answer(*parts: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": list(parts) or [text("Hello")],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 3},
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


def write(*messages: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    """What is written for messages that were not read here, and what was lost."""
    more.setdefault("options", Options(max_output_tokens=4096))
    written = DIALECT.write_request(Request(messages, "claude-sonnet-5", **more))
    return written.wire, written.report


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]


HELLO = Message.user("Hello")
