"""Switches of providers: all that a server of the dialect `openai-chat` may do in its own way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlingua.client.targets import Targets
from interlingua.dialects.openai_chat.tables import HOSTS, Host, host_at
from interlingua.model.blocks import ThinkingBlock, ToolUseBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.ids import IdGrammar
from interlingua.model.message import Message
from interlingua.providers import Switches, ToolIds, providers
from tests.adapt.writing import written_for

MISTRAL_IDS = IdGrammar("[a-zA-Z0-9]", 9, 9)


def test_there_is_a_switch_for_every_field_of_a_host() -> None:
    assert {*Switches.__struct_fields__} == {*Host._fields, "host"} - {"name", "lacks"}


@pytest.mark.parametrize(
    ("field", "value", "host_value"),
    [
        ("ids", ToolIds(alphabet="[a-zA-Z0-9]", shortest=9, longest=9), MISTRAL_IDS),
        ("max_tokens", "max_completion_tokens", "max_completion_tokens"),
        ("exact_limit_key", True, True),
        ("seed", "random_seed", "random_seed"),
        ("user", "end_user", "end_user"),
        ("user", "", None),
        ("developer", False, False),
        ("thinking", "reasoning", "reasoning"),
        ("thinking", "", None),
        ("replay", "never", "never"),
        ("switch", "", None),
        ("stream_usage", True, True),
        ("custom_tools", False, False),
    ],
)
@pytest.mark.parametrize("name", [None, "deepseek", "openai"])
def test_a_switch_overrides_the_host(
    name: str | None, field: str, value: Any, host_value: object
) -> None:
    base = Host(replay="own") if name is None else HOSTS[name]
    host = host_at(Switches(host=name, **{field: value})) or Host(replay="own")
    assert getattr(host, field) == host_value
    limit = {"exact_limit_key": True} if field == "max_tokens" else {}
    lacks = base.lacks - {host_value}
    assert host == base._replace(**{field: host_value}, **limit, lacks=lacks)


def test_switches_of_a_file_reach_the_wire(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(
        """
[providers.acme]
base_url = "http://127.0.0.1:8000/v1"
[providers.acme.switches]
seed = "random_seed"
user = ""
thinking = "reasoning_content"
replay = "always"
exact_limit_key = true
ids = { alphabet = "[a-zA-Z0-9]", shortest = 9, longest = 9 }
"""
    )
    acme = providers(file)["acme"]
    call = ToolUseBlock("toolu_01A09q90qw90lq917835lq9", "f", {})
    messages = [
        Message.user("hi"),
        Message.assistant([ThinkingBlock("hmm"), call]),
        Message.tool_result(call.id, "done"),
    ]
    request = Request(messages, options=Options(seed=7, user="u-1", max_output_tokens=5))
    target = Targets([acme], environ={}).find("acme:m", "openai-chat")
    wire = written_for(request, target, stream=False).wire
    assert "u-1" not in wire.values()
    assert wire["random_seed"] == 7
    assert wire["max_tokens"] == 5
    assert wire["messages"][1]["reasoning_content"] == "hmm"
    id = wire["messages"][1]["tool_calls"][0]["id"]
    assert MISTRAL_IDS.legal(id)
    assert wire["messages"][2]["tool_call_id"] == id
