"""The tool loop: answer, run what was called, answer again.

All results of a round are in before the next call. A call is run only if its answer is complete and
its arguments are valid JSON; anything else becomes an error result for the model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from inspect import isawaitable, iscoroutinefunction, signature
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.client.answer import Answer, Run, Step, add_usage
from interlingua.coerce import Conversation, OptionsLike, Tools, as_registry, is_option
from interlingua.errors import InterlinguaError, ToolInputError
from interlingua.model.arguments import recover
from interlingua.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.exchange import Request
from interlingua.model.message import Message, blocks_of
from interlingua.model.metadata import MessageStatus, StopReason, Usage
from interlingua.model.tools import ToolDefinition
from interlingua.tools.dispatch import Dispatcher
from interlingua.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from interlingua.client.client import AsyncClient
    from interlingua.tools.confirm import Confirm

AT_ONCE = 4
"""Tools of one round that run at the same time."""
CUT = frozenset(
    {
        StopReason.MAX_TOKENS,
        StopReason.CONTENT_FILTER,
        StopReason.REFUSAL,
        StopReason.PAUSE,
        StopReason.CANCELLED,
        StopReason.ERROR,
    }
)
"""Stop reasons after which a call may be incomplete."""

Runner = Dispatcher | Callable[[ToolUseBlock], Any] | Mapping[str, Callable[..., Any]]
"""Runs tools: a `Dispatcher`; a function of the call; or a function of the input for each tool.
Functions may be coroutines; others run in a thread. The result is a result block, text, blocks, or
a value that becomes JSON."""


async def run(
    client: AsyncClient,
    model: str,
    messages: Conversation,
    tools: Tools,
    dispatcher: Runner | None = None,
    max_rounds: int = 1,
    options: OptionsLike | None = None,
    *,
    confirm: Confirm | None = None,
    **how: Any,
) -> Run:
    """Runs at most `max_rounds` rounds of tools, and so at most one more answer; 0 runs no tool.

    A call to a tool without a function in `dispatcher` ends the loop: the call is `pending`, for
    the caller to run. Without a `dispatcher`, Python functions among the tools are run; `confirm`
    is called before those that write, execute or change something on the network, which are refused
    without it. A `ToolRegistry` as `tools` validates every input first."""
    if max_rounds < 0:
        raise InterlinguaError(f"max_rounds is 0 or more, found {max_rounds}")
    tools = tools if isinstance(tools, ToolRegistry) else tuple(tools)
    words = {word: how.pop(word) for word in list(how) if is_option(word)}
    request = client.call(model, messages, tools, options, words=words).request
    runner = _runner(dispatcher, tools, request, confirm)
    history = list(request.messages)
    steps: list[Step] = []
    usage: Usage | None = None
    while True:
        answer = await client.generate(model, request.replace(messages=tuple(history)), **how)
        usage = add_usage(usage, answer.usage)
        history.append(answer.message)
        calls = _calls(answer)
        results: tuple[ToolResultBlock, ...] = ()
        if len(steps) < max_rounds and calls and not _is_cut(answer):
            results = await _results(runner, answer.message, calls)
        history += [Message.of_result(result) for result in results]
        steps.append(Step(answer, calls, results))
        if not calls or len(results) < len(calls):
            return Run(tuple(steps), tuple(history), usage)


def _runner(
    dispatcher: Runner | None, tools: Tools, request: Request, confirm: Confirm | None
) -> Dispatcher | _ToolRunner:
    if dispatcher is None:
        return Dispatcher(_functions(tools), confirm=confirm)
    if isinstance(dispatcher, Dispatcher):
        return dispatcher
    names = {tool.name for tool in request.tools}
    if isinstance(dispatcher, Mapping):
        for tool in request.tools:
            if tool.name in dispatcher:
                _require_fit(tool, dispatcher[tool.name])
    return _ToolRunner(dispatcher, names, tools if isinstance(tools, ToolRegistry) else None)


def _require_fit(tool: ToolDefinition, function: Callable[..., Any]) -> None:
    """Raises a TypeError for a function that cannot be called with the properties of the tool: a
    mistake of the program, which is not reported to the model."""
    schema = tool.input_schema or {}
    properties, required = schema.get("properties"), schema.get("required", ())
    if not isinstance(properties, Mapping):
        return
    try:
        parameters = signature(function)
    except (TypeError, ValueError):
        return  # a function of C without a signature
    needed = [each.name for each in parameters.parameters.values() if each.default is each.empty]
    passed = {name for name in (*required, *needed) if name in properties}
    try:
        parameters.bind(**dict.fromkeys(passed))
    except TypeError as error:
        names = ", ".join(properties) or "none"
        problem = f"the handler of {tool.name!r} gets the tool's properties as keywords ({names})"
        raise TypeError(f"{problem}: {error}") from None


async def _results(
    runner: Dispatcher | _ToolRunner, message: Message, calls: tuple[ToolUseBlock, ...]
) -> tuple[ToolResultBlock, ...]:
    if isinstance(runner, Dispatcher):
        return tuple(await runner.run(message))
    return await runner.results(calls)


def _functions(tools: Tools) -> ToolRegistry:
    """Tools that run by themselves."""
    registry = as_registry(tools)
    if registry is None or not any(found.handler for found in registry.found()):
        raise TypeError(_NOBODY)
    return registry


_NOBODY = (
    "nothing runs the tools: pass Python functions as tools, or a dispatcher (a"
    " Dispatcher, a function of the call, or a function for each tool by name)"
)


class _ToolRunner:
    """Runs tools."""

    def __init__(
        self,
        functions: Callable[[ToolUseBlock], Any] | Mapping[str, Callable[..., Any]],
        names: set[str],
        registry: ToolRegistry | None,
    ) -> None:
        self._functions = functions
        self._names = names
        self._registry = registry
        self._room = asyncio.Semaphore(AT_ONCE)

    async def results(self, calls: tuple[ToolUseBlock, ...]) -> tuple[ToolResultBlock, ...]:
        """A result for each call that is ours, in the same order; a failure is a result too."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._result(call)) for call in calls if self._runs(call)]
        return tuple(task.result() for task in tasks)

    def _runs(self, call: ToolUseBlock) -> bool:
        by_name = self._functions
        return not isinstance(by_name, Mapping) or call.name in by_name or self._is_unknown(call)

    def _is_unknown(self, call: ToolUseBlock) -> bool:
        return call.name not in self._names

    async def _result(self, call: ToolUseBlock) -> ToolResultBlock:
        problem = self._problem(call)
        if problem is not None:
            return _failed(call, problem)
        try:
            async with self._room:
                output = await self._run(call)
            return _result(call, output)
        except Exception as error:  # the model gets a result, even if a tool fails
            return _failed(call, f"{type(error).__name__}: {error}")

    def _problem(self, call: ToolUseBlock) -> str | None:
        if self._is_unknown(call):
            known = ", ".join(sorted(self._names)) or "none"
            return f"There is no tool {call.name!r}; there are: {known}."
        text = call.raw_arguments
        if text is not None and call.call_type != "custom" and recover(text).mode != "strict":
            return "The arguments were not a valid JSON object; the tool did not run."
        if self._registry is not None:
            try:
                self._registry.validate_input(call.name, call.input)
            except ToolInputError as error:
                return str(error)
        return None

    async def _run(self, call: ToolUseBlock) -> Any:
        work: Callable[[], Any]
        if isinstance(self._functions, Mapping):
            function = self._functions[call.name]
            work = lambda: function(**call.input)  # noqa: E731 - two ways to one call
        else:
            function = self._functions
            work = lambda: function(call)  # noqa: E731
        if iscoroutinefunction(function) or iscoroutinefunction(
            getattr(function, "__call__", None)  # noqa: B004 - an object that is called
        ):
            return await work()
        output = await asyncio.to_thread(work)
        return await output if isawaitable(output) else output


def _calls(answer: Answer) -> tuple[ToolUseBlock, ...]:
    content = answer.message.content
    return tuple(b for b in content if isinstance(b, ToolUseBlock) and b.executor == "client")


def _is_cut(answer: Answer) -> bool:
    metadata = answer.message.metadata
    return metadata.status is not MessageStatus.COMPLETE or metadata.stop_reason in CUT


def _result(call: ToolUseBlock, output: Any) -> ToolResultBlock:
    if isinstance(output, ToolResultBlock):
        return output.replace(tool_use_id=call.id, tool_name=output.tool_name or call.name)
    if output is None:
        output = ""
    elif not isinstance(output, (str, msgspec.Struct)) and not _are_blocks(output):
        output = msgspec.json.encode(output).decode()
    return ToolResultBlock(call.id, blocks_of(output), tool_name=call.name)  # type: ignore[arg-type]  # a misplaced block is for validate() to name


def _are_blocks(output: Any) -> bool:
    return isinstance(output, (list, tuple)) and all(isinstance(b, msgspec.Struct) for b in output)


def _failed(call: ToolUseBlock, problem: str) -> ToolResultBlock:
    return ToolResultBlock(call.id, (TextBlock(problem),), is_error=True, tool_name=call.name)
