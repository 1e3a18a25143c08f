"""`fit`: a request so that one model takes it.

Canonical in, canonical out, between retelling and writing. The profile says what the model takes;
where it says nothing, nothing is changed. Every change is in the report, with the rule behind it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.registry import traits_of
from interlingua.fitting.amounts import fit_amounts
from interlingua.fitting.back import Back
from interlingua.fitting.choice import fit_choice
from interlingua.fitting.fitter import Fitter
from interlingua.fitting.limits import fit_length
from interlingua.fitting.marks import fit_marks
from interlingua.fitting.media import fit_media
from interlingua.fitting.names import fit_names
from interlingua.fitting.output import fit_output
from interlingua.fitting.quick import fits, quick_of
from interlingua.fitting.reasoning import fit_reasoning
from interlingua.fitting.sampling import fit_sampling
from interlingua.fitting.tools import fit_tools
from interlingua.fitting.turns import fit_changes, fit_turns
from interlingua.losses import Report
from interlingua.model.exchange import Request
from interlingua.models.profile import Profile
from interlingua.retelling.groups import group_of

_STEPS: tuple[Callable[[Fitter], None], ...] = (
    fit_changes,  # which may say for the whole request what a message changed
    fit_reasoning,  # which decides whether the model thinks, and others ask
    fit_sampling,
    fit_choice,
    fit_output,  # which may add a tool, and choose it
    fit_tools,
    fit_names,
    fit_turns,
    fit_media,
    fit_amounts,
    fit_marks,
    fit_length,
)


class Fitted(msgspec.Struct, frozen=True):
    """`value` is what to write, with `scribe`; `back` reads the answer, where that was asked for in
    another way than it is wanted."""

    value: Request
    report: Report
    scribe: LossRecorder
    back: Back | None = None


def fit(
    request: Request,
    profile: Profile,
    scribe: LossRecorder | None = None,
    *,
    dialect: str | None = None,
) -> Fitted:
    """Say a request so that the model of this profile takes it.

    `scribe` is that of the retelling before it, so that losses keep their places; without one,
    `dialect` is what the request will be written in, the profile's own unless it is given."""
    if scribe is None:
        name = dialect or profile.dialect or ""
        scribe = LossRecorder(name, request, Report(name))
    if not profile.rules or fits(request, quick_of(profile, scribe.dialect)):
        back = Back.of({}, None, *_others(request, scribe.dialect)) if request.tools else None
        return Fitted(request, scribe.report, scribe, back)
    fitter = Fitter(request, profile, scribe)
    for step in _STEPS:
        step(fitter)
    back = Back.of(fitter.names, fitter.json_tool, *_others(request, scribe.dialect))
    return Fitted(fitter.fitted(), scribe.report, scribe, back)


def _others(request: Request, dialect: str) -> tuple[frozenset[str], dict[str, tuple[str, str]]]:
    """Tools whose calls are other ones at home: for free text, and of groups."""
    custom = [tool.name for tool in request.tools if tool.kind == "custom"]
    groups = {tool.name: found for tool in request.tools if (found := group_of(tool))}
    return frozenset(() if traits_of(dialect).free_text_tools else custom), groups
