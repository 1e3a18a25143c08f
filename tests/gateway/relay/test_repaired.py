"""A refusal that names one parameter may be answered by one more try without it. The caller never
gets more than was asked for, and loses nothing that protects."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.adapt.fit.lessons import rule_of
from interlingua.client.errors import CallError
from interlingua.client.lessons import Lessons, read_lessons
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits
from interlingua.costs.table import PriceTable
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.keys import Keys
from interlingua.gateway.relay.app import App
from interlingua.gateway.sessions.metered_client import MeteredClient
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.principal import usd
from interlingua.gateway.shared.state import Principal
from interlingua.profiles.reading import read_rules
from interlingua.store.open import open_async_store, open_store
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
        result = Answered([json.dumps({"error": error}).encode()])
        result.status = 400
        return result

    async def close(self) -> None:
        return None


class Tenants:
    """Each token is a key of its own."""

    async def find(self, token: str | None) -> Principal:
        return Principal(token, refuse_losses=token == "strict")

    async def current(self, principal: Principal, *, looked_up: bool = False) -> Principal:
        return principal


def app_of(provider: Choosy, lessons: Lessons | None = None, **settings: Any) -> App:
    targets = Targets(
        keys={"openai": "k"}, base_urls={"openai": "http://127.0.0.1:9"}, environ={}, profiles=()
    )
    made = Settings(raises=True, **settings)
    gateway = Gateway(made, targets=targets, transport=provider, lessons=lessons, keys=Tenants())
    return App(gateway)


def ask(app: App, key: str | None = None, **fields: Any) -> tuple[int, Any]:
    body = {"model": "openai:new-1", "messages": [{"role": "user", "content": "hi"}], **fields}
    status, data = asyncio.run(post(app, "/v1/chat/completions", body, key))
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
    status, reply = ask(app_of(provider, lessons), logit_bias={"1": 2}, seed=1)
    assert status == 400
    assert "logit_bias" in reply["error"]["message"]
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


def test_what_one_key_has_learned_is_not_applied_to_another() -> None:
    provider = Choosy("logit_bias")
    app = app_of(provider)
    for key in "aab":
        assert ask(app, key, logit_bias={"1": 2})[0] == 200
    tried = ["logit_bias" in body for body in provider.asked]
    assert tried == [True, False, False, True, False]
    assert ask(app, "c", logit_bias={"1": 2})[0] == 200  # two have learned it
    assert len(provider.asked) == 6


def test_sessions_repair_for_their_own_key_too() -> None:
    provider = Choosy("logit_bias")
    gateway = app_of(provider).gateway

    async def turn(key: str) -> None:
        client = MeteredClient(gateway, Principal(key))
        await client.generate("openai:new-1", "hi", options=il.Options(logit_bias={"1": 2}))

    for key in "aab":
        asyncio.run(turn(key))
    tried = ["logit_bias" in body for body in provider.asked]
    assert tried == [True, False, False, True, False]


def test_a_key_that_refuses_losses_gets_the_refusal() -> None:
    provider = Choosy("logit_bias")
    assert ask(app_of(provider), "strict", logit_bias={"1": 2})[0] == 400
    assert len(provider.asked) == 1


PROTECTING: dict[str, Any] = {
    "store": False,
    "metadata": {"patient": "17"},
    "provider": {"data_collection": "deny", "zdr": True},
    "safety_identifier": "u",
    "moderation": {"mode": "strict"},
    "response_format": {"type": "json_object"},
    "tool_choice": "none",
    "stop": ["END"],
    "service_tier": "flex",
}


@pytest.mark.parametrize("name", PROTECTING)
def test_what_protects_is_not_taken_off_and_the_caller_hears_the_refusal(name: str) -> None:
    provider = Choosy(name, text=f"Unsupported parameter: '{name}' is not supported.")
    app = app_of(provider)
    for key in "ab":
        status, answer = ask(app, key, **{name: PROTECTING[name]})
        assert (status, name in answer["error"]["message"]) == (400, True)
    assert [body[name] for body in provider.asked] == [PROTECTING[name]] * 2


def test_a_refusal_with_a_condition_is_no_rule() -> None:
    text = "Unsupported value: 'temperature' does not support 0.2. Only the default is supported."

    class Warm(Choosy):
        async def send(self, request: HttpRequest, limits: Limits) -> Answered:
            cold = json.loads(request.body).get("temperature", 1) < 1
            self.refused = ("temperature",) if cold else ()
            return await super().send(request, limits)

    provider = Warm(text=text)
    lessons = Lessons()
    app = app_of(provider, lessons)
    for value in (0.2, 1, 0.2):
        assert ask(app, temperature=value)[0] == 200
    tried = [body.get("temperature") for body in provider.asked]
    assert tried == [0.2, None, 1, 0.2, None]
    assert len(lessons) == 0


MODEL = "openai:gpt-5"
TABLE = PriceTable.from_dict(
    {
        "pricing_version": "test",
        "models": {MODEL: {"input_per_mtok_usd": 1, "output_per_mtok_usd": 10}},
    }
)
ASKED: dict[str, Any] = {
    "max_completion_tokens": 50,
    "n": 1,
    "service_tier": "flex",
    "reasoning_effort": "low",
    "verbosity": "low",
}
HOSTILE = [
    "max_completion_tokens must be at least 60000",
    "max_completion_tokens must be between 60000 and 90000",
    "Unsupported parameter: 'max_completion_tokens' is not supported with this model.",
    "max_completion_tokens must be at most -1",
    "max_completion_tokens must be at most 0",
    "max_completion_tokens: range: 60000..1",
    "n must be at least 100",
    "n must be at most -1",
    "service_tier must be one of 'priority'",
    "Unsupported parameter: 'service_tier'",
    "reasoning_effort must be one of 'xhigh', 'max'",
    "Unsupported parameter: 'reasoning_effort'",
    "verbosity must be one of 'high'",
    "Unsupported parameter: 'verbosity'",
    "max_completion_tokens must be at most 7",
    "reasoning_effort must be one of 'minimal', 'max'",
]


class Greedy(Choosy):
    """Refuses what it is asked first, and then writes as much as it was allowed to."""

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        body = json.loads(request.body)
        self.refused = () if len(self.asked) % 2 else ("model",)
        if not self.refused:
            most = body.get("max_completion_tokens", 100_000)
            most = 100_000 if most < 1 else most
            written = most * max(body.get("n", 1), 1)
            usage = {"prompt_tokens": 5, "completion_tokens": written, "total_tokens": written + 5}
            self.asked.append(body)
            return Answered([json.dumps({**ANSWER, "usage": usage}).encode()])
        return await super().send(request, limits)


@pytest.mark.parametrize("text", HOSTILE)
def test_no_refusal_makes_a_request_cost_more_than_was_set_aside(text: str, tmp_path: Path) -> None:
    address = str(tmp_path / "caps.db")
    with open_store(address) as store:
        terms = key_admin.Terms(daily_cap_usd=Decimal("0.05"))
        issued = key_admin.issue(store, "k", "/w", terms)
    provider = Greedy(text=text)

    async def spend() -> tuple[Decimal, Decimal]:
        async with await open_async_store(address) as store:
            caps = Caps(store, table=TABLE)
            set_aside: list[int] = []
            reserve = caps.reserve

            async def watched(*args: Any, **how: Any) -> Any:
                reservation = await reserve(*args, **how)
                assert reservation is not None
                set_aside.append(reservation.worst.cost)
                return reservation

            caps.reserve = watched  # type: ignore[method-assign]
            targets = Targets(
                keys={"openai": "k"}, base_urls={"openai": "http://127.0.0.1:9"}, environ={}
            )
            made = Settings(raises=True)
            gateway = Gateway(
                made, targets=targets, transport=provider, keys=Keys(store), caps=caps
            )
            body = {"model": MODEL, "messages": [{"role": "user", "content": "hi"}], **ASKED}
            for _ in range(2):
                await post(App(gateway), "/v1/chat/completions", body, issued.token)
            await caps.close()
            (day, *_) = await store.spent([issued.key.id], datetime.now(UTC).date().isoformat())
            return usd(day.spent), usd(sum(set_aside))

    counted, reserved = asyncio.run(spend())
    assert counted <= reserved < Decimal("0.05")
    for body in provider.asked:
        assert 1 <= body["max_completion_tokens"] <= 50
        assert body.get("n", 1) == 1
        assert body["service_tier"] == "flex"
        assert body["reasoning_effort"] in ("minimal", "low")
        assert body["verbosity"] == "low"


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
        assert [(loss.path, loss.rule) for loss in report.entries] == [
            ("$.options.logit_bias", "learned")
        ]


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
