"""One error for wire of the wrong shape, and one way to its path: it grows on the way out, so that
good input pays for none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import WORDS, Wire
from interlingua.errors import ReadError, found, word
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason
from interlingua.model.reasons import because
from interlingua.model.spelled_numbers import SpelledFloat

T = TypeVar("T")

EXACT = 1 << 53
"""Up to here a float holds every integer exactly."""


_NOTHING = "nothing (it is null or missing)"


class ShapeError(Exception):
    """Wire of the wrong shape. `read_whole` makes a `ReadError` of it."""

    def __init__(self, path: str, expected: str, value: Any, words: str | None = None) -> None:
        """`words` describe the value if its type is not enough."""
        self.path = path
        self.expected = expected
        self.found = words or (_NOTHING if value is None else found(value))

    def inside(self, outer: str) -> ShapeError:
        self.path = outer + self.path
        return self

    def error(self, what: str) -> ReadError:
        return ReadError(what, f"${self.path}", self.expected, self.found)


def unknown_word(path: str, known: Iterable[str], value: Any) -> ShapeError:
    """The error for a value outside an enumeration."""
    return ShapeError(path, f"one of {', '.join(known)}", value, word(value))


def require(value: Any, kind: type[T], path: str = "") -> T:
    """`value` if it is of this JSON type; whole floats are integers, and integers numbers."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int and -EXACT < value < EXACT:
        return value  # type: ignore[return-value]  # an integer is a number
    if kind is int and type(value) is float and value.is_integer():
        return int(value)  # type: ignore[return-value]  # 1.0 is the same JSON number as 1
    if type(value) is SpelledFloat:
        return require(float(value), kind, path)
    raise ShapeError(path, WORDS[kind], value)


def require_key(wire: Wire, key: str, kind: type[T]) -> T:
    """A value that has to be there."""
    value = wire.get(key)
    return value if type(value) is kind else require(value, kind, f".{key}")


def optional(wire: Wire, key: str, kind: type[T], path: str = "") -> T | None:
    """A value that may be missing or null."""
    value = wire.get(key)
    if value is None or type(value) is kind:
        return value
    return require(value, kind, f"{path}.{key}")


def optional_spelled(wire: Wire, key: str, kind: type[T], spelled: Wire) -> T | None:
    """A value that may be missing; a null is remembered."""
    value = wire.get(key)
    if type(value) is kind:
        return value
    if value is not None:
        return require(value, kind, f".{key}")
    if key in wire:
        spelled[key] = None
    return None


def scalar(wire: Wire, key: str) -> Any:
    """A value of any type but list and object."""
    value = wire.get(key)
    if type(value) is dict or type(value) is list:
        raise ShapeError(f".{key}", "a string", value)
    return value


def read_each(items: Any, path: str, read: Callable[[Any], T]) -> list[T]:
    """`read` of every item of a list; an error has the item's path."""
    out: list[T] = []
    if type(items) is not list:
        raise ShapeError(path, "a list", items)
    try:
        for item in items:
            out.append(read(item))
    except ShapeError as odd:
        raise odd.inside(f"{path}[{len(out)}]") from None
    return out


def at_path(path: str, read: Callable[..., T], *args: Any) -> T:
    """The result of `read`; an error's path is below this one."""
    try:
        return read(*args)
    except ShapeError as error:
        raise error.inside(path) from None


def read_whole(what: str, read: Callable[..., T], wire: Any, *more: Any) -> T:
    """Reads a whole body: any mistake in its shape is a `ReadError` with its path."""
    if type(wire) is not dict:
        raise ReadError(what, "$", "an object", found(wire))
    try:
        return read(wire, *more)
    except ShapeError as error:
        raise error.error(what) from None


# -- error bodies ---------------------------------------------------------------------------------


def is_status(value: Any) -> bool:
    """Whether this is an HTTP status, which some bodies repeat."""
    return type(value) is int and 100 <= value < 600


def failed_answer(dialect: str, error: ProviderError) -> Response:
    """The response for an error body."""
    metadata = MessageMetadata(
        protocol=dialect,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=error.message,
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error)


def report_error_word(
    error: Any, word: str, kind_of: Callable[[str, str], ErrorKind], recorder: LossRecorder
) -> None:
    """Reports an error type that its canonical class would not give."""
    if kind_of(word, error.message) is not error.kind:
        recorder.lost(error, "kind", because("sent_as", value=word), kind="approximated")
    if error.code not in (None, word):
        recorder.lost(error, "code", because("sent_as", value=word), kind="approximated")


def unwritten_answer(response: Response, recorder: LossRecorder) -> None:
    """Report the answer of a response whose wire has an error and nothing beside it."""
    message, metadata = response.message, response.message.metadata
    for field, held in (("content", message.content), ("name", message.name)):
        if held:
            recorder.lost(message, field, because("error_without_message"))
    if metadata.usage is not None:
        recorder.lost(message, "metadata.usage", because("error_without_usage"))
    if metadata.stop_reason is not StopReason.ERROR:
        recorder.lost(message, "metadata.stop_reason", because("error_is_stop"), "approximated")
    for other in response.alternatives:
        recorder.lost(other, None, because("error_without_message"))
