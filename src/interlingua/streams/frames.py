"""One unit of a stream on the wire, and code that all framings share."""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.errors import ReadError, WriteError

MANY = 1024
"""More pieces than this are joined, the last ones first, so that most are joined only once."""


def thin(pieces: list[Any]) -> None:
    """Fewer pieces with the same content; all are text, or all are bytes."""
    last = pieces[-MANY:]
    pieces[-MANY:] = [last[0][:0].join(last)]


LIMIT = 64 * 2**20
"""The most bytes of one frame, so that no stream can fill the memory."""


class Frame(NamedTuple):
    """`event` is the frame's name where the framing has names; `data` is its text."""

    event: str | None = None
    data: str = ""


def text_of(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ReadError(
            what, expected="UTF-8", found=f"byte {error.object[error.start]:#x}"
        ) from None


def too_large(what: str, limit: int) -> ReadError:
    return ReadError(what, expected=f"at most {limit} bytes in a frame", found="more")


def bytes_of(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise WriteError(what, "$", "a lone surrogate, which is not valid Unicode") from None
