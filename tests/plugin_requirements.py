"""Which requirement each test proves, and a report of those that none does.

A test says `@pytest.mark.requirement("S002-13")`; ids, titles, areas and deferrals are in
`requirements.toml`. `pytest --requirements` prints the report after everything else. Ids travel
with the test reports, so it is the same with and without xdist.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

MOST_IDS = 3
PROPERTY = "requirement"


@dataclass(frozen=True)
class Requirements:
    """The requirements file: `titles` by id, `deferred` reasons by id, `areas` of ids."""

    titles: dict[str, str]
    deferred: dict[str, str]
    areas: dict[str, list[str]]

    @classmethod
    def load(cls, path: Path) -> Requirements:
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise pytest.UsageError(f"{path}: {error}") from error
        loaded = cls(data.get("titles", {}), data.get("deferred", {}), data.get("area", {}))
        if problems := list(loaded.problems()):
            raise pytest.UsageError(f"{path}: {'; '.join(problems)}")
        return loaded

    def problems(self) -> Iterator[str]:
        placed = [id for ids in self.areas.values() for id in ids]
        for id in sorted({id for id in placed if placed.count(id) > 1}):
            yield f"{id} stands in two areas"
        for id in sorted(self.titles.keys() - set(placed)):
            yield f"{id} has no area"
        for id in sorted((set(placed) | self.deferred.keys()) - self.titles.keys()):
            yield f"{id} has no title"


@dataclass
class Outcomes:
    """What the tests of this run said about each id."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, report: pytest.TestReport) -> None:
        ids = [str(value) for name, value in report.user_properties if name == PROPERTY]
        # An expected failure is reported as skipped, and still proves the opposite.
        if report.failed or hasattr(report, "wasxfail"):
            for id in ids:
                self.failed[id].append(report.nodeid)
        elif report.when == "call" and report.passed:
            self.passed.update(ids)

    def proves(self, id: str) -> bool:
        return id in self.passed and id not in self.failed


def marked_ids(item: pytest.Item) -> list[str]:
    """The ids on a test, its class and its module, each once."""
    ids = [id for mark in item.iter_markers("requirement") for id in mark.args]
    return list(dict.fromkeys(ids))


def marker_problem(item: pytest.Item, known: Requirements) -> str | None:
    for mark in item.iter_markers("requirement"):
        if not mark.args or mark.kwargs:
            return "the requirement marker takes ids, and nothing else"
    ids = marked_ids(item)
    if unknown := [id for id in ids if id not in known.titles]:
        return f"unknown requirement {', '.join(map(repr, unknown))}"
    if len(ids) > MOST_IDS:
        return f"{len(ids)} requirements on one test ({', '.join(ids)}), at most {MOST_IDS}"
    return None


def report_lines(known: Requirements, outcomes: Outcomes) -> Iterator[str]:
    """The report: an area, what it proves, defers and leaves unproven; the totals last."""
    totals = {"proven": 0, "deferred": 0, "unproven": 0}
    for area, ids in known.areas.items():
        proven = [id for id in ids if outcomes.proves(id)]
        deferred = [
            id for id in ids if id in known.deferred and id not in {*proven, *outcomes.failed}
        ]
        unproven = [id for id in ids if id not in {*proven, *deferred}]
        totals["proven"] += len(proven)
        totals["deferred"] += len(deferred)
        totals["unproven"] += len(unproven)

        yield f"{area}: {len(proven)} of {len(ids)} proven"
        if proven:
            yield f"  proven    {' '.join(proven)}"
        for id in deferred:
            yield f"  deferred  {id}: {known.titles[id]} ({known.deferred[id]})"
        for id in unproven:
            tests = ", ".join(outcomes.failed.get(id, ()))
            failing = f" (failing: {tests})" if tests else ""
            yield f"  unproven  {id}: {known.titles[id]}{failing}"
    yield ", ".join(f"{word}: {count}" for word, count in totals.items())


class RequirementsPlugin:
    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.known = Requirements.load(config.rootpath / config.getini("requirements_file"))
        self.outcomes = Outcomes()

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A wrong marker fails the file or class it stands in, as a syntax error would."""
        report = yield
        items = [item for item in report.result or () if isinstance(item, pytest.Item)]
        problems = [f"{i.nodeid}: {p}" for i in items if (p := marker_problem(i, self.known))]
        if problems:
            report.outcome = "failed"
            report.longrepr = "\n".join(problems)
            report.result = []
        return report

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        item.user_properties.extend((PROPERTY, id) for id in marked_ids(item))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.outcomes.add(report)

    # Outermost, so that the report comes after pytest's own last line.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        yield
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        is_worker = hasattr(self.config, "workerinput")
        if terminal is None or is_worker or not self.config.getoption("requirements"):
            return
        terminal.ensure_newline()
        for line in report_lines(self.known, self.outcomes):
            terminal.write_line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--requirements",
        action="store_true",
        help="after the run, list which requirements are proven, deferred and unproven",
    )
    parser.addini(
        "requirements_file",
        help="ids, titles, areas and deferrals, relative to the root",
        default="tests/requirements.toml",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(RequirementsPlugin(config), "interlingua-requirements")
