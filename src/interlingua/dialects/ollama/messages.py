"""Messages: one text with thinking, images and calls beside it; results are messages of their own.

A failed result has no flag, so a mark precedes its text. A result may come without an id and then
answers the first open call of its name; a call without an id gets a synthetic one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from interlingua.dialects.kernel.calls import (
    UNSIGNED,
    OpenCalls,
    arguments_field,
    is_named,
    read_named,
)
from interlingua.dialects.kernel.errors import read_each, require
from interlingua.dialects.kernel.fields import (
    QUIET,
    Field,
    Reading,
    Table,
    constant,
    inside,
    plain,
    spelling,
)
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    spelling_of,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.turns import (
    message_of,
    read_calls,
    read_list,
    write_each,
    write_results,
)
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import (
    ERROR_MARK,
    IMAGE_STARTS,
    compaction_as_text,
    data_url,
    document_text,
    placeholder,
    report_changes,
    url_of,
    write_unknown,
)
from interlingua.dialects.kernel.words import FORM as DATA_URL
from interlingua.dialects.ollama.tables import JOINER, JOINERS, NAME, ROLES, WORDS
from interlingua.model import arguments
from interlingua.model import blocks as model
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import is_synthetic_tool_id, synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because

_WRITTEN_IMAGE = frozenset({"source", "media_type"})


def read_image(data: Any) -> ImageBlock:
    if (inline := data_url(require(data, str))) is not None:
        return ImageBlock(
            inline.source, inline.media_type, raw={NAME: {"$form": {DATA_URL: inline.head}}}
        )
    return ImageBlock(Source("base64", require(data, str)), IMAGE_STARTS.get(data[:4]))


def read_shown_image(data: Any) -> ImageBlock:
    """An image of an answer. The official client accepts none there (ollama-python 0.6.3, read
    2026-11), so only images that were read there are written."""
    image = read_image(data)
    return image.replace(raw={NAME: {"$form": {**spelling_of(NAME, image.raw), "shown": True}}})


def write_image(block: ImageBlock, recorder: LossRecorder) -> str | None:
    source = block.source
    if source.kind != "base64" or source.data is None:
        recorder.dropped(block, because("image_inline_only"))
        return None
    if (url := url_of(NAME, block)) is not None:
        recorder.unwritten(block, _WRITTEN_IMAGE)
        return url
    if block.media_type not in (None, IMAGE_STARTS.get(source.data[:4])):
        recorder.lost(block, "media_type", because("type_by_data"))
    recorder.unwritten(block, _WRITTEN_IMAGE)
    return source.data


def write_shown_image(block: ImageBlock, recorder: LossRecorder) -> str | None:
    if "shown" in spelling_of(NAME, block.raw):
        return write_image(block, recorder)
    recorder.dropped(block, because("answer_without_images"))
    return None


def written_id(id: str) -> str | None:
    """An id that was made for a call without one is not written."""
    return None if is_synthetic_tool_id(id) else id


def _read_arguments(value: Any) -> Reading:
    if type(value) is str:
        return {"input": arguments.recover(value).input, "raw_arguments": value}
    return {"input": require(value, dict)}


CALL = Table(
    ToolUseBlock,
    Field(
        "id",
        ("id",),
        lambda value: {"id": require(value, str)} if value else {},
        lambda call, _: written_id(call.id),
    ),
    spelling("type"),
    inside(
        "function",
        plain("name", "name", str),
        arguments_field("arguments", _read_arguments),
        spelling("index"),
    ),
    *UNSIGNED,
    silent=("executor",),
)


def read_call(wire: Any, origin: Any, ordinal: int, found: list[Diagnostic]) -> Any:
    """One of `tool_calls`; `place` makes the id of a call that has none."""
    if not is_named(require(wire, dict)):
        return UnknownBlock({NAME: wire})
    function = wire["function"]
    if len(wire) == 2 and len(function) == 2:  # the usual call
        id, arguments_ = wire.get("id"), function.get("arguments")
        if type(id) is str and id and type(arguments_) is dict and not id.startswith("il_"):
            return ToolUseBlock(id, function["name"], arguments_)
    return _read_call(wire, origin, ordinal, found)


def _read_call(wire: Wire, origin: Any, ordinal: int, found: list[Diagnostic]) -> ToolUseBlock:
    preserved = Preserved()
    new_id = synthetic_tool_id(origin, ordinal, wire["function"]["name"])
    return ToolUseBlock(**read_named(wire, CALL, preserved, new_id, found), raw=preserved.raw(NAME))


def write_call(call: ToolUseBlock, recorder: LossRecorder) -> Wire | None:
    if call.executor != "client":
        recorder.dropped(call, because("no_hosted_tools"))
        return None
    if call.raw is None and _is_usual(call):
        return {"id": call.id, "function": {"name": call.name, "arguments": call.input}}
    return CALL.write_value(call, recorder)


def _is_usual(call: ToolUseBlock) -> bool:
    beside = call.raw_arguments or call.signature or call.call_type or call.cache or call.caller
    return not beside and not call.id.startswith("il_")


_WRITTEN = frozenset({"text"})


def write_text(block: model.TextBlock, recorder: LossRecorder) -> str | None:
    if not block.text:
        recorder.dropped(block, because("empty"))
        return None
    if block.signature or block.citations or block.cache or block.raw or block.phase:
        recorder.unwritten(block, _WRITTEN)
    return block.text


def write_thinking(block: model.ThinkingBlock, recorder: LossRecorder) -> str | None:
    if not block.text:
        recorder.dropped(block, because("encrypted_foreign"))
        return None
    recorder.unwritten(block, _WRITTEN)
    return block.text


def write_refusal(block: model.RefusalBlock, recorder: LossRecorder) -> str:
    recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    return block.text


def write_compaction(block: model.CompactionBlock, recorder: LossRecorder) -> str | None:
    text = compaction_as_text(block, recorder)
    return None if text is None else write_text(text, recorder)


def write_document(block: model.DocumentBlock, recorder: LossRecorder) -> str | None:
    text = document_text(block.source, JOINER)
    if text is None:
        recorder.dropped(block)
    else:
        recorder.lost(block, None, because("sent_as_text"), kind="downgraded")
    return text


_MADE_HERE = MessageMetadata(protocol=NAME)
# Bound once: looking up a member of an enum takes as long as writing a message.
_USER, _ASSISTANT, _TOOL = Role.USER, Role.ASSISTANT, Role.TOOL
_SYSTEM, _DEVELOPER = Role.SYSTEM, Role.DEVELOPER


class Parts(msgspec.Struct):
    """A message of the wire, between blocks and keys."""

    role: Role
    content: str | None = None
    thinking: str | None = None
    images: list[Any] | None = None
    tool_calls: list[Any] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    called: str | None = None
    """For a result: the name of its call."""


def _read_role(value: Any) -> Reading:
    role = ROLES.get(require(value, str).lower(), _SYSTEM)
    return {"role": _SYSTEM if role is _TOOL else role}


_BESIDE = (
    plain("thinking", "thinking", str, blank=True),
    plain("images", "images", list, blank=True),
    plain("tool_calls", "tool_calls", list, blank=True),
)
_TEXT = plain("content", "content", str, fill=lambda _: "")
MESSAGE = Table(
    Parts,
    Field("role", ("role",), _read_role, lambda parts, _: WORDS[parts.role], few=True),
    _TEXT,
    *_BESIDE,
)
ANSWER = Table(Parts, constant("role", "assistant", str), _TEXT, *_BESIDE, silent=("role",))
"""The message of a response."""
RESULT = Table(
    Parts,
    constant("role", "tool", str),
    _TEXT,
    _BESIDE[1],
    plain("tool_name", "tool_name", str, fill=lambda parts: parts.called),
    Field(
        "tool_call_id",
        ("tool_call_id",),
        lambda value: {"tool_call_id": require(value, str)} if value != "" else {},
        lambda parts, _: written_id(parts.tool_call_id),
        fill=lambda _: None,
    ),
    silent=("role", "called"),
)


# -- reading --------------------------------------------------------------------------------------


def read_messages(listed: list[Any]) -> tuple[Message, ...]:
    return read_list(listed, _read_message)


def _read_message(wire: Wire, position: int, calls: OpenCalls) -> Message:
    word = wire.get("role")
    if len(wire) == 2:  # a text: what most messages are
        text = wire.get("content")
        if type(text) is str:
            content = (TextBlock(text),) if text else ()
            if word == "user":
                return Message(_USER, content)
            if word == "assistant":
                return Message(_ASSISTANT, content, metadata=_MADE_HERE)
            if word == "system":
                return Message(_SYSTEM, content)
    if word == "tool":
        return _read_result(wire, position, calls)
    return _read_other(wire, position, calls)


def _read_other(wire: Wire, position: int, calls: OpenCalls) -> Message:
    preserved = Preserved()
    found: list[Diagnostic] = []
    attrs = MESSAGE.read(wire, preserved)
    if "role" not in attrs:
        require(None, str, ".role")
    content = tuple(read_blocks(attrs, position, found))
    return message_of(_MADE_HERE, attrs["role"], content, preserved.raw(NAME), found, calls)


def read_blocks(
    attrs: Wire, origin: Any, found: list[Diagnostic], is_answer: bool = False
) -> list[Block]:
    """The blocks of a message, in the order in which templates use them."""
    blocks: list[Block] = []
    if "thinking" in attrs:
        blocks.append(ThinkingBlock(attrs["thinking"]))
    if attrs.get("content"):
        blocks.append(TextBlock(attrs["content"]))
    if "images" in attrs:
        read = read_shown_image if is_answer else read_image
        blocks += read_each(attrs["images"], ".images", read)
    if "tool_calls" in attrs:
        blocks += read_calls(attrs["tool_calls"], read_call, origin, 0, found)
    return blocks


def _read_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    text, name, id = wire.get("content"), wire.get("tool_name"), wire.get("tool_call_id")
    plain = type(text) is str and type(name) is str and type(id) is str and len(wire) == 4
    if plain and text and id and not (text.startswith(ERROR_MARK) or id.startswith("il_")):
        calls.close(id)  # the usual result
        return Message.of_result(ToolResultBlock(id, (TextBlock(text),), False, name))
    return _read_any_result(wire, position, calls)


def _read_any_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    preserved = Preserved()
    attrs = RESULT.read(wire, preserved)
    text, name, id = attrs.get("content", ""), attrs.get("tool_name"), attrs.get("tool_call_id")
    failed = text.startswith(ERROR_MARK)
    if failed:
        attrs["content"] = text[len(ERROR_MARK) :]
        preserved.spelling["marked"] = True
    if id is None:
        id = calls.first(name or None) or synthetic_tool_id(position, 0, name or "")
    calls.close(id)
    content: Any = tuple(read_blocks(attrs, position, []))
    return Message.of_result(ToolResultBlock(id, content, failed, name, raw=preserved.raw(NAME)))


# -- writing --------------------------------------------------------------------------------------


def write_messages(messages: tuple[Message, ...], recorder: LossRecorder) -> list[Wire]:
    writer = _Writer(recorder)
    write_each(messages, writer.wires, writer, recorder)
    return writer.wires


class _Writer:
    """Messages as they are written; results name their calls."""

    role: str | None = None

    def __init__(self, recorder: LossRecorder) -> None:
        self.wires: list[Wire] = []
        self._recorder, self._calls = recorder, OpenCalls()

    def skip(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            if message.role is not _TOOL:
                self._open(message)
                continue
            for block in message.content:
                if type(block) is ToolResultBlock:
                    self._calls.close(block.tool_use_id)

    def add(self, message: Message) -> None:
        recorder = self._recorder
        if message.name is not None:
            recorder.lost(message, "name")
        if message.changes is not None:
            report_changes(message, recorder)
            if not message.content:
                return
        if message.role is _TOOL:
            write = partial(_write_result, calls=self._calls, recorder=recorder)
            self.wires += write_results(message, write, recorder)
        else:
            self.wires.append(write_message(message, recorder))
            self._open(message)

    def _open(self, message: Message) -> None:
        for block in message.content:
            if type(block) is model.ToolUseBlock:
                self._calls.add(block.id, block.name)


def write_message(message: Message, recorder: LossRecorder, is_answer: bool = False) -> Wire:
    content, role, raw = message.content, message.role, message.metadata.provider_raw
    if raw is None and len(content) == 1 and role is not _DEVELOPER:
        only = content[0]
        if type(only) is TextBlock and only.text:  # a text: what most messages are
            return {"role": WORDS[role], "content": write_text(only, recorder)}
    parts = write_parts(content, role, recorder, is_answer)
    if content and is_empty(parts) and not all(map(_is_blank, content)):
        parts.content = placeholder(message, recorder)
    if raw is None and role is not _DEVELOPER:
        return usual_wire(parts)
    out: Wire = {}
    (ANSWER if is_answer else MESSAGE).write(parts, out, raw_of(NAME, raw), QUIET)
    if role is _DEVELOPER and out.get("role") == "system":
        recorder.lost(message, "role", because("instructions_one_level"), kind="downgraded")
    return out if raw is None else restore_raw(out, message, raw, recorder, "metadata.provider_raw")


def usual_wire(parts: Parts) -> Wire:
    """The output of the tables without preserved data."""
    out: Wire = {"role": WORDS[parts.role], "content": parts.content or ""}
    for key in _BESIDE_TEXT:
        item = getattr(parts, key)
        if item is not None:
            out[key] = item
    return out


_BESIDE_TEXT = ("thinking", "images", "tool_calls", "tool_name", "tool_call_id")
_KEYS = ("thinking", "content", "images", "tool_calls")
"""In the order in which reading gives the blocks."""
_Writers = dict[type[Any], tuple[int, Callable[[Any, LossRecorder], Any]]]
_WRITERS: _Writers = {
    ThinkingBlock: (0, write_thinking),
    TextBlock: (1, write_text),
    model.RefusalBlock: (1, write_refusal),
    model.CompactionBlock: (1, write_compaction),
    model.DocumentBlock: (1, write_document),
    ImageBlock: (2, write_image),
    model.ToolUseBlock: (3, write_call),
    model.UnknownBlock: (3, write_unknown),
}
_ANSWER_WRITERS: _Writers = {**_WRITERS, ImageBlock: (2, write_shown_image)}


def write_parts(
    content: tuple[Any, ...], role: Role, recorder: LossRecorder, is_answer: bool = False
) -> Parts:
    """The parts for the blocks of one message."""
    if len(content) == 1 and type(content[0]) is TextBlock:
        return Parts(role, write_text(content[0], recorder))
    _report_moved(content, recorder)
    writers = _ANSWER_WRITERS if is_answer else _WRITERS
    ranked: tuple[list[Any], ...] = ([], [], [], [])
    thoughts: list[ThinkingBlock] = []
    for block in content:
        rank, write = writers.get(type(block), (1, _drop))
        item = write(block, recorder)
        if item is None:
            continue
        if rank == 0:
            thoughts.append(block)
        elif rank == 1 and ranked[1]:
            reason = because("joined")
            recorder.lost(block, None, reason, kind="approximated")
        ranked[rank].append(item)
    if len(thoughts) > 1:
        reason = because("joined")
        for thought in thoughts:
            recorder.lost(thought, None, reason, kind="approximated")
    text, thinking = JOINERS.get(role, JOINER).join(ranked[1]), "\n".join(ranked[0])
    return Parts(role, text or None, thinking or None, ranked[2] or None, ranked[3] or None)


def _drop(block: Block, recorder: LossRecorder) -> None:
    recorder.dropped(block)


def _report_moved(content: tuple[Block, ...], recorder: LossRecorder) -> None:
    """Reports blocks that move, because the order is fixed: thinking, text, images, calls."""
    least = len(_KEYS)
    for block in reversed(content):
        rank = _WRITERS.get(type(block), (1, None))[0]
        if rank > least:
            reason = because("order_fixed")
            recorder.lost(block, None, reason, kind="moved")
        least = min(least, rank)


def _is_blank(block: Block) -> bool:
    return type(block) is TextBlock and not block.text


def is_empty(parts: Parts) -> bool:
    return not (parts.content or parts.thinking or parts.images or parts.tool_calls)


def _write_result(block: ToolResultBlock, calls: OpenCalls, recorder: LossRecorder) -> Wire:
    own_raw, id = raw_of(NAME, block.raw), block.tool_use_id
    parts = write_parts(block.content, _TOOL, recorder)
    if block.is_error:
        parts.content = ERROR_MARK + (parts.content or "")
        if "marked" not in spelling_in(own_raw):
            reason = because("error_marked")
            recorder.lost(block, "is_error", reason, kind="downgraded")
    if block.cache is not None:
        recorder.lost(block, "cache")
    parts.tool_name, parts.called = block.tool_name, calls.name_of(id)
    if not (was_absent(own_raw, "tool_call_id") and calls.first(block.tool_name or None) == id):
        parts.tool_call_id = id
    calls.close(id)
    if block.raw is None and not id.startswith("il_"):
        parts.tool_name = parts.called if parts.tool_name is None else parts.tool_name
        return usual_wire(parts)
    out: Wire = {}
    RESULT.write(parts, out, own_raw, QUIET)
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)
