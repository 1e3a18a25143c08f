"""Formats of other packages, plugged in by entry points; and that all formats look alike."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from interlingua import transcripts
from interlingua.errors import DetectError
from interlingua.transcripts import format as plugs
from interlingua.transcripts import format_of, formats
from tests.transcripts.made import session

PLUGGED = Path(__file__).parent / "plugged"
NAMES = {"broken", "clumsy", "toy", "wrong"}
SOURCE = Path(transcripts.__file__).parent
FOLDERS = sorted(each.parent.name for each in SOURCE.glob("*/read.py"))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[warnings.WarningMessage]]:
    """The package is installed; the warnings that it is worth."""
    monkeypatch.syspath_prepend(str(PLUGGED))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found
    for name in NAMES:
        plugs._LOADED.pop(name, None)


Told = list[warnings.WarningMessage]


def test_a_format_of_another_package_is_one_of_ours(told: Told, tmp_path: Path) -> None:
    path = tmp_path / ".toy" / "talk.toy"
    path.parent.mkdir()
    path.write_text("toy\nuser: Hi.\nassistant: Ho.\n")
    assert str(transcripts.detect(path)) == "toy (a first line that says toy)"
    assert [each.id for each in transcripts.find(tmp_path)] == ["talk"]
    arrived = transcripts.read(path, "toy")
    assert [message.text for message in arrived.messages] == ["Hi.", "Ho."]
    transcripts.write(arrived, tmp_path / "talk.jsonl", "pi")
    transcripts.write(session(), tmp_path / "bread.toy", "toy")
    assert transcripts.read(tmp_path / "bread.toy", "toy").messages[-2].text == "Thanks."


def test_formats_that_are_broken_are_named_and_break_nothing(told: Told, tmp_path: Path) -> None:
    assert set(formats()) >= NAMES
    (tmp_path / "bread.jsonl").write_text('{"unheard": "of"}\n')
    with pytest.raises(DetectError):
        transcripts.detect(tmp_path / "bread.jsonl")
    assert [*transcripts.find(tmp_path)] == []
    words = [str(each.message) for each in told]
    for name, problem in (
        ("broken", "cannot be loaded: module 'toy_transcripts' has no attribute 'NOT_THERE'"),
        ("wrong", "cannot be loaded: toy_transcripts:WRONG is not a format of that name"),
        ("clumsy", "cannot recognize files: clumsy"),
        ("clumsy", "cannot find sessions: clumsy"),
    ):
        assert f"transcript format '{name}' {problem}" in words


def test_a_format_that_nobody_has_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(DetectError, match="unknown transcript format 'toy'"):
        format_of("toy")


@pytest.mark.parametrize("name", formats())
def test_formats_have_the_same_shape(name: str) -> None:
    found = format_of(name)
    module = import_module(f"interlingua.transcripts.{plugs._OWN[name]}")
    assert found in module.FORMATS
    assert found.name == name
    assert found.title
    assert found.tested[-10:].count("-") == 2, "the day when it was last tested"
    package = SOURCE / plugs._OWN[name]
    if modules := {each.stem for each in package.glob("*.py")}:
        assert modules >= {"read", "write"}
    else:
        assert package.with_suffix(".py").is_file()


def test_every_folder_is_a_format() -> None:
    assert set(plugs._OWN.values()) >= set(FOLDERS)
