"""Generated values in the views' own shapes, with keys that nobody knows and nulls now and then."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.laws.strategies import json_objects, json_values, texts, words

Wire = dict[str, Any]


def unknown_keys() -> SearchStrategy[Wire]:
    return st.dictionaries(words().map("x_{}".format), json_values(2), max_size=1)


def objects(
    required: dict[str, SearchStrategy[Any]], optional: dict[str, SearchStrategy[Any]]
) -> SearchStrategy[Wire]:
    """An object; an optional field may be missing, or null; at times there is a key more."""
    nullable = {name: each | st.none() for name, each in optional.items()}
    fields = st.fixed_dictionaries(required, optional=nullable)
    return st.builds(lambda known, more: {**more, **known}, fields, unknown_keys())


def some(items: SearchStrategy[Any], most: int = 2) -> SearchStrategy[list[Any]]:
    return st.lists(items, max_size=most)


def base64_texts() -> SearchStrategy[str]:
    return st.sampled_from(("aGk=", "AAAA", "iVBORw0KGgo="))


def urls() -> SearchStrategy[str]:
    data = st.sampled_from(("data:image/png;base64,AAAA", "data:,hello"))
    return words().map("https://example.com/{}".format) | data


def argument_texts() -> SearchStrategy[str]:
    """JSON, spaced or not, empty, or cut off."""
    return st.sampled_from(("{}", "", '{"a": 1}', '{"a":1}', '{"a": "b', "[1]", '{"n": 1e2}'))


__all__ = [
    "Wire",
    "argument_texts",
    "base64_texts",
    "json_objects",
    "json_values",
    "objects",
    "some",
    "texts",
    "unknown_keys",
    "urls",
    "words",
]
