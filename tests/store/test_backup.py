"""A whole store in another one: nothing is missing, whatever the engine and however busy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.gateway.keys import key_admin
from interlingua.gateway.keys.key_admin import Terms
from interlingua.store import backup
from interlingua.store.errors import StoreError
from interlingua.store.open import open_store
from tests.cli.running import run
from tests.gateway.serving import ANTHROPIC, Served, Upstream, asked, served, settings_in
from tests.store.places import ask

VOLATILE = frozenset({"holders", "secrets"})
"""Tables with what each store writes for itself."""


def rows_of(address: str) -> dict[str, list[Any]]:
    """All rows, as JSON values where they are JSON; the order of tables is that of the copy."""
    with open_store(address) as store:
        return {
            table: sorted([_plain(row) for row in ask(store, _select(store, table))], key=str)
            for table in backup.TABLES
            if table not in VOLATILE
        }


def _select(store: il.Store, table: str) -> str:
    columns = store._read(lambda: backup._columns(table, backup._is_sqlite(store)))
    named = sorted(set(columns) - {"indexed_count"})
    return f"SELECT {', '.join(named)} FROM {table}"


def _plain(row: Any) -> list[Any]:
    return [
        json.loads(value)
        if isinstance(value, (bytes, str)) and value[:1] in (b"{", b"[", "{", "[")
        else value
        for value in row
    ]


def test_every_table_is_copied(new_address: Callable[[str], str], engine: str) -> None:
    with open_store(new_address(engine)) as store:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'message_s%'"
        if engine == "postgres":
            sql = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        tables = {name for (name,) in ask(store, sql) if not name.startswith("sqlite_")}
    assert tables - backup.WITHOUT == set(backup.TABLES)


async def _ask(gateway: Served, tokens: list[str], count: int) -> None:
    for n in range(count):
        token = tokens[n % len(tokens)]
        status, _, _ = await gateway.ask("POST", "/v1/chat/completions", asked(f"hi {n}"), token)
        assert status == 200
        body = {"workspace_path": ".", "name": f"session {n}"}
        _, made, _ = await gateway.ask("POST", "/sessions", body, token)
        turn = {"content": f"a needle in haystack {n}"}
        await gateway.ask("POST", f"/sessions/{made['id']}/turns", turn, token)


def test_a_backup_of_a_busy_gateway_is_restored_into_postgres(
    new_address: Callable[[str], str], tmp_path: Path
) -> None:
    file, target = tmp_path / "backup.db", new_address("postgres")
    with il.open_store(str(tmp_path / "gateway.db")) as store:
        team = key_admin.add_team(store, "Engines", monthly_cap_usd=Decimal(100))
        terms = Terms(daily_cap_usd=Decimal(50), concurrent=20)
        tokens = [
            key_admin.issue(store, f"k{n}", ".", terms, team_id=team.id).token for n in range(3)
        ]
        key_admin.add_budget(store, "model", "gpt-5", daily_cap_usd=Decimal(3))

    async def work(provider: Upstream) -> None:
        provider.configure(tmp_path)
        async with served(tmp_path, settings_in(tmp_path, default_model=ANTHROPIC)) as gateway:
            await _ask(gateway, tokens, 6)
            await gateway.stored()
            busy = asyncio.ensure_future(_ask(gateway, tokens, 30))
            store = f"--store={tmp_path / 'gateway.db'}"
            made = await asyncio.to_thread(run, "backup", file, "--json", store)
            assert made.exit_code == 0, made.output
            assert json.loads(made.stdout)["keys"] == 3
            await busy

    with Upstream() as provider:
        asyncio.run(work(provider))
        restored = run("restore", file, "--into", target, "--json")
        assert restored.exit_code == 0, restored.output
        before, after = rows_of(str(file)), rows_of(target)
        for table in before:
            assert before[table] == after[table], table
        assert len(before["sessions"]) >= 6
        assert len(before["requests"]) >= 6
        with open_store(target) as store:
            spent = sum(cost for (cost,) in ask(store, "SELECT cost FROM ledger"))
            counted = (
                "SELECT spent FROM spend WHERE period LIKE '____-__-__' AND owner_id LIKE 'gk_%'"
            )
            assert spent == sum(amount for (amount,) in ask(store, counted)) > 0
            assert store.teams()[0].monthly_cap_usd == Decimal(100)
            assert store.search("needle"), "the index is made again"

        async def again() -> None:
            settings = settings_in(tmp_path, default_model=ANTHROPIC, store=target)
            async with served(tmp_path, settings) as gateway:
                await _ask(gateway, tokens, 1)
                assert (await gateway.ask("GET", "/models", token="gw_wrong"))[0] == 401

        asyncio.run(again())


def test_a_copy_comes_back_and_is_refused_where_something_is(
    new_address: Callable[[str], str], engine: str, tmp_path: Path
) -> None:
    address, file = new_address(engine), tmp_path / "backup.db"
    with open_store(address) as store:
        key_admin.issue(store, "k", ".")
        key_admin.add_user(store, "a@b.c", "Ada")
    assert run("backup", file, f"--store={address}").exit_code == 0
    assert run("backup", file, f"--store={address}").exit_code == 1, "the file is there"
    refused = run("restore", file, "--into", address)
    assert refused.exit_code == 1
    assert "not empty" in refused.output
    other = new_address(engine)
    assert run("restore", file, "--into", other).exit_code == 0
    assert rows_of(address) == rows_of(other)


def test_a_copy_that_fails_leaves_nothing(
    new_address: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        if arguments[0] == "audit":
            raise StoreError("here", "the disk is full", "full")
        return loaded(*arguments)

    loaded = backup._loaded
    with open_store(new_address("sqlite")) as source, open_store(new_address("sqlite")) as target:
        key_admin.issue(source, "k", ".")
        monkeypatch.setattr(backup, "_loaded", broken)
        with pytest.raises(StoreError):
            backup.copy(source, target)
        assert target.keys() == []
