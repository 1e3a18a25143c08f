"""Instructions that come later: where two of the documents put all of them in front, and what is
done without being asked to, since moving them would change every byte before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import interlingua as il
from interlingua.cli.main import commands
from interlingua.views import view
from tests.adapt.writing import written_for

requirement = pytest.mark.requirement

FLAT = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "And now?"},
]
TARGETS = [
    ("anthropic", "claude-sonnet-4-6"),
    ("bedrock", "anthropic.claude-sonnet-4-6"),
    ("gemini", "gemini-2.5-pro"),
]


def turns(wire: Any) -> list[Any]:
    return wire.get("messages") or wire["contents"]


def texts(parts: Any) -> list[str]:
    return [part["text"] for part in parts]


@requirement("S000-16", "S000-22", "S001-7")
@pytest.mark.parametrize(("target", "model"), TARGETS)
@pytest.mark.parametrize("source", ["flat", "openai-chat"])
def test_all_of_them_can_be_put_in_front(target: str, model: str, source: str) -> None:
    data: Any = FLAT if source == "flat" else {"model": "gpt-5", "messages": FLAT}
    result = il.convert(data, source, target, model=model, instructions="hoist")
    system = result.wire.get("system") or result.wire["systemInstruction"]["parts"]
    assert texts(system) == ["Be brief.", "Be kind."]
    roles = [turn["role"] for turn in turns(result.wire)]
    assert roles == ["user", "model" if target == "gemini" else "assistant", "user"]
    assert "Be kind." not in str(turns(result.wire))
    assert "$.messages[3]" in str([loss.path for loss in result.report.entries])


@requirement("S000-27", "S001-9")
@pytest.mark.parametrize(("target", "model"), TARGETS)
def test_where_the_model_takes_none_later_they_are_marked_and_reported(
    target: str, model: str
) -> None:
    result = il.convert(FLAT, "flat", target, model=model)
    roles = [turn["role"] for turn in turns(result.wire)]
    assert roles == ["user", "model" if target == "gemini" else "assistant", "user"]
    last = turns(result.wire)[-1]
    assert "Be kind." in str(last)
    assert [loss.kind for loss in result.report.entries if loss.path == "$.messages[3].role"] == [
        "downgraded"
    ]


# Where else it can be asked for


def _history() -> tuple[il.Message, ...]:
    return view("flat").read(FLAT)


@requirement("S000-16", "S001-7", "S001-8")
@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-4-6", "gemini:gemini-2.5-pro"])
def test_adapters_clients_sessions_and_plans_hoist_as_convert_does(
    model: str, tmp_path: Path
) -> None:
    dialect, _, name = model.partition(":")
    hoisted = il.convert(FLAT, "flat", dialect, model=model, instructions="hoist").wire
    front = hoisted.get("system") or hoisted["systemInstruction"]
    assert "Be kind." in str(front)
    adapter = il.Adapter(model, instructions="hoist")
    assert (wire := adapter.to_wire(_history()).wire).get("system") == hoisted.get("system")
    assert turns(wire) == turns(hoisted)
    targets = il.AsyncClient(instructions="hoist").asker.targets
    body = written_for(il.Request(_history()), targets.find(model), None).wire
    assert turns(body) == turns(hoisted)
    with il.open_store(f"sqlite:///{tmp_path}/own.db") as store:
        session = il.Session.create(store, model=model, instructions="hoist")
        assert session.adapter().instructions == "hoist"
        assert turns(session.adapter().to_wire(_history()).wire) == turns(hoisted)
    plan = il.plan(_history(), dialect, name, instructions="hoist")
    assert "moved" in [entry.kind for entry in plan.entries]
    assert "moved" not in [entry.kind for entry in il.plan(_history(), dialect, name).entries]


@requirement("S000-16")
def test_the_command_line_hoists(tmp_path: Path) -> None:
    place = tmp_path / "flat.json"
    place.write_text(json.dumps(FLAT))
    words = ["convert", str(place), "--from", "flat", "--to", "gemini", "--instructions", "hoist"]
    done = CliRunner().invoke(commands(), words)
    assert done.exit_code == 0, done.output
    assert "Be kind." in str(json.loads(done.stdout)["systemInstruction"])
    done = CliRunner().invoke(commands(), [*words, "--lines"])
    assert done.exit_code == 2
