"""Which deployment of a pool a request goes to."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from interlingua.client.errors import AuthError, CallError, RateLimitError, ServerError
from interlingua.client.targets import Targets
from interlingua.gateway.pools import Member, Pool, PoolState, conversation_of, members_of
from interlingua.gateway.settings import (
    PoolMember,
    ProviderSettings,
    RouteSettings,
    Settings,
    Strategy,
)
from tests.agents.chat.provider import KEY
from tests.gateway.serving import OPENAI, Upstream, asked, key, served, settings_in
from tests.loopback import reply

TARGETS = Targets(environ={})


class Time:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def pool(
    *weights: float, strategy: Strategy = "weighted", clock: Time | None = None, seed: int = 1
) -> Pool:
    target = TARGETS.find(OPENAI)
    members = [
        Member(target.deployed(str(number), target.provider), weight)
        for number, weight in enumerate(weights, 1)
    ]
    return Pool(members, strategy, True, None, clock or Time(), random.Random(seed).random)


def first(found: Pool, name: str | None = None) -> str:
    return found.order(name)[0].target.deployment


@pytest.mark.parametrize("weights", [(1.0, 1.0), (3.0, 1.0), (5.0, 3.0, 2.0)])
@pytest.mark.parametrize("named", [True, False])
def test_shares_follow_the_weights(weights: tuple[float, ...], named: bool) -> None:
    found, many = pool(*weights), 20_000
    counts = Counter(first(found, f"c{n}" if named else None) for n in range(many))
    for number, weight in enumerate(weights, 1):
        assert counts[str(number)] / many == pytest.approx(weight / sum(weights), abs=0.02)


def test_a_conversation_stays_with_its_member_in_every_process() -> None:
    one, other = pool(1, 1, 1, seed=1), pool(1, 1, 1, seed=2)
    for n in range(100):
        assert first(one, f"c{n}") == first(one, f"c{n}") == first(other, f"c{n}")


def test_a_member_that_goes_moves_only_its_own_conversations() -> None:
    three, two = pool(1, 1, 1), pool(1, 1)
    for n in range(200):
        before, after = first(three, f"c{n}"), first(two, f"c{n}")
        assert before == after or before == "3"


def test_the_member_that_answered_last_is_asked_again_even_where_another_would_be_chosen() -> None:
    found = pool(1, 1, strategy="least_busy")
    found.remember(["mine"], f"{OPENAI}#2")
    found.begin(f"{OPENAI}#2")
    assert first(found, "mine") == "2"
    assert first(found, "another") == "1"


def test_strategies_look_at_what_is_known_of_the_members() -> None:
    clock = Time()
    busy = pool(1, 1, strategy="least_busy", clock=clock)
    busy.begin(f"{OPENAI}#1")
    assert {first(busy) for _ in range(20)} == {"2"}
    busy.finished(f"{OPENAI}#1", 0)
    assert {first(busy) for _ in range(20)} == {"1", "2"}
    slow = pool(1, 1, strategy="latency", clock=clock)
    for label, seconds in ((f"{OPENAI}#1", 2.0), (f"{OPENAI}#2", 0.5)):
        begun = slow.begin(label)
        clock.now += seconds
        slow.answered(label, begun)
    assert {first(slow) for _ in range(20)} == {"2"}
    used = pool(1, 1, strategy="usage", clock=clock)
    used.begin(f"{OPENAI}#2")
    used.finished(f"{OPENAI}#2", 500)
    assert {first(used) for _ in range(20)} == {"1"}
    for _ in range(2):
        used.begin(f"{OPENAI}#1")
    assert {first(used) for _ in range(20)} == {"2"}, "two are under way, which may use as much"
    for _ in range(2):
        used.finished(f"{OPENAI}#1", 0)
    clock.now += 61
    assert {first(used) for _ in range(20)} == {"1", "2"}


@pytest.mark.parametrize(
    ("error", "pause"),
    [
        (RateLimitError("slow down", retry_after=30.0), 30.0),
        (RateLimitError("tomorrow", retry_after=1000.0), 1000.0),
        (RateLimitError("next year", retry_after=1e7), 3600.0),
        (ServerError("broken"), 5.0),
        (AuthError("no such key"), 5.0),
    ],
)
def test_a_member_that_failed_rests_and_comes_back(error: CallError, pause: float) -> None:
    clock = Time()
    found = pool(1, 1, clock=clock)
    found.begin(f"{OPENAI}#1")
    found.failed(f"{OPENAI}#1", error)
    clock.now += pause - 0.1
    assert {first(found) for _ in range(50)} == {"2"}
    assert [each.target.deployment for each in found.order()] == ["2", "1"], "it is asked last"
    clock.now += 0.2
    assert {first(found) for _ in range(50)} == {"1", "2"}


def test_requests_that_fail_together_are_one_failure() -> None:
    clock = Time()
    found = pool(1, 1, clock=clock)
    for _ in range(20):
        found.failed(f"{OPENAI}#1", ServerError("broken"))
    clock.now += 5.1
    assert {first(found) for _ in range(50)} == {"1", "2"}


def test_a_member_that_fails_again_and_again_rests_longer_up_to_a_limit() -> None:
    clock = Time()
    found = pool(1, 1, clock=clock)
    for pause in (5, 10, 20, 40, 80, 160, 300, 300):
        found.failed(f"{OPENAI}#1", ServerError("broken"))
        clock.now += pause - 0.1
        assert first(found) == "2"
        clock.now += 0.2
        assert {first(found) for _ in range(50)} == {"1", "2"}
    found.answered(f"{OPENAI}#1", clock.now)
    found.failed(f"{OPENAI}#1", ServerError("broken"))
    clock.now += 5.1
    assert {first(found) for _ in range(50)} == {"1", "2"}


class Simulated:
    """A provider that answers after some seconds, and fails or limits for some of the time."""

    def __init__(self, seconds: float, bad: list[tuple[float, float, str]]) -> None:
        self.seconds, self.bad = seconds, bad

    def failure(self, now: float) -> CallError | None:
        for begin, length, kind in self.bad:
            if begin <= now < begin + length:
                left = begin + length - now
                return RateLimitError("x", retry_after=left) if kind == "429" else ServerError("x")
        return None

    @property
    def well_from(self) -> float:
        return max([begin + length for begin, length, _ in self.bad], default=0.0)


class Simulation:
    """Requests that arrive ten times a second at a pool; each asks its members in turn."""

    def __init__(
        self, providers: list[Simulated], weights: list[float], strategy: Strategy, seed: int
    ) -> None:
        self.clock = Time()
        self.clock.now = 0.0
        self.pool = pool(*weights, strategy=strategy, clock=self.clock, seed=seed)
        self.providers = dict(zip(self.pool.members, providers, strict=True))
        self.ends: list[tuple[float, str, float]] = []
        self.answered: list[tuple[float, str]] = []
        self.lost: list[float] = []

    def run(self, seconds: int) -> None:
        for step in range(seconds * 10):
            self._until(step / 10)
            self._ask()

    def _until(self, now: float) -> None:
        for end in sorted([each for each in self.ends if each[0] <= now]):
            self.ends.remove(end)
            self.clock.now = end[0]
            self.pool.answered(end[1], end[2])
            self.pool.finished(end[1], 10)
        self.clock.now = now

    def _ask(self) -> None:
        now = self.clock.now
        for member in self.pool.order():
            label, provider = member.label, self.providers[member.label]
            begun, failure = self.pool.begin(label), provider.failure(now)
            if failure is None:
                self.ends.append((now + provider.seconds, label, begun))
                self.answered.append((now, label))
                return
            self.pool.failed(label, failure)
            self.pool.finished(label, 0)
        self.lost.append(now)

    def shares(self, begin: float) -> dict[str, float]:
        counts = Counter(label for at, label in self.answered if at >= begin)
        return {label: counts[label] / max(counts.total(), 1) for label in self.providers}


BAD = st.lists(
    st.tuples(st.floats(0, 100), st.floats(1, 40), st.sampled_from(["500", "429"])), max_size=3
)


@settings(max_examples=20, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    st.lists(st.tuples(st.floats(0.05, 3.0), BAD), min_size=3, max_size=3),
    st.sampled_from(["weighted", "least_busy", "latency", "usage"]),
    st.integers(0, 99),
)
def test_whatever_providers_do_nobody_starves_and_shares_come_back(
    members: list[tuple[float, Any]], strategy: Strategy, seed: int
) -> None:
    weights = [1.0, 2.0, 3.0]
    run = Simulation([Simulated(*each) for each in members], weights, strategy, seed)
    run.run(700)
    for at in run.lost:
        assert all(each.failure(at) for each in run.providers.values()), "one was well"
    for label, provider in run.providers.items():
        # A rest is at most five minutes, and what is slow is measured again every minute.
        since = provider.well_from
        times = [since, *[at for at, each in run.answered if each == label and at >= since], 700.0]
        pauses = [after - before for before, after in pairwise(times)]
        assert max(pauses) <= 365, f"{label} is not asked for {max(pauses)} s"
    last = max([each.well_from for each in run.providers.values()]) + 310
    if strategy in ("weighted", "usage"):
        # Usage of a minute swings for a while before it is even.
        within = 0.06 if strategy == "weighted" else 0.12
        for share, weight in zip(run.shares(last).values(), weights, strict=True):
            assert share == pytest.approx(weight / sum(weights), abs=within)


def test_a_member_that_was_slow_once_is_measured_again() -> None:
    quick, slow = Simulated(0.2, []), Simulated(3.0, [])
    run = Simulation([quick, slow], [1.0, 1.0], "latency", 1)
    run.run(120)
    assert 0 < run.shares(0)[f"{OPENAI}#2"] < 0.05, "asked for its latency alone"
    slow.seconds, quick.seconds = 0.1, 2.0
    run.answered.clear()
    for step in range(1200, 3000):
        run._until(step / 10)
        run._ask()
    assert run.shares(200)[f"{OPENAI}#2"] > 0.9, "it is the quick one now"


def body(**members: Any) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(json.dumps(members), type=dict[str, msgspec.Raw])


def turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def test_a_conversation_is_known_by_its_names_or_by_its_beginning() -> None:
    system, hello = turn("system", "Be brief."), turn("user", "Hello")
    one = conversation_of(body(messages=[system, hello]), "t")
    later = conversation_of(
        body(messages=[system, hello, turn("assistant", "Hi"), turn("user", "And?")]), "t"
    )
    other = conversation_of(body(messages=[system, turn("user", "Bye")]), "t")
    stranger = conversation_of(body(messages=[system, hello]), "u")
    assert one is not None
    assert later is not None
    assert (one.name, one.is_first, later.is_first) == (later.name, True, False)
    assert len({each and each.name for each in (one, other, stranger)}) == 3
    for name in (
        *("prompt_cache_key", "previous_response_id", "conversation"),
        *("user", "safety_identifier"),
    ):
        own = conversation_of(body(messages=[hello], **{name: "a"}), "t")
        again = conversation_of(body(messages=[turn("user", "Other")], **{name: "a"}), "t")
        assert own == again
        assert own is not None
        assert not own.is_first
    claude = conversation_of(body(messages=[hello], metadata={"user_id": "a"}), "t")
    assert claude is not None
    assert not claude.is_first
    text = conversation_of(body(input="Hello"), "t")
    assert text is not None
    assert text.is_first
    assert conversation_of(body(prompt="x"), "t") is None


def test_a_provider_with_several_keys_is_one_member_for_each() -> None:
    target = TARGETS.find(OPENAI)
    keys = {"openai": ("env:A", "env:B")}
    made = members_of([(PoolMember(OPENAI, 2.0), target)], keys, 30.0, 5.0)
    assert [(each.label, each.weight) for each in made] == [
        (f"{OPENAI}#1", 1.0),
        (f"{OPENAI}#2", 1.0),
    ]
    assert [each.target.provider.auth[0].env for each in made] == [("A",), ("B",)]
    assert {each.target.model for each in made} == {OPENAI}, "priced as the provider's own"
    assert made[0].target.provider.timeouts.total == 30.0
    assert made[0].target.provider.timeouts.first_byte == 5.0
    (alone,) = members_of([(PoolMember(OPENAI), target)], {})
    assert (alone.label, alone.target.provider) == (OPENAI, target.provider)


def test_what_is_known_of_a_pool_is_shared_by_all_fronts() -> None:
    state, target = PoolState(), TARGETS.find(OPENAI)
    members = [Member(target.deployed(name, target.provider)) for name in "12"]
    one, other = Pool(members, state=state), Pool(members, state=state)
    one.failed(f"{OPENAI}#1", ServerError("broken"))
    assert {first(other) for _ in range(20)} == {"2"}


# -- through a gateway ----------------------------------------------------------------------------


class Keyed(Upstream):
    """Fails for keys that a test names, with the status it names."""

    def __init__(self) -> None:
        super().__init__(0.0)
        self.broken: dict[str, int] = {}

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        token = str(handler.headers.get("authorization")).removeprefix("Bearer ")
        status = self.broken.get(token)
        if status is None:
            super().answer(handler, dialect, wire)
            return
        data = b'{"error": {"message": "not now", "type": "server_error"}}'
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        if status == 429:
            handler.send_header("retry-after", "20")
        handler.end_headers()
        handler.wfile.write(data)

    def tokens(self) -> Counter[str]:
        return Counter(each["authorization"].removeprefix("Bearer ") for each in self.headers)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POOL_A", "key-a")
    monkeypatch.setenv("POOL_B", "key-b")


MEMBERS = (PoolMember(OPENAI, 3.0, "env:POOL_A"), PoolMember(OPENAI, 1.0, "env:POOL_B"))


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("front", ["/v1/chat/completions", "/v1/messages"])
def test_a_route_spreads_requests_and_leaves_out_who_fails(tmp_path: Path, front: str) -> None:
    async def work(provider: Keyed) -> None:
        provider.configure(tmp_path)
        routes = {"pool": RouteSettings(OPENAI, models=MEMBERS)}
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:

            async def ask(number: int, **more: Any) -> tuple[int, dict[str, str]]:
                wire = asked(f"hello {number}", "pool", max_tokens=50, **more)
                status, _, headers = await gateway.ask("POST", front, wire)
                return status, headers

            for number in range(80):
                assert (await ask(number))[0] == 200
            counts = provider.tokens()
            assert 45 <= counts["key-a"] <= 75, counts
            provider.headers.clear()
            for _ in range(8):
                assert (await ask(1, user="one of many"))[0] == 200
            assert len(provider.tokens()) == 1, "a named conversation stays"
            for status in (500, 429, 401):
                provider.headers.clear()
                gateway.service.gateway._pools.clear()
                gateway.service.gateway._routes.clear()
                provider.broken = {"key-a": status}
                for number in range(20):
                    assert (await ask(number))[0] == 200, "the other member answers"
                assert provider.tokens()["key-b"] == 20
                assert provider.tokens()["key-a"] == 1, "asked once, then it rests"
            provider.broken = {"key-a": 500, "key-b": 500}
            assert (await ask(0))[0] >= 500

    with Keyed() as provider:
        asyncio.run(work(provider))


@pytest.mark.usefixtures("keys")
def test_several_keys_of_a_provider_serve_every_model_of_it(tmp_path: Path) -> None:
    async def work(provider: Keyed) -> None:
        provider.configure(tmp_path)
        providers = {"openai": ProviderSettings(("env:POOL_A", "env:POOL_B"))}
        async with served(tmp_path, settings_in(tmp_path, providers=providers)) as gateway:
            for number in range(40):
                wire = asked(f"hi {number}", OPENAI, stream=bool(number % 2))
                status, _, _ = await gateway.ask("POST", "/v1/chat/completions", wire)
                assert status == 200
            assert set(provider.tokens()) == {"key-a", "key-b"}
            members = gateway.service.gateway._pools[OPENAI].health.values()
            await gateway.stored()
            assert [each.in_flight for each in members] == [0, 0]
            assert all(each.used for each in members)

    with Keyed() as provider:
        asyncio.run(work(provider))


@pytest.mark.usefixtures("keys")
def test_limits_per_minute_hold_and_fallbacks_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POOL_C", "key-c")

    async def work(provider: Keyed) -> None:
        provider.configure(tmp_path)
        limited = tuple(PoolMember(OPENAI, 1.0, f"env:POOL_{name}", rpm=3) for name in "AB")
        routes = {
            "pool": RouteSettings(OPENAI, models=limited),
            "safe": RouteSettings(OPENAI, ("anthropic:claude-sonnet-4-6",), models=limited[:1]),
        }
        token = key(tmp_path).token
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:

            async def ask(route: str, number: int) -> tuple[int, dict[str, str]]:
                wire = asked(f"hi {number}", route)
                path = "/v1/chat/completions"
                status, _, headers = await gateway.ask("POST", path, wire, token)
                return status, headers

            answers = await asyncio.gather(*[ask("pool", number) for number in range(12)])
            statuses = Counter(status for status, _ in answers)
            assert statuses == {200: 6, 429: 6}
            assert all(0 < int(headers["retry-after"]) <= 60 for s, headers in answers if s == 429)
            assert provider.tokens() == {"key-a": 3, "key-b": 3}
            for number in range(5):
                assert (await ask("safe", number))[0] == 200

    with Keyed() as provider:
        asyncio.run(work(provider))


@pytest.mark.usefixtures("keys")
def test_retries_are_those_of_the_route(tmp_path: Path) -> None:
    async def work(provider: Keyed) -> None:
        provider.configure(tmp_path)
        routes = {
            "never": RouteSettings(OPENAI, retries=0),
            "often": RouteSettings(OPENAI, retries=3),
        }
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            provider.broken = {KEY: 500}
            for name, times in (("never", 1), ("often", 4)):
                provider.headers.clear()
                wire = asked("hello", name)
                assert (await gateway.ask("POST", "/v1/chat/completions", wire))[0] >= 500
                assert len(provider.headers) == times

    with Keyed() as provider:
        asyncio.run(work(provider))


@pytest.mark.usefixtures("keys")
def test_routes_with_keys_of_their_own_use_them_though_their_labels_are_the_same(
    tmp_path: Path,
) -> None:
    async def work(provider: Keyed) -> None:
        provider.configure(tmp_path)
        routes = {
            name: RouteSettings(OPENAI, models=(PoolMember(OPENAI, key=f"env:POOL_{key}"),))
            for name, key in (("one", "A"), ("two", "B"))
        }
        async with served(tmp_path, settings_in(tmp_path, routes=routes)) as gateway:
            for name in ("one", "two", "one", "two"):
                wire = asked("hi", name)
                assert (await gateway.ask("POST", "/v1/chat/completions", wire))[0] == 200
        assert provider.tokens() == {"key-a": 2, "key-b": 2}

    with Keyed() as provider:
        asyncio.run(work(provider))


def test_what_is_remembered_of_a_deployment_is_bounded() -> None:
    clock = Time()
    found = pool(1, 1, clock=clock)
    for _ in range(500):
        found.begin(f"{OPENAI}#1")
        found.finished(f"{OPENAI}#1", 10)
        clock.now += 1
    assert len(found._health[f"{OPENAI}#1"].used) <= 60


def test_names_that_clients_make_up_are_not_remembered_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from interlingua.gateway import gateway as module
    from interlingua.gateway.shared.fronts import CHAT

    monkeypatch.setattr(module, "MOST_ROUTES", 10)
    providers = {"openai": ProviderSettings(("env:A", "env:B"))}
    found = module.Gateway(Settings(providers=providers), targets=Targets(environ={}))
    for number in range(50):
        assert found.route(f"openai:made-up-{number}", CHAT).pool is not None
    assert len(found._pools) == len(found._routes) == 10


class Storing(Keyed):
    """Keeps its answers, those of each key apart."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, str] = {}

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        token = str(handler.headers.get("authorization")).removeprefix("Bearer ")
        before = wire.get("previous_response_id")
        if before is not None and self.kept.get(before) != token:
            reply(handler, b'{"error": {"message": "Previous response not found."}}', status=400)
            return
        self.kept[f"msg_{len(self.requests) + 1}"] = token
        super().answer(handler, dialect, wire)


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("has_key", [True, False])
def test_every_worker_asks_the_deployment_that_has_the_last_response(
    tmp_path: Path, has_key: bool
) -> None:
    async def work(provider: Storing) -> None:
        provider.configure(tmp_path)
        even = tuple([replace(each, weight=1.0) for each in MEMBERS])
        routes = {"pool": RouteSettings(OPENAI, models=even)}
        token = key(tmp_path).token if has_key else None
        made = settings_in(tmp_path, routes=routes)
        async with served(tmp_path, made) as one, served(tmp_path, made) as other:
            for number in range(18):
                wire: dict[str, Any] = {"model": "pool", "input": f"hello {number}"}
                status, first, _ = await one.ask("POST", "/v1/responses", wire, token)
                assert status == 200, first
                await one.stored()
                await one.service.responses.owners.close()  # it has written what waited
                wire = {"model": "pool", "input": "go on", "previous_response_id": first["id"]}
                status, second, _ = await other.ask("POST", "/v1/responses", wire, token)
                assert status == 200, second
        assert set(provider.tokens()) == {"key-a", "key-b"}

    with Storing() as provider:
        asyncio.run(work(provider))


@pytest.mark.usefixtures("keys")
def test_a_response_from_before_there_were_keys_can_still_be_continued(tmp_path: Path) -> None:
    async def work(provider: Storing) -> None:
        provider.configure(tmp_path)
        made = settings_in(tmp_path, routes={"pool": RouteSettings(OPENAI, models=MEMBERS)})
        async with served(tmp_path, made) as gateway:
            wire: dict[str, Any] = {"model": "pool", "input": "hello"}
            _, first, _ = await gateway.ask("POST", "/v1/responses", wire)
            await gateway.stored()
        token = key(tmp_path).token
        async with served(tmp_path, made) as gateway:
            wire = {"model": "pool", "input": "go on", "previous_response_id": first["id"]}
            status, response, _ = await gateway.ask("POST", "/v1/responses", wire, token)
            assert status == 200, response

    with Storing() as provider:
        asyncio.run(work(provider))
