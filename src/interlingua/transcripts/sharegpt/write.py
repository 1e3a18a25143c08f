"""Transcripts to ShareGPT's rows. They are for training, so nothing of ours is kept in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.transcripts.bodies import write_body
from interlingua.transcripts.format import Draft
from interlingua.transcripts.rows import Row, draft
from interlingua.transcripts.sharegpt.tables import (
    CALLS,
    DIALECT,
    NAME,
    PICTURE,
    RESULTS,
    WRITTEN,
)
from interlingua.transcripts.transcript import Transcript


def write(transcript: Transcript, name: str) -> Draft:
    """A file of one row: a list where the name ends in .json, else a line."""
    report = Report(NAME)
    body = write_body(transcript, DIALECT, report, NAME)
    kept = transcript.details.get("row", {}) if transcript.format == NAME else {}
    messages = body["messages"]
    if kept.get("system") and messages and messages[0] == _system(kept["system"]):
        messages = messages[1:]
    pictures: list[str] = []
    ordered = _in_order(messages, report)
    turns = [turn for each in ordered for turn in _turns(each, pictures, report)]
    row: Row = {"conversations": turns}
    if "tools" in body:
        tools = [tool.get("function", tool) for tool in body["tools"]]
        row["tools"] = msgspec.json.encode(tools).decode()
    if pictures:
        row["images"] = pictures
    return draft(name, {**row, **kept}, transcript, report, listed=name.endswith(".json"))


def _system(text: str) -> Row:
    return {"role": "system", "content": text}


def _in_order(messages: list[Row], report: Report) -> list[Row]:
    """Results in the order of their calls, which is all that says what they answer."""
    ordered: list[Row] = []
    at = 0
    while at < len(messages):
        end = at
        while end < len(messages) and messages[end].get("role") == "tool":
            end += 1
        if end > at:
            names = _names(ordered)
            ordered.extend(sorted(messages[at:end], key=lambda each: _place(each, names)))
            at = end
        else:
            ordered.append(messages[at])
            at += 1
    return ordered


def _names(ordered: list[Row]) -> list[Any]:
    calls = ordered[-1].get("tool_calls") if ordered else None
    return [call.get("id") for call in calls or ()]


def _place(result: Row, names: list[Any]) -> int:
    name = result.get("tool_call_id")
    return names.index(name) if name in names else len(names)


def _turns(message: Row, pictures: list[str], report: Report) -> Iterator[Row]:
    if message["role"] == "tool":
        yield {"from": RESULTS[0], "value": _text(message.get("content"), pictures, report)}
        return
    text = _text(message.get("content"), pictures, report)
    calls = [call["function"] for call in message.get("tool_calls") or () if "function" in call]
    if text or not calls:
        yield {"from": WRITTEN[message["role"]], "value": text}
    if calls:
        each = [{"name": call["name"], "arguments": _given(call["arguments"])} for call in calls]
        value = msgspec.json.encode(each[0] if len(each) == 1 else each).decode()
        yield {"from": CALLS, "value": value}


def _given(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text  # a model wrote what is no JSON: it stays the text it was


def _text(content: Any, pictures: list[str], report: Report) -> str:
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if isinstance(content, list) else ():
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": str(url)}}:
                pictures.append(url)
                texts.append(PICTURE)
            case _:
                reason = f"a turn cannot hold a part of type {part.get('type')}"
                report.add("dropped", "$.messages", reason, "warning")
    return "".join(texts)
