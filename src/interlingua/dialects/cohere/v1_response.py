"""Responses of v1: one text, calls, citations of documents beside them, counts in `meta`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlingua.dialects.cohere.messages import in_order, read_citations
from interlingua.dialects.cohere.tables import NAME, V1_STOP_REASONS, V1_STOP_WORDS
from interlingua.dialects.cohere.text import read_citation, target_of, write_citation
from interlingua.dialects.cohere.usage import read_usage, write_usage
from interlingua.dialects.cohere.v1_request import Writing, read_call, read_calls
from interlingua.dialects.kernel.calls import stopped_for_calls
from interlingua.dialects.kernel.errors import require, require_key
from interlingua.dialects.kernel.preserved import (
    Preserved,
    raw_of,
    restore_raw,
    spelling_in,
    was_absent,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_reader import end_of_block, failed, start_of_block
from interlingua.dialects.kernel.usage import count
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.kernel.words import own_word
from interlingua.model import arguments
from interlingua.model import events as ev
from interlingua.model.blocks import Block, Citation, TextBlock, ToolUseBlock
from interlingua.model.events import Event
from interlingua.model.exchange import ProviderError, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.streams.frames import MANY, thin

_TEXT, _CALLS = 0, 1
"""The first indexes of the blocks."""


class Stream:
    """An answer under assembly. `complete` is its last event, once that is known."""

    def __init__(self) -> None:
        self.complete: ev.MessageComplete | None = None
        self._id: str | None = None
        self._has_begun = False
        self._texts: list[str] = []
        self._calls: dict[int, Wire] = {}
        """Calls by their number, each with its pieces of parameters."""
        self._whole_calls: list[Any] = []
        self._ended: set[int] = set()
        self._citations: list[Wire] = []
        self._documents: list[Any] = []

    def feed(self, wire: Wire) -> list[Event]:
        kind = wire.get("event_type")
        step = _STEPS.get(kind) if type(kind) is str else None
        return [] if step is None else step(self, wire)

    def partial(self, error: ProviderError) -> Message:
        """The partial message when the stream fails."""
        return failed(read(self._so_far({})).message, error)

    def _begin(self) -> list[Event]:
        if self._has_begun:
            return []
        self._has_begun = True
        return [ev.MessageStart(None, self._id)]

    def _start(self, wire: Wire) -> list[Event]:
        id = wire.get("generation_id")
        self._id = None if id is None else require(id, str, ".generation_id")
        return self._begin()

    def _text(self, wire: Wire) -> list[Event]:
        text = wire.get("text")
        return self._emit_text(require(text, str, ".text")) if text else []

    def _emit_text(self, text: str) -> list[Event]:
        events = self._begin()
        if not self._texts:
            events.append(start_of_block(_TEXT, TextBlock("")))
        self._texts.append(text)
        if len(self._texts) > MANY:
            thin(self._texts)
        return [*events, ev.TextDelta(_TEXT, text)]

    # -- calls ------------------------------------------------------------------------------------

    def _chunk(self, wire: Wire) -> list[Event]:
        delta = require(wire.get("tool_call_delta") or {}, dict, ".tool_call_delta")
        events = [*self._text(wire), *self._text(delta)]
        index = delta.get("index")
        number = int(require(index, float, ".tool_call_delta.index")) if index is not None else 0
        name, text = delta.get("name"), delta.get("parameters")
        if name is not None and number not in self._calls:
            events += self._open(number, require(name, str, ".tool_call_delta.name"))
        if text and number in self._calls:
            piece = require(text, str, ".tool_call_delta.parameters")
            self._calls[number]["pieces"].append(piece)
            events.append(ev.ToolUseInputDelta(_CALLS + number, piece))
        return events

    def _open(self, number: int, name: str) -> list[Event]:
        self._calls[number] = {"name": name, "pieces": []}
        call = read_call({"name": name, "parameters": {}}, self._id or 0, number)
        return [*self._begin(), start_of_block(_CALLS + number, call)]

    def _generated(self, wire: Wire) -> list[Event]:
        listed = require(wire.get("tool_calls") or [], list, ".tool_calls")
        events = self._text(wire) if not self._texts else []
        self._whole_calls = listed
        return [*events, *self._close_calls(listed)]

    def _close_calls(self, listed: list[Any]) -> list[Event]:
        """The ends of complete calls, with starts for those that had none."""
        events: list[Event] = []
        for number, wire in enumerate(listed):
            block = read_call(wire, self._id or 0, number)
            index = _CALLS + number
            if number in self._ended:
                continue
            self._ended.add(number)
            if number not in self._calls or type(block) is not ToolUseBlock:
                events += [*self._begin(), start_of_block(index, block)]
                if type(block) is ToolUseBlock:
                    events.append(ev.ToolUseInputDelta(index, arguments.to_text(block.input)))
            events.append(end_of_block(index, block))
        return events

    # -- sources ----------------------------------------------------------------------------------

    def _found(self, wire: Wire) -> list[Event]:
        self._documents += require(wire.get("documents") or [], list, ".documents")
        return []

    def _cited(self, wire: Wire) -> list[Event]:
        events: list[Event] = []
        text, known = "".join(self._texts), documents_of({"documents": self._documents})
        for item in require(wire.get("citations") or [], list, ".citations"):
            self._citations.append(item)
            if target_of(item) == _TEXT and text:
                citation = cite(read_citation(item, text), known)
                events.append(ev.BlockDelta(_TEXT, "citations", citation))
        return events

    # -- the end ----------------------------------------------------------------------------------

    def _end(self, wire: Wire) -> list[Event]:
        whole = self._so_far(require(wire.get("response") or {}, dict, ".response"))
        if wire.get("finish_reason") is not None:
            whole["finish_reason"] = wire["finish_reason"]
        response = read(whole)
        message, metadata = response.message, response.message.metadata
        self._id = metadata.response_id
        events = self._begin()
        text = message.content[0] if message.content else None
        if type(text) is TextBlock:
            if not self._texts:
                events += self._emit_text(text.text)
            events.append(end_of_block(_TEXT, text))
        events += self._close_calls(whole.get("tool_calls") or [])
        if metadata.stop_reason is not None:
            events.append(ev.Stop(metadata.stop_reason, metadata.raw_stop_reason))
        if metadata.usage is not None:
            events.append(ev.UsageUpdate(metadata.usage))
        self.complete = ev.MessageComplete(response)
        return events

    def _so_far(self, snapshot: Wire) -> Wire:
        """The complete answer so far, as one body: the last frame fills gaps only."""
        whole = {"text": "", **snapshot}
        if self._id is not None:
            whole["generation_id"] = self._id
        if self._texts:
            whole["text"] = "".join(self._texts)
        if self._whole_calls:
            whole["tool_calls"] = self._whole_calls
        elif self._calls and not whole.get("tool_calls"):
            whole["tool_calls"] = [_put_together(self._calls[key]) for key in sorted(self._calls)]
        if self._citations and not whole.get("citations"):
            whole["citations"] = self._citations
        if self._documents and not whole.get("documents"):
            whole["documents"] = self._documents
        return whole


def _put_together(call: Wire) -> Wire:
    input, _ = arguments.recover("".join(call["pieces"]))
    return {"name": call["name"], "parameters": input}


_STEPS: dict[str, Callable[[Stream, Wire], list[Event]]] = {
    "stream-start": Stream._start,
    "text-generation": Stream._text,
    "tool-calls-chunk": Stream._chunk,
    "tool-calls-generation": Stream._generated,
    "search-results": Stream._found,
    "citation-generation": Stream._cited,
    "stream-end": Stream._end,
}
"""By the type of the event; none for events outside the answer."""


_KEYS = frozenset(
    {"generation_id", "text", "tool_calls", "citations", "chat_history", "finish_reason"}
    | {"meta", "token_count"}
)
_CITED: dict[str, tuple[str, ...]] = {
    "url": ("url",),
    "title": ("title",),
    "cited_text": ("snippet", "text"),
}
"""The fields of a citation, and the keys of a document that hold them."""
_COUNTED = {"prompt_tokens": "input_tokens", "response_tokens": "output_tokens"}
"""The counts of `token_count`, which older answers have where `meta` has no tokens (recorded
answers, read 2026-11-18)."""
_TOTAL = "total_tokens"


def is_answer(wire: Wire) -> bool:
    return "message" not in wire and type(wire.get("text")) is str


# -- reading --------------------------------------------------------------------------------------


def read(wire: Wire) -> Response:
    preserved, inner = Preserved(), Preserved()
    found: list[Diagnostic] = []
    preserved.spelling["version"] = 1
    id = preserved.take(wire, "generation_id", str)
    content = _read_content(wire, id or 0, inner)
    fields: Wire = {"protocol": NAME, "response_id": id, "provider_raw": inner.raw(NAME)}
    preserved.mark_any_absent(wire, ("finish_reason",))
    if (word := preserved.scalar(wire, "finish_reason")) is not None:
        fields |= {"raw_stop_reason": word, "stop_reason": reason_of(word, content)}
    if (usage := _read_usage(wire, preserved, found)) is not None:
        fields["usage"] = usage
    if "chat_history" in wire:
        _read_history(wire, preserved)
    preserved.add_others(wire, _KEYS)
    if found:
        fields["diagnostics"] = tuple(found)
    message = Message(Role.ASSISTANT, content, metadata=MessageMetadata(**fields))
    return Response(message, raw=preserved.raw(NAME))


def reason_of(word: Any, content: tuple[Block, ...]) -> StopReason | None:
    return stopped_for_calls(V1_STOP_REASONS.read(word), content)


def _read_content(wire: Wire, origin: Any, preserved: Preserved) -> tuple[Block, ...]:
    texts: dict[Any, Block] = (
        {0: TextBlock(text)} if (text := require_key(wire, "text", str)) else {}
    )
    calls = preserved.take(wire, "tool_calls", list) if "tool_calls" in wire else None
    cited = preserved.take(wire, "citations", list) if "citations" in wire else None
    if cited:
        read_citations(cited, texts, preserved)
        if texts:
            texts[0] = _sourced(texts[0], documents_of(wire))
    return (*texts.values(), *read_calls(calls or [], origin))


def documents_of(wire: Wire) -> dict[Any, Wire]:
    listed = wire.get("documents")
    documents = listed if type(listed) is list else []
    return {
        each["id"]: each for each in documents if type(each) is dict and type(each.get("id")) is str
    }


def _sourced(block: Any, documents: dict[Any, Wire]) -> TextBlock:
    cited = [cite(citation, documents) for citation in block.citations]
    text: TextBlock = block.replace(citations=tuple(cited))
    return text


def cite(citation: Citation, documents: dict[Any, Wire]) -> Citation:
    """A citation with the members of its first document."""
    source = _source(citation, documents)
    return citation.replace(**source) if source else citation


def _source(citation: Citation, documents: dict[Any, Wire]) -> dict[str, str]:
    ids = raw_of(NAME, citation.raw).get("document_ids")
    first = ids[0] if type(ids) is list and ids else None
    document = documents.get(first, {}) if type(first) is str else {}
    found: dict[str, str] = {}
    for name, keys in _CITED.items():
        text = next((document[key] for key in keys if type(document.get(key)) is str), None)
        if text is not None:
            found[name] = text
    return found


def _read_usage(wire: Wire, preserved: Preserved, found: list[Diagnostic]) -> Usage | None:
    meta, counted = wire.get("meta"), wire.get("token_count")
    if meta is None:
        preserved.spelling["without"] = True
        if "meta" in wire:
            preserved.keep_spelling("meta", None)
    inside = {} if meta is None else require(meta, dict, ".meta")
    if type(counted) is not dict or "tokens" in inside or not _is_counted(counted):
        if "token_count" in wire:
            preserved.add("token_count", counted)
        return None if meta is None else read_usage(inside, found)
    others = {key: item for key, item in counted.items() if key not in _COUNTED}
    if count(others.get(_TOTAL)) == sum(counted[key] for key in _COUNTED):
        others[_TOTAL] = None  # a sum, to be made again
    content = {key: item for key, item in others.items() if key != _TOTAL and item is not None}
    if content:
        preserved.rest["token_count"] = content
        preserved.spelling["part"] = ["token_count"]
    preserved.spelling["token_count"] = {
        key: item for key, item in others.items() if key not in content
    }
    return read_usage(
        {**inside, "tokens": {name: counted[key] for key, name in _COUNTED.items()}}, found
    )


def _is_counted(wire: Wire) -> bool:
    return all(count(wire.get(key)) is not None for key in _COUNTED)


def _read_history(wire: Wire, preserved: Preserved) -> None:
    """The conversation as the service has it now, which repeats the request and the answer."""
    history = wire["chat_history"]
    if type(history) is list and history and history[-1] == _echo(wire):
        preserved.spelling["echo"] = True
        history = history[:-1]
    if history:
        preserved.rest["chat_history"] = history
    else:
        preserved.spelling["history"] = history


def _echo(wire: Wire) -> Wire:
    """The answer as a turn of the history."""
    turn = {"role": "CHATBOT", "message": wire["text"]}
    return {**turn, "tool_calls": wire["tool_calls"]} if wire.get("tool_calls") else turn


# -- writing --------------------------------------------------------------------------------------


def write(response: Response, recorder: LossRecorder) -> Wire:
    message, metadata = response.message, response.message.metadata
    own_raw, spelling = raw_of(NAME, response.raw), spelling_in(raw_of(NAME, response.raw))
    out: Wire = {}
    if metadata.response_id is not None:
        out["generation_id"] = metadata.response_id
    _write_content(message, own_raw, out, recorder)
    if metadata.stop_reason is not None or not was_absent(own_raw, "finish_reason"):
        own = own_word(metadata, NAME)
        read = lambda word: reason_of(word, message.content)  # noqa: E731
        out["finish_reason"] = V1_STOP_WORDS.of(message, own, recorder, read)
    if metadata.usage is not None:
        _write_usage(metadata.usage, spelling, out, recorder)
    if "history" in spelling or "chat_history" in own_raw:
        echo = [_echo(out)] if spelling.get("echo") else []
        history = own_raw.get("chat_history", spelling.get("history"))
        out["chat_history"] = [*history, *echo] if type(history) is list else history
    return restore_raw(out, response, response.raw, recorder)


def _write_content(message: Message, own_raw: Wire, out: Wire, recorder: LossRecorder) -> None:
    raw = message.metadata.provider_raw
    writing = Writing((message,), recorder)
    out["text"] = writing.text_in(message)
    if calls := writing.calls(message):
        out["tool_calls"] = calls
    texts = [block for block in message.content if type(block) is TextBlock]
    documents = documents_of(own_raw)
    cited = [
        _write_citation(citation, text, documents, recorder)
        for text in texts[:1]
        for citation in text.citations
    ]
    if listed := in_order(cited, raw_of(NAME, raw)):
        out["citations"] = listed
    restore_raw(out, message, raw, recorder, "metadata.provider_raw")


def _write_citation(
    citation: Citation, block: TextBlock, documents: dict[Any, Wire], recorder: LossRecorder
) -> Wire:
    source = _source(citation, documents)
    for name in _CITED:
        if getattr(citation, name) != source.get(name):
            recorder.lost(citation, name, because("citation_by_document"))
    bare = citation.replace(**dict.fromkeys(_CITED))
    recorder.alias(bare, citation)
    return write_citation(bare, block, 0, recorder)


def _write_usage(usage: Usage, spelling: Wire, out: Wire, recorder: LossRecorder) -> None:
    meta = write_usage(usage, recorder)
    others = spelling.get("token_count")
    if type(others) is dict:
        tokens = meta.pop("tokens", {})
        counted = {key: tokens.get(name, 0) for key, name in _COUNTED.items()}
        if others.get(_TOTAL, 0) is None:
            others = {**others, _TOTAL: sum(counted.values())}
        out["token_count"] = {**counted, **others}
    if meta or "without" not in spelling:
        out["meta"] = meta
