"""The tool loop: how often it asks, what it runs, and what the model is told."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from msgspec.structs import replace

import interlingua as il
from interlingua.client import AsyncClient, Run, add_usage
from interlingua.tools.dispatch import Dispatcher
from tests.client.scripted import Scripted, scripted
from tests.client.served import KEYS, MODELS

SONNET = MODELS["anthropic"]
NUMBERS = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
ADD = il.ToolDefinition("add", "Adds two numbers.", NUMBERS, il.SideEffects.NONE, False)
LOOK = il.ToolDefinition("look", "Looks.", {"type": "object"}, il.SideEffects.READ, False)
USAGE = il.Usage(input_tokens=10, output_tokens=5)


def says(*calls: il.ToolUseBlock, text: str = "", stop: il.StopReason | None = None) -> il.Response:
    content = (*((il.TextBlock(text),) if text else ()), *calls)
    stop = stop or (il.StopReason.TOOL_USE if calls else il.StopReason.END_TURN)
    metadata = il.MessageMetadata(
        response_id="r", response_model="m", usage=USAGE, stop_reason=stop
    )
    return il.Response(il.Message.assistant(content, metadata))


def call(number: int, name: str = "add", **input: Any) -> il.ToolUseBlock:
    return il.ToolUseBlock(f"call_{number}", name, input or {"a": number, "b": 1})


def loop(
    *answers: Any, dispatcher: Any, tools: Any = (ADD, LOOK), **how: Any
) -> tuple[Run, Scripted]:
    async def main() -> tuple[Run, Scripted]:
        async with scripted("anthropic", *answers) as server:
            places = {"anthropic": server.url}
            async with AsyncClient(base_urls=places, keys=KEYS, environ={}) as client:
                return await client.run(SONNET, "Add", tools, dispatcher, **how), server

    return asyncio.run(main())


def results(run: Run, step: int = 0) -> list[tuple[str, bool, str]]:
    return [
        (
            result.tool_use_id,
            result.is_error,
            "".join(getattr(b, "text", "") for b in result.content),
        )
        for result in run.steps[step].results
    ]


def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.requirement("S001-24")
def test_one_round_by_default_then_the_answer() -> None:
    run, server = loop(says(call(1)), says(text="Two."), dispatcher={"add": add})
    assert run.text == "Two."
    assert len(server.asked) == 2
    assert results(run) == [("call_1", False, "2")]
    assert [len(step.calls) for step in run.steps] == [1, 0]
    assert server.asked[1]["messages"][-1]["content"][0]["tool_use_id"] == "call_1"
    assert [message.role.value for message in run.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.output_tokens) == (20, 10)
    assert run.cost is not None
    assert run.cost == run.usage.cost_usd == 2 * (run.answer.cost or 0) > 0
    free = replace(run.answer, response=il.Response(il.Message.assistant("hi")))
    assert replace(run, steps=(replace(run.steps[0], answer=free), run.steps[1])).cost is None


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_at_most_one_call_more_than_rounds_and_none_is_run_after_the_last(rounds: int) -> None:
    ran: list[int] = []

    def count(a: int, b: int) -> int:
        ran.append(a)
        return a + b

    run, server = loop(says(call(1)), dispatcher={"add": count}, max_rounds=rounds)
    assert len(server.asked) == rounds + 1
    assert len(ran) == rounds
    assert [bool(step.results) for step in run.steps] == [True] * rounds + [False]
    assert [block.id for block in run.pending] == ["call_1"]


def test_negative_rounds_are_refused() -> None:
    with pytest.raises(il.InterlinguaError, match="-1"):
        loop(says(text="Hi"), dispatcher={}, max_rounds=-1)


def test_calls_of_one_answer_run_together_four_at_a_time_and_answer_in_order() -> None:
    running, most = 0, 0

    async def slow(a: int, b: int) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05 - a * 0.005)
        running -= 1
        return f"{a}"

    calls = [call(number) for number in range(1, 8)]
    run, server = loop(says(*calls), says(text="Done"), dispatcher={"add": slow})
    assert most == 4
    assert [result[2] for result in results(run)] == [str(number) for number in range(1, 8)]
    turn = server.asked[1]["messages"][-1]["content"]
    assert [part["tool_use_id"] for part in turn] == [f"call_{number}" for number in range(1, 8)]


def test_whatever_a_tool_does_the_model_gets_a_result() -> None:
    def breaks(a: int, b: int) -> int:
        raise ValueError("no numbers today")

    run, _ = loop(
        says(call(1), call(2, "fly"), call(3, "look", deep=True)),
        says(text="Sorry"),
        dispatcher={"add": breaks, "look": lambda deep: {"found": [1, None]}},
    )
    result = results(run)
    assert result[0] == ("call_1", True, "ValueError: no numbers today")
    assert result[1][:2] == ("call_2", True)
    assert "add, look" in result[1][2]
    assert result[2] == ("call_3", False, '{"found":[1,null]}')


def test_a_dispatcher_may_be_one_function_of_the_call() -> None:
    threads: list[str] = []

    def dispatch(block: il.ToolUseBlock) -> il.ToolResultBlock:
        threads.append(threading.current_thread().name)
        return il.ToolResultBlock("whatever", (il.TextBlock(f"ran {block.name}"),))

    run, _ = loop(says(call(1)), says(text="Ok"), dispatcher=dispatch)
    assert results(run) == [("call_1", False, "ran add")]
    assert threads
    assert threads[0] != threading.main_thread().name


def test_a_tool_without_a_function_is_left_to_the_caller() -> None:
    run, server = loop(says(call(1), call(2, "look")), dispatcher={"add": add}, max_rounds=3)
    assert len(server.asked) == 1
    assert [block.name for block in run.pending] == ["look"]
    assert results(run) == [("call_1", False, "2")]
    assert [message.role.value for message in run.messages][-2:] == ["assistant", "tool"]


def test_a_dispatcher_of_registered_tools_runs_them_and_leaves_passive_ones() -> None:
    registry = il.ToolRegistry()
    registry.register(ADD, lambda input: str(input["a"] + input["b"]))
    registry.register(LOOK)
    answers = (says(call(1)), says(call(2), call(3, "look")))
    run, server = loop(*answers, dispatcher=Dispatcher(registry), tools=registry, max_rounds=5)
    assert len(server.asked) == 2
    assert results(run) == [("call_1", False, "2")]
    assert results(run, 1) == [("call_2", False, "3")]
    assert [block.id for block in run.pending] == ["call_3"]


def test_arguments_that_had_to_be_repaired_are_not_run() -> None:
    def cut(wire: Any) -> Any:
        function = {"name": "add", "arguments": '{"a": 1, "b": 2'}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        }
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice]}

    ran: list[Any] = []

    async def main() -> Run:
        async with scripted("openai-chat", cut, says(text="Sorry")) as server:
            places = {"openai": server.url}
            async with AsyncClient(base_urls=places, keys=KEYS, environ={}) as client:
                return await client.run(
                    MODELS["openai-chat"], "Add", [ADD], {"add": lambda **k: ran.append(k)}
                )

    run = asyncio.run(main())
    assert ran == []
    assert results(run)[0][1]
    assert "not a valid JSON" in results(run)[0][2]


@pytest.mark.parametrize(
    "stop", [il.StopReason.MAX_TOKENS, il.StopReason.REFUSAL, il.StopReason.PAUSE]
)
def test_calls_of_an_answer_that_was_cut_are_not_run(stop: il.StopReason) -> None:
    ran: list[Any] = []
    run, server = loop(says(call(1), stop=stop), dispatcher={"add": lambda **k: ran.append(k)})
    assert ran == []
    assert len(server.asked) == 1
    assert len(run.pending) == 1


def test_a_registry_checks_the_input_first() -> None:
    registry = il.ToolRegistry()
    registry.register(ADD)
    ran: list[Any] = []
    run, _ = loop(
        says(call(1, a="one", b=2)),
        says(text="Sorry"),
        dispatcher={"add": lambda **k: ran.append(k)},
        tools=registry,
    )
    assert ran == []
    assert results(run)[0][1]
    assert "$.a" in results(run)[0][2]


def test_usage_adds_up_and_nothing_and_nothing_is_nothing() -> None:
    some = il.Usage(input_tokens=1, output_tokens=2)
    more = il.Usage(input_tokens=10, cached_input_tokens=5, estimated=True)
    assert add_usage(None, None) is None
    assert add_usage(some, None) == add_usage(None, some) == some
    assert add_usage(some, more) == il.Usage(
        input_tokens=11, output_tokens=2, cached_input_tokens=5, estimated=True
    )
    assert add_usage(il.Usage(), il.Usage()) == il.Usage()
