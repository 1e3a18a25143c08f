"""A workspace lets nobody out, and files come into messages from nowhere else."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.tools import workspace as module
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import WorkspaceError
from interlingua.tools.registry import ToolRegistry
from interlingua.tools.workspace import Workspace, parts_of

needs_posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")


@pytest.fixture(params=["stepwise", "looking"])
def workspace(
    root: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """Opened in both ways that the systems we run on need."""
    if request.param == "looking":
        monkeypatch.setattr(module, "_STEPWISE", False)
    elif not module._STEPWISE:
        pytest.skip("this system cannot open relative to a folder")
    return Workspace(root)


def reason_of(workspace: Workspace, path: str) -> str:
    with pytest.raises(WorkspaceError) as caught:
        workspace.read(path)
    return caught.value.reason


def test_files_inside_are_read_and_found(workspace: Workspace, root: Path) -> None:
    assert workspace.read("a/b.png") == b"inside"
    assert workspace.read("./a//b.png") == b"inside"
    assert workspace.path("a/b.png") == root.resolve() / "a" / "b.png"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../secret.txt", "outside"),
        ("a/../../secret.txt", "outside"),
        ("a/../a/b.png", "outside"),
        ("/etc/passwd", "outside"),
        ("..\\secret.txt", "outside"),
        ("a\\b.png", "outside"),
        ("", "bad_name"),
        ("a/b.png\0", "bad_name"),
        ("a\n", "bad_name"),
        ("\ud800", "bad_name"),
        ("x" * 5000, "bad_name"),
        ("x" * 300, "bad_name"),
        (".", "not_a_file"),
        ("a", "not_a_file"),
        ("a/", "not_a_file"),
        ("a/b.png/", "not_a_file"),
        ("a/b.png/c", "link"),
        ("missing.txt", "not_found"),
        ("missing/b.png", "not_found"),
        ("~/secret.txt", "not_found"),
    ],
)
def test_what_is_not_a_file_inside_is_refused_with_a_reason(
    workspace: Workspace, path: str, reason: str
) -> None:
    assert reason_of(workspace, path) == reason
    with pytest.raises(WorkspaceError):
        workspace.path(path)


@needs_posix
def test_links_are_refused_at_the_end_and_in_the_middle(workspace: Workspace, root: Path) -> None:
    (root / "end.txt").symlink_to(root.parent / "secret.txt")
    (root / "middle").symlink_to(root.parent)
    (root / "inner.png").symlink_to(root / "a" / "b.png")
    for path in ("end.txt", "middle/secret.txt", "inner.png"):
        assert reason_of(workspace, path) == "link"


@needs_posix
def test_pipes_sockets_and_devices_are_refused_at_once(workspace: Workspace, root: Path) -> None:
    os.mkfifo(root / "pipe")
    plug = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    try:
        os.chdir(root)  # the name of a socket may not be long
        plug.bind("socket")
    finally:
        os.chdir(here)
        plug.close()
    start = time.monotonic()
    assert reason_of(workspace, "pipe") == "not_a_file"
    assert reason_of(workspace, "socket") == "not_a_file"
    assert time.monotonic() - start < 5
    with suppress(PermissionError):
        os.mknod(root / "null", 0o600 | 0o020000, os.makedev(1, 3))
        assert reason_of(workspace, "null") == "not_a_file"


@needs_posix
def test_a_folder_swapped_for_a_link_lets_nobody_out(root: Path) -> None:
    workspace = Workspace(root)
    inside, outside = root / "a", root.parent
    (inside / "secret.txt").write_text("inside")
    (root / "aside").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            inside.rename(root / "away")
            (root / "aside").rename(inside)
            inside.rename(root / "aside")
            (root / "away").rename(inside)

    thread = threading.Thread(target=swap, daemon=True)
    thread.start()
    read, refused = 0, 0
    deadline = time.monotonic() + 10
    try:
        while (read < 300 or refused < 300) and time.monotonic() < deadline:
            try:
                assert workspace.read("a/secret.txt") == b"inside"
                read += 1
            except WorkspaceError:
                refused += 1
    finally:
        stop.set()
        thread.join()
    assert read
    assert refused


def test_files_that_are_too_large_are_refused(workspace: Workspace, root: Path) -> None:
    (root / "big").write_bytes(b"x" * 11)
    assert workspace.read("big", limit=11) == b"x" * 11
    with pytest.raises(WorkspaceError, match="larger than 10 bytes"):
        workspace.read("big", limit=10)


@needs_posix
def test_no_file_stays_open(root: Path) -> None:
    workspace = Workspace(root)
    before = len(os.listdir("/dev/fd"))
    for path in ("a/b.png", "a", "missing", "a/b.png/c", "../x") * 20:
        with suppress(WorkspaceError):
            workspace.read(path)
    assert len(os.listdir("/dev/fd")) == before


def test_a_workspace_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match="not a folder"):
        Workspace(tmp_path / "missing")


@pytest.mark.parametrize(
    "path", ["C:x", "C:/x", "a:stream", "con", "NUL.txt", "a/com1", "a/LPT³.log", "dots.", "blank "]
)
def test_names_with_a_meaning_of_their_own_on_windows_are_refused_there(path: str) -> None:
    with pytest.raises(WorkspaceError):
        parts_of(path, windows=True)
    assert parts_of("config/nullable.txt", windows=True) == ["config", "nullable.txt"]


SIGNS = st.sampled_from(["..", ".", "/", "a", "b.png", "\\", ":", "~", " ", "\0", "é", "%2e%2e"])


@given(st.one_of(st.text(max_size=20), st.lists(SIGNS, max_size=8).map("".join)))
def test_no_name_leads_out(path: str) -> None:
    with suppress(WorkspaceError):
        names = parts_of(path)
        whole = os.path.normpath(os.path.join("/root", *names))
        assert whole.startswith("/root/")
        assert not {"", ".", ".."} & set(names)


def test_a_path_that_a_tool_may_not_read_is_a_denied_permission(root: Path) -> None:
    registry = ToolRegistry()
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    tool = il.ToolDefinition("read_file", "Reads.", schema, il.SideEffects.READ)
    registry.register(tool, lambda input, run: run.workspace.read(input["path"]).decode())
    calls = [
        il.ToolUseBlock("1", "read_file", {"path": "a/b.png"}),
        il.ToolUseBlock("2", "read_file", {"path": "../secret.txt"}),
    ]
    good, bad = Dispatcher(registry, workspace=root).run_sync(calls)
    assert good.content == (il.TextBlock("inside"),)
    assert bad.is_error
    assert "outside" not in str(bad)


# Files in messages


@needs_posix
def test_a_workspace_replaced_by_a_link_opens_nothing(workspace: Workspace, root: Path) -> None:
    inner = Workspace(root / "a")
    secret = root.parent / "elsewhere"
    (secret / "a").mkdir(parents=True)
    (secret / "a" / "b.png").write_text("outside")
    root.rename(root.parent / "moved")
    root.symlink_to(secret)
    assert reason_of(workspace, "a/b.png") == "link"
    assert reason_of(inner, "b.png") == "link", "a folder above it is the link"
