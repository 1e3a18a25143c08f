"""Files that a user names, as blocks of a message. The file's suffix gives the media type."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from interlingua.errors import InterlinguaError
from interlingua.model.blocks import (
    AudioBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    UserBlock,
    VideoBlock,
)
from interlingua.tools.attach import AUDIO, DOCUMENTS, IMAGES, VIDEO

MOST = 20 * 1024 * 1024
"""Bytes of one file."""
MOST_TOGETHER = 64 * 1024 * 1024


class AttachmentError(InterlinguaError):
    """A file that cannot be attached; `path` is as the user wrote it."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"attachment {path}: {problem}")


def attached(paths: tuple[str, ...]) -> list[UserBlock]:
    """A block for each file, or for each address that begins with https://."""
    blocks: list[UserBlock] = []
    left = MOST_TOGETHER
    for path in paths:
        if path.startswith(("https://", "http://")):
            blocks.append(_block(path, Source("url", path), _ending(path.partition("?")[0])))
            continue
        data = _read(path, min(MOST, left), left < MOST)
        left -= len(data)
        blocks.append(_of_file(path, data))
    return blocks


def _read(path: str, limit: int, is_rest: bool) -> bytes:
    try:
        # Without O_NONBLOCK, opening a pipe waits for somebody to write into it.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(Path(path).expanduser(), flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise AttachmentError(path, "not a regular file")
            data = file.read(limit + 1)
    except OSError as error:
        raise AttachmentError(path, error.strerror or type(error).__name__) from None
    if len(data) > limit:
        size = f"all together have more than {MOST_TOGETHER}" if is_rest else f"more than {MOST}"
        raise AttachmentError(path, f"{size} bytes")
    if not data:
        raise AttachmentError(path, "it is empty")
    return data


def _of_file(path: str, data: bytes) -> UserBlock:
    name, ending = Path(path).name, _ending(path)
    is_media = any(ending in table for table in (IMAGES, AUDIO, VIDEO))
    known = DOCUMENTS.get(ending)
    if not is_media and (known is None or known.startswith(("text/", "application/json"))):
        try:
            return DocumentBlock(Source("text", data.decode()), known or "text/plain", name)
        except UnicodeDecodeError:
            if known is None:
                raise AttachmentError(
                    path, "neither text in UTF-8 nor of a type that is known by its ending"
                ) from None
    return _block(name, Source.from_bytes(data), ending)


def _block(name: str, source: Source, ending: str) -> UserBlock:
    if ending in IMAGES:
        return ImageBlock(source, IMAGES[ending])
    if ending in VIDEO:  # before sounds: of what may be either, most files are films
        return VideoBlock(source, VIDEO[ending])
    if ending in AUDIO:
        return AudioBlock(source, AUDIO[ending])
    short = None if source.kind == "url" else name
    return DocumentBlock(source, DOCUMENTS.get(ending), short)


def _ending(path: str) -> str:
    return Path(path).suffix.removeprefix(".").lower()
