"""One rule for where files are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from interlingua import config
from interlingua.store.open import default_path, open_store

VARIABLES = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA", "APPDATA", config.HOME)


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, config.STORE):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.requirement("S002-12")
def test_one_variable_moves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(config.HOME, str(tmp_path))
    assert config.data_folder() == config.config_folder() == tmp_path
    paths = [config.store_path(), config.rules_path(), config.prices_path()]
    assert [path.name for path in paths] == ["interlingua.db", "rules.toml", "prices.toml"]
    assert {path.parent for path in paths} == {tmp_path}
    assert default_path() == config.store_path()


SHARE, SETTINGS = "~/.local/share/interlingua", "~/.config/interlingua"
LIBRARY = "~/Library/Application Support/interlingua"


@pytest.mark.parametrize(
    ("platform", "variables", "data", "settings"),
    [
        ("linux", {}, SHARE, SETTINGS),
        ("linux", {"XDG_DATA_HOME": "/d"}, "/d/interlingua", SETTINGS),
        ("linux", {"XDG_CONFIG_HOME": "/c"}, SHARE, "/c/interlingua"),
        ("linux", {"XDG_DATA_HOME": "d", "XDG_CONFIG_HOME": ""}, SHARE, SETTINGS),
        ("linux", {config.HOME: "~/mine"}, "~/mine", "~/mine"),
        ("darwin", {"XDG_DATA_HOME": "/d"}, LIBRARY, LIBRARY),
        ("win32", {"LOCALAPPDATA": "/l", "APPDATA": "/r"}, "/l/interlingua", "/r/interlingua"),
        ("win32", {}, "~/AppData/Local/interlingua", "~/AppData/Roaming/interlingua"),
        ("win32", {config.HOME: "/mine"}, "/mine", "/mine"),
    ],
)
def test_each_system_has_its_own_folders(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    variables: dict[str, str],
    data: str,
    settings: str,
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert config.data_folder() == Path(data).expanduser()
    assert config.config_folder() == Path(settings).expanduser()


def test_a_relative_home_is_taken_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(config.HOME, "here")
    assert config.data_folder() == tmp_path / "here"


def test_asking_makes_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(config.HOME, str(tmp_path / "new"))
    config.store_path()
    config.rules_path()
    assert not (tmp_path / "new").exists()


def test_the_environment_may_name_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(config.HOME, str(tmp_path / "home"))
    monkeypatch.setenv(config.STORE, f"sqlite:///{tmp_path / 'other.db'}")
    with open_store() as store:
        assert store.where == str(tmp_path / "other.db")
    with open_store(tmp_path / "third.db") as store:
        assert store.where == str(tmp_path / "third.db")
