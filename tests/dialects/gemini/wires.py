"""Small wires of our own, and the ways there and back that all tests here use."""

from __future__ import annotations

import copy
from typing import Any

from interlingua.dialects.gemini import DIALECT
from interlingua.dialects.record import Written
from interlingua.model import codec
from interlingua.model.base import same
from interlingua.model.exchange import Options, Request, Response
from interlingua.model.losses import Report
from interlingua.model.message import Message

Wire = dict[str, Any]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB"


def text(words: str, **more: Any) -> Wire:
    return {"text": words, **more}


def call(name: str = "weather", args: Any = None, **more: Any) -> Wire:
    return {"functionCall": {"name": name, "args": args or {"city": "Bergen"}, **more}}


def result(response: Any, name: str = "weather", **more: Any) -> Wire:
    return {"functionResponse": {"name": name, "response": response, **more}}


def user(*parts: Wire) -> Wire:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Wire) -> Wire:
    return {"role": "model", "parts": list(parts)}


def body(*contents: Wire, **more: Any) -> Wire:
    return {"contents": list(contents) or [user(text("Hi"))], **more}


def answer(*parts: Wire, **more: Any) -> Wire:
    """A response of one candidate; `more` goes into the candidate."""
    candidate = {"content": model(*parts), "finishReason": "STOP", "index": 0, **more}
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro", "responseId": "r1"}


def read(wire: Any, name: str | None = None) -> Request:
    """The request, which goes home unchanged and without a loss, also by way of storage."""
    before = copy.deepcopy(wire)
    request = DIALECT.read_request(wire, name)
    assert same(wire, before)
    assert_home(wire, DIALECT.write_request(request))
    stored = codec.loads(codec.dumps(request), Request, strict=True)
    assert_home(wire, DIALECT.write_request(stored))
    return request


def read_answer(wire: Any) -> Response:
    before = copy.deepcopy(wire)
    response = DIALECT.read_response(wire)
    assert same(wire, before)
    assert_home(wire, DIALECT.write_response(response))
    stored = codec.loads(codec.dumps(response), Response, strict=True)
    assert_home(wire, DIALECT.write_response(stored))
    return response


def assert_home(wire: Any, written: Written) -> None:
    assert same(written.wire, wire), written.wire
    assert not written.report.entries, str(written.report)


def write(*messages: Message, options: Options | None = None) -> tuple[Wire, Report]:
    """What is said for messages that no wire was read for."""
    request = Request(messages, options=options or Options())
    written = DIALECT.write_request(request)
    return written.wire, written.report


def losses(report: Report) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in report.entries]
