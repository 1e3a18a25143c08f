"""Transcripts to UI messages, or to the stream of the last answer.

An answer with the results of its calls, and all answers after it until the next message of another
role, are one message of the assistant. Data without an equivalent is stored in its `metadata`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.kernel.preserved import content_of, spelling_of
from interlingua.model.arguments import spelled
from interlingua.model.blocks import (
    Block,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.model.reasons import Reason, because
from interlingua.transcripts.format import Draft
from interlingua.transcripts.lines import spelled as spelled_line
from interlingua.transcripts.lines import stream_variant
from interlingua.transcripts.notes import KEY, note_for, session_note
from interlingua.transcripts.transcript import Transcript, bare, is_summary, total
from interlingua.transcripts.ui_message.parts import (
    ISSUERS,
    NAME,
    STOP_WORDS,
    Part,
    write_call,
    write_part,
)
from interlingua.transcripts.ui_message.read import read_message, write_usage
from interlingua.transcripts.ui_message.stream import fold, unfold
from interlingua.transcripts.values import from_iso, from_millis, to_millis

UNANSWERED = "No result was recorded."
_SPEAKING = (Role.ASSISTANT, Role.TOOL)


def write_file(transcript: Transcript, name: str) -> Draft:
    """A list of messages; the stream of the last answer where the file's name ends with `.sse`."""
    report = Report(NAME)
    if stream_variant(name) == "stream":
        data = _stream(transcript, report)
    else:
        listed: Any = [ui for _, ui in _written(transcript, report)]
        chat = transcript.details.get("chat") if transcript.format == NAME else None
        data = msgspec.json.encode({**chat, "messages": listed} if chat else listed)
        data = msgspec.json.format(data, indent=2) + b"\n"
    transcript.report_left_out(report)
    return Draft({name: data}, report)


def _stream(transcript: Transcript, report: Report) -> bytes:
    """One answer; all earlier messages are named in the report."""
    made = list(_written(transcript, Report(NAME), streamed=True))
    own = next((pair for pair in reversed(made) if pair[1]["role"] == "assistant"), None)
    inside = set(own[0]) if own is not None else set()
    for at, message in enumerate(transcript.messages):
        if at not in inside:
            reason = because("stream_one_answer")
            report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)
    if own is None:
        return b""
    answers = [transcript.messages[at] for at in own[0]]
    about = next(each for each in reversed(answers) if each.role is Role.ASSISTANT).metadata
    finish = STOP_WORDS.get(about.stop_reason or StopReason.END_TURN, "other")
    chunks = unfold(own[1], finish, about.error_message)
    events = [b"data: " + spelled_line(chunk) + b"\n\n" for chunk in chunks]
    return b"".join([*events, b"data: [DONE]\n\n"])


def turns(messages: Sequence[Message]) -> list[list[int]]:
    """Groups of messages that form one UI message: an answer up to the next prompt."""
    groups: list[list[int]] = []
    speaking = opening = False
    for at, message in enumerate(messages):
        form = spelling_of(NAME, message.metadata.provider_raw)
        goes_on = message.role in _SPEAKING or bool(form.get("steering"))
        goes_on = speaking and goes_on and not form.get("apart") and not is_summary(message)
        if groups and (goes_on or opening or message.role is Role.TOOL):
            groups[-1].append(at)
        else:
            groups.append([at])
        opening = message.role is Role.TOOL and (opening or len(groups[-1]) == 1)
        if not goes_on and message.role is not Role.TOOL:
            speaking = message.role is Role.ASSISTANT and not is_summary(message)
    return groups


def _written(
    transcript: Transcript, report: Report, streamed: bool = False
) -> Iterable[tuple[list[int], Part]]:
    groups = turns(transcript.messages)
    before = None
    for number, group in enumerate(groups):
        own = [(at, transcript.messages[at]) for at in group]
        if all(message.role is Role.TOOL for _, message in own):
            for at, message in own:
                _report_dropped(report, at, message, because("result_without_call_dropped"))
            continue
        is_over = transcript.format != NAME and number + 1 < len(groups)
        turn = _Turn(own, number, is_over, report)
        session = None if number or transcript.format == NAME else session_note(transcript)
        ui = turn.written(session, streamed, before == "assistant")
        before = ui["role"]
        yield group, ui


class _Around(NamedTuple):
    """A message, and those beside it that are not shown."""

    message: Message | None
    before: list[Message]
    after: list[Message]


class _Turn:
    """One UI message under assembly. `is_over`: its open calls will get no answer."""

    def __init__(
        self, own: list[tuple[int, Message]], number: int, is_over: bool, report: Report
    ) -> None:
        self.own = own
        self.number = number
        self.is_over = is_over
        self.report = report
        self.first = next(message for _, message in own if message.role is not Role.TOOL)
        self.results = _results(message for _, message in own)
        self.shown: list[int] = []
        """Places of messages that have parts of their own, in their order."""

    def written(self, session: Part | None, streamed: bool, apart: bool) -> Part:
        ui: Part = {"id": self.first.id or f"il-{self.number + 1}", **self._about()}
        role = self.first.role
        ui["role"] = str(role) if role in (Role.USER, Role.ASSISTANT) else "system"
        ui["parts"] = self._parts()
        own = content_of(NAME, self.first.metadata.provider_raw)
        ui |= {key: value for key, value in own.items() if key != "metadata"}
        shown = fold(unfold(ui)).message if streamed and ui["role"] == "assistant" else ui
        notes = self._notes(read_message(shown, apart))
        if session:
            notes["session"] = session
        return self._with_notes(ui, notes) if notes else ui

    def _with_notes(self, ui: Part, notes: Part) -> Part:
        """Metadata are the application's own and may be anything; notes need an object."""
        metadata = {} if ui.get("metadata") is None else ui["metadata"]
        if isinstance(metadata, dict):
            return {**ui, "metadata": {**metadata, KEY: notes}}
        reason = because("metadata_not_object")
        path = f"$.messages[{self.own[0][0]}].metadata"
        self.report.add("dropped", path, reason, "warning", None, self.first.id)
        return ui

    def _about(self) -> Part:
        raw = self.first.metadata.provider_raw
        form, metadata = spelling_of(NAME, raw), content_of(NAME, raw).get("metadata")
        if metadata is not None and not isinstance(metadata, dict):
            return {"metadata": metadata}
        made = {**(metadata or {}), **_time(self.first, form)}
        answers = [message for _, message in self.own if message.role is Role.ASSISTANT]
        if answers:
            about = answers[-1].metadata
            model = about.response_model or bare(about.model)
            if model is not None:
                made[form.get("model", "model")] = model
        usages = [each.metadata.usage for each in answers if each.metadata.usage is not None]
        if usages:
            usage = usages[0] if len(usages) == 1 else total(usages)
            made[form.get("usage", "usage")] = write_usage(usage)
        return {"metadata": made} if made else {}

    def _parts(self) -> list[Part]:
        parts: list[Part] = []
        last = self.first
        speaking = last.role is Role.ASSISTANT
        for at, message in self.own:
            if message.role is Role.TOOL:
                continue
            form = spelling_of(NAME, message.metadata.provider_raw)
            own_parts = self._message_parts(at, message)
            if not own_parts and message is not self.first:
                continue
            self.shown.append(at)
            last = message
            if form.get("steering") and message is not self.first:
                parts.append(
                    {"type": "steering-message", "id": message.id or "", "parts": own_parts}
                )
                continue
            borders = form.get("starts", 1) if speaking else 0
            parts += [{"type": "step-start"} for _ in range(borders)] + own_parts
        if not parts and not speaking:
            parts = [{"type": "text", "text": ""}]  # an empty message is refused
        trailing = spelling_of(NAME, last.metadata.provider_raw).get("trailing", 0)
        return parts + [{"type": "step-start"} for _ in range(trailing)]

    def _message_parts(self, at: int, message: Message) -> list[Part]:
        about = message.metadata
        issuer = ISSUERS.get(about.provider or "") or ISSUERS.get(about.protocol or "")
        inside = _results([message], hosted=True)
        parts = []
        for number, block in enumerate(message.content):
            if isinstance(block, ToolUseBlock):
                hosted = block.executor == "provider"
                result = _next(inside if hosted else self.results, block.id)
                if result is None and not hosted and self.is_over:
                    result = self._unanswered(at, block)
                parts.append(write_call(block, result, issuer))
            elif not isinstance(block, ToolResultBlock):
                part = write_part(_sealed(block, message, number), issuer)
                parts += [] if part is None else [part]
        return parts

    def _unanswered(self, at: int, call: ToolUseBlock) -> ToolResultBlock:
        reason = because("call_shown_failed")
        self.report.add("approximated", f"$.messages[{at}]", reason, "warning", "tool_use")
        return ToolResultBlock(call.id, (TextBlock(UNANSWERED),), True)

    def _places(self, read: list[Message]) -> dict[int, int]:
        """The place of each message."""
        places: dict[int, int] = {}
        unplaced = iter(self.shown)
        results: dict[str | None, deque[int]] = {}
        for at, message in self.own:
            if message.role is Role.TOOL:
                results.setdefault(_answered(message), deque()).append(at)
        for place, shown in enumerate(read):
            if shown.role is not Role.TOOL:
                places[next(unplaced)] = place
            elif results.get(_answered(shown)):
                places[results[_answered(shown)].popleft()] = place
        return places

    def _notes(self, read: list[Message]) -> Part:
        """Notes on what the parts alone would be read as, by their number."""
        places = self._places(read)
        notes: Part = {}
        hidden: list[Message] = []
        order: list[int] = []
        about: dict[int, _Around] = {}
        for at, message in self.own:
            place = places.get(at)
            if place is None:
                _report_dropped(self.report, at, message, because("kept_as_extra", what="it"))
                (about[order[-1]].after if order else hidden).append(message)
                continue
            _compare(self.report, at, message, read[place])
            about[place] = _Around(message, hidden, [])
            hidden = []
            order.append(place)
        for place, shown in enumerate(read):
            own = about.get(place, _Around(None, [], []))
            note = note_for(own.message, shown, own.before, own.after)
            if note is not None:
                notes[str(place)] = note
        order += [place for place in range(len(read)) if place not in about]
        return {**notes, "order": order} if order != sorted(order) else notes


def _compare(report: Report, at: int, message: Message, shown: Message) -> None:
    if shown.content != tuple(map(_unspelled, message.content)):
        _report_dropped(report, at, message, because("kept_as_extra_part"))
    elif shown.role is not message.role:
        reason = because("developer_as_system")
        report.add("approximated", f"$.messages[{at}].role", reason, "info", None, message.id)


def _unspelled(block: Block) -> Block:
    """A call without its text if that only repeats its input."""
    text = block.raw_arguments if isinstance(block, ToolUseBlock) else None
    if text is None or not spelled(text, block.input):  # type: ignore[union-attr]  # it is a call
        return block
    return block.replace(raw_arguments=None)


def _report_dropped(report: Report, at: int, message: Message, reason: Reason) -> None:
    report.add("dropped", f"$.messages[{at}]", reason, "warning", None, message.id)


def _answered(message: Message) -> str | None:
    blocks = [block for block in message.content if isinstance(block, ToolResultBlock)]
    return blocks[0].tool_use_id if blocks else None


def _results(messages: Iterable[Message], hosted: bool = False) -> dict[str, list[ToolResultBlock]]:
    """Results by their calls; those of hosted tools are in the answer itself."""
    found: dict[str, list[ToolResultBlock]] = {}
    for message in messages:
        for block in message.content if (message.role is Role.TOOL) != hosted else ():
            if isinstance(block, ToolResultBlock):
                found.setdefault(block.tool_use_id, []).append(block)
    return found


def _next(results: dict[str, list[ToolResultBlock]], name: str) -> ToolResultBlock | None:
    waiting = results.get(name)
    return waiting.pop(0) if waiting else None


def _sealed(block: Block, message: Message, number: int) -> Block:
    """Thinking with the signature of its whole item, where each part was written with it."""
    if isinstance(block, ThinkingBlock) and spelling_of(NAME, block.raw).get("sealed"):
        for each in message.content[number + 1 :]:
            if isinstance(each, ThinkingBlock) and each.id == block.id and each.signature:
                return block.replace(signature=each.signature)
    return block


def _time(message: Message, form: Part) -> Part:
    if message.created_at is None:
        return {}
    original = form.get("createdAt")
    same = (
        original is not None and (from_iso(original) or from_millis(original)) == message.created_at
    )
    return {"createdAt": original if same else to_millis(message.created_at)}
