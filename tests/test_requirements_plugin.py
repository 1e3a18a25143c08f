"""The requirement marker, its report, and the requirements file of this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin_requirements import Requirements

REQUIREMENTS = """
[titles]
"A-1" = "First"
"A-2" = "Second"
"A-3" = "Third"
"B-1" = "Fourth"

[deferred]
"B-1" = "later"

[area]
types = ["A-1", "A-2"]
store = ["A-3", "B-1"]
"""

NO_WORKERS: tuple[str, ...] = ()
ONE_WORKER = ("-p", "xdist.plugin", "-n", "1")

SOURCES = {"S000": 29, "S001": 24, "S002": 117, "S003": 23, "S004": 20}
PAINS = 46
AREAS = (
    "types json ids invariants schema views dialects streams store sessions routing prices "
    "gateway tasks process"
)


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # Loading every installed plugin takes longer than the runs themselves.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nmarkers = requirement(*ids): ids\nrequirements_file = ids.toml\n")
    pytester.path.joinpath("ids.toml").write_text(REQUIREMENTS, encoding="utf-8")
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest("-p", "tests.plugin_requirements", "--requirements", *options)


def last_line(result: pytest.RunResult) -> str:
    return [line for line in result.outlines if line][-1]


@pytest.mark.parametrize("options", [NO_WORKERS, ONE_WORKER], ids=["alone", "xdist"])
def test_report_tells_proven_deferred_and_unproven_apart(
    project: pytest.Pytester, options: tuple[str, ...]
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.requirement("A-1")
        def test_first(): pass

        @pytest.mark.requirement("A-1", "A-2")
        def test_both(): pass

        @pytest.mark.requirement("A-2")
        def test_second(): assert False
        """
    )
    result = run(project, *options)
    result.stdout.fnmatch_lines(
        [
            "types: 1 of 2 proven",
            "  proven    A-1",
            "  unproven  A-2: Second (failing: *::test_second)",
            "store: 0 of 2 proven",
            "  deferred  B-1: Fourth (later)",
            "  unproven  A-3: Third",
        ]
    )
    assert last_line(result) == "proven: 1, deferred: 1, unproven: 2"
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_skipped_and_expected_failures_and_broken_setups_prove_nothing(
    project: pytest.Pytester,
) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.fixture
        def broken(): raise OSError

        @pytest.mark.requirement("A-1")
        @pytest.mark.skip
        def test_skipped(): pass

        @pytest.mark.requirement("A-2")
        @pytest.mark.xfail
        def test_expected(): assert False

        @pytest.mark.requirement("A-2")
        def test_passing_beside_it(): pass

        @pytest.mark.requirement("A-3")
        def test_broken(broken): pass
        """
    )
    assert last_line(run(project)) == "proven: 0, deferred: 1, unproven: 3"


def test_proof_outweighs_deferral(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        @pytest.mark.requirement("B-1")
        def test_done_after_all(): pass
        """
    )
    assert last_line(run(project)) == "proven: 1, deferred: 0, unproven: 3"


def test_ids_of_class_and_module_count(project: pytest.Pytester) -> None:
    project.makepyfile(
        """
        import pytest

        pytestmark = pytest.mark.requirement("A-1")

        @pytest.mark.requirement("A-2")
        class TestClass:
            @pytest.mark.requirement("A-3")
            def test_it(self): pass
        """
    )
    assert last_line(run(project)) == "proven: 3, deferred: 1, unproven: 0"


UNKNOWN = "*test_it: unknown requirement 'A-9'"
OVER_THREE = "*test_it: 4 requirements on one test (A-1, A-2, A-3, B-1), at most 3"
NO_IDS = "*test_it: the requirement marker takes ids, and nothing else"


@pytest.mark.parametrize(
    ("marker", "message", "options"),
    [
        ('"A-9"', UNKNOWN, NO_WORKERS),
        ('"A-9"', UNKNOWN, ONE_WORKER),
        ('"A-1", "A-2", "A-3", "B-1"', OVER_THREE, NO_WORKERS),
        ("", NO_IDS, NO_WORKERS),
    ],
    ids=["unknown", "unknown_xdist", "over_three", "empty"],
)
def test_wrong_markers_fail_collection(
    project: pytest.Pytester, marker: str, message: str, options: tuple[str, ...]
) -> None:
    project.makepyfile(
        f"import pytest\n\n@pytest.mark.requirement({marker})\ndef test_it(): pass\n"
    )
    result = run(project, *options)
    result.stdout.fnmatch_lines([message])
    result.assert_outcomes(errors=1)


def test_without_the_option_there_is_no_report(project: pytest.Pytester) -> None:
    project.makepyfile("def test_it(): pass")
    result = project.runpytest("-p", "tests.plugin_requirements")
    result.stdout.no_fnmatch_line("proven:*")


def test_inconsistent_requirements_file_is_refused(project: pytest.Pytester) -> None:
    project.path.joinpath("ids.toml").write_text(
        '[titles]\n"A-1" = "x"\n[deferred]\n"A-2" = "y"\n', encoding="utf-8"
    )
    result = run(project)
    result.stderr.fnmatch_lines(["*ids.toml: A-1 has no area; A-2 has no title"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_every_requirement_is_listed_with_a_short_title() -> None:
    known = Requirements.load(Path(__file__).with_name("requirements.toml"))
    expected = [f"{source}-{n + 1}" for source, most in SOURCES.items() for n in range(most)]
    expected += [f"P{n + 1}" for n in range(PAINS)]
    assert list(known.titles) == expected
    assert list(known.areas) == AREAS.split()
    assert not [id for id, title in known.titles.items() if not 0 < len(title.split()) <= 10]
    assert all(known.deferred.values())
