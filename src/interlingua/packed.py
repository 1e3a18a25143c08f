"""Files that may be compressed: gzip, and Zstandard with the extra `zstd`."""

from __future__ import annotations

import gzip
import zlib
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, cast

from interlingua.errors import MissingExtraError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
"""How such files begin."""


def is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, ZSTD))


def opened(path: Path, buffer: int = -1) -> IO[bytes]:
    """A file to read, unpacked on the way; its first bytes tell what it is packed with."""
    file = cast(BufferedReader, path.open("rb", buffer))
    head = file.peek(4)[:4]
    if head.startswith(GZIP):
        file.close()
        return cast(IO[bytes], gzip.open(path, "rb"))
    return unpacked_zstd(file) if head == ZSTD else file


def unpacked_zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        unpacking = _zstandard().ZstdDecompressor()
    except MissingExtraError:
        file.close()
        raise
    return cast(IO[bytes], BufferedReader(unpacking.stream_reader(file, read_across_frames=True)))


def skip(file: IO[bytes], count: int) -> None:
    """Go on so many bytes from the beginning; what is unpacked on the way is read for that."""
    if file.seekable():
        file.seek(count)
        return
    while count > 0 and (piece := file.read(min(count, 1 << 20))):
        count -= len(piece)


def broken() -> tuple[type[Exception], ...]:
    """What reading a packed file raises where it is cut short, or no such file."""
    try:
        return (EOFError, zlib.error, _zstandard().ZstdError)
    except MissingExtraError:
        return (EOFError, zlib.error)


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
