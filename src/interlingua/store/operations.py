"""What each call of a store does, statement by statement, for every engine."""

from __future__ import annotations

from interlingua.store.effects import Op
from interlingua.store.forks import Forks
from interlingua.store.reference import Reference
from interlingua.store.remembered import Remembered
from interlingua.store.repeats import Repeats
from interlingua.store.requests import Requests
from interlingua.store.search import Search
from interlingua.store.tasks import Tasks
from interlingua.store.usages import Usages

__all__ = ["Op", "Operations"]


class Operations(Forks, Search, Requests, Usages, Reference, Remembered, Repeats, Tasks):
    """All of them."""
