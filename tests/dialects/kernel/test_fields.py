"""The laws of a table of fields: what was read is written again, edits win, and whatever has the
wrong type is named with its place."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.dialects.kernel.errors import ShapeError, at_path
from interlingua.dialects.kernel.fields import QUIET, Field, Table, inside, one_of, plain, together
from interlingua.dialects.kernel.preserved import Preserved, raw_of, restore
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import TwoWay, snake_case
from interlingua.model.base import difference
from interlingua.model.losses import Report
from tests.dialects.kernel.toy import NAME, Thing, read, things, wires, write

ATTRS = [name for name in Thing.__struct_fields__ if name not in ("raw", "seed", "names")]


@given(wires)
def test_what_was_read_is_written_again_and_nothing_is_lost(wire: Any) -> None:
    written, report = write(read(wire))
    assert difference(wire, written) is None
    assert list(report.entries) == []


@given(wires)
def test_it_is_written_again_after_it_was_stored(wire: Any) -> None:
    stored = msgspec.json.decode(msgspec.json.encode(read(wire)), type=Thing)
    assert difference(wire, write(stored)[0]) is None


@given(wires)
def test_neither_reading_nor_writing_changes_its_argument(wire: Any) -> None:
    before = copy.deepcopy(wire)
    thing = read(wire)
    dumped = msgspec.json.encode(thing)
    first, again = write(thing)[0], write(thing)[0]
    assert difference(before, wire) is None
    assert msgspec.json.encode(thing) == dumped
    assert json.dumps(first) == json.dumps(again)


@given(things)
def test_what_nobody_read_is_read_again_as_it_was(thing: Thing) -> None:
    wire, report = write(thing)
    again = read(wire)
    assert list(report.entries) == []
    for name in ATTRS:
        was = getattr(thing, name)
        if name == "limit" and was is None:
            was = 7  # what the wire demands
        if name == "streams":
            was = bool(was)
        assert getattr(again, name) == was


@given(wires, things, st.sampled_from(ATTRS))
def test_an_edit_wins_and_changes_nothing_else(wire: Any, other: Thing, name: str) -> None:
    thing = read(wire)
    edited = msgspec.structs.replace(thing, **{name: getattr(other, name)})
    if name == "choice":
        edited = msgspec.structs.replace(edited, names=())
    again = read(write(edited)[0])
    for attr in ATTRS:
        wanted = getattr(edited, attr)
        if wanted is None and attr in ("limit", "streams"):
            continue  # the wire demands something there
        if wanted is None and attr == name:
            continue  # what no field could hold stands there again
        assert getattr(again, attr) == wanted, attr


def test_an_attribute_without_a_key_is_reported() -> None:
    _, report = write(Thing(seed=5))
    assert [(loss.kind, loss.path, loss.reason) for loss in report.entries] == [
        ("dropped", "$.seed", "no dice here")
    ]


def test_a_value_that_does_not_fit_is_said_and_reported() -> None:
    wire, report = write(Thing(limit=-3))
    assert wire["limit"] == -3
    assert [(loss.kind, loss.path) for loss in report.entries] == [("approximated", "$.limit")]


@pytest.mark.parametrize(
    ("wire", "path"),
    [
        ({"limit": "5"}, ".limit"),
        ({"limit": 1.5}, ".limit"),
        ({"limit": True}, ".limit"),
        ({"note": 5}, ".note"),
        ({"cfg": []}, ".cfg"),
        ({"cfg": {"heat": "hot"}}, ".cfg.heat"),
        ({"cfg": {"stop": ["a", 5]}}, ".cfg.stop[1]"),
        ({"tier": 5}, ".tier"),
        ({"toolChoice": 5}, ".toolChoice"),
        ({"tool_choice": {"type": 5}}, ".toolChoice.type"),
        ({"toolChoice": {"type": "tool"}}, ".toolChoice.name"),
        ({"probs": 5}, ".probs"),
        ({"probs": True, "top": "5"}, ".top"),
        ({"stream": "yes"}, ".stream"),
    ],
)
def test_a_wrong_type_is_named_with_its_place(wire: Any, path: str) -> None:
    with pytest.raises(ShapeError) as caught:
        read(wire)
    assert caught.value.path == path


@pytest.mark.parametrize(
    ("wire", "form"),
    [
        ({"note": ""}, {"spelled": {"note": ""}}),
        ({"note": None}, {"spelled": {"note": None}}),
        ({"cfg": {"stop": "a"}}, {"inside": {"cfg": {"as": {"stop": "a"}}}}),
        ({"tier": "default"}, {"as": {"tier": "default"}}),
        ({"toolChoice": {"type": "auto"}}, {"as": {"toolChoice": {"type": "auto"}}}),
        ({"probs": False}, {"spelled": {"probs": False}}),
        ({"tool_choice": "auto"}, {"named": {"toolChoice": "tool_choice"}}),
        ({"type": "other"}, {"spelled": {"type": "other"}}),
    ],
)
def test_spelling_is_kept_where_the_writer_would_choose_another(wire: Any, form: Any) -> None:
    whole = {"type": "thing", "limit": 1, "stream": True, "time": "now", **wire}
    thing = read(whole)
    assert thing.raw == {NAME: {"time": "now", "$form": form}}


def test_content_that_completes_a_field_goes_with_it() -> None:
    wire = {"toolChoice": {"type": "tool", "name": "f", "extra": 1}}
    thing = read(wire)
    assert thing.raw is not None
    assert thing.raw[NAME]["toolChoice"] == {"extra": 1}
    gone = msgspec.structs.replace(thing, choice=None, names=())
    assert "toolChoice" not in write(gone)[0]
    other = msgspec.structs.replace(thing, names=("g",))
    assert write(other)[0]["toolChoice"] == {"type": "tool", "name": "g", "extra": 1}


def test_an_object_that_no_field_can_hold_is_no_part_of_one() -> None:
    thing = read({"toolChoice": {"type": "strange", "name": "f"}})
    assert thing.choice is None
    edited = msgspec.structs.replace(thing, choice="any", names=("g",))
    assert write(edited)[0]["toolChoice"] == {"type": "tool", "name": "g"}


def test_what_is_kept_in_an_object_inside_is_added_to_its_fields() -> None:
    thing = read({"cfg": {"heat": 1, "other": {"a": 1}, "stop": None}})
    edited = msgspec.structs.replace(thing, heat=2.0)
    assert write(edited)[0]["cfg"] == {"heat": 2.0, "other": {"a": 1}, "stop": None}


@pytest.mark.parametrize(
    ("wire", "edit", "said"),
    [
        ({"tier": "default"}, {"tier": "priority"}, {"tier": "fast"}),
        ({"cfg": {"stop": "a"}}, {"stops": ("b",)}, {"cfg": {"stop": ["b"]}}),
        ({"toolChoice": {"type": "auto"}}, {"choice": "none"}, {"toolChoice": "none"}),
        ({"probs": True, "top": 20}, {"probs": 3}, {"probs": True, "top": 3}),
        ({"tool_choice": "auto"}, {"choice": "none"}, {"tool_choice": "none"}),
        ({"type": "thing", "limit": -1}, {"limit": 4}, {"limit": 4}),
        ({"limit": 1}, {"streams": False}, {"stream": False}),
        ({"limit": 1, "stream": None}, {"streams": False}, {"stream": False}),
    ],
)
def test_a_spelling_is_not_used_for_another_value(wire: Any, edit: Any, said: Any) -> None:
    written, _ = write(msgspec.structs.replace(read(wire), **edit))
    assert {key: written[key] for key in said} == said


def _read_pair(given: Any) -> Any:
    mode = {"mode": given["mode"]} if given.get("mode") in ("on", "off") else {}
    return {**mode, "note": given["note"]} if type(given.get("note")) is str else mode


def _write_pair(value: Any, _: Any) -> Any:
    fields = {"mode": value.mode or "on"}
    return {**fields, "note": value.note} if value.note and value.note != "odd" else fields


class Pair(msgspec.Struct):
    mode: str | None = None
    note: str | None = None


PAIR = Table(Pair, together(("mode", "note"), ("mode", "note"), _read_pair, _write_pair))


@pytest.mark.parametrize(
    ("wire", "content"),
    [
        ({"mode": "on"}, {}),
        ({"mode": "on", "note": "a"}, {}),
        ({"mode": "on", "note": "odd"}, {}),  # writing does not give it, and it says something
        ({"mode": "on", "note": ""}, {}),
        ({"mode": None, "note": "a"}, {}),
        ({"mode": "on", "note": 5}, {"note": 5}),
    ],
)
def test_keys_that_hang_together_come_home_each_in_its_way(wire: Any, content: Any) -> None:
    preserved = Preserved()
    value = Pair(**PAIR.read(wire, preserved))
    out: dict[str, Any] = {}
    own = raw_of(NAME, preserved.raw(NAME))
    PAIR.write(value, out, own, LossRecorder(NAME, None, Report(NAME)))
    assert preserved.rest == content
    assert restore(out, own) == wire


def test_a_key_that_only_writing_gives_is_left_out_until_it_says_something() -> None:
    preserved = Preserved()
    table = Table(
        Pair,
        together(
            ("mode", "note"),
            ("mode", "note"),
            lambda given: {"mode": given.get("mode", "on"), "note": given["note"]},
            _write_pair,
        ),
    )
    value = Pair(**table.read({"note": "a"}, preserved))
    own = raw_of(NAME, preserved.raw(NAME))
    quiet = LossRecorder(NAME, None, Report(NAME))
    for mode, wanted in (("on", {"note": "a"}), ("off", {"mode": "off", "note": "a"})):
        out: dict[str, Any] = {}
        table.write(Pair(mode, value.note), out, own, quiet)
        assert out == wanted


class Small(msgspec.Struct):
    count: int | None = None
    raw: Any = None


LENIENT = Table(Small, plain("count", "count", int, lenient=True), blank=True)


@pytest.mark.parametrize(
    ("wire", "count", "mine"),
    [
        ({"count": 3}, 3, None),
        ({"count": "3"}, None, {"count": "3"}),
        ({"more": [], "most": {}}, None, {"$form": {"spelled": {"more": [], "most": {}}}}),
        ({"more": 0}, None, {"more": 0}),
    ],
)
def test_a_lenient_field_and_a_blank_table_refuse_nothing(wire: Any, count: Any, mine: Any) -> None:
    preserved = Preserved()
    small = Small(**LENIENT.read(wire, preserved), raw=preserved.raw(NAME))
    assert (small.count, raw_of(NAME, small.raw) or None) == (count, mine)
    out: dict[str, Any] = {}
    LENIENT.write(small, out, raw_of(NAME, small.raw), LossRecorder(NAME, None, Report(NAME)))
    assert restore(out, raw_of(NAME, small.raw)) == wire


# -- objects inside with two names for a key, and words that say more -----------------------------


class _Run(msgspec.Struct):
    id: str
    failed: bool = False
    output: str | None = None
    raw: Any = None


_OUTCOMES = TwoWay({"OK": False, "FAILED": True, "TIMED_OUT": True}, otherwise=False)
_RUN = Table(
    _Run,
    inside(
        "runResult",
        Field(
            "outCome",
            ("failed",),
            lambda given: {"failed": _OUTCOMES.read(given)},
            lambda run, _: _OUTCOMES.write(run.failed),
            fill=lambda _: "OK",
            more=lambda given: True,
        ),
        plain("outPut", "output", str),
        plain("id", "id", str),
    ),
    also_named=snake_case,
)


def _read_run(wire: Any) -> _Run:
    preserved = Preserved()
    return _Run(**_RUN.read(wire, preserved), raw=preserved.raw("toy"))


def _write_run(run: _Run) -> Any:
    out: dict[str, Any] = {}
    own = raw_of("toy", run.raw)
    _RUN.write(run, out, own, QUIET)
    return restore(out, own)


@pytest.mark.parametrize(
    "inner",
    [
        {"outCome": "OK"},
        {"outCome": "TIMED_OUT", "outPut": "x"},
        {"outCome": "WHO_KNOWS"},
        {"outPut": "x"},
        {"outCome": None, "x": 1},
        {"out_come": "FAILED", "out_put": None},
        {"out_put": "x", "outPut": "y"},
        {"out_come": "TIMED_OUT"},
    ],
)
@pytest.mark.parametrize("key", ["runResult", "run_result"])
def test_an_object_inside_goes_home_by_either_name(key: str, inner: Any) -> None:
    wire = {key: {"id": "r1", **inner}}
    assert _write_run(_read_run(wire)) == wire


def test_a_word_that_says_more_is_content_until_the_field_says_otherwise() -> None:
    for word, failed in (("TIMED_OUT", True), ("WHO_KNOWS", False)):
        run = _read_run({"runResult": {"outCome": word, "id": "r1"}})
        assert (run.failed, run.raw["toy"]["runResult"]) == (failed, {"outCome": word})
        run.failed = not failed
        fields = {"outCome": "OK" if failed else "FAILED"}
        assert _write_run(run) == {"runResult": {"id": "r1", **fields}}


def test_an_empty_object_inside_goes_home_though_its_keys_are_filled() -> None:
    table = Table(Small, inside("of", plain("count", "count", int, fill=lambda _: 0)))
    preserved = Preserved()
    small = Small(**table.read({"of": {}}, preserved), raw=preserved.raw(NAME))
    out: dict[str, Any] = {}
    table.write(small, out, raw_of(NAME, small.raw), LossRecorder(NAME, None, Report(NAME)))
    assert restore(out, raw_of(NAME, small.raw)) == {"of": {}}


def test_what_hangs_together_is_kept_in_the_order_of_its_keys() -> None:
    keys = tuple("abcdefgh")
    group = together(
        keys, ("count",), lambda given: {"count": 1}, lambda value, _: dict.fromkeys(keys[4:], 1)
    )
    preserved = Preserved()
    Table(Small, group).read(dict.fromkeys(keys[:4]), preserved)
    assert list(preserved.spelling["spelled"]) == list("abcd")
    assert preserved.spelling["absent"] == list("efgh")


class Named(msgspec.Struct):
    name: str
    count: int = 0
    raw: Any = None


NAMED = Table(Named, plain("name", "name", str), beside=("count",), silent=("count",))


def test_a_value_is_read_and_written_with_what_others_know_of_it() -> None:
    named = NAMED.read_value(Named, {"name": "a", "odd": 1, "count": 9}, NAME, count=3)
    assert named == Named("a", 3, {NAME: {"odd": 1}})
    recorder = LossRecorder(NAME, None, Report(NAME))
    assert NAMED.write_value(named, recorder, {"kind": "k"}) == {"kind": "k", "name": "a", "odd": 1}


@pytest.mark.parametrize("wire", [{}, {"name": None}, {"name": 3}])
def test_what_a_value_cannot_be_without_is_missed_with_its_place(wire: Any) -> None:
    with pytest.raises(ShapeError) as raised:
        at_path(".things[2]", NAMED.read_value, Named, wire, NAME)
    assert (raised.value.path, raised.value.expected) == (".things[2].name", "a string")


def test_other_names_are_kept_in_the_order_of_the_wire() -> None:
    table = Table(None, beside=("aA", "bB", "cC", "dD"), also_named=snake_case)
    wire = {"d_d": 1, "x": 2, "b_b": 3, "aA": 4, "a_a": 5}
    preserved = Preserved()
    assert list(table.usual(wire, preserved).items()) == [
        *(("dD", 1), ("x", 2), ("bB", 3), ("aA", 4), ("a_a", 5))
    ]
    assert list(preserved.spelling["named"].items()) == [("dD", "d_d"), ("bB", "b_b")]
    assert table.usual({"aA": 4, "a_a": 5}, preserved := Preserved()) == {"aA": 4, "a_a": 5}
    assert preserved.spelling == {}


class Tier(msgspec.Struct):
    tier: str | None = None


@pytest.mark.parametrize(("words", "said"), [(("a", "b"), {"tier": "a"}), ((), {})])
def test_a_word_of_others_is_written_only_if_it_is_known(words: Any, said: Any) -> None:
    table, report = Table(Tier, one_of("tier", "tier", words)), Report(NAME)
    out: dict[str, Any] = {}
    table.write(Tier("a"), out, {}, LossRecorder(NAME, None, report))
    assert (out, len(report.entries)) == (said, 0 if said else 1)
    for word in ("a", "odd"):
        preserved = Preserved()
        assert table.read({"tier": word}, preserved) == {"tier": word}
        home: dict[str, Any] = {}
        table.write(
            Tier(word), home, raw_of(NAME, preserved.raw(NAME)), LossRecorder(NAME, None, report)
        )
        assert home == {"tier": word}
    assert len(report.entries) == (0 if said else 1)


# -- objects inside objects inside, and what goes through functions first -------------------------


class Deep(msgspec.Struct):
    count: int | None = None
    word: str | None = None
    raw: Any = None


def _from_sum(wire: Any, kept: Preserved) -> Any:
    if "sum" not in wire:
        return wire
    kept.spelling["summed"] = True
    return {key: item for key, item in wire.items() if key != "sum"} | {"count": wire["sum"] - 1}


def _to_sum(out: Any, mine: Any) -> None:
    if "summed" in mine.get("$form", {}) and "count" in out:
        out["sum"] = out.pop("count") + 1


DEEP = Table(
    Deep,
    inside(
        "outerBox",
        plain("word", "word", str),
        inside("innerBox", plain("count", "count", int), through=(_from_sum, _to_sum)),
    ),
    also_named=snake_case,
)


@pytest.mark.parametrize(
    "wire",
    [
        {"outerBox": {"word": "a", "innerBox": {"count": 2}}},
        {"outer_box": {"inner_box": {"count": 2, "more": None}, "other": 1}},
        {"outerBox": {"innerBox": {"sum": 3, "more": [1]}}},
        {"outerBox": {"innerBox": {}}},
        {"outerBox": {"innerBox": None}, "more": {}},
        {"outerBox": {}},
    ],
)
def test_an_object_inside_an_object_inside_goes_home(wire: Any) -> None:
    value = DEEP.read_value(Deep, wire, NAME)
    recorder = LossRecorder(NAME, None, Report(NAME))
    assert difference(wire, DEEP.write_value(value, recorder)) is None
    assert list(recorder.report.entries) == []


def test_an_edit_deep_inside_is_written_where_it_belongs() -> None:
    recorder = LossRecorder(NAME, None, Report(NAME))
    value = DEEP.read_value(Deep, {"outer_box": {"innerBox": {"sum": 3, "more": 1}}}, NAME)
    edited = msgspec.structs.replace(value, count=6, word="b")
    collected = {"outer_box": {"innerBox": {"sum": 7, "more": 1}, "word": "b"}}
    assert DEEP.write_value(edited, recorder) == collected
    assert DEEP.write_value(Deep(count=1), recorder) == {"outerBox": {"innerBox": {"count": 1}}}
    with pytest.raises(ShapeError) as error:
        DEEP.read_value(Deep, {"outerBox": {"innerBox": {"count": "x"}}}, NAME)
    assert error.value.path == ".outerBox.innerBox.count"
