"""The arguments of calls: text in some views, objects in others."""

from __future__ import annotations

from collections.abc import Iterable

from interlingua.arguments import recover, to_text
from interlingua.errors import WriteError
from interlingua.losses import Severity
from interlingua.model.base import JsonObject, same
from interlingua.model.blocks import ToolUseBlock
from interlingua.model.metadata import Diagnostic
from interlingua.views.account import Account

RECOVERED = "tool_arguments_recovered"
"""The diagnostic of arguments that were no JSON as they stood."""


def read_arguments(text: str, id: str) -> tuple[JsonObject, str | None, tuple[Diagnostic, ...]]:
    """Input, the text where the input alone would not give it back, and what had to be done."""
    recovered = recover(text)
    if recovered.mode == "strict":
        return recovered.input, None if to_text(recovered.input) == text else text, ()
    details = {"mode": recovered.mode, "call_id": id}
    return recovered.input, text, (Diagnostic(RECOVERED, details=details),)


def write_arguments(view: str, block: ToolUseBlock, path: str) -> str:
    """The call's own text while it still says the input, else the input as JSON."""
    text = block.raw_arguments
    if text is not None and same(recover(text).input, block.input):
        return text
    try:
        return to_text(block.input)
    except WriteError as error:
        place = f"{path}.input{error.path.removeprefix('$')}"
        raise WriteError(f"{view} view", place, error.problem) from None


def recovered_again(view: str, calls: Iterable[ToolUseBlock]) -> list[Diagnostic]:
    """The diagnostics that reading these calls from text will make."""
    made = [read_arguments(write_arguments(view, call, ""), call.id)[2] for call in calls]
    return [each for some in made for each in some]


def lost_spelling(account: Account, block: ToolUseBlock, path: str) -> None:
    """Argument text in a view whose arguments are objects: lost if it says more than the input."""
    text = block.raw_arguments
    if text is None:
        return
    recovered = recover(text)
    if not same(recovered.input, block.input) or text == to_text(block.input):
        return
    severity: Severity = "info" if recovered.mode == "strict" else "warning"
    reason = f"{account.report.target} requires arguments to be an object"
    account.lost(f"{path}.raw_arguments", reason, severity, block=block)
