"""What a stream has no place for although a whole answer has, and errors in mid-stream."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.failure import kind_of, report_answer
from interlingua.dialects.bedrock.shape import form_of, mine_of, put_back
from interlingua.dialects.bedrock.stream_frames import name_of, spell
from interlingua.dialects.bedrock.stream_said import part_of
from interlingua.dialects.bedrock.tables import NAME
from interlingua.model.blocks import (
    Block,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import ErrorKind, ProviderError, Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_SAYABLE = frozenset(
    {"text", "citationsContent", "reasoningContent", "toolUse", "toolResult", "image"}
)
"""The kinds of part that a stream has."""
_EXCEPTIONS = frozenset(
    {"InternalServerException", "ModelStreamErrorException", "ValidationException"}
    | {"ThrottlingException", "ServiceUnavailableException"}
)
_NEAR: dict[ErrorKind, str] = {
    ErrorKind.RATE_LIMIT: "ThrottlingException",
    ErrorKind.INVALID_REQUEST: "ValidationException",
    ErrorKind.CONTEXT_OVERFLOW: "ValidationException",
    ErrorKind.AUTH: "ValidationException",
    ErrorKind.NETWORK: "ServiceUnavailableException",
}
"""The errors that a stream knows, by kind; one that is not here is an `InternalServerException`."""
_NOT_STREAMED = "a stream has no place for it"


def sayable(block: Block) -> tuple[str | None, Wire]:
    """The kind of part by which a stream says a block, and the part; None for one that it cannot
    say."""
    part = part_of(block) or {}
    kind = next((key for key in part if key in _SAYABLE), None)
    return None if isinstance(block, UnknownBlock) else kind, part


def is_empty(block: Block) -> bool:
    """Without a start there is nothing that could say such a block."""
    if isinstance(block, TextBlock):
        return not (block.text or block.citations)
    if isinstance(block, ThinkingBlock):
        return not (block.text or block.signature)
    return isinstance(block, RefusalBlock) and not block.text


def streamed(block: Block) -> Block:
    """The block as far as a stream can say it: results hold texts alone."""
    if not isinstance(block, ToolResultBlock):
        return block
    texts = tuple([inner for inner in block.content if type(inner) is TextBlock])
    return block if len(texts) == len(block.content) else block.replace(content=texts)


def report_unstreamed(message: Message, scribe: Scribe) -> None:
    """What a whole answer would have said of these blocks."""
    for block in message.content:
        kind, part = sayable(block)
        if not part:
            continue  # nowhere a place, and told of already
        if is_empty(block):
            scribe.dropped(block, "empty", "info")
        elif kind is None:
            scribe.dropped(block, _NOT_STREAMED)
        elif block.raw or block.cache or isinstance(block, ToolResultBlock):
            _report_inside(block, scribe)


def _report_inside(block: Block, scribe: Scribe) -> None:
    if block.cache is not None:
        scribe.lost(block, "cache", _NOT_STREAMED)
    if isinstance(block, ToolResultBlock):
        whole = part_of(block.replace(content=()))
        for inner in block.content:
            if type(inner) is not TextBlock and part_of(block.replace(content=(inner,))) != whole:
                scribe.dropped(inner, _NOT_STREAMED)
    elif not isinstance(block, ToolUseBlock):
        for key in mine_of(block.raw):
            if key != "$form":
                scribe.lost(block, f"raw.{NAME}.{key}", _NOT_STREAMED, severity="info")


def report_around(response: Response, scribe: Scribe) -> None:
    """What stands around the message, where a stream has nothing."""
    if "output" in mine_of(response.raw):
        scribe.lost(response, f"raw.{NAME}.output", _NOT_STREAMED, severity="info")
    for key in mine_of(response.message.metadata.provider_raw):
        if key != "$form":
            field = f"metadata.provider_raw.{NAME}.{key}"
            scribe.lost(response.message, field, _NOT_STREAMED, severity="info")


def write_exception(response: Response, error: ProviderError, scribe: Scribe) -> Frame:
    """An error as the frame of an exception, of which a stream knows a few."""
    code = error.code
    if code not in _EXCEPTIONS or kind_of(code, error.message) is not error.kind:
        code = _NEAR.get(error.kind, "InternalServerException")
    out: Wire = {form_of(error.raw).get("message") or "message": error.message}
    if error.status is not None:
        scribe.lost(error, "status", "said by the HTTP status", severity="info")
    report_answer(response, scribe)
    if response.raw is not None:
        put_back(out, response, scribe, response.raw)
    if error.raw is not None:
        put_back(out, error, scribe, error.raw)
    if error.code not in (None, code):
        scribe.lost(error, "code", f"said as {code}", kind="approximated")
    if kind_of(code, error.message) is not error.kind:
        scribe.lost(error, "kind", f"said as {code}", kind="approximated")
    return spell(name_of(code), out)
