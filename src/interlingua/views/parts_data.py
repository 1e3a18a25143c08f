"""The parts of the parts view as classes, for programs that build them in Python.

`Message.user([...])` and the other constructors take them as they are; `ContentPart.of` is the way
back. A part means what `parts.read` makes of its JSON.
"""

from __future__ import annotations

from binascii import Error as NotBase64
from binascii import a2b_base64, b2a_base64
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from interlingua.model.base import JsonObject
from interlingua.model.blocks import Block
from interlingua.views.base import present


class ContentKind(StrEnum):
    TEXT = "TEXT"
    IMAGE = "IMAGE"
    AUDIO = "AUDIO"
    TOOL_CALL = "TOOL_CALL"
    TOOL_RESULT = "TOOL_RESULT"
    THINKING = "THINKING"
    REDACTED_THINKING = "REDACTED_THINKING"
    DOCUMENT = "DOCUMENT"


@dataclass(kw_only=True)
class _Media:
    """A URL, or inline data: the bytes of the file, or base64 of them as text or bytes."""

    url: str | None = None
    data: bytes | str | None = None
    media_type: str | None = None


@dataclass(kw_only=True)
class ImageData(_Media):
    detail: str | None = None


@dataclass(kw_only=True)
class AudioData(_Media):
    pass


@dataclass(kw_only=True)
class DocumentData(_Media):
    file_name: str | None = None


@dataclass
class ToolCallData:
    id: str
    name: str
    arguments: JsonObject


@dataclass
class ToolResultData:
    tool_call_id: str
    content: str
    is_error: bool = False


@dataclass
class ThinkingData:
    """For `REDACTED_THINKING`, `text` is the sealed data."""

    text: str
    signature: str | None = None


@dataclass(kw_only=True)
class ContentPart:
    """`kind` names the one other field that is filled in."""

    kind: ContentKind
    text: str | None = None
    image: ImageData | None = None
    audio: AudioData | None = None
    document: DocumentData | None = None
    tool_call: ToolCallData | None = None
    tool_result: ToolResultData | None = None
    thinking: ThinkingData | None = None

    @classmethod
    def of(cls, block: Block) -> ContentPart:
        """The part for a block; `LossError` if it cannot hold all of it."""
        from interlingua.views.parts import part_of

        plain = part_of(block)
        data = {name: _DATA[name](**item) for name, item in plain.items() if name in _DATA}
        return cls(**{**plain, **data, "kind": ContentKind(plain["kind"])})

    def as_block(self) -> Block:
        from interlingua.views.parts import block_of

        return block_of(self.plain())

    def plain(self) -> JsonObject:
        """The part as the JSON of the parts view."""
        out = present(**asdict(self))
        for name, data in out.items():
            if name in _DATA:
                out[name] = present(**data)
        inline: JsonObject = next((out[name] for name in _MEDIA if name in out), {})
        if "data" in inline:
            inline["data"] = as_base64(inline["data"])
        return {**out, "kind": str(self.kind)}


_MEDIA = ("image", "audio", "document")
_DATA: dict[str, type[Any]] = {
    "image": ImageData,
    "audio": AudioData,
    "document": DocumentData,
    "tool_call": ToolCallData,
    "tool_result": ToolResultData,
    "thinking": ThinkingData,
}


def as_base64(data: bytes | str) -> str:
    """Inline data as base64 text. Bytes that are base64 already stay what they are: no picture,
    recording or document is made of that alphabet alone."""
    if isinstance(data, str):
        return data
    try:
        if a2b_base64(data, strict_mode=True):
            return data.decode()
    except NotBase64:
        pass
    return b2a_base64(data, newline=False).decode()
