"""The words of Converse as data: roles, stop reasons, formats, errors, keys.

Words, limits and patterns are those of the service's own model (`bedrock-runtime` 2023-09-30 in
botocore 1.44.0, read 2026-11-15) unless a remark names another source.
"""

from __future__ import annotations

import re
from typing import Any

from interlingua.dialects.kernel import claude
from interlingua.dialects.kernel.usage import Split
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import IMAGE_STARTS, TwoWay, hints
from interlingua.dialects.record import Counting, Traits
from interlingua.dialects.registry import Kind
from interlingua.dialects.signs import Holds, Sign, has_key, messages_there, parts_of
from interlingua.model.exchange import ErrorKind, ReasoningMode
from interlingua.model.ids import IdGrammar
from interlingua.model.metadata import StopReason

NAME = "bedrock"
TITLE = "Amazon Bedrock Converse"


def _to_count(wire: Wire, model: str) -> Wire:
    preserved = ("messages", "system", "toolConfig", "additionalModelRequestFields")
    return {"input": {"converse": {name: wire[name] for name in preserved if name in wire}}}


TRAITS = Traits(
    choices=frozenset({"one"}),
    defines_called=True,
    family="anthropic",
    hoists_instructions=True,
    ids=IdGrammar("[a-zA-Z0-9_.:-]", 1, 64),
    result_media=frozenset({"image", "document", "video"}),
    result_texts=True,
    results_in_user_turn=True,
    allowed_text="visible",
    text_behind_calls=False,
    closes_blocks=True,
    changes=frozenset({"tools_added", "tools_removed"}),
    metadata="requestMetadata",
    framing="aws",
    breakpoint_parts=True,
    effort_key_varies=True,
    paths={
        "request": "/model/{model}/converse",
        "stream": "/model/{model}/converse-stream",
        "model_in_body": False,
    },
    counting=Counting("inputTokens", wrapped=_to_count),
)

ROLES, EFFORTS, MODES = claude.ROLES, claude.EFFORTS, claude.MODES
DISPLAYS, TTLS = claude.DISPLAYS, claude.TTLS

STOP_REASONS: TwoWay[str, StopReason] = TwoWay(
    {
        **claude.COMMON_STOP_REASONS,
        "content_filtered": StopReason.CONTENT_FILTER,
        "guardrail_intervened": StopReason.CONTENT_FILTER,
        "malformed_model_output": StopReason.OTHER,
        "malformed_tool_use": StopReason.OTHER,
    },
    otherwise=StopReason.OTHER,
)
"""`StopReason` of the service's model (botocore 1.44.0, read 2026-11-15)."""
NEAR_STOP_REASONS: dict[StopReason, str] = {
    StopReason.REFUSAL: "content_filtered",
    StopReason.PAUSE: "max_tokens",
    StopReason.OTHER: "end_turn",
}
"""Takes precedence over `STOP_REASONS`; a reason in neither is an `end_turn`."""
STOP_WORDS = claude.stop_words(STOP_REASONS, NEAR_STOP_REASONS)

THINKING_KEYS = ("thinking", "reasoning_config")
"""The keys of Claude's thinking among the model's own fields; the first one is written."""

EFFORT = "reasoning_effort"
EFFORT_OBJECTS = ("output_config", "reasoning")
NOVA = "reasoningConfig"
EFFORT_KEYS = (EFFORT, *EFFORT_OBJECTS, NOVA)
"""Where families of models have their effort among their own fields: OpenAI's open models as a
word, Claude (`output_config`) and OpenAI under `effort`, and Amazon's Nova 2 beside a switch
(recorded traffic; the AI SDK's amazon-bedrock 5.0.101, read 2026-11). `outputConfig.effort` is the
service's own, and what is written where none of these was read."""
NOVA_TYPES: TwoWay[str, ReasoningMode] = TwoWay({"enabled": "on", "disabled": "off"})

SERVICE_TIERS: TwoWay[str, str] = TwoWay(
    {tier: tier for tier in ("priority", "default", "flex", "reserved")}
)
"""`ServiceTierType` of the service's model (botocore 1.44.0, read 2026-11-15)."""

CACHE_WRITES = Split(
    "cache_writes", TwoWay({ttl: ttl for ttl in ("5m", "1h")}), "ttl", "inputTokens"
)

IMAGE_FORMATS: TwoWay[str, str] = TwoWay(
    {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
)
DOCUMENT_FORMATS: TwoWay[str, str] = TwoWay(
    {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    }
)
VIDEO_FORMATS: TwoWay[str, str] = TwoWay(
    {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    }
)
AUDIO_FORMATS: TwoWay[str, str] = TwoWay(
    {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mkv": "audio/x-matroska",
        "mka": "audio/x-matroska",
        "x-aac": "audio/aac",
        "m4a": "audio/mp4",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    }
)
NEAR_TYPES: dict[str, str] = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/x-flac": "audio/flac",
    "audio/L16": "audio/pcm",
    "video/3gp": "video/3gpp",
    "text/x-markdown": "text/markdown",
}
"""Other names of types that have a format."""
MEDIA_STARTS: dict[str, str] = {
    **IMAGE_STARTS,
    "JVBE": "application/pdf",
    "T2dn": "audio/ogg",
    "SUQz": "audio/mpeg",
    "Zkxh": "audio/flac",
}
"""The beginning of base64 data of each type, for media without a type."""

DOCUMENT_NAME = "document"
"""A document has to have a name."""
LONGEST_NAME = 200
# Letters, digits, hyphens, brackets and single spaces (`DocumentBlock.name` in botocore 1.44.0,
# read 2026-11-15).
NAME_ILLEGAL = re.compile(r"[^a-zA-Z0-9()\[\]\- ]")
SPACES = re.compile(" {2,}")
# One to sixteen pairs (`RequestMetadata` in botocore 1.44.0, read 2026-11-15).
METADATA_LEGAL = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")
MOST_METADATA = 16

EMPTY_ERROR = "The tool failed."
"""The text of a failed result without content; without one the request is refused (reported by
users of several clients, read 2026-11-15)."""
DEFAULT_TOOL = "tool"
"""The name of a tool whose only trace in history are results without a name. History with calls and
no tools is refused with a `ValidationException` (reported by users of several clients, read
2026-11-15)."""
DEFAULT_METRICS: dict[str, Any] = {"latencyMs": 0}

CHANGES: dict[str, str] = {"toolAddition": "tools_added", "toolRemoval": "tools_removed"}
"""Parts of a system turn that name a tool, and the field of `Changes` that names it (botocore
1.44.0, read 2026-11-15)."""
DOCUMENT_LOCATIONS = ("documentChar", "documentPage", "documentChunk")
"""Locations of a citation that have a `documentIndex`; the first is written."""

ERRORS: TwoWay[str, ErrorKind] = TwoWay(
    {
        "ThrottlingException": ErrorKind.RATE_LIMIT,
        "TooManyRequestsException": ErrorKind.RATE_LIMIT,
        "ModelNotReadyException": ErrorKind.RATE_LIMIT,
        "ServiceQuotaExceededException": ErrorKind.RATE_LIMIT,
        "AccessDeniedException": ErrorKind.AUTH,
        "UnrecognizedClientException": ErrorKind.AUTH,
        "ExpiredTokenException": ErrorKind.AUTH,
        "InvalidSignatureException": ErrorKind.AUTH,
        "MissingAuthenticationTokenException": ErrorKind.AUTH,
        "InternalServerException": ErrorKind.SERVER_ERROR,
        "ServiceUnavailableException": ErrorKind.SERVER_ERROR,
        "ModelErrorException": ErrorKind.SERVER_ERROR,
        "ModelStreamErrorException": ErrorKind.SERVER_ERROR,
        "ModelTimeoutException": ErrorKind.SERVER_ERROR,
        "ValidationException": ErrorKind.INVALID_REQUEST,
        "ResourceNotFoundException": ErrorKind.INVALID_REQUEST,
    },
    otherwise=ErrorKind.OTHER,
)
NEAR_ERRORS: dict[ErrorKind, str] = {
    ErrorKind.CONTEXT_OVERFLOW: "ValidationException",
    ErrorKind.NETWORK: "ServiceUnavailableException",
}
"""Takes precedence over `ERRORS`; a kind in neither is an `InternalServerException`."""
STATUS_ERRORS: dict[tuple[ErrorKind, int | None], str] = {
    (ErrorKind.INVALID_REQUEST, 404): "ResourceNotFoundException",
    (ErrorKind.SERVER_ERROR, 503): "ServiceUnavailableException",
}
"""The exceptions for kinds with these HTTP statuses."""
STREAM_ERRORS = frozenset(
    {"InternalServerException", "ModelStreamErrorException", "ValidationException"}
    | {"ThrottlingException", "ServiceUnavailableException"}
)
"""The exceptions of streams (`ConverseStreamOutput` in botocore 1.44.0, read 2026-11-15)."""
NEAR_STREAM_ERRORS: dict[ErrorKind, str] = {
    ErrorKind.RATE_LIMIT: "ThrottlingException",
    ErrorKind.INVALID_REQUEST: "ValidationException",
    ErrorKind.CONTEXT_OVERFLOW: "ValidationException",
    ErrorKind.AUTH: "ValidationException",
    ErrorKind.NETWORK: "ServiceUnavailableException",
}
"""The exception for each kind of error; for all others, `InternalServerException`."""
HINTS = hints(
    (
        r"input is too long|tokens? exceed|exceeds? .*(context|maximum length)",
        ErrorKind.CONTEXT_OVERFLOW,
    ),
    (r"security token|access denied|not authorized|don't have access|signature", ErrorKind.AUTH),
    (r"too many (requests|tokens)|throttl|rate exceeded", ErrorKind.RATE_LIMIT),
)
"""Words that identify an error message without a type; a `ValidationException` may be an
overflow, too."""

# `inputTokens` is without what was read from the cache or written to it (documented by AWS, and
# what clients were mended for; read 2026-11-15), so that the total is no sum of two.
COUNTS: dict[str, str] = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cached_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
}
TWINS: dict[str, str] = {
    "cacheReadInputTokenCount": "cacheReadInputTokens",
    "cacheWriteInputTokenCount": "cacheWriteInputTokens",
}
"""Keys under which the service repeats some counts: not in its model (botocore 1.44.0, read
2026-11-15), but in recorded traffic."""

BEGIN, END, METADATA = "messageStart", "messageStop", "metadata"
START, DELTA, STOP = "contentBlockStart", "contentBlockDelta", "contentBlockStop"
FRAMES = frozenset({BEGIN, START, DELTA, STOP, END, METADATA})
"""The names of a stream's frames (`ConverseStreamOutput` in botocore 1.44.0, read 2026-11-15)."""
EXCEPTION = "Exception"
"""The ending of the names of frames that report an error."""
FRAME_KEYS = (
    ("delta", DELTA),
    ("start", START),
    ("contentBlockIndex", STOP),
    ("stopReason", END),
    ("usage", METADATA),
    ("metrics", METADATA),
    ("role", BEGIN),
)
"""The type of a frame without a name, by its keys."""


_KEYS = frozenset({"inferenceConfig", "toolConfig", "additionalModelRequestFields", "modelId"})


def _converse_keys(data: Wire) -> bool:
    return "contents" not in data and not _KEYS.isdisjoint(data)


def _untyped_parts(data: Wire) -> bool:
    """Bedrock's parts are objects with one key and no type."""
    parts = list(parts_of(data))
    return bool(parts) and all("type" not in part and len(part) == 1 for part in parts)


def _untyped_system(data: Wire) -> bool:
    system = data.get("system")
    return isinstance(system, list) and all(
        isinstance(part, dict) and "type" not in part for part in system
    )


def _bedrock_output(data: Wire) -> bool:
    return isinstance(data.get("output"), dict) and "message" in data["output"]


def _aws_error(data: Wire) -> bool:
    """A message alone is any API's, so its type has to be there too."""
    keys = {key.lower() for key in data}
    has_message = isinstance(data.get("message", data.get("Message")), str)
    return has_message and {"message"} < keys <= {"message", "__type", "code"}


def _bedrock_answer_there(data: Wire) -> bool:
    return _bedrock_output(data) or _aws_error(data)


BODIES: dict[Kind, Holds] = {"request": messages_there, "response": _bedrock_answer_there}
"""Whether there is something that could be the conversation."""

SIGNS = (
    Sign("request", 9, "keys of Converse", _converse_keys),
    Sign("request", 6, "parts with one key and no type", _untyped_parts),
    Sign("request", 4, "system parts with no type", _untyped_system),
    Sign("response", 9, "output.message", _bedrock_output),
    Sign("response", 5, "stopReason", has_key("stopReason")),
    Sign("response", 4, "a message with its type", _aws_error),
)


STARTS = (b"\0",)
"""The first byte of a stream: the length of a message in AWS's framing."""
