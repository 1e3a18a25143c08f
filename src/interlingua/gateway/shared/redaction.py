"""Redaction on the way to a provider: secrets and personal data of a request are replaced by
placeholders, and restored in the answer on request. The originals are in memory for the time of one
request only; nothing of them is stored.

Thinking keeps its placeholders, since its issuer signs it and wants it back as it was."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua.adapt.fit.answers import AnswerAdapter
from interlingua.client.answer import Call
from interlingua.client.attempt import Asker
from interlingua.client.retry import Clock
from interlingua.client.targets import Prepared, Target
from interlingua.dialects.record import StreamReader
from interlingua.gateway.settings import Redaction
from interlingua.gateway.shared.state import Refusal
from interlingua.model.base import Value
from interlingua.model.blocks import Block, RefusalBlock, TextBlock, ToolUseBlock
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    StreamError,
    TextDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
)
from interlingua.model.exchange import ErrorKind, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.reasons import because
from interlingua.streams.frames import Frame
from interlingua.transcripts.redaction.redactor import Redactor, Span, moved

if TYPE_CHECKING:
    from interlingua.gateway.gateway import Gateway
    from interlingua.gateway.shared.state import Principal


def redaction_of(gateway: Gateway, principal: Principal) -> Redaction:
    """The redaction of a principal's requests."""
    return principal.redaction or gateway.settings.redaction


def refuse_unredacted(gateway: Gateway, principal: Principal, what: str) -> None:
    """`Refusal` for bodies that are passed on unchanged, if requests have to be redacted."""
    if redaction_of(gateway, principal) != "off":
        text = f"{what} cannot be redacted, which this gateway does to all requests of this key"
        raise Refusal(403, ErrorKind.INVALID_REQUEST, text, "redaction_unsupported")


class RedactedRequest(NamedTuple):
    """A request without secrets, and the originals of its placeholders."""

    value: Any
    secrets: dict[str, str]

    def prepared(self, prepared: Prepared, mode: Redaction) -> Prepared:
        """The prepared request without secrets, with a note; with mode `restore`, the secrets
        are put back into the answer."""
        if not self.secrets:
            return prepared
        note_redacted(prepared.report, self.secrets)
        if mode != "restore":
            return prepared
        adapter = RestoringAdapter(secrets=self.secrets, inner=prepared.answer_adapter)
        return msgspec.structs.replace(prepared, answer_adapter=adapter)


async def redacted(value: Value) -> RedactedRequest:
    """A request of any kind without secrets and personal data; other requests go on meanwhile."""
    return await asyncio.to_thread(redacted_now, value)


def redacted_now(value: Value) -> RedactedRequest:
    redactor = Redactor()
    redactor.learn(value)
    found = redactor.redact(value)
    if not found.findings:
        return RedactedRequest(value, {})
    clean = found.value
    if isinstance(value, Request):
        clean = _with_signatures(value, clean)
    return RedactedRequest(clean, redactor.placeholders())


def note_redacted(report: Report, secrets: dict[str, str]) -> None:
    report.add("approximated", "$", because("redacted", count=len(secrets)))


def _with_signatures(before: Request, after: Request) -> Request:
    """Calls keep their signatures: the model that made them saw placeholders as well."""
    messages = tuple(
        [
            new if new is old else new.replace(content=_signed(old, new))
            for old, new in zip(before.messages, after.messages, strict=True)
        ]
    )
    return after.replace(messages=messages)


def _signed(before: Message, after: Message) -> tuple[Block, ...]:
    return tuple(
        [
            new.replace(signature=old.signature)
            if type(new) is ToolUseBlock and type(old) is ToolUseBlock and old.signature
            else new
            for old, new in zip(before.content, after.content, strict=True)
        ]
    )


class RestoringAdapter(AnswerAdapter, frozen=True, dict=True):
    """Puts secrets back into an answer after `inner` has adapted it."""

    secrets: dict[str, str] = msgspec.field(default_factory=dict)
    inner: AnswerAdapter | None = None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self.secrets)))

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.secrets))

    def text(self, text: str) -> str:
        return self._pattern.sub(lambda found: self.secrets[found[0]], text)

    def spelled(self, json: str) -> str:
        """The same inside of JSON."""

        def secret(found: re.Match[str]) -> str:
            return msgspec.json.encode(self.secrets[found[0]]).decode()[1:-1]

        return self._pattern.sub(secret, json)

    def json(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.json(item) for key, item in value.items()}
        return [self.json(item) for item in value] if isinstance(value, list) else value

    def response(self, response: Response) -> Response:
        if self.inner is not None:
            response = self.inner.response(response)
        return self.restored(response)

    def restored(self, response: Response) -> Response:
        others = tuple([self.message(each) for each in response.alternatives])
        return response.replace(message=self.message(response.message), alternatives=others)

    def message(self, message: Message) -> Message:
        return message.replace(content=tuple([self.block(block) for block in message.content]))

    def block(self, block: Block) -> Block:
        if type(block) is TextBlock:
            return self._text_block(block)
        if type(block) is RefusalBlock:
            return block.replace(text=self.text(block.text))
        if type(block) is not ToolUseBlock or block.executor != "client":
            return block
        spelled = block.raw_arguments
        if spelled is not None:
            spelled = self.spelled(spelled)
        return block.replace(input=self.json(block.input), raw_arguments=spelled)

    def _text_block(self, block: TextBlock) -> TextBlock:
        """A text with its secrets, and citations that follow it."""
        found = list(self._pattern.finditer(block.text))
        if not found:
            return block
        spans = [Span(*each.span(), "") for each in found]
        move = moved(spans, [self.secrets[each[0]] for each in found])
        citations = [
            each.replace(
                start=None if each.start is None else move(each.start, False),
                end=None if each.end is None else move(each.end, True),
            )
            for each in block.citations
        ]
        return block.replace(text=self.text(block.text), citations=tuple(citations))

    def reader(self, reader: StreamReader) -> StreamReader:
        return _Reader(reader if self.inner is None else self.inner.reader(reader), self)


class _Reader:
    """Events with their secrets. The end of a piece that may be the beginning of a placeholder
    waits for the next one."""

    def __init__(self, reader: StreamReader, adapter: RestoringAdapter) -> None:
        self._reader = reader
        self._adapter = adapter
        self._held: dict[tuple[int, int], TextDelta | ToolUseInputDelta] = {}
        self._plain: set[tuple[int, int]] = set()
        """Calls with free text, which is no JSON."""
        self._others: set[tuple[int, int]] = set()
        """Calls of the provider's own tools."""

    @property
    def marks(self) -> bool:
        return self._reader.marks

    @marks.setter
    def marks(self, value: bool) -> None:
        self._reader.marks = value

    def feed(self, frame: Frame) -> list[Event]:
        return [each for event in self._reader.feed(frame) for each in self._restored(event)]

    def close(self) -> list[Event]:
        return [each for event in self._reader.close() for each in self._restored(event)]

    def _restored(self, event: Event) -> list[Event]:
        match event:
            case TextDelta() | ToolUseInputDelta():
                return self._piece(event)
            case ToolUseStart():
                if event.executor != "client":
                    self._others.add((event.choice, event.index))
                elif event.call_type == "custom":
                    self._plain.add((event.choice, event.index))
                return [event]
            case BlockStart():
                return [event.replace(block=self._adapter.block(event.block))]
            case BlockEnd():
                end = event.replace(block=self._adapter.block(event.block))
                return [*self._rest(event.choice, event.index), end]
            case ToolUseEnd():
                return self._ended(event)
            case MessageComplete():
                return [event.replace(response=self._adapter.restored(event.response))]
            case StreamError():
                held = [each for key in list(self._held) for each in self._rest(*key)]
                if event.partial is not None:
                    event = event.replace(partial=self._adapter.message(event.partial))
                return [*held, event]
        return [event]

    def _piece(self, event: TextDelta | ToolUseInputDelta) -> list[Event]:
        key, adapter = (event.choice, event.index), self._adapter
        if key in self._others:
            return [event]
        held = self._held.pop(key, None)
        text = event.text if held is None else held.text + event.text
        at = text.rfind("[", max(0, len(text) - adapter.longest + 1))
        if at >= 0 and any(each.startswith(text[at:]) for each in adapter.secrets):
            self._held[key] = event.replace(text=text[at:])
            text = text[:at]
        is_plain = type(event) is TextDelta or key in self._plain
        whole = adapter.text(text) if is_plain else adapter.spelled(text)
        return [event.replace(text=whole)] if whole else []

    def _rest(self, choice: int, index: int) -> list[Event]:
        held = self._held.pop((choice, index), None)
        return [] if held is None else [held]

    def _ended(self, event: ToolUseEnd) -> list[Event]:
        if (event.choice, event.index) in self._others:
            return [event]
        spelled = event.raw_arguments
        if spelled is not None:
            spelled = self._adapter.spelled(spelled)
        input = self._adapter.json(event.input)
        end = event.replace(input=input, raw_arguments=spelled)
        return [*self._rest(event.choice, event.index), end]


class RedactingAsker(Asker):
    """Sends requests of sessions and tasks, redacted as `mode` requires."""

    def __init__(self, asker: Asker, mode: Callable[[], Redaction]) -> None:
        lessons = asker.lessons
        super().__init__(asker.targets, asker.transport, None, asker.max_bytes, lessons=lessons)
        self._mode = mode

    async def _prepared(self, call: Call, target: Target, clock: Clock) -> Prepared:
        mode = self._mode()
        if mode == "off":
            return await super()._prepared(call, target, clock)
        clean = await redacted(call.request)
        if not clean.secrets:
            return await super()._prepared(call, target, clock)
        changed = call.replace(request=clean.value, written_request=None)
        return clean.prepared(await super()._prepared(changed, target, clock), mode)
