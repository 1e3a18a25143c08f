"""Streams of the Responses API, for tests."""

from __future__ import annotations

from typing import Any

from tests.dialects.openai_responses.streaming import (
    added,
    called,
    custom,
    done,
    message,
    progress,
    refused,
    talk,
    thoughts,
    words,
)

HELLO = talk(message(0, words("Hel", "lo")))

SEARCH = {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "x"}}

CITED = {
    "type": "url_citation",
    "url": "https://example.com/",
    "title": "Example",
    "start_index": 0,
    "end_index": 2,
}

FOUND = {
    "id": "fs_1",
    "type": "file_search_call",
    "queries": ["x"],
    "results": [{"file_id": "file_1", "filename": "a.md", "score": 0.5, "text": "abc"}],
}

RAN = {
    "id": "ci_1",
    "type": "code_interpreter_call",
    "code": "1+1",
    "container_id": "cntr_1",
    "outputs": [{"type": "logs", "logs": "2"}],
}

ASKED = {
    "id": "mcp_1",
    "type": "mcp_call",
    "name": "ask",
    "server_label": "wiki",
    "arguments": '{"q":"x"}',
    "output": "an answer",
    "error": None,
}

PAINTED = {
    "id": "ig_1",
    "type": "image_generation_call",
    "output_format": "png",
    "result": "AAAA",
}


def interpreter() -> list[Any]:
    place = {"output_index": 0, "item_id": "ci_1"}
    name = "response.code_interpreter_call"
    start, end = progress(0, RAN, first={"code": "", "outputs": None})
    return [
        start,
        {"type": f"{name}.in_progress", **place},
        *({"type": f"{name}_code.delta", **place, "delta": piece} for piece in ("1+", "1")),
        {"type": f"{name}_code.done", **place, "code": "1+1"},
        {"type": f"{name}.completed", **place},
        end,
    ]


def asked() -> list[Any]:
    place = {"output_index": 0, "item_id": "mcp_1"}
    start, end = progress(0, ASKED, first={"arguments": "", "output": None})
    return [
        start,
        {"type": "response.mcp_call.in_progress", **place},
        {"type": "response.mcp_call_arguments.delta", **place, "delta": '{"q":"x"}'},
        {"type": "response.mcp_call_arguments.done", **place, "arguments": '{"q":"x"}'},
        {"type": "response.mcp_call.completed", **place},
        end,
    ]


def painted() -> list[Any]:
    partial = {"partial_image_index": 0, "partial_image_b64": "AA", "output_format": "png"}
    frames = progress(0, PAINTED, "in_progress", "generating", "partial_image", "completed")
    frames[0] = added(0, {"id": "ig_1", "type": "image_generation_call", "status": "in_progress"})
    frames[3] |= partial
    return frames


def reasoned() -> list[Any]:
    """Reasoning as text, as open models have it."""
    item = {"id": "rs_1", "type": "reasoning", "summary": [], "content": []}
    place = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    part = {"type": "reasoning_text", "text": ""}
    whole = {**part, "text": "Hm."}
    name = "response.reasoning_text"
    return [
        added(0, {**item, "status": "in_progress"}),
        {"type": "response.content_part.added", **place, "part": part},
        {"type": f"{name}.delta", **place, "delta": "Hm"},
        {"type": f"{name}.delta", **place, "delta": "."},
        {"type": f"{name}.done", **place, "text": "Hm."},
        {"type": "response.content_part.done", **place, "part": whole},
        done(0, {**item, "status": "completed", "content": [whole]}),
    ]


TOLD: dict[str, list[list[Any]]] = {
    "text": [message(0, words("Hel", "lo"))],
    "empty text": [message(0, words(""))],
    "no content": [message(0)],
    "two parts": [message(0, words("a"), words("b", number=1))],
    "phases": [
        message(0, words("Well"), id="msg_1", phase="commentary"),
        message(1, words("a"), id="msg_2", phase="final_answer"),
    ],
    "citations": [message(0, words("Hi", notes=[CITED, {**CITED, "end_index": 1}]))],
    "refusal": [message(0, refused("N", "o."))],
    "summaries": [thoughts(0, ("Hm", "."), ("So",), encrypted_content="s"), message(1, words("a"))],
    "bare reasoning": [thoughts(0, encrypted_content="s"), message(1, words("a"))],
    "unsigned": [thoughts(0, ("Hm",))],
    "reasoning text": [reasoned()],
    "call": [called(0, '{"a":', " 1}")],
    "no arguments": [called(0)],
    "empty arguments": [called(0, "{}")],
    "bad arguments": [called(0, '{"a": 1')],
    "parallel calls": [called(0, '{"a":1}'), called(1, "{}", id="call_2")],
    "custom": [custom(0, "*** ", "x")],
    "web search": [
        progress(0, SEARCH, "in_progress", "searching", "completed", first={"action": None}),
        message(1, words("a")),
    ],
    "file search": [progress(0, FOUND, "in_progress", first={"queries": [], "results": None})],
    "code interpreter": [interpreter()],
    "mcp": [asked()],
    "image": [painted()],
    "computer": [
        progress(
            0,
            {
                "id": "cu_1",
                "type": "computer_call",
                "call_id": "call_1",
                "action": {"type": "screenshot"},
                "pending_safety_checks": [],
            },
        )
    ],
    "shell": [
        progress(
            0,
            {
                "id": "sh_1",
                "type": "shell_call",
                "call_id": "call_1",
                "action": {"commands": ["ls"], "timeout_ms": None, "max_output_length": None},
            },
        )
    ],
    "compaction": [progress(0, {"id": "cmp_1", "type": "compaction", "encrypted_content": "e"})],
    "unknown item": [progress(0, {"id": "h_1", "type": "hologram", "data": "z"})],
}


def without(wires: list[Any], *keys: str) -> list[Any]:
    return [{name: item for name, item in wire.items() if name not in keys} for wire in wires]
