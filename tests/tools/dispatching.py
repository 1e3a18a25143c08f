"""What tests of the dispatcher share: tools, calls, and a turn that is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import interlingua as il
from interlingua.events import Bus, Event, TurnTrace
from interlingua.tools.dispatch import CallContext, Dispatcher
from interlingua.tools.registry import ToolRegistry

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "additionalProperties": False,
}
BEFORE: dict[str, dict[str, Any]] = {
    "turn.started": {
        "message_hash": "x",
        "estimated_input_tokens": 1,
        "has_images": False,
        "has_tool_calls_in_history": False,
    },
    "llm.call_started": {
        "model": "a:b",
        "provider": "a",
        "estimated_input_tokens": 1,
        "request_id": "r",
    },
    "llm.call_completed": {
        "model": "a:b",
        "provider": "a",
        "input_tokens": 1,
        "output_tokens": 1,
        "cost_usd": None,
        "pricing_version": None,
        "latency_ms": 3,
        "stop_reason": "tool_use",
    },
}
SECRET = "the-words-of-the-handler"


def a_tool(name: str = "count", effects: str = "none", **changes: Any) -> il.ToolDefinition:
    fields = {"requires_workspace": False, **changes}
    return il.ToolDefinition(name, "Counts.", SCHEMA, il.SideEffects(effects), **fields)


def registry_of(**handlers: Callable[..., Any]) -> ToolRegistry:
    registry = ToolRegistry()
    for name, handler in handlers.items():
        registry.register(a_tool(name), handler)
    return registry


def call(id: str = "a", name: str = "count", n: Any = 1, **changes: Any) -> il.ToolUseBlock:
    return il.ToolUseBlock(id, name, {"n": n}, **changes)


def text_of(result: il.ToolResultBlock) -> str:
    return "".join(block.text for block in result.content if isinstance(block, il.TextBlock))


class Traced:
    """A strict bus with one turn on it, in which a model has just asked for tools."""

    def __init__(self) -> None:
        self.bus = Bus(strict=True)
        self.turn = TurnTrace(self.bus, "ses_1", "turn_1")
        self.context = CallContext(session_id="ses_1", turn_id="turn_1", trace=self.turn)
        self.events: list[Event] = []
        emit = self.bus.emit

        def keep(*args: Any, **more: Any) -> Event | None:
            event = emit(*args, **more)
            assert event is not None
            self.events.append(event)
            return event

        self.bus.emit = keep  # type: ignore[method-assign]
        for type, payload in BEFORE.items():
            self.turn.emit(type, payload)
        self.completed = self.events[-1].id
        self.events.clear()

    def types(self) -> list[str]:
        return [event.type for event in self.events]

    def classes(self) -> list[str]:
        return [e.payload.error_class for e in self.events if e.type == "tool.failed"]  # type: ignore[union-attr]

    def run(self, dispatcher: Dispatcher, *calls: il.ToolUseBlock) -> list[il.ToolResultBlock]:
        return dispatcher.run_sync(calls, self.context)
