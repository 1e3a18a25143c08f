"""Temperature and its like, stop sequences, penalties, how many answers, how wordy."""

from __future__ import annotations

from typing import Any

from interlingua.fitting.fitter import Fitter
from interlingua.losses import Severity
from interlingua.models.fields import When

_PLAIN: tuple[tuple[str, str], ...] = (
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("frequency_penalty", "penalties"),
    ("presence_penalty", "penalties"),
    ("repetition_penalty", "repetition_penalty"),
    ("logprobs", "logprobs"),
    ("logit_bias", "logit_bias"),
    ("seed", "seed"),
)
"""Options, and the field of a profile that says when they may stand."""
_NEUTRAL: dict[str, Any] = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "repetition_penalty": 1,
    "logit_bias": {},
}
"""Values that say no more than none does."""


def fit_sampling(fitter: Fitter) -> None:
    for option, field in _PLAIN:
        if fitter.now(option) is not None:
            _fit(fitter, option, field)
    rules = fitter.profile.sampling
    if fitter.thinking:
        _while_thinking(fitter)
    if rules.temperature_range is not None and fitter.now("temperature") is not None:
        _within(fitter, "temperature", rules.temperature_range, "sampling.temperature_range")
    if rules.one_of is not None:
        _one_of(fitter, rules.one_of)
    _count(fitter)
    if fitter.now("stop"):
        _stop(fitter)
    _verbosity(fitter)
    if fitter.traits.sampling_by_model:
        _spell(fitter)


def _spell(fitter: Fitter) -> None:
    """The Messages API has them no longer, but for the models that are known to take them."""
    rules = fitter.profile.sampling
    known = [option for option in _RETIRED if getattr(rules, option) not in (None, "never")]
    said = [option for option in known if fitter.now(option) is not None]
    if said:
        fitter.form["sampling"] = said


_RETIRED = ("temperature", "top_p", "top_k")


def _fit(fitter: Fitter, option: str, field: str) -> None:
    when: When | None = getattr(fitter.profile.sampling, field)
    if when is not None and not _allowed(fitter, when, fitter.now(option)):
        _drop(fitter, option, f"sampling.{field}", _why(when, option))


def _allowed(fitter: Fitter, when: When, value: Any) -> bool:
    if when == "always":
        return True
    if when == "never":
        return False
    if value == 1 and type(value) in (int, float):
        return True
    return (
        fitter.effort_none
        if when == "effort-none"
        else (when == "no-thinking" and not fitter.thinking)
    )


def _why(when: When, option: str) -> str:
    if when == "effort-none":
        return f"takes {option} only without reasoning"
    if when == "no-thinking":
        return f"takes {option} only while it does not think"
    return f"takes no {option}"


def _drop(fitter: Fitter, option: str, field: str, why: str) -> None:
    says_nothing = option in _NEUTRAL and fitter.now(option) == _NEUTRAL[option]
    severity: Severity = "info" if says_nothing else "warning"
    fitter.drop(option, field, why, severity)


def _while_thinking(fitter: Fitter) -> None:
    rules = fitter.profile.sampling
    for option in ("temperature", "top_k"):
        when: When | None = getattr(rules, f"thinking_{option}")
        value = fitter.now(option)
        if when is not None and value is not None and not _allowed(fitter, when, value):
            why = f"takes no {option} while it thinks"
            _drop(fitter, option, f"sampling.thinking_{option}", why)
    value, span = fitter.now("top_p"), rules.thinking_top_p
    if span is not None and value is not None and not span[0] <= value <= span[1]:
        why = f"takes top_p from {span[0]:g} to {span[1]:g} only while it thinks"
        _drop(fitter, "top_p", "sampling.thinking_top_p", why)


def _within(fitter: Fitter, option: str, span: tuple[float, float], field: str) -> None:
    value = fitter.now(option)
    near = min(max(value, span[0]), span[1])
    if near != value:
        fitter.change(option, near)
        reason = f"takes {option} from {span[0]:g} to {span[1]:g}; {value:g} said as {near:g}"
        fitter.lost(option, field, reason)


def _one_of(fitter: Fitter, options: tuple[str, ...]) -> None:
    given = [option for option in options if fitter.now(option) is not None]
    for option in given[1:]:
        _drop(fitter, option, "sampling.one_of", f"takes {given[0]} or {option}, not both")


def _count(fitter: Fitter) -> None:
    most, asked = fitter.profile.sampling.n, fitter.now("n")
    if most is None or asked is None or asked <= most:
        return
    if most > 1:
        fitter.change("n", most)
        fitter.lost("n", "sampling.n", f"gives {most} answers at most")
    else:
        fitter.drop("n", "sampling.n", "gives one answer")


def _stop(fitter: Fitter) -> None:
    limits, given = fitter.profile.limits, fitter.now("stop")
    if limits.stop == 0:
        fitter.drop("stop", "limits.stop", "takes no stop sequences", "info")
        return
    kept = given if limits.stop is None else given[: limits.stop]
    if len(kept) < len(given):
        reason = f"takes {limits.stop} stop sequences at most; the first ones are said"
        fitter.change("stop", kept)
        fitter.lost("stop", "limits.stop", reason, severity="info")
    longest = limits.stop_length
    if longest is not None and any(len(word) > longest for word in kept):
        short = tuple([word for word in kept if len(word) <= longest])
        reason = f"takes stop sequences of at most {longest} characters"
        fitter.change("stop", short or None)
        fitter.lost("stop", "limits.stop_length", reason, severity="info")


def _verbosity(fitter: Fitter) -> None:
    words, wanted = fitter.profile.output.verbosity, fitter.now("verbosity")
    if words is not None and wanted is not None and wanted not in words:
        fitter.drop("verbosity", "output.verbosity", f"has no verbosity {wanted}")
