"""Own patterns mean what they mean in Python, and none can hang."""

from __future__ import annotations

import random
import re

import pytest

from interlingua.redaction.machine import MOST_PLACES, STEPS_FOR_EACH, Machine, PatternError

PATTERNS = (
    r"ab*c",
    r"(a|b)+?c",
    r"\bACME-\d{3,5}\b",
    r"a{2,3}",
    r"a{2}",
    r"[^a-c]+",
    r"(?i)foo(bar)?",
    r"^x.*$",
    r"a*?b",
    r"x|xy|xyz",
    r"(?P<one>ab|a)(bc)?",
    r"\.\d+",
    r"[\]a]+",
    r"a??b",
    r"(?:a|ab)(?:c|bcd)(?:d*)",
    r"(a*)*b",
    r"\Bb",
    r"a{,2}b",
    r"\x41|{x",
)
REFUSED = (
    *("(?=a)", "(?<!a)b", r"(a)\1", "(a", "a)", "*a", "[a", "\\", "a**", "a{5,2}", "a++", r"\q"),
    *("(" * 200 + ")" * 200, "a{3000}", "(a{50}){50}", "((){2000}){2000}", "[z-a]", "^*"),
)
LETTERS = "abcdxyzfoFOBAr ACME-123\n.]{"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_finds_what_python_finds(pattern: str) -> None:
    machine, known, dice = Machine(pattern), re.compile(pattern, re.MULTILINE), random.Random(3)
    for _ in range(300):
        text = "".join(dice.choices(LETTERS, k=dice.randint(0, 25)))
        wanted = [match.span() for match in known.finditer(text) if match[0]]
        assert list(machine.spans(text)) == wanted, text


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_cannot_be_bounded_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Machine(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*b", "(.*)*x", "(a?){30}a{30}"])
def test_patterns_that_hang_elsewhere_cost_steps_in_proportion(pattern: str) -> None:
    machine = Machine(pattern)
    spent = []
    for size in (500, 1000):
        list(machine.spans("a" * size + "!"))
        spent.append(STEPS_FOR_EACH * (size + 2001) - machine._left)
    assert spent[1] <= 2.2 * spent[0] + MOST_PLACES


def test_a_text_on_which_it_would_cost_too_much_is_refused() -> None:
    with pytest.raises(PatternError, match="costs too much"):
        list(Machine("a(.*b)?").spans("a" * 3000))
