"""The next turn of a conversation: the provider gets the same bytes, whatever is remembered; no key
gets anything out of what another has sent."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.adapt.remembered import Conversations, Figures
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import Limits, Settings
from interlingua.gateway.shared.state import Principal
from interlingua.gateway.telemetry.metrics import Metrics
from interlingua.gateway.upstream.transport import may_name_files
from tests.gateway.loops import ANSWERS, post
from tests.gateway.relay.test_fitted import KEYS, Listening
from tests.laws.test_incremental import AGENT

BACKS = {
    "anthropic": "anthropic:claude-sonnet-4-5",
    "openai-chat": "openai:gpt-4.1",
    "gemini": "gemini:gemini-2.5-flash",
}
FRONTS = {"openai-chat": "/v1/chat/completions", "anthropic": "/v1/messages"}


class ByToken:
    """Keys that are whatever token comes in."""

    on_void: Any = None

    async def find(self, token: str | None) -> Principal:
        return Principal(key_id=token)

    async def current(self, principal: Principal) -> Principal:
        return principal


def gateway_to(dialect: str, conversations: int, keys: Any = None) -> tuple[Gateway, Listening]:
    answer = il.convert(ANSWERS["anthropic"][-1], "anthropic", dialect, "response").wire
    provider = Listening(dialect, [answer] * 20)
    gateway = Gateway(
        Settings(raises=True, limits=Limits(conversations=conversations)),
        targets=Targets(
            keys=KEYS,
            base_urls={key: f"http://127.0.0.1:9/{key}" for key in KEYS},
            environ={},
            profiles=(),
        ),
        transport=provider,
        keys=keys,
    )
    gateway.conversations.least = 0
    return gateway, provider


def turns(front: str, model: str) -> list[dict[str, Any]]:
    wire = il.convert(AGENT, "openai-chat", front).wire
    counts = range(2, len(wire["messages"]) + 1, 2)
    return [{**wire, "model": model, "messages": wire["messages"][:n]} for n in counts]


async def ask(gateway: Gateway, front: str, bodies: list[dict[str, Any]]) -> None:
    for body in bodies:
        status, data = await post(App(gateway), FRONTS[front], body)
        assert status == 200, data


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("back", BACKS)
def test_the_provider_gets_what_it_gets_without_memory(front: str, back: str) -> None:
    bodies = turns(front, BACKS[back])
    sent = []
    for size in (2**24, 0):
        gateway, provider = gateway_to(back, size)
        asyncio.run(ask(gateway, front, bodies))
        sent.append(provider.bodies)
        hits = gateway.conversations.figures.hits
        assert hits == (len(bodies) - 1 if size and front != back else 0)
    assert sent[0] == sent[1]


class Naming(Listening):
    """Keeps whether a body had to be searched for files."""

    def __init__(self, dialect: str, answers: list[Any]) -> None:
        super().__init__(dialect, answers)
        self.searched: list[bool] = []

    async def send(self, request: HttpRequest, limits: Any) -> Any:
        self.searched.append(request.may_name_files)
        return await super().send(request, limits)


@pytest.mark.parametrize("named", ["file_id", "\\u0066ile_id"])
def test_bodies_that_may_name_a_file_are_searched_whole(named: str) -> None:
    gateway, _ = gateway_to("anthropic", 2**24)
    provider = gateway.transport = Naming("anthropic", [ANSWERS["anthropic"][-1]] * 20)
    texts = ["a" * 3000, "b", "c", "d", named, "e", "f", "g", "h"]
    roles = ("user", "assistant")
    messages = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    model = BACKS["anthropic"]
    bodies = [{"model": model, "messages": messages[:count]} for count in (1, 3, 5, 7, 3, 9)]
    asyncio.run(ask(gateway, "openai-chat", bodies))
    assert gateway.conversations.figures.hits == 5
    named_in = [may_name_files(body) for body in provider.bodies]
    assert named_in == [False, False, True, True, False, True]
    assert provider.searched[1:4] == [False, True, True]
    assert provider.searched[5]


def test_keys_share_nothing() -> None:
    conversations = Conversations(2**24, least=0)
    body, dialect = msgspec.json.encode(AGENT), il.dialect("openai-chat")
    first = conversations.read(body, dialect, owner="gk_1")
    other = conversations.read(body, dialect, owner="gk_2")
    assert first is not None
    assert other is not None
    assert conversations.figures.hits == 0
    own = {id(message) for message in first.messages}
    assert not own & {id(message) for message in other.messages}
    conversations.forget("gk_1")
    assert len(conversations) == 1
    assert conversations.size == other.size


def test_a_void_key_is_forgotten() -> None:
    keys = ByToken()
    gateway, _ = gateway_to("anthropic", 2**24, keys)
    gateway.conversations.read(msgspec.json.encode(AGENT), il.dialect("openai-chat"), owner="gk_1")
    keys.on_void("gk_1")
    assert len(gateway.conversations) == 0


def test_metrics_count_what_is_remembered() -> None:
    metrics = Metrics()
    figures = Figures(hits=2, misses=1)
    metrics.watch(figures)
    metrics.flush()
    figures.hits += 1
    text = metrics.text().decode()
    assert 'interlingua_conversations_total{outcome="hits"} 3.0' in text
    assert 'interlingua_conversations_total{outcome="misses"} 1.0' in text


def test_other_settings_make_room() -> None:
    gateway, _ = gateway_to("anthropic", 2**24)
    gateway.conversations.read(msgspec.json.encode(AGENT), il.dialect("openai-chat"))
    gateway.reload(Settings(limits=Limits(conversations=0)), gateway.targets)
    assert len(gateway.conversations) == 0
    assert gateway.conversations.size == 0
