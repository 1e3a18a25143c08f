"""What the calls of one message belong to, and how long each may take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from interlingua.model.tools import SideEffects, ToolDefinition

if TYPE_CHECKING:
    from interlingua.bus.turn import TurnTrace
    from interlingua.tools.workspace import Workspace

AUTOMATIC = frozenset({SideEffects.NONE, SideEffects.READ})
"""Side effects that nobody has to be asked about."""
SLOW = frozenset({SideEffects.EXECUTE, SideEffects.NETWORK})


class Timeouts(NamedTuple):
    """Seconds. `tools` has those of single tools, by name."""

    usual: float = 60.0
    slow: float = 600.0
    """For tools that execute something or change something on the network."""
    confirmation: float = 300.0
    tools: Mapping[str, float] = {}

    def of(self, tool: ToolDefinition) -> float:
        own = self.tools.get(tool.name)
        return own if own is not None else self.slow if effects_of(tool) in SLOW else self.usual


class CallContext(NamedTuple):
    """What the calls of one message belong to.

    The events' parent is the `llm.call_completed` that the calls came with: `trace` knows it;
    without one it is `parent_event_id`, and events go to the dispatcher's bus.
    """

    session_id: str | None = None
    turn_id: str | None = None
    trace: TurnTrace | None = None
    parent_event_id: str | None = None
    workspace: Workspace | None = None
    """In place of the dispatcher's own."""


NO_CONTEXT = CallContext()


def effects_of(tool: ToolDefinition) -> SideEffects:
    """What a tool may do. One that does not say may do anything."""
    return SideEffects.EXECUTE if tool.side_effects is None else SideEffects(tool.side_effects)
