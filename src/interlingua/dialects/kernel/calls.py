"""Tool calls: arguments that came as text, and which call a result answers."""

from __future__ import annotations

from interlingua import arguments
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.metadata import Diagnostic


def recovery(mode: str, id: str) -> Diagnostic:
    """Says that the arguments of a call were no strict JSON, and how they were read."""
    details = {"mode": mode, "tool_use_id": id}
    return Diagnostic("tool_arguments_recovered", details=details)


def tell_recovered(block: ToolUseBlock, recorder: LossRecorder) -> None:
    """Where arguments are an object, a text that had to be repaired is said as it was understood.
    Of one that was no JSON at all nothing is left, so that the call says something else."""
    understood, mode = arguments.recover(block.raw_arguments)
    if mode == "strict" and arguments.same(understood, block.input):
        return
    if mode == "invalid" and not block.input:
        reason = "they are no JSON; an empty object stands for them"
        recorder.lost(block, "raw_arguments", reason, severity="error")
    elif mode == "closed":
        recorder.lost(block, "raw_arguments", "said as far as they came")
    else:
        recorder.lost(block, "raw_arguments", "said as they were understood", severity="info")


class OpenCalls:
    """The calls that no result has answered yet, in order."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: list[tuple[str, str]] = []

    def add(self, id: str, name: str) -> None:
        self._open.append((id, name))

    def first(self, name: str | None) -> str | None:
        """The first open call of this name, or of any name where a result says none."""
        for id, called in self._open:
            if name is None or called == name:
                return id
        return None

    def name_of(self, id: str) -> str | None:
        """What an open call is called."""
        return next((called for each, called in reversed(self._open) if each == id), None)

    def close(self, id: str) -> None:
        """A result answers the nearest earlier call with its id."""
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index][0] == id:
                del self._open[index]
                return
