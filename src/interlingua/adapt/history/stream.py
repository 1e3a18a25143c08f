"""Retelling for streams: the events of one dialect so that another can take them.

Does to the events of a stream what `retell` does to a whole answer: foreign signatures and
encrypted data are left out, ids are fitted. A block that cannot be decided yet is held back; all
others pass at once. The losses are counted at the end, on the whole answer, so that they are the
same as without streaming.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from interlingua.adapt.history.issuers import Recipient
from interlingua.adapt.history.retell import retell
from interlingua.adapt.history.rewriter import HistoryRewriter
from interlingua.dialects.kernel.recorder import LossRecorder, Quiet
from interlingua.dialects.kernel.words import PLACEHOLDER
from interlingua.dialects.record import Dialect
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because

LATE = because("too_late")
JOINED = because("messages_joined")
_UNSURE = (RedactedThinkingBlock, ToolResultBlock, CompactionBlock)
"""Blocks that are dropped or written as a whole."""
_ASIDE = frozenset({"raw", "cache"})
"""Fields that the events of a block may omit."""
_PATH = re.compile(r"\$\.(message|alternatives\[(\d+)\])\.content\[(\d+)\]")

PIECES = frozenset({TextDelta, ThinkingDelta, ToolUseInputDelta})

_Key = tuple[int, int]


class StreamRewriter:
    """Events in, events out; `report` is complete once the last event was fed."""

    def __init__(self, source: str, target: Dialect, model: str | None = None) -> None:
        self.report = Report(target.name)
        self._source, self._target, self._model = source, target, model
        self._speaks = target.traits.speaks
        self._counted = 0
        self._begin_anew()
        self._steps: dict[type, Callable[[Any], list[Event]]] = {
            MessageStart: self._start,
            BlockStart: self._block_start,
            BlockDelta: self._delta,
            BlockEnd: self._block_end,
            ThinkingDelta: self._thinking,
            ToolUseStart: self._call,
            ToolUseEnd: self._call_end,
            MessageComplete: self._complete,
            StreamError: self._fail,
            Other: self._other,
        }

    def _begin_anew(self) -> None:
        self.ended = False
        """Whether the message is over; another one may follow."""
        self._made_by: str | None = None
        self.held: dict[_Key, list[Event]] = {}
        """Events held back; while it is empty, pieces pass through unchanged."""
        self._calls: dict[_Key, ToolUseStart] = {}
        self._ended: dict[_Key, Block] = {}
        self._ids: dict[int, dict[str, int]] = {}
        self._fits: dict[tuple[int, str], str] = {}
        self._moved: dict[str, dict[int, int]] = {}
        self._late: list[str] = []
        self._progress: dict[str, int] = {}
        """The number of frames that only show progress, by their names."""
        self._first = len(self.report.entries)

    def feed(self, event: Event) -> list[Event]:
        step = self._steps.get(type(event))
        if step is not None:
            return step(event)
        if self.held and isinstance(event, TextDelta | ToolUseInputDelta):
            held = self.held.get((event.choice, event.index))
            if held is not None:
                held.append(event)
                return []
        return [event]

    def written(self, report: Report) -> None:
        """Takes over the losses from the writer of a message that has ended. Paths are those of the
        original answer, not of the rewritten one."""
        for loss in report.entries[self._counted :]:
            self.report.entries.append(_at(loss, self._moved) if self._moved else loss)
        self._counted = len(report.entries)
        for event, count in self._progress.items():
            reason = because("progress_unsupported", event=event, count=count)
            self.report.add("dropped", "$.message", reason)
        self._progress = {}
        if self._late:
            reported = self.report.entries[self._first :]
            lost = [loss.path for loss in reported if loss.kind == "dropped"]
            for path in self._late:
                if not any(
                    path == each or path.startswith((each + ".", each + "[")) for each in lost
                ):
                    self.report.add("dropped", path, LATE)
            self._late = []

    # -- messages ---------------------------------------------------------------------------------

    def _start(self, event: MessageStart) -> list[Event]:
        if self.ended:
            self._begin_anew()
            if not self._target.traits.messages_apart:
                self.report.add("moved", "$", JOINED)
        if event.model is not None:
            self._made_by = event.model
        return [event]

    def _other(self, event: Other) -> list[Event]:
        if (name := event.progress) is not None:
            self._progress[name] = self._progress.get(name, 0) + 1
        return [event]

    def _complete(self, event: MessageComplete) -> list[Event]:
        self.ended = True
        response = event.response
        retold = retell(response, self._target, self._model, source=self._source)
        new: Response = retold.value
        self.report.extend(retold.report)
        self._moved = _moves(response, new, retold.recorder)
        self._note_late(response)
        events: list[Event] = []
        for choice, message in enumerate((new.message, *new.alternatives)):
            content = message.content
            if len(content) == 1 and content[0] == TextBlock(PLACEHOLDER):
                events += self._placeholder(choice, content[0])
        self.held.clear()
        return [*events, MessageComplete(new, choice=event.choice, frame=event.frame)]

    def _placeholder(self, choice: int, block: Block) -> list[Event]:
        """The placeholder for an answer that has lost all its content."""
        if any(number == choice and block == each for (number, _), each in self._ended.items()):
            return []
        index = 1 + max([at for number, at in self._ended if number == choice], default=-1)
        return [
            BlockStart(index, TextBlock(""), choice=choice),
            TextDelta(index, PLACEHOLDER, choice=choice),
            BlockEnd(index, block, choice=choice),
        ]

    def _fail(self, event: StreamError) -> list[Event]:
        self.ended = True
        self.held.clear()
        if event.partial is None:
            return [event]
        broken = Response(event.partial, error=event.error)
        retold = retell(broken, self._target, self._model, source=self._source)
        self.report.extend(retold.report)
        self._moved = _moves(broken, retold.value, retold.recorder)
        return [StreamError(event.error, retold.value.message, frame=event.frame)]

    def _note_late(self, response: Response) -> None:
        """Fields of a block in the whole answer that its end did not have yet; a loss if the target
        cannot come back to the block, unless it is dropped anyway."""
        if not self._target.traits.closes_blocks:
            return
        for choice, message in enumerate((response.message, *response.alternatives)):
            ended = [block for (of, _), block in sorted(self._ended.items()) if of == choice]
            if [*map(type, ended)] != [*map(type, message.content)]:
                continue  # in another order: no pairs to compare
            where = "$.message" if not choice else f"$.alternatives[{choice - 1}]"
            for index, (block, last) in enumerate(zip(message.content, ended, strict=True)):
                if block is not last and block != last:
                    path = f"{where}.content[{index}]"
                    self._late += [f"{path}.{name}" for name in _differing(block, last)]

    # -- blocks -----------------------------------------------------------------------------------

    def _judge(self, block: Block) -> Block | None:
        """The block as the target can take it, or nothing."""
        metadata = MessageMetadata(protocol=self._source, response_model=self._made_by)
        message = Message(Role.ASSISTANT, metadata=metadata)
        recipient = Recipient(self._target, self._model, is_client=True, source=self._source)
        recorder = Quiet(self._target.name, None, Report(self._target.name))
        rewriter = HistoryRewriter(recipient, recorder)
        return rewriter.model_block(block, message)

    def _block_start(self, event: BlockStart) -> list[Event]:
        block: Any = event.block
        if isinstance(block, _UNSURE) or (type(block) is AudioBlock and not self._speaks):
            self.held[event.choice, event.index] = [event]
            return []
        if getattr(block, "signature", None) is not None:
            event = BlockStart(
                event.index, block.replace(signature=None), choice=event.choice, frame=event.frame
            )
        if type(block) is ThinkingBlock and not block.text:
            self.held[event.choice, event.index] = [event]
            return []
        return [event]

    def _thinking(self, event: ThinkingDelta) -> list[Event]:
        if self.held and event.text:
            return [*self.held.pop((event.choice, event.index), ()), event]
        return self._hold(event)

    def _delta(self, event: BlockDelta) -> list[Event]:
        """Holds a signature back until the end of its block, when its issuer is known."""
        return [] if event.field == "signature" else self._hold(event)

    def _hold(self, event: Any) -> list[Event]:
        held = self.held.get((event.choice, event.index))
        if held is None:
            return [event]
        held.append(event)
        return []

    def _block_end(self, event: BlockEnd) -> list[Event]:
        key = event.choice, event.index
        self._ended[key] = event.block
        held = self.held.pop(key, [])
        new = self._judge(event.block)
        if new is None:
            return []
        if type(new) is ToolResultBlock:
            id = new.tool_use_id
            fits = self._fits.get((event.choice, id)) or self._target.traits.ids.fit(id)
            new = new if fits == id else new.replace(tool_use_id=fits)
        if new is event.block:
            return [*held, event]
        if type(new) is TextBlock is not type(event.block):
            # compacted history or speech that is written as text for the target
            index, choice = event.index, event.choice
            return [
                BlockStart(index, new.replace(text=""), choice=choice),
                TextDelta(index, new.text, choice=choice),
                BlockEnd(index, new, choice=choice, frame=event.frame),
            ]
        return [*held, BlockEnd(event.index, new, choice=event.choice, frame=event.frame)]

    # -- calls ------------------------------------------------------------------------------------

    def _call(self, event: ToolUseStart) -> list[Event]:
        key = event.choice, event.index
        self._calls[key] = event
        seen = self._ids.setdefault(event.choice, {})
        times = seen[event.id] = seen.get(event.id, 0) + 1
        id = self._target.traits.ids.fit(event.id if times == 1 else f"{event.id}\n{times}")
        self._fits[event.choice, event.id] = id
        if id != event.id:
            event = event.replace(id=id)
        if event.caller is not None and self._source != self._target.name:
            event = event.replace(caller=None)
        if event.executor == "provider":
            self.held[key] = [event]
            return []
        return [event]

    def _call_end(self, event: ToolUseEnd) -> list[Event]:
        key = event.choice, event.index
        held = self.held.pop(key, [])
        start = self._calls.pop(key, None)
        if start is None:  # an end without a start: nothing to write
            return []
        block = ToolUseBlock(
            start.id,
            start.name,
            event.input,
            event.raw_arguments,
            event.signature,
            start.executor,
            start.call_type,
            raw=event.raw if event.raw is not None else start.raw,
            caller=start.caller,
        )
        self._ended[key] = block
        new: Any = self._judge(block)
        if new is None:
            return []
        if new is not block:
            event = ToolUseEnd(
                event.index,
                event.input,
                event.raw_arguments,
                new.signature,
                event.raw,
                choice=event.choice,
                frame=event.frame,
            )
        return [*held, event]


def _differing(block: Any, last: Any) -> Iterator[str]:
    """The fields of a block that differ from its end; of a list, the new items."""
    for name in block.__struct_fields__:
        now, before = getattr(block, name), getattr(last, name, None)
        if name in _ASIDE or now == before:
            continue
        if type(now) is tuple and type(before) is tuple:
            yield from [f"{name}[{i}]" for i, item in enumerate(now) if item not in before]
        else:
            yield name


def _moves(original: Response, new: Response, recorder: LossRecorder) -> dict[str, dict[int, int]]:
    """By message, the position of each written block mapped to its position in the original; only
    for messages that lost blocks."""
    names = ["message", *[f"alternatives[{number}]" for number in range(len(new.alternatives))]]
    before = (original.message, *original.alternatives)
    moves: dict[str, dict[int, int]] = {}
    for name, old, now in zip(names, before, (new.message, *new.alternatives), strict=True):
        if len(old.content) != len(now.content):
            positions = {id(block): index for index, block in enumerate(old.content)}
            moves[name] = {
                index: positions[id(recorder.original(block))]
                for index, block in enumerate(now.content)
                if id(recorder.original(block)) in positions
            }
    return moves


def _at(loss: Loss, moved: dict[str, dict[int, int]]) -> Loss:
    found = _PATH.match(loss.path)
    if found is None or found[1] not in moved:
        return loss
    index = moved[found[1]].get(int(found[3]), int(found[3]))
    path = f"$.{found[1]}.content[{index}]{loss.path[found.end() :]}"
    return replace(loss, path=path)
