"""Options, tools, and which tools may be called."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.history.retell import retell
from interlingua.dialects.openai_responses import DIALECT
from interlingua.model.blocks import Cache
from interlingua.model.exchange import (
    EFFORTS,
    Options,
    Reasoning,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition
from tests.dialects.openai_responses.wires import TOOL, body, read, user, write

SCHEMA = {"type": "object", "properties": {}}
LOGPROBS = "message.output_text.logprobs"


def options(**wire: Any) -> Options:
    return read(body(user(), **wire)).options


def written(options: Options) -> tuple[Any, list[tuple[str, str]]]:
    wire, losses = write(options=options)
    return wire, losses


@pytest.mark.parametrize(
    ("wire", "given"),
    [
        ({"max_output_tokens": 9}, Options(max_output_tokens=9)),
        ({"temperature": 1}, Options(temperature=1.0)),
        ({"top_p": 0.5, "stream": True}, Options(top_p=0.5, stream=True)),
        ({"parallel_tool_calls": False}, Options(parallel_tool_calls=False)),
        ({"service_tier": "flex"}, Options(service_tier="flex")),
        ({"safety_identifier": "u"}, Options(user="u")),
        ({"metadata": {"a": "b"}}, Options(metadata={"a": "b"})),
        ({"text": {"verbosity": "low"}}, Options(verbosity="low")),
        ({"include": [LOGPROBS], "top_logprobs": 2}, Options(logprobs=2)),
        ({"include": [LOGPROBS]}, Options(logprobs=0)),
        ({"text": {"format": {"type": "text"}}}, Options(response_format=ResponseFormat())),
        (
            {"text": {"format": {"type": "json_object"}}},
            Options(response_format=ResponseFormat("json")),
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}},
            Options(response_format=ResponseFormat("json_schema", "n", SCHEMA)),
        ),
        (
            {"reasoning": {"effort": "low", "summary": "auto"}},
            Options(reasoning=Reasoning("low", visible=True)),
        ),
        (
            {"reasoning": {"effort": "none", "summary": None}},
            Options(reasoning=Reasoning("none", visible=False)),
        ),
    ],
)
def test_an_option_has_one_place(wire: Any, given: Options) -> None:
    assert options(**wire) == given
    assert written(given) == (wire, [])


@pytest.mark.parametrize(
    "wire",
    [
        {"user": "u"},
        {"user": "u", "safety_identifier": "v"},
        {"safety_identifier": "v", "user": "u"},
        {"service_tier": "turbo"},
        {"text": {}},
        {"text": {"format": None, "verbosity": "shouting"}},
        {"text": {"format": {"type": "grammar"}}},
        {"text": {"format": {"type": "json_schema", "strict": None, "x": 1}}},
        {"reasoning": {}},
        {"reasoning": {"effort": "huge", "context": "auto", "summary": "detailed"}},
        {"reasoning": {"effort": None, "generate_summary": "concise"}},
        {"include": []},
        {"include": [LOGPROBS, "reasoning.encrypted_content"], "top_logprobs": 0},
        {"include": ["reasoning.encrypted_content"], "top_logprobs": 3},
        {"include": [LOGPROBS, LOGPROBS]},
        {"seed": 1, "top_k": 5, "frequency_penalty": 0.5, "min_p": "a"},
        {"metadata": {}},
        {"metadata": {"a": 1}},
        {"temperature": None, "stream": None, "tools": None, "tool_choice": None},
        {"tools": []},
    ],
)
def test_every_spelling_goes_home(wire: Any) -> None:
    options(**wire)


def test_options_of_others_go_home_and_are_reported_abroad() -> None:
    assert options(seed=7).seed == 7
    _, losses = written(Options(seed=7, top_k=1, stop=("a",), n=2, cache=Cache()))
    assert {path for _, path in losses} == {
        f"$.options.{name}" for name in ("seed", "top_k", "stop", "n", "cache")
    }


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_has_its_word(effort: Any) -> None:
    wire, losses = written(Options(reasoning=Reasoning(effort)))
    assert (wire, losses) == ({"reasoning": {"effort": effort}}, [])


def test_words_that_are_not_offered_are_reported() -> None:
    wire, losses = written(
        Options(service_tier="turbo", verbosity="max", reasoning=Reasoning(budget_tokens=9))
    )
    assert wire == {}
    assert {path.partition("options.")[2] for _, path in losses} == {
        "service_tier",
        "verbosity",
        "reasoning",
    }


def test_a_schema_gets_the_name_that_the_wire_demands() -> None:
    wire, losses = written(Options(response_format=ResponseFormat("json_schema", schema=SCHEMA)))
    assert wire["text"]["format"] == {"type": "json_schema", "name": "response", "schema": SCHEMA}
    assert losses == [("approximated", "$.options.response_format.name")]


def test_a_function_always_says_its_parameters_and_whether_it_is_strict() -> None:
    wire, losses = write(tools=(ToolDefinition("add"),))
    assert wire["tools"] == [
        {"type": "function", "name": "add", "parameters": None, "strict": None}
    ]
    assert losses == []


TOOLS = [
    TOOL,
    {"type": "function", "name": "add"},
    {**TOOL, "defer_loading": True, "output_schema": SCHEMA, "allowed_callers": ["direct"]},
    {"name": "add", "parameters": SCHEMA},
    {"type": "custom", "name": "sh", "format": {"type": "text"}, "description": "Runs."},
    {"type": "namespace", "name": "crm", "description": "CRM.", "tools": [TOOL]},
    {"type": "tool_search", "execution": "client", "description": "Finds.", "parameters": SCHEMA},
    {"type": "tool_search"},
    {"type": "programmatic_tool_calling"},
    {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}},
    {"type": "web_search_preview"},
    {"type": "file_search", "vector_store_ids": ["vs_1"]},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "image_generation", "quality": "low"},
    {"type": "computer"},
    {"type": "computer_use_preview", "display_width": 1, "display_height": 1, "environment": "mac"},
    {"type": "mcp", "server_label": "wiki", "server_url": "https://a.example"},
    {"type": "local_shell"},
    {"type": "shell", "environment": {"type": "local"}},
    {"type": "shell", "environment": {"type": "container_auto"}},
    {"type": "apply_patch"},
    {"type": "of_the_future", "x": 1},
]


@pytest.mark.parametrize(
    ("kept", "format", "given"),
    [
        ({"type": "grammar", "x": 1}, {"type": "grammar", "x": 1}, None),
        ({"x": 1}, {"type": "json_object", "x": 1}, ResponseFormat("json")),
    ],
)
def test_a_format_that_an_earlier_version_stored_goes_home(
    kept: Any, format: Any, given: ResponseFormat | None
) -> None:
    raw = {DIALECT.name: {"text_format": kept, "text": {"y": 2}}}
    wire, _ = write(options=Options(response_format=given), raw=raw)
    assert wire["text"] == {"format": format, "y": 2}
    assert "text_format" not in wire


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.get("type"))
def test_every_kind_of_tool_goes_home_also_when_retold(tool: Any) -> None:
    request = read(body(user(), tools=[tool]))
    result = retell(request, DIALECT)
    assert DIALECT.write_request(result.value, result.recorder).wire == body(user(), tools=[tool])


def test_who_runs_a_tool_is_told_by_its_kind() -> None:
    tools = read(body(user(), tools=TOOLS)).tools
    client = {tool.kind for tool in tools if tool.executor == "client"}
    assert client == {
        *("function", "custom", "namespace", "tool_search", "computer", "computer_use_preview"),
        *("local_shell", "shell", "apply_patch"),
    }


def test_a_deferred_tool_and_its_output_are_fields() -> None:
    tool = read(body(user(), tools=[TOOLS[2]])).tools[0]
    assert (tool.deferred, tool.output_schema) == (True, SCHEMA)


def test_tools_of_another_vendor_are_reported() -> None:
    tools = (
        ToolDefinition("bash", kind="bash_20250124"),
        ToolDefinition("search", kind="web_search", executor="provider"),
    )
    wire, losses = write(tools=tools)
    assert wire["tools"] == [{"type": "web_search"}]
    assert losses == [("dropped", "$.tools[0]"), ("dropped", "$.tools[1].name")]


CHOICES = [
    ("auto", ToolChoice()),
    ("none", ToolChoice("none")),
    ("required", ToolChoice("any")),
    ({"type": "function", "name": "add"}, ToolChoice("any", ("add",))),
    ({"type": "custom", "name": "sh"}, ToolChoice("any", ("sh",))),
    ({"type": "mcp", "server_label": "wiki"}, ToolChoice("any", ("wiki",))),
    ({"type": "mcp", "server_label": "wiki", "name": "ask"}, ToolChoice("any", ("wiki",))),
    ({"type": "web_search"}, ToolChoice("any", ("web_search",))),
    (
        {
            "type": "allowed_tools",
            "mode": "auto",
            "tools": [{"type": "function", "name": "add"}, {"type": "custom", "name": "sh"}],
        },
        ToolChoice("auto", ("add", "sh")),
    ),
    (
        {
            "type": "allowed_tools",
            "mode": "required",
            "tools": [{"type": "function", "name": "add"}],
        },
        ToolChoice("any", ("add",)),
    ),
]


@pytest.mark.parametrize(("wire", "choice"), CHOICES)
def test_a_choice_goes_home_and_edits_win(wire: Any, choice: ToolChoice) -> None:
    request = read(body(user(), tools=TOOLS, tool_choice=wire))
    assert request.options.tool_choice == choice
    other = request.replace(options=request.options.replace(tool_choice=ToolChoice("none")))
    assert DIALECT.write_request(other).wire["tool_choice"] == "none"


@pytest.mark.parametrize("odd", ["sometimes", {"type": "allowed_tools", "tools": []}, {}])
def test_a_choice_of_another_kind_goes_home(odd: Any) -> None:
    assert options(tool_choice=odd).tool_choice is None


def test_a_choice_is_spelled_as_its_tool_demands() -> None:
    tools = (ToolDefinition("sh", kind="custom"),)
    for names, expected in (
        (("sh",), {"type": "custom", "name": "sh"}),
        (("add",), {"type": "function", "name": "add"}),
    ):
        wire, losses = write(tools=tools, options=Options(tool_choice=ToolChoice("any", names)))
        assert (wire["tool_choice"], losses) == (expected, [])


def test_no_tool_at_all_needs_no_names() -> None:
    _, losses = write(Message.user("Hi"), options=Options(tool_choice=ToolChoice("none", ("a",))))
    assert losses == [("dropped", "$.options.tool_choice.names")]


def test_who_may_call_a_tool_and_whether_it_is_waited_for_are_fields() -> None:
    wire = {**TOOL, "allowed_callers": ["direct", "programmatic"], "async": True}
    (tool,) = read(body(tools=[wire])).tools
    assert (tool.callers, tool.asynchronous) == (("direct", "program"), True)
    written = il.convert(body(tools=[wire]), "openai-responses", "gemini")
    losses = {(each.code, each.path) for each in written.report.losses}
    assert losses == {
        ("callers_unsupported", "$.tools[0].callers"),
        ("async_live_only", "$.tools[0].asynchronous"),
    }
