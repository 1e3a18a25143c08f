"""Chat requests: a flat list of messages, the documents that answers may cite, and the body around
them. Documents belong to the first message of the user, since no other value has a place for them.
Requests of v1 are read, and written again, in `v1`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.cohere import v1_request as v1
from interlingua.dialects.cohere.messages import read_messages, write_messages
from interlingua.dialects.cohere.options import OPTIONS, read_tools, write_tools
from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.cohere.text import read_document, write_document
from interlingua.dialects.kernel.errors import read_each, read_whole
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import unchecked
from interlingua.model.blocks import Block, DocumentBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.reasons import because

_OF_V1 = frozenset({"message", "chat_history"})


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body contains model and stream; `model` is for a body without one."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    if "messages" not in wire and not _OF_V1.isdisjoint(wire):
        request, preserved = v1.read(wire, model)
        messages = request.messages
        if "documents" in wire:
            messages = _with_documents(messages, wire["documents"], preserved, v1.read_flat)
        return request.replace(messages=messages, raw=preserved.raw(NAME))
    preserved = Preserved()
    named = preserved.take(wire, "model", str)
    messages = read_messages(preserved.take(wire, "messages", list) or [])
    tools = read_tools(wire, preserved)
    options = unchecked(Options, **OPTIONS.read(wire, preserved))
    if "documents" in wire:
        messages = _with_documents(messages, wire["documents"], preserved)
    return unchecked(Request, messages, named or model, tools, options, raw=preserved.raw(NAME))


def _with_documents(
    messages: tuple[Message, ...],
    listed: Any,
    preserved: Preserved,
    read: Callable[[Any], Block] = read_document,
) -> tuple[Message, ...]:
    documents: list[Block] = [] if listed is None else read_each(listed, ".documents", read)
    if not documents:
        preserved.keep_spelling("documents", listed)
        return messages
    at = next((n for n, message in enumerate(messages) if message.role is Role.USER), None)
    if at is None or not all(type(block) is DocumentBlock for block in documents):
        preserved.rest["documents"] = listed
        return messages
    question = messages[at]
    new = question.replace(content=(*documents, *question.content))
    return (*messages[:at], new, *messages[at + 1 :])


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    own_raw = raw_of(NAME, request.raw)
    if spelling_in(own_raw).get("version") == 1:
        return v1.write(request, _write_documents(request.messages, recorder), recorder)
    out: Wire = {}
    if request.model is not None and not was_absent(own_raw, "model"):
        out["model"] = request.model
    documents = _write_documents(request.messages, recorder)
    messages = write_messages(request.messages, recorder)
    if messages or not was_absent(own_raw, "messages"):
        out["messages"] = messages
    if documents:
        out["documents"] = documents
    write_tools(request.tools, out, recorder)
    OPTIONS.write(request.options, out, own_raw, recorder)
    restore_raw(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    return out if request.raw is None else restore_raw(out, request, request.raw, recorder)


def _write_documents(messages: tuple[Message, ...], recorder: LossRecorder) -> list[Any]:
    """The documents of all user messages; those that are not at the beginning of the first one are
    moved there."""
    documents = []
    questions = [message for message in messages if message.role is Role.USER]
    for message in questions:
        for index, block in enumerate(message.content):
            if type(block) is not DocumentBlock:
                continue
            written = write_document(block, recorder)
            if written is None:
                continue
            documents.append(written)
            if message is not questions[0] or not _are_documents(message.content[:index]):
                reason = because("documents_hoisted")
                recorder.lost(block, None, reason, kind="moved")
    return documents


def _are_documents(blocks: tuple[Block, ...]) -> bool:
    return all(type(block) is DocumentBlock for block in blocks)
