"""Every Python and shell sample of the README and the docs runs as it stands."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua import local
from tests.cli.forked import command_for
from tests.docs.reader import BIN, Reader, told
from tests.docs.samples import RUN, SHOWN, Page, not_run, pages
from tests.docs.standin import StandIn
from tests.effort import THOROUGH, is_tried

PAGES = pages()
WITH_SAMPLES = [page for page in PAGES if page.typed() or page.missing()]
FIRST = ("README.md", "docs/getting-started.md")
PART = 5
"""The gate reads the first pages and one in so many of the others; `make samples` reads all."""
MOST_NOT_RUN = 14
"""Samples that cannot be run in a test; a new one has to be worth raising this."""


@pytest.fixture(scope="module")
def providers() -> Iterator[StandIn]:
    with StandIn() as providers:
        yield providers


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("loaded") / "bin"
    with command_for(folder, Path(sys.executable), BIN / "interlingua") as place:
        yield place


def weights(request: pytest.FixtureRequest) -> Path:
    """Those of the bundled local model, kept between runs beside pytest's other notes."""
    pytest.importorskip("xllamacpp", reason="needs the extra local")
    cache = request.config.cache
    if cache is None:
        pytest.skip("needs pytest's cache, for the weights of the model")
    try:
        return local.weights_path(cache.mkdir("local"))
    except local.WeightsError as missing:
        pytest.skip(f"the weights cannot be had here: {missing}")


@pytest.mark.skipif(sys.platform == "win32", reason="the samples are typed into bash")
@pytest.mark.parametrize(
    "page",
    [p for p in WITH_SAMPLES if p.name in FIRST or is_tried(p.name, PART)],
    ids=lambda page: page.name,
)
def test_every_sample_of_a_page_runs(
    page: Page, providers: StandIn, tmp_path: Path, commands: Path, request: pytest.FixtureRequest
) -> None:
    wants = "local model" in page.marks
    loaded = None if THOROUGH or page.name == FIRST[0] else commands
    reader = Reader(tmp_path, providers, weights(request) if wants else None, loaded)
    for done in reader.read(page):
        if not done.is_right:
            pytest.fail(f"{page.name}{told(done)}{reader.notes_beside()}", pytrace=False)
    if missing := page.missing():
        pytest.skip(f"samples of {page.name} need {', '.join(sorted(missing))}; the others ran")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Page) -> None:
    for block in page.blocks():
        where = f"{page.name}:{block.line}"
        assert block.language in (*RUN, *SHOWN), f"{where}: a block of {block.language or 'what'}?"
        if block.language == "text":
            assert not re.search(r"(?m)^\$ ", block.text), f"{where}: a console hides here"
        if block.language == "toml":
            tomllib.loads(block.text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_sample_hides_in_an_indented_block(page: Page) -> None:
    prose = re.sub(r"(?ms)^ *```.*?^ *```$", "", page.text)
    before = ""
    for paragraph in re.split(r"\n\s*\n", prose):
        is_list = re.match(r"\s*([-*]|\d+\.) ", before) or before.startswith("    ")
        assert is_list or not paragraph.startswith("    "), f"{page.name}: {paragraph}"
        before = paragraph if not paragraph.startswith("  ") else before


def test_few_samples_are_not_run_and_each_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    reasons = {
        f"{page.name}:{block.line}": reason
        for page in PAGES
        for block in page.blocks()
        if (reason := not_run(block)) is not None
    }
    with capsys.disabled():
        for place, reason in reasons.items():
            print(f"\n  not run: {place}: {reason}", end="")
    assert all(reason.startswith("because ") for reason in reasons.values()), reasons
    assert len(reasons) <= MOST_NOT_RUN
