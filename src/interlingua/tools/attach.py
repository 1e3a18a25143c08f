"""Files of a workspace, put into the messages that refer to them, for wires that want data."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Source,
    ToolResultBlock,
    VideoBlock,
)
from interlingua.model.message import Message, rewrite
from interlingua.tools.handlers import WorkspaceError
from interlingua.tools.workspace import READ_LIMIT, Workspace

TOTAL_LIMIT = 64 * 1024 * 1024

IMAGES = {
    **{"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif"},
    **{"webp": "image/webp", "bmp": "image/bmp", "tif": "image/tiff", "tiff": "image/tiff"},
    **{"heic": "image/heic", "heif": "image/heif", "avif": "image/avif", "svg": "image/svg+xml"},
}
AUDIO = {
    **{"wav": "audio/wav", "mp3": "audio/mpeg", "ogg": "audio/ogg", "oga": "audio/ogg"},
    **{"opus": "audio/opus", "flac": "audio/flac", "m4a": "audio/mp4", "aac": "audio/aac"},
    **{"aiff": "audio/aiff", "webm": "audio/webm", "mp4": "audio/mp4"},
}
VIDEO = {
    **{"mp4": "video/mp4", "m4v": "video/mp4", "mov": "video/quicktime", "webm": "video/webm"},
    **{"mkv": "video/x-matroska", "avi": "video/x-msvideo", "mpeg": "video/mpeg"},
    **{"mpg": "video/mpeg", "wmv": "video/x-ms-wmv", "flv": "video/x-flv", "3gp": "video/3gpp"},
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCUMENTS = {
    **{"pdf": "application/pdf", "txt": "text/plain", "log": "text/plain", "md": "text/markdown"},
    **{"csv": "text/csv", "tsv": "text/tab-separated-values", "html": "text/html"},
    **{"htm": "text/html", "xml": "text/xml", "json": "application/json", "rtf": "application/rtf"},
    **{"doc": "application/msword", "docx": f"{_OFFICE}.wordprocessingml.document"},
    **{"xls": "application/vnd.ms-excel", "xlsx": f"{_OFFICE}.spreadsheetml.sheet"},
    **{"ppt": "application/vnd.ms-powerpoint"},
    **{"pptx": f"{_OFFICE}.presentationml.presentation", "epub": "application/epub+zip"},
}
MEDIA_TYPES: dict[type[Block], dict[str, str]] = {
    ImageBlock: IMAGES,
    AudioBlock: AUDIO,
    VideoBlock: VIDEO,
    DocumentBlock: DOCUMENTS,
}
"""Types by extension. The system's own table differs from machine to machine."""


def attach_files(
    messages: Iterable[Message],
    workspace: Workspace,
    *,
    limit: int = READ_LIMIT,
    total: int = TOTAL_LIMIT,
) -> list[Message]:
    """The messages with the data of every `file_ref` in place of the reference; on a copy.

    Messages without references come back as they are. A file larger than `limit` bytes, and all
    together more than `total`, is a WorkspaceError, as is every path that `Workspace` refuses. A
    document that is text becomes a source of text, since few providers take text as base64.
    """
    return _Attachment(workspace, limit, total).all(messages)


class _Attachment:
    def __init__(self, workspace: Workspace, limit: int, total: int) -> None:
        self.workspace = workspace
        self.limit = limit
        self.left = total
        self.total = total

    def all(self, messages: Iterable[Message]) -> list[Message]:
        return [rewrite(message, lambda block: (self.block(block),)) for message in messages]

    def block(self, block: Block) -> Block:
        if isinstance(block, ToolResultBlock):
            inner = tuple([self.block(each) for each in block.content])
            same = all(a is b for a, b in zip(inner, block.content, strict=True))
            return block if same else block.replace(content=inner)
        if isinstance(block, (ImageBlock, AudioBlock, VideoBlock, DocumentBlock)):
            attached: Block = self.media(block)
            return attached
        return block

    def media(self, block: Any) -> Any:
        source: Source = block.source
        if source.content is not None:
            inner = tuple([self.block(each) for each in source.content])
            if all(a is b for a, b in zip(inner, source.content, strict=True)):
                return block
            return block.replace(source=source.replace(content=inner))
        if source.kind != "file_ref":
            return block
        path = source.data or ""
        name = path.rsplit("/", 1)[-1]
        changes: dict[str, Any] = {}
        if block.media_type is None:
            extension = name.rsplit(".", 1)[-1].lower() if "." in name else ""
            changes["media_type"] = MEDIA_TYPES[type(block)].get(extension)
        if block.name is None and isinstance(block, DocumentBlock):
            changes["name"] = name  # some wires take no file without one
        changes["source"] = self.source(block, path, block.media_type or changes["media_type"])
        return block.replace(**changes)

    def source(self, block: Block, path: str, media_type: str | None) -> Source:
        limit = min(self.limit, self.left)
        try:
            data = self.workspace.read(path, limit)
        except WorkspaceError as problem:
            if problem.reason == "too_large" and limit < self.limit:
                text = f"all files together are larger than {self.total} bytes"
                raise WorkspaceError(path, text, "too_large") from None
            raise
        self.left -= len(data)
        if isinstance(block, DocumentBlock) and (media_type or "").startswith("text/"):
            try:
                return Source("text", data.decode())
            except UnicodeDecodeError:
                pass
        return Source("base64", base64.b64encode(data).decode())
