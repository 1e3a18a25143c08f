"""The envelopes of the chat-completion shapes: what a task tells its page, and its queue.

Ids and times of events are the event stream's; here is only what is inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlingua.errors import WriteError
from interlingua.losses import Report
from interlingua.model.base import JsonObject
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Usage
from interlingua.views.account import Account
from interlingua.views.base import Written
from interlingua.views.openai_ui import (
    NAME,
    message_from_param,
    message_to_param,
    usage_from_openai,
    usage_to_openai,
    write_message,
)
from interlingua.views.reading import Fields, item_list

MESSAGE_ADDED = "MessageAdded"
REQUEST_COMPLETED = "RequestCompleted"


def write_message_added(message: Message) -> Written:
    """The event of one message that joined the conversation."""
    wire, report = message_to_param(message)
    return Written({"msg": MESSAGE_ADDED, "message": wire}, report)


def read_message_added(plain: Any) -> Message:
    fields = _event(plain, MESSAGE_ADDED)
    return message_from_param(fields.need("message", dict), "$.message")


def write_request_completed(message: Message) -> Written:
    """The event of a finished answer: its content one string, its calls always a list.

    The usage is the message's own; it travels as null or as a list of one."""
    if message.role is not Role.ASSISTANT:
        raise WriteError(f"{NAME} view", "$.role", f"an answer of a {message.role}")
    usage = message.metadata.usage
    without = message.replace(metadata=message.metadata.replace(usage=None))
    report = Report(NAME)
    [param] = write_message(without, "$", report)
    account = Account(report, "$", message)
    answer = {**param, "content": _flat(param.get("content", ""), account)}
    answer["tool_calls"] = param.get("tool_calls", [])
    if usage is not None:
        _account_for_usage(usage, account)
    counts = None if usage is None else [usage_to_openai(usage)]
    return Written({"msg": REQUEST_COMPLETED, "usage": counts, "message": answer}, report)


def read_request_completed(plain: Any) -> Message:
    fields = _event(plain, REQUEST_COMPLETED)
    counts = fields.maybe("usage", list)
    if counts is not None and len(counts) != 1:
        raise fields.error("usage", "null or a list of one", f"a list of {len(counts)}")
    message = message_from_param(fields.need("message", dict), "$.message")
    if counts is None:
        return message
    usage = usage_from_openai(counts[0], "$.usage[0]")
    return message.replace(metadata=message.metadata.replace(usage=usage))


def write_queue(queue: Iterable[tuple[str, Message]]) -> Written:
    """Messages that wait for their turn, each with its id."""
    report = Report(NAME)
    wire = []
    for number, (id, message) in enumerate(queue):
        for param in write_message(message, f"$[{number}]", report):
            wire.append({"id": id, "message": param})
    return Written(wire, report)


def read_queue(plain: Any) -> list[tuple[str, Message]]:
    return [_read_queued(Fields(NAME, item, path)) for item, path in item_list(NAME, plain)]


def _read_queued(fields: Fields) -> tuple[str, Message]:
    id = fields.need("id", str)
    return id, message_from_param(fields.need("message", dict), fields.place("message"))


def _event(plain: Any, name: str) -> Fields:
    fields = Fields(NAME, plain, "$")
    fields.word("msg", {name: None})
    return fields


def _flat(content: str | list[JsonObject], account: Account) -> str:
    if isinstance(content, str):
        return content
    texts = [part["text"] for part in content]
    if len(texts) > 1 or texts == [""]:
        account.lost("$.content", "the texts joined into one string", "info", "approximated")
    return "".join(texts)


def _account_for_usage(usage: Usage, account: Account) -> None:
    path = "$.metadata.usage"
    counts = ("input_tokens", "output_tokens", "cached_input_tokens")
    account.fields(usage, path, *counts, severity="info")
    if usage.cache_creation_input_tokens and usage.input_tokens is not None:
        reason = "with what was written to the cache"
        account.lost(f"{path}.input_tokens", reason, "info", "approximated")
