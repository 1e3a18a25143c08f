"""Keys that a provider adds tomorrow: an unknown key with a value of any type, in any object of a
body, is read, goes home unchanged, and is missed by no report."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.errors import InterlinguaError
from interlingua.streams.frames import Frame
from tests.cassettes import cassette
from tests.dialects.gemini_interactions import older
from tests.laws import laws, run, streams
from tests.laws.corpus import corpus_or_skip
from tests.laws.run import Case

KEY = "x_newer"
VALUES: tuple[Any, ...] = ("x", 7, 1.5, True, None, [], ["x"], [{"a": 1}], {}, {"a": 1})
Path = tuple[Any, ...]


def objects(wire: Any, path: Path = ()) -> Iterator[Path]:
    """The ways to all objects of a body."""
    if isinstance(wire, dict):
        yield path
    items = wire.items() if isinstance(wire, dict) else enumerate(wire)
    for key, item in items if isinstance(wire, (dict, list)) else ():
        if isinstance(item, (dict, list)):
            yield from objects(item, (*path, key))


def shape(path: Path) -> str:
    return ".".join("[]" if isinstance(step, int) else step for step in path)


def with_key(wire: Any, path: Path, value: Any) -> Any:
    wire = copy.deepcopy(wire)
    place = wire
    for step in path:
        place = place[step]
    place[KEY] = value
    return wire


def taped(dialect: str) -> Iterator[Case]:
    """The bodies of the cassettes of a dialect."""
    for tape in cassette.committed():
        for each in tape.exchanges if tape.dialect == dialect else ():
            yield Case(each.name, dialect, "request", json.loads(each.asked), each.route.model)
            if each.chunks is None:
                answer = json.loads(each.answered)
                yield Case(each.name, dialect, "response", answer, each.route.model)
    if dialect == "gemini-interactions":
        for name, wire in older.REQUESTS.items():
            yield Case(name, dialect, "request", wire, None)
        for name, wire in older.RESPONSES.items():
            yield Case(name, dialect, "response", wire, None)


def is_excepted(dialect: str, path: Path) -> bool:
    """Bytes that a recorder wrote as an object are no object of Bedrock's."""
    return dialect == "bedrock" and path[-1:] == ("bytes",)


def problems(case: Case, path: Path) -> Iterator[str]:
    dialect = dialect_of(case.dialect)
    for value in VALUES:
        wire = with_key(case.wire, path, value)
        place = f"{case.kind} {shape(path)} <- {value!r}"
        try:
            read = laws.read(dialect, case.kind, wire, case.model)
        except InterlinguaError as error:
            yield f"{place}: refused: {error}"
            continue
        written = laws.write(dialect, read)
        if found := laws.difference(wire, written.wire):
            yield f"{place}: at home {found}"
        elif list(written.report.entries):
            yield f"{place}: reported at home: {written.report.entries[0]}"


def is_readable(case: Case) -> bool:
    try:
        laws.read(dialect_of(case.dialect), case.kind, case.wire, case.model)
    except InterlinguaError:
        return False
    return True


def all_problems(cases: Iterator[Case]) -> list[str]:
    """Each kind of place is tried once."""
    tried: Counter[tuple[str, str]] = Counter()
    found: list[str] = []
    for case in cases:
        if case.kind == "stream" or not is_readable(case):
            continue
        for path in objects(case.wire):
            place = case.kind, shape(path)
            if not tried[place] and not is_excepted(case.dialect, path):
                found += problems(case, path)
            tried[place] += 1
    assert tried
    return found


@pytest.mark.parametrize("dialect", il.dialects())
def test_an_unknown_key_goes_home_wherever_it_stands(dialect: str) -> None:
    assert all_problems(taped(dialect)) == []


@pytest.mark.parametrize("dialect", il.dialects())
def test_an_unknown_key_goes_home_wherever_it_stands_in_recorded_bodies(dialect: str) -> None:
    corpus_or_skip()
    assert all_problems(run.cases(dialect)) == []


@pytest.mark.parametrize("dialect", il.dialects())
def test_an_unknown_key_of_a_frame_ends_no_stream(dialect: str) -> None:
    corpus_or_skip()
    home, tried, found = dialect_of(dialect), Counter[str](), list[str]()
    for case in run.cases(dialect):
        for number, frame in enumerate(case.wire) if case.kind == "stream" else ():
            data = streams.parsed(frame)
            for path in objects(data):
                place = f"{frame.event} {shape(path)}"
                tried[place] += 1
                for value in ("x", ["x"], None, {"a": 1}) if tried[place] == 1 else ():
                    frames = list(case.wire)
                    frames[number] = Frame(frame.event, json.dumps(with_key(data, path, value)))
                    found += [f"{place} <- {value!r}: {p}" for p in _home(home, frames)]
    assert found == []


def _home(dialect: Any, frames: list[Frame]) -> list[str]:
    try:
        return streams.home(dialect, frames)
    except InterlinguaError as error:
        return [f"refused: {error}"]


TOOLS: list[dict[str, Any]] = [
    {"functionDeclarations": [{"name": "f"}], "someNewField": "x"},
    {"googleSearch": {}, "someNewField": 7},
    {"someNewTool": True},
]


@pytest.mark.parametrize("entry", TOOLS)
def test_an_unknown_key_beside_gemini_tools_is_reported_abroad(entry: dict[str, Any]) -> None:
    wire = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "tools": [entry]}
    dialect = il.dialect("gemini")
    written = dialect.write_request(dialect.read_request(wire))
    assert written.wire == wire
    assert list(written.report.entries) == []
    report = il.convert(wire, "gemini", "openai-chat").report
    assert [loss for loss in report.entries if loss.path.startswith("$.tools[0]")]


@pytest.mark.parametrize(
    ("dialect", "key", "value"),
    [
        ("gemini", "labels", {"a": 7}),
        ("gemini-interactions", "labels", {"a": 7}),
        ("bedrock", "requestMetadata", {"a": 7}),
        ("openai-chat", "metadata", {"a": 7}),
        ("openai-chat", "logit_bias", {"7": "x"}),
        ("openai-chat", "response_format", {"type": "json_object", "x": 1}),
        ("openai-responses", "metadata", {"a": 7}),
    ],
)
def test_an_entry_of_another_type_in_a_map_goes_home(dialect: str, key: str, value: Any) -> None:
    cases = [case for case in taped(dialect) if case.kind == "request"]
    wire = {**cases[0].wire, key: value}
    written = dialect_of(dialect).write_request(dialect_of(dialect).read_request(wire, "m"))
    assert laws.difference(wire, written.wire) is None


def test_a_format_without_its_schema_loses_what_stood_beside_the_schema() -> None:
    schema = {"name": "n", "schema": {"type": "object"}, "x": 1}
    wire = {
        "model": "m",
        "messages": [],
        "response_format": {"type": "json_schema", "json_schema": schema, "y": 2},
    }
    dialect = il.dialect("openai-chat")
    request = dialect.read_request(wire)
    assert dialect.write_request(request).wire == wire
    options = request.options.replace(response_format=il.ResponseFormat("json"))
    changed = dialect.write_request(request.replace(options=options)).wire
    assert changed["response_format"] == {"type": "json_object", "y": 2}


# -- abroad ---------------------------------------------------------------------------------------


def value_at(value: Any, path: str) -> Any:
    """What stands at the path of a loss; keys of `raw` may have dots in them."""
    for name, index in re.findall(r"\.([^.\[\]]+)|\[(\d+)\]", path.removeprefix("$")):
        if isinstance(value, dict):
            rest, own = path.partition(f".{name}.")[2], value.get(name) or {}
            group, _, key = rest.partition(".")
            return own[rest] if rest in own else (own.get(group) or {}).get(key)
        value = value[int(index)] if index else getattr(value, name)
    return value


def is_reported(read: Any, report: il.Report) -> bool:
    """Whether an entry names the key, or a value that holds it."""
    for loss in report.entries:
        if KEY in loss.path:
            return True
        if loss.kind != "moved" and KEY in str(value_at(read, loss.path)):
            return True
    return False


def unreported(case: Case, path: Path, target: str) -> Iterator[str]:
    home = dialect_of(case.dialect)
    for value in ("x", ["x"], {"a": 1}):
        wire = with_key(case.wire, path, value)
        result = il.convert(wire, case.dialect, target, kind=case.kind, model="m")
        if KEY in json.dumps(result.wire):  # schemas, arguments and results arrive with all keys
            continue
        if not is_reported(laws.read(home, case.kind, wire, case.model), result.report):
            yield f"{case.kind} {shape(path)} <- {value!r}: {target} does not report it"


def all_unreported(cases: Iterator[Case], target: str) -> list[str]:
    tried: set[tuple[str, str]] = set()
    found: list[str] = []
    for case in cases:
        if case.kind == "stream" or not is_readable(case):
            continue
        for path in objects(case.wire):
            place = case.kind, shape(path)
            if place not in tried and not is_excepted(case.dialect, path):
                tried.add(place)
                found += unreported(case, path, target)
    assert tried
    return found


NAMES = [*il.dialects()]
ABROAD = list(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True))
"""Each dialect with the next one of the list."""


@pytest.mark.parametrize(("dialect", "target"), ABROAD)
def test_an_unknown_key_is_reported_abroad(dialect: str, target: str) -> None:
    assert all_unreported(taped(dialect), target) == []


@pytest.mark.parametrize(("dialect", "target"), ABROAD)
def test_an_unknown_key_of_recorded_bodies_is_reported_abroad(dialect: str, target: str) -> None:
    corpus_or_skip()
    assert all_unreported(run.cases(dialect), target) == []


MARKED = {"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "x": 1}}
CALLED = {
    "type": "function",
    "id": "c1",
    "function": {"name": "f", "arguments": "{}"},
    "cache_control": {"type": "ephemeral", "ttl": "1h", "x": 1},
}
USER = {"role": "user", "content": "Hi"}
BODIES: list[tuple[str, dict[str, Any], str]] = [
    ("openai-chat", {"messages": [{"role": "user", "content": [MARKED]}]}, "cache_control"),
    (
        "openrouter",
        {"messages": [USER | {"cache_control": {"type": "ephemeral", "x": 1}}]},
        "cache_control",
    ),
    ("openai-chat", {"messages": [USER, {"role": "assistant", "tool_calls": [CALLED]}]}, "cache"),
    (
        "openai-responses",
        {
            "input": "Hi",
            "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "f", "x": 1}],
            },
        },
        "tool_choice",
    ),
    (
        "openai-responses",
        {
            "input": "Hi",
            "tools": [{"type": "mcp", "server_label": "s", "server_url": "https://x.example"}],
            "tool_choice": {"type": "mcp", "server_label": "s", "name": "one of its tools"},
        },
        "tool_choice",
    ),
]


@pytest.mark.parametrize(("dialect", "body", "key"), BODIES)
def test_an_unknown_key_of_a_mark_or_a_choice_is_reported_abroad(
    dialect: str, body: dict[str, Any], key: str
) -> None:
    wire = {"model": "m", **body}
    home = dialect_of(dialect)
    written = home.write_request(home.read_request(wire))
    assert written.wire == wire
    assert list(written.report.entries) == []
    report = il.convert(wire, dialect, "anthropic").report
    assert [loss for loss in report.entries if f".raw.{dialect}.{key}" in loss.path]
