"""Compressed files: what is cut short is never taken for what is whole."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from interlingua.streams import packed

zstandard = pytest.importorskip("zstandard", reason="needs the extra zstd")
TEXT = b"".join(b"line %d of the session\n" % number for number in range(20_000))


def zstd(data: bytes) -> bytes:
    made: bytes = zstandard.ZstdCompressor().compress(data)
    return made


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_what_was_packed_is_read(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(pack(TEXT))
    with packed.opened(path) as file:
        assert file.readline() == b"line 0 of the session\n"
        assert file.read() == TEXT[len(b"line 0 of the session\n") :]
        assert file.read() == b""


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_pieces_one_behind_the_other_are_one_file(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "packed"
    path.write_bytes(pack(b"") + pack(TEXT) + pack(b"") + pack(b"end"))
    with packed.opened(path) as file:
        assert file.read() == TEXT + b"end"


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_file_that_was_cut_says_so(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path, whole = tmp_path / "packed", pack(TEXT)
    for cut in (10, len(whole) // 2, len(whole) - 1, len(whole) + 9):
        path.write_bytes((whole + pack(TEXT))[:cut])
        with packed.opened(path) as file, pytest.raises(packed.broken()):
            sum(len(line) for line in file)


def test_what_is_no_frame_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(zstd(TEXT) + b"something else")
    with packed.opened(path) as file, pytest.raises(packed.broken()):
        file.read()
