"""Sessions are written into the tool's own folder, whatever they say their names are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts import SubAgent, format_of, formats
from interlingua.transcripts.sessions import agents, carry_out, plan
from tests.transcripts.made import session

UP = "/.." * 12
NAMES = [
    "../../../../EVIL",
    f"ses_{UP}/EVIL",
    f"agent-{UP}/EVIL",
    "ses_/../../../../.ssh/authorized_keys",
    "agent-/../../../../EVIL",
    f"7a4d2f10-5b7e-4c1d-9a3f-0c9e5d1b2a60{UP}/EVIL",
    "{7a4d2f10-5b7e-4c1d-9a3f-0c9e5d1b2a60}",
    "urn:uuid:7a4d2f10-5b7e-4c1d-9a3f-0c9e5d1b2a60",
    "ses_\0",
    "agent-\0",
    "ses_a\nb",
    "agent-a\x1b[2J",
    "ses_\ud800",
    "agent-\ud800",
    "ses_" + "a" * 5000,
    "agent-" + "a" * 5000,
    "/EVIL",
    "..",
    ".",
    "",
    "ses_..\\..\\EVIL",
    "~/EVIL",
    "ses_ä",
    "CON",
    "agent-x/y",
]
WRITTEN = [name for name in formats() if format_of(name).write is not None]


def files_in(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if not each.is_dir())


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("target", agents())
def test_a_session_with_a_hostile_id_stays_in_the_tools_folder(
    target: str, name: str, tmp_path: Path
) -> None:
    home = tmp_path / "a" / "b" / "home"
    root = format_of(target).root
    assert root is not None
    hostile = session().replace(id=name, format=target)
    hostile = hostile.replace(subagents=(SubAgent(hostile, "toolu_a"), SubAgent(hostile, "x")))
    carry_out(plan(hostile, target, home))
    made = files_in(tmp_path)
    assert made
    assert all(each.is_relative_to(root(home)) for each in made), made
    if target == "claude-code":
        assert len([each for each in made if each.parent.name == "subagents"]) == 4


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("target", agents())
def test_a_session_with_a_hostile_folder_stays_in_the_tools_folder(
    target: str, name: str, tmp_path: Path
) -> None:
    home = tmp_path / "a" / "b" / "home"
    root = format_of(target).root
    assert root is not None
    with suppress(il.InterlinguaError):
        carry_out(plan(session().replace(folder=name), target, home))
    assert all(each.is_relative_to(root(home)) for each in files_in(tmp_path))


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("target", WRITTEN)
def test_files_beside_a_file_stay_beside_it(target: str, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    hostile = session().replace(id=name, subagents=(SubAgent(session().replace(id=name), "t"),))
    transcripts.write(hostile, folder / f"out{format_of(target).suffix}", target)
    assert files_in(tmp_path) == files_in(folder)


@pytest.mark.parametrize("target", agents())
def test_a_folder_that_is_a_link_to_elsewhere_is_not_written_into(
    target: str, tmp_path: Path
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    made = plan(session(), target, home)
    link = made.path if made.path.parent == made.root else made.path.parent
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    with pytest.raises(il.InterlinguaError, match="outside"):
        carry_out(made)
    assert not files_in(elsewhere)


@pytest.mark.parametrize("target", agents())
def test_a_tools_folder_may_be_a_link_itself(target: str, tmp_path: Path) -> None:
    home, disk = tmp_path / "home", tmp_path / "disk"
    home.mkdir()
    disk.mkdir()
    first = plan(session(), target, home).root.relative_to(home).parts[0]
    (home / first).symlink_to(disk)
    carry_out(plan(session(), target, home))
    assert files_in(disk)


def test_a_loop_of_links_is_refused_with_words(tmp_path: Path) -> None:
    made = plan(session(), "claude-code", tmp_path)
    made.root.mkdir(parents=True)
    made.path.parent.symlink_to(made.path.parent)
    with pytest.raises(il.InterlinguaError):
        carry_out(made)


def test_two_helpers_with_one_id_have_a_file_each(tmp_path: Path) -> None:
    helper = session().replace(id="agent-a1b2")
    both = session().replace(subagents=(SubAgent(helper, "toolu_a"), SubAgent(helper, "toolu_b")))
    transcripts.write(both, tmp_path / "session.jsonl", "claude-code")
    calls = {each.tool_use_id for each in transcripts.read(tmp_path / "session.jsonl").subagents}
    assert calls == {"toolu_a", "toolu_b"}
