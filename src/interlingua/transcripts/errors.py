"""What can go wrong with transcripts."""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class TranscriptError(InterlinguaError):
    """A file that cannot be read as a session, or a place that cannot be written to."""

    def __init__(self, path: object, problem: str) -> None:
        self.path = str(path)
        self.problem = problem
        super().__init__(f"{path}: {problem}")


class VersionError(TranscriptError):
    """A version of a tool's format that cannot be written yet."""
