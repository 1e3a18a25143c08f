"""Made-up bodies of Cohere's v2 chat, one with everything in it."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.dialects.cohere import DIALECT

Json = dict[str, Any]
SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOL: Json = {
    "type": "function",
    "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA},
}
CALL: Json = {
    "id": "weather_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Oslo"}'},
}
DOCUMENT: Json = {"id": "doc:0", "data": {"text": "Oslo is cold.", "title": "Oslo", "page": 3}}
CITATION: Json = {
    "start": 0,
    "end": 4,
    "text": "Cold",
    "sources": [
        {
            "type": "document",
            "id": "doc:0",
            "document": {"id": "doc:0", "text": "Oslo is cold.", "title": "Oslo"},
        },
        {"type": "tool", "id": "weather_1:0", "tool_output": {"content": "cold"}},
    ],
    "content_index": 1,
    "type": "TEXT_CONTENT",
}
USAGE: Json = {
    "billed_units": {"input_tokens": 5, "output_tokens": 7},
    "tokens": {"input_tokens": 50, "output_tokens": 9, "reasoning_tokens": 2},
    "cached_tokens": 32,
}


def user(content: Any = "Hello") -> Json:
    return {"role": "user", "content": content}


def body(*messages: Json, **more: Any) -> Json:
    return {"model": "command-a-03-2025", "messages": list(messages or (user(),)), **more}


WHOLE = body(
    {"role": "system", "content": "Be brief."},
    user([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]),
    {"role": "assistant", "tool_plan": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "weather_1", "content": "cold"},
    {"role": "assistant", "content": [{"type": "text", "text": "Cold."}]},
    user("And now?"),
    tools=[TOOL],
    strict_tools=True,
    documents=[DOCUMENT, "Bergen is wet."],
    tool_choice="REQUIRED",
    thinking={"type": "enabled", "token_budget": 100},
    response_format={"type": "json_object", "json_schema": SCHEMA},
    safety_mode="STRICT",
    citation_options={"mode": "FAST"},
    stop_sequences=["END"],
    k=5,
    p=0.5,
    logprobs=True,
    priority=2,
)


def answer(**message: Any) -> Json:
    fields = {"role": "assistant", **message}
    return {"id": "a1", "finish_reason": "COMPLETE", "message": fields, "usage": USAGE}


THOUGHT: Json = {"type": "thinking", "thinking": "Hm."}
TEXT: Json = {"type": "text", "text": "Cold there."}
ANSWER = answer(content=[THOUGHT, TEXT], citations=[CITATION])
CALLING = {
    **answer(tool_plan="I look.", tool_calls=[CALL]),
    "finish_reason": "TOOL_CALL",
}


def home(wire: Json) -> Any:
    return DIALECT.write_request(DIALECT.read_request(wire)).wire


def answer_home(wire: Json) -> Any:
    return DIALECT.write_response(DIALECT.read_response(wire)).wire


def blocks(wire: Json) -> tuple[il.Block, ...]:
    return DIALECT.read_response(wire).message.content
