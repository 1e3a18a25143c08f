"""The lines of a rollout in their order, joined to messages.

Only `response_item` is history; events repeat it for the screen. The items of one answer stand
before the record of its usage. Common items are read here, in a fraction of the time that the
dialect's reader takes, to the same blocks; that reader is used for all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from interlingua.dialects.kernel.errors import ShapeError
from interlingua.dialects.kernel.words import ERROR_MARK
from interlingua.dialects.openai_responses.messages import MODEL_MESSAGE, ItemReader
from interlingua.dialects.openai_responses.response import RUNS, is_billed, runs_of
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import NO_METADATA, Changes, Message, Role
from interlingua.model.metadata import MessageMetadata, MessageStatus, StopReason, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.lines import Entry, Line, whole
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.transcript import is_summary, summary_message
from interlingua.transcripts.values import as_count, as_text, from_iso, members

Item = dict[str, Any]
_ROLES = {"user": Role.USER, "developer": Role.DEVELOPER}
_NOTE = "internal_chat_message_metadata_passthrough"
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode
_ENCODE = msgspec.json.Encoder().encode
_LONGEST = 2000
"""Arguments of more characters may be nested deeply, and are left to the other reader."""
_ABSENT: Item = {"absent": ["annotations"]}
_NO_PROBABILITIES: Item = {"spelled": {"logprobs": []}}


class _Wire(msgspec.Struct, tag_field="type", forbid_unknown_fields=True, gc=False):
    """Anything with other members than these is left to the other reader."""


class _Input(_Wire, tag="input_text"):
    text: str


class _Output(_Wire, tag="output_text"):
    text: str
    annotations: list[Any] | UnsetType = UNSET
    logprobs: list[Any] | UnsetType = UNSET


class _Summary(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["summary_text"]
    text: str


class _Item(_Wire, kw_only=True):
    id: str | UnsetType = UNSET
    status: str | UnsetType = UNSET
    note: Any = msgspec.field(default=UNSET, name=_NOTE)


class MessageItem(_Item, tag="message", kw_only=True):
    """A message of a person, the client or the model."""

    role: str
    content: list[_Input | _Output]
    phase: str | UnsetType = UNSET


class ResultItem(_Item, tag="function_call_output", kw_only=True):
    """The result of a function, as a text."""

    call_id: str
    output: str


class CallItem(_Item, tag="function_call", kw_only=True):
    """A call of a function."""

    call_id: str
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


class ReasoningItem(_Item, tag="reasoning", kw_only=True):
    """Sealed reasoning."""

    id: str
    summary: list[_Summary]
    encrypted_content: str
    content: UnsetType | None = UNSET


UsualItem = MessageItem | ResultItem | CallItem | ReasoningItem


def quick_turn(item: MessageItem) -> Message | None:
    """A message of a person or the client: one text, or several."""
    role, rest = _ROLES.get(item.role), _rest(item)
    if role is None or rest is None or not item.content or _Output in map(type, item.content):
        return None
    form: Item = {"content": "list"} if len(item.content) == 1 else {}
    form["item"] = {"type": "message", **_spelled(item)}
    if item.phase is not UNSET:
        form["item"]["phase"] = item.phase
    rest["$form"] = form
    blocks = tuple([TextBlock(part.text) for part in item.content])
    return Message(role, blocks, metadata=MessageMetadata(provider_raw={DIALECT: rest}))


def quick_result(item: ResultItem) -> ToolResultBlock | None:
    """The result of a function."""
    rest = _rest(item)
    if not item.output or not item.call_id or rest is None or item.output.startswith(ERROR_MARK):
        return None
    if spelled := _spelled(item):
        rest["$form"] = {"item": spelled}
    raw = {DIALECT: rest} if rest else None
    return ToolResultBlock(item.call_id, (TextBlock(item.output),), raw=raw)


def quick_answer(items: list[Any]) -> tuple[Block, ...] | None:
    """A run of a model's output: thoughts, texts and calls of functions."""
    blocks: list[Block] = []
    for item in items:
        read = _MADE.get(type(item))
        made = read(item) if read is not None else None
        if made is None or (blocks and type(blocks[-1]) is type(made) is not ToolUseBlock):
            return None
        blocks.append(made)
    return tuple(blocks)


def _text_block(item: MessageItem) -> Block | None:
    rest = _rest(item)
    if item.role != "assistant" or len(item.content) != 1 or rest is None:
        return None
    [part] = item.content
    form = _form(part) if type(part) is _Output else None
    if form is None:
        return None
    own_raw: Item = {"$item": rest} if rest else {}
    own_raw["$form"] = {**form, "item": {"type": "message", **_spelled(item)}}
    phase = None if item.phase is UNSET else item.phase
    return TextBlock(part.text, raw={DIALECT: own_raw}, phase=phase)


def _form(part: _Output) -> Item | None:
    """The spelling of a model's text; None for rare forms."""
    if part.annotations is UNSET:
        return _ABSENT if part.logprobs is UNSET else None
    if part.annotations or part.logprobs:
        return None
    return {} if part.logprobs is UNSET else _NO_PROBABILITIES


def _call(item: CallItem) -> Block | None:
    text, rest = item.arguments, _rest(item)
    if not item.call_id or rest is None or not text or len(text) > _LONGEST:
        return None
    if item.namespace is not UNSET:
        if not item.namespace:
            return None
        rest = {"namespace": item.namespace, **rest}
    try:
        arguments = _DECODE(text)
        written = None if _ENCODE(arguments).decode() == text else text
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if spelled := _spelled(item):
        rest["$form"] = {"item": spelled}
    raw = {DIALECT: rest} if rest else None
    return ToolUseBlock(item.call_id, item.name, arguments, written, raw=raw)


def _thought(item: ReasoningItem) -> Block | None:
    """Reasoning with one part of a summary, or none."""
    parts, rest = item.summary, _rest(item)
    if rest is None or item.status is not UNSET or len(parts) > 1 or (parts and not parts[0].text):
        return None
    form: Item = {} if item.content is UNSET else {"item": {"content": None}}
    own_raw: Item = {"$item": rest} if rest else {}
    if form or rest:
        own_raw["$form"] = form or {"item": {}}
    text = parts[0].text if parts else ""
    raw = {DIALECT: own_raw} if own_raw else None
    return ThinkingBlock(text, item.encrypted_content, item.id, raw=raw)


def _rest(item: _Item) -> Item | None:
    """What no field holds; None if it is empty, which is spelling."""
    if item.note is UNSET:
        return {}
    return {_NOTE: item.note} if item.note else None


def _spelled(item: _Item) -> Item:
    spelled: Item = {} if item.id is UNSET else {"id": item.id}
    if item.status is not UNSET:
        spelled["status"] = item.status
    return spelled


_MADE: dict[type, Callable[[Any], Block | None]] = {
    MessageItem: _text_block,
    CallItem: _call,
    ReasoningItem: _thought,
}


NOT_TYPED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "# AGENTS.md instructions",
    "Another language model started to solve this problem",
)
"""Prefixes of user messages that no person typed."""

MODEL_MADE = frozenset(
    {
        "reasoning",
        "function_call",
        "custom_tool_call",
        "local_shell_call",
        "web_search_call",
        "image_generation_call",
    }
)
"""Items that the model makes, beside its messages."""

OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


NAME = "codex"
DIALECT = "openai-responses"
WHOLE = "whole"
"""The key of a line's bytes, or of the whole item, beside a usual item."""
_READ: dict[str, Any] = {}
_SEARCHES = frozenset({"web_search_end", "item_completed"})


class History:
    """Takes lines one after another; `entries` are the messages so far."""

    def __init__(self, report: Report, provider: str | None) -> None:
        self.report = report
        self.provider = provider or "openai"
        self.entries: list[Entry] = []
        self.usages: list[Usage] = []
        self.model: str | None = None
        self._answer: list[Line] = []
        self._recorded = False
        self._ran: list[dict[str, Any]] = []
        """Runs of the provider's tools whose usage is still to come."""
        self._searched: dict[str, bool] = {}
        """Searches by id, and whether each is still to be counted."""
        self._counted: set[int] = set()
        self._known: dict[tuple[str | None, bool], MessageMetadata] = {}

    def take(self, line: Line) -> None:
        payload, kind = line.value.get("payload"), line.value.get("type")
        if kind == "response_item":
            if type(payload) is dict and str(payload.get("type")) in RUNS:
                self._ran.append(payload)
                self._searched[str(payload.get("id"))] = False
            self._item(line, payload)
        if type(payload) is not dict:
            return
        match kind:
            case "turn_context":
                self.end_answer()
                self.model = as_text(payload.get("model")) or self.model
            case "token_usage_record":
                self._recorded = True
                self._used(read_usage(payload.get("usage")), payload.get("response_id"))
            case "event_msg" if payload.get("type") == "token_count" and not self._recorded:
                info = payload.get("info")
                last = info.get("last_token_usage") if isinstance(info, dict) else None
                self._used(read_usage(last), None)
            case "event_msg" if str(payload.get("type")) in _SEARCHES:
                self._search(payload)
            case "compacted":
                self.end_answer()
                self._put_message([line], compacted(payload))

    def end_answer(self, usage: Usage | None = None, response: Any = None) -> bool:
        """The model's items so far are one answer; whether its usage is now part of it."""
        if not self._answer:
            return False
        lines, self._answer = self._answer, []
        return self._answered(lines, usage, response)

    def _answered(self, lines: list[Line], usage: Usage | None, response: Any) -> bool:
        content = quick_answer([line.value["payload"] for line in lines])
        if content is None:
            self._read(lines)
            return False
        noted = lines[0].value.get(KEY) is not None  # another tool may know more of it
        called = ToolUseBlock in map(type, content)
        metadata = self._about(called, None if noted else usage, response)
        self._put(lines, Role.ASSISTANT, content, metadata)
        return not noted

    def _item(self, line: Line, item: Any) -> None:
        if type(item) is MessageItem and item.role != "assistant":
            self.end_answer()
            turn = quick_turn(item)
            self._read([line]) if turn is None else self._put_message([line], typed(turn))
        elif type(item) is ResultItem:
            self.end_answer()
            result = quick_result(item)
            if result is None:
                self._read([line])
            else:
                about = MessageMetadata(parent_tool_use_id=result.tool_use_id)
                self._put([line], Role.TOOL, (result,), about)
        elif type(item) in _MADE or (type(item) is dict and is_of_answer(item)):
            self._answer.append(line)
        elif type(item) is dict:
            self.end_answer()
            self._read([line])

    def _used(self, usage: Usage | None, response: Any) -> None:
        response = response if isinstance(response, str) else None
        is_open = bool(self._answer)
        if usage is not None and is_open:
            usage = self._with_runs(usage)
        placed = self.end_answer(usage, response)
        if usage is None:
            return
        at = len(self.entries) - 1
        while at >= 0 and self.entries[at].message.role is Role.TOOL:
            at -= 1
        last = self.entries[at].message if at >= 0 else None
        if last is None or last.role is not Role.ASSISTANT or at in self._counted:
            return
        self._counted.add(at)
        usage = usage if is_open else self._with_runs(usage)
        self.usages.append(usage)
        if placed or last.metadata.usage is not None:
            return
        metadata = replace(last.metadata, usage=usage, response_id=response)
        message = replace(last, metadata=metadata)
        self.entries[at] = replace(self.entries[at], message=message)

    def _search(self, event: dict[str, Any]) -> None:
        """A search. The provider's own is an item as well; Codex runs others by itself (`web.run`),
        which have the id of a call."""
        item = members(event.get("item", event))
        id = item.get("call_id", item.get("id"))
        is_search = item is event or item.get("type") == "WebSearch"
        if is_search and type(id) is str and not id.startswith("ws_"):
            self._searched.setdefault(id, is_billed(item.get("action")))

    def _with_runs(self, usage: Usage) -> Usage:
        """The usage of an answer with the runs of tools since the one before."""
        runs = runs_of(self._ran)
        if by_codex := sum(self._searched.values()):
            runs["web_run"] = by_codex
            self._searched = dict.fromkeys(self._searched, False)
        self._ran = []
        return usage.replace(tool_uses=runs) if runs else usage

    def _read(self, lines: list[Line]) -> None:
        try:
            messages = read_items([_whole(line.value) for line in lines])
        except InterlinguaError as error:
            self.report.add(
                "dropped", f"line {lines[0].number}", because("unreadable", error=error)
            )
            return
        for message in messages:
            self._put_message(lines, message)

    def _put_message(self, lines: list[Line], message: Message) -> None:
        metadata = message.metadata
        if message.role is Role.ASSISTANT:
            about = self._about(ToolUseBlock in map(type, message.content))
            raw, diagnostics = metadata.provider_raw, metadata.diagnostics
            metadata = replace(about, provider_raw=raw, diagnostics=diagnostics)
        self._put(lines, message.role, message.content, metadata, message.name, message.changes)

    def _put(
        self,
        lines: list[Line],
        role: Role,
        content: tuple[Block, ...] = (),
        metadata: MessageMetadata = NO_METADATA,
        name: str | None = None,
        changes: Changes | None = None,
    ) -> None:
        value = lines[0].value
        payload, time, note = value["payload"], from_iso(value.get("timestamp")), value.get(KEY)
        id = payload.get("id") if type(payload) is dict else payload.id
        id = id if type(id) is str else None
        shown = Message(role, content, name, id, None, metadata, time, changes=changes)
        if note is None:
            is_short = is_summary(shown)
            if not is_short:  # the places in the file are enough
                lines = [Line(line.number, line.span, _READ) for line in lines]
            self.entries.append(Entry(shown, lines, is_short))
            return
        for each in apply_note(shown, note):
            self.entries.append(Entry(each, lines, is_summary(each)))

    def _about(
        self, called: bool, usage: Usage | None = None, response: str | None = None
    ) -> MessageMetadata:
        """The metadata of an answer; most answers of a model share them, but for their usage."""
        known = self._known.get((self.model, called))
        if known is None:
            known = self._known[self.model, called] = replace(
                MODEL_MESSAGE,
                protocol=DIALECT,
                provider=self.provider,
                model=f"{self.provider}:{self.model}" if self.model else None,
                response_model=self.model,
                stop_reason=StopReason.TOOL_USE if called else StopReason.END_TURN,
                status=MessageStatus.COMPLETE,
            )
        return known if usage is None else replace(known, usage=usage, response_id=response)


def _whole(value: dict[str, Any]) -> Item:
    """The item of a line, with all of its members in their order."""
    found = value.get(WHOLE, value["payload"])
    item: Item = found if type(found) is dict else whole(found)["payload"]
    return item


def read_items(items: list[dict[str, Any]]) -> list[Message]:
    """Items as messages; they were decoded from JSON, so their values need no check."""
    reader = ItemReader()
    try:
        reader.read(items, ".input")
    except ShapeError as error:
        raise error.error(NAME) from None
    reader.flush()
    return [typed(message) for message in reader.messages]


def typed(message: Message) -> Message:
    if message.role is Role.USER and message.text.startswith(NOT_TYPED):
        return replace(message, role=Role.SYSTEM, name=NAME)
    return message


def compacted(payload: dict[str, Any]) -> Message:
    text = payload.get("message")
    return summary_message(text if isinstance(text, str) else "")


def read_usage(usage: Any) -> Usage | None:
    """`input_tokens` counts cached ones too."""
    if not isinstance(usage, dict):
        return None
    cached = as_count(usage.get("cached_input_tokens")) or 0
    written = as_count(usage.get("cache_write_input_tokens")) or 0
    return Usage(
        input_tokens=max((as_count(usage.get("input_tokens")) or 0) - cached - written, 0),
        output_tokens=as_count(usage.get("output_tokens")),
        cached_input_tokens=cached,
        cache_creation_input_tokens=written,
        reasoning_tokens=as_count(usage.get("reasoning_output_tokens")),
    )


def is_of_answer(item: dict[str, Any]) -> bool:
    """Whether a model made this item."""
    kind = str(item.get("type"))
    return kind in MODEL_MADE or (kind == "message" and item.get("role") == "assistant")


def is_output(item: dict[str, Any]) -> bool:
    return item.get("type") in OUTPUTS


def results(message: Message) -> list[ToolResultBlock]:
    return [block for block in message.content if isinstance(block, ToolResultBlock)]
