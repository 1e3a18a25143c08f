"""How long the answer may be."""

from __future__ import annotations

from typing import Any

from interlingua.fitting.fitter import FORM, MAXIMUM, Fitter


def fit_length(fitter: Fitter) -> None:
    _respell(fitter)
    limits = fitter.profile.limits
    wanted: int | None = fitter.now(MAXIMUM)
    if wanted is None:
        usual = limits.default_output or limits.output
        field = "limits.default_output" if limits.default_output else "limits.output"
        if usual is not None and fitter.traits.needs_limit and not _says_none(fitter):
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


def _respell(fitter: Fitter) -> None:
    """A key that the wire remembers, and this model does not take. A spelling is no loss."""
    word, form = fitter.profile.words.max_tokens, form_of(fitter)
    named, twice = form.get("named", {}), form.get("twice", {})
    said = None if MAXIMUM in twice else named.get(USUAL_WORD, USUAL_WORD)
    if word is not None and fitter.now(MAXIMUM) is not None and said != word:
        fitter.respelled["named"] = {**named, USUAL_WORD: word, MAX_KEY: word}
        fitter.respelled["twice"] = {key: how for key, how in twice.items() if key != MAXIMUM}
    if fitter.profile.words.user is False and fitter.now("user") is not None:
        fitter.drop("user", "words.user", "takes no id of an end user")


def form_of(fitter: Fitter) -> dict[str, Any]:
    mine = (fitter.request.raw or {}).get(fitter.dialect) or {}
    return mine.get(FORM) or {}


def _says_none(fitter: Fitter) -> bool:
    """Whether the wire that was read had no limit either: it goes home as it came."""
    form = form_of(fitter)
    return any(MAX_KEY in form.get(word, ()) for word in ("absent", "spelled"))


MAX_KEY = "max_tokens"
USUAL_WORD = "max_completion_tokens"
"""How Chat says it where nobody remembers another word."""
