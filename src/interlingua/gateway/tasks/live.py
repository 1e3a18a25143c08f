"""What a task is saying right now, before it is stored: the blocks of the answer that arrives, as
far as it has arrived. There is one copy for all who read; each remembers how far it has read."""

from __future__ import annotations

from typing import Any

from interlingua.gateway.tasks import output
from interlingua.model import events as ev
from interlingua.model.blocks import TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message

_KINDS = {ev.TextDelta: "TextDelta", ev.ThinkingDelta: "ThinkingDelta"}
_LAST = (ev.MessageComplete, ev.StreamError)


class Block:
    """Text that grows. `call` is the tool call that it is the arguments of."""

    def __init__(self, msg: str, call: dict[str, str] | None = None) -> None:
        self.msg = msg
        self.call = call
        self.pieces: list[str] = []


class Live:
    """The answer that arrives. `after` is how many events were told before it, `number` which
    answer it is; both tell readers where it belongs."""

    def __init__(self) -> None:
        self.number = 0
        self.after = 0
        self.message_id: str | None = None
        self.done = True
        self.blocks: dict[int, Block] = {}

    def take(self, said: Any, message_id: str | None, after: int) -> None:
        """One event of an answer."""
        if isinstance(said, ev.MessageStart):
            self._begin(after)
        elif isinstance(said, _LAST):
            self.done = True
        elif isinstance(said, (ev.TextDelta, ev.ThinkingDelta)):
            self._block(said.index, _KINDS[type(said)]).pieces.append(said.text)
        elif isinstance(said, ev.ToolUseStart):
            call = {"id": said.id, "name": said.name}
            self.blocks[said.index] = Block("ToolCallDelta", call)
        elif isinstance(said, ev.ToolUseInputDelta):
            self._block(said.index, "ToolCallDelta").pieces.append(said.text)
        self.message_id = message_id if self.message_id is None else self.message_id

    def see(self, message: Message, after: int) -> None:
        """What another process has stored of the answer that it gets."""
        if self.message_id != message.id:
            self._begin(after)
            self.message_id = message.id
        for index, block in enumerate(message.content):
            if isinstance(block, (TextBlock, ThinkingBlock)):
                kind = "TextDelta" if isinstance(block, TextBlock) else "ThinkingDelta"
                self._grow(index, kind, block.text)
            elif isinstance(block, ToolUseBlock):
                call = {"id": block.id, "name": block.name}
                self.blocks.setdefault(index, Block("ToolCallDelta", call))

    def _begin(self, after: int) -> None:
        self.number += 1
        self.after = after
        self.message_id = None
        self.done = False
        self.blocks = {}

    def _block(self, index: int, kind: str) -> Block:
        return self.blocks.setdefault(index, Block(kind))

    def _grow(self, index: int, kind: str, text: str) -> None:
        block = self._block(index, kind)
        known = sum(len(piece) for piece in block.pieces)
        if len(text) > known:
            block.pieces.append(text[known:])


class ReadPosition:
    """How far one reader has read."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._past = live.number if live.done else -1
        """The answer that was whole before: it is told otherwise."""
        self._number = -1
        self._read: dict[int, tuple[int, int]] = {}

    def is_before(self, seq: int) -> bool:
        """Whether what is being said now comes before the event of this number."""
        return self._live.after < seq

    def growth(self) -> bytes:
        """What is new, as frames."""
        live = self._live
        if live.message_id is None or live.number == self._past:
            return b""
        if self._number != live.number:
            self._number, self._read = live.number, {}
        out = [self._more(*each) for each in enumerate(live.blocks.items())]
        return b"".join(out)

    def _more(self, number: int, item: tuple[int, Block]) -> bytes:
        index, block = item
        read, offset = self._read.get(index, (-1, 0))
        new = block.pieces[max(read, 0) :]
        if not new and not (read < 0 and block.call is not None):
            return b""
        text = "".join(new)
        self._read[index] = (len(block.pieces), offset + len(text))
        said: dict[str, Any] = {
            "msg": block.msg,
            "message_id": self._live.message_id,
            "index": number,
        }
        if block.call is not None:
            said["tool_call"] = block.call
        return output.frame(output.DELTA, {**said, "offset": offset, "text": text})
