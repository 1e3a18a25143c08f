"""Options: what has a place in the body, and what is clamped or reported."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.bedrock import DIALECT
from interlingua.model.exchange import Options, Reasoning, Request, ResponseFormat
from interlingua.model.message import Message
from tests.dialects.bedrock.wires import SCHEMA, body, losses, read, write

ADDITIONAL = "additionalModelRequestFields"


def written(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    wire, report = write(Message.user("Hi"), options=Options(**fields))
    return wire, losses(report)


def test_inference_settings_are_options() -> None:
    fields = {"maxTokens": 5, "temperature": 0.5, "topP": 1, "stopSequences": ["END"]}
    options = read(body(inferenceConfig=fields)).options
    assert options == Options(max_output_tokens=5, temperature=0.5, top_p=1, stop=("END",))
    assert written(max_output_tokens=5, temperature=0.5, top_p=1, stop=("END",)) == (
        {**body(), "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
        | {"inferenceConfig": fields},
        [],
    )


@pytest.mark.parametrize(
    "more",
    [
        {"inferenceConfig": {}, "system": [], ADDITIONAL: {}},
        {"inferenceConfig": {"maxTokens": None, "topK": 3, "stopSequences": []}},
        {"inferenceConfig": {"temperature": 1.5, "maxTokens": 0, "stopSequences": [""]}},
        {"guardrailConfig": {"guardrailIdentifier": "g"}, "performanceConfig": None},
        {"requestMetadata": {"job": "é"}, "serviceTier": {"type": "future"}},
        {"outputConfig": {"effort": "ultra", "textFormat": {"type": "xml"}}},
        {ADDITIONAL: {"inferenceConfig": {"topK": 5}, "thinking": {"type": "adaptive"}}},
        {"modelId": None, "toolConfig": {}},
    ],
)
def test_whatever_the_body_says_besides_goes_home(more: dict[str, Any]) -> None:
    read(body(**more))
    read({key: item for key, item in body(**more).items() if key != "messages"})


def test_values_out_of_range_are_clamped_and_reported() -> None:
    wire, lost = written(temperature=1.7, max_output_tokens=0, stop=("", "END"))
    assert wire["inferenceConfig"] == {"temperature": 1, "stopSequences": ["END"]}
    assert lost == [
        ("dropped", "$.options.max_output_tokens"),
        ("approximated", "$.options.temperature"),
        ("approximated", "$.options.stop"),
    ]


def test_options_without_a_place_are_reported() -> None:
    _, lost = written(seed=1, n=2, user="u", frequency_penalty=0.5, parallel_tool_calls=False)
    assert {kind for kind, _ in lost} == {"dropped"}
    assert len(lost) == 5


def test_a_schema_is_json_in_a_text() -> None:
    value = ResponseFormat("json_schema", "place", SCHEMA, description="A place.")
    wire, lost = written(response_format=value)
    named = wire["outputConfig"]["textFormat"]["structure"]["jsonSchema"]
    assert isinstance(named["schema"], str)
    assert (read(wire).options.response_format, lost) == (value, [])
    named["schema"] = '{ "type": "object" }'
    spelled = read(wire)
    assert spelled.options.response_format == value.replace(schema={"type": "object"})


def test_json_without_a_schema_cannot_be_asked_for() -> None:
    _, lost = written(response_format=ResponseFormat("json"))
    assert lost == [("dropped", "$.options.response_format")]


@pytest.mark.parametrize(
    ("reasoning", "more"),
    [
        (Reasoning("high"), {"outputConfig": {"effort": "high"}}),
        (Reasoning("none"), {ADDITIONAL: {"thinking": {"type": "disabled"}}}),
        (Reasoning(mode="adaptive"), {ADDITIONAL: {"thinking": {"type": "adaptive"}}}),
        (
            Reasoning(budget_tokens=2048, visible=False),
            {ADDITIONAL: {"thinking": {"type": "enabled", "budget_tokens": 2048}}},
        ),
        (
            Reasoning("low", visible=True, mode="adaptive"),
            {
                "outputConfig": {"effort": "low"},
                ADDITIONAL: {"thinking": {"type": "adaptive", "display": "summarized"}},
            },
        ),
    ],
)
def test_reasoning_is_effort_budget_and_display(reasoning: Reasoning, more: dict[str, Any]) -> None:
    if reasoning.visible is False:
        more[ADDITIONAL]["thinking"]["display"] = "omitted"
    wire, lost = written(reasoning=reasoning)
    assert {key: wire[key] for key in more} == more
    assert (read(wire).options.reasoning, lost) == (reasoning, [])


def test_the_lowest_effort_is_the_nearest() -> None:
    wire, lost = written(reasoning=Reasoning("minimal"))
    assert wire["outputConfig"] == {"effort": "low"}
    assert lost == [("approximated", "$.options.reasoning.effort")]


def test_other_names_for_reasoning_go_home_and_can_be_changed() -> None:
    wire = body(**{ADDITIONAL: {"reasoning_config": {"type": "enabled", "budget_tokens": 1024}}})
    request = read(wire)
    assert request.options.reasoning == Reasoning(budget_tokens=1024)
    more = request.options.replace(reasoning=Reasoning(budget_tokens=4096))
    content = DIALECT.write_request(request.replace(options=more)).wire
    assert content[ADDITIONAL]["reasoning_config"]["budget_tokens"] == 4096
    effort = read(body(**{ADDITIONAL: {"reasoning_effort": "medium", "top_k": 20}})).options
    assert effort == Options(reasoning=Reasoning("medium"), top_k=20)


def test_metadata_and_tier_have_their_rules() -> None:
    wire, lost = written(metadata={"job": "a", "note": "é"}, service_tier="flex")
    assert (wire["requestMetadata"], wire["serviceTier"]) == ({"job": "a"}, {"type": "flex"})
    assert lost == [("approximated", "$.options.metadata")]
    assert written(service_tier="turbo")[1] == [("dropped", "$.options.service_tier")]
    assert written(service_tier="auto")[1] == []


def test_what_others_kept_is_reported_and_their_spelling_is_not() -> None:
    raw = {"openai-chat": {"store": True, "$form": {"x": 1}}}
    report = DIALECT.write_request(Request((Message.user("Hi"),), raw=raw)).report
    assert losses(report) == [("dropped", "$.raw.openai-chat.store")]
