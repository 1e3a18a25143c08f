"""The words of Cohere's chat as data: roles, reasons, options, errors, keys.

They are those of the Python package `cohere` 7.3.1 (`cohere.v2.types`, `cohere.types` and what its
client says of them, read 2026-11-15), unless a remark names another source. The v1 chat (`message`
and `chat_history` in place of `messages`) is read, and goes home as v1; its words are those that
begin with `v1` (`cohere.types`, read 2026-11-18)."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.words import StopWords, TwoWay, hints
from interlingua.dialects.record import Traits
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
"""The wire has no `developer`: those are said as `system`."""

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
"""How closely an image is looked at."""
DOCUMENT_TEXTS = ("text", "snippet")
"""Where the data of a document has its text: the data is the caller's own, and these are the names
of the documentation's examples (read 2026-11-15)."""
CITED = "TEXT_CONTENT"
CITED_PLAN = "PLAN"
"""What a citation is of; those of thinking (`THINKING_CONTENT`) stay with the message."""
COMMENTARY = "commentary"
"""The phase of a plan: what the model says before it calls tools."""

TOOL_FORMAT: dict[str, Any] = {"type": "object", "properties": {}}
TEXT_FORMAT: dict[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""What a tool that takes free text takes here."""
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
"""What an error is, by its words: most bodies say nothing else."""
