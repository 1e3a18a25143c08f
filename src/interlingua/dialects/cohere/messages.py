"""Messages: a list of content with a plan, calls and citations beside it; results are messages of
their own. A content that is one text may be spelled as such.

The wire has no flag for a failed result, so that a mark stands before its text. Documents of users
stand beside all messages (`request.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from interlingua.dialects.cohere.tables import CITED_PLAN, JOINER, NAME, ROLES
from interlingua.dialects.cohere.text import (
    is_commentary,
    is_unread_call,
    read_call,
    read_citation,
    read_document,
    read_image,
    read_output,
    read_plan,
    read_text,
    read_thinking,
    target_of,
    was_plan,
    write_call,
    write_citation,
    write_compaction,
    write_document,
    write_image,
    write_output,
    write_plan,
    write_refusal,
    write_text,
    write_thinking,
    write_unknown,
)
from interlingua.dialects.kernel.calls import OpenCalls
from interlingua.dialects.kernel.errors import ShapeError, at_path, read_each, require, unknown_word
from interlingua.dialects.kernel.fields import QUIET, Table, constant, plain
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
from interlingua.dialects.kernel.words import ERROR_MARK, PLACEHOLDER, report_changes, take_mark
from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.ids import synthetic_tool_id
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata
from interlingua.model.reasons import because

_MADE_HERE = MessageMetadata(protocol=NAME)


class Parts(msgspec.Struct):
    """A message of the wire, between blocks and keys. Its content is beside it."""

    plan: str | None = None
    tool_calls: list[Any] | None = None
    citations: list[Any] | None = None
    tool_call_id: str | None = None


MESSAGE = Table(
    Parts,
    plain("tool_plan", "plan", str, blank=True),
    plain("tool_calls", "tool_calls", list, blank=True),
    plain("citations", "citations", list, blank=True),
    beside=("role", "content"),
)
RESULT = Table(
    Parts,
    plain("tool_call_id", "tool_call_id", str, blank=True),
    constant("role", "tool"),
    beside=("content",),
)


# -- reading --------------------------------------------------------------------------------------


def read_messages(listed: list[Any]) -> tuple[Message, ...]:
    return read_list(listed, _read_message)


def _read_message(wire: Wire, position: int, calls: OpenCalls) -> Message:
    role = ROLES.read(require(wire.get("role"), str, ".role"))
    if role is None:
        raise unknown_word(".role", ("system", "user", "assistant", "tool"), wire["role"])
    if role is Role.TOOL:
        return _read_result(wire, position, calls)
    found: list[Diagnostic] = []
    blocks, preserved = read_content(wire, position, found)
    return message_of(_MADE_HERE, role, blocks, preserved.raw(NAME), found, calls)


def read_content(
    wire: Wire, origin: Any, found: list[Diagnostic], is_answer: bool = False
) -> tuple[tuple[Block, ...], Preserved]:
    """The blocks of a message: content, plan, calls. `place` makes ids of calls without one."""
    preserved = Preserved()
    attrs = MESSAGE.read(wire, preserved)
    calls = read_calls(attrs.get("tool_calls") or [], read_call, origin, 0, found)
    blocks = _read_parts(wire, preserved, is_answer)
    if "content" not in wire and not calls and "plan" not in attrs:
        preserved.mark_absent("content")
    texts: dict[Any, Block] = dict(enumerate(blocks))
    if "plan" in attrs:
        has_call = bool(calls) and type(calls[0]) is ToolUseBlock
        texts[CITED_PLAN] = read_plan(attrs["plan"], has_call)
    if "citations" in attrs:
        read_citations(attrs["citations"], texts, preserved)
    return (*texts.values(), *calls), preserved


def _read_parts(
    wire: Wire, preserved: Preserved, is_answer: bool = False, is_result: bool = False
) -> list[Block]:
    content = wire.get("content")
    if not content and type(content) in (str, list, type(None)):
        if "content" in wire:
            preserved.keep_spelling("content", content)
        return []
    if type(content) is str:
        if is_answer:
            preserved.spelling["bare"] = True
        return [TextBlock(content)]
    if type(content) is not list:
        raise ShapeError(".content", "a string or a list", content)
    if len(content) == 1 and _is_bare(content[0]) and not is_answer:
        preserved.spelling["listed"] = True
    return read_each(content, ".content", _read_result_part if is_result else read_part)


def _is_bare(part: Any) -> bool:
    """Whether an item contains no more than a string would."""
    is_text = type(part) is dict and len(part) == 2 and part.get("type") == "text"
    return is_text and type(part.get("text")) is str and part["text"] != ""


def read_part(part: Any) -> Block:
    match require(part, dict).get("type"):
        case "text":
            return read_text(part)
        case "thinking":
            return read_thinking(part)
        case "image_url":
            return read_image(part)
        case "document" if len(part) == 2 and "document" in part:
            return read_document(part["document"])
    return UnknownBlock({NAME: part})


def _read_result_part(part: Any) -> Block:
    is_document = require(part, dict).get("type") == "document" and len(part) == 2
    return read_output(part) if is_document and "document" in part else read_part(part)


def read_citations(listed: list[Any], texts: dict[Any, Block], preserved: Preserved) -> None:
    """Give each citation to its text. Those of thinking stay with the message."""
    targets = read_each(listed, ".citations", lambda wire: _cited(target_of(wire), texts))
    natural: list[int] = []
    for target, block in texts.items():
        numbers = [number for number, other in enumerate(targets) if other == target]
        if numbers and type(block) is TextBlock:
            cited = [
                at_path(f".citations[{number}]", read_citation, listed[number], block.text)
                for number in numbers
            ]
            texts[target] = block.replace(citations=tuple(cited))
            natural += numbers
    others = [number for number, target in enumerate(targets) if target is None]
    if others:
        preserved.rest["citations"] = [listed[number] for number in others]
    if (natural := [*natural, *others]) != sorted(natural):
        preserved.spelling["order"] = natural


def _cited(target: Any, texts: dict[Any, Block]) -> Any:
    return target if type(texts.get(target)) is TextBlock else None


def _read_result(wire: Wire, position: int, calls: OpenCalls) -> Message:
    preserved = Preserved()
    attrs, content = RESULT.read(wire, preserved), _read_parts(wire, preserved, is_result=True)
    if "content" not in wire:
        preserved.mark_absent("content")
    id = attrs.get("tool_call_id")
    # a mark is a text of its own: data that begins like one is the tool's
    is_data = bool(content) and "document" in spelling_of(NAME, content[0].raw)
    if failed := not is_data and take_mark(content):
        preserved.spelling["marked"] = True
    if id is None:
        id = calls.first(None) or synthetic_tool_id(position, 0, "")
        preserved.spelling["made"] = id
    calls.close(id)
    inner: Any = tuple(content)
    return Message.of_result(ToolResultBlock(id, inner, failed, raw=preserved.raw(NAME)))


# -- writing --------------------------------------------------------------------------------------


def write_messages(messages: tuple[Message, ...], recorder: LossRecorder) -> list[Wire]:
    writer = _Writer(recorder)
    write_each(messages, writer.wires, writer, recorder)
    return writer.wires


class _Writer:
    """Messages as they are written; none depends on another."""

    role: str | None = None

    def __init__(self, recorder: LossRecorder) -> None:
        self.wires: list[Wire] = []
        self._recorder = recorder

    def skip(self, messages: tuple[Message, ...]) -> None:
        """Nothing of them matters to others."""

    def add(self, message: Message) -> None:
        recorder = self._recorder
        if message.name is not None:
            recorder.lost(message, "name")
        if message.changes is not None:
            report_changes(message, recorder)
            if not message.content:
                return
        if message.role is Role.TOOL:
            write = partial(_write_result, recorder=recorder)
            self.wires += write_results(message, write, recorder)
        else:
            self.wires.append(write_message(message, recorder))


def write_message(message: Message, recorder: LossRecorder, is_answer: bool = False) -> Wire:
    raw, role = message.metadata.provider_raw, message.role
    own_raw = raw_of(NAME, raw)
    out: Wire = {"role": _write_role(message, recorder)}
    if role is Role.ASSISTANT:
        parts, content = write_parts(message.content, own_raw, recorder)
        MESSAGE.write(parts, out, own_raw, QUIET)
    else:
        writers = _USER_WRITERS if message.role is Role.USER else _SHARED_WRITERS
        content = _write_content(message.content, writers, recorder)
    if message.content and not content and len(out) == 1 and _is_left_empty(message, own_raw):
        reason = because("message_replaced")
        recorder.lost(message, "content", reason, kind="approximated")
        content = [{"type": "text", "text": PLACEHOLDER}]
    _spell_content(out, content, own_raw, is_answer)
    return out if raw is None else restore_raw(out, message, raw, recorder, "metadata.provider_raw")


def _is_left_empty(message: Message, own_raw: Wire) -> bool:
    """Whether a message has nothing left, and had something."""
    documents = message.role is Role.USER and was_absent(own_raw, "content")
    return not (documents and all(type(block) is DocumentBlock for block in message.content))


def _write_role(message: Message, recorder: LossRecorder) -> str:
    word = ROLES.write(message.role)
    if word is None:
        recorder.lost(message, "role", because("instructions_one_level"), kind="downgraded")
        return "system"
    return word


def _spell_content(out: Wire, content: list[Wire], own_raw: Wire, is_answer: bool) -> None:
    if not content:
        if len(out) == 1 and not was_absent(own_raw, "content"):
            out["content"] = [] if is_answer else ""
    else:
        word = "bare" if is_answer else "listed"
        is_bare = len(content) == 1 and _is_bare(content[0])
        is_text = is_bare and (word in spelling_in(own_raw)) is is_answer
        out["content"] = content[0]["text"] if is_text else content


_Writers = dict[type[Any], Callable[[Any, LossRecorder], Any]]
_WRITERS: _Writers = {
    TextBlock: write_text,
    ThinkingBlock: write_thinking,
    RefusalBlock: write_refusal,
    CompactionBlock: write_compaction,
    UnknownBlock: write_unknown,
}
"""Writers for an assistant's content."""
_SHARED_WRITERS: _Writers = {
    **{kind: _WRITERS[kind] for kind in (TextBlock, CompactionBlock, UnknownBlock)},
    ImageBlock: write_image,
}
_USER_WRITERS: _Writers = {
    **_SHARED_WRITERS,
    DocumentBlock: lambda block, recorder: None,  # beside the messages
}
_RESULT_WRITERS: _Writers = {
    TextBlock: lambda block, recorder: write_output(block, recorder) or write_text(block, recorder),
    UnknownBlock: write_unknown,
    DocumentBlock: lambda block, recorder: _document_part(block, recorder),
}


def _document_part(block: DocumentBlock, recorder: LossRecorder) -> Wire | None:
    document = write_document(block, recorder)
    return None if document is None else {"type": "document", "document": document}


def _write_content(
    content: tuple[Any, ...], writers: _Writers, recorder: LossRecorder
) -> list[Wire]:
    written: list[Wire] = []
    for block in content:
        part = writers.get(type(block), _drop)(block, recorder)
        if part is not None:
            written.append(part)
        if type(block) is TextBlock and block.citations:
            recorder.lost(block, "citations", because("citations_role"))
    return written


def _drop(block: Block, recorder: LossRecorder) -> None:
    recorder.dropped(block)


def write_parts(
    content: tuple[Any, ...], own_raw: Wire, recorder: LossRecorder
) -> tuple[Parts, list[Wire]]:
    """The parts for an assistant's blocks: a plan, calls and citations, and the content itself."""
    ranks = _ranks(content)
    _report_moved(content, ranks, recorder)
    parts, texts = _write_numbered(_of_rank(content, ranks, _CONTENT), recorder)
    plans = _of_rank(content, ranks, _PLAN)
    plan = _write_plans(plans, recorder)
    calls = [_write_call(block, recorder) for block in _of_rank(content, ranks, _CALL)]
    cited = [
        write_citation(citation, block, index, recorder)
        for block, index in [*texts, *[(block, None) for block in plans[:1]]]
        for citation in block.citations
    ]
    listed = [call for call in calls if call is not None]
    return Parts(plan, listed or None, in_order(cited, own_raw) or None), parts


_CONTENT, _PLAN, _CALL = range(3)
"""In the order in which reading gives the blocks."""


def _ranks(content: tuple[Any, ...]) -> list[int]:
    """The list of the message for each block. Commentary before a call is the plan; in a stream,
    that is all that is known."""
    ranks: list[int] = []
    before_call = False
    for block in reversed(content):
        rank = _rank(block)
        if rank == _CONTENT and is_commentary(block) and (before_call or was_plan(block)):
            rank = _PLAN
        before_call = rank == _PLAN or (type(block) is ToolUseBlock and block.executor == "client")
        ranks.append(rank)
    return ranks[::-1]


def _rank(block: Block) -> int:
    if type(block) is UnknownBlock:
        return _CALL if is_unread_call(block) else _CONTENT
    return _CALL if type(block) is ToolUseBlock else _CONTENT


def _of_rank(content: tuple[Any, ...], ranks: list[int], rank_wanted: int) -> list[Any]:
    return [block for block, rank in zip(content, ranks, strict=True) if rank == rank_wanted]


def _report_moved(content: tuple[Block, ...], ranks: list[int], recorder: LossRecorder) -> None:
    least = _CALL
    for block, rank in zip(reversed(content), reversed(ranks), strict=True):
        if rank > least:
            reason = because("order_fixed")
            recorder.lost(block, None, reason, kind="moved")
        least = min(least, rank)


def _write_numbered(
    blocks: list[Any], recorder: LossRecorder
) -> tuple[list[Wire], list[tuple[TextBlock, int]]]:
    """The content, and which item of it each text is."""
    parts: list[Wire] = []
    texts: list[tuple[TextBlock, int]] = []
    for block in blocks:
        part = _WRITERS.get(type(block), _drop)(block, recorder)
        if part is None:
            continue
        if type(block) is TextBlock:
            texts.append((block, len(parts)))
        parts.append(part)
    return parts, texts


def _write_plans(plans: list[TextBlock], recorder: LossRecorder) -> str | None:
    for block in plans[1:]:
        reason = because("joined")
        recorder.lost(block, None, reason, kind="approximated")
        if block.citations:
            recorder.lost(block, "citations", reason)
    return JOINER.join([write_plan(block, recorder) for block in plans]) or None


def _write_call(block: Any, recorder: LossRecorder) -> Wire | None:
    write: Any = write_call if type(block) is ToolUseBlock else write_unknown
    call: Wire | None = write(block, recorder)
    return call


def in_order(cited: list[Wire], own_raw: Wire) -> list[Wire]:
    """Citations in their original order, including those that stayed with the message."""
    order, others = spelling_in(own_raw).get("order"), own_raw.get("citations")
    every = [*cited, *(others if type(others) is list else [])] if cited else cited
    if type(order) is not list or sorted(order) != list(range(len(every))):
        return every
    return [citation for _, citation in sorted(zip(order, every, strict=True), key=_number)]


def _number(pair: tuple[int, Wire]) -> int:
    return pair[0]


# -- results --------------------------------------------------------------------------------------


def _write_result(block: ToolResultBlock, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, block.raw)
    content = _write_content(block.content, _RESULT_WRITERS, recorder)
    if block.is_error:
        # mark the result as a failure
        if content and content[0].get("type") == "text":
            content[0] = {**content[0], "text": ERROR_MARK + content[0]["text"]}
        else:
            content.insert(0, {"type": "text", "text": ERROR_MARK})
        if "marked" not in spelling_in(own_raw):
            reason = because("error_marked")
            recorder.lost(block, "is_error", reason, kind="downgraded")
    if block.tool_name is not None and block.tool_name != recorder.called(block):
        recorder.lost(block, "tool_name")
    if block.cache is not None:
        recorder.lost(block, "cache")
    id = None if spelling_in(own_raw).get("made") == block.tool_use_id else block.tool_use_id
    out: Wire = {}
    RESULT.write(Parts(tool_call_id=id), out, own_raw, QUIET)
    if content:
        _spell_content(out, content, own_raw, is_answer=False)
    elif not was_absent(own_raw, "content"):
        out["content"] = ""
    return out if block.raw is None else restore_raw(out, block, block.raw, recorder)
