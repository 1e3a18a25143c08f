"""Trajectories to transcripts. A step of the agent is its answer with the results of its calls."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from interlingua.errors import InterlinguaError, ReadError, found
from interlingua.losses import Report
from interlingua.model.blocks import (
    Block,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.model.tools import ToolDefinition
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.memo import KEY, recall
from interlingua.transcripts.rows import Conversation, Row, first_row, readers
from interlingua.transcripts.times import from_iso
from interlingua.transcripts.transcript import SubAgent, Transcript
from interlingua.transcripts.values import listed

NAME = "atif"
ROLES = {"user": Role.USER, "system": Role.SYSTEM, "agent": Role.ASSISTANT}
_SAID = frozenset(
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


def signs(sample: Sample) -> str | None:
    row = first_row(sample)
    version = row.get("schema_version") if row else None
    known = isinstance(version, str) and version.startswith("ATIF")
    return f"schema_version {version}" if known else None


def _conversation(row: Row, report: Report) -> Conversation:
    steps = row.get("steps")
    if not isinstance(steps, list):
        raise ReadError(NAME, "$.steps", "a list", found(steps))
    agent = row["agent"] if isinstance(row.get("agent"), dict) else {}
    model = _text(agent.get("model_name"))
    messages: list[Message] = []
    for number, step in enumerate(steps):
        try:
            messages.extend(_recalled(step, model))
        except InterlinguaError as error:
            report.add("dropped", f"$.steps[{number}]", str(error), "error")
    times = [each for each in map(_time, steps) if each is not None]
    return Conversation(
        tuple(messages),
        _text(row.get("session_id")),
        _tools(agent.get("tool_definitions"), report),
        {key: value for key, value in row.items() if key != "steps"},
        subagents=tuple(_subagents(steps)),
        created_at=times[0] if times else None,
        updated_at=times[-1] if times else None,
    )


def _time(step: Any) -> Any:
    return from_iso(step.get("timestamp")) if isinstance(step, dict) else None


def _recalled(step: Any, model: str | None) -> Iterator[Message]:
    notes = step["extra"].get(KEY) if isinstance(_member(step, "extra"), dict) else None
    for number, shown in enumerate(read_step(step, model)):
        yield from recall(shown, notes.get(str(number)) if isinstance(notes, dict) else None)


def read_step(step: Any, model: str | None = None) -> list[Message]:
    """The messages of a step: what is said in it, and the results that were observed."""
    source = _member(step, "source")
    if not isinstance(source, str) or source not in ROLES:
        raise ReadError(NAME, "$.source", f"one of {', '.join(ROLES)}", found(source))
    role = ROLES[source]
    metadata = MessageMetadata(provider_raw=_rest(step))
    if role is Role.ASSISTANT:
        metadata = metadata.replace(
            response_model=_text(step.get("model_name")) or model,
            usage=_usage(step.get("metrics")),
        )
    content = (*_thinking(step), *read_content(step.get("message")), *_calls(step))
    said = Message(role, content, created_at=_time(step), metadata=metadata)
    return [said, *_results(step)]


def _rest(step: Row) -> dict[str, Any] | None:
    """What has no field: unknown members, and an observation that says more than results do."""
    rest = {key: value for key, value in step.items() if key not in _SAID}
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


def _thinking(step: Row) -> Iterator[Block]:
    text = _text(step.get("reasoning_content"))
    if text is not None:
        yield ThinkingBlock(text)


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
                yield _picture(path, _text(source.get("media_type")))
            case _:
                yield UnknownBlock({NAME: part})


def _picture(path: str, media: str | None) -> ImageBlock:
    head, comma, data = path.partition(",")
    inline = head.startswith("data:") and head.endswith(";base64") and comma
    return ImageBlock(Source("base64", data) if inline else Source("url", path), media)


def _calls(step: Row) -> Iterator[Block]:
    calls = step.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        match call:
            case {"tool_call_id": str(name), "function_name": str(tool), "arguments": dict(given)}:
                yield ToolUseBlock(name, tool, given)
            case _:
                yield UnknownBlock({NAME: call})


def _observed(step: Row) -> list[Row]:
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    return [each for each in listed(results) if isinstance(each, dict)]


def _results(step: Row) -> Iterator[Message]:
    """Results; some agents do not say which call they answer."""
    for number, result in enumerate(_observed(step)):
        if result.get("content") is None:
            continue
        unnamed = f"step_{step.get('step_id')}_{number}"
        name = _text(result.get("source_call_id")) or unnamed
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
                    id=_text(first.get("session_id")),
                    details={"trajectories": refs},
                )
                yield SubAgent(helper, _text(result.get("source_call_id")))


def _usage(metrics: Any) -> Usage | None:
    """The prompt's count includes what was cached."""
    if not isinstance(metrics, dict):
        return None
    prompt, cached = _count(metrics.get("prompt_tokens")), _count(metrics.get("cached_tokens"))
    cost = metrics.get("cost_usd")
    return Usage(
        input_tokens=None if prompt is None else max(prompt - (cached or 0), 0),
        output_tokens=_count(metrics.get("completion_tokens")),
        cached_input_tokens=cached,
        cost_usd=Decimal(repr(cost)) if type(cost) in (int, float) else None,
    )


def _tools(definitions: Any, report: Report) -> tuple[ToolDefinition, ...]:
    if not isinstance(definitions, list) or not definitions:
        return ()
    try:
        return read_body({"messages": [], "tools": definitions}, "openai-chat", report).tools
    except InterlinguaError as error:
        report.add("dropped", "$.agent.tool_definitions", str(error), "warning")
        return ()


def _member(step: Any, key: str) -> Any:
    if not isinstance(step, dict):
        raise ReadError(NAME, "$", "a step", found(step))
    return step.get(key)


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


read, read_all = readers(NAME, _conversation)
