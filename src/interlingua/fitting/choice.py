"""Which tools may or must be called."""

from __future__ import annotations

from collections.abc import Collection

from interlingua.fitting.fitter import Fitter
from interlingua.model.exchange import ToolChoice
from interlingua.models.fields import Choice

_WEAKER: dict[Choice, tuple[Choice, ...]] = {
    "some": ("any", "auto"),
    "one": ("any", "auto"),
    "any": ("auto",),
    "none": ("auto",),
    "auto": (),
}
"""What stands for a choice that cannot be said, the nearest first."""


def kind_of(choice: ToolChoice) -> Choice:
    if choice.mode != "any":
        return choice.mode
    return "any" if not choice.names else "one" if len(choice.names) == 1 else "some"


def allowed(fitter: Fitter) -> tuple[Collection[Choice] | None, str]:
    """The choices that may be said now, and the field of the profile that says so."""
    rules = fitter.profile.tools
    if fitter.on_budget and rules.budget_choice is not None:
        return rules.budget_choice, "tools.budget_choice"
    if fitter.thinking and rules.thinking_choice is not None:
        return rules.thinking_choice, "tools.thinking_choice"
    return rules.choice, "tools.choice"


def fit_choice(fitter: Fitter) -> None:
    if not fitter.tools:
        _without_tools(fitter)
        return
    choice: ToolChoice | None = fitter.now("tool_choice")
    if choice is not None:
        _fit(fitter, choice)
    switch, parallel = fitter.profile.tools.parallel_switch, fitter.now("parallel_tool_calls")
    if switch == "no" and parallel is not None:
        reason = "cannot be told how many calls to make at once"
        fitter.drop("parallel_tool_calls", "tools.parallel_switch", reason)


def _without_tools(fitter: Fitter) -> None:
    """Where there is nothing to call, nothing can be said about calls."""
    if fitter.profile.tools.parallel_switch is None:
        return
    for option in ("parallel_tool_calls", "tool_choice"):
        if fitter.now(option) is not None:
            reason = f"takes {option} only beside tools"
            fitter.drop(option, "tools.parallel_switch", reason, "info")


def _fit(fitter: Fitter, choice: ToolChoice) -> None:
    known, field = allowed(fitter)
    kind = kind_of(choice)
    if known is None or kind in known:
        return
    said = next((each for each in _WEAKER[kind] if each in known), "auto")
    fitter.change("tool_choice", ToolChoice("any" if said == "any" else "auto"))
    when = "" if field == "tools.choice" else " while it thinks"
    left = "left to the model" if said == "auto" else f"said as {said}"
    reason = f"takes no tool choice of the kind {kind}{when}; {left}"
    fitter.lost("tool_choice", field, reason, severity="error")
