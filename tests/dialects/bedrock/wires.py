"""Small wires of Converse, and the two questions that most tests ask of them."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock import DIALECT
from interlingua.model.blocks import Block
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from tests.laws import acceptable, laws

MODEL = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
SPEC = {"name": "get_weather", "description": "Tells it.", "inputSchema": {"json": SCHEMA}}
TOOLS = {"tools": [{"toolSpec": SPEC}]}
CALL = {"toolUse": {"toolUseId": "tooluse_1", "name": "get_weather", "input": {"city": "Oslo"}}}
POINT = {"cachePoint": {"type": "default"}}
PNG = "iVBORw0KGgo="
PDF = "JVBERi0xLjQ="


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def assistant(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def result(*content: Any, id: str = "tooluse_1", **more: Any) -> dict[str, Any]:
    parts = list(content) or [text("12 degrees")]
    return {"toolResult": {"toolUseId": id, "content": parts, **more}}


def body(*turns: Any, **more: Any) -> dict[str, Any]:
    return {"messages": list(turns) or [user(text("Hello"))], **more}


def answer(*parts: Any, **more: Any) -> dict[str, Any]:
    return {
        "output": {"message": assistant(*(parts or [text("Hello")]))},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 10, "outputTokens": 3, "totalTokens": 13},
        "metrics": {"latencyMs": 512},
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


def block_of(part: Any, role: str = "user") -> Block:
    """The block that a part reads as."""
    return read(body({"role": role, "content": [part]}, toolConfig=TOOLS)).messages[0].content[0]


def write(*messages: Message, **more: Any) -> tuple[dict[str, Any], Report]:
    """What is written for messages that were not read here, and what was lost."""
    written = DIALECT.write_request(Request(messages, MODEL, **more))
    assert acceptable.REQUESTS["bedrock"](written.wire) == []
    return written.wire, written.report


def parts_of(*messages: Message, **more: Any) -> list[Any]:
    """The parts of the last turn that is written."""
    content: list[Any] = write(*messages, **more)[0]["messages"][-1]["content"]
    return content


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]
