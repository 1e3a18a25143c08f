"""Compaction in requests: its settings, and how a conversation is taken apart and put together
again: pure functions over JSON, one class for each vendor's API.

Compacted history can be opened by this gateway alone: it is encrypted and authenticated with a key
of the store, and bound to the tenant that it was made for.
"""

from __future__ import annotations

import base64
import os
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from interlingua.adapt.history.compacted import PREFIX as PACKED
from interlingua.gateway.shared.fronts import ANTHROPIC, CHAT, RESPONSES
from interlingua.gateway.shared.state import Refusal
from interlingua.model.blocks import SUMMARY
from interlingua.model.exchange import ErrorKind, ProviderError

PREFIX = "ilc1."
"""The prefix of our sealed texts; the number is the version of their format."""
_NONCE = 12
_LONGEST = 64 * 1024 * 1024
"""Bytes of an opened text."""


class Sealed(msgspec.Struct, omit_defaults=True):
    """The sealed content of a compaction."""

    id: str
    """Under which the full history is stored, where the key allows that."""
    front: str
    """The dialect of the client that it was made for."""
    summary: str
    tail: list[Any] = []
    """Items or messages after the summary, as the client sent them."""
    replaces: bool = True
    """Whether it replaces everything before it; if not, earlier messages were preserved."""
    model: str = ""
    """The model that wrote the summary."""
    packed: str = ""
    """History that another service encrypted, as conversion packed it."""


class SealError(Exception):
    """A text that does not open: another tenant's, another store's, or changed."""


class Seal:
    def __init__(self, key: bytes) -> None:
        # Seven megabytes, for those who compact.
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)
        self._invalid = InvalidTag

    def close(self, value: Sealed, tenant: str | None) -> str:
        plain = zlib.compress(msgspec.json.encode(value))
        nonce = os.urandom(_NONCE)
        data = nonce + self._cipher.encrypt(nonce, plain, _bound_to(tenant))
        return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def open(self, text: str, tenant: str | None) -> Sealed:
        """Raises `SealError`."""
        if not text.startswith(PREFIX):
            raise SealError
        body = text[len(PREFIX) :]
        try:
            data = base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True)
            if base64.urlsafe_b64encode(data).decode().rstrip("=") != body:
                raise SealError  # another spelling of the same bytes
            plain = self._cipher.decrypt(data[:_NONCE], data[_NONCE:], _bound_to(tenant))
            inflater = zlib.decompressobj()
            return msgspec.json.decode(inflater.decompress(plain, _LONGEST), type=Sealed)
        except (ValueError, self._invalid, zlib.error, msgspec.DecodeError) as error:
            raise SealError from error


def _bound_to(tenant: str | None) -> bytes:
    return f"{PREFIX}{tenant or ''}".encode("utf-8", "surrogatepass")


Wire = dict[str, Any]
Opener = Callable[[str], Sealed]
"""Opens a sealed text; raises `SealError`."""
DEFAULT_THRESHOLD = 150_000
"""Tokens; Anthropic's default for requests without a threshold."""
COMPACT_EDIT = "compact_20260112"


class Ask(NamedTuple):
    """A request for a compaction."""

    kind: Literal["compact", "trigger", "summarize", "threshold"]
    instructions: str | None = None
    threshold: int = 0
    pause: bool = False

    @property
    def is_explicit(self) -> bool:
        """Whether the compaction is the whole answer."""
        return self.kind != "threshold"


class Opened(NamedTuple):
    """A conversation in which no sealed text of ours is left."""

    entries: list[Wire]
    packed: bool = False
    """Whether there is history in it that another service encrypted."""


def refused(front: str, code: str, message: str, param: str | None = None) -> Refusal:
    """An error in the vendor's format: Anthropic has a field of its own for these codes."""
    refusal = Refusal(400, ErrorKind.INVALID_REQUEST, message, code)
    details: Wire = {"param": param} if param else {}
    if front == ANTHROPIC.dialect:
        details = {"details": {"error_code": code}}
    if details:
        refusal.error = ProviderError(
            ErrorKind.INVALID_REQUEST, message, code, 400, {front: details}
        )
    return refusal


class ResponsesForm:
    """OpenAI's Responses: the conversation is a list of items."""

    front = RESPONSES
    _DROPPED = ("context_management", "stream_options", "background", "text", "reasoning")

    def entries(self, wire: Wire) -> list[Wire]:
        listed = wire.get("input")
        if isinstance(listed, str):
            return [self.message(listed)]
        return [each for each in listed or () if isinstance(each, dict)]

    def ask(self, wire: Wire, action: str) -> Ask | None:
        if action == "compact":
            return Ask("compact", _text(wire.get("instructions")))
        triggers = [each.get("type") == "compaction_trigger" for each in self.entries(wire)]
        if any(triggers):
            if not triggers[-1] or sum(triggers) > 1:
                text = "input: a compaction_trigger must be the final input item"
                raise refused(RESPONSES.dialect, "invalid_value", text, "input")
            return Ask("trigger")
        for entry in wire.get("context_management") or ():
            if isinstance(entry, dict) and entry.get("type") == "compaction":
                return Ask("threshold", None, _tokens(entry.get("compact_threshold")))
        return None

    def plain(self, wire: Wire, action: str) -> Wire:
        """The request without its compaction settings."""
        wire = {name: value for name, value in wire.items() if name != "context_management"}
        entries = self.entries(wire)
        if entries and entries[-1].get("type") == "compaction_trigger":
            wire["input"] = entries[:-1]
        return wire

    def with_entries(self, wire: Wire, entries: Sequence[Wire]) -> Wire:
        return {**wire, "input": list(entries)}

    def message(self, text: str) -> Wire:
        part = {"type": "input_text", "text": text}
        return {"type": "message", "role": "user", "content": [part]}

    def is_question(self, entry: Wire) -> bool:
        return entry.get("role") == "user"

    def last_round(self, entries: Sequence[Wire]) -> int:
        """The start of the last calls that only results follow; the end if there are no such
        calls."""
        index = len(entries)
        while index and str(entries[index - 1].get("type")).endswith("_output"):
            index -= 1
        outputs = index
        while index and str(entries[index - 1].get("type")).endswith(("_call", "reasoning")):
            index -= 1
        return len(entries) if outputs == len(entries) else index

    def summary_request(self, wire: Wire, entries: Sequence[Wire], prompt: str, limit: int) -> Wire:
        new = {name: value for name, value in wire.items() if name not in self._DROPPED}
        if new.get("tools"):
            new["tool_choice"] = "none"
        new |= {"max_output_tokens": limit, "stream": False, "store": False}
        return self.with_entries(new, [*entries, self.message(prompt)])

    def opened(self, entries: Sequence[Wire], open: Opener) -> Opened:
        out: list[Wire] = []
        for entry in entries:
            sealed = entry.get("encrypted_content") if entry.get("type") == "compaction" else None
            if not is_ours(sealed, entry.get("id")):
                out.append(entry)
                continue
            value = open(sealed or "")
            if value.replaces:
                out = [each for each in out if each.get("role") in ("system", "developer")]
            out += [self.message(SUMMARY.format(value.summary)), *value.tail]
        return Opened(out)


class MessagesForm:
    """Anthropic's Messages: the conversation is a list of turns with blocks."""

    front = ANTHROPIC
    _DROPPED = (
        *("context_management", "compaction", "thinking", "output_config", "output_format"),
        *("stop_sequences", "thread"),
    )

    def entries(self, wire: Wire) -> list[Wire]:
        listed = wire.get("messages")
        return [each for each in listed if isinstance(each, dict)] if type(listed) is list else []

    def ask(self, wire: Wire, action: str) -> Ask | None:
        compaction, management = wire.get("compaction"), wire.get("context_management")
        if isinstance(compaction, dict):
            if management:
                text = "compaction: cannot be combined with context_management"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, text)
            if compaction.get("type") != "summarize":
                text = "compaction.type: expected 'summarize'"
                raise Refusal(400, ErrorKind.INVALID_REQUEST, text)
            self._require_whole(self.entries(wire))
            return Ask("summarize", _text(compaction.get("instructions")))
        for edit in edits_of(wire):
            if edit.get("type") == COMPACT_EDIT:
                trigger = edit.get("trigger")
                tokens = trigger.get("value") if isinstance(trigger, dict) else None
                pause = edit.get("pause_after_compaction") is True
                return Ask("threshold", _text(edit.get("instructions")), _tokens(tokens), pause)
        return None

    def _require_whole(self, entries: Sequence[Wire]) -> None:
        name = ANTHROPIC.dialect
        if not any(each.get("role") in ("user", "assistant") for each in entries):
            text = "messages: there is nothing to summarize"
            raise refused(name, "compaction_nothing_to_summarize", text)
        last = entries[-1]
        if last.get("role") == "assistant" and any(
            block.get("type") == "tool_use" for block in _blocks(last)
        ):
            text = "messages: the last turn is not finished; send the results of its tools first"
            raise refused(name, "compaction_incomplete_turn", text)

    def plain(self, wire: Wire, action: str) -> Wire:
        wire = {name: value for name, value in wire.items() if name != "compaction"}
        rest = [edit for edit in edits_of(wire) if edit.get("type") != COMPACT_EDIT]
        if "context_management" in wire:
            del wire["context_management"]
            if rest:
                wire["context_management"] = {"edits": rest}
        return wire

    def with_entries(self, wire: Wire, entries: Sequence[Wire]) -> Wire:
        return {**wire, "messages": list(entries)}

    def message(self, text: str) -> Wire:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def is_question(self, entry: Wire) -> bool:
        results = any(block.get("type") == "tool_result" for block in _blocks(entry))
        return entry.get("role") == "user" and not results

    def last_round(self, entries: Sequence[Wire]) -> int:
        for index in range(len(entries) - 1, -1, -1):
            if entries[index].get("role") == "assistant":
                return index
        return len(entries)

    def summary_request(self, wire: Wire, entries: Sequence[Wire], prompt: str, limit: int) -> Wire:
        new = {name: value for name, value in wire.items() if name not in self._DROPPED}
        if new.get("tools"):
            new["tool_choice"] = {"type": "none"}
        new |= {"max_tokens": limit, "stream": False}
        return self.with_entries(new, [*entries, self.message(prompt)])

    def opened(self, entries: Sequence[Wire], open: Opener) -> Opened:
        out: list[Wire] = []
        signed, packed = 0, False
        for index, entry in enumerate(entries):
            rest: list[Wire] = []
            blocks = _blocks(entry)
            if not any(_sealed_in(block) for block in blocks):
                out.append(entry)
                continue
            for place, block in enumerate(blocks):
                sealed = _sealed_in(block)
                if sealed is None:
                    rest.append(block)
                    continue
                if block.get("signature") is not None:
                    signed += 1
                    self._require_first(entry, index, place, signed)
                value = open(sealed)
                self._require_same(block, value)
                if value.packed:
                    packed = True
                    rest.append({**block, "encrypted_content": value.packed})
                    continue
                if value.replaces:
                    out, rest = [each for each in out if each.get("role") == "system"], []
                out += [self.message(SUMMARY.format(value.summary)), *value.tail]
            if rest:
                out.append({**entry, "content": rest})
        return Opened(out, packed)

    def _require_same(self, block: Wire, value: Sealed) -> None:
        if block.get("content") != value.summary:
            text = "the content of the compaction block is not what was signed"
            raise refused(ANTHROPIC.dialect, "compaction_content_mismatch", text)

    def _require_first(self, entry: Wire, index: int, place: int, signed: int) -> None:
        if signed > 1:
            text = "messages: more than one compaction block; send only the last one returned"
            raise refused(ANTHROPIC.dialect, "compaction_block_ambiguous", text)
        if index or place or entry.get("role") == "system":
            text = "messages: the compaction block has to be the first block of the conversation"
            raise refused(ANTHROPIC.dialect, "compaction_block_misplaced", text)


class ChatForm:
    """OpenAI's Chat Completions: the API has no compactions, so a conversation that is too long is
    shortened again for each request."""

    front = CHAT
    _DROPPED = (
        *("stream_options", "n", "response_format", "reasoning_effort", "logprobs"),
        *("top_logprobs", "max_tokens", "prediction", "stop", "store"),
    )

    def entries(self, wire: Wire) -> list[Wire]:
        return [each for each in wire.get("messages") or () if isinstance(each, dict)]

    def ask(self, wire: Wire, action: str) -> Ask | None:
        return None

    def plain(self, wire: Wire, action: str) -> Wire:
        return dict(wire)

    def with_entries(self, wire: Wire, entries: Sequence[Wire]) -> Wire:
        return {**wire, "messages": list(entries)}

    def message(self, text: str) -> Wire:
        return {"role": "user", "content": text}

    def is_question(self, entry: Wire) -> bool:
        return entry.get("role") == "user"

    def last_round(self, entries: Sequence[Wire]) -> int:
        index = len(entries)
        while index and entries[index - 1].get("role") == "tool":
            index -= 1
        return index if index == len(entries) else max(index - 1, 0)

    def summary_request(self, wire: Wire, entries: Sequence[Wire], prompt: str, limit: int) -> Wire:
        new = {name: value for name, value in wire.items() if name not in self._DROPPED}
        if new.get("tools"):
            new["tool_choice"] = "none"
        new |= {"max_completion_tokens": limit, "stream": False}
        return self.with_entries(new, [*entries, self.message(prompt)])

    def opened(self, entries: Sequence[Wire], open: Opener) -> Opened:
        return Opened(list(entries))


Form = ResponsesForm | MessagesForm | ChatForm
FORMS: dict[str, Form] = {form.front.dialect: form for form in (ResponsesForm(), MessagesForm())}
"""The APIs whose clients can request a compaction."""
SHORTENED: dict[str, Form] = {**FORMS, CHAT.dialect: ChatForm()}
"""The APIs whose conversations can be shortened if they are too long."""
INSTRUCTING = frozenset({"system", "developer"})
"""The roles of entries that no summary replaces."""


def is_ours(sealed: Any, id: Any = None) -> bool:
    """Whether a compaction item was made here, even if it was changed since."""
    made_here = isinstance(id, str) and id.startswith(OWN_ID)
    return made_here or (isinstance(sealed, str) and _BEGINS.match(sealed) is not None)


OWN_ID = "cmp_il"
"""The prefix of our compactions' ids."""


def _nearly(text: str) -> list[str]:
    """Patterns of a text in which one character may be changed."""
    ends = [(re.escape(text[:at]), re.escape(text[at + 1 :])) for at in range(len(text))]
    return [f"{before}.{behind}" for before, behind in ends]


BEGINNING = "|".join([*_nearly(PREFIX), *_nearly(PACKED)])
"""The pattern of the beginning of our encrypted texts, with at most one change."""
_BEGINS = re.compile(BEGINNING)


def edits_of(wire: Wire) -> list[Wire]:
    """The edits of Anthropic's `context_management`."""
    management = wire.get("context_management")
    edits = management.get("edits") if isinstance(management, dict) else None
    return [edit for edit in edits if isinstance(edit, dict)] if type(edits) is list else []


def tail_start(form: Form, entries: Sequence[Wire]) -> int:
    """The start of the part that is preserved beside the summary: the last question."""
    for index in range(len(entries) - 1, -1, -1):
        if form.is_question(entries[index]):
            return index
    return form.last_round(entries)


def _blocks(entry: Wire) -> list[Wire]:
    content = entry.get("content")
    return [each for each in content if isinstance(each, dict)] if type(content) is list else []


def _sealed_in(block: Wire) -> str | None:
    if block.get("type") != "compaction":
        return None
    texts = (block.get("signature"), block.get("encrypted_content"))
    return next((text for text in texts if is_ours(text)), None)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _tokens(value: Any) -> int:
    return value if type(value) is int and value > 0 else DEFAULT_THRESHOLD
