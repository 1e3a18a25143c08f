"""Chat requests: a flat list of messages, the documents that answers may cite, and the body around
them. A document is said by the first message of the user, since nobody else has a place for it."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.cohere.media import read_document, write_document
from interlingua.dialects.cohere.messages import read_messages, write_messages
from interlingua.dialects.cohere.options import OPTIONS
from interlingua.dialects.cohere.tables import NAME
from interlingua.dialects.cohere.tools import read_tools, write_tools
from interlingua.dialects.kernel.errors import ShapeError, each, read_whole
from interlingua.dialects.kernel.kept import Kept, did_without, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.blocks import Block, DocumentBlock
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role

_OF_V1 = frozenset({"message", "chat_history"})


def read_request(wire: Wire, model: str | None = None, stream: bool | None = None) -> Request:
    """The body says model and stream itself; `model` is for one that does not."""
    return read_whole(f"{NAME} request", _read, wire, model)


def _read(wire: Wire, model: str | None) -> Request:
    if "messages" not in wire and not _OF_V1.isdisjoint(wire):
        raise ShapeError(".messages", "the messages of v2, not those of v1", None)
    kept = Kept()
    named = kept.take(wire, "model", str)
    messages = read_messages(kept.take(wire, "messages", list) or [])
    tools = read_tools(wire, kept)
    options = Options(**OPTIONS.read(wire, kept))
    if "documents" in wire:
        messages = _with_documents(messages, wire["documents"], kept)
    return Request(messages, named or model, tools, options, raw=kept.raw(NAME))


def _with_documents(messages: tuple[Message, ...], listed: Any, kept: Kept) -> tuple[Message, ...]:
    documents: list[Block] = [] if listed is None else each(listed, ".documents", read_document)
    if not documents:
        kept.spell("documents", listed)
        return messages
    at = next((n for n, message in enumerate(messages) if message.role is Role.USER), None)
    if at is None or not all(type(block) is DocumentBlock for block in documents):
        kept.rest["documents"] = listed
        return messages
    asked = messages[at]
    said = asked.replace(content=(*documents, *asked.content))
    return (*messages[:at], said, *messages[at + 1 :])


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, request.raw)
    out: Wire = {}
    if request.model is not None and not did_without(mine, "model"):
        out["model"] = request.model
    documents = _write_documents(request.messages, recorder)
    messages = write_messages(request.messages, recorder)
    if messages or not did_without(mine, "messages"):
        out["messages"] = messages
    if documents:
        out["documents"] = documents
    write_tools(request.tools, out, recorder)
    OPTIONS.write(request.options, out, mine, recorder)
    if request.options.raw is not None:
        put_back(out, request.options, request.options.raw, recorder)
    if request.continues is not None:
        recorder.lost(request, "continues", severity="error")
    return out if request.raw is None else put_back(out, request, request.raw, recorder)


def _write_documents(messages: tuple[Message, ...], recorder: LossRecorder) -> list[Any]:
    """The documents of all users' messages. Those that stand elsewhere than at the beginning of
    the first one move there."""
    documents = []
    asked = [message for message in messages if message.role is Role.USER]
    for message in asked:
        for index, block in enumerate(message.content):
            if type(block) is not DocumentBlock:
                continue
            written = write_document(block, recorder)
            if written is None:
                continue
            documents.append(written)
            if message is not asked[0] or not _are_documents(message.content[:index]):
                reason = "documents are of the whole request"
                recorder.lost(block, None, reason, kind="moved", severity="info")
    return documents


def _are_documents(blocks: tuple[Block, ...]) -> bool:
    return all(type(block) is DocumentBlock for block in blocks)
