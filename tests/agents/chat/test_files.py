"""Tools for the files of the folder that a chat was started in."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interlingua.agents.chat.files import list_files, read_file, write_file
from interlingua.tools.handlers import ToolRun, WorkspaceError
from interlingua.tools.workspace import Workspace


def run_in(folder: Path) -> ToolRun:
    from interlingua.agents.chat.files import READ_FILE

    return ToolRun("tu_1", READ_FILE, workspace=Workspace(folder), timeout=5)


def test_long_files_are_read_piece_by_piece(tmp_path: Path) -> None:
    lines = [f"line {number} {'x' * 90}\n" for number in range(1, 3001)]
    (tmp_path / "long.txt").write_text("".join(lines))
    seen, first = "", 1
    for _ in range(5):
        got = read_file({"path": "long.txt", "first_line": first}, run_in(tmp_path))
        head, mark, rest = got.rpartition("(lines ")
        if not mark:
            seen += got
            break
        seen += head
        first = int(rest.split()[2]) + 1
    assert seen == "".join(lines)


def test_listing_leaves_hidden_files_out_and_takes_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("a.py", "sub/b.py", "sub/c.txt", ".git/config", ".env"):
        (tmp_path / name).write_text("x")
    assert list_files({"pattern": "*.py"}, run_in(tmp_path)) == "a.py\nsub/b.py"
    assert list_files({"folder": "sub"}, run_in(tmp_path)) == "sub/b.py\nsub/c.txt"


@pytest.mark.parametrize("path", ["../out.txt", "/etc/passwd", "link/x.txt", "file-link"])
def test_nothing_outside_the_folder_is_reached(tmp_path: Path, path: str) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (outside / "x.txt").write_text("secret")
    (inside / "link").symlink_to(outside)
    (inside / "file-link").symlink_to(outside / "x.txt")
    for tool in (read_file, write_file):
        with pytest.raises(WorkspaceError):
            tool({"path": path, "text": "new"}, run_in(inside))
    with pytest.raises(WorkspaceError):
        list_files({"folder": path}, run_in(inside))
    assert (outside / "x.txt").read_text() == "secret"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["home", "in", "out"]


@pytest.mark.parametrize("folder", [".", "sub"])
@pytest.mark.parametrize("step", range(8))
def test_a_folder_that_becomes_a_link_while_it_is_listed_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, step: int
) -> None:
    """A link is put in its place before each step in turn that looks into a folder."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "own.txt").write_text("x")
    outside.mkdir()
    (outside / "secret.txt").write_text("x")
    count = itertools.count()

    def swapping(real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            if next(count) == step:
                os.rename(inside / "sub", tmp_path / "gone")
                os.symlink(outside, inside / "sub")
            return real(*given, **more)

        return called

    for name in ("scandir", "open", "stat"):
        monkeypatch.setattr(os, name, swapping(getattr(os, name)))
    with suppress(WorkspaceError):
        assert "secret" not in list_files({"folder": folder}, run_in(inside))


def test_writing_makes_folders_and_keeps_who_may_read(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    assert "3 bytes" in write_file({"path": "new/deep/a.txt", "text": "one"}, run)
    os.chmod(tmp_path / "new/deep/a.txt", 0o640)
    write_file({"path": "new/deep/a.txt", "text": "two"}, run)
    assert (tmp_path / "new/deep/a.txt").read_text() == "two"
    assert (tmp_path / "new/deep/a.txt").stat().st_mode & 0o777 == 0o640
    assert run.files_modified == ["new/deep/a.txt"] * 2
    assert [p.name for p in (tmp_path / "new/deep").iterdir()] == ["a.txt"]
