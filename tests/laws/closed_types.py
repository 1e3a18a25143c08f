"""Does a JSON value fit the type hints of an official SDK, with nothing left over?

The SDKs' request types are TypedDicts: checking against them as they are accepts unknown keys and
looks into lists only when somebody reads them. This check is eager and closed: every key must be
declared, every required key there, every list item of a declared type.
"""

from __future__ import annotations

import collections.abc
import types
from functools import cache
from typing import Any, Literal, Union

import typing_extensions as te
from pydantic import BaseModel

_LISTS = (list, tuple, collections.abc.Iterable, collections.abc.Sequence)


def misfit(value: Any, hint: Any, path: str = "") -> str | None:
    """The first place where the value is not of the type, in words; None when it fits."""
    if isinstance(hint, te.TypeAliasType):
        return misfit(value, hint.__value__, path)
    origin = te.get_origin(hint)
    if hint is Any or hint is object:
        return None
    if origin in (te.Required, te.NotRequired, te.Annotated, te.ReadOnly):
        return misfit(value, te.get_args(hint)[0], path)
    if origin in (Union, types.UnionType):
        return _misfit_union(value, te.get_args(hint), path)
    if origin is Literal or origin is te.Literal:
        fits = any(value == each and type(value) is type(each) for each in te.get_args(hint))
        return None if fits else f"{path}: {value!r} is none of {te.get_args(hint)}"
    if te.is_typeddict(hint):
        return _misfit_object(value, hint, path)
    if origin is dict or _is_mapping(origin):
        return _misfit_mapping(value, te.get_args(hint), path)
    if origin in _LISTS or getattr(origin, "__name__", "") == "SequenceNotStr":
        return _misfit_list(value, te.get_args(hint), path)
    return _misfit_plain(value, hint, path)


def _is_mapping(origin: Any) -> bool:
    return isinstance(origin, type) and issubclass(origin, collections.abc.Mapping)


def _misfit_union(value: Any, members: tuple[Any, ...], path: str) -> str | None:
    problems = []
    for member in members:
        if isinstance(member, type) and issubclass(member, BaseModel):
            continue  # what the SDK gave back earlier; not the wire's own shape
        problem = misfit(value, member, path)
        if problem is None:
            return None
        problems.append(problem)
    # the deepest problem belongs to the member that was meant
    return max(
        problems, key=lambda each: each.partition(":")[0].count("/"), default=f"{path}: none"
    )


def _misfit_object(value: Any, hint: Any, path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path}: {type(value).__name__} is no object"
    hints, required = _shape(hint)
    for key in value:
        if key not in hints:
            return f"{path}/{key}: not a key of {hint.__name__}"
    for key in required:
        if key not in value:
            return f"{path}: no {key!r}, which {hint.__name__} requires"
    for key, item in value.items():
        problem = misfit(item, hints[key], f"{path}/{key}")
        if problem:
            return problem
    return None


@cache
def _shape(hint: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Keys with their types, and the required ones, which only the hints tell for sure."""
    hints = te.get_type_hints(hint, include_extras=True)
    required = set(hint.__required_keys__)
    for key, each in hints.items():
        while te.get_origin(each) in (te.Annotated, te.Required, te.NotRequired):
            if te.get_origin(each) is te.Required:
                required.add(key)
            if te.get_origin(each) is te.NotRequired:
                required.discard(key)
            each = te.get_args(each)[0]
    return hints, frozenset(required)


def _misfit_mapping(value: Any, args: tuple[Any, ...], path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path}: {type(value).__name__} is no object"
    for key, item in value.items():
        problem = misfit(item, args[1], f"{path}/{key}") if len(args) > 1 else None
        if problem:
            return problem
    return None


def _misfit_list(value: Any, args: tuple[Any, ...], path: str) -> str | None:
    if not isinstance(value, list):
        return f"{path}: {type(value).__name__} is no list"
    for index, item in enumerate(value):
        problem = misfit(item, args[0], f"{path}/{index}") if args else None
        if problem:
            return problem
    return None


def _misfit_plain(value: Any, hint: Any, path: str) -> str | None:
    if hint is None or hint is type(None):
        return None if value is None else f"{path}: not null"
    if hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    elif isinstance(hint, type):
        fits = isinstance(value, hint)
    else:
        fits = True
    return None if fits else f"{path}: {type(value).__name__} is no {hint}"
