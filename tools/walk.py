"""Which functions of the package a request passes through, and in how many files.

    python -m tools.walk                 # a line for each walk
    python -m tools.walk turn --tree     # every call of one, indented by depth

A walk is the work of one conversion, stream, turn or gateway request, with everything loaded. Each
call of a function of ours counts, and so does each time that a generator goes on; comprehensions do
not. `tests/test_walk.py` holds the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple
from unittest.mock import patch

import interlingua as il

SOURCE = str(Path(il.__file__).parent) + os.sep
_UNNAMED = frozenset({"<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
MODEL = "claude-sonnet-4-6"
PIXEL = "iVBORw0KGgo="


class Step(NamedTuple):
    """One call."""

    file: str
    line: int
    function: str
    depth: int


class Walk:
    """Records the calls that are made inside its `with` block, in this thread."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def __enter__(self) -> Walk:
        sys.setprofile(self._record)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        sys.setprofile(None)

    def _record(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not _is_ours(frame) or code.co_name in _UNNAMED:
            return
        depth, outer = 0, frame.f_back
        while outer is not None:
            depth += _is_ours(outer)
            outer = outer.f_back
        file = code.co_filename.removeprefix(SOURCE)
        self.steps.append(Step(file, frame.f_lineno, code.co_qualname, depth))

    @property
    def calls(self) -> int:
        return len(self.steps)

    @property
    def files(self) -> int:
        return len({step.file for step in self.steps})

    def line(self) -> str:
        """The figures, and what is called most."""
        folders = [os.path.dirname(step.file) for step in self.steps]
        changes = sum(one != other for one, other in pairwise(folders))
        often = Counter((step.file, step.function) for step in self.steps).most_common(3)
        most = ", ".join(f"{file}:{function} {count}" for (file, function), count in often)
        figures = f"{self.calls} calls, {self.files} files, {changes} changes of folder"
        return f"{figures} (most: {most})"

    def tree(self) -> str:
        return "\n".join(
            f"{'  ' * step.depth}{step.file}:{step.line} {step.function}" for step in self.steps
        )


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(SOURCE)


# -- what is walked -------------------------------------------------------------------------------

PLAIN = {
    "model": "gpt-5",
    "max_completion_tokens": 500,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ],
}
_TOOL = {
    "name": "weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
_CALL = {"name": "weather", "arguments": '{"city":"Oslo"}'}
TOOLS: dict[str, Any] = {
    "model": "gpt-5",
    "max_completion_tokens": 500,
    "tools": [{"type": "function", "function": _TOOL}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": _CALL}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
    ],
}
THINKING = {
    **TOOLS,
    "reasoning_effort": "high",
    "temperature": 0.3,
    "messages": [
        {**message, "reasoning_content": "Let me think."} if "tool_calls" in message else message
        for message in TOOLS["messages"]
    ],
}
ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": MODEL,
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 10, "output_tokens": 3},
}


def _converted(body: dict[str, Any]) -> Walk:
    data = json.dumps(body).encode()
    for _ in range(2):
        with Walk() as walk:
            il.convert(data, source="openai-chat", target="anthropic").json()
    return walk


def plain() -> Walk:
    """A system prompt and a question, from Chat to Anthropic."""
    return _converted(PLAIN)


def tools() -> Walk:
    """The same with a tool, its call and result, and an image."""
    return _converted(TOOLS)


def thinking() -> Walk:
    """The same with thinking and sampling options."""
    return _converted(THINKING)


def turn() -> Walk:
    """The third turn of a session: begin, call, wire, complete."""
    with (
        tempfile.TemporaryDirectory() as folder,
        il.open_store(f"sqlite:///{folder}/walk.db") as store,
    ):
        session = il.Session.create(
            store, workspace_path=".", model=f"anthropic:{MODEL}", system={"base": "Be brief."}
        )
        for _ in range(3):
            with Walk() as walk:
                call = session.begin("Hi").call()
                assert call.wire
                call.complete(ANSWER)
    return walk


def gateway() -> Walk:
    """A request of Chat to a model of Anthropic, through the gateway."""
    return asyncio.run(_relayed())


async def _relayed() -> Walk:
    from interlingua.gateway.service import Service
    from tests.gateway.serving import Upstream, settings_in

    environ = {"ANTHROPIC_API_KEY": "x"}
    with tempfile.TemporaryDirectory() as folder, Upstream() as upstream:
        home = Path(folder)
        with patch.dict(os.environ, {**environ, "INTERLINGUA_HOME": folder}):
            upstream.configure(home)
            service = await Service.open(settings_in(home))
            try:
                walks = [await _asked(service.app) for _ in range(8)]
            finally:
                await service.close()
    # An answer that arrives in two pieces is read in more steps: the shortest walk is the same
    # every time.
    return min(walks, key=lambda walk: walk.calls)


async def _asked(app: Any) -> Walk:
    body = json.dumps(
        {
            "model": f"anthropic:{MODEL}",
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 50,
        }
    ).encode()
    parts = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        return parts.pop() if parts else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    path = "/v1/chat/completions"
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "host": "127.0.0.1",
    }
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8400),
    }
    with Walk() as walk:
        await app(scope, receive, send)
    if sent[0]["status"] != 200:
        raise RuntimeError(f"the gateway answered {sent[0]['status']}: {sent[1:]}")
    return walk


WALKS: dict[str, Callable[[], Walk]] = {
    walk.__name__: walk for walk in (plain, tools, thinking, turn, gateway)
}


def main(arguments: list[str] | None = None) -> None:
    """Print the walks that are asked for, or all."""
    parser = argparse.ArgumentParser(prog="python -m tools.walk")
    parser.add_argument("walk", nargs="*", help=f"{', '.join(WALKS)}; all by default")
    parser.add_argument("--tree", action="store_true", help="print every call")
    asked = parser.parse_args(arguments)
    for name in asked.walk or WALKS:
        walk = WALKS[name]()
        print(f"{name}: {walk.line()}")
        if asked.tree:
            print(walk.tree())


if __name__ == "__main__":
    main()
