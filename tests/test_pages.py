"""The pages on types, invariants and views name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import interlingua as il
from interlingua.model.blocks import TYPE_OF
from interlingua.model.rules import RULES
from interlingua.views import VIEWS

DOCS = Path(__file__).parents[1] / "docs"
FOUNDING = (
    *("tool results have a role", "instructions are messages", "tool ids are ours"),
    *("opaque place for provider data", "subset of json schema", "costs are computed here"),
    *("content is one json column", "dropped with a warning", "capabilities say more"),
    *("no provider overrides", "routing mode on a message is a summary"),
)


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def first_cells(page: str, heading: str) -> set[str]:
    """The names in the first column of the tables under a heading."""
    part = page.partition(f"\n## {heading}")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`[a-z_-]+`(?:, )?)+) \|", part, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z_-]+)`", row)}


def test_every_rule_that_the_page_of_invariants_names_is_one() -> None:
    page = text_of("invariants.md")
    structure = first_cells(page, "Know the rules of structure") - {role.value for role in il.Role}
    provenance = first_cells(page, "Know the rules of provenance")
    assert len(structure) > 10
    assert len(provenance) > 10
    assert structure | provenance <= RULES.keys()
    assert {name for name, rule in RULES.items() if rule.held} <= structure | provenance


def test_every_block_that_the_page_of_types_names_is_one() -> None:
    named = first_cells(text_of("types.md"), "Choose a block") - {"type"}
    assert len(named) > 10
    assert named <= set(TYPE_OF.values())


def test_every_view_that_the_page_of_views_names_is_one() -> None:
    named = set(re.findall(r"^\| `([a-z-]+)` \|", text_of("views.md"), re.MULTILINE))
    assert named & set(VIEWS) == set(VIEWS)


@pytest.mark.requirement("S002-117")
def test_the_eleven_founding_decisions_are_written_down() -> None:
    page = text_of("decisions/0000-founding-decisions.md")
    headings = re.findall(r"^### \d+\. (.*)$", page, re.MULTILINE)
    assert len(headings) == len(FOUNDING) == 11
    for heading, words in zip(headings, FOUNDING, strict=True):
        assert words in heading.lower()
    assert page.count("*Today:*") == 11
    assert "2026-05-08" in page
