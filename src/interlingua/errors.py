"""The root of every exception, and those of the core.

    InterlinguaError
    ├── ReadError          input that cannot be read, with its place and the value found
    │   └── DepthError     nested deeper than we accept
    ├── WriteError         a value that cannot be written as JSON or on a wire
    │   └── LossError      losses that the caller or a critical block does not allow
    ├── SchemaError        a tool whose name or input schema may not be registered
    ├── ToolInputError     tool input that does not fit the tool's schema
    ├── DetectError        input whose dialect or kind cannot be detected
    └── MissingExtraError  a feature whose optional dependencies are not installed

Other packages define theirs beside their code, under the same root: StoreError
(`store/errors.py`), BusError (`events/event.py`), RoutingError (`routing/decision.py`),
SessionError (`sessions/effects.py`), UnknownModelError (`profiles/names.py`) and
UnknownCostError (`costs/cost.py`).

Translating with a loss is no error: it returns a `Report`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlingua.model.losses import Report


class InterlinguaError(Exception):
    """Root of all exceptions that this package raises on purpose. They can be pickled, so that
    workers can return them with all attributes."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)


def _again(kind: type[InterlinguaError], args: tuple[Any, ...], facts: dict[str, Any]) -> Any:
    """The error that was pickled."""
    error = kind.__new__(kind, *args)
    error.__dict__.update(facts)
    return error


class ReadError(InterlinguaError):
    """Input that cannot be read: at `path` of `what`, `found` is not what was `expected`, or there
    is another `problem`."""

    def __init__(
        self,
        what: str,
        path: str = "$",
        expected: str | None = None,
        found: str | None = None,
        problem: str | None = None,
    ) -> None:
        self.what = what
        self.path = path
        self.expected = expected
        self.found = found
        self.problem = problem
        text = what if problem is not None and path == "$" else f"{what}, at {path}"
        if problem is not None:
            text = problem if text == "JSON" else f"{text}: {problem}"
        if expected is not None:
            text += f": expected {expected}"
        if found is not None:
            text += f"{', ' if expected is not None else ': '}found {found}"
        super().__init__(text)


class DepthError(ReadError):
    """JSON nested deeper than the limit."""

    def __init__(self, what: str, limit: int, path: str = "$") -> None:
        super().__init__(what, path, f"at most {limit} levels of nesting", "more")
        self.limit = limit


class WriteError(InterlinguaError):
    """A value that has no JSON or wire form. `path` is the place in the value."""

    def __init__(self, what: str, path: str = "$", problem: str = "") -> None:
        self.what = what
        self.path = path
        self.problem = problem
        super().__init__(f"{what}, at {path}: {problem}")


class LossError(WriteError):
    """Something would be lost, and the caller (or the block) does not allow it."""

    def __init__(self, what: str, report: Report) -> None:
        self.report = report
        losses = report.losses or report.entries
        first = losses[0]
        more = f" (and {len(losses) - 1} more)" if len(losses) > 1 else ""
        block = f" {first.block_type}" if first.block_type else ""
        problem = first.reason if first.code else f"{first.kind}{block}: {first.reason}"
        super().__init__(what, ", ".join(first.at) or first.path, f"{problem}{more}")


class SchemaError(InterlinguaError):
    """A tool definition that may not be registered; `problems` are (path, what is wrong)."""

    def __init__(self, tool: str, problems: list[tuple[str, str]]) -> None:
        self.tool = tool
        self.problems = problems
        lines = "; ".join(f"at {path}: {problem}" for path, problem in problems)
        super().__init__(f"tool {tool!r}, {lines}")


class ToolInputError(InterlinguaError):
    """Tool input that does not fit its schema; `problems` are (path, what is wrong)."""

    def __init__(self, tool: str, problems: list[tuple[str, str]]) -> None:
        self.tool = tool
        self.problems = problems
        lines = "; ".join(f"at {path}: {problem}" for path, problem in problems)
        super().__init__(f"input of tool {tool!r}, {lines}")


class DetectError(InterlinguaError):
    """Input whose dialect or kind cannot be detected; `candidates` fit equally well. `near` is the
    name that looks most like an unknown one."""

    def __init__(
        self, problem: str, candidates: list[str] | None = None, near: str | None = None
    ) -> None:
        self.candidates = candidates or []
        self.near = near
        start = " Choose one of" if problem.endswith("?") else "; choose one of"
        listed = f"{start} {', '.join(self.candidates)}" if self.candidates else ""
        super().__init__(f"{problem}{listed}")


class MissingExtraError(InterlinguaError):
    """A feature needs an extra: `pip install 'interlingua[extra]'`."""

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        super().__init__(f"{feature} needs an extra: pip install 'interlingua[{extra}]'")


def word(value: Any) -> str:
    """A value as text for an error message: the value itself if it is a short word."""
    is_word = isinstance(value, str) and len(value) <= 40 and value.isprintable()
    return repr(value) if is_word else found(value)


def found(value: Any) -> str:
    """The text for a value in an error: its JSON type, or a short number itself."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > 100:
            return f"a number of {value.bit_length()} bits"
        case int() | float():
            return repr(value)
        case str():
            return f"a string of {len(value)} character{'' if len(value) == 1 else 's'}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case dict():
            return f"an object with {len(value)} key{'' if len(value) == 1 else 's'}"
        case _:
            return a_type(value)


def a_type(value: Any) -> str:
    """The text for the type of a Python value in an error: `an int`, `a str`, `None`."""
    return "None" if value is None else article(type(value).__name__)


def article(name: str) -> str:
    """A name behind `a` or `an`."""
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
