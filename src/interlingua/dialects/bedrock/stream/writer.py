"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.bedrock import tables
from interlingua.dialects.bedrock.errors import write_exception
from interlingua.dialects.bedrock.messages import write_part, write_parts
from interlingua.dialects.bedrock.response import write_response
from interlingua.dialects.bedrock.tables import NAME
from interlingua.dialects.bedrock.text import write_citation
from interlingua.dialects.bedrock.usage import NO_USAGE
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.fields import QUIET
from interlingua.dialects.kernel.kept import kept
from interlingua.dialects.kernel.numbered import KINDS, THINKING, NumberedWriter
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_writer import PIECE, spell
from interlingua.dialects.kernel.wire import Wire
from interlingua.model import blocks as model
from interlingua.model.blocks import Block, Citation, TextBlock, ToolResultBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message
from interlingua.streams.frames import Frame

_TOLD = frozenset({"text", "citationsContent", "reasoningContent"})
_SAYABLE = frozenset({*_TOLD, "toolUse", "toolResult", "image"})
"""The kinds of part that a stream has."""
_FILLED = {"toolUse": "input", "toolResult": "content", "image": "source"}
"""What a start does not say yet, by the key that says its kind."""
_STOPPED = ("stopReason", "additionalModelResponseFields")
"""What the end of a message says; all else is said after it."""
_NOT_STREAMED = "a stream has no place for it"


class Abroad(NumberedWriter):
    opens_texts = False
    told = _TOLD
    pieces = (
        {"text": PIECE},
        {"reasoningContent": {"text": PIECE}},
        {"toolUse": {"input": PIECE}},
    )
    frames = (tables.START, tables.DELTA, tables.STOP)

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        return [spell(tables.BEGIN, {"role": "assistant"})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        _report_unstreamed(response.message, recorder)
        _report_around(response, recorder)
        end = {"stopReason": "end_turn", **{key: wire[key] for key in _STOPPED if key in wire}}
        after = {"usage": NO_USAGE, "metrics": tables.DEFAULT_METRICS}
        after |= {key: item for key, item in wire.items() if key not in ("output", *_STOPPED)}
        return [spell(tables.END, end), spell(tables.METADATA, after)]

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell(*write_exception(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, [], recorder, answer=True)
        _report_unstreamed(partial, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _part(self, block: Block) -> Wire | None:
        return _part_of(block)

    def _step(self, name: str, said: Wire) -> tuple[str, Wire]:
        return name, {"contentBlockIndex": self._count, **said}

    def _start_of(self, part: Wire) -> Wire:
        told = {
            key: {name: item for name, item in inner.items() if name != _FILLED.get(key)}
            for key, inner in part.items()
        }
        return {"start": told}

    def _whole(self, block: Block) -> list[Frame]:
        kind, part = _sayable(_streamed(block))
        if kind == "reasoningContent":
            return [self._say_delta(part)]
        if kind not in ("toolResult", "image"):
            return []
        told = part[kind]
        told = told["content"] if kind == "toolResult" else {"source": told["source"]}
        delta = [self._say_delta({kind: told})] if told else []
        return [self._opening(part), *delta]

    def _citation(self, citation: Citation) -> Wire:
        return {"citation": write_citation(citation, QUIET)}

    def _signature(self, signature: str) -> Wire:
        return {"reasoningContent": {"signature": signature}}


def _part_of(block: Block) -> Wire | None:
    """The block as a whole answer has it; None where it has no place."""
    return write_part(block, QUIET, True)


# -- what a stream has no place for although a whole answer has -----------------------------------


def _sayable(block: Block) -> tuple[str | None, Wire]:
    """The kind of part by which a stream says a block, and the part; None for one that it cannot
    say."""
    part = _part_of(block) or {}
    kind = next((key for key in part if key in _SAYABLE), None)
    return None if isinstance(block, model.UnknownBlock) else kind, part


def _is_empty(block: Any) -> bool:
    """Without a start there is nothing that could say such a block."""
    kind = KINDS.get(type(block))
    beside = "signature" if kind == THINKING else "citations"
    return kind is not None and not (block.text or getattr(block, beside, None))


def _streamed(block: Block) -> Block:
    """The block as far as a stream can say it: results hold texts alone."""
    if not isinstance(block, ToolResultBlock):
        return block
    texts = tuple([inner for inner in block.content if type(inner) is TextBlock])
    return block if len(texts) == len(block.content) else block.replace(content=texts)


def _report_unstreamed(message: Message, recorder: LossRecorder) -> None:
    """What a whole answer would have said of these blocks."""
    for block in message.content:
        kind, part = _sayable(block)
        if not part:
            continue  # nowhere a place, and told of already
        if _is_empty(block):
            recorder.dropped(block, "empty", "info")
        elif kind is None:
            recorder.dropped(block, _NOT_STREAMED)
        elif block.raw or block.cache or isinstance(block, ToolResultBlock):
            _report_inside(block, recorder)


def _report_inside(block: Block, recorder: LossRecorder) -> None:
    if block.cache is not None:
        recorder.lost(block, "cache", _NOT_STREAMED)
    if isinstance(block, ToolResultBlock):
        whole = _part_of(block.replace(content=()))
        for inner in block.content:
            if type(inner) is not TextBlock and _part_of(block.replace(content=(inner,))) != whole:
                recorder.dropped(inner, _NOT_STREAMED)
    elif not isinstance(block, model.ToolUseBlock):
        for key in kept(NAME, block.raw):
            recorder.lost(block, f"raw.{NAME}.{key}", _NOT_STREAMED, severity="info")


def _report_around(response: Response, recorder: LossRecorder) -> None:
    """What stands around the message, where a stream has nothing."""
    if "output" in kept(NAME, response.raw):
        recorder.lost(response, f"raw.{NAME}.output", _NOT_STREAMED, severity="info")
    for key in kept(NAME, response.message.metadata.provider_raw):
        field = f"metadata.provider_raw.{NAME}.{key}"
        recorder.lost(response.message, field, _NOT_STREAMED, severity="info")


class StreamWriter(stream_writer.StreamWriter):
    """One stream of Converse."""

    name, way = NAME, Abroad
