"""Errors of calls: one class for each kind of failure that callers treat differently.

    InterlinguaError
    ├── CallError                   a call without a complete answer
    │   ├── RateLimitError          too many requests; `retry_after` says when to try again
    │   ├── AuthError               the key is missing, wrong, or not allowed to do this
    │   ├── ServerError             the provider failed
    │   ├── NetworkError            no connection, or it broke; `phase` says where
    │   │   └── CallTimeoutError    it took too long (also a TimeoutError)
    │   ├── ContextOverflowError    a prompt that is too long for the model
    │   ├── InvalidRequestError     the provider refuses the request as it is
    │   ├── CallCancelledError      cancelled by `cancel`
    │   └── ProviderFailure         anything else
    │       └── TooLargeError       an answer beyond the limit
    └── OutputError                 an answer that does not fit the requested schema

The messages contain texts of providers, but no keys: anything that looks like one is masked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from interlingua.errors import InterlinguaError
from interlingua.model.exchange import ErrorKind

if TYPE_CHECKING:
    from interlingua.client.answer import Answer, Attempt
    from interlingua.model.exchange import Response


class CallError(InterlinguaError):
    """A call without a complete answer.

    `partial` is the part of the response that arrived, `attempts` lists all attempts.
    """

    kind: ClassVar[ErrorKind] = ErrorKind.OTHER

    def __init__(
        self,
        problem: str,
        *,
        model: str | None = None,
        provider: str | None = None,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        partial: Response | None = None,
        attempts: tuple[Attempt, ...] = (),
        alternatives: tuple[str, ...] = (),
        address: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.model = model
        self.provider = provider
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retry_after = retry_after
        self.partial = partial
        self.attempts = attempts
        self.alternatives = alternatives
        """Models with names similar to the one that the provider does not know."""
        self.address = address
        """The address requested, if that may be the mistake; no part of `problem`."""

    def __str__(self) -> str:
        facts = [f"status {self.status}"] if self.status is not None else []
        facts += [f"from {self.address}"] if self.address is not None else []
        facts += [self.code] if self.code and self.code not in self.problem else []
        facts += [f"request {self.request_id}"] if self.request_id else []
        facts += [f"retry after {self.retry_after:g} s"] if self.retry_after is not None else []
        facts += [f"tried {len(self.attempts)} times"] if len(self.attempts) > 1 else []
        facts += [f"near: {', '.join(self.alternatives)}"] if self.alternatives else []
        text = f"{self.model or self.provider or 'call'}: {self.problem}"
        return f"{text} ({'; '.join(facts)})" if facts else text


class RateLimitError(CallError):
    """Too many requests, or the provider is overloaded."""

    kind = ErrorKind.RATE_LIMIT


class AuthError(CallError):
    """The key is missing, wrong, or not allowed to do this."""

    kind = ErrorKind.AUTH


class ServerError(CallError):
    """The provider failed."""

    kind = ErrorKind.SERVER_ERROR


class NetworkError(CallError):
    """No connection, or it broke. `phase` is `dns`, `connect`, `tls`, `proxy`, `write` or
    `read`; `sent` is true if the provider may have got the whole request, `begun` if the answer
    had begun to arrive."""

    kind = ErrorKind.NETWORK
    phase: str = "read"
    sent: bool = True
    begun: bool = False


class CallTimeoutError(NetworkError, TimeoutError):
    """It took too long. `phase` is `connect`, `idle` (silence), `total` (one try) or `deadline`
    (all tries together)."""

    phase = "total"


class ContextOverflowError(CallError):
    """More than the model can take."""

    kind = ErrorKind.CONTEXT_OVERFLOW


class InvalidRequestError(CallError):
    """The provider refuses the request; sending it again would not help."""

    kind = ErrorKind.INVALID_REQUEST


class CallCancelledError(CallError):
    """The call was cancelled by `cancel`; `partial` is the part that had arrived."""

    kind = ErrorKind.CANCELLED


class ProviderFailure(CallError):  # noqa: N818 - it is the provider that failed, not a call of ours
    """A failure of a kind that has no class of its own."""


class TooLargeError(ProviderFailure):
    """An answer beyond the limit, unpacked."""


class OutputError(InterlinguaError):
    """An answer that does not fit the schema; `problems` are pairs of a path and the problem."""

    def __init__(self, problems: list[tuple[str, str]], answer: Answer | None = None) -> None:
        self.problems = problems
        self.answer = answer
        lines = "; ".join(f"at {path}: {problem}" for path, problem in problems)
        super().__init__(f"structured output, {lines}")


CLASSES: dict[ErrorKind, type[CallError]] = {
    kind.kind: kind
    for kind in (
        RateLimitError,
        AuthError,
        ServerError,
        NetworkError,
        ContextOverflowError,
        InvalidRequestError,
        CallCancelledError,
        ProviderFailure,
    )
}
"""The class of each kind."""
