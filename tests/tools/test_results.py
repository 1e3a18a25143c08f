"""What handlers give and raise, as results that a model can be sent."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

import interlingua as il
from interlingua.errors import ToolInputError
from interlingua.events import dump_event
from interlingua.tools.dispatch import Dispatcher, Limits, ToolRun
from tests.tools.dispatching import SECRET, Traced, call, registry_of, text_of


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("as_coroutine", [True, False])
@pytest.mark.parametrize(
    ("error", "error_class"),
    [
        (ValueError(SECRET), "execution_error"),
        (PermissionError(SECRET), "permission_denied"),
        (ToolInputError("count", [("$.n", SECRET)]), "validation_error"),
        (TimeoutError(SECRET), "execution_error"),
        (SystemExit(SECRET), "execution_error"),
        (UnspeakableError(), "execution_error"),
        (asyncio.CancelledError(SECRET), "execution_error"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_what_a_handler_raises_goes_to_the_model_and_nowhere_else(
    error: BaseException, error_class: str, as_coroutine: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    traced = Traced()

    async def coroutine(input: Any) -> None:
        raise error

    def thread(input: Any) -> None:
        raise error

    dispatcher = Dispatcher(registry_of(count=coroutine if as_coroutine else thread))
    [result] = traced.run(dispatcher, call())
    assert result.is_error
    if not isinstance(error, (UnspeakableError, asyncio.CancelledError)):
        assert SECRET in text_of(result)
    assert traced.classes() == [error_class]
    assert all(SECRET.encode() not in dump_event(event) for event in traced.events)
    logged = "".join(f"{record.getMessage()}{vars(record)}" for record in caplog.records)
    assert SECRET not in logged
    assert "tool_raised" in logged


def test_a_long_error_is_cut() -> None:
    def handler(input: Any) -> None:
        raise ValueError("x" * 1_000_000)

    [result] = Dispatcher(registry_of(count=handler)).run_sync([call()])
    assert len(text_of(result)) == 2000


PNG = il.ImageBlock(il.Source("base64", "iVBORw0KGgo="), "image/png")


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("text", (il.TextBlock("text"),)),
        (None, ()),
        ("", ()),
        ({"a": [1, None]}, (il.TextBlock('{"a":[1,null]}'),)),
        ([1, "b"], (il.TextBlock('[1,"b"]'),)),
        ([], (il.TextBlock("[]"),)),
        (True, (il.TextBlock("true"),)),
        (1.5, (il.TextBlock("1.5"),)),
        (PNG, (PNG,)),
        (["see", PNG], (il.TextBlock("see"), PNG)),
        ("half \ud800", (il.TextBlock("half ?"),)),
        (il.TextBlock("half \ud800"), (il.TextBlock("half ?"),)),
    ],
)
def test_handlers_give_text_json_or_blocks(value: Any, content: tuple[Any, ...]) -> None:
    [result] = Dispatcher(registry_of(count=lambda input: value)).run_sync([call()])
    assert result == il.ToolResultBlock("a", content, tool_name="count")
    assert il.loads(il.dumps(result), il.ToolResultBlock) == result


@pytest.mark.parametrize(
    "value",
    [b"bytes", object(), {1: 2}, float("nan"), [PNG, 5], il.ThinkingBlock("hm"), {"a": {1}}],
)
def test_what_no_result_can_hold_is_an_error_result(value: Any) -> None:
    traced = Traced()
    [result] = traced.run(Dispatcher(registry_of(count=lambda input: value)), call())
    assert (result.is_error, traced.classes()) == (True, ["execution_error"])


def test_a_handler_may_give_a_result_of_its_own() -> None:
    traced = Traced()
    own = il.ToolResultBlock("some id", (il.TextBlock("no"),), is_error=True)
    [result] = traced.run(Dispatcher(registry_of(count=lambda input: own)), call())
    assert result == il.ToolResultBlock("a", (il.TextBlock("no"),), True, "count")
    completed: Any = traced.events[-1]
    assert (completed.type, completed.payload.success) == ("tool.completed", False)


def test_handlers_may_tell_the_trace_what_they_changed_and_ran() -> None:
    def handler(input: Any, run: ToolRun) -> None:
        run.files_modified.append("a.txt")
        run.command = "make"

    traced = Traced()
    traced.run(Dispatcher(registry_of(count=handler)), call())
    payload: Any = traced.events[-1].payload
    assert (payload.files_modified, payload.command) == (("a.txt",), "make")


def test_long_results_are_cut_with_a_note() -> None:
    limits = Limits(text=10, media=12, blocks=4)

    def content_of(value: Any) -> list[Any]:
        dispatcher = Dispatcher(registry_of(count=lambda input: value), limits=limits)
        [result] = dispatcher.run_sync([call()])
        return list(result.content)

    assert content_of("0123456789") == [il.TextBlock("0123456789")]
    cut = "[cut: 5 of 15 characters left out]"
    assert content_of("0123456789abcde") == [il.TextBlock(f"0123456789\n{cut}")]
    big = PNG.replace(source=il.Source("base64", "A" * 13))
    left_out = il.TextBlock("[image of 13 characters left out]")
    assert content_of([PNG, big, "end"]) == [PNG, left_out, il.TextBlock("end")]
    assert content_of([PNG, PNG])[1] == il.TextBlock("[image of 12 characters left out]")
    many = content_of([il.TextBlock("x")] * 6)
    assert many[4:] == [il.TextBlock("[2 blocks left out]")]
    text = il.DocumentBlock(il.Source("text", "x" * 11))
    assert content_of([text]) == [il.TextBlock("[document of 11 characters left out]")]
