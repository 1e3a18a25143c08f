"""Bodies of the Interactions API, made up, and ways to read them that check the way home."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.model.base import difference

Wire = dict[str, Any]
NAME = "gemini-interactions"


def text(words: str, **more: Any) -> Wire:
    return {"type": "text", "text": words, **more}


def user(*parts: Wire, **more: Any) -> Wire:
    return {"type": "user_input", "content": list(parts), **more}


def output(*parts: Wire, **more: Any) -> Wire:
    return {"type": "model_output", "content": list(parts), **more}


def thought(*summary: Wire, **more: Any) -> Wire:
    return {"type": "thought", **({"summary": list(summary)} if summary else {}), **more}


CALL: Wire = {"type": "function_call", "id": "fc_1", "name": "add", "arguments": {"a": 1}}
RESULT: Wire = {"type": "function_result", "call_id": "fc_1", "name": "add", "result": "2"}
TOOL: Wire = {
    "type": "function",
    "name": "add",
    "description": "Adds.",
    "parameters": {"type": "object", "properties": {"a": {"type": "number"}}},
}
IMAGE: Wire = {"type": "image", "data": "iVBORw0KGgo=", "mime_type": "image/png"}
SEARCH: list[Wire] = [
    {
        "type": "google_search_call",
        "id": "s1",
        "arguments": {"queries": ["spiders"]},
        "search_type": "web_search",
        "signature": "c2lnMQ==",
    },
    {
        "type": "google_search_result",
        "call_id": "s1",
        "is_error": False,
        "result": [{"search_suggestions": "<b>"}],
        "signature": "c2lnMg==",
    },
]
USAGE: Wire = {
    "total_input_tokens": 14,
    "total_cached_tokens": 4,
    "total_output_tokens": 34,
    "total_thought_tokens": 22,
    "total_tool_use_tokens": 5,
    "total_tokens": 75,
    "input_tokens_by_modality": [{"modality": "text", "tokens": 14}],
}


def body(*steps: Wire, **more: Any) -> Wire:
    return {"model": "gemini-2.5-flash", "input": list(steps) or [user(text("Hi"))], **more}


def answer(*steps: Wire, **more: Any) -> Wire:
    head = {"id": "v1_a", "object": "interaction", "model": "m", "status": "completed"}
    return {**head, "steps": list(steps), **more}


def read(wire: Wire) -> il.Request:
    """The request, once it is known to go home without a loss, by way of a store too."""
    request = DIALECT.read_request(wire)
    for each in (request, il.loads(il.dumps(request), il.Request)):
        written = DIALECT.write_request(each)
        assert difference(wire, written.wire) is None
        assert list(written.report.entries) == []
    return request


def read_answer(wire: Wire) -> il.Response:
    response = DIALECT.read_response(wire)
    for each in (response, il.loads(il.dumps(response), il.Response)):
        written = DIALECT.write_response(each)
        assert difference(wire, written.wire) is None
        assert list(written.report.entries) == []
    return response
