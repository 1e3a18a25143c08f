"""Every view at three widths, light and dark: it fits, and axe-core finds nothing that keeps anyone
from using it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.effort import THOROUGH
from tests.gateway.page.conftest import NEEDED, Place, standing
from tests.gateway.page.install import AXE, AXE_VERSION
from tests.gateway.page.rooms import VIEWS, Room, Scripted, furnished

pytest.importorskip("playwright", reason="playwright is not installed: `make page` installs it")
pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason=f"axe-core {AXE_VERSION} is not installed: `make page` installs it"
)


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Room]]:
    with standing(tmp_path_factory.mktemp("room"), behind=Scripted) as (place, _):
        yield place, furnished(place)


def serious(page: Any) -> list[str]:
    """What axe-core finds, and where."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("async () => (await axe.run(document)).violations")
    return [
        f"{each['id']} ({each['impact']}): {node['html'][:200]}: {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


OUTSIDE = """width => shown().filter((each) => {
    const box = each.getBoundingClientRect();
    return !each.closest(".wide, pre, svg, summary, .code-area, .unseen") && box.right > width + 1;
})"""
"""Beyond the edge of the window."""
CLIPPED = """() => shown().filter((each) => {
    const style = getComputedStyle(each);
    const hides = (way) => way === "hidden" || way === "clip";
    const wide = hides(style.overflowX) && each.scrollWidth > each.clientWidth + 1;
    const high = hides(style.overflowY) && each.scrollHeight > each.clientHeight + 1;
    if (!(wide || high) || !each.clientWidth || !each.textContent) return false;
    if (each.closest(".unseen, .code-area, .code-gutter, select, svg")) return false;
    const dotted = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
    return !dotted || !each.closest("details:not([open]) > summary, [title]");
})"""
"""Text that is cut off, unless it ends in dots and the whole can be had: what is folded can be
opened, or a title says it. What scrolls by itself (code in Convert) is none of it."""
NARROW = """() => shown().filter((each) => {
    if (!each.matches("input:not([type=checkbox]), select")) return false;
    const style = getComputedStyle(each);
    const ink = document.createElement("canvas").getContext("2d");
    ink.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const words = each.selectedOptions ? each.selectedOptions[0]?.text : each.value;
    const room = each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return !each.title && ink.measureText(words || each.placeholder || "").width > room + 2;
})"""
"""Controls that are too narrow for what they show."""
SPILT = """() => shown().filter((each) => {
    const { overflowY, display } = getComputedStyle(each);
    if (overflowY !== "visible" || display.startsWith("inline")) return false;
    if (each.closest("svg, .unseen")) return false;
    const box = each.getBoundingClientRect();
    return [...each.children].some((child) => {
        const { bottom, height } = child.getBoundingClientRect();
        const flows = ["static", "relative"].includes(getComputedStyle(child).position);
        return height && bottom > box.bottom + 12 && flows && child.checkVisibility();
    });
})"""
"""Parts whose content stands below their end, over what comes next."""
ASIDE = """() => shown().filter((each) => {
    if (!each.matches("ul.sessions li > *, td, dd, .figures > *")) return false;
    return each.clientWidth && each.scrollWidth > each.clientWidth + 2;
})"""
"""Cells whose content stands beyond their side, over the next one."""
SHOWN = """const shown = () => [...document.querySelectorAll("main *, dialog[open] *")]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().width > 1);"""


def fits(page: Any, width: int) -> None:
    """Nothing is beyond the window, cut off, or over something else."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    looks = {
        "outside": OUTSIDE,
        "clipped": CLIPPED,
        "narrow": NARROW,
        "spilt": SPILT,
        "aside": ASIDE,
    }
    for name, look in looks.items():
        found = f"({look})(width).map((each) => each.outerHTML.slice(0, 160))"
        assert page.evaluate(f"width => {{ {SHOWN} return {found} }}", width) == [], (name, width)


TABBABLE = """() => [...document.querySelectorAll("main a[href], main button, main input,"
    + " main select, main textarea, main summary, main [tabindex='0']")].filter((each) =>
    !each.disabled && each.tabIndex >= 0 && each.checkVisibility() && each.offsetParent !== null)
    .map((each, at) => { each.dataset.tab = at; return each.outerHTML.slice(0, 160); })"""


def unreached(page: Any) -> list[str]:
    """What the Tab key does not lead to."""
    page.keyboard.press("Tab")
    wanted, reached = page.evaluate(TABBABLE), set()
    assert wanted
    for _ in range(len(wanted) + 40):
        at = page.evaluate("document.activeElement?.dataset?.tab ?? null")
        if at is not None:
            reached.add(int(at))
        page.keyboard.press("Tab")
    return [each for at, each in enumerate(wanted) if at not in reached]


ALL = THOROUGH or NEEDED in os.environ
"""Whether each view is looked at in every way, or in one of them."""
WAYS = list(product((1280, 820, 390), ("light", "dark")))
LOOKS = [
    (name, width, scheme)
    for number, name in enumerate(VIEWS)
    for width, scheme in (WAYS if ALL else [WAYS[(number * 5) % len(WAYS)]])
]


@pytest.mark.parametrize(("name", "width", "scheme"), LOOKS)
def test_a_view_fits_its_width_and_has_no_serious_findings(
    browser: Any, room: tuple[Place, Room], name: str, width: int, scheme: str
) -> None:
    place, there = room
    size = {"width": width, "height": 800}
    context = browser.new_context(base_url=place.base, color_scheme=scheme, viewport=size)
    page = context.new_page()
    VIEWS[name](page, there)
    fits(page, width)
    assert serious(page) == []
    context.close()


def test_what_is_wrong_is_found(browser: Any, room: tuple[Place, Room]) -> None:
    place, there = room
    context = browser.new_context(base_url=place.base)
    page = context.new_page()
    VIEWS["tasks"](page, there)
    page.evaluate("document.getElementById('main').append(document.createElement('button'))")
    (found,) = serious(page)
    assert found.startswith("button-name")
    context.close()


def test_the_question_for_a_key_has_no_serious_findings(browser: Any, tmp_path: Path) -> None:
    with standing(tmp_path, keyed=True) as (place, _):
        context = browser.new_context(base_url=place.base)
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Key").wait_for()
        assert serious(page) == []
        context.close()


def test_an_exported_file_has_no_serious_findings(
    browser: Any, room: tuple[Place, Room], tmp_path: Path
) -> None:
    place, there = room
    context = browser.new_context(base_url=place.base)
    page = context.new_page()
    VIEWS["session"](page, there)
    page.get_by_text("Export", exact=True).click()
    page.get_by_label("Format").select_option("html")
    with page.expect_download() as wanted:
        page.get_by_role("button", name="Download").click()
    file = tmp_path / "session.html"
    wanted.value.save_as(file)
    page.goto(file.as_uri())
    page.get_by_role("article").first.wait_for()
    assert serious(page) == []
    context.close()
