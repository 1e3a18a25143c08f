"""Counts a prompt's tokens at the provider, with each provider's own API."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.adapt.request import adapt, write
from interlingua.client.targets import Prepared, Target, Targets
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.record import Counting
from interlingua.errors import ReadError, found
from interlingua.model.exchange import Request


def can_count(target: Target) -> bool:
    """Whether the provider counts in this dialect."""
    paths = target.provider.dialects.get(target.dialect.name)
    counts = target.dialect.traits.counting is not None
    return counts and paths is not None and bool(paths.count_tokens)


def prepare(request: Request, target: Target, targets: Targets) -> Prepared:
    adapted = adapt(target.asking(request, None), target)
    written = write(adapted, addressed=False)
    wire = _wire(dict(written.wire), target)
    return Prepared(target, targets.address(target, wire, "count_tokens"), written.report)


def read(body: bytes, target: Target) -> int:
    """The count in a body."""
    what = f"{target.dialect.name} token count"
    name = _counting(target).answer
    try:
        wire: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise ReadError(what, expected="JSON") from None
    count = wire.get(name) if isinstance(wire, dict) else None
    if type(count) is not int or count < 0:
        raise ReadError(what, f"$.{name}", "a count", found(count))
    return count


def _wire(wire: Wire, target: Target) -> Wire:
    counting = _counting(target)
    for name in counting.without:
        wire.pop(name, None)
    return wire if counting.wrapped is None else counting.wrapped(wire, target.name)


def _counting(target: Target) -> Counting:
    counting = target.dialect.traits.counting
    assert counting is not None, "callers check that the dialect can count"
    return counting
