"""Files that may be compressed: gzip, and Zstandard with the extra `zstd`."""

from __future__ import annotations

import gzip
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

from interlingua.errors import MissingExtraError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
"""How such files begin."""


def is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, ZSTD))


def opened(path: Path) -> IO[bytes]:
    """A file to read, unpacked on the way; its first bytes tell what it is packed with."""
    file = path.open("rb")
    head = file.read(4)
    file.seek(0)
    if head.startswith(GZIP):
        file.close()
        return cast(IO[bytes], gzip.open(path, "rb"))
    return unpacked_zstd(file) if head == ZSTD else file


def unpacked_zstd(file: IO[bytes]) -> IO[bytes]:
    unpacking = _zstandard().ZstdDecompressor()
    return cast(IO[bytes], BufferedReader(unpacking.stream_reader(file, read_across_frames=True)))


def packed(data: bytes, name: str) -> bytes:
    """Bytes as a file of this name holds them. Packed pieces may stand one behind the other, and
    the same bytes give the same piece."""
    if name.endswith(".gz"):
        return gzip.compress(data, 6, mtime=0)
    if name.endswith(".zst"):
        piece: bytes = _zstandard().ZstdCompressor().compress(data)
        return piece
    return data


def require(name: str) -> None:
    """What a file of this name needs is installed; an error that names the extra if not."""
    if name.endswith(".zst"):
        _zstandard()


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading and writing .zst files", "zstd") from None
    return zstandard
