"""What a fault is, and how it is found by its name.

A fault takes the answer that would have been given and says what is done instead."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import ParamSpec

import msgspec

import interlingua as il
from tests.replay.answers import Answer, Step

P = ParamSpec("P")
Play = Callable[[Answer], list[Step]]


class FaultError(il.InterlinguaError):
    """A fault that cannot be staged with this answer, or that nobody knows."""


@dataclass(frozen=True)
class Fault:
    name: str
    play: Play


FAULTS: dict[str, Callable[..., Fault]] = {}


def named(make: Callable[P, Play]) -> Callable[P, Fault]:
    """The function makes a fault of its own name, with the parameters that it takes."""

    @wraps(make)
    def fault(*args: P.args, **kwargs: P.kwargs) -> Fault:
        return Fault(make.__name__, make(*args, **kwargs))

    FAULTS[make.__name__] = fault
    return fault


def fault_from(text: str) -> Fault:
    """A fault from its name and parameters, such as `rate_limited retry_after=2`."""
    name, *original = text.split()
    if name not in FAULTS:
        raise FaultError(f"no fault is called {name!r}; known: {', '.join(sorted(FAULTS))}")
    values = dict(each.partition("=")[::2] for each in original)
    known = inspect.signature(FAULTS[name]).parameters
    if unknown := values.keys() - known.keys():
        raise FaultError(f"{name} has no {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    return FAULTS[name](**{key: _value(value) for key, value in values.items()})


def _value(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def require(answer: Answer, fault: str, *framings: str | None) -> None:
    if answer.framing not in framings:
        found = f"a stream of {answer.framing}" if answer.is_stream else "a whole body"
        raise FaultError(f"{fault}: {found} cannot be told like this ({answer.dialect})")
