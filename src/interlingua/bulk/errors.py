"""What can go wrong with a whole run; a row that cannot be read is none of it."""

from __future__ import annotations

from interlingua.errors import InterlinguaError


class BulkError(InterlinguaError):
    """A run that cannot begin, or go on: files that are not there, or are another run's."""
