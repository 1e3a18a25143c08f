"""Token counts. `inputTokens` is the fresh part of the prompt alone; the total is rebuilt."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.shape import form_of, put_back, spare
from interlingua.dialects.bedrock.tables import COUNTS, NAME, SAID_USAGE, TWINS
from interlingua.dialects.shape import ShapeError, may_take
from interlingua.model.metadata import Diagnostic, Usage

_NEEDED = ("inputTokens", "outputTokens")
NO_USAGE: Wire = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


def read_usage(wire: Wire, fields: Wire, spelled: Wire) -> None:
    """Put the usage, and what is odd about it, into the fields of a message's metadata."""
    given = may_take(wire, "usage", dict, spelled)
    if given is None:
        return
    try:
        usage = _usage_of(given)
    except ShapeError as odd:
        raise odd.inside(".usage") from None
    fields["usage"] = usage
    if "wire" in form_of(usage.raw):
        fields["diagnostics"] = (Diagnostic("usage_contradicts"),)


def _usage_of(given: Wire) -> Usage:
    if len(given) == 3 and all(type(given.get(key)) is int for key in NO_USAGE):
        fresh, made, total = (given[key] for key in NO_USAGE)
        if fresh + made == total and fresh >= 0 and made >= 0:  # the hot path
            return Usage(fresh, made)
    form: Wire = {}
    spelled: Wire = {}
    known = {"totalTokens", *COUNTS}
    counts: dict[str, int] = {}
    for key, name in COUNTS.items():
        if (number := may_take(given, key, int, spelled)) is not None:
            counts[name] = number
        elif key in _NEEDED and key not in given:
            form.setdefault("absent", []).append(key)
    _read_twins(given, counts, known, form)
    total = may_take(given, "totalTokens", int, spelled)
    if any(number < 0 for number in counts.values()):
        return _usage(counts, Usage(raw={NAME: {"$form": {"wire": given}}}))
    if total is None:
        form.setdefault("absent", []).append("totalTokens")
    elif total != sum(counts.values()):
        form["more"] = total - sum(counts.values())
    return _usage(counts, Usage(raw=spare(given, known, spelled, form)))


def _usage(counts: dict[str, int], usage: Usage) -> Usage:
    return usage.replace(**{name: max(number, 0) for name, number in counts.items()})


def _read_twins(given: Wire, counts: dict[str, int], known: set[str], form: Wire) -> None:
    """Counts that the service says twice; one that differs from its twin stays what it is."""
    for twin, key in TWINS.items():
        number = given.get(twin)
        if type(number) is not int:
            continue
        if key not in given:
            counts[COUNTS[key]] = number
            form.setdefault("instead", []).append(twin)
            known.add(twin)
        elif number == counts.get(COUNTS[key]):
            form.setdefault("twice", []).append(twin)
            known.add(twin)


def write_usage(usage: Usage, scribe: Scribe) -> Wire:
    scribe.unsaid(usage, SAID_USAGE)
    form = form_of(usage.raw)
    own = form.get("wire")
    if type(own) is dict and _usage_of(own) == usage:
        return own
    missing = {*form.get("absent", ()), *form.get("spelled", ())}
    out: Wire = {}
    total = form.get("more", 0)
    for key, name in COUNTS.items():
        number = getattr(usage, name)
        if number is not None:
            total += number
            out[key] = number
        elif key in _NEEDED and key not in missing:
            out[key] = 0
    if "totalTokens" not in missing:
        out["totalTokens"] = total
    _put_twins(out, form)
    return out if usage.raw is None else put_back(out, usage, scribe, usage.raw)


def _put_twins(out: Wire, form: Wire) -> None:
    for twin in form.get("twice", ()):
        if TWINS[twin] in out:
            out[twin] = out[TWINS[twin]]
    for twin in form.get("instead", ()):
        if TWINS[twin] in out:
            out[twin] = out.pop(TWINS[twin])
