"""Word tables that all dialects share, marks in texts, and substitutes for missing words.

Data URLs in fields that hold addresses: the data itself, read as base64 with its media type."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from interlingua.dialects.kernel.preserved import spelling_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.model.blocks import SUMMARY as SUMMARY
from interlingua.model.blocks import (
    AudioBlock,
    CompactionBlock,
    DocumentBlock,
    MediaBlock,
    RedactedThinkingBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    UnknownBlock,
)
from interlingua.model.exchange import ErrorKind
from interlingua.model.losses import LossKind, Severity
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, StopReason
from interlingua.model.reasons import because

# -- data URLs ------------------------------------------------------------------------------------


FORM = "data_url"
"""In `$form`: how the URL begins, up to its data."""
_HEAD = re.compile(r"data:([a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+)(?:;[a-zA-Z0-9=._-]+)*?;base64,")
_LONGEST_HEAD = 200


class DataUrl(NamedTuple):
    head: str
    media_type: str
    data: str

    @property
    def source(self) -> Source:
        return Source("base64", self.data)


def data_url(url: str) -> DataUrl | None:
    """The parts of a data URL in base64; None for every other address."""
    if not url.startswith("data:") or (head := _HEAD.match(url, 0, _LONGEST_HEAD)) is None:
        return None
    return DataUrl(head[0], head[1], url[head.end() :])


def url_of(dialect: str, block: MediaBlock, typed: bool = False) -> str | None:
    """The data URL that a block was read from, if it still has that type. With `typed`, the wire
    has the type beside the URL, so any URL will do."""
    head: Any = spelling_of(dialect, block.raw).get(FORM)
    if type(head) is not str or block.source.kind != "base64":
        return None
    found = data_url(head)
    if found is None or not (typed or found.media_type == block.media_type):
        return None
    return head + (block.source.data or "")


W = TypeVar("W")
V = TypeVar("V")

ERROR_MARK = "[tool error] "
"""A mark before a failed result's text if the wire has no flag; readers remove it."""
SYSTEM_MARK = "[system] "
"""A mark before instructions in mid-conversation that had to become user text."""
PLACEHOLDER = "[nothing that can be shown here]"
"""The text of a message whose every block had to be left out."""
EARLIER = "[earlier turns are not shown]"
"""The user text before a history that begins with the model, if the target refuses that."""

NO_REASON = "stop_reason_missing"
"""The diagnostic of a message that ended without a stop reason."""


IMAGE_STARTS: dict[str, str] = {
    "/9j/": "image/jpeg",
    "iVBO": "image/png",
    "R0lG": "image/gif",
    "UklG": "image/webp",
}
"""The base64 prefix of each type, for images without a type."""

Hints = tuple[tuple[re.Pattern[str], ErrorKind], ...]


def hints(*words: tuple[str, ErrorKind]) -> Hints:
    """Patterns that classify errors without a type by their text: the first match decides."""
    return tuple([(re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in words])


def hinted(text: str, known: Hints) -> ErrorKind | None:
    return next((kind for pattern, kind in known if pattern.search(text)), None)


class _Snake(dict[str, str]):
    """Names in snake_case, each worked out once."""

    def __missing__(self, name: str) -> str:
        snake = self[name] = re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), name)
        return snake


snake_case = _Snake().__getitem__
"""A name in camelCase as one in snake_case."""


class TwoWay(Generic[W, V]):
    """A table of wire words and canonical values, read both ways.

    The first wire word for a value is the one written; a word that is not in the table reads as
    `otherwise`, and the wire's own word is kept beside it."""

    def __init__(self, words: dict[W, V], otherwise: V | None = None) -> None:
        self.words = words
        self.otherwise = otherwise
        self._back: dict[V, W] = {}
        for word, value in words.items():
            self._back.setdefault(value, word)

    def read(self, word: W) -> V | None:
        try:
            return self.words.get(word, self.otherwise)
        except TypeError:  # not hashable, so no word at all
            return self.otherwise

    def write(self, value: V) -> W | None:
        return self._back.get(value)

    def nearest(self, near: Mapping[V, W]) -> dict[V, W]:
        """The nearest value of the wire; those of `near` come first, including substitutes."""
        return {**self._back, **near}


def own_word(metadata: MessageMetadata, *names: str) -> Any:
    """The wire's own stop reason, if the message came from a dialect with one of these names: in
    another dialect, the same word may mean something else. The names in `provider_raw` are of the
    dialects that read the message; `protocol` may be the issuer of its thinking instead."""
    word, raw = metadata.raw_stop_reason, metadata.provider_raw
    if word is None:
        return None
    is_own = metadata.protocol in names if not raw else any(name in raw for name in names)
    return word if is_own else None


Reads = Callable[[Any], StopReason | None]


class StopWords(NamedTuple):
    """The stop reasons of a wire."""

    read: Reads
    words: Mapping[StopReason, Any]
    usual: str
    """Written for a reason without a counterpart."""
    cut: str
    """For an unknown reason: the message may be cut off."""

    def of(
        self, message: Message, own: Any, recorder: LossRecorder, read: Reads | None = None
    ) -> Any:
        """The stop reason to write: the message's `own` one, if it still has the same meaning.
        `read` gives its meaning in this message, if that depends on the message."""
        read = self.read if read is None else read
        reason = message.metadata.stop_reason
        if own is not None and read(own) is reason:
            return own
        word = self.usual if reason is None else self.words.get(reason, self.usual)
        if reason is StopReason.OTHER and lacks_stop_reason(message.metadata):
            word = self.cut
        if (again := read(word)) is not reason:
            report_stop_word(message, word, again, recorder)
        return word


def report_stop_word(
    message: Message, word: str, again: StopReason | None, recorder: LossRecorder
) -> None:
    """Reports a stop reason that would be read as another one, `again`. An error if an answer
    without content would look complete."""
    reason = message.metadata.stop_reason
    severity: Severity = "info" if reason is None else "warning"
    if reason in _WITHOUT_ANSWER and again not in (*_WITHOUT_ANSWER, *_UNFINISHED):
        thought = (ThinkingBlock, RedactedThinkingBlock)
        if all(isinstance(block, thought) for block in message.content):
            severity = "error"
    approximation = because("sent_as", value=word)
    recorder.lost(message, "metadata.stop_reason", approximation, "approximated", severity)


_WITHOUT_ANSWER = frozenset(
    {StopReason.REFUSAL, StopReason.CONTENT_FILTER, StopReason.ERROR, StopReason.CANCELLED}
    | {StopReason.PAUSE}
)
_UNFINISHED = (StopReason.MAX_TOKENS, StopReason.OTHER)


def lacks_stop_reason(metadata: MessageMetadata) -> bool:
    """Whether a message has no stop reason. It may be truncated, so the wire's value for a complete
    answer would claim too much, and that for a truncated one is nearest."""
    return any(found.type == NO_REASON for found in metadata.diagnostics)


def compaction_as_text(block: CompactionBlock, recorder: LossRecorder) -> TextBlock | None:
    """Compacted history for a dialect without such a block: its summary as labelled text; None
    if only its issuer can read it."""
    if not block.text:
        if block.data is None:
            recorder.dropped(block, because("compaction_failed"))
        else:
            recorder.dropped(block, because("compaction_encrypted"))
        return None
    recorder.lost(block, None, because("compaction_as_text"), kind="downgraded")
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    text = TextBlock(SUMMARY.format(block.text), cache=block.cache)
    recorder.alias(text, block)
    return text


def write_unknown(
    block: UnknownBlock, recorder: LossRecorder, written: frozenset[str] = frozenset()
) -> Any:
    """A part of this dialect that was not understood, as it was read; None for another
    dialect's. The fields of such a block are written elsewhere."""
    part = block.raw.get(recorder.dialect)
    if type(part) is not dict:
        recorder.dropped(block, because("unknown_block"))
        return None
    recorder.unwritten(block, written)
    return part


def speech_as_text(block: AudioBlock, recorder: LossRecorder) -> TextBlock:
    """The transcript of an audio answer, for a dialect without audio in answers."""
    reason = because("audio_as_transcript")
    recorder.lost(block, None, reason, kind="downgraded")
    if block.raw is not None:
        recorder.unwritten_raw(block, block.raw)
    text = TextBlock(block.transcript or "", cache=block.cache)
    recorder.alias(text, block)
    return text


def document_text(source: Source, joiner: str) -> str | None:
    """The text of a document that is text."""
    if source.kind == "text":
        return source.data
    inner = source.content or ()
    if source.kind != "blocks" or not all(type(block) is TextBlock for block in inner):
        return None
    return joiner.join([block.text for block in inner if type(block) is TextBlock])


def text_in(block: DocumentBlock, joiner: str = "\n") -> str | None:
    """The text of a text document, also of one that is given as bytes."""
    text = document_text(block.source, joiner)
    if text is None and block.source.kind == "base64" and _TEXTUAL.match(block.media_type or ""):
        try:
            return b64decode(block.source.data or "", validate=True).decode()
        except ValueError:
            return None
    return text


_TEXTUAL = re.compile(r"text/|application/(json|xml|yaml|x-ndjson)\b", re.IGNORECASE)


def document_as_text(block: DocumentBlock) -> str | None:
    """A document that is text, under its title and its name or address."""
    text = text_in(block)
    if text is None:
        return None
    title, name = block.title, block.name
    label = f"{title} ({name})" if title and name and name != title else title or name
    return "\n".join(
        [*([f"[{label}]"] if label else []), *([block.context] if block.context else []), text]
    )


def report_changes(
    message: Message, recorder: LossRecorder, written: frozenset[str] = frozenset()
) -> None:
    """Reports the changes of a message to all later ones that this dialect cannot express."""
    changes = message.changes
    for name in changes.__struct_fields__ if changes is not None else ():
        item = getattr(changes, name)
        if item and name not in written and (name, item) != ("clear_at", "never"):
            recorder.lost(message, f"changes.{name}")


def report_beside(message: Message, recorder: LossRecorder) -> None:
    """Reports everything that a message has beside its content, for a wire that has content
    only."""
    if message.name is not None:
        recorder.lost(message, "name")
    if message.changes is not None:
        report_changes(message, recorder)
    if (raw := message.metadata.provider_raw) is not None:
        recorder.unwritten_raw(message, raw, "metadata.provider_raw")


def placeholder(
    value: Message | ToolResultBlock, recorder: LossRecorder, kind: LossKind = "approximated"
) -> str:
    """The text of a message or result that lost all its content."""
    reason = because("message_replaced")
    recorder.lost(value, "content", reason, kind=kind)
    return PLACEHOLDER


def unmarked(text: str) -> tuple[str, bool]:
    """A text without the mark of a failed result, and whether it had one."""
    failed = text.startswith(ERROR_MARK)
    return text[len(ERROR_MARK) :] if failed else text, failed


def take_mark(blocks: list[Any]) -> bool:
    """Whether the text of a result begins with the mark of a failed one, which is taken off."""
    first = blocks[0] if blocks else None
    text, failed = unmarked(first.text) if type(first) is TextBlock else ("", False)
    if not failed or not (text or (first.cache is None and first.raw is None)):  # type: ignore[union-attr]  # a text
        return False
    blocks[:1] = [first.replace(text=text)] if text else []  # type: ignore[union-attr]  # a text
    return True
