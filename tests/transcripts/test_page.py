"""Formats of a package of their own: those that `docs/writing-a-transcript-format.md` builds."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua import transcripts
from interlingua.model.message import Message
from interlingua.transcripts import format as registry
from interlingua.transcripts import format_of, formats, sessions
from interlingua.transcripts.notes import ignoring_notes
from interlingua.transcripts.sessions import carry_out, plan
from tests.transcripts.made import session

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-transcript-format.md"
FILES = re.compile(r"(?ms)^cat >(>?) (\S+) <<'END'\n(.*?)^END$")
SESSION = "~/.parley/sessions/s1.parley"
WRITTEN = [name for name in formats() if format_of(name).write is not None]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page, as whoever pastes them has them; `~` is the folder `home`."""
    folder = tmp_path_factory.mktemp("page")
    blocks = FILES.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 8
    for more, name, text in blocks:
        path = folder / name.replace("~", "home")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((path.read_text() if more else "") + text)
    return folder


@pytest.fixture
def home(built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package is installed; the home folder with the page's session."""
    monkeypatch.syspath_prepend(str(built / "parley"))
    yield built / "home"
    for name in ("parley", "pairs"):
        registry._LOADED.pop(name, None)
    for name in [each for each in sys.modules if each.startswith("parley_format")]:
        del sys.modules[name]


@pytest.fixture
def path(home: Path) -> Path:
    return home / SESSION.removeprefix("~/")


def test_it_is_a_format_like_ours(home: Path, path: Path) -> None:
    assert formats()[-2:] == ["parley", "pairs"]
    assert str(transcripts.detect(path)) == "parley (a header of Parley)"
    [found] = transcripts.find(home)
    assert (found.format, found.id) == ("parley", "s1")
    assert [hit.place for hit in sessions.hits_in(found, "dough")] == ["line 2"]  # type: ignore[union-attr]
    overview = sessions.look(found)
    assert (overview.title, overview.messages) == ("Is the dough ready?", 4)


def test_what_it_reads_goes_home(path: Path, tmp_path: Path) -> None:
    read = transcripts.read(path)
    assert [str(message.role) for message in read.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert not transcripts.write(read, tmp_path / "s1.parley", "parley")
    assert (tmp_path / "s1.parley").read_bytes() == path.read_bytes()


def test_a_change_replaces_its_line_and_a_new_message_follows(path: Path, tmp_path: Path) -> None:
    read = transcripts.read(path)
    changed = (*read.messages[:3], Message.assistant("Not yet."), Message.user("Then wait."))
    transcripts.write(read.replace(messages=changed), tmp_path / "s2.parley", "parley")
    before, after = path.read_text().splitlines(), (tmp_path / "s2.parley").read_text().splitlines()
    assert after[:4] == before[:4]
    assert after[4:] == ['{"who":"model","says":"Not yet."}', '{"who":"me","says":"Then wait."}']


def test_a_line_of_the_wrong_shape_is_reported(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "odd.parley"
    file.write_text(
        '{"parley": 1}\n{"who": "somebody", "says": "Hi"}\n{"who": "me", "says": "Ho"}\n'
    )
    read = transcripts.read(file)
    assert [message.text for message in read.messages] == ["Ho"]
    assert [loss.path for loss in read.report.entries] == ["line 2"]


def test_notes_bring_back_what_it_cannot_show(home: Path, tmp_path: Path) -> None:
    made = session()
    file = tmp_path / "bread.parley"
    report = transcripts.write(made, file, "parley")
    assert "$.messages[1]" in {loss.path for loss in report.entries}, "the picture"
    assert transcripts.read(file).messages == made.messages
    with ignoring_notes():
        shown = transcripts.read(file)
    assert [message.text for message in shown.messages] == [each.text for each in made.messages]


@pytest.mark.parametrize("other", WRITTEN)
def test_it_is_written_as_all_others(other: str, path: Path, tmp_path: Path) -> None:
    out = tmp_path / f"out{format_of(other).suffix}"
    transcripts.write(transcripts.read(path), out, other)
    texts = [message.text for message in transcripts.read(out, other).messages]
    assert texts[-1] == "It has risen."
    transcripts.write(transcripts.read(out, other), tmp_path / "back.parley", "parley")
    assert transcripts.read(tmp_path / "back.parley").messages[-1].text == "It has risen."


def test_sessions_of_others_go_on_in_its_tool(home: Path, tmp_path: Path) -> None:
    made = plan(session(), "parley", tmp_path)
    assert made.path.parent == tmp_path / ".parley" / "sessions"
    assert made.commands == [["parley", "--continue", made.path.stem]]
    carry_out(made)
    assert [found.path for found in transcripts.find(tmp_path)] == [made.path]


def test_rows_are_read_one_by_one(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_text(
        '{"ask":"Ready?","answer":"Yes.","by":"me"}\n{"ask":"Now?","answer":"No."}\n{"ask":1}\n'
    )
    assert transcripts.detect(file).format == "pairs"
    first, second = transcripts.read_all(file)
    assert [message.text for message in second.messages] == ["Now?", "No."]
    assert "expected ask and answer" in str(second.report.entries[0])
    report = transcripts.write(first.replace(origin=None), tmp_path / "one.jsonl", "pairs")
    assert (tmp_path / "one.jsonl").read_text() == '{"ask":"Ready?","answer":"Yes.","by":"me"}\n'
    assert not report.entries
    assert transcripts.write(session(), tmp_path / "two.jsonl", "pairs").losses
