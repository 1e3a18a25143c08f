"""The canonical format: its worked examples, run through sessions, adapters and the store."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.costs import bundled
from interlingua.routing import SwapError
from interlingua.store.base import Store
from interlingua.store.open import open_store

requirement = pytest.mark.requirement

SONNET, GPT = "anthropic:claude-sonnet-4-6", "openai:gpt-5"
READ_FILE = il.ToolDefinition(
    "read_file",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    il.SideEffects.READ,
)
PNG = il.ImageBlock(il.Source("base64", "aGk="), "image/png")


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "s.db") as opened:
        yield opened


def claude(*content: dict[str, Any], tokens: tuple[int, int] = (8, 42)) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(content),
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens[0], "output_tokens": tokens[1]},
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def gpt(**message: Any) -> dict[str, Any]:
    reason = "tool_calls" if "tool_calls" in message else "stop"
    answer = {"role": "assistant", "content": None, **message}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5",
        "choices": [{"index": 0, "finish_reason": reason, "message": answer}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def begun(store: Store, **more: Any) -> il.Session:
    return il.Session.create(
        store,
        "/work",
        model=SONNET,
        tools=[READ_FILE],
        prices=bundled("2026-05-08"),
        dialects={"openai": "openai-chat"},
        **more,
    )


def tool_round(session: il.Session) -> il.Message:
    """The user asks, the assistant reads a file, and answers."""
    turn = session.begin("Summarize README.md")
    call = turn.call()
    use = {"type": "tool_use", "id": "toolu_01ABC", "name": "read_file"}
    answer = call.complete(
        claude(text("I'll read the file."), {**use, "input": {"path": "README.md"}})
    )
    (block,) = answer.tool_calls
    turn.results(il.Message.tool_result(block.id, "# Project Foo\n\nA tool for..."))
    turn.call().complete(claude(text("The README describes Project Foo.")))
    return answer


@requirement("S002-88", "S002-110")
def test_two_messages_cost_exactly_what_the_table_says(store: Store) -> None:
    session = begun(store)
    session.begin("What's a ULID?").call().complete(claude(text("A 128-bit identifier.")))
    question, answer = session.messages()
    assert (question.role, answer.role) == (il.Role.USER, il.Role.ASSISTANT)
    metadata = answer.metadata
    assert (metadata.model, metadata.provider) == (SONNET, "anthropic")
    assert metadata.usage is not None
    assert metadata.usage.cost_usd == Decimal("0.000654")
    assert (metadata.usage.input_tokens, metadata.usage.output_tokens) == (8, 42)
    assert metadata.usage.pricing_version == "2026-05-08"
    assert metadata.routing is not None
    assert (metadata.routing.mode, metadata.routing.chosen_model) == ("default", SONNET)
    assert il.validate(session.messages()) == []


@requirement("S002-89")
def test_a_round_with_a_tool_is_four_messages_of_one_turn(store: Store) -> None:
    session = begun(store)
    answer = tool_round(session)
    roles = [message.role.value for message in session.messages()]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert [block.type for block in answer.content] == ["text", "tool_use"]
    (call,) = answer.tool_calls
    assert call.id.startswith("tu_")
    assert session.messages()[2].metadata.parent_tool_use_id == call.id
    decided = [event for event in store.events(session.id) if event.type == "route.decided"]
    assert len(decided) == 1
    assert il.validate(session.messages()) == []


@requirement("S002-3", "S002-90")
def test_after_a_command_the_next_turn_is_the_other_models(store: Store) -> None:
    session = begun(store)
    first = tool_round(session)
    session.begin("And in one word?").call().complete(claude(text("Foo.")))
    session.swap(GPT)
    call = session.begin("What about the LICENSE file?").call()
    function = {"name": "read_file", "arguments": '{"path": "LICENSE"}'}
    answer = call.complete(
        gpt(tool_calls=[{"id": "call_xyz789", "type": "function", "function": function}])
    )
    assert (answer.metadata.model, answer.metadata.provider) == (GPT, "openai")
    assert answer.metadata.routing is not None
    assert answer.metadata.routing.mode == "manual"
    assert "/model" in answer.metadata.routing.reason
    assert answer.tool_calls[0].id not in [block.id for block in first.tool_calls]
    assert il.validate(session.messages()) == []


@requirement("S002-91", "S002-68")
def test_that_history_said_to_openai_loses_nothing(store: Store) -> None:
    session = begun(store)
    tool_round(session)
    session.swap(GPT)
    call = session.begin("What about the LICENSE file?").call()
    messages = call.wire["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "user"]
    (result,) = messages[1]["tool_calls"]
    assert json.loads(result["function"]["arguments"]) == {"path": "README.md"}
    assert isinstance(result["function"]["arguments"], str)
    assert messages[2]["tool_call_id"] == result["id"]
    assert [loss for loss in call.report.entries if loss.severity != "info"] == []


@requirement("S002-86", "S002-109")
def test_thinking_to_openai_is_dropped_and_logged_with_five_fields(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    session = begun(store)
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    session.begin("hi").call().complete(claude(thinking, text("Hello.")))
    session.swap(GPT)
    before = len(store.events(session.id))
    with caplog.at_level(logging.WARNING):
        call = session.begin("go on").call()
    assert "Hm." not in json.dumps(call.wire)
    (logged,) = [r for r in caplog.records if r.getMessage() == "block_dropped"]
    fields = {"session_id", "message_id", "block_type", "adapter", "reason"}
    assert fields <= vars(logged).keys()
    assert vars(logged)["block_type"] == "thinking"
    emitted = [event.type for event in store.events(session.id)[before:]]
    assert not [type for type in emitted if "drop" in type]


@requirement("S002-92", "S002-106")
def test_a_swap_is_refused_where_the_history_has_images(store: Store) -> None:
    session = begun(store)
    session.begin(["What is it?", PNG]).call().complete(claude(text("A cat.")))
    blind = "groq:llama-3.3-70b-versatile"
    with pytest.raises(SwapError) as refused:
        session.swap(blind)
    words = str(refused.value)
    assert blind in words
    assert "image" in words
    assert "unchanged" in words
    assert session.model == SONNET
    emitted = [event.type for event in store.events(session.id)]
    assert "routing.constraint_failure" in emitted


@requirement("S002-2", "S002-104")
@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "ollama", "openrouter"])
def test_an_answer_that_is_read_kept_and_sent_home_is_the_same(store: Store, dialect: str) -> None:
    """Parsed, persisted, loaded in another store object, and serialised to its provider again."""
    wires = {
        "anthropic": {"role": "assistant", "content": claude(text("Hello."))["content"]},
        "openai-chat": {"role": "assistant", "content": "Hello."},
        "ollama": {"role": "assistant", "content": "Hello."},
        "openrouter": {"role": "assistant", "content": "Hello."},
    }
    asked = {"role": "user", "content": "Hi — „Grüße“"}
    wire: dict[str, Any] = {"model": "m", "messages": [asked, wires[dialect]]}
    if dialect == "anthropic":
        wire["max_tokens"] = 10
    request = il.dialect(dialect).read_request(wire)
    session = store.create_session("/w").id
    store.append(session, request.messages)
    stored = tuple(store.messages(session))
    home = il.dialect(dialect).write_request(request.replace(messages=stored))
    assert home.wire == wire


@requirement("S002-105", "S002-3")
def test_two_providers_in_turn_then_a_third_after_reloading(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with open_store(path) as store:
        session = begun(store)
        tool_round(session)
        session.swap(GPT)
        function = {"name": "read_file", "arguments": '{"path": "LICENSE"}'}
        turn = session.begin("And the LICENSE?")
        answer = turn.call().complete(
            gpt(tool_calls=[{"id": "call_1", "type": "function", "function": function}])
        )
        turn.results(il.Message.tool_result(answer.tool_calls[0].id, "MIT"))
        turn.call().complete(gpt(content="MIT."))
        session.swap(SONNET)
        tool_round(session)
        id = session.id
    with open_store(path) as store:
        again = il.Session.open(store, id, tools=[READ_FILE])
        assert il.validate(again.messages()) == []
        again.swap("gemini:gemini-2.5-pro")
        contents = again.begin("Who are you?").call().wire["contents"]
        parts = [part for turn in contents for part in turn["parts"]]
        calls = [part["functionCall"]["name"] for part in parts if "functionCall" in part]
        results = [part["functionResponse"]["name"] for part in parts if "functionResponse" in part]
        assert calls == results == ["read_file"] * 3


@requirement("S002-83")
def test_what_a_record_says_a_model_can_do_is_said_to_it_without_a_loss() -> None:
    """A declaration is a promise: images, tools, instructions and schemas arrive."""
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    options = il.Options(
        max_output_tokens=100, response_format=il.ResponseFormat("json_schema", "n", schema)
    )
    for model in (SONNET, GPT, "gemini:gemini-2.5-pro", "ollama:llama3.2", "xai:grok-4"):
        adapter = il.Adapter(model)
        can = adapter.capabilities
        messages = [il.Message.system("Be brief."), il.Message.user(["hi", PNG])]
        written = adapter.to_wire(messages, [READ_FILE], options)
        lost = {loss.path for loss in written.report.entries if loss.kind == "dropped"}
        assert can.supports_images == ("$.messages[1].content[1]" not in lost), model
        assert not can.supports_tools or not [p for p in lost if p.startswith("$.tools")], model
        assert not can.supports_system_prompt or "$.messages[0]" not in lost, model
        if can.supports_structured_output:
            assert "$.options.response_format" not in lost, model
