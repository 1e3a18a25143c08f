"""The files of an open project: they parse, name what exists, and run what the Makefile runs."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import interlingua
from tools import changelog, groups

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


@pytest.mark.parametrize(
    "path", sorted(GITHUB.rglob("*.yml")), ids=lambda path: str(path.relative_to(GITHUB))
)
def test_forms_and_workflows_are_yaml_with_names(path: Path) -> None:
    found = yaml.safe_load(path.read_text("utf-8"))
    assert isinstance(found, dict)
    assert path.stem == "config" or found["name"]


def test_workflows_call_targets_of_the_makefile_and_folders_of_the_tests() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    text = "".join(path.read_text("utf-8") for path in (GITHUB / "workflows").glob("*.yml"))
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    assert called
    assert called <= targets
    folders = set(re.findall(r"\btests/[a-z_]+", text))
    assert folders
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == interlingua.__version__
    assert citation["license"] == "MIT"


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_version_is_one_and_has_a_section_of_the_changelog() -> None:
    assert PROJECT["project"]["version"] == interlingua.__version__
    text = changelog.CHANGELOG.read_text("utf-8")
    newest = re.search(r"^## (\S+) \(\d{4}-\d\d-\d\d\)$", text, re.MULTILINE)
    assert newest is not None
    assert newest[1] == interlingua.__version__


def test_classifiers_name_the_pythons_of_the_workflow() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "test.yml").read_text("utf-8"))
    tested = workflow["jobs"]["library"]["strategy"]["matrix"]["python"]
    prefix = "Programming Language :: Python :: 3."
    classifiers = PROJECT["project"]["classifiers"]
    assert [each.rpartition(" ")[2] for each in classifiers if each.startswith(prefix)] == tested


def test_what_development_needs_is_not_published() -> None:
    assert not {"dev", "sdks"} & set(PROJECT["project"]["optional-dependencies"])
    lines = groups.of_project("dev")
    assert set(groups.of_project("sdks")) < set(lines)
    assert all(re.match(r"[\w.-]+[<>=]", line) for line in lines)
    every = PROJECT["project"]["optional-dependencies"]
    assert set(re.findall(r"[\w]+", every["all"][0])) - {"interlingua"} == set(every) - {"all"}


def test_every_fragment_of_the_changelog_has_bullets() -> None:
    for path in changelog.FRAGMENTS.glob("*.md"):
        assert changelog.read_fragment(path)


@pytest.mark.parametrize("text", ["", "no bullet\n", "### Gateway\n", "- a\nb\n"])
def test_a_fragment_without_bullets_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "topic.md").write_text(text)
    with pytest.raises(ValueError, match=r"topic\.md"):
        changelog.read_fragment(tmp_path / "topic.md")


def test_fragments_go_into_the_section_of_a_version_and_join_one_that_is_there() -> None:
    old = "# Changelog\n\n## 0.1.0\n\n### Gateway\n\n- first\n"
    once = changelog.assembled(old, "0.2.0", "2026-01-01", [{"Page": "- a"}, {"Gateway": "- b"}])
    assert once.index("### Gateway\n\n- b") < once.index("### Page\n\n- a") < once.index("## 0.1.0")
    twice = changelog.assembled(once, "0.2.0", "2026-01-02", [{"Gateway": "- c"}, {"More": "- d"}])
    assert (
        "## 0.2.0 (2026-01-02)\n\n### Gateway\n\n- b\n- c\n\n### Page\n\n- a\n\n### More\n\n- d"
        in twice
    )
    assert twice.endswith(old.partition("\n\n")[2])
    assert twice.count("## 0.2.0") == 1


def test_assembling_removes_the_fragments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x.md").write_text("- new\n")
    (tmp_path / "log.md").write_text("# Changelog\n")
    monkeypatch.setattr(changelog, "FRAGMENTS", tmp_path / "d")
    monkeypatch.setattr(changelog, "CHANGELOG", tmp_path / "log.md")
    changelog.main([])
    assert capsys.readouterr().out == "### More\n\n- new\n"
    changelog.main(["1.0", "--date", "2026-01-01"])
    assert (tmp_path / "log.md").read_text().endswith("## 1.0 (2026-01-01)\n\n### More\n\n- new\n")
    assert not list((tmp_path / "d").iterdir())
