"""The words of Google's Interactions API as data: steps, statuses, options, errors.

Facts are those of the types of `client.interactions` in the google-genai SDK (3.1.0 and 3.3.0,
which differ in names of models and one level of thinking), read 2026-11-17, unless a line says
otherwise. The older revision (SDK 1.55.0 to 1.73.1, 2025-12 to 2026-04) has turns with roles as
input and `outputs` as an answer. The service refuses it since 2026-06 (its page on breaking
changes, and an answer with 400 in a public issue of 2026-06-12), but recordings, caches and proxies
have it: it is read, and written back unchanged. Nothing is translated into it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from interlingua.dialects import google
from interlingua.dialects.kernel.words import TwoWay
from interlingua.dialects.record import Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, Wire, all_have, has_all, has_key, is_word, word
from interlingua.model.blocks import AudioBlock, DocumentBlock, ImageBlock, MediaBlock, VideoBlock
from interlingua.model.exchange import Effort, ErrorKind
from interlingua.model.message import Role
from interlingua.model.metadata import MessageStatus, StopReason

NAME = "gemini-interactions"
TITLE = "Google Gemini Interactions API"

# -- steps ----------------------------------------------------------------------------------------

USER_INPUT = "user_input"
MODEL_OUTPUT = "model_output"
THOUGHT = "thought"
CALL = "function_call"
RESULT = "function_result"
ROLES: TwoWay[str, Role] = TwoWay({"user": Role.USER, "model": Role.ASSISTANT})
"""The roles of turns, in the older revision."""


class Hosted(NamedTuple):
    """A tool that Google runs: the types of its steps begin with its name. `result` is the JSON
    type of its result, if blocks can hold that."""

    call: str
    answer: str
    result: type | None = None


HOSTED: dict[str, Hosted] = {
    "code_execution": Hosted("code_execution_call", "code_execution_result", str),
    "google_search": Hosted("google_search_call", "google_search_result"),
    "url_context": Hosted("url_context_call", "url_context_result"),
    "google_maps": Hosted("google_maps_call", "google_maps_result"),
    "file_search": Hosted("file_search_call", "file_search_result"),
    "retrieval": Hosted("retrieval_call", "retrieval_result"),
    "processing": Hosted("processing_call", "processing_result"),
    "mcp_server": Hosted("mcp_server_tool_call", "mcp_server_tool_result", object),
}
"""Tools by name, which is also their type as a tool; `processing` cannot be requested as a tool."""
HOSTED_CALLS: dict[str, str] = {kind.call: name for name, kind in HOSTED.items()}
HOSTED_RESULTS: dict[str, str] = {kind.answer: name for name, kind in HOSTED.items()}

# -- media ----------------------------------------------------------------------------------------

MEDIA: dict[str, type[MediaBlock]] = {
    "image": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
    "document": DocumentBlock,
}
MEDIA_WORDS: dict[type[MediaBlock], str] = {kind: word for word, kind in MEDIA.items()}
PLAIN = "text/plain"
FILE_HOSTS = google.FILE_HOSTS

RESOLUTIONS: TwoWay[str, str] = TwoWay(
    {"low": "low", "medium": "medium", "high": "high", "ultra_high": "ultra_high"}
)
"""The resolution at which an image is processed."""
NEAR_RESOLUTIONS = {"original": "ultra_high"}

# -- citations ------------------------------------------------------------------------------------

CITATIONS: dict[str, dict[str, str]] = {
    "url_citation": {"url": "url", "title": "title"},
    "place_citation": {"url": "url", "name": "title"},
    "file_citation": {"document_uri": "url", "file_name": "title"},
}
"""Kinds of annotations that cite: their keys, and the fields of a citation. Positions count
bytes (the SDK's docstring of `start_index`)."""
CITED = "url_citation"
"""The kind that is written for a citation of others."""

# -- tools ----------------------------------------------------------------------------------------

BUILT_IN = frozenset({*HOSTED, "computer_use"}) - {"processing"}
CLIENT_KINDS = frozenset({"computer_use"})
"""Built-in tools whose calls the client runs."""
MODES: TwoWay[str, str] = TwoWay(
    {"auto": "auto", "any": "any", "none": "none", "validated": "auto"}
)
"""`validated` is more than a spelling of auto: calls have to fit their schemas."""
VALIDATED = "validated"

# -- options --------------------------------------------------------------------------------------

NUMBERS: dict[str, tuple[str, type]] = {
    "max_output_tokens": ("max_output_tokens", int),
    "temperature": ("temperature", float),
    "top_p": ("top_p", float),
    "seed": ("seed", int),
}
"""Keys of `generation_config` that are one number here and there."""
EFFORTS: TwoWay[str, Effort] = TwoWay(
    {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}
)
"""SDK 3.3.0 added `xhigh`."""
NEAR_EFFORTS: dict[str, str] = {"max": "xhigh", "none": "minimal"}
SUMMARIES: TwoWay[str, bool] = TwoWay({"auto": True, "none": False})
"""Whether the model's thinking is shown."""
JSON_TYPE = "application/json"
SERVICE_TIERS: TwoWay[str, str] = TwoWay(
    {"flex": "flex", "standard": "standard", "priority": "priority", "deferred": "deferred"}
)
NEAR_TIERS: dict[str, str] = {"default": "standard"}
SERVED_TIERS: TwoWay[str, str] = TwoWay(
    {"flex": "flex", "standard": "default", "priority": "priority", "deferred": "deferred"}
)
"""The tier that served an interaction."""
MODALITIES = frozenset({"text", "image", "audio", "video", "document"})
TOOL_USES: TwoWay[str, str] = TwoWay(
    {"google_search": "web_search", "google_maps": "maps", "retrieval": "retrieval"}
)

# -- answers --------------------------------------------------------------------------------------

STATUSES: dict[str, tuple[StopReason, MessageStatus]] = {
    "completed": (StopReason.END_TURN, MessageStatus.COMPLETE),
    "requires_action": (StopReason.TOOL_USE, MessageStatus.COMPLETE),
    "incomplete": (StopReason.MAX_TOKENS, MessageStatus.COMPLETE),
    "budget_exceeded": (StopReason.MAX_TOKENS, MessageStatus.COMPLETE),
    "requires_continuation": (StopReason.PAUSE, MessageStatus.COMPLETE),
    "in_progress": (StopReason.PAUSE, MessageStatus.PARTIAL),
    "queued": (StopReason.PAUSE, MessageStatus.PARTIAL),
    "cancelled": (StopReason.CANCELLED, MessageStatus.CANCELLED),
    "failed": (StopReason.ERROR, MessageStatus.ERROR),
}
"""The status of an interaction, as stop reason and message status. Any other status is `other`.
Filters and stop sequences have no status of their own."""
STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {word: reason for word, (reason, _) in STATUSES.items()}, otherwise=StopReason.OTHER
)
NEAR_STOP_REASONS: dict[StopReason, str] = {
    StopReason.STOP_SEQUENCE: "completed",
    StopReason.REFUSAL: "completed",
    StopReason.CONTENT_FILTER: "incomplete",
    StopReason.OTHER: "incomplete",
}
UNKNOWN_STOP = "incomplete"
"""Written for a stop reason without a counterpart in these tables."""
COMPLETED = "completed"
DEFAULT_ID = ""
"""The id of an interaction that is not stored (recorded traffic, 2026-05)."""
OBJECT = "interaction"
DEFAULT_TIME = "1970-01-01T00:00:00Z"

ERRORS: TwoWay[str, ErrorKind] = TwoWay(
    {
        "invalid_request": ErrorKind.INVALID_REQUEST,
        "invalid_argument": ErrorKind.INVALID_REQUEST,
        "failed_precondition": ErrorKind.INVALID_REQUEST,
        "out_of_range": ErrorKind.INVALID_REQUEST,
        "not_found": ErrorKind.INVALID_REQUEST,
        "malformed_function_call": ErrorKind.INVALID_REQUEST,
        "malformed_tool_call": ErrorKind.INVALID_REQUEST,
        "unauthenticated": ErrorKind.AUTH,
        "permission_denied": ErrorKind.AUTH,
        "resource_exhausted": ErrorKind.RATE_LIMIT,
        "rate_limit_exceeded": ErrorKind.RATE_LIMIT,
        "quota_exceeded": ErrorKind.RATE_LIMIT,
        "internal": ErrorKind.SERVER_ERROR,
        "api_error": ErrorKind.SERVER_ERROR,
        "unavailable": ErrorKind.SERVER_ERROR,
        "deadline_exceeded": ErrorKind.NETWORK,
        "cancelled": ErrorKind.CANCELLED,
        "unknown": ErrorKind.OTHER,
    }
)
"""The code of an error. `invalid_request` was seen (a public issue, 2026-06-12); the others are the
codes that all of Google's services have, in the same letters."""
OVERFLOW = "exceeds the maximum number of tokens"
"""Text in an `invalid_request` for a prompt that is too long (recorded of Gemini, 2026)."""

ERROR_STATUSES: dict[int, ErrorKind] = {
    400: ErrorKind.INVALID_REQUEST,
    401: ErrorKind.AUTH,
    403: ErrorKind.AUTH,
    404: ErrorKind.INVALID_REQUEST,
    429: ErrorKind.RATE_LIMIT,
    499: ErrorKind.CANCELLED,
    500: ErrorKind.SERVER_ERROR,
    502: ErrorKind.SERVER_ERROR,
    503: ErrorKind.SERVER_ERROR,
    504: ErrorKind.NETWORK,
}
"""A code that is a number, as hosts in front of the service answer."""

# -- frames of streams ----------------------------------------------------------------------------

CREATED = "interaction.created"
STATUS = "interaction.status_update"
COMPLETE = "interaction.completed"
START = "step.start"
DELTA = "step.delta"
STOP = "step.stop"
ERROR = "error"
OLD_FRAMES: dict[str, str] = {
    CREATED: "interaction.start",
    COMPLETE: "interaction.complete",
    START: "content.start",
    DELTA: "content.delta",
    STOP: "content.stop",
}
"""Their names in the older revision."""
DONE = "[DONE]"
"""The data of the last frame, whose name is `done`."""

TRAITS = Traits(
    speaks=True,
    orders_properties=True,
    messages="input",
    family="google",
    hoists_instructions=True,
    system_anywhere=False,
    result_media=frozenset({"image", "audio", "video", "document"}),
    metadata="labels",
    # As generateContent has it, on which it stands (recorded of Gemini with status 200).
    allowed_text="answers",
    begins_with_model=False,
    continues=frozenset({"response_id", "token"}),
    closes_blocks=True,
    model_prefix="models/",
    paths={"request": "/interactions"},
)


_OWN_STEPS = frozenset({USER_INPUT, MODEL_OUTPUT, THOUGHT, RESULT, *HOSTED_CALLS, *HOSTED_RESULTS})
_STEPS = frozenset({*_OWN_STEPS, CALL})
_CONTENT = frozenset({"text", *MEDIA})
_ANSWERS = ("steps", "outputs")
_BESIDE = ("system_instruction", "generation_config", "previous_interaction_id", "agent")


def _types(listed: Any) -> set[str | None]:
    if not all_have(listed, "type"):
        return set()
    return {word(item["type"]) for item in listed if "type" in item}


def _input_there(data: Wire) -> bool:
    value = data.get("input")
    if "messages" in data or "contents" in data:
        return False
    if isinstance(value, str) or value is None:
        return any(key in data for key in _BESIDE) or _is_googles(data)
    listed = value if isinstance(value, list) else [value]
    types = _types(listed)
    if _has_turns(data):
        return True
    return bool(types & _OWN_STEPS) or (bool(types) and types <= _STEPS | _CONTENT)


def _is_googles(data: Wire) -> bool:
    """Whether the model of a request with a text as input is one of Google's."""
    name = (word(data.get("model")) or "").removeprefix("models/")
    return "input" in data and name.startswith(("gemini-", "gemma-"))


def _has_turns(data: Wire) -> bool:
    """Turns of the older revision: no type, and a model's role that only Google has."""
    value = data.get("input")
    if not isinstance(value, list) or not value or not all_have(value, "role", "content"):
        return False
    is_models = any(each.get("role") == "model" for each in value) or _is_googles(data)
    return is_models and not any("type" in each for each in value)


def _has_steps(data: Wire) -> bool:
    value = data.get("input")
    return bool(_types(value if isinstance(value, list) else [value]) & _OWN_STEPS)


def _has_content(data: Wire) -> bool:
    value = data.get("input")
    return bool(_types(value if isinstance(value, list) else [value]) & _CONTENT)


def _plain_error(data: Wire) -> bool:
    """One of Google's codes and a message, alone: other hosts have codes of their own."""
    error = data.get("error")
    return (
        isinstance(error, dict)
        and len(data) == 1
        and set(error) <= {"code", "message"}
        and word(error.get("code")) in ERRORS.words
        and isinstance(error.get("message"), str)
    )


def _answer_there(data: Wire) -> bool:
    return (
        data.get("object") == OBJECT
        or _plain_error(data)
        or ("status" in data and any(all_have(data.get(key), "type") for key in _ANSWERS))
    )


BODIES: dict[Kind, Holds] = {"request": _input_there, "response": _answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 14, "steps as input", _has_steps),
    Sign("request", 14, "turns of a user and a model as input", _has_turns),
    Sign("request", 9, "content as input", _has_content),
    Sign("request", 9, "an input for one of Google's models", _is_googles),
    Sign("request", 7, "keys of Interactions", has_key(*_BESIDE)),
    Sign("response", 9, "object interaction", is_word("object", OBJECT)),
    Sign("response", 7, "steps with a status", has_all("steps", "status")),
    Sign("response", 7, "outputs with a status", has_all("outputs", "status")),
    Sign("response", 6, "an error with a code and a message", _plain_error),
)


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return (word(data.get("event_type")) or "").startswith(("interaction.", "step.", "content."))
