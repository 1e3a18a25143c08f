"""Tools that take free text, and the grammar that it has to follow."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.model.tools import Grammar, ToolDefinition
from tests.laws import laws

RULES = {"syntax": "lark", "definition": "start: WORD"}

FORMATS: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "grammar", "grammar": RULES},
    "openai-responses": {"type": "grammar", **RULES},
}

TOOL = ToolDefinition("sql", "Runs it.", kind="custom", grammar=Grammar("lark", "start: WORD"))


def body(name: str, **format: Any) -> dict[str, Any]:
    """A request with one such tool."""
    tool = {"name": "sql", "description": "Runs it.", **format}
    if name == "openai-responses":
        return {"model": "m", "input": "hi", "tools": [{"type": "custom", **tool}]}
    tools = [{"type": "custom", "custom": tool}]
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": tools}


def tool_of(wire: Any) -> Any:
    (tool,) = wire["tools"]
    return tool.get("custom", tool)


@pytest.mark.parametrize("name", FORMATS)
def test_a_grammar_is_read_and_goes_home(name: str) -> None:
    wire = body(name, format=FORMATS[name])
    assert laws.home(il.dialect(name), "request", wire) == []
    assert il.dialect(name).read_request(wire).tools == (TOOL,)


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_a_grammar_crosses_between_those_who_have_it(source: str, target: str) -> None:
    done = il.convert(body(source, format=FORMATS[source]), source, target)
    assert tool_of(done.wire)["format"] == FORMATS[target]
    assert list(done.report.entries) == []


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("format", [{"type": "text"}, {"type": "rhyme"}, {"type": "grammar"}, None])
def test_any_other_format_goes_home_until_a_grammar_takes_its_place(name: str, format: Any) -> None:
    wire, dialect = body(name, format=format), il.dialect(name)
    assert laws.home(dialect, "request", wire) == []
    request = dialect.read_request(wire)
    assert request.tools[0].grammar is None
    edited = request.replace(tools=(request.tools[0].replace(grammar=TOOL.grammar),))
    assert tool_of(dialect.write_request(edited).wire)["format"] == FORMATS[name]


@pytest.mark.parametrize("name", FORMATS)
def test_free_text_without_rules_is_what_it_is_anyway(name: str) -> None:
    other = next(each for each in FORMATS if each != name)
    done = il.convert(body(name, format={"type": "text"}), name, other)
    assert list(done.report.entries) == []


@pytest.mark.parametrize("name", sorted(set(il.dialects()) - {*FORMATS, "openrouter"}))
def test_a_grammar_is_reported_where_it_has_no_place(name: str) -> None:
    written = il.dialect(name).write_request(Request((Message.user("hi"),), "m", (TOOL,)))
    assert ("dropped", "$.tools[0].grammar") in [
        (each.kind, each.path) for each in written.report.entries
    ]
