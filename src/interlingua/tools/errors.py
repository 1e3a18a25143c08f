"""What running tools raises; everything that concerns one call is a result instead.

InterlinguaError
├── WorkspaceError   a path that may not or cannot be read; `reason` says why in one word
├── DispatchError    the dispatcher is used in a way that cannot work
└── McpError         an MCP server that is not set up well or cannot be reached
"""

from __future__ import annotations

from typing import Literal

from interlingua.errors import InterlinguaError

WorkspaceReason = Literal[
    "outside", "link", "not_found", "not_a_file", "too_large", "unreadable", "bad_name"
]


class WorkspaceError(InterlinguaError):
    """`path` is what was asked for, as it was written."""

    def __init__(self, path: str, problem: str, reason: WorkspaceReason) -> None:
        self.path = path
        self.problem = problem
        self.reason: WorkspaceReason = reason
        shown = path if len(path) <= 200 else path[:199] + "…"
        super().__init__(f"workspace path {shown!r}: {problem}")


class DispatchError(InterlinguaError):
    """A mistake of the program, not of the model."""


class McpError(InterlinguaError):
    """`server` is the name that the configuration gives it."""

    def __init__(self, server: str, problem: str) -> None:
        self.server = server
        self.problem = problem
        super().__init__(f"MCP server {server!r}: {problem}")
