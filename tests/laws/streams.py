"""The laws of streams as functions: each gives a list of problems, empty when the law holds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from interlingua.adapt.history.retell import retell
from interlingua.adapt.stream_convert import StreamConverter
from interlingua.dialects.framing import decoder, encoder
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.base import same
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.codec import dumps
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Other,
    StreamError,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.exchange import Response
from interlingua.model.losses import Loss
from interlingua.model.message import Message
from interlingua.streams.fold import Folder, fold_all
from interlingua.streams.frames import Frame
from tests.laws.corpus import Record

_events = msgspec.json.Decoder(list[Event])


def frames_of(record: Record) -> list[Frame]:
    return [
        Frame(
            each.event,
            each.data if isinstance(each.data, str) else msgspec.json.encode(each.data).decode(),
        )
        for each in record.stream or ()
    ]


def parsed(frame: Frame) -> Any:
    try:
        return msgspec.json.decode(frame.data)
    except msgspec.DecodeError:
        return frame.data


def read(dialect: Dialect, frames: Iterable[Frame]) -> list[Event]:
    reader = dialect.stream_reader()
    events = [event for frame in frames for event in reader.feed(frame)]
    return events + reader.close()


def write(dialect: Dialect, events: Iterable[Event]) -> list[Frame]:
    writer = dialect.stream_writer()
    frames = [frame for event in events for frame in writer.feed(event)]
    return frames + writer.close()


# -- L1: home ---------------------------------------------------------------------------------


def home(dialect: Dialect, frames: Sequence[Frame]) -> list[str]:
    """The same frames, also when the events were stored on the way."""
    events = read(dialect, frames)
    stored = _events.decode(msgspec.json.encode(events))
    problems = []
    for word, reported in (("at once", events), ("stored", stored)):
        writer = dialect.stream_writer()
        back = [frame for event in reported for frame in writer.feed(event)] + writer.close()
        problems += _differences(word, frames, back)
        problems += [f"{word}: loss without conversion: {loss}" for loss in writer.report.entries]
    return problems


def _differences(word: str, frames: Sequence[Frame], back: Sequence[Frame]) -> list[str]:
    if len(frames) != len(back):
        return [f"{word}: {len(frames)} frames came back as {len(back)}"]
    for number, (one, other) in enumerate(zip(frames, back, strict=True)):
        if one.data != other.data and not same(parsed(one), parsed(other)):
            return [f"{word}: frame {number} came back as {other.data[:200]}"]
        if one.event is not None and one.event != other.event:
            return [f"{word}: the name of frame {number} came back as {other.event}"]
    return []


# -- L5: folding ------------------------------------------------------------------------------


_OUTSIDE = (StreamError, MessageComplete, Other)
_HOW_IT_ENDED = frozenset({"stream_end_missing", "stop_reason_missing"})


def told_whole(response: Response, whole: Response) -> Response:
    """A streamed answer but for how its stream ended, which `whole`, written as one, cannot say: a
    last word that was missing, or an end for which there was no reason."""
    pairs = zip(_messages(response), _messages(whole), strict=True)
    first, *others = [_ended_like(message, other) for message, other in pairs]
    return response.replace(message=first, alternatives=tuple(others))


def _ended_like(message: Message, other: Message) -> Message:
    metadata = message.metadata
    found = {each.type for each in metadata.diagnostics} & _HOW_IT_ENDED
    if not found:
        return message
    changes: dict[str, Any] = {
        "diagnostics": tuple(each for each in metadata.diagnostics if each.type not in found)
    }
    if "stop_reason_missing" in found:
        changes["stop_reason"] = other.metadata.stop_reason
        changes["raw_stop_reason"] = other.metadata.raw_stop_reason
    return message.replace(metadata=metadata.replace(**changes))


def folds(dialect: Dialect, frames: Sequence[Frame]) -> list[str]:
    """The events come in order and those of each message fold to its last event, which is what the
    same answer gives when it is written and read whole."""
    events = read(dialect, frames)
    problems = disorder(events)
    endings = [e for e in events if isinstance(e, MessageComplete | StreamError)]
    if not endings:
        return ["the stream has no end"]
    for response in fold_all(events):
        if response.error is not None:
            continue
        wire = dialect.write_response(response).wire
        again = dialect.read_response(msgspec.json.encode(wire))
        if again != told_whole(response, again):
            problems.append("written whole and read again it differs")
    folder = Folder()
    for event in events:
        if not isinstance(event, MessageComplete):
            folder.feed(event)
            continue
        collected, whole = folder.response(), event.response
        messages = zip(_messages(collected), _messages(whole), strict=False)
        if any(one.content != other.content for one, other in messages):
            problems.append("its events tell other blocks than its end")
        folder = Folder()
    return problems


def disorder(events: Sequence[Event]) -> list[str]:
    """Where events break the law of their order, in a stream of one message after the other."""
    problems: list[str] = []
    begun: set[int] = set()
    opened: set[tuple[int, int]] = set()
    seen: set[tuple[int, int]] = set()
    for event in events:
        name = type(event).__name__
        if isinstance(event, MessageStart):
            if event.choice in begun:
                problems.append("a message inside another")
            begun.add(event.choice)
        elif event.choice not in begun and not isinstance(event, _OUTSIDE):
            problems.append(f"{name} outside a message")
        place = (event.choice, getattr(event, "index", -1))
        if isinstance(event, BlockStart | ToolUseStart):
            if place in seen:
                problems.append("an index twice")
            opened.add(place)
            seen.add(place)
        elif hasattr(event, "index") and place not in opened:
            problems.append(f"{name} outside a block")
        if isinstance(event, BlockEnd | ToolUseEnd):
            opened.discard(place)
        if isinstance(event, MessageComplete) and (opened or not begun):
            problems.append("a block that nothing closed" if opened else "an end of nothing")
        if isinstance(event, MessageComplete | StreamError):
            begun, opened, seen = set(), set(), set()
    return problems


def _messages(response: Response) -> tuple[Message, ...]:
    return (response.message, *response.alternatives)


# -- the square -------------------------------------------------------------------------------


def square(source: str, target: str, frames: Sequence[Frame]) -> list[str]:
    """To translate the stream and fold is to fold and translate: answers and losses alike. Where a
    target's streams have no place for what its whole answers say, that is told too."""
    reader, writer = dialect_of(source), dialect_of(target)
    converter = StreamConverter(source, target)
    encode = encoder(source)
    data = b"".join([converter.feed(encode(frame)) for frame in frames]) + converter.close()
    pieces = decoder(target)
    streamed = fold_all(read(writer, [*pieces.feed(data), *pieces.close()]))
    whole: list[Response] = []
    lost: list[Loss] = []
    failed = False
    for response in fold_all(read(reader, frames)):
        failed = failed or response.error is not None
        retold = retell(response, writer, source=source)
        written = writer.write_response(retold.value, retold.recorder)
        lost += list(written.report.entries)
        whole.append(writer.read_response(written.json()))
    reported = list(converter.report.entries)
    if len(whole) > 1 and len(streamed) < len(whole):
        return _joined(streamed, whole, reported)
    problems = [] if failed else _unlike_losses(reported, lost)
    extra = Counter(_key(loss) for loss in reported) - Counter(_key(loss) for loss in lost)
    for one, other in zip(streamed, whole, strict=True):
        problems += unlike(one, other, extra, in_order=target != "ollama")
    return problems


def _key(loss: Loss) -> tuple[str, str]:
    return loss.kind, loss.path


def _unlike_losses(told: list[Loss], lost: list[Loss]) -> list[str]:
    """Every loss of the whole answer is one of the stream; what it tells beyond them is a block, a
    field of one, or a reason to stop, that only the stream has no place for."""
    problems = []
    told = [loss for loss in told if loss.code != "progress_unsupported"]  # streams alone have it
    missing = Counter(map(_key, lost)) - Counter(map(_key, told))
    if missing:
        problems.append(f"untold: {sorted(missing)[:3]}")
    for kind, path in Counter(map(_key, told)) - Counter(map(_key, lost)):
        if (kind, path) == ("moved", "$"):
            continue  # several messages, which each whole answer has one of
        if not _BLOCK.fullmatch(path) and not _FIELD.match(path) and path != _REASON:
            problems.append(f"told in vain: {kind} {path}")
    return problems


_BLOCK = re.compile(r"\$\.(message|alternatives\[\d+\])\.content\[\d+\]")
_FIELD = re.compile(r"\$\.(message|alternatives\[\d+\])\.content\[\d+\]\.(\w+)")
_REASON = "$.message.metadata.stop_reason"
_KIND = "$.error.kind"


def _joined(streamed: list[Response], whole: list[Response], told: list[Loss]) -> list[str]:
    """Several messages for a wire that has one: joined, or else it is told."""
    if any(loss.path == "$" for loss in told):
        return []
    text = "".join([response.message.text for response in streamed])
    wanted = "".join([response.message.text for response in whole])
    return [] if text == wanted else [f"{len(whole)} messages became {len(streamed)}, untold"]


def unlike(
    streamed: Response, whole: Response, extra: Counter[tuple[str, str]], in_order: bool = True
) -> list[str]:
    """Where two answers differ, but for the `extra` losses of the stream."""
    one, other = streamed.message, whole.message
    if streamed.error is not None or whole.error is not None:
        kinds = [each.error.kind if each.error else None for each in (streamed, whole)]
        near = None not in kinds and ("approximated", _KIND) in extra
        return [] if near or kinds[0] is kinds[1] else [f"error: {kinds[0]} and {kinds[1]}"]
    problems = []
    blocks = [[_said(block) for block in message.content] for message in (one, other)]
    if not in_order:
        blocks = [_as_one(each) for each in blocks]
    dropped = sum(_BLOCK.fullmatch(path) is not None for _, path in extra)
    fields = {found[2] for _, path in extra if (found := _FIELD.match(path))}
    if fields and len(blocks[0]) == len(blocks[1]):
        pairs = list(zip(*blocks, strict=True))
        vain = [name for name in fields if not any(_lacks(*pair, name) for pair in pairs)]
        problems += [f"told in vain: {name}" for name in vain]
        blocks[1] = [_without(*pair, fields) for pair in pairs]
    if blocks[0] != blocks[1] and not _is_part(blocks[0], blocks[1], dropped):
        shown = [[type(b).__name__ for b in each] for each in blocks]
        differing = [pair for pair in zip(*blocks, strict=False) if pair[0] != pair[1]]
        problems.append(f"blocks: {shown[0]} and {shown[1]}: {str(differing[:1])[:300]}")
    for name in ("usage", "stop_reason", "response_model", "response_id"):
        a, b = getattr(one.metadata, name), getattr(other.metadata, name)
        if a != b and not (name == "stop_reason" and ("approximated", _REASON) in extra):
            problems.append(f"{name}: {a} and {b}")
    if len(streamed.alternatives) != len(whole.alternatives):
        problems.append("another number of answers")
    return problems


def _as_one(blocks: list[Block]) -> list[Block]:
    """The thinking in one, the text in one: all that a whole answer of Ollama has of each. In its
    stream they may come by turns, and are kept apart."""
    thoughts = "\n".join([block.text for block in blocks if type(block) is ThinkingBlock])
    texts = "".join([block.text for block in blocks if type(block) is TextBlock])
    others = [block for block in blocks if type(block) not in (ThinkingBlock, TextBlock)]
    return [ThinkingBlock(thoughts), TextBlock(texts), *sorted(others, key=dumps)]


def _lacks(one: Block, other: Block, name: str) -> bool:
    """Whether the block of the stream lacks what the other one has there."""
    return not getattr(one, name, None) and bool(getattr(other, name, None))


def _without(one: Block, other: Block, fields: set[str]) -> Block:
    """The block of the whole answer without those of these fields that the stream's lacks."""
    lost = {name for name in fields if _lacks(one, other, name)}
    return other.replace(**{name: getattr(one, name) for name in lost})


def _is_part(some: list[Block], every: list[Block], missing: int) -> bool:
    """Whether `some` are `every` one but for so many."""
    rest = iter(every)
    return len(every) - len(some) <= missing and not [block for block in some if block not in rest]


def _said(block: Block) -> Block:
    """Pieces hand on arguments as the model wrote them; a whole answer is written anew."""
    return block.replace(raw_arguments=None) if isinstance(block, ToolUseBlock) else block
