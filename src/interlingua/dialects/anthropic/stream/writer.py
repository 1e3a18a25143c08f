"""Writing a stream that came from elsewhere: as this wire wants it, one block after the other."""

from __future__ import annotations

from interlingua.dialects.anthropic import tables
from interlingua.dialects.anthropic.response import write_response
from interlingua.dialects.anthropic.tables import NAME
from interlingua.dialects.anthropic.text import ANSWER, WRITERS, write_citation, write_parts
from interlingua.dialects.kernel import stream_writer
from interlingua.dialects.kernel.kept import mine_of
from interlingua.dialects.kernel.numbered import NumberedWriter
from interlingua.dialects.kernel.recorder import LossRecorder, quiet
from interlingua.dialects.kernel.stream_writer import PIECE, spell
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Block, Citation, CompactionBlock
from interlingua.model.exchange import Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.streams.frames import Frame

_PIECES = (tables.PIECES["text"], tables.PIECES["thinking"], tables.PIECES["tool_use"])
_STARTED = frozenset({"id", "type", "role", "model", "content", "usage"})
"""What the end of a message does not say again."""
_BESIDE = frozenset({"context_management", "input_transformations"})
"""What it says beside its delta."""
_LATER = frozenset({"text", "thinking", "citations", "signature", "input"})
"""What a block may say after its start."""
_TOO_LATE = "a block says it at its start, when it was not known"
_QUIET = quiet(NAME)


class Abroad(NumberedWriter):
    opens_texts = True
    told = frozenset({"text", "thinking"})
    pieces = tuple([{"type": kind, key: PIECE} for kind, key in _PIECES])
    frames = (tables.BLOCK_START, tables.BLOCK_DELTA, tables.BLOCK_STOP)

    def _begin_anew(self) -> None:
        super()._begin_anew()
        self._opened: list[Wire] = []

    # -- messages ---------------------------------------------------------------------------------

    def _begin(self, model: str | None, id: str | None) -> list[Frame]:
        told = MessageMetadata(response_model=model, response_id=id)
        wire = write_response(Response(Message(Role.ASSISTANT, metadata=told)), _QUIET)
        return [_spell({"type": "message_start", "message": wire})]

    def _finish(self, response: Response, recorder: LossRecorder) -> list[Frame]:
        wire = write_response(response, recorder)
        self._report_late(response.message, wire, recorder)
        changes = {key: item for key, item in wire.items() if key not in _STARTED}
        beside = {key: changes.pop(key) for key in _BESIDE & changes.keys()}
        change: Wire = {"type": "message_delta", "delta": changes, **beside}
        change["usage"] = wire.get("usage") or {"output_tokens": 0}
        return [_spell(change), _spell({"type": "message_stop"})]

    def _report_late(self, message: Message, wire: Wire, recorder: LossRecorder) -> None:
        """What a block has to say at its start, and was not known by then."""
        parts = wire.get("content") or []
        if [part.get("type") for part in parts] != [part.get("type") for part in self._opened]:
            return
        late = [
            part.keys() - start.keys() - _LATER
            for part, start in zip(parts, self._opened, strict=True)
        ]
        if not any(late):
            return
        written = [block for block in message.content if self._part(block) is not None]
        for block, keys in zip(written, late, strict=True):
            if "cache_control" in keys:
                recorder.lost(block, "cache", _TOO_LATE)
            for key in sorted(keys & mine_of(NAME, block.raw).keys()):
                recorder.lost(block, f"raw.{NAME}.{key}", _TOO_LATE)

    def _failure(self, response: Response, recorder: LossRecorder) -> Frame:
        return spell("error", write_response(response, recorder))

    def _account(self, partial: Message, recorder: LossRecorder) -> None:
        write_parts(partial.content, ANSWER, recorder)

    # -- blocks -----------------------------------------------------------------------------------

    def _part(self, block: Block) -> Wire | None:
        return WRITERS[type(block)](block, ANSWER, _QUIET)

    def _step(self, name: str, said: Wire) -> tuple[str, Wire]:
        return name, {"type": name, "index": self._count, **said}

    def _start_of(self, part: Wire) -> Wire:
        self._opened.append(part)
        return {"content_block": part}

    def _whole(self, block: Block) -> list[Frame]:
        part = self._part(block)
        return [] if part is None else [self._opening(part)]

    def _citation(self, citation: Citation) -> Wire | None:
        wire = write_citation(citation, _QUIET, answering=True)
        return None if wire is None else {"type": "citations_delta", "citation": wire}

    def _signature(self, signature: str) -> Wire:
        return {"type": "signature_delta", "signature": signature}


def _spell(wire: Wire) -> Frame:
    return spell(wire["type"], wire)


class StreamWriter(stream_writer.StreamWriter):
    """One stream of the Messages API."""

    name, way = NAME, Abroad

    def _keeps(self, block: CompactionBlock) -> bool:
        return True
