"""What sessions would have cost on other models, from the command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

from interlingua.cli import cost_as
from interlingua.costs.cost import priced
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.base import Store
from tests.cli.homes import other, settled
from tests.cli.running import ok, on_terminal, run, told
from tests.cli.test_cost import DAY
from tests.transcripts.made import session

SONNET = "anthropic:claude-sonnet-4-6"
SOL = "openai:gpt-6.1-sol"
WORDS = "The miller weighs the flour and writes the number into his book. " * 12


def messages(requests: int = 5) -> list[Message]:
    """A conversation that Claude cached."""
    made: list[Message] = []
    prompt = 9000
    for number in range(requests):
        usage = Usage(3, 80, prompt if number else 0, 300 if number else prompt + 300)
        prompt += 300
        metadata = MessageMetadata(model=SONNET, usage=priced(usage, SONNET))
        at = DAY + timedelta(seconds=40 * number)
        answer = Message.assistant(WORDS[:300], metadata).replace(created_at=at)
        made += [Message.user(f"{number}: {WORDS}").replace(created_at=at), answer]
    return made


def stored(store: Store) -> str:
    id = store.create_session("/w").id
    store.append(id, messages())
    return id


def test_a_stored_session_on_other_models(store: Store) -> None:
    id = stored(store)
    found = told("cost", id, "--as", f"{SONNET},{SOL}")
    rows = {row["model"]: row for row in found["rows"]}
    spent = found["recorded"]
    assert list(rows) == [SONNET, SOL]
    assert rows[SONNET]["cost_usd"] == spent["cost_usd"] == rows[SONNET]["high_usd"]
    assert spent["models"] == {SONNET: 5}
    other = rows[SOL]
    low, cost, high = (Decimal(other[name]) for name in ("low_usd", "cost_usd", "high_usd"))
    assert 0 < low < cost < high < Decimal(spent["cost_usd"])
    assert other["cached_input_tokens"] > other["cache_creation_input_tokens"]
    assert any("no system prompts and no tools" in note for note in found["notes"])
    assert told("cost", id[:12], "--as", SOL)["rows"][0]["cost_usd"] == other["cost_usd"]


def test_all_that_the_store_has(store: Store) -> None:
    stored(store)
    store.append(store.create_session("/w").id, [Message.user("?"), messages()[1]])
    found = told("cost", "--as", SOL)
    # The second session holds a copy of an answer, as far as its time and tokens tell.
    assert (found["sessions"], found["requests"]) == (1, 5)


def test_files_folders_and_names_of_agents(tmp_path: Path, store: Store) -> None:
    path = settled(session(), "claude-code", tmp_path)
    settled(other(), "codex", tmp_path)
    one = told("cost", path, "--as", SOL)
    named = told("cost", f"claude-code:{path.stem}", "--home", tmp_path, "--as", SOL)
    assert one["rows"] == named["rows"]
    moved = path.rename(path.with_name("copied.jsonl"))
    listed = json.loads(ok("transcripts", "list", "--home", tmp_path, "--json"))
    row = next(each for each in listed if each["path"] == str(moved))
    for name in (row["id"], row["title"]):
        assert told("cost", name, "--home", tmp_path, "--as", SOL)["rows"] == one["rows"]
    path = moved
    whole = told("cost", tmp_path, "--as", SOL)
    assert whole["sessions"] > one["sessions"]
    inside = told("cost", path.parent, "--as", SOL)
    assert inside["rows"] == one["rows"]
    everywhere = told("cost", "--transcripts", "--home", tmp_path, "--as", SOL)
    assert everywhere["rows"] == whole["rows"]
    assert told("cost", path)["total"]["messages"] == one["requests"]


def test_losses_stand_beside_the_costs(tmp_path: Path) -> None:
    path = settled(session(), "claude-code", tmp_path)
    found = told("cost", path, "--as", f"{SOL},{SONNET}")
    lossy = found["rows"][0]["losses"]
    assert lossy
    assert all(each["count"] >= 1 and each["reason"] for each in lossy)
    assert "What the moves would lose" in ok("cost", path, "--as", SOL)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_table_fits_the_terminal(store: Store, columns: int) -> None:
    code, seen = on_terminal("cost", stored(store), "--as", f"{SOL},sonnet", columns=columns)
    assert code == 0
    assert SOL in seen
    assert all(len(line) <= columns for line in plain(seen).splitlines())


def plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_the_picture_is_a_drawing_with_every_model(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "costs.svg"
    run("cost", stored(store), "--as", f"{SOL},{SONNET}", "--picture", file)
    drawn = ElementTree.parse(file)
    texts = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"as recorded", SOL, SONNET} <= set(texts)
    width = float(drawn.getroot().attrib["viewBox"].split()[2])
    ends = {each.text: each for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert float(ends[SONNET].attrib["x"]) > 7 * len(SONNET), "names are not cut"
    assert all(float(each.attrib["x"]) < width - 100 for each in ends.values())


def test_what_cannot_be_compared_is_refused(store: Store, tmp_path: Path) -> None:
    id = stored(store)
    unknown = run("cost", id, "--as", "acme:large")
    assert unknown.exit_code == 2
    assert "acme:large" in unknown.stderr
    assert run("cost", id, "--as", " ").exit_code == 2
    assert run("cost", "--picture", tmp_path / "x.svg").exit_code == 2
    assert run("cost", tmp_path, "--as", SOL).exit_code == 2
    nothing = run("cost", id, "--as", SOL, "--since", "2030-01-01")
    assert nothing.exit_code == 2
    missing = run("cost", "no-such-session", "--as", SOL)
    assert missing.exit_code != 0
    assert "no-such-session" in missing.stderr


def test_a_long_loss_goes_on_below_its_beginning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cost_as, "on_terminal", lambda: True)
    monkeypatch.setattr(cost_as, "console", lambda: SimpleNamespace(width=40))
    cost_as._say_indented("9 × role sent as marked user text: " + "word " * 9, "  ")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("  ") and len(line) <= 40 for line in lines)
