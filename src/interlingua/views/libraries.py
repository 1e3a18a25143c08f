"""Shared by the views of other libraries: their names for providers, and how losses are found.

Fields of other libraries often hold two things, or half of one. So a writer reports only the blocks
it left out and notes which message each of its own was made of; whatever reading does not give back
is found here and reported.

A library's word for a provider stands for that provider and for the dialect whose signatures its
answers carry. Reading the first word of a pair back gives the same pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from interlingua.errors import ReadError
from interlingua.model.arguments import recover, to_text
from interlingua.model.base import Value, _defaults, same
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    Source,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.losses import LossKind, Report, Severity
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import because
from interlingua.views.base import _MINOR_FIELDS, Account, Written, placed, standard


class Maker(NamedTuple):
    provider: str
    protocol: str


ANTHROPIC = Maker("anthropic", "anthropic")
OPENAI = Maker("openai", "openai-responses")
AZURE = Maker("azure", "openai-responses")
GEMINI = Maker("gemini", "gemini")
VERTEX = Maker("vertex", "gemini")
BEDROCK = Maker("bedrock", "bedrock")
OLLAMA = Maker("ollama", "ollama")
OPENROUTER = Maker("openrouter", "openrouter")
CHAT_HOSTS = {name: Maker(name, "openai-chat") for name in ("groq", "deepseek", "xai")}
MISTRAL = Maker("mistral", "openai-chat")


class Makers:
    """The names of providers in one library; the first name of a provider or a dialect is the one
    that is written."""

    def __init__(self, words: Mapping[str, Maker]) -> None:
        self.words = dict(words)
        backwards = list(reversed(self.words.items()))
        self._providers = {maker.provider: word for word, maker in backwards}
        self._protocols = {maker.protocol: word for word, maker in backwards}
        if "openai" in self._providers:  # hosts with the same API come later
            self._protocols["openai-chat"] = self._providers["openai"]

    def read(self, word: str | None) -> MessageMetadata:
        """Provider and protocol; an unknown name is taken for a provider."""
        if not word:
            return MessageMetadata()
        maker = self.words.get(word)
        if maker is None:
            return MessageMetadata(provider=word)
        return MessageMetadata(provider=maker.provider, protocol=maker.protocol)

    def dialect(self, word: object) -> str | None:
        """The dialect whose signatures a provider has."""
        maker = self.words.get(word) if isinstance(word, str) else None
        return maker.protocol if maker is not None else None

    def word(self, provider: str | None, protocol: str | None) -> str | None:
        """The library's name; an unknown provider keeps its own name."""
        if provider is not None:
            return self._providers.get(provider, provider)
        return None if protocol is None else self._protocols.get(protocol)

    def of_issuer(self, issuer: str | None) -> str | None:
        """The name of a dialect or a provider that issued something."""
        if issuer is None:
            return None
        return self._protocols.get(issuer) or self._providers.get(issuer)


LANGCHAIN = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "azure": AZURE,
        "google_genai": GEMINI,
        "google_vertexai": VERTEX,
        "bedrock_converse": BEDROCK,
        "bedrock": BEDROCK,
        "ollama": OLLAMA,
        "openrouter": OPENROUTER,
        "mistralai": MISTRAL,
        **CHAT_HOSTS,
    }
)
PYDANTIC_AI = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "azure": AZURE,
        "google": GEMINI,
        "google-gla": GEMINI,
        "google-cloud": VERTEX,
        "google-vertex": VERTEX,
        "bedrock": BEDROCK,
        "ollama": OLLAMA,
        "openrouter": OPENROUTER,
        "mistral": MISTRAL,
        **CHAT_HOSTS,
    }
)
LLM = Makers(
    {
        "anthropic": ANTHROPIC,
        "openai": OPENAI,
        "gemini": GEMINI,
        "bedrock": BEDROCK,
        "openrouter": OPENROUTER,
    }
)
"""Keys of `provider_metadata`."""


def named(metadata: MessageMetadata, name: str | None) -> MessageMetadata:
    """Sets the model's name, both as requested and as answered."""
    if not name:
        return metadata
    model = f"{metadata.provider}:{name}" if metadata.provider else name
    return metadata.replace(model=model, response_model=name)


def name_of(metadata: MessageMetadata) -> str | None:
    """The model's bare name: the one that answered, else the requested one."""
    if metadata.response_model is not None:
        return metadata.response_model
    model = metadata.model
    return None if model is None else model.removeprefix(f"{metadata.provider}:")


Read = Callable[[Any], tuple[Message, ...]]
WriteBlock = Callable[[Block, str, Account], Any]


class Entry(NamedTuple):
    """The message, and those of its blocks, that one message of the wire was made of."""

    number: int
    blocks: tuple[int, ...]


class Draft:
    """The state of a writer of a library's messages."""

    def __init__(self, view: str, messages: Iterable[Message], issuer: str | None) -> None:
        self.report = Report(view)
        self.messages = tuple(messages)
        self.issuer = issuer
        self.entries: list[Entry] = []
        calls = [b for m in self.messages for b in m.content if isinstance(b, ToolUseBlock)]
        self.names = {call.id: call.name for call in calls}
        """The tool of each call."""

    def tool_of(self, result: ToolResultBlock) -> str:
        """The name of the tool that a result is of; empty where it is not known."""
        return result.tool_name or self.names.get(result.tool_use_id, "")

    def account(self, number: int) -> Account:
        return Account(self.report, f"$[{number}]", self.messages[number], self.issuer)

    def add(self, number: int, blocks: Iterable[int]) -> None:
        """One more message of the wire, in the order in which they are read."""
        self.entries.append(Entry(number, tuple(blocks)))

    def parts(self, number: int, write: WriteBlock) -> list[Any]:
        """A message's blocks, all in one message of the wire."""
        account, parts, written = self.account(number), [], []
        for place, (block, path) in enumerate(placed(self.messages[number].content, account.path)):
            part = write(block, path, account)
            if part is not None:
                parts.append(part)
                written.append(place)
        self.add(number, written)
        return parts

    def results(self, number: int) -> list[tuple[str, ToolResultBlock]]:
        """The results of a tool message with their paths, each a message of its own."""
        message = self.messages[number]
        for place, block in enumerate(message.content):
            if isinstance(block, ToolResultBlock):
                self.add(number, (place,))
        return self.account(number).results(message, held=None)

    def written(self, wire: Any, read: Read) -> Written:
        """The wire, with all that is missing in the report."""
        again = self._read_again(wire, read)
        seen: set[int] = set()
        for entry, message in zip(self.entries, again, strict=True):
            account = self.account(entry.number)
            _Missing(account, first=entry.number not in seen).message(entry, message)
            seen.add(entry.number)
        return Written(wire, self.report)

    def _read_again(self, wire: Any, read: Read) -> tuple[Message, ...]:
        """The messages as the wire is read; the original ones if a `raw` made it unreadable."""
        try:
            again = read(wire)
            if len(again) == len(self.entries):
                return again
            problem = f"{len(again)} messages in place of {len(self.entries)}"
        except ReadError as error:
            problem = str(error)
        self.report.add("approximated", "$", because("read_differently", problem=problem))
        return tuple([self.messages[entry.number] for entry in self.entries])


class _Missing:
    """Compares a message with the result of reading it back; `first` of all that were made of
    it."""

    def __init__(self, account: Account, first: bool) -> None:
        self.account = account
        self.first = first
        self.view = account.report.target
        self.dropped = {loss.path for loss in account.report.entries if loss.kind == "dropped"}

    def message(self, entry: Entry, again: Message) -> None:
        message, path = self.account.owner, self.account.path
        assert message is not None
        written = [
            (f"{path}.content[{number}]", message.content[number]) for number in entry.blocks
        ]
        self.blocks(written, again.content, f"{path}.content")
        if self.first:
            self.fields(message, again, path, {"content", "metadata"})
            self.metadata(message, again.metadata, f"{path}.metadata")

    def metadata(self, message: Message, again: MessageMetadata, path: str) -> None:
        known, aside = message.metadata, set()
        answered = {getattr(block, "tool_use_id", None) for block in message.content}
        if known.parent_tool_use_id in answered:
            aside.add("parent_tool_use_id")
        if _bare(known.model, known.provider) == _bare(again.model, again.provider):
            aside.add("model")
        self.fields(known, again, path, aside, "info")

    def blocks(
        self,
        before: Sequence[tuple[str, Value]],
        again: Sequence[Value],
        path: str,
        severity: Severity | None = None,
    ) -> None:
        if len(before) != len(again):
            kind: LossKind = "approximated" if again else "dropped"
            what = (
                f"{len(again)} in place of {len(before)}" if again else f"no {path.split('.')[-1]}"
            )
            self.account.lost(
                path, because("count_differs", what=what), severity or "warning", kind
            )
            return
        for (place, block), read in zip(before, again, strict=True):
            self.value(block, read, place, severity)

    def value(
        self, value: Value, again: Value, path: str, severity: Severity | None = None
    ) -> None:
        if type(value) is not type(again):
            reason = because("read_as", value=getattr(again, "type", "something else"))
            self.account.lost(path, reason, kind="downgraded", block=_block(value))
        elif isinstance(value, Source):
            if not same(_spelled(value), _spelled(again)):
                self.account.lost(path, because("value_differs"), kind="approximated")
        elif not isinstance(value, UnknownBlock):
            self.fields(value, again, path, severity=severity)

    def fields(
        self,
        value: Value,
        again: Value,
        path: str,
        aside: Iterable[str] = (),
        severity: Severity | None = None,
    ) -> None:
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item, other = getattr(value, name), getattr(again, name)
            place = f"{path}.{name}"
            if name in aside or same(item, defaults[name]):
                continue
            if name in ("raw", "provider_raw"):
                self.account.raw(item, place, severity or "warning")
            elif isinstance(item, Value) and isinstance(other, Value):
                self.value(item, other, place, severity)
            elif isinstance(item, tuple) and item and isinstance(item[0], Value):
                numbered = [(f"{place}[{number}]", each) for number, each in enumerate(item)]
                written = [pair for pair in numbered if pair[0] not in self.dropped]
                if written or other:
                    self.blocks(written, other, place, severity)
            elif not same(item, other) and not _is_spelling(value, name):
                gone = same(other, defaults[name])
                self.leaf(place, name, gone, severity, value)

    def leaf(
        self, path: str, name: str, gone: bool, severity: Severity | None, value: Value
    ) -> None:
        minor: Severity = "info" if name in _MINOR_FIELDS else "warning"
        if name == "status":
            severity = "warning"
        reason = because("unsupported") if gone else because("value_differs")
        kind: LossKind = "dropped" if gone else "approximated"
        self.account.lost(path, reason, severity or minor, kind, _block(value))


def _block(value: Any) -> Block | None:
    return value if type(value) in TYPE_OF else None


def _spelled(source: Any) -> Any:
    """The same bytes in the same alphabet."""
    if source.kind != "base64" or source.data is None:
        return source
    return source.replace(data=standard(source.data))


def _bare(model: str | None, provider: str | None) -> str | None:
    return None if model is None else model.removeprefix(f"{provider}:")


def _is_spelling(value: Value, name: str) -> bool:
    """Whether it is argument text that contains no more than the input."""
    if name != "raw_arguments" or not isinstance(value, ToolUseBlock):
        return False
    text = value.raw_arguments or ""
    return not same(recover(text).input, value.input) or text == to_text(value.input)
