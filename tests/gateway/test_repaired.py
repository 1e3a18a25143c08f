"""A refusal that names one parameter is answered by one more try without it, and remembered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.fitting.learned import Lesson, named_in, rule_of, without
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.lessons import Lessons, read_lessons
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import Route, Settings
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


def ask(app: App, model: str = "new-1", **fields: Any) -> tuple[int, Any]:
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
    "settings", [{"repair": False}, {"routes": {"new-1": Route("openai:new-1", passthrough=True)}}]
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
