"""ATIF, the Agent Trajectory Interchange Format: a JSON object of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.reasons import because
from interlingua.transcripts.format import Draft, Sample
from interlingua.transcripts.notes import KEY, apply_note, note_for
from interlingua.transcripts.rows import (
    Conversation,
    Row,
    RowFormat,
    draft,
    first_row,
    model_of,
    read_tools,
    write_tools,
)
from interlingua.transcripts.transcript import (
    SubAgent,
    Transcript,
    bare,
    is_summary,
    summary_text,
    usage_of,
    usage_with,
)
from interlingua.transcripts.values import (
    as_count,
    as_text,
    dollars,
    from_iso,
    listed,
    source_of,
    to_iso,
)

NAME = "atif"
ROLES = {"user": Role.USER, "system": Role.SYSTEM, "agent": Role.ASSISTANT}
_KNOWN = frozenset(
    {
        "step_id",
        "source",
        "timestamp",
        "message",
        "model_name",
        "reasoning_content",
        "tool_calls",
        "observation",
        "metrics",
    }
)

_COUNTED = frozenset(("prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"))


def _time(step: Any) -> Any:
    return from_iso(step.get("timestamp")) if isinstance(step, dict) else None


def _with_notes(step: Any, model: str | None) -> Iterator[Message]:
    notes = step["extra"].get(KEY) if isinstance(_member(step, "extra"), dict) else None
    for number, shown in enumerate(read_step(step, model)):
        yield from apply_note(shown, notes.get(str(number)) if isinstance(notes, dict) else None)


def read_step(step: Any, model: str | None = None) -> list[Message]:
    """The messages of a step: its text, and the results that were observed."""
    source = _member(step, "source")
    if not isinstance(source, str) or source not in ROLES:
        raise ReadError(NAME, "$.source", f"one of {', '.join(ROLES)}", found(source))
    role = ROLES[source]
    metadata = MessageMetadata(provider_raw=_rest(step))
    if role is Role.ASSISTANT:
        metadata = metadata.replace(
            response_model=as_text(step.get("model_name")) or model,
            usage=_usage(step.get("metrics")),
        )
    thinking = as_text(step.get("reasoning_content"))
    thoughts = (ThinkingBlock(thinking),) if thinking is not None else ()
    content = (*thoughts, *read_content(step.get("message")), *_calls(step))
    message = Message(role, content, created_at=_time(step), metadata=metadata)
    return [message, *_results(step)]


def _rest(step: Row) -> dict[str, Any] | None:
    """Members without a field: unknown ones, and those of an observation beyond its results."""
    rest = {key: value for key, value in step.items() if key not in _KNOWN}
    extra = rest.get("extra")
    if isinstance(extra, dict) and KEY in extra:
        rest["extra"] = {key: value for key, value in extra.items() if key != KEY}
        if not rest["extra"]:
            del rest["extra"]
    metrics = step.get("metrics")
    if isinstance(metrics, dict) and not _COUNTED.issuperset(metrics):
        rest["metrics"] = {key: each for key, each in metrics.items() if key not in _COUNTED}
    plain = ({"source_call_id", "content"}.issuperset(each) for each in _observed(step))
    if not all(plain):
        rest["observation"] = step["observation"]
    return {NAME: rest} if rest else None


def read_content(content: Any) -> Iterator[Any]:
    """A text, or parts with texts and pictures."""
    if isinstance(content, str):
        if content:
            yield TextBlock(content)
        return
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(text)}:
                yield TextBlock(text)
            case {"type": "image", "source": {"path": str(path)} as source}:
                yield _picture(path, as_text(source.get("media_type")))
            case _:
                yield UnknownBlock({NAME: part})


def _picture(path: str, media: str | None) -> ImageBlock:
    return ImageBlock(source_of(path), media)


def _calls(step: Row) -> Iterator[Block]:
    calls = step.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {
                "tool_call_id": str(name),
                "function_name": str(tool),
                "arguments": dict(arguments),
            }:
                yield ToolUseBlock(name, tool, arguments)
            case _:
                yield UnknownBlock({NAME: call})


def _observed(step: Row) -> list[Row]:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    return [each for each in listed(results) if isinstance(each, dict)]


def _results(step: Row) -> Iterator[Message]:
    """Results; some agents do not record the call that they answer."""
    for number, result in enumerate(_observed(step)):
        if result.get("content") is None:
            continue
        unnamed = f"step_{step.get('step_id')}_{number}"
        name = as_text(result.get("source_call_id")) or unnamed
        content = tuple(read_content(result["content"]))
        yield Message.of_result(ToolResultBlock(name, content))


def _subagents(steps: list[Any]) -> Iterator[SubAgent]:
    """Helpers by the result that they gave; their trajectories are files of their own."""
    for step in steps:
        for result in _observed(step) if isinstance(step, dict) else ():
            refs = result.get("subagent_trajectory_ref")
            first = refs[0] if isinstance(refs, list) and refs else refs
            if isinstance(first, dict):
                helper = Transcript(
                    format=NAME,
                    messages=(),
                    id=as_text(first.get("session_id")),
                    details={"trajectories": refs},
                )
                yield SubAgent(helper, as_text(result.get("source_call_id")))


def _usage(metrics: Any) -> Usage | None:
    """The prompt's count includes cached tokens."""
    if not isinstance(metrics, dict):
        return None
    prompt, cached = as_count(metrics.get("prompt_tokens")), as_count(metrics.get("cached_tokens"))
    output, cost = as_count(metrics.get("completion_tokens")), dollars(metrics.get("cost_usd"))
    return usage_with(prompt, output, cached, cost_usd=cost)


def _member(step: Any, key: str) -> Any:
    if not isinstance(step, dict):
        raise ReadError(NAME, "$", "a step", found(step))
    return step.get(key)


VERSION = "ATIF-v1.6"
_SOURCES = {Role.USER: "user", Role.ASSISTANT: "agent"}


def _head(transcript: Transcript) -> Row:
    agent: Row = {"name": transcript.format, "version": "unknown"}
    model = model_of(transcript)
    if model is not None:
        agent["model_name"] = model
    if transcript.tools:
        agent["tool_definitions"] = write_tools(transcript, "openai-chat")
    return {"schema_version": VERSION, "session_id": transcript.id or "session", "agent": agent}


def _final(transcript: Transcript, steps: int) -> Row:
    usage = usage_of(transcript.messages)
    totals = {
        "total_prompt_tokens": usage.prompt_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cached_input_tokens,
        "total_cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
        "total_steps": steps,
    }
    return {key: value for key, value in totals.items() if value is not None}


class _Steps:
    """Step after step; results belong to the answer before them."""

    def __init__(self, report: Report, model: str | None) -> None:
        self.made: list[Row] = []
        self._report = report
        self._model = model

    def all(self, messages: Sequence[Message]) -> None:
        at = 0
        while at < len(messages):
            message = None if messages[at].role is Role.TOOL else messages[at]
            first = end = at if message is None else at + 1
            while end < len(messages) and messages[end].role is Role.TOOL:
                end += 1
            self._add(message, messages[first:end], first)
            at = end

    def _add(self, message: Message | None, results: Sequence[Message], first: int) -> None:
        step: Row = {"step_id": len(self.made) + 1, **_message_members(message)}
        if results:
            step["observation"] = {"results": [_result(each) for each in results]}
        step = _with_rest(step, message)
        self._add_notes(step, [message, *results], first - 1)
        self.made.append(step)

    def _add_notes(self, step: Row, own: list[Message | None], at: int) -> None:
        notes: Row = {}
        shown = read_step(step, self._model)
        for number, (message, each) in enumerate(zip(own, shown, strict=True)):
            if message is not None and each.content != message.content:
                reason = because("kept_as_extra_part")
                place = f"$.messages[{at + number}]"
                self._report.add("dropped", place, reason, "warning", None, message.id)
            note = note_for(message, each)
            if note is not None:
                notes[str(number)] = note
        if notes:
            step["extra"] = {**step.get("extra", {}), KEY: notes}


def _message_members(message: Message | None) -> Row:
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
    """A text if one is enough, else parts."""
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
    """Members that only an agent's step has: thinking, calls, counts."""
    step: Row = {}
    thoughts = [block.text for block in message.content if isinstance(block, ThinkingBlock)]
    if any(thoughts):
        step["reasoning_content"] = "\n\n".join(text for text in thoughts if text)
    calls = [
        {"tool_call_id": block.id, "function_name": block.name, "arguments": block.input}
        for block in message.content
        if isinstance(block, ToolUseBlock)
    ]
    if calls:
        step["tool_calls"] = calls
    if message.metadata.usage is not None:
        step["metrics"] = _metrics(message.metadata.usage)
    return step


def _metrics(usage: Usage) -> Row:
    counts = {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_input_tokens,
        "cost_usd": None if usage.cost_usd is None else float(usage.cost_usd),
    }
    return {key: value for key, value in counts.items() if value is not None}


def _result(message: Message) -> Row:
    block = next((each for each in message.content if isinstance(each, ToolResultBlock)), None)
    if block is None:
        return {"content": message.text}
    return {"source_call_id": block.tool_use_id, "content": _parts(block.content)}


def _with_rest(step: Row, message: Message | None) -> Row:
    """A step with the members that were read beside its fields; an observation only if it is
    unchanged."""
    raw = message.metadata.provider_raw if message is not None else None
    rest = raw.get(NAME) if raw else None
    if not isinstance(rest, dict):
        return step
    whole = {**step, **rest}
    if "metrics" in rest:
        whole["metrics"] = {**step.get("metrics", {}), **rest["metrics"]}
    if "observation" in rest and _observed_content(whole) != _observed_content(step):
        whole.pop("observation")
        whole |= {key: step[key] for key in ("observation",) if key in step}
    return whole


def _observed_content(step: Row) -> list[tuple[Block, ...]]:
    return [message.content for message in read_step(step)[1:]]


class Atif(RowFormat):
    name = NAME
    title = "ATIF"
    tested = "ATIF-v1.7, 2026-11-16"
    suffix = ".json"
    unsupported_fields = ("title", "folder")

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        version = row.get("schema_version") if row else None
        known = isinstance(version, str) and version.startswith("ATIF")
        return f"schema_version {version}" if known else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        steps = row.get("steps")
        if not isinstance(steps, list):
            raise ReadError(NAME, "$.steps", "a list", found(steps))
        agent = row["agent"] if isinstance(row.get("agent"), dict) else {}
        model = as_text(agent.get("model_name"))
        messages: list[Message] = []
        for number, step in enumerate(steps):
            try:
                messages.extend(_with_notes(step, model))
            except InterlinguaError as error:
                report.add("dropped", f"$.steps[{number}]", because("unreadable", error=error))
        times = [each for each in map(_time, steps) if each is not None]
        return Conversation(
            tuple(messages),
            as_text(row.get("session_id")),
            read_tools(
                agent.get("tool_definitions"), "openai-chat", report, "$.agent.tool_definitions"
            ),
            {key: value for key, value in row.items() if key != "steps"},
            subagents=tuple(_subagents(steps)),
            created_at=times[0] if times else None,
            updated_at=times[-1] if times else None,
        )

    def write(self, transcript: Transcript, name: str) -> Draft:
        """One trajectory."""
        report = Report(NAME)
        own_row = self.own_row(transcript)
        row = {**_head(transcript), **own_row}
        model = row["agent"].get("model_name") if isinstance(row.get("agent"), dict) else None
        steps = _Steps(report, model)
        steps.all(transcript.messages)
        metrics = own_row.get("final_metrics", _final(transcript, len(steps.made)))
        row = {key: value for key, value in row.items() if key != "final_metrics"}
        row |= {"steps": steps.made, "final_metrics": metrics}
        transcript = transcript.replace(subagents=()) if own_row else transcript
        return draft(name, row, transcript, report)


FORMATS = (Atif(),)
