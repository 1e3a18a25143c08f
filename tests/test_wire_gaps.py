"""Every field and literal of the pinned SDKs is mapped, raw for a reason, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from tools import wire_gaps

STATUSES = {"mapped", "raw", "refused"}


@pytest.mark.parametrize("surface", wire_gaps.SURFACES)
def test_every_word_of_an_sdk_is_accounted_for(surface: str) -> None:
    if not wire_gaps.SURFACES[surface].is_installed:
        pytest.skip(f"{wire_gaps.SURFACES[surface].package} is not installed: run make venv")
    assert wire_gaps.problems(surface) == [], "run python -m tools.wire_gaps --update"
    lines = wire_gaps.lines_of(surface).values()
    assert {line.status for line in lines} <= STATUSES
    assert all(line.since.startswith(wire_gaps.SURFACES[surface].package) for line in lines)


def test_a_new_word_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    words = {**wire_gaps.words_of("ollama"), ("field", "brand_new"): {"Options"}}
    monkeypatch.setattr(wire_gaps, "words_of", lambda _: words)
    assert wire_gaps.missing("ollama") == [("field", "brand_new")]
    assert wire_gaps.main(["ollama"]) == 1
    assert "field brand_new is not accounted for" in capsys.readouterr().out


def test_a_word_is_mapped_only_while_the_code_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    old = wire_gaps.lines_of("ollama")
    line = old["field", "num_ctx"]._replace(word="num_never", status="mapped", group="")
    monkeypatch.setattr(wire_gaps, "lines_of", lambda _: {**old, ("field", "num_never"): line})
    assert wire_gaps.problems("ollama") == ["field num_never is called mapped, and no code has it"]


def test_a_model_that_an_sdk_names_is_known_or_priceless(monkeypatch: pytest.MonkeyPatch) -> None:
    old = wire_gaps.lines_of("anthropic")
    line = old["literal", "claude-opus-4-5"]
    new = {("literal", name): line._replace(word=name) for name in ("claude-lyre-9", "lyria-9")}
    monkeypatch.setattr(wire_gaps, "lines_of", lambda _: {**old, **new})
    assert wire_gaps.problems("anthropic") == [
        "model anthropic:claude-lyre-9 has no capabilities",
        "model anthropic:claude-lyre-9 has no price",
    ]


def test_rules_sort_new_words() -> None:
    line = wire_gaps.sort("ollama", "field", "num_never", {"Options"})
    assert (line.status, line.group) == ("raw", "sampling")
    assert wire_gaps.sort("ollama", "field", "messages", {"ChatRequest"}).status == "mapped"
    assert wire_gaps.sort("ollama", "field", "no_rule", {"Strange"}).status == "new"
