"""Temperature and its like, stop sequences, penalties, limits, number of answers, verbosity."""

from __future__ import annotations

from typing import Any

from interlingua.adapt.fit.fitter import FORM, MAXIMUM, Fitter
from interlingua.model.losses import Severity
from interlingua.profiles.fields import When


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
    spelling = None if MAXIMUM in twice else named.get(USUAL_WORD, USUAL_WORD)
    if word is not None and fitter.now(MAXIMUM) is not None and spelling != word:
        fitter.respelled["named"] = {**named, USUAL_WORD: word, MAX_KEY: word}
        fitter.respelled["twice"] = {key: how for key, how in twice.items() if key != MAXIMUM}
    if fitter.profile.words.user is False and fitter.now("user") is not None:
        fitter.drop("user", "words.user", "takes no id of an end user")


def form_of(fitter: Fitter) -> dict[str, Any]:
    own_raw = (fitter.request.raw or {}).get(fitter.dialect) or {}
    return own_raw.get(FORM) or {}


def _says_none(fitter: Fitter) -> bool:
    """Whether the wire that was read had no limit either: it goes home as it came."""
    form = form_of(fitter)
    return any(MAX_KEY in form.get(word, ()) for word in ("absent", "spelled"))


MAX_KEY = "max_tokens"
USUAL_WORD = "max_completion_tokens"
"""How Chat says it where nobody remembers another word."""


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
    options = [option for option in known if fitter.now(option) is not None]
    if options:
        fitter.form["sampling"] = options


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
    present = [option for option in options if fitter.now(option) is not None]
    for option in present[1:]:
        _drop(fitter, option, "sampling.one_of", f"takes {present[0]} or {option}, not both")


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
    limits, words = fitter.profile.limits, fitter.now("stop")
    if limits.stop == 0:
        fitter.drop("stop", "limits.stop", "takes no stop sequences", "info")
        return
    first = words if limits.stop is None else words[: limits.stop]
    if len(first) < len(words):
        reason = f"takes {limits.stop} stop sequences at most; the first ones are said"
        fitter.change("stop", first)
        fitter.lost("stop", "limits.stop", reason, severity="info")
    longest = limits.stop_length
    if longest is not None and any(len(word) > longest for word in first):
        short = tuple([word for word in first if len(word) <= longest])
        reason = f"takes stop sequences of at most {longest} characters"
        fitter.change("stop", short or None)
        fitter.lost("stop", "limits.stop_length", reason, severity="info")


def _verbosity(fitter: Fitter) -> None:
    words, wanted = fitter.profile.output.verbosity, fitter.now("verbosity")
    if words is not None and wanted is not None and wanted not in words:
        fitter.drop("verbosity", "output.verbosity", f"has no verbosity {wanted}")
