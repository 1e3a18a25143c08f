"""The rules file on disk: looked at when a turn starts, read when it changed."""

from __future__ import annotations

import logging
import os
import threading
from pathlib import Path
from typing import NamedTuple

from interlingua.bus.payloads.routes import PolicyInvalid
from interlingua.routing.policy import MOST_BYTES, NO_POLICY, Policy, PolicyReader
from interlingua.routing.predicates import Problem
from interlingua.routing.registry import Registry

logger = logging.getLogger(__name__)


def check_rules(path: str | os.PathLike[str], registry: Registry | None = None) -> list[Problem]:
    """Everything wrong with a rules file; an empty list if it can be used.

    Without a registry, models are checked for their form and not for being configured.
    """
    reader = PolicyReader(registry)
    try:
        reader.read(_bytes(Path(path)))
    except OSError as problem:
        return [Problem("file", f"cannot be read: {problem.strerror or problem}")]
    return reader.problems


class PolicyRead(NamedTuple):
    """The policy in force; `invalid` is there once for each version of the file that is refused,
    and is what the event `routing.policy_invalid` says."""

    policy: Policy
    invalid: PolicyInvalid | None = None


class PolicyFile:
    """One rules file. While it is faulty, the last good version of it stays in force; a file that
    is not there has no rules."""

    def __init__(self, path: str | os.PathLike[str], registry: Registry | None = None) -> None:
        self.path = Path(path)
        self.problems: list[Problem] = []
        self._registry = registry
        self._policy = NO_POLICY
        self._stamp: tuple[int, ...] | str | None = None
        self._lock = threading.Lock()

    def read(self, reload: bool = False) -> PolicyRead:
        """The policy for a turn that starts now; with `reload` also if the file looks the same."""
        with self._lock:
            stamp = _stamp(self.path)
            if stamp == self._stamp and not reload:
                return PolicyRead(self._policy)
            self._stamp = stamp
            invalid = self._renew()
            return PolicyRead(self._policy, invalid)

    def _renew(self) -> PolicyInvalid | None:
        reader = PolicyReader(self._registry)
        try:
            policy = reader.read(_bytes(self.path))
            self.problems = reader.problems
        except FileNotFoundError:
            self._policy, self.problems = NO_POLICY, []
            return None
        except OSError as problem:
            self.problems = [Problem("file", f"cannot be read: {problem.strerror or problem}")]
        if not self.problems:
            self._policy = policy
            return None
        logger.warning("routing_policy_invalid", extra={"problems": len(self.problems)})
        return PolicyInvalid(
            path=str(self.path),
            problems=tuple([str(problem) for problem in self.problems[:20]]),
            version_in_force=self._policy.version,
        )


def _bytes(path: Path) -> bytes:
    """No more than a byte over the limit, which is enough to see that it is too much."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _stamp(path: Path) -> tuple[int, ...] | str:
    """What changes when a file is written or replaced."""
    try:
        state = path.stat()
    except OSError as problem:
        return f"not there: {problem.errno}"
    return (state.st_mtime_ns, state.st_size, state.st_ino)
