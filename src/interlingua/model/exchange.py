"""One generation: its request and its response."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypedDict, Unpack

from msgspec.structs import force_setattr

from interlingua.errors import a_type, article
from interlingua.model.base import (
    Guarded,
    JsonObject,
    Raw,
    Value,
    check_words,
    plain_members,
    require_type,
    unchecked,
)
from interlingua.model.blocks import Cache
from interlingua.model.message import EFFORTS as EFFORTS
from interlingua.model.message import Effort as Effort
from interlingua.model.message import Message
from interlingua.model.message import ResponseFormat as ResponseFormat
from interlingua.model.tools import ToolDefinition

if TYPE_CHECKING:
    from interlingua.coerce import Messages, OptionsLike, Tools

ReasoningMode = Literal["on", "off", "adaptive", "between_tools"]


ToolChoiceWord = Literal[
    "auto", "none", "any", "required", "AUTO", "NONE", "ANY", "REQUIRED", "tool", "function"
]


class ToolChoice(Value, frozen=True):
    """`auto`, `none`, or `any` (some tool must be called); `names` narrows it to some tools."""

    mode: Literal["auto", "none", "any"] = "auto"
    names: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(self, mode: ToolChoiceWord = "auto", names: Iterable[str] = ()) -> None: ...

    def __post_init__(self) -> None:
        names: Any = self.names
        if type(names) is not tuple:
            force_setattr(self, "names", (names,) if isinstance(names, str) else tuple(names))
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
"""The values of all vendors: OpenAI has `required`, Gemini and Cohere use upper case."""
_ONE_TOOL = frozenset({"tool", "function"})
"""The values of Anthropic and OpenAI for the choice of one tool, whose name is in another key."""


class Reasoning(Value, frozen=True):
    """How to reason. An empty one requests reasoning with the provider's defaults.

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
    """Whether the response ends after the summary, and the client continues."""


class TaskBudget(Value, frozen=True):
    """Tokens for a whole task, over all its requests; the model sees how many are left."""

    total: int
    remaining: int | None = None
    """The tokens left; None means all of them."""


class OptionWords(TypedDict, total=False):
    """Options as keywords: the fields of `il.Options`, and their usual names elsewhere."""

    max_output_tokens: int | None
    max_tokens: int | None
    max_completion_tokens: int | None
    temperature: float | None
    top_p: float | None
    top_k: float | None
    min_p: float | None
    seed: int | None
    stop: str | Sequence[str] | None
    stop_sequences: str | Sequence[str] | None
    frequency_penalty: float | None
    presence_penalty: float | None
    repetition_penalty: float | None
    logit_bias: Mapping[str, float] | None
    n: int | None
    logprobs: int | None
    verbosity: str | None
    modalities: Sequence[str] | None
    tool_choice: ToolChoice | Mapping[str, Any] | str | None
    parallel_tool_calls: bool | None
    response_format: ResponseFormat | Mapping[str, Any] | type | str | None
    reasoning: Reasoning | Effort | bool | int | None
    reasoning_effort: Effort | None
    service_tier: str | None
    compaction: Any
    task_budget: Any
    user: str | None
    metadata: Mapping[str, str] | None
    cache: Cache | None
    cache_key: str | None
    cache_mode: str | None
    cache_ttl: str | None
    cache_retention: str | None
    cache_prewarm: bool | None
    cache_comparison: str | None


class AllOptionWords(OptionWords, total=False):
    """The same with the fields that are set per call."""

    stream: bool | None
    raw: Raw | None


class Options(Value, metaclass=Guarded, frozen=True):
    """Options of the generation. None means the provider's own default."""

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
    """The number of alternatives to each token; 0 is the chosen token alone."""
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
    """A breakpoint that the provider itself sets at the end of the prompt."""
    cache_key: str | None = None
    """Requests with the same key are sent to the same prompt cache."""
    cache_mode: str | None = None
    """`implicit`: the provider adds a breakpoint of its own; `explicit`: it uses those of the
    request alone."""
    cache_ttl: str | None = None
    """The shortest lifetime of breakpoints without one of their own: `30m`, `1h`."""
    cache_retention: str | None = None
    """The longest time that the prompt may be stored: `in_memory`, `24h`."""
    cache_prewarm: bool | None = None
    """Whether to write the prompt to the cache, and to generate nothing."""
    cache_comparison: str | None = None
    """The response whose request this one is compared with, to find why the cache was missed."""
    compaction: Compaction | None = None
    task_budget: TaskBudget | None = None
    raw: Raw | None = None

    other_names: ClassVar = {
        "max_tokens": "max_output_tokens",
        "max_completion_tokens": "max_output_tokens",
        "stop_sequences": "stop",
        "reasoning_effort": "reasoning",
    }

    if TYPE_CHECKING:

        def __init__(self, **words: Unpack[AllOptionWords]) -> None: ...

    @classmethod
    def taken(cls, name: str, value: Any) -> Any:
        if value is not None and (kind := OPTION_VALUES.get(name)) is not None:
            value = option_value(name, kind, value)
        require_type(cls, name, value)
        return value

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed."""
        for name in OPTION_VALUES.keys() & changes.keys():
            changes[name] = self.taken(name, changes[name])
        return super().replace(**changes)


def option_value(name: str, kind: type, value: Any) -> Any:
    """The value that a word stands for; other words are refused."""
    if isinstance(value, kind):
        return value
    if isinstance(value, str):
        return (value,) if kind is tuple else kind(value)
    if kind is tuple and isinstance(value, list):
        return tuple(value)
    if kind in (ToolChoice, ResponseFormat, Reasoning):
        from interlingua.coerce import option_of

        return option_of(name, value, name)
    raise TypeError(f"Options.{name} is {article(kind.__name__)}; found {a_type(value)}")


OPTION_VALUES: dict[str, type] = {
    "tool_choice": ToolChoice,
    "response_format": ResponseFormat,
    "reasoning": Reasoning,
    "stop": tuple,
    "modalities": tuple,
}
"""Options whose values are not plain JSON."""

AdapterOptions = Options


class Continues(Value, frozen=True):
    """History that the provider stores and this request continues."""

    response_id: str | None = None
    conversation_id: str | None = None
    prompt: JsonObject | None = None
    items: tuple[str, ...] = ()
    token: str | None = None


NO_OPTIONS = Options()
"""Options without a value; the very object that is the default of a request."""
_LIMITS: dict[int, Options] = {}
_MOST_LIMITS = 1024


def limit_alone(limit: int) -> Options:
    """Options with nothing but a limit of output: the same object each time, so that
    `is_limit_alone` recognises it by its identity."""
    options = _LIMITS.get(limit)
    if options is None:
        options = unchecked(Options, limit)
        if len(_LIMITS) < _MOST_LIMITS:
            _LIMITS[limit] = options
    return options


def is_limit_alone(options: Options) -> bool:
    """Whether options have at most a limit of output; True only for `NO_OPTIONS` and those of
    `limit_alone`, since looking at every field takes ten times as long."""
    return options is NO_OPTIONS or _LIMITS.get(options.max_output_tokens) is options  # type: ignore[arg-type]


class Request(Value, metaclass=Guarded, frozen=True):
    """`model` is the wire's own name for it; instructions are messages like all others.

    Messages, tools and options may be in any form that the client takes."""

    messages: tuple[Message, ...] = ()
    model: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    options: Options = NO_OPTIONS
    continues: Continues | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            messages: Messages = (),
            model: str | None = None,
            tools: Tools = (),
            options: OptionsLike = NO_OPTIONS,
            continues: Continues | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    @classmethod
    def taken(cls, name: str, value: Any) -> Any:
        if name == "messages" and not _are(Message, value):
            from interlingua.coerce import as_conversation

            found = as_conversation(value)
            if not isinstance(found, Request):
                return found
            raise TypeError("Request.messages are messages; found a whole request")
        if name == "tools" and not _are(ToolDefinition, value):
            from interlingua.coerce import as_definitions

            return as_definitions(value)
        if name == "options" and type(value) is not Options:
            from interlingua.coerce import as_options

            return as_options(value) or NO_OPTIONS
        return value if name in ("messages", "tools", "options") else super().taken(name, value)


def _are(kind: type, values: Any) -> bool:
    return type(values) is tuple and all(isinstance(each, kind) for each in values)


@plain_members
class ErrorKind(StrEnum):
    """The kind of an error, the same for all providers."""

    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    INVALID_REQUEST = "invalid_request"
    CANCELLED = "cancelled"
    OTHER = "other"


ErrorWord = Literal[
    "rate_limit",
    "auth",
    "server_error",
    "network",
    "context_overflow",
    "invalid_request",
    "cancelled",
    "other",
]


class ProviderError(Value, frozen=True):
    """An error of a provider."""

    kind: ErrorKind
    message: str
    code: str | None = None
    status: int | None = None
    raw: Raw | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            kind: ErrorKind | ErrorWord,
            message: str,
            code: str | None = None,
            status: int | None = None,
            raw: Raw | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_words(self)


class Response(Value, frozen=True):
    """The assistant message of an answer, with `alternatives` if several were requested; or an
    empty message with the status `error`, and the `error`."""

    message: Message
    alternatives: tuple[Message, ...] = ()
    error: ProviderError | None = None
    raw: Raw | None = None
