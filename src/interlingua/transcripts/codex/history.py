"""The lines of a rollout in their order, joined to messages.

Only `response_item` is history; events repeat it for the screen. The items of one answer stand
before the record of its usage. Common items are read here, in a fraction of the time that the
dialect's reader takes, to the same blocks; that reader is used for all others.
"""

from __future__ import annotations

from typing import Any

import msgspec
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
from interlingua.transcripts.lines import Entry, Line
from interlingua.transcripts.notes import KEY, apply_note
from interlingua.transcripts.transcript import is_summary, summary_message
from interlingua.transcripts.values import as_count, as_text, from_iso, members

Item = dict[str, Any]
_ROLES = {"user": Role.USER, "developer": Role.DEVELOPER}
_MESSAGE = frozenset({"type", "role", "content", "id", "status", "phase"})
_RESULT = frozenset({"type", "call_id", "output", "id", "status"})
_CALL = frozenset({"type", "call_id", "name", "arguments", "id", "status"})
_REASONING = frozenset({"type", "id", "summary", "content", "encrypted_content", "status"})
_DECODE = msgspec.json.Decoder(dict[str, Any]).decode
_ENCODE = msgspec.json.Encoder().encode
_LONGEST = 2000
"""Arguments of more characters may be nested deeply, and are left to the other reader."""
_ABSENT: Item = {"absent": ["annotations"]}
_NO_PROBABILITIES: Item = {"spelled": {"logprobs": []}}


def quick_turn(item: Item) -> Message | None:
    """A message of a person or the client: one text, or several."""
    role = _ROLES.get(str(item.get("role")))
    parts = item.get("content")
    if role is None or type(parts) is not list or item.get("type") != "message":
        return None
    texts = [_text(part) for part in parts]
    if not texts or not all(texts):
        return None
    rest = _rest(item, _MESSAGE)
    if rest is None:
        return None
    form: Item = {"content": "list"} if len(texts) == 1 else {}
    form["item"] = {key: item[key] for key in ("type", "id", "status", "phase") if key in item}
    rest["$form"] = form
    blocks = tuple([TextBlock(text) for text in texts])  # type: ignore[arg-type]  # all are texts
    return Message(role, blocks, metadata=MessageMetadata(provider_raw={DIALECT: rest}))


def _text(part: Any) -> str | None:
    if type(part) is not dict or len(part) != 2 or part.get("type") != "input_text":
        return None
    text = part.get("text")
    return text if type(text) is str else None


def quick_result(item: Item) -> ToolResultBlock | None:
    """The result of a function, as a text."""
    id, output = item.get("call_id"), item.get("output")
    if type(output) is not str or not output or type(id) is not str or not id:
        return None
    if "name" in item or "execution" in item or output.startswith(ERROR_MARK):
        return None
    rest = _rest(item, _RESULT)
    if rest is None:
        return None
    spelled = {key: item[key] for key in ("id", "status") if key in item}
    if None in spelled.values():
        return None
    if spelled:
        rest["$form"] = {"item": spelled}
    raw = {DIALECT: rest} if rest else None
    return ToolResultBlock(id, (TextBlock(output),), raw=raw)


def quick_answer(items: list[Item]) -> tuple[Block, ...] | None:
    """A run of a model's output: thoughts, texts and calls of functions."""
    blocks: list[Block] = []
    for item in items:
        read = _MADE.get(item.get("type"))  # type: ignore[arg-type]  # anything is looked up
        made = read(item) if read is not None else None
        if made is None or (blocks and type(blocks[-1]) is type(made) is not ToolUseBlock):
            return None
        blocks.append(made)
    return tuple(blocks)


def _text_block(item: Item) -> Block | None:
    parts = item.get("content")
    if item.get("role") != "assistant" or type(parts) is not list or len(parts) != 1:
        return None
    part = parts[0]
    text = part.get("text") if type(part) is dict and part.get("type") == "output_text" else None
    rest = _rest(item, _MESSAGE)
    if type(text) is not str or rest is None:
        return None
    form = _form(part)
    phase = item.get("phase")
    if form is None or (phase is not None and type(phase) is not str):
        return None
    spelled = {key: item[key] for key in ("type", "id", "status") if key in item}
    if None in spelled.values() or ("phase" in item and phase is None):
        return None
    own_raw: Item = {"$item": rest} if rest else {}
    own_raw["$form"] = {**form, "item": spelled}
    return TextBlock(text, raw={DIALECT: own_raw}, phase=phase)


def _form(part: Item) -> Item | None:
    """The spelling of a model's text; None for rare forms."""
    if "annotations" not in part:
        return _ABSENT if len(part) == 2 else None
    if part["annotations"] != []:
        return None
    if len(part) == 3:
        return {}
    return _NO_PROBABILITIES if len(part) == 4 and part.get("logprobs") == [] else None


def _call(item: Item) -> Block | None:
    id, name, text = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is not str or not id or type(name) is not str or type(text) is not str:
        return None
    rest = _rest(item, _CALL)
    if rest is None or "execution" in item or not text or len(text) > _LONGEST:
        return None
    try:
        arguments = _DECODE(text)
        written = None if _ENCODE(arguments).decode() == text else text
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    spelled = {key: item[key] for key in ("id", "status") if key in item}
    if spelled:
        rest["$form"] = {"item": spelled}
    return ToolUseBlock(id, name, arguments, written, raw={DIALECT: rest} if rest else None)


def _thought(item: Item) -> Block | None:
    """Reasoning with one part of a summary, or none."""
    id, parts, sealed = item.get("id"), item.get("summary"), item.get("encrypted_content")
    if type(id) is not str or type(sealed) is not str or type(parts) is not list:
        return None
    text = _summary(parts)
    rest = _rest(item, _REASONING)
    if text is None or rest is None or "status" in item or item.get("content") is not None:
        return None
    form: Item = {"item": {"content": None}} if "content" in item else {}
    own_raw: Item = {"$item": rest} if rest else {}
    if form or rest:
        own_raw["$form"] = form or {"item": {}}
    return ThinkingBlock(text, sealed, id, raw={DIALECT: own_raw} if own_raw else None)


def _summary(parts: list[Any]) -> str | None:
    if not parts:
        return ""
    part = parts[0]
    if len(parts) > 1 or type(part) is not dict or len(part) != 2:
        return None
    text = part.get("text") if part.get("type") == "summary_text" else None
    return text if type(text) is str and text else None


def _rest(item: Item, known: frozenset[str]) -> Item | None:
    """Keys that no field holds; None if one of them is empty, which is spelling."""
    rest = {key: item[key] for key in item if key not in known}
    return rest if all(rest.values()) else None


_MADE = {"message": _text_block, "function_call": _call, "reasoning": _thought}


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
_READ: dict[str, Any] = {}
_COMMON = ("message", "function_call_output")
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
        payload = line.value.get("payload")
        if not isinstance(payload, dict):
            return
        match line.value.get("type"):
            case "response_item":
                if str(payload.get("type")) in RUNS:
                    self._ran.append(payload)
                    self._searched[str(payload.get("id"))] = False
                self._item(line, payload)
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

    def _item(self, line: Line, item: dict[str, Any]) -> None:
        if is_of_answer(item):
            self._answer.append(line)
            return
        self.end_answer()
        kind = item.get("type")
        if kind == "message" and (turn := quick_turn(item)) is not None:
            self._put_message([line], typed(turn))
        elif kind == "function_call_output" and (result := quick_result(item)) is not None:
            about = MessageMetadata(parent_tool_use_id=result.tool_use_id)
            self._put([line], Role.TOOL, (result,), about)
        else:
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
        items = [line.value["payload"] for line in lines]
        try:
            messages = read_items(items)
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
        id, time, note = (
            value["payload"].get("id"),
            from_iso(value.get("timestamp")),
            value.get(KEY),
        )
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
