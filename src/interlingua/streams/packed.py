"""Files that may be compressed: gzip, and Zstandard with the extra `zstd`."""

from __future__ import annotations

import gzip
import zlib
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from interlingua.errors import MissingExtraError

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
"""The first bytes of such files."""
_AT_ONCE = 1 << 17
"""Bytes that are read at a time."""
_PACKED_AT_ONCE = 1 << 12
"""Bytes of Zstandard that are unpacked at a time: they may become 32,000 times as many."""


def is_packed(head: bytes) -> bool:
    return head.startswith((GZIP, ZSTD))


def opened(path: Path, buffer: int = -1) -> IO[bytes]:
    """A file to read, unpacked on the way; its first bytes show how it is packed."""
    return unpacked(cast(BufferedReader, path.open("rb", buffer)))


def unpacked(file: BufferedReader) -> IO[bytes]:
    """The same of a file that is open."""
    head = file.peek(4)[:4]
    if head.startswith(GZIP):
        unpacking: Any = gzip.GzipFile(fileobj=file, mode="rb")
        unpacking.myfileobj = file  # it is closed with it
        return cast(IO[bytes], unpacking)
    return unpacked_zstd(file) if head == ZSTD else file


def unpacked_zstd(file: IO[bytes]) -> IO[bytes]:
    try:
        return cast(IO[bytes], BufferedReader(_Unpacked(file), _AT_ONCE))
    except MissingExtraError:
        file.close()
        raise


class _Unpacked(RawIOBase):
    """Frames of Zstandard, one behind the other. The library's own reader takes a truncated file
    for one that ends there; this one raises an error, as gzip's does."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file  # closed with this object, also where the package is missing
        self._unpacking = _zstandard().ZstdDecompressor()
        self._frame = self._unpacking.decompressobj()
        self._begun = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._begun = self._unpacking.decompressobj(), False
            packed = packed or self._file.read(_PACKED_AT_ONCE)
            if not packed:
                if self._begun:
                    raise EOFError("the file ends before its end-of-frame mark")
                return 0
            self._begun = True
            self._ready = memoryview(self._frame.decompress(packed))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def skip(file: IO[bytes], count: int) -> None:
    """Skips so many bytes from the beginning, unpacking them on the way."""
    if file.seekable():
        file.seek(count)
        return
    while count > 0 and (piece := file.read(min(count, 1 << 20))):
        count -= len(piece)


def broken() -> tuple[type[Exception], ...]:
    """Exceptions of reading a compressed file that is cut short or no such file."""
    try:
        return (EOFError, zlib.error, _zstandard().ZstdError)
    except MissingExtraError:
        return (EOFError, zlib.error)


def packed(data: bytes, name: str) -> bytes:
    """Bytes compressed by the suffix of the name. Compressed pieces may be concatenated, and the
    same bytes give the same piece."""
    if name.endswith(".gz"):
        return gzip.compress(data, 6, mtime=0)
    if name.endswith(".zst"):
        piece: bytes = _zstandard().ZstdCompressor().compress(data)
        return piece
    return data


def require(name: str) -> None:
    """Check that the decoder of this file is installed; the error names the extra."""
    if name.endswith(".zst"):
        _zstandard()


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading and writing .zst files", "zstd") from None
    return zstandard
