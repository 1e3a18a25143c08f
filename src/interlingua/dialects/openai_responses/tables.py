"""OpenAI Responses, as data: words, item kinds, keys, and what retelling needs to know.

They are those of the Python package `openai` 3.49.0 (types, read 2026-11-15), unless a remark names
another source. What other servers of this API do is from recorded answers (read 2026-11).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects import signs
from interlingua.dialects.kernel.usage import Split
from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.openai import ERRORS as ERRORS
from interlingua.dialects.openai import FORMAT_NAME
from interlingua.dialects.openai import FORMATS as FORMATS
from interlingua.dialects.openai_usage import Counts
from interlingua.dialects.record import Counting, Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, all_have
from interlingua.model.blocks import Executor
from interlingua.model.ids import IdGrammar
from interlingua.model.message import Role
from interlingua.model.metadata import MessageStatus, StopReason

NAME = "openai-responses"
TITLE = "OpenAI Responses API"
REQUEST = f"{NAME} request"
RESPONSE = f"{NAME} response"

TRAITS = Traits(
    messages="input",
    messages_apart=True,
    family="openai",
    developer=True,
    ids=IdGrammar("[a-zA-Z0-9_-]", 1, 64),
    result_media=frozenset({"image", "document"}),
    error_flag=False,
    compactions=True,
    changes=frozenset({"tools_added", "effort", "response_format"}),
    changes_inside=True,
    metadata="metadata",
    continues=frozenset({"response_id", "conversation_id", "prompt", "items"}),
    code_calls=True,
    free_text_tools=True,
    instruction_roles=True,
    asks_for_thinking={"include": ["reasoning.encrypted_content"], "store": False},
    paths={"request": "/responses"},
    # API reference of the count, read 2026-11.
    counting=Counting(
        "input_tokens",
        frozenset(
            {
                *("stream", "max_output_tokens", "temperature", "top_p", "store", "include"),
                *("metadata", "service_tier", "user", "safety_identifier", "top_logprobs"),
            }
        ),
    ),
)

ROLES: dict[str, Role] = {role.value: role for role in Role if role is not Role.TOOL}
"""Roles of message items. Tool results are items of their own."""

# Calls ---------------------------------------------------------------------------------------


class CallKind(NamedTuple):
    """How an item expresses a call: `name` is the vendor's name of the tool, None if the item
    contains it; `inside` is the key of the object with the call's input, otherwise `keys` are.
    Arguments may be that object as `text`."""

    name: str | None
    executor: Executor
    id_key: str
    inside: str | None = None
    keys: tuple[str, ...] = ()
    text: bool = False


FUNCTION, CUSTOM = "function_call", "custom_tool_call"
CALLS: dict[str, CallKind] = {
    FUNCTION: CallKind(None, "client", "call_id", "arguments", text=True),
    CUSTOM: CallKind(None, "client", "call_id", keys=("input",)),
    "mcp_call": CallKind(None, "provider", "id", "arguments", text=True),
    "web_search_call": CallKind("web_search", "provider", "id", "action"),
    "file_search_call": CallKind("file_search", "provider", "id", keys=("queries",)),
    "code_interpreter_call": CallKind("code_interpreter", "provider", "id", keys=("code",)),
    "image_generation_call": CallKind("image_generation", "provider", "id"),
    "mcp_list_tools": CallKind("mcp_list_tools", "provider", "id", keys=("server_label",)),
    "mcp_approval_request": CallKind(
        "mcp_approval_request", "client", "id", keys=("server_label", "name", "arguments")
    ),
    "tool_search_call": CallKind("tool_search", "provider", "call_id", "arguments"),
    "program": CallKind("program", "provider", "call_id", keys=("code",)),
    "multi_agent_call": CallKind(
        "multi_agent", "provider", "call_id", keys=("action", "arguments")
    ),
    "agent_message": CallKind(
        "agent_message", "provider", "id", keys=("author", "recipient", "content")
    ),
    "additional_tools": CallKind("additional_tools", "provider", "id", keys=("tools",)),
    "computer_call": CallKind("computer", "client", "call_id", keys=("action", "actions")),
    "local_shell_call": CallKind("local_shell", "client", "call_id", "action"),
    "shell_call": CallKind("shell", "client", "call_id", "action"),
    "apply_patch_call": CallKind("apply_patch", "client", "call_id", "operation"),
}
"""By the type of the item. `shell_call` is the provider's where its environment is a container,
`tool_search_call` the client's where its execution is `client`."""
CALL_TYPES: TwoWay[str, str] = TwoWay(
    {CUSTOM: "custom", **{word: word for word in CALLS if word not in (FUNCTION, CUSTOM)}}
)
"""The type of an item to the `call_type` of its call; a function has none."""


class OutputKind(NamedTuple):
    """A result as an item of its own: its call, and the key with the call's id."""

    call_type: str | None
    id_key: str = "call_id"
    provider: bool = False


OUTPUTS: dict[str, OutputKind] = {
    "function_call_output": OutputKind(None),
    "custom_tool_call_output": OutputKind("custom"),
    "computer_call_output": OutputKind("computer_call"),
    "local_shell_call_output": OutputKind("local_shell_call", "id"),
    "shell_call_output": OutputKind("shell_call"),
    "apply_patch_call_output": OutputKind("apply_patch_call"),
    "mcp_approval_response": OutputKind("mcp_approval_request", "approval_request_id"),
    "tool_search_output": OutputKind("tool_search_call"),
    "program_output": OutputKind("program", provider=True),
    "multi_agent_call_output": OutputKind("multi_agent_call", provider=True),
}
OUTPUT_OF: dict[str | None, str] = {kind.call_type: word for word, kind in OUTPUTS.items()}
"""A call's `call_type` to the type of the item that answers it."""

ITEM_KEYS = ("id", "status", "execution")
"""Keys of items that are spelling, not content."""

IMAGE_FORMATS: TwoWay[str, str] = TwoWay(
    {word: f"image/{word}" for word in ("png", "jpeg", "webp", "gif")} | {"svg": "image/svg+xml"}
)
"""`output_format` of a generated image."""

ASIDES = frozenset({"configuration_update", "compaction_trigger"})
"""Input items that are no content."""

PREFIXES: dict[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "image_generation_call": "ig",
    "compaction": "cmp",
}
"""The prefix of a generated id, for items that require one."""

FILLED: dict[str, tuple[str, ...]] = {
    "function_call": ("id", "status"),
    "custom_tool_call": ("id",),
    "image_generation_call": ("id", "status"),
    "compaction": ("id",),
    **dict.fromkeys(OUTPUTS, ("id", "status")),
}
"""Keys of a response's items that are filled in if they are unknown."""

_SPAN: dict[str, tuple[str, type]] = {"start_index": ("start", int), "end_index": ("end", int)}
_FILE: dict[str, tuple[str, type]] = {"file_id": ("file_id", str), "filename": ("title", str)}
CITATIONS: dict[str, dict[str, tuple[str, type]]] = {
    "url_citation": {"url": ("url", str), "title": ("title", str), **_SPAN},
    "file_citation": {**_FILE, "index": ("start", int)},
    "container_file_citation": {**_FILE, **_SPAN},
    "file_path": {"file_id": ("file_id", str)},
}
"""Kinds of annotations: their keys, and the fields of a citation."""

# Requests ------------------------------------------------------------------------------------

LOGPROBS = "message.output_text.logprobs"
"""The value of `include` that requests log probabilities."""
SUMMARY = "auto"
"""The `reasoning.summary` that is requested for visible thinking."""
SUMMARIES = frozenset({"auto", "concise", "detailed"})
VERBOSITIES = frozenset({"low", "medium", "high"})
SERVICE_TIERS = frozenset({"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"})
DETAILS = frozenset({"auto", "low", "high", "original"})
CACHE_TTLS = ("30m", "12h")
CHOICES: TwoWay[str, str] = TwoWay({"auto": "auto", "none": "none", "required": "any"})
EXTENSIONS: dict[str, type] = {
    **dict.fromkeys(("top_k", "min_p", "frequency_penalty", "presence_penalty"), float),
    "repetition_penalty": float,
    "seed": int,
}
"""Options that are not OpenAI's but some compatible server's: written only where they were read."""

FORMAT_FILLERS: dict[str, object] = {"name": FORMAT_NAME, "schema": {}}
"""The members that a JSON schema requires."""
FILE_NAMES: dict[str | None, str] = {"application/pdf": "document.pdf"}
"""The name of inline documents that have none; the wire requires one."""
FILE_NAME = "document"
FILE_PROVIDER = "openai"
FOREIGN_FILES = frozenset(
    {"anthropic", "bedrock", "cohere", "gemini", "google", "mistral", "ollama", "openrouter"}
    | {"vertex"}
)
"""Providers of other dialects, whose file ids mean nothing here."""

# Tools ---------------------------------------------------------------------------------------

CLIENT_TOOLS = frozenset(
    {"apply_patch", "computer", "computer_use_preview", "local_shell", "namespace"}
)
"""Kinds of tools that the vendor defines and the client runs."""
BARE_TOOLS = frozenset(
    {"function", "custom", "apply_patch", "computer", "image_generation", "local_shell"}
    | {"programmatic_tool_calling", "shell", "tool_search", "web_search", "web_search_preview"}
    | {"web_search_2025_08_26", "web_search_preview_2025_03_11"}
)
"""Kinds of tools that fields can express completely."""
KINDS = BARE_TOOLS | {"code_interpreter", "computer_use_preview", "file_search", "mcp", "namespace"}

TOOL_KEYS: dict[str, tuple[str, type]] = {
    "name": ("name", str),
    "description": ("description", str),
    "parameters": ("input_schema", dict),
    "strict": ("strict", bool),
    "defer_loading": ("deferred", bool),
    "output_schema": ("output_schema", dict),
    "async": ("asynchronous", bool),
}
"""Keys of tools, and the fields of a definition."""
TOOLS: dict[str, tuple[str, ...]] = {
    "function": tuple(TOOL_KEYS),
    "custom": ("name", "description", "defer_loading", "async"),
    "namespace": ("name", "description"),
    "tool_search": ("description", "parameters"),
    "mcp": ("defer_loading",),
    **dict.fromkeys(("apply_patch", "code_interpreter", "shell"), ()),
}
"""The tools of each kind that have these options."""
CALLERS: TwoWay[str, str] = TwoWay({"direct": "direct", "programmatic": "program"})
CALLED_BY = frozenset({"apply_patch", "code_interpreter", "custom", "function", "mcp", "shell"})
"""Kinds of tools with a list of allowed callers."""

# Responses -----------------------------------------------------------------------------------

STATUSES: dict[str | None, tuple[StopReason | None, MessageStatus]] = {
    None: (None, MessageStatus.COMPLETE),
    "completed": (StopReason.END_TURN, MessageStatus.COMPLETE),
    "incomplete": (StopReason.OTHER, MessageStatus.COMPLETE),
    "failed": (StopReason.ERROR, MessageStatus.ERROR),
    "cancelled": (StopReason.CANCELLED, MessageStatus.CANCELLED),
    "queued": (StopReason.PAUSE, MessageStatus.PARTIAL),
    "in_progress": (StopReason.PAUSE, MessageStatus.PARTIAL),
}
"""A refusal, or a call for the client, makes another ending of `completed` and of none."""

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        "max_output_tokens": StopReason.MAX_TOKENS,
        "content_filter": StopReason.CONTENT_FILTER,
        "steered": StopReason.PAUSE,
        "max_messages": StopReason.OTHER,
    },
    otherwise=StopReason.OTHER,
)
"""Reasons of an `incomplete` response."""

FILLERS: dict[str, object] = {
    "object": "response",
    "created_at": 0,
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}
"""Required members of every response whose values are unknown."""

COUNTS = Counts(
    "input_tokens",
    "output_tokens",
    demanded=True,
    beside=("tool_uses",),
    splits={
        ("input_tokens_details", "cache_write_tokens_details"): Split(
            "cache_writes",
            TwoWay({f"ttl_{ttl}_tokens": ttl for ttl in ("30m", "12h")}),
            demanded=("ttl_30m_tokens", "ttl_12h_tokens"),
        )
    },
)

ERROR = "error"
"""The `type` of an error of no known kind, and of a stream's last frame where it fails."""

ERROR_CODES = frozenset(
    {"server_error", "rate_limit_exceeded", "invalid_prompt", "data_residency_mismatch"}
    | {"bio_policy", "misalignment_policy_violation", "vector_store_timeout", "invalid_image"}
    | {"invalid_image_format", "invalid_base64_image", "invalid_image_url", "image_too_large"}
    | {"image_too_small", "image_parse_error", "image_content_policy_violation"}
    | {"invalid_image_mode", "image_file_too_large", "unsupported_image_media_type"}
    | {"empty_image_file", "failed_to_download_image", "image_file_not_found"}
)
"""The codes that a failed response may have; an error in place of a response may have any."""

# Streams -------------------------------------------------------------------------------------

CREATED = "response.created"
IN_PROGRESS = "response.in_progress"
ITEM_ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
PART_ADDED = "response.content_part.added"
PART_DONE = "response.content_part.done"
SUMMARY_ADDED = "response.reasoning_summary_part.added"
SUMMARY_DONE = "response.reasoning_summary_part.done"
ANNOTATION = "response.output_text.annotation.added"
COMPLETED = "response.completed"
INCOMPLETE = "response.incomplete"
FAILED = "response.failed"
PROGRESS = frozenset(
    {
        *(f"response.shell_call_command.{step}" for step in ("added", "delta", "done")),
        *(f"response.shell_call_output_content.{step}" for step in ("delta", "done")),
        *(f"response.image_generation_call.{step}" for step in ("generating", "partial_image")),
        "response.compaction.compacting",
    }
)
"""Frames that show the progress of an item; the result is in the item."""
ENDINGS: dict[object, str] = {"incomplete": INCOMPLETE, "cancelled": INCOMPLETE, "failed": FAILED}
"""The last frame of a response with this status; any other ends with `response.completed`."""

CONTENT_INDEX, SUMMARY_INDEX = "content_index", "summary_index"
"""The keys that number the parts of an item."""


class Piece(NamedTuple):
    """How a part is streamed: the frame of a piece, the frame of the whole, the key of the whole
    in it, and the key of the part's number, where an item has several."""

    delta: str
    done: str
    whole: str
    key: str | None = None


def _piece(name: str, whole: str, key: str | None = None) -> Piece:
    return Piece(f"response.{name}.delta", f"response.{name}.done", whole, key)


TEXT = _piece("output_text", "text", CONTENT_INDEX)
REFUSAL = _piece("refusal", "refusal", CONTENT_INDEX)
THOUGHT = _piece("reasoning_text", "text", CONTENT_INDEX)
SUMMARIZED = _piece("reasoning_summary_text", "text", SUMMARY_INDEX)
ARGUMENTS = _piece("function_call_arguments", "arguments")
INPUT = _piece("custom_tool_call_input", "input")
MCP = _piece("mcp_call_arguments", "arguments")
CODE = _piece("code_interpreter_call_code", "code")

CALL_PIECES: dict[object, Piece] = {
    "function_call": ARGUMENTS,
    "custom_tool_call": INPUT,
    "mcp_call": MCP,
    "code_interpreter_call": CODE,
}
"""How calls are streamed, by the type of the item."""
PART_PIECES: dict[object, Piece] = {
    "output_text": TEXT,
    "refusal": REFUSAL,
    "reasoning_text": THOUGHT,
    "summary_text": SUMMARIZED,
}
"""How parts are streamed, by their type."""


def _input_items(data: Wire) -> bool:
    return "input" in data and isinstance(data["input"], (str, list)) and "messages" not in data


def _input_there(data: Wire) -> bool:
    input = data.get("input")
    if any(key in data for key in _OTHER_INPUT) or _makes_no_answers(data.get("model")):
        return False
    if isinstance(input, list):
        return all_have(input, "type", "role", "content", "id") and not any(
            item.get("type") == "user_input" for item in input
        )
    return input is None or (isinstance(input, str) and any(key in data for key in _BESIDE_INPUT))


_OTHER_INPUT = (
    *("encoding_format", "dimensions", "voice", "system_instruction", "agent", "messages"),
    *("contents",),
)
"""Beside an input, what only embeddings, speech and Gemini's interactions have; and what would be
the conversation if it were one. Interactions also have an input of type `user_input`."""


def _makes_no_answers(model: Any) -> bool:
    """Embedding models, whose requests have `model` and `input` too."""
    return isinstance(model, str) and any(
        word in model for word in ("embed", "moderation", "tts-", "-tts")
    )


_BESIDE_INPUT = (
    *("model", "prompt", "instructions", "previous_response_id", "conversation", "tools"),
    *("stream", "max_output_tokens", "reasoning", "text"),
)


def _output_there(data: Wire) -> bool:
    return (
        data.get("object") == "response" or "error" in data or all_have(data.get("output"), "type")
    )


def _own_keys(data: Wire) -> bool:
    there = any(key in data for key in ("instructions", "previous_response_id", "conversation"))
    return there and "messages" not in data and "contents" not in data


def _stored_prompt(data: Wire) -> bool:
    return isinstance(data.get("prompt"), dict) and "id" in data["prompt"]


BODIES: dict[Kind, Holds] = {"request": _input_there, "response": _output_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 6, "input", _input_items),
    Sign("request", 5, "keys of Responses", _own_keys),
    Sign("request", 5, "a stored prompt", _stored_prompt),
    Sign("response", 9, "object response", signs.is_word("object", "response")),
    Sign("response", 5, "an output list", signs.of_type("output", list)),
    Sign("response", 5, "an error with type and message", signs.error_has("type")),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (signs.word(data.get("type")) or "").startswith("response.")
