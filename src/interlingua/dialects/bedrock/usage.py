"""Token counts. `inputTokens` is the fresh part of the prompt alone; the total is rebuilt."""

from __future__ import annotations

from interlingua.dialects.bedrock.tables import COUNTS, NAME, TWINS
from interlingua.dialects.kernel.errors import below
from interlingua.dialects.kernel.fields import Table
from interlingua.dialects.kernel.kept import Kept, did_without, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, counted
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.metadata import Usage

NO_USAGE: Wire = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}


USAGE = Table(
    Usage,
    *[counted(key, attr, key in NO_USAGE) for key, attr in COUNTS.items()],
    beside=("totalTokens",),
)


def read_usage(wire: Wire, fields: Wire, kept: Kept) -> None:
    """Put the usage, and what is odd about it, into the fields of a message's metadata."""
    given = kept.may_take(wire, "usage", dict)
    if given is None:
        return
    usage = fields["usage"] = below(".usage", _read_usage, given)
    if usage.raw is not None and "as" in form_in(usage.raw[NAME]):
        fields["diagnostics"] = (CONTRADICTS,)


def _read_usage(given: Wire) -> Usage:
    kept = Kept()
    attrs = USAGE.read(_without_twins(given, kept), kept)
    total = kept.may_take(given, "totalTokens", int, filled=True)
    if total is not None and (more := total - sum(attrs.values())):
        kept.form["more"] = more  # than the counts add up to, whatever they become
    return Usage(**attrs, raw=kept.raw(NAME))


def _without_twins(given: Wire, kept: Kept) -> Wire:
    """The counts, each said once; one that differs from its twin stays what it is."""
    counts = dict(given)
    for twin, key in TWINS.items():
        number = given.get(twin)
        if type(number) is not int:
            continue
        if key not in given:
            counts[key] = counts.pop(twin)
            kept.form.setdefault("named", {})[key] = twin
        elif number == given[key]:
            del counts[twin]
            kept.form.setdefault("twice", []).append(twin)
    return counts


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, usage.raw)
    form = form_in(mine)
    out: Wire = {}
    USAGE.write(usage, out, mine, recorder)
    if not did_without(mine, "totalTokens"):
        counts = [getattr(usage, attr) or 0 for attr in COUNTS.values()]
        out["totalTokens"] = sum(counts) + form.get("more", 0)
    for twin in form.get("twice", ()):
        if TWINS[twin] in out:
            out[twin] = out[TWINS[twin]]
    return put_back(out, usage, usage.raw, recorder)
