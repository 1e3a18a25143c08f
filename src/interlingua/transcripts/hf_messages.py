"""Hugging Face's conversational datasets: rows of chat messages whose calls have arguments as
objects."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.model.losses import Report
from interlingua.transcripts.format import Draft, Sample
from interlingua.transcripts.openai_finetune import FORMAT as FINE_TUNING
from interlingua.transcripts.rows import (
    Conversation,
    Row,
    RowFormat,
    draft,
    first_row,
    read_body,
    write_body,
)
from interlingua.transcripts.transcript import Transcript
from interlingua.transcripts.values import NOT_JSON, members, objects

NAME = "hf-messages"
DIALECT = "openai-chat"
MEDIA = ("images", "videos", "audios")
"""Columns with the files that marks as `<image>` in the text stand for."""
_OTHERS = frozenset({"model", "info", "sessionId", "session_id", "threadId", "conversations"})
"""Columns that say that it is a request, or the session of some agent."""


def _with_text(message: Any) -> Any:
    """A message with the arguments of its calls as text, as the API has them."""
    if not isinstance(message, dict):
        return message
    if not isinstance(message.get("tool_calls"), list):
        return {key: value for key, value in message.items() if key != "tool_calls" or value}
    return {**message, "tool_calls": [_call_with_text(call) for call in message["tool_calls"]]}


def _call_with_text(call: Any) -> Any:
    function = members(members(call).get("function"))
    if not isinstance(function.get("arguments"), dict):
        return call
    text = msgspec.json.encode(function["arguments"]).decode()
    return {**call, "function": {**function, "arguments": text}}


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the arguments of its calls as objects, as chat templates want them."""
    if "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [_call_with_object(call) for call in message["tool_calls"]]}


def _call_with_object(call: dict[str, Any]) -> dict[str, Any]:
    function = members(call.get("function"))
    if not isinstance(function.get("arguments"), str):
        return call
    try:
        arguments = msgspec.json.decode(function["arguments"])
    except NOT_JSON:
        return call  # a model wrote what is no JSON: it stays the text it was
    return {**call, "function": {**function, "arguments": arguments}}


class HuggingFaceMessages(RowFormat):
    name = NAME
    title = "Hugging Face messages"
    tested = "files of LLaMA-Factory, 2026-11-16"
    rows = True
    unsupported_fields = ("id", "title", "folder")

    def detect(self, sample: Sample) -> str | None:
        row = first_row(sample)
        if row is None or _OTHERS.intersection(row) or FINE_TUNING.detect(sample) is not None:
            return None
        messages = objects(row.get("messages"))
        if not messages or any("role" not in each for each in messages[:-1]):
            return None
        if any("parts" in each for each in messages):
            return None  # messages of an interface, not of a chat template
        return "rows of chat messages" if "role" in messages[0] else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        tools = row.get("tools")
        body: Row = {"messages": row.get("messages")}
        if isinstance(body["messages"], list):
            body["messages"] = [_with_text(message) for message in body["messages"]]
        if isinstance(tools, list) and tools:
            body["tools"] = tools
        request = read_body(body, DIALECT, report)
        for key in MEDIA:
            if row.get(key):
                reason = (
                    "files are listed beside the messages; placeholders in the text refer to them"
                )
                report.add("moved", f"$.details.row.{key}", reason, "info")
        rest = {key: value for key, value in row.items() if key != "messages"}
        return Conversation(request.messages, None, request.tools, rest)

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one row: a list where the name ends in .json, else a line."""
        report = Report(NAME)
        body = write_body(transcript, DIALECT, report, NAME)
        row = {"messages": [_with_objects(message) for message in body["messages"]]}
        if transcript.format == NAME:
            row |= self.own_row(transcript)
        else:
            row["tools"] = body.get("tools", [])  # an empty column tells it from fine-tuning
        return draft(name, row, transcript, report, listed=name.endswith(".json"))


FORMAT = HuggingFaceMessages()
