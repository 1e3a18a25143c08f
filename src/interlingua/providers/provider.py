"""A provider as a value: where it is, how it wants to be asked, and who may ask.

Nothing here does anything; `endpoint.py` makes addresses of it, `credentials.py` finds keys.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from interlingua.models.profile import Overlay
from interlingua.providers.secret import Secret

Style = Literal[
    "bearer",
    "x-api-key",
    "x-goog-api-key",
    "api-key",
    "query",
    "aws-sigv4",
    "google-token",
    "none",
]
"""How a request says who is asking. `query` puts the key in the address as `key=`."""

Kind = Literal["request", "count_tokens", "models"]
"""What is asked of a provider; a streamed request is a request with `stream`."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of the values here."""


class Auth(Part, frozen=True):
    """One way to say who is asking, and the variables its key is looked for in."""

    style: Style
    env: tuple[str, ...] = ()
    optional: bool = False
    """Without a key, ask without one."""


class Variable(Part, frozen=True):
    """A part of an address that differs between users, as a region."""

    env: tuple[str, ...] = ()
    default: str | None = None


class Paths(Part, frozen=True):
    """Where one dialect is spoken. `{model}` stands for the model, other names for variables."""

    request: str
    stream: str | None = None
    """None: the same place as without a stream."""
    count_tokens: str | None = None
    model_in_body: bool = True
    """False: the address says the model, and the body may not."""
    body: dict[str, Any] = {}
    """What every request's body has beside what the dialect writes."""
    stream_in_body: bool = True
    """False: the address says whether to stream, and the body may not."""
    models: tuple[str, ...] = ()
    """Patterns of the models that are spoken to like this; none: all."""
    framing: Literal["aws"] | None = None
    """How its streams are framed, where that is not the dialect's own way."""


class RegionalHosts(Part, frozen=True):
    """Base addresses for some values of a variable: Vertex has other hosts for wide regions."""

    variable: str
    urls: dict[str, str]


class Switches(Part, frozen=True):
    """Where a server that speaks `openai-chat` differs from OpenAI's own."""

    host: str | None = None
    """Its name in the tables of the dialect `openai-chat`, which knows its words."""
    stream_usage: bool = False
    """Tells token counts in a stream only when asked with `stream_options`."""
    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The word for the longest answer, where it is another than the host's."""
    developer: bool = True
    """Knows the role developer; else it is sent as system."""


class Timeouts(Part, frozen=True):
    """In seconds."""

    connect: float = 10.0
    first_byte: float = 300.0
    """Until the answer begins. Models that think say nothing for minutes."""
    idle: float = 120.0
    """Between two pieces of a stream."""
    total: float = 600.0
    """For an answer without a stream."""


class Provider(Part, frozen=True):
    """Somebody who serves models. `source` is the user's file where that has a say in it."""

    key: str
    auth: tuple[Auth, ...]
    dialect: str
    dialects: dict[str, Paths]
    base_url: str | None = None
    base_url_env: tuple[str, ...] = ()
    elsewhere: RegionalHosts | None = None
    models: str | None = None
    """The path of the list of models."""
    headers: dict[str, str] = {}
    variables: dict[str, Variable] = {}
    dialect_of: dict[str, str] = {}
    """Patterns of model names that are spoken to in another dialect than the default."""
    switches: Switches = Switches()
    timeouts: Timeouts = Timeouts()
    profile: Overlay | None = None
    """What all of its models take, laid over the rules for them."""
    insecure: bool = False
    """Send the key over plain http to other machines too."""
    api_key: Secret | None = None
    source: str | None = None
