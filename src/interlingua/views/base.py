"""Shared by all views: objects of a wire read field by field, and the spelling they preserve.

A view preserves unknown fields under its own name in `raw`, and how the wire spelled things in
`$form` there, as the dialects' kernel does, so that what came from a view goes back unchanged.
"""

from __future__ import annotations

import base64
import re
from binascii import b2a_base64
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import msgspec

from interlingua.dialects.kernel.errors import ShapeError, require
from interlingua.dialects.kernel.preserved import FORM as FORM
from interlingua.dialects.kernel.preserved import Preserved, restore, spelling_in
from interlingua.dialects.kernel.preserved import raw_of as raw_of
from interlingua.dialects.kernel.preserved import spelling_of as spelling_of
from interlingua.dialects.kernel.recorder import private_reason
from interlingua.dialects.kernel.wire import WORDS as TYPE_NAMES
from interlingua.errors import LossError, ReadError, WriteError, found
from interlingua.model import codec
from interlingua.model.arguments import recover, to_text
from interlingua.model.base import JsonObject, Raw, Value, _defaults, same
from interlingua.model.blocks import (
    SUMMARY,
    AudioBlock,
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    MediaBlock,
    Source,
    SourceKind,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import LossKind, Report, Severity, loss_of
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import Diagnostic
from interlingua.model.reasons import Reason, because, private, private_keys, source_unsupported

if TYPE_CHECKING:
    from interlingua.coerce import Conversation

T = TypeVar("T")

ISSUER = "issuer"
"""In `$form`: the dialect whose provider the wire names as the maker of a block's signature."""


class Written(NamedTuple):
    """The wire of a view, and its losses."""

    wire: Any
    report: Report

    def json(self) -> bytes:
        """The wire as bytes; `WriteError` where JSON cannot hold it."""
        return codec.dumps(self.wire)


def present(**fields: Any) -> JsonObject:
    """The fields that are not None."""
    return {name: item for name, item in fields.items() if item is not None}


def placed(blocks: Iterable[T], path: str) -> list[tuple[T, str]]:
    """The blocks of a content, each with its path."""
    return [(block, f"{path}.content[{number}]") for number, block in enumerate(blocks)]


def step(path: str, key: str) -> str:
    """The path of a key inside an object."""
    return f"{path}.{key}" if re.fullmatch(r"[\w$-]+", key) else f"{path}[{key!r}]"


# Reading


def item_list(view: str, plain: Any, path: str = "$") -> list[tuple[Any, str]]:
    """The items of a list, each with its path."""
    if not isinstance(plain, list):
        raise ReadError(f"{view} view", path, "a list", found(plain))
    return [(item, f"{path}[{number}]") for number, item in enumerate(plain)]


def one_or_more(view: str, plain: Any) -> Iterator[Fields]:
    """The objects of a list, or a single one."""
    items = [(plain, "$")] if isinstance(plain, dict) else item_list(view, plain)
    return (Fields(view, item, path) for item, path in items)


class Fields:
    """One object of the wire: fields are taken out of it, and the rest is preserved."""

    def __init__(self, view: str, plain: Any, path: str) -> None:
        self.view = view
        self.path = path
        if not isinstance(plain, dict):
            raise self.error("", "an object", found(plain))
        if FORM in plain:
            raise self.error(FORM, "no key of this name", found(plain[FORM]))
        self.left: JsonObject = dict(plain)
        self.blank: JsonObject = {}
        """Fields that the wire had empty: null, or an empty value."""
        self.inside: dict[str, Fields] = {}

    def error(self, name: str, expected: str, what: str) -> ReadError:
        return ReadError(f"{self.view} view", self.place(name), expected, what)

    def place(self, name: str) -> str:
        return step(self.path, name) if name else self.path

    def optional(self, name: str, kind: type[T]) -> T | None:
        """The field, or None where it is missing or null."""
        if name not in self.left:
            return None
        value = self.left.pop(name)
        if value is None:
            self.blank[name] = None
            return None
        try:
            return require(value, kind)
        except ShapeError as error:
            raise self.error(name, error.expected, error.found) from None

    def text_or_list(self, name: str) -> str | list[Any] | None:
        value = self.left.get(name)
        kind: type[str] | type[list[Any]] = list if isinstance(value, list) else str
        if value is not None and not isinstance(value, (str, list)):
            raise self.error(name, "a string or a list", found(value))
        return self.optional(name, kind)

    def filled(self, name: str, kind: type[T]) -> T | None:
        """The field, or None also where it is empty."""
        value = self.optional(name, kind)
        if value is not None and not value:
            self.blank[name] = value
            return None
        return value

    def require(self, name: str, kind: type[T]) -> T:
        value = self.optional(name, kind)
        if value is None:
            raise self.error(name, TYPE_NAMES[kind], "null" if name in self.blank else "nothing")
        return value

    def word(self, name: str, table: Mapping[str, T]) -> T:
        """The value of an enum word in a table; other words are an error."""
        return self.known(name, self.require(name, str), table)

    def known(self, name: str, word: str, table: Mapping[str, T]) -> T:
        if word not in table:
            what = repr(word) if len(word) <= 32 else found(word)
            raise self.error(name, f"one of {', '.join(table)}", what)
        return table[word]

    def items(self, name: str, optional: bool = False) -> list[tuple[Any, str]]:
        """The items of a list, each with its path."""
        items = self.filled(name, list) or [] if optional else self.require(name, list)
        return item_list(self.view, items, self.place(name))

    def objects(self, name: str, optional: bool = False) -> Iterator[Fields]:
        """The objects of a list."""
        return (Fields(self.view, item, path) for item, path in self.items(name, optional))

    def object(self, name: str) -> Fields | None:
        """The object in a field, which has a `raw` of its own."""
        plain = self.optional(name, dict)
        return None if plain is None else Fields(self.view, plain, self.place(name))

    def within(self, name: str) -> Fields:
        """The object in a field; its other members are preserved with the rest."""
        self.inside[name] = Fields(self.view, self.require(name, dict), self.place(name))
        return self.inside[name]

    def members(self, name: str) -> JsonObject:
        """The members of an object that may be missing; one that is taken out of it is read."""
        if not self.left.get(name):
            self.filled(name, dict)
            return {}
        return self.within(name).left

    def raw(self, **form: Any) -> Raw | None:
        """The `raw` to preserve: the remaining members, and spelling that is not None."""
        preserved = self._preserved()
        preserved.spelling.update(present(**form))
        return preserved.raw(self.view)

    def _preserved(self) -> Preserved:
        preserved = Preserved()
        preserved.add_others(self.left, ())
        for name, item in self.blank.items():
            preserved.keep_spelling(name, item)
        for name, fields in self.inside.items():
            preserved.absorb(name, fields._preserved())
        return preserved


def take_text(members: JsonObject, name: str) -> str | None:
    """Takes a string out of an object; anything else stays there."""
    text = members.get(name)
    return members.pop(name) if isinstance(text, str) else None


# Writing


def with_rest(view: str, raw: Raw | None, out: JsonObject) -> JsonObject:
    """A written object with the data that the view preserved; written fields take precedence."""
    if not (own := raw_of(view, raw)):
        return out
    filled = restore(dict(out), {name: item for name, item in own.items() if name != FORM})
    return restore(filled, {FORM: _usable(spelling_in(own), filled)})


def _usable(form: JsonObject, out: JsonObject) -> JsonObject:
    """Spelling of objects that still exist: preserved spelling may be outdated."""
    spelled, inside = form.get("spelled"), form.get("inside")
    usable: JsonObject = {"spelled": spelled} if isinstance(spelled, dict) else {}
    if isinstance(inside, dict):
        usable["inside"] = {
            name: _usable(deeper, out[name])
            for name, deeper in inside.items()
            if isinstance(deeper, dict) and isinstance(out.get(name), dict)
        }
    return usable


def with_form(view: str, raw: Raw | None, **form: Any) -> Raw:
    """A `raw` with more spelling of this view."""
    own = raw_of(view, raw)
    return {**(raw or {}), view: {**own, FORM: {**spelling_of(view, raw), **form}}}


def as_string(content: list[Any], was_string: bool) -> Any:
    """Content as a string where it was one, and a string can hold it."""
    match content:
        case [] if was_string:
            return ""
        case [{"type": "text", "text": str(text), **rest}] if text and not rest and was_string:
            return text
    return content


def json_value(text: str) -> Any:
    """The JSON value of a text; the text itself if it is a string or no JSON."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return text if isinstance(value, str) else value


# Arguments of calls: text in some views, objects in others

RECOVERED = "tool_arguments_recovered"
"""The diagnostic of arguments that were no JSON as they stood."""


def read_arguments(text: str, id: str) -> tuple[JsonObject, str | None, tuple[Diagnostic, ...]]:
    """Input, the text if the input alone would not reproduce it, and the repairs."""
    recovered = recover(text)
    if recovered.mode == "strict":
        return recovered.input, None if to_text(recovered.input) == text else text, ()
    details = {"mode": recovered.mode, "call_id": id}
    return recovered.input, text, (Diagnostic(RECOVERED, details=details),)


def write_arguments(view: str, block: ToolUseBlock, path: str) -> str:
    """The call's own text while it still means the input, else the input as JSON."""
    text = block.raw_arguments
    if text is not None and same(recover(text).input, block.input):
        return text
    try:
        return to_text(block.input)
    except WriteError as error:
        place = f"{path}.input{error.path.removeprefix('$')}"
        raise WriteError(f"{view} view", place, error.problem) from None


def recovered_again(view: str, calls: Iterable[ToolUseBlock]) -> list[Diagnostic]:
    """The diagnostics that reading these calls from text will make."""
    made = [read_arguments(write_arguments(view, call, ""), call.id)[2] for call in calls]
    return [each for some in made for each in some]


# Whether the conversation still means the same without a block, or without a field.
_MINOR_BLOCKS = frozenset({"thinking", "redacted_thinking", "unknown"})
_MINOR_FIELDS = frozenset(
    {"cache", "id", "session_id", "created_at", "schema_version", "raw_arguments"}
)

_ROLES = (Role.USER, Role.ASSISTANT, Role.TOOL, Role.SYSTEM, Role.DEVELOPER)
"""The roles that views write; a message of a later one is refused."""


class Account:
    """Reports what a view cannot represent of one message, or of another value."""

    def __init__(
        self,
        report: Report,
        path: str,
        message: Message | None = None,
        issuer: str | None = None,
    ) -> None:
        self.report = report
        self.path = path
        self.owner = message
        self._issuer = issuer
        if message is not None and message.role not in _ROLES:
            problem = f"no equivalent for the role {message.role.value!r}"
            raise WriteError(f"{report.target} view", path, problem)

    def issuer_of(self, block: Block) -> str | None:
        """The dialect that signed a block: by its wire, its message, or where
        the messages were read from; None where it is not known."""
        named = spelling_of(self.report.target, getattr(block, "raw", None)).get(ISSUER)
        known = self.owner.metadata if self.owner is not None else NO_METADATA
        return named or known.protocol or known.provider or self._issuer

    def lost(
        self,
        path: str,
        reason: Reason,
        severity: Severity | None = None,
        kind: LossKind = "dropped",
        block: Block | None = None,
    ) -> None:
        block_type = block.type if block is not None else None
        self.report.add(kind, path, reason, severity, block_type, self._message_id())

    def block(self, path: str, block: Block, reason: Reason | None = None) -> None:
        """Reports a block that is left out; where it is critical, the write fails."""
        word = block.type
        reason = reason or because("unsupported")
        severity: Severity = "warning" if word in _MINOR_BLOCKS else "error"
        if self._is_critical(path):
            loss = loss_of(
                self.report.target, "dropped", path, reason, "error", word, self._message_id()
            )
            raise LossError(f"{self.report.target} view", Report(self.report.target, [loss]))
        session_id = self.owner.session_id if self.owner is not None else None
        self.report.dropped_block(path, word, reason, severity, self._message_id(), session_id)

    def own_or_dropped(self, path: str, block: Block) -> JsonObject | None:
        """An unknown block that came from this view, unchanged; any other is reported."""
        own = isinstance(block, UnknownBlock) and raw_of(self.report.target, block.raw)
        if not own:
            self.block(path, block)
        return own or None

    def summary(self, path: str, block: CompactionBlock) -> TextBlock | None:
        """Compacted history as labelled text; None where only its issuer could read it."""
        if not block.text:
            if block.data is None:
                self.lost(path, because("compaction_failed"), block=block)
            else:
                self.block(path, block, because("compaction_encrypted"))
            return None
        self.lost(path, because("compaction_as_text"), kind="downgraded", block=block)
        if block.raw is not None:
            self.raw(block.raw, f"{path}.raw")
        return TextBlock(SUMMARY.format(block.text))

    def fields(self, value: Value, path: str, *held: str, severity: Severity | None = None) -> None:
        """Every field with a value that is not among those held."""
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if name in held or same(item, defaults[name]):
                continue
            if name in ("raw", "provider_raw"):
                self.raw(item, f"{path}.{name}", severity or "warning")
            else:
                minor: Severity = "info" if name in _MINOR_FIELDS else "warning"
                reason = because("unsupported")
                self.lost(f"{path}.{name}", reason, severity or minor)

    def message(self, message: Message, *held: str, metadata: Iterable[str] = ()) -> None:
        """The fields of a message and of its metadata, apart from its content."""
        self.fields(message, self.path, "role", "content", "metadata", *held)
        known = message.metadata
        derived = {getattr(block, "tool_use_id", None) for block in message.content}
        if known.parent_tool_use_id in derived:
            metadata = {*metadata, "parent_tool_use_id"}
        place = f"{self.path}.metadata"
        self.fields(known, place, "status", *metadata, severity="info")
        if "status" not in metadata and known.status != "complete":
            self.lost(f"{place}.status", because("unsupported"))

    def request(self, request: Request) -> None:
        """Everything in a request beside its messages and tools."""
        self.fields(request, self.path, "messages", "tools", "options")
        self.fields(request.options, f"{self.path}.options")

    def results(
        self, message: Message, held: Iterable[str] | None = ()
    ) -> list[tuple[str, ToolResultBlock]]:
        """The results of a tool message with their paths; there should be exactly one. The fields
        of the message are reported unless `held` is None."""
        found: list[tuple[str, ToolResultBlock]] = []
        for block, place in placed(message.content, self.path):
            if isinstance(block, ToolResultBlock):
                found.append((place, block))
            else:
                self.block(place, block)
        if not found:
            self.lost(self.path, because("tool_message_empty"))
            return []
        if held is not None:
            self.message(message, *held)
        if len(found) > 1:
            reason = because("results_apart")
            self.lost(f"{self.path}.content", reason, kind="approximated")
        return found

    def raw(self, raw: Raw, path: str, severity: Severity = "warning") -> None:
        """Reports data that only another dialect understands; spelling is never a loss."""
        for dialect, own in raw.items():
            place = step(path, dialect)
            asks = severity != "info"
            if dialect == self.report.target:
                continue
            if not isinstance(own, dict):
                self.lost(place, private(dialect, "", asks))
                continue
            for at, key in private_keys(own):
                at = step(place, key) if at == key else f"{place}.{at}"
                self.lost(at, private_reason(dialect, key, asks))

    def diagnostics(self, message: Message, held: Iterable[Diagnostic]) -> None:
        """Reports the diagnostics that reading again does not give."""
        again = list(held)
        for number, each in enumerate(message.metadata.diagnostics):
            if each in again:
                again.remove(each)
            else:
                place = f"{self.path}.metadata.diagnostics[{number}]"
                self.lost(place, because("unsupported"))

    def arguments(self, block: ToolUseBlock, path: str) -> None:
        """Reports argument text that carries more than the input, where arguments are objects."""
        text = block.raw_arguments
        if text is None:
            return
        recovered = recover(text)
        if not same(recovered.input, block.input) or text == to_text(block.input):
            return
        severity: Severity = "info" if recovered.mode == "strict" else "warning"
        reason = because("arguments_object")
        self.lost(f"{path}.raw_arguments", reason, severity, block=block)

    def _message_id(self) -> str | None:
        return self.owner.id if self.owner is not None else None

    def _is_critical(self, path: str) -> bool:
        critical = self.owner.metadata.critical if self.owner is not None else False
        if isinstance(critical, bool):
            return critical
        return any(path.startswith(f"{self.path}.content[{number}]") for number in critical)


class Write(Protocol):
    def __call__(self, messages: Iterable[Message], issuer: str | None = None) -> Written: ...


@dataclass(frozen=True)
class View:
    """`read` and `write_messages` are for messages; a view that also holds tools has the others."""

    name: str
    read: Callable[[Any], tuple[Message, ...]]
    write_messages: Write
    read_context: Callable[[Any], Request] | None = None
    write_context: Callable[[Request, str | None], Written] | None = None

    def write(
        self, messages: Conversation | Iterable[Message], issuer: str | None = None
    ) -> Written:
        """Messages in this shape. Text, dicts, objects of SDKs and requests count as their
        messages; `issuer` is as for `write_request`."""
        from interlingua.coerce import as_conversation

        found = as_conversation(messages)  # type: ignore[arg-type]  # which refuses other things
        return self.write_messages(found.messages if isinstance(found, Request) else found, issuer)

    def read_request(self, plain: Any) -> Request:
        """All that the wire holds: the messages, and tools where the view has them."""
        if self.read_context is not None:
            return self.read_context(plain)
        return Request(self.read(plain))

    def read_response(self, plain: Any) -> Response:
        """One message, a model's own."""
        messages = self.read_request(plain).messages
        if len(messages) == 1 and messages[0].role is Role.ASSISTANT:
            return Response(messages[0])
        roles = ", ".join([message.role.value for message in messages]) or "none"
        raise ReadError(f"{self.name} view", "$", "one assistant message", roles)

    def write_request(self, request: Request, issuer: str | None = None) -> Written:
        """Writes a whole request; paths in the report are those of the request. `issuer` is the
        source dialect, for signatures that name no issuer."""
        if self.write_context is not None:
            return self.write_context(request, issuer)
        wire, report = self.write(request.messages, issuer)
        losses = [
            msgspec.structs.replace(loss, path=f"$.messages{loss.path.removeprefix('$')}")
            for loss in report.entries
        ]
        account = Account(Report(self.name, losses), "$")
        account.request(request)
        for number in range(len(request.tools)):
            account.lost(f"$.tools[{number}]", because("unsupported"))
        return Written(wire, account.report)


KINDS: dict[str, type[MediaBlock]] = {
    "image": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
    "document": DocumentBlock,
}
WORDS: dict[type[MediaBlock], str] = {cls: word for word, cls in KINDS.items()}


def class_for(media_type: str | None) -> type[MediaBlock]:
    """The block for a media type; types other than image, audio and video are documents."""
    return KINDS.get((media_type or "").partition("/")[0], DocumentBlock)


def standard(data: str) -> str:
    """Base64 in the alphabet that we keep it in."""
    return data.replace("-", "+").replace("_", "/")


def url_safe(data: str) -> str:
    """Base64 in the alphabet for URLs, as pydantic writes bytes."""
    return data.replace("+", "-").replace("/", "_")


def inline(block: MediaBlock) -> str | None:
    """The block's own bytes as base64, where it has them."""
    source: Source = block.source
    if source.kind == "text" and source.data is not None:
        return b2a_base64(source.data.encode(), newline=False).decode()
    if source.kind != "base64" or source.data is None:
        return None
    return standard(source.data)


PLACES: dict[str, SourceKind] = {"data": "base64", "url": "url", "file_id": "file_id"}
"""The fields of a source on the wire; the first one that is set counts, others are preserved."""

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})")


def read_source(
    fields: Fields, media_type: str | None, places: Collection[str] = tuple(PLACES)
) -> tuple[Source | None, str | None, str | None]:
    """Source, media type, and `url` where the wire had inline data as a data URL."""
    for name in (name for name in PLACES if name in places):
        text = fields.optional(name, str)
        if text is None:
            continue
        inline = _DATA_URL.fullmatch(text) if name == "url" and media_type is None else None
        if inline:
            return Source("base64", inline[2]), inline[1], "url"
        return Source(PLACES[name], text), media_type, None
    return None, media_type, None


def write_source(
    block: MediaBlock,
    path: str,
    account: Account,
    as_url: bool = False,
    places: Collection[str] = tuple(PLACES),
) -> JsonObject | None:
    """The field for the block's source; None, and a loss, where there is no place for it.

    `as_url` is the memory of a data URL, in which case the media type is in it."""
    source = block.source
    if as_url and source.kind == "base64" and _as_url(block):
        return {"url": _as_url(block)}
    if source.kind == "text" and source.data is not None:
        account.lost(path, because("text_as_document"), kind="approximated", block=block)
        return {"data": base64.b64encode(source.data.encode()).decode()}
    names = [name for name in places if PLACES[name] == source.kind]
    if not names or source.data is None:
        account.block(path, block, source_unsupported(source.kind))
        return None
    if source.kind == "url" and block.media_type is None and _DATA_URL.fullmatch(source.data):
        account.lost(path, because("data_url_inlined"), "info", "approximated", block)
    account.fields(source, f"{path}.source", "kind", "data")
    return {names[0]: source.data}


def _as_url(block: MediaBlock) -> str | None:
    url = f"data:{block.media_type};base64,{block.source.data}"
    return url if _DATA_URL.fullmatch(url) else None
