"""Which store, which session, which message a command means."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlingua import config
from interlingua.model.message import Message
from interlingua.store.base import Store
from tests.cli.running import run, told
from tests.cli.test_sessions import talk


def test_a_store_that_is_named_and_not_there_is_an_error_and_not_made(tmp_path: Path) -> None:
    for address in (str(tmp_path / "typo.db"), f"sqlite:///{tmp_path / 'typo.db'}"):
        result = run("sessions", "list", "--store", address)
        assert result.exit_code == 1
        assert "no such file" in result.stderr
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("by", ["option", "variable"])
def test_another_store_can_be_named(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    from interlingua.store.open import open_store

    with open_store(tmp_path / "other.db") as other:
        id = talk(other, "elsewhere")
    talk(store, "here")
    address = f"sqlite:///{tmp_path / 'other.db'}"
    if by == "variable":
        monkeypatch.setenv(config.STORE, address)
        found = told("sessions", "list")
    else:
        found = told("sessions", "list", "--store", address)
    assert [row["id"] for row in found] == [id]


def test_an_id_may_be_shortened_and_last_is_the_last_changed(store: Store) -> None:
    talk(store, "alpha", id="ABC1")
    talk(store, "beta", id="ABD2")
    for text, expected in [("ABC", "ABC1"), ("abd", "ABD2"), ("ABD2", "ABD2"), ("last", "ABD2")]:
        assert told("sessions", "show", text)["session"]["id"] == expected
    store.append("ABC1", [Message.user("more")])
    assert told("sessions", "show", "last")["session"]["id"] == "ABC1"


def test_an_id_that_is_the_beginning_of_another_still_names_its_own(store: Store) -> None:
    talk(store, "short", id="AB")
    talk(store, "long", id="ABC")
    assert told("sessions", "show", "AB")["session"]["id"] == "AB"


def test_an_ambiguous_id_names_its_candidates(store: Store) -> None:
    for number in range(7):
        talk(store, "x", id=f"AB{number}")
    result = run("sessions", "show", "AB")
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert "several sessions: AB6, AB5, AB4, AB3, AB2 and others" in line


@pytest.mark.parametrize("id", ["nothing", "", "last", "%", "\x1b[2J"])
def test_a_session_that_is_not_there_is_one_line(id: str) -> None:
    result = run("sessions", "show", id)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("interlingua: store ")
    assert "\x1b" not in line


def test_commands_use_the_store_of_the_gateways_settings_and_print_it(
    store: Store, home: Path, tmp_path: Path
) -> None:
    talk(store, "in the usual file")
    gateway = tmp_path / "gateway.db"
    home.mkdir(exist_ok=True)
    (home / "gateway.toml").write_text(f'store = "sqlite:///{gateway}"\n')
    issued = run("keys", "issue", "app")
    assert issued.exit_code == 0, issued.stderr
    assert f"store: {gateway}" in issued.stderr
    assert store.keys() == []
    assert [row["name"] for row in told("keys", "list")] == ["app"]
    assert told("sessions", "list") == []
    for command in (("requests",), ("cost",), ("teams", "list"), ("users", "list")):
        assert f"store: {gateway}" in run(*command).stderr, command


def test_config_names_another_gateways_settings(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "production.toml"
    file.write_text(f'store = "sqlite:///{tmp_path / "production.db"}"\n')
    assert run("keys", "issue", "app", "--config", str(file)).exit_code == 0
    assert [row["name"] for row in told("keys", "list", "--config", str(file))] == ["app"]
    assert told("keys", "list") == []
    assert store.keys() == []


def test_the_option_and_the_variable_come_before_the_gateways_settings(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlingua.gateway.config import load

    home.mkdir(exist_ok=True)
    (home / "gateway.toml").write_text(f'store = "sqlite:///{tmp_path / "file.db"}"\n')
    assert load().store == f"sqlite:///{tmp_path / 'file.db'}"
    monkeypatch.setenv(config.STORE, str(tmp_path / "variable.db"))
    assert load().store == str(tmp_path / "variable.db")
    assert run("keys", "issue", "one").exit_code == 0
    assert (tmp_path / "variable.db").exists()
    assert not (tmp_path / "file.db").exists()
    assert run("keys", "issue", "two", "--store", str(tmp_path / "option.db")).exit_code == 0
    assert (tmp_path / "option.db").exists()


def test_settings_that_cannot_be_read_are_an_error_and_not_another_store(
    store: Store, home: Path
) -> None:
    home.mkdir(exist_ok=True)
    (home / "gateway.toml").write_text("store = ")
    result = run("keys", "issue", "app")
    assert result.exit_code == 1
    assert "gateway.toml may name the store, but cannot be read" in result.stderr
    assert store.keys() == []
