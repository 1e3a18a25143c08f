"""Rows for tests of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.bulk import Job
from interlingua.streams import packed

TO_ANTHROPIC = Job("anthropic", "openai-chat")

SMALL = 2000
"""Bytes of a part, so that a small file has many."""


def body(number: int) -> dict[str, Any]:
    call = {"name": "look", "arguments": json.dumps({"where": number})}
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    return {
        "model": "some-model",
        "max_tokens": 100,
        "seed": number,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"Où est {number}? " + "Bitte. " * (number % 7)},
            {
                "role": "assistant",
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "here"},
        ],
        "tools": [tool],
    }


def lines(count: int) -> bytes:
    return b"".join(json.dumps(body(number)).encode() + b"\n" for number in range(count))


def wires(path: Path) -> list[Any]:
    with packed.opened(path) as file:
        return [json.loads(line) for line in file]


def expected(count: int = 40) -> list[Any]:
    return [il.convert(body(n), "openai-chat", "anthropic").wire for n in range(count)]
