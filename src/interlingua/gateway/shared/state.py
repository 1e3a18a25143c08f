"""Shared state of a gateway: the request in flight, and the interface of each part."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from interlingua.adapt.caching import Caching
from interlingua.adapt.remembered import Conversation, History
from interlingua.client.answer import Attempt
from interlingua.client.targets import Target
from interlingua.costs.comparing import ComparedPrompt
from interlingua.gateway.shared.sizes import Most
from interlingua.model.exchange import ErrorKind, ProviderError, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import CacheDiagnosis, StopReason, Usage
from interlingua.providers.provider import Secret, Style
from interlingua.store.idempotency import MemoryScope
from interlingua.store.reference import BudgetRow
from interlingua.telemetry import trace_headers

ROUTE = "route:"
"""The prefix of a route's name where models are allowed, too."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a request: built once per request, from the key alone."""

    key_id: str | None = None
    user_id: str | None = None
    team_id: str | None = None
    account_id: str = ""
    """The account of the key's spending: keys that replaced each other share it."""
    workspace_path: str | None = None
    allowed_models: frozenset[str] | None = None
    """Ids of models, and names of routes behind their mark; None: all of them."""
    refuse_losses: bool = False
    """Whether a request is refused if its conversion loses anything."""
    keep_content: bool = False
    """Whether message content may be stored."""
    fetch_media: bool | None = None
    """Whether media by URL is fetched for models that need its data; None: as in the settings."""
    caching: Caching | None = None
    """The mode of prompt caching of its requests; None: as in the settings."""
    redaction: Literal["off", "replace", "restore"] | None = None
    """Whether secrets are replaced on the way to providers; None: as in the settings."""
    capped: bool = False
    """Whether there is any cap to look at."""
    metered: bool = False
    """Whether the cost and the tokens of a request are limited."""
    log_content_days: int | None = None
    """Days for which content is logged; None: it is not."""
    default_max_tokens: int | None = None
    """Output tokens of a request that names no limit."""
    max_max_tokens: int | None = None
    """Output tokens of any request, at most."""
    limits_answers: bool = field(init=False)
    """Whether one of these two is set."""
    budgets: tuple[BudgetRow, ...] = ()
    """Caps on models, tags and end users that hold for it."""
    in_batch: bool = False
    """Whether it belongs to a batch, which waits until its caps have room."""
    tenant: str | None = field(init=False)
    """The owner of data: a user, with all keys of that user; otherwise the key and its
    replacements. None on a gateway without keys."""

    def __post_init__(self) -> None:
        tenant = self.user_id or self.account_id or self.key_id
        object.__setattr__(self, "tenant", tenant)
        limits = self.default_max_tokens is not None or self.max_max_tokens is not None
        object.__setattr__(self, "limits_answers", limits)

    @property
    def limited(self) -> bool:
        """Whether the exact model and length of a request matter."""
        return self.capped or self.allowed_models is not None


ANONYMOUS = Principal()
"""The caller of a gateway without keys, which listens on loopback only."""


class Labels(NamedTuple):
    """The labels of a request for budgets: its end user, and its tags (`name=value`)."""

    end_user: str = ""
    tags: tuple[str, ...] = ()


class ClientKey(NamedTuple):
    """A client's own key for a provider, and the header it came in."""

    style: Style
    secret: Secret


class Arrival(msgspec.Struct, frozen=True):
    """An incoming request: its caller, its operation, its time."""

    id: str
    front: str
    """The client's dialect."""
    principal: Principal = ANONYMOUS
    client_model: str | None = None
    """The model as the client names it; answers repeat this name."""
    stream: bool = False
    action: str = "generate"
    session_id: str | None = None
    """The session whose turn sends the request."""
    labels: Labels | None = None
    """Its labels for budgets; None if it has none."""
    own_key: ClientKey | None = None
    """For providers that are called with their clients' own keys, if there are any."""
    at: datetime = msgspec.field(default_factory=partial(datetime.now, UTC))
    began: float = msgspec.field(default_factory=time.perf_counter)

    def by(self, principal: Principal) -> Arrival:
        """The same, once its caller is known."""
        return msgspec.structs.replace(self, principal=principal)

    def elapsed_ms(self) -> float:
        return (time.perf_counter() - self.began) * 1000


class ReportSource(msgspec.Struct, frozen=True):
    """The body that the first `count` entries of a report are about, until their places in it were
    found behind the answer."""

    body: bytes
    dialect: str
    model: str | None
    stream: bool | None
    count: int
    has_messages: bool = True
    """Whether the messages were converted as the body has them."""


class Decision(msgspec.Struct, frozen=True):
    """The decision for one attempt: the target, and the losses of converting the request for it."""

    target: Target | None = None
    report: Report | None = None
    """Losses of converting the answer are added to it."""
    source: ReportSource | None = None


UNDECIDED = Decision()


class Outcome(msgspec.Struct):
    """The outcome, recorded as it happens: the only mutable part here."""

    status: int = 0
    error: ErrorKind | None = None
    code: str | None = None
    """The code of our own refusal."""
    usage: Usage | None = None
    answered_by: str | None = None
    """The name of the model that answered, if its provider names it."""
    cost: Decimal | None = None
    stop_reason: StopReason | None = None
    tries: tuple[Attempt, ...] = ()
    """The outcome of each attempt."""
    upstream_id: str | None = None
    first_byte_ms: float | None = None
    heard: int = 0
    """Bytes of the answer, if it may have to be charged by its length."""
    is_last: bool = False
    """Whether the next bytes are the last of a stream."""
    is_sent: bool = False
    """Whether the client was sent all of a stream."""
    replayed: bool = False
    """Whether it got the answer of another request."""
    reservation: Any = None
    """Its reservation, until it is settled."""
    span: Any = None
    """Its span, from the first call to a provider on, if spans are enabled."""
    compared: ComparedPrompt | None = None
    """The request beside the one before it, until its answer is there."""
    cache: CacheDiagnosis | None = None
    """Why the prompt cache was hit or missed."""
    leave_pool: Callable[[int], None] | None = None
    """Is called with the tokens used when the request is over, if a pool served it."""
    replaced: list[Exchange] = []
    """Attempts before this one that are paid for as well, each a request of its own in the log."""

    @property
    def attempts(self) -> int:
        return len(self.tries)

    def fail(self, status: int, error: ErrorKind, code: str | None = None) -> None:
        self.status, self.error, self.code = status, error, code

    def left(self) -> None:
        """The client has gone; one that has all of a stream need not wait for its end."""
        if not self.is_sent:
            self.fail(499, ErrorKind.CANCELLED)


class Exchange(msgspec.Struct):
    """One request, from its arrival to the last byte of its answer. Arrival and decision are
    immutable values that are replaced as more becomes known."""

    arrival: Arrival
    decision: Decision = UNDECIDED
    outcome: Outcome = msgspec.field(default_factory=Outcome)


class Recall(msgspec.Struct, frozen=True, eq=False):
    """A request with the remembered data of its conversation, and where to remember its answer."""

    request: Request
    place: MemoryScope | None
    """None: nowhere."""
    prompt: tuple[Message, ...]
    """The messages before the answer, by which it is found again."""
    history: History | None = None
    """The record of the request's messages."""


CODE_HEADER = "x-interlingua-code"


class Refusal(Exception):  # noqa: N818  # it is an answer, not a fault
    """An error response: a status and an error in the client's dialect."""

    is_recorded = False
    """Whether the log has it already."""

    def __init__(
        self,
        status: int,
        kind: ErrorKind,
        message: str,
        code: str | None = None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers if code is None else ((CODE_HEADER, code), *headers)
        self.error = ProviderError(kind, message, code, status)


class Keys(Protocol):
    """Authenticates callers."""

    on_void: Callable[[str], None] | None

    async def find(self, token: str | None) -> Principal:
        """`Refusal` with 401 for a token that opens nothing."""

    async def current(self, principal: Principal, *, looked_up: bool = False) -> Principal:
        """The same principal with the rights its key has now; `Refusal` if the key is void."""

    async def administered(self) -> bool:
        """Whether there is a valid key that administers."""

    def forget(self) -> None:
        """Forget all cached results."""


class Caps(Protocol):
    """Looks after limits of money, requests, tokens and calls at a time."""

    async def reserve(
        self, arrival: Arrival, most: Most, targets: Sequence[Target], *, shortens: bool = False
    ) -> Any:
        """Reserves the cost of the request at the most expensive of its targets; `Refusal` with 429
        if that is too much. With `shortens`, reserves less for a shorter answer."""

    async def settle(self, exchange: Exchange) -> None:
        """Charges the real cost, once, with any outcome."""

    def settle_soon(self, exchange: Exchange) -> None:
        """The same, without waiting until it is written."""

    async def take(
        self, id: str, owner: str, tokens: int, rpm: int | None, tpm: int | None
    ) -> bool:
        """Whether the limits per minute of `owner` allow a request."""

    def give_back(self, id: str, tokens: int) -> None:
        """The same request is over."""


class Memory(Protocol):
    """Stores data that a provider needs again and the client's dialect cannot represent."""

    async def put_back(
        self,
        request: Request,
        arrival: Arrival,
        target: Target,
        conversation: Conversation | None = None,
    ) -> Recall: ...

    async def keep(self, response: Response, arrival: Arrival, recall: Recall) -> None:
        """Durable when it returns: the client may send its next turn at once."""


class Responses(Protocol):
    """Answers that are stored for clients of APIs that store them."""

    async def expand(self, request: Request, arrival: Arrival) -> Request:
        """The request with the history that it continues; `Refusal` if that does not exist."""

    async def items(self, id: str, arrival: Arrival) -> list[Any]:
        """The conversation up to a stored response, as input items of the Responses API."""

    async def keep(
        self, request: Request, response: Response, arrival: Arrival, source: str
    ) -> bool:
        """Durable when it returns; False if it was not to be stored. `source` is the dialect that
        the response was read from."""

    async def require_own(self, ids: Sequence[str], arrival: Arrival) -> None:
        """`Refusal` if one of these ids at a provider belongs to another tenant."""

    def note(self, ids: Iterable[str], principal: Principal, deployment: str = "") -> None:
        """Record that a provider stores these for the principal, and at which deployment."""

    async def deployment(self, id: str, principal: Principal) -> str:
        """The label of the deployment that has this one; "" if none is known."""


class Trace(Protocol):
    """Called with every exchange once, when it is over."""

    spans: Any
    """Makes a span of each request; None if spans are not enabled."""

    def headers(self, exchange: Exchange, incoming: Mapping[bytes, bytes]) -> dict[str, str]:
        """Trace-context headers for the provider."""

    def finished(self, exchange: Exchange) -> None: ...


class NoCaps:
    """No limits."""

    async def reserve(
        self, arrival: Arrival, most: Most, targets: Sequence[Target], *, shortens: bool = False
    ) -> Any:
        return None

    async def settle(self, exchange: Exchange) -> None:
        return None

    def settle_soon(self, exchange: Exchange) -> None:
        return None

    async def take(
        self, id: str, owner: str, tokens: int, rpm: int | None, tpm: int | None
    ) -> bool:
        return True

    def give_back(self, id: str, tokens: int) -> None:
        return None


class NoKeys:
    """Everyone may enter: for loopback alone."""

    on_void: Callable[[str], None] | None = None

    async def find(self, token: str | None) -> Principal:
        return ANONYMOUS

    async def current(self, principal: Principal, *, looked_up: bool = False) -> Principal:
        return principal

    async def administered(self) -> bool:
        return False

    def forget(self) -> None:
        """There is nothing to forget."""


class NoMemory:
    """No memory."""

    async def put_back(
        self,
        request: Request,
        arrival: Arrival,
        target: Target,
        conversation: Conversation | None = None,
    ) -> Recall:
        return Recall(request, None, (), conversation)

    async def keep(self, response: Response, arrival: Arrival, recall: Recall) -> None:
        return None


class NoTrace:
    """Ignores everything."""

    spans = None

    def headers(self, exchange: Exchange, incoming: Mapping[bytes, bytes]) -> dict[str, str]:
        return trace_headers(incoming)

    def finished(self, exchange: Exchange) -> None:
        return None
