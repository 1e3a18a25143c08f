"""How long the answer may be."""

from __future__ import annotations

from interlingua.fitting.fitter import MAXIMUM, Fitter

_REQUIRED = frozenset({"anthropic"})
"""Dialects whose requests have to say it."""


def fit_length(fitter: Fitter) -> None:
    limits = fitter.profile.limits
    wanted: int | None = fitter.now(MAXIMUM)
    if wanted is None:
        usual = limits.default_output or limits.output
        field = "limits.default_output" if limits.default_output else "limits.output"
        if usual is not None and fitter.dialect in _REQUIRED and not _says_none(fitter):
            fitter.change(MAXIMUM, usual)
            reason = f"wants to be told how long an answer may be; said as its own limit, {usual}"
            fitter.lost(MAXIMUM, field, reason, severity="info")
    elif limits.output is not None and wanted > limits.output:
        fitter.change(MAXIMUM, limits.output)
        reason = f"gives at most {limits.output} tokens; {wanted} said as that"
        fitter.lost(MAXIMUM, "limits.output", reason)
    elif limits.min_output is not None and wanted < limits.min_output:
        fitter.change(MAXIMUM, limits.min_output)
        reason = f"takes no limit below {limits.min_output}; {wanted} said as that"
        fitter.lost(MAXIMUM, "limits.min_output", reason)


def _says_none(fitter: Fitter) -> bool:
    """Whether the wire that was read had no limit either: it goes home as it came."""
    mine = (fitter.request.raw or {}).get(fitter.dialect) or {}
    form = mine.get("$form") or {}
    return MAX_KEY in form.get("without", ()) or MAX_KEY in form.get("spelled", ())


MAX_KEY = "max_tokens"
