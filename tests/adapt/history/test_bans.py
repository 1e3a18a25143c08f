"""Bans and demands that a target cannot express are reported, never as mere information."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.model.exchange import Options, ResponseFormat, ToolChoice

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
INPUT: dict[str, Any] = {"model": "m", "input": "q"}
CONTENTS: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}
CONVERSE: dict[str, Any] = {"messages": [{"role": "user", "content": [{"text": "q"}]}]}
BLOCKED = [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_LOW_AND_ABOVE"}]
PRIVATE_BANS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("gemini", CONTENTS, "safetySettings", BLOCKED),
    ("gemini", CONTENTS, "modelArmorConfig", {"promptTemplateName": "t"}),
    ("gemini-interactions", INPUT, "safety_settings", BLOCKED),
    ("bedrock", CONVERSE, "guardrailConfig", {"guardrailIdentifier": "g"}),
    ("cohere", CHAT, "safety_mode", "STRICT"),
    ("openai-chat", CHAT, "moderation", {"model": "omni-moderation-latest"}),
    ("openai-chat", CHAT, "safe_prompt", True),
    ("openai-responses", INPUT, "moderation", {"model": "omni-moderation-latest"}),
    ("openai-responses", INPUT, "max_tool_calls", 1),
    ("openrouter", CHAT, "provider", {"data_collection": "deny", "zdr": True}),
    ("anthropic", {**CHAT, "max_tokens": 9}, "inference_geo", "us"),
]
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
DEMANDS = {
    "one call at a time": Options(parallel_tool_calls=False),
    "no tool": Options(tool_choice=ToolChoice("none")),
    "some tool": Options(tool_choice=ToolChoice("any")),
    "this tool": Options(tool_choice=ToolChoice("any", ("f",))),
    "only this tool": Options(tool_choice=ToolChoice("auto", ("f",))),
    "a schema": Options(response_format=ResponseFormat("json_schema", "n", SCHEMA, True)),
    "JSON": Options(response_format=ResponseFormat("json")),
}
FIELDS = ("parallel_tool_calls", "tool_choice", "response_format")


@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize(
    ("source", "body", "key", "value"), PRIVATE_BANS, ids=[f"{b[0]}-{b[2]}" for b in PRIVATE_BANS]
)
def test_a_ban_of_one_service_is_more_than_a_note_elsewhere(
    source: str, body: dict[str, Any], key: str, value: Any, target: str
) -> None:
    if source == target:
        return
    written = il.convert({**body, key: value}, source, target, model="m")
    (loss,) = [loss for loss in written.report.entries if loss.path.endswith(f".{key}")]
    assert loss.severity == "warning"


@pytest.mark.parametrize("profile", [None, False], ids=["fitted", "unfitted"])
@pytest.mark.parametrize("target", il.dialects())
@pytest.mark.parametrize("demand", list(DEMANDS))
def test_a_demand_arrives_or_is_reported(demand: str, target: str, profile: Any) -> None:
    options = DEMANDS[demand]
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    tools = tuple([il.ToolDefinition(name, "d.", schema) for name in ("f", "g")])
    request = il.Request((il.Message.user("q"),), "m", tools, options)
    written = il.convert(il.dumps(request), "canonical", target, model="m", profile=profile)
    read = il.dialect(target).read_request(written.wire)
    serious = [loss.path for loss in written.report.entries if loss.severity != "info"]
    for field in FIELDS:
        wanted, arrived = getattr(options, field), getattr(read.options, field)
        if wanted is None or arrived == wanted:
            continue
        offered = {tool.name for tool in read.tools}
        allowed = set() if wanted == ToolChoice("none") else set(getattr(wanted, "names", ()) or ())
        by_tools = field == "tool_choice" and wanted.mode != "any" and offered == allowed
        by_both = field == "tool_choice" and offered == allowed and arrived == ToolChoice("any")
        by_name = (
            field == "response_format"
            and arrived is not None
            and (arrived.kind, arrived.schema) == (wanted.kind, wanted.schema)
        )
        assert by_tools or by_both or by_name or any(f".{field}" in path for path in serious)


@pytest.mark.parametrize("target", ["openai-responses", "gemini-interactions"])
@pytest.mark.parametrize(("source", "body"), [("openai-chat", CHAT), ("openai-responses", INPUT)])
def test_what_may_not_be_stored_is_not_stored_elsewhere(
    source: str, body: dict[str, Any], target: str
) -> None:
    written = il.convert({**body, "store": False}, source, target, model="m")
    assert written.wire["store"] is False
    assert not [loss for loss in written.report.entries if "store" in loss.path]
    assert il.convert(body, source, target, model="m").wire.get("store") is None
