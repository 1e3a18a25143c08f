"""Who may come in, and how soon nobody may any more."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.keys import (
    MOST,
    SHOWN,
    Keys,
    NoKeysError,
    hash_of,
    is_loopback,
    require_keys,
)
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.shared.fronts import paths as front_paths
from interlingua.gateway.shared.principal import KeyPrincipal
from interlingua.gateway.shared.state import ANONYMOUS, Principal, Refusal
from interlingua.model.ids import is_ulid
from interlingua.store.base import AsyncStore, Store
from interlingua.store.errors import NotFoundError, StoreError
from interlingua.store.open import open_async_store, open_store
from tests.gateway.loops import ScriptedProvider, gateway_of, post
from tests.store.places import ask

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=self.seconds)


def on(address: str, work: Callable[[AsyncStore], Any]) -> None:
    async def do() -> None:
        async with await open_async_store(address) as store:
            await work(store)

    asyncio.run(do())


async def refused(keys: Keys, token: str | None) -> Refusal:
    with pytest.raises(Refusal) as raised:
        await keys.find(token)
    return raised.value


@pytest.fixture
def store(address: str) -> Any:
    with open_store(address) as opened:
        yield opened


# Issuing


def test_a_token_is_shown_once_and_only_its_hash_is_kept(store: Store) -> None:
    issued = key_admin.issue(store, "laptop", "/work")
    assert re.fullmatch(r"gw_[A-Za-z0-9_-]{43}", issued.token)
    assert issued.key.id.startswith("gk_")
    assert is_ulid(issued.key.id.removeprefix("gk_"))
    assert store.key(issued.key.id) == issued.key
    for table in ("keys", "users", "teams", "events", "ledger"):
        rows = str(ask(store, f"SELECT * FROM {table}"))
        assert issued.token not in rows
        assert issued.token.removeprefix("gw_") not in rows
    assert issued.key.secret_hash == hash_of(issued.token)


@pytest.mark.requirement("S002-37")
def test_a_key_stands_for_one_user_and_team_with_all_its_terms(store: Store, address: str) -> None:
    user = key_admin.add_user(store, "ada@example.org", "Ada")
    team = key_admin.add_team(store, "Engines")
    terms = key_admin.Terms(
        allowed_models=("openai:gpt-5", "sonnet"),
        daily_cap_usd=Decimal("1.50"),
        monthly_cap_usd=Decimal(20),
        requests_per_minute=60,
        tokens_per_minute=100_000,
        concurrent=4,
        refuse_losses=True,
        keep_content=True,
        allow_unpriced=True,
        expires_at=NOW + timedelta(days=3650),
    )
    issued = key_admin.issue(store, "laptop", "/w", terms, user_id=user.id, team_id=team.id)

    async def work(store: AsyncStore) -> None:
        who = await Keys(store).find(issued.token)
        assert isinstance(who, KeyPrincipal)
        assert (who.key_id, who.user_id, who.team_id) == (issued.key.id, user.id, team.id)
        assert who.workspace_path == "/w"
        assert who.allowed_models is not None
        assert "openai:gpt-5" in who.allowed_models
        assert all(":" in model for model in who.allowed_models)  # aliases are told apart at once
        assert who.refuse_losses
        assert who.keep_content
        assert who.allow_unpriced
        assert who.capped
        assert (who.requests_per_minute, who.tokens_per_minute, who.concurrent) == (60, 100_000, 4)
        (limit,) = who.limits
        assert (limit.daily, limit.monthly) == (1_500_000_000_000, 20_000_000_000_000)
        assert "ada@" not in str(who)

    on(address, work)


def test_a_plain_key_keeps_no_content_and_has_no_caps(store: Store, address: str) -> None:
    token = key_admin.issue(store, "k", "/w").token

    async def work(store: AsyncStore) -> None:
        who = await Keys(store).find(token)
        assert not who.keep_content
        assert not who.capped
        assert who.allowed_models is None

    on(address, work)


@pytest.mark.parametrize(
    "terms",
    [
        {"daily_cap_usd": Decimal(-1)},
        {"monthly_cap_usd": Decimal("NaN")},
        {"daily_cap_usd": Decimal(10_000_000)},
        {"concurrent": 0},
        {"requests_per_minute": -5},
        {"expires_at": datetime(2020, 1, 1, tzinfo=UTC)},
        {"caching": "sometimes"},
        {"redaction": "maybe"},
    ],
)
def test_terms_that_make_no_sense_are_refused(terms: dict[str, Any], store: Store) -> None:
    with pytest.raises(key_admin.TermsError):
        key_admin.issue(store, "k", "/w", key_admin.Terms(**terms))
    assert store.keys() == []


def test_a_key_of_nobody_known_is_refused(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no user"):
        key_admin.issue(store, "k", "/w", user_id="usr_x")
    with pytest.raises(key_admin.TermsError, match="name"):
        key_admin.issue(store, "  ", "/w")


# Finding


def test_what_opens_nothing_is_told_by_a_code(store: Store, address: str) -> None:
    revoked = key_admin.issue(store, "a", "/w")
    key_admin.revoke(store, revoked.key.id)
    soon = key_admin.Terms(expires_at=datetime.now(UTC) + timedelta(seconds=60))
    expiring = key_admin.issue(store, "b", "/w", soon)
    user, team = key_admin.add_user(store), key_admin.add_team(store, "t")
    users = key_admin.issue(store, "c", "/w", user_id=user.id)
    teams = key_admin.issue(store, "d", "/w", team_id=team.id)
    store.save_user(msgspec.structs.replace(user, status="disabled"))
    store.save_team(msgspec.structs.replace(team, status="disabled"))

    async def work(store: AsyncStore) -> None:
        clock = Clock()
        keys = Keys(store, clock=clock, now=clock.now)
        await keys.find(expiring.token)
        clock.seconds = 61
        for token, code in (
            (None, "missing_key"),
            ("", "missing_key"),
            ("gw_unknown", "invalid_key"),
            ("' OR 1=1 --", "invalid_key"),
            (revoked.token, "key_revoked"),
            (expiring.token, "key_expired"),
            (users.token, "owner_disabled"),
            (teams.token, "owner_disabled"),
            (revoked.key.secret_hash, "invalid_key"),
        ):
            odd = await refused(keys, token)
            assert (odd.status, odd.error.code) == (401, code)
            assert dict(odd.headers)["x-interlingua-code"] == code
            assert not token or token not in odd.error.message

    on(address, work)


def test_a_revoked_key_is_void_within_seconds_in_every_process(store: Store, address: str) -> None:
    issued = key_admin.issue(store, "k", "/w")

    async def work(opened: AsyncStore) -> None:
        clock = Clock()
        several = [Keys(opened, clock=clock) for _ in range(3)]
        for keys in several:
            await keys.find(issued.token)
        key_admin.revoke(store, issued.key.id)
        clock.seconds = 2.01
        for keys in several:
            assert (await refused(keys, issued.token)).error.code == "key_revoked"

    on(address, work)


def test_a_replaced_key_opens_until_its_grace_is_over(store: Store, address: str) -> None:
    user = key_admin.add_user(store)
    old = key_admin.issue(store, "k", "/w", user_id=user.id)
    new = key_admin.rotate(store, old.key.id, grace=timedelta(hours=1))
    assert new.token != old.token
    assert new.key.id != old.key.id
    with pytest.raises(key_admin.TermsError, match="cannot be rotated"):
        key_admin.rotate(store, old.key.id)

    async def work(opened: AsyncStore) -> None:
        clock = Clock()
        keys = Keys(opened, clock=clock, now=clock.now)
        before, after = await keys.find(old.token), await keys.find(new.token)
        assert before.user_id == after.user_id == user.id
        assert isinstance(before, KeyPrincipal)
        assert isinstance(after, KeyPrincipal)
        assert before.account_id == after.account_id == old.key.id
        clock.seconds = 3601
        assert (await refused(keys, old.token)).error.code == "key_revoked"
        await keys.find(new.token)
        third = await asyncio.to_thread(key_admin.rotate, store, new.key.id, timedelta())
        clock.seconds += 3
        assert (await refused(keys, new.token)).error.code == "key_revoked"
        last = await keys.find(third.token)
        assert isinstance(last, KeyPrincipal)
        assert last.account_id == old.key.id

    on(address, work)


def test_grace_ends_to_the_moment_not_with_the_cache(store: Store, address: str) -> None:
    old = key_admin.issue(store, "k", "/w")
    key_admin.rotate(store, old.key.id, grace=timedelta(seconds=30))

    async def work(opened: AsyncStore) -> None:
        clock = Clock()
        keys = Keys(opened, life=3600, clock=clock, now=clock.now)
        await keys.find(old.token)
        clock.seconds = 31
        assert (await refused(keys, old.token)).error.code == "key_revoked"

    on(address, work)


def test_revoking_ends_the_grace(store: Store, address: str) -> None:
    old = key_admin.issue(store, "k", "/w")
    key_admin.rotate(store, old.key.id)
    key_admin.revoke(store, old.key.id)

    async def work(opened: AsyncStore) -> None:
        assert (await refused(Keys(opened), old.token)).error.code == "key_revoked"

    on(address, work)


def test_many_who_ask_at_once_share_one_lookup_and_the_cache_is_bounded(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        token = key_admin.issue(store, "k", "/w").token

    async def work(opened: AsyncStore) -> None:
        looked: list[str] = []
        real = opened.key_by_hash

        async def counted(hashed: str) -> Any:
            looked.append(hashed)
            return await real(hashed)

        opened.key_by_hash = counted  # type: ignore[method-assign, assignment]
        keys = Keys(opened)
        found = await asyncio.gather(*[keys.find(token) for _ in range(64)])
        assert len(set(map(id, found))) == 1
        assert looked == [hash_of(token)]
        for number in range(3):
            await refused(keys, "gw_wrong")
            assert len(looked) == 2, number  # what opens nothing is kept like all else
        keys._known.update({str(n): keys._known[hash_of(token)] for n in range(MOST + 5)})
        await refused(keys, "gw_other")
        assert len(keys._known) <= MOST

    on(str(tmp_path / "s.db"), work)


def test_unknown_tokens_cost_the_same_calls_as_known_ones(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        token = key_admin.issue(store, "k", "/w").token

    async def work(opened: AsyncStore) -> None:
        calls: list[str] = []

        class Watched:
            def __getattr__(self, name: str) -> Any:
                calls.append(name)
                return getattr(opened, name)

        async def asked(given: str) -> list[str]:
            calls.clear()
            keys = Keys(Watched())  # type: ignore[arg-type]  # all of it goes through
            with suppress(Refusal):
                await keys.find(given)
            return list(calls)

        assert await asked(token) == await asked("gw_" + "x" * 43)

    on(str(tmp_path / "s.db"), work)


def test_no_log_and_no_event_has_more_than_eight_digits_of_a_hash(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with open_store(tmp_path / "s.db") as store:
        issued = key_admin.issue(store, "k", "/w")
        key_admin.revoke(store, issued.key.id)
    events: list[Any] = []

    async def work(opened: AsyncStore) -> None:
        keys = Keys(opened, emit=lambda name, payload: events.append((name, payload)))
        for token in (issued.token, "gw_canary", "sk-canary-secret"):
            await refused(keys, token)
            content = str([vars(record) for record in caplog.records]) + str(events)
            assert token not in content
            assert hash_of(token)[:SHOWN] in content
            assert hash_of(token)[: SHOWN + 1] not in content

    on(str(tmp_path / "s.db"), work)
    assert [name for name, _ in events] == ["gateway.auth_failed"] * 3


def test_a_store_that_is_away_lets_nobody_in(tmp_path: Path) -> None:
    async def work() -> None:
        store = await open_async_store(tmp_path / "s.db")
        keys = Keys(store)
        await store.close()
        odd = await refused(keys, "gw_x")
        assert (odd.status, odd.error.code) == (503, "store_unavailable")
        with pytest.raises(StoreError):
            await keys.open_to_all()

    asyncio.run(work())


@pytest.mark.parametrize(
    "token",
    ["\0", "a" * 100_000, "\udc80", "gw_%s%s", "'; DROP TABLE keys; --", "gw_\u2400", "\x1b[31m"],
)
def test_odd_tokens_are_refused_like_all_others(token: str, store: Store, address: str) -> None:
    key_admin.issue(store, "k", "/w")

    async def work(opened: AsyncStore) -> None:
        odd = await refused(Keys(opened), token)
        assert (odd.status, odd.error.code) == (401, "invalid_key")

    on(address, work)
    assert len(store.keys()) == 1


# Without keys


def test_without_keys_everybody_comes_in_and_with_the_first_nobody_else(
    store: Store, address: str
) -> None:
    async def work(opened: AsyncStore) -> None:
        clock = Clock()
        keys = Keys(opened, clock=clock)
        assert await keys.open_to_all()
        for token in (None, "anything", "gw_x"):
            assert await keys.find(token) is ANONYMOUS
        key = key_admin.issue(store, "k", "/w").key
        clock.seconds = 2.01
        assert not await keys.open_to_all()
        assert (await refused(keys, "anything")).status == 401
        key_admin.revoke(store, key.id)
        clock.seconds = 5
        assert not await keys.open_to_all()  # revoking the last one opens nothing
        assert (await refused(keys, None)).error.code == "missing_key"

    on(address, work)


def test_a_gateway_without_keys_starts_on_loopback_alone(store: Store, address: str) -> None:
    async def work(opened: AsyncStore) -> None:
        for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
            await require_keys(Keys(opened), host)
        for host in ("0.0.0.0", "::", "", "10.0.0.1", "example.org", "localhost.evil.example"):
            with pytest.raises(NoKeysError, match="keys issue"):
                await require_keys(Keys(opened), host)
        key_admin.issue(store, "k", "/w")
        await require_keys(Keys(opened), "0.0.0.0")
        elsewhere = Keys(opened, open_allowed=False)
        assert not await elsewhere.open_to_all()

    on(address, work)


def test_beyond_loopback_an_empty_table_lets_nobody_in(address: str) -> None:
    async def work(opened: AsyncStore) -> None:
        keys = Keys(opened, open_allowed=False)
        assert (await refused(keys, "x")).error.code == "invalid_key"

    on(address, work)


@pytest.mark.parametrize("host", ["127.0.0.1.evil", "2130706433", "::ffff:127.0.0.1", "0", "[::]"])
def test_addresses_that_only_look_like_loopback_are_none(host: str) -> None:
    assert not is_loopback(host)


# On the way of a request


@pytest.mark.parametrize("path", sorted(front_paths()))
def test_every_path_of_a_dialect_wants_a_key(path: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db") as store:
        issued = key_admin.issue(store, "k", "/w")
        revoked = key_admin.issue(store, "r", "/w")
        key_admin.revoke(store, revoked.key.id)

    async def work(opened: AsyncStore) -> None:
        app = gateway_of(ScriptedProvider("anthropic"), Memory(opened), Keys(opened))
        for token in (None, "gw_wrong", revoked.token, issued.token[:-1]):
            status, body = await post(app, path, {"model": "x", "messages": []}, token)
            assert status == 401
            assert not {"error", "error_type"}.isdisjoint(json.loads(body))
        status, _ = await post(app, path, {"model": "x:y", "messages": []}, issued.token)
        assert status != 401

    on(str(tmp_path / "s.db"), work)


def test_the_anonymous_principal_has_no_limits_and_no_identity() -> None:
    assert Principal() == ANONYMOUS
    assert ANONYMOUS.key_id is None
    assert not ANONYMOUS.keep_content
