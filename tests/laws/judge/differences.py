"""Where two wires differ in what they say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.laws.facts.schemas import normal
from tests.laws.facts.shape import Facts, Piece, Tool
from tests.laws.judge.align import Alignment, answered, same_text

DEFAULTS: dict[str, tuple[Any, ...]] = {
    "n": (1,),
    "parallel_tool_calls": (True,),
    "service_tier": ("auto", "default", "standard", "standard_only", "unspecified"),
    "tool_choice": (("auto", ()),),
    "response_format.kind": ("text",),
    "stream": (False,),
    "modalities": (["text"],),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "stop": ([],),
    "metadata": ({},),
    "logit_bias": ({},),
}
"""Values that say what is done anyway."""
TIERS = {"default": "standard", "standard_only": "standard"}


class Difference(NamedTuple):
    """`what`: lost, added, changed or moved. `topic`: piece, option, tool, usage, stop, error or
    continues. `aspect`: which side of it."""

    what: str
    topic: str
    aspect: str
    ours: Any
    theirs: Any
    piece: Piece | None = None
    """Ours, where the topic is a piece."""
    beside: tuple[str, str] = ("", "")
    """Of what was added: the places of the pieces before and behind it."""

    def __str__(self) -> str:
        where = f" ({self.piece.kind}, {self.piece.place})" if self.piece is not None else ""
        shown = " -> ".join(repr(each)[:80] for each in (self.ours, self.theirs))
        return f"{self.what} {self.topic} {self.aspect}{where}: {shown}"


def differences(ours: Facts, theirs: Facts) -> Iterator[Difference]:
    yield from conversation(ours.pieces, theirs.pieces, theirs.lasts)
    yield from _tools(ours, theirs)
    yield from _options(ours, theirs)
    yield from _mapped("continues", ours.continues, theirs.continues)
    yield from _stop(ours, theirs)
    yield from _usage(ours.usage, theirs.usage)
    yield from _failure(ours, theirs)
    for number, own in enumerate(ours.others):
        if number >= len(theirs.others):
            yield Difference("lost", "answer", str(number), own, None)
        else:
            yield from differences(own, theirs.others[number])


# -- the conversation -----------------------------------------------------------------------------


def conversation(
    ours: list[Piece], theirs: list[Piece], lasts: str | None = None
) -> Iterator[Difference]:
    found = Alignment(ours, theirs)
    for i, j in found.pairs.items():
        yield from _aspects(ours[i], theirs[j], lasts)
    for i in found.lost():
        piece = ours[i]
        if piece.kind == "opaque" or (piece.kind == "text" and not piece.text):
            continue
        yield Difference("lost", "piece", piece.kind, piece.text or piece.data, None, piece)
    for i, j in found.retold.items():
        yield Difference("changed", "piece", "kind", ours[i].kind, "text", ours[i])
        del j
    yield from _additions(found)
    yield from _unpaired(found)
    yield from _order(found)


def _aspects(mine: Piece, other: Piece, lasts: str | None) -> Iterator[Difference]:
    for aspect in (
        "role",
        "signature",
        "is_error",
        "cache",
        "detail",
        "title",
        "speaker",
        "phase",
        "caller",
    ):
        a, b = getattr(mine, aspect), getattr(other, aspect)
        if a != b and not _is_nothing(aspect, a, b, lasts):
            what = "lost" if b in (None, False) else "added" if a in (None, False) else "changed"
            yield Difference(what, "piece", aspect, a, b, mine)
    if mine.kind == "call":
        if mine.name != other.name:
            yield Difference("changed", "piece", "function", mine.name, other.name, mine)
        if mine.data != other.data:
            yield Difference("changed", "piece", "arguments", mine.data, other.data, mine)
        if mine.text != other.text and "vendor" not in (mine.text, other.text):
            yield Difference("changed", "piece", "custom", mine.text, other.text, mine)
    elif mine.kind == "result" and not same_text(mine.text, other.text):
        aspect = "words" if mine.text.strip() and mine.text in other.text else "text"
        yield Difference("changed", "piece", aspect, mine.text, other.text, mine)
    elif mine.kind in ("image", "audio", "video", "document"):
        yield from _media(mine, other)
    if set(mine.cites) - set(other.cites):
        yield Difference("lost", "piece", "cites", mine.cites, other.cites, mine)


def _is_nothing(aspect: str, a: Any, b: Any, lasts: str | None) -> bool:
    """Differences that say nothing: how long, where that is what it lasts anyway."""
    if aspect == "cache":
        return None not in (a, b) and {a, b} == {"", lasts}
    return aspect == "detail" and {a, b} <= {None, "auto"}


def _media(mine: Piece, other: Piece) -> Iterator[Difference]:
    for aspect in ("kind", "name", "media_type"):
        a, b = getattr(mine, aspect), getattr(other, aspect)
        if a != b:
            what = "lost" if b is None else "added" if a is None else "changed"
            yield Difference(what, "piece", aspect, a, b, mine)


def _additions(found: Alignment) -> Iterator[Difference]:
    places = {j: found.ours[i].place for i, j in found.pairs.items()}
    places |= {j: found.ours[i].place for i, j in found.retold.items()}
    every = sorted(places)

    def beside(j: int) -> tuple[str, str]:
        before = [places[k] for k in every if k <= j]
        after = [places[k] for k in every if k >= j]
        return before[-1] if before else "", after[0] if after else ""

    for j in found.added():
        piece = found.theirs[j]
        if piece.kind != "opaque":
            content = piece.text or piece.data
            yield Difference("added", "piece", piece.kind, None, content, None, beside(j))
    partly = set(found.pairs.values()) | set(found.retold.values())
    for j, segments in found.rest.items():
        more = [segment for segment in segments if segment.strip()]
        if j in partly and more:
            yield Difference("added", "piece", "words", None, more, None, beside(j))


def _unpaired(found: Alignment) -> Iterator[Difference]:
    """Results that answer no call any more, or another one."""
    own, other = answered(found.ours), answered(found.theirs)
    for i, j in found.pairs.items():
        if found.ours[i].kind == "result" and (i in own) != (j in other):
            yield Difference("changed", "piece", "pairing", i in own, j in other, found.ours[i])


def _order(found: Alignment) -> Iterator[Difference]:
    """Pieces that come before what they came behind."""
    last = -1
    for i in sorted(found.pairs):
        j = found.pairs[i]
        if j < last:
            yield Difference("moved", "piece", "order", i, j, found.ours[i])
        last = max(last, j)


# -- tools ----------------------------------------------------------------------------------------


def _tools(ours: Facts, theirs: Facts) -> Iterator[Difference]:
    free = list(theirs.tools)
    for number, tool in enumerate(ours.tools):
        other = next((each for each in free if each.name == tool.name), None)
        if other is None and len(free) == len(ours.tools) - number and free:
            other = free[0]  # the same place, under another name
        if other is None:
            yield Difference("lost", "tool", "tool", tool, None)
            continue
        free.remove(other)
        yield from _tool(tool, other, theirs.lasts)
    for tool in free:
        yield Difference("added", "tool", "tool", None, tool)


def _tool(mine: Tool, other: Tool, lasts: str | None) -> Iterator[Difference]:
    own = ("description", "strict", "grammar", "deferred", "callers", "is_async")
    is_own = mine.kind in ("function", "custom")
    for aspect in ("name", "kind", *(own if is_own else ())):
        a, b = getattr(mine, aspect), getattr(other, aspect)
        if (a or None) != (b or None):
            yield Difference("lost" if not b else "changed", "tool", aspect, mine, other)
    if mine.cache != other.cache and not _is_nothing("cache", mine.cache, other.cache, lasts):
        yield Difference("lost", "tool", "cache", mine, other)
    if mine.kind == "function":
        yield from _schemas("tool", "schema", mine.schema, other.schema, mine)
        yield from _schemas("tool", "output_schema", mine.output_schema, other.output_schema, mine)
    if mine.since and not other.since:
        yield Difference("moved", "tool", "since", mine, other)


def _schemas(topic: str, aspect: str, a: Any, b: Any, mine: Any) -> Iterator[Difference]:
    """Each keyword that is not as it was."""
    for path in unlike(_shape(a), _shape(b)):
        yield Difference("changed", topic, aspect, mine, path)


def unlike(a: Any, b: Any, path: str = "") -> list[str]:
    """The paths at which two schemas differ."""
    if a == b:
        return []
    if isinstance(a, dict) and isinstance(b, dict):
        return [
            each for key in {**a, **b} for each in unlike(a.get(key), b.get(key), f"{path}.{key}")
        ]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [
            each
            for number, (x, y) in enumerate(zip(a, b, strict=True))
            for each in unlike(x, y, f"{path}[{number}]")
        ]
    return [path]


def _shape(schema: Any) -> Any:
    """A schema that binds nothing, or asks for nothing, is none."""
    empty = {"type": "object", "properties": {}}
    return None if schema in (None, True, {}, {"type": "object"}, empty) else normal(schema)


# -- options --------------------------------------------------------------------------------------


def _options(ours: Facts, theirs: Facts) -> Iterator[Difference]:
    own, other = _plain(ours.options), _plain(theirs.options)
    if not (ours.tools or theirs.tools):
        for name in ("tool_choice", "parallel_tool_calls"):
            own.pop(name, None)
            other.pop(name, None)
    for name in sorted({*own, *other}):
        a, b = own.get(name), other.get(name)
        if name == "response_format.schema" and a is not None and b is not None:
            yield from _schemas("option", name, a, b, None)
            continue
        if a == b:
            continue
        if name == "reasoning.visible" and a is None and b:
            continue  # thinking is wanted, and is shown as well
        if name == "reasoning.wanted" and a is None and own.get("reasoning.visible") is False:
            continue  # thinking that is to be hidden is thinking
        what = "lost" if b is None else "added" if a is None else "changed"
        yield Difference(what, "option", name, a, b)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """What options say, without what is done anyway, and thinking in one form."""
    found = {
        name: item
        for name, item in options.items()
        if not name.startswith("reasoning.") and item not in DEFAULTS.get(name, ())
    }
    tier = found.get("service_tier")
    if tier is not None:
        found["service_tier"] = TIERS.get(tier, tier)
    return found | thinking(options)


def thinking(options: dict[str, Any]) -> dict[str, Any]:
    """Whether thinking is wanted, and how much; that it is wanted and no more is a fact too."""
    mode, effort = options.get("reasoning.mode"), options.get("reasoning.effort")
    budget = options.get("reasoning.budget_tokens")
    found: dict[str, Any] = {}
    if mode == "off" or effort == "none" or budget == 0:
        found["reasoning.wanted"] = "no"
    elif mode or effort or budget or options.get("reasoning.visible"):
        found["reasoning.wanted"] = "yes"
    if mode == "between_tools":
        found["reasoning.mode"] = mode
    if effort not in (None, "none"):
        found["reasoning.effort"] = effort
    if budget:
        found["reasoning.budget_tokens"] = budget
    if options.get("reasoning.visible") is not None:
        found["reasoning.visible"] = options["reasoning.visible"]
    return found


def _mapped(topic: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Difference]:
    for name in sorted({*ours, *theirs}):
        a, b = ours.get(name), theirs.get(name)
        if a != b and not (isinstance(b, tuple) and a == list(b)):
            what = "lost" if b is None else "added" if a is None else "changed"
            yield Difference(what, topic, name, a, b)


# -- how it ended ---------------------------------------------------------------------------------


def failed(facts: Facts) -> bool:
    return facts.error is not None or not facts.ended


def _failure(ours: Facts, theirs: Facts) -> Iterator[Difference]:
    """An answer that failed is no whole one, and the other way round."""
    if failed(ours) != failed(theirs):
        a, b = (each.error or each.ended for each in (ours, theirs))
        yield Difference("changed", "error", "failed", a, b)
    elif ours.error is not None and ours.error not in str(theirs.error):
        yield Difference("changed", "error", "message", ours.error, theirs.error)


def _stop(ours: Facts, theirs: Facts) -> Iterator[Difference]:
    own = ours.meant or ours.stop  # without a reason an answer has ended, and no more is known
    if not failed(ours) and theirs.stop != own and not (own is None and theirs.stop == "end_turn"):
        yield Difference("changed", "stop", "stop", own, theirs.stop)


def _usage(ours: dict[str, int], theirs: dict[str, int]) -> Iterator[Difference]:
    names = ("input", "cached", "creation", "output", "reasoning")
    for name in (*names, *sorted({*ours, *theirs}.difference(names))):
        a, b = ours.get(name), theirs.get(name)
        if a is None and b == 0 and (not ours or name not in ("input", "output")):
            continue  # details that an API demands, or the usage of an answer without one
        if a is None and name.startswith("tools: "):
            continue  # a body without counts: its items are counted
        if a != b:
            yield Difference("changed" if b is not None else "lost", "usage", name, a, b)
