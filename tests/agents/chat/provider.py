"""A provider on loopback that speaks two dialects through our own writers and does as it is told.

What it does is said by the last thing the user says: `slow` answers word by word until nobody reads
any more, `think` thinks first, `read <path>`, `write <path>`, `echo <text>` and `delegate <task>`
(or a list of inputs in JSON) call a tool, `fail` fails, `break` breaks off, `odd` says control
characters, `json <text>` says the text; anything else is said back with the number of the request.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import interlingua as il
from interlingua.model.events import TextDelta
from tests.loopback import Loopback, body_of, chunk, reply

KEY = "canary-7f1d2c9ab4"
DIALECTS = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai-chat"}
ANTHROPIC = "anthropic:claude-sonnet-4-6"
OPENAI = "openai:gpt-4.1"
ODD = "\x1b[31mred\x1b[0m\x07 \u202eback"
LONGEST = 400
"""Words of a slow answer, where nobody stops it."""


class Provider(Loopback):
    """Serves from `with` to its end. `requests` are the bodies it got, `headers` what came with
    them; `left` is set when a client went away before the end."""

    def __init__(self, pace: float = 0.03) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.left = threading.Event()
        self.pace = pace
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = body_of(self)
                provider.headers.append({k.lower(): v for k, v in self.headers.items()})
                try:
                    provider.answer(self, DIALECTS[self.path], json.loads(data))
                except (BrokenPipeError, ConnectionResetError):
                    provider.left.set()
                    self.close_connection = True

        super().__init__(Handler)

    def configure(self, home: Path) -> None:
        """Write the user's file that leads here, with a key that must never be seen."""
        home.mkdir(parents=True, exist_ok=True)
        entries = [("anthropic", self.url), ("openai", f"{self.url}/v1")]
        text = "".join(
            f'[providers.{name}]\nbase_url = "{url}"\nkey = "{KEY}"\n' for name, url in entries
        )
        (home / "providers.toml").write_text(text)

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        self.requests.append(wire)
        request = il.dialect(dialect).read_request(wire)
        words = _question(request)
        if words.startswith("fail"):
            self._fail(handler, dialect)
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        writer = il.dialect(dialect).stream_writer()
        for event in self._events(words, request):
            for frame in writer.feed(event):
                chunk(handler, il.sse.encode(frame))
            if words.startswith("slow"):
                time.sleep(self.pace)
            if words.startswith("break") and isinstance(event, TextDelta):
                handler.wfile.flush()
                time.sleep(0.3)
                handler.connection.shutdown(socket.SHUT_RDWR)
                handler.close_connection = True
                return
        for frame in writer.close():
            chunk(handler, il.sse.encode(frame))
        handler.wfile.write(b"0\r\n\r\n")

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        reason = il.StopReason.END_TURN
        content: list[il.Block] = []
        last = request.messages[-1]
        verb, _, rest = words.partition(" ")
        if verb == "think":
            content = [il.ThinkingBlock("Hm, let me think.", "c2ln"), il.TextBlock("Thought.")]
        elif verb == "slow":
            content = [il.TextBlock(" ".join(f"w{n}" for n in range(LONGEST)))]
        elif verb in ("read", "write") and last.role is il.Role.USER:
            fields = {"path": rest} if verb == "read" else {"path": rest, "text": "written\n"}
            content = [il.ToolUseBlock(f"toolu_{len(self.requests)}", f"{verb}_file", fields)]
            reason = il.StopReason.TOOL_USE
        elif verb == "echo" and last.role is il.Role.USER:
            content = [il.ToolUseBlock(f"toolu_{len(self.requests)}", "echo", {"text": rest})]
            reason = il.StopReason.TOOL_USE
        elif verb == "delegate" and last.role is il.Role.USER:
            content = _delegated(rest, len(self.requests))
            reason = il.StopReason.TOOL_USE
        elif verb == "odd":
            content = [il.TextBlock(ODD)]
        elif verb == "json":
            content = [il.TextBlock(rest)]
        else:
            content = [il.TextBlock(f"Answer {len(self.requests)} to: {words}")]
        known = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=reason,
            usage=il.Usage(input_tokens=100, output_tokens=20),
        )
        for event in il.unfold(il.Response(il.Message.assistant(content, known))):
            if isinstance(event, TextDelta) and verb == "slow":
                for word in event.text.split():
                    yield TextDelta(event.index, f"{word} ")
            else:
                yield event

    def _fail(self, handler: BaseHTTPRequestHandler, dialect: str) -> None:
        error = il.ProviderError(il.ErrorKind.INVALID_REQUEST, "no such luck", status=400)
        empty = il.Message.assistant((), il.MessageMetadata(status=il.MessageStatus.ERROR))
        body = il.dialect(dialect).write_response(il.Response(empty, error=error)).json()
        reply(handler, body, status=400)


def _question(request: il.Request) -> str:
    """The last words of the user, also where results came after them."""
    users = [m for m in request.messages if m.role is il.Role.USER]
    texts = [block.text for m in users for block in m.content if isinstance(block, il.TextBlock)]
    return texts[-1].strip() if texts else ""


def _delegated(rest: str, number: int) -> list[il.Block]:
    """Calls of `delegate`: for a task in words, or one for each input of a list in JSON."""
    inputs = json.loads(rest) if rest.startswith("[") else [{"task": rest}]
    return [
        il.ToolUseBlock(f"toolu_{number}_{place}", "delegate", input)
        for place, input in enumerate(inputs)
    ]
