"""OpenRouter's chat as data: what it says in another way than OpenAI, and what it adds.

Words are those of the Python package `openrouter` 1.3.84 (read 2026-11-15), unless a remark names
another source."""

from __future__ import annotations

from msgspec.structs import replace

from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.openai_chat import tables as chat
from interlingua.dialects.record import Traits
from interlingua.model.metadata import StopReason

NAME = "openrouter"
TITLE = "OpenRouter Chat"

STOPS: TwoWay[str, StopReason] = TwoWay(
    {**chat.STOP_REASONS.words, "error": StopReason.ERROR}, otherwise=StopReason.OTHER
)
"""Those of Chat Completions, and `error` (SDK `openrouter` 1.3.84, read 2026-11-15)."""

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
"""What the service has, and says in another way than OpenAI (SDK `openrouter` 1.3.84, read
2026-11-15)."""
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
"""Thinking comes from many issuers: each block's `raw["openrouter"]["format"]` says whose it is
(`FORMATS` gives the dialect), and OpenRouter takes all of them back (SDK `openrouter` 1.3.84, read
2026-11-15)."""
