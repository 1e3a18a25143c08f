"""Reasoning: efforts, budgets and levels, whichever the model knows.

Efforts and budgets correspond by fixed numbers, with the bounds for the way back half-way between
them, so that an effort written as a budget is read as the same effort again. A share of the output
limit would change with an unrelated option.
"""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.adapt.fit.fitter import FORM, MAXIMUM, Fitter
from interlingua.model.exchange import EFFORTS, Effort, Reasoning
from interlingua.model.reasons import because
from interlingua.profiles.fields import ReasoningRules

BUDGETS: dict[Effort, int] = {
    "minimal": 1024,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": 24576,
    "max": 32768,
}
_UP_TO: tuple[tuple[int, Effort], ...] = (
    (1024, "minimal"),
    (4095, "low"),
    (12287, "medium"),
    (20479, "high"),
    (28671, "xhigh"),
)
USUAL: Effort = "medium"
"""The effort for thinking that is switched on without a level."""
_RESERVE = 1024
"""Tokens that are left for the answer where a budget has to be smaller than both together."""
_BY_EFFORT = frozenset({"effort", "level", "adaptive", "deepseek", "nova", "openai-object"})
# Where Converse has the effort of a model, beside `outputConfig` (recorded; botocore 1.44).
_BEDROCK_PLACES = {
    "adaptive": "output_config",
    "nova": "reasoningConfig",
    "effort": "reasoning_effort",
    "openai-object": "reasoning",
}
ALONE = "alone"
"""The spelling of an effort without thinking: Claude has both settings."""


def effort_of(budget: int) -> Effort:
    """The effort for a budget."""
    return next((effort for most, effort in _UP_TO if budget <= most), "max")


def near(effort: Effort, known: Sequence[Effort]) -> Effort | None:
    """The same, else the next lower one, else the next higher; never `none`."""
    position = EFFORTS.index(effort)
    lower = [each for each in EFFORTS[1 : position + 1] if each in known]
    higher = [each for each in EFFORTS[max(position, 1) :] if each in known]
    return lower[-1] if lower else higher[0] if higher else None


def fit_reasoning(fitter: Fitter) -> None:
    rules = fitter.profile.reasoning
    requested: Reasoning | None = fitter.now("reasoning")
    if requested is not None:
        adjusted = _adjusted(fitter, requested, rules)
        if adjusted is not None and adjusted.visible is not None and rules.visible == "none":
            adjusted = _unshown(fitter, adjusted, rules)
        if adjusted is not requested:
            fitter.change("reasoning", adjusted)
    _beside_tools(fitter)
    _note(fitter, fitter.now("reasoning"), rules)


def _adjusted(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning | None:
    if rules.carrier == "none":
        _not_at_all(fitter, requested)
        return None
    if requested.mode == "off":
        return _off(fitter, requested, rules)
    if rules.carrier == "budget":
        return _on_budget(fitter, requested, rules)
    if rules.carrier in _BY_EFFORT:
        return _by_effort(fitter, requested, rules)
    if rules.carrier == "toggle":
        return _switched_on(fitter, requested)
    if requested.budget_tokens is None:
        return requested
    return _with_budget(fitter, requested, requested.budget_tokens, rules)


def _unshown(fitter: Fitter, reasoning: Reasoning, rules: ReasoningRules) -> Reasoning | None:
    """Without a switch for it, the visibility of thinking cannot be set."""
    if reasoning.visible is not rules.shown:
        reason = because("visibility_fixed")
        fitter.lost("reasoning.visible", "reasoning.visible", reason, "dropped")
    left = reasoning.replace(visible=None)
    return None if left == Reasoning() and rules.default not in (None, "off", "none") else left


def _not_at_all(fitter: Fitter, requested: Reasoning) -> None:
    if requested.mode != "off":
        reason = because("thinking_fixed")
    elif fitter.profile.reasoning.default not in (None, "off", "none"):
        reason = because("thinking_always_on")
    else:
        return  # off is the default of the model
    fitter.lost("reasoning", "reasoning.carrier", reason, "dropped")


# -- off ------------------------------------------------------------------------------------------


def _off(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning:
    if rules.off is False or _knows_no_none(rules):
        return _nearly_off(fitter, requested, rules)
    if requested.effort is not None and rules.efforts is not None and not rules.efforts:
        fitter.lost("reasoning.effort", "reasoning.efforts", because("no_effort"), "dropped")
        return requested.replace(effort=None)
    if requested.effort is not None and rules.off_to is not None:
        most = EFFORTS.index(rules.off_to)
        if EFFORTS.index(requested.effort) > most:
            reason = because("effort_capped_off", most=rules.off_to)
            fitter.lost("reasoning.effort", "reasoning.off_to", reason)
            return requested.replace(effort=rules.off_to)
    return requested


def _knows_no_none(rules: ReasoningRules) -> bool:
    """Whether `off` is an effort like others, and the model does not take it."""
    is_effort = rules.carrier in ("effort", "level", "openai-object")
    return is_effort and rules.off is None and "none" not in (rules.efforts or ("none",))


_LEAST = {"lowest": "the lowest effort", "between_tools": "thinking between tool calls"}


def _nearly_off(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning:
    how = rules.off_as or "lowest"
    field = "reasoning.off" if fitter.profile.rule("reasoning.off") else "reasoning.efforts"
    words = f"a budget of {how[7:]} tokens" if how[:7] == "budget:" else _LEAST.get(how, how)
    fitter.lost("reasoning.mode", field, because("thinking_nearly_off", how=words))
    if how == "between_tools":
        return Reasoning(mode="between_tools", effort=requested.effort)
    if how.startswith("budget:"):
        return Reasoning(budget_tokens=int(how.removeprefix("budget:")))
    lowest: Effort = "low" if how == "lowest" else how  # type: ignore[assignment]  # one of them
    efforts = [each for each in rules.efforts or () if each != "none"]
    if how == "lowest" and efforts:
        lowest = efforts[0]
    return _thinking(fitter, Reasoning(effort=lowest), rules)


# -- efforts --------------------------------------------------------------------------------------


def _by_effort(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning | None:
    adjusted = requested
    if adjusted.budget_tokens is not None:
        if rules.budget_too:
            on_budget = _with_budget(fitter, adjusted, adjusted.budget_tokens, rules)
            return None if on_budget is None else _with_effort(fitter, on_budget, rules)
        adjusted = _budget_as_effort(fitter, adjusted, rules)
    else:
        adjusted = _with_effort(fitter, adjusted, rules)
    if rules.carrier == "adaptive":
        return _thinking(fitter, adjusted, rules)
    return _as_usual(fitter, adjusted, rules)


def _with_effort(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning:
    effort = requested.effort
    if effort is None or rules.efforts is None or effort in rules.efforts:
        return requested
    nearest = near(effort, rules.efforts)
    if nearest is None:
        reason = because("no_such_effort", effort=effort)
        fitter.lost("reasoning.effort", "reasoning.efforts", reason, "dropped")
    else:
        fitter.lost(
            "reasoning.effort",
            "reasoning.efforts",
            because("effort_nearest", effort=effort, nearest=nearest),
        )
    return requested.replace(effort=nearest)


def _budget_as_effort(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning:
    effort = requested.effort or effort_of(requested.budget_tokens or 0)
    nearest = effort if rules.efforts is None else near(effort, rules.efforts)
    reason = because("budget_as_effort", nearest=nearest)
    fitter.lost("reasoning.budget_tokens", "reasoning.carrier", reason)
    mode = None if requested.mode == "on" else requested.mode
    return requested.replace(effort=nearest, budget_tokens=None, mode=mode)


def _thinking(fitter: Fitter, reasoning: Reasoning, rules: ReasoningRules) -> Reasoning:
    """The thinking parameter that Claude needs beside an effort."""
    if reasoning.mode == "between_tools" and not rules.between_tools:
        reason = because("thinking_adaptive")
        fitter.lost("reasoning.mode", "reasoning.carrier", reason)
        return reasoning.replace(mode="adaptive")
    has_effort_alone = (
        reasoning.mode is None and reasoning.effort is not None and reasoning.budget_tokens is None
    )
    if has_effort_alone and rules.effort_thinks is False and not _is_alone(fitter):
        return reasoning.replace(mode="adaptive")
    return reasoning


def _is_alone(fitter: Fitter) -> bool:
    own_raw = (fitter.request.raw or {}).get(fitter.dialect) or {}
    return bool((own_raw.get(FORM) or {}).get("effort") == ALONE)


def _as_usual(fitter: Fitter, reasoning: Reasoning, rules: ReasoningRules) -> Reasoning | None:
    """Thinking without an effort, for models that only have efforts: models that think by default
    need no setting."""
    if reasoning.effort is not None or reasoning.budget_tokens is not None or rules.default is None:
        return reasoning
    if rules.default in ("off", "none"):
        nearest = near(USUAL, rules.efforts or EFFORTS)
        fitter.lost(
            "reasoning.mode", "reasoning.carrier", because("mode_as_effort", nearest=nearest)
        )
        return reasoning.replace(mode=None, effort=nearest)
    if rules.carrier == "deepseek" or (rules.carrier == "nova" and reasoning.mode is not None):
        return reasoning
    if reasoning.mode is not None:
        reason = because("thinking_by_itself")
        fitter.lost("reasoning.mode", "reasoning.default", reason, "dropped")
    return None if reasoning.visible is None else Reasoning(visible=reasoning.visible)


# -- budgets --------------------------------------------------------------------------------------


def _on_budget(fitter: Fitter, requested: Reasoning, rules: ReasoningRules) -> Reasoning | None:
    budget = requested.budget_tokens
    if budget is not None:
        adjusted = _with_budget(fitter, requested, budget, rules)
        return adjusted if adjusted is None else _beside_budget(fitter, adjusted, rules)
    if requested.effort is not None:
        if rules.efforts and _is_alone(fitter):
            return _with_effort(fitter, requested, rules)
        return _effort_as_budget(fitter, requested, requested.effort, rules)
    if fitter.traits.adaptive_thinking:
        return requested  # a budget of -1 leaves the amount to the model
    if requested.mode is None and requested.visible is False:
        reason = because("nothing_to_hide")
        fitter.lost("reasoning", "reasoning.carrier", reason, "dropped")
        return None
    budget = _chosen(USUAL, rules, fitter.now(MAXIMUM))
    if budget is None:
        _too_short(fitter)
        return None
    fitter.lost("reasoning.mode", "reasoning.carrier", because("mode_as_budget", budget=budget))
    return requested.replace(mode=None, budget_tokens=budget)


def _effort_as_budget(
    fitter: Fitter, requested: Reasoning, effort: Effort, rules: ReasoningRules
) -> Reasoning | None:
    budget = _chosen(effort, rules, fitter.now(MAXIMUM))
    if budget is None:
        _too_short(fitter)
        return None
    reason = because("effort_as_budget", effort=effort, budget=budget)
    fitter.lost("reasoning.effort", "reasoning.carrier", reason)
    nearest = near(effort, rules.efforts) if rules.efforts else None
    mode = None if requested.mode in ("on", "adaptive", "between_tools") else requested.mode
    return requested.replace(effort=nearest, budget_tokens=budget, mode=mode)


def _beside_budget(fitter: Fitter, reasoning: Reasoning, rules: ReasoningRules) -> Reasoning:
    """An effort beside a budget."""
    if reasoning.effort is None or rules.efforts is None:
        return reasoning
    if not rules.efforts:
        fitter.lost("reasoning.effort", "reasoning.efforts", because("no_effort"), "dropped")
        return reasoning.replace(effort=None)
    return _with_effort(fitter, reasoning, rules)


def _with_budget(
    fitter: Fitter, requested: Reasoning, budget: int, rules: ReasoningRules
) -> Reasoning | None:
    accepted = _clamped(budget, rules, fitter.now(MAXIMUM))
    if accepted == budget:
        return requested
    if accepted is None:
        _too_short(fitter)
        return None
    reason = because("budget_clamped", budget=budget, accepted=accepted)
    fitter.lost("reasoning.budget_tokens", "reasoning.budget", reason)
    return requested.replace(budget_tokens=accepted)


def _chosen(effort: Effort, rules: ReasoningRules, most: int | None) -> int | None:
    """The budget for an effort, with room left for an answer."""
    least = (rules.budget or (0, 0))[0]
    requested = BUDGETS[effort]
    if rules.inside_max_tokens and most is not None:
        requested = min(requested, max(least, most - _RESERVE))
    return _clamped(requested, rules, most)


def _clamped(budget: int, rules: ReasoningRules, most: int | None) -> int | None:
    """The nearest budget that is taken; None where the answer may not be long enough for any."""
    least, greatest = rules.budget or (0, budget)
    clamped = min(max(budget, least), greatest)
    if rules.inside_max_tokens and most is not None and clamped >= most:
        clamped = max(least, most - _RESERVE)
        if clamped >= most:
            return None
    return clamped


def _too_short(fitter: Fitter) -> None:
    reason = because("answer_too_short")
    fitter.lost("reasoning", "reasoning.inside_max_tokens", reason, "dropped")


# -- switches, and what depends on them ------------------------------------------------------------


def _switched_on(fitter: Fitter, requested: Reasoning) -> Reasoning:
    adjusted = requested
    for name in ("effort", "budget_tokens"):
        if getattr(adjusted, name) is not None:
            reason = because("thinking_on_only")
            fitter.lost(f"reasoning.{name}", "reasoning.carrier", reason)
            adjusted = adjusted.replace(**{name: None})
    return adjusted if adjusted is requested else adjusted.replace(mode="on")


def _beside_tools(fitter: Fitter) -> None:
    """Some models take function tools in Chat only with reasoning switched off."""
    beside = fitter.profile.tools.effort
    if beside is None or all(tool.executor == "provider" for tool in fitter.tools):
        return
    requested: Reasoning | None = fitter.now("reasoning")
    if requested is not None and requested.mode == "off" and requested.effort is None:
        return
    if beside == "none":
        reason = because("tools_without_thinking", dialect=fitter.dialect)
        fitter.lost("reasoning", "tools.effort", reason)
        fitter.change("reasoning", Reasoning(mode="off"))
    elif requested is not None and requested.effort is not None:
        reason = because("effort_beside_tools", dialect=fitter.dialect)
        fitter.lost("reasoning.effort", "tools.effort", reason, "dropped")
        rest = requested.replace(effort=None)
        fitter.change("reasoning", None if rest == Reasoning() else rest)


def _note(fitter: Fitter, reasoning: Reasoning | None, rules: ReasoningRules) -> None:
    """Record facts for later steps, and the wire's spelling of the effort."""
    is_off = reasoning is not None and reasoning.mode == "off"
    by_default = rules.default not in (None, "off", "none")
    if reasoning is None:
        fitter.thinking = by_default
    else:
        fitter.on_budget = not is_off and reasoning.budget_tokens is not None
        says = (
            reasoning.mode is not None
            or reasoning.effort is None
            or rules.effort_thinks is not False
        )
        fitter.thinking = not is_off and (fitter.on_budget or by_default or says)
    fitter.effort_none = is_off or (reasoning is None and rules.default in ("off", "none"))
    position = _BEDROCK_PLACES.get(rules.carrier or "")
    if reasoning is not None and position is not None and fitter.traits.effort_key_varies:
        fitter.spelling["effort"] = position
