"""Cache breakpoints: `prompt_cache_breakpoint` or `cache_control`, on parts, tools, messages."""

from __future__ import annotations

from collections.abc import Sequence

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.openai_chat.shape import NOTHING, form_in, mine_of
from interlingua.dialects.openai_chat.tables import CacheMark, Tables
from interlingua.dialects.shape import ShapeError
from interlingua.model.base import Value
from interlingua.model.blocks import Block, Cache, UnknownBlock

MARKS = ("prompt_cache_breakpoint", "cache_control")


def read_cache(wire: Wire, t: Tables, place: str, form: Wire, taken: set[str]) -> Cache | None:
    """The breakpoint of an object; `form` notes how it is spelled unless `t` says it so.

    Two marks are one breakpoint while they agree; else the second is not taken."""
    spelled: Wire = {}
    ttl: str | None = None
    for key in MARKS:
        mark = wire.get(key)
        if mark is None:
            continue
        its = _ttl(mark, key)
        if not spelled or its == ttl:
            spelled[key], ttl = mark, its
            taken.add(key)
    if not spelled:
        return None
    usual = place in t.cache.places and spelled == {t.cache.key: _plain(t.cache, ttl)}
    if not usual or (ttl is not None and t.cache.ttls.get(ttl) != ttl):
        form["cache"] = {key: _without(mark, ttl) for key, mark in spelled.items()}
    return Cache(ttl)


def _ttl(mark: Wire, key: str) -> str | None:
    if type(mark) is not dict:
        raise ShapeError(f".{key}", "an object", mark)
    ttl = mark.get("ttl")
    if ttl is None or type(ttl) is str:
        return ttl
    raise ShapeError(f".{key}.ttl", "a string", ttl)


def _plain(mark: CacheMark, ttl: str | None) -> Wire:
    return {**mark.rest, "ttl": ttl} if ttl is not None else {**mark.rest}


def _without(mark: Wire, ttl: str | None) -> Wire:
    """The mark without the time that the field holds."""
    return mark if ttl is None else {key: each for key, each in mark.items() if key != "ttl"}


def write_cache(
    wire: Wire, value: Value, cache: Cache | None, t: Tables, scribe: Scribe, place: str, form: Wire
) -> None:
    """Put the breakpoint of a block, a tool or the options into its wire."""
    if cache is None or "message_cache" in form:
        return
    if "cache" in form:
        for key, mark in form["cache"].items():
            wire[key] = mark if cache.ttl is None else {**mark, "ttl": cache.ttl}
    elif place not in t.cache.places:
        scribe.lost(value, "cache")
    else:
        ttl = t.cache.ttls.get(cache.ttl) if cache.ttl is not None else None
        if ttl != cache.ttl:
            scribe.lost(value, "cache.ttl", f"no cache lives {cache.ttl} here", "approximated")
        wire[t.cache.key] = _plain(t.cache, ttl)


def read_message_cache(wire: Wire, blocks: list[Block], t: Tables, taken: set[str]) -> None:
    """A mark beside the content stands for one after its last block."""
    last = blocks[-1] if blocks else None
    if last is None or last.cache is not None or isinstance(last, UnknownBlock):
        return
    form: Wire = {}
    cache = read_cache(wire, t, "message", form, taken)
    if cache is not None:
        mine = mine_of(t.name, last.raw)
        mine = {**mine, "$form": {**form_in(mine), "message_cache": form["cache"]}}
        blocks[-1] = last.replace(cache=cache, raw={t.name: mine})


def write_message_cache(wire: Wire, blocks: Sequence[Block], t: Tables) -> None:
    for block in blocks:
        if block.cache is not None and block.raw is not None:
            marks = form_in(mine_of(t.name, block.raw)).get("message_cache", NOTHING)
            for key, mark in marks.items():
                ttl = block.cache.ttl
                wire[key] = mark if ttl is None else {**mark, "ttl": ttl}
