"""A provider as a value: its address, endpoints and credentials.

Nothing here does anything; `endpoint.py` makes addresses of it, `credentials.py` finds keys.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Literal, NoReturn, Self

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.profiles.profile import Overlay


class ProviderSetupError(InterlinguaError):
    """A provider cannot be used as it is set up."""

    def __init__(self, provider: str, problem: str) -> None:
        self.provider = provider
        self.problem = problem
        super().__init__(f"provider {provider!r}: {problem}")


class UnknownProviderError(ProviderSetupError):
    """No provider of this name in the package or in the user's file."""

    def __init__(self, provider: str, known: Iterable[str], file: str | None = None) -> None:
        self.known = list(known)
        self.near = get_close_matches(provider, self.known, n=3)
        hint = f"; near: {', '.join(self.near)}" if self.near else ""
        where = f" or in {file}" if file else ""
        super().__init__(provider, f"not in the package{where}{hint}")


class MissingSettingError(ProviderSetupError):
    """A missing setting. `variables` were tried in this order, then the `file`. `ways` are
    variables that are enough, where some are needed together."""

    def __init__(
        self,
        provider: str,
        what: str,
        variables: Iterable[str],
        file: str | None,
        field: str,
        ways: Iterable[str] = (),
    ) -> None:
        self.what = what
        self.variables = list(variables)
        self.file = file
        self.field = field
        self.ways = list(ways) or self.variables
        advice = [f"set {' or '.join(self.ways)}"] if self.ways else []
        advice.append(f"write {field} in [providers.{provider}] of {file or 'the providers file'}")
        super().__init__(provider, f"no {what}: {', or '.join(advice)}")


class ProvidersFileError(InterlinguaError):
    """The user's file of providers cannot be read. `line` is None if it is unknown."""

    def __init__(self, file: str, problem: str, field: str | None, line: int | None) -> None:
        self.file = file
        self.problem = problem
        self.field = field
        self.line = line
        place = f", line {line}" if line is not None else ""
        place += f", at {field}" if field else ""
        super().__init__(f"{file}{place}: {problem}")


HIDDEN = "***"


class Secret:
    """Wraps a key or a token. `reveal()` is the one way to its text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __format__(self, spec: str) -> str:
        return format(HIDDEN, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled: it would be readable in the bytes")


Style = Literal[
    "bearer", "x-api-key", "x-goog-api-key", "api-key", "query", "aws-sigv4", "google-token", "none"
]
"""How a request carries the key. `query` puts it in the URL as `key=`."""

Kind = Literal["request", "count_tokens", "models"]
"""The kind of a call to a provider; a streamed request is a request with `stream`."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of the values here."""


class Auth(Part, frozen=True):
    """One way to authenticate, and the variables that may hold its key."""

    style: Style
    env: tuple[str, ...] = ()
    optional: bool = False
    """Without a key, send requests without one."""


class Variable(Part, frozen=True):
    """A part of an address that differs between users, as a region."""

    env: tuple[str, ...] = ()
    default: str | None = None


class Paths(Part, frozen=True):
    """The paths of one dialect. `{model}` stands for the model, other placeholders for
    variables."""

    request: str
    stream: str | None = None
    """None: the same place as without a stream."""
    count_tokens: str | None = None
    model_in_body: bool = True
    """False: the address has the model, and the body may not."""
    body: dict[str, Any] = {}
    """Members of every request's body beside those of the dialect."""
    stream_in_body: bool = True
    """False: the address decides whether to stream, and the body may not."""
    models: tuple[str, ...] = ()
    """Patterns of the models that these paths serve; none: all."""
    older: str | None = None
    """The path for bodies of an older version of the dialect, without `messages`."""
    framing: Literal["aws"] | None = None
    """The framing of its streams, if it is not the dialect's usual one."""


EmbeddingForm = Literal[
    "openai",
    "mistral",
    "gemini",
    "vertex",
    "vertex-content",
    "cohere",
    "ollama",
    "titan",
    "titan-v1",
    "bedrock-cohere",
]


class EmbeddingPath(Part, frozen=True):
    """The path and form of a provider's embeddings (`adapt/embeddings`)."""

    path: str
    form: EmbeddingForm = "openai"
    models: tuple[str, ...] = ()
    """Patterns of the models that it serves; empty: all."""


class DecisionPath(Part, frozen=True):
    """The path and form of a provider's decisions (`adapt/decisions`)."""

    path: str
    form: Literal["openai", "gemini", "systemone", "openrouter", "vercel"] = "openai"
    models: tuple[str, ...] = ()
    """Patterns of the models that it serves; empty: all."""


class RegionalHosts(Part, frozen=True):
    """Base addresses for some values of a variable: Vertex has other hosts for wide regions."""

    variable: str
    urls: dict[str, str]


class ToolIds(Part, frozen=True):
    """The tool ids that a server accepts; `alphabet` is a character class: `[a-zA-Z0-9_-]`."""

    alphabet: str
    shortest: int = 1
    longest: int = 64


class Switches(Part, frozen=True):
    """How a server of the dialect `openai-chat` differs from its `host`, or from OpenAI.

    None is as at the host; an empty text is a key that the server does not have."""

    host: str | None = None
    """Its name in the tables of the dialect `openai-chat`."""
    ids: ToolIds | None = None
    """The tool ids that it accepts; others are replaced."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The key for the longest answer."""
    exact_limit_key: bool | None = None
    """Takes no other key for the longest answer; the default where `max_tokens` is set."""
    seed: str | None = None
    """The key for the seed."""
    user: str | None = None
    """The key for the end user's id."""
    developer: bool = True
    """Whether it accepts the role developer; otherwise system is sent."""
    thinking: str | None = None
    """The place of thinking in a message: a key, or `content` for chunks among the text."""
    replay: Literal["never", "calls", "always", "own"] | None = None
    """When thinking is sent back: never, with tool calls, always, or only the server's own."""
    switch: str | None = None
    """The key that turns thinking on and off, where it is not done by the effort."""
    stream_usage: bool = False
    """Whether it sends token counts in a stream only if `stream_options` requests them."""
    custom_tools: bool | None = None
    """Has tools that take free text; without them they are sent as functions."""


class Timeouts(Part, frozen=True):
    """In seconds."""

    connect: float = 10.0
    first_byte: float = 300.0
    """Until the answer begins. Models that think are silent for minutes."""
    idle: float = 120.0
    """Between two pieces of a stream."""
    total: float = 600.0
    """For an answer without a stream."""


class Provider(Part, frozen=True):
    """A service that serves models. `source` is the user's file if it defines or changes the
    provider."""

    key: str
    auth: tuple[Auth, ...]
    dialect: str
    dialects: dict[str, Paths]
    base_url: str | None = None
    base_url_env: tuple[str, ...] = ()
    elsewhere: RegionalHosts | None = None
    models: str | None = None
    """The path of the list of models."""
    embeddings: tuple[EmbeddingPath, ...] = ()
    """Its embeddings; empty: beside chat, as at OpenAI."""
    batches: Literal["openai", "anthropic", "mistral", "gemini"] | None = None
    """The API of its batches; None: none that a gateway can use."""
    decisions: tuple[DecisionPath, ...] = ()
    """Its decisions; chat models make those of all other models."""
    headers: dict[str, str] = {}
    variables: dict[str, Variable] = {}
    dialect_of: dict[str, str] = {}
    """Patterns of model names that use another dialect than the default."""
    switches: Switches = Switches()
    timeouts: Timeouts = Timeouts()
    profile: Overlay | None = None
    """Rules for all of its models, laid over those of single models."""
    insecure: bool = False
    """Send the key over plain http to other machines too."""
    credentials: Literal["adc", "aws", "client"] | None = None
    """The source of its credentials if it is not a variable: Google's application default
    credentials, those of AWS, or each client of the gateway."""
    aws_profile: str | None = None
    """The profile in the files of AWS; None: the one in `AWS_PROFILE`."""
    api_key: Secret | None = None
    source: str | None = None
