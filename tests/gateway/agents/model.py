"""A scripted model for agents: it plants facts by running commands, writes summaries, and counts
which facts of a conversation it can still see."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import interlingua as il
from tests.gateway.serving import Upstream

FACT = re.compile(r"fact-\d+-[0-9a-f]{6}")
SUMMARY_WORDS = ("answer with the summary alone", "handoff summary", "detailed summary")
"""How requests for a summary are known: ours, that of Codex, that of Claude Code."""


def fact(number: int) -> str:
    return f"fact-{number}-{number * 7919 % 0xFFFFFF:06x}"


def _sums_up(request: il.Request) -> bool:
    last = request.messages[-1]
    return last.role is il.Role.USER and any(mark in last.text for mark in SUMMARY_WORDS)


class Planting(Upstream):
    """In each round it runs a command that prints the next fact. It says that the conversation is
    long after every `every` rounds, so that the agent compacts, or `refuses` it as too long; it
    stops after `rounds`."""

    def __init__(
        self, rounds: int, every: int = 2, limit: int = 50_000, refuses: bool = False
    ) -> None:
        super().__init__()
        self.rounds = rounds
        self.every = every
        self.limit = limit
        self.refuses = refuses
        self.planted = 0
        self.summaries = 0
        self.refused = 0
        self.missing: list[str] = []
        """Facts that were planted and could not be seen later."""
        self._lock = threading.Lock()
        self._since = 0

    def answer(self, handler: BaseHTTPRequestHandler, dialect: str, wire: dict[str, Any]) -> None:
        with self._lock:
            request = il.dialect(dialect).read_request(wire)
            full = self.refuses and self._since >= self.every and not _sums_up(request)
        if not full:
            super().answer(handler, dialect, wire)
            return
        self.refused += 1
        message = "Your input exceeds the context window of this model."
        error = {"message": message, "code": "context_length_exceeded", "param": "input"}
        body = json.dumps({"error": {**error, "type": "invalid_request_error"}}).encode()
        handler.send_response(400)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def _events(self, words: str, request: il.Request) -> Iterator[Any]:
        with self._lock:
            content, reason, tokens = self._answer(request)
        metadata = il.MessageMetadata(
            response_id=f"msg_{len(self.requests)}",
            response_model=request.model,
            stop_reason=reason,
            usage=il.Usage(input_tokens=tokens, output_tokens=20),
        )
        yield from il.unfold(il.Response(il.Message.assistant(content, metadata)))

    def _answer(self, request: il.Request) -> tuple[list[il.Block], il.StopReason, int]:
        text = il.dumps(request.messages).decode()
        seen = set(FACT.findall(text))
        if _sums_up(request):
            self.summaries += 1
            self._since = 0  # what the agent preserves beside the summary is not in this request
            return [il.TextBlock(f"Facts: {' '.join(sorted(seen))}.")], il.StopReason.END_TURN, 10
        shell = next(
            (t for t in request.tools if t.name in ("Bash", "exec_command", "shell")), None
        )
        if shell is None:
            return [il.TextBlock("A title.")], il.StopReason.END_TURN, 10
        self._check(seen)
        if self.planted >= self.rounds:
            done = f"All done: {len(seen)} facts."
            return [il.TextBlock(done)], il.StopReason.END_TURN, 100
        self._since += 1
        command = f"echo {fact(self.planted)}"
        self.planted += 1
        key = "command" if shell.name == "Bash" else "cmd"
        fields: dict[str, Any] = {key: ["sh", "-c", command] if shell.name == "shell" else command}
        long = self._since >= self.every and not self.refuses
        tokens = self.limit * 2 if long else 1000
        call = il.ToolUseBlock(f"toolu_{len(self.requests)}", shell.name, fields)
        return [call], il.StopReason.TOOL_USE, tokens

    def _check(self, seen: set[str]) -> None:
        """Whatever was planted before the last round has to be there."""
        missing = [fact(n) for n in range(self.planted) if fact(n) not in seen]
        self.missing += missing
