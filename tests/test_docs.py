"""The printed pages are up to date, and what the README shows works."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import interlingua as il
from interlingua.dialects import probes
from interlingua.transcripts import format_of, formats
from tools import almanac_page, layers, reference_page, wire_gaps
from tools import models_page as models
from tools import transcript_pages as transcripts

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", il.dialects())
def test_the_page_of_each_dialect_is_what_its_tables_say(name: str) -> None:
    page = (DOCS / "dialects" / f"{name}.md").read_text(encoding="utf-8")
    assert page == probes.page(il.dialect(name)) + wire_gaps.page(name), "run make docs"


@pytest.mark.parametrize("name", il.dialects())
def test_the_page_of_a_dialect_is_for_its_users(name: str) -> None:
    page = probes.page(il.dialect(name))
    headings = re.findall(r"(?m)^## (.+)$", page)
    assert {"Examples", "What is supported", "What is not supported"} <= set(headings)
    assert not re.search(r"IdGrammar|`True`|`False`|`None`|\(worked out\)", page)


def test_the_reference_has_every_public_name() -> None:
    page = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert page == reference_page.page(page), "run make docs"
    assert not reference_page.without_example()


def test_the_matrix_is_what_happens() -> None:
    page = (DOCS / "dialects" / "matrix.md").read_text(encoding="utf-8")
    assert page == probes.matrix(), "run make docs"


def test_the_matrix_of_transcripts_is_what_happens() -> None:
    page = (DOCS / "transcripts-matrix.md").read_text(encoding="utf-8")
    assert page == transcripts.matrix(), "run make docs"


@pytest.mark.parametrize("name", formats())
def test_every_format_of_transcripts_has_a_page_with_its_facts(name: str) -> None:
    page = (DOCS / "transcripts" / f"{name}.md").read_text(encoding="utf-8")
    assert page == transcripts.page(page, format_of(name)), "run make docs"
    assert re.search(r"^\| seen \| .*\d{4}-\d\d-\d\d", page, re.MULTILINE)
    assert re.search(r"^Provenance: \w", page, re.MULTILINE)
    assert f"(transcripts/{name}.md)" in (DOCS / "transcripts.md").read_text(encoding="utf-8")


def test_the_page_of_models_shows_the_rules_as_they_are() -> None:
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    assert page == models.page(page), "run make docs"


def test_the_maps_of_the_architecture_are_those_of_the_tree() -> None:
    page = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert page == layers.page(page), "run make docs"


def test_the_architecture_sends_readers_to_files_that_exist() -> None:
    page = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = page[page.index("## To change X") :]
    named = re.findall(r"`([a-z_]+/[a-z_/]*(?:\.[a-z]+)?)`", rows)
    assert len(named) > 30
    package = Path(il.__file__).parent
    places = (package, package.parents[1])
    assert not [name for name in named if not any((place / name).exists() for place in places)]


def test_the_example_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, *_ = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    assert len(code.strip().splitlines()) <= 12
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "messages" in printed
    assert "seed dropped: Anthropic has no equivalent" in printed


def test_every_decision_page_has_its_parts() -> None:
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    assert len(pages) >= 7
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for part in ("Status:", "## Context", "## Decision", "## Alternatives", "## Consequences"):
            assert part in text, f"{page.name} has no {part}"


@pytest.mark.requirement("S002-7")
def test_what_the_model_is_not_is_written_down_and_true() -> None:
    page = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert "## What it is not" in page
    assert "canonical" not in il.dialects()  # nobody is asked to speak it
    message = il.Message.user("hi")
    wires = [
        il.dialect(name).write_request(il.Request((message,), "m")).wire for name in il.dialects()
    ]
    assert all(il.dumps(message) != il.dumps(wire) for wire in wires)  # nor is it anybody's own


def test_every_page_is_on_the_map() -> None:
    page = (DOCS / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([^)#:]+)\)", page))
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    # These two folders have a page of their own that lists what is in them.
    listed = {name for name in there if name.startswith(("decisions/", "transcripts/"))}
    assert there - listed - linked == {"README.md"}


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def slug(heading: str) -> str:
    """The anchor of a heading, as hosts of code make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_links_into_a_page_lead_to_a_heading() -> None:
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for target, anchor in re.findall(
            r"\]\(([^)#:]*)#([^)]+)\)", page.read_text(encoding="utf-8")
        ):
            there = (page.parent / target if target else page).read_text(encoding="utf-8")
            anchors = {slug(heading) for heading in re.findall(r"(?m)^#+ (.+)$", there)}
            assert anchor in anchors, f"{page.name}: {target}#{anchor}"


def test_the_almanac_is_that_of_the_data() -> None:
    assert (DOCS / "almanac.md").read_text("utf-8") == almanac_page.page(), "run make docs"


def test_the_pages_of_the_site_have_no_links_out_of_it(tmp_path: Path) -> None:
    site = runpy.run_path(str(DOCS / "site.py"))
    site["copy"](tmp_path / "docs")
    for page in (tmp_path / "docs").glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
