"""Claude Code's files to a transcript."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from interlingua.dialects.anthropic.messages import read_turns
from interlingua.dialects.anthropic.tables import STOP_REASONS
from interlingua.dialects.anthropic.text import ANSWER, read_parts
from interlingua.dialects.anthropic.usage import read_usage
from interlingua.dialects.kernel.errors import ShapeError
from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.losses import Report
from interlingua.model.blocks import TextBlock, ToolResultBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.claude_code.tables import NOISE, NOT_TYPED, TITLES
from interlingua.transcripts.claude_code.tree import Tree, content, is_error
from interlingua.transcripts.errors import TranscriptError
from interlingua.transcripts.format import Sample
from interlingua.transcripts.lines import Line, LinesFile, only
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.summary import is_summary, summary_message
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.totals import model_changes, models_of
from interlingua.transcripts.transcript import (
    Compaction,
    Origin,
    OriginFile,
    Span,
    SubAgent,
    Transcript,
)
from interlingua.transcripts.tree import Entry, Node, Ways

NAME = "claude-code"
WANTED = (
    *("type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "message", "timestamp"),
    *("isMeta", "isCompactSummary", "isApiErrorMessage", "compactMetadata", "rendered"),
    *("cwd", "sessionId", "version", "gitBranch", *TITLES.values(), KEY),
)
"""What is asked of lines, by key; results once more, as the screen shows them, are not among it."""
_decode = only(*WANTED)
_STRING = MessageMetadata(provider_raw={"anthropic": {"$form": {"content": "string"}}})
"""Of a prompt that is spelled as a string."""
_RESULT: dict[str, Any] = {"anthropic": {"$form": {"content": "string"}}}
"""Of a result that is."""
_SIGNS = (b'"parentUuid":', b'"sessionId":')


def signs(sample: Sample) -> str | None:
    """Lines with `sessionId` and, where somebody speaks, `parentUuid`."""
    if sample.path.suffix != ".jsonl" and b"\n" not in sample.head.strip():
        return None
    if all(sign in sample.head for sign in _SIGNS):
        return "lines with parentUuid and sessionId"
    return None


def read(path: Path) -> Transcript:
    """One session: the file, and those of its helpers beside it."""
    report = Report(NAME)
    file = LinesFile(path, report)
    session = Session(list(file.lines(NOISE, _decode)), report)
    if not session.lines:
        raise TranscriptError(path, "it contains no readable line of a Claude Code session")
    helpers, beside = _helpers(path)
    return session.transcript(file.origin(), helpers, beside)


class Session:
    """The lines of one file, sorted by what they are for."""

    def __init__(self, lines: list[Line], report: Report, helper: bool = False) -> None:
        self.lines = lines
        self.report = report
        own = [line for line in lines if helper or line.value.get("isSidechain") is not True]
        self.notes = [line for line in lines if "uuid" not in line.value]
        self.tree = Tree(own)

    def transcript(
        self,
        file: OriginFile,
        helpers: tuple[SubAgent, ...] = (),
        beside: tuple[OriginFile, ...] = (),
    ) -> Transcript:
        tip = self.tree.active()
        ways = Ways(self._entries)
        entries = ways.entries(tip)
        messages = tuple(entry.message for entry in entries)
        spans = tuple(entry.spans for entry in entries)
        self._tell_attachments()
        return Transcript(
            format=NAME,
            messages=messages,
            id=self.session_id(file.path),
            title=self.title(),
            folder=self.latest("cwd"),
            created_at=from_iso(self.first("timestamp")),
            updated_at=from_iso(self.latest("timestamp")),
            models=models_of(messages),
            usage=ways.usage(self.tree.nodes),
            branches=ways.branches(self.tree.nodes, tip),
            compactions=self._compactions(entries),
            model_changes=model_changes(messages),
            subagents=helpers,
            report=self.report,
            details=self._details(),
            origin=Origin(NAME, (file, *beside), messages, spans),
        )

    def _entries(self, node: Node) -> list[Entry]:
        kind = node.lines[0].value["type"]
        if kind == "user":
            return self._tried(_spoken, node.lines)
        if kind != "assistant":
            return []
        answer = [line for line in node.lines if line.value["type"] == "assistant"]
        found = [] if is_error(answer[0].value) else self._tried(_answer, answer)
        if len(answer) < len(node.lines):
            for line in node.lines:
                if line.value["type"] == "user":
                    found += self._tried(_spoken, [line])
        return found

    def _tried(self, make: Callable[[list[Line]], list[Entry]], lines: list[Line]) -> list[Entry]:
        try:
            return make(lines)
        except InterlinguaError as error:
            self.report.add("dropped", f"line {lines[0].number}", str(error), "error")
            return []

    def _compactions(self, entries: list[Entry]) -> tuple[Compaction, ...]:
        if not any(entry.compaction for entry in entries):
            return ()
        places = {line.value.get("uuid"): at for at, e in enumerate(entries) for line in e.lines}
        found = []
        for at, entry in enumerate(entries):
            if entry.compaction:
                kept = self._kept(entry.lines[0].value)
                indexes = sorted({places[uuid] for uuid in kept if places.get(uuid, at) < at})
                found.append(Compaction(at, tuple(indexes)))
        return tuple(found)

    def _kept(self, summary: dict[str, Any]) -> list[str]:
        """The lines that are said again behind a summary."""
        for line in self.lines:
            if line.value.get("uuid") == summary.get("parentUuid"):
                about = line.value.get("compactMetadata") or {}
                kept = about.get("preservedMessages") or {}
                return kept.get("uuids") or kept.get("allUuids") or []
        return []

    def _tell_attachments(self) -> None:
        """What the client says to the model by itself stays in the file; the report counts it."""
        count = sum(1 for line in self.lines if line.value.get("rendered"))
        if count:
            reason = f"{count} notes of the client to the model are left in the file"
            self.report.add("dropped", "attachments", reason, "info")

    def title(self) -> str | None:
        for kind, key in TITLES.items():
            for line in reversed(self.notes):
                if line.value.get("type") == kind and isinstance(line.value.get(key), str):
                    title: str = line.value[key]
                    return title
        return None

    def session_id(self, path: Path) -> str:
        """The name of the file is the session's; a fork's first lines still name the old one."""
        found = self.latest("sessionId")
        return found if found is not None and found in path.stem else found or path.stem

    def first(self, key: str) -> str | None:
        found = (line.value.get(key) for line in self.lines)
        return next((value for value in found if isinstance(value, str)), None)

    def latest(self, key: str) -> str | None:
        found = (line.value.get(key) for line in reversed(self.lines))
        return next((value for value in found if isinstance(value, str)), None)

    def _details(self) -> dict[str, Any]:
        found = {"version": self.latest("version"), "git_branch": self.latest("gitBranch")}
        return {key: value for key, value in found.items() if value}


def _answer(lines: list[Line]) -> list[Entry]:
    """One answer: the blocks of its lines together, usage counted once."""
    first = lines[0].value
    said = [_message(line) for line in lines]
    blocks = [block for line in lines for block in content(line.value)]
    usage, stop = most_usage(said), said[0].get("stop_reason")
    if len(said) > 1:
        ends = [each.get("stop_reason") for each in said]
        stop = next((end for end in reversed(ends) if end is not None), None)
    id, model = said[0].get("id"), said[0].get("model")
    try:
        counts, diagnostics = read_usage(usage)
        metadata = MessageMetadata(
            protocol="anthropic",
            model=f"anthropic:{model}" if type(model) is str else None,
            provider="anthropic" if type(model) is str else None,
            response_model=model if type(model) is str else None,
            response_id=id if type(id) is str else None,
            usage=counts,
            stop_reason=STOP_REASONS.read(stop) if type(stop) is str else None,
            raw_stop_reason=stop if type(stop) is str else None,
            diagnostics=diagnostics,
        )
        found = read_parts(blocks, ANSWER)
    except ShapeError as shape:
        raise shape.inside(".message").error("Claude Code") from None
    time = from_iso(first.get("timestamp"))
    message = Message(
        Role.ASSISTANT, found, id=first.get("uuid"), metadata=metadata, created_at=time
    )
    return _recalled(message, lines)


def shown_as(values: list[dict[str, Any]]) -> Message | None:
    """What lines that were just made are read as, without what is noted in them."""
    lines = [Line(0, Span(0, 0), value) for value in values if value["type"] != "system"]
    made = _answer(lines) if lines[0].value["type"] == "assistant" else _spoken(lines)
    return next((entry.message for entry in made), None)


def most_usage(said: list[dict[str, Any]]) -> Any:
    """What an answer used: every line of it repeats that, and the last ones know more."""
    if len(said) == 1:
        return said[0].get("usage")
    return max(map(_wire_usage, said), key=_output)


def _wire_usage(said: dict[str, Any]) -> dict[str, Any]:
    usage = said.get("usage")
    return usage if isinstance(usage, dict) else {}


def _output(usage: dict[str, Any]) -> int:
    count = usage.get("output_tokens")
    return count if isinstance(count, int) else -1


def _spoken(lines: list[Line]) -> list[Entry]:
    """A prompt, results of calls, a summary, or what the client says as the user."""
    value = lines[0].value
    said = _message(lines[0])
    if len(said) == 2 and "isMeta" not in value and "isCompactSummary" not in value:
        common = _common(said.get("content"), value)
        if common is not None:
            return _recalled(common, lines)
    if value.get("isCompactSummary") is True:
        return _recalled(_placed(_summary(said), value), lines, compaction=True)
    found: list[Entry] = []
    for message in _turn(said):
        if message.role is Role.USER and _is_not_typed(value, message):
            message = replace(message, role=Role.SYSTEM, name="claude-code")
        found += _recalled(_placed(message, value), lines)
    return found


def _common(parts: Any, value: dict[str, Any]) -> Message | None:
    """A prompt that is one text, or one result that is: what the dialect's reader gives for them,
    without looking around; None for all else."""
    id, time = value.get("uuid"), from_iso(value.get("timestamp"))
    if type(parts) is str:
        if not parts or parts.startswith(NOT_TYPED):
            return None
        text = (TextBlock(parts),)
        return Message(Role.USER, text, id=id, metadata=_STRING, created_at=time)
    part = parts[0] if type(parts) is list and len(parts) == 1 else None
    if type(part) is not dict or len(part) != 3 or part.get("type") != "tool_result":
        return None
    call, text_of_it = part.get("tool_use_id"), part.get("content")
    if type(call) is not str or type(text_of_it) is not str or not text_of_it:
        return None
    block = ToolResultBlock(call, (TextBlock(text_of_it),), raw=_RESULT)
    metadata = MessageMetadata(parent_tool_use_id=call)
    return Message(Role.TOOL, (block,), id=id, metadata=metadata, created_at=time)


def _turn(said: dict[str, Any]) -> list[Message]:
    """The messages of one turn."""
    try:
        return read_turns([{**said, "role": "user"}], [])
    except ShapeError as error:
        raise error.inside(".message").error("Claude Code") from None


def _recalled(shown: Message, lines: list[Line], compaction: bool = False) -> list[Entry]:
    """What is shown, and what another tool knew of it."""
    note = lines[0].value.get(KEY)
    if note is None:
        return [Entry(shown, lines, compaction)]
    return [Entry(each, lines, compaction and is_summary(each)) for each in recall(shown, note)]


def _message(line: Line) -> dict[str, Any]:
    message = line.value.get("message")
    if not isinstance(message, dict):
        raise ReadError("Claude Code", "$.message", "an object", found(message))
    return message


def _summary(said: dict[str, Any]) -> Message:
    text = said.get("content")
    if isinstance(text, list):
        text = "\n".join(block.get("text", "") for block in text if isinstance(block, dict))
    return summary_message(text or "")


def _is_not_typed(value: dict[str, Any], message: Message) -> bool:
    if value.get("isMeta") is True:
        return True
    only = message.content[0] if len(message.content) == 1 else None
    text = only.text if type(only) is TextBlock else message.text
    return text.startswith(NOT_TYPED)


def _placed(message: Message, value: dict[str, Any]) -> Message:
    return replace(message, id=value.get("uuid"), created_at=from_iso(value.get("timestamp")))


def _helpers(path: Path) -> tuple[tuple[SubAgent, ...], tuple[OriginFile, ...]]:
    """The sessions of helpers, which lie in a folder named like the file."""
    folder = path.with_suffix("") / "subagents"
    helpers, files = [], []
    for each in sorted(folder.glob("agent-*")) if folder.is_dir() else ():
        name = each.relative_to(path.parent).as_posix()
        if each.suffix == ".jsonl":
            report = Report(NAME)
            file = LinesFile(each, report, name)
            session = Session(list(file.lines(NOISE, _decode)), report, helper=True)
            files.append(file.origin())
            helpers.append(SubAgent(session.transcript(file.origin()), _caller(each)))
        else:
            files.append(OriginFile(each, name, each.stat().st_size))
    return tuple(helpers), tuple(files)


def _caller(path: Path) -> str | None:
    """The call that began a helper, as the file beside it says."""
    about = path.with_suffix(".meta.json")
    try:
        value = msgspec.json.decode(about.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    name = value.get("toolUseId") if isinstance(value, dict) else None
    return name if isinstance(name, str) else None
