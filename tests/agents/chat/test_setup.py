"""Who can be talked to, and the parts around a chat: files, attachments, forks, dry requests."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.agents.chat import attach
from interlingua.agents.chat.attach import AttachmentError, attached
from interlingua.agents.chat.chat import family, fork_before_last_turn
from interlingua.agents.chat.files import list_files, read_file, write_file
from interlingua.agents.chat.setup import Setup
from interlingua.sessions.setting import LOCAL
from interlingua.tools.handlers import ToolRun, WorkspaceError
from interlingua.tools.workspace import Workspace


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("INTERLINGUA_HOME", str(folder))
    return folder


def test_with_nothing_configured_the_model_in_the_box_is_the_default() -> None:
    setup = Setup(environ={})
    assert setup.default_model("/somewhere") == LOCAL
    assert {model.partition(":")[0] for model in setup.usable()} <= {"local", "ollama"}


def test_a_key_makes_its_provider_the_default_and_rules_come_before_it(home: Path) -> None:
    setup = Setup(environ={"OPENAI_API_KEY": "sk-1234567890"})
    assert setup.default_model("/somewhere").startswith("openai:")
    (home / "rules.toml").write_text(
        'schema_version = 1\ndefault = "gemini:gemini-2.5-flash"\n'
        '[workspaces."/here"]\ndefault = "anthropic:claude-sonnet-4-6"\n'
    )
    setup = Setup(environ={"OPENAI_API_KEY": "sk-1234567890"})
    assert setup.default_model("/somewhere") == "gemini:gemini-2.5-flash"
    assert setup.default_model("/here") == "anthropic:claude-sonnet-4-6"


def test_models_of_the_users_own_providers_are_known_also_beside_own_aliases(home: Path) -> None:
    (home / "providers.toml").write_text('[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\n')
    (home / "rules.toml").write_text('schema_version = 1\n[aliases]\nfast = "mine:small"\n')
    names = Setup(environ={}).router.config().names
    assert names.require("mine:large") == "mine:large"
    assert names.require("fast") == "mine:small"
    assert names.resolve("nobody:large") is None


def test_a_missing_key_is_told_with_its_variables() -> None:
    problem = Setup(environ={}).problem("anthropic:claude-sonnet-4-6")
    assert problem is not None
    assert "ANTHROPIC_API_KEY" in problem
    assert Setup(environ={}).problem(LOCAL) is None


# Attachments


def test_files_become_blocks_by_their_endings(tmp_path: Path) -> None:
    for name in ("a.PNG", "b.pdf", "c.py", "d.mp3", "e.csv"):
        (tmp_path / name).write_bytes(b"data of it")
    names = ("a.PNG", "b.pdf", "c.py", "d.mp3", "e.csv")
    image, pdf, code, sound, table = attached(tuple(str(tmp_path / name) for name in names))
    assert image == il.ImageBlock(
        il.Source("base64", base64.b64encode(b"data of it").decode()), "image/png"
    )
    assert isinstance(pdf, il.DocumentBlock)
    assert (pdf.media_type, pdf.name, pdf.source.kind) == ("application/pdf", "b.pdf", "base64")
    assert code == il.DocumentBlock(il.Source("text", "data of it"), "text/plain", "c.py")
    assert isinstance(sound, il.AudioBlock)
    assert isinstance(table, il.DocumentBlock)
    assert (table.media_type, table.source.data) == ("text/csv", "data of it")


def test_an_address_is_attached_as_one() -> None:
    (block,) = attached(("https://example.com/cat.jpg?size=2",))
    source = il.Source("url", "https://example.com/cat.jpg?size=2")
    assert block == il.ImageBlock(source, "image/jpeg")


def test_what_cannot_be_attached_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "odd.bin").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.txt").write_bytes(b"x" * 101)
    monkeypatch.setattr(attach, "MOST", 100)
    os.mkfifo(tmp_path / "pipe.txt")
    problems = {
        "missing.txt": "No such file",
        "empty.txt": "it is empty",
        "odd.bin": "neither text in UTF-8",
        "large.txt": "more than 100 bytes",
        "pipe.txt": "not a regular file",
        ".": "not a regular file|Is a directory",
    }
    for name, problem in problems.items():
        with pytest.raises(AttachmentError, match=problem):
            attached((str(tmp_path / name),))


# Files of the workspace


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


# Forks


def test_going_back_makes_a_fork_and_deletes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with await il.open_async_store(tmp_path / "s.db") as store:
            session = await il.AsyncSession.create(store, ".", model="sonnet")
            for number in (1, 2):
                answer = il.Message.assistant(f"a{number}", il.MessageMetadata())
                await session.append(il.Message.user(f"q{number}"), answer)
            id, taken = await fork_before_last_turn(session)
            assert taken.text == "q2"
            first = await il.AsyncSession.open(store, id)
            assert [m.text for m in await first.messages()] == ["q1", "a1"]
            id, taken = await fork_before_last_turn(first)
            assert taken.text == "q1"
            empty = await il.AsyncSession.open(store, id)
            assert await empty.messages() == []
            assert empty.model == session.model
            with pytest.raises(il.SessionError, match="no turn"):
                await fork_before_last_turn(empty)
            assert len(await session.messages()) == 4
            members = await family(store, empty.id)
            ids = [(m.row.id, m.depth) for m in members]
            assert ids == [(session.id, 0), (first.id, 1), (empty.id, 2)]

    asyncio.run(main())
