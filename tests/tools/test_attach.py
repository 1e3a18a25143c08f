"""Files of a workspace, put into the messages that refer to them."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.tools.attach import MEDIA_TYPES, attach_files
from interlingua.tools.handlers import WorkspaceError
from interlingua.tools.workspace import Workspace


def image(path: str, **more: Any) -> il.ImageBlock:
    return il.ImageBlock(il.Source("file_ref", path), **more)


def test_references_become_data_on_a_copy(root: Path) -> None:
    (root / "notes.txt").write_text("one\ntwo")
    (root / "page.pdf").write_bytes(b"%PDF")
    message = il.Message.user(
        [
            "look",
            image("a/b.png"),
            image("a/b.png", media_type="image/webp"),
            il.DocumentBlock(il.Source("file_ref", "page.pdf")),
            il.DocumentBlock(il.Source("file_ref", "notes.txt"), name="my notes"),
        ]
    )
    before = il.dumps(message)
    [attached] = attach_files([message], Workspace(root))
    data = base64.b64encode(b"inside").decode()
    assert attached.content == (
        il.TextBlock("look"),
        il.ImageBlock(il.Source("base64", data), "image/png"),
        il.ImageBlock(il.Source("base64", data), "image/webp"),
        il.DocumentBlock(il.Source("base64", "JVBERg=="), "application/pdf", "page.pdf"),
        il.DocumentBlock(il.Source("text", "one\ntwo"), "text/plain", "my notes"),
    )
    assert il.dumps(message) == before


def test_references_inside_results_and_documents_are_found(root: Path) -> None:
    inner = il.DocumentBlock(il.Source("blocks", content=(image("a/b.png"),)))
    message = il.Message.tool_result("a", [image("a/b.png"), inner])
    [attached] = attach_files([message], Workspace(root))
    assert il.dumps(attached).count(b'"kind":"base64"') == 2
    assert b"file_ref" not in il.dumps(attached)


def test_messages_without_references_come_back_as_they_are(root: Path) -> None:
    url = il.ImageBlock(il.Source("url", "https://example.com/a.png"))
    messages = [il.Message.user(["hi", url]), il.Message.tool_result("a", [url])]
    attached = attach_files(messages, Workspace(root))
    assert all(a is b for a, b in zip(attached, messages, strict=True))


def test_no_file_from_outside_comes_into_a_message(root: Path) -> None:
    for path in ("../secret.txt", str(root.parent / "secret.txt"), ""):
        with pytest.raises(WorkspaceError):
            attach_files([il.Message.user([image(path)])], Workspace(root))


def test_files_are_limited_one_by_one_and_together(root: Path) -> None:
    message = il.Message.user([image("a/b.png"), image("a/b.png")])
    assert attach_files([message], Workspace(root), limit=6, total=12)
    with pytest.raises(WorkspaceError, match="larger than 5 bytes"):
        attach_files([message], Workspace(root), limit=5)
    with pytest.raises(WorkspaceError, match="all files together are larger than 11 bytes"):
        attach_files([message], Workspace(root), total=11)


def test_text_that_is_no_unicode_stays_bytes(root: Path) -> None:
    (root / "latin.txt").write_bytes(b"caf\xe9")
    block = il.DocumentBlock(il.Source("file_ref", "latin.txt"))
    [attached] = attach_files([il.Message.user([block])], Workspace(root))
    assert attached.content[0].source == il.Source("base64", "Y2Fm6Q==")  # type: ignore[union-attr]


def test_an_attached_image_can_be_written_everywhere_it_has_a_place(root: Path) -> None:
    messages = tuple(attach_files([il.Message.user([image("a/b.png")])], Workspace(root)))
    for name in ("openai-chat", "anthropic", "gemini", "bedrock"):
        written = il.dialect(name).write_request(il.Request(messages, "m"))
        assert base64.b64encode(b"inside") in written.json()


def test_the_types_by_extension_are_of_their_kind() -> None:
    for cls, types in MEDIA_TYPES.items():
        kind = cls.__name__.removesuffix("Block").lower()
        if kind != "document":
            assert all(value.startswith(f"{kind}/") for value in types.values())
