"""The files that commands read and write: their shape, packed or not."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.cli.files import shape_of
from tests.cli.samples import PLAIN, STREAM, as_bytes, lines_of, run


@pytest.mark.parametrize(
    ("head", "shape"),
    [
        (b" \n", None),
        (b"da", None),
        (b"event: message_start\n", "stream"),
        (b": OPENROUTER PROCESSING\n", "stream"),
        (b"\0\0\0\x90", "stream"),
        (b'[{\n  "candidates": [', "stream"),
        (b'{"model":"m","message":{},"done":false}\n', "stream"),
        (b'{"type":"message_start"}\n{', "stream"),
        (b'{"a":', None),
        (b'{"a":1}\n', None),
        (b'{"a":1}\n{', "lines"),
        (b'{"a":\n{"b":1}\n', "lines"),
        (b'{\n  "a": 1,\n', "json"),
        (b'[\n{"role":"user"}\n]', "json"),
        (b"name,age\n", "text"),
    ],
)
def test_the_first_bytes_tell_the_shape_as_soon_as_they_can(head: bytes, shape: str | None) -> None:
    assert shape_of(head, is_whole=False) == shape


@pytest.mark.parametrize(
    ("data", "shape"), [(b"\n", "empty"), (b'{"a":1}\n', "json"), (b"{", "json"), (b"id", "text")]
)
def test_the_end_tells_what_was_not_clear(data: bytes, shape: str) -> None:
    assert shape_of(data, is_whole=True) == shape


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
@pytest.mark.parametrize(
    "data",
    [as_bytes(PLAIN), lines_of(PLAIN, PLAIN), STREAM],
    ids=["one", "lines", "stream"],
)
def test_packed_files_are_unpacked(
    pack: Callable[[bytes], bytes], data: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "packed"
    file.write_bytes(pack(data))
    plain = run("convert", "--to", "anthropic", stdin=data)
    assert plain.exit_code == 0, plain.stderr
    for packed in (
        run("convert", file, "--to", "anthropic"),
        run("convert", "--to", "anthropic", stdin=pack(data)),
    ):
        assert packed.exit_code == 0, packed.stderr
        assert packed.stdout == plain.stdout


def test_zstandard_is_unpacked_where_its_extra_is_installed() -> None:
    zstandard = pytest.importorskip("zstandard")
    data = zstandard.compress(lines_of(PLAIN, PLAIN))
    done = run("convert", "--to", "anthropic", stdin=data)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize("command", [("convert", "--to", "gemini"), ("inspect",), ("check",)])
@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (gzip.compress(as_bytes(PLAIN), mtime=0)[:-9], "a damaged gzip file"),
        (b"PK\x03\x04rest", "unzip -p"),
        (b"\xfd7zXZ\0rest", "xz -dc"),
        ("{}".encode("utf-16"), "iconv"),
        (b"name,age\nAda,36\n", "it begins with 'name,age'"),
    ],
    ids=["empty", "blank", "cut gzip", "zip", "xz", "utf-16", "csv"],
)
def test_what_cannot_be_read_is_named(
    command: tuple[str, ...], data: bytes, says: str, tmp_path: Path
) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(data)
    done = run(command[0], file, *command[1:])
    assert done.exit_code == 1
    [line] = done.stderr.splitlines()
    assert str(file) in line
    assert says in line


def test_the_output_may_be_the_input_and_stays_where_nothing_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_bytes(as_bytes(PLAIN))
    assert run("convert", file, "-t", "anthropic", "-o", file).exit_code == 0
    after = file.read_bytes()
    assert b'"type":"text"' in after
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"{")
    assert run("convert", broken, "-t", "gemini", "-o", file).exit_code == 1
    assert file.read_bytes() == after
    assert sorted(each.name for each in tmp_path.iterdir()) == ["broken.json", "talk.json"]


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = run("convert", "-t", "gemini", "-o", tmp_path / "no" / "a.json", stdin=as_bytes(PLAIN))
    assert done.exit_code == 1
    assert "does not exist" in done.stderr
