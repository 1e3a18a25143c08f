"""The words of Ollama's chat as data: roles, reasons, options, errors, keys.

They are those of the server's own types (`api/types.go` of 2026-08-21) and of the Python package
`ollama` 0.6.3, which lags behind them (both read 2026-11-15), unless a remark names another source.
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
    has_all,
    has_key,
    messages_of,
    messages_there,
    of_type,
    with_roles,
)
from interlingua.model.exchange import ErrorKind
from interlingua.model.message import Role
from interlingua.model.metadata import StopReason

NAME = "ollama"
TITLE = "Ollama chat"

TRAITS = Traits(
    choices=frozenset(),
    optional_ids=True,
    # The server puts a mark for each image into the text of any message, results included.
    result_media=frozenset({"image"}),
    error_flag=False,
    replays_thinking=True,
    schema_keywords=frozenset(
        {"type", "items", "description", "enum", "properties", "required", "anyOf", "$defs"}
    ),
    framing="ndjson",
    unicode_newlines=True,  # ollama 0.6, tried 2026-11
    paths={"request": "/api/chat"},
)

ROLES: dict[str, Role] = {
    "system": Role.SYSTEM,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "developer": Role.DEVELOPER,
}
"""Other roles are defined by templates, such as `control`: they are read as instructions, and
written back unchanged."""
WORDS: dict[Role, str] = {
    Role.SYSTEM: "system",
    Role.DEVELOPER: "system",
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.TOOL: "tool",
}

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        "stop": StopReason.END_TURN,
        "length": StopReason.MAX_TOKENS,
        "load": StopReason.OTHER,
        "unload": StopReason.OTHER,
        "": StopReason.OTHER,
    },
    otherwise=StopReason.OTHER,
)
"""`stop` beside calls is a turn that ended with them."""
NEAR_STOP_REASONS: dict[StopReason, str] = {
    StopReason.MAX_TOKENS: "length",
    StopReason.PAUSE: "length",
}
"""A reason that is not here is a `stop`."""
STOP_WORDS = StopWords(STOP_REASONS.read, NEAR_STOP_REASONS, "stop", cut="length")

EFFORTS: dict[str, str] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "max",
}
"""The nearest effort; `none` is `think: false`."""

NUMBERS: dict[str, tuple[str, type[Any]]] = {
    "temperature": ("temperature", float),
    "top_p": ("top_p", float),
    "min_p": ("min_p", float),
    "seed": ("seed", int),
    "repeat_penalty": ("repetition_penalty", float),
    "presence_penalty": ("presence_penalty", float),
    "frequency_penalty": ("frequency_penalty", float),
}
"""The keys of `options` that are numbers of any size, and their fields."""
MOST_LOGPROBS = 20

JOINERS: dict[Role, str] = {Role.ASSISTANT: ""}
"""Between texts that become one: a model's go on in mid-sentence, others are paragraphs."""
JOINER = "\n\n"

DEFAULT_MODEL = "unknown"
DEFAULT_TIME = "1970-01-01T00:00:00Z"

STATUSES: dict[int, ErrorKind] = {
    400: ErrorKind.INVALID_REQUEST,
    401: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    404: ErrorKind.INVALID_REQUEST,
    429: ErrorKind.RATE_LIMIT,
    500: ErrorKind.SERVER_ERROR,
    502: ErrorKind.SERVER_ERROR,
    503: ErrorKind.SERVER_ERROR,
}
HINTS = hints(
    (r"context (length|window|size)|input length exceeds", ErrorKind.CONTEXT_OVERFLOW),
    (r"unauthori[sz]ed|forbidden|sign ?in|api key", ErrorKind.AUTH),
    (r"too many requests|rate limit|usage limit|server busy", ErrorKind.RATE_LIMIT),
    (r"not found|does not support|invalid|is required|missing", ErrorKind.INVALID_REQUEST),
    (r"model runner|unexpectedly|internal server|timed out", ErrorKind.SERVER_ERROR),
)
"""The kind of an error by its text, because the wire has no type for it."""


def _bare_images(data: Wire) -> bool:
    return any(
        isinstance(message.get("images"), list)
        and all(isinstance(image, str) for image in message["images"])
        for message in messages_of(data)
        if message.get("images")
    )


def _lone_error(data: Wire) -> bool:
    return isinstance(data.get("error"), str) and data.keys() <= {"error", "signin_url"}


def _ollama_answer_there(data: Wire) -> bool:
    return isinstance(data.get("message"), dict) or _lone_error(data)


BODIES: dict[Kind, Holds] = {"request": messages_there, "response": _ollama_answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign("request", 6, "keys of Ollama", has_key("keep_alive", "think")),
    Sign("request", 6, "an options object", of_type("options", dict)),
    Sign("request", 6, "format as a schema or a word", has_all("messages", "format")),
    Sign("request", 6, "images as bare base64", _bare_images),
    Sign("request", 9, "call arguments as objects", call_arguments(dict)),
    Sign("response", 9, "done beside a message", both(has_key("done"), of_type("message", dict))),
    Sign("response", 5, "an error that is a string", _lone_error),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "done" in data and ("message" in data or "model" in data)
