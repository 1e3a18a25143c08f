"""Chat Completions as data: its words, where things may be, and `Tables`, which holds everything
that a related dialect may have otherwise.

Words are those of the Python package `openai` 3.49.0 (`openai.types.chat`, read 2026-11-15), unless
a remark names another source. What other hosts do is from recorded traffic (read 2026-11).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.dialects import signs
from interlingua.dialects.kernel import claude
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import IMAGE_STARTS, TwoWay
from interlingua.dialects.openai import ERROR_STATUS as ERROR_STATUS
from interlingua.dialects.openai import ERRORS as ERRORS
from interlingua.dialects.openai_usage import Counts, by_modality
from interlingua.dialects.record import Hosts, Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, has_key
from interlingua.model.ids import IdGrammar
from interlingua.model.message import Role
from interlingua.model.metadata import StopReason

# -- hosts ----------------------------------------------------------------------------------------

Replay = Literal["never", "calls", "always", "own"]
"""When thinking is sent back: never; with calls, where the host insists on it; always; or, at an
unknown host, its own thinking, in the form in which it came."""


class Host(NamedTuple):
    """How one service differs from OpenAI's own."""

    ids: IdGrammar | None = None
    """Tool ids that it accepts; others are fitted. None leaves that to retelling."""
    max_tokens: str = "max_completion_tokens"
    seed: str = "seed"
    user: str | None = "safety_identifier"
    """The key for the end user's id; None if there is no such key."""
    developer: bool = True
    """Knows the role developer; else it is written as system."""
    thinking: str | None = None
    """Where thinking stands in a message: a key, or `content` for chunks among the text."""
    replay: Replay = "never"
    switch: str | None = None
    """The key that turns thinking on and off, where it is not done by the effort."""
    stream_usage: bool = False
    """Tells token counts in a stream only when asked with `stream_options`."""
    custom_tools: bool = True
    """Has tools that take free text; else they are written as functions with one text argument."""
    exact_limit_key: bool = False
    """Accepts no other key for the limit of output than its own, so that no other is written."""
    name: str | None = None
    """Its key in `HOSTS`; None for services of which nothing is known."""
    lacks: frozenset[str] = frozenset()
    """The keys that other hosts have and it does not; none where nothing is known of it."""


OPENAI_IDS = IdGrammar(r"[a-zA-Z0-9_.:|-]", 1, 40)
"""40 is the safe limit: longer ids were refused as `string_above_max_length` (through 2026-01)."""
LONG_IDS = IdGrammar(r"[a-zA-Z0-9_.:|-]", 1, 128)
"""Hosts that make longer ids themselves (DeepSeek 43, vLLM 46) take them back."""

_OPEN = Host(max_tokens="max_tokens", developer=False, replay="own", custom_tools=False)

HOSTS: dict[str, Host] = {
    "openai": Host(OPENAI_IDS),
    "azure": Host(OPENAI_IDS, user="user"),
    # Exactly nine letters and digits, else a 400 of code 3280.
    "mistral": Host(
        IdGrammar(r"[a-zA-Z0-9]", 9, 9),
        max_tokens="max_tokens",
        seed="random_seed",
        user=None,
        developer=False,
        thinking="content",
        replay="always",
        custom_tools=False,
    ),
    "groq": Host(LONG_IDS, user="user", thinking="reasoning", replay="always", custom_tools=False),
    # Turns with tool calls without their reasoning_content are refused; on others it is ignored.
    "deepseek": Host(
        LONG_IDS,
        max_tokens="max_tokens",
        user=None,
        developer=False,
        thinking="reasoning_content",
        replay="calls",
        switch="thinking",
        custom_tools=False,
    ),
    "xai": Host(
        LONG_IDS, user="user", thinking="reasoning_content", replay="always", custom_tools=False
    ),
    # Those of open models (docs.together.ai, docs.fireworks.ai, inference-docs.cerebras.ai,
    # docs.perplexity.ai, docs.ollama.com; read 2026-11-18).
    "together": _OPEN._replace(thinking="reasoning"),
    "fireworks": _OPEN._replace(thinking="reasoning_content"),
    "cerebras": _OPEN._replace(
        max_tokens="max_completion_tokens", user="user", thinking="reasoning"
    ),
    "perplexity": _OPEN,
    "ollama": _OPEN,
}
DEFAULT_HOST = Host(replay="own")
"""A host of which nothing is known."""
LIMITS = frozenset({"max_tokens", "max_completion_tokens"})
"""The words for the longest answer."""

_AT: dict[str, str] = {
    "usual": "model messages stream temperature top_p stop max_tokens tools tool_choice"
    " response_format frequency_penalty presence_penalty",
    "openai": "audio function_call functions logit_bias logprobs max_completion_tokens metadata"
    " modalities moderation n parallel_tool_calls prediction prompt_cache_key prompt_cache_options"
    " prompt_cache_retention reasoning_effort safety_identifier seed service_tier store"
    " stream_options top_logprobs user verbosity web_search_options annotations refusal",
    "azure": "audio data_sources function_call functions logit_bias logprobs max_completion_tokens"
    " metadata modalities n parallel_tool_calls prediction prompt_cache_key prompt_cache_options"
    " prompt_cache_retention reasoning_effort safety_identifier seed service_tier store"
    " stream_options top_logprobs user user_security_context verbosity annotations refusal",
    "mistral": "guardrails logprobs metadata min_tokens n parallel_tool_calls prediction"
    " prompt_cache_key prompt_logprobs prompt_mode random_seed reasoning_effort repetition_penalty"
    " safe_prompt service_tier top_k top_logprobs top_prompt_logprobs prefix",
    "groq": "citation_options compound_custom disable_tool_validation documents exclude_domains"
    " executed_tools function_call functions include_domains include_reasoning logit_bias logprobs"
    " max_completion_tokens metadata n parallel_tool_calls reasoning_effort reasoning_format"
    " search_settings seed service_tier store stream_options top_logprobs user",
    "deepseek": "logprobs reasoning_effort stream_options thinking top_logprobs user_id prefix",
    "xai": "deferred logit_bias logprobs max_completion_tokens n parallel_tool_calls"
    " reasoning_effort search_parameters seed service_tier stream_options top_logprobs user"
    " web_search_options refusal",
    "together": "chat_template_kwargs compliance context_length_exceeded_behavior echo"
    " function_call logit_bias logprobs min_p n reasoning reasoning_effort repetition_penalty"
    " safety_model seed stream_options top_k",
    "fireworks": "context_length_exceeded_behavior echo echo_last function_call functions"
    " ignore_eos logit_bias logprobs max_completion_tokens metadata min_p mirostat_lr"
    " mirostat_target n parallel_tool_calls perf_metrics_in_response prediction"
    " prompt_cache_isolation_key prompt_cache_key prompt_cache_max_len prompt_truncate_len"
    " raw_output reasoning_effort reasoning_history repetition_penalty return_token_ids"
    " safe_tokenization seed service_tier speculation stream_options thinking top_k top_logprobs"
    " typical_p user",
    "cerebras": "clear_thinking disable_reasoning logit_bias logprobs max_completion_tokens"
    " min_completion_tokens min_tokens n parallel_tool_calls prediction prompt_cache_key"
    " reasoning_effort reasoning_format seed service_tier stream_options top_logprobs user",
    "perplexity": "country disable_search enable_search_classifier image_domain_filter"
    " image_format_filter language_preference last_updated_after_filter last_updated_before_filter"
    " logprobs media_response n num_search_results parallel_tool_calls reasoning_effort"
    " return_images return_related_questions return_videos safe_search search_after_date_filter"
    " search_before_date_filter search_context_size search_domain_filter search_language_filter"
    " search_mode search_recency_filter stream_mode stream_options top_k top_logprobs"
    " web_search_options",
    "ollama": "logprobs reasoning reasoning_effort seed stream_options top_logprobs",
    # Servers and hosts that are no target by name, but whose bodies people convert.
    "vllm": "add_generation_prompt add_special_tokens allowed_token_ids bad_words cache_salt"
    " chat_template chat_template_kwargs continue_final_message guided_choice guided_grammar"
    " guided_json guided_regex ignore_eos include_stop_str_in_output length_penalty min_p"
    " min_tokens mm_processor_kwargs priority prompt_logprobs repetition_penalty"
    " skip_special_tokens spaces_between_special_tokens stop_token_ids structured_outputs"
    " thinking_token_budget top_k truncate_prompt_tokens use_beam_search vllm_xargs",
    "llama.cpp": "cache_prompt dry_multiplier dynatemp_range grammar id_slot json_schema min_keep"
    " mirostat mirostat_eta mirostat_tau n_keep n_predict n_probs repeat_last_n repeat_penalty"
    " samplers typical_p timings_per_token xtc_probability",
    "openrouter": "cache_control debug image_config include_reasoning min_p models plugins"
    " provider reasoning repetition_penalty route session_id stop_server_tools_when top_a top_k"
    " trace transforms usage",
    "alibaba": "enable_search enable_thinking search_options thinking_budget"
    " vl_high_resolution_images partial",
    "moonshot": "partial",
    "venice": "venice_parameters",
    "zai": "do_sample request_id thinking tool_stream",
}
_SETTINGS = {name: frozenset(words.split()) for name, words in _AT.items()}
"""The keys of a body, and of a message in it, that each host documents beside the usual ones: the
types of the packages `openai` 3.49.0, `mistralai` 3.7.0, `groq` 1.7.0, `together` 3.1.1,
`fireworks-ai` 1.2.30, `cerebras-cloud-sdk` 1.91.0 and `perplexityai` 0.46.1, each compared key by
key with the chat request of its package (2026-11-19); of xAI (docs.x.ai, and `xai-sdk` 1.21.0) and
DeepSeek (api-docs.deepseek.com) the API references; and what they were recorded to accept."""
_KNOWN = frozenset[str]().union(*_SETTINGS.values()) - _SETTINGS["usual"] - {"provider"}
"""Keys that no host is known to have are passed on. So is `provider`, which limits who may see
the data: a host without it has to refuse the request."""
HOSTS |= {
    name: host._replace(name=name, lacks=_KNOWN - _SETTINGS[name]) for name, host in HOSTS.items()
}


@lru_cache(maxsize=256)
def host_at(switches: Any) -> Host | None:
    """The field names of a server with these switches (`providers.Switches`)."""
    host = DEFAULT_HOST if switches.host is None else HOSTS[switches.host]
    fields = {name: getattr(switches, name, None) for name in Host._fields}
    changes = {name: value for name, value in fields.items() if value is not None}
    if switches.max_tokens is not None:
        changes.setdefault("exact_limit_key", True)
    if switches.ids is not None:
        changes["ids"] = IdGrammar(*msgspec.structs.astuple(switches.ids))
    changes |= {name: None for name, value in changes.items() if value == ""}
    changes["developer"] = host.developer and switches.developer
    changes["lacks"] = host.lacks - {word for word in changes.values() if type(word) is str}
    host = host._replace(**changes)
    return None if host == DEFAULT_HOST else host


# -- tables ---------------------------------------------------------------------------------------

NAME = "openai-chat"
TITLE = "OpenAI Chat Completions"

ROLES: dict[str, Role] = {**{role.value: role for role in Role}, "function": Role.TOOL}

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        "stop": StopReason.END_TURN,
        "length": StopReason.MAX_TOKENS,
        "tool_calls": StopReason.TOOL_USE,
        "function_call": StopReason.TOOL_USE,
        "content_filter": StopReason.CONTENT_FILTER,
    },
    otherwise=StopReason.OTHER,
)
"""A `stop` beside calls is read as `tool_use`, one beside a refusal as `refusal`."""

NEAREST_STOP: dict[StopReason, str] = {
    StopReason.PAUSE: "length",
    StopReason.REFUSAL: "content_filter",
}
"""Written for reasons without a word; `stop` for all others."""

READ_STOPS: dict[str, StopReason] = {
    **STOP_REASONS.words,
    "eos": StopReason.END_TURN,
    "model_length": StopReason.MAX_TOKENS,
    "error": StopReason.ERROR,
}
"""The words of all hosts."""

AUDIO_FORMATS: TwoWay[str, str] = TwoWay(
    {word: f"audio/{word}" for word in ("wav", "flac", "opus", "ogg", "aac", "aiff", "webm")}
    | {"mp3": "audio/mpeg", "m4a": "audio/mp4", "pcm16": "audio/pcm"}
)

MAGIC = {**IMAGE_STARTS, "JVBERi": "application/pdf"}
"""How base64 begins, for media without a type; a data URL needs one."""
DEFAULT_IMAGE = "image/png"
DEFAULT_DOCUMENT = "application/octet-stream"
DEFAULT_AUDIO = "wav"
DEFAULT_VIDEO = "video/mp4"

WEB = ("https://", "http://", "data:")
"""URLs that a service can follow; others are written only where they stood before."""

FILENAME = "unnamed"
"""The name of a file that has none; read as no name."""
CHUNK = "chat.completion.chunk"
DONE = "[DONE]"
"""The last frame of a stream."""
RESPONSE_ID = "chatcmpl-none"
AUDIO_ID = "audio-none"

FORMATS: dict[str, str] = {
    "anthropic-claude-v1": "anthropic",
    "google-gemini-v1": "gemini",
    "openai-responses-v1": "openai-responses",
    "azure-openai-responses-v1": "openai-responses",
}
"""Who issued an item of `reasoning_details`, by its `format`: the dialect that takes it back."""

SIGNING_FAMILY: dict[str, str] = {"bedrock": "anthropic"}
"""Protocols whose signatures another one issues."""

REPEATED_COUNTS: dict[str, str] = {
    "cached_tokens": "cached_input_tokens",
    "num_cached_tokens": "cached_input_tokens",
    "prompt_cache_hit_tokens": "cached_input_tokens",
    "cache_read_input_tokens": "cached_input_tokens",
    "prompt_cache_miss_tokens": "input_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
"""Additional keys under which hosts have a count, or repeat it (recorded 2026-11)."""
COUNTS = Counts(
    "prompt_tokens",
    "completion_tokens",
    REPEATED_COUNTS,
    apart=True,
    splits={
        ("prompt_tokens_details",): by_modality("input_modalities"),
        ("completion_tokens_details",): by_modality("output_modalities"),
        # OpenRouter's, and hosts that pass on what Claude counts (recorded 2026-11).
        ("server_tool_use_details",): claude.TOOL_USES._replace(demanded=()),
        ("cache_creation",): claude.CACHE_WRITES._replace(demanded=()),
    },
)


class HostedKeys(NamedTuple):
    """Where an item of a tool that the service ran has its parts; `place` is the `$form.in` of
    its blocks."""

    position: str
    type: str | None
    name: str
    id: str | None
    result: str


EXECUTED = HostedKeys("executed_tools", None, "type", None, "output")
"""Groq's compound systems (console docs, read 2026-11)."""
SERVER_CALL = HostedKeys(
    "thinking", "reasoning.server_tool_call", "tool_name", "tool_call_id", "result"
)
"""OpenRouter's items among `reasoning_details` (recorded 2026-11)."""


class CacheMark(NamedTuple):
    """How a cache breakpoint is written."""

    key: str
    rest: dict[str, str]
    ttls: dict[str, str]
    """Times to live as they are written; a near one where there is no such time."""
    positions: frozenset[str]
    """Where it may stand: `part`, `tool`, `body`."""

    def mark(self, ttl: str | None) -> dict[str, Any]:
        return {self.key: {**self.rest, "ttl": ttl} if ttl is not None else {**self.rest}}


class Tables(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the functions of this dialect look up; a neighbour has its own."""

    name: str
    provider: str
    """Whose file ids these are."""
    parts: dict[str, frozenset[str]]
    """The content parts that each role may hold on a foreign writer's word."""
    options: frozenset[str]
    words: dict[str, frozenset[str] | None]
    """The values of options and fields that are words; None where any is taken."""
    cache: CacheMark
    host: Host
    answer_thinking: tuple[str, ...]
    """The keys for thinking in a response: a string, and a list that can hold signatures."""
    plain_thinking: tuple[str, ...]
    """The keys for one unsigned piece of thinking in a response."""
    reasoning_object: bool
    """Reasoning options are one object, with a budget and visibility."""
    stops: TwoWay[str, StopReason]
    issuers: dict[str, str]
    """The protocol that signatures are filed under, by `format`; the dialect's own by default."""
    fillers: dict[str, Any]
    """Members of a response whose values are unknown."""
    answer: bool = False
    """These are the tables for responses."""
    null_stop: bool = False
    """A choice may end for no reason."""
    images_out: bool = False
    custom_tools: bool = True
    subset_choice: bool = True
    """A choice among some of the tools can be expressed."""
    float_bias: bool = False
    server_tools: str | None = None
    """How the kinds of tools begin that the service itself runs."""
    deferred_tools: bool = False
    cited_content: bool = False
    file_urls: bool = False
    status_codes: bool = False
    """An error's code is the HTTP status."""
    changes: frozenset[str] = frozenset()
    """The fields of `Changes` that a message of instructions can express."""


class WriteContext(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The context of writing: the words of its dialect or host, and the recorder of losses."""

    t: Tables
    recorder: LossRecorder


def answering(t: Tables) -> Tables:
    """The tables for responses: no cache marks, and content is one string."""
    return replace(t, answer=True, cache=t.cache._replace(positions=frozenset()))


def at_host(t: Tables, host: Host) -> Tables:
    """The tables for requests to one host."""
    parts = t.parts
    if host.thinking == "content":
        parts = {**parts, "assistant": parts["assistant"] | {"thinking"}}
    return replace(t, host=host, parts=parts, custom_tools=t.custom_tools and host.custom_tools)


USER_PARTS = frozenset({"text", "image_url", "input_audio", "file"})
TEXT_PARTS = frozenset({"text"})

NUMBERS: dict[type, tuple[str, ...]] = {
    float: (
        *("temperature", "top_p", "min_p", "frequency_penalty", "presence_penalty"),
        "repetition_penalty",
    ),
    int: ("n",),
    bool: ("parallel_tool_calls", "stream"),
}
"""Options that the wire calls by the same name."""


class Names(NamedTuple):
    """An option with two names; the field of a `Host` that has its own."""

    kind: type
    keys: tuple[str, str]
    own: str


NAMES: dict[str, Names] = {
    "max_output_tokens": Names(int, ("max_completion_tokens", "max_tokens"), "max_tokens"),
    "seed": Names(int, ("seed", "random_seed"), "seed"),
    "user": Names(str, ("safety_identifier", "user"), "user"),
}

CHOICES: TwoWay[str, str] = TwoWay(
    {"auto": "auto", "none": "none", "required": "any", "any": "any"}
)

TEMPLATE = "chat_template_kwargs"
SWITCHES = ("thinking", "enable_thinking", TEMPLATE)
"""DeepSeek and Z.ai have an object with a type, Alibaba's and SiliconFlow's models a flag; vLLM,
SGLang and llama.cpp hand a flag to the model's template (their API references, read 2026-11)."""
TEMPLATE_FLAGS = ("enable_thinking", "thinking")
"""What templates call it: those of Qwen and GLM, those of DeepSeek, Granite and Kimi."""
SWITCHED: TwoWay[str, str] = TwoWay({"enabled": "on", "disabled": "off"})
DEFAULT_EFFORT = "default"
"""Groq's Qwen models think by default; this word replaces an effort (console docs, 2026-11)."""

MARKS = ("prompt_cache_breakpoint", "cache_control")
"""Cache breakpoints: OpenAI's, and Anthropic's as others hand it on."""

SAMPLING = frozenset(
    {"max_output_tokens", "temperature", "top_p", "seed", "stop", "frequency_penalty"}
    | {"presence_penalty", "logit_bias", "logprobs", "modalities", "tool_choice"}
    | {"parallel_tool_calls", "response_format", "reasoning", "service_tier", "user", "metadata"}
    | {"stream", "cache_key", "cache_mode", "cache_ttl"}
)

TABLES = Tables(
    name=NAME,
    provider="openai",
    parts={
        "system": TEXT_PARTS,
        "developer": TEXT_PARTS,
        "user": USER_PARTS,
        "assistant": frozenset({"text", "refusal"}),
        "tool": TEXT_PARTS,
    },
    options=SAMPLING | {"n", "verbosity", "cache_retention"},
    words={
        "service_tier": frozenset({"auto", "default", "flex", "scale", "priority", "fast"}),
        "verbosity": frozenset({"low", "medium", "high"}),
        "modalities": frozenset({"text", "audio"}),
        "detail": frozenset({"auto", "low", "high", "original"}),
        "audio": frozenset({"wav", "mp3"}),
    },
    cache=CacheMark(
        "prompt_cache_breakpoint",
        {"mode": "explicit"},
        {"30m": "30m", "12h": "12h", "5m": "30m", "1h": "30m", "24h": "12h"},
        frozenset({"part"}),
    ),
    host=DEFAULT_HOST,
    answer_thinking=("reasoning_content", "thinking_blocks"),
    plain_thinking=("reasoning_content",),
    reasoning_object=False,
    stops=STOP_REASONS,
    issuers=FORMATS,
    fillers={"id": RESPONSE_ID, "object": "chat.completion", "created": 0, "model": ""},
)

ANSWER_TABLES = answering(TABLES)

TRAITS = Traits(
    speaks=True,
    # "The 'metadata' parameter is only allowed when 'store' is enabled", status 400 (reports to
    # litellm, qwen-code and others, 2025-08 to 2026-04).
    stored_metadata=True,
    developer=True,
    ids=OPENAI_IDS,
    error_flag=False,
    metadata="metadata",
    free_text_tools=True,
    instruction_roles=True,
    hosts=Hosts(HOSTS, host_at),
    paths={"request": "/chat/completions"},
    models_path="/models",
)


_is_flat_error = signs.both(signs.is_word("object", "error"), signs.of_type("message", str))
"""Mistral's and vLLM's errors."""

BODIES: dict[Kind, Holds] = {
    "request": signs.messages_there,
    "response": lambda data: signs.choices_there(data) or _is_flat_error(data),
}
"""Whether there is something that could be the conversation."""

_KEYS = (
    *("max_completion_tokens", "response_format", "frequency_penalty", "presence_penalty"),
    *("logprobs", "top_logprobs", "n", "stream_options", "reasoning_effort"),
    *("parallel_tool_calls", "logit_bias", "functions"),
)
_PARTS = ("image_url", "input_audio", "file", "refusal")

SIGNS = (
    Sign("request", 2, "messages with roles", signs.with_roles),
    Sign("request", 3, "keys of Chat", has_key(*_KEYS)),
    Sign("request", 3, "parts of Chat", signs.part_types(*_PARTS)),
    Sign("request", 2, "tools in a function key", signs.tool_keys("function")),
    Sign("request", 3, "call arguments as text", signs.call_arguments(str)),
    Sign("request", 2, "tool_call_id", signs.message_keys("tool_call_id")),
    Sign("request", 1, "max_tokens", has_key("max_tokens")),
    Sign("request", 3, "a leading message of role system", signs.leading_system),
    Sign("response", 6, "choices", signs.of_type("choices", list)),
    Sign("response", 2, "object chat.completion", signs.is_word("object", "chat.completion")),
    Sign("response", 5, "an error by its object", _is_flat_error),
    Sign("response", 5, "an error with type and message", signs.error_has("type")),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these; OpenRouter names the provider too."""
    return "choices" in data and not isinstance(data.get("provider"), str)
