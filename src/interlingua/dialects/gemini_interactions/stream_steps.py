"""Steps of a stream while their pieces arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.gemini_interactions.messages import Run
from interlingua.dialects.gemini_interactions.tables import MEDIA, THOUGHT
from interlingua.dialects.gemini_interactions.text import read_citations, read_content
from interlingua.dialects.kernel.errors import optional, require, require_key
from interlingua.dialects.kernel.stream_reader import end_of_block, finish_call, start_of_block
from interlingua.dialects.kernel.wire import Wire, encode
from interlingua.model.blocks import Block, TextBlock, ToolUseBlock
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolUseInputDelta,
)
from interlingua.model.metadata import Diagnostic
from interlingua.streams.frames import MANY, thin

# -- a step under assembly ------------------------------------------------------------------------


class Step:
    """One step under assembly: its start, and its pieces. It emits events of its blocks, numbered
    by `number`."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        self.wire = dict(wire)
        self.number = number

    def begin(self) -> list[Event]:
        """The events of its start."""
        return []

    def read_delta(self, delta: Wire) -> list[Event]:
        """The events of a piece; none for an unknown one."""
        return []

    def end(self, found: list[Diagnostic]) -> list[Event]:
        return []

    def blocks(self, run: Run) -> None:
        """The blocks of the step, as those of a whole answer."""
        run.add(self.wire)


class OutputStep(Step):
    """Text and media of a model. Its text stays open until another item arrives."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        super().__init__(wire, number)
        self.index = -1
        self.pieces: list[str] = []
        self.cited: list[Any] = []
        self._parts: list[Any] = []

    def begin(self) -> list[Event]:
        events: list[Event] = []
        for part in require(self.wire.get("content") or [], list, ".content"):
            events += self._whole(part)
        return events

    def _whole(self, part: Wire) -> list[Event]:
        block, index = read_content(part), self.number()
        self._parts.append(part)
        return [start_of_block(index, block), BlockEnd(index, block)]

    def read_delta(self, delta: Wire) -> list[Event]:
        kind = delta.get("type")
        if kind == "text":
            return self.read_text(require_key(delta, "text", str))
        if kind == "text_annotation_delta":
            return self._cite(delta)
        if type(kind) is str and kind in MEDIA:
            return [*self._close(), *self._whole(delta)]
        return []

    def read_text(self, text: str) -> list[Event]:
        events: list[Event] = []
        if self.index < 0:
            self.index = self.number()
            events.append(start_of_block(self.index, TextBlock("")))
        pieces = self.pieces
        pieces.append(text)
        if len(pieces) > MANY:
            thin(pieces)
        return [*events, TextDelta(self.index, text)]

    def _cite(self, delta: Wire) -> list[Event]:
        listed = require(delta.get("annotations") or [], list, ".annotations")
        citations = read_citations(listed, "".join(self.pieces))
        begun = [] if self.index >= 0 or not listed else self.read_text("")[:1]
        self.cited += listed
        deltas = [BlockDelta(self.index, "citations", citation) for citation in citations]
        return [*begun, *deltas]

    def _close(self) -> list[Event]:
        if self.index < 0:
            return []
        part: Wire = {"type": "text", "text": "".join(self.pieces)}
        if self.cited:
            part["annotations"] = self.cited
        self._parts.append(part)
        index, self.index, self.pieces, self.cited = self.index, -1, [], []
        return [BlockEnd(index, read_content(part))]

    def end(self, found: list[Diagnostic]) -> list[Event]:
        events = self._close()
        if self._parts:
            self.wire["content"] = self._parts
        return events


class OutputContent(OutputStep):
    """A text or a medium of the older revision, which has no step around it."""

    def begin(self) -> list[Event]:
        content, self.wire = self.wire, {}
        if content.get("type") != "text":
            has_source = any(content.get(key) is not None for key in ("data", "uri"))
            return self._whole(content) if has_source else []
        return self.read_delta(content) if content.get("text") else []

    def read_delta(self, delta: Wire) -> list[Event]:
        """SDK 1.55.0 (2025-12) has annotations beside a text, later ones by themselves."""
        kind = delta.get("type")
        if kind not in ("text", "text_annotation"):
            return super().read_delta(delta)
        text = None if kind != "text" else optional(delta, "text", str)
        events = [] if text is None else self.read_text(text)
        return events + self._cite(delta)

    def blocks(self, run: Run) -> None:
        for part in self.wire.get("content", ()):
            run.add_content(part)


class WholeContent(Step):
    """A call or a result of the older revision: its one piece has all of it, its start only the
    type. It is known at its end."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        super().__init__(wire, number)
        self._index = number()

    def read_delta(self, delta: Wire) -> list[Event]:
        if delta.get("type") == self.wire.get("type"):
            self.wire.update(delta)
        return []

    def end(self, found: list[Diagnostic]) -> list[Event]:
        events: list[Event] = []
        for block in self._read():
            events += [start_of_block(self._index, block), *_end_of(self._index, block, False)]
        return events

    def _read(self) -> list[Block]:
        return _read(self.wire) if len(self.wire) > 1 else []

    def blocks(self, run: Run) -> None:
        run.blocks += self._read()


class BlockStep(Step):
    """A step that is one block: a thought, a call, a result, or an unknown one. Pieces of hosted
    tools have the keys of their steps."""

    def __init__(self, wire: Wire, number: Callable[[], int]) -> None:
        super().__init__(wire, number)
        self._read: list[Block] = _read(wire)
        self._first = [number() for _ in self._read]
        self._pieces: list[str] = []
        self._call: ToolUseBlock | None = None
        self._beside: list[Any] = []

    def begin(self) -> list[Event]:
        return [start_of_block(i, b) for i, b in zip(self._first, self._read, strict=True)]

    def read_delta(self, delta: Wire) -> list[Event]:
        kind, index = delta.get("type"), self._first[-1]
        if kind == "arguments_delta" and type(self._read[-1]) is ToolUseBlock:
            text = (
                require_key(delta, "arguments", str) if delta.get("arguments") is not None else ""
            )
            return self._piece(text, ToolUseInputDelta)
        if self.wire.get("type") == THOUGHT:
            return self._think(kind, delta, index)
        if kind == self.wire.get("type"):
            self.wire.update({key: item for key, item in delta.items() if key != "type"})
        return []

    def _piece(self, text: str, event: Any) -> list[Event]:
        self._pieces.append(text)
        if len(self._pieces) > MANY:
            thin(self._pieces)
        return [event(self._first[-1], text)]

    def _think(self, kind: Any, delta: Wire, index: int) -> list[Event]:
        if kind == "thought_signature":
            signature = delta.get("signature")
            if signature is None:
                return []
            self.wire["signature"] = require(signature, str, ".signature")
            return [BlockDelta(index, "signature", signature)]
        content = delta.get("content") if kind == "thought_summary" else None
        if content is None:
            return []
        if require(content, dict, ".content").get("type") != "text":
            self._beside.append(content)
            return []
        return self._piece(require_key(content, "text", str), ThinkingDelta)

    def end(self, found: list[Diagnostic]) -> list[Event]:
        if self.wire.get("type") == THOUGHT:
            self._put_summary()
        elif self._pieces:
            self._finish_call(found)
        blocks = [self._call] if self._call is not None else _read(self.wire)
        events: list[Event] = []
        for number, block in enumerate(blocks):
            if number < len(self._first):
                events += _end_of(self._first[number], block, bool(self._pieces))
            else:
                index = self.number()
                events += [start_of_block(index, block), BlockEnd(index, block)]
        return events

    def _put_summary(self) -> None:
        """Pieces of a summary go on with its last part."""
        summary = list(self.wire.get("summary") or ())
        if self._pieces:
            text = "".join(self._pieces)
            last = summary.pop() if summary else {"type": "text", "text": ""}
            if last.get("type") != "text":
                summary.append(last)
                last = {"type": "text", "text": ""}
            summary.append({**last, "text": last["text"] + text})
        if summary or self._beside:
            self.wire["summary"] = [*summary, *self._beside]

    def _finish_call(self, found: list[Diagnostic]) -> None:
        block: Any = _read(self.wire)[-1]
        self._call, odd = finish_call(block, self._pieces)
        self.wire["arguments"] = self._call.input
        if odd is not None:
            found.append(odd)

    def blocks(self, run: Run) -> None:
        run.add(self.wire)
        if self._call is not None:
            run.blocks[-1] = self._call


def _read(wire: Wire) -> list[Block]:
    run = Run()
    run.add(wire)
    return run.blocks


def _end_of(index: int, block: Block, has_pieces: bool) -> list[Event]:
    """The end of a block. A whole call is emitted in one piece by then."""
    end = end_of_block(index, block)
    if type(block) is not ToolUseBlock or has_pieces or not block.input:
        return [end]
    return [ToolUseInputDelta(index, encode(block.input).decode()), end]
