"""Python functions as tools: name, description and schema are read from signature and docstring.

    @il.tool(side_effects="write")
    def save(path: str, text: str) -> str:
        '''Save a text.

        Args:
            path: where to
        '''

A function without the decorator is a tool as well. It counts as one that reads, and so runs without
confirmation: passing a function means that it may be called.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints, overload

import msgspec

from interlingua.errors import ToolInputError
from interlingua.model.base import Value
from interlingua.model.tools import SideEffects, ToolDefinition
from interlingua.tools.handlers import NAME, NAMES, Handler, ToolRun, is_async
from interlingua.tools.mcp_schema import adapt_schema

Function = TypeVar("Function", bound=Callable[..., Any])
_SETTINGS = "__interlingua_tool__"
"""The attribute for the decorator's settings."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_ARGUMENTS = re.compile(r"^(args|arguments|parameters|params):?$", re.IGNORECASE)
_SECTION = re.compile(r"^[A-Z][A-Za-z ]*:$")
_GOOGLE = re.compile(r"^(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_SPHINX = re.compile(r"^:param\s+(?:[\w.\[\], |]+\s)?(\w+):\s*(.*)$")


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(
    *,
    side_effects: SideEffects | str = SideEffects.READ,
    name: str | None = None,
    description: str | None = None,
    requires_workspace: bool = False,
) -> Callable[[Function], Function]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    side_effects: SideEffects | str = SideEffects.READ,
    name: str | None = None,
    description: str | None = None,
    requires_workspace: bool = False,
) -> Any:
    """Say what a function is as a tool; it stays the function that it was.

    `side_effects` are `none`, `read`, `write`, `execute` or `network`: somebody is asked before a
    tool with one of the last three runs. `name` and `description` are those of the function and
    its docstring unless given. A tool with `requires_workspace` runs only where there is one; a
    parameter that is annotated `ToolRun` is given it."""
    settings = {
        "side_effects": _effects(side_effects),
        "name": name,
        "description": description,
        "requires_workspace": requires_workspace,
    }

    def mark(function: Function) -> Function:
        try:
            setattr(function, _SETTINGS, settings)
        except AttributeError:
            raise TypeError(f"a tool is a Python function; found {function!r}") from None
        definition_of(function)  # what is wrong with it is raised where it is written
        return function

    return mark if function is None else mark(function)


def definition_of(function: Callable[..., Any]) -> ToolDefinition:
    """The definition of a function for the model; raises TypeError with the reason if it cannot
    be a tool."""
    settings: Mapping[str, Any] = getattr(function, _SETTINGS, {})
    name = settings.get("name")
    if name is None and not (name := str(getattr(function, "__name__", ""))).isidentifier():
        raise TypeError(
            f"a tool needs a name, and {function!r} has none: use il.tool(name='lookup')"
        )
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise TypeError(f"no provider accepts a tool with the name {name!r}: {NAMES}")
    about, of_parameters = _docstring(inspect.getdoc(function) or "")
    schema, _ = adapt_schema(name, _schema(function, of_parameters))
    return ToolDefinition(
        name,
        settings.get("description") or about or name.replace("_", " "),
        schema,
        settings.get("side_effects", SideEffects.READ),
        settings.get("requires_workspace", False),
    )


def handler_of(function: Callable[..., Any]) -> Handler:
    """Runs a function with the input of a call, converted as its arguments are annotated."""
    shape, takes = _shape(function), _run_parameter(function)

    def arguments(input: dict[str, Any], run: ToolRun) -> dict[str, Any]:
        try:
            decoded = msgspec.convert(input, shape, dec_hook=_decoded)
        except msgspec.ValidationError as error:
            raise ToolInputError(
                getattr(function, "__name__", "tool"), [("$", str(error))]
            ) from None
        named = {name: getattr(decoded, name) for name in shape.__struct_fields__}
        return {**named, takes: run} if takes else named

    if is_async(function):

        async def awaited(input: dict[str, Any], run: ToolRun) -> Any:
            return _as_result(await function(**arguments(input, run)))

        return awaited

    def called(input: dict[str, Any], run: ToolRun) -> Any:
        return _as_result(function(**arguments(input, run)))

    return called


def _as_result(result: Any) -> Any:
    """The result of a function: text, blocks and results unchanged, all else as JSON."""
    if result is None or isinstance(result, (str, Value)):
        return result
    if isinstance(result, (list, tuple)) and any(isinstance(each, Value) for each in result):
        return result
    return msgspec.to_builtins(result, enc_hook=_encoded, str_keys=True)


def _encoded(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise NotImplementedError(f"a {type(value).__name__} has no JSON form")


def _effects(value: SideEffects | str) -> SideEffects:
    try:
        return SideEffects(value)
    except ValueError:
        known = ", ".join(each.value for each in SideEffects)
        raise TypeError(f"side_effects is one of {known}, found {value!r}") from None


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters that the model fills in."""
    name = getattr(function, "__name__", "a tool")
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.kind not in _NAMED:
            raise TypeError(f"{name}: {each} cannot be given by a model; name each parameter")
        if each.name != _run_parameter(function):
            found.append(each)
    return found


def _run_parameter(function: Callable[..., Any]) -> str | None:
    """The parameter that receives the run, if there is one."""
    return next((name for name, kind in _hints(function).items() if kind is ToolRun), None)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function if inspect.isroutine(function) else type(function).__call__
    try:
        return get_type_hints(target, include_extras=True)
    except NameError as error:
        name = getattr(function, "__name__", "a tool")
        raise TypeError(f"{name}: its annotations cannot be read here: {error}") from None


def _shape(function: Callable[..., Any]) -> type[msgspec.Struct]:
    """A struct with a field for each parameter."""
    hints = _hints(function)
    fields: list[Any] = []
    for each in _parameters(function):
        kind = hints.get(each.name, Any)
        is_required = each.default is inspect.Parameter.empty
        fields.append((each.name, kind) if is_required else (each.name, kind, _default(each)))
    return msgspec.defstruct("Input", fields, kw_only=True, forbid_unknown_fields=True)


def _default(parameter: inspect.Parameter) -> Any:
    """The default value; msgspec accepts mutable defaults only from a factory."""
    value = parameter.default
    if isinstance(value, (list, dict, set)):
        return msgspec.field(default_factory=lambda: value)
    return msgspec.field(default=value)


def _schema(function: Callable[..., Any], of_parameters: Mapping[str, str]) -> dict[str, Any]:
    name = getattr(function, "__name__", "a tool")
    shape = _shape(function)
    try:
        ((made,), defined) = msgspec.json.schema_components(
            [shape], schema_hook=_schema_of, ref_template="#/$defs/{name}"
        )
    except TypeError as error:
        raise TypeError(f"{name}: no JSON Schema can be made of its parameters: {error}") from None
    schema = dict(defined.pop("Input")) if "$ref" in made else made
    schema.pop("title", None)
    hints = _hints(function)
    for key, property in schema["properties"].items():
        about = _description_of(hints.get(key)) or of_parameters.get(key)
        if about:
            property.setdefault("description", about)
    return {**schema, "$defs": defined} if defined else schema


def _description_of(kind: Any) -> str | None:
    """The description in an annotation: `Annotated[str, "a city"]`, or an object with a
    description."""
    for each in get_args(kind)[1:] if hasattr(kind, "__metadata__") else ():
        text = each if isinstance(each, str) else getattr(each, "description", None)
        if isinstance(text, str):
            return text
    return None


def _schema_of(kind: Any) -> dict[str, Any]:
    """The schema of types that msgspec does not support, from pydantic."""
    if hasattr(kind, "model_json_schema"):
        return adapt_schema(kind.__name__, kind.model_json_schema())[
            0
        ]  # its references written out
    raise TypeError(f"{getattr(kind, '__name__', kind)} has no JSON form")


def _decoded(kind: Any, value: Any) -> Any:
    if hasattr(kind, "model_validate"):
        try:
            return kind.model_validate(value)
        except ValueError as error:  # pydantic's own is one
            raise ValueError(str(error)) from None
    return value


def _docstring(text: str) -> tuple[str, dict[str, str]]:
    """The description of a function and of each parameter in a docstring, in the style of
    Google, NumPy or Sphinx."""
    about: list[str] = []
    found: dict[str, str] = {}
    inside, current = False, None
    lines = text.splitlines()
    for number, line in enumerate(lines):
        bare = line.strip()
        underlined = number + 1 < len(lines) and set(lines[number + 1].strip()) == {"-"}
        if sphinx := _SPHINX.match(bare):
            inside, current = True, sphinx[1]
            found[current] = sphinx[2]
        elif _ARGUMENTS.match(bare) and (bare.endswith(":") or underlined):
            inside, current = True, None
        elif (_SECTION.match(bare) and not line.startswith(" ")) or underlined or bare[:1] == ":":
            break
        elif not inside:
            about.append(line)
        elif bare and set(bare) != {"-"}:
            current = _parameter_line(line, current, found)
    return "\n".join(about).strip(), {name: words for name, words in found.items() if words}


def _parameter_line(line: str, current: str | None, found: dict[str, str]) -> str | None:
    """One line of a parameter list: the start of a parameter, or more text of the last one."""
    bare = line.strip()
    begun = _GOOGLE.match(bare)
    indent = len(line) - len(line.lstrip())
    if begun and (current is None or indent <= 4):
        is_numpy = indent == 0  # `name : type`, and the words on the next line
        found[begun[1]] = "" if is_numpy else begun[2]
        return begun[1]
    if current is not None:
        found[current] = f"{found[current]} {bare}".strip()
    return current
