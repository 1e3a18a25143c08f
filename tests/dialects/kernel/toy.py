"""A wire object with a field of every kind, and a value that it says."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st

from interlingua.dialects.kernel.errors import require
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    Table,
    constant,
    content,
    inside,
    lost,
    plain,
    spelling,
    strings,
    together,
    word,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import TwoWay
from interlingua.model.losses import Report

NAME = "toy"
Wire = dict[str, Any]


class Thing(msgspec.Struct, frozen=True):
    limit: int | None = None
    note: str | None = None
    heat: float | None = None
    stops: tuple[str, ...] | None = None
    tier: str | None = None
    choice: str | None = None
    names: tuple[str, ...] = ()
    probs: int | None = None
    streams: bool | None = None
    seed: int | None = None
    raw: dict[str, Any] | None = None


def _read_choice(given: Any) -> Reading:
    if type(given) is str:
        return {"choice": given} if given in ("auto", "none") else NOT_OURS
    kind = require(require(given, dict).get("type"), str, ".type")
    if kind not in ("auto", "none", "tool"):
        return NOT_OURS
    if kind != "tool":
        return {"choice": kind}
    return {"choice": "any", "names": (require(given.get("name"), str, ".name"),)}


def _write_choice(thing: Any, _: LossRecorder) -> Any:
    if thing.names:
        return {"type": "tool", "name": thing.names[0]}
    return thing.choice if thing.choice != "any" else {"type": "auto"}


def _read_probs(given: Wire) -> Reading:
    wanted = require(given.get("probs", False), bool, ".probs")
    most = require(given.get("top", 0), int, ".top")
    return {"probs": most} if wanted else {}


def _write_probs(thing: Any, _: LossRecorder) -> Wire:
    return {"probs": True, "top": min(thing.probs, 9)} if thing.probs else {"probs": True}


TABLE = Table(
    Thing,
    constant("type", "thing"),
    plain("limit", "limit", int, fits=lambda limit: limit >= 0, fill=lambda _: 7),
    plain("note", "note", str, blank=True),
    inside("cfg", plain("heat", "heat", float), strings("stop", "stops", alone=True)),
    word("tier", "tier", TwoWay({"std": "standard", "default": "standard", "fast": "priority"})),
    Field("toolChoice", ("choice", "names"), _read_choice, _write_choice),
    together(("probs", "top"), ("probs",), _read_probs, _write_probs),
    plain("stream", "streams", bool, missing=True, fill=lambda _: False),
    spelling("index"),
    content("time", lambda _: "then"),
    lost("seed", "no dice here"),
    beside=("parts",),
    also_named=lambda key: "tool_choice" if key == "toolChoice" else f"other_{key}",
)


def read(wire: Wire) -> Thing:
    return TABLE.read_value(Thing, wire, NAME)


def write(thing: Thing) -> tuple[Wire, Report]:
    report = Report(NAME)
    return TABLE.write_value(thing, LossRecorder(NAME, None, report)), report


# -- wires of every kind --------------------------------------------------------------------------

_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "thing"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abx"), inner, max_size=2)
    ),
    max_leaves=4,
)
_choices = st.sampled_from(
    [
        "auto",
        "none",
        "odd",
        {"type": "auto"},
        {"type": "none", "extra": None},
        {"type": "tool", "name": "f"},
        {"type": "tool", "name": "f", "extra": {"a": 1}},
        {"type": "strange", "name": "f"},
    ]
)
_known: dict[str, Any] = {
    "type": st.sampled_from(["thing", "other"]),
    "limit": st.integers(-2, 50) | st.just(4.0),
    "note": st.sampled_from(["", "x"]),
    "cfg": st.fixed_dictionaries(
        {},
        optional={
            "heat": st.none() | st.integers(0, 2) | st.floats(0, 2),
            "stop": st.sampled_from(["a", ["a"], ["a", "b"], [], None]),
            "other": _json,
        },
    ),
    "tier": st.sampled_from(["std", "default", "fast", "unheard of"]),
    "toolChoice": _choices,
    "tool_choice": _choices,
    "probs": st.booleans(),
    "top": st.integers(0, 20),
    "stream": st.booleans(),
    "index": _json,
    "time": _json,
    "$form": _json,
}
_free = st.dictionaries(st.sampled_from(["x", "y", "seed"]), _json, max_size=2)


def _merged(known: Wire, nulls: set[str], free: Wire) -> Wire:
    wire = {**free, **known, **dict.fromkeys(nulls)}
    if "toolChoice" in wire:
        wire.pop("tool_choice", None)  # an object has one name for a key
    return wire


wires: st.SearchStrategy[Wire] = st.builds(
    _merged,
    st.fixed_dictionaries({}, optional=_known),
    st.sets(st.sampled_from([*_known, "x"]), max_size=2),
    _free,
)
things: st.SearchStrategy[Thing] = st.builds(
    Thing,
    limit=st.none() | st.integers(0, 9),
    note=st.none() | st.just("n"),
    heat=st.none() | st.floats(0, 1),
    stops=st.none() | st.just(("s",)),
    tier=st.sampled_from([None, "standard", "priority"]),
    choice=st.sampled_from([None, "auto", "none"]),
    probs=st.none() | st.integers(0, 9),
    streams=st.none() | st.booleans(),
)
