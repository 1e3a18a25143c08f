"""A refusal is believed where it names one option that was sent, and general where it names no
condition."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import pytest

from interlingua.adapt.fit.lessons import (
    Lesson,
    Refused,
    allowed_in,
    members_of,
    refused_in,
    repaired,
    rule_of,
)
from interlingua.profiles.reading import read_rules

WIRE: dict[str, Any] = {
    "model": "m",
    "messages": [],
    "temperature": 1,
    "presence_penalty": 1,
    "reasoning_effort": "high",
    "store": False,
    "output_config": {"effort": "high", "format": {}},
    "generationConfig": {"topK": 3, "thinkingConfig": {"thinkingLevel": "HIGH"}},
}


def refused(text: str, wire: dict[str, Any], param: str | None = None) -> Refused | None:
    body = members_of(json.dumps(wire).encode())
    assert body is not None
    return refused_in(text, body, "new-1", param)


def lesson_of(found: Refused) -> Lesson:
    return Lesson("openai", "new-1", "openai-chat", found.path, found.allowed)


def changed(wire: dict[str, Any], *lessons: Lesson) -> dict[str, Any]:
    body = members_of(json.dumps(wire).encode())
    assert body is not None
    return json.loads(msgspec.json.encode(repaired(body, lessons)[0]))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("`temperature` is deprecated for this model.", ("temperature",)),
        ("Unrecognized request argument supplied: reasoning_effort", ("reasoning_effort",)),
        ("Model new-1 does not support parameter presencePenalty.", ("presence_penalty",)),
        ("This model does not support the effort parameter.", ("output_config", "effort")),
        ("temperature: Extra inputs are not permitted", ("temperature",)),
        (
            "thinkingConfig.thinkingLevel is not supported by this model",
            ("generationConfig", "thinkingConfig", "thinkingLevel"),
        ),
        (
            "Invalid JSON payload received. Unknown name \"topK\" at 'generation_config': "
            "Cannot find field.",
            ("generationConfig", "topK"),
        ),
        ("messages: roles must alternate", None),
        ("temperature and presence_penalty are not supported", None),
        ("temperature: expected a number", None),
        ("The model `m` does not support messages", None),
        ("Unsupported parameter: 'store'", None),
        ("temperature is not supported with store", None),
    ],
)
def test_a_refusal_is_believed_where_it_names_one_option_that_was_sent(
    text: str, place: tuple[str, ...] | None
) -> None:
    found = refused(text, WIRE)
    assert (found and found.path) == place
    assert found is None or found.is_general


@pytest.mark.parametrize(
    "text",
    [
        "Unsupported value: 'temperature' does not support 0.2 with this model. "
        "Only the default (1) value is supported.",
        "`temperature` is not supported when thinking is enabled.",
        "temperature is not supported with tools",
        "temperature is not supported for streaming",
        "temperature is not supported together with a budget",
        "temperature is not supported for this request",
        "temperature is not supported for your organization",
        "temperature must be between 0 and 1 when thinking is enabled",
        "temperature must be at most 1 for new-1-mini",
    ],
)
def test_a_refusal_with_a_condition_repairs_one_request_and_is_no_lesson(text: str) -> None:
    found = refused(text, {"model": "new-1", "messages": [], "temperature": 1.5})
    assert found is not None
    assert not found.is_general


@pytest.mark.parametrize(
    ("text", "path", "before", "after", "rule"),
    [
        (
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
            ("reasoning_effort",),
            "minimal",
            "none",
            'reasoning.efforts = ["none","low","medium","high","xhigh"]',
        ),
        (
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, "
            "medium.",
            ("output_config", "effort"),
            "xhigh",
            "high",
            'reasoning.efforts = ["low","medium","high","max"]',
        ),
        (
            "generationConfig.thinkingConfig.thinkingLevel: must be one of ['LOW', 'HIGH']",
            ("generationConfig", "thinkingConfig", "thinkingLevel"),
            "MEDIUM",
            "LOW",
            'reasoning.efforts = ["low","high"]',
        ),
        (
            "verbosity: expected one of `medium`",
            ("verbosity",),
            "high",
            "medium",
            'output.verbosity = ["medium"]',
        ),
        (
            "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for "
            "new-1",
            ("max_tokens",),
            100_000,
            64_000,
            "limits.output = 64000",
        ),
        (
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
            ("max_tokens",),
            100_000,
            16_384,
            "limits.output = 16384",
        ),
        (
            "Invalid max_completion_tokens value, the maximum is 8192",
            ("max_completion_tokens",),
            9000,
            8192,
            "limits.output = 8192",
        ),
        (
            "temperature: range: 0..1",
            ("temperature",),
            1.5,
            1,
            "sampling.temperature_range = [0.0,1.0]",
        ),
        (
            "Validation: Temperature must be between 0 and 2, got 100",
            ("temperature",),
            100,
            2,
            "sampling.temperature_range = [0.0,2.0]",
        ),
        (
            "Unable to submit request because it has a maxOutputTokens value of 100000 but the "
            "supported range is from 1 (inclusive) to 65537 (exclusive).",
            ("generationConfig", "maxOutputTokens"),
            100_000,
            65_536,
            "limits.output = 65536",
        ),
    ],
)
def test_a_value_that_a_refusal_allows_takes_the_place_of_a_larger_one(
    text: str, path: tuple[str, ...], before: Any, after: Any, rule: str
) -> None:
    def body(value: Any) -> dict[str, Any]:
        made: Any = value
        for key in reversed(path):
            made = {key: made}
        return {"model": "m", "messages": [], "seed": 1, **made}

    found = refused(text, body(before))
    assert found is not None
    assert (found.path, found.is_general) == (path, True)
    lesson = lesson_of(found)
    assert changed(body(before), lesson) == body(after)
    assert changed(body(after), lesson) == body(after)
    assert rule in rule_of(lesson).splitlines()
    read_rules(rule_of(lesson).encode(), "learned")


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 4097 tokens.",
        "messages must be between 1 and 100",
        "Too many strict tools (21). The maximum number of strict tools supported is 20.",
        "seed and temperature must be between 0 and 1",
        "max_tokens must be at most 8192",  # which it is
        "max_tokens must be at least 60000",
        "max_tokens must be between 60000 and 90000",
        "max_tokens must be at most -1",  # which some take for no limit
        "max_tokens must be at most 0",
        f"temperature must be at least {'9' * 400}",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "tool_choice: Input should be 'none' or 'auto'",
        "service_tier must be one of 'priority', 'default'",
        "reasoning_effort must be one of 'high', 'xhigh'",
        "n must be at least 100",
    ],
)
def test_a_refusal_that_asks_for_more_or_for_something_else_changes_nothing(text: str) -> None:
    wire = {
        **{"model": "m", "messages": [], "max_tokens": 100, "seed": 7, "temperature": 1.5},
        **{"tool_choice": "required", "service_tier": "flex", "reasoning_effort": "low", "n": 1},
    }
    assert refused(text, wire) is None


def test_all_lessons_are_applied_to_a_body_and_empty_objects_go() -> None:
    raw = b'{"seed":1,"big":123456789012345678901234567890,"generationConfig":{"topK":3}}'
    lessons = [Lesson("p", "m", "d", path) for path in (("seed",), ("generationConfig", "topK"))]
    body = members_of(raw)
    assert body is not None
    new, used = repaired(body, [*lessons, Lesson("p", "m", "d", ("min_p",))])
    assert msgspec.json.encode(new) == b'{"big":123456789012345678901234567890}'
    assert used == lessons


def test_a_parameter_without_a_field_is_a_comment() -> None:
    lesson = Lesson("openai", "new-1", "openai-chat", ("typical_p",))
    assert "# no field describes typical_p" in rule_of(lesson)


def test_a_body_of_many_keys_is_looked_through_quickly() -> None:
    wire = {f"key_{n}": n for n in range(50_000)}
    text = "Unsupported: " + " ".join(f"other_{n}" for n in range(150))
    begun = time.perf_counter()
    assert refused(text, wire) is None
    assert time.perf_counter() - begun < 2


def test_words_are_read_in_lower_case_and_numbers_only_if_finite() -> None:
    assert allowed_in("must be one of ['LOW', 'High']").words == ("low", "high")
    assert not allowed_in(f"at most {'9' * 400}")
