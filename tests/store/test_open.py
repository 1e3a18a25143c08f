"""Finding a store by its address."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interlingua.errors import MissingExtraError
from interlingua.store import open as open_module
from interlingua.store.errors import StoreError
from interlingua.store.open import default_path, open_store
from interlingua.store.sqlite import SqliteStore


def test_without_an_address_it_is_a_file_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert default_path() == tmp_path / "data" / "interlingua" / "interlingua.db"
    with open_store() as store:
        assert store.where == str(default_path())
        session = store.create_session("/w").id
    with open_store() as store:
        assert [row.id for row in store.sessions()] == [session]


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": ""}, ".local/share/interlingua"),
        ("linux", {"XDG_DATA_HOME": "relative"}, ".local/share/interlingua"),
        ("darwin", {}, "Library/Application Support/interlingua"),
        ("win32", {"LOCALAPPDATA": ""}, "AppData/Local/interlingua"),
    ],
)
def test_each_system_has_its_own_data_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_path() == Path.home() / expected / "interlingua.db"


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_a_file_may_be_named_as_a_path_or_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (str(tmp_path / "a ? # %20 file.db"), "relative.db"):
        with open_store(form.format(name)) as store:
            assert isinstance(store, SqliteStore)
            assert Path(store.where) == tmp_path / name
            assert Path(store.where).exists()


@pytest.mark.parametrize("address", ["mysql://x/y", "sqlite://relative.db", "sqlite:///"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(StoreError):
        open_store(address)


def test_without_psycopg_the_extra_is_named() -> None:
    program = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from interlingua.store.open import open_store\n"
        "try: open_store('postgresql://x/y')\n"
        "except Exception as odd: print(type(odd).__name__, odd)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.startswith(MissingExtraError.__name__), run.stderr
    assert "interlingua[postgres]" in run.stdout


def test_finding_out_what_an_address_means_loads_no_engine() -> None:
    program = (
        "import sys, interlingua.store.open; print({'sqlite3', 'apsw', 'psycopg'} & {*sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout == "set()\n", run.stderr
    assert open_module.FILE == "interlingua.db"
