"""A model that answers as it is told, without any HTTP: what the last words of the user say.

`read <path>`, `write <path>`, `delegate <task>` and `both` call tools, `slow` answers word by word,
`hold` waits until it is let go, `fail` fails; anything else is said back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import interlingua as il
from interlingua.agents.chat.files import register_files
from interlingua.client.errors import ServerError
from interlingua.model.events import TextDelta
from interlingua.tools.confirm import Confirm
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.registry import ToolRegistry

MODEL = "anthropic:claude-sonnet-4-6"


class Model:
    """In the place of a client. `asked` are the words of each request, `offered` how many tools it
    had."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.offered: list[int] = []
        self.let_go = asyncio.Event()
        self.holding = asyncio.Event()

    def stream(self, model: str, request: il.Request, *, dialect: str | None = None) -> Any:
        return _Stream(self, request)

    async def events(self, request: il.Request) -> AsyncIterator[Any]:
        words = [m.text for m in request.messages if m.role is il.Role.USER][-1]
        verb, _, rest = words.partition(" ")
        self.asked.append(words)
        self.offered.append(len(request.tools))
        if verb == "fail":
            raise ServerError("no such luck", status=500)
        first = request.messages[-1].role is il.Role.USER
        number = len(self.asked)
        calls = _calls(verb, rest, number) if first else []
        content: list[Any] = [il.TextBlock(f"Answer to: {words}"), *calls]
        reason = il.StopReason.TOOL_USE if calls else il.StopReason.END_TURN
        usage = il.Usage(input_tokens=10, output_tokens=5, cached_input_tokens=2)
        known = il.MessageMetadata(stop_reason=reason, usage=usage, response_id=f"r{number}")
        for event in il.unfold(il.Response(il.Message.assistant(content, known))):
            if isinstance(event, TextDelta) and verb in ("slow", "hold"):
                for word in event.text.split():
                    yield TextDelta(event.index, f"{word} ")
                    await asyncio.sleep(0)
                if verb == "hold":
                    self.holding.set()
                    await self.let_go.wait()
            else:
                yield event


def _calls(verb: str, rest: str, number: int) -> list[il.ToolUseBlock]:
    def call(name: str, input: dict[str, Any], part: str = "a") -> il.ToolUseBlock:
        return il.ToolUseBlock(f"toolu_{number}{part}", name, input)

    if verb == "read":
        return [call("read_file", {"path": rest})]
    if verb == "write":
        return [call("write_file", {"path": rest, "text": "written\n"})]
    if verb == "delegate":
        return [call("delegate", {"task": rest})]
    if verb == "both":
        return [call("list_files", {}), call("read_file", {"path": "a.txt"}, "b")]
    return []


class _Stream:
    report = None
    model = None  # the one that was asked

    def __init__(self, model: Model, request: il.Request) -> None:
        self._events = model.events(request)

    async def __aenter__(self) -> _Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.aclose()  # type: ignore[attr-defined]  # it is a generator

    def __aiter__(self) -> AsyncIterator[Any]:
        return self._events


def tools(confirm: Confirm | None = None, workspace: Any = None) -> Dispatcher:
    registry = ToolRegistry()
    register_files(registry)
    return Dispatcher(registry, workspace=workspace, confirm=confirm)


def told(happened: list[Any]) -> list[Any]:
    """The events, short: the name, or for messages role and text."""
    out: list[Any] = []
    for each in happened:
        body = each.body
        message = body.get("message") or {}
        match each.msg:
            case "MessageAdded":
                out.append(("added", message["role"], text_of(message)))
            case "RequestCompleted":
                calls = [call["function"]["name"] for call in message["tool_calls"]]
                out.append(("completed", message["content"], calls))
            case "PreToolCall" | "PostToolCall":
                out.append((each.msg, body["name"]))
            case name:
                out.append(name)
    return out


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "".join(part["text"] for part in content)
