"""The laws of the dialects as functions: each gives a list of problems, empty when the law holds.

They are run over generated values and over recorded traffic alike.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from interlingua.adapt.facts import facts_of
from interlingua.adapt.history.retell import retell
from interlingua.dialects.record import Dialect, Written
from interlingua.model import codec
from interlingua.model.base import Value, _defaults, same
from interlingua.model.base import difference as first_difference
from interlingua.model.blocks import TYPE_OF, TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Loss
from interlingua.model.message import Message, Role
from interlingua.model.metadata import BREAKDOWNS, MessageStatus, StopReason

Exchange = Request | Response
_spelled = msgspec.json.Encoder(order="sorted").encode


def read(
    dialect: Dialect, kind: str, wire: Any, model: str | None = None, stream: bool | None = None
) -> Exchange:
    if kind == "request":
        return dialect.read_request(wire, model, stream)
    return dialect.read_response(wire)


def write(dialect: Dialect, value: Exchange, scribe: Any = None) -> Written:
    if isinstance(value, Request):
        return dialect.write_request(value, scribe)
    return dialect.write_response(value, scribe)


def difference(a: Any, b: Any, path: str = "") -> str | None:
    """The first difference of two wires. That there is none is told by their spelling, at once."""
    return None if _spelled(a) == _spelled(b) else first_difference(a, b, path)


# -- L1: the way home loses nothing ---------------------------------------------------------------


def home(dialect: Dialect, kind: str, wire: Any, model: str | None = None) -> list[str]:
    value = read(dialect, kind, wire, model)
    written = write(dialect, value)
    problems = [f"written: {found}"] if (found := difference(wire, written.wire)) else []
    problems += [f"loss without conversion: {loss}" for loss in written.report.entries]
    stored = codec.loads(codec.dumps(value), type(value), strict=True)
    found = difference(wire, write(dialect, stored).wire)
    return problems + ([f"through storage: {found}"] if found else [])


# -- L9: reading and writing are pure -------------------------------------------------------------


def pure(dialect: Dialect, kind: str, wire: Any, model: str | None = None) -> list[str]:
    before = copy.deepcopy(wire)
    value = read(dialect, kind, wire, model)
    dumped = codec.dumps(value)
    first, second = write(dialect, value), write(dialect, value)
    problems = []
    if difference(before, wire):
        problems.append(f"reading changed its argument: {difference(before, wire)}")
    if codec.dumps(value) != dumped:
        problems.append("writing changed its argument")
    if codec.dumps(read(dialect, kind, wire, model)) != dumped:
        problems.append("reading twice differs")
    if first.json() != second.json() or first.report != second.report:
        problems.append("writing twice differs")
    return problems


# -- L3: abroad, what is missing is what the report lists -----------------------------------------

Fact = tuple[Any, ...]


def abroad(value: Exchange, target: Dialect, source: str | None = None) -> list[str]:
    """Facts of the value that are neither in what comes back nor in the report, and losses of facts
    that are still there."""
    result = retell(value, target, source=source)
    written = write(target, result.value, result.recorder)
    kind = "request" if isinstance(value, Request) else "response"
    back = read(target, kind, written.wire, written.model, written.stream)
    return compare(value, back, list(written.report.entries))


def compare(value: Exchange, back: Exchange, losses: list[Loss]) -> list[str]:
    there = Counter(fact for _, fact in facts(back))
    texts = [fact[-1] for _, fact in facts(back) if isinstance(fact[-1], str)]
    listed = {loss.path for loss in losses}
    problems = []
    kept_facts: dict[str, bool] = {}
    items = [(is_told(path, listed), path, fact) for path, fact in facts(value)]
    for is_listed, path, fact in sorted(
        items, key=lambda each: each[0]
    ):  # those first that must be
        found = next((each for each in spoken(fact, path, listed) if there[each] > 0), None)
        if found is not None:
            there[found] -= 1
            kept_facts[path] = True
        elif is_listed:
            kept_facts[path] = False
        elif says_nothing(fact):
            continue
        elif fact[1:3] == ("text", "text") and any(fact[-1] in text for text in texts):
            kept_facts[path] = True
        else:
            problems.append(f"lost without a word: {path} = {str(fact)[:120]}")
    whole = Counter(fact for _, _, fact in items)
    arrived = Counter(fact for _, fact in facts(back))
    all_there = {path for _, path, fact in items if arrived[fact] >= whole[fact]}
    problems += [
        f"false alarm: {loss}"
        for loss in losses
        if loss.kind == "dropped" and kept_facts.get(loss.path) and loss.path in all_there
    ]
    return problems + [f"no code: {loss}" for loss in losses if not loss.code]


NOTHING = {
    ("options", "n"): {1},
    ("options", "parallel_tool_calls"): {"True"},
    ("options", "service_tier"): {"auto", "default", "standard", "standard_only", "unspecified"},
    ("options", "frequency_penalty"): {0},
    ("options", "presence_penalty"): {0},
    ("usage", "service_tier"): {"default"},
    ("image", "detail"): {"auto"},
    ("document", "cited"): {"False"},
    ("changes", "clear_at"): {"never"},
}
"""Facts that say what every service does anyway: they may be left out without a word."""


def says_nothing(fact: Fact) -> bool:
    if fact[:2] in (("options", "modalities"), ("options", "stop"), ("options", "metadata")):
        return fact[-1] in (freeze(("text",)), freeze(()), freeze({}))
    if fact[0] == "tool":
        direct = ("callers", freeze(("direct",)))
        return fact[2:] in (("strict", "False"), ("asynchronous", "False"), direct)
    return fact[-1] in NOTHING.get(fact[-3:-1], ())


def is_told(path: str, listed: set[str]) -> bool:
    """Whether the report speaks of this place; of a schema it may name a keyword inside."""
    if path.endswith("_schema") and any(is_under(place, path) for place in listed):
        return True
    return any(is_under(path, place) for place in listed)


def spoken(fact: Fact, path: str, listed: set[str]) -> list[Fact]:
    """The fact, also as said by another role where the report says that the role has changed."""
    message = path.partition(".content[")[0]
    if f"{message}.role" not in listed and message not in listed:
        return [fact]
    return [fact, *((role.value, *fact[1:]) for role in Role)]


def is_under(path: str, place: str) -> bool:
    return path == place or (path.startswith(place) and path[len(place)] in ".[")


_APART = frozenset({"raw", "id", "tool_use_id", "raw_arguments", "tool_name", "metadata"})
"""Fields that the normal form leaves out: ids, provenance, spelling."""


def facts(value: Exchange) -> Iterator[tuple[str, Fact]]:
    """Everything a value says, one fact at a time, each with its path."""
    if isinstance(value, Request):
        for index, message in enumerate(value.messages):
            yield from message_facts(message, f"$.messages[{index}]")
        for index, tool in enumerate(value.tools):
            yield from fields(tool, f"$.tools[{index}]", ("tool", tool.name))
        yield from fields(value.options, "$.options", ("options",))
        if value.continues is not None:
            yield from fields(value.continues, "$.continues", ("continues",))
        return
    yield from message_facts(value.message, "$.message")
    yield from ending(value.message, "$.message.metadata")
    for index, other in enumerate(value.alternatives):
        yield from message_facts(other, f"$.alternatives[{index}]")
    if value.error is not None:
        yield from fields(value.error, "$.error", ("error",))


def ending(message: Message, path: str) -> Iterator[tuple[str, Fact]]:
    metadata = message.metadata
    yield f"{path}.stop_reason", ("stop_reason", metadata.stop_reason)
    if metadata.usage is not None:
        usage = metadata.usage
        plain = usage.replace(**dict.fromkeys(BREAKDOWNS))
        yield from fields(plain, f"{path}.usage", ("usage",))
        for name in BREAKDOWNS:
            for kind, number in (getattr(usage, name) or {}).items():
                if number:
                    yield f"{path}.usage.{name}.{kind}", ("usage", name, kind, number)


def message_facts(message: Message, path: str) -> Iterator[tuple[str, Fact]]:
    if message.name is not None:
        yield f"{path}.name", ("name", message.name)
    if message.changes is not None:
        yield from fields(message.changes, f"{path}.changes", ("changes",))
    for index, block in enumerate(message.content):
        place = f"{path}.content[{index}]"
        if isinstance(block, UnknownBlock):
            yield place, ("unknown", str(block.raw))
            continue
        role = message.role.value
        yield from fields(block, place, (role, TYPE_OF[type(block)]))
        if isinstance(block, ToolUseBlock):
            yield place, (role, "tool_use", "call", block.name)
        if isinstance(block, ToolResultBlock):
            for number, part in enumerate(block.content):
                inner = f"{place}.content[{number}]"
                yield from fields(part, inner, ("result", TYPE_OF[type(part)]))


def fields(value: Value, path: str, head: Fact) -> Iterator[tuple[str, Fact]]:
    defaults = _defaults(type(value))
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if name in _APART or name == "content" or same(item, defaults[name]):
            continue
        if name == "cache":
            yield f"{path}.cache", (*head, "cache")
        if isinstance(item, Value) and name != "source":
            yield from fields(item, f"{path}.{name}", (*head, name))
        elif name == "citations":
            for index, citation in enumerate(item):
                yield from fields(citation, f"{path}.citations[{index}]", (*head, "citation"))
        else:
            yield f"{path}.{name}", (*head, name, freeze(item))


def freeze(item: Any) -> Any:
    if isinstance(item, str):
        return item
    if isinstance(item, bool | None):
        return repr(item)
    if isinstance(item, float) and item.is_integer():
        return int(item)
    if isinstance(item, Value):
        return item.digest()
    if isinstance(item, dict | list | tuple):
        return TextBlock("", raw=None).replace(citations=item).digest()
    return item


# -- L7: what is written for a history is repeated when it grows ----------------------------------

_LISTS = ("messages", "contents", "input")


def stable_prefix(dialect: Dialect, request: Request) -> list[str]:
    problems = []
    for cut in range(1, len(request.messages)):
        head = request.messages[:cut]
        is_paired = facts_of(request.replace(messages=head)).is_paired
        if not is_paired or (head[-1].role is Role.ASSISTANT and has_open(head[-1])):
            continue
        short = write(dialect, request.replace(messages=head)).wire
        whole = write(dialect, request.replace(messages=request.messages[: cut + 1])).wire
        found = prefix_difference(short, whole)
        if found:
            problems.append(f"after {cut} messages: {found}")
    return problems


def has_open(message: Message) -> bool:
    return any(type(b) is ToolUseBlock and b.executor == "client" for b in message.content)


def prefix_difference(short: Any, whole: Any) -> str | None:
    for name in _LISTS:
        if isinstance(short.get(name), list) and isinstance(whole.get(name), list):
            before, after = short[name], whole[name][: len(short[name])]
            if before[:-1] != after[:-1]:
                return difference(before[:-1], after[:-1], f"/{name}")
            return (before and last_turn_difference(before[-1], after[-1], f"/{name}/-")) or None
    return None


def last_turn_difference(before: Any, after: Any, path: str) -> str | None:
    """A joining message may only add blocks to the last turn."""
    for key, item in before.items():
        other = after.get(key)
        if isinstance(item, list) and isinstance(other, list):
            other = other[: len(item)]
        found = difference(item, other, f"{path}/{key}")
        if found:
            return found
    return None


# -- L13: what a model said goes back to it as it was ----------------------------------------------


def own(
    dialect: Dialect, value: Exchange, provider: str | None = None, source: str | None = None
) -> list[str]:
    """What retelling a history to the dialect and model that it came from changes, or reports. A
    turn that failed is no history."""
    if isinstance(value, Response) and value.message.metadata.status is not MessageStatus.COMPLETE:
        return []
    history = value if isinstance(value, Request) else history_of(value)
    result = retell(history, dialect, provider=provider, source=source)
    problems = [f"reported to its own model: {loss}" for loss in result.report.entries]
    before, after = codec.dumps(history), codec.dumps(result.value)
    if before != after:
        problems.append(f"changed: {difference(json.loads(before), json.loads(after))}")
    return problems


def history_of(response: Response) -> Request:
    """An answer as the last turn of a conversation, its calls answered."""
    message = response.message
    calls = [b for b in message.content if type(b) is ToolUseBlock and b.executor == "client"]
    results = [Message.tool_result(call.id, "done") for call in calls]
    turns = (Message.user("Go on."), message, *results)
    return Request(turns, message.metadata.response_model)


# -- L2: edits win --------------------------------------------------------------------------------

Edit = tuple[str, Callable[[Exchange], Exchange]]


def edited(dialect: Dialect, value: Exchange, path: str, changed: Exchange) -> list[str]:
    """After a change of one field the wire says it, and says all else as before; or the report has
    it."""
    written = write(dialect, changed)
    if any(
        is_under(path, loss.path) or is_under(loss.path, path) for loss in written.report.entries
    ):
        return []
    back = read_back(dialect, written, value)
    if back == changed or same_facts(back, changed):
        return []
    before = write(dialect, value)
    known = deviations(value, read_back(dialect, before, value), before)
    new = [each for each in deviations(changed, back, written) if each not in known]
    return [f"edit at {path}: {each}" for each in new[:3]]


def read_back(dialect: Dialect, written: Written, value: Exchange) -> Exchange:
    kind = "request" if isinstance(value, Request) else "response"
    return read(dialect, kind, written.wire, written.model, written.stream)


def deviations(value: Exchange, back: Exchange, written: Written) -> list[str]:
    """What comes back otherwise, both ways; what the wire fills in by itself among it."""
    losses = list(written.report.entries)
    return [*compare(value, back, losses), *compare(back, value, losses)]


def same_facts(a: Exchange, b: Exchange) -> bool:
    return Counter(f for _, f in facts(a)) == Counter(f for _, f in facts(b))


def edits(value: Exchange) -> Iterator[tuple[str, str, Exchange]]:
    """(field, path, changed value) for every leaf field that holds something."""
    yield from _edits(value, "$", lambda new: new)


def _edits(
    value: Any, path: str, rebuild: Callable[[Any], Exchange]
) -> Iterator[tuple[str, str, Exchange]]:
    for name in value.__struct_fields__:
        item = getattr(value, name)
        place = f"{path}.{name}"
        if name in ("raw", "provider_raw", "extra"):
            continue
        if name == "metadata" and isinstance(value, Message) and ".messages[" in path:
            continue  # history's provenance is not sent

        def put(new: Any, name: str = name) -> Exchange:
            return rebuild(value.replace(**{name: new}))

        if isinstance(item, Value):
            yield from _edits(item, place, put)
        elif isinstance(item, tuple) and item and isinstance(item[0], Value):
            for index, each in enumerate(item):

                def put_at(new: Any, item: Any = item, index: int = index, put: Any = put) -> Any:
                    return put((*item[:index], new, *item[index + 1 :]))

                yield from _edits(each, f"{place}[{index}]", put_at)
        elif (new := another(item, name, type(value))) is not None:
            yield f"{type(value).__name__}.{name}", place, put(new)


@cache
def words(cls: type, name: str) -> tuple[Any, ...]:
    """The words that a field may hold, where they are a closed set."""
    hint = get_type_hints(cls)[name]
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            return get_args(part)
        if isinstance(part, type) and issubclass(part, Enum):
            return tuple(part)
    return ()


def parts_of(cls: type, name: str) -> list[Any]:
    """The plain types that a field's type is made of."""
    found, todo = [], [get_type_hints(cls)[name]]
    while todo:
        hint = todo.pop()
        inner = [part for part in get_args(hint) if part is not ...]
        found.append(hint)
        todo += inner if get_origin(hint) is not Literal else []
    return found


_FIXED = frozenset({"role", "status", "schema_version", "executor", "kind", "id", "tool_use_id"})
"""Fields whose change makes another thing of the value, or breaks a pair."""


def another(item: Any, name: str, cls: type) -> Any:
    """Another value of the same kind, or None where a change would say something else entirely."""
    if name in _FIXED:
        return None
    if name == "reasoning_tokens":
        return item - 1 if item else None  # it stays a part of the output
    if item in (StopReason.ERROR, StopReason.CANCELLED):
        return None  # the status says the same, and both would have to change
    if closed := words(cls, name):
        return closed[(closed.index(item) + 1) % len(closed)] if item in closed else None
    if isinstance(item, bool):
        return not item
    if type(item) is int:
        return item + 1
    if type(item) is float:
        return item / 2 + 0.125
    if type(item) is str:
        return f"{item}x" if re.fullmatch(r"[A-Za-z0-9+/=_.:\- ]*", item) else f"x{item}"
    if isinstance(item, dict):
        return {**item, "edited": "1" if name == "metadata" else 1}
    if isinstance(item, tuple) and item and type(item[0]) is str:
        return item if name == "modalities" else (*item, "edited")
    if isinstance(item, Decimal):
        return item + 1
    return None
