"""The tools a program offers: checked when they are registered, and their input when it arrives.

Running a tool is the dispatcher's business. Reading tools from a wire needs no registry: the rules
here are for tools that are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from interlingua.errors import MissingExtraError, SchemaError, ToolInputError, a_type
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.handlers import NAME, NAMES, Handler, handler_problem
from interlingua.tools.schema import Problem, check_schema, first_problems, json_path, json_problems

if TYPE_CHECKING:
    from jsonschema_rs import Validator

MAX_INPUT_LEVELS = 200
"""The nesting limit of a tool's input; the validator itself gives up at 255."""

# What a tool without a schema takes: free text arrives as {"input": text}; what a provider's own
# tool takes is the provider's business.
_FREE_TEXT = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
_ANY_OBJECT = {"type": "object"}

_MAX_MESSAGE = 300
_MAX_AUTOMATON_BYTES = 1 << 20


class RegisteredTool:
    """A tool with its handler and its validator. All three change together."""

    def __init__(self, tool: ToolDefinition, handler: Handler | None) -> None:
        self.tool = tool
        self.handler = handler
        self._validator: Validator | None = None
        with suppress(MissingExtraError):  # only `validate` cannot do without the extra
            self._validator = _validator_of(tool)

    def validate(self, input: Any) -> None:
        """Raise a ToolInputError unless the input fits the schema."""
        problems = first_problems(json_problems(input, levels=MAX_INPUT_LEVELS))
        if not problems:
            self._validator = self._validator or _validator_of(self.tool)
            problems = first_problems(_misfits(self._validator, input))
        if problems:
            raise ToolInputError(self.tool.name, problems)


class ToolRegistry:
    """Tools by name, in the order they were registered."""

    def __init__(self, tools: Iterable[ToolDefinition | Callable[..., Any]] = ()) -> None:
        """`tools` are registered one after the other; a Python function is its own handler."""
        self._tools: dict[str, RegisteredTool] = {}
        self.has_functions = False
        """Whether Python functions are among the tools, which are there to be run."""
        for tool in each_tool(tools):
            self.register(tool)

    def register(
        self, tool: ToolDefinition | Callable[..., Any], handler: Handler | None = None
    ) -> None:
        """Adds a tool, unchanged, or raises a SchemaError that lists everything wrong with it. A
        Python function is a tool by its signature and docstring, and runs itself (`il.tool`).

        A tool without a schema is fine unless its kind is `function`. With the extra `schema` the
        schema is compiled now, so that a bad `pattern` is found now. A tool without a handler is
        passive: the caller of the model runs it.
        """
        if not isinstance(tool, ToolDefinition):
            from interlingua.tools.functions import definition_of, handler_of

            require_tool(tool)
            handler, self.has_functions = handler_of(tool), True
            tool = definition_of(tool)
        problems = _problems_of(tool, handler)
        if not problems and tool.name in self._tools:
            problems = [("$.name", "a tool of this name is already registered")]
        if problems:
            raise SchemaError(str(tool.name), problems)
        self._tools[tool.name] = RegisteredTool(tool, handler)

    def replace(self, tool: ToolDefinition, handler: Handler | None = None) -> None:
        """Put a tool in the place of the one of its name, which keeps its place in the order."""
        problems = _problems_of(tool, handler)
        if not problems and tool.name not in self._tools:
            problems = [("$.name", "no tool of this name is registered")]
        if problems:
            raise SchemaError(str(tool.name), problems)
        self._tools[tool.name] = RegisteredTool(tool, handler)

    def subset(self, names: Iterable[str] | None = None) -> ToolRegistry:
        """Another registry with the tools of these names, or with all of them."""
        new = ToolRegistry()
        chosen = self._tools if names is None else frozenset(names)
        new._tools = {name: tool for name, tool in self._tools.items() if name in chosen}
        new.has_functions = self.has_functions
        return new

    def unregister(self, name: str) -> bool:
        """Removes a tool, and returns whether it was there."""
        return self._tools.pop(name, None) is not None

    def get(self, name: str) -> ToolDefinition | None:
        """The tool of this name, or None."""
        found = self._tools.get(name)
        return None if found is None else found.tool

    def find(self, name: str) -> RegisteredTool | None:
        """The tool of this name with its handler, or None."""
        return self._tools.get(name)

    def found(self) -> list[RegisteredTool]:
        """All tools with their handlers."""
        return list(self._tools.values())

    def names(self) -> list[str]:
        """The names of all tools."""
        return list(self._tools)

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter([found.tool for found in list(self._tools.values())])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def validate_input(self, name: str, input: Any) -> None:
        """Raise a ToolInputError unless the tool exists and the input fits its schema.

        Messages name the place and the rule, never the value found there, so they may be logged.
        """
        found = self._tools.get(name)
        if found is None:
            known = ", ".join(self.names()) or "none"
            raise ToolInputError(name, [("$", f"no such tool; there are: {known}")])
        found.validate(input)


def each_tool(tools: Any) -> Iterator[ToolDefinition | Callable[..., Any]]:
    """One tool after the other; `TypeError` names the accepted types for other values."""
    if isinstance(tools, ToolRegistry):
        yield from tools
        return
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise TypeError(f"tools is a list of {_TAKEN}, found {a_type(tools)}")
    for tool in tools:
        require_tool(tool)
        yield tool


def require_tool(tool: object) -> None:
    """Raise a TypeError unless this can be a tool."""
    if not isinstance(tool, ToolDefinition) and (not callable(tool) or isinstance(tool, type)):
        found = f"the class {tool.__name__}" if isinstance(tool, type) else a_type(tool)
        raise TypeError(f"a tool is {_TAKEN}, found {found}")


_TAKEN = "il.ToolDefinition or a Python function"


def build_validator(tool: str, schema: dict[str, Any]) -> Validator:
    """A compiled validator that fetches nothing and matches patterns in linear time.

    Left to itself the library follows `http:` and `file:` references (jsonschema-rs 0.60, tried
    2026-11), and its default pattern engine backtracks: with the step limit at 100,000 one pattern
    on 100 kB of text still took 17 seconds. `format` stays a hint to the model.
    """
    try:
        from jsonschema_rs import Draft202012Validator, RegexOptions
    except ImportError as error:
        raise MissingExtraError("tool input validation", "schema") from error
    try:
        return Draft202012Validator(
            schema,
            retriever=_refuse,
            validate_formats=False,
            mask="the value",
            pattern_options=RegexOptions(_MAX_AUTOMATON_BYTES, _MAX_AUTOMATON_BYTES),
        )
    except ValueError as error:
        path = json_path("input_schema", *getattr(error, "instance_path", []))
        message = getattr(error, "message", str(error))
        raise SchemaError(tool, [(path, message[:_MAX_MESSAGE])]) from error


def _refuse(uri: str) -> NoReturn:
    raise ValueError("references are not followed")


def _validator_of(tool: ToolDefinition) -> Validator:
    if tool.input_schema is not None:
        return build_validator(tool.name, tool.input_schema)
    return build_validator(tool.name, _FREE_TEXT if tool.kind == "custom" else _ANY_OBJECT)


def _misfits(validator: Validator, input: Any) -> Iterator[Problem]:
    for error in validator.iter_errors(input):
        yield json_path(*error.instance_path), error.message[:_MAX_MESSAGE]


def _problems_of(tool: ToolDefinition, handler: Handler | None) -> list[Problem]:
    problems = list(_tool_problems(tool))
    wrong = None if handler is None else handler_problem(handler)
    return [*problems, ("$.handler", wrong)] if wrong else problems


def _tool_problems(tool: ToolDefinition) -> Iterator[Problem]:
    name: object = tool.name
    if not isinstance(name, str) or not NAME.fullmatch(name):
        yield "$.name", f"no provider accepts such a name: {NAMES}"
    if not isinstance(tool.description, str) or not tool.description.strip():
        yield "$.description", "a tool needs a description"
    if tool.side_effects not in tuple(SideEffects):
        yield "$.side_effects", f"a tool declares one of: {', '.join(SideEffects)}"
    if tool.input_schema is not None:
        for path, problem in check_schema(tool.input_schema):
            yield f"$.input_schema{path[1:]}", problem
    elif tool.kind == "function":
        yield "$.input_schema", "a function needs an input schema"
