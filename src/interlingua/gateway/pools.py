"""Pools: requests of one route, spread over several deployments of models.

The member of a route for a request is chosen without any I/O: by weights, by this process's record
of each member, and so that a conversation stays where its prompt cache is. Limits of requests and
tokens per minute are counted in the store, since all processes share them.
"""

from __future__ import annotations

import hashlib
import logging
import math
import random
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import msgspec

from interlingua.adapt.caching import Caching
from interlingua.client.errors import CallError
from interlingua.client.targets import Target
from interlingua.gateway.settings import PoolMember, Strategy
from interlingua.model.exchange import ErrorKind
from interlingua.providers.provider import Auth, Provider, Timeouts

logger = logging.getLogger(__name__)

COOLING = frozenset(
    {ErrorKind.RATE_LIMIT, ErrorKind.SERVER_ERROR, ErrorKind.NETWORK, ErrorKind.AUTH}
)
"""Failures of a deployment, not of a request: others are used for a while."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0
"""Seconds that a member rests after a failure; doubled with every further one."""
LONGEST_ASKED = 3600.0
"""The most seconds for which a member is skipped because of its `retry-after`."""
MEMORY = 10_000
"""Conversations whose member is remembered."""
WINDOW = 60.0
_SMOOTHING = 0.2
"""Weight of the newest latency in the average."""


class Health(msgspec.Struct, eq=False):
    """This process's record of a deployment."""

    in_flight: int = 0
    latency: float | None = None
    """Average seconds until an answer began; None: not used yet."""
    measured_at: float = 0.0
    failures: int = 0
    """In a row."""
    rests_until: float = 0.0
    used: deque[tuple[float, int]] = msgspec.field(default_factory=deque)
    """When how many tokens were used, in the last minute."""
    total: int = 0
    """All of these tokens."""

    def tokens(self, now: float) -> int:
        """Tokens of the last minute."""
        self._forget(now)
        return self.total

    def seconds(self, now: float) -> float:
        """The expected latency. One request at a time measures it again if it is unknown or a
        minute old, because a slow member may have recovered."""
        is_old = self.latency is None or self.measured_at <= now - WINDOW
        if is_old and not self.in_flight:
            return 0.0
        return math.inf if self.latency is None else self.latency

    def use(self, now: float, tokens: int) -> None:
        self._forget(now)
        self.used.append((now, tokens))
        self.total += tokens

    def _forget(self, now: float) -> None:
        while self.used and self.used[0][0] <= now - WINDOW:
            self.total -= self.used.popleft()[1]


class PoolState:
    """This process's records of the deployments of a route, for all dialects."""

    def __init__(self) -> None:
        self.health: dict[str, Health] = {}
        self.remembered: OrderedDict[str, str] = OrderedDict()
        """Conversations, and the label of the member that answered last."""


class Member(msgspec.Struct, frozen=True, eq=False):
    """One deployment of a pool."""

    target: Target
    weight: float = 1.0
    rpm: int | None = None
    tpm: int | None = None

    @property
    def label(self) -> str:
        return self.target.label

    def with_caching(self, caching: Caching) -> Member:
        """The same in another mode of prompt caching."""
        return msgspec.structs.replace(self, target=self.target.with_caching(caching))

    @property
    def owner(self) -> str:
        """The owner of its limits: the same key and address in every route."""
        provider = self.target.provider
        variables = [name for auth in provider.auth for name in auth.env]
        return f"deployment:{self.target.model} {','.join(variables)} {provider.base_url or ''}"


class Pool:
    """The members of a route. `order` lists the members to ask, best first; `failed`, `answered`
    and `finished` are called with the outcome."""

    def __init__(
        self,
        members: Iterable[Member],
        strategy: Strategy = "weighted",
        sticky: bool = True,
        state: PoolState | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.members = {each.label: each for each in members}
        state = PoolState() if state is None else state
        self._health = {label: state.health.setdefault(label, Health()) for label in self.members}
        self._remembered = state.remembered
        self._strategy = strategy
        self._sticky = sticky
        self._clock = clock
        self._chance = chance

    def order(self, key: str | None = None) -> list[Member]:
        """All members, the preferred one first and skipped ones last. `key` names the conversation;
        without one, the request is placed on its own."""
        now = self._clock()
        health, members = self._health, self.members.values()
        ready = [each for each in members if health[each.label].rests_until <= now]
        resting = [each for each in members if health[each.label].rests_until > now]
        key = key if self._sticky else None
        place = key or str(self._chance())
        ready.sort(key=lambda each: _score(place, each), reverse=True)
        if self._strategy != "weighted":
            ready.sort(key=lambda each: self._load(each, now))
        label = self._remembered.get(key) if key else None
        if label is not None:
            ready.sort(key=lambda each: each.label != label)
        return ready + sorted(resting, key=lambda each: health[each.label].rests_until)

    def rests(self, label: str) -> bool:
        """Whether it failed, and is not to be used yet."""
        return self._health[label].rests_until > self._clock()

    def _load(self, member: Member, now: float) -> float:
        health = self._health[member.label]
        if self._strategy == "latency":
            return health.seconds(now)
        if self._strategy == "least_busy":
            return health.in_flight / member.weight
        return (health.tokens(now) + health.in_flight * self._usual_tokens()) / member.weight

    def _usual_tokens(self) -> float:
        """Tokens to expect of a request under way: the average of the last minute."""
        every = self._health.values()
        count = sum([len(each.used) for each in every])
        return sum([each.total for each in every]) / count if count else 1.0

    def remember(self, names: Iterable[str], label: str) -> None:
        """Later requests under these names go to the same member."""
        if not self._sticky:
            return
        for name in names:
            self._remembered[name] = label
            self._remembered.move_to_end(name)
        while len(self._remembered) > MEMORY:
            self._remembered.popitem(last=False)

    def begin(self, label: str) -> float:
        """The member is called; returns the time."""
        self._health[label].in_flight += 1
        return self._clock()

    def answered(self, label: str, begun: float) -> None:
        """It began to answer."""
        health, now = self._health[label], self._clock()
        known, seconds = health.latency, now - begun
        if known is not None and health.measured_at > now - WINDOW:
            seconds = known + _SMOOTHING * (seconds - known)
        health.latency, health.measured_at = seconds, now
        health.failures, health.rests_until = 0, 0.0

    def failed(self, label: str, error: CallError) -> None:
        """Records a failure; if it is the member's own, it is skipped for as long as it
        requests."""
        if error.kind not in COOLING:
            return
        health = self._health[label]
        if error.retry_after is None and health.rests_until > self._clock():
            return  # it rests already: this one was asked before
        pause = min(FIRST_PAUSE * 2.0 ** min(health.failures, 10), LONGEST_PAUSE)
        if error.retry_after is not None:
            pause = min(error.retry_after, LONGEST_ASKED)
        health.failures += 1
        self.rest(label, pause, error.kind)

    def rest(self, label: str, seconds: float, why: ErrorKind) -> None:
        """Ask others for so long."""
        self._health[label].rests_until = self._clock() + seconds
        extra = {"deployment": label, "seconds": round(seconds, 3), "why": why.value}
        logger.warning("deployment_cooldown", extra=extra)

    def finished(self, label: str, tokens: int) -> None:
        """The request is over."""
        health = self._health[label]
        health.in_flight -= 1
        if tokens:
            health.use(self._clock(), tokens)


def _score(key: str, member: Member) -> float:
    """Weighted rendezvous hashing: the highest score wins. Every process maps a key to the same
    member, shares follow the weights, and a removed member moves only its own keys."""
    digest = hashlib.blake2b(f"{key}\0{member.label}".encode(), digest_size=8).digest()
    part = (int.from_bytes(digest) + 1) / (2**64 + 2)
    return -member.weight / math.log(part)


class _Turn(msgspec.Struct):
    role: str | None = None


class _Metadata(msgspec.Struct):
    user_id: str | None = None


_list = msgspec.json.Decoder(list[msgspec.Raw]).decode
_turn = msgspec.json.Decoder(_Turn).decode
_metadata = msgspec.json.Decoder(_Metadata).decode
_NAMES = (
    *("prompt_cache_key", "previous_response_id", "previous_interaction_id", "conversation"),
    *("user", "safety_identifier"),
)
_HISTORIES = ("messages", "contents", "input")
_ASKING = frozenset({"system", "developer", "user"})


class ConversationName(NamedTuple):
    """The conversation of a request. `is_first`: it has no answer yet and is only identified by its
    beginning, which other conversations may share."""

    name: str
    is_first: bool = False


def conversation_of(
    members: Mapping[str, msgspec.Raw], tenant: str | None
) -> ConversationName | None:
    """The conversation of a request, known by its members; None if nothing names it."""
    for name in _NAMES:
        if name in members and bytes(members[name]) != b"null":
            return ConversationName(f"{tenant}\0{_digest(bytes(members[name]))}")
    try:
        if "metadata" in members and (user := _metadata(members["metadata"]).user_id):
            return ConversationName(f"{tenant}\0{_digest(user.encode())}")
    except (msgspec.DecodeError, UnicodeError):
        pass
    for name in _HISTORIES:
        if name in members:
            return _by_history(bytes(members[name]), tenant)
    return None


def response_key(tenant: str | None, response_id: str) -> str:
    """The name of the conversation that a stored answer belongs to."""
    return f"{tenant}\0{_digest(msgspec.json.encode(response_id))}"


def _by_history(history: bytes, tenant: str | None) -> ConversationName | None:
    try:
        turns = _list(history)
        roles = [_turn(turn).role for turn in turns]
    except (msgspec.DecodeError, UnicodeError):
        return ConversationName(f"{tenant}\0{_digest(history)}", True)
    asked = next((at for at, role in enumerate(roles) if role == "user"), None)
    if asked is None:
        return None
    beginning = b"\0".join([bytes(turn) for turn in turns[: asked + 1]])
    return ConversationName(
        f"{tenant}\0{_digest(beginning)}", all(role in _ASKING for role in roles)
    )


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


# -- members from settings ------------------------------------------------------------------------


def members_of(
    pool: Iterable[tuple[PoolMember, Target]],
    keys: Mapping[str, tuple[str, ...]],
    timeout: float | None = None,
    first_byte_timeout: float | None = None,
) -> list[Member]:
    """The deployments of a pool: one for each key of a provider that has several, unless the
    member names its own."""
    made: list[Member] = []
    for settings, target in pool:
        provider = with_timeouts(target.provider, timeout, first_byte_timeout)
        own = (settings.key,) if settings.key else keys.get(provider.key) or (None,)
        for key in own:
            deployment = _deployment(provider, key, settings.base_url)
            number = sum(each.target.model == target.model for each in made) + 1
            name = str(number) if key or settings.base_url or number > 1 else ""
            weight = settings.weight / len(own)
            member = target.deployed(name, deployment)
            made.append(Member(member, weight, settings.rpm, settings.tpm))
    return made


def with_timeouts(provider: Provider, total: float | None, first: float | None) -> Provider:
    """The provider with the timeouts of a route; a stream may not pause for longer than a whole
    answer may take."""
    if total is None and first is None:
        return provider
    usual = provider.timeouts
    timeouts = msgspec.structs.replace(
        usual,
        total=total or usual.total,
        idle=min(total or usual.idle, usual.idle),
        first_byte=first or usual.first_byte,
    )
    assert isinstance(timeouts, Timeouts)
    return msgspec.structs.replace(provider, timeouts=timeouts)


def _deployment(provider: Provider, key: str | None, base_url: str | None) -> Provider:
    """The provider with another key or address."""
    changes: dict[str, object] = {}
    if key is not None:
        style = provider.auth[0].style if provider.auth else "bearer"
        variable = key.removeprefix("env:")
        changes.update(auth=(Auth(style=style, env=(variable,)),), api_key=None, credentials=None)
    if base_url is not None:
        changes.update(base_url=base_url, base_url_env=(), elsewhere=None)
    return msgspec.structs.replace(provider, **changes) if changes else provider
