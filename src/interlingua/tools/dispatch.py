"""Running the calls of an assistant message: every one of them gets a result, whatever happens.

    results = await Dispatcher(registry, confirm=ask_me).run(message)

An error of a call goes to the model in an error result and to the trace as an event; it is never an
exception. Error texts of handlers go to the model alone: events and logs name the class of an
error, not its text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.tools import SideEffects
from interlingua.tools.batch import Batch
from interlingua.tools.confirm import Confirm, Confirmation
from interlingua.tools.handlers import (
    AUTOMATIC,
    NO_CONTEXT,
    CallContext,
    DispatchError,
    Permit,
    Threads,
    Timeouts,
    ToolRun,
)
from interlingua.tools.registry import ToolRegistry, build_validator
from interlingua.tools.results import Limits
from interlingua.tools.workspace import Workspace

if TYPE_CHECKING:
    from interlingua.events.bus import Bus

__all__ = [
    "Batch",
    "CallContext",
    "Confirm",
    "Confirmation",
    "Dispatcher",
    "Limits",
    "Timeouts",
    "ToolRun",
]


class Dispatcher:
    """Runs tools of a registry. One dispatcher may serve many sessions.

    `confirm` is called for tools whose side effects are not in `automatic`; without it, they are
    refused. `permit` is awaited before every call, and its `PermissionError` refuses the call.
    `at_once` is the number of concurrent handlers per message.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        *,
        workspace: Workspace | str | PathLike[str] | None = None,
        confirm: Confirm | None = None,
        permit: Permit | None = None,
        bus: Bus | None = None,
        at_once: int = 4,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        automatic: Iterable[SideEffects] = AUTOMATIC,
        most_threads_left: int = 16,
    ) -> None:
        if at_once < 1:
            raise DispatchError(f"at_once: expected at least 1, found {at_once}")
        build_validator("input check", {"type": "object"})  # raises now if the extra is missing
        self.registry = registry
        self.workspace = None if workspace is None else Workspace.of(workspace)
        self.confirm = confirm
        self.permit = permit
        self.bus = bus
        self.at_once = at_once
        self.timeouts = timeouts or Timeouts()
        self.limits = limits or Limits()
        self.automatic = frozenset(automatic)
        self.threads = Threads(most_threads_left)

    def batch(
        self, calls: Message | Iterable[ToolUseBlock], context: CallContext | None = None
    ) -> Batch:
        """The calls of one message, ready to run: for callers that want to stop them."""
        return Batch(self, calls, context or NO_CONTEXT)

    async def run(
        self, calls: Message | Iterable[ToolUseBlock], context: CallContext | None = None
    ) -> list[ToolResultBlock]:
        """The results of a message's calls, in the order of the calls.

        Every client call has one, except the valid calls of passive tools (see `Batch.passive`),
        which are the caller's to run.
        """
        return await self.batch(calls, context).run()

    def run_sync(
        self, calls: Message | Iterable[ToolUseBlock], context: CallContext | None = None
    ) -> list[ToolResultBlock]:
        """The same, for programs without an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self.run(calls, context))
        raise DispatchError("run_sync was called inside an event loop; await run instead")
