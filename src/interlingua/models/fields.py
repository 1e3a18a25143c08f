"""What a profile can say about a model, in groups. Every field is optional: None is no rule, and a
value is then written as if nobody knew the model.

The words are those of the canonical model wherever it has any (efforts, kinds of media, modes of a
tool choice); what each dialect makes of them is its own business.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from interlingua.model.exchange import Effort

When = Literal["always", "never", "one", "effort-none", "no-thinking"]
"""When an option may be said: `one` takes the value 1 alone, which is the default; `effort-none`
only while reasoning is said to be (or is by default) none; `no-thinking` only while the model does
not think."""
Carrier = Literal[
    "none",  # does not reason, or cannot be told how
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
    """Which texts a name or an id may be."""

    letters: str
    """A regular expression for one letter: `[a-zA-Z0-9_-]`."""
    first: str | None = None
    """The same for the first one, where it differs."""
    least: int = 1
    most: int = 64


class Speaks(Group, frozen=True):
    """In which dialects a model is asked."""

    dialect: str | None = None
    """The usual one."""
    tools_dialect: str | None = None
    """The one for requests with function tools, where it is another."""
    server_dialect: str | None = None
    """The one for requests with tools that a provider runs, where it is another."""
    dialects: tuple[str, ...] | None = None
    """All of them; None: whatever its provider speaks."""


class Sampling(Group, frozen=True):
    temperature: When | None = None
    """When it may be said; `one` takes the default alone."""
    top_p: When | None = None
    top_k: When | None = None
    min_p: When | None = None
    temperature_range: Span | None = None
    """What is beyond is clamped."""
    one_of: tuple[str, ...] | None = None
    """Options of which at most one may stand; the first of those given stays."""
    thinking_temperature: When | None = None
    """While the model thinks."""
    thinking_top_p: Span | None = None
    """While the model thinks: what it may be."""
    thinking_top_k: When | None = None
    """While the model thinks."""
    penalties: When | None = None
    """Frequency and presence."""
    repetition_penalty: When | None = None
    logprobs: When | None = None
    logit_bias: When | None = None
    seed: When | None = None
    n: int | None = None
    """The most answers that may be asked for."""


class ReasoningRules(Group, frozen=True):
    carrier: Carrier | None = None
    """How reasoning is asked for."""
    efforts: tuple[Effort, ...] | None = None
    """Those it takes, lowest first. Another is said as the next lower one, else as the next higher,
    never as `none`."""
    budget: Sizes | None = None
    """The least and the most tokens."""
    budget_too: bool | None = None
    """Takes a budget beside the efforts of its carrier."""
    inside_max_tokens: bool | None = None
    """The budget is a part of the longest answer, and must be smaller."""
    default: Literal["off", "on"] | Effort | None = None
    """What it does when nothing is said."""
    effort_thinks: bool | None = None
    """False: an effort alone does not make it think, so thinking has to be asked for beside it."""
    off: bool | None = None
    """Whether thinking can be switched off."""
    off_as: str | None = None
    """What stands for `off` where it cannot be: an effort, `lowest`, `between_tools`, or
    `budget:128`."""
    off_to: Effort | None = None
    """The highest effort that may be said while thinking is off."""
    between_tools: bool | None = None
    """Knows thinking between calls only."""
    visible: Literal["display", "includeThoughts", "summary", "exclude", "none"] | None = None
    """The switch that shows the thinking."""
    shown: bool | None = None
    """Whether the thinking is shown when nothing is said."""


class ToolRules(Group, frozen=True):
    calls: bool | None = None
    """Whether it calls tools at all."""
    parallel: bool | None = None
    """May call several tools at once."""
    choice: tuple[Choice, ...] | None = None
    """Choices that it takes; another is said as `auto`."""
    thinking_choice: tuple[Choice, ...] | None = None
    """The choices while the model thinks."""
    budget_choice: tuple[Choice, ...] | None = None
    """The choices while it thinks on a budget of tokens."""
    effort: Literal["absent", "none"] | None = None
    """Which effort may stand beside function tools: none at all, or `none`, which must be said."""
    parallel_switch: Literal["yes", "no", "tools"] | None = None
    """Whether parallel calls can be switched; `tools`: only where there are tools."""
    names: Grammar | None = None
    """Which names its tools may have; others are renamed, and named back in answers."""
    root_object: bool | None = None
    """An input schema must itself be an object's."""
    schema_without: tuple[str, ...] | None = None
    """Keywords of input schemas that are refused."""
    strict_closed: bool | None = None
    """Under `strict`, objects are closed and require all that they have."""
    strict_without: tuple[str, ...] | None = None
    """Keywords that are refused under `strict`."""
    strict_tools: int | None = None
    """The most strict tools in a request."""
    strict_optional: int | None = None
    """The most optional properties in all strict schemas together."""
    strict_unions: int | None = None
    """The most unions in all strict schemas together."""
    with_json: Literal["yes", "no", "auto"] | None = None
    """Function tools beside JSON output; `auto`: unless a call is forced."""
    with_server: Literal["yes", "no"] | None = None
    """Function tools beside the provider's own."""
    result_media: tuple[Kind, ...] | None = None
    """What a result may hold beside text."""
    server: dict[str, str] | None = None
    """The provider's own tools that it has, by concept, and the word for each."""
    call_signature: Literal["required"] | None = None
    """Calls of earlier turns must have their signatures."""


class Instructions(Group, frozen=True):
    role: Literal["developer", "system", "user"] | None = None
    """The role of instructions."""
    listed: bool | None = None
    """Instructions are messages among the others, rather than a field of their own."""
    mid: Literal["any", "after-user", "user", "fold"] | None = None
    """Instructions in mid-conversation: anywhere; right behind a user's turn and before a model's;
    as a marked user's turn; or folded into the first ones."""


class Turns(Group, frozen=True):
    prefill: Literal["yes", "no", "prefix"] | None = None
    """Whether the last turn may be the model's own; `prefix`: with a mark that says so."""
    alternate: bool | None = None
    """Turns of user and model must alternate."""
    last: tuple[Literal["user", "tool", "assistant", "system"], ...] | None = None
    """Roles that the last message may have."""


class OutputRules(Group, frozen=True):
    schema: Literal["native", "tool", "json", "none"] | None = None
    """How a schema for the answer is said: as such, as a tool that must be called, as plain JSON
    output with the schema in words, or not at all."""
    json: bool | None = None
    """Knows JSON output without a schema."""
    closed: bool | None = None
    """Objects must be closed."""
    without: tuple[str, ...] | None = None
    """Keywords of a schema that are refused."""
    formats: tuple[str, ...] | None = None
    """The `format`s of strings that it knows; others are refused."""
    strict_closed: bool | None = None
    """Under `strict`, objects are closed and require all that they have."""
    const_as_enum: bool | None = None
    """Does not know `const`, but an `enum` of one."""
    verbosity: tuple[str, ...] | None = None
    """Words that it takes; none: it has no such option."""


class Limits(Group, frozen=True):
    """Numbers that a request may not exceed."""

    output: int | None = None
    """The most tokens of an answer."""
    default_output: int | None = None
    """The tokens of an answer when nothing is said."""
    min_output: int | None = None
    context: int | None = None
    """Tokens of prompt and answer together."""
    stop: int | None = None
    """Stop sequences; 0: none are taken."""
    stop_length: int | None = None
    cache_marks: int | None = None
    """The most cache marks in a request; 0: none are taken."""
    cache_min: int | None = None
    """Tokens that a prefix must have to be cached."""
    request_bytes: int | None = None
    """Bytes of a body; media that does not go into it is left out, the oldest first."""
    images: int | None = None
    """Images in a request; of more, the last ones are said."""
    documents: int | None = None
    media: int | None = None
    """Images and documents together."""
    turn_images: int | None = None
    """Images in one turn."""
    turn_documents: int | None = None
    image_bytes: int | None = None
    """Bytes of one image, before it is encoded."""
    image_pixels: int | None = None
    """Pixels of an image's longer side."""
    document_bytes: int | None = None
    tools: int | None = None


class CacheRules(Group, frozen=True):
    prompts: bool | None = None
    """Prompts are cached, by themselves or by marks."""
    mark: str | None = None
    """The wire's word for a mark."""
    places: tuple[Literal["tools", "system", "messages"], ...] | None = None
    """Where marks may stand."""
    ttls: tuple[str, ...] | None = None
    """How long a mark may last, the shortest first; another is said as the next shorter one."""
    longest_first: bool | None = None
    """A mark may not last longer than one before it."""


class MediaRules(Group, frozen=True):
    image: bool | None = None
    pdf: bool | None = None
    document: bool | None = None
    """Documents that are no PDF."""
    audio: bool | None = None
    video: bool | None = None
    image_types: tuple[str, ...] | None = None
    by_url: Literal["yes", "no", "fetch"] | None = None
    """Media at an address of http or https; `fetch`, like `no`: it has to come with its data."""
    image_by_s3: bool | None = None
    """Images at an address of s3."""


class Words(Group, frozen=True):
    """Keys of a body where a wire has several, or a host takes none."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] | None = None
    """The key for the longest answer, where the other one is refused or overlooked."""
    user: bool | None = None
    """Whether the end user's id is taken."""
