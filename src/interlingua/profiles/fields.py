"""The fields of a profile, in groups. Every field is optional: None is no rule, and a value is then
written as for an unknown model.

The words are those of the canonical model wherever it has any (efforts, kinds of media, modes of a
tool choice); what each dialect makes of them is its own business.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from interlingua.model.exchange import Effort

When = Literal["always", "never", "one", "effort-none", "no-thinking"]
"""When an option may be sent: `one` allows only the value 1, which is the default; `effort-none`
only while the reasoning effort is none, explicitly or by default; `no-thinking` only while the
model does not think."""
Carrier = Literal[
    "none",  # does not reason, or cannot be configured
    "effort",  # an effort
    "budget",  # a budget of tokens
    "adaptive",  # thinks as it sees fit, steered by an effort (Claude)
    "level",  # an effort under another name (Gemini 3)
    "toggle",  # on or off
    "nova",  # reasoningConfig (Amazon Nova 2)
    "deepseek",  # a switch, and an effort beside it
    "openai-object",  # reasoning.effort as an object (OpenAI's models on Bedrock)
]
Choice = Literal["auto", "none", "any", "one", "some"]
"""A tool choice: `one` must call one named tool, `some` one of several named ones."""
Kind = Literal["text", "image", "audio", "video", "document"]
Span = tuple[float, float]
Sizes = tuple[int, int]


class Group(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """Base of the groups."""


class Grammar(Group, frozen=True):
    """The texts that are allowed as a name or an id."""

    letters: str
    """A regular expression for one letter: `[a-zA-Z0-9_-]`."""
    first: str | None = None
    """The same for the first one, where it differs."""
    least: int = 1
    most: int = 64


class Speaks(Group, frozen=True):
    """The dialects of a model."""

    dialect: str | None = None
    """The default dialect."""
    tools_dialect: str | None = None
    """The dialect for requests with function tools, if it differs."""
    server_dialect: str | None = None
    """The dialect for requests with provider-executed tools, if it differs."""
    dialects: tuple[str, ...] | None = None
    """All dialects of the model; default: those of its provider."""


class Sampling(Group, frozen=True):
    temperature: When | None = None
    """When it may be sent; `one`: only the default value 1."""
    top_p: When | None = None
    top_k: When | None = None
    min_p: When | None = None
    temperature_range: Span | None = None
    """Values outside the range are clamped."""
    one_of: tuple[str, ...] | None = None
    """At most one of these options may be sent; the first one in this order is kept."""
    thinking_temperature: When | None = None
    """While the model thinks."""
    thinking_top_p: Span | None = None
    """The allowed range while the model thinks."""
    thinking_top_k: When | None = None
    """While the model thinks."""
    penalties: When | None = None
    """Frequency and presence penalties."""
    repetition_penalty: When | None = None
    logprobs: When | None = None
    logit_bias: When | None = None
    seed: When | None = None
    n: int | None = None
    """The maximum number of choices."""


class ReasoningRules(Group, frozen=True):
    carrier: Carrier | None = None
    """How reasoning is requested."""
    efforts: tuple[Effort, ...] | None = None
    """The accepted efforts, lowest first. Any other is sent as the next lower one, else as the next
    higher, never as `none`."""
    budget: Sizes | None = None
    """The minimum and maximum budget in tokens."""
    budget_too: bool | None = None
    """Also accepts a budget besides the efforts of its carrier."""
    inside_max_tokens: bool | None = None
    """The budget counts towards the output limit and must be smaller than it."""
    default: Literal["off", "on"] | Effort | None = None
    """The model's behaviour if the request does not set it."""
    effort_thinks: bool | None = None
    """False: an effort alone does not turn thinking on, so it must be requested, too."""
    off: bool | None = None
    """Whether thinking can be turned off."""
    off_as: str | None = None
    """What to send for `off` if thinking cannot be turned off: an effort, `lowest`,
    `between_tools`, or `budget:128`."""
    off_to: Effort | None = None
    """The highest effort that may be sent while thinking is off."""
    between_tools: bool | None = None
    """Supports thinking only between tool calls."""
    visible: Literal["display", "includeThoughts", "summary", "exclude", "none"] | None = None
    """The parameter that makes thinking visible."""
    shown: bool | None = None
    """Whether thinking is visible by default."""


class ToolRules(Group, frozen=True):
    calls: bool | None = None
    """Whether the model supports tool calls."""
    parallel: bool | None = None
    """Whether it may call several tools at once."""
    choice: tuple[Choice, ...] | None = None
    """The accepted tool choices; any other is sent as `auto`."""
    thinking_choice: tuple[Choice, ...] | None = None
    """The accepted tool choices while the model thinks."""
    budget_choice: tuple[Choice, ...] | None = None
    """The accepted tool choices while it thinks with a token budget."""
    effort: Literal["absent", "none"] | None = None
    """The effort allowed with function tools: `absent`, or an explicit `none`."""
    parallel_switch: Literal["yes", "no", "tools"] | None = None
    """Whether parallel calls can be turned on and off; `tools`: only with tools."""
    names: Grammar | None = None
    """The allowed tool names; others are renamed, and restored in answers."""
    root_object: bool | None = None
    """The root of an input schema must be an object."""
    schema_without: tuple[str, ...] | None = None
    """Keywords that are rejected in input schemas."""
    strict_closed: bool | None = None
    """With `strict`, objects must be closed and require all properties."""
    strict_without: tuple[str, ...] | None = None
    """Keywords that are rejected with `strict`."""
    strict_tools: int | None = None
    """The maximum number of strict tools in a request."""
    strict_optional: int | None = None
    """The maximum number of optional properties in all strict schemas together."""
    strict_unions: int | None = None
    """The maximum number of unions in all strict schemas together."""
    with_json: Literal["yes", "no", "auto"] | None = None
    """Whether function tools work with JSON output; `auto`: unless a call is forced."""
    with_server: Literal["yes", "no"] | None = None
    """Whether function tools work with the provider's own tools."""
    result_media: tuple[Kind, ...] | None = None
    """What a tool result may contain besides text."""
    server: dict[str, str] | None = None
    """The provider's own tools that the model supports: concept and wire name."""
    call_signature: Literal["required"] | None = None
    """Tool calls of earlier turns must have their signatures."""


class Instructions(Group, frozen=True):
    role: Literal["developer", "system", "user"] | None = None
    """The role that carries instructions."""
    listed: bool | None = None
    """Instructions are messages in the list, not a separate field."""
    mid: Literal["any", "after-user", "user", "fold"] | None = None
    """Instructions in mid-conversation: anywhere; only after a user turn and before a model turn;
    as a marked user turn; or merged into the first instructions."""


class Turns(Group, frozen=True):
    prefill: Literal["yes", "no", "prefix"] | None = None
    """Whether the last turn may be the model's own; `prefix`: with a prefix flag."""
    alternate: bool | None = None
    """User and model turns must alternate."""
    last: tuple[Literal["user", "tool", "assistant", "system"], ...] | None = None
    """The roles that the last message may have."""


class OutputRules(Group, frozen=True):
    schema: Literal["native", "tool", "json", "none"] | None = None
    """How an output schema is sent: natively, as a tool with a forced call, as plain JSON output
    with the schema in the prompt, or not at all."""
    json: bool | None = None
    """Supports JSON output without a schema."""
    closed: bool | None = None
    """Objects must be closed (`additionalProperties: false`)."""
    without: tuple[str, ...] | None = None
    """Keywords that are rejected in output schemas."""
    formats: tuple[str, ...] | None = None
    """The accepted string `format`s; others are rejected."""
    strict_closed: bool | None = None
    """With `strict`, objects must be closed and require all properties."""
    const_as_enum: bool | None = None
    """Rejects `const`; an `enum` with one value is sent instead."""
    verbosity: tuple[str, ...] | None = None
    """The accepted values; an empty list: not supported."""


class Limits(Group, frozen=True):
    """Numbers that a request may not exceed."""

    output: int | None = None
    """The maximum number of output tokens."""
    default_output: int | None = None
    """The output limit if the request sets none."""
    min_output: int | None = None
    context: int | None = None
    """Tokens of prompt and output together."""
    stop: int | None = None
    """The maximum number of stop sequences; 0: not supported."""
    stop_length: int | None = None
    cache_marks: int | None = None
    """The maximum number of cache breakpoints in a request; 0: not supported."""
    cache_min: int | None = None
    """The minimum number of tokens in a cached prefix."""
    request_bytes: int | None = None
    """Size of the request body in bytes; media beyond it is dropped, oldest first."""
    images: int | None = None
    """Images in a request; if there are more, the last ones are kept."""
    documents: int | None = None
    media: int | None = None
    """Images and documents in a request together."""
    turn_images: int | None = None
    """Images in one turn."""
    turn_documents: int | None = None
    image_bytes: int | None = None
    """Size of one image in bytes, before encoding."""
    image_pixels: int | None = None
    """The longer side of an image, in pixels."""
    document_bytes: int | None = None
    tools: int | None = None


class CacheRules(Group, frozen=True):
    prompts: bool | None = None
    """Prompts are cached, automatically or at breakpoints."""
    mark: str | None = None
    """The wire name of a cache breakpoint."""
    places: tuple[Literal["tools", "system", "messages"], ...] | None = None
    """Where cache breakpoints may be set."""
    ttls: tuple[str, ...] | None = None
    """The accepted lifetimes, shortest first; any other is sent as the next shorter one."""
    longest_first: bool | None = None
    """A breakpoint may not live longer than an earlier one."""
    auto: Literal["marks", "key"] | None = None
    """What is added to requests without any: breakpoints, or a key for the conversation."""
    whole: bool | None = None
    """A request may ask for a breakpoint without naming its place (Claude's `cache_control` beside
    the messages); otherwise it is set behind the last block."""
    refused: tuple[Literal["key", "options"], ...] | None = None
    """The options of OpenAI's prompt cache that the host lacks: a key, or the others."""


class MediaRules(Group, frozen=True):
    image: bool | None = None
    pdf: bool | None = None
    document: bool | None = None
    """Documents other than PDF."""
    audio: bool | None = None
    video: bool | None = None
    image_types: tuple[str, ...] | None = None
    by_url: Literal["yes", "no", "fetch"] | None = None
    """Media by http or https URL; `fetch`, like `no`: the data itself must be sent."""
    image_by_s3: bool | None = None
    """Images by s3 URL."""
    image_detail: bool | None = None
    """The resolution at which an image is processed."""


class Words(Group, frozen=True):
    """Field names of a body, where a wire format has several or a host accepts none."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The field for the output limit, if the other one is rejected or ignored."""
    user: bool | None = None
    """Whether the end user's id is accepted."""
