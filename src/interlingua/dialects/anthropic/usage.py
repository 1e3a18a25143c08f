"""Token counts. The three input counts are disjoint on the wire too; thinking is part of output."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple

from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import NOT_OURS, Attrs, Field, Reading, Table, plain
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, clamped, count
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.metadata import Diagnostic, Usage


def _counted(key: str, attr: str, needed: bool = False) -> Field:
    """A count. What is none goes home, and says nothing."""

    def read(given: Any) -> Reading:
        tokens = count(given)
        return NOT_OURS if tokens is None else {attr: tokens}

    field = plain(key, attr, int, fill=(lambda _: 0) if needed else None)
    return field._replace(read=read)


def _read_details(given: Any) -> Reading:
    tokens = count(given.get("thinking_tokens")) if type(given) is dict else None
    return NOT_OURS if tokens is None else {"reasoning_tokens": tokens}


def _write_details(usage: Any, recorder: LossRecorder) -> Wire:
    if usage.output_tokens is not None and usage.reasoning_tokens > usage.output_tokens:
        recorder.lost(usage, "reasoning_tokens", "more than all output", kind="approximated")
    return {"thinking_tokens": usage.reasoning_tokens}


_NOTHING = astuple(Usage())[4:-1]
_ODD = frozenset({"$form"})
USAGE = Table(
    Usage,
    _counted("input_tokens", "input_tokens", needed=True),
    _counted("output_tokens", "output_tokens", needed=True),
    _counted("cache_read_input_tokens", "cached_input_tokens"),
    _counted("cache_creation_input_tokens", "cache_creation_input_tokens"),
    Field("output_tokens_details", ("reasoning_tokens",), _read_details, _write_details),
)


def read_usage(wire: Any) -> tuple[Usage | None, tuple[Diagnostic, ...]]:
    if wire is None:
        return None, ()
    fresh, output = want(wire, dict, ".usage").get("input_tokens"), wire.get("output_tokens")
    if len(wire) == 2:
        if type(fresh) is type(output) is int and fresh >= 0 and output >= 0:
            return Usage(fresh, output), ()
    elif len(wire) == 4:
        read, made = wire.get("cache_read_input_tokens"), wire.get("cache_creation_input_tokens")
        whole = type(fresh) is type(output) is type(read) is type(made) is int
        if whole and fresh >= 0 and output >= 0 and read >= 0 and made >= 0:  # type: ignore[operator]  # integers
            return Usage(fresh, output, read, made), ()
    return _read_usage(wire)


def _read_usage(wire: Wire) -> tuple[Usage, tuple[Diagnostic, ...]]:
    kept = Kept()
    attrs = USAGE.read(wire, kept)
    if "cache_creation" in kept.rest and not _adds_up(kept.rest["cache_creation"], attrs):
        kept.form["uneven"] = True
    agreeing: Attrs = clamped(attrs)
    if agreeing is attrs:
        return Usage(**attrs, raw=kept.raw(NAME)), ()
    return Usage(**agreeing, raw={NAME: {"$form": {"wire": wire}}}), (CONTRADICTS,)


def _adds_up(split: Any, counts: Attrs) -> bool:
    """Whether the counts by time to live are those of the whole."""
    return type(split) is dict and sum(
        [tokens for tokens in split.values() if type(tokens) is int]
    ) == counts.get("cache_creation_input_tokens", 0)


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    raw, fresh, output = usage.raw, usage.input_tokens, usage.output_tokens
    if fresh is None or output is None or astuple(usage)[4:-1] != _NOTHING:
        return _write_usage(usage, recorder)
    if raw is not None and (len(raw) != 1 or "$form" in raw.get(NAME, _ODD)):
        return _write_usage(usage, recorder)
    out: Wire = {"input_tokens": fresh, "output_tokens": output}
    if usage.cached_input_tokens is not None:
        out["cache_read_input_tokens"] = usage.cached_input_tokens
    if usage.cache_creation_input_tokens is not None:
        out["cache_creation_input_tokens"] = usage.cache_creation_input_tokens
    return out if raw is None else _put_rest(out, usage, raw[NAME], recorder)


def _write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, usage.raw)
    form = form_in(mine)
    wire = form.get("wire")
    if type(wire) is dict and read_usage(wire)[0] == usage:
        return wire
    out: Wire = {}
    USAGE.write(usage, out, mine, recorder)
    return out if usage.raw is None else _put_rest(out, usage, mine, recorder)


def _put_rest(out: Wire, usage: Usage, mine: Wire, recorder: LossRecorder) -> Wire:
    put_back(out, usage, usage.raw or {}, recorder)
    if "cache_creation" in mine and not form_in(mine).get("uneven"):
        written = {"cache_creation_input_tokens": usage.cache_creation_input_tokens or 0}
        if not _adds_up(mine["cache_creation"], written):
            out.pop("cache_creation", None)  # the split of another sum
    return out


def hour_cache_tokens(usage: Usage) -> int:
    """How many of the tokens written to the cache stay there for an hour, which costs more."""
    split = mine_of(NAME, usage.raw).get("cache_creation")
    tokens = split.get("ephemeral_1h_input_tokens") if type(split) is dict else None
    written = usage.cache_creation_input_tokens or 0
    return tokens if type(tokens) is int and 0 <= tokens <= written else 0
