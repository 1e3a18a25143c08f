"""Messages to turns and back. The wire has tool results in user turns; here each is a message of
its own. Leading instructions have a field of their own, and neighbours of one role are joined.

The bytes of a history are repeated when it grows, so nothing here looks ahead. Blocks cannot
express how the wire split its turns: in addition to the words of `kernel.turns` in the spelling of
a message, these are `bare` (a string in place of a turn) and `content` (how a turn's content was
spelled).

Images and documents, and the parts that are documents by another name: search results, files for a
container, and results of a hosted search. Audio and video are not supported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.anthropic import calls, tables, text
from interlingua.dialects.anthropic.tables import MARKERS, NAME, ROLES, TTLS
from interlingua.dialects.anthropic.text import (
    ASSISTANT,
    CACHE,
    HOSTED,
    READERS,
    SOURCE,
    SYSTEM,
    USER,
    WRITERS,
    Scope,
    is_odd,
    is_silent,
    read_content,
    read_parts,
    string_of,
    write_content,
    write_parts,
)
from interlingua.dialects.anthropic.tools import Changing, Writing
from interlingua.dialects.kernel.claude import CITED
from interlingua.dialects.kernel.errors import ShapeError, at_path, require_key
from interlingua.dialects.kernel.fields import Table, lost, plain
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_inside,
    raw_of,
    restore_raw,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import (
    TurnReader,
    Turns,
    leading,
    report_speaker,
    write_each,
)
from interlingua.dialects.kernel.wire import SpelledTexts, Wire, encode_quickly
from interlingua.dialects.kernel.words import FORM as DATA_URL
from interlingua.dialects.kernel.words import (
    IMAGE_STARTS,
    PLACEHOLDER,
    data_url,
    report_changes,
    text_in,
    url_of,
)
from interlingua.model import blocks as model
from interlingua.model.base import Raw
from interlingua.model.blocks import (
    Block,
    Cache,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import NO_METADATA, Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.reasons import Reason, because, source_unsupported
from interlingua.model.tools import ToolDefinition

# -- media ----------------------------------------------------------------------------------------


Media = ImageBlock | DocumentBlock

# -- sources --------------------------------------------------------------------------------------


def _read_source(part: Wire, preserved: Preserved) -> tuple[Source, str | None] | None:
    """The source and the media type; None for an unknown kind."""
    wire, inner = require_key(part, "source", dict), Preserved()
    word = wire.get("type")
    kind, key = tables.SOURCES.get(word, (None, "")) if type(word) is str else (None, "")
    if kind is None:
        return None
    if kind == "blocks":
        content = at_path(
            ".source.content", read_content, wire.get("content"), SOURCE, preserved.spelling
        )
        source = Source("blocks", content=content)
    else:
        provider, data = (
            NAME if kind == "file_id" else None,
            at_path(".source", require_key, wire, key, str),
        )
        source = Source(kind, data, provider=provider)  # type: ignore[arg-type]  # of the table
    media_type = wire.get("media_type") if key == "data" else None
    inline = data_url(source.data or "") if kind == "url" else None
    if inline is not None:
        source, media_type, preserved.spelling[DATA_URL] = (
            inline.source,
            inline.media_type,
            inline.head,
        )
    typed = type(media_type) is str
    inner.add_others(wire, frozenset({"type", key, *(("media_type",) if typed else ())}))
    if key == "data" and "media_type" not in wire:
        inner.mark_absent("media_type")
    preserved.absorb("source", inner)
    return source, media_type if typed else None


def _write_source(block: Media, recorder: LossRecorder) -> Wire | None:
    """None where the kind has no place here, or nothing in it."""
    source = block.source
    if (url := url_of(NAME, block)) is not None:
        return {"type": "url", "url": url}
    word, key = _SPELLED.get(source.kind, (None, ""))
    if source.kind == "blocks" and source.content is not None:
        spelling = spelling_of(NAME, block.raw)
        return {"type": word, key: write_content(source.content, SOURCE, spelling, recorder)}
    if word is None or source.data is None:
        return None
    if key != "data" or (block.media_type is None and _was_untyped(block.raw)):
        return {"type": word, key: source.data}
    return {"type": word, "media_type": _media_type(block), key: source.data}


_SPELLED = {kind: (word, key) for word, (kind, key) in tables.SOURCES.items()}


def _was_untyped(raw: Raw | None) -> bool:
    source = raw_inside(raw_of(NAME, raw), "source")
    return "media_type" in source or was_absent(source, "media_type")


def _media_type(block: Media) -> str:
    media_type = block.media_type
    if block.source.kind == "text":
        return media_type if media_type is not None and is_odd(block.raw) else tables.PLAIN
    if media_type is not None:
        return media_type
    if type(block) is DocumentBlock:
        return tables.PDF
    return IMAGE_STARTS.get((block.source.data or "")[:4], tables.DEFAULT_IMAGE)


def _report_media_type(block: Media, source: Wire, recorder: LossRecorder) -> None:
    """Only data has a type on the wire, and plain text has but one."""
    if block.media_type is None or source.get("media_type") == block.media_type:
        return
    if block.source.kind == "base64" and "url" in source:
        return  # a data URL contains its type
    if "media_type" in source:
        recorder.lost(
            block, "media_type", because("sent_as", value=tables.PLAIN), kind="approximated"
        )
    else:
        recorder.lost(block, "media_type", because("type_by_url"))


def _is_foreign(source: Source) -> bool:
    return source.kind == "file_id" and source.provider not in (None, NAME)


# -- images and documents -------------------------------------------------------------------------


class Kind(NamedTuple):
    """The media that can be sent as an image, or as a document: their sources, and their types."""

    name: str
    table: Table
    sources: tuple[str, ...]
    types: dict[str, frozenset[str]]
    """By the kind of source: only data has a type."""
    only: Reason
    """The data that can be sent."""


_BESIDE = ("type", "source")
_SILENT = ("source", "media_type")
IMAGE = Kind(
    "image",
    Table(ImageBlock, CACHE, beside=_BESIDE, silent=_SILENT),
    ("base64", "url", "file_id"),
    {"base64": tables.IMAGE_TYPES},
    because("media_type_unsupported"),
)
DOCUMENT = Kind(
    "document",
    Table(
        DocumentBlock,
        plain("title", "title", str),
        plain("context", "context", str),
        CITED,
        CACHE,
        beside=_BESIDE,
        silent=(*_SILENT, "name"),
    ),
    ("base64", "url", "file_id", "text", "blocks"),
    {"base64": frozenset({tables.PDF}), "text": frozenset({tables.PLAIN})},
    because("document_pdf_only"),
)


def _reader(cls: Callable[..., Media], kind: Kind) -> Callable[[Wire, Scope], Media | UnknownBlock]:
    def read(part: Wire, scope: Scope) -> Media | UnknownBlock:
        preserved = Preserved()
        found = _read_source(part, preserved)
        if found is None:
            return UnknownBlock({NAME: part})
        source, media_type = found
        is_sent = source.kind in kind.sources
        if not is_sent or (media_type is not None and media_type not in kind.types[source.kind]):
            preserved.spelling["odd"] = True
        more = {"source": source, "media_type": media_type}
        return kind.table.read_value(cls, part, NAME, preserved, **more)

    return read


read_image, read_document = _reader(ImageBlock, IMAGE), _reader(DocumentBlock, DOCUMENT)


def write_image(block: ImageBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    return _write_media(block, scope, IMAGE, recorder)


def write_document(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    kind = spelling_of(NAME, block.raw).get("type") or raw_of(NAME, block.raw).get("type")
    write = _OTHERS.get(kind) if type(kind) is str else None
    other = None if write is None else write(block, scope, recorder)
    if other is not None:
        return other
    out = _write_media(_as_text(block, recorder), scope, DOCUMENT, recorder)
    if out is not None and block.name is not None:
        if block.title is None:
            out["title"] = block.name
            recorder.lost(block, "name", because("name_as_title"), kind="moved")
        else:
            recorder.lost(block, "name")
    return out


def _as_text(block: DocumentBlock, recorder: LossRecorder) -> DocumentBlock:
    """A text document that arrived as bytes, as text, because only PDF can be sent as bytes."""
    is_data = block.source.kind == "base64" and block.media_type not in (None, tables.PDF)
    text = text_in(block) if is_data and not is_odd(block.raw) else None
    if text is None:
        return block
    recorder.lost(block, "source", because("sent_as_text"), kind="approximated")
    new = block.replace(source=Source("text", text))
    recorder.alias(new, block)
    return new


def _write_media(block: Media, scope: Scope, kind: Kind, recorder: LossRecorder) -> Wire | None:
    problem = None if is_odd(block.raw) else _problem(block, scope, kind)
    source = _write_source(block, recorder) if problem is None else None
    if source is None:
        recorder.dropped(block, problem)
        return None
    _report_media_type(block, source, recorder)
    return kind.table.write_value(block, recorder, {"type": kind.name, "source": source})


def _problem(block: Media, scope: Scope, kind: Kind) -> Reason | None:
    """Why an image or a document cannot be sent; None if it can. Version 2026-10-21 refuses a
    document in an assistant turn (its documentation, read 2026-11-15)."""
    source = block.source
    if scope is SYSTEM:
        return because("instructions_text_only")
    if scope.is_models:
        return because("answer_without_images" if kind is IMAGE else "answer_without_documents")
    if kind is DOCUMENT and scope is SOURCE:
        return because("document_inside")
    if source.kind == "base64" and block.media_type not in (None, *kind.types["base64"]):
        return kind.only
    if source.kind not in kind.sources:
        return source_unsupported(source.kind)
    return because("file_foreign") if _is_foreign(source) else None


# -- documents by another name --------------------------------------------------------------------

SEARCH_RESULT = Table(
    DocumentBlock,
    plain("source", "name", str),
    plain("title", "title", str),
    CITED,
    CACHE,
    beside=("type", "content"),
    silent=("source",),
)
UPLOAD = Table(DocumentBlock, CACHE, beside=("file_id",), silent=("source",))
"""Its type is preserved as content, as it means that the file goes to a container."""
FOUND = Table(
    DocumentBlock,
    plain("title", "title", str),
    lost("cache"),
    beside=("type", "url"),
    silent=("source",),
)


def read_search_result(part: Wire, scope: Scope) -> DocumentBlock:
    listed, preserved = (
        require_key(part, "content", list),
        Preserved(spelling={"type": "search_result"}),
    )
    source = Source("blocks", content=at_path(".content", read_parts, listed, SOURCE))
    require_key(part, "source", str), require_key(part, "title", str)
    return SEARCH_RESULT.read_value(DocumentBlock, part, NAME, preserved, source=source)


def _write_search_result(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    content = block.source.content
    if block.source.kind != "blocks" or None in (block.name, block.title, content):
        return None
    parts = write_parts(content or (), SOURCE, recorder)
    return SEARCH_RESULT.write_value(block, recorder, {"type": "search_result", "content": parts})


def read_container_upload(part: Wire, scope: Scope) -> DocumentBlock:
    source = Source("file_id", require_key(part, "file_id", str), provider=NAME)
    return UPLOAD.read_value(DocumentBlock, part, NAME, source=source)


def _write_upload(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "file_id" or _is_foreign(block.source):
        return None
    out: Wire = {"type": "container_upload", "file_id": block.source.data or ""}
    return UPLOAD.write_value(block, recorder, out)


def read_web_search_result(part: Wire, scope: Scope) -> DocumentBlock:
    source, preserved = (
        Source("url", require_key(part, "url", str)),
        Preserved(spelling={"type": "web_search_result"}),
    )
    return FOUND.read_value(DocumentBlock, part, NAME, preserved, source=source)


def _write_found(block: DocumentBlock, scope: Scope, recorder: LossRecorder) -> Wire | None:
    if block.source.kind != "url" or not (scope is HOSTED or is_odd(block.raw)):
        return None
    out: Wire = {"type": "web_search_result", "url": block.source.data or ""}
    return FOUND.write_value(block, recorder, out)


_OTHERS = {
    "search_result": _write_search_result,
    "container_upload": _write_upload,
    "web_search_result": _write_found,
}


def write_nothing(
    block: model.AudioBlock | model.VideoBlock, scope: Scope, recorder: LossRecorder
) -> None:
    recorder.dropped(block, because("no_audio_video"))


READERS.update(
    {
        "text": text.read_text,
        "thinking": text.read_thinking,
        "redacted_thinking": text.reader(model.RedactedThinkingBlock, text.REDACTED),
        "compaction": text.reader(CompactionBlock, text.COMPACTION),
        "tool_use": calls.read_tool_use,
        "tool_result": calls.read_tool_result,
        "tool_reference": text.reader(TextBlock, text.TOOL_REFERENCE),
        "image": read_image,
        "document": read_document,
        "search_result": read_search_result,
        "container_upload": read_container_upload,
        "web_search_result": read_web_search_result,
        "server_tool_use": calls.read_hosted_use,
        "mcp_tool_use": calls.read_hosted_use,
        "*_tool_result": calls.read_hosted_result,
        **dict.fromkeys(MARKERS, text.read_unknown),
    }
)
_WRITERS: dict[type[Block], Any] = {
    TextBlock: text.write_text,
    model.ThinkingBlock: text.write_thinking,
    model.RedactedThinkingBlock: text.write_redacted,
    model.RefusalBlock: text.write_refusal,
    CompactionBlock: text.write_compaction,
    model.ToolUseBlock: calls.write_tool_use,
    ToolResultBlock: calls.write_tool_result,
    model.ImageBlock: write_image,
    model.DocumentBlock: write_document,
    model.AudioBlock: write_nothing,
    model.VideoBlock: write_nothing,
    model.UnknownBlock: text.write_unknown,
}
WRITERS.update(_WRITERS)

_SYSTEM, _USER, _ASSISTANT, _TOOL = Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL
_SCOPES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}
_TURNS = {role: (word, _SCOPES[word]) for role, word in ROLES.items()}
_TURN = frozenset({"role", "content"})
_TTLS = frozenset({None, *TTLS})
_PLACEHOLDER = {"type": "text", "text": PLACEHOLDER}

_PLAIN = MessageMetadata()
_READER = TurnReader(NAME, _PLAIN)
_LIST = MessageMetadata(provider_raw={NAME: {"$form": {"content": "list"}}})
"""Instructions spelled as a list, though a string would do."""


# -- reading --------------------------------------------------------------------------------------


def read_messages(wire: Wire, tools: list[ToolDefinition], preserved: Preserved) -> list[Message]:
    """The messages of `system` and `messages` of a body; adds the tools that turns define to
    `tools`."""
    turns = wire.get("messages")
    if type(turns) is not list:
        raise ShapeError(".messages", "a list", turns)
    leading = _read_system(wire["system"], preserved) if "system" in wire else []
    return leading + read_turns(turns, tools)


def read_more(turns: list[Any], messages: list[Message], before: Any) -> Iterator[Any]:
    """Appends the messages of further turns; after each turn, yields its role, which the reader
    of the next turn needs. Raises for instructions, which may change the tools of a request."""
    for turn in turns:
        before = _read_turn([], turn, before, messages)
        if before == "system":
            raise ShapeError("", "a turn of the user or the model", turn)
        yield before


def read_turns(turns: list[Any], tools: list[ToolDefinition]) -> list[Message]:
    return _READER.read_each(turns, partial(_read_turn, tools))


def _read_turn(
    tools: list[ToolDefinition], turn: Any, before: str | None, messages: list[Message]
) -> str | None:
    """The role of the turn, for the next one."""
    if type(turn) is not dict:
        messages.append(_read_bare(turn))
        return None
    role = _READER.role_in(turn)
    name: str = turn["role"]
    content = turn.get("content")
    if type(content) is list and content:
        blocks = at_path(".content", read_parts, content, _SCOPES[name])
        if _is_usual(turn, before):
            _READER.add(role, blocks, None, messages)
            return name
        preserved = Preserved()
    else:
        preserved = Preserved()
        blocks = _read_blank(turn, content, preserved)
    _READER.keep_place(turn, before, messages, preserved)
    changes = None
    if role is _SYSTEM:
        blocks, changes = Changing(turn, preserved, tools).read(blocks)
    elif len(turn) > 2 or content is None:
        preserved.add_others(turn, _TURN)
    _READER.add(role, blocks, preserved.raw(NAME), messages, changes)
    return name


def _is_usual(turn: Wire, before: str | None) -> bool:
    """Whether a turn with parts has no other members to preserve."""
    return len(turn) == 2 and turn["role"] != before and turn["role"] != "system"


def _read_bare(turn: Any) -> Message:
    """A string in place of a turn: refused with a 400, and plain enough to read."""
    if type(turn) is not str:
        raise ShapeError("", "an object", turn)
    raw = {NAME: {"$form": {"bare": True, "apart": True}}}
    content = (TextBlock(turn),) if turn else ()
    return Message(_USER, content, metadata=MessageMetadata(provider_raw=raw))


def _read_blank(turn: Wire, content: Any, preserved: Preserved) -> tuple[Block, ...]:
    """Reads content that is not a list of parts: a string, or one of the spellings of no
    content."""
    if type(content) is str:
        preserved.spelling["content"] = "string"
        return (TextBlock(content),) if content else ()
    if content is not None and content != []:
        raise ShapeError(".content", "a string or a list", content)
    preserved.spelling["content"] = (
        "list" if content == [] else "null" if "content" in turn else "none"
    )
    return ()


def _read_system(system: Any, preserved: Preserved) -> list[Message]:
    """The top-level instructions; blank ones are no message, only spelling."""
    if type(system) is str and system:
        return [Message(_SYSTEM, (TextBlock(system),))]
    if type(system) is list and system:
        blocks = at_path(".system", read_parts, system, SYSTEM)
        return [Message(_SYSTEM, blocks, metadata=_LIST if string_of(system) else _PLAIN)]
    if system is not None and system != "" and system != []:
        raise ShapeError(".system", "a string or a list", system)
    preserved.keep_spelling("system", system)
    return []


# -- writing --------------------------------------------------------------------------------------


def _plain_text(message: Message) -> str | None:
    """The text of a message that has no other content or fields."""
    content = message.content
    if len(content) != 1 or message.name is not None or message.metadata is not NO_METADATA:
        return None
    block = content[0]
    if type(block) is not TextBlock or block.raw is not None or block.cache is not None:
        return None
    if block.signature is not None or block.citations or block.phase is not None:
        return None
    return block.text if message.changes is None else None


def _result_text(message: Message) -> str | None:
    """The text of a tool message with one result that is one text; None for all others."""
    content, metadata = message.content, message.metadata
    if len(content) != 1 or metadata.provider_raw is not None or metadata.diagnostics:
        return None
    block = content[0]
    if type(block) is not ToolResultBlock or block.raw is not None:
        return None
    if block.is_error or message.name is not None or message.changes is not None:
        return None
    content = block.content
    if len(content) != 1 or type(content[0]) is not TextBlock:
        return None
    words = content[0]
    if words.raw is not None or words.cache is not None or words.signature is not None:
        return None
    return None if words.citations or words.phase is not None else words.text


def _plain_result(message: Message) -> list[Wire] | None:
    """The part for a tool message with one result that is one text; None for all others."""
    words = _result_text(message)
    if not words:
        return None
    block: Any = message.content[0]
    parts = [{"type": "text", "text": words}]
    part: Wire = {"type": "tool_result", "tool_use_id": block.tool_use_id, "content": parts}
    if block.cache is not None:
        if block.cache.ttl not in _TTLS:
            return None
        part["cache_control"] = _breakpoint(block.cache)
    return [part]


def _breakpoint(cache: Cache) -> Wire:
    return {"type": "ephemeral"} if cache.ttl is None else {"type": "ephemeral", "ttl": cache.ttl}


_BREAKPOINTS = {
    ttl: b"," + encode_quickly({"cache_control": _breakpoint(Cache(ttl))})[1:-1] for ttl in _TTLS
}


def breakpoint_in(message: Message, cache: Cache) -> bytes | None:
    """As `BreakpointIn`: for a text of the user, or a result that is one text."""
    role = message.role
    words = _result_text(message) if role is _TOOL else role is _USER and _plain_text(message)
    return _BREAKPOINTS.get(cache.ttl) if words else None


def write_question(messages: tuple[Message, ...], out: Wire) -> bool:
    """`system` and `messages` of a body with one text of the user, perhaps behind instructions;
    False, with nothing written, for any other."""
    if len(messages) == 2:
        if messages[0].role is not _SYSTEM or not (system := _plain_text(messages[0])):
            return False
    elif len(messages) == 1:
        system = None
    else:
        return False
    question = messages[-1]
    if question.role is not _USER or not (words := _plain_text(question)):
        return False
    if system is not None:
        out["system"] = system
    out["messages"] = [{"role": "user", "content": [{"type": "text", "text": words}]}]
    return True


def write_messages(messages: tuple[Message, ...], out: Wire, changes: Writing) -> None:
    """`system` and `messages` of a body."""
    first = leading(messages, NAME)
    if first:
        plain = _plain_text(messages[0]) if first == 1 else None
        if plain and messages[0].role is _SYSTEM:
            out["system"] = plain
        else:
            _write_system(messages[:first], out, changes.recorder)
    recorder = changes.recorder
    writer = _Turns(recorder, _PLACEHOLDER, changes=changes, spelled=recorder.spelled)
    write_each(messages[first:] if first else messages, writer.turns, writer, recorder)
    out["messages"] = writer.turns


def _write_system(messages: tuple[Message, ...], out: Wire, recorder: LossRecorder) -> None:
    parts: list[Wire] = []
    raw = None
    for message in messages:
        raw = message.metadata.provider_raw
        if message.name is not None or message.role is not _SYSTEM:
            report_speaker(message, recorder)
        if message.changes is not None:
            report_changes(message, recorder)
        if raw is not None:
            recorder.unwritten_raw(message, raw, "metadata.provider_raw")
            for key in raw_of(NAME, raw):
                if key != "$form":
                    recorder.lost(message, f"metadata.provider_raw.{NAME}.{key}", severity="info")
        parts += write_parts(message.content, SYSTEM, recorder)
    text = string_of(parts)
    if raw is not None and spelling_of(NAME, raw).get("content") == "list":
        text = None
    if parts:
        out["system"] = text or parts


def _plain_answer(message: Message, silent: dict[int, Raw]) -> list[Wire] | None:
    """The parts of an assistant turn that has only signed thinking, text and calls; None for all
    others. `silent` collects every `raw` of which nothing is written."""
    metadata = message.metadata
    raw = metadata.provider_raw
    if raw is not None and id(raw) not in silent and not _found_silent(raw, silent):
        return None
    if metadata.diagnostics or message.name is not None or message.changes is not None:
        return None
    parts: list[Wire] = []
    block: Any
    for block in message.content:
        kind = type(block)
        raw = block.raw
        if block.cache is not None or (
            raw is not None and id(raw) not in silent and not _found_silent(raw, silent)
        ):
            return None
        if kind is ToolUseBlock and block.executor == "client" and block.signature is None:
            if block.call_type is not None or not (block.input or block.raw_arguments is None):
                return None
            parts.append(
                {"type": "tool_use", "id": block.id, "name": block.name, "input": block.input}
            )
        elif kind is TextBlock and block.text and raw is None and block.signature is None:
            if block.citations or block.phase is not None:
                return None
            parts.append({"type": "text", "text": block.text})
        elif kind is ThinkingBlock and block.signature and block.id is None:
            parts.append({"type": "thinking", "thinking": block.text, "signature": block.signature})
        else:
            return None
    return parts


def _found_silent(raw: Raw, silent: dict[int, Raw]) -> bool:
    if is_silent(raw):
        silent[id(raw)] = raw  # which stays alive, so that its identity does
        return True
    return False


class _Turns(Turns, kw_only=True):
    changes: Writing
    spelled: SpelledTexts | None = None
    silent: dict[int, Raw] = msgspec.field(default_factory=dict)

    def add(self, message: Message) -> None:
        role, parts = message.role, None
        if role is _ASSISTANT:
            word, parts = "assistant", _plain_answer(message, self.silent)
        elif role is _TOOL:
            word, parts = "user", _plain_result(message)
            if parts and self.spelled is not None:
                self.spelled.parts.append(parts[0]["content"][0])
        elif role is _USER and self.role != "user" and (words := _plain_text(message)):
            word, parts = "user", [{"type": "text", "text": words}]
        if not parts:
            self._add(message)
        elif word == self.role:
            self.parts.extend(parts)
        else:
            self.turns.append({"role": word, "content": parts})
            self.role, self.parts = word, parts

    def _add(self, message: Message) -> None:
        metadata, by = message.metadata, message.role
        role, scope = _TURNS[by]
        parts = write_parts(message.content, scope, self.recorder)
        if message.changes is not None:
            if role == "system":
                self._add_changes(message, self.changes.parts(message, parts))
                return
            report_changes(message, self.recorder)
        if by is not _ASSISTANT or message.name is not None:
            report_speaker(message, self.recorder)
        if metadata.diagnostics:
            calls.report_repaired(message, self.recorder)
        raw = metadata.provider_raw
        if raw is not None and not is_silent(raw):
            self.recorder.unwritten_raw(message, raw, "metadata.provider_raw")
            if NAME in raw:
                self._add_spelled(message, role, parts, spelling_of(NAME, raw))
                return
        if parts or self.fill(message, role, parts):
            self.join(role, parts)

    def _add_spelled(self, message: Message, role: str, parts: list[Wire], spelling: Wire) -> None:
        """A message that remembers how it was spelled."""
        apart = bool(spelling.get("apart"))
        turn = _short(message, role, parts, spelling)
        if turn is not None and (apart or role != self.role or not parts):
            self.close(turn)
        elif parts or self.fill(message, role, parts):
            self.join(role, parts, apart)
        else:
            return
        if type(self.turns[-1]) is dict:
            own_raw = raw_of(NAME, message.metadata.provider_raw)
            restore_raw(self.turns[-1], message, {NAME: own_raw}, self.recorder)

    def _add_changes(self, message: Message, parts: list[Wire]) -> None:
        """Adds a system turn with its changes: never joined with another turn."""
        report_speaker(message, self.recorder)
        keys, raw = self.changes.keys(message), message.metadata.provider_raw
        spelling = spelling_of(NAME, raw)
        turn = _short(message, "system", parts, spelling) if spelling else None
        if turn is None or (parts and type(turn) is dict and not turn.get("content")):
            turn = {"role": "system", "content": parts}
        if not parts and not keys and "content" not in spelling:
            return
        if type(turn) is dict:
            turn.update(keys)
            restore_raw(turn, message, raw, self.recorder, "metadata.provider_raw")
        self.close(turn)


def _short(message: Message, role: str, parts: list[Wire], spelling: Wire) -> Any:
    """The turn in its short form, if it had that form and still can have it."""
    shape = spelling.get("content")
    text = string_of(parts) if parts else "" if not message.content else None
    if text is not None and spelling.get("bare"):
        return text
    if text is not None and shape == "string":
        return {"role": role, "content": text}
    if message.content or shape not in ("list", "null", "none"):
        return None
    if shape == "none":
        return {"role": role}
    return {"role": role, "content": None if shape == "null" else []}
