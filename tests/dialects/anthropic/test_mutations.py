"""Damaged wires: an error of ours that names a place, or a value that goes home; never a crash."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from interlingua.dialects.anthropic import DIALECT
from interlingua.errors import ReadError
from tests.dialects.anthropic.wires import (
    CALL,
    PNG,
    SCHEMA,
    TOOL,
    answer,
    assistant,
    body,
    result,
    text,
    user,
)
from tests.effort import examples
from tests.laws import laws

EPHEMERAL = {"type": "ephemeral", "ttl": "5m"}
CITED = {"type": "char_location", "cited_text": "a", "document_index": 0, "start_char_index": 1}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
PAPER = {"type": "document", "source": {"type": "content", "content": [text("A")]}, "title": "T"}
FOUND = {"type": "search_result", "source": "s", "title": "t", "content": [text("A")]}
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "EqQB"}
RAN = {"type": "code_execution_result", "stdout": "4", "return_code": 0}
HOSTED = [
    {"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}},
    {"type": "code_execution_tool_result", "tool_use_id": "s1", "content": RAN},
]

REQUESTS = [
    body(
        user(text("Hi", cache_control=EPHEMERAL), IMAGE, PAPER, FOUND), system=[text("Be brief.")]
    ),
    body(
        user(text("Hi")),
        assistant(THOUGHT, text("So.", citations=[CITED]), *HOSTED, CALL),
        user(result([text("12"), IMAGE], is_error=False), text("And?")),
        {"role": "system", "content": "Be brief."},
        tools=[TOOL, {"type": "web_search_20250305", "name": "web_search"}],
    ),
    body(
        {"role": "user", "content": "Hi"},
        thinking={"type": "enabled", "budget_tokens": 2000, "display": "omitted"},
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
        tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        metadata={"user_id": "u"},
        cache_control=EPHEMERAL,
        stop_sequences=["a"],
        thread={"type": "continue", "previous_message_id": "msg_0"},
    ),
]
RESPONSES = [
    answer(
        THOUGHT, text("So.", citations=[CITED]), *HOSTED, {**CALL, "caller": {"type": "direct"}}
    ),
    answer(usage={"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {}}),
    {"type": "error", "error": {"type": "api_error", "message": "No."}, "request_id": None},
]
WRONG: list[Any] = [None, True, -1, 1.5, 10**30, "", "x", "text", "tool_result", [], [1], {}]
WRONG += [{"type": "text"}, [text("a")], {"$form": 1}, "assistant", "disabled", [None], {"a": None}]
KEYS = ["type", "text", "content", "citations", "cache_control", "signature", "is_error", "$form"]
KEYS += ["source", "caller", "model", "stream", "error", "usage", "extra"]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


@st.composite
def damaged(draw: st.DrawFn, wires: list[Any]) -> Any:
    """A wire with something in it wrong, missing, repeated, or too much."""
    wire = copy.deepcopy(draw(st.sampled_from(wires)))
    for _ in range(draw(st.integers(1, 2))):
        found = list(places(wire))
        if found:
            *way, last = draw(st.sampled_from(found))
            inside = wire
            for key in way:
                inside = inside[key]
            damage(draw, inside, last)
    return wire


def damage(draw: st.DrawFn, inside: Any, key: Any) -> None:
    wrong = copy.deepcopy(draw(st.sampled_from(WRONG)))
    match draw(st.sampled_from(("replace", "replace", "remove", "add"))):
        case "replace":
            inside[key] = wrong
        case "remove":
            del inside[key]
        case _ if isinstance(inside, list):
            inside.insert(key, wrong)
        case _:
            inside[draw(st.sampled_from(KEYS))] = wrong


def check(kind: str, wire: Any) -> None:
    try:
        laws.read(DIALECT, kind, wire)
    except ReadError as error:
        problems = [] if error.path.startswith("$") else [f"no place: {error}"]
    else:
        problems = laws.home(DIALECT, kind, wire)
    assert problems == []


@given(damaged(REQUESTS))
@settings(max_examples=examples(400))
def test_a_damaged_request_is_refused_with_a_place_or_goes_home(wire: Any) -> None:
    check("request", wire)


@given(damaged(RESPONSES))
@settings(max_examples=examples(400))
def test_a_damaged_response_is_refused_with_a_place_or_goes_home(wire: Any) -> None:
    check("response", wire)


def test_the_undamaged_wires_go_home() -> None:
    for wire in REQUESTS:
        assert laws.home(DIALECT, "request", wire) == []
    for wire in RESPONSES:
        assert laws.home(DIALECT, "response", wire) == []
