"""Values in files that may have been edited: texts, counts, times, media."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    VideoBlock,
)

T = TypeVar("T")
NOT_JSON = (msgspec.DecodeError, RecursionError, ValueError)
"""Exceptions of decoding text that is not JSON, is nested too deeply, or is not UTF-8."""


def listed(value: Any) -> list[Any]:
    """The elements of a list; of anything else none."""
    return value if isinstance(value, list) else []


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; of anything else none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def members(value: Any) -> dict[str, Any]:
    """The members of an object; of anything else none."""
    return value if isinstance(value, dict) else {}


def decoded(data: str | bytes) -> Any:
    """The value of JSON; None for anything else."""
    try:
        return msgspec.json.decode(data)
    except NOT_JSON:
        return None


def as_string(value: Any) -> str | None:
    return value if type(value) is str else None


def as_text(value: Any) -> str | None:
    """A text with something in it, or None."""
    return value if isinstance(value, str) and value else None


def as_count(value: Any) -> int | None:
    """A number of tokens; None for anything else."""
    return value if type(value) is int and value >= 0 else None


def dollars(value: Any) -> Decimal | None:
    """A price; None for anything else."""
    return Decimal(repr(value)) if type(value) in (int, float) else None


def remembered(make: Callable[..., T]) -> Callable[..., T]:
    """The same function, which remembers what it made of its last arguments: texts, or values that
    are no texts, which it must not tell apart."""
    cached = lru_cache(64)(make)

    def made(*values: Any) -> T:
        try:
            return cached(*values)
        except TypeError:  # an edited file has a list in a text's place
            return make(*values)

    return made


def known(values: dict[str, Any]) -> dict[str, Any]:
    """The members that are not None."""
    return {key: value for key, value in values.items() if value is not None}


def encodable(text: str) -> str:
    """The text with lone surrogates escaped; file names that are not UTF-8 have some."""
    return text.encode(errors="backslashreplace").decode()


def from_iso(text: Any) -> datetime | None:
    """A time with or without a zone (UTC); None for anything else."""
    if not isinstance(text, str):
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if time.tzinfo is UTC and 1 < time.year < 9999:
        return time
    return _bounded(time if time.tzinfo else time.replace(tzinfo=UTC))


def from_millis(count: Any) -> datetime | None:
    """Milliseconds since 1970; None for anything else."""
    if isinstance(count, bool) or not isinstance(count, int | float):
        return None
    try:
        return _bounded(datetime.fromtimestamp(count / 1000, UTC))
    except (OverflowError, OSError, ValueError):
        return None


def seconds(count: Any) -> float | None:
    """Seconds since 1970 as a file's time; None for anything that is not a time."""
    time = from_millis(count * 1000 if type(count) in (int, float) else None)
    return None if time is None else time.timestamp()


def _bounded(time: datetime) -> datetime | None:
    """A time that is valid in every zone and has another one behind it; else None."""
    return time if 1 < time.year < 9999 else None


def to_iso(time: datetime) -> str:
    """A time with milliseconds and a Z, in JavaScript's form."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_millis(time: datetime) -> int:
    return round(time.timestamp() * 1000)


_KINDS: dict[str, type[MediaBlock]] = {
    "image": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
}
ANY = "application/octet-stream"


def media_block(source: Source, media: str | None, name: str | None = None) -> MediaBlock:
    """The block for this type of media; types other than image, audio and video are documents."""
    kind = _KINDS.get((media or "").partition("/")[0], DocumentBlock)
    return kind(source, media, name)


def source_of(url: str) -> Source:
    """The source of a URL: the bytes in it, or the address."""
    head, comma, data = url.partition(",")
    inline = comma and head.startswith("data:") and head.endswith(";base64")
    return Source("base64", data) if inline else Source("url", url)


def url_of(block: MediaBlock) -> str | None:
    """The URL of a block's data; None if it has none."""
    source = block.source
    if source.data is None:
        return None
    if source.kind == "base64":
        return f"data:{block.media_type or ANY};base64,{source.data}"
    if source.kind == "text":
        return f"data:text/plain;base64,{b64encode(source.data.encode()).decode()}"
    return source.data if source.kind == "url" else None


def is_media(block: Block) -> bool:
    return isinstance(block, MediaBlock)
