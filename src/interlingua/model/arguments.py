r"""Tool arguments that travel as text: to an object, and back to text.

A model writes its arguments one token at a time and may write bad JSON or stop half way, so text is
read on a ladder, and the first rung that gives an object is the answer:

    strict     JSON as it stands; no text at all, or only blanks, is `{}`
    repaired   JSON once the Unicode and the escapes inside its strings are put right
    closed     the same text, with whatever the end of the text left open closed
    invalid    no object: the answer is `{}`

Repairs change as little as they can. A raw control character in a string is escaped. A backslash
that begins no JSON escape (`\x`, `\'`, `\ `, `\u12`) is a backslash, so `C:\dir` stays as it is.
Half a surrogate pair, and bytes that are no UTF-8, become U+FFFD. One byte order mark in front is
skipped.

Closing repairs only a text that ended too early; a mistake further up, a second document or a word
after the end are invalid. Cut values are preserved as far as they came, numbers too: `{"n": 12` may
have been on its way to 120. A key without its value, and half an escape or half a literal, are left
out.

On every rung the last of several equal keys wins, numbers are finite, and integers are exact up to
`MAX_DIGITS`; a longer one, like nesting beyond `MAX_DEPTH`, is invalid. The caller decides whether
to use the input, and should run a tool only on `strict`.
"""

from __future__ import annotations

import re
from itertools import accumulate
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

import jiter
import msgspec

from interlingua.errors import WriteError

MAX_DEPTH = 200
"""Levels of objects and lists, the outermost included. The parser that closes ends at 201."""

MAX_DIGITS = 4300
"""Digits of an integer, a minus sign counted as one: what both parsers accept (msgspec 0.22)."""

Mode: TypeAlias = Literal["strict", "repaired", "closed", "invalid"]


class Recovered(NamedTuple):
    """The object read from a text, and the rung of the ladder that read it."""

    input: dict[str, Any]
    mode: Mode


def recover(text: str | bytes | None) -> Recovered:
    """Read arguments from any text. Never raises, and takes time linear in the text's length."""
    sound, changed = _sound(text or "")
    if not sound.strip(" \t\r\n"):
        return Recovered({}, "repaired" if changed else "strict")
    if _too_deep(sound):
        return Recovered({}, "invalid")
    if (value := _parse(sound)) is not None:
        return Recovered(value, "repaired" if changed else "strict")
    # Closing the text as it came as well would never give more, only less of a last bad escape.
    repaired = _STRING.sub(_repair, sound)
    if (value := _parse(repaired)) is not None:
        return Recovered(value, "repaired")
    if (value := _close(repaired)) is not None:
        return Recovered(value, "closed")
    return Recovered({}, "invalid")


class Collector:
    """Arguments in the pieces a stream brings; where the pieces were cut does not matter."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[str] = []

    def feed(self, piece: str) -> None:
        self._pieces.append(piece)

    @property
    def text(self) -> str:
        """All pieces so far, unchanged."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    def finish(self) -> Recovered:
        return recover(self.text)


def spelled(text: str, input: dict[str, Any]) -> bool:
    """Whether `text`, read strictly, is exactly `input` (see `same`)."""
    found = recover(text)
    return found.mode == "strict" and same(found.input, input)


def to_text(input: dict[str, Any]) -> str:
    """`input` as compact JSON; `WriteError` if JSON cannot hold it or `recover` would read it
    differently."""
    if _is_usual(input, MAX_DEPTH):
        try:
            return _encode(input).decode()
        except ValueError:  # half a surrogate pair
            pass
    if (flaw := _flaw(input)) is not None:
        raise WriteError("tool input", *flaw)
    try:
        return _encode(input).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WriteError("tool input", problem=str(error)) from error


_encode = msgspec.json.Encoder().encode
_HUGE = 2**63


def _is_usual(value: Any, levels: int) -> bool:
    """Whether all of an object or a list is of JSON's own types, finite and not too deep; long
    strings cost nothing."""
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                return False
        items: Any = value.values()
    else:
        items = value
    for item in items:
        kind = type(item)
        if kind is str or kind is bool or item is None:
            continue
        if kind is dict or kind is list:
            if levels == 1 or not _is_usual(item, levels - 1):
                return False
        elif kind is int:
            if not -_HUGE < item < _HUGE:
                return False
        elif kind is not float or not isfinite(item):
            return False
    return True


def same(one: Any, other: Any) -> bool:
    """JSON equality: the order of keys apart, 1 is 1.0, and a boolean is no number."""
    pairs = [(one, other)]
    while pairs:
        a, b = pairs.pop()
        if isinstance(a, dict) and isinstance(b, dict):
            if a.keys() != b.keys():
                return False
            pairs.extend((value, b[key]) for key, value in a.items())
        elif isinstance(a, list | tuple) and isinstance(b, list | tuple):
            if len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif isinstance(a, bool) is not isinstance(b, bool) or a != b:
            return False
    return True


# A string from its quote to the next bare quote, or to the end of the text. It cannot fail once
# begun and never goes back (possessive quantifiers), which is what keeps every use of it linear.
_STRING = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)

_NO_BRACKET = re.compile(r"[^\[\]{}]+")

_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}

# What is looked at inside a string. `cut` is an escape the end of the text broke off, perhaps
# between the halves of a surrogate pair: the parser that closes leaves it out.
_ESCAPE = re.compile(
    r"""
      (?P<cut>     \\ (?: u (?: D89ab (?: \\ (?: u H{0,3} )? )? | H{0,3} ) )? \Z )
    | (?P<good>    (?: \\ ["\\/bfnrt] | \\u D89ab \\u Dcdef | \\u (?! [dD][89a-fA-F] ) H{4} )++ )
    | (?P<half>    \\u H{4} )
    | (?P<stray>   \\ )
    | (?P<control> [\x00-\x1f]++ )
    """.replace("D89ab", "[dD][89abAB]H{2}")
    .replace("Dcdef", "[dD][c-fC-F]H{2}")
    .replace("H", "[0-9a-fA-F]"),
    re.VERBOSE,
)

_CONTROLS = {chr(code): f"\\u{code:04x}" for code in range(0x20)}


def _sound(text: str | bytes) -> tuple[str, bool]:
    """Valid Unicode without a byte order mark, and whether it took a change to get there."""
    try:
        whole = text.decode() if isinstance(text, bytes) else text
        whole.encode()
        changed = False
    except UnicodeError:
        # By way of UTF-16, the halves of a pair that came as two characters are joined.
        whole = (
            text.decode(errors="replace")
            if isinstance(text, bytes)
            else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        )
        changed = True
    return (whole[1:], True) if whole.startswith("\ufeff") else (whole, changed)


def _too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    brackets = _NO_BRACKET.sub("", _STRING.sub("", text))
    return max(accumulate(map(_STEPS.__getitem__, brackets), initial=0)) > MAX_DEPTH


def _parse(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _repair(string: re.Match[str]) -> str:
    return _ESCAPE.sub(_mend, string[0])


def _mend(escape: re.Match[str]) -> str:
    match escape.lastgroup:
        case "half":
            return r"\ufffd"
        case "stray":
            return r"\\"
        case "control":
            return "".join(map(_CONTROLS.__getitem__, escape[0]))
        case _:
            return escape[0]


def _close(text: str) -> dict[str, Any] | None:
    # In partial mode jiter 0.19 also takes a wrong bracket, a missing comma or a second document
    # for the end and drops the rest; its error without that mode tells an early end from those.
    data = text.encode()
    try:
        jiter.from_json(data, allow_inf_nan=False)
        return None
    except ValueError as error:
        if not str(error).startswith("EOF while parsing"):
            return None
    try:
        value = jiter.from_json(data, allow_inf_nan=False, partial_mode="trailing-strings")
    except ValueError:
        return None
    # 1e400 is no error there but infinite (as of 0.19).
    return value if isinstance(value, dict) and _flaw(value) is None else None


_GREATEST = 10**MAX_DIGITS - 1
_LEAST = 1 - 10 ** (MAX_DIGITS - 1)

_Place: TypeAlias = "tuple[_Place, str | int] | None"


def _flaw(value: Any) -> tuple[str, str] | None:
    """Path and problem of something in `value` that JSON cannot hold, or None.

    Deepest first and without recursion, so a value that contains itself ends at `MAX_DEPTH`.
    """
    stack: list[tuple[Any, _Place, int]] = [(value, None, 1)]
    while stack:
        item, place, depth = stack.pop()
        if (problem := _problem(item, depth)) is not None:
            return _path(place), problem
        if isinstance(item, dict):
            stack.extend((each, (place, key), depth + 1) for key, each in item.items())
        elif isinstance(item, list | tuple):
            stack.extend((each, (place, n), depth + 1) for n, each in enumerate(item))
    return None


def _problem(item: Any, depth: int) -> str | None:
    match item:
        case str():
            return None if _is_unicode(item) else "a string with half a surrogate pair"
        case float():
            return None if isfinite(item) else f"{item} is not a JSON number"
        case int():
            fits = _LEAST <= item <= _GREATEST
            return None if fits else f"an integer of more than {MAX_DIGITS} digits"
        case dict() | list() | tuple() if depth > MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} levels"
        case dict():
            fits = all(isinstance(key, str) and _is_unicode(key) for key in item)
            return None if fits else "a key that is not a Unicode string"
        case None | list() | tuple():
            return None
        case _:
            return f"a {type(item).__name__} is not a JSON value"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _path(place: _Place) -> str:
    steps = []
    while place is not None:
        place, step = place
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "$" + "".join(reversed(steps))
