"""Tools that vendors define, and remote MCP servers as three vendors say them."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.adapt.history.vendor_tools import DIALECTS, LIKE, TABLE
from interlingua.profiles.profile import profile_of
from tests.adapt.history.vendors import (
    CLAUDE,
    CROSSED,
    GEMINI,
    GPT,
    GROK,
    OLDER,
    ROUTER,
    SPOKEN,
    dropped,
    lost,
    told,
)

REMOTE = {"type": "mcp", "server_label": "s", "server_url": "https://s.example"}

TRUSTED = {**REMOTE, "require_approval": "never"}


@pytest.mark.parametrize(
    "tool",
    [
        REMOTE,
        {**REMOTE, "require_approval": "always"},
        {**REMOTE, "require_approval": {"never": {"tool_names": ["a"]}}},
        {"type": "mcp", "server_label": "s", "connector_id": "c", "require_approval": "never"},
        {**TRUSTED, "allowed_tools": {"read_only": True}},
    ],
)
@pytest.mark.parametrize("model", [CLAUDE, GEMINI])
def test_a_server_whose_calls_are_restricted_is_never_told_to_others(
    tool: dict[str, Any], model: str
) -> None:
    written = told("openai-responses", model, tool)
    assert "tools" not in written.wire
    assert "mcp_servers" not in written.wire
    assert lost(written) == {("dropped", "error", "$.tools[0]")}


def test_a_trusted_server_crosses_to_anthropic_with_its_tools() -> None:
    headers = {"Authorization": "Bearer k", "X-More": "1"}
    tool = {**TRUSTED, "headers": headers, "allowed_tools": ["q"]}
    written = told("openai-responses", CLAUDE, tool)
    server = {"type": "url", "name": "s", "url": "https://s.example", "authorization_token": "k"}
    assert written.wire["mcp_servers"] == [server]
    configs = {"default_config": {"enabled": False}, "configs": {"q": {"enabled": True}}}
    assert written.wire["tools"] == [{"type": "mcp_toolset", "mcp_server_name": "s", **configs}]
    assert lost(written) == {CROSSED, *dropped("headers", dialect="openai-responses")}


def test_a_server_of_anthropics_crosses_and_is_not_told_as_lost() -> None:
    server = {"type": "url", "name": "s", "url": "https://s.example", "authorization_token": "k"}
    tool = {"type": "mcp_toolset", "mcp_server_name": "s"}
    written = told("anthropic", GPT, tool, mcp_servers=[server])
    assert written.wire["tools"] == [{**TRUSTED, "authorization": "k"}]
    assert lost(written) == {CROSSED}
    written = told("anthropic", GEMINI, tool, mcp_servers=[server])
    how = {"url": "https://s.example", "headers": {"Authorization": "Bearer k"}}
    assert written.wire["tools"] == [
        {"mcpServers": [{"name": "s", "streamableHttpTransport": how}]}
    ]


def test_tools_that_are_switched_off_stay_off() -> None:
    server = {"type": "url", "name": "s", "url": "https://s.example"}
    tool = {"type": "mcp_toolset", "mcp_server_name": "s", "configs": {"rm": {"enabled": False}}}
    written = told("anthropic", GPT, tool, mcp_servers=[server])
    assert "tools" not in written.wire
    assert ("dropped", "error", "$.tools[0]") in lost(written)


def test_each_of_geminis_servers_becomes_a_tool() -> None:
    listed = [
        {"name": name, "streamableHttpTransport": {"url": f"https://{name}.example"}}
        for name in "ab"
    ]
    written = told("gemini", CLAUDE, {"mcpServers": listed})
    assert [tool["mcp_server_name"] for tool in written.wire["tools"]] == ["a", "b"]
    assert [server["name"] for server in written.wire["mcp_servers"]] == ["a", "b"]


def test_every_word_of_the_profiles_is_in_the_table() -> None:
    aside = {"edit", "bash"}
    for model in (CLAUDE, GPT, GROK, GEMINI, OLDER, ROUTER, "anthropic:claude-sonnet-4-20250514"):
        provider, _, name = model.partition(":")
        has = profile_of(name, provider, SPOKEN[provider]).tools.server or {}
        for concept, word in has.items():
            forms = TABLE["shell" if concept == "bash" else concept] if concept != "edit" else ()
            vendors = {provider, LIKE.get(provider)}
            content = any(each.vendor in vendors and each.says(word) for each in forms)
            assert content or concept in aside, (model, concept)
    assert {each.vendor for forms in TABLE.values() for each in forms} <= DIALECTS.keys()
