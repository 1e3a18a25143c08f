"""The words of the Messages API as data: roles, stop reasons, tools, errors, keys.

They are those of the Python package `anthropic` 2.8.0, which sends `anthropic-version: 2026-10-21`
(types and code, read 2026-11-15), unless a remark names another source. What is refused is from the
documentation of the API's versions (read 2026-11-15) and from recorded answers.
"""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.kernel import claude
from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.record import Counting, ThinkingBinding, Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import (
    Holds,
    Sign,
    Wire,
    both,
    has_all,
    has_key,
    is_word,
    messages_of,
    messages_there,
    of_type,
    parts_of,
    tool_keys,
    with_roles,
    word,
)
from interlingua.model.exchange import ErrorKind
from interlingua.model.ids import IdGrammar
from interlingua.model.metadata import StopReason

NAME = "anthropic"
TITLE = "Anthropic Messages"

TRAITS = Traits(
    choices=frozenset({"none", "one"}),
    messages_apart=True,
    family="anthropic",
    hoists_instructions=True,
    ids=IdGrammar("[a-zA-Z0-9_-]", 1, 64),
    result_media=frozenset({"image", "document"}),
    result_texts=True,
    results_in_user_turn=True,
    allowed_text="visible",
    text_behind_calls=False,
    closes_blocks=True,
    compactions=True,
    shows_summaries=True,
    changes=frozenset({"tools_added", "tools_removed", "effort", "clear_at"}),
    defers_added=True,
    needs_limit=True,
    sampling_by_model=True,
    hour_cache=True,
    task_budget=True,
    code_calls=True,
    betas=True,
    # Preserved thinking, Claude Platform documentation and anthropic 2.8.0, read 2026-11.
    binding=ThinkingBinding("anthropic", "claude", (5, 1)),
    paths={"request": "/v1/messages", "count_tokens": "/v1/messages/count_tokens"},
    # API reference of the count, read 2026-11.
    counting=Counting(
        "input_tokens",
        frozenset(
            {
                *("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences"),
                *("metadata", "service_tier"),
            }
        ),
    ),
)

ROLES, EFFORTS, MODES = claude.ROLES, claude.EFFORTS, claude.MODES
DISPLAYS, TTLS = claude.DISPLAYS, claude.TTLS

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        **claude.COMMON_STOP_REASONS,
        "refusal": StopReason.REFUSAL,
        "pause_turn": StopReason.PAUSE,
        "compaction": StopReason.PAUSE,
    },
    otherwise=StopReason.OTHER,
)
NEAR_STOP_REASONS: dict[StopReason, str] = {StopReason.CONTENT_FILTER: "refusal"}
"""Substitutes for stop reasons that the wire lacks; any other is written as `end_turn`."""
STOP_WORDS = claude.stop_words(STOP_REASONS, NEAR_STOP_REASONS)

TOOL_CHOICES: dict[str, Any] = {"auto": "auto", "any": "any", "none": "none", "tool": "any"}
SERVICE_TIERS: TwoWay[str, str] = TwoWay({"auto": "auto", "standard_only": "default"})
SERVED_TIERS: TwoWay[str, str] = TwoWay(
    {"standard": "default", "priority": "priority", "batch": "batch"}
)

ERRORS: TwoWay[str, ErrorKind] = TwoWay(
    {
        "rate_limit_error": ErrorKind.RATE_LIMIT,
        "overloaded_error": ErrorKind.RATE_LIMIT,
        "authentication_error": ErrorKind.AUTH,
        "permission_error": ErrorKind.AUTH,
        "api_error": ErrorKind.SERVER_ERROR,
        "timeout_error": ErrorKind.SERVER_ERROR,
        "invalid_request_error": ErrorKind.INVALID_REQUEST,
        "billing_error": ErrorKind.INVALID_REQUEST,
        "not_found_error": ErrorKind.INVALID_REQUEST,
        "conflict_error": ErrorKind.INVALID_REQUEST,
        "request_too_large": ErrorKind.CONTEXT_OVERFLOW,
    },
    otherwise=ErrorKind.OTHER,
)
NEAR_ERRORS: dict[ErrorKind, str] = {
    ErrorKind.CONTEXT_OVERFLOW: "invalid_request_error",
    ErrorKind.NETWORK: "timeout_error",
}
"""Takes precedence over `ERRORS`; a kind in neither is an `api_error`."""
STATUS_ERRORS: dict[tuple[ErrorKind, int | None], str] = {
    (ErrorKind.AUTH, 403): "permission_error",
    (ErrorKind.INVALID_REQUEST, 404): "not_found_error",
    (ErrorKind.INVALID_REQUEST, 409): "conflict_error",
    (ErrorKind.RATE_LIMIT, 529): "overloaded_error",
    (ErrorKind.SERVER_ERROR, 504): "timeout_error",
}
"""The error types for kinds with these HTTP statuses."""
OVERFLOW = re.compile(r"\b(context|tokens)\b")
"""An `invalid_request_error` that mentions one of these words means a prompt that is too long
(recorded answers, read 2026-11)."""

DEFAULT_MAX_TOKENS = 4096
DEFAULT_ID = "msg_unknown"
OWN_IDS = "msg_"
"""The prefix of ids of Anthropic's own messages, including `msg_vrtx_` and `msg_bdrk_` (recorded
traffic, read 2026-11)."""
DEFAULT_MODEL = "unknown"

CLIENT_TOOLS = re.compile(
    r"(bash|text_editor|memory|computer|computer_toolset|browser_toolset)_\d{8}"
)
HOSTED_TOOLS = re.compile(
    r"(web_search|web_fetch|code_execution|advisor)_\d{8}"
    r"|tool_search_tool_(bm25|regex)(_\d{8})?|mcp_toolset"
)

PROGRAM = "code_execution_20250825"
"""The tool whose code may call others, for calls with an unknown one."""
PROGRAMS = re.compile(r"code_execution_\d{8}")

SOURCES: dict[str, tuple[str, str]] = {
    "base64": ("base64", "data"),
    "text": ("text", "data"),
    "url": ("url", "url"),
    "file": ("file_id", "file_id"),
    "content": ("blocks", "content"),
}
"""The sources of an image or a document: the kind of source, and its key."""
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
DEFAULT_IMAGE = "image/png"
PDF = "application/pdf"
PLAIN = "text/plain"

MARKERS = frozenset(
    {"tool_addition", "tool_removal", "fallback", "mcp_tool_listing", "browser_state"}
)
"""Parts that are signals to the service and have no content for other dialects."""
CHANGES: dict[str, str] = {"tool_addition": "tools_added", "tool_removal": "tools_removed"}
"""Parts of a system turn that name a tool, and the field of `Changes` that names it."""
BETA_HEADER = "anthropic-beta"
COMPACT_EDIT = "compact_20260112"
"""The edit of `context_management` that sums the conversation up."""
BETAS: dict[str, str] = {
    "changes": "mid-conversation-tool-changes-2026-07-01",
    "inline": "inline-tools-2026-09-15",
    "output_config": "mid-conversation-output-config-2026-07-01",
    "clear_at": "mid-conversation-system-clear-at-2026-08-21",
    "compaction": "compact-2026-01-12",
    "signed": "compact-2026-09-04",
    "binding": "thinking-binding-controls-2026-08-01",
    "mcp_toolset": "mcp-client-2025-11-20",
    "computer_20250124": "computer-use-2025-01-24",
    "computer_20251124": "computer-use-2025-11-24",
    "advisor_20260301": "advisor-tool-2026-03-01",
    "task_budget": "task-budgets-2026-03-13",
}
"""The betas that the content of a request requires (`anthropic` 2.8.0, read 2026-11)."""
REFERENCES: dict[str, str] = {"tool_reference": "name", "mcp_toolset_reference": "server_name"}
"""The type of each reference to a tool, and the key with its name."""

CITATIONS: dict[str, dict[str, str]] = {
    "web_search_result_location": {"url": "url", "title": "title"},
    "search_result_location": {"source": "url", "title": "title"},
    "char_location": {
        "document_index": "document_index",
        "document_title": "title",
        "file_id": "file_id",
    },
}
CITATIONS["page_location"] = CITATIONS["content_block_location"] = CITATIONS["char_location"]
"""Citation type to wire key and field; all have `cited_text`."""

INNER: dict[str, str] = {
    "code_execution_result": "stdout",
    "bash_code_execution_result": "stdout",
    "text_editor_code_execution_view_result": "content",
    "advisor_result": "text",
    "web_fetch_result": "content",
    "tool_search_tool_search_result": "tool_references",
}
"""The key of a hosted tool's result whose content canonical blocks can hold: a text, a part or
parts."""

_MEDIA = frozenset({"image", "document", "search_result", "container_upload"})
HOLDS: dict[str, frozenset[str]] = {
    "system": frozenset({"text", "tool_addition", "tool_removal"}),
    "user": frozenset({"text", "tool_result"}) | _MEDIA,
    "assistant": frozenset(
        {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "mcp_tool_use"}
        | {"container_upload", "compaction", "fallback", "mcp_tool_listing"}
    ),
    "result": frozenset(
        {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
    ),
    "hosted": frozenset({"text", "document", "web_search_result", "tool_reference"}),
    "source": frozenset({"text", "image"}),
}
"""The blocks that are allowed in each place; results of hosted tools only in assistant turns."""

REFUSED_OPTIONS = ("temperature", "top_p", "top_k")
"""Version 2026-10-21 answers them with a 400 (its documentation, read 2026-11-15), and so do Opus
4.7 and what came after it under any version (recorded answers, read 2026-11): they are written
where the wire had them, or where the model is known to take them. Both stand in the form as
`sampling`."""
BLOCK_START, BLOCK_DELTA, BLOCK_STOP = (
    f"content_block_{step}" for step in ("start", "delta", "stop")
)
"""The frames of a block."""

PIECES: dict[str, tuple[str, str]] = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "compaction": ("compaction_delta", "content"),
    "tool_use": ("input_json_delta", "partial_json"),
}
"""How parts continue in a stream: the type of a delta, and its key. Calls continue alike,
whether the client or the service runs them; parts without an entry arrive whole."""


_KEYS = ("system", "anthropic_version", "output_config")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")


def _anthropic_messages_there(data: Wire) -> bool:
    """Hosts of Chat have keys of Anthropic's, but not its roles."""
    roles = [message.get("role") for message in messages_of(data)]
    chat = {"tool", "function", "developer"}.intersection(filter(None, map(word, roles)))
    return messages_there(data) and not chat and roles[:1] != ["system"]


def _message_there(data: Wire) -> bool:
    return data.get("type") == "error" or isinstance(data.get("content"), list)


def _thinks(data: Wire) -> bool:
    """Hosts of Chat switch thinking on and off with the same key; they have no budget for it
    (DeepSeek's recorded requests, read 2026-11-18)."""
    thinking, model = data.get("thinking"), word(data.get("model"))
    if not isinstance(thinking, dict) or "max_tokens" not in data:
        return False
    is_switch = thinking.keys() == {"type"} and thinking["type"] in ("enabled", "disabled")
    return not is_switch or model is None or "claude" in model


def _blocks(data: Wire) -> bool:
    """Mistral's thinking is a list of parts."""
    return any(
        word(part.get("type")) in _BLOCKS and not isinstance(part.get("thinking"), list)
        for part in parts_of(data)
    )


BODIES: dict[Kind, Holds] = {"request": _anthropic_messages_there, "response": _message_there}
"""Whether a body has a member that could hold the conversation."""

SIGNS = (
    Sign("request", 1, "messages with roles", with_roles),
    Sign("request", 2, "max_tokens", has_key("max_tokens")),
    Sign("request", 5, "keys of Anthropic", has_key(*_KEYS)),
    Sign("request", 3, "stop_sequences", has_key("stop_sequences")),
    Sign("request", 2, "stop_sequences beside max_tokens", has_all("stop_sequences", "max_tokens")),
    Sign("request", 5, "thinking beside max_tokens", _thinks),
    Sign("request", 5, "tools with input_schema", tool_keys("input_schema")),
    Sign("request", 5, "blocks of Anthropic", _blocks),
    Sign("response", 9, "type message", is_word("type", "message")),
    Sign("response", 9, "type error", both(is_word("type", "error"), of_type("error", dict))),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (word(data.get("type")) or "").startswith(("message_", "content_block_", "ping"))
