"""The page about routing says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

from interlingua.events.payloads import FailureCode, Slot, Verdict
from interlingua.routing import MODES
from interlingua.routing.policy import PatternSettings, PolicyReader
from interlingua.routing.predicates import GROUPS, PREDICATES

PAGE = (Path(__file__).parents[2] / "docs" / "routing.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> list[str]:
    """The names in the first column of the table whose first header cell is this."""
    table = PAGE.partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def test_the_tables_list_every_slot_code_and_predicate() -> None:
    assert first_cells("slot") == list(Slot)
    assert first_cells("code") == list(FailureCode)
    assert sorted(first_cells("predicate")) == sorted([*PREDICATES, *GROUPS])
    for slot, mode in MODES.items():
        assert re.search(rf"\| `{slot}` \|.*\| `{mode}` \|", PAGE)
    for verdict in Verdict:
        assert f"`{verdict}`" in PAGE


def test_the_rules_file_of_the_page_is_a_good_one_and_shows_the_defaults() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    reader = PolicyReader()
    policy = reader.read(example.encode())
    assert reader.problems == []
    assert policy.pattern == PatternSettings()
    assert [rule.name for rule in policy.everywhere.rules] == ["images", "long, or at night"]
    assert set(policy.workspaces) == {"/home/me/project"}


def test_the_program_of_the_page_does_what_its_comments_say() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, "routing.md", "exec"), names)
    decision = names["decision"]
    assert decision.chosen_model == "openai:gpt-5"
    assert decision.record().reason == "/model gpt"
