"""Finds the places in a source body that losses are about.

Readers do not record where a value came from. On request the source is read once more with a mark
in each object of a list: readers preserve unknown keys beside the value that they belong to, so the
marks show which object each value came from. To find the key within that object, keys are left out
one by one and the object is read again."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.errors import InterlinguaError
from interlingua.model.base import REQUIRED, Value, _defaults
from interlingua.model.blocks import TYPE_OF, ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Loss
from interlingua.model.message import Message
from interlingua.model.reasons import GROUPS
from interlingua.model.tools import ToolDefinition

MARK = "x-interlingua-at"
ADDED = frozenset({"cache_breakpoint_added", "cache_key_added"})
"""Notes on additions, which have no place in the source."""
MOST_PLACES = 3
"""The most keys that one value may be traced to."""
_MOST_KEYS = 12
"""Pairs of keys are tried in objects with so many at most."""
MOST_READS = 4000
"""The most times that one source is read again; values not found by then have no place."""
_PLAIN = re.compile(r"[A-Za-z_$][\w$-]*")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]")
_ITEM = re.compile(r"(?:\.[\w$-]+|\['[^']*'\])\[\d+\]$")
_INDEX = re.compile(r"\[\d+\]")
_NONE: Any = object()

_TOGETHER = (("options", "reasoning"), ("options", "response_format"))
_WHOLE = ("content", "executor", "kind", "role", "source", "type")
"""Fields that a value cannot be without: it is lost with them."""

Reader = Callable[[Any], Any]
"""Reads a body as a `Request` or a `Response`."""
Steps = tuple[str | int, ...]
Inside = tuple[Steps, ...]


class Source(msgspec.Struct):
    """A body and its reader, until the places of its losses are requested."""

    body: Any
    name: str
    read: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    """Arguments of the reader after the body."""
    seconds: float | None = None
    """The most time to search; values not found by then have no place."""

    def places(self, entries: Sequence[Loss]) -> list[tuple[str, ...]]:
        """The places of each entry; empty if nothing in the body corresponds to it."""
        if all(entry.code in ADDED for entry in entries):
            return [() for _ in entries]
        body = self.body
        if isinstance(body, (bytes, str)):
            body = msgspec.json.decode(body)
        read: Reader = lambda body: self.read(body, *self.arguments)  # noqa: E731
        search = _Search(body, self.name, read, self.seconds)
        found = []
        for entry in entries:
            places = () if entry.code in ADDED else search.places(entry)
            found.append(() if search.is_late else places)
        return found


def step(key: str | int) -> str:
    """A key or an index, as a path has it."""
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if _PLAIN.fullmatch(key) else f"[{key!r}]"


def steps(path: str) -> Steps:
    """The keys and indexes of a path."""
    found = (_STEP.finditer(path.removeprefix("$")),)
    return tuple([int(m[2]) if m[2] else m[1] or m[3] for each in found for m in each])


def value_at(body: Any, path: Steps) -> Any:
    """The value at a path of plain JSON; raises `KeyError`, `IndexError` or `TypeError` if there is
    none."""
    for each in path:
        body = body[each]
    return body


class _Search:
    def __init__(self, body: Any, name: str, read: Reader, seconds: float | None) -> None:
        self.body = body
        self.name = name
        self.reader = read
        self.reads = 0
        self.until = None if seconds is None else time.monotonic() + seconds
        self.is_late = False
        self.inner = False
        """Whether marks are inside the one member of an object, where it has no other."""
        self.known: dict[tuple[Any, ...], Inside | None] = {}
        self.whole = self._marked_whole()

    # -- reading ----------------------------------------------------------------------------------

    def read(self, body: Any) -> Any:
        """The canonical value; None where the body cannot be read."""
        if self.until is not None and time.monotonic() > self.until:
            self.is_late = True
        if self.is_late or self.reads >= MOST_READS:
            return None
        self.reads += 1
        try:
            return self.reader(body)
        except (InterlinguaError, TypeError, KeyError, ValueError):
            return None

    def _marked_whole(self) -> Any:
        """The whole body with marks, as far as they change nothing else."""
        plain = self.read(self.body)
        for inner in (False, True):
            self.inner = inner
            whole = self.read(_marked(self.body, "$", inner))
            if _shape(whole) == _shape(plain):
                return whole
        return plain

    # -- one entry --------------------------------------------------------------------------------

    def places(self, entry: Loss) -> tuple[str, ...]:
        if self.whole is None:
            return ()
        found = self._marked_places(entry)
        path = steps(entry.path)
        found = ((not found or self._is_more(found[0], path)) and self._removed(path)) or found
        return found or self._in_schema(path)

    def _in_schema(self, path: Steps) -> tuple[str, ...]:
        """A keyword of a tool's schema that is null: below the place of the schema."""
        if "input_schema" not in path[:-1]:
            return ()
        end = path.index("input_schema") + 1
        for schema in self._removed(path[:end]):
            place = schema + "".join(map(step, path[end:]))
            try:
                value_at(self.body, steps(place))
            except (KeyError, IndexError, TypeError):
                continue
            return (place,)
        return ()

    def _is_more(self, place: str, path: Steps) -> bool:
        """Whether a place is a whole list or item, although only a part of it is meant."""
        if "cache" in path[-2:] and place.endswith("]"):
            return True
        return path[:1] == ("tools",) and isinstance(value_at(self.body, steps(place)), list)

    def _marked_places(self, entry: Loss) -> tuple[str, ...]:
        owner, path, rest = self._owner(steps(entry.path))
        if entry.rule is not None and rest[:2] in _TOGETHER:
            rest = rest[:2]  # what a rule does about one part depends on the others
        if rest[:1] == ("content",) and isinstance(rest[1:2] and rest[1], int):
            found = self._key(owner, path, rest) if len(rest) > 2 else ()
            found = found if found != (path,) else ()
            found = found or self._item(owner, path, int(rest[1]))
            found = found or self._removed(steps(entry.path)[: 2 - len(rest) or None])
            return found or ((path,) if path != "$" else ())
        if rest == ("content",) and (parts := self._parts_of_result(owner)):
            return parts
        if rest and rest[0] not in _WHOLE:
            found = self._key(owner, path, rest)
            return found or (self._references() if rest == ("continues",) else ())
        if isinstance(owner, Message) and (parts := self._parts_of_turn(owner, path)):
            return parts
        if path == "$":
            return ()
        path, *more = self._removable(path)
        return (*self._with_results(owner, path), *more)

    def _key(self, owner: Any, path: str, rest: Steps) -> tuple[str, ...]:
        """The places of a field of a value with a place."""
        found = self._inside(owner, path, path, rest)
        parent = _parent(path)
        if found == ((),) and parent is not None:
            around = self._inside(owner, path, parent, rest)
            if around is not None and around != ((),):
                found, path = around, parent
        if found is None or (found == ((),) and path == "$"):
            return ()
        if found == ((),) and self._has(owner, path, rest):
            return (path + step(rest[-1]),)  # the object cannot be read without it
        if found == ((),):
            return self._with_results(owner, path)
        return tuple([path + "".join(map(step, inside)) for inside in found])

    def _has(self, owner: Any, path: str, rest: Steps) -> bool:
        """Whether the object at a place has a field under the same name."""
        wire, value = value_at(self.body, steps(path)), _walk(owner, rest)
        return isinstance(value, str) and len(rest) == 1 and wire.get(rest[0]) == value

    def _parts_of_result(self, owner: Any) -> tuple[str, ...]:
        """The places of the parts of a tool result: its call needs the result itself."""
        blocks = owner.content if isinstance(owner, Message) else (owner,)
        if len(blocks) != 1 or not isinstance(blocks[0], ToolResultBlock):
            return ()
        return tuple([mark for part in blocks[0].content if (mark := self.mark(part))])

    def _parts_of_turn(self, owner: Message, path: str) -> tuple[str, ...]:
        """The places of the blocks of a message that shares its turn with others."""
        messages = getattr(self.whole, "messages", ())
        sharing = [each for each in messages if self.mark(each) == path]
        marks = [self.mark(block) for block in owner.content]
        return () if len(sharing) < 2 or None in marks else tuple([mark for mark in marks if mark])

    def _item(self, owner: Any, path: str, index: int) -> tuple[str, ...]:
        """The place of a block without a mark: the item without which the others are the same."""
        try:
            wire = value_at(self.body, steps(path))
        except (KeyError, IndexError, TypeError):
            return ()
        body = _reduced(self.body, steps(path), self.inner)
        before = getattr(self._marked_as(self.read(body), path), "content", None)
        if not isinstance(wire, dict) or before is None or len(before) <= index:
            return ()
        left = (*before[:index], *before[index + 1 :])
        single = [(inside,) for inside in (*_items(wire), *_parts(wire, False))]
        # some have it in two places
        for parts in (*single, *combinations([(key,) for key in wire], 2)):
            again = body
            for inside in parts:
                again = _without(again, (*steps(path), *inside))
            if getattr(self._marked_as(self.read(again), path), "content", None) == left:
                return tuple([path + "".join(map(step, inside)) for inside in parts])
        return ()

    def _removed(self, path: Steps) -> tuple[str, ...]:
        """The part that has no mark and without which just this is missing from the value."""
        plain = self.read(self.body)
        paths = (path, path[:-1]) if path[-2:-1] == ("cache",) else (path,)
        wanted = [each for cut in paths if (each := _cut(plain, cut)) is not None]
        if plain is None or not wanted or len(path) < 2 or not isinstance(self.body, dict):
            return ()
        for value in wanted:
            for at in _unmarked(self.body, path[1] if path[0] == "messages" else None):
                if self.read(_without(self.body, at)) == value:
                    return ("$" + "".join(map(step, at)),)
        return ()

    def _references(self) -> tuple[str, ...]:
        """The items that name parts of a history which a server stores."""
        whole, was = _marked(self.body, "$", self.inner), self.whole.continues
        again = ((at, self.read(_without(whole, at))) for at in _items(self.body))
        found = [at for at, value in again if value is not None and value.continues != was]
        return tuple(["$" + "".join(map(step, at)) for at in found])

    def _removable(self, path: str) -> tuple[str, ...]:
        """The place, with a second one that has the same value, or with the enclosing object
        where a part cannot be removed alone."""
        parent = _parent(path)
        if parent is None:
            return (path,)
        body = _reduced(self.body, steps(path), self.inner)
        before, alone = self.read(body), _without(body, steps(path))
        after = self.read(alone)
        if before is None or after is None or _count(after) < _count(before):
            return (path,)
        for key in value_at(self.body, steps(parent)):
            beside = (*steps(parent), key)
            least = [_count(self.read(_without(each, beside))) for each in (body, alone)]
            if least == [_count(before), _count(before) - 1]:
                return path, parent + step(key)
        return (parent,)

    def _with_results(self, owner: Any, path: str) -> tuple[str, ...]:
        """Removes a call together with its result, which would have no call."""
        if not isinstance(owner, ToolUseBlock):
            return (path,)
        results = [
            place
            for each in _values(self.whole)
            if isinstance(each, ToolResultBlock) and each.tool_use_id == owner.id
            if (place := self.mark(each)) is not None and place != path
        ]
        return (path, *dict.fromkeys(results))

    def _owner(self, path: Steps) -> tuple[Any, str, Steps]:
        """The last value on a path with a place of its own, the place, and the rest of the path."""
        value = owner = self.whole
        place, rest = "$", path
        for number, each in enumerate(path):
            value = _child(value, each)
            if value is _NONE:
                break
            found = self.mark(value)
            if path[number + 1 : number + 3] == ("metadata", "usage"):
                found = None  # of the whole answer, not of its message
            if found is not None:
                owner, place, rest = value, found, path[number + 1 :]
        return owner, place, rest

    def mark(self, value: Any) -> str | None:
        """The place of a value."""
        if isinstance(value, Message):
            raw = value.metadata.provider_raw
            own = raw.get(self.name) if raw else None
            if found := _mark_in(own, 2):
                return found
            marks = [found for block in value.content if (found := self.mark(block))]
            parents = {_ITEM.sub("", mark) for mark in marks}
            if len(marks) == 1 and parents == {"$"}:
                return marks[0]  # an item that is not part of a message
            return parents.pop() if len(parents) == 1 and "$" not in parents else None
        raw = getattr(value, "raw", None) if isinstance(value, Value) else None
        return _mark_in(raw.get(self.name)) if isinstance(raw, dict) else None

    # -- one key ----------------------------------------------------------------------------------

    def _inside(self, owner: Any, path: str, holder: str, rest: Steps) -> Inside | None:
        """Which keys of the object at a place have it: `((),)` for all of it, None for none. The
        object is the one that the value came from, or one around it."""
        try:
            wire = value_at(self.body, steps(holder))
        except (KeyError, IndexError, TypeError):
            return None
        if not isinstance(wire, dict):
            return ((),)
        own = _raw_keys(rest, self.name)
        if own and _stands(wire, (own,)):
            return (self._private(owner, rest, own),)
        kind = (type(owner), rest, holder == path, _INDEX.sub("[]", path), *sorted(wire))
        if kind not in self.known or not _stands(wire, self.known[kind]):
            self.known[kind] = self._searched(type(owner), path, holder, rest)
        return self.known[kind]

    def _private(self, owner: Any, rest: Steps, found: Steps) -> Steps:
        """A private key, or the one inside it where the others of the same object were read."""
        value: Any = owner
        for each in rest:
            value = _child(value, each)
        while isinstance(value, dict) and len(value) == 1 and MARK not in value:
            ((key, value),) = value.items()
            found = (*found, key)
        return found

    def _searched(self, cls: type, path: str, holder: str, rest: Steps) -> Inside | None:
        """The smallest part of an object without which the value is missing or changed, and little
        else. The other messages and tools are left out, so that each try is cheap."""
        body = _reduced(self.body, steps(path), self.inner)
        before = self.read(body)
        owner = self._marked_as(before, path, cls)
        if owner is _NONE:
            body, before = _marked(self.body, "$", self.inner), self.whole
            owner = self._marked_as(before, path, cls)
        was = _walk(owner, rest)
        if was is _NONE or was is None or was == ():
            return None
        found: list[Steps] = []
        for _ in range(MOST_PLACES):
            best = self._best(body, before, cls, path, holder, rest)
            if best is None:
                break
            is_gone, more = best
            if is_gone and len(more) == 1:
                more = self._narrowed(body, before, cls, path, holder, rest, more[0])
            found += more
            if is_gone:
                return tuple(found)
            for inside in more:
                body = _without(body, (*steps(holder), *inside))
            before = self.read(body)
        return tuple(found[:1]) or ((),)

    def _best(
        self, body: Any, before: Any, cls: type, path: str, holder: str, rest: Steps
    ) -> tuple[bool, list[Steps]] | None:
        """The part without which the value is another one, and whether it is gone then."""
        owner, flat = self._marked_as(before, path, cls), _flat(before)
        was = _walk(owner, rest)
        best: tuple[bool, int, int, bool] | None = None
        found: list[Steps] = []
        for inside in _parts(value_at(self.body, steps(holder)), holder == "$"):
            again = self.read(_without(body, (*steps(holder), *inside)))
            same = self._marked_as(again, path, cls)
            now = _walk(same, rest)
            if same is _NONE or now is was or now == was:
                continue
            new = _flat(again)
            unlike = str(rest[-1]) not in str(inside[-1])  # of two places that have it together
            changed = sum(".$form" not in path for path, _ in flat ^ new)
            rank = not _is_gone(now), changed, -len(inside), unlike
            if best is None or rank < best:
                best, found = rank, [inside, *self._alone(inside, new - flat)]
        return None if best is None else (not best[0], found)

    def _narrowed(
        self,
        body: Any,
        before: Any,
        cls: type,
        path: str,
        holder: str,
        rest: Steps,
        inside: Steps,
    ) -> list[Steps]:
        """Two keys of an object that have the value together, or the object itself."""
        wire, flat = value_at(self.body, (*steps(holder), *inside)), _flat(before)
        alone = isinstance(wire, dict) and len(wire) == 1
        if alone and (inside[-1] in GROUPS or "user_id" in wire):
            inside = (*inside, *wire)  # an only item goes with its container
        best = [inside]
        if not isinstance(wire, dict) or len(wire) > _MOST_KEYS:
            return best
        least = len(flat ^ _flat(self.read(_without(body, (*steps(holder), *inside)))))
        for pair in combinations([(*inside, key) for key in wire if key != MARK], 2):
            again = body
            for each in pair:
                again = _without(again, (*steps(holder), *each))
            value = self.read(again)
            changed = len(flat ^ _flat(value))
            gone = _is_gone(_walk(self._marked_as(value, path, cls), rest))
            if gone and value is not None and changed < least:
                best, least = [*pair], changed
        return best

    def _alone(self, inside: Steps, new: set[tuple[str, str]]) -> Iterator[Steps]:
        """Keys beside one that mean nothing without it, and are private then."""
        for path, _ in new:
            _, found, key = path.partition(f".raw.{self.name}.")
            *group, key = key.split(".")
            is_here = not group or (group == [*inside[:-1]] and group[0] in GROUPS)
            if found and is_here and key not in (MARK, inside[-1]):
                yield (*inside[:-1], key)

    def _marked_as(self, value: Any, path: str, cls: type = object) -> Any:
        """The value of a type with this place; the whole one for the body itself."""
        if value is None:
            return _NONE
        if path == "$":
            return value
        values = (each for each in _values(value) if isinstance(each, cls))
        return next((each for each in values if self.mark(each) == path), _NONE)


def _raw_keys(rest: Steps, name: str) -> Steps:
    """The keys of the wire that a path inside `raw` names."""
    for lead in (("raw",), ("metadata", "provider_raw"), ("options", "raw")):
        if rest[: len(lead)] == lead and len(rest) > len(lead) + 1 and rest[len(lead)] == name:
            return rest[len(lead) + 1 :]
    return ()


def _stands(wire: Any, found: Inside | None) -> bool:
    try:
        for inside in found or ():
            value_at(wire, inside)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _mark_in(own: Any, depth: int = 3) -> str | None:
    """The mark in the private members of a value, or in objects inside them."""
    if not isinstance(own, dict) or not depth:
        return None
    if isinstance(own.get(MARK), str):
        return str(own[MARK])
    return next((found for item in own.values() if (found := _mark_in(item, depth - 1))), None)


def _parent(path: str) -> str | None:
    """The item of a list that another item is in."""
    parent = _ITEM.sub("", path)
    return parent if parent.endswith("]") and parent != path else None


def _marked(value: Any, path: str, inner: bool, in_list: bool = False) -> Any:
    """A copy with the place of each object of a list as an additional key; with `inner`, in its
    single member if that is an object, and otherwise not at all."""
    if isinstance(value, list):
        return [
            _marked(item, f"{path}[{number}]", inner, True) for number, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    out = {key: _marked(item, path + step(key), inner) for key, item in value.items()}
    if in_list and inner and len(out) == 1:
        item = next(iter(out.values()))
        if isinstance(item, dict):
            item[MARK] = path
    elif in_list:
        out[MARK] = path
    return out


def _reduced(body: Any, path: Steps, inner: bool) -> Any:
    """The marked body with the one message or tool on a path, and the first of other lists."""
    if not isinstance(body, dict):
        return _marked(body, "$", inner)
    out = {}
    for key, item in body.items():
        place = "$" + step(key)
        if _is_objects(item):
            index = path[1] if len(path) > 1 and key == path[0] else 0
            out[key] = [_marked(item[int(index)], f"{place}[{index}]", inner, True)]
        else:
            out[key] = _marked(item, place, inner)
    return out


def _without(body: Any, path: Steps) -> Any:
    """A copy of a marked body, reduced or not, without the value at a path of the whole one."""
    key, rest = path[0], path[1:]
    if isinstance(body, list):
        assert isinstance(key, int)
        marks = [_mark_in(item, 2) or "" for item in body]
        index = next((n for n, mark in enumerate(marks) if mark.endswith(f"[{key}]")), key)
        index = index if index < len(body) else 0
        remaining = [] if not rest else [_without(body[index], rest)]
        return [*body[:index], *remaining, *body[index + 1 :]]
    if not isinstance(body, dict) or key not in body:
        return body
    if not rest:
        return {k: item for k, item in body.items() if k != key}
    return {k: _without(item, rest) if k == key else item for k, item in body.items()}


def _parts(wire: Any, is_root: bool, depth: int = 4) -> Iterator[Steps]:
    """The keys of an object and of objects inside it; items of lists have places of their own."""
    for key, item in wire.items():
        if key == MARK or (is_root and _is_objects(item) and depth == 4):
            continue
        yield (key,)
        if isinstance(item, dict) and depth:
            yield from ((key, *more) for more in _parts(item, False, depth - 1))


def _items(wire: Any) -> Iterator[Steps]:
    """The items of lists of objects."""
    for key, items in wire.items():
        if _is_objects(items):
            yield from ((key, number) for number in range(len(items)))


def _unmarked(body: Any, index: str | int | None) -> Iterator[Steps]:
    """The items of lists with their keys, two lists deep; of messages only the one at an index and
    those beside it."""
    for key, items in body.items():
        if isinstance(items, dict):
            yield from ((key, *more) for more in _unmarked(items, None))
        for number, item in enumerate(items if isinstance(items, list) else ()):
            far = isinstance(index, int) and _is_objects(items) and abs(number - index) > _NEAR
            if key == "system" or not far:
                yield (key, number)
                if isinstance(item, dict):
                    yield from ((key, number, *more) for more in _parts(item, False, 1))
                    yield from ((key, number, *more) for more in _unmarked(item, None))


_NEAR = 2
"""Messages of a body are so far at most from where they are in the value."""


def _cut(value: Any, path: Steps) -> Any:
    """A value without the part at a path in it; None if that part is private or absent."""
    if not path or (key := path[0]) in ("raw", "provider_raw"):
        return None
    if isinstance(value, tuple) and isinstance(key, int) and key < len(value):
        inner = () if len(path) == 1 else (_cut(value[key], path[1:]),)
        return None if None in inner else (*value[:key], *inner, *value[key + 1 :])
    if not isinstance(value, Value) or isinstance(key, int) or getattr(value, key, None) is None:
        return None
    default = _defaults(type(value)).get(key, REQUIRED)
    new = default if len(path) == 1 else _cut(getattr(value, key), path[1:])
    return (
        None if new is REQUIRED or (new is None and len(path) > 1) else replace(value, **{key: new})
    )


def _is_objects(item: Any) -> bool:
    return isinstance(item, list) and bool(item) and isinstance(item[0], dict)


# -- canonical values -----------------------------------------------------------------------------


def _child(value: Any, key: str | int) -> Any:
    if isinstance(key, int):
        return value[key] if isinstance(value, (tuple, list)) and key < len(value) else _NONE
    if isinstance(value, dict):
        return value.get(key, _NONE)
    return getattr(value, key, _NONE)


def _walk(value: Any, path: Steps) -> Any:
    for each in path:
        value = _child(value, each)
    return value


def _is_gone(value: Any) -> bool:
    return value is _NONE or value is None or value is False or value == ()


def _values(value: Any) -> Iterator[Any]:
    """Messages, blocks and tools, at any depth."""
    if isinstance(value, (tuple, list)):
        for each in value:
            yield from _values(each)
    elif isinstance(value, Value):
        yield value
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if isinstance(item, (tuple, Value)):
                yield from _values(item)


def _shape(value: Any) -> Any:
    """The number of blocks and tools, by type."""
    kinds = [getattr(each, "kind", type(each)) for each in _values(value) if _counts(each)]
    return kinds if value is not None else None


def _counts(value: Any) -> bool:
    return isinstance(value, (Message, ToolDefinition)) or type(value) in TYPE_OF


def _count(value: Any) -> int:
    """The number of messages, blocks and tools."""
    return sum(map(_counts, _values(value)))


def _flat(value: Any, path: str = "") -> set[tuple[str, str]]:
    """The leaves of a value with their paths."""
    if isinstance(value, Value):
        return {
            leaf
            for name in value.__struct_fields__
            for leaf in _flat(getattr(value, name), f"{path}.{name}")
        }
    if isinstance(value, (tuple, list)):
        return {leaf for n, item in enumerate(value) for leaf in _flat(item, f"{path}[{n}]")}
    if isinstance(value, dict):
        return {leaf for key, item in value.items() for leaf in _flat(item, f"{path}.{key}")}
    return {(path, repr(value))}
