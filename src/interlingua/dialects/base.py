"""Where dialects that are not on the kernel yet look for what all of them share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from interlingua.dialects.kernel.kept import form_of as form_of
from interlingua.dialects.kernel.kept import keep as keep
from interlingua.dialects.kernel.kept import kept as kept
from interlingua.dialects.kernel.recorder import DONE_ANYWAY as DONE_ANYWAY
from interlingua.dialects.kernel.recorder import LossRecorder as Scribe
from interlingua.dialects.kernel.recorder import Quiet as Quiet
from interlingua.dialects.kernel.recorder import says_nothing as says_nothing
from interlingua.dialects.kernel.usage import count as count
from interlingua.dialects.kernel.usage import fresh_input as fresh_input
from interlingua.dialects.kernel.wire import WORDS as WORDS
from interlingua.dialects.kernel.wire import Wire as Wire
from interlingua.dialects.kernel.wire import encode as encode
from interlingua.dialects.kernel.wire import parse as parse
from interlingua.dialects.kernel.words import EARLIER as EARLIER
from interlingua.dialects.kernel.words import ERROR_MARK as ERROR_MARK
from interlingua.dialects.kernel.words import NO_REASON as NO_REASON
from interlingua.dialects.kernel.words import PLACEHOLDER as PLACEHOLDER
from interlingua.dialects.kernel.words import SUMMARY as SUMMARY
from interlingua.dialects.kernel.words import SYSTEM_MARK as SYSTEM_MARK
from interlingua.dialects.kernel.words import TwoWay as TwoWay
from interlingua.dialects.kernel.words import compaction_as_text as compaction_as_text
from interlingua.dialects.kernel.words import ended_unsaid as ended_unsaid
from interlingua.dialects.kernel.words import only_results as only_results
from interlingua.dialects.kernel.words import own_word as own_word
from interlingua.dialects.kernel.words import unsaid_changes as unsaid_changes
from interlingua.dialects.record import Dialect as Dialect
from interlingua.dialects.record import StreamReader as StreamReader
from interlingua.dialects.record import StreamWriter as StreamWriter
from interlingua.dialects.record import Traits as Traits
from interlingua.dialects.record import Written as Written
from interlingua.errors import ReadError, found

__all__ = ["Scribe"]

V = TypeVar("V")


def rest_of(wire: Wire, known: Iterable[str]) -> Wire | None:
    """What is left of an object beside the known keys; None when nothing is."""
    rest = {key: value for key, value in wire.items() if key not in known}
    return rest or None


def expect(value: Any, kind: type[V], what: str, path: str) -> V:
    """`value` if it is of this JSON type, else a `ReadError` with the place."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return value  # type: ignore[return-value]  # an integer is a number
    raise ReadError(what, path, WORDS[kind], found(value))
