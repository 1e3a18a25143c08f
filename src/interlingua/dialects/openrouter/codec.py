"""Requests, responses and streams of OpenRouter: those of Chat Completions, with tables of its
own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat import request as chat
from interlingua.dialects.openai_chat import stream
from interlingua.dialects.openai_chat.response import read_answer, write_answer
from interlingua.dialects.openrouter.tables import ANSWERED, ROUTED
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    return chat.read_request(wire, t=ROUTED)


def read_more(wires: list[Any], messages: list[Message], before: Any) -> Iterator[Any]:
    return chat.read_more(wires, messages, before, ROUTED)


def write_request(request: Request, recorder: LossRecorder) -> Wire:
    return chat.write_body(request, ROUTED, recorder)


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWERED)


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    return write_answer(response, ANSWERED, recorder)


class StreamReader(stream.StreamReader):
    """Frames in, events out."""

    tables = ANSWERED


class StreamWriter(stream.StreamWriter):
    """Events in, frames out."""

    tables, name = ANSWERED, ANSWERED.name
