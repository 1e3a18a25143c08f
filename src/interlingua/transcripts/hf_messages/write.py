"""Transcripts to rows of messages. They are for training, so nothing of ours is kept in them."""

from __future__ import annotations

from typing import Any

import msgspec

from interlingua.losses import Report
from interlingua.transcripts.bodies import write_body
from interlingua.transcripts.format import Draft
from interlingua.transcripts.hf_messages.read import DIALECT, NAME
from interlingua.transcripts.rows import draft
from interlingua.transcripts.transcript import Transcript


def write(transcript: Transcript, name: str) -> Draft:
    """A file of one row: a list where the name ends in .json, else a line."""
    report = Report(NAME)
    body = write_body(transcript, DIALECT, report, NAME)
    row = {"messages": [_with_objects(message) for message in body["messages"]]}
    if transcript.format == NAME:
        row |= transcript.details.get("row", {})
    else:
        row["tools"] = body.get("tools", [])  # an empty column tells it from fine-tuning
    return draft(name, row, transcript, report, listed=name.endswith(".json"))


def _with_objects(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the arguments of its calls as objects, as chat templates want them."""
    if "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [_call(call) for call in message["tool_calls"]]}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
        return call
    try:
        given = msgspec.json.decode(function["arguments"])
    except msgspec.DecodeError:
        return call  # a model wrote what is no JSON: it stays the text it was
    return {**call, "function": {**function, "arguments": given}}
