"""A turn of a long session against one retelling and one writing of its history: what a session
does by itself costs what is new. It makes the bytes of the body; the answer is a wire at hand, and
nothing is sent."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import interlingua as il
from bench.measure import Row, Timing, alone, compare
from interlingua.adapt.request import adapt, write

COUNT = 10_000
TARGET = 0.2
MEMORY = "/dev/shm"
MODELS = ("openai:gpt-4.1", "anthropic:claude-opus-4-6", "gemini:gemini-2.5-flash")
ANSWERS: dict[str, dict[str, Any]] = {
    "openai-chat": {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "anthropic": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "ok"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
    "gemini": {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "ok"}]},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {
            "promptTokenCount": 1,
            "candidatesTokenCount": 1,
            "totalTokenCount": 2,
        },
    },
}


def rows(quick: bool) -> Iterator[Row]:
    for model in MODELS:
        timing = alone("bench.sessions:turn", model, 3 if quick else 7)
        floor = f"retell and write {timing.floor * 1e3:.0f} ms"
        name = model.partition(":")[2]
        yield Row(f"session: a turn after {COUNT:,}, {name}", floor, timing.ratio, TARGET)


def turn(model: str, rounds: int) -> Timing:
    """Turns of one session, in turns with the floor."""
    place = MEMORY if Path(MEMORY).is_dir() else None  # what a disk takes is the store's row
    with (
        tempfile.TemporaryDirectory(prefix="interlingua-bench-", dir=place) as folder,
        il.open_store(f"sqlite:///{Path(folder, 'turns.db')}") as store,
    ):
        session = il.Session.create(store, model=model)
        session.append(*history())
        adapter = session.adapter()
        answer = ANSWERS[adapter.dialect.name]
        request = adapter.request([*session.messages(), il.Message.user("and now?")])

        def floor() -> Any:
            return write(adapt(request, adapter.target)).wire

        def one() -> Any:
            call = session.begin("and now?").call()
            written = call.written_request
            assert written is not None
            body = written.body.json() if written.text is None else written.text
            call.complete(answer)
            return body

        return compare(one, floor, rounds)


def history() -> list[il.Message]:
    """Questions, calls, results and answers."""
    messages: list[il.Message] = []
    for number in range(COUNT // 4):
        use = il.ToolUseBlock(f"call_{number:08d}", "look_up", {"word": f"thing {number}"})
        messages += [
            il.Message.user(f"What about thing {number} of the long list of things?"),
            il.Message.assistant([il.TextBlock("Let me look."), use]),
            il.Message.tool_result(use.id, f"Thing {number} is {number * 7}, as of today."),
            il.Message.assistant(f"Thing {number} is {number * 7}."),
        ]
    return messages
