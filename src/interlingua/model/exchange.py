"""One generation: everything that is sent for it, and what comes back."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from msgspec.structs import force_setattr

from interlingua.model.base import JsonObject, Raw, Value, check_words, plain_members
from interlingua.model.blocks import Cache
from interlingua.model.message import EFFORTS as EFFORTS
from interlingua.model.message import Effort as Effort
from interlingua.model.message import Message, convert_words
from interlingua.model.message import ResponseFormat as ResponseFormat
from interlingua.model.tools import ToolDefinition

ReasoningMode = Literal["on", "off", "adaptive", "between_tools"]


class ToolChoice(Value, frozen=True):
    """`auto`, `none`, or `any` (some tool must be called); `names` narrows it to some tools."""

    mode: Literal["auto", "none", "any"] = "auto"
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        word: object = self.mode
        if isinstance(word, str) and word not in ("auto", "none", "any"):
            mode = CHOICES.get(word) or (self.names and word in _ONE_TOOL and "any")
            force_setattr(self, "mode", mode or word)
        check_words(self)


CHOICES: dict[str, Literal["auto", "none", "any"]] = {
    "auto": "auto",
    "none": "none",
    "any": "any",
    "required": "any",
    "AUTO": "auto",
    "NONE": "none",
    "ANY": "any",
    "REQUIRED": "any",
}
"""The words of all vendors: OpenAI has `required`, Gemini and Cohere write upper case."""
_ONE_TOOL = frozenset({"tool", "function"})
"""What Anthropic and OpenAI call the choice of one tool, which has its name beside it."""


class Reasoning(Value, frozen=True):
    """How to think. An empty one asks for thinking, and no more.

    Each setting has one form: the effort `none` is `mode="off"`, and `on` beside an effort or a
    budget, which mean the same, is left out."""

    effort: Effort | None = None
    budget_tokens: int | None = None
    visible: bool | None = None
    """Whether the thinking itself is to be shown."""
    mode: ReasoningMode | None = None
    """`adaptive` leaves it to the model whether and how much, `between_tools` wants it between
    calls only."""

    def __post_init__(self) -> None:
        check_words(self)
        if self.effort == "none":
            force_setattr(self, "mode", "off")
            force_setattr(self, "effort", None)
        elif self.mode == "on" and (self.effort is not None or self.budget_tokens is not None):
            force_setattr(self, "mode", None)


class Compaction(Value, frozen=True):
    """The service itself sums the conversation up. An empty one leaves it to the service when."""

    threshold: int | None = None
    """Tokens of the prompt from which on it does."""
    instructions: str | None = None
    pause: bool | None = None
    """Whether it stops after the summary, so that the client can go on."""


class TaskBudget(Value, frozen=True):
    """Tokens for a whole task, over all its requests; the model is told how many are left."""

    total: int
    remaining: int | None = None
    """What is left of it; all of it where nothing is said."""


class Options(Value, frozen=True):
    """How to generate. None means the provider's own default."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    min_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: dict[str, float] | None = None
    n: int | None = None
    logprobs: int | None = None
    """How many alternatives to each token; 0 is the chosen token's alone."""
    verbosity: str | None = None
    modalities: tuple[str, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    response_format: ResponseFormat | None = None
    reasoning: Reasoning | None = None
    service_tier: str | None = None
    user: str | None = None
    metadata: dict[str, str] | None = None
    stream: bool | None = None
    cache: Cache | None = None
    """Where the provider itself shall put a breakpoint at the end of the prompt."""
    cache_key: str | None = None
    """Requests with the same key are sent to the same prompt cache."""
    cache_mode: str | None = None
    """`implicit`: the provider adds a breakpoint of its own; `explicit`: it uses those of the
    request alone."""
    cache_ttl: str | None = None
    """How long breakpoints without a lifetime of their own last at least: `30m`, `1h`."""
    cache_retention: str | None = None
    """How long the prompt may be stored at most: `in_memory`, `24h`."""
    cache_prewarm: bool | None = None
    """Whether to write the prompt to the cache, and to generate nothing."""
    cache_comparison: str | None = None
    """The response whose request this one is compared with, to say why the cache was missed."""
    compaction: Compaction | None = None
    task_budget: TaskBudget | None = None
    raw: Raw | None = None

    __post_init__ = convert_words  # type: ignore[misc]  # a function is one, too


def option_value(name: str, kind: type, value: Any) -> Any:
    """A word in place of the value that it names; anything else is refused."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        return (value,) if kind is tuple else kind(value)
    if kind is tuple and isinstance(value, list):
        return tuple(value)
    raise TypeError(f"Options.{name} is a {kind.__name__}; found a {type(value).__name__}")


OPTION_VALUES: tuple[tuple[str, type], ...] = (
    ("tool_choice", ToolChoice),
    ("response_format", ResponseFormat),
    ("reasoning", Reasoning),
    ("stop", tuple),
    ("modalities", tuple),
)
"""Options whose values are not plain JSON."""

AdapterOptions = Options


class Continues(Value, frozen=True):
    """History that the provider keeps: what this request goes on from."""

    response_id: str | None = None
    conversation_id: str | None = None
    prompt: JsonObject | None = None
    items: tuple[str, ...] = ()
    token: str | None = None


_NO_OPTIONS = Options()


class Request(Value, frozen=True):
    """`model` is the wire's own name for it; instructions are messages like all others."""

    messages: tuple[Message, ...] = ()
    model: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    options: Options = _NO_OPTIONS
    continues: Continues | None = None
    raw: Raw | None = None


@plain_members
class ErrorKind(StrEnum):
    """What went wrong, in words that all providers share."""

    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    INVALID_REQUEST = "invalid_request"
    CANCELLED = "cancelled"
    OTHER = "other"


class ProviderError(Value, frozen=True):
    """What a provider answered in place of a message."""

    kind: ErrorKind
    message: str
    code: str | None = None
    status: int | None = None
    raw: Raw | None = None

    def __post_init__(self) -> None:
        check_words(self)


class Response(Value, frozen=True):
    """The assistant message that came back; more of them in `alternatives` where several were asked
    for; or an empty message of status `error` and the `error`."""

    message: Message
    alternatives: tuple[Message, ...] = ()
    error: ProviderError | None = None
    raw: Raw | None = None
