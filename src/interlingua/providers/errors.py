"""What choosing a provider, its address and its credentials raises.

InterlinguaError
└── ProviderSetupError        a provider that cannot be used as it is set up
    ├── UnknownProviderError  nobody of this name; `near` are names that look like it
    ├── MissingSettingError   a key, an address or a part of it that nobody has given
    └── ProvidersFileError    the user's file: says the line and the field
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from interlingua.errors import InterlinguaError


class ProviderSetupError(InterlinguaError):
    """A provider cannot be used as it is set up."""

    def __init__(self, provider: str, problem: str) -> None:
        self.provider = provider
        self.problem = problem
        super().__init__(f"provider {provider!r}: {problem}")


class UnknownProviderError(ProviderSetupError):
    """No provider of this name in the package or in the user's file."""

    def __init__(self, provider: str, known: Iterable[str], file: str | None = None) -> None:
        self.known = list(known)
        self.near = get_close_matches(provider, self.known, n=3)
        hint = f"; near: {', '.join(self.near)}" if self.near else ""
        where = f" or in {file}" if file else ""
        super().__init__(provider, f"not in the package{where}{hint}")


class MissingSettingError(ProviderSetupError):
    """A missing setting. `variables` were tried in this order, then the `file`."""

    def __init__(
        self, provider: str, what: str, variables: Iterable[str], file: str | None, field: str
    ) -> None:
        self.what = what
        self.variables = list(variables)
        self.file = file
        self.field = field
        tried = " or ".join(self.variables)
        ways = [f"set {tried}"] if tried else []
        ways.append(f"write {field} in [providers.{provider}] of {file or 'the providers file'}")
        super().__init__(provider, f"no {what}: {', or '.join(ways)}")


class ProvidersFileError(InterlinguaError):
    """The user's file of providers cannot be read. `line` is None if it is unknown."""

    def __init__(self, file: str, problem: str, field: str | None, line: int | None) -> None:
        self.file = file
        self.problem = problem
        self.field = field
        self.line = line
        place = f", line {line}" if line is not None else ""
        place += f", at {field}" if field else ""
        super().__init__(f"{file}{place}: {problem}")
