"""The judge itself: it shares nothing with what it judges, and sees what is broken on purpose."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.model.losses import Loss
from tests.laws import facts, rules, thirty
from tests.laws.judge import translation

Wire = dict[str, Any]


def test_the_readings_import_nothing_of_the_package() -> None:
    for path in Path(facts.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] == "interlingua"], path


@pytest.mark.parametrize("case", thirty.CASES, ids=lambda case: case.name)
def test_what_looks_right_is_right(case: thirty.Case) -> None:
    assert thirty.seen(case) == []


# -- what is broken on purpose --------------------------------------------------------------------

TOOL = {
    "name": "timetable",
    "description": "When boats go.",
    "input_schema": {"type": "object", "properties": {"pier": {"type": "integer", "minimum": 1}}},
}
ASKED: Wire = {
    "model": "m-7",
    "max_tokens": 900,
    "system": "Be brief.",
    "thinking": {"type": "enabled", "budget_tokens": 2048},
    "stop_sequences": ["END"],
    "tools": [TOOL],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Is the ferry running?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Pier 3.", "signature": "c2ln"},
                {"type": "text", "text": "I shall look."},
                {"type": "tool_use", "id": "toolu_7", "name": "timetable", "input": {"pier": 3}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_7",
                    "content": "No boats today.",
                    "is_error": True,
                },
                {"type": "text", "text": "And tomorrow?"},
            ],
        },
    ],
}


def judged(change: Callable[[Wire], None], losses: list[Loss] | None = None) -> list[str]:
    """What the judge says of a right translation to Chat after this change of its wire."""
    value = il.dialect("anthropic").read_request(ASKED)
    written = il.convert(ASKED, "anthropic", "openai-chat")
    wire = _copy(written.wire)
    change(wire)
    [content] = facts.of("anthropic", "request", ASKED)
    [result] = facts.of("openai-chat", "request", wire)
    entries = list(written.report.entries) if losses is None else losses
    return translation.judged(content, result, value, entries, "openai-chat")


def _copy(wire: Any) -> Any:
    if isinstance(wire, dict):
        return {key: _copy(item) for key, item in wire.items()}
    return [_copy(item) for item in wire] if isinstance(wire, list) else wire


def report() -> list[Loss]:
    return list(il.convert(ASKED, "anthropic", "openai-chat").report)


def test_a_right_translation_is_found_right() -> None:
    assert judged(lambda wire: None) == []


def _message(wire: Wire, number: int) -> Wire:
    message: Wire = wire["messages"][number]
    return message


CHANGES: dict[str, Callable[[Wire], Any]] = {
    "a text is gone": lambda w: w["messages"].pop(),
    "a text is said twice": lambda w: w["messages"].append(w["messages"][-1]),
    "a text is another": lambda w: _message(w, 1).update(content="Is the ferry late?"),
    "a role is another": lambda w: _message(w, 1).update(role="assistant"),
    "two turns change places": lambda w: w["messages"].insert(1, w["messages"].pop()),
    "a call is gone": lambda w: _message(w, 2).pop("tool_calls"),
    "a call has other arguments": lambda w: _message(w, 2)["tool_calls"][0]["function"].update(
        arguments="{}"
    ),
    "a call has another name": lambda w: _message(w, 2)["tool_calls"][0]["function"].update(
        name="x"
    ),
    "a result answers another call": lambda w: _message(w, 3).update(tool_call_id="x"),
    "a result is another": lambda w: _message(w, 3).update(content="Boats at noon."),
    "a limit is gone": lambda w: w.pop("max_completion_tokens"),
    "a limit is another": lambda w: w.update(max_completion_tokens=901),
    "an option was added": lambda w: w.update(temperature=0.5),
    "stop words are gone": lambda w: w.pop("stop"),
    "a tool is gone": lambda w: w.pop("tools"),
    "a tool was added": lambda w: w["tools"].append(w["tools"][0]),
    "a description is gone": lambda w: w["tools"][0]["function"].pop("description"),
    "a keyword of a schema is gone": lambda w: w["tools"][0]["function"]["parameters"][
        "properties"
    ]["pier"].pop("minimum"),
    "foreign thinking is shown": lambda w: _message(w, 2).update(reasoning_content="Pier 3."),
    "a signature is handed on": lambda w: _message(w, 2).update(
        reasoning_content="Pier 3.", reasoning_signature="c2ln"
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_changed_is_seen(name: str) -> None:
    assert judged(CHANGES[name]) != []


@pytest.mark.parametrize("number", range(len(report())))
def test_an_entry_that_is_missing_is_missed(number: int) -> None:
    losses = report()
    del losses[number]
    assert judged(lambda wire: None, losses) != []


@pytest.mark.parametrize(
    "loss",
    [
        Loss("dropped", "$.options.max_output_tokens", "it is there"),
        Loss("dropped", "$.options.temperature", "nobody asked for it"),
        Loss("dropped", "$.messages[9]", "there is no such message"),
        Loss("dropped", "$.content", "it is no place"),
    ],
)
def test_an_entry_for_nothing_is_seen(loss: Loss) -> None:
    assert judged(lambda wire: None, [*report(), loss]) != []


def test_a_search_that_was_asked_for_beside_the_tools_may_become_one() -> None:
    wire: Wire = {
        "model": "gpt-5",
        "web_search_options": {"search_context_size": "low"},
        "messages": [{"role": "user", "content": "Is the ferry running?"}],
    }
    assert translation.abroad("openai-chat", "openrouter", "request", wire) == []
    del wire["web_search_options"]
    value = il.dialect("openai-chat").read_request(wire)
    [content] = facts.of("openai-chat", "request", wire)
    added = {**wire, "tools": [{"type": "openrouter:web_search"}]}
    [result] = facts.of("openrouter", "request", added)
    assert translation.judged(content, result, value, [], "openrouter") != []


def test_lost_content_is_no_mere_remark() -> None:
    value = il.dialect("anthropic").read_request(ASKED)
    [content] = facts.of("anthropic", "request", ASKED)
    wire = _copy(il.convert(ASKED, "anthropic", "openai-chat").wire)
    wire["messages"].pop()
    [result] = facts.of("openai-chat", "request", wire)
    gone = "$.messages[4].content[0]"
    for severity, kind, is_right in (
        ("info", "dropped", False),
        ("warning", "moved", False),
        ("warning", "dropped", True),
    ):
        entry = Loss(kind, gone, "gone", severity)  # type: ignore[arg-type]  # words of a table
        problems = translation.judged(content, result, value, [*report(), entry], "openai-chat")
        assert (problems == []) is is_right


@pytest.mark.parametrize(
    ("dialect", "wire"),
    [
        ("gemini", {"contents": [{"role": "model", "parts": [{"text": "Hi"}]}]}),
        ("gemini", {"contents": [{"role": "user", "parts": [{"text": ""}]}]}),
        ("gemini", {"contents": [], "tools": [{"functionDeclarations": [{"name": "7up"}]}]}),
        ("anthropic", {"max_tokens": 9, "messages": [{"role": "user", "content": " "}]}),
        ("anthropic", {"max_tokens": 9, "messages": [{"role": "assistant", "content": "Hi"}]}),
        ("anthropic", {"max_tokens": 900, "messages": [], "thinking": {"budget_tokens": 1024}}),
        ("openai-chat", {"messages": [], "parallel_tool_calls": True}),
        ("openai-chat", {"messages": [], "tools": []}),
    ],
)
def test_what_services_refuse_is_known(dialect: str, wire: Wire) -> None:
    assert rules.problems(dialect, wire) != []


# -- what a tool returned -------------------------------------------------------------------------

RETURNED: dict[str, Any] = {
    "data": {"id": "0", "data": {"output": "60", "unit": "years"}},
    "text": {"data": "sixty"},
    "a titled text": {"data": {"title": "Age", "text": "sixty"}},
}


@pytest.mark.parametrize("target", [each for each in il.dialects() if each != "cohere"])
@pytest.mark.parametrize("name", RETURNED)
def test_what_a_tool_of_cohere_returned_is_in_the_result(name: str, target: str) -> None:
    call = {"id": "age_1", "type": "function", "function": {"name": "age", "arguments": "{}"}}
    part = {"type": "document", "document": RETURNED[name]}
    messages = [
        {"role": "user", "content": "How old?"},
        {"role": "assistant", "tool_plan": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "age_1", "content": [part]},
    ]
    wire = {"model": "command-a-03-2025", "messages": messages}
    assert translation.abroad("cohere", target, "request", wire) == []
    assert translation.reading("cohere", "request", wire) == []
