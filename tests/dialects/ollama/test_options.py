"""Options: the map, the shape of the answer, thinking, and what is reported."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.ollama import DIALECT
from interlingua.model.exchange import Options, Reasoning, ResponseFormat, ToolChoice
from interlingua.model.message import Message
from tests.dialects.ollama.wires import SCHEMA, body, losses, read, write


def written(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    wire, report = write(Message.user("Hi"), options=Options(**fields))
    return wire, losses(report)


def test_sampling_settings_are_options() -> None:
    fields = {"num_predict": 5, "temperature": 0, "top_k": 40, "min_p": 0.1, "repeat_penalty": 1.1}
    fields |= {"top_p": 0.5, "seed": 7, "presence_penalty": 1, "frequency_penalty": 0.5}
    options = read(body(options={**fields, "stop": ["END"]})).options
    assert options == Options(
        max_output_tokens=5,
        temperature=0,
        top_k=40,
        min_p=0.1,
        repetition_penalty=1.1,
        top_p=0.5,
        seed=7,
        presence_penalty=1,
        frequency_penalty=0.5,
        stop=("END",),
        stream=False,
    )
    wire = DIALECT.write_request(read(body()).replace(options=options)).wire
    assert wire["options"] == {**fields, "stop": ["END"]}


@pytest.mark.parametrize(
    "more",
    [
        {"options": {"num_ctx": 8192, "num_predict": -1, "top_k": 2.5, "seed": None}},
        {"options": {"stop": "END"}, "keep_alive": "5m", "truncate": False},
        {"options": {}, "format": "", "keep_alive": None, "think": None},
        {"options": None, "format": "xml", "think": "deeply", "temperature": 0.5},
        {"logprobs": False, "top_logprobs": 3},
        {"logprobs": True, "top_logprobs": 0},
    ],
)
def test_whatever_the_body_says_besides_goes_home(more: dict[str, Any]) -> None:
    read(body(**more))
    read(more)


def test_a_request_streams_unless_it_says_otherwise() -> None:
    wire = body()
    del wire["stream"]
    request = read(wire)
    assert request.options.stream is True
    whole = request.options.replace(stream=False)
    assert DIALECT.write_request(request.replace(options=whole)).wire == body()
    assert written()[0]["stream"] is False
    assert written(stream=True)[0]["stream"] is True


@pytest.mark.parametrize(
    ("think", "reasoning"),
    [
        (True, Reasoning(visible=True, mode="on")),
        (False, Reasoning("none")),
        ("low", Reasoning("low")),
        ("max", Reasoning("max")),
    ],
)
def test_think_is_on_off_or_a_level(think: Any, reasoning: Reasoning) -> None:
    assert read(body(think=think)).options.reasoning == reasoning
    wire, lost = written(reasoning=reasoning)
    assert (wire["think"], lost) == (think, [])


@pytest.mark.parametrize(
    ("reasoning", "think", "lost"),
    [
        (Reasoning("minimal"), "low", [("approximated", "effort")]),
        (Reasoning("xhigh"), "high", [("approximated", "effort")]),
        (Reasoning(budget_tokens=2048), True, [("dropped", "budget_tokens")]),
        (Reasoning("low", visible=True), "low", [("dropped", "visible")]),
        (Reasoning("none", visible=False), False, [("dropped", "visible")]),
    ],
)
def test_what_think_cannot_say_is_reported(reasoning: Reasoning, think: Any, lost: Any) -> None:
    wire, found = written(reasoning=reasoning)
    assert wire["think"] == think
    assert found == [(kind, f"$.options.reasoning.{field}") for kind, field in lost]


def test_the_format_is_json_or_a_schema() -> None:
    assert read(body(format="json")).options.response_format == ResponseFormat("json")
    value = ResponseFormat("json_schema", schema=SCHEMA)
    assert read(body(format=SCHEMA)).options.response_format == value
    wire, lost = written(response_format=value.replace(name="place", strict=True))
    assert wire["format"] == SCHEMA
    assert lost == [
        ("dropped", "$.options.response_format.name"),
        ("dropped", "$.options.response_format.strict"),
    ]
    wire, lost = written(response_format=ResponseFormat("json_schema"))
    assert wire["format"] == "json"
    assert lost == [("approximated", "$.options.response_format.kind")]


def test_logprobs_count_the_alternatives() -> None:
    assert read(body(logprobs=True)).options.logprobs == 0
    assert read(body(logprobs=True, top_logprobs=5)).options.logprobs == 5
    wire, lost = written(logprobs=30)
    assert (wire["logprobs"], wire["top_logprobs"]) == (True, 20)
    assert lost == [("approximated", "$.options.logprobs")]


def test_choice_metadata_and_the_like_are_reported() -> None:
    _, lost = written(
        tool_choice=ToolChoice("any"), metadata={"a": "b"}, user="u", service_tier="flex", n=2
    )
    fields = ["n", "tool_choice", "service_tier", "user", "metadata"]
    assert lost == [("dropped", f"$.options.{field}") for field in fields]
    assert written(tool_choice=ToolChoice("auto"))[1] == []


def test_what_is_done_anyway_is_no_loss() -> None:
    fields: dict[str, Any] = {"n": 1, "parallel_tool_calls": True, "service_tier": "auto"}
    assert written(**fields, modalities=("text",), metadata={})[1] == []
