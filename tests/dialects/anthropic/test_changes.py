"""What system turns in mid-conversation change: tools, the effort, their own words."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.client.targets import Targets
from interlingua.dialects.anthropic import DIALECT
from interlingua.dialects.anthropic.request import betas_of
from interlingua.model.blocks import TextBlock, UnknownBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Changes, Message, Role
from interlingua.model.tools import ToolDefinition
from tests.dialects.anthropic.wires import body, read, text, user, write

TOOL = {"name": "late", "description": "Comes late.", "input_schema": {"type": "object"}}


TOOLS = (ToolDefinition("late"), ToolDefinition("old"))


def change(kind: str, name: str = "late", **more: Any) -> dict[str, Any]:
    return {"type": kind, "tool": {"type": "tool_reference", "name": name}, **more}


def system(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(parts), **more}


def test_tools_that_come_and_go_are_changes() -> None:
    marked = change("tool_addition", cache_control={"type": "ephemeral"})
    turns = [
        user(text("Hi")),
        system(text("Now"), marked, text("and"), change("tool_removal", "old")),
    ]
    tools = [{**TOOL, "defer_loading": True}, {**TOOL, "name": "old"}]
    request = read(body(*turns, tools=tools))
    items = (TextBlock("Now"), TextBlock("and"))
    changes = Changes(("late",), ("old",))
    assert request.messages[1] == Message(Role.SYSTEM, items, changes=changes)
    assert [tool.name for tool in request.tools] == ["late", "old"]


def test_the_effort_and_the_end_of_a_message_are_changes() -> None:
    config = {"output_config": {"effort": "low"}, "clear_at": "next_user_message"}
    request = read(body(user(text("Hi")), system(text("Now"), **config)))
    changes = Changes(effort="low", clear_at="next_user_message")
    assert request.messages[1] == Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    string = {"role": "system", "content": "Now", **config}
    assert read(body(user(text("Hi")), string)).messages[1].changes == changes
    assert read(body(user(text("Hi")), {"role": "system", **config})).messages[1].content == ()


@pytest.mark.parametrize("config", [{}, {"effort": "huge"}, {"effort": "low", "pace": 1}])
def test_a_setting_without_a_field_goes_home(config: dict[str, Any]) -> None:
    request = read(body(user(text("Hi")), system(text("Now"), output_config=config)))
    assert request.messages[1].changes is None


def test_a_tool_that_a_turn_defines_is_a_tool() -> None:
    addition = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOL}}
    request = read(body(user(text("Hi")), system(addition), tools=[{**TOOL, "name": "add"}]))
    assert [tool.name for tool in request.tools] == ["add", "late"]
    assert request.messages[1] == Message(Role.SYSTEM, changes=Changes(("late",)))
    alone = request.replace(messages=request.messages[:1])
    assert [tool["name"] for tool in DIALECT.write_request(alone).wire["tools"]] == ["add", "late"]


def test_a_single_tool_of_a_server_is_known_to_the_service_alone() -> None:
    reference = {"type": "mcp_tool_reference", "server_name": "s", "name": "t"}
    part = {"type": "tool_addition", "tool": reference}
    message = read(body(user(text("Hi")), system(part))).messages[1]
    assert message == Message(Role.SYSTEM, (UnknownBlock({"anthropic": part}),))
    whole = {"type": "mcp_toolset_reference", "server_name": "s"}
    turns = [user(text("Hi")), system({"type": "tool_removal", "tool": whole})]
    toolset = {"type": "mcp_toolset", "mcp_server_name": "s"}
    assert read(body(*turns, tools=[toolset])).messages[1].changes == Changes((), ("s",))


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "tool_reference", "name": "nobody"},
        {"type": "tool_reference", "name": 7},
        {"type": "tool_definition", "definition": {"name": "f", "input_schema": 7, "type": 7}},
        {"type": "tool_reference", "name": "late", "more": 1},
    ],
)
def test_a_change_of_a_tool_that_is_not_known_goes_home(tool: dict[str, Any]) -> None:
    part = {"type": "tool_addition", "tool": tool}
    message = read(body(user(text("Hi")), system(part), tools=[TOOL])).messages[1]
    assert message == Message(Role.SYSTEM, (UnknownBlock({"anthropic": part}),))


def test_changes_are_written_where_others_made_them() -> None:
    changes = Changes(("late",), ("old",), "minimal", None, "next_user_message")
    message = Message(Role.SYSTEM, (TextBlock("Now"),), changes=changes)
    written = DIALECT.write_request(
        Request((Message.user("Hi"), message, Message.system("b")), "m", TOOLS)
    )
    parts = [text("Now"), change("tool_addition"), change("tool_removal", "old")]
    config = {"output_config": {"effort": "low"}, "clear_at": "next_user_message"}
    assert written.wire["messages"][1:] == [system(*parts, **config), system(text("b"))]
    assert [
        (loss.kind, loss.path) for loss in written.report.entries if "changes" in loss.path
    ] == [("approximated", "$.messages[1].changes.effort")]


def test_changes_that_were_taken_back_are_not_written() -> None:
    turns = [user(text("Hi")), system(text("Now"), change("tool_addition"))]
    request = read(body(*turns, tools=[TOOL]))
    plain = request.messages[1].replace(changes=None)
    wire = DIALECT.write_request(request.replace(messages=(request.messages[0], plain))).wire
    assert wire["messages"][1] == system(text("Now"))


def test_changes_without_a_place_are_reported() -> None:
    odd = Changes(("gone",), effort="none")
    message = Message(Role.SYSTEM, (TextBlock("Now"),), changes=odd)
    _, report = write(Message.user("Hi", "ada"), message)
    paths = ["$.messages[1].changes.tools_added", "$.messages[1].changes.effort"]
    assert [loss.path for loss in report.entries if "changes" in loss.path] == paths
    leading = Message(Role.SYSTEM, (TextBlock("a"),), changes=Changes(effort="low"))
    _, report = write(leading, Message.user("Hi"))
    assert [loss.path for loss in report.entries if "changes" in loss.path] == [
        "$.messages[0].changes.effort"
    ]


def test_what_needs_a_beta_asks_for_it() -> None:
    turns = [
        user(text("Hi")),
        system(change("tool_addition"), clear_at="never", output_config={"effort": "low"}),
        {
            "role": "assistant",
            "content": [{"type": "compaction", "content": "a", "signature": "s"}],
        },
    ]
    assert betas_of(body(*turns)) == [
        "mid-conversation-output-config-2026-07-01",
        "mid-conversation-system-clear-at-2026-08-21",
        "mid-conversation-tool-changes-2026-07-01",
        "compact-2026-09-04",
    ]
    inline = {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": TOOL}}
    assert "inline-tools-2026-09-15" in betas_of(body(system(inline)))
    assert betas_of(body(user(text("Hi")), {"role": "assistant", "content": "a"})) == []


def test_a_request_asks_for_the_betas_that_it_needs() -> None:
    more = Message(Role.SYSTEM, changes=Changes(("late",)))
    request = Request((Message.user("Hi"), more), "claude-opus-4-8", TOOLS)
    targets = Targets(environ={"ANTHROPIC_API_KEY": "k"})
    target = targets.find("anthropic:claude-opus-4-8")
    headers = targets.prepare(request, target, stream=False).http.headers
    assert headers["anthropic-beta"] == "mid-conversation-tool-changes-2026-07-01"
    plain = targets.prepare(Request((Message.user("Hi"),)), target, stream=False)
    assert "anthropic-beta" not in plain.http.headers
