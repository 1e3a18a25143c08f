"""The options of a request, in all their spellings."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.dialects.openai_chat import DIALECT
from interlingua.model.blocks import Cache
from interlingua.model.exchange import EFFORTS, Options, Reasoning, ResponseFormat
from interlingua.model.message import Message
from tests.dialects.openai_chat.wires import SCHEMA, body, losses, read, write


def options(**keys: Any) -> Options:
    return read(body(**keys)).options


def said(**fields: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    wire, report = write(Message.user("a"), options=Options(**fields))
    return {k: v for k, v in wire.items() if k not in ("model", "messages")}, losses(report)


def test_a_body_without_options_says_none() -> None:
    assert options() == Options()
    assert said() == ({}, [])


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ({"temperature": 0, "top_p": 0.5}, {"temperature": 0.0, "top_p": 0.5}),
        (
            {"frequency_penalty": 1, "presence_penalty": -1.5},
            {"frequency_penalty": 1.0, "presence_penalty": -1.5},
        ),
        ({"max_completion_tokens": 9}, {"max_output_tokens": 9}),
        ({"seed": 7}, {"seed": 7}),
        ({"n": 2}, {"n": 2}),
        ({"stop": ["a", "b"]}, {"stop": ("a", "b")}),
        ({"stop": []}, {"stop": ()}),
        ({"logit_bias": {"50256": -100}}, {"logit_bias": {"50256": -100.0}}),
        ({"logprobs": True, "top_logprobs": 5}, {"logprobs": 5}),
        ({"logprobs": True}, {"logprobs": 0}),
        ({"verbosity": "low"}, {"verbosity": "low"}),
        ({"modalities": ["text", "audio"]}, {"modalities": ("text", "audio")}),
        ({"parallel_tool_calls": False}, {"parallel_tool_calls": False}),
        ({"service_tier": "flex"}, {"service_tier": "flex"}),
        ({"safety_identifier": "u1"}, {"user": "u1"}),
        ({"metadata": {"a": "b"}}, {"metadata": {"a": "b"}}),
        ({"stream": True}, {"stream": True}),
        ({"reasoning_effort": "high"}, {"reasoning": Reasoning("high")}),
    ],
)
def test_each_option_both_ways(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    assert options(**keys) == Options(**fields)
    assert said(**fields) == (keys, [])


@pytest.mark.parametrize(
    ("keys", "fields"),
    [
        ({"max_tokens": 9}, {"max_output_tokens": 9}),
        ({"max_tokens": 9, "max_completion_tokens": 9}, {"max_output_tokens": 9}),
        ({"max_tokens": 9, "max_completion_tokens": 8}, {"max_output_tokens": 8}),
        ({"random_seed": 7}, {"seed": 7}),
        ({"user": "u1"}, {"user": "u1"}),
        ({"user": "u1", "safety_identifier": "u2"}, {"user": "u2"}),
        ({"stop": "a"}, {"stop": ("a",)}),
        ({"logprobs": 3}, {"logprobs": 3}),
        ({"logprobs": True, "top_logprobs": 0}, {"logprobs": 0}),
        ({"logprobs": False}, {}),
        ({"logit_bias": {"5": 0.5}}, {"logit_bias": {"5": 0.5}}),
        ({"service_tier": "on_demand"}, {"service_tier": "on_demand"}),
        ({"modalities": ["hologram"]}, {"modalities": ("hologram",)}),
        ({"metadata": {"a": 1}}, {}),
        (
            {"top_k": 40, "min_p": 0.1, "repetition_penalty": 1.1},
            {"top_k": 40.0, "min_p": 0.1, "repetition_penalty": 1.1},
        ),
        ({"cache_control": {"type": "ephemeral"}}, {"cache": Cache()}),
        (
            {"reasoning": {"effort": "low", "max_tokens": 9, "exclude": True}},
            {"reasoning": Reasoning("low", 9, False)},
        ),
        ({"reasoning": {}}, {"reasoning": Reasoning()}),
        ({"reasoning": {"enabled": True}}, {"reasoning": Reasoning(mode="on")}),
        ({"reasoning": {"enabled": False}}, {"reasoning": Reasoning(mode="off")}),
        ({"reasoning": {"enabled": True, "effort": "low"}}, {"reasoning": Reasoning("low")}),
        ({"reasoning": {"enabled": True, "effort": "none"}}, {"reasoning": Reasoning("none")}),
        ({"reasoning": {"effort": "none"}}, {"reasoning": Reasoning(mode="off")}),
        (
            {"reasoning": {"effort": "low"}, "reasoning_effort": "low"},
            {"reasoning": Reasoning("low")},
        ),
        ({"thinking": {"type": "disabled"}}, {"reasoning": Reasoning("none")}),
        ({"thinking": {"type": "enabled"}}, {"reasoning": Reasoning(mode="on")}),
        (
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
            {"reasoning": Reasoning("high")},
        ),
        (
            {"thinking": {"type": "disabled"}, "reasoning_effort": "high"},
            {"reasoning": Reasoning("high", mode="off")},
        ),
        (
            {"thinking": {"type": "enabled"}, "reasoning_effort": "none"},
            {"reasoning": Reasoning("none")},
        ),
        (
            {"thinking": {"type": "enabled", "clear_thinking": False}},
            {"reasoning": Reasoning(mode="on")},
        ),
        ({"thinking": {"type": "auto"}}, {}),
        ({"enable_thinking": False}, {"reasoning": Reasoning(mode="off")}),
        ({"enable_thinking": True}, {"reasoning": Reasoning(mode="on")}),
        ({"reasoning_effort": "default"}, {"reasoning": Reasoning(mode="on")}),
        ({"temperature": None, "stop": None, "tools": None, "model": None}, {}),
    ],
)
def test_other_spellings_are_read_and_go_home(keys: dict[str, Any], fields: dict[str, Any]) -> None:
    assert options(**keys) == Options(**fields)


def test_an_edited_limit_keeps_its_key() -> None:
    request = read(body(max_tokens=9))
    edited = request.replace(options=request.options.replace(max_output_tokens=7))
    assert DIALECT.write_request(edited).wire["max_tokens"] == 7


def test_thinking_that_is_switched_on_again_says_how_much() -> None:
    request = read(body(thinking={"type": "disabled"}))
    edited = request.replace(options=request.options.replace(reasoning=Reasoning("low")))
    wire = DIALECT.write_request(edited).wire
    assert (wire["reasoning_effort"], wire["thinking"]) == ("low", {"type": "enabled"})


def test_all_efforts_have_a_word() -> None:
    assert [said(reasoning=Reasoning(effort))[0]["reasoning_effort"] for effort in EFFORTS] == list(
        EFFORTS
    )


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"top_k": 5.0}, "top_k"),
        ({"min_p": 0.5}, "min_p"),
        ({"repetition_penalty": 1.1}, "repetition_penalty"),
        ({"cache": Cache()}, "cache"),
        ({"reasoning": Reasoning(budget_tokens=9)}, "reasoning"),
        ({"reasoning": Reasoning("low", visible=True)}, "reasoning.visible"),
        ({"service_tier": "turbo"}, "service_tier"),
        ({"verbosity": "endless"}, "verbosity"),
    ],
)
def test_what_the_wire_cannot_say_is_reported(fields: dict[str, Any], path: str) -> None:
    assert said(**fields)[1] == [("dropped", f"$.options.{path}")]


def test_what_it_can_only_nearly_say_is_reported_too() -> None:
    assert said(modalities=("text", "image")) == (
        {"modalities": ["text"]},
        [("approximated", "$.options.modalities")],
    )
    assert said(logit_bias={"5": 0.7}) == (
        {"logit_bias": {"5": 1}},
        [("approximated", "$.options.logit_bias")],
    )


# The shape of the answer


@pytest.mark.parametrize(
    ("wire", "meant"),
    [
        ({"type": "text"}, ResponseFormat("text")),
        ({"type": "json_object"}, ResponseFormat("json")),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
            ResponseFormat("json_schema", "a", SCHEMA, True),
        ),
        (
            {"type": "json_schema", "json_schema": {"schema": SCHEMA, "strict": None}},
            ResponseFormat("json_schema", None, SCHEMA),
        ),
        (
            {"type": "json_schema", "json_schema": {"name": "a", "odd": 1}, "more": 2},
            ResponseFormat("json_schema", "a"),
        ),
        ({"type": "grammar", "grammar": "root ::= a"}, None),
    ],
)
def test_formats_of_the_answer(wire: dict[str, Any], meant: ResponseFormat | None) -> None:
    assert options(response_format=wire).response_format == meant


def test_a_schema_without_a_name_is_given_one_and_that_is_reported() -> None:
    wanted = ResponseFormat("json_schema", schema=SCHEMA)
    keys, lost = said(response_format=wanted)
    assert options(**keys).response_format == wanted.replace(name="response")
    assert lost == [("approximated", "$.options.response_format.name")]


def test_what_stood_beside_a_schema_goes_with_it() -> None:
    schema = {"name": "a", "schema": SCHEMA, "strict": None, "odd": 1}
    request = read(body(response_format={"type": "json_schema", "json_schema": schema}))
    plain = request.options.replace(response_format=ResponseFormat("json"))
    wire = DIALECT.write_request(request.replace(options=plain)).wire
    assert wire["response_format"] == {"type": "json_object"}


def test_keys_that_only_this_wire_has_are_kept() -> None:
    keys = {
        "prediction": {"type": "content", "content": "a"},
        "audio": {"format": "wav", "voice": "alloy"},
        "stream_options": {"include_usage": True},
        "store": False,
        "web_search_options": {},
    }
    assert read(body(**keys)).raw == {"openai-chat": keys}
    blank = read(body(prompt_cache_key=None))
    assert blank.raw == {"openai-chat": {"$form": {"spelled": {"prompt_cache_key": None}}}}


def test_what_is_private_to_another_dialect_is_a_loss() -> None:
    _, lost = said(raw={"gemini": {"safetySettings": []}, "openai-chat": {"store": True}})
    assert lost == [("dropped", "$.options.raw.gemini.safetySettings")]


def test_thinking_by_default_is_thinking_that_is_on() -> None:
    request = read(body(reasoning_effort="default"))
    assert request.options.reasoning == Reasoning(mode="on")
    off = request.options.replace(reasoning=Reasoning(mode="off"))
    wire = DIALECT.write_request(request.replace(options=off)).wire
    assert wire["reasoning_effort"] == "none"


@pytest.mark.parametrize("flag", ["enable_thinking", "thinking"])
def test_a_template_s_flag_is_a_switch_for_thinking(flag: str) -> None:
    for value, mode in ((True, "on"), (False, "off")):
        wire = body(chat_template_kwargs={flag: value, "other": 1})
        request = read(wire)
        assert request.options.reasoning == Reasoning(mode=mode)
        assert DIALECT.write_request(request).wire == wire
    other = read(wire).options.replace(reasoning=Reasoning(mode="on"))
    edited = DIALECT.write_request(read(wire).replace(options=other)).wire
    assert edited["chat_template_kwargs"] == {flag: True, "other": 1}
