"""Canonical values of which every field holds something, so that a law can touch each of them."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from interlingua.model.base import Value
from interlingua.model.blocks import (
    AudioBlock,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from interlingua.model.exchange import (
    Continues,
    ErrorKind,
    Options,
    ProviderError,
    Request,
    Response,
)
from interlingua.model.message import Changes, Message, Role
from interlingua.model.metadata import (
    CacheDiagnosis,
    InputTransformation,
    MessageMetadata,
    MessageStatus,
    StopReason,
    Usage,
)
from interlingua.model.tools import ToolDefinition

_RAW = frozenset({"raw", "provider_raw", "extra"})
_WORDS = {
    "media_type": "image/png",
    "detail": "low",
    "verbosity": "low",
    "service_tier": "auto",
    "ttl": "5m",
    "call_type": None,
    "kind": None,
    "executor": None,
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
    "output_schema": {"type": "object"},
    "schema": {"type": "object"},
    "logit_bias": {"7": 1.0},
    "metadata": {"job": "a"},
    "modalities": ("text",),
    "start": 0,
    "end": 1,
    "reasoning_tokens": 2,
    "output_tokens": 9,
    "url": "https://example.com/a",
    "raw_arguments": None,
}
"""Fields for which any old value would not do; None leaves the default."""


def filled(cls: type[Value], **given: Any) -> Any:
    """A value of this class with all its fields set, those of `given` as they are."""
    fields = {}
    for name, hint in get_type_hints(cls).items():
        if name not in cls.__struct_fields__ or name in _RAW or name in given:
            continue
        value = _WORDS[name] if name in _WORDS else _sample(hint)
        if value is not None:
            fields[name] = value
    return cls(**fields, **given)


def _sample(hint: Any) -> Any:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _sample(get_args(hint)[0])
    if origin is tuple:
        return (_sample(get_args(hint)[0]),)
    if origin is Literal:
        return get_args(hint)[-2]
    if origin is dict:
        return {"a": 1}
    if isinstance(hint, type) and issubclass(hint, Value):
        return filled(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return next(iter(hint))
    return _PLAIN.get(hint)


_PLAIN: dict[Any, Any] = {
    str: "word",
    int: 3,
    float: 0.5,
    bool: True,
    Decimal: Decimal("0.25"),
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
}

_PNG = Source("base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")


def requests() -> list[Request]:
    """One request after another, so that what one dialect refuses together is said apart."""
    image = filled(ImageBlock, source=_PNG, media_type="image/png")
    document = filled(
        DocumentBlock, source=Source("base64", "JVBERi0="), media_type="application/pdf"
    )
    text_document = filled(DocumentBlock, source=Source("text", "A text."), media_type="text/plain")
    blocks = Source("blocks", content=(TextBlock("inside"),))
    audio = filled(AudioBlock, source=Source("base64", "UklGRg=="), media_type="audio/wav")
    video = filled(VideoBlock, source=Source("base64", "AAAAIA=="), media_type="video/mp4")
    call = filled(ToolUseBlock, id="call_1", input={"city": "Ulan Bator"})
    result = filled(ToolResultBlock, tool_use_id="call_1", content=(filled(TextBlock), image))
    thinking = filled(ThinkingBlock)
    hello = Message(Role.USER, (filled(TextBlock),), "ada")
    by_file = ImageBlock(Source("file_id", "file_1", provider="openai"))
    return [
        Request((hello,), "model", (filled(ToolDefinition),), filled(Options)),
        Request((Message.system([filled(TextBlock)]), Message.developer("b"), hello), "model"),
        Request((Message.user([image, document]), Message.assistant("Hi")), "model"),
        Request((Message.user([text_document, audio, video, by_file]),), "model"),
        Request((Message.user([DocumentBlock(blocks, title="T")]),), "model"),
        Request(
            (
                hello,
                Message.assistant([thinking, RedactedThinkingBlock("eHg="), TextBlock("a"), call]),
                Message.of_result(result),
            ),
            "model",
            (filled(ToolDefinition),),
        ),
        Request((hello,), "model", continues=filled(Continues)),
        Request(
            (
                hello,
                Message.assistant([filled(CompactionBlock), CompactionBlock(data="eHg=")]),
                hello,
                Message(Role.SYSTEM, changes=filled(Changes)),
            ),
            "model",
            (filled(ToolDefinition),),
        ),
    ]


def responses() -> list[Response]:
    usage = filled(Usage)
    content = MessageMetadata(
        protocol="word",
        response_model="model",
        response_id="r_1",
        usage=usage,
        stop_reason=StopReason.END_TURN,
    )
    called = content.replace(stop_reason=StopReason.TOOL_USE)
    failed = MessageMetadata(
        status=MessageStatus.ERROR, stop_reason=StopReason.ERROR, error_message="word"
    )
    image = filled(ImageBlock, source=_PNG, media_type="image/png")
    return [
        Response(Message.assistant([filled(TextBlock)], content)),
        Response(Message.assistant([filled(ThinkingBlock), filled(ToolUseBlock)], called)),
        Response(Message.assistant([filled(RedactedThinkingBlock), image], content)),
        Response(
            Message.assistant(
                [filled(RefusalBlock)], content.replace(stop_reason=StopReason.REFUSAL)
            )
        ),
        Response(Message.assistant([filled(CompactionBlock), TextBlock("a")], content)),
        Response(Message.assistant("a", content), (Message.assistant("b", content),)),
        Response(Message.assistant("a", content.replace(cache_diagnosis=filled(CacheDiagnosis)))),
        Response(
            Message.assistant(
                "a", content.replace(input_transformations=(filled(InputTransformation),))
            )
        ),
        Response(
            Message(Role.ASSISTANT, (), metadata=failed),
            error=filled(ProviderError, kind=ErrorKind.RATE_LIMIT),
        ),
    ]
