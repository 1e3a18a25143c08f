"""Files that a user names, as blocks of a message."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

import interlingua as il
from interlingua.agents.chat import files
from interlingua.agents.chat.files import AttachmentError, attached


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
    monkeypatch.setattr(files, "MOST", 100)
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
