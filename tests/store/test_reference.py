"""Keys, users, teams and prices: what a gateway looks up."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from interlingua.store.base import Store
from interlingua.store.errors import ConflictError, NotFoundError, StoreError
from interlingua.store.open import open_async_store
from interlingua.store.reference import KeyRow, TeamRow, UserRow
from tests.store.places import ask

TIME = datetime(2026, 5, 8, 12, 0, 0, 123_456, tzinfo=UTC)


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def key(id: str = "gk_1", secret: str = "gw_one", **more: Any) -> KeyRow:
    return KeyRow(id, hashed(secret), "laptop", "/work", TIME, **more)


def test_a_key_comes_back_as_it_was_saved_and_is_found_by_its_hash(store: Store) -> None:
    store.save_user(UserRow("usr_1", TIME, "ada@example.org", "Ada"))
    store.save_team(TeamRow("team_1", "Engines", TIME))
    full = key(
        allowed_models=("openai:gpt-5", "a:b"),
        daily_cap_usd=Decimal("0.10"),
        monthly_cap_usd=Decimal("1E+2"),
        user_id="usr_1",
        team_id="team_1",
        status="revoked",
        revoked_at=TIME,
        grace_period_until=TIME + timedelta(days=1),
    )
    bare = key("gk_2", "gw_two")
    store.save_keys([full, bare])
    assert store.key("gk_1") == full
    assert store.key_by_hash(hashed("gw_one")) == full
    assert store.key_by_hash(hashed("gw_two")) == bare
    assert store.key_by_hash(hashed("gw_three")) is None
    assert store.key("gk_1").daily_cap_usd == Decimal("0.10")
    assert str(store.key("gk_1").daily_cap_usd) == "0.10"
    assert store.keys() == [full, bare]
    assert store.keys(after="gk_1") == [bare]
    assert store.keys(limit=1) == [full]
    assert bare.allowed_models is None
    store.save_keys([msgspec.structs.replace(bare, allowed_models=())])
    assert store.key("gk_2").allowed_models == ()


def test_a_new_key_and_the_end_of_the_old_one_go_together(store: Store) -> None:
    old = key()
    store.save_keys([old])
    ended = msgspec.structs.replace(old, status="revoked", revoked_at=TIME)
    taken = key("gk_2", "gw_one")  # a secret that already exists
    with pytest.raises(ConflictError) as raised:
        store.save_keys([ended, taken])
    assert hashed("gw_one") not in str(raised.value)
    assert store.keys() == [old]
    store.save_keys([ended, key("gk_2", "gw_two")])
    rows = store.keys()
    assert [row.status for row in rows] == ["revoked", "active"]


def test_a_key_says_whether_its_owner_is_disabled(store: Store) -> None:
    user, team = UserRow("usr_1", TIME), TeamRow("team_1", "Engines", TIME)
    store.save_user(user)
    store.save_team(team)
    store.save_keys([key(user_id="usr_1", team_id="team_1")])

    def disabled() -> bool:
        found = store.key_by_hash(hashed("gw_one"))
        assert found is not None
        return found.owner_disabled

    assert not disabled()
    store.save_user(msgspec.structs.replace(user, status="disabled"))
    assert disabled()
    store.save_user(user)
    assert not disabled()
    store.save_team(msgspec.structs.replace(team, status="disabled"))
    assert disabled()


def test_a_key_of_nobody_known_or_without_a_real_cap_is_refused(store: Store) -> None:
    with pytest.raises(ConflictError):
        store.save_keys([key(user_id="usr_9")])
    for cap in ("NaN", "Infinity"):
        with pytest.raises(StoreError, match="amount of money"):
            store.save_keys([key(daily_cap_usd=Decimal(cap))])
    assert store.keys() == []


def test_users_and_teams_are_saved_changed_and_listed(store: Store) -> None:
    ada = UserRow("usr_1", TIME, "ada@example.org", "Ada")
    bob = UserRow("usr_2", TIME)
    for user in (ada, bob):
        store.save_user(user)
    assert store.users() == [ada, bob]
    assert store.users(after="usr_1") == [bob]
    changed = msgspec.structs.replace(ada, email="a@example.org")
    store.save_user(changed)
    assert store.user("usr_1") == changed
    team = TeamRow("team_1", "Engines", TIME)
    store.save_team(team)
    assert store.team("team_1") == team
    assert store.teams() == [team]
    for missing, named in ((store.user, "user"), (store.team, "team"), (store.key, "key")):
        with pytest.raises(NotFoundError, match=f"no {named} 'x'"):
            missing("x")


def test_an_address_is_in_the_table_of_users_alone_and_in_no_error(store: Store) -> None:
    store.save_user(UserRow("usr_1", TIME, "ada@example.org"))
    with pytest.raises(ConflictError) as raised:
        store.save_user(UserRow("usr_2", TIME, "ada@example.org"))
    assert "ada@" not in str(raised.value)
    store.save_keys([key(user_id="usr_1")])
    for table in ("keys", "teams", "sessions", "messages", "events"):
        assert "ada@" not in str(ask(store, f"SELECT * FROM {table}"))
    assert "ada@" in str(ask(store, "SELECT * FROM users"))


def test_a_version_of_prices_never_changes(store: Store) -> None:
    table = {"version": "2026-11", "models": {"a:b": {"input": "0.15", "output": 0.6}}}
    store.save_prices("2026-11", table)
    store.save_prices("2026-11", table)
    with pytest.raises(ConflictError, match="'2026-11' already exists"):
        store.save_prices("2026-11", {"version": "2026-11", "models": {}})
    assert store.prices("2026-11") == table
    store.save_prices("2026-12", {})
    assert store.price_versions() == ["2026-11", "2026-12"]
    with pytest.raises(NotFoundError, match="no price table 'x'"):
        store.prices("x")


def test_the_same_calls_for_an_event_loop(address: str) -> None:
    async def work() -> None:
        async with await open_async_store(address) as store:
            user, team = UserRow("usr_1", TIME), TeamRow("team_1", "Engines", TIME)
            await store.save_user(user)
            await store.save_team(team)
            saved = key(user_id="usr_1", team_id="team_1")
            await store.save_keys([saved])
            assert await store.key("gk_1") == saved
            assert await store.key_by_hash(hashed("gw_one")) == saved
            assert await store.keys() == [saved]
            assert await store.user("usr_1") == user
            assert await store.users() == [user]
            assert await store.team("team_1") == team
            assert await store.teams() == [team]
            await store.save_prices("1", {"a": 1})
            assert await store.prices("1") == {"a": 1}
            assert await store.price_versions() == ["1"]

    asyncio.run(work())
