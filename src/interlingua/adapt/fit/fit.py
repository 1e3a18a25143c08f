"""`fit`: a request so that one model takes it.

Canonical in, canonical out, between retelling and writing. The profile has the rules of the model;
without a rule, nothing is changed. Every change is in the report, with its rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.facts import (
    ALL,
    CACHE,
    CALLS,
    CHANGES,
    DEVELOPER,
    LATER,
    OPTIONS,
    OTHER,
    TOOLS,
    Facts,
    facts_of,
)
from interlingua.adapt.fit.amounts import fit_amounts, limits_media, taken_types
from interlingua.adapt.fit.answers import AnswerAdapter
from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.fit.marks import fit_marks
from interlingua.adapt.fit.media import concerns_media, fit_media
from interlingua.adapt.fit.reasoning import fit_reasoning
from interlingua.adapt.fit.sampling import (
    USUAL_WORD,
    fit_choice,
    fit_length,
    fit_output,
    fit_sampling,
)
from interlingua.adapt.fit.tools import fit_names, fit_tools, is_rooted, legal, refuses_tools
from interlingua.adapt.fit.turns import fit_changes, fit_turns
from interlingua.adapt.history.request_parts import group_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.registry import traits_of
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.message import Role
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.fields import Grammar
from interlingua.profiles.profile import Profile

# Bound once: looking up an enum's member costs as much as a whole step.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_NO_END = 2**62


class Quick(NamedTuple):
    """The rules of a profile for a request without options, media, marks and unusual names."""

    least: int
    most: int
    limit_needed: bool
    concerns: int
    """The facts of a request that a rule is about."""
    prefill: bool
    names: Grammar | None
    tools: bool
    """Tools with plain schemas are taken without a look at the options."""
    most_tools: int
    word: str | None
    """The key for the longest answer, where the model takes one alone."""
    ends: bool
    """Instructions may be the last message."""


@lru_cache(512)
def quick_of(profile: Profile, dialect: str) -> Quick:
    limits, tools = profile.limits, profile.tools
    # Where every request has to be checked for something, no limit makes a request plain.
    never = bool(profile.turns.alternate) or profile.instructions.role == "user"
    return Quick(
        _NO_END if never else limits.min_output or 0,
        limits.output or _NO_END - 1,
        never or traits_of(dialect).needs_limit,
        _concerns(profile),
        profile.turns.prefill in (None, "yes"),
        tools.names,
        not refuses_tools(profile) and tools.effort is None and not tools.schema_without,
        limits.tools or _NO_END,
        profile.words.max_tokens,
        profile.turns.last is None or "system" in profile.turns.last,
    )


def _concerns(profile: Profile) -> int:
    concerns = OPTIONS | CACHE | CHANGES
    if profile.instructions.mid not in (None, "any"):
        concerns |= LATER
    if profile.instructions.role == "system":
        concerns |= DEVELOPER
    if concerns_media(profile) or taken_types(profile) is not None or limits_media(profile):
        concerns |= OTHER
    return concerns


def fits(request: Request, quick: Quick, facts: Facts) -> bool:
    """Whether the model accepts the request unchanged."""
    if facts.flags & quick.concerns:
        return False
    most = request.options.max_output_tokens
    if most is None:
        if quick.limit_needed:
            return False
    elif not quick.least <= most <= quick.most or (
        # The wire's own key for it may be another than the model's.
        quick.word is not None and (quick.word != USUAL_WORD or request.raw is not None)
    ):
        return False
    if request.tools and not _plain_tools(request.tools, quick):
        return False
    grammar, calls = quick.names, facts.calls
    if grammar is not None and calls is not None:
        for name in calls.names:
            if name is not None and not legal(name, grammar):
                return False
    last = facts.last
    if last is _ASSISTANT:
        return quick.prefill
    return quick.ends or last is _USER or last is _TOOL


def _plain_tools(tools: tuple[ToolDefinition, ...], quick: Quick) -> bool:
    if not quick.tools or len(tools) > quick.most_tools:
        return False
    return all(_is_plain(tool, quick.names) for tool in tools)


def _is_plain(tool: ToolDefinition, names: Grammar | None) -> bool:
    if tool.kind != "function" or tool.executor != "client" or tool.strict or tool.cache:
        return False
    if tool.raw is not None and group_of(tool) is not None:
        return False
    if names is not None and not legal(tool.name, names):
        return False
    return tool.input_schema is None or is_rooted(tool.input_schema)


_STEPS: tuple[tuple[int, Callable[[Fitter], None]], ...] = (
    (CHANGES, fit_changes),  # which may change options and tools for the whole request
    (OPTIONS | TOOLS, fit_reasoning),  # which decides whether the model thinks, and others ask
    (OPTIONS, fit_sampling),
    (OPTIONS, fit_choice),
    (OPTIONS, fit_output),  # which may add a tool, and choose it
    (OPTIONS | TOOLS | CALLS, fit_tools),
    (OPTIONS | TOOLS | CALLS, fit_names),
    (ALL, fit_turns),
    (OTHER, fit_media),
    (OTHER, fit_amounts),
    (OPTIONS | CACHE, fit_marks),
    (ALL, fit_length),
)
"""The steps, each with the facts that concern it; `ALL` is every request's concern."""


Fitted = Adapted
"""The name of earlier releases."""


def fit(
    request: Request,
    profile: Profile,
    recorder: LossRecorder | None = None,
    *,
    dialect: str | None = None,
) -> Adapted:
    """Adapt a request to what the model of this profile accepts.

    `recorder` is that of the retelling before it, so that losses have the paths of the original;
    without one, `dialect` is the one that the request will be written in (the profile's own by
    default)."""
    _require_profile(request, profile)
    if recorder is None:
        name = dialect or profile.dialect or ""
        recorder = LossRecorder(name, request, Report(name))
    quick = quick_of(profile, recorder.dialect)
    facts = facts_of(request)
    if fits(request, quick, facts):
        return Adapted(request, recorder)
    adapted, answer_adapter = apply_rules(request, profile, recorder, facts)
    return Adapted(adapted, recorder, answer_adapter)


def _require_profile(request: object, profile: object) -> None:
    if not isinstance(profile, Profile) or not isinstance(request, Request):
        found = f"{type(request).__name__} and {type(profile).__name__}"
        takes = "il.Request and il.profile_of(model, dialect)"
        raise TypeError(f"il.fit takes {takes}; found {found}")


def apply_rules(
    request: Request, profile: Profile, recorder: LossRecorder, facts: Facts
) -> tuple[Request, AnswerAdapter | None]:
    """The request as the model accepts it, and the adapter that translates its answer back."""
    if not profile.rules:
        return request, _answer_adapter(request, recorder.dialect, {}, None)
    fitter = Fitter(request, profile, recorder, facts)
    flags = ALL if facts.flags & CHANGES else facts.flags
    for concerns, step in _STEPS:
        if concerns == ALL or concerns & flags:
            step(fitter)
    return fitter.fitted(), _answer_adapter(
        request, recorder.dialect, fitter.names, fitter.json_tool
    )


def _answer_adapter(
    request: Request, dialect: str, names: dict[str, str], json_tool: str | None
) -> AnswerAdapter | None:
    """The adapter that translates the answer back: renamed tools, tools for free text, and tools of
    groups."""
    if not request.tools:
        return AnswerAdapter.of(names, json_tool)
    custom = [tool.name for tool in request.tools if tool.kind == "custom"]
    groups = {tool.name: found for tool in request.tools if (found := group_of(tool))}
    free = frozenset(() if traits_of(dialect).free_text_tools else custom)
    return AnswerAdapter.of(names, json_tool, free, groups)
