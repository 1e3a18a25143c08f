"""`Converter`: converts conversations turn by turn, at the cost of what is new."""

from __future__ import annotations

from threading import Lock
from typing import Any

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.caching import Caching, require_caching
from interlingua.adapt.convert import convert
from interlingua.adapt.formats import format_named
from interlingua.adapt.remembered import (
    Conversation,
    Conversations,
    Figures,
    History,
    LoggingRecorder,
    WrittenTurns,
    encode_with,
)
from interlingua.adapt.request import adapt, write
from interlingua.adapt.target import (
    Instructions,
    ProfileChoice,
    WireTarget,
    conversion_target,
    split_model,
)
from interlingua.dialects.kernel.wire import decode_quickly
from interlingua.dialects.record import Written
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.model.exchange import Request
from interlingua.model.losses import Report

MAX_BYTES = 64 * 2**20


class Converter:
    """Converts the requests of conversations, each turn at the cost of what is new.

        converter = il.Converter("anthropic", "openai-chat", model="openai:gpt-5")
        for body in bodies:  # each with the whole history, as agents send it
            converter.convert(body).json()

    A body that begins with the messages of an earlier one, and is otherwise equal to it, is
    converted from its first new message on. The result is that of `il.convert`, which also handles
    all other bodies. The memory is limited to about `max_bytes` (0: nothing is remembered); the
    least recently used conversations are removed first. Use one converter for each user whose data
    must stay apart."""

    def __init__(
        self,
        source: str,
        target: str,
        model: str | None = None,
        *,
        max_bytes: int = MAX_BYTES,
        profile: ProfileChoice = None,
        instructions: Instructions = "place",
        caching: Caching = "pass",
    ) -> None:
        self._source, self._target = source, target
        (source, own), (target, host) = format_named(source), format_named(target)
        self._reader, self._writer = dialect_of(source), dialect_of(target)
        self._host = None if host == own else host
        self._model = model
        if self._host is None and model is not None and self._reader is self._writer:
            self._host = split_model(model)[0] if self._writer.traits.hosts else None
        self._name = None if model is None else split_model(model)[1]
        self._profile, self._instructions = profile, instructions
        self._caching = require_caching(caching)
        self._conversations = Conversations(max_bytes)
        self._lock = Lock()

    @property
    def figures(self) -> Figures:
        """Counts of hits and misses of the memory."""
        return self._conversations.figures

    def clear(self) -> None:
        """Forget all conversations."""
        with self._lock:
            self._conversations.clear()

    def convert(self, body: bytes, stream: bool | None = None) -> Written:
        """Convert the body of a request, as `il.convert` does."""
        with self._lock:
            read = self._conversations.read(body, self._reader, self._name, stream)
            written = None if read is None else self._write(read)
        return self._whole(body, stream) if written is None else written

    def _whole(self, body: bytes, stream: bool | None) -> Written:
        return convert(
            body,
            self._source,
            self._target,
            model=self._model,
            stream=stream,
            profile=self._profile,
            instructions=self._instructions,
            caching=self._caching,
        )

    def _write(self, read: Conversation) -> Written | None:
        request = read.request
        if self._name is not None and request.model != self._name:
            request = request.replace(model=self._name)
        is_home = self._reader is self._writer and self._host is None
        if is_home and self._instructions == "place" and self._caching == "pass":
            return _converted(
                write_remembered(read, request, WireTarget(self._writer), None, home=True)
            )
        profile = False if is_home and self._caching == "pass" else self._profile
        how = (self._instructions, self._host, self._caching)
        target = conversion_target(self._writer, self._model, request.model, profile, *how)
        rewrites = not is_home or target.hoist
        return _converted(
            write_remembered(read, request, target, self._reader.name, rewrites=rewrites)
        )


def write_remembered(
    read: History,
    request: Request,
    target: WireTarget,
    source: str | None,
    *,
    home: bool = False,
    rewrites: bool = True,
    owner: str | None = None,
) -> tuple[Written, bytes, WrittenTurns] | None:
    """The written form of a conversation's request, its bytes and its turns; None if it has to be
    written as a whole. The wire is read-only: later turns share its parts.

    `source` is the dialect it was read from; on its way `home` it is not changed."""
    found = adapt_remembered(
        read, request, target, source, home=home, rewrites=rewrites, owner=owner
    )
    if found is None:
        return None
    written, text = write_adapted(read, *found)
    return None if written is None or text is None else (written, text, found[1])


def adapt_remembered(
    history: History,
    request: Request,
    target: WireTarget,
    source: str | None = None,
    *,
    home: bool = False,
    rewrites: bool = True,
    owner: str | None = None,
) -> tuple[Adapted, WrittenTurns] | None:
    """The adapted request of a history, and the memory of its written form; None if the written
    form of a message may depend on later ones."""
    name, facts = target.dialect.name, history.facts_for(request)
    recorder = LoggingRecorder(name, request, Report(name, service=target.service))
    turns = recorder.memory = history.turns_for((target.dialect, target.host), recorder, facts)
    if turns is None:
        return None
    if home:
        return Adapted(request, recorder, None, target), turns
    adapted = adapt(
        request, target, source, history=rewrites, facts=facts, recorder=recorder, owner=owner
    )
    return adapted, turns


def write_adapted(
    history: History, adapted: Adapted, turns: WrittenTurns
) -> tuple[Written | None, bytes | None]:
    """What an adapted request is written as, and its bytes, where turns of it are remembered. The
    wire is only to be looked at: later turns share its parts. None for a request that has to be
    adapted again without memory, since a breakpoint found no place."""
    target = adapted.target
    assert target is not None
    written = write(adapted)
    if turns.wanted:
        return None, None
    text = encode_with(written.wire, turns)
    if text is not None:
        history.remember((target.dialect, target.host), turns)
    return written, text


class Converted(Written, frozen=True):
    """A body that was joined from bytes; its wire is parsed on first access."""

    def json(self) -> bytes:
        if _WIRE.__get__(self) is None:
            assert self.text is not None
            return self.text
        return super().json()


def _converted(found: tuple[Written, bytes, WrittenTurns] | None) -> Written | None:
    if found is None:
        return None
    written, text, _ = found
    model, stream, adapter = written.model, written.stream, written.answer_adapter
    return Converted(None, written.report, model, stream, adapter, text)


_WIRE = Written.__dict__["wire"]


def _wire(converted: Converted) -> Any:
    wire = _WIRE.__get__(converted)
    if wire is None:
        assert converted.text is not None
        wire = decode_quickly(converted.text)
        _WIRE.__set__(converted, wire)
    return wire


Converted.wire = property(_wire)  # in place of the field
