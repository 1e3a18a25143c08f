"""What a user says that models take holds for sessions and adapters, as it does for clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import interlingua as il
from interlingua.client.targets import Targets
from interlingua.profiles.overlay import profile_from
from interlingua.profiles.profile import profile_of
from interlingua.providers.profiles import ModelLookup
from interlingua.sessions import AsyncSession, Session
from interlingua.sessions.adapters import Adapter
from tests.sessions.asked import FILE

OPUS = "anthropic:claude-opus-4-6"
HOT = il.Options(temperature=0.5, max_output_tokens=900)
TABLE = "[providers.anthropic]\nprofile = { limits = { output = 500 } }\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    return tmp_path


Make = Callable[..., Session]


@pytest.fixture
def session_at(home: Path) -> Iterator[Make]:
    with il.open_store(home / "sessions.db") as store:

        def made(**more: Any) -> Session:
            return Session.create(store, model=OPUS, options=HOT, **more)

        yield made


def rules_of(report: il.Report) -> list[str | None]:
    return [loss.rule for loss in report.entries]


def test_the_users_files_hold_for_a_call_of_a_session(home: Path, session_at: Make) -> None:
    (home / "profiles.toml").write_text(FILE)
    (home / "providers.toml").write_text(TABLE)
    call = session_at().begin("hi").call()
    assert "temperature" not in call.wire
    assert call.wire["max_tokens"] == 500
    assert rules_of(call.report) == ["mine", "provider anthropic"]


def test_a_session_says_what_a_client_on_this_machine_sends(home: Path, session_at: Make) -> None:
    (home / "profiles.toml").write_text(FILE)
    (home / "providers.toml").write_text(TABLE)
    call = session_at().begin("hi").call()
    targets = Targets(environ={"ANTHROPIC_API_KEY": "k"})
    sent = targets.prepare(call.request, targets.find(OPUS), stream=False)
    assert msgspec.json.decode(sent.http.body) == call.wire
    assert sent.report.entries == call.report.entries


def test_a_plan_tells_what_the_users_rules_take_away(home: Path, session_at: Make) -> None:
    assert session_at().plan(OPUS).report.entries == []
    (home / "profiles.toml").write_text(FILE)
    assert rules_of(session_at().plan(OPUS).report) == ["mine"]


def test_rules_may_be_given_to_a_session_and_left_out_for_a_call(
    home: Path, session_at: Make
) -> None:
    (home / "profiles.toml").write_text(FILE)
    own = {"models": ["claude-opus-4-6"], "limits": {"output": 7}}
    turn = session_at(profiles=[own]).begin("hi")
    assert turn.call().wire["max_tokens"] == 7
    as_it_is = session_at(profiles=[own]).begin("hi").call(profile=False)
    assert as_it_is.wire["max_tokens"] == 900
    once = profile_from({"limits": {"output": 8}}, profile_of("claude-opus-4-6", "anthropic"))
    assert session_at().begin("hi").call(profile=once).wire["max_tokens"] == 8
    assert session_at(profiles=False).begin("hi").call().wire["max_tokens"] == 900


def test_sessions_that_are_awaited_take_the_same(home: Path) -> None:
    own = {"models": ["claude-opus-4-6"], "limits": {"output": 7}}

    async def wire(**how: Any) -> dict[str, Any]:
        async with await il.open_async_store(home / "awaited.db") as store:
            session = await AsyncSession.create(store, model=OPUS, options=HOT, profiles=[own])
            turn = await session.begin("hi")
            return (await turn.call(**how)).wire

    assert asyncio.run(wire())["max_tokens"] == 7
    assert asyncio.run(wire(profile=False))["max_tokens"] == 900


def test_what_was_given_stays_when_tools_need_another_dialect() -> None:
    own = profile_from({"limits": {"output": 9}}, profile_of("gpt-5.6", "openai", "openai-chat"))
    tool = il.ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
    dialect = Adapter("openai:gpt-5.6", profile=own).for_request(il.Request(tools=(tool,)))
    assert dialect.profile is own
    rules = ModelLookup(source=[{"models": ["gpt-5.6"], "limits": {"output": 9}}])
    other = Adapter("openai:gpt-5.6", model_lookup=rules).for_request(il.Request(tools=(tool,)))
    assert other.profile is not None
    assert other.profile.limits.output == 9


def test_a_provider_that_only_the_user_knows_can_be_asked(home: Path) -> None:
    (home / "providers.toml").write_text(
        '[providers.acme]\nbase_url = "https://acme.test/v1"\ndialect = "openai-chat"\n'
        'profile = { sampling = { temperature = "never" }, media = { image = false } }\n'
    )
    adapter = Adapter("acme:any")
    assert adapter.dialect.name == "openai-chat"
    assert not adapter.capabilities.supports_images
    assert "temperature" not in adapter.to_wire([il.Message.user("hi")], (), HOT).wire
