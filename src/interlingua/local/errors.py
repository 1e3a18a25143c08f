"""What the bundled local model raises.

InterlinguaError
└── LocalModelError     it cannot be used now
    ├── WeightsError    its weights cannot be had
    └── StartError      its server does not come up
"""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class LocalModelError(InterlinguaError):
    """The local model cannot be used now."""


class WeightsError(LocalModelError):
    """The weights cannot be had; says where they were looked for and what can be done."""


class StartError(LocalModelError):
    """The server does not come up; `log` is the file in which it says why."""

    def __init__(self, problem: str, log: str | None = None) -> None:
        self.problem = problem
        self.log = log
        super().__init__(f"local model: {problem}" + (f"; see {log}" if log else ""))
