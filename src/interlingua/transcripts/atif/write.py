"""Transcripts to trajectories. A step may have an `extra`, where what it cannot show is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from interlingua.dialects.registry import dialect
from interlingua.losses import Report
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.transcripts.atif.read import NAME, read_step
from interlingua.transcripts.bodies import model_of
from interlingua.transcripts.format import Draft
from interlingua.transcripts.memo import KEY, memo
from interlingua.transcripts.rows import Row, draft
from interlingua.transcripts.summary import is_summary, summary_text
from interlingua.transcripts.times import to_iso
from interlingua.transcripts.totals import bare, usage_of
from interlingua.transcripts.transcript import Transcript

VERSION = "ATIF-v1.6"
_SOURCES = {Role.USER: "user", Role.ASSISTANT: "agent"}


def write(transcript: Transcript, name: str) -> Draft:
    """One trajectory."""
    report = Report(NAME)
    kept = transcript.details.get("row", {}) if transcript.format == NAME else {}
    row = {**_head(transcript), **kept}
    model = row["agent"].get("model_name") if isinstance(row.get("agent"), dict) else None
    steps = _Steps(report, model)
    steps.all(transcript.messages)
    metrics = kept.get("final_metrics", _final(transcript, len(steps.made)))
    row = {key: value for key, value in row.items() if key != "final_metrics"}
    row |= {"steps": steps.made, "final_metrics": metrics}
    transcript = transcript.replace(subagents=()) if kept else transcript
    return draft(name, row, transcript, report)


def _head(transcript: Transcript) -> Row:
    agent: Row = {"name": transcript.format, "version": "unknown"}
    model = model_of(transcript)
    if model is not None:
        agent["model_name"] = model
    if transcript.tools:
        wire = dialect("openai-chat").write_request(Request((), tools=transcript.tools)).wire
        agent["tool_definitions"] = wire["tools"]
    return {"schema_version": VERSION, "session_id": transcript.id or "session", "agent": agent}


def _final(transcript: Transcript, steps: int) -> Row:
    usage = usage_of(transcript.messages)
    told = {
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cached_input_tokens,
        "total_cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
        "total_steps": steps,
    }
    return {key: value for key, value in told.items() if value is not None}


class _Steps:
    """Step after step; results belong to the answer before them."""

    def __init__(self, report: Report, model: str | None) -> None:
        self.made: list[Row] = []
        self._report = report
        self._model = model

    def all(self, messages: Sequence[Message]) -> None:
        at = 0
        while at < len(messages):
            said = None if messages[at].role is Role.TOOL else messages[at]
            first = end = at if said is None else at + 1
            while end < len(messages) and messages[end].role is Role.TOOL:
                end += 1
            self._add(said, messages[first:end], first)
            at = end

    def _add(self, said: Message | None, results: Sequence[Message], first: int) -> None:
        step: Row = {"step_id": len(self.made) + 1, **_said(said)}
        if results:
            step["observation"] = {"results": [_result(each) for each in results]}
        step = _with_rest(step, said)
        self._remember(step, [said, *results], first - 1)
        self.made.append(step)

    def _remember(self, step: Row, own: list[Message | None], at: int) -> None:
        notes: Row = {}
        shown = read_step(step, self._model)
        for number, (message, each) in enumerate(zip(own, shown, strict=True)):
            if message is not None and each.content != message.content:
                reason = "a step cannot represent part of it; it is kept as extra data"
                place = f"$.messages[{at + number}]"
                self._report.add("dropped", place, reason, "warning", None, message.id)
            note = memo(message, each)
            if note is not None:
                notes[str(number)] = note
        if notes:
            step["extra"] = {**step.get("extra", {}), KEY: notes}


def _said(message: Message | None) -> Row:
    if message is None:
        return {"source": "system", "message": ""}
    step: Row = {"source": _SOURCES.get(message.role, "system")}
    if message.created_at is not None:
        step["timestamp"] = to_iso(message.created_at)
    if message.role is Role.ASSISTANT:
        answered = message.metadata.response_model or bare(message.metadata.model)
        if answered is not None:
            step["model_name"] = answered
    step["message"] = _content(message)
    if message.role is Role.ASSISTANT:
        step |= _work(message)
    return step


def _content(message: Message) -> Any:
    if is_summary(message):
        return summary_text(message)
    return _parts([each for each in message.content if not isinstance(each, ThinkingBlock)])


def _parts(blocks: Sequence[Block]) -> Any:
    """A text where one says all, else parts."""
    texts = [block.text for block in blocks if isinstance(block, TextBlock)]
    others = [part for block in blocks if (part := _part(block)) is not None]
    if len(others) <= 1 and len(texts) == len(others):
        return "".join(texts)
    return others


def _part(block: Block) -> Row | None:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ImageBlock(source, media):
            if source.data is None or source.kind not in ("base64", "url"):
                return None
            media = media or "image/png"
            inline = source.kind == "base64"
            path = f"data:{media};base64,{source.data}" if inline else source.data
            return {"type": "image", "source": {"media_type": media, "path": path}}
        case UnknownBlock({"atif": dict(part)}) if "function_name" not in part:
            return part
    return None


def _work(message: Message) -> Row:
    """What only an agent's step has: thinking, calls, counts."""
    step: Row = {}
    thoughts = [block.text for block in message.content if isinstance(block, ThinkingBlock)]
    if any(thoughts):
        step["reasoning_content"] = "\n\n".join(text for text in thoughts if text)
    calls = [_call(block) for block in message.content if isinstance(block, ToolUseBlock)]
    if calls:
        step["tool_calls"] = calls
    if message.metadata.usage is not None:
        step["metrics"] = _metrics(message.metadata.usage)
    return step


def _call(block: ToolUseBlock) -> Row:
    return {"tool_call_id": block.id, "function_name": block.name, "arguments": block.input}


def _metrics(usage: Usage) -> Row:
    told = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_input_tokens,
        "cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
    }
    return {key: value for key, value in told.items() if value is not None}


def _result(message: Message) -> Row:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return {"content": message.text}
    return {"source_call_id": block.tool_use_id, "content": _parts(block.content)}


def _with_rest(step: Row, said: Message | None) -> Row:
    """A step with what was read beside its fields; an observation only if it still is that one."""
    raw = said.metadata.provider_raw if said is not None else None
    rest = raw.get(NAME) if raw else None
    if not isinstance(rest, dict):
        return step
    whole = {**step, **rest}
    if "metrics" in rest:
        whole["metrics"] = {**step.get("metrics", {}), **rest["metrics"]}
    if "observation" in rest and _observed(whole) != _observed(step):
        whole.pop("observation")
        whole |= {key: step[key] for key in ("observation",) if key in step}
    return whole


def _observed(step: Row) -> list[tuple[Block, ...]]:
    return [message.content for message in read_step(step)[1:]]
