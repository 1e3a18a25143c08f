"""What a refusal says is allowed in place of a value: some words, or a range of numbers."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from interlingua.fitting.reasoning import near
from interlingua.model.exchange import EFFORTS

_NUMBER = r"(-?\d[\d,_]*(?:\.\d+)?)"
_LIST = re.compile(
    r"(?i)(?<![a-z])(?:must be one of|should be one of|expected one of"
    r"|(?:supported|allowed|valid|accepted) (?:values?|levels?|options?)(?: are| is)?"
    r"|(?:input )?should be|must be(?: either)?)\s*:?\s*"
    r"(?P<words>[\[({]?\s*['\"`]?[a-z][\w.-]*['\"`]?"
    r"(?:\s*(?:,\s*(?:and|or)?|and|or|\|)\s*['\"`]?[a-z][\w.-]*['\"`]?)*)"
)
"""Words that may be said: 'low', 'medium' or 'high'."""
_SPLIT = re.compile(r"\s*(?:,\s*(?:and |or )?|\band\b|\bor\b|\|)\s*")
_RANGES = (
    re.compile(rf"(?i)between {_NUMBER} and {_NUMBER}"),
    re.compile(
        rf"(?i)range:? (?:is |of |from )*{_NUMBER}(?: \(inclusive\))? ?(?:to|\.\.|-) ?{_NUMBER}"
    ),
    re.compile(rf"(?i)in (?:the range )?\[{_NUMBER}, ?{_NUMBER}\]"),
)
_EXCLUSIVE = re.compile(r"(?i)\(exclusive\)")
_MOST = re.compile(
    r"(?i)(?:maximum(?: allowed)?(?: value)?(?: for \S+| of \S+)?(?: is| of)?|at most|up to"
    r"|less than or equal to|no more than|not exceed|<=|≤)"
    rf"\s*:?\s*{_NUMBER}"
)
_OVER = re.compile(rf"{_NUMBER} > {_NUMBER}")
_LEAST = re.compile(
    r"(?i)(?:minimum(?: allowed)?(?: value)?(?: for \S+| of \S+)?(?: is| of)?|at least"
    rf"|greater than or equal to|no less than|>=|≥)\s*:?\s*{_NUMBER}"
)
_USUAL = ("auto", "default", "medium", "standard")
"""Words that say least where one has to be chosen."""


class AllowedValues(msgspec.Struct, frozen=True, omit_defaults=True):
    """Either words, or bounds of a number."""

    words: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    def __bool__(self) -> bool:
        return bool(self.words) or self.least is not None or self.most is not None

    def instead(self, value: Any) -> Any:
        """What is said in place of a value; None where it is allowed, or of another kind."""
        if isinstance(value, str):
            return None if not self.words or value in self.words else self._word(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        near_by = value
        if self.most is not None:
            near_by = min(near_by, self.most)
        if self.least is not None:
            near_by = max(near_by, self.least)
        if near_by == value:
            return None
        return int(near_by) if isinstance(value, int) and near_by == int(near_by) else near_by

    def _word(self, value: str) -> str:
        said = {word.lower(): word for word in self.words}
        known = [each for each in EFFORTS if each in said]
        wanted = next((each for each in EFFORTS if each == value.lower()), None)
        if wanted is not None and known:
            effort: str = near(wanted, known) or known[0]
            return said[effort]
        return next((each for each in _USUAL if each in self.words), self.words[0])


_LONGEST = 2000
"""Characters of a text that are looked at."""


def allowed_in(text: str) -> AllowedValues:
    """What a text says is allowed; nothing where it does not."""
    text = text[:_LONGEST]
    found = _LIST.search(text)
    if found is not None:
        words = [each.strip("[]({})'\"` .") for each in _SPLIT.split(found["words"])]
        told = tuple(dict.fromkeys(each for each in words if each))
        if len(told) > 1 or _is_quoted(found["words"]):
            return AllowedValues(told)
    least, most = _bounds(text)
    return AllowedValues((), least, most)


def _is_quoted(words: str) -> bool:
    return words.lstrip("[({ ")[:1] in "'\"`"


def _bounds(text: str) -> tuple[float | None, float | None]:
    for pattern in _RANGES:
        if found := pattern.search(text):
            most = _number(found[2])
            return _number(found[1]), _below(most) if _EXCLUSIVE.search(text) else most
    if found := _OVER.search(text):
        return None, _number(found[2])
    most_of, least_of = _MOST.search(text), _LEAST.search(text)
    least = _number(least_of[1]) if least_of else None
    return least, _number(most_of[1]) if most_of else None


def _below(most: float) -> float:
    """The last number in front of one that is not taken itself."""
    return most - 1 if most == int(most) and most > 100 else float(int(most))


def _number(text: str) -> float:
    return float(text.replace(",", "").replace("_", ""))
