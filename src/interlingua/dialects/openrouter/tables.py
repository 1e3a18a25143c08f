"""OpenRouter's chat as data: what differs from OpenAI, and what it adds.

Words are those of the Python package `openrouter` 1.3.84 (read 2026-11-15), unless a remark names
another source.
"""

from __future__ import annotations

from msgspec.structs import replace

from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.openai_chat import tables as chat
from interlingua.dialects.openai_chat.tables import BODIES as BODIES
from interlingua.dialects.record import Traits
from interlingua.dialects.signs import Holds, Sign, Wire, has_key, message_keys, of_type
from interlingua.model.metadata import StopReason

NAME = "openrouter"
TITLE = "OpenRouter Chat"

STOPS: TwoWay[str, StopReason] = TwoWay(
    {**chat.STOP_REASONS.words, "error": StopReason.ERROR}, otherwise=StopReason.OTHER
)
"""The stop reasons of Chat Completions, and `error` (SDK `openrouter` 1.3.84, read 2026-11-15)."""

ROUTED = replace(
    chat.TABLES,
    name=NAME,
    provider="openrouter",
    parts={
        "system": chat.TEXT_PARTS,
        "developer": chat.TEXT_PARTS,
        "user": chat.USER_PARTS | {"video_url"},
        "assistant": frozenset({"text"}),
        "tool": chat.USER_PARTS | {"video_url"},
    },
    options=chat.SAMPLING | {"top_k", "min_p", "repetition_penalty", "cache"},
    words={
        **chat.TABLES.words,
        "service_tier": chat.TABLES.words["service_tier"] | {"ultrafast"},  # type: ignore[operator]  # it is a set
        "modalities": frozenset({"text", "image", "audio"}),
        "audio": None,
    },
    cache=chat.CacheMark(
        "cache_control",
        {"type": "ephemeral"},
        {"5m": "5m", "1h": "1h", "30m": "1h", "12h": "1h", "24h": "1h"},
        frozenset({"part", "tool", "body"}),
    ),
    host=chat.Host(
        max_tokens="max_tokens", user="user", thinking="reasoning_details", replay="always"
    ),
    answer_thinking=("reasoning", "reasoning_details"),
    plain_thinking=("reasoning", "reasoning_details"),
    reasoning_object=True,
    stops=STOPS,
    issuers={},
    fillers={**chat.TABLES.fillers, "system_fingerprint": None},
    null_stop=True,
    images_out=True,
    custom_tools=False,
    subset_choice=False,
    float_bias=True,
    server_tools="openrouter:",
    deferred_tools=True,
    cited_content=True,
    file_urls=True,
    status_codes=True,
    changes=frozenset({"effort"}),
)
"""The differences from OpenAI (SDK `openrouter` 1.3.84, read 2026-11-15)."""
ANSWERED = chat.answering(ROUTED)

TRAITS = Traits(
    speaks=True,
    choices=frozenset({"none", "one"}),
    family="openrouter",
    developer=True,
    ids=chat.OPENAI_IDS,
    error_flag=False,
    result_media=frozenset({"image", "audio", "video", "document"}),
    replays_thinking=True,
    changes=ROUTED.changes,
    metadata="metadata",
    relays_signatures=True,
    instruction_roles=True,
    paths={"request": "/chat/completions"},
)
"""Thinking comes from many issuers: `raw["openrouter"]["format"]` of each block names the issuer
(`FORMATS` gives the dialect), and OpenRouter accepts all of them (SDK `openrouter` 1.3.84, read
2026-11-15)."""


def _choice_keys(*keys: str) -> Holds:
    def holds(data: Wire) -> bool:
        choices = data.get("choices")
        listed = choices if isinstance(choices, list) else []
        objects = [each for each in listed if isinstance(each, dict)]
        messages = [each["message"] for each in objects if isinstance(each.get("message"), dict)]
        return any(key in each for each in (*objects, *messages) for key in keys)

    return holds


def _openrouter_error(data: Wire) -> bool:
    error = data.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        return False
    return "status" not in error and "type" not in error


def _asks_for_thinking(data: Wire) -> bool:
    return isinstance(data.get("reasoning"), dict) and "messages" in data


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "choices" in data and isinstance(data.get("provider"), str)


_KEYS = ("plugins", "models", "transforms", "route", "provider")
_ANSWERED = ("native_finish_reason", "reasoning_details")

SIGNS = (
    Sign("request", 9, "keys of OpenRouter", has_key(*_KEYS)),
    Sign("request", 9, "reasoning_details", message_keys("reasoning_details")),
    Sign("request", 6, "a reasoning object beside messages", _asks_for_thinking),
    Sign("response", 5, "choices", of_type("choices", list)),
    Sign("response", 5, "keys of OpenRouter", _choice_keys(*_ANSWERED)),
    Sign("response", 5, "a provider beside choices", is_frame),
    Sign("response", 6, "an error with a number as code", _openrouter_error),
)
