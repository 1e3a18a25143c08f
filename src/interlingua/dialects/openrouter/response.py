"""Responses and errors of OpenRouter: those of Chat Completions, with tables of its own."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.response import read_answer, write_answer
from interlingua.dialects.openrouter.tables import ANSWERED
from interlingua.model.exchange import Response


def read_response(wire: Any) -> Response:
    return read_answer(wire, ANSWERED)


def write_response(response: Response, recorder: LossRecorder) -> Wire:
    return write_answer(response, ANSWERED, recorder)
