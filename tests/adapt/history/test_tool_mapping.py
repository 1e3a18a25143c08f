"""Tools that a vendor defines, said as those of another."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.model.message import Changes
from tests.adapt.history.vendors import (
    CLAUDE,
    CROSSED,
    GEMINI,
    GPT,
    GROK,
    OLDER,
    ROUTER,
    SPOKEN,
    body,
    dropped,
    lost,
    told,
)

FUNCTION = {"name": "f", "input_schema": {"type": "object"}}

PLACE = {"type": "approximate", "city": "Ulm", "country": "DE"}

SEARCH = {
    "type": "web_search_20250305",
    "name": "web_search",
    "max_uses": 3,
    "blocked_domains": ["b.example"],
    "user_location": PLACE,
}


@pytest.mark.parametrize(
    ("model", "tool", "without"),
    [
        (
            GPT,
            {
                "type": "web_search",
                "filters": {"blocked_domains": ["b.example"]},
                "user_location": PLACE,
            },
            ["max_uses"],
        ),
        (
            GROK,
            {"type": "web_search", "excluded_domains": ["b.example"], "user_location": PLACE},
            ["max_uses"],
        ),
        (GEMINI, {"googleSearch": {}}, ["max_uses", "blocked_domains", "user_location"]),
        (
            "vertex:gemini-3-pro-preview",
            {"googleSearch": {"excludeDomains": ["b.example"]}},
            ["max_uses", "user_location"],
        ),
        (
            ROUTER,
            {
                "type": "openrouter:web_search",
                "parameters": {
                    "max_uses": 3,
                    "excluded_domains": ["b.example"],
                    "user_location": PLACE,
                },
            },
            [],
        ),
    ],
)
def test_a_search_crosses_with_the_options_that_have_a_place(
    model: str, tool: dict[str, Any], without: list[str]
) -> None:
    written = told("anthropic", model, SEARCH)
    assert written.wire["tools"] == [tool]
    assert lost(written) == {CROSSED, *dropped(*without)}
    assert {each.rule for each in written.report.entries if each.path == "$.tools[0]"} != {None}


def test_how_much_a_search_reads_is_written_as_how_often_it_searches() -> None:
    search = {"type": "web_search", "search_context_size": "high", "external_web_access": True}
    written = told("openai-responses", CLAUDE, search)
    tool = {"type": "web_search_20260209", "name": "web_search", "max_uses": 10}
    assert written.wire["tools"] == [tool]
    place = "$.tools[0].raw.openai-responses.search_context_size"
    assert lost(written) == {CROSSED, ("approximated", "warning", place)}


def test_an_option_that_nobody_else_knows_stays_where_it_was() -> None:
    written = told("anthropic", GEMINI, {**SEARCH, "of_tomorrow": 1})
    assert dropped("of_tomorrow") <= lost(written)
    assert written.wire["tools"] == [{"googleSearch": {}}]


def test_of_both_lists_of_domains_the_first_stays_where_one_is_taken() -> None:
    filters = {"allowed_domains": ["a.example"], "blocked_domains": ["b.example"]}
    written = told("openai-responses", CLAUDE, {"type": "web_search", "filters": filters})
    assert written.wire["tools"][0]["allowed_domains"] == ["a.example"]
    assert "blocked_domains" not in written.wire["tools"][0]
    assert dropped("filters.blocked_domains", dialect="openai-responses") <= lost(written)


def test_fetching_is_a_part_of_searching_where_no_tool_does_it_alone() -> None:
    fetch = {"type": "web_fetch_20250910", "name": "web_fetch", "allowed_domains": ["a.example"]}
    alone = told("anthropic", GPT, fetch)
    filters = {"allowed_domains": ["a.example"]}
    assert alone.wire["tools"] == [{"type": "web_search", "filters": filters}]
    both = told("anthropic", GPT, fetch, {"type": "web_search_20250305", "name": "web_search"})
    assert both.wire["tools"] == [{"type": "web_search"}]
    assert CROSSED in lost(both)
    assert dropped("allowed_domains") <= lost(both)


@pytest.mark.parametrize(
    ("model", "tool"),
    [
        (GPT, {"type": "code_interpreter", "container": {"type": "auto"}}),
        (GEMINI, {"codeExecution": {}}),
    ],
)
def test_running_code_crosses_with_a_container_of_the_targets(
    model: str, tool: dict[str, Any]
) -> None:
    code = {"type": "code_execution_20250825", "name": "code_execution"}
    assert told("anthropic", model, code).wire["tools"] == [tool]


def test_a_container_of_another_provider_is_an_error_in_the_report() -> None:
    written = told("openai-responses", CLAUDE, {"type": "code_interpreter", "container": "cntr_1"})
    assert written.wire["tools"][0]["type"] == "code_execution_20250825"
    place = "$.tools[0].raw.openai-responses.container"
    assert ("dropped", "error", place) in lost(written)


def test_stores_of_another_provider_do_not_cross() -> None:
    stored = {"type": "file_search", "vector_store_ids": ["vs_1"]}
    written = told("openai-responses", GEMINI, stored)
    assert "tools" not in written.wire
    assert lost(written) == {("dropped", "error", "$.tools[0]")}


def test_what_the_model_is_not_known_to_have_does_not_cross() -> None:
    draw = {"type": "image_generation", "size": "1024x1024"}
    assert lost(told("openai-responses", CLAUDE, draw)) == {("dropped", "error", "$.tools[0]")}
    written = il.convert(body("anthropic", [SEARCH]), "anthropic", "gemini", model="gemini:new-1")
    assert "tools" not in written.wire
    unfitted = il.convert(
        body("anthropic", [SEARCH]), "anthropic", "gemini", model=GEMINI, profile=False
    )
    assert "tools" not in unfitted.wire


def test_a_computer_crosses_and_the_report_warns_of_its_calls() -> None:
    screen = {"display_width_px": 800, "display_height_px": 600}
    computer = {"type": "computer_20251124", "name": "computer", **screen}
    written = told("anthropic", "openai:gpt-5", computer)
    wide = {"display_width": 800, "display_height": 600, "environment": "browser"}
    assert written.wire["tools"] == [{"type": "computer_use_preview", **wide}]
    assert lost(written) == {("approximated", "error", "$.tools[0]")}


def test_functions_win_over_a_search_where_both_are_not_taken() -> None:
    forced = {"type": "tool", "name": "web_search"}
    written = told("anthropic", OLDER, SEARCH, FUNCTION, tool_choice=forced)
    assert [list(entry) for entry in written.wire["tools"]] == [["functionDeclarations"]]
    assert ("dropped", "error", "$.tools[0]") in lost(written)
    assert "allowedFunctionNames" not in str(written.wire["toolConfig"])


def test_gemini_takes_both_from_those_who_will_see_its_own_calls() -> None:
    written = told("anthropic", GEMINI, SEARCH, FUNCTION)
    assert [list(entry) for entry in written.wire["tools"]] == [
        ["googleSearch"],
        ["functionDeclarations"],
    ]
    assert written.wire["toolConfig"] == {"includeServerSideToolInvocations": True}


@pytest.mark.parametrize(
    ("model", "choice"),
    [
        (GPT, "required"),
        (GEMINI, None),
        (ROUTER, {"type": "openrouter:web_search"}),
    ],
)
def test_a_forced_search_is_forced_where_that_can_be_said(model: str, choice: Any) -> None:
    forced = {"type": "tool", "name": "web_search"}
    written = told("anthropic", model, SEARCH, tool_choice=forced)
    assert written.wire.get("tool_choice") == choice
    assert "toolConfig" not in written.wire
    if choice is None:
        assert ("approximated", "error", "$.options.tool_choice") in lost(written)


def test_a_choice_goes_by_the_name_that_the_tool_has_there() -> None:
    search = {"type": "web_search"}
    choice = {"type": "web_search"}
    written = told("openai-responses", CLAUDE, search, tool_choice=choice)
    assert written.wire["tool_choice"]["name"] == "web_search"


NOVA = "bedrock:us.amazon.nova-2-lite-v1:0"

GROUNDING = {"systemTool": {"name": "nova_grounding"}}

OPTIONS = {
    "search_context_size": "high",
    "user_location": {"type": "approximate", "approximate": {"city": "Ulm", "country": "DE"}},
}

BESIDE = "$.raw.openai-chat.web_search_options"


def test_tools_of_amazon_are_written_by_their_names() -> None:
    code = {"type": "code_execution_20250825", "name": "code_execution"}
    written = told("anthropic", NOVA, SEARCH, code, FUNCTION)
    tools = written.wire["toolConfig"]["tools"]
    assert tools[:2] == [GROUNDING, {"systemTool": {"name": "nova_code_interpreter"}}]
    assert tools[2]["toolSpec"]["name"] == "f"
    assert dropped("max_uses", "blocked_domains", "user_location") < lost(written)
    assert "tool replaced by nova_grounding" in str(written.report.entries)


def test_tools_of_amazon_cross_to_others() -> None:
    request = {
        "messages": [{"role": "user", "content": [{"text": "hi"}]}],
        "toolConfig": {"tools": [GROUNDING]},
    }
    for model, tool in (
        (CLAUDE, {"type": "web_search_20260209", "name": "web_search"}),
        (GPT, {"type": "web_search"}),
        (GEMINI, {"googleSearch": {}}),
    ):
        target = SPOKEN[model.partition(":")[0]]
        assert il.convert(request, "bedrock", target, model=model).wire["tools"] == [tool]


def test_what_nova_cites_comes_back_in_the_clients_form() -> None:
    cited = {
        "content": [{"text": "It rains in Ulm."}],
        "citations": [{"title": "Ulm", "location": {"web": {"url": "https://w.example/ulm"}}}],
    }
    answer = {
        "output": {"message": {"role": "assistant", "content": [{"citationsContent": cited}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    }
    (text,) = il.convert(answer, "bedrock", "anthropic", kind="response").wire["content"]
    assert text["citations"][0]["url"] == "https://w.example/ulm"


@pytest.mark.parametrize(
    ("model", "tools", "losses"),
    [
        (
            CLAUDE,
            [{"type": "web_search_20260209", "name": "web_search", "max_uses": 10}],
            {("approximated", "warning", f"{BESIDE}.search_context_size")},
        ),
        (GPT, [{"type": "web_search", "search_context_size": "high"}], set()),
        (
            GEMINI,
            [{"googleSearch": {}}],
            {
                ("dropped", "warning", f"{BESIDE}.search_context_size"),
                ("dropped", "warning", f"{BESIDE}.user_location"),
            },
        ),
    ],
)
def test_a_search_that_chat_asks_for_beside_the_tools_is_a_tool_elsewhere(
    model: str, tools: list[Any], losses: set[tuple[str, str, str]]
) -> None:
    target = SPOKEN[model.partition(":")[0]]
    request = body("openai-chat", [], web_search_options=OPTIONS)
    written = il.convert(request, "openai-chat", target, model=model)
    place = {"type": "approximate", "city": "Ulm", "country": "DE"}
    items = [{**tool, "user_location": place} if model != GEMINI else tool for tool in tools]
    assert written.wire["tools"] == items
    assert lost(written) == {("approximated", "warning", BESIDE), *losses}


def test_without_the_thing_what_was_asked_for_beside_the_tools_is_told_as_before() -> None:
    request = body("openai-chat", [], web_search_options=OPTIONS)
    written = il.convert(request, "openai-chat", "ollama", model="ollama:llama3.2")
    assert lost(written) == {("dropped", "warning", BESIDE)}


def test_search_models_of_chat_are_told_beside_the_tools() -> None:
    search = {**SEARCH, "user_location": {"type": "approximate", "city": "Ulm", "country": "DE"}}
    model = "openai:gpt-4o-search-preview"
    written = il.convert(body("anthropic", [search]), "anthropic", "openai-chat", model=model)
    assert written.wire["web_search_options"] == {"user_location": OPTIONS["user_location"]}
    assert "tools" not in written.wire
    assert lost(written) == {CROSSED, *dropped("max_uses", "blocked_domains")}


def test_plugins_of_openrouter_are_tools_elsewhere_and_the_others_stay() -> None:
    plugins = [{"id": "web", "max_results": 3}, {"id": "file-parser"}, {"id": "web-fetch"}]
    written = il.convert(
        body("openrouter", [], plugins=plugins), "openrouter", "anthropic", model=CLAUDE
    )
    assert [tool["name"] for tool in written.wire["tools"]] == ["web_search", "web_fetch"]
    assert lost(written) == {
        ("approximated", "warning", "$.raw.openrouter.plugins[0]"),
        ("dropped", "warning", "$.raw.openrouter.plugins[0].max_results"),
        ("approximated", "warning", "$.raw.openrouter.plugins[2]"),
        ("dropped", "warning", "$.raw.openrouter.plugins"),
    }


def test_a_search_beside_the_tools_is_asked_for_where_the_model_has_it() -> None:
    targets = Targets(environ={}, keys={"openai": "k"})
    request = il.dialect("openai-chat").read_request(
        body("openai-chat", [], web_search_options=OPTIONS)
    )
    dialect = targets.for_request(targets.find("openai:gpt-4o"), request)
    assert dialect.dialect.name == "openai-responses"
    search = targets.for_request(targets.find("openai:gpt-4o-search-preview"), request)
    assert search.dialect.name == "openai-chat"


def test_a_tool_that_comes_in_mid_conversation_crosses_under_its_new_name() -> None:
    search = il.ToolDefinition("seeker", executor="provider", kind="web_search_20250305")
    search = search.replace(raw={"anthropic": {}})
    later = il.Message.system("You may search now.").replace(
        changes=Changes(tools_added=("seeker",))
    )
    turns = (il.Message.user("hi"), il.Message.assistant("ho"), il.Message.user("and?"), later)
    asked = il.dumps(il.Request(turns, "m", (search,)))
    written = il.convert(asked, "canonical", "openai-responses", model=GPT)
    assert written.wire["input"][-1] == {
        "type": "additional_tools",
        "role": "developer",
        "tools": [{"type": "web_search"}],
    }
    assert lost(written) == {CROSSED}


ADVISOR = {"type": "advisor_20260301", "name": "advisor", "model": "claude-opus-4-8"}


def test_an_advisor_crosses_under_the_name_that_its_model_has_there() -> None:
    there = told("anthropic", ROUTER, {**ADVISOR, "max_tokens": 500, "max_uses": 2})
    settings = {"model": "anthropic/claude-opus-4.8", "max_completion_tokens": 500}
    tool = {
        "type": "openrouter:advisor",
        "parameters": {"forward_transcript": True, **settings},
    }
    assert there.wire["tools"] == [tool]
    assert lost(there) == {CROSSED} | dropped("max_uses")
    back = told("openrouter", CLAUDE, tool)
    assert back.wire["tools"] == [{**ADVISOR, "max_tokens": 500}]
    assert lost(back) == {CROSSED}


def test_an_advisor_without_a_model_is_the_model_that_is_asked() -> None:
    written = told("openrouter", CLAUDE, {"type": "openrouter:advisor", "parameters": {}})
    assert written.wire["tools"] == [ADVISOR]


def test_an_advisor_that_the_vendor_does_not_serve_is_an_error_in_the_report() -> None:
    tool = {"type": "openrouter:advisor", "parameters": {"model": "openai/gpt-6"}}
    written = told("openrouter", CLAUDE, tool)
    assert "tools" not in written.wire
    assert lost(written) == {("dropped", "error", "$.tools[0]")}


@pytest.mark.parametrize(
    ("model", "tool"),
    [
        (GPT, {"type": "computer"}),
        (GEMINI, {"computerUse": {"environment": "ENVIRONMENT_BROWSER"}}),
    ],
)
@pytest.mark.parametrize("kind", ["browser_toolset_20260801", "computer_toolset_20260801"])
def test_toolsets_are_a_computer_elsewhere(kind: str, model: str, tool: Any) -> None:
    written = told("anthropic", model, {"type": kind})
    assert written.wire["tools"] == [tool]
    assert lost(written) == {("approximated", "error", "$.tools[0]")}


@pytest.mark.parametrize("version", ["20250305", "20260209", "20260318"])
def test_every_version_of_a_search_crosses(version: str) -> None:
    tool = {"type": f"web_search_{version}", "name": "web_search", "allowed_callers": ["direct"]}
    written = told("anthropic", GPT, tool)
    assert written.wire["tools"] == [{"type": "web_search"}]
    assert lost(written) == {CROSSED}


CALLED_BY_CODE = {"type": "function", "name": "f", "parameters": {"type": "object"}}
CODE = {"type": "code_execution_20250825", "name": "code_execution"}
PROGRAMS = {"type": "programmatic_tool_calling"}


def test_tools_that_code_may_call_cross_with_the_code() -> None:
    tool = {**FUNCTION, "allowed_callers": ["direct", "code_execution_20250825"]}
    there = told("anthropic", GPT, CODE, tool)
    assert there.wire["tools"] == [
        PROGRAMS,
        {**CALLED_BY_CODE, "strict": None, "allowed_callers": ["direct", "programmatic"]},
    ]
    back = told("openai-responses", CLAUDE, *there.wire["tools"])
    assert back.wire["tools"] == [CODE, tool]
    assert lost(back) == {CROSSED}


def test_without_code_that_runs_there_a_tool_is_called_by_the_model() -> None:
    tool = {**CALLED_BY_CODE, "allowed_callers": ["programmatic"]}
    written = told("openai-responses", "anthropic:claude-3-5-sonnet", tool, PROGRAMS)
    assert written.wire["tools"] == [FUNCTION]
    assert ("dropped", "warning", "$.tools[0].callers") in lost(written)
