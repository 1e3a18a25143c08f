"""The rules file and the list of models from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlingua import config
from interlingua.costs import bundled
from interlingua.profiles import capabilities, known_models
from interlingua.store.open import open_store
from interlingua.store.usages import PatternRow
from tests.cli.running import ok, process, run, told

GOOD = """\
schema_version = 1
default = "pro"

[aliases]
pro = "gemini:gemini-2.5-pro"

[[rules]]
name = "images"
use = "pro"
when = { has_images = true }

[[rules]]
use = "openai:gpt-5"
when = {}

[workspaces."/w"]
default = "openai:gpt-5"

[[workspaces."/w".rules]]
name = "tests"
use = "pro"
when = { message_matches = "tests?" }
"""
BAD = """\
schema_version = 1
default = 3
colour = "red"

[[rules]]
use = "nothing"
"""


def written(text: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# Rules


def test_a_good_file_has_no_problems(tmp_path: Path) -> None:
    file = written(GOOD, tmp_path / "rules.toml")
    result = run("rules", "check", file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 problems" in result.stderr
    assert told("rules", "check", file) == {"file": str(file), "ok": True, "problems": []}


def test_every_problem_is_told_with_its_place(tmp_path: Path) -> None:
    file = written(BAD, tmp_path / "rules.toml")
    result = run("rules", "check", file)
    assert result.exit_code == 1
    places = [line.removeprefix(f"{file}: ").split(":")[0] for line in result.stdout.splitlines()]
    assert sorted(places) == ["colour", "default", "rules[0].use", "rules[0].when"]
    assert "4 problems" in result.stderr


@pytest.mark.parametrize("text", ["schema_version = ", "\x1b[2J = 1"])
def test_a_file_that_is_no_toml_is_a_problem(tmp_path: Path, text: str) -> None:
    result = run("rules", "check", written(text, tmp_path / "rules.toml"))
    assert result.exit_code == 1
    assert "not TOML" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    result = run("rules", "check", tmp_path / "missing.toml")
    assert result.exit_code == 1
    assert "cannot be read" in result.stdout


@pytest.mark.requirement("S002-12")
def test_without_a_name_the_users_own_file_is_meant() -> None:
    assert "no rules" in run("rules", "show").stderr
    written(BAD, config.rules_path())
    assert run("rules", "check").exit_code == 1
    assert run("rules", "show").exit_code == 1
    written(GOOD, config.rules_path())
    assert run("rules", "check").exit_code == 0
    assert ok("rules", "show").startswith(f"{config.rules_path()}, version ")


def test_rules_are_shown_in_the_order_they_are_tried(tmp_path: Path) -> None:
    file = written(GOOD, tmp_path / "rules.toml")
    lines = ok("rules", "show", file).splitlines()
    assert "default: gemini:gemini-2.5-pro" in lines
    assert "alias pro: gemini:gemini-2.5-pro" in lines
    assert "default in /w: openai:gpt-5" in lines
    rows = [line.split() for line in lines[-3:]]
    assert rows[0] == ["tests", "pro", "message_matches", "tests?", "/w"]
    assert rows[1] == ["images", "pro", "has_images", "true", "everywhere"]
    assert rows[2] == ["rule_1", "openai:gpt-5", "always", "everywhere"]
    assert told("rules", "show", file)["rules"]["default"] == "pro"


def test_the_real_command_checks_rules(tmp_path: Path) -> None:
    assert process("rules", "check", written(BAD, tmp_path / "r.toml")).returncode == 1
    assert process("rules", "show", written(GOOD, tmp_path / "r.toml")).returncode == 0


# Models


def test_every_known_model_is_listed_with_its_price() -> None:
    found = told("models", "--all")
    assert found["pricing_version"] == bundled().version
    listed = {model["id"]: model for model in found["models"]}
    assert set(listed) == set(known_models())
    sonnet = listed["anthropic:claude-sonnet-4-6"]
    assert sonnet["price"]["input_per_mtok_usd"] == "3"
    window = capabilities("anthropic:claude-sonnet-4-6").max_context_tokens
    assert sonnet["capabilities"]["max_context_tokens"] == window
    assert sonnet["dialect"] == "anthropic"


def test_models_of_one_provider_or_with_a_word_in_their_name() -> None:
    assert {model["provider"] for model in told("models", "--provider", "gemini")["models"]} == {
        "gemini"
    }
    lines = ok("models", "sonnet").splitlines()
    assert len(lines) == 2
    assert "sonnet" in lines[1].split()
    several = [model["id"] for model in told("models", "CLAUDE-3-")["models"]]
    assert len(several) > 3
    assert all("claude-3-" in id for id in several)
    assert "No known model" in run("models", "abacus").stderr
    result = run("models", "--provider", "nobody")
    assert result.exit_code == 2
    assert "anthropic" in result.stderr


def test_the_real_command_lists_models() -> None:
    done = process("models", "--provider", "anthropic")
    assert done.returncode == 0
    assert b"anthropic:claude-sonnet-4-6" in done.stdout


def test_a_rules_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "nothere.toml"
    result = run("rules", "show", file)
    assert result.exit_code == 1
    assert result.stderr == f"interlingua: {file}: No such file or directory\n"


def test_what_was_learned_is_listed_and_can_be_forgotten(tmp_path: Path) -> None:
    place = tmp_path / "store.db"
    with open_store(str(place)) as store:
        session = store.create_session("/w").id
        for number in range(3):
            row = PatternRow(
                session_id=session,
                turn_id=f"t{number}",
                scope="",
                fingerprint="short code",
                model="local:m",
                success=float(number != 0),
            )
            store.record_pattern(row)
    (kind,) = told("rules", "learned", "--store", place)
    assert (kind["kind"], kind["model"], kind["turns"]) == ("short code", "local:m", 3)
    assert "67%" in ok("rules", "learned", "--store", place)
    assert "1 kind" in run("rules", "learned", "--reset", "--store", place).stderr
    assert told("rules", "learned", "--store", place) == []
