"""Predicates of routing rules: a closed set, each compiled once.

A predicate's function takes the value from the rules file and returns a test, or raises a
`PredicateError` that describes the problem with the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import time
from decimal import Decimal
from typing import Any, NamedTuple

from interlingua.errors import found
from interlingua.model.tools import SideEffects
from interlingua.routing.turn import Turn

Test = Callable[[Turn], bool]

MOST_LEVELS = 16
"""The nesting limit of `any_of`, `all_of` and `not`."""
_TEXT_LIMIT = 100_000
"""The characters of a message that a regular expression searches."""


class Problem(NamedTuple):
    """Something wrong with a rules file, and where."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class PredicateError(Exception):
    """A value that a predicate cannot take."""

    def __init__(self, message: str, path: str = "") -> None:
        self.path = path
        super().__init__(message)


def compile_when(when: Any, path: str, problems: list[Problem], level: int = 0) -> Test:
    """One test for a table of predicates, all of which must hold. An empty table always holds.
    Errors are added to `problems`; the test is then meaningless."""
    if not isinstance(when, dict):
        problems.append(Problem(path, f"expected a table of predicates, found {found(when)}"))
        return _always
    if level > MOST_LEVELS:
        problems.append(Problem(path, f"nested deeper than {MOST_LEVELS} levels"))
        return _always
    tests: list[Test] = []
    for name, value in when.items():
        place = f"{path}.{name}"
        if name in GROUPS:
            tests.append(_group(name, value, place, problems, level))
        elif name in PREDICATES:
            try:
                tests.append(PREDICATES[name](value))
            except PredicateError as wrong:
                problems.append(Problem(place + wrong.path, str(wrong)))
        else:
            known = ", ".join([*PREDICATES, *GROUPS])
            problems.append(Problem(place, f"no such predicate; there are {known}"))
    return tests[0] if len(tests) == 1 else _all(tests)


def _group(name: str, value: Any, path: str, problems: list[Problem], level: int) -> Test:
    if name == "not":
        inner = compile_when(value, path, problems, level + 1)
        if value == {}:
            problems.append(Problem(path, "an empty table always matches, so this never does"))
        return lambda turn: not inner(turn)
    if not isinstance(value, list) or not value:
        problems.append(Problem(path, f"expected a list of tables, found {found(value)}"))
        return _always
    tests = [
        compile_when(each, f"{path}[{i}]", problems, level + 1) for i, each in enumerate(value)
    ]
    return _any(tests) if name == "any_of" else _all(tests)


def _always(turn: Turn) -> bool:
    return True


def _all(tests: list[Test]) -> Test:
    return lambda turn: all(test(turn) for test in tests)


def _any(tests: list[Test]) -> Test:
    return lambda turn: any(test(turn) for test in tests)


# ---------------------------------------------------------------------- the predicates


def _message_matches(value: Any) -> Test:
    pattern = _regex(value)
    return lambda turn: pattern.search(turn.text, 0, _TEXT_LIMIT) is not None


def _message_contains_any(value: Any) -> Test:
    words = [word.casefold() for word in _texts(value)]

    def test(turn: Turn) -> bool:
        text = turn.text.casefold()
        return any(word in text for word in words)

    return test


def _tokens_gt(value: Any) -> Test:
    count = _count(value)
    return lambda turn: turn.estimated_input_tokens > count


def _tokens_lt(value: Any) -> Test:
    count = _count(value)
    return lambda turn: turn.estimated_input_tokens < count


def _has_images(value: Any) -> Test:
    expected = _flag(value)
    return lambda turn: turn.has_images is expected


def _has_tool_calls(value: Any) -> Test:
    expected = _flag(value)
    return lambda turn: turn.has_tool_calls_in_history is expected


def _tool_effects(value: Any) -> Test:
    named = frozenset(_texts(value))
    if unknown := named - {effect.value for effect in SideEffects}:
        known = ", ".join(effect.value for effect in SideEffects)
        raise PredicateError(
            f"unknown side effect: {', '.join(sorted(unknown))}; there are {known}"
        )
    return lambda turn: any(effect.value in named for effect in turn.needs.side_effects)


def _skills(value: Any) -> Test:
    names = frozenset(_texts([value] if isinstance(value, str) else value))
    return lambda turn: not names.isdisjoint(turn.skills)


def _file_extensions(value: Any) -> Test:
    expected = frozenset(map(_extension, _texts(value)))
    return lambda turn: not expected.isdisjoint(map(_extension, turn.file_extensions))


def _workspace_path(value: Any) -> Test:
    pattern = _regex(value)
    return lambda turn: pattern.search(turn.workspace_path or "") is not None


def _time_of_day(value: Any) -> Test:
    if not isinstance(value, list) or len(value) != 2:
        raise PredicateError(f'expected two times as ["22:00", "06:00"], found {found(value)}')
    start, end = (_time(each, f"[{index}]") for index, each in enumerate(value))
    if start == end:
        raise PredicateError("both times are the same, so the range is empty")

    def test(turn: Turn) -> bool:
        now = turn.time_of_day
        if now is None:
            return False
        if start < end:
            return start <= now < end
        return now >= start or now < end  # over midnight

    return test


def _cost_today(value: Any) -> Test:
    limit = _money(value)
    return lambda turn: turn.cost_today_usd is not None and turn.cost_today_usd > limit


def _team_budget(value: Any) -> Test:
    limit = _money(value)

    def test(turn: Turn) -> bool:
        left = turn.team_budget_remaining_usd
        return left is not None and left < limit

    return test


PREDICATES: dict[str, Callable[[Any], Test]] = {
    "message_matches": _message_matches,
    "message_contains_any": _message_contains_any,
    "estimated_input_tokens_gt": _tokens_gt,
    "estimated_input_tokens_lt": _tokens_lt,
    "has_images": _has_images,
    "has_tool_calls_in_history": _has_tool_calls,
    "tool_side_effects_include": _tool_effects,
    "skills_matching_message_includes": _skills,
    "file_extensions_in_context": _file_extensions,
    "workspace_path_matches": _workspace_path,
    "time_of_day_between": _time_of_day,
    "cost_today_exceeds_usd": _cost_today,
    "team_budget_remaining_lt": _team_budget,
}
GROUPS = ("any_of", "all_of", "not")


# ---------------------------------------------------------------------- values of predicates


def _regex(value: Any) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise PredicateError(f"expected a regular expression, found {found(value)}")
    try:
        return re.compile(value)
    except (re.error, RecursionError, OverflowError) as problem:
        raise PredicateError(f"invalid regular expression: {problem}") from None


def _texts(value: Any) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        raise PredicateError(f"expected a list of texts, found {found(value)}")
    for index, each in enumerate(value):
        if not isinstance(each, str) or not each:
            raise PredicateError(f"expected a text, found {found(each)}", f"[{index}]")
        yield each


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise PredicateError(f"expected a number of tokens, found {found(value)}")
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise PredicateError(f"expected true or false, found {found(value)}")
    return value


def _money(value: Any) -> Decimal:
    """Reads TOML's numbers as decimals, so 0.1 is exactly a tenth of a dollar."""
    if type(value) is int or (isinstance(value, Decimal) and value.is_finite()):
        if value >= 0:
            return Decimal(value)
        raise PredicateError("expected US dollars, found a negative number")
    raise PredicateError(f"expected US dollars as a number, found {found(value)}")


def _time(value: Any, path: str) -> time:
    if isinstance(value, time):
        return value
    if isinstance(value, str) and re.fullmatch(r"([01][0-9]|2[0-3]):[0-5][0-9]", value):
        return time.fromisoformat(value)
    raise PredicateError(f"expected a time as 22:00, found {found(value)}", path)


def _extension(text: str) -> str:
    return text.lower().removeprefix(".")
