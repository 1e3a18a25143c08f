"""Files for fine-tuning to transcripts."""

from __future__ import annotations

from interlingua.losses import Report
from interlingua.transcripts.bodies import read_body
from interlingua.transcripts.format import Sample
from interlingua.transcripts.rows import Conversation, Row, first_row, readers

NAME = "openai-finetune"
DIALECT = "openai-chat"
KEYS = frozenset({"messages", "tools", "functions", "parallel_tool_calls"})


def signs(sample: Sample) -> str | None:
    """Messages, and no column that fine-tuning does not take. Where tools are told without a word
    that only OpenAI has, it is the wider format of messages."""
    row = first_row(sample)
    if row is None or not KEYS.issuperset(row) or sample.head.lstrip().startswith(b"["):
        return None
    spoken = messages_of(row)
    if not spoken or any("role" not in each or "parts" in each for each in spoken):
        return None
    arguments = arguments_in(spoken)
    if any(isinstance(each, dict) for each in arguments):
        return None
    own = "parallel_tool_calls" in row or "functions" in row or bool(arguments)
    return "lines of chat messages" if own or "tools" not in row else None


def messages_of(row: Row) -> list[Row]:
    messages = row.get("messages")
    each = messages if isinstance(messages, list) else []
    return [message for message in each if isinstance(message, dict)]


def arguments_in(messages: list[Row]) -> list[object]:
    """The arguments of all calls, as the file has them."""
    lists = (each.get("tool_calls") for each in messages)
    calls = (call for each in lists if isinstance(each, list) for call in each)
    functions = (call.get("function") for call in calls if isinstance(call, dict))
    return [each.get("arguments") for each in functions if isinstance(each, dict)]


def _conversation(row: Row, report: Report) -> Conversation:
    request = read_body(row, DIALECT, report)
    rest = {key: value for key, value in row.items() if key != "messages"}
    return Conversation(request.messages, None, request.tools, rest)


read, read_all = readers(NAME, _conversation)
