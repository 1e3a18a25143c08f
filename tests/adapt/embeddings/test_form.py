"""Vectors on the wire, and where things stand in a body."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as some

from interlingua.adapt.embeddings.asking import FORMS
from interlingua.adapt.embeddings.form import from_base64, places_of, to_base64, vectors_of
from interlingua.errors import ReadError


@given(some.lists(some.floats(width=32, allow_nan=False, allow_infinity=False)))
def test_base64_is_little_endian_floats_and_comes_back(numbers: list[float]) -> None:
    packed = to_base64(numbers)
    assert base64.b64decode(packed) == struct.pack(f"<{len(numbers)}f", *numbers)
    assert list(from_base64(packed)) == numbers


@pytest.mark.parametrize("value", [None, 5, [5], [["a"]], ["!!"], ["AAA="], {"a": 1}, [[None]]])
def test_what_is_no_vector_is_an_error_that_says_so(value: object) -> None:
    with pytest.raises(ReadError, match="vectors of numbers"):
        vectors_of("openai", value)


@pytest.mark.parametrize(
    ("form", "wire", "path", "places"),
    [
        ("openai", {"input": ["a", "b"]}, "$.inputs[1]", ("$.input[1]",)),
        ("openai", {"input": "a"}, "$.inputs[0]", ("$.input",)),
        ("openai", {"dimensions": 5}, "$.dimensions", ("$.dimensions",)),
        ("openai", {}, "$.input_type", ()),
        ("cohere", {"output_dimension": 5}, "$.dimensions", ("$.output_dimension",)),
        ("cohere", {"texts": ["a"]}, "$.inputs[0]", ("$.texts[0]",)),
        ("gemini", {"taskType": "X"}, "$.input_type", ("$.taskType",)),
        (
            "gemini",
            {"requests": [{"taskType": "X"}, {"task_type": "X"}]},
            "$.input_type",
            ("$.requests[0].taskType", "$.requests[1].task_type"),
        ),
        ("gemini", {"content": {}}, "$.inputs[0]", ("$.content",)),
    ],
)
def test_places_are_those_of_the_clients_own_body(
    form: str, wire: dict[str, object], path: str, places: tuple[str, ...]
) -> None:
    assert places_of(FORMS[form], wire, path) == places
