"""The payloads that are measured, the same in every run: an agent's transcript in many spellings.

W1 a short question, W2 200 messages, W3 10,000 messages, W4 a large image, W6 the turn behind W2,
all as OpenAI Chat requests; R1 and R2 Anthropic responses; W5 an Anthropic stream; `canonical` the
transcript as messages.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice, pairwise
from typing import Any, Literal, NamedTuple

from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.ids import Ulids
from interlingua.model.message import Message
from interlingua.model.metadata import (
    MessageMetadata,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)

Json = dict[str, Any]
Spelling = Literal["thinking_blocks", "reasoning_details"]

SEED = 7_041_776
MODEL = "claude-sonnet-4-5"
TOOL_NAME = "edit_file"
INSTRUCTIONS = "You are a careful agent."
_LONG_TALK = 24  # calls between two words of the user


# Text


def _vocabulary() -> list[str]:
    """Four hundred invented words, and some that need escapes or more than one byte a letter."""
    rng = random.Random(SEED)
    syllables = [c + v for c in "bcdfghjklmnprstvwz" for v in "aeiou"]
    plain = ["".join(rng.choices(syllables, k=rng.randint(1, 5))) for _ in range(400)]
    return [*plain, "façade", "日本語", "⇒", '"so to say"', "new\nline", "a\tcolumn", "C:\\temp\\x"]


_WORDS = _vocabulary()


def prose(rng: random.Random, size: int) -> str:
    """Text of exactly so many characters."""
    text = " ".join(rng.choices(_WORDS, k=size // 2 + 1))
    return text[:size]


def _signature(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(360)).decode()


def _arguments(rng: random.Random) -> Json:
    return {
        "path": f"src/{rng.choice(_WORDS[:400])}.py",
        "first": rng.randrange(1, 1000),
        "last": rng.randrange(1000, 2000),
        "text": prose(rng, 400),
        "options": {"check": True, "ratio": 0.75, "tags": ["x", "y"]},
    }


# The transcript


class Step(NamedTuple):
    """One message of the transcript, in nobody's format."""

    kind: Literal["user", "answer", "call", "result"]
    text: str
    id: str = ""
    thinking: str = ""
    signature: str = ""
    arguments: Json = {}  # noqa: RUF012  # read only


def transcript(count: int, thinking: int = 800, result: int = 4000) -> Iterator[Step]:
    """A question, then calls and their results, and now and then an answer and a new question."""
    return islice(steps(random.Random(SEED), thinking, result), count)


def steps(rng: random.Random, thinking: int, result: int) -> Iterator[Step]:
    number = 0
    while True:
        yield Step("user", prose(rng, 300))
        for _ in range(_LONG_TALK):
            number += 1
            id = f"toolu_{number:08d}"
            yield Step(
                "call",
                prose(rng, 120),
                id,
                prose(rng, thinking),
                _signature(rng),
                _arguments(rng),
            )
            yield Step("result", prose(rng, result), id)
        yield Step("answer", prose(rng, 500))


def small(count: int) -> Iterator[Step]:
    """The same with short texts, where the number of messages is what counts."""
    return transcript(count, thinking=40, result=60)


def large(count: int) -> Iterator[Step]:
    """The same with the text lengths of W3."""
    return transcript(count, thinking=1700, result=4600)


# As an OpenAI Chat request


def chat_request(steps: Iterator[Step], spelling: Spelling = "thinking_blocks") -> Json:
    messages = [{"role": "system", "content": INSTRUCTIONS}]
    messages += [_chat_message(step, spelling) for step in steps]
    return {"model": MODEL, "max_tokens": 4096, "messages": messages, "tools": [_chat_tool()]}


def _chat_message(step: Step, spelling: Spelling) -> Json:
    match step.kind:
        case "user":
            return {"role": "user", "content": step.text}
        case "answer":
            return {"role": "assistant", "content": step.text}
        case "result":
            return {"role": "tool", "tool_call_id": step.id, "content": step.text}
        case "call":
            function = {"name": TOOL_NAME, "arguments": json.dumps(step.arguments)}
            call = {"id": step.id, "type": "function", "function": function}
            thought = _chat_thinking(step, spelling)
            return {"role": "assistant", "content": step.text, **thought, "tool_calls": [call]}


def _chat_thinking(step: Step, spelling: Spelling) -> Json:
    """The format has no place for signed thinking of its own, so each server made one up."""
    signed = {"signature": step.signature}
    if spelling == "thinking_blocks":
        return {"thinking_blocks": [{"type": "thinking", "thinking": step.thinking, **signed}]}
    detail = {"type": "reasoning.text", "text": step.thinking, **signed}
    return {"reasoning_details": [{**detail, "format": "anthropic-claude-v1", "index": 0}]}


def _chat_tool() -> Json:
    kinds = {"path": "string", "first": "integer", "last": "integer", "text": "string"}
    parameters = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": ["path", "text"],
    }
    described = "Put new text in the place of some lines."
    function = {"name": TOOL_NAME, "description": described, "parameters": parameters}
    return {"type": "function", "function": function}


def _question(content: Any) -> Json:
    request = chat_request(iter([]))
    del request["tools"]
    request["messages"].append({"role": "user", "content": content})
    return request


def _w1() -> Json:
    return _question(prose(random.Random(SEED), 200))


def _w4() -> Json:
    image = base64.b64encode(random.Random(SEED).randbytes(5 * 2**20 * 3 // 4)).decode()
    url = {"url": f"data:image/png;base64,{image}"}
    return _question(
        [
            {"type": "text", "text": "What does this show?"},
            {"type": "image_url", "image_url": url},
        ]
    )


def request(name: str, spelling: Spelling = "thinking_blocks") -> bytes:
    """W1 to W4 as JSON."""
    match name:
        case "W1":
            return encoded(_w1())
        case "W2":
            return encoded(chat_request(transcript(200), spelling))
        case "W3":
            return encoded(chat_request(large(10_000), spelling))
        case "W4":
            return encoded(_w4())
    raise KeyError(name)


def next_turn() -> tuple[bytes, bytes]:
    """W6: a request with 201 messages whose calls are answered, and the one that follows it."""
    whole = chat_request(transcript(203))
    assert whole["messages"][-1]["role"] == "tool"
    return encoded({**whole, "messages": whole["messages"][:-2]}), encoded(whole)


def encoded(value: Any) -> bytes:
    """JSON with spaces after commas and colons, as most clients send it."""
    return json.dumps(value, ensure_ascii=False).encode()


# As Anthropic responses and a stream


def response(name: str) -> bytes:
    """R1, a short answer; R2, thinking, text and three calls."""
    rng = random.Random(SEED + 1)
    if name == "R1":
        return encoded(_anthropic([{"type": "text", "text": prose(rng, 400)}], "end_turn"))
    thinking = {"type": "thinking", "thinking": prose(rng, 2000), "signature": _signature(rng)}
    text = {"type": "text", "text": prose(rng, 1500)}
    calls = [{**_anthropic_call(n), "input": _arguments(rng)} for n in range(3)]
    return encoded(_anthropic([thinking, text, *calls], "tool_use"))


def _anthropic(content: list[Json], stop_reason: str | None, output_tokens: int = 503) -> Json:
    usage = {"input_tokens": 2048, "output_tokens": output_tokens}
    cache = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 1024}
    return {
        "id": "msg_01BENCHBENCHBENCHBENCHBE",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {**usage, **cache},
    }


def _anthropic_call(number: int) -> Json:
    return {"type": "tool_use", "id": f"toolu_{number:08d}", "name": TOOL_NAME, "input": {}}


def stream_events(count: int = 2000, calls: int = 5) -> list[Json]:
    """W5: exactly `count` events of thinking, text, and some calls."""
    rng = random.Random(SEED + 2)
    deltas = count - 2 * (2 + calls) - 4  # starts and stops of blocks, a signature, the frame
    quarter = deltas // 4
    start = {"type": "message_start", "message": _anthropic([], None, output_tokens=1)}
    thought = [
        _delta("thinking", piece) for piece in _pieces(rng, prose(rng, 14 * quarter), quarter)
    ]
    thought.append(_delta("signature", _signature(rng)))
    head = {"type": "thinking", "thinking": "", "signature": ""}
    out = [start, *_block(0, head, thought)]
    dialect = deltas - 2 * quarter
    text = [_delta("text", piece) for piece in _pieces(rng, prose(rng, 14 * dialect), dialect)]
    out += _block(1, {"type": "text", "text": ""}, text)
    for number, size in enumerate(_shares(quarter, calls)):
        arguments = json.dumps({"path": "a.py", "text": prose(rng, 14 * size)})
        items = [_delta("input_json", piece) for piece in _pieces(rng, arguments, size)]
        out += _block(2 + number, _anthropic_call(number), items)
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    out.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": count}})
    return [*out, {"type": "message_stop"}]


def _delta(kind: str, piece: str) -> Json:
    return {"type": f"{kind}_delta", "partial_json" if kind == "input_json" else kind: piece}


def _block(index: int, head: Json, deltas: list[Json]) -> list[Json]:
    at = {"index": index}
    middle = [{"type": "content_block_delta", **at, "delta": delta} for delta in deltas]
    start = {"type": "content_block_start", **at, "content_block": head}
    return [start, *middle, {"type": "content_block_stop", **at}]


def _pieces(rng: random.Random, text: str, count: int) -> list[str]:
    """A text cut into so many pieces, none of them empty."""
    cuts = sorted(rng.sample(range(1, len(text)), count - 1))
    return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]


def _shares(total: int, parts: int) -> list[int]:
    return [total // parts + (part < total % parts) for part in range(parts)]


def stream(count: int = 2000) -> list[bytes]:
    """W5 as server-sent events, one item a frame."""
    return [
        b"event: %s\ndata: %s\n\n" % (event["type"].encode(), encoded(event))
        for event in stream_events(count)
    ]


def chat_stream(count: int = 2000) -> list[bytes]:
    """The same answer as a Chat stream, one item a frame."""
    chunks: list[Json] = [_chunk({"role": "assistant", "content": ""})]
    for event in stream_events(count):
        delta, block = event.get("delta", {}), event.get("content_block", {})
        call = {"index": event.get("index", 0) - 2}
        if block.get("type") == "tool_use":
            function = {"name": TOOL_NAME, "arguments": ""}
            call |= {"id": block["id"], "type": "function", "function": function}
            chunks.append(_chunk({"tool_calls": [call]}))
        elif "thinking" in delta:
            chunks.append(_chunk({"reasoning_content": delta["thinking"]}))
        elif "text" in delta:
            chunks.append(_chunk({"content": delta["text"]}))
        elif "partial_json" in delta:
            function = {"arguments": delta["partial_json"]}
            chunks.append(_chunk({"tool_calls": [{**call, "function": function}]}))
    chunks.append(_chunk({}, "tool_calls"))
    counts = {"prompt_tokens": 2048, "completion_tokens": count, "total_tokens": 2048 + count}
    chunks.append({**_chunk({}), "choices": [], "usage": counts})
    return [*[b"data: %s\n\n" % encoded(chunk) for chunk in chunks], b"data: [DONE]\n\n"]


def _chunk(delta: Json, finish: str | None = None) -> Json:
    return {
        "id": "chatcmpl-01",
        "object": "chat.completion.chunk",
        "created": 1_760_000_000,
        "model": MODEL,
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


# As canonical messages


def canonical(steps: Iterator[Step], stored: bool = False) -> list[Message]:
    """The transcript as messages; `stored` as a session holds them, ids and all."""
    messages = [Message.system(INSTRUCTIONS)]
    messages += [_message(step, stored) for step in steps]
    return _kept(messages) if stored else messages


def _message(step: Step, stored: bool) -> Message:
    match step.kind:
        case "user":
            return Message.user(step.text)
        case "result":
            return Message.tool_result(_tool_id(step, stored), step.text)
        case "answer":
            metadata = _metadata(StopReason.END_TURN) if stored else None
            return Message.assistant(step.text, metadata)
        case "call":
            metadata = _metadata(StopReason.TOOL_USE) if stored else None
            return Message.assistant(_blocks(step, stored), metadata)


def _blocks(step: Step, stored: bool) -> list[Block]:
    call = ToolUseBlock(_tool_id(step, stored), TOOL_NAME, step.arguments)
    return [ThinkingBlock(step.thinking, step.signature), TextBlock(step.text), call]


def _tool_id(step: Step, stored: bool) -> str:
    """Inside a session, ids are made of ULIDs."""
    return f"tu_{step.id.removeprefix('toolu_'):0>26}" if stored else step.id


def _metadata(stop_reason: StopReason) -> MessageMetadata:
    model = f"anthropic:{MODEL}"
    usage = Usage(
        input_tokens=2048,
        output_tokens=503,
        cached_input_tokens=1024,
        cache_creation_input_tokens=0,
        cost_usd=Decimal("0.0139962"),
        pricing_version="2026-11-01",
        latency_ms=1250,
    )
    return MessageMetadata(
        model=model,
        provider="anthropic",
        protocol="anthropic",
        routing=RoutingRecord(RoutingMode.DEFAULT, model, "the default model"),
        usage=usage,
        stop_reason=stop_reason,
    )


def _kept(messages: list[Message]) -> list[Message]:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ms = int(start.timestamp() * 1000)
    ulids = Ulids(clock=lambda: ms, random=lambda size: bytes(range(1, size + 1)))
    session_id = ulids.new()
    return [
        message.replace(
            id=ulids.new(), session_id=session_id, created_at=start + timedelta(milliseconds=number)
        )
        for number, message in enumerate(messages)
    ]
