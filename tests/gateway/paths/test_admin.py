"""Administration over HTTP: every path times every kind of caller, and what each change does."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.gateway.keys.key_admin import add_team, add_user, change, revoke
from interlingua.gateway.keys.keys import hash_of
from interlingua.gateway.paths.routes import Row, rows
from interlingua.model.ids import Ulids
from tests.cli.running import run
from tests.gateway.serving import Served, Upstream, asked, key, served

SOMETHING = str(Ulids().new())
ROWS = [row for row in rows() if row.admin]
BODIES: dict[str, Any] = {
    "/admin/keys": {"name": "new"},
    "/admin/keys/{id}": {"concurrent": 3},
    "/admin/keys/{id}/rotate": {},
    "/admin/users": {"name": "Ada"},
    "/admin/users/{id}": {"status": "disabled"},
    "/admin/teams": {"name": "Engines"},
    "/admin/teams/{id}": {"monthly_cap_usd": "1"},
    "/admin/budgets": {"kind": "tag", "value": "a=b", "daily_cap_usd": 1},
}


async def ask(gateway: Served, row: Row, token: str | None, ids: dict[str, str]) -> Any:
    kind = row.path.split("/")[2]
    path = row.path.replace("{id}", ids.get(kind, SOMETHING))
    body = None if row.method in ("GET", "DELETE") else BODIES[row.path]
    return await gateway.ask(row.method, path, body, token)


def everything(home: Path) -> str:
    """All that administration can change, and its log."""
    with il.open_store(str(home / "gateway.db")) as store:
        return str([store.keys(), store.users(), store.teams(), store.budgets(), store.audit()])


def owners(home: Path) -> dict[str, str]:
    with il.open_store(str(home / "gateway.db")) as store:
        return {"users": add_user(store, None, "U").id, "teams": add_team(store, "T").id}


def test_there_is_no_such_api_until_a_key_administers(tmp_path: Path) -> None:
    async def run_() -> None:
        async with served(tmp_path) as gateway:
            unknown = await gateway.ask("GET", "/nowhere")
            for row in ROWS:
                assert (await ask(gateway, row, None, {}))[:2] == unknown[:2], row
            gateway.service.gateway.keys.forget()
            plain = key(tmp_path).token
            before = everything(tmp_path)
            for row in ROWS:
                for token in (None, plain, "gw_wrong"):
                    assert (await ask(gateway, row, token, {}))[:2] == unknown[:2], row
            assert everything(tmp_path) == before
            made = key(tmp_path, "admin", admin=True)
            gateway.service.gateway.keys.forget()
            assert (await gateway.ask("GET", "/admin/keys", token=made.token))[0] == 200
            for token, administers in ((plain, False), (made.token, True)):
                assert (await gateway.ask("GET", "/keys", token=token))[1]["admin"] is administers
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                revoke(store, made.key.id)
            gateway.service.gateway.keys.forget()
            assert (await gateway.ask("GET", "/admin/keys", token=made.token))[:2] == unknown[:2]

    asyncio.run(run_())


def test_no_other_caller_changes_or_learns_anything(tmp_path: Path) -> None:
    async def run_() -> None:
        admin, plain, other = key(tmp_path, "a", admin=True), key(tmp_path), key(tmp_path, "other")
        gone = key(tmp_path, "gone", admin=True)
        late = key(
            tmp_path, "late", admin=True, expires_at=datetime.now(UTC) + timedelta(seconds=0.2)
        )
        reader = key(tmp_path, "reader", read_requests=True, read_metrics=True)
        ids = {**owners(tmp_path), "keys": plain.key.id}
        with il.open_store(str(tmp_path / "gateway.db")) as store:
            revoke(store, gone.key.id)
        await asyncio.sleep(0.3)
        before = everything(tmp_path)
        callers = {
            "none": (None, 401, "missing_key"),
            "wrong": ("gw_" + "x" * 43, 401, "invalid_key"),
            "ordinary": (plain.token, 403, "admin_required"),
            "of another tenant": (other.token, 403, "admin_required"),
            "reads all requests": (reader.token, 403, "admin_required"),
            "revoked admin": (gone.token, 401, "key_revoked"),
            "expired admin": (late.token, 401, "key_expired"),
        }
        async with served(tmp_path) as gateway:
            for row in ROWS:
                for who, (token, status, code) in callers.items():
                    found, reply, _ = await ask(gateway, row, token, ids)
                    assert (found, reply["error"]["code"]) == (status, code), (row, who)
            assert everything(tmp_path) == before, "nothing was changed, and nothing logged"
            for row in ROWS:
                if row.method == "GET":
                    assert (await ask(gateway, row, admin.token, ids))[0] == 200, row
            for origin in ("https://evil.example", "null"):
                found, _, _ = await gateway.ask(
                    "POST", "/admin/keys", {"name": "x"}, admin.token, headers={"origin": origin}
                )
                assert found == 403

    asyncio.run(run_())


def test_an_admin_key_that_loses_the_right_loses_it_at_once(tmp_path: Path) -> None:
    async def run_() -> None:
        admin = key(tmp_path, "a", admin=True)
        key(tmp_path, "b", admin=True)
        async with served(tmp_path) as gateway:
            assert (await gateway.ask("GET", "/admin/keys", token=admin.token))[0] == 200
            with il.open_store(str(tmp_path / "gateway.db")) as store:
                change(store, admin.key.id, admin=False)
            found, reply, _ = await gateway.ask("POST", "/admin/keys", {"name": "x"}, admin.token)
            assert (found, reply["error"]["code"]) == (403, "admin_required")

    asyncio.run(run_())


def test_keys_are_issued_changed_rotated_and_revoked(tmp_path: Path) -> None:
    async def run_(provider: Upstream) -> None:
        provider.configure(tmp_path)
        admin = key(tmp_path, "a", admin=True)
        ids = owners(tmp_path)
        async with served(tmp_path) as gateway:

            async def do(method: str, path: str, body: Any = None) -> Any:
                return (await gateway.ask(method, path, body, admin.token))[:2]

            async def works(token: str) -> int:
                body = asked("hi")
                return (await gateway.ask("POST", "/v1/chat/completions", body, token))[0]

            body = {"name": "ci", "team_id": ids["teams"], "daily_cap_usd": "5", "concurrent": 2}
            status, made = await do("POST", "/admin/keys", body)
            id, token = made["key"]["id"], made["token"]
            assert status == 201
            assert made["key"]["team_id"] == ids["teams"]
            assert await works(token) == 200
            status, shown = await do("GET", f"/admin/keys/{id}")
            assert shown["concurrent"] == 2
            assert token not in json.dumps([shown, await do("GET", "/admin/keys")])
            assert hash_of(token)[:8] not in json.dumps([shown, await do("GET", "/admin/audit")])
            status, shown = await do("PATCH", f"/admin/keys/{id}", {"concurrent": None})
            assert (status, shown["concurrent"]) == (200, None)
            assert shown["caps"][0]["limit_usd"] == "5"
            status, new = await do("POST", f"/admin/keys/{id}/rotate", {"grace_seconds": 0})
            assert (status, await works(token), await works(new["token"])) == (201, 401, 200)
            assert (await do("PATCH", f"/admin/teams/{ids['teams']}", {"status": "disabled"}))[
                0
            ] == 200
            assert await works(new["token"]) == 401
            assert (await do("PATCH", f"/admin/teams/{ids['teams']}", {"status": "active"}))[
                0
            ] == 200
            status, ended = await do("DELETE", f"/admin/keys/{new['key']['id']}")
            assert (status, ended["status"]) == (200, "revoked")
            assert await works(new["token"]) == 401
            _, log = await do("GET", "/admin/audit")
            assert [each["action"] for each in log["changes"]][:6] == [
                *("key.revoke", "team.change", "team.change"),
                *("key.rotate", "key.change", "key.issue"),
            ]
            assert {each["actor"] for each in log["changes"][:6]} == {admin.key.id}
            assert log["changes"][4]["changes"] == {"concurrent": [2, None]}
            assert log["changes"][3]["changes"]["replaced_by"] == [None, new["key"]["id"]]
            assert log["changes"][-1]["actor"].startswith("local")

    with Upstream() as provider:
        asyncio.run(run_(provider))


def test_what_cannot_be_done_over_the_network(tmp_path: Path) -> None:
    async def run_() -> None:
        admin, other = key(tmp_path, "a", admin=True), key(tmp_path, "b", admin=True)
        async with served(tmp_path) as gateway:
            for body, code in (
                ({"name": "x", "admin": True}, "invalid_request"),
                ({"name": "x", "workspace_path": "/"}, "invalid_request"),
                ({"name": "x\x00"}, "invalid_request"),
                ({"name": "x", "daily_cap_usd": "-1"}, "invalid_terms"),
                ({"name": "x", "concurrent": 0}, "invalid_terms"),
                ({"name": "x", "allowed_models": ["nonsense"]}, "unknown_model"),
                ({"name": "x", "user_id": "usr_none"}, "not_found"),
                ({}, "invalid_request"),
            ):
                status, reply, _ = await gateway.ask("POST", "/admin/keys", body, admin.token)
                assert reply["error"]["code"] == code, (body, reply)
            path = f"/admin/keys/{other.key.id}"
            assert (await gateway.ask("PATCH", path, {"admin": False}, admin.token))[0] == 400
            status, reply, _ = await gateway.ask("POST", f"{path}/rotate", {}, admin.token)
            assert (status, reply["error"]["code"]) == (403, "admin_key")
            assert (await gateway.ask("DELETE", path, token=admin.token))[0] == 200
            body = {"name": "T", "email": "a@b.c"}
            assert (await gateway.ask("POST", "/admin/teams", body, admin.token))[0] == 400
            assert (await gateway.ask("POST", "/admin/users", body, admin.token))[0] == 201
            status, reply, _ = await gateway.ask("POST", "/admin/users", body, admin.token)
            assert (status, reply["error"]["code"]) == (409, "conflict")
            assert "e-mail" in reply["error"]["message"]
            _, log, _ = await gateway.ask("GET", "/admin/audit", token=admin.token)
            assert "a@b.c" not in json.dumps(log), "an address is in the table of users only"

    asyncio.run(run_())


def test_budgets_are_added_listed_and_removed(tmp_path: Path) -> None:
    async def run_() -> None:
        admin = key(tmp_path, "a", admin=True)
        async with served(tmp_path) as gateway:
            body = {**BODIES["/admin/budgets"], "owner_id": admin.key.id}
            status, made, _ = await gateway.ask("POST", "/admin/budgets", body, admin.token)
            assert (status, made["owner_id"]) == (201, admin.key.id)
            _, reply, _ = await gateway.ask("GET", "/admin/budgets", token=admin.token)
            assert reply == {"budgets": [made], "has_more": False}
            path = f"/admin/budgets/{made['id']}"
            assert (await gateway.ask("DELETE", path, token=admin.token))[0] == 200
            assert (await gateway.ask("DELETE", path, token=admin.token))[0] == 404
            _, reply, _ = await gateway.ask("GET", "/admin/budgets", token=admin.token)
            assert reply["budgets"] == []

    asyncio.run(run_())


def test_changes_on_the_command_line_are_in_the_same_log(tmp_path: Path) -> None:
    store = f"--store={tmp_path / 'gateway.db'}"
    assert run("keys", "issue", "boss", "--admin", store).exit_code == 0
    assert run("teams", "add", "Engines", store).exit_code == 0
    assert run("teams", "disable", "Engines", store).exit_code == 0
    assert run("keys", "change", "boss", "--concurrent", "2", store).exit_code == 0
    assert run("budgets", "add", "--tag", "a=b", "--daily", "1", store).exit_code == 0
    assert run("keys", "revoke", "boss", store).exit_code == 0
    shown = json.loads(run("keys", "audit", "--json", store).stdout)
    assert [each["action"] for each in reversed(shown)] == [
        *("key.issue", "team.add", "team.change", "key.change", "budget.add", "key.revoke"),
    ]
    assert all(each["actor"].startswith("local") for each in shown)
    assert shown[-1]["changes"]["secret_hash"] == [None, None]
    assert "team.change" in run("keys", "audit", store).stdout
