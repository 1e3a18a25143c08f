"""Gemini's words as data: the body of `generateContent`, on the Developer API and on Vertex alike.

They are those of the Python package `google-genai` 3.1.0 (types and converters, read 2026-11-15)
unless a remark names another source. The service takes keys in camelCase and in snake_case, also
mixed in one body (types of the package, and recorded traffic, read 2026-11).
"""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects import google
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import StopWords, TwoWay
from interlingua.dialects.record import Counting, Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, all_have, has_key
from interlingua.model.blocks import AudioBlock, DocumentBlock, ImageBlock, MediaBlock, VideoBlock
from interlingua.model.exchange import Effort, ErrorKind, ReasoningMode
from interlingua.model.metadata import StopReason

NAME = "gemini"
TITLE = "Google Gemini generateContent"

# -- turns and parts ------------------------------------------------------------------------------

USER = "user"
MODEL = "model"
ROLES: dict[str, str] = {"user": USER, "model": MODEL, "function": USER, "tool": USER}
"""The meaning of a content's role; any unknown one is the user's."""

PARTS = (
    *("functionCall", "functionResponse", "executableCode", "codeExecutionResult"),
    *("toolCall", "toolResponse", "inlineData", "fileData", "text"),
)
"""The kinds of part, in the order in which a part of several kinds is read."""

SIGNATURE = frozenset({"thought", "thoughtSignature", "thought_signature"})
"""Keys of a part that holds nothing but a signature: an empty text."""

CODE = "codeExecution"
"""The name of the tool whose calls are `executableCode`; all others are `toolCall`."""
SERVER_TOOLS = frozenset(
    {"GOOGLE_SEARCH_WEB", "GOOGLE_SEARCH_IMAGE", "URL_CONTEXT", "GOOGLE_MAPS", "FILE_SEARCH"}
    | {"MEDIA_PROCESSING"}
)
"""Types of `toolCall` and `toolResponse`."""

OUTCOMES: TwoWay[str, bool] = TwoWay(
    {"OUTCOME_OK": False, "OUTCOME_FAILED": True, "OUTCOME_DEADLINE_EXCEEDED": True},
    otherwise=False,
)
"""The outcome of code, as `is_error`."""

NAMELESS = "unknown"
"""The name in a result whose tool is unknown; the wire requires one."""

# -- media ----------------------------------------------------------------------------------------

MEDIA: dict[str, type[MediaBlock]] = {"image": ImageBlock, "audio": AudioBlock, "video": VideoBlock}
"""The first half of a media type to the block; anything else is a document."""
RESOLUTIONS: TwoWay[str, str] = TwoWay(
    {
        f"MEDIA_RESOLUTION_{level}": level.lower()
        for level in ("LOW", "MEDIUM", "HIGH", "ULTRA_HIGH")
    }
)
"""The resolution at which an image is processed."""
NEAR_RESOLUTIONS = {"original": "MEDIA_RESOLUTION_ULTRA_HIGH"}
DEFAULT_TYPES: dict[type[MediaBlock], str] = {
    ImageBlock: "image/png",
    AudioBlock: "audio/wav",
    VideoBlock: "video/mp4",
    DocumentBlock: "application/pdf",
}
"""The media type of media without one; the wire distinguishes kinds by it."""
FIRST_BYTES: tuple[tuple[str, str], ...] = (
    ("iVBORw0KGgo", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
    ("JVBERi0", "application/pdf"),
    ("UklGR", "audio/wav"),
    ("T2dnU", "audio/ogg"),
    ("SUQz", "audio/mp3"),
    ("ZkxhQ", "audio/flac"),
    ("GkXfo", "video/webm"),
)
"""The beginning of some files in base64. RIFF contains images and sound: the kind of block
decides."""
EXTENSIONS: dict[str, str] = {
    **{word: f"image/{word}" for word in ("png", "jpeg", "webp", "gif", "heic", "heif")},
    **{word: f"audio/{word}" for word in ("wav", "mp3", "aac", "ogg", "flac")},
    **{word: f"video/{word}" for word in ("mp4", "mpeg", "mov", "webm")},
    **{"jpg": "image/jpeg", "pdf": "application/pdf", "txt": "text/plain"},
}
VIDEO_HOSTS = ("https://www.youtube.com/", "https://youtube.com/", "https://youtu.be/")
"""Links to videos that have no media type (recorded requests, read 2026-11)."""
FILE_HOSTS = google.FILE_HOSTS

# -- tools ----------------------------------------------------------------------------------------

CLIENT_KINDS = frozenset({"computerUse"})
"""Built-in tools whose calls the client runs."""
BUILT_IN = frozenset(
    {"googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "googleMaps"}
    | {"fileSearch", "computerUse", "mcpServers", "retrieval", "enterpriseWebSearch"}
    | {"parallelAiSearch", "exaAiSearch"}
)

MODES: TwoWay[str, str] = TwoWay(
    {word: word.lower() for word in ("AUTO", "ANY", "NONE")}
    | {"VALIDATED": "auto", "MODE_UNSPECIFIED": "auto"}
)
NARROWED = "VALIDATED"
"""The mode for `auto` among some tools: AUTO takes no list of names (remarks on the types of
`google-genai` 3.1.0, read 2026-11-15)."""

# -- options --------------------------------------------------------------------------------------

NUMBERS: dict[str, str] = {
    **{"temperature": "temperature", "topP": "top_p", "topK": "top_k"},
    **{"presencePenalty": "presence_penalty", "frequencyPenalty": "frequency_penalty"},
}
WHOLE_NUMBERS: dict[str, str] = {
    **{"candidateCount": "n", "maxOutputTokens": "max_output_tokens", "seed": "seed"}
}
"""Keys of `generationConfig` that are one number here and there."""
EFFORTS: TwoWay[str, Effort] = TwoWay(
    {"MINIMAL": "minimal", "LOW": "low", "MEDIUM": "medium", "HIGH": "high"}
)
HIGHEST = "HIGH"
"""The nearest level to the efforts above it."""

THINKING_MODES: TwoWay[int, ReasoningMode] = TwoWay({0: "off", -1: "adaptive"})
"""Budgets that are modes: 0 switches thinking off, -1 leaves the amount to the model."""

BEHAVIORS: TwoWay[str, bool] = TwoWay({"NON_BLOCKING": True, "BLOCKING": False})
"""Whether the model continues before a function has answered."""
FORMATS: TwoWay[str, str] = TwoWay({"text/plain": "text", "application/json": "json"})

SERVICE_TIERS: dict[str, str] = {
    **{word: word for word in ("unspecified", "flex", "standard", "priority")},
    **{"auto": "unspecified", "default": "standard"},
}
"""Our tier, or another dialect's, to the wire's."""

SERVED_TIERS: TwoWay[str, str] = TwoWay(
    {"standard": "default", "flex": "flex", "priority": "priority"}
)
TRAFFIC: TwoWay[str, str] = TwoWay(
    {
        "ON_DEMAND": "default",
        "ON_DEMAND_FLEX": "flex",
        "ON_DEMAND_PRIORITY": "priority",
        "ON_DEMAND_OFFPEAK": "offpeak",
        "PROVISIONED_THROUGHPUT": "provisioned",
    }
)
"""Vertex's key for the tier (`google-genai` 3.3.0, read 2026-11-18); the SDK's type has no
other."""

# -- answers --------------------------------------------------------------------------------------

_FILTERS = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    # Why a prompt was blocked; Vertex uses these for answers, too (recorded, read 2026-11).
    *("MODEL_ARMOR", "JAILBREAK"),
    # New in `google-genai` 3.3.0 (read 2026-11-17).
    *("ESCALATION", "PUP_LIMITED_DISABLED"),
)
_OTHERS = (
    *("FINISH_REASON_UNSPECIFIED", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"),
    *("TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "NO_IMAGE"),
)
STOP_REASONS: TwoWay[str | int, StopReason] = TwoWay(
    {
        "STOP": StopReason.END_TURN,
        "MAX_TOKENS": StopReason.MAX_TOKENS,
        **dict.fromkeys(_FILTERS, StopReason.CONTENT_FILTER),
        "MISSING_THOUGHT_SIGNATURE": StopReason.ERROR,
        "CONTINUATION": StopReason.PAUSE,
        "OTHER": StopReason.ERROR,
        "IMAGE_OTHER": StopReason.ERROR,
        **dict.fromkeys(_OTHERS, StopReason.OTHER),
        # Some clients keep the enum's numbers (recorded, read 2026-11); beyond these the two
        # services number differently.
        **{1: StopReason.END_TURN, 2: StopReason.MAX_TOKENS, 5: StopReason.ERROR},
        **dict.fromkeys((3, 4), StopReason.CONTENT_FILTER),
    },
    otherwise=StopReason.OTHER,
)
"""A turn that ends in client calls has STOP, too: that is `tool_use` (recorded, read 2026-11)."""
NEAREST_STOPS: dict[StopReason, str] = {
    StopReason.TOOL_USE: "STOP",
    StopReason.STOP_SEQUENCE: "STOP",
    StopReason.REFUSAL: "SAFETY",
    StopReason.CANCELLED: "OTHER",
    StopReason.OTHER: "OTHER",
}
"""For stop reasons without a counterpart, and for `other`, whose counterpart must not be written:
it means an unknown reason."""
STOP_WORDS = StopWords(
    STOP_REASONS.read, STOP_REASONS.nearest(NEAREST_STOPS), usual="OTHER", cut="OTHER"
)

CHUNKS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("web", "retrievedContext", "maps"), ("uri", "title")),
    "image": ("sourceUri", "title"),
}
"""The kinds of grounding chunk, and the keys of their address and title."""

ERRORS: dict[str, tuple[ErrorKind, int]] = {
    "INVALID_ARGUMENT": (ErrorKind.INVALID_REQUEST, 400),
    "FAILED_PRECONDITION": (ErrorKind.INVALID_REQUEST, 400),
    "OUT_OF_RANGE": (ErrorKind.INVALID_REQUEST, 400),
    "NOT_FOUND": (ErrorKind.INVALID_REQUEST, 404),
    "UNIMPLEMENTED": (ErrorKind.INVALID_REQUEST, 501),
    "UNAUTHENTICATED": (ErrorKind.AUTH, 401),
    "PERMISSION_DENIED": (ErrorKind.AUTH, 403),
    "RESOURCE_EXHAUSTED": (ErrorKind.RATE_LIMIT, 429),
    "CANCELLED": (ErrorKind.CANCELLED, 499),
    "INTERNAL": (ErrorKind.SERVER_ERROR, 500),
    "UNKNOWN": (ErrorKind.OTHER, 500),
    "UNAVAILABLE": (ErrorKind.SERVER_ERROR, 503),
    "DEADLINE_EXCEEDED": (ErrorKind.NETWORK, 504),
}
"""The kind of error for a status, and its HTTP code."""
STATUS_KINDS: dict[int, ErrorKind] = {
    **{code: kind for kind, code in reversed(ERRORS.values())},
    502: ErrorKind.SERVER_ERROR,
}
"""For errors without a status: the first kind that has the code."""
ERROR_WORDS: dict[ErrorKind, str] = {
    ErrorKind.INVALID_REQUEST: "INVALID_ARGUMENT",
    ErrorKind.CONTEXT_OVERFLOW: "INVALID_ARGUMENT",
    ErrorKind.AUTH: "UNAUTHENTICATED",
    ErrorKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorKind.SERVER_ERROR: "INTERNAL",
    ErrorKind.NETWORK: "DEADLINE_EXCEEDED",
    ErrorKind.CANCELLED: "CANCELLED",
    ErrorKind.OTHER: "UNKNOWN",
}
STATUS_WORDS: dict[tuple[ErrorKind, int | None], str] = {
    found: word for word, found in reversed(ERRORS.items())
}
"""The status for a kind with this HTTP code; `ERROR_WORDS` has those for any other."""
ERROR_PHRASES: dict[str, ErrorKind] = {
    "exceeds the maximum number of tokens": ErrorKind.CONTEXT_OVERFLOW,
    "API key not valid": ErrorKind.AUTH,
    "API key expired": ErrorKind.AUTH,
}
"""Messages that are more specific than their status, INVALID_ARGUMENT (recorded answers, read
2026-11)."""

# -- what retelling needs to know -----------------------------------------------------------------

SENTINEL = "skip_thought_signature_validator"
"""The signature for calls that Gemini did not make itself (API documentation on thought signatures,
read 2026-11)."""
_GENERATION = re.compile(r"gemini-(\d+)")


def call_signature(model: str | None) -> str | None:
    """Gemini 3 and later refuse a turn whose first call is unsigned; earlier ones sign nothing (API
    documentation on thought signatures, and recorded answers with status 400, read 2026-11)."""
    found = _GENERATION.search(model or "")
    return None if found and int(found[1]) < 3 else SENTINEL


def _to_count(wire: Wire, model: str) -> Wire:
    """Contents alone, or a whole request that repeats the model's name."""
    return {"generateContentRequest": {"model": f"models/{model}", **wire}}


TRAITS = Traits(
    speaks=True,
    orders_properties=True,
    messages="contents",
    family="google",
    hoists_instructions=True,
    system_anywhere=False,
    optional_ids=True,
    result_media=frozenset({"image", "audio", "video", "document"}),
    results_in_user_turn=True,
    ordered_results=True,
    call_signature=call_signature,
    metadata="labels",
    # The instructions and the user's text may be empty (recorded with status 200, read 2026-11).
    allowed_text="answers",
    begins_with_model=False,
    # gemini-2.5-flash goes on after a reason; older models give one in each piece (recorded).
    ends_with_connection=True,
    continues=frozenset({"token"}),
    unicode_newlines=True,  # google-genai 3.1, tried 2026-11
    adaptive_thinking=True,
    model_prefix="models/",
    paths={
        "request": "/models/{model}:generateContent",
        "stream": "/models/{model}:streamGenerateContent?alt=sse",
        "count_tokens": "/models/{model}:countTokens",
        "model_in_body": False,
    },
    counting=Counting("totalTokens", wrapped=_to_count),
)


def _gemini_error(data: Wire) -> bool:
    error = data.get("error")
    return (
        isinstance(error, dict)
        and isinstance(error.get("code"), int)
        and isinstance(error.get("status"), str)
    )


def _contents_there(data: Wire) -> bool:
    """Turns of parts; parts with a type are those of some page."""
    contents = data.get("contents")
    turns: list[Any] = contents if isinstance(contents, list) else [contents]
    return all_have(turns, "parts", "role") and not any(
        isinstance(part, dict) and "type" in part
        for turn in turns
        if isinstance(turn.get("parts"), list)
        for part in turn["parts"]
    )


def _candidates_there(data: Wire) -> bool:
    found = ("content", "finishReason", "finish_reason", "index")
    return "candidates" not in data or all_have(data["candidates"], *found)


BODIES: dict[Kind, Holds] = {"request": _contents_there, "response": _candidates_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 9, "contents", has_key("contents")),
    Sign(
        "request",
        5,
        "keys of Gemini",
        has_key("generationConfig", "systemInstruction", "system_instruction", "safetySettings"),
    ),
    Sign("response", 9, "candidates", has_key("candidates", "promptFeedback")),
    Sign("response", 5, "usageMetadata", has_key("usageMetadata", "modelVersion")),
    Sign("response", 7, "an error with a status word", _gemini_error),
)


STARTS = (b"[",)
"""The first byte of a stream that is an array of answers."""


def is_frame(data: Wire) -> bool:
    """Whether a stream with such a frame is one of these."""
    return "candidates" in data or "promptFeedback" in data or "usageMetadata" in data
