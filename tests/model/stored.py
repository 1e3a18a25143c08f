"""Stored messages, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message

HI = b'{"role":"user","content":[{"type":"text","text":"hi"}],"schema_version":1}'

BASE = {"role": "user", "content": [{"type": "text", "text": "hi"}], "schema_version": 1}

NEW = {"deep": [1, {"x": None}], "n": 2**70}


def message_with(**fields: Any) -> dict[str, Any]:
    return {**BASE, **fields}


def block_with(kind: str, **fields: Any) -> dict[str, Any]:
    return message_with(content=[{"type": kind, **fields}])


ROUTING = {"mode": "manual", "chosen_model": "a:b", "reason": "c"}

UNKNOWN_FIELDS: dict[str, tuple[Any, Any]] = {
    "message": (Message, message_with(x_new=NEW)),
    "message, pointer-like": (Message, message_with(**{"/a~b/c": 1, "~": 2, "": 3, "a/b": 4})),
    "metadata": (Message, message_with(metadata={"x_new": NEW})),
    "metadata beside provider_raw": (
        Message,
        message_with(metadata={"provider_raw": {"gemini": {"a": 1}}, "x_new": 1}, x_new=2),
    ),
    "block": (Message, block_with("text", text="hi", x_new=NEW)),
    "block beside raw": (Message, block_with("text", text="a", raw={"gemini": {"b": 1}}, x_new=1)),
    "citation": (Message, block_with("text", text="hi", citations=[{"url": "u", "x_new": NEW}])),
    "cache": (Message, block_with("text", text="hi", cache={"ttl": "5m", "x_new": NEW})),
    "cache alone": (Message, block_with("text", text="hi", cache={"/x": NEW})),
    "source": (Message, block_with("image", source={"kind": "url", "data": "u", "x_new": NEW})),
    "block in a source": (
        Message,
        block_with(
            "document",
            source={"kind": "blocks", "content": [{"type": "text", "text": "x", "x_new": NEW}]},
        ),
    ),
    "block in a result": (
        Message,
        block_with("tool_result", tool_use_id="a", content=[{"type": "text", "text": "", "x": 1}]),
    ),
    "usage": (Message, message_with(metadata={"usage": {"input_tokens": 1, "x_new": NEW}})),
    "routing": (Message, message_with(metadata={"routing": {**ROUTING, "x_new": NEW}})),
    "diagnostic": (
        Message,
        message_with(metadata={"diagnostics": [{"type": "a"}, {"type": "b", "x_new": NEW}]}),
    ),
    "request": (Request, {"messages": [BASE], "x_new": NEW}),
    "options": (Request, {"options": {"seed": 1, "x_new": NEW}}),
    "tool choice": (Request, {"options": {"tool_choice": {"mode": "any", "x_new": NEW}}}),
    "tool": (Request, {"tools": [{"name": "t", "x_new": NEW}]}),
    "response": (Response, {"message": BASE, "x_new": NEW}),
    "error": (
        Response,
        {"message": BASE, "error": {"kind": "other", "message": "m", "x_new": NEW}},
    ),
    "list": (list[Message], [BASE, message_with(x_new=NEW)]),
}

UNKNOWN_WORDS: dict[str, tuple[Any, Any]] = {
    "status": (Message, message_with(metadata={"status": "archived"})),
    "stop reason": (Message, message_with(metadata={"stop_reason": "tired"})),
    "routing mode": (Message, message_with(metadata={"routing": {**ROUTING, "mode": "dice"}})),
    "source kind": (Message, block_with("image", source={"kind": "hologram", "data": "x"})),
    "executor": (Message, block_with("tool_use", id="a", name="b", input={}, executor="moon")),
    "effort": (Request, {"options": {"reasoning": {"effort": "heroic", "visible": True}}}),
    "side effects": (Request, {"tools": [{"name": "t", "side_effects": "cosmic"}]}),
    "error kind": (Response, {"message": BASE, "error": {"kind": "flood", "message": "m"}}),
    "tool choice mode": (Request, {"options": {"tool_choice": {"mode": "maybe"}}}),
}

UNKNOWN_BLOCKS: dict[str, tuple[Any, Any]] = {
    "block": (Message, block_with("hologram", depth=3, parts=[NEW])),
    "among others": (
        Message,
        message_with(content=[{"type": "a"}, {"type": "text", "text": "x"}, {"type": "c"}]),
    ),
    "in a result": (
        Message,
        block_with("tool_result", tool_use_id="a", content=[{"type": "hologram", "x": 1}]),
    ),
    "known, and new in a result": (
        Message,
        block_with("tool_result", tool_use_id="a", content=[{"type": "thinking", "text": "x"}]),
    ),
    "unknown, with more": (Message, block_with("unknown", raw={"gemini": {"a": 1}}, x_new=1)),
    "unknown, with more alone": (Message, block_with("unknown", raw={}, x_new=1)),
    "in a source": (
        Message,
        block_with("document", source={"kind": "blocks", "content": [{"type": "x", "y": 1}]}),
    ),
}

STRANGE = [
    pytest.param(*case, id=f"{what}: {name}")
    for what, cases in [
        ("field", UNKNOWN_FIELDS),
        ("word", UNKNOWN_WORDS),
        ("block", UNKNOWN_BLOCKS),
    ]
    for name, case in cases.items()
]
