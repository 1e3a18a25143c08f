"""A refusal that names one parameter is answered by one more try without it, and remembered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.client.errors import CallError
from interlingua.client.lessons import Lessons, read_lessons
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.fitting.lessons import Lesson, apply_lesson, named_in, rule_of, taught_by, without
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.models.reading import read_rules
from tests.gateway.loops import Answered, post

ANSWER = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "new-1",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "ho"}, "finish_reason": "stop"}
    ],
}
TEXT = "Unsupported parameter: 'logit_bias' is not supported with this model."


class Choosy:
    """A model that takes neither of some parameters."""

    def __init__(self, *refused: str, text: str = TEXT) -> None:
        self.refused = refused
        self.text = text
        self.asked: list[Any] = []

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        body = json.loads(request.body)
        self.asked.append(body)
        odd = next((name for name in self.refused if name in body), None)
        if odd is None:
            return Answered([json.dumps(ANSWER).encode()])
        error = {"message": self.text, "type": "invalid_request_error", "param": None}
        told = Answered([json.dumps({"error": error}).encode()])
        told.status = 400
        return told

    async def close(self) -> None:
        return None


def app_of(provider: Choosy, lessons: Lessons | None = None, **settings: Any) -> App:
    targets = Targets(
        keys={"openai": "k"}, base_urls={"openai": "http://127.0.0.1:9"}, environ={}, profiles=()
    )
    made = Settings(raises=True, **settings)
    return App(Gateway(made, targets=targets, transport=provider, lessons=lessons))


def ask(app: App, model: str = "openai:new-1", **fields: Any) -> tuple[int, Any]:
    body = {"model": model, "messages": [{"role": "user", "content": "hi"}], **fields}
    status, data = asyncio.run(post(app, "/v1/chat/completions", body))
    return status, json.loads(data)


def test_it_is_asked_once_more_without_it_and_not_sent_again(tmp_path: Path) -> None:
    provider = Choosy("logit_bias")
    lessons = Lessons(tmp_path / "learned.jsonl")
    app = app_of(provider, lessons)
    assert ask(app, logit_bias={"1": 2}, seed=1)[0] == 200
    assert [("logit_bias" in body, body["seed"]) for body in provider.asked] == [
        (True, 1),
        (False, 1),
    ]
    assert ask(app, logit_bias={"1": 2})[0] == 200
    assert len(provider.asked) == 3
    (lesson,) = read_lessons(tmp_path / "learned.jsonl")
    assert (lesson.provider, lesson.model, lesson.path) == ("openai", "new-1", ("logit_bias",))
    (rule,) = read_rules(rule_of(lesson).encode(), "learned")
    assert rule.sampling is not None
    assert rule.sampling.logit_bias == "never"


def test_only_once_and_then_the_client_hears_the_refusal() -> None:
    provider = Choosy("logit_bias", "seed", text="Unsupported parameter: 'logit_bias'.")
    lessons = Lessons()
    status, told = ask(app_of(provider, lessons), logit_bias={"1": 2}, seed=1)
    assert status == 400
    assert "logit_bias" in told["error"]["message"]
    assert len(provider.asked) == 2
    assert len(lessons) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"repair": False},
        {"routes": {"openai:new-1": RouteSettings("openai:new-1", passthrough=True)}},
    ],
)
def test_nothing_is_tried_where_nobody_wants_it(settings: dict[str, Any]) -> None:
    provider = Choosy("logit_bias")
    assert ask(app_of(provider, **settings), logit_bias={"1": 2})[0] == 400
    assert len(provider.asked) == 1


WIRE: dict[str, Any] = {
    "model": "m",
    "messages": [],
    "temperature": 1,
    "presence_penalty": 1,
    "reasoning_effort": "low",
    "output_config": {"effort": "low", "format": {}},
    "generationConfig": {"topK": 3, "thinkingConfig": {"thinkingLevel": "LOW"}},
}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("`temperature` is deprecated for this model.", ("temperature",)),
        ("Unrecognized request argument supplied: reasoning_effort", ("reasoning_effort",)),
        ("Model grok-4.6 does not support parameter presencePenalty.", ("presence_penalty",)),
        ("This model does not support the effort parameter.", ("output_config", "effort")),
        (
            "Thinking level is not supported: thinkingConfig.thinkingLevel",
            ("generationConfig", "thinkingConfig", "thinkingLevel"),
        ),
        ('Unknown name "topK": Cannot find field.', ("generationConfig", "topK")),
        ("messages: roles must alternate", None),
        ("temperature and presence_penalty are not supported", None),
        ("temperature: expected a number", None),
        ("The model `m` does not support messages", None),
    ],
)
def test_a_refusal_is_believed_where_it_names_one_thing_that_was_sent(
    text: str, place: tuple[str, ...] | None
) -> None:
    assert named_in(text, WIRE) == place


def test_an_object_that_is_empty_then_goes_too() -> None:
    wire = {"a": 1, "generationConfig": {"thinkingConfig": {"level": 1}}}
    assert without(wire, ("generationConfig", "thinkingConfig", "level")) == {"a": 1}
    assert without(wire, ("b",)) is None


def test_a_parameter_without_a_field_is_a_comment() -> None:
    lesson = Lesson("openai", "new-1", "openai-chat", ("web_search_options",), TEXT)
    assert "# no field speaks of web_search_options" in rule_of(lesson)


def lesson_of(text: str, wire: dict[str, Any], param: str | None = None) -> Lesson | None:
    taught = taught_by(text, wire, param)
    return taught and Lesson("openai", "new-1", "openai-chat", taught[0], text, taught[1])


@pytest.mark.parametrize(
    ("text", "path", "before", "after", "rule"),
    [
        (
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. "
            "Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
            ("reasoning_effort",),
            "minimal",
            "low",
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
            "tool_choice: Input should be 'none' or 'auto'",
            ("tool_choice",),
            "required",
            "auto",
            "# no field speaks of tool_choice",
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
            "claude-sonnet-4-5",
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
            "Invalid max_tokens value, the maximum is 8192",
            ("max_tokens",),
            9000,
            8192,
            "limits.output = 8192",
        ),
        (
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but "
            "got 1 instead.",
            ("max_output_tokens",),
            1,
            16,
            "limits.min_output = 16",
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
def test_a_value_that_a_refusal_says_is_taken_is_said(
    text: str, path: tuple[str, ...], before: Any, after: Any, rule: str
) -> None:
    def body(value: Any) -> dict[str, Any]:
        made: Any = value
        for key in reversed(path):
            made = {key: made}
        return {"model": "m", "messages": [], "seed": 1, **made}

    lesson = lesson_of(text, body(before))
    assert lesson is not None
    assert lesson.path == path
    assert apply_lesson(body(before), lesson) == body(after)
    assert apply_lesson(body(after), lesson) is None  # from then on it has nothing to mend
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
    ],
)
def test_a_number_that_is_about_something_else_changes_nothing(text: str) -> None:
    wire = {"model": "m", "messages": [], "max_tokens": 100, "seed": 7, "temperature": 1.5}
    assert lesson_of(text, wire) is None


def test_a_limit_is_clamped_from_then_on() -> None:
    class Short(Choosy):
        async def send(self, request: HttpRequest, limits: Limits) -> Answered:
            self.refused = ("max_tokens",) if json.loads(request.body)["max_tokens"] > 50 else ()
            return await super().send(request, limits)

    provider = Short(text="max_tokens is too large: 99. This model supports at most 50 tokens.")
    app = app_of(provider, Lessons())
    for most in (99, 70, 20):
        assert ask(app, max_tokens=most)[0] == 200
    assert [body["max_tokens"] for body in provider.asked] == [99, 50, 50, 20]


def test_a_client_repairs_where_it_was_asked_to() -> None:
    async def asked(provider: Choosy, repair: bool) -> list[il.Report]:
        options = il.Options(logit_bias={"1": 2})
        async with il.AsyncClient(
            keys={"openai": "k"}, transport=provider, environ={}, profiles=False, repair=repair
        ) as client:
            asks = [("openai:new-1", "hi"), ("openai:new-1", "and?")]
            return [(await client.generate(*each, options=options)).report for each in asks]

    with pytest.raises(CallError, match="logit_bias"):
        asyncio.run(asked(Choosy("logit_bias"), repair=False))
    provider = Choosy("logit_bias")
    reports = asyncio.run(asked(provider, repair=True))
    assert ["logit_bias" in body for body in provider.asked] == [True, False, False]
    for report in reports:
        assert [(loss.path, loss.rule) for loss in report] == [("$.options.logit_bias", "learned")]


def test_a_stream_of_a_client_is_repaired_too() -> None:
    class Streaming(Choosy):
        async def send(self, request: HttpRequest, limits: Limits) -> Answered:
            told = await super().send(request, limits)
            if told.status != 200:
                return told
            piece = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "new-1"}
            choice = {"index": 0, "delta": {"content": "ho"}, "finish_reason": "stop"}
            line = json.dumps({**piece, "choices": [choice]})
            told = Answered([f"data: {line}\n\ndata: [DONE]\n\n".encode()])
            told.headers = {"content-type": "text/event-stream"}
            return told

    async def asked() -> str:
        async with (
            il.AsyncClient(
                keys={"openai": "k"}, transport=provider, environ={}, profiles=False, repair=True
            ) as client,
            client.stream("openai:new-1", "hi", options=il.Options(logit_bias={"1": 2})) as stream,
        ):
            async for _ in stream:
                pass
            return stream.response().message.text

    provider = Streaming("logit_bias")
    assert asyncio.run(asked()) == "ho"
    assert ["logit_bias" in body for body in provider.asked] == [True, False]
