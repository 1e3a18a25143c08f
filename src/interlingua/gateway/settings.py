"""Settings of a gateway: limits and paths, with defaults that suit one machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, get_args

from interlingua.adapt.caching import Caching
from interlingua.client.retry import RETRYABLE, RetryPolicy
from interlingua.model.exchange import ErrorKind


@dataclass(frozen=True)
class Limits:
    """Bytes and seconds."""

    body: int = 32 * 1024 * 1024
    """Bytes of a request's body."""
    upload: int = 200 * 1024 * 1024
    """Bytes of a form with a file."""
    answer: int = 64 * 1024 * 1024
    headers: int = 64 * 1024
    """Bytes of a request's headers, all together."""
    header_seconds: float = 10.0
    """For a request's headers to arrive."""
    body_seconds: float = 30.0
    """For a request to arrive whole."""
    first_event: float = 10.0
    """Seconds to wait for the beginning of a stream before the client gets its headers; a
    failure before that is a plain error with its own status."""
    keep_alive: float = 15.0
    """Between two signs of life while upstream is silent."""
    stalled: float = 60.0
    """Seconds that a client may stop reading its stream."""
    connections: int = 4096
    """Connections at a time, in one worker; more are refused with a retry time."""
    open_requests: int = 512
    """Open requests and streams of one key in one worker; fewer if the system allows few open
    files, so that no key holds all connections."""
    conversations: int = 64 * 1024 * 1024
    """Memory of one worker for conversations, in bytes, so that each turn converts only what is
    new; 0 remembers nothing."""


Strategy = Literal["weighted", "least_busy", "latency", "usage"]


@dataclass(frozen=True)
class PoolMember:
    """One deployment in a route's pool: a model with a key, an address and limits of its own."""

    model: str
    weight: float = 1.0
    """Its share of the requests, relative to the other members."""
    key: str | None = None
    """`env:NAME`, the variable with its key; None: the provider's own keys."""
    base_url: str | None = None
    rpm: int | None = None
    """Requests per minute, over all processes that share the store."""
    tpm: int | None = None
    """Tokens per minute, likewise."""


@dataclass(frozen=True)
class ProviderSettings:
    """Settings of one provider."""

    keys: tuple[str, ...] = ()
    """Variables with several keys, each as `env:NAME`; requests are spread over them."""
    credentials: Literal["adc", "aws", "client"] | None = None
    """The source of its credentials instead of keys: Google's application default credentials,
    those of AWS, or each client, whose own key is passed on."""
    aws_profile: str | None = None
    """The profile of AWS."""


Redaction = Literal["off", "replace", "restore"]
REDACTIONS: tuple[str, ...] = get_args(Redaction)
COMPACT = "compact"
"""The value of `RouteSettings.overflow` that compacts the conversation."""


@dataclass(frozen=True)
class RouteSettings:
    """One name that clients may use for a model, and the models to ask when it fails. A name
    that ends in `*` is a wildcard: a `*` in its models is replaced by the client's name."""

    model: str
    """The first of `models`, where there are several."""
    fallbacks: tuple[str, ...] = ()
    dialect: str | None = None
    passthrough: bool = False
    """Bodies in the model's own dialect are passed on unchanged, even if the model rejects parts
    of them."""
    fetch_media: bool | None = None
    """Overrides the field of `Settings`."""
    caching: Caching | None = None
    """Overrides the field of `Settings`."""
    overflow: str | None = None
    """What to do if a conversation is longer than the model accepts: `compact`, or a larger model
    to use; None: the client gets the error."""

    on_break: Literal["error", "continue"] = "error"
    """The reaction to a stream that breaks off after its first byte."""
    models: tuple[PoolMember, ...] = ()
    """The pool that requests are spread over; fallbacks follow when it is exhausted."""
    strategy: Strategy = "weighted"
    """How a member is chosen for a new conversation."""
    sticky: bool = True
    """Whether requests of one conversation stay with one member, so that prompt caches are used."""
    retries: int | None = None
    """Retries of one model; None: as in `[retry]`."""
    timeout: float | None = None
    """Seconds for one attempt that is answered whole."""
    first_byte_timeout: float | None = None
    """Seconds until a stream begins, for one attempt."""
    deadline: float | None = None
    """Seconds for the whole request, with all attempts, until the answer begins to arrive."""

    default_max_tokens: int | None = None
    """Output tokens of a request that names no limit."""
    max_max_tokens: int | None = None
    """Output tokens of any request, at most; higher limits are lowered."""

    @property
    def larger(self) -> tuple[str, ...]:
        """The model for conversations that are too long for the others."""
        return () if self.overflow in (None, COMPACT) else (str(self.overflow),)


@dataclass(frozen=True)
class Listen:
    """The gateway's address, and its shutdown."""

    host: str = "127.0.0.1"
    port: int = 8400
    workers: int = 1
    hosts: tuple[str, ...] = ()
    """Host names of the gateway, besides those of this machine."""
    origins: tuple[str, ...] = ()
    """Web pages that may ask; none, unless they are named."""
    notice_seconds: float = 1.0
    """Seconds after a signal to end in which requests are still accepted, while `/health/ready`
    fails."""
    drain_seconds: float = 30.0
    """Seconds that requests under way may take to end by themselves."""


@dataclass(frozen=True)
class Tasks:
    """Agents that run here."""

    folders: tuple[str, ...] = ()
    """The folders of tasks, with everything below; any folder if none are named."""
    servers: str | None = None
    """The file of MCP servers; None: `mcp.json` in the configuration folder, which `chat` has too;
    an empty text: none."""
    confirm_seconds: float = 300.0
    """Seconds to confirm a tool; after that it is denied."""
    rounds: int = 40
    """Rounds of tools in one turn, after which the model has to answer without them."""
    delegate: bool = False
    """Whether tasks may ask for the tool that hands work to workers."""
    delegate_models: tuple[str, ...] | None = None
    """Models that workers may have; any that the key may use, unless some are named."""
    delegate_budget_usd: float | None = None
    """The most that one worker may cost."""
    delegate_turns: int = 10
    """Requests to a worker's model."""
    delegate_depth: int = 2
    """Workers below one another."""
    delegate_workers: int = 20
    """Workers of one turn."""


@dataclass(frozen=True)
class Telemetry:
    """Telemetry that leaves the gateway. It never has message content or secrets."""

    trace: bool = True
    """Events in the store."""
    metrics: bool = True
    spans: bool = False
    """OpenTelemetry, sent where the usual `OTEL_…` variables point; needs the extra `otel`."""
    log: Literal["auto", "json", "text"] = "auto"
    """One JSON object per line, or text for people; `auto` looks whether a person is watching."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_requests: bool = False
    """Whether to log every request, not only failed ones."""
    loss_seconds: float = 3600.0
    """Seconds for which a loss report can be fetched."""


@dataclass(frozen=True)
class Compaction:
    """Summaries that the gateway has a model write in place of a long conversation."""

    model: str | None = None
    """The model that writes them; None: the model of the conversation."""
    summary_tokens: int = 8192
    """The most tokens of one summary."""


@dataclass(frozen=True)
class AlertSettings:
    """A webhook for caps, failing providers and store errors."""

    url: str = ""
    """The address of alerts; none are sent without it."""
    secret: str = "env:INTERLINGUA_ALERT_SECRET"
    """The variable with the secret that signs them."""


@dataclass(frozen=True)
class BatchSettings:
    """Settings of batches."""

    at_provider: bool = False
    """Whether a batch whose requests are all for one provider that has batches is handed over to
    it, at its price and in its time."""


@dataclass(frozen=True)
class Retention:
    """Days after which things are deleted from the store, how many of the newest rows stay, and
    about how many bytes of them; 0 is no limit."""

    requests: float = 90.0
    """Rows of the request log."""
    losses: float = 90.0
    """Reports of losses."""
    events: float = 30.0
    """Events of the gateway; those of a session are deleted with it."""
    answers: float = 1.0
    """Answers that clients can ask for again with an `Idempotency-Key`."""
    request_rows: int = 10_000_000
    loss_rows: int = 1_000_000
    event_rows: int = 10_000_000
    request_bytes: int = 0
    loss_bytes: int = 0
    event_bytes: int = 0


WILDCARD = "*"


def route_name(routes: Mapping[str, RouteSettings], name: str) -> str | None:
    """The route that a client's name means: the one of exactly this name, else the wildcard with
    the longest beginning that fits."""
    if name in routes:
        return name
    wildcards = [each for each in routes if each.endswith(WILDCARD)]
    fitting = [each for each in wildcards if name.startswith(each.removesuffix(WILDCARD))]
    return max(fitting, key=len, default=None)


def find_route(routes: Mapping[str, RouteSettings], name: str) -> RouteSettings | None:
    """The route with its models. After a namespace (`team/*`, `a:*`), a `*` in them stands for the
    rest of the client's name; after any other prefix (`gpt-*`), for the whole name."""
    found = route_name(routes, name)
    if found is None or not found.endswith(WILDCARD):
        return routes.get(name)
    beginning = found.removesuffix(WILDCARD)
    part = name.removeprefix(beginning) if beginning.endswith(("/", ":")) else name
    route = routes[found]
    fallbacks = tuple([model.replace(WILDCARD, part) for model in route.fallbacks])
    pool = tuple([replace(each, model=each.model.replace(WILDCARD, part)) for each in route.models])
    model = route.model.replace(WILDCARD, part)
    return replace(route, model=model, fallbacks=fallbacks, models=pool)


@dataclass(frozen=True)
class Settings:
    """`routes` are names of the gateway's own; any `<provider>:<name>` works without one."""

    routes: Mapping[str, RouteSettings] = field(default_factory=dict)
    providers: Mapping[str, ProviderSettings] = field(default_factory=dict)
    """Providers with several keys."""
    default_model: str | None = None
    """The model for requests without a known one; None: an error."""
    limits: Limits = field(default_factory=Limits)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    fallback_on: frozenset[ErrorKind] = RETRYABLE
    repair: bool = True
    """A request that is refused for one harmless parameter is sent once more without it."""
    fetch_media: bool = False
    """Media at an address is fetched for models that take none by URL."""
    caching: Caching = "auto"
    """Whether cache breakpoints and keys are added where a request has none (`auto`), passed on
    unchanged (`pass`) or dropped (`off`); keys and single requests may have another mode."""
    redaction: Redaction = "off"
    """Whether secrets and personal data are replaced on the way to providers (`replace`), and
    put back into answers (`restore`); keys may have another mode."""
    transcripts: bool = True
    """Whether a gateway without keys shows the sessions of coding agents on this machine."""
    raises: bool = False
    """For tests: internal errors are raised after the client has its answer."""
    listen: Listen = field(default_factory=Listen)
    telemetry: Telemetry = field(default_factory=Telemetry)
    tasks: Tasks = field(default_factory=Tasks)
    retention: Retention = field(default_factory=Retention)
    compaction: Compaction = field(default_factory=Compaction)
    batches: BatchSettings = field(default_factory=BatchSettings)
    alerts: AlertSettings = field(default_factory=AlertSettings)
    store: str | None = None
    """The address of the store; None: that of `INTERLINGUA_STORE`, else the file in the user's data
    folder."""
    providers_file: Path | None = None
    """The user's own providers; None: the file in the configuration folder, if there is one."""
    path: Path | None = None
    """The file that all this was read from."""
