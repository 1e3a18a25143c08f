"""The laws of streams as functions: each gives a list of problems, empty when the law holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from interlingua.dialects.base import Dialect
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.base import same
from interlingua.model.blocks import Block, ToolUseBlock
from interlingua.model.events import Event, MessageComplete, StreamError
from interlingua.model.exchange import Response
from interlingua.retell import retell
from interlingua.streams.convert import StreamConverter
from interlingua.streams.fold import fold_all
from interlingua.streams.frames import Frame
from interlingua.streams.framing import decoder, encoder
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
    return [
        problem
        for word, told in (("at once", events), ("stored", stored))
        for problem in _differences(word, frames, write(dialect, told))
    ]


def _differences(word: str, frames: Sequence[Frame], back: Sequence[Frame]) -> list[str]:
    if len(frames) != len(back):
        return [f"{word}: {len(frames)} frames came back as {len(back)}"]
    for number, (one, other) in enumerate(zip(frames, back, strict=True)):
        if not same(parsed(one), parsed(other)):
            return [f"{word}: frame {number} came back as {other.data[:200]}"]
        if one.event is not None and one.event != other.event:
            return [f"{word}: the name of frame {number} came back as {other.event}"]
    return []


# -- L5: folding ------------------------------------------------------------------------------


def folds(dialect: Dialect, frames: Sequence[Frame]) -> list[str]:
    """The events of each message fold to its last event, which is what the same answer gives when
    it is written and read whole."""
    events = read(dialect, frames)
    problems = []
    endings = [e for e in events if isinstance(e, MessageComplete | StreamError)]
    if not endings:
        return ["the stream has no end"]
    for response in fold_all(events):
        if response.error is not None:
            continue
        wire = dialect.write_response(response).wire
        again = dialect.read_response(msgspec.json.encode(wire))
        if again != response:
            problems.append("written whole and read again it differs")
    told = fold_all([event for event in events if not isinstance(event, MessageComplete)])
    for ending, response in zip(endings, told, strict=False):
        if isinstance(ending, MessageComplete):
            whole = ending.response
            for one, other in zip(
                (whole.message, *whole.alternatives),
                (response.message, *response.alternatives),
                strict=False,
            ):
                if one.content != other.content:
                    problems.append("its events tell other blocks than its end")
    return problems


# -- the square -------------------------------------------------------------------------------


def square(source: str, target: str, frames: Sequence[Frame]) -> list[str]:
    """To translate the stream and fold is to fold and translate: answers and losses alike."""
    reader, writer = dialect_of(source), dialect_of(target)
    converter = StreamConverter(source, target)
    encode = encoder(source)
    data = b"".join([converter.feed(encode(frame)) for frame in frames]) + converter.close()
    pieces = decoder(target)
    folded = fold_all(read(writer, [*pieces.feed(data), *pieces.close()]))
    whole: list[Response] = []
    failed = False
    losses: Counter[tuple[str, str]] = Counter()
    for response in fold_all(read(reader, frames)):
        failed = failed or response.error is not None
        told = retell(response, writer, source=source)
        written = writer.write_response(told.value, told.scribe)
        losses.update((loss.kind, loss.path) for loss in written.report)
        whole.append(writer.read_response(written.json()))
    problems = [
        problem for one, other in zip(folded, whole, strict=False) for problem in unlike(one, other)
    ]
    if len(folded) != len(whole):
        problems.append(f"{len(whole)} messages became {len(folded)}")
    told_losses = Counter((loss.kind, loss.path) for loss in converter.report)
    if told_losses - losses:
        problems.append(f"told in vain: {sorted(told_losses - losses)[:3]}")
    # The body of an error holds nothing else; a stream has said the rest before it.
    if losses - told_losses and not failed:
        problems.append(f"untold: {sorted(losses - told_losses)[:3]}")
    return problems


def unlike(streamed: Response, whole: Response) -> list[str]:
    """Where two answers differ."""
    one, other = streamed.message, whole.message
    problems = []
    if (streamed.error is None) != (whole.error is None):
        return [f"error: {streamed.error} and {whole.error}"]
    if streamed.error is not None and whole.error is not None:
        if streamed.error.kind is not whole.error.kind:
            problems.append(f"error: {streamed.error} and {whole.error}")
        return problems
    if len(one.content) != len(other.content):
        kinds = [[type(b).__name__ for b in m.content] for m in (one, other)]
        problems.append(f"blocks: {kinds[0]} and {kinds[1]}")
    for a, b in zip(map(_said, one.content), map(_said, other.content), strict=False):
        if a != b:
            problems.append(f"{str(a)[:300]} and {str(b)[:300]}")
    for name in ("usage", "stop_reason", "response_model", "response_id"):
        if getattr(one.metadata, name) != getattr(other.metadata, name):
            a, b = getattr(one.metadata, name), getattr(other.metadata, name)
            problems.append(f"{name}: {a} and {b}")
    if len(streamed.alternatives) != len(whole.alternatives):
        problems.append("another number of answers")
    return problems


def _said(block: Block) -> Block:
    """Pieces hand on arguments as the model wrote them; a whole answer is written anew."""
    return block.replace(raw_arguments=None) if isinstance(block, ToolUseBlock) else block
