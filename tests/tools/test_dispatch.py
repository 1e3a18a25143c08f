"""The dispatcher: every call gets a result, and the trace tells how it came to be."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.errors import MissingExtraError, SchemaError
from interlingua.events import dump_event
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.handlers import DispatchError
from interlingua.tools.registry import ToolRegistry
from tests.tools.dispatching import SCHEMA, SECRET, Traced, a_tool, call, registry_of, text_of


def test_results_come_in_call_order_however_long_each_call_takes() -> None:
    async def slow_first(input: dict[str, Any]) -> str:
        await asyncio.sleep(0.05 if input["n"] == 0 else 0)
        return f"n is {input['n']}"

    dispatcher = Dispatcher(registry_of(count=slow_first))
    results = dispatcher.run_sync([call(id, n=n) for n, id in enumerate("abc")])
    assert [result.tool_use_id for result in results] == ["a", "b", "c"]
    assert [text_of(result) for result in results] == ["n is 0", "n is 1", "n is 2"]
    assert not any(result.is_error for result in results)


def test_a_result_makes_a_valid_tool_message() -> None:
    [result] = Dispatcher(registry_of(count=lambda input: "1")).run_sync([call()])
    asked = il.Message.assistant([call()])
    assert il.validate([il.Message.user("go"), asked, il.Message.of_result(result)]) == []


def test_an_unknown_tool_is_answered_with_the_tools_there_are() -> None:
    traced = Traced()
    dispatcher = Dispatcher(registry_of(count=lambda input: "1", add=lambda input: "2"))
    [result] = traced.run(dispatcher, call(name="multiply"))
    assert result.is_error
    assert "'multiply'" in text_of(result)
    assert "count, add" in text_of(result)
    assert (traced.types(), traced.classes()) == (["tool.failed"], ["not_found"])
    assert traced.events[0].parent_event_id == traced.completed


@pytest.mark.requirement("S002-55")
def test_input_is_checked_again_before_a_tool_runs() -> None:
    traced = Traced()
    ran: list[Any] = []
    [result] = traced.run(Dispatcher(registry_of(count=ran.append)), call(n=SECRET))
    assert result.is_error
    assert "$.n" in text_of(result)
    assert (ran, traced.types()) == ([], ["tool.input_invalid"])
    payload: Any = traced.events[0].payload
    assert (payload.tool_name, payload.tool_use_id) == ("count", "a")
    assert [problem.path for problem in payload.validation_errors] == ["$.n"]
    assert traced.events[0].parent_event_id == traced.completed
    assert SECRET not in dump_event(traced.events[0]).decode()


@pytest.mark.requirement("S002-55")
@pytest.mark.parametrize("text", ['{"n": 1', '{"n": 1, "x": "\\q"}', "n = 1", '{"n": 1} {}'])
def test_arguments_that_had_to_be_repaired_are_never_used(text: str) -> None:
    traced = Traced()
    ran: list[Any] = []
    repaired = call(raw_arguments=text)
    [result] = traced.run(Dispatcher(registry_of(count=ran.append)), repaired)
    assert (result.is_error, ran, traced.types()) == (True, [], ["tool.input_invalid"])


def test_arguments_that_a_reader_had_to_repair_are_never_used() -> None:
    ran: list[Any] = []
    response = il.dialect("openai-chat").read_response(
        {
            "choices": [
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [
                            {
                                "id": "a",
                                "type": "function",
                                "function": {"name": "count", "arguments": '{"n": 1'},
                            }
                        ],
                    },
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    assert response.message.tool_calls[0].input == {"n": 1}
    dispatcher = Dispatcher(registry_of(count=ran.append))
    [result] = dispatcher.run_sync(response.message)
    assert (result.is_error, ran) == (True, [])


def test_the_diagnostic_alone_keeps_a_repaired_call_from_running() -> None:
    ran: list[Any] = []
    found = Diagnostic("tool_arguments_recovered", details={"tool_use_id": "a"})
    metadata = MessageMetadata(diagnostics=(found,))
    message = il.Message.assistant([call("a"), call("b")], metadata)
    results = Dispatcher(registry_of(count=ran.append)).run_sync(message)
    assert [result.is_error for result in results] == [True, False]
    assert ran == [{"n": 1}]


def test_odd_spelling_that_is_valid_json_is_no_repair() -> None:
    spelled = call(raw_arguments='{ "n":1.0e0 }')
    [result] = Dispatcher(registry_of(count=lambda input: "ran")).run_sync([spelled])
    assert text_of(result) == "ran"


def test_free_text_is_no_json_and_runs() -> None:
    registry = ToolRegistry()
    tool = il.ToolDefinition(
        "patch", "Patches.", None, il.SideEffects.NONE, requires_workspace=False, kind="custom"
    )
    registry.register(tool, lambda input: input["input"].upper())
    block = il.ToolUseBlock("a", "patch", {"input": "*** begin"}, call_type="custom")
    [result] = Dispatcher(registry).run_sync([block])
    assert text_of(result) == "*** BEGIN"


def test_calls_that_the_provider_runs_are_left_alone() -> None:
    calls = [call("a", executor="provider"), call("b")]
    results = Dispatcher(registry_of(count=lambda input: "ran")).run_sync(calls)
    assert [result.tool_use_id for result in results] == ["b"]


def test_valid_calls_of_passive_tools_are_left_to_the_caller() -> None:
    registry = registry_of(count=lambda input: "ran")
    registry.register(a_tool("ask_user", "execute"))
    batch = Dispatcher(registry).batch(
        [call("a", "ask_user"), call("b"), call("c", "ask_user", n="?"), call("d", "ask_user")]
    )
    results = asyncio.run(batch.run())
    assert [result.tool_use_id for result in results] == ["b", "c"]
    assert [block.id for block in batch.passive] == ["a", "d"]
    assert results[1].is_error


@pytest.mark.requirement("S002-44", "S002-108")
def test_a_tool_with_a_handler_is_refused_for_the_same_reasons_as_one_without() -> None:
    with pytest.raises(SchemaError, match="side_effects"):
        ToolRegistry().register(il.ToolDefinition("x", "X.", SCHEMA), lambda input: 1)
    refused = il.ToolDefinition("x", "X.", {"type": "object", "anyOf": []}, il.SideEffects.NONE)
    with pytest.raises(SchemaError, match="anyOf"):
        ToolRegistry().register(refused, lambda input: 1)
    with pytest.raises(SchemaError, match=r"\$\.handler"):
        ToolRegistry().register(a_tool(), lambda: 1)


@pytest.mark.requirement("S002-54")
def test_an_id_that_comes_twice_is_run_and_answered_once() -> None:
    traced = Traced()
    ran: list[Any] = []
    dispatcher = Dispatcher(registry_of(count=ran.append))
    results = traced.run(dispatcher, call("a", n=1), call("a", n=2), call("b", n=3))
    assert [result.tool_use_id for result in results] == ["a", "b"]
    assert (ran, traced.classes()) == ([{"n": 1}, {"n": 3}], ["validation_error"])


@pytest.mark.requirement("S002-54")
def test_the_calls_of_a_batch_are_answered_once() -> None:
    batch = Dispatcher(registry_of(count=lambda input: "ran")).batch([call()])
    asyncio.run(batch.run())
    with pytest.raises(DispatchError, match="answered once"):
        asyncio.run(batch.run())


def test_the_sync_twin_refuses_to_block_a_loop() -> None:
    async def inside() -> None:
        Dispatcher(registry_of()).run_sync([])

    with pytest.raises(DispatchError, match="await run"):
        asyncio.run(inside())


def test_a_missing_extra_is_found_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(MissingExtraError, match=r"interlingua\[schema\]"):
        Dispatcher(ToolRegistry())


async def _ok(input: Any) -> Any:
    await asyncio.sleep(0)
    return input


def _raise(input: Any) -> Any:
    raise KeyError(input["n"])


MIXED = registry_of(ok=_ok, thread=lambda input: input["n"], bad=_raise, odd=lambda input: {1: 1})
NAMES = ["ok", "thread", "bad", "odd", "missing", "\ud800"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(NAMES),
            st.one_of(st.integers(-5, 5), st.text(max_size=3), st.none()),
            st.sampled_from([None, "{", '{"n": 1}']),
            st.sampled_from(["client", "client", "provider"]),
        ),
        max_size=8,
    )
)
def test_whatever_a_model_asks_for_each_call_has_one_result_in_order(drawn: list[Any]) -> None:
    calls = [
        il.ToolUseBlock(f"id{i}", name, {"n": n}, raw_arguments=text, executor=executor)
        for i, (name, n, text, executor) in enumerate(drawn)
    ]
    results = Dispatcher(MIXED).run_sync(calls)
    assert [r.tool_use_id for r in results] == [c.id for c in calls if c.executor == "client"]
    for result in results:
        assert il.loads(il.dumps(result), il.ToolResultBlock) == result
        asked = next(c for c in calls if c.id == result.tool_use_id)
        fine = asked.name in ("ok", "thread") and isinstance(asked.input["n"], int)
        assert result.is_error is not (fine and asked.raw_arguments != "{")
