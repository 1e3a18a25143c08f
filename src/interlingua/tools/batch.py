"""The calls of one message on their way from the model's words to results.

look up → check the input → workspace → ask → run in time → result
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Iterable
from copy import deepcopy
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.errors import ToolInputError
from interlingua.events.event import NO_SESSION, Event, EventError, QueueFullError
from interlingua.events.payloads import (
    ToolCalled,
    ToolCompleted,
    ToolConfirmationRequested,
    ToolConfirmationResolved,
    ToolErrorClass,
    ToolFailed,
    ToolInputInvalid,
    ValidationProblem,
)
from interlingua.model.arguments import recover
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.confirm import Confirmation, Outcome, ask
from interlingua.tools.handlers import (
    CallContext,
    DispatchError,
    Handler,
    TooLateError,
    ToolRun,
    WorkspaceError,
    effects_of,
    finish,
    is_async,
    takes_run,
)
from interlingua.tools.results import error_result, result_of, size_of, sound

if TYPE_CHECKING:
    from interlingua.events.bus import Bus
    from interlingua.events.event import TurnTrace
    from interlingua.events.payloads import Payload
    from interlingua.tools.dispatch import Dispatcher
    from interlingua.tools.registry import RegisteredTool
    from interlingua.tools.schema import Problem


MAX_NAME = 128
MAX_FILES = 100
MAX_COMMAND = 1000


class CallTrace:
    """Emits events of one call: through the turn's trace, to a bus, or nowhere.

    A full queue of events is no reason to stop a tool: the bus has logged it.
    """

    def __init__(
        self,
        call: ToolUseBlock,
        *,
        turn: TurnTrace | None = None,
        bus: Bus | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        parent_event_id: str | None = None,
    ) -> None:
        self._id = sound(call.id)
        self._name = sound(call.name)[:MAX_NAME]  # a model may have made it up
        self._turn = turn
        self._bus = bus
        self._ids = (session_id or NO_SESSION, turn_id)
        self._parent = parent_event_id
        self._question: str | None = None
        self._called: str | None = None
        self._started: float | None = None

    def invalid(self, problems: list[Problem]) -> None:
        errors = tuple([ValidationProblem(path=path, problem=text) for path, text in problems])
        payload = ToolInputInvalid(
            tool_name=self._name, validation_errors=errors, tool_use_id=self._id
        )
        self._emit("tool.input_invalid", payload, self._parent)

    def confirmation_requested(self, side_effects: SideEffects, timeout: float) -> None:
        payload = ToolConfirmationRequested(
            tool_use_id=self._id,
            tool_name=self._name,
            side_effects=side_effects,
            timeout_ms=round(timeout * 1000),
        )
        event = self._emit("tool.confirmation_requested", payload, self._parent)
        self._question = self._parent if event is None else event.id

    def confirmation_resolved(self, outcome: Outcome, latency_ms: int) -> None:
        payload = ToolConfirmationResolved(
            tool_use_id=self._id, tool_name=self._name, outcome=outcome, latency_ms=latency_ms
        )
        self._emit("tool.confirmation_resolved", payload, self._question)

    def called(self, input: object, side_effects: SideEffects) -> None:
        data = msgspec.json.encode(input, order="sorted")
        payload = ToolCalled(
            tool_use_id=self._id,
            name=self._name,
            input_hash=hashlib.sha256(data).hexdigest(),
            input_size=len(data),
            side_effects=side_effects,
        )
        event = self._emit("tool.called", payload, self._parent)
        self._called = self._parent if event is None else event.id
        self._started = monotonic()

    def completed(self, success: bool, output_size: int, run: ToolRun) -> None:
        files = tuple([str(each) for each in list(run.files_modified)[:MAX_FILES]])
        payload = ToolCompleted(
            tool_use_id=self._id,
            name=self._name,
            success=success,
            output_size=output_size,
            latency_ms=milliseconds_since(self._started),
            files_modified=files or None,
            command=None if run.command is None else str(run.command)[:MAX_COMMAND],
        )
        self._emit("tool.completed", payload, self._called)

    def failed(self, error_class: ToolErrorClass) -> None:
        payload = ToolFailed(
            tool_use_id=self._id,
            name=self._name,
            error_class=error_class,
            latency_ms=milliseconds_since(self._started),
        )
        self._emit("tool.failed", payload, self._called or self._question or self._parent)

    def _emit(self, type: str, payload: Payload, parent: str | None) -> Event | None:
        try:
            if self._turn is not None:
                return self._turn.emit(type, payload)
            if self._bus is not None:
                session, turn = self._ids
                return self._bus.emit(
                    type, payload, session_id=session, turn_id=turn, parent_event_id=parent
                )
        except QueueFullError:
            logger.debug("event_not_emitted", extra={"type": type, "tool_use_id": self._id})
        return None


def milliseconds_since(start: float | None) -> int:
    """The milliseconds since a start; 0 if there was none."""
    return 0 if start is None else round((monotonic() - start) * 1000)


logger = logging.getLogger(__name__)

CANCELLED = "cancelled: the call was stopped before it had a result."
MAX_LISTED = 50
"""Tools that the result of an unknown one names."""


class CallError(Exception):
    """A call that ends with an error result: `text` is for the model, the class for the trace.
    Without a class, the trace already has it."""

    def __init__(self, text: str, error_class: ToolErrorClass | None) -> None:
        self.text = text
        self.error_class = error_class
        super().__init__(text)


class Batch:
    """The running calls of one message. `cancel` may be called from any thread.

    If the task that waits for `run` is cancelled, the calls are stopped and CancelledError is
    raised; `results` then has the results so far.
    """

    def __init__(
        self, dispatcher: Dispatcher, calls: Message | Iterable[ToolUseBlock], context: CallContext
    ) -> None:
        blocks = calls.content if isinstance(calls, Message) else calls
        self._dispatcher = dispatcher
        self._context = context
        self._repaired = _repaired(calls) if isinstance(calls, Message) else frozenset()
        self._calls: dict[str, ToolUseBlock] = {}
        self._again: list[ToolUseBlock] = []
        self._results: dict[str, ToolResultBlock] = {}
        self._passive: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._cancelled = False
        for block in blocks:
            if isinstance(block, ToolUseBlock) and block.executor == "client":
                if block.id in self._calls:
                    self._again.append(block)
                else:
                    self._calls[block.id] = block

    @property
    def results(self) -> list[ToolResultBlock]:
        """The results so far, in the order of the calls."""
        return [self._results[id] for id in self._calls if id in self._results]

    @property
    def passive(self) -> list[ToolUseBlock]:
        """Valid calls of tools without a handler, known once `run` is done."""
        return [call for id, call in self._calls.items() if id in self._passive]

    def cancel(self) -> None:
        """Stops the running calls. All calls without a result get one with the reason."""
        self._cancelled = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._cancel_tasks)

    def _cancel_tasks(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def run(self) -> list[ToolResultBlock]:
        """Run all calls and give their results."""
        async for _ in self.each():
            pass
        return self.results

    async def each(self) -> AsyncGenerator[ToolResultBlock, None]:
        """Runs all calls, and yields each result when it is ready. Leaving the iteration stops the
        others."""
        self._start()
        waiting = set(self._tasks)
        try:
            while waiting:
                still = [self._tasks[id] for id in waiting]
                await asyncio.wait(still, return_when=asyncio.FIRST_COMPLETED)
                done = [id for id in self._calls if id in waiting and self._tasks[id].done()]
                waiting.difference_update(done)
                self._settle(done)
                for id in done:
                    if id in self._results:
                        yield self._results[id]
        except (asyncio.CancelledError, GeneratorExit):
            self._cancel_tasks()
            if waiting:
                await asyncio.wait([self._tasks[id] for id in waiting])
            self._settle(waiting)
            raise

    def _start(self) -> None:
        if self._loop is not None:
            raise DispatchError("these calls have already run; each call is answered once")
        self._loop = asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(self._dispatcher.at_once)
        self._asking = asyncio.Lock()
        for call in self._again:
            # One result answers one id; the first call that has it is the one that is run.
            logger.warning("tool_use_id_repeated", extra={"tool_use_id": call.id})
            self._trace(call).failed("validation_error")
        self._tasks = {id: asyncio.create_task(self._one(c)) for id, c in self._calls.items()}
        if self._cancelled:
            self._cancel_tasks()

    def _settle(self, ids: Iterable[str]) -> None:
        for id in ids:
            task, call = self._tasks[id], self._calls[id]
            if task.cancelled() and id not in self._results:  # before it began
                self._trace(call).failed("cancelled")
                self._results[id] = error_result(call, CANCELLED)
            elif not task.cancelled():
                task.result()  # a fault of a strict bus, which is for tests to see

    async def _one(self, call: ToolUseBlock) -> None:
        trace = self._trace(call)
        try:
            result = await self._flow(call, trace)
        except CallError as failure:
            if failure.error_class is not None:
                trace.failed(failure.error_class)
                facts = {"tool_use_id": call.id, "error_class": failure.error_class}
                logger.info("tool_failed", extra=facts)
            result = error_result(call, failure.text)
        except asyncio.CancelledError:
            trace.failed("cancelled")
            result = error_result(call, CANCELLED)
        except EventError:  # from a strict bus: for tests to see
            raise
        except Exception as fault:  # ours; the model is owed a result all the same
            logger.error("dispatch_failed", extra=_facts(call, fault))
            trace.failed("execution_error")
            result = error_result(call, f"{call.name} could not be run.")
        if result is None:
            self._passive.add(call.id)
        else:
            self._results[call.id] = result

    async def _flow(self, call: ToolUseBlock, trace: CallTrace) -> ToolResultBlock | None:
        found = self._dispatcher.registry.find(call.name)
        if found is None:
            raise CallError(self._unknown(call.name), "not_found")
        input = self._checked(call, found, trace)
        handler, effects = found.handler, effects_of(found.tool)
        if handler is None:
            return None
        workspace = self._context.workspace or self._dispatcher.workspace
        if found.tool.requires_workspace and workspace is None:
            raise CallError(f"{call.name} needs a workspace, but none is set.", "permission_denied")
        if effects not in self._dispatcher.automatic:
            await self._permitted(call)
            await self._confirmed(call, found.tool, input, effects, trace)
        run = ToolRun(
            call.id,
            found.tool,
            workspace=workspace,
            session_id=self._context.session_id,
            timeout=self._dispatcher.timeouts.of(found.tool, handler),
            caller=self._context.caller,
        )
        async with self._slots:
            await self._permitted(call)
            trace.called(input, effects)
            return await self._ran(call, handler, input, run, trace)

    async def _permitted(self, call: ToolUseBlock) -> None:
        permit = self._dispatcher.permit
        try:
            if permit is not None:
                await permit()
        except PermissionError as refused:
            raise CallError(f"{call.name} did not run: {refused}", "permission_denied") from None

    def _checked(self, call: ToolUseBlock, found: RegisteredTool, trace: CallTrace) -> Any:
        """A copy of the input, if it is valid. Repaired input may differ from what the model meant,
        and is not used."""
        problems: list[tuple[str, str]] = []
        text = call.raw_arguments if call.call_type != "custom" else None
        if call.id in self._repaired or (text is not None and recover(text).mode != "strict"):
            problems = [("$", "the arguments were not a valid JSON object; send the call again")]
        else:
            try:
                input = deepcopy(call.input)
                found.validate(input)
            except ToolInputError as misfit:
                problems = misfit.problems
            except RecursionError:
                problems = [("$", "nested too deep")]
        if problems:
            trace.invalid(problems)
            listed = "; ".join(f"at {path}: {problem}" for path, problem in problems)
            raise CallError(f"The input of {call.name} is not valid: {listed}", None)
        return input

    async def _confirmed(
        self,
        call: ToolUseBlock,
        tool: ToolDefinition,
        input: Any,
        effects: SideEffects,
        trace: CallTrace,
    ) -> None:
        """Returns if the user confirms."""
        timeout = self._dispatcher.timeouts.confirmation
        session_id = self._context.session_id
        question = Confirmation(call.id, tool, input, effects, timeout, session_id)
        start: list[float] = []

        def on_ask() -> None:
            start.append(monotonic())
            trace.confirmation_requested(effects, timeout)

        outcome: Outcome = "cancelled"
        failure: CallError | None = None
        try:
            outcome, failure = await self._consent(call, question, on_ask)
        finally:
            if start:
                trace.confirmation_resolved(outcome, milliseconds_since(start[0]))
        if failure is not None:
            raise failure

    async def _consent(
        self, call: ToolUseBlock, question: Confirmation, on_ask: Callable[[], None]
    ) -> tuple[Outcome, CallError | None]:
        """The answer to the question, and the error of the call unless it was yes."""
        name, confirm = call.name, self._dispatcher.confirm
        if confirm is None:
            text = f"{name} needs confirmation, and this program cannot ask for it."
            return "denied", CallError(text, "permission_denied")
        try:
            yes = await ask(confirm, question, self._dispatcher.threads, self._asking, on_ask)
        except TooLateError:
            text = f"{name} did not run: not confirmed within {question.timeout:g} s."
            return "timeout", CallError(text, "confirmation_timeout")
        except Exception as problem:
            logger.warning("confirm_failed", extra=_facts(call, problem))
            text = f"{name} did not run: asking for confirmation failed."
            return "denied", CallError(text, "permission_denied")
        if yes:
            return "approved", None
        return "denied", CallError(f"{name} was not allowed to run.", "user_denied")

    async def _ran(
        self, call: ToolUseBlock, handler: Handler, input: Any, run: ToolRun, trace: CallTrace
    ) -> ToolResultBlock:
        try:
            value = await self._handled(handler, input, run)
            result = result_of(call, value, self._dispatcher.limits)
        except TooLateError:
            text = f"{call.name} timed out after {run.timeout:g} s and was stopped."
            raise CallError(text, "timeout") from None
        except Exception as problem:
            logger.warning("tool_raised", extra=_facts(call, problem))
            raise CallError(
                f"{type(problem).__name__}: {_words(problem)}", _class(problem)
            ) from None
        trace.completed(not result.is_error, size_of(result), run)
        return result

    async def _handled(self, handler: Handler, input: Any, run: ToolRun) -> Any:
        arguments = (input, run) if takes_run(handler) else (input,)
        if is_async(handler):
            value = await finish(handler(*arguments), run.timeout)
        else:
            threads = self._dispatcher.threads
            thread = threads.start(lambda: handler(*arguments), f"tool-{run.tool.name}")
            value = await finish(thread, run.timeout, run.stopped.set)
        if asyncio.iscoroutine(value):  # a plain function that gives a coroutine
            value = await finish(value, run.timeout)
        return value

    def _unknown(self, name: str) -> str:
        names = self._dispatcher.registry.names()
        listed = ", ".join(names[:MAX_LISTED]) or "none"
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        return f"There is no tool {name[:100]!r}. Available tools: {listed}{more}."

    def _trace(self, call: ToolUseBlock) -> CallTrace:
        context = self._context
        return CallTrace(
            call,
            turn=context.trace,
            bus=self._dispatcher.bus,
            session_id=context.session_id,
            turn_id=context.turn_id,
            parent_event_id=context.parent_event_id,
        )


def _repaired(message: Message) -> frozenset[str]:
    """Ids of the calls whose arguments were no valid JSON when the message was read."""
    details = [
        each.details or {}
        for each in message.metadata.diagnostics
        if each.type == "tool_arguments_recovered"
    ]
    return frozenset([each["tool_use_id"] for each in details if "tool_use_id" in each])


def _facts(call: ToolUseBlock, problem: Exception) -> dict[str, str]:
    """The facts about an exception that may be logged: not its text."""
    return {"tool_use_id": call.id, "exception": type(problem).__name__}


def _class(problem: Exception) -> ToolErrorClass:
    if isinstance(problem, (PermissionError, WorkspaceError)):
        return "permission_denied"
    return "validation_error" if isinstance(problem, ToolInputError) else "execution_error"


def _words(problem: Exception) -> str:
    try:
        return str(problem)
    except Exception:  # a fault in the fault
        return "(it cannot be shown)"
