"""Rows of messages to transcripts."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.openai_finetune.read import messages_of
from interlingua.transcripts.openai_finetune.read import signs as signs_of_finetuning
from interlingua.transcripts.rows import Conversation, Row, first_row, readers

NAME = "hf-messages"
DIALECT = "openai-chat"
MEDIA = ("images", "videos", "audios")
"""Columns with the files that marks as `<image>` in the text stand for."""
_OTHERS = frozenset({"model", "info", "sessionId", "session_id", "threadId", "conversations"})
"""Columns that say that it is a request, or the session of some agent."""


def signs(sample: Sample) -> str | None:
    row = first_row(sample)
    if row is None or _OTHERS.intersection(row) or signs_of_finetuning(sample) is not None:
        return None
    spoken = messages_of(row)
    if not spoken or any("role" not in each for each in spoken[:-1]):
        return None
    if any("parts" in each for each in spoken):
        return None  # messages of an interface, not of a chat template
    return "rows of chat messages" if "role" in spoken[0] else None


def _conversation(row: Row, report: Report) -> Conversation:
    tools = row.get("tools")
    body: Row = {"messages": row.get("messages")}
    if isinstance(body["messages"], list):
        body["messages"] = [_with_text(message) for message in body["messages"]]
    if isinstance(tools, list) and tools:
        body["tools"] = tools
    request = read_body(body, DIALECT, report)
    for key in MEDIA:
        if row.get(key):
            reason = "files are listed beside the messages; placeholders in the text refer to them"
            report.add("moved", f"$.details.row.{key}", reason, "info")
    rest = {key: value for key, value in row.items() if key != "messages"}
    return Conversation(request.messages, None, request.tools, rest)


def _with_text(message: Any) -> Any:
    """A message with the arguments of its calls as text, as the API has them."""
    if not isinstance(message, dict):
        return message
    if not isinstance(message.get("tool_calls"), list):
        return {key: value for key, value in message.items() if key != "tool_calls" or value}
    return {**message, "tool_calls": [_call(call) for call in message["tool_calls"]]}


def _call(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), dict):
        return call
    text = msgspec.json.encode(function["arguments"]).decode()
    return {**call, "function": {**function, "arguments": text}}


read, read_all = readers(NAME, _conversation)
