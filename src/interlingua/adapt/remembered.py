"""Conversations that were read and written before: the next turn costs what is new.

A body whose first messages, and whose other members, are byte-equal to those of an earlier body has
the same values for them: these are taken from memory, and only the messages behind them are read.
What was written for a message is used again where the message, and all before it, are the very
values that were written before. Adapting happens between the two, and is always done whole."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from operator import is_
from typing import Any, NamedTuple

import msgspec

from interlingua.adapt.facts import CHANGES, REPEATED_IDS, Facts, facts_of
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.recorder import LossRecorder, MessageWriter
from interlingua.dialects.kernel.turns import WITHIN
from interlingua.dialects.kernel.wire import Wire, encode_quickly
from interlingua.dialects.record import BreakpointIn, Dialect, ReadMore
from interlingua.errors import InterlinguaError
from interlingua.model.exchange import Request
from interlingua.model.message import Message
from interlingua.model.spelled_numbers import decode_usual
from interlingua.profiles.estimate.estimator import Estimator

_BLANKS = b" \t\n\r"
_COMMA = ord(",")
_WEIGHT = 6
"""Bytes of memory that a conversation takes for each byte of its body: the body, its values, and
the body that was written."""
_MOST_TARGETS = 4
_UNREADABLE = (msgspec.MsgspecError, InterlinguaError, ShapeError, ValueError, RecursionError)
_PLAIN = ["type", "tool_use_id", "content"]
"""The keys of a result without any others."""
_raw_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


# -- writing --------------------------------------------------------------------------------------


class LoggingRecorder(LossRecorder):
    """A recorder that also logs its calls, to replay them."""

    log: list[tuple[Any, ...]] | None = None
    """The logged calls: the method, its arguments, and the path of the reported value."""
    _path: tuple[str, Message | None] | None = None
    _is_replay: bool = False

    def lost(self, *args: Any, **named: Any) -> None:
        self._do(LossRecorder.lost, args, named)

    def dropped(self, *args: Any, **named: Any) -> None:
        self._do(LossRecorder.dropped, args, named)

    def alias(self, *args: Any) -> None:
        self._do(LossRecorder.alias, args, {})

    def mark_synthetic(self, value: Any) -> Any:
        self._do(LossRecorder.mark_synthetic, (value,), {})
        return value

    def _do(self, call: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._path = None
        call(self, *args, **named)
        if self.log is not None:
            self.log.append((call, args, named, self._path))

    def replay(self, log: list[tuple[Any, ...]], in_place: bool) -> None:
        """Repeats logged calls of the previous request. Their paths are reused if all values are
        where they were then (`in_place`), and found again otherwise."""
        self._is_replay = in_place
        for call, args, named, path in log:
            self._path = path
            call(self, *args, **named)
        self._is_replay = False

    def _next_path(self, value: Any, field: str | None = None) -> tuple[str, Message | None]:
        if self._is_replay and self._path is not None:
            self._count(self.original(value), field)
        else:
            self._path = LossRecorder._next_path(self, value, field)
        return self._path


class Mark(NamedTuple):
    """The state of the writer before a message."""

    turns: int
    role: str | None
    logged: int


class WrittenTurns:
    """The turns that were written for the messages of a conversation. Breakpoints for the prompt
    cache move on with every turn: they are put into the bytes, and the remembered bytes have
    none."""

    is_next = False
    """Whether the request is the previous one plus a call and its result; `wanted` then has the
    breakpoints before them and at the end."""
    recipient: Any = None
    """The recipient that `rewrites` are for: messages of the model, their rewritten forms, and the
    calls of the recorder for each."""

    def __init__(
        self,
        recorder: LoggingRecorder,
        before: WrittenTurns | None = None,
        breakpoint_in: BreakpointIn | None = None,
    ) -> None:
        self.messages: tuple[Message, ...] = ()
        self.marks: list[Mark] = []
        self.turns: list[Any] = []
        self.log: list[tuple[Any, ...]] = []
        self.text, self.start = b"", 0
        """The body, and where its first turn begins; `ends` of turns and `splices` (breakpoints)
        are counted from there, without breakpoints."""
        self.ends: list[int] = []
        self.splices: dict[int, bytes] = {}
        self.marked: dict[int, Any] = {} if before is None else before.marked
        self.known: Any = None if before is None else before.known
        self.last: Any = None if before is None else before.last
        """The marks of the previous request, and its last breakpoint."""
        self.readable: tuple[Any, list[Any]] = (None, []) if before is None else before.readable
        """A recipient, and thinking that it can read."""
        self.wanted: list[tuple[int, Message, bytes, Any]] = []
        """Breakpoints without a place yet: each with the index of its message in the request, and
        the bytes that it adds to the turn's JSON."""
        self.length = self.reused = 0
        """The number of messages with breakpoints, and of turns reused from the last request."""
        self.outside = b""  # the body with an empty list in place of the turns
        self.digests: list[Any] = []
        """Digests of the first turns, by the code that compares bodies."""
        self._betas: list[tuple[int, list[str]]] = []
        """Turns that need features named by a header."""
        self._fresh, self._lacks = b"", False
        """The part that no earlier body had, and whether a search of all others found nothing."""
        self._breakpoints: dict[int, bytes] = {}
        """Turns with a breakpoint, and the bytes that it adds."""
        self.breakpoint_in = breakpoint_in
        self._recorder, self._before = recorder, before
        self.origin = recorder.origin.messages  # type: ignore[union-attr]  # it is a request
        self.rewrites: list[tuple[Message, Message, list[Any]]] = []

    @cached_property
    def _in_place(self) -> Callable[[Any], bool]:
        """Whether a message has the same index as in the previous request, by its identity."""
        before, origin = self._before, self.origin
        same = 0 if before is None else same_first(before.origin, origin)
        if before is not None and same == len(before.origin):
            return lambda _: True
        places = frozenset(map(id, origin[:same]))
        return lambda message: id(message) in places

    def rewritten(
        self, message: Message, rewrite: Callable[[Message], Message], recipient: Any
    ) -> Message:
        """The next message of the model, rewritten for a recipient. It is the same object as in the
        previous request if both begin with the same messages."""
        recorder, before, self.recipient = self._recorder, self._before, recipient
        number = len(self.rewrites)
        if before is not None and number < len(before.rewrites):
            known = before.rewrites[number]
            is_same = known[0] is message and before.recipient == recipient
            if is_same and self._in_place(message):
                recorder.replay(known[2], True)
                self.rewrites.append(known)
                return known[1]
        log: list[Any] = []
        recorder.log = log
        new = rewrite(message)
        recorder.log = None
        self.rewrites.append((message, new, log))
        return new

    def write(self, messages: tuple[Message, ...], turns: list[Any], writer: MessageWriter) -> None:
        """Writes the new messages, after the turns of those that were written before."""
        self.messages, self.turns = messages, turns
        recorder = self._recorder
        del self._recorder  # it has this memory, and the two are to be no circle
        start = self._resume(turns, writer, recorder)
        recorder.log = self.log
        for message in messages[start:] if start else messages:
            self.marks.append(Mark(len(turns), writer.role, len(self.log)))
            writer.add(message)
        recorder.log = None
        if self.wanted:
            self._place_breakpoints()

    def _place_breakpoints(self) -> None:
        """Finds the turns that get breakpoints, at the end of their last parts."""
        marks, count, wanted = self.marks, len(self.turns), self.wanted
        if self.is_next:
            end = marks[-2].turns
            if end < marks[-1].turns and [*self.turns[-1]["content"][-1]] == _PLAIN:
                self._breakpoints = {end - 1: wanted[0][2], count - 1: wanted[1][2]}
                self.wanted = []
            return
        last, self.wanted = self.length - 1, []
        for each in wanted:
            behind = each[0] - last  # from the end, as a negative index
            end = marks[behind].turns if behind else count
            if behind and end == (marks[behind + 1].turns if behind < -1 else count):
                self.wanted.append(each)  # the next message did not begin a turn
            else:
                self._breakpoints[end - 1] = each[2]

    def _turns_behind(self, index: int) -> int:
        """The number of turns before a message was written."""
        marks = self.marks
        return marks[index + 1].turns if index + 1 < len(marks) else len(self.turns)

    def _resume(self, turns: list[Any], writer: MessageWriter, recorder: LoggingRecorder) -> int:
        """The first message to write. It begins a turn, as it did before: so nothing is added to
        the turns in front of it, which stay as they are."""
        before = self._before
        start = 0 if before is None else before.latest_start(self.messages)
        if before is None or not start:
            return 0
        mark = before.marks[start]
        self.marks, self.log = before.marks[:start], before.log[: mark.logged]
        if self.log:
            originals = map(recorder.original, self.messages[:start])
            recorder.replay(self.log, all(map(self._in_place, originals)))
        turns.extend(before.turns[: mark.turns])
        writer.role, self.reused = mark.role, mark.turns
        writer.skip(self.messages[:start])
        return start

    def latest_start(self, messages: tuple[Message, ...]) -> int:
        """The last of the unchanged messages that began a turn; 0 if no message did."""
        for index in range(same_first(messages, self.messages) - 1, 0, -1):
            if self._turns_behind(index) > self.marks[index].turns:
                return index
        return 0

    def encode(self, head: bytes, tail: bytes) -> bytes:
        """Encodes all turns as JSON between these; turns that were encoded before are copied."""
        before, reused, breakpoints = self._before, self.reused, self._breakpoints
        size, pieces, self._lacks = 0, [], True
        if before is not None and reused:
            size, self.ends = before.ends[reused - 1], before.ends[:reused]
            if before.digests:
                same = min([reused, *before._breakpoints, *breakpoints])
                self.digests = before.digests[:same]
            if before._betas:
                self._betas = [each for each in before._betas if each[0] < reused]
            self._lacks = before._lacks and not before._fresh
        ends, splices = self.ends, self.splices
        if breakpoints and min(breakpoints) < reused:
            splices |= {ends[n] - 3: text for n, text in breakpoints.items() if n < reused}
        first: list[Any] = [] if before is None or not reused else before.bytes_of(reused, splices)
        kept = [*splices.values()]
        for number in range(reused, len(self.turns)):
            text = encode_quickly(self.turns[number])
            if number:
                pieces.append(b",")
                size += 1
            size += len(text)
            ends.append(size)
            if number in breakpoints:
                splices[size - 3] = added = breakpoints[number]
                pieces += (text[:-3], added)
                text = b"}]}"
            pieces.append(text)
        self.start, self.text = len(head), b"".join([head, *first, *pieces, tail])
        self._fresh = b"".join([head, *pieces, *kept, tail]) if first else self.text
        self._before = None  # so that no chain of earlier ones stays alive
        return self.text

    def lacks(self, has: Callable[[bytes], bool]) -> bool:
        """Whether the body has nothing that `has` finds, which must always find the same. Only
        the new part is searched; it begins and ends between two turns."""
        self._lacks, self._fresh = self._lacks and not has(self._fresh), b""
        return self._lacks

    def bytes_of(self, count: int, splices: dict[int, bytes]) -> list[Any]:
        """The bytes of so many turns, in pieces, with other breakpoints."""
        view, end = memoryview(self.text), self.ends[count - 1]
        at = shift = self.start
        pieces: list[Any] = []
        changes = [*self.splices.items()]
        if splices:  # else all of these are left out
            changes = [(at, self.splices.get(at, b"")) for at in sorted({*self.splices, *splices})]
        for place, gone in changes:
            if place >= end:
                break
            added = splices.get(place, b"")
            if gone != added:
                pieces += (view[at : shift + place], added)
                at = shift + place + len(gone)
            shift += len(gone)
        pieces.append(view[at : shift + end])
        return pieces

    def places(self) -> list[int]:
        """The position in the body at which each turn ends."""
        places = [self.start + end for end in self.ends]
        for place, text in self.splices.items():
            for number in range(bisect_right(self.ends, place), len(places)):
                places[number] += len(text)
        return places

    def betas(self, wire: Wire, find: Callable[[Wire], list[str]]) -> list[str]:
        """The betas that `find` finds in a wire; only new turns are searched."""
        key = next(key for key, value in wire.items() if value is self.turns)
        found = find({name: value for name, value in wire.items() if name != key})
        for number in range(self.reused, len(self.turns)):
            if betas := find({key: self.turns[number : number + 1]}):
                self._betas.append((number, betas))
        found += [beta for _, betas in self._betas for beta in betas]
        return list(dict.fromkeys(found))


def encode_with(wire: Wire, turns: WrittenTurns) -> bytes | None:
    """A body as JSON, with the turns in their place; None where they are not there as written."""
    for key, value in wire.items():
        if value is turns.turns:
            try:
                return _joined(wire, key, turns)
            except (UnicodeEncodeError, RecursionError, TypeError, OverflowError):
                return None  # the whole conversion raises with the reason
    return None


def _joined(wire: Wire, key: str, turns: WrittenTurns) -> bytes:
    """The body from its members before the turns, the turns, and the members behind them."""
    names = list(wire)
    place = names.index(key)
    head = encode_quickly({name: wire[name] for name in names[:place]})[:-1]
    tail = encode_quickly({name: wire[name] for name in names[place + 1 :]})
    head += b'%b"%b":[' % (b"," if place else b"", key.encode())
    tail = b"]," + tail[1:] if len(tail) > 2 else b"]}"
    turns.outside = head + tail
    return turns.encode(head, tail)


def same_first(some: tuple[Any, ...], others: tuple[Any, ...]) -> int:
    """The number of leading values that are the same objects in both."""
    if all(map(is_, some, others)):
        return min(len(some), len(others))
    return next(n for n, (a, b) in enumerate(zip(some, others, strict=False)) if a is not b)


class History:
    """Facts about the messages of a request, for the next one that begins with them."""

    def __init__(self, messages: tuple[Message, ...] = ()) -> None:
        self.messages = messages
        self.facts: Facts | None = None
        self.written: OrderedDict[Any, WrittenTurns] = OrderedDict()
        self._estimators: OrderedDict[str, Estimator] = OrderedDict()

    def estimate(self, request: Request, model: str) -> int:
        """`estimate_input_tokens` for a request with these messages or others."""
        found = self._estimators.get(model)
        if found is None:
            found = self._estimators[model] = Estimator(model)
            while len(self._estimators) > _MOST_TARGETS:
                self._estimators.popitem(last=False)
        return found.tokens(request.messages, request.tools, request.options)

    def grow(self, messages: tuple[Message, ...]) -> None:
        """The next request has these messages."""
        known = len(self.messages)
        if self.facts is not None and same_first(messages, self.messages) == known:
            self.facts.extend(messages[known:])
        else:
            self.facts = None
        self.messages = messages

    def facts_for(self, request: Request) -> Facts:
        """The facts of the request; they are the caller's own."""
        if request.messages is not self.messages:
            return facts_of(request)
        if self.facts is None:
            self.facts = facts_of(request)
        facts = self.facts.copy()
        if facts.calls is not None and self.facts.calls is not None:
            facts.calls.legal = self.facts.calls.legal  # for later requests too
        return facts.asking(request)

    def turns_for(self, to: Any, recorder: LoggingRecorder, facts: Facts) -> WrittenTurns | None:
        """The memory of the written form for a target; None if the written form of a message may
        depend on later ones."""
        if facts.content & (REPEATED_IDS | CHANGES):
            return None
        return WrittenTurns(recorder, self.written.get(to), to[0].breakpoint_in)

    def remember(self, to: Any, turns: WrittenTurns) -> None:
        """Stores the written form for a target, for the next turn."""
        self.written[to] = turns
        self.written.move_to_end(to)
        while len(self.written) > _MOST_TARGETS:
            self.written.popitem(last=False)


# -- reading --------------------------------------------------------------------------------------


class Conversation(History):
    """One conversation as it was read last."""

    def __init__(self, stem: bytes, start: int, rest: bytes, empty: Request) -> None:
        super().__init__(empty.messages)
        self.stem = stem
        """The body up to the end of its last message; `rest` is the remainder."""
        self.start = start
        """The position at which the first message begins."""
        self.rest = rest
        self.head = stem[:start]
        self.empty = empty
        """The request without the messages of its list."""
        self.ends: list[int] = []
        """For each wire message: where it ends, how many messages precede its end, and the state
        that the reader needs for the next one."""
        self.counts: list[int] = []
        self.states: list[Any] = []
        self.digests: list[Any] = []
        """As in `WrittenTurns`, for the wire messages."""
        self.recalled: Any = None
        """Data that the gateway's memory restored in the messages."""
        self.checked = self.accepted = 0
        """How many wire messages, with the rest of the body, are known to have no duplicate keys;
        and how many messages are known to be convertible."""

    @property
    def size(self) -> int:
        return _WEIGHT * (len(self.stem) + len(self.rest))

    def same_messages(self, body: bytes) -> int:
        """The number of leading messages of a body that are byte-equal to these."""
        if not body.startswith(self.head) or not body.endswith(self.rest):
            return 0
        if body.startswith(self.stem):
            return len(self.ends)
        start = self.start
        for index, end in enumerate(self.ends):
            if not body.startswith(self.stem[start:end], start):
                return index
            start = end
        return len(self.ends)

    def grown(self, body: bytes, same: int, read_more: ReadMore) -> Conversation | None:
        """The conversation of a body that begins with so many of these messages; None where it is
        not sure where the others begin."""
        while self.states[same - 1] is WITHIN:
            same -= 1
            if not same:
                return None
        start, stop = self.ends[same - 1], len(body) - len(self.rest)
        if stop < start:
            return None
        listed = body[start:stop].strip(_BLANKS)
        if listed and listed[0] != _COMMA:
            return None
        pieces = [bytes(raw) for raw in _raw_list(b"[" + listed[1:] + b"]")]
        if listed and not pieces:
            return None  # a comma that nothing follows
        new = Conversation(body[:stop], self.start, self.rest, self.empty)
        new.ends, new.counts, new.states = self.ends[:same], self.counts[:same], self.states[:same]
        new.messages = self.messages[: self.counts[same - 1]]
        new.digests, new.recalled = self.digests[:same], self.recalled
        new.checked, new.accepted = min(self.checked, same), min(self.accepted, len(new.messages))
        new.read(pieces, [decode_usual(piece) for piece in pieces], read_more)
        if same == len(self.ends) and self.facts is not None:
            new.facts = self.facts.copy()
            new.facts.extend(new.messages[len(self.messages) :])
        new.written, new._estimators = self.written, self._estimators
        return new

    def unchecked(self, body: bytes) -> bytes:
        """The part of its body that was not searched for duplicate keys."""
        if not self.checked:
            return body
        start = self.ends[self.checked - 1]
        return b"[" + body[start : len(body) - len(self.rest)].strip(_BLANKS)[1:] + b"]"

    def read(self, pieces: list[bytes], items: list[Any], read_more: ReadMore) -> None:
        """Reads further messages of the body, whose bytes are `pieces` of it."""
        messages = list(self.messages)
        end = self.ends[-1] if self.ends else self.start
        state = self.states[-1] if self.states else None
        for piece, behind in zip(pieces, read_more(items, messages, state), strict=True):
            end = self.stem.index(piece, end) + len(piece)
            self.ends.append(end)
            self.counts.append(len(messages))
            self.states.append(behind)
        self.messages = tuple(messages)

    @property
    def request(self) -> Request:
        return self.empty.replace(messages=self.messages)


def first_read(
    body: bytes, dialect: Dialect, model: str | None, stream: bool | None
) -> Conversation | None:
    """A conversation that is read for the first time; None for a body that cannot be taken apart.

    Its messages are found by their bytes. That they are the members of the list is checked: the
    body without these bytes has to be the same but for an empty list."""
    read_more, key = dialect.read_more, dialect.traits.messages
    if read_more is None:
        return None
    whole = decode_usual(body)
    items = whole.get(key) if type(whole) is dict else None
    if type(items) is not list or not items:
        return None
    pieces = [bytes(raw) for raw in _raw_messages(key)(body).items]
    start = body.find(pieces[0])
    end = start
    for piece in pieces:
        end = body.index(piece, end) + len(piece)
    rest = body[end:]
    without = decode_usual(body[:start] + rest)
    if without != {**whole, key: []}:
        return None
    conversation = Conversation(
        body[:end], start, rest, dialect.read_without(without, model, stream)
    )
    conversation.read(pieces, items, read_more)
    return conversation


_RAW_MESSAGES: dict[str, Any] = {}


def _raw_messages(key: str) -> Any:
    if key not in _RAW_MESSAGES:
        listed = ("items", list[msgspec.Raw], msgspec.field(name=key))
        envelope = msgspec.defstruct("Envelope", [listed])
        _RAW_MESSAGES[key] = msgspec.json.Decoder(envelope).decode
    return _RAW_MESSAGES[key]


class Figures(msgspec.Struct):
    """Counters of a memory of conversations."""

    hits: int = 0
    misses: int = 0
    evictions: int = 0


class Conversations:
    """Conversations of one process, bounded by bytes; the least recently used ones are removed
    first. An `owner` never gets data of another."""

    def __init__(self, max_bytes: int, least: int = 4096) -> None:
        self.max_bytes, self.least = max_bytes, least
        self.size = 0
        self.figures = Figures()
        self._held: OrderedDict[int, tuple[Any, Conversation]] = OrderedDict()
        self._next = 0

    def __len__(self) -> int:
        return len(self._held)

    def read(
        self,
        body: bytes,
        dialect: Dialect,
        model: str | None = None,
        stream: bool | None = None,
        owner: str | None = None,
    ) -> Conversation | None:
        """The conversation of a body; None where it has to be read in the usual way."""
        if dialect.read_more is None or not self.least <= len(body) <= self.max_bytes // _WEIGHT:
            return None
        context = (owner, dialect, model, stream)
        number, same = self._nearest(context, body)
        try:
            if same:
                before = self._held[number][1]
                found = before.grown(body, same, dialect.read_more)
                if found is not None:
                    self.figures.hits += 1
                    if 2 * same >= len(before.ends):
                        self._forget(number)
                    return self._hold(context, found)
            self.figures.misses += 1
            found = first_read(body, dialect, model, stream)
        except _UNREADABLE:
            return None  # the usual road raises with the reason
        return None if found is None else self._hold(context, found)

    def _nearest(self, context: Any, body: bytes) -> tuple[int, int]:
        """The conversation with most messages in common, and how many these are."""
        best = (0, 0)
        for number in reversed(self._held):
            known, conversation = self._held[number]
            if known == context and len(conversation.ends) > best[1]:
                same = conversation.same_messages(body)
                if same > best[1]:
                    best = (number, same)
        return best

    def _hold(self, context: Any, conversation: Conversation) -> Conversation:
        self._next += 1
        self._held[self._next] = (context, conversation)
        self.size += conversation.size
        self._make_room()
        return conversation

    def _make_room(self) -> None:
        while self.size > self.max_bytes:
            self._forget(next(iter(self._held)))
            self.figures.evictions += 1

    def _forget(self, number: int) -> None:
        self.size -= self._held.pop(number)[1].size

    def limit(self, max_bytes: int) -> None:
        """Remember so many bytes from now on."""
        self.max_bytes = max_bytes
        self._make_room()

    def forget(self, owner: str | None) -> None:
        """Removes the data of one owner."""
        for number in [number for number, held in self._held.items() if held[0][0] == owner]:
            self._forget(number)

    def clear(self) -> None:
        self._held.clear()
        self.size = 0
