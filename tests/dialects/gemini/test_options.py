"""Options and tools."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.gemini import DIALECT
from interlingua.model.exchange import (
    EFFORTS,
    Options,
    Reasoning,
    Request,
    ResponseFormat,
    ToolChoice,
)
from interlingua.model.tools import SideEffects, ToolDefinition
from tests.dialects.gemini.wires import Wire, body, losses, read, write

SCHEMA: Wire = {"type": "object", "properties": {"$ref": {"type": "string"}}, "$id": "x"}
OPENAPI: Wire = {"type": "OBJECT", "properties": {"city": {"type": "STRING", "nullable": True}}}


def config(**config: Any) -> Options:
    return read(body(generationConfig=config)).options


def told(**options: Any) -> tuple[Wire, list[tuple[str, str]]]:
    wire, report = write(options=Options(**options))
    return wire, losses(report)


def tools(*entries: Wire) -> tuple[ToolDefinition, ...]:
    return read(body(tools=list(entries))).tools


def write_tools(*tools: ToolDefinition) -> tuple[Any, list[tuple[str, str]]]:
    written = DIALECT.write_request(Request(tools=tools))
    return written.wire.get("tools"), losses(written.report)


# -- generationConfig -----------------------------------------------------------------------------


def test_numbers_and_lists_are_options() -> None:
    options = config(
        temperature=1,
        topP=0.5,
        topK=40.0,
        candidateCount=2,
        maxOutputTokens=100.0,
        stopSequences=["END"],
        seed=7,
        presencePenalty=-1,
        frequencyPenalty=0.5,
    )
    assert options == Options(
        temperature=1,
        top_p=0.5,
        top_k=40,
        n=2,
        max_output_tokens=100,
        stop=("END",),
        seed=7,
        presence_penalty=-1,
        frequency_penalty=0.5,
    )


@pytest.mark.parametrize("blank", [{}, {"temperature": None}, {"speechConfig": {}}, None])
def test_a_blank_config_goes_home(blank: Any) -> None:
    assert read(body(generationConfig=blank)).options == Options()


@pytest.mark.parametrize(
    ("wire", "count"),
    [
        ({"responseLogprobs": True}, 0),
        ({"responseLogprobs": True, "logprobs": 0}, 0),
        ({"response_logprobs": True, "logprobs": 5}, 5),
        ({"responseLogprobs": False}, None),
        ({"logprobs": 3}, None),
    ],
)
def test_log_probabilities_are_those_asked_for(wire: Wire, count: int | None) -> None:
    assert config(**wire).logprobs == count


@pytest.mark.parametrize(
    ("wire", "kind"),
    [
        ({"responseMimeType": "text/plain"}, "text"),
        ({"responseMimeType": "application/json"}, "json"),
        ({"responseMimeType": "application/json", "responseSchema": OPENAPI}, "json_schema"),
        ({"responseMimeType": "text/x.enum", "response_schema": OPENAPI}, "json_schema"),
        ({"responseJsonSchema": SCHEMA}, "json_schema"),
        ({"responseMimeType": "image/png"}, "text"),
    ],
)
def test_the_format_is_a_type_and_a_schema(wire: Wire, kind: str) -> None:
    assert config(**wire).response_format.kind == kind  # type: ignore[union-attr]


def test_a_schema_is_written_as_json_schema() -> None:
    wire, lost = told(response_format=ResponseFormat("json_schema", "city", SCHEMA, True))
    assert wire["generationConfig"] == {
        "responseMimeType": "application/json",
        "responseJsonSchema": SCHEMA,
    }
    assert lost == [("dropped", f"$.options.response_format.{name}") for name in ("name", "strict")]
    assert told(response_format=ResponseFormat("json_schema"))[1] == [
        ("approximated", "$.options.response_format.kind")
    ]


@pytest.mark.parametrize(
    ("wire", "reasoning"),
    [
        ({"thinkingBudget": 0}, Reasoning("none")),
        ({"thinkingBudget": 512, "includeThoughts": True}, Reasoning(None, 512, True)),
        ({"thinkingBudget": -1}, Reasoning(mode="adaptive")),
        ({"thinkingBudget": -1, "thinkingLevel": "LOW"}, Reasoning("low")),
        ({"thinkingBudget": -2}, None),
        ({"thinkingLevel": "high"}, Reasoning("high")),
        (
            {"thinking_level": "MINIMAL", "include_thoughts": False},
            Reasoning("minimal", None, False),
        ),
        ({"thinkingLevel": "LOW", "thinkingBudget": 0}, Reasoning("low", 0)),
        ({"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"}, None),
        ({}, None),
    ],
)
def test_thinking_is_reasoning(wire: Wire, reasoning: Reasoning | None) -> None:
    assert config(thinkingConfig=wire).reasoning == reasoning


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_effort_is_said_or_clamped_with_a_report(effort: Any) -> None:
    wire, lost = told(reasoning=Reasoning(effort))
    if effort == "none":
        assert wire["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 0}}
    clamped = effort in ("xhigh", "max")
    assert lost == ([("approximated", "$.options.reasoning.effort")] if clamped else [])
    if clamped:
        assert wire["generationConfig"]["thinkingConfig"] == {"thinkingLevel": "HIGH"}


def test_modalities_are_lower_case_here() -> None:
    assert config(responseModalities=["TEXT", "IMAGE"]).modalities == ("text", "image")
    assert config(responseModalities=["Text"]).modalities == ("text",)
    assert told(modalities=("text",))[0]["generationConfig"] == {"responseModalities": ["TEXT"]}


def test_tier_and_labels_stand_beside_the_config() -> None:
    options = read(body(serviceTier="flex", labels={"team": "a"})).options
    assert (options.service_tier, options.metadata) == ("flex", {"team": "a"})
    assert read(body(serviceTier="PRIORITY")).options.service_tier == "priority"
    assert read(body(service_tier="warp")).options.service_tier == "warp"
    assert told(service_tier="default")[0]["serviceTier"] == "standard"
    assert told(service_tier="warp")[1] == [("dropped", "$.options.service_tier")]


@pytest.mark.parametrize(
    ("metadata", "labels", "kind"),
    [
        ({"team": "a_1"}, {"team": "a_1"}, "approximated"),
        ({"team": "a", "Run ID": "7"}, {"team": "a"}, "approximated"),
        ({"team": "A 1"}, None, "dropped"),
        ({"1st": "a"}, None, "dropped"),
        ({"team": "a" * 64}, None, "dropped"),
    ],
)
def test_metadata_is_written_as_labels_as_far_as_they_can_hold_it(
    metadata: dict[str, str], labels: Any, kind: str
) -> None:
    wire, lost = told(metadata=metadata)
    assert (wire.get("labels"), lost) == (labels, [(kind, "$.options.metadata")])


def test_labels_go_home_and_are_reported_as_metadata() -> None:
    wire = body(labels={"Team": "A 1"})
    assert read(wire).options.metadata == {"Team": "A 1"}  # whatever stood there goes home
    for target in ("openai-responses", "openrouter", "bedrock"):
        report = il.convert(wire, "gemini", target, model="m").report
        assert losses(report) == [("approximated", "$.options.metadata")]
    for target in ("ollama", "openai-chat"):
        report = il.convert(wire, "gemini", target, model="m").report
        assert losses(report) == [("dropped", "$.options.metadata")]


def test_options_without_a_place_are_reported() -> None:
    assert told(user="u", verbosity="low", parallel_tool_calls=False)[1] == [
        ("dropped", f"$.options.{name}") for name in ("verbosity", "parallel_tool_calls", "user")
    ]


# -- the choice of tools --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wire", "choice"),
    [
        ({"mode": "AUTO"}, ToolChoice()),
        ({"mode": "any"}, ToolChoice("any")),
        ({"mode": "NONE"}, ToolChoice("none")),
        ({"mode": "VALIDATED"}, ToolChoice()),
        ({"mode": "ANY", "allowedFunctionNames": ["f"]}, ToolChoice("any", ("f",))),
        ({"mode": "VALIDATED", "allowed_function_names": ["f"]}, ToolChoice("auto", ("f",))),
        ({"mode": "AUTO", "allowedFunctionNames": ["f"]}, ToolChoice("auto", ("f",))),
        ({"allowedFunctionNames": ["f"]}, ToolChoice("auto", ("f",))),
        ({"mode": "ANY", "allowedFunctionNames": []}, ToolChoice("any")),
        ({"mode": None}, None),
        ({"mode": "SOMETHING"}, None),
        ({}, None),
    ],
)
def test_the_mode_is_the_choice(wire: Wire, choice: ToolChoice | None) -> None:
    request = read(body(toolConfig={"functionCallingConfig": wire}))
    assert request.options.tool_choice == choice
    other = request.options.replace(tool_choice=ToolChoice("none"))
    changed = DIALECT.write_request(request.replace(options=other)).wire["toolConfig"]
    assert changed["functionCallingConfig"]["mode"] == "NONE"


def test_auto_among_some_tools_is_validated() -> None:
    wire, lost = told(tool_choice=ToolChoice("auto", ("f",)))
    calling = {"mode": "VALIDATED", "allowedFunctionNames": ["f"]}
    assert (wire["toolConfig"], lost) == ({"functionCallingConfig": calling}, [])


@pytest.mark.parametrize("wire", [{}, {"includeServerSideToolInvocations": True}, None])
def test_other_tool_configs_go_home(wire: Any) -> None:
    assert read(body(tool_config=wire)).options.tool_choice is None


# -- tools ----------------------------------------------------------------------------------------


PLAIN: Wire = {"type": "object", "properties": {"city": {"type": ["string", "null"]}}}


def test_a_schema_in_googles_language_is_json_schema_to_everybody_else() -> None:
    declaration = {"name": "f", "parameters": OPENAPI, "response": {"type": "ARRAY"}}
    [tool] = tools({"functionDeclarations": [declaration]})
    assert (tool.input_schema, tool.output_schema) == (PLAIN, {"type": "array"})
    wire = body(tools=[{"functionDeclarations": [declaration]}])
    result = il.convert(wire, source="gemini", target="anthropic", model="m").wire
    assert result["tools"][0]["input_schema"] == PLAIN


def test_a_changed_schema_goes_home_in_googles_language() -> None:
    [tool] = tools({"functionDeclarations": [{"name": "f", "parameters": OPENAPI}]})
    changed = {**PLAIN, "required": ["city"]}
    wire, _ = write_tools(tool.replace(input_schema=changed))
    assert wire[0]["functionDeclarations"][0]["parameters"] == {**OPENAPI, "required": ["city"]}


def test_counts_in_googles_language_are_numbers() -> None:
    spelled = {"type": "ARRAY", "minItems": "1", "items": {"anyOf": [{"type": "STRING"}]}}
    [tool] = tools({"functionDeclarations": [{"name": "f", "parameters": spelled}]})
    items = {"anyOf": [{"type": "string"}]}
    assert tool.input_schema == {"type": "array", "minItems": 1, "items": items}


def test_keywords_of_googles_language_have_two_spellings() -> None:
    spelled = {
        "type": "OBJECT",
        "property_ordering": ["any_of"],
        "properties": {"any_of": {"any_of": [{"type": "STRING", "max_length": "9"}]}},
        "additional_properties": {"type": "INTEGER"},
    }
    [tool] = tools({"functionDeclarations": [{"name": "f", "parameters": spelled}]})
    assert tool.input_schema == {
        "type": "object",
        "propertyOrdering": ["any_of"],
        "properties": {"any_of": {"anyOf": [{"type": "string", "maxLength": 9}]}},
        "additionalProperties": {"type": "integer"},
    }


@pytest.mark.parametrize(
    ("google", "plain"),
    [
        (
            {"type": "STRING", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"nullable": True, "enum": ["a"]}, {"enum": ["a", None]}),
        ({"nullable": True, "$ref": "#/$defs/a"}, {"nullable": True, "$ref": "#/$defs/a"}),
    ],
)
def test_what_may_be_null_is_not_forbidden_by_its_words(google: Wire, plain: Wire) -> None:
    spelled = {"type": "OBJECT", "properties": {"s": google}}
    [tool] = tools({"functionDeclarations": [{"name": "f", "parameters": spelled}]})
    assert tool.input_schema == {"type": "object", "properties": {"s": plain}}


def test_a_changed_schema_that_may_be_null_goes_home_in_googles_language() -> None:
    google = {"type": "STRING", "nullable": True, "enum": ["a"]}
    [tool] = tools({"functionDeclarations": [{"name": "f", "parameters": google}]})
    changed = tool.replace(input_schema={"type": ["string", "null"], "enum": ["a", "b", None]})
    wire, _ = write_tools(changed)
    content = wire[0]["functionDeclarations"][0]["parameters"]
    assert content == {"type": "STRING", "nullable": True, "enum": ["a", "b"]}


@pytest.mark.parametrize("key", ["parametersJsonSchema", "parameters_json_schema"])
@pytest.mark.requirement("P45")
def test_a_schema_is_kept_as_the_wire_had_it(key: str) -> None:
    declaration = {"name": "f", "description": "F.", key: SCHEMA, "behavior": "BLOCKING"}
    [tool] = tools({"functionDeclarations": [declaration]})
    assert (tool.name, tool.description, tool.input_schema) == ("f", "F.", SCHEMA)


@pytest.mark.requirement("P45")
def test_a_schema_from_elsewhere_is_sent_whole_as_json_schema() -> None:
    tool = ToolDefinition("f", "F.", SCHEMA, output_schema={"type": "string"})
    wire, lost = write_tools(tool)
    assert lost == []
    assert wire[0]["functionDeclarations"] == [
        {
            "name": "f",
            "description": "F.",
            "parametersJsonSchema": SCHEMA,
            "responseJsonSchema": {"type": "string"},
        }
    ]


def test_declarations_share_one_entry_unless_they_did_not() -> None:
    f, g = {"name": "f"}, {"name": "g", "response": OPENAPI}
    wire, _ = write_tools(ToolDefinition("f"), ToolDefinition("g"))
    assert wire == [{"functionDeclarations": [f, {"name": "g"}]}]
    for entries in (
        [{"functionDeclarations": [f, g]}],
        [{"functionDeclarations": [f]}, {"function_declarations": [g]}],
        [{"functionDeclarations": [f], "googleSearch": {}}, {"functionDeclarations": [g]}],
        [{}, {"functionDeclarations": [f], "codeExecution": None}, {"functionDeclarations": []}],
        [{"googleSearch": {}, "urlContext": {}}, {"functionDeclarations": [], "retrieval": {}}],
    ):
        tools(*entries)


@pytest.mark.parametrize("given", [[], None, {"functionDeclarations": [{"name": "f"}]}])
def test_odd_lists_of_tools_go_home(given: Any) -> None:
    assert len(read(body(tools=given)).tools) == bool(given)


@pytest.mark.parametrize(
    ("entry", "kind", "executor"),
    [
        ({"googleSearch": {}}, "googleSearch", "provider"),
        ({"google_search": {"excludeDomains": ["x"]}}, "googleSearch", "provider"),
        ({"mcpServers": [{"name": "m"}]}, "mcpServers", "provider"),
        ({"computerUse": {"environment": "BROWSER"}}, "computerUse", "client"),
        ({"somethingNew": {"a": 1}}, "somethingNew", "provider"),
    ],
)
def test_built_in_tools_are_known_by_their_key(entry: Wire, kind: str, executor: str) -> None:
    [tool] = tools(entry)
    assert (tool.kind, tool.name, tool.executor) == (kind, kind, executor)
    assert tool.raw is not None
    assert "gemini" in tool.raw


def test_other_tools_are_reported() -> None:
    wire, lost = write_tools(
        ToolDefinition("note", kind="custom"),
        ToolDefinition("web_search", kind="web_search_20260101", executor="provider"),
        ToolDefinition("search", kind="googleSearch", executor="provider"),
        ToolDefinition("f", strict=True, side_effects=SideEffects.READ),
    )
    assert [list(entry) for entry in wire] == [
        ["functionDeclarations"],
        ["googleSearch"],
        ["functionDeclarations"],
    ]
    assert lost == [
        ("downgraded", "$.tools[0].kind"),
        ("dropped", "$.tools[1]"),
        ("approximated", "$.tools[2]"),
        ("dropped", "$.tools[3].side_effects"),
        ("dropped", "$.tools[3].strict"),
    ]


@pytest.mark.parametrize(("word", "goes_on"), [("NON_BLOCKING", True), ("BLOCKING", False)])
def test_functions_that_are_not_waited_for_are_asynchronous_elsewhere(
    word: str, goes_on: bool
) -> None:
    wire = body(tools=[{"functionDeclarations": [{"name": "f", "behavior": word}]}])
    request = read(wire)
    assert request.tools[0].asynchronous is goes_on
    assert DIALECT.write_request(request).wire == wire
    written = il.convert(wire, "gemini", "openai-responses")
    assert written.wire["tools"][0]["async"] is goes_on
    assert not written.report


def test_only_live_sessions_go_on_before_a_function_has_answered() -> None:
    request = read(body()).replace(tools=(ToolDefinition("f", asynchronous=True),))
    report = DIALECT.write_request(request).report
    assert losses(report) == [("dropped", "$.tools[0].asynchronous")]
