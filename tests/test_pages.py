"""The pages on types, invariants and views do what they show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import interlingua as il
from interlingua.model.blocks import TYPE_OF
from interlingua.model.rules import RULES
from interlingua.views import VIEWS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("types.md", "invariants.md", "views.md")
FOUNDING = (
    *("tool results have a role", "instructions are messages", "tool ids are ours"),
    *("opaque place for provider data", "subset of json schema", "costs are computed here"),
    *("content is one json column", "dropped with a warning", "capabilities say more"),
    *("no provider overrides", "routing mode on a message is a summary"),
)


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_samples_of_a_page_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTERLINGUA_HOME", str(tmp_path))
    samples = re.findall(r"^```python\n(.*?)^```", text_of(name), re.MULTILINE | re.DOTALL)
    assert samples
    known: dict[str, object] = {}
    for sample in samples:
        exec(compile(sample, name, "exec"), known)


def test_the_page_of_invariants_names_every_rule() -> None:
    assert set(re.findall(r"`([a-z_]+)`", text_of("invariants.md"))) >= RULES.keys()


def test_the_page_of_types_names_every_block_role_and_stop_reason() -> None:
    named = set(re.findall(r"`([a-z_]+)`", text_of("types.md")))
    assert named >= set(TYPE_OF.values())
    assert named >= {role.value for role in il.Role}
    assert named >= {reason.value for reason in il.StopReason}


def test_the_page_of_views_names_every_view() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)` \|", text_of("views.md"), re.MULTILINE)) == set(VIEWS)


@pytest.mark.requirement("S002-117")
def test_the_eleven_founding_decisions_are_written_down() -> None:
    page = text_of("decisions/0000-founding-decisions.md")
    headings = re.findall(r"^### \d+\. (.*)$", page, re.MULTILINE)
    assert len(headings) == len(FOUNDING) == 11
    for heading, words in zip(headings, FOUNDING, strict=True):
        assert words in heading.lower()
    assert page.count("*Today:*") == 11
    assert "2026-05-08" in page
