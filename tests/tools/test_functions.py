"""Python functions as tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

import interlingua as il
from interlingua.tools.functions import definition_of
from interlingua.tools.schema import check_schema


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Place:
    north: float
    east: float


class Inner(BaseModel):
    depth: int


class Filter(BaseModel):
    words: list[str]
    inner: Inner | None = None


def weather(
    city: str,
    days: int = 3,
    unit: Unit = Unit.CELSIUS,
    place: Place | None = None,
    filter: Filter | None = None,
    style: Literal["short", "long"] = "short",
    note: Annotated[str, "for whom it is"] = "",
    tags: list[str] = [],  # noqa: B006 - people write this
) -> dict[str, Any]:
    """The weather in a city.

    Forecasts too.

    Args:
        city: which city,
            in English
        days (int): how far ahead

    Returns:
        what comes
    """
    return {"city": city, "days": days, "unit": unit.name, "place": place, "filter": filter}


def test_the_schema_is_read_from_signature_and_docstring() -> None:
    made = definition_of(weather)
    assert (made.name, made.description) == ("weather", "The weather in a city.\n\nForecasts too.")
    assert (made.side_effects, made.requires_workspace) == (il.SideEffects.READ, False)
    schema = made.input_schema
    assert schema is not None
    assert check_schema(schema) == [], "every provider takes it"
    properties = schema["properties"]
    assert schema["required"] == ["city"]
    assert properties["city"] == {"type": "string", "description": "which city, in English"}
    assert properties["days"] == {
        "type": "integer",
        "default": 3,
        "description": "how far ahead",
    }
    assert properties["unit"]["enum"] == ["c", "f"]
    assert properties["place"]["required"] == ["north", "east"]
    assert properties["filter"]["properties"]["inner"]["properties"]["depth"]["type"] == "integer"
    assert set(properties["style"]["enum"]) == {"short", "long"}
    assert properties["note"]["description"] == "for whom it is"


def add(a, b=2):  # type: ignore[no-untyped-def]
    """Adds.

    :param a: the first
    :param int b: the second
    """
    return a + b


def scale(a: int, b: int) -> int:
    """Scales.

    Parameters
    ----------
    a : int
        the first
    b : int
        the second,
        in percent

    Returns
    -------
    int
    """
    return a * b // 100


@pytest.mark.parametrize(
    ("function", "second"), [(add, "the second"), (scale, "the second, in percent")]
)
def test_parameters_are_described_in_other_styles_too(function: Any, second: str) -> None:
    schema = definition_of(function).input_schema
    assert schema is not None
    assert schema["properties"]["a"]["description"] == "the first"
    assert schema["properties"]["b"]["description"] == second
    assert definition_of(function).description in ("Adds.", "Scales.")


def run(registry: il.ToolRegistry, name: str, /, **input: Any) -> il.ToolResultBlock:
    call = il.ToolUseBlock("c1", name, input)
    (result,) = asyncio.run(il.Dispatcher(registry).run(il.Message.assistant([call])))
    return result


def text(result: il.ToolResultBlock) -> str:
    return il.Message.user(result.content).text  # type: ignore[arg-type]


PLACE = {"north": 1, "east": 2}


def test_a_function_runs_with_values_of_its_own_types() -> None:
    registry = il.ToolRegistry([weather])
    result = run(registry, "weather", city="Paris", unit="f", place=PLACE, filter={"words": []})
    assert not result.is_error, text(result)
    assert '"FAHRENHEIT"' in text(result)
    assert '{"north":1.0,"east":2.0}' in text(result)
    assert '"filter":{"words":[],"inner":null}' in text(result)


def test_input_that_does_not_fit_is_told_to_the_model() -> None:
    result = run(il.ToolRegistry([weather]), "weather", city=3)
    assert result.is_error
    assert "city" in text(result)


def test_coroutines_methods_and_callable_objects_are_tools() -> None:
    class Notes:
        def __init__(self) -> None:
            self.kept: list[str] = []

        async def keep(self, note: str) -> str:
            """Keep a note."""
            self.kept.append(note)
            return "kept"

    notes = Notes()
    assert text(run(il.ToolRegistry([notes.keep]), "keep", note="milk")) == "kept"
    assert notes.kept == ["milk"]


def test_the_decorator_says_what_a_function_does_and_leaves_it_a_function() -> None:
    @il.tool(side_effects="write", name="save_it", description="Save a text.")
    def save(text: str) -> str:
        return f"saved {text}"

    assert save("x") == "saved x"
    made = definition_of(save)
    assert (made.name, made.description) == ("save_it", "Save a text.")
    assert made.side_effects is il.SideEffects.WRITE
    registry = il.ToolRegistry([save])
    assert run(registry, "save_it", text="x").is_error, "nobody was asked"

    @il.tool
    def plain() -> None:
        """Nothing."""

    assert definition_of(plain).side_effects is il.SideEffects.READ


def test_a_parameter_may_be_the_run_itself() -> None:
    def where(name: str, run: il.ToolRun) -> str:
        """Where it is."""
        return f"{run.tool.name} {name}"

    schema = definition_of(where).input_schema
    assert schema is not None
    assert list(schema["properties"]) == ["name"]
    assert text(run(il.ToolRegistry([where]), "where", name="x")) == "where x"


def _many(*names: str) -> None: ...
def _odd(value: complex) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (_many, r"_many: \*names.* cannot be given by a model; name each parameter"),
        (_odd, "_odd: no JSON Schema can be made of its parameters: .*complex"),
        (lambda x: x, "a tool needs a name"),
    ],
)
def test_a_function_that_cannot_be_a_tool_says_why(function: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        definition_of(function)


@pytest.mark.parametrize("name", ["get-weather", "ns:get.weather", "2fast", "x" * 128])
def test_a_function_has_any_name_that_some_provider_takes(name: str) -> None:
    named = il.tool(name=name)(lambda city: city)
    assert il.ToolRegistry([named]).names() == [name]


@pytest.mark.parametrize("name", ["", "get weather", "wetter_für", "x/y", "x" * 129])
def test_a_name_that_no_provider_takes_is_refused_where_it_is_written(name: str) -> None:
    with pytest.raises(TypeError, match="no provider accepts a tool with the name"):
        il.tool(name=name)(lambda city: city)


def test_unknown_side_effects_are_named_where_they_are_written() -> None:
    with pytest.raises(TypeError, match=r"side_effects is one of none, read, write.*'delete'"):
        il.tool(side_effects="delete")
