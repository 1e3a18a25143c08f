"""The words of Cohere's chat as data: roles, reasons, options, errors, keys.

They are those of the Python package `cohere` 7.3.1 (`cohere.v2.types`, `cohere.types` and the
docstrings of its client, read 2026-11-15), unless a remark names another source. The v1 chat
(`message` and `chat_history` in place of `messages`) is read, and written back as v1; its words
begin with `v1` (`cohere.types`, read 2026-11-18).
"""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.words import StopWords, TwoWay, hints
from interlingua.dialects.record import Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    both,
    call_arguments,
    has_key,
    is_word,
    leading_system,
    message_keys,
    messages_of,
    messages_there,
    of_type,
    part_types,
    tool_keys,
    with_roles,
    word,
)
from interlingua.model.exchange import ErrorKind, ReasoningMode
from interlingua.model.message import Role
from interlingua.model.metadata import StopReason

NAME = "cohere"
TITLE = "Cohere v2 chat"

TRAITS = Traits(
    choices=frozenset({"none"}),
    result_media=frozenset({"document"}),
    result_texts=True,
    error_flag=False,
    replays_thinking=True,
    paths={"request": "/v2/chat"},
    models_path="/v1/models",
)

ROLES: TwoWay[str, Role] = TwoWay(
    {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
)
"""The wire has no `developer` role: such messages are sent as `system`."""

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        "COMPLETE": StopReason.END_TURN,
        "STOP_SEQUENCE": StopReason.STOP_SEQUENCE,
        "MAX_TOKENS": StopReason.MAX_TOKENS,
        "TOOL_CALL": StopReason.TOOL_USE,
        "ERROR": StopReason.ERROR,
        "TIMEOUT": StopReason.ERROR,
    },
    otherwise=StopReason.OTHER,
)
NEAR_STOP_REASONS: dict[StopReason, str] = {
    StopReason.PAUSE: "MAX_TOKENS",
    StopReason.CANCELLED: "ERROR",
}
"""A reason that is neither here nor above is a `COMPLETE`."""
STOP_WORDS = StopWords(
    STOP_REASONS.read, STOP_REASONS.nearest(NEAR_STOP_REASONS), "COMPLETE", cut="MAX_TOKENS"
)

V1_ROLES: TwoWay[str, Role] = TwoWay(
    {"USER": Role.USER, "CHATBOT": Role.ASSISTANT, "SYSTEM": Role.SYSTEM, "TOOL": Role.TOOL}
)
"""The roles of a history; the preamble is `system` too."""
V1_STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        "COMPLETE": StopReason.END_TURN,
        "STOP_SEQUENCE": StopReason.STOP_SEQUENCE,
        "MAX_TOKENS": StopReason.MAX_TOKENS,
        "ERROR_LIMIT": StopReason.MAX_TOKENS,
        "ERROR_TOXIC": StopReason.CONTENT_FILTER,
        "USER_CANCEL": StopReason.CANCELLED,
        "ERROR": StopReason.ERROR,
        "TIMEOUT": StopReason.ERROR,
    },
    otherwise=StopReason.OTHER,
)
"""An answer with calls that is `COMPLETE` is `tool_use`."""
V1_STOP_WORDS = StopWords(
    V1_STOP_REASONS.read,
    V1_STOP_REASONS.nearest({StopReason.PAUSE: "MAX_TOKENS"}),
    "COMPLETE",
    cut="MAX_TOKENS",
)
V1_TYPES: dict[str, str] = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
    "List": "array",
    "Dict": "object",
    **{word: word for word in ("string", "integer", "number", "boolean", "array")},
}
"""The types of a tool's parameters: names of Python's, or of JSON Schema's. `object` is Python's,
and is anything."""

TOOL_CHOICES: dict[str, str] = {"REQUIRED": "any", "NONE": "none"}
"""Without one the model is free; no single tool can be named."""
THINKING: TwoWay[str, ReasoningMode] = TwoWay({"enabled": "on", "disabled": "off"})
FORMATS: dict[str, str] = {"text": "text", "json_object": "json"}
"""`json_object` with a `json_schema` beside it is a schema."""
NUMBERS: dict[str, tuple[str, type[Any]]] = {
    "max_tokens": ("max_output_tokens", int),
    "temperature": ("temperature", float),
    "p": ("top_p", float),
    "k": ("top_k", float),
    "seed": ("seed", int),
    "frequency_penalty": ("frequency_penalty", float),
    "presence_penalty": ("presence_penalty", float),
}
"""The keys of a request that are numbers, and their fields."""

DETAILS = ("auto", "low", "high")
"""The resolution at which an image is processed."""
DOCUMENT_TEXTS = ("text", "snippet")
"""Keys of a document's text: the data is the caller's own, and these are the keys in the
documentation's examples (read 2026-11-15)."""
CITED = "TEXT_CONTENT"
CITED_PLAN = "PLAN"
"""The subject of a citation; those of thinking (`THINKING_CONTENT`) stay with the message."""
COMMENTARY = "commentary"
"""The phase of a plan: the text before the model calls tools."""

TOOL_FORMAT: dict[str, Any] = {"type": "object", "properties": {}}
TEXT_FORMAT: dict[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The schema of a tool that accepts free text."""
DEFAULT_ID = "unknown"
DEFAULT_IMAGE = "image/png"
JOINER = "\n"
"""Between plans that become one."""

DONE = "[DONE]"
"""The last frame of a stream (recorded answers, read 2026-11-15); the client stops at it."""

CODES: TwoWay[str, ErrorKind] = TwoWay({"TOO_MANY_TOKENS": ErrorKind.CONTEXT_OVERFLOW})
"""`error_type` of an error body (recorded answer, read 2026-11-15); most have none."""
HINTS = hints(
    (r"too many tokens|context (length|window)", ErrorKind.CONTEXT_OVERFLOW),
    (r"api (key|token)|unauthori[sz]ed|forbidden|blocked", ErrorKind.AUTH),
    (r"rate limit|too many requests|limited to|per minute", ErrorKind.RATE_LIMIT),
    (r"internal (server )?error|unavailable|timed? ?out|overload", ErrorKind.SERVER_ERROR),
    (r"not found|invalid|required|must be|not support|unknown", ErrorKind.INVALID_REQUEST),
)
"""The kind of an error by words in its message: most error bodies have no other member."""


_STARTS = frozenset({"message-start", "content-start", "content-delta", "tool-plan-delta"})
_ENDS = frozenset({"content-end", "tool-call-start", "citation-start", "message-end"})
_V1 = frozenset(
    {"stream-start", "text-generation", "tool-calls-chunk", "tool-calls-generation", "stream-end"}
    | {"search-queries-generation", "search-results", "citation-generation"}
)
_SHARED = ("response_format", "frequency_penalty", "presence_penalty", "logprobs")
_ERROR = frozenset({"id", "message", "error_type", "data"})


def _is_error(data: Wire) -> bool:
    return isinstance(data.get("message"), str) and "id" in data and data.keys() <= _ERROR


def _answer_there(data: Wire) -> bool:
    return isinstance(data.get("message"), dict) or _is_error(data)


def _documents(data: Wire) -> bool:
    listed = data.get("documents")
    return isinstance(listed, list) and "messages" in data


def _thoughts(data: Wire) -> bool:
    return any(_is_thought(part) for message in messages_of(data) for part in _content(message))


def _content(message: Wire) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _is_thought(part: Any) -> bool:
    is_one = isinstance(part, dict) and part.get("type") == "thinking"
    return is_one and isinstance(part.get("thinking"), str) and "signature" not in part


def _billed(data: Wire) -> bool:
    usage = data.get("usage")
    return isinstance(usage, dict) and ("billed_units" in usage or "cached_tokens" in usage)


_OF_CHAT = frozenset(
    {"top_p", "stop", "n", "max_completion_tokens", "top_logprobs", "stream_options", "logit_bias"}
    | {"reasoning_effort", "parallel_tool_calls", "functions", "user", "metadata", "options"}
)
"""Keys that Cohere's compatible endpoints and other hosts of its models take, and v2 does not."""


def _named(data: Wire) -> bool:
    """Whether the name is a model of Cohere: hosts put their own name before it, and Ollama a tag
    after it."""
    name = word(data.get("model")) or ""
    is_own = name.startswith(("command", "c4ai-")) and ":" not in name and "/" not in name
    return is_own and _OF_CHAT.isdisjoint(data)


# -- v1 -------------------------------------------------------------------------------------------

_KEYS_OF_V1 = frozenset(
    {"model", "stream", "chat_history", "preamble", "connectors", "documents", "tools", "k", "p"}
    | {"tool_results", "conversation_id", "prompt_truncation", "citation_quality", "temperature"}
    | {"max_tokens", "max_input_tokens", "search_queries_only", "force_single_step", "seed"}
    | {"stop_sequences", "raw_prompting", "response_format", "safety_mode"}
)
_OWN_OF_V1 = (
    *("chat_history", "preamble", "connectors", "tool_results", "prompt_truncation"),
    *("citation_quality", "search_queries_only", "force_single_step", "raw_prompting"),
)


def _is_v1_request(data: Wire) -> bool:
    is_one = isinstance(data.get("message"), str) and "messages" not in data
    return is_one and not _KEYS_OF_V1.isdisjoint(data)


def _is_v1_answer(data: Wire) -> bool:
    is_one = isinstance(data.get("text"), str) and "message" not in data
    return is_one and ("generation_id" in data or "response_id" in data or _versioned(data))


def _versioned(data: Wire) -> bool:
    meta = data.get("meta")
    return isinstance(meta, dict) and "api_version" in meta


BODIES: dict[Kind, Holds] = {
    "request": lambda data: messages_there(data) or _is_v1_request(data),
    "response": lambda data: _answer_there(data) or _is_v1_answer(data),
}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign(
        "request", 6, "keys of Cohere", has_key("safety_mode", "citation_options", "strict_tools")
    ),
    Sign("request", 5, "a model of Cohere", _named),
    Sign("request", 6, "documents beside the messages", _documents),
    Sign("request", 6, "a plan before calls", message_keys("tool_plan")),
    Sign("request", 3, "top k and top p as letters", has_key("k", "p")),
    Sign("request", 6, "choices in capitals", is_word("tool_choice", "REQUIRED", "NONE")),
    Sign("request", 2, "stop_sequences", of_type("stop_sequences", list)),
    Sign("request", 4, "thinking without a signature", _thoughts),
    Sign("request", 3, "documents in results", part_types("document")),
    Sign("request", 3, "keys that Chat has too", has_key(*_SHARED)),
    Sign("request", 3, "images as in Chat", part_types("image_url")),
    Sign("request", 2, "tools in a function key", tool_keys("function")),
    Sign("request", 3, "call arguments as text", call_arguments(str)),
    Sign("request", 2, "tool_call_id", message_keys("tool_call_id")),
    Sign("request", 1, "max_tokens", has_key("max_tokens")),
    Sign("request", 3, "a leading message of role system", leading_system),
    Sign("request", 5, "a message of v1", _is_v1_request),
    Sign("request", 5, "keys of v1", both(_is_v1_request, has_key(*_OWN_OF_V1))),
    Sign(
        "response",
        9,
        "a message beside Cohere's reason to finish",
        lambda data: (
            isinstance(data.get("message"), dict)
            and is_word("finish_reason", *STOP_REASONS.words)(data)
        ),
    ),
    Sign("response", 5, "billed units", _billed),
    Sign("response", 5, "an error with a message and an id", _is_error),
    Sign("response", 9, "a text of v1", _is_v1_answer),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return is_word("type", *_STARTS, *_ENDS)(data) or is_word("event_type", *_V1)(data)
