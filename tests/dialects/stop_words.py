"""Why an answer ended, in the words of each wire, read here without our own readers: the words are
those of the official clients, and what each means is said once more."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from typing import Any

Wire = dict[str, Any]
Frames = list[bytes]

TEXT = "Here it is."
CHAT = {
    "stop": "end",
    "length": "cut",
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "filtered",
}
CLAUDE = {
    "end_turn": "end",
    "stop_sequence": "sequence",
    "max_tokens": "cut",
    "model_context_window_exceeded": "cut",
    "tool_use": "calls",
}
WORDS: dict[str, dict[str, str]] = {
    "openai-chat": CHAT,
    "openrouter": {
        **{word: CHAT[word] for word in CHAT if word != "function_call"},
        "error": "failed",
    },
    "openai-responses": {
        "completed": "end",
        "max_output_tokens": "cut",
        "content_filter": "filtered",
        "steered": "paused",
        "max_messages": "other",
    },
    "anthropic": {
        **CLAUDE,
        "refusal": "refused",
        "pause_turn": "paused",
        "compaction": "paused",
    },
    "bedrock": {
        **CLAUDE,
        "content_filtered": "filtered",
        "guardrail_intervened": "filtered",
        "malformed_model_output": "other",
        "malformed_tool_use": "other",
    },
    "gemini": {
        "STOP": "end",
        "MAX_TOKENS": "cut",
        **dict.fromkeys(
            (
                "SAFETY",
                "RECITATION",
                "LANGUAGE",
                "BLOCKLIST",
                "PROHIBITED_CONTENT",
                "SPII",
                "IMAGE_SAFETY",
                "IMAGE_PROHIBITED_CONTENT",
                "IMAGE_RECITATION",
                "MODEL_ARMOR",
                "ESCALATION",
                "PUP_LIMITED_DISABLED",
            ),
            "filtered",
        ),
        "CONTINUATION": "paused",
        "OTHER": "failed",
        "IMAGE_OTHER": "failed",
        "MISSING_THOUGHT_SIGNATURE": "failed",
        **dict.fromkeys(
            (
                "FINISH_REASON_UNSPECIFIED",
                "MALFORMED_FUNCTION_CALL",
                "UNEXPECTED_TOOL_CALL",
                "TOO_MANY_TOOL_CALLS",
                "MALFORMED_RESPONSE",
                "NO_IMAGE",
            ),
            "other",
        ),
    },
    "gemini-interactions": {
        "completed": "end",
        "requires_action": "calls",
        "incomplete": "cut",
        "budget_exceeded": "cut",
        "requires_continuation": "paused",
        "in_progress": "paused",
        "queued": "paused",
        "cancelled": "cancelled",
        "failed": "failed",
    },
    "ollama": {"stop": "end", "length": "cut", "load": "other", "unload": "other"},
    "cohere": {
        "COMPLETE": "end",
        "STOP_SEQUENCE": "sequence",
        "MAX_TOKENS": "cut",
        "TOOL_CALL": "calls",
        "ERROR": "failed",
        "TIMEOUT": "failed",
    },
}
HEARD = {
    **WORDS["openai-responses"],
    **{"incomplete": "other", "failed": "failed", "cancelled": "cancelled"},
    **{"in_progress": "paused", "queued": "paused"},
}
"""What a client of Responses may hear: also a status that gives no reason."""
BY_CONTENT = ("openai-responses", "gemini", "ollama")
"""Wires whose word for the end leaves it to the content whether a call is to be answered."""


def vocabulary(dialect: str) -> dict[str, str]:
    return HEARD if dialect == "openai-responses" else WORDS[dialect]


def meaning(dialect: str, word: Any, calls: bool, spoken: bool = False) -> str:
    """What a word means to a client; `spoken` for what a model said, where hosts of Chat say `stop`
    beside calls and mean the calls."""
    result = vocabulary(dialect).get(word, "unheard of")
    by_content = dialect in BY_CONTENT or (spoken and dialect in ("openai-chat", "openrouter"))
    return "calls" if result == "end" and calls and by_content else result


# -- whole answers --------------------------------------------------------------------------------


def _chat(word: str, calls: bool) -> Wire:
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message: Wire = {"role": "assistant", "content": TEXT}
    choice = {"index": 0, "message": message | ({"tool_calls": [call]} if calls else {})}
    head = {"id": "a", "object": "chat.completion", "created": 1, "model": "m"}
    return {**head, "choices": [{**choice, "finish_reason": word}]}


def _responses(word: str, calls: bool) -> Wire:
    fields = {"type": "output_text", "text": TEXT, "annotations": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f"}
    wire: Wire = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed" if word == "completed" else "incomplete",
        "output": [{**message, "content": [fields]}]
        + ([{**call, "arguments": "{}", "status": "completed"}] if calls else []),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    return wire if word == "completed" else {**wire, "incomplete_details": {"reason": word}}


def _anthropic(word: str, calls: bool) -> Wire:
    call = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": TEXT}, *([call] if calls else [])],
        "stop_reason": word,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _bedrock(word: str, calls: bool) -> Wire:
    call = {"toolUse": {"toolUseId": "tooluse_1", "name": "f", "input": {}}}
    content = [{"text": TEXT}, *([call] if calls else [])]
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": word,
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }


def _gemini(word: str, calls: bool) -> Wire:
    call = {"functionCall": {"name": "f", "args": {}}}
    content = {"role": "model", "parts": [{"text": TEXT}, *([call] if calls else [])]}
    candidate = {"index": 0, "content": content, "finishReason": word}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": "r"}


def _interactions(word: str, calls: bool) -> Wire:
    call = {"type": "function_call", "id": "call_1", "name": "f", "arguments": {}}
    fields = {"type": "model_output", "content": [{"type": "text", "text": TEXT}]}
    head = {"id": "v1_a", "object": "interaction", "model": "m", "status": word}
    return {**head, "steps": [fields, *([call] if calls else [])]}


def _ollama(word: str, calls: bool) -> Wire:
    call = {"function": {"name": "f", "arguments": {}}}
    message = {"role": "assistant", "content": TEXT} | ({"tool_calls": [call]} if calls else {})
    head = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": message}
    return {**head, "done": True, "done_reason": word}


def _cohere(word: str, calls: bool) -> Wire:
    call = {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message: Wire = {"role": "assistant", "content": [{"type": "text", "text": TEXT}]}
    message |= {"tool_calls": [call]} if calls else {}
    return {"id": "a", "finish_reason": word, "message": message}


WHOLE: dict[str, Callable[[str, bool], Wire]] = {
    "openai-chat": _chat,
    "openrouter": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "bedrock": _bedrock,
    "gemini": _gemini,
    "gemini-interactions": _interactions,
    "ollama": _ollama,
    "cohere": _cohere,
}


# -- streams --------------------------------------------------------------------------------------


def _sse(*chunks: Wire, named: bool = False) -> Frames:
    head = "event: {}\n" if named else ""
    return [
        f"{head.format(chunk.get('type'))}data: {json.dumps(chunk)}\n\n".encode()
        for chunk in chunks
    ]


def _chat_stream(word: str, calls: bool) -> Frames:
    whole = _chat(word, calls)
    choice = whole.pop("choices")[0]
    head = {**whole, "object": "chat.completion.chunk"}
    delta = choice["message"]
    for index, call in enumerate(delta.get("tool_calls", ())):
        call["index"] = index
    first = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": word}]}
    return [*_sse(first, last), b"data: [DONE]\n\n"]


def _responses_stream(word: str, calls: bool) -> Frames:
    whole = _responses(word, calls)
    begun = {**whole, "status": "in_progress", "output": []}
    begun.pop("incomplete_details", None)
    steps: list[Wire] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item": item}
        steps.append({"type": "response.output_item.added", **place})
        steps.append({"type": "response.output_item.done", **place})
    steps.append({"type": f"response.{whole['status']}", "response": whole})
    numbered = [{**step, "sequence_number": number} for number, step in enumerate(steps)]
    return _sse(*numbered, named=True)


def _anthropic_stream(word: str, calls: bool) -> Frames:
    whole = _anthropic(word, calls)
    steps: list[Wire] = [
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    ]
    for index, block in enumerate(whole["content"]):
        steps.append({"type": "content_block_start", "index": index, "content_block": block})
        steps.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": word, "stop_sequence": None}
    steps.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}})
    return _sse(*steps, {"type": "message_stop"}, named=True)


def _bedrock_stream(word: str, calls: bool) -> Frames:
    frames = [_aws("messageStart", {"role": "assistant"})]
    frames.append(_aws("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": TEXT}}))
    frames.append(_aws("contentBlockStop", {"contentBlockIndex": 0}))
    if calls:
        start = {"toolUse": {"toolUseId": "tooluse_1", "name": "f"}}
        frames.append(_aws("contentBlockStart", {"contentBlockIndex": 1, "start": start}))
        delta = {"toolUse": {"input": "{}"}}
        frames.append(_aws("contentBlockDelta", {"contentBlockIndex": 1, "delta": delta}))
        frames.append(_aws("contentBlockStop", {"contentBlockIndex": 1}))
    frames.append(_aws("messageStop", {"stopReason": word}))
    about = {key: _bedrock(word, calls)[key] for key in ("usage", "metrics")}
    return [*frames, _aws("metadata", about)]


def _aws(kind: str, body: Wire) -> bytes:
    """One message of Amazon's event stream."""
    fields = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in fields.items()
    )
    payload = json.dumps(body).encode()
    prelude = struct.pack(">II", len(headers) + len(payload) + 16, len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _gemini_stream(word: str, calls: bool) -> Frames:
    return _sse(_gemini(word, calls))


def _interactions_stream(word: str, calls: bool) -> Frames:
    whole = _interactions(word, calls)
    steps = whole.pop("steps")
    fields: Wire = {"event_type": "step.delta", "index": 0}
    chunks: list[Wire] = [
        {"event_type": "interaction.created", "interaction": {**whole, "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {**fields, "delta": {"type": "text", "text": TEXT}},
        {"event_type": "step.stop", "index": 0},
    ]
    for call in steps[1:]:
        chunks.append({"event_type": "step.start", "index": 1, "step": call})
        chunks.append({"event_type": "step.stop", "index": 1})
    return _sse(*chunks, {"event_type": "interaction.completed", "interaction": whole})


def _ollama_stream(word: str, calls: bool) -> Frames:
    whole = _ollama(word, calls)
    first = {key: whole[key] for key in ("model", "created_at", "message")}
    last = {**whole, "message": {"role": "assistant", "content": ""}}
    return [json.dumps(line).encode() + b"\n" for line in ({**first, "done": False}, last)]


def _cohere_stream(word: str, calls: bool) -> Frames:
    content = _cohere(word, calls)["message"]
    steps: list[Wire] = [{"type": "message-start", "id": "a", "delta": {"message": {}}}]
    for kind, key in (("content", "content"), ("tool-call", "tool_calls")):
        for index, part in enumerate(content.get(key, ())):
            delta = {"message": {key: part}}
            steps.append({"type": f"{kind}-start", "index": index, "delta": delta})
            steps.append({"type": f"{kind}-end", "index": index})
    steps.append({"type": "message-end", "delta": {"finish_reason": word}})
    return [*_sse(*steps, named=True), b"data: [DONE]\n\n"]


STREAM: dict[str, Callable[[str, bool], Frames]] = {
    "openai-chat": _chat_stream,
    "openrouter": _chat_stream,
    "openai-responses": _responses_stream,
    "anthropic": _anthropic_stream,
    "bedrock": _bedrock_stream,
    "gemini": _gemini_stream,
    "gemini-interactions": _interactions_stream,
    "ollama": _ollama_stream,
    "cohere": _cohere_stream,
}


# -- the words in what was written ----------------------------------------------------------------


def word_in(dialect: str, wire: Wire) -> Any:
    """The word in a whole answer."""
    match dialect:
        case "openai-chat" | "openrouter":
            return wire["choices"][0]["finish_reason"]
        case "openai-responses":
            reason = (wire.get("incomplete_details") or {}).get("reason")
            return reason or wire["status"]
        case "anthropic":
            return wire["stop_reason"]
        case "bedrock":
            return wire["stopReason"]
        case "gemini":
            return wire["candidates"][0].get("finishReason")
        case "gemini-interactions":
            return wire["status"]
        case "cohere":
            return wire["finish_reason"]
        case _:
            return wire["done_reason"]


def word_streamed(dialect: str, data: bytes) -> Any:
    """The word in the bytes of a stream."""
    if dialect == "bedrock":
        return _bodies(data)["messageStop"]["stopReason"]
    lines = [line.removeprefix("data: ") for line in data.decode().splitlines()]
    chunks = [json.loads(line) for line in lines if line.startswith("{")]
    match dialect:
        case "openai-chat" | "openrouter":
            choices = [choice for chunk in chunks for choice in chunk["choices"]]
            words = [c["finish_reason"] for c in choices if c.get("finish_reason") is not None]
            return words[-1]
        case "openai-responses":
            return word_in(dialect, chunks[-1]["response"])
        case "anthropic":
            changes = [chunk for chunk in chunks if chunk["type"] == "message_delta"]
            return changes[-1]["delta"]["stop_reason"]
        case "gemini-interactions":
            return chunks[-1]["interaction"]["status"]
        case "cohere":
            return chunks[-1]["delta"]["finish_reason"]
        case _:
            return word_in(dialect, chunks[-1])


def _bodies(data: bytes) -> dict[str, Wire]:
    """The last body of each kind in an event stream of Amazon's."""
    found: dict[str, Wire] = {}
    while data:
        total, length = struct.unpack(">II", data[:8])
        headers, payload = data[12 : 12 + length], data[12 + length : total - 4]
        kind = headers.split(b":event-type\x07")[1]
        size = struct.unpack(">H", kind[:2])[0]
        found[kind[2 : 2 + size].decode()] = json.loads(payload)
        data = data[total:]
    return found
