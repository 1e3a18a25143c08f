"""Handlers of tools."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import interlingua as il
from interlingua.tools.dispatch import Dispatcher, ToolRun
from interlingua.tools.registry import ToolRegistry
from tests.tools.dispatching import Traced, a_tool, call, registry_of, text_of


def test_a_tool_that_needs_a_workspace_does_not_run_without_one(tmp_path: Path) -> None:
    traced, registry = Traced(), ToolRegistry()
    tool = a_tool(requires_workspace=True)
    registry.register(tool, lambda input, run: str(run.workspace.root))
    [refused] = traced.run(Dispatcher(registry), call())
    assert refused.is_error
    assert "workspace" in text_of(refused)
    assert traced.classes() == ["permission_denied"]
    [result] = Dispatcher(registry, workspace=tmp_path).run_sync([call()])
    assert text_of(result) == str(tmp_path.resolve())


def test_a_handler_that_changes_its_input_changes_no_message() -> None:
    message = il.Message.assistant([il.ToolUseBlock("a", "count", {"n": 1})])
    before = il.dumps(message)
    Dispatcher(registry_of(count=lambda input: input.update(n=2))).run_sync(message)
    assert il.dumps(message) == before


class Sums:
    def plain(self, input: Any) -> str:
        return f"plain {input['n']}"

    async def coroutine(self, input: Any, run: ToolRun) -> str:
        return f"{run.tool_use_id} {input['n']}"

    async def __call__(self, input: Any) -> str:
        return f"called {input['n']}"


async def with_more(prefix: str, input: Any, run: ToolRun, *, sep: str = " ") -> str:
    return f"{prefix}{sep}{run.tool.name}"


@pytest.mark.parametrize(
    ("handler", "text"),
    [
        (Sums().plain, "plain 1"),
        (Sums().coroutine, "a 1"),
        (Sums(), "called 1"),
        (functools.partial(with_more, "part"), "part count"),
        (lambda input: Sums().coroutine(input, ToolRun("x", a_tool(), timeout=1)), "x 1"),
        (lambda input, times=2: "n" * times, "nn"),
        (lambda *inputs: str(len(inputs)), "1"),
        (str, "{'n': 1}"),
    ],
)
def test_handlers_are_functions_methods_and_callable_objects(handler: Any, text: str) -> None:
    [result] = Dispatcher(registry_of(count=handler)).run_sync([call()])
    assert text_of(result) == text
