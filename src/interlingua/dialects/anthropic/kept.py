"""What is kept of an object beside the fields, in its `raw`, and how it is put back; and the cache
breakpoints, which any part may carry."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.anthropic.shape import may_take
from interlingua.dialects.anthropic.tables import LONGEST_TTL, NAME, TTLS
from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.shape import Notes, respell
from interlingua.model.base import Raw, Value
from interlingua.model.blocks import Cache

_NOTES = Notes(NAME)
mine_of, form_of = _NOTES.mine_of, _NOTES.form_of
_SAYS_NOTHING: Wire = {"caller": {"type": "direct"}}
"""Values that say no more than a missing key would."""


def spare(part: Wire, known: frozenset[str], spelled: Wire, form: Wire) -> Raw | None:
    """The `raw` for what no field holds: other keys are content; nulls, defaults that are spelled
    out (`spelled`) and the rest of `form` are spelling."""
    rest: Wire = {}
    for key, value in part.items():
        if key in known:
            continue
        if value is None or (key in _SAYS_NOTHING and value == _SAYS_NOTHING[key]):
            spelled[key] = value
        elif key == "$form":
            form["$form"] = value
        else:
            rest[key] = value
    return pack(rest, spelled, form)


def pack(rest: Wire, spelled: Wire, form: Wire) -> Raw | None:
    if "cache_control" in form and any(x is not None for x in form["cache_control"].values()):
        rest["cache_control"] = form.pop("cache_control")
    if spelled:
        form["spelled"] = spelled
    if form:
        rest["$form"] = form
    return {NAME: rest} if rest else None


def is_odd(raw: Raw | None) -> bool:
    """Whether the wire had this in spite of what its documentation says."""
    return raw is not None and form_of(raw).get("odd") is True


def put_back(out: Wire, value: Value, raw: Raw, scribe: Scribe, cached: bool = False) -> None:
    """Add what was kept to a written object; fields win. What others kept is a loss. The rest of a
    breakpoint is none without the breakpoint (`cached`)."""
    mine = raw.get(NAME)
    if type(mine) is dict:
        for key, item in mine.items():
            if key != "$form" and key not in out and (key != "cache_control" or not cached):
                out[key] = item
        respell(out, form_of(raw))
    if mine is None or len(raw) > 1:
        scribe.unsaid_raw(value, raw)


def is_foreign(raw: Raw) -> bool:
    """Whether other dialects kept content there; their spelling is nobody's loss."""
    for name, rest in raw.items():
        if name != NAME and (type(rest) is not dict or len(rest) != 1 or "$form" not in rest):
            return True
    return False


# -- cache breakpoints ----------------------------------------------------------------------------


def read_cache(part: Wire, spelled: Wire, form: Wire) -> Cache | None:
    """`cache_control`; what it says beyond a time is put into `form`, for `pack` to place."""
    control = may_take(part, "cache_control", dict, spelled)
    if control is None:
        return None
    ttl = control.get("ttl")
    extra = {key: item for key, item in control.items() if key not in ("type", "ttl")}
    if "type" not in control:
        form["untyped_cache"] = True
    elif control["type"] != "ephemeral":
        extra["type"] = control["type"]
    if type(ttl) is not str:
        if "ttl" in control:
            extra["ttl"] = ttl
        ttl = None
    elif ttl not in TTLS:
        form["odd"] = True
    if extra:
        form["cache_control"] = extra
    return Cache(ttl)


def put_cache(out: Wire, value: Any, scribe: Scribe) -> None:
    """The breakpoint of a block, a tool or the options."""
    cache: Cache | None = value.cache
    if cache is None:
        return
    form = form_of(value.raw)
    out["cache_control"] = control = spell_cache(cache, value, scribe, form)
    for extra in (mine_of(value.raw).get("cache_control"), form.get("cache_control")):
        if type(extra) is dict:
            control.update(extra)
    if form.get("untyped_cache"):
        control.pop("type", None)


def spell_cache(cache: Cache, value: Any, scribe: Scribe, form: Wire) -> Wire:
    if cache.ttl is None:
        return {"type": "ephemeral"}
    if cache.ttl in TTLS or form.get("odd"):
        return {"type": "ephemeral", "ttl": cache.ttl}
    scribe.lost(value, "cache", f"kept for {LONGEST_TTL}", kind="approximated")
    return {"type": "ephemeral", "ttl": LONGEST_TTL}


def finish(out: Wire, block: Any, scribe: Scribe) -> Wire:
    """The breakpoint and whatever was kept."""
    if block.cache is not None:
        put_cache(out, block, scribe)
    if block.raw is not None:
        put_back(out, block, block.raw, scribe, cached=True)
    return out
