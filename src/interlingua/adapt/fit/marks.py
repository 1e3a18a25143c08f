"""Cache marks: where they are taken, and as many."""

from __future__ import annotations

from collections.abc import Iterator
from operator import is_
from typing import Any, NamedTuple

from interlingua.adapt.caching import last_markable, lifetime, refuses_mark
from interlingua.adapt.fit.fitter import Fitter
from interlingua.adapt.fit.media import MEDIA
from interlingua.dialects.registry import traits_of
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.losses import LossKind
from interlingua.model.message import Message, Role
from interlingua.model.reasons import Reason, because
from interlingua.model.tools import ToolDefinition

_REFUSED = {
    "key": ("cache_key",),
    "options": ("cache_mode", "cache_ttl", "cache_retention", "cache_comparison"),
}
_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})


class _Mark(NamedTuple):
    """One mark: its value, and the part of the prompt."""

    value: Any
    position: str


def fit_marks(fitter: Fitter) -> None:
    most, rules = fitter.profile.limits.cache_marks, fitter.profile.cache
    for word in rules.refused or ():
        for option in _REFUSED[word]:
            if fitter.now(option) is not None:
                fitter.drop(option, "cache.refused", because("unsupported"), "info")
    if most is None and rules.places is None and rules.ttls is None:
        return
    if rules.whole is False and fitter.now("cache") is not None:
        _put_at_the_end(fitter)
    if traits_of(fitter.dialect).breakpoint_parts:
        _put_behind_parts(fitter)
    marks = list(_marks(fitter))
    if len({id(each.value) for each in marks}) < len(marks):
        _copy_shared(fitter)
        marks = list(_marks(fitter))
    automatic = fitter.now("cache") is not None
    if not marks and not automatic:
        return
    gone: dict[int, str] = {}
    if rules.places is not None and most != 0:
        gone = {
            id(each.value): "cache.places" for each in marks if each.position not in rules.places
        }
    left = [each for each in marks if id(each.value) not in gone]
    if most is not None:
        if automatic and most == 0:
            fitter.drop("cache", "limits.cache_marks", because("cache_not_here"))
        if len(left) > most - automatic > 0:
            left = _long_enough(fitter, left, len(left) - most + automatic, gone)
        chosen = {id(each.value) for each in _chosen(left, most - automatic)}
        others = [id(each.value) for each in left if id(each.value) not in chosen]
        gone |= dict.fromkeys(others, "limits.cache_marks")
    left = [each for each in left if id(each.value) not in gone]
    lasting = _lasting(fitter, left, _settled(fitter) if left else None)
    if gone or lasting:
        edits = _MarkEdits(fitter, gone, lasting)
        fitter.tools = tuple([edits.of(tool) for tool in fitter.tools])
        fitter.messages = tuple([edits.message(message) for message in fitter.messages])


def _put_at_the_end(fitter: Fitter) -> None:
    """Turns a request's own setting for all into a breakpoint after the last block that accepts
    one."""
    cache = fitter.now("cache")
    for number in range(len(fitter.messages) - 1, -1, -1):
        message = fitter.messages[number]
        index = last_markable(message.content, fitter.dialect)
        if index is not None:
            break
    else:
        return
    fitter.change("cache", None)
    fitter.lost("cache", "cache.whole", because("cache_at_the_end"), "moved", "info")
    block = message.content[index]
    if block.cache is not None:
        return
    added = because("cache_breakpoint_added", ttl=cache.ttl or "5m")
    fitter.lost_at(block, "cache", "cache.whole", added, severity="info")
    marked = fitter.stands_for(block.replace(cache=cache), block)
    content = (*message.content[:index], marked, *message.content[index + 1 :])
    new = fitter.stands_for(message.replace(content=content), message)
    fitter.messages = (*fitter.messages[:number], new, *fitter.messages[number + 1 :])


def _put_behind_parts(fitter: Fitter) -> None:
    """Converse has breakpoints behind the parts of a message only, and not behind all of them."""

    def bare(value: Any, reason: Reason, kind: LossKind) -> Any:
        fitter.lost_at(value, "cache", "cache.places", reason, kind, "info")
        return fitter.stands_for(value.replace(cache=None), value)

    def settled(block: Any) -> Any:
        if block.cache is not None and refuses_mark(block, fitter.dialect):
            return bare(block, because("cache_not_here"), "dropped")
        parts = block.content if type(block) is ToolResultBlock else ()
        marks = [part.cache for part in parts if getattr(part, "cache", None) is not None]
        if not marks:
            return block
        moved = because("cache_behind_result")
        inner = [bare(p, moved, "moved") if getattr(p, "cache", None) else p for p in parts]
        new = block.replace(content=tuple(inner), cache=block.cache or marks[-1])
        return fitter.stands_for(new, block)

    def message(old: Message) -> Message:
        content = tuple([settled(block) for block in old.content])
        if all(map(is_, content, old.content)):
            return old
        return fitter.stands_for(old.replace(content=content), old)  # type: ignore[no-any-return]  # a message

    fitter.messages = tuple([message(each) for each in fitter.messages])


def _copy_shared(fitter: Fitter) -> None:
    """Makes a copy of a block for each place, if it is in several."""
    seen: set[int] = set()

    def own(block: Any) -> Any:
        if id(block) in seen:
            block = fitter.stands_for(block.replace(), block)
        seen.add(id(block))
        return block

    def whole(message: Message) -> Message:
        copy = message.replace(content=tuple([own(block) for block in message.content]))
        return fitter.stands_for(copy, message)  # type: ignore[no-any-return]  # a message

    fitter.messages = tuple([whole(message) for message in fitter.messages])


def _long_enough(
    fitter: Fitter, marks: list[_Mark], excess: int, gone: dict[int, str]
) -> list[_Mark]:
    """Drops marks if there are too many, first those that would cache nothing because the prompt
    before them is too short."""
    least = fitter.profile.limits.cache_min
    if least is None:
        return marks
    before: set[int] = set()
    letters = 0
    for each in _read(fitter):
        letters += _letters(each.value)
        if letters >= least * _LETTERS:
            break
        before.add(id(each.value))
    short = [id(each.value) for each in marks if id(each.value) in before]
    if len(short) == len(marks):
        return marks
    gone |= dict.fromkeys(short[:excess], "limits.cache_min")
    return [each for each in marks if id(each.value) not in gone]


_LETTERS = 2
"""The minimum number of letters per token, to keep a mark in case of doubt."""


def _settled(fitter: Fitter) -> str | None:
    """Lifetimes of marks without one, if the request sets one for all of them."""
    known, options = fitter.profile.cache.ttls, fitter.request.options
    if known is None:
        return None
    wanted = lifetime(options, known)
    for name in ("cache_ttl", "cache_retention"):
        if (asked := fitter.now(name)) is not None:
            fitter.change(name, None)
            reason = because("cache_lifetime", asked=asked, ttl=wanted or known[0])
            fitter.lost(name, "cache.ttls", reason)
    return wanted


def _lasting(fitter: Fitter, marks: list[_Mark], wanted: str | None) -> dict[int, tuple[str, str]]:
    """The lifetimes of marks that cannot last as long as requested: the time, and the field of
    the profile that limits it."""
    rules = fitter.profile.cache
    if rules.ttls is None:
        return {}
    lasting: dict[int, tuple[str, str]] = {}
    shortest = len(rules.ttls) - 1
    for each in marks:
        requested = each.value.cache.ttl or wanted
        ttl = _near(requested, rules.ttls) if requested is not None else rules.ttls[0]
        field = "cache.ttls"
        if rules.longest_first and rules.ttls.index(ttl) > shortest:
            ttl, field = rules.ttls[shortest], "cache.longest_first"
        shortest = rules.ttls.index(ttl)
        if requested is not None and ttl != each.value.cache.ttl:
            lasting[id(each.value)] = (ttl, field)
    return lasting


def _near(requested: str, known: tuple[str, ...]) -> str:
    """The same, else the next shorter one, else the shortest."""
    if requested in known:
        return requested
    shorter = [each for each in known if _seconds(each) <= _seconds(requested)]
    return shorter[-1] if shorter else known[0]


def _seconds(ttl: str) -> int:
    number, unit = ttl[:-1], ttl[-1:]
    return int(number) * _UNITS.get(unit, 1) if number.isdigit() else 0


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def _chosen(marks: list[_Mark], most: int) -> list[_Mark]:
    """The first, behind which as a rule everything stays the same, and the last ones."""
    if len(marks) <= most:
        return marks
    return [marks[0], *marks[len(marks) - most + 1 :]] if most > 0 else []


def _marks(fitter: Fitter) -> Iterator[_Mark]:
    return (each for each in _read(fitter) if getattr(each.value, "cache", None) is not None)


def _read(fitter: Fitter) -> Iterator[_Mark]:
    """All that may carry one, in the order in which a prompt is read."""
    for tool in fitter.tools:
        yield _Mark(tool, "tools")
    for leading in (True, False):
        position = "system" if leading else "messages"
        for message in fitter.messages:
            if (message.role in _INSTRUCTS) is leading:
                for block in message.content:
                    for part in getattr(block, "content", None) or ():
                        yield _Mark(part, position)
                    yield _Mark(block, position)


def _letters(value: Any) -> int:
    """About how long a block or a tool is; media counts as much as any mark wants."""
    kind = type(value)
    if kind in MEDIA:
        return _MUCH
    if kind is ToolDefinition:
        return len(value.description or "") + len(str(value.input_schema or ""))
    if kind is ToolUseBlock:
        return len(str(value.input))
    return len(getattr(value, "text", None) or "")


_MUCH = 1 << 20


class _MarkEdits:
    """Blocks and tools with their marks removed, or their lifetimes changed."""

    def __init__(
        self, fitter: Fitter, gone: dict[int, str], lasting: dict[int, tuple[str, str]]
    ) -> None:
        self._fitter = fitter
        self._gone = gone
        self._lasting = lasting

    def message(self, message: Message) -> Message:
        content = [self.of(block) for block in message.content]
        if all(new is old for new, old in zip(content, message.content, strict=True)):
            return message
        edited = message.replace(content=tuple(content))
        return self._fitter.stands_for(edited, message)  # type: ignore[no-any-return]  # a message

    def of(self, value: Any) -> Any:
        """A block or tool, and its parts."""
        new = value
        inner = getattr(value, "content", None)
        if inner and any(id(part) in self._gone or id(part) in self._lasting for part in inner):
            new = value.replace(content=tuple([self.of(part) for part in inner]))
        if id(value) in self._gone:
            self._lost(value, "cache", self._gone[id(value)], "dropped")
            new = new.replace(cache=None)
        elif id(value) in self._lasting:
            ttl, field = self._lasting[id(value)]
            if value.cache.ttl is not None:  # otherwise the note is at the request's own time
                reason = because("cache_ttl_for_model", asked=value.cache.ttl, ttl=ttl)
                self._fitter.lost_at(value, "cache.ttl", field, reason)
            new = new.replace(cache=value.cache.replace(ttl=ttl))
        return new if new is value else self._fitter.stands_for(new, value)

    def _lost(self, value: Any, inside: str, field: str, kind: LossKind) -> None:
        self._fitter.lost_at(value, inside, field, _WHY[field], kind, "info")


_WHY = {
    "cache.places": because("cache_not_here"),
    "limits.cache_marks": because("cache_marks_limited"),
    "limits.cache_min": because("cache_too_short"),
}
