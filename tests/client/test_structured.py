"""Structured output: the schema that is asked for, and what is checked when it comes back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

import interlingua as il
from interlingua.client import AsyncClient, OutputError, Parsed
from interlingua.client.structured import shape_of
from tests.client.scripted import scripted
from tests.client.served import KEYS, MODELS, response


class Pet(msgspec.Struct):
    name: str
    legs: int


class Owner(msgspec.Struct):
    name: str
    pets: list[Pet]
    nickname: str | None = None


@dataclass
class Point:
    x: float
    y: float


class City(pydantic.BaseModel):
    name: str
    people: int


SCHEMA = {
    "title": "a city!",
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
    "additionalProperties": False,
}


def parse(shape: Any, text: str, model: str = MODELS["openai-chat"], **metadata: Any) -> Any:
    async def main() -> tuple[Parsed, Any]:
        dialect = next(d for d, m in MODELS.items() if m == model)
        async with scripted(dialect, response(text, **metadata)) as server:
            places = {model.partition(":")[0]: server.url}
            async with AsyncClient(base_urls=places, keys=KEYS, environ={}) as client:
                return await client.parse(model, "Tell me", shape), server.asked[0]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("shape", "text", "value"),
    [
        (Pet, '{"name": "Rex", "legs": 4}', Pet("Rex", 4)),
        (Owner, '{"name": "Ann", "pets": [{"name": "Rex", "legs": 4}]}', None),
        (Point, '{"x": 1, "y": 2.5}', Point(1, 2.5)),
        (City, '{"name": "Ulm", "people": 130000}', City(name="Ulm", people=130000)),
        (SCHEMA, '{"name": "Ulm", "people": 130000}', {"name": "Ulm", "people": 130000}),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (Pet, '```json\n{"name": "Rex", "legs": 4}\n```', Pet("Rex", 4)),
    ],
)
def test_what_comes_back_is_a_value_of_the_type(shape: Any, text: str, value: Any) -> None:
    parsed, wire = parse(shape, text)
    assert parsed.value == (value or Owner("Ann", [Pet("Rex", 4)]))
    asked = wire["response_format"]["json_schema"]
    assert asked["schema"]["type"] == "object"
    assert parsed.answer.text == text


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "ollama", "openai-responses"])
def test_every_dialect_that_can_is_asked_for_the_schema(dialect: str) -> None:
    async def main() -> Any:
        async with scripted(dialect, response('{"name": "Rex", "legs": 4}')) as server:
            places = {MODELS[dialect].partition(":")[0]: server.url}
            other = dialect if dialect == "openai-responses" else None
            async with AsyncClient(base_urls=places, keys=KEYS, environ={}) as client:
                parsed = await client.parse(MODELS[dialect], "Tell me", Pet, dialect=other)
            assert parsed.value == Pet("Rex", 4)
            return server.asked[0]

    assert b'"legs"' in msgspec.json.encode(asyncio.run(main()))


@pytest.mark.parametrize(
    ("shape", "text", "problem"),
    [
        (Pet, '{"name": "Rex", "legs": "four"}', "at $.legs: "),
        (Owner, '{"name": "A", "pets": [{"name": "Rex"}]}', r"at $.pets[0]: "),
        (City, '{"name": "Ulm", "people": "many"}', "at $.people: "),
        (SCHEMA, '{"name": "Ulm", "people": "many"}', "at $.people: "),
        (SCHEMA, '{"name": "Ulm"}', "at $: "),
        (Pet, "I would rather not.", "at $: expected JSON"),
        (list[int], "[1, 2]", "at $: expected an object"),
    ],
)
def test_what_does_not_fit_is_an_error_that_names_the_place(
    shape: Any, text: str, problem: str
) -> None:
    with pytest.raises(OutputError) as caught:
        parse(shape, text)
    assert problem in str(caught.value)
    assert caught.value.answer is not None
    assert caught.value.answer.text == text


def test_the_error_says_when_the_answer_was_cut() -> None:
    with pytest.raises(OutputError, match="limit of tokens"):
        parse(Pet, '{"name": "Re', stop_reason=il.StopReason.MAX_TOKENS)


def test_strict_is_asked_for_where_the_schema_allows_it() -> None:
    assert shape_of(Pet).format.strict is True
    assert shape_of(City).format.strict is True
    assert shape_of(SCHEMA).format.strict is True
    assert shape_of(Owner).format.strict is None, "not every property is required"
    assert shape_of({"type": "object", "properties": {}}).format.strict is None
    assert shape_of(SCHEMA).format.name == "a_city_"
    assert shape_of(SCHEMA).format.schema == SCHEMA


def test_a_type_without_a_schema_is_refused() -> None:
    class Odd:
        pass

    with pytest.raises(TypeError, match=r"a JSON Schema \(a dict\), or a pydantic.*Odd"):
        shape_of(Odd)
