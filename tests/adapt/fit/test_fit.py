"""A request, fitted to one model."""

from __future__ import annotations

from tests.adapt.fit.asking import fitted, request, tool
from tests.adapt.fit.options import HIGH
from tests.adapt.fit.shapes import FORMAT, LATER


def test_what_is_given_is_not_changed() -> None:
    from interlingua.model.codec import dumps

    asked = request(*LATER, tools=(tool("1st"),), response_format=FORMAT, temperature=2)
    before = dumps(asked)
    for model in ("anthropic:claude-sonnet-4-20250514", "gemini:gemini-2.5-pro", "openai:gpt-5.6"):
        one, two = fitted(model, asked), fitted(model, asked)
        assert (one.value, one.report) == (two.value, two.report)
    assert dumps(asked) == before


def test_nothing_is_changed_where_no_rule_speaks() -> None:
    asked = request(temperature=1.9, reasoning=HIGH, stop=tuple("abcdefgh"), n=9)
    done = fitted("nobody:at-all", asked)
    assert done.value is asked
    assert not done.report.entries
