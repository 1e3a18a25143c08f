"""Small wires of Ollama's chat, and the two questions that most tests ask of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.ollama import DIALECT
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from tests.dialects.ollama import judge
from tests.laws import laws

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "Tells it.", "parameters": SCHEMA}
TOOL = {"type": "function", "function": FUNCTION}
CALL = {"id": "call_abcdefgh", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
PNG = "iVBORw0KGgo="


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: str = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def result(text: str = "12 degrees", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "content": text, **more}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    listed = list(messages) or [user("Hello")]
    return {"model": "qwen3:8b", "messages": listed, "stream": False, **more}


def answer(text: str = "Hello", **more: Any) -> dict[str, Any]:
    return {
        "model": "qwen3:8b",
        "created_at": "2026-11-15T12:00:00.5Z",
        "message": {"role": "assistant", "content": text, **more.pop("message", {})},
        "done": True,
        "done_reason": "stop",
        "total_duration": 5,
        "prompt_eval_count": 10,
        "eval_count": 3,
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
    written = DIALECT.write_request(Request(messages, "qwen3:8b", **more))
    assert judge.request_problems(written.wire) == []
    return written.wire, written.report


def said(*messages: Message, **more: Any) -> list[Any]:
    """The messages that are written."""
    listed: list[Any] = write(*messages, **more)[0]["messages"]
    return listed


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]
