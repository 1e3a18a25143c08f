"""OpenAI's files for fine-tuning: a line is a conversation as a chat request has it."""

from __future__ import annotations

from interlingua.model.losses import Report
from interlingua.transcripts.format import Draft, Sample
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
from interlingua.transcripts.values import objects

NAME = "openai-finetune"
DIALECT = "openai-chat"
KEYS = frozenset({"messages", "tools", "functions", "parallel_tool_calls"})


def arguments_in(messages: list[Row]) -> list[object]:
    """The arguments of all calls, as the file has them."""
    lists = (each.get("tool_calls") for each in messages)
    calls = (call for each in lists if isinstance(each, list) for call in each)
    functions = (call.get("function") for call in calls if isinstance(call, dict))
    return [each.get("arguments") for each in functions if isinstance(each, dict)]


class OpenAIFineTune(RowFormat):
    name = NAME
    title = "OpenAI fine-tuning"
    tested = "the cookbook's files, 2026-11-16"
    rows = True
    unsupported_fields = ("id", "title", "folder")

    def detect(self, sample: Sample) -> str | None:
        """Messages, and no column that fine-tuning does not take; tools without a word that only
        OpenAI has are of the wider format of messages."""
        row = first_row(sample)
        if row is None or not KEYS.issuperset(row) or sample.head.lstrip().startswith(b"["):
            return None
        messages = objects(row.get("messages"))
        if not messages or any("role" not in each or "parts" in each for each in messages):
            return None
        arguments = arguments_in(messages)
        if any(isinstance(each, dict) for each in arguments):
            return None
        own = "parallel_tool_calls" in row or "functions" in row or bool(arguments)
        return "lines of chat messages" if own or "tools" not in row else None

    def read_row(self, row: Row, report: Report) -> Conversation:
        request = read_body(row, DIALECT, report)
        rest = {key: value for key, value in row.items() if key != "messages"}
        return Conversation(request.messages, None, request.tools, rest)

    def write(self, transcript: Transcript, name: str) -> Draft:
        """A file of one line."""
        report = Report(NAME)
        body = write_body(transcript, DIALECT, report, NAME)
        row = {key: value for key, value in body.items() if key in KEYS}
        if transcript.format == NAME:
            row |= self.own_row(transcript)
        elif "tools" in row:
            row["parallel_tool_calls"] = True  # the default, made explicit: only this format has it
        return draft(name, row, transcript, report)


FORMAT = OpenAIFineTune()
