"""Ids of our own: ULIDs, tool ids made from them, and the fitting of foreign ids.

Making a ULID reads a clock and random bytes, so only sessions, stores and buses do it. Readers and
writers of dialects use the pure half: `synthetic_tool_id` and `IdGrammar`. Which grammar a provider
has is that dialect's knowledge.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import string
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(high + low for high in _CROCKFORD for low in _CROCKFORD)
_TO_BASE_32 = str.maketrans(_CROCKFORD, "0123456789abcdefghijklmnopqrstuv")
_ULID = re.compile(f"[0-7][{_CROCKFORD}]{{25}}")

_RANDOM_BITS = 80
_LAST_MS = (1 << 48) - 1
_LAST_ULID = (1 << 128) - 1
_STEP_BYTES = 6
_FORTY_BITS = (1 << 40) - 1

_TOOL_PREFIX = "tu_"
_SYNTHETIC = re.compile("il_[0-9a-f]{16}")


def now_ms() -> int:
    """Milliseconds since 1970, as the machine's clock has it."""
    return time.time_ns() // 1_000_000


class _Pool:
    """Random bytes of the system, fetched in bulk, because each fetch releases the GIL. A forked
    process starts with an empty pool, so no two processes use the same bytes."""

    def __init__(self) -> None:
        self._forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._bytes, self._used = b"", 0

    def take(self, count: int) -> bytes:
        with self._lock:
            end = self._used + count
            if end > len(self._bytes):
                self._bytes, end = os.urandom(max(count, _AT_A_TIME)), count
            self._used = end
            return self._bytes[end - count : end]


_AT_A_TIME = 512
_POOL = _Pool()


class Ulids:
    """A source of ULIDs, each greater than the one before, whatever the clock does.

    A new millisecond starts from fresh random bits. In the same millisecond, or when the clock has
    stepped back, the last id grows by a random step, which carries into the time when the random
    part is full. The step is random rather than one so that two processes that continue after the
    same id do not make the same ids. One instance may be shared between threads.
    """

    def __init__(
        self,
        clock: Callable[[], int] = now_ms,
        random: Callable[[int], bytes] = _POOL.take,
        after: str | None = None,
    ) -> None:
        """`after` is the last id already issued, such as the newest one of a stored session."""
        self._clock = clock
        self._random = random
        self._last = -1 if after is None else _decode(after)
        self._lock = threading.Lock()

    def new(self) -> str:
        """The next id. Raises OverflowError after the greatest ULID there is."""
        with self._lock:
            ms = self._clock()
            if not 0 <= ms <= _LAST_MS:
                ms = min(max(ms, 0), _LAST_MS)
            if ms > self._last >> _RANDOM_BITS:
                value = ms << _RANDOM_BITS | int.from_bytes(self._random(_RANDOM_BITS // 8), "big")
            else:
                value = self._last + 1 + int.from_bytes(self._random(_STEP_BYTES), "big")
            if value > _LAST_ULID:
                raise OverflowError("no ULID is left after the last one")
            self._last = value
        return _encode(value)


def is_ulid(text: str) -> bool:
    """Whether this is a ULID in its one canonical spelling: 26 upper-case characters."""
    return _ULID.fullmatch(text) is not None


def ulid_time_ms(ulid: str) -> int:
    """When a ULID was made, in milliseconds since 1970 (later, if the clock had stepped back)."""
    return _decode(ulid) >> _RANDOM_BITS


def first_ulid(ms: int) -> str:
    """The smallest ULID of a millisecond: all smaller ones are older."""
    return _encode(min(ms, _LAST_MS) << _RANDOM_BITS)


def new_tool_id(ulids: Ulids) -> str:
    """A tool call's id inside a stored session."""
    return _TOOL_PREFIX + ulids.new()


def is_tool_id(text: str) -> bool:
    """Whether `new_tool_id` may have made this id."""
    return text.startswith(_TOOL_PREFIX) and is_ulid(text[len(_TOOL_PREFIX) :])


def synthetic_tool_id(*parts: object) -> str:
    """The id of a call that came without one, the same for the same parts in every process.

    The parts are JSON values: the response id (or the message's position), the call's ordinal and
    the tool's name. They are hashed as a JSON list, so 1 and "1", or ("ab", "c") and ("a", "bc"),
    differ.
    """
    text = json.dumps(parts, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "il_" + hashlib.sha256(_bytes(text)).hexdigest()[:16]


def is_synthetic_tool_id(text: str) -> bool:
    """Whether `synthetic_tool_id` may have made this id; dialects with optional ids omit it."""
    return _SYNTHETIC.fullmatch(text) is not None


class IdGrammar(NamedTuple):
    """The ids a provider accepts: characters of one class, and how many of them.

    `alphabet` is a regular expression's character class, brackets included: `[a-zA-Z0-9_-]`.
    """

    alphabet: str
    shortest: int
    longest: int

    def matcher(self) -> Callable[[str], object | None]:
        """A function that gives None for ids that are not legal, for many of them at a time."""
        return _grammar(self.alphabet, self.shortest, self.longest).fullmatch

    def legal(self, id: str) -> bool:
        """Whether the provider accepts this id as it is."""
        return _grammar(self.alphabet, self.shortest, self.longest).fullmatch(id) is not None

    def fit(self, id: str) -> str:
        """The id itself when it is legal, else a legal one made from a hash of all of it.

        The hash has 128 bits where `longest` has room for them (a readable start of the id stands
        before it where there is room for that too) and otherwise all that fit: nine letters and
        digits hold 53. It is never the id cut short, since ids with a common start would meet. An
        illegal id can meet a legal one only if that one already ends in the very hash, which is to
        say that it was made from it: fitting twice changes nothing.
        """
        if self.legal(id):
            return id
        digits = _digits(self.alphabet)
        size = min(math.ceil(128 / math.log2(len(digits))), self.longest)
        prefix = self._readable(id, self.longest - size)
        if len(prefix) + size >= self.shortest:
            return prefix + _spell(id, digits, size)
        return _spell(id, digits, self.shortest)

    def _readable(self, id: str, room: int) -> str:
        """The start of an id in legal characters and a separator; empty if that has no
        information."""
        separator = next((mark for mark in "_-" if self._has(mark)), "")
        start = "".join(mark if self._has(mark) else separator for mark in id[: max(room - 1, 0)])
        start = start.strip(separator)
        return start + separator if len(start) >= 3 else ""

    def _has(self, mark: str) -> bool:
        return _grammar(self.alphabet, 1, 1).fullmatch(mark) is not None


@lru_cache(maxsize=256)
def _grammar(alphabet: str, shortest: int, longest: int) -> re.Pattern[str]:
    return re.compile(f"{alphabet}{{{shortest},{longest}}}")


@lru_cache(maxsize=64)
def _digits(alphabet: str) -> str:
    """The ASCII letters and digits of a character class, which spell a hash."""
    legal = re.compile(alphabet)
    digits = "".join(mark for mark in string.digits + string.ascii_letters if legal.match(mark))
    if len(digits) < 2:
        raise ValueError(f"an id alphabet needs two letters or digits to hash into: {alphabet}")
    return digits


def _spell(id: str, digits: str, size: int) -> str:
    """`size` digits of the hash of an id."""
    number = int.from_bytes(hashlib.shake_256(_bytes(id)).digest(size + 8), "big")
    marks = []
    for _ in range(size):
        number, digit = divmod(number, len(digits))
        marks.append(digits[digit])
    return "".join(marks)


def _bytes(text: str) -> bytes:
    """UTF-8, lone surrogates included: any text can be hashed, and no two texts alike."""
    return text.encode("utf-8", "surrogatepass")


def _encode(value: int) -> str:
    high, middle, low = value >> 80, value >> 40 & _FORTY_BITS, value & _FORTY_BITS
    return (
        f"{_PAIRS[high >> 40]}{_PAIRS[high >> 30 & 1023]}{_PAIRS[high >> 20 & 1023]}"
        f"{_PAIRS[high >> 10 & 1023]}{_PAIRS[high & 1023]}{_PAIRS[middle >> 30]}"
        f"{_PAIRS[middle >> 20 & 1023]}{_PAIRS[middle >> 10 & 1023]}{_PAIRS[middle & 1023]}"
        f"{_PAIRS[low >> 30]}{_PAIRS[low >> 20 & 1023]}{_PAIRS[low >> 10 & 1023]}"
        f"{_PAIRS[low & 1023]}"
    )


def _decode(ulid: str) -> int:
    if not is_ulid(ulid):
        raise ValueError(f"not a ULID: {ulid[:40]!r}")
    return int(ulid.translate(_TO_BASE_32), 32)
