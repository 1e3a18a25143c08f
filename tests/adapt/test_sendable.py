"""What is converted can be sent: Anthropic's own SDK takes it, as it is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import interlingua as il

anthropic = pytest.importorskip("anthropic")

BODY = {"model": "gpt-5", "messages": [{"role": "user", "content": "What is the capital?"}]}
ANSWER = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6"},
    **{"content": [], "stop_reason": "end_turn", "stop_sequence": None},
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.asked.append(json.loads(body))  # type: ignore[attr-defined]  # set below
        answer = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Any]:
    server: Any = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("model", ["claude-sonnet-4-6", "claude-opus-4-8", "claude-haiku-4-5"])
def test_a_request_without_a_limit_is_sent_by_the_sdk(server: Any, model: str) -> None:
    written = il.convert(BODY, to="anthropic", model=model)
    address = f"http://127.0.0.1:{server.server_port}"
    client = anthropic.Anthropic(base_url=address, api_key="k", max_retries=0)
    client.messages.create(**written.wire)
    assert server.asked == [written.wire]
    assert written.wire["model"] == model


def test_a_model_that_the_target_does_not_serve_is_named_first() -> None:
    report = il.convert(BODY, to="anthropic").report
    (note,) = [note for note in report.notes if note.severity == "warning"]
    assert (note.code, note.at) == ("foreign_model", ("$.model",))
    assert str(report).splitlines()[1].strip() == str(note)
    named = il.convert(BODY, to="anthropic", model="claude-sonnet-4-6").report
    assert "foreign_model" not in [note.code for note in named.notes]
