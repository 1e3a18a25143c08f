"""The local model's own HTTP surface: three dialects on a loopback port.

It stands in front of llama.cpp's server in the same process, and passes most requests on unchanged.
Forced calls and schemas that llama.cpp does not accept in a dialect are sent as Chat Completions,
and answered in the client's dialect.

llama.cpp can constrain an answer to a JSON schema. So a request whose tool choice forces a call is
sent again as a question whose answer is the call: an object of a name and arguments. A choice that
is left to the model (`auto`) is made for it, since it never calls anything by itself, and chooses
at random if a schema offers both (measured, 2026-11): the tool whose name or description shares the
most words with the user's last message is called; if none shares any, or results have just come,
the model answers in words.

A user of the server holds a lease: a connection that stays open. When the last one is gone, for
whatever reason, so is the server.
"""

from __future__ import annotations

import hmac
import http.client
import re
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec

from interlingua.adapt.history.retell import retell
from interlingua.dialects.record import Dialect
from interlingua.dialects.registry import dialect as find_dialect
from interlingua.errors import InterlinguaError
from interlingua.local import fixes
from interlingua.local.model import NAME
from interlingua.model.arguments import to_text
from interlingua.model.base import JsonObject
from interlingua.model.blocks import TextBlock, ToolUseBlock
from interlingua.model.exchange import ErrorKind, Request, Response, ResponseFormat, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.metadata import StopReason
from interlingua.model.tools import ToolDefinition
from interlingua.streams import sse
from interlingua.streams.fold import unfold

_ANYTHING: JsonObject = {"type": "object"}
MOST_TOOLS = 8
"""With more tools than these, as coding agents have, none is chosen: too many would match."""
_WORD = re.compile(r"[a-z]{3,}")
_FILLERS = (
    "about all and any are ask can could does for from get gets give gives has have her him his how"
    " into its let like make makes may more not now one our out please set should show some tell"
    " than that the their them then there they this those use uses using want was what when where"
    " which who why will with would you your"
)
_SAY_NOTHING = frozenset(_FILLERS.split())


def choices(request: Request) -> tuple[ToolDefinition, ...]:
    """The tools one of which must be called; empty if no call is forced or no tool matches."""
    choice = request.options.tool_choice
    if choice is None or choice.mode != "any":
        return ()
    own = (tool for tool in request.tools if tool.executor == "client")
    return tuple(tool for tool in own if not choice.names or tool.name in choice.names)


def decided(request: Request) -> Request:
    """The request with the tool to call, if the choice is left open and the user's words match
    one."""
    choice = request.options.tool_choice
    own = [tool for tool in request.tools if tool.executor == "client"]
    is_open = choice is None or choice.mode == "auto"
    if not own or not is_open or len(own) > MOST_TOOLS or request.options.response_format:
        return request
    last = request.messages[-1] if request.messages else None
    words = _words(last.text) if last is not None and last.role is Role.USER else frozenset()
    best = max(own, key=lambda tool: _score(tool, words))
    if not _score(best, words):
        return request
    options = request.options.replace(tool_choice=ToolChoice("any", (best.name,)))
    return request.replace(options=options)


def _score(tool: ToolDefinition, words: frozenset[str]) -> int:
    """The number of the request's words that occur in a tool; words in its name count twice."""
    about, _, _ = (tool.description or "").partition("\n")
    return 2 * len(words & _words(tool.name)) + len(words & _words(about))


def _words(text: str) -> frozenset[str]:
    """Content words, without the most variable endings."""
    found = _WORD.findall(re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower().replace("_", " "))
    return frozenset(re.sub(r"(ing|ed|es|s)$", "", word) for word in found) - _SAY_NOTHING


def without_tools(wire: JsonObject) -> JsonObject:
    """The body without tools, for an answer in text: tools would only be a long prompt that
    confuses the model."""
    gone = ("tools", "tool_choice", "parallel_tool_calls")
    return {key: value for key, value in wire.items() if key not in gone}


def as_question(request: Request) -> Request:
    """The same request without tools, with the call as the only answer that is possible."""
    tools = choices(request)
    format = ResponseFormat("json_schema", "call", call_schema(tools), strict=True)
    options = request.options.replace(
        tool_choice=None, parallel_tool_calls=None, response_format=format
    )
    return request.replace(
        messages=_instructed(request.messages, _instructions(tools)), tools=(), options=options
    )


def as_call(response: Response) -> Response:
    """The answer as a call. An answer that was cut off makes no call."""
    message = response.message
    if message.metadata.stop_reason is not StopReason.END_TURN:
        return response.replace(message=message.replace(content=()))
    name, arguments = _call(message.text)
    seed = (message.metadata.response_id or "").rpartition("-")[2]
    block = ToolUseBlock(f"call_{seed}", name, arguments)
    metadata = message.metadata.replace(stop_reason=StopReason.TOOL_USE, raw_stop_reason=None)
    return response.replace(message=message.replace(content=(block,), metadata=metadata))


def call_schema(tools: tuple[ToolDefinition, ...]) -> JsonObject:
    """A schema whose every instance is a call of one of the tools."""
    if len(tools) == 1:
        return _one(tools[0], "#")
    return {"anyOf": [_one(tool, f"#/anyOf/{at}") for at, tool in enumerate(tools)]}


def _one(tool: ToolDefinition, place: str) -> JsonObject:
    schema = tool.input_schema or _ANYTHING
    return {
        "type": "object",
        "properties": {
            "name": {"const": tool.name},
            "arguments": _moved(schema, f"{place}/properties/arguments"),
        },
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


def _moved(schema: Any, place: str) -> Any:
    """The schema with its inner references made right for its new place."""
    match schema:
        case dict():
            return {
                key: place + value[1:]
                if key == "$ref" and isinstance(value, str) and value.startswith("#")
                else _moved(value, place)
                for key, value in schema.items()
            }
        case list():
            return [_moved(each, place) for each in schema]
        case _:
            return schema


def _call(text: str) -> tuple[str, JsonObject]:
    found = msgspec.json.decode(text)
    return found["name"], found["arguments"]


def _instructions(tools: tuple[ToolDefinition, ...]) -> str:
    lines = [
        to_text({"name": tool.name, "use": tool.description or "", "arguments": _shape(tool)})
        for tool in tools
    ]
    return "\n".join(("Call one of these functions, with arguments that fit:", *lines))


def _shape(tool: ToolDefinition) -> JsonObject:
    """The schema for the model: properties are enough, the output is constrained anyway."""
    schema = tool.input_schema or {}
    properties = schema.get("properties")
    return properties if isinstance(properties, dict) else schema


def _instructed(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Adds instructions after existing ones, or before everything else."""
    block = TextBlock(text)
    if messages and messages[0].role in (Role.SYSTEM, Role.DEVELOPER):
        first = messages[0]
        parted = TextBlock(f"{first.text}\n\n{text}")
        return (first.replace(content=(parted,)), *messages[1:])
    return (Message(Role.SYSTEM, (block,)), *messages)


PATHS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/responses": "openai-responses",
    "/v1/messages": "anthropic",
}
SHAPELESS = frozenset({"anthropic"})
"""Dialects in which llama.cpp takes no format of an answer."""
COUNT = "/v1/messages/count_tokens"
MOST_BYTES = 16 << 20
MOST_AT_ONCE = 32
ANSWER_SECONDS = 600.0
LINGER = 1.0
"""How long the server stays without a lease, so that consecutive commands share it."""
FIRST_LEASE_SECONDS = 10.0
"""How long it waits for the first lease."""


class ClientGoneError(Exception):
    """The client has disconnected."""


class Front(ThreadingHTTPServer):
    """Holds llama.cpp's port and key, its own key, and the leases."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, upstream: tuple[str, int], upstream_key: str, key: str, model: object = None
    ) -> None:
        """`model` serves upstream and lives as long as this server."""
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = model
        self.upstream = upstream
        self.upstream_key = upstream_key
        self.key = key
        self.at_once = threading.Semaphore(MOST_AT_ONCE)
        self._guard = threading.Lock()
        self._leases = 0
        self._empty_since = time.monotonic()
        self._patience = FIRST_LEASE_SECONDS
        self._closing = False

    def take_lease(self) -> bool:
        with self._guard:
            if not self._closing:
                self._leases += 1
                self._patience = LINGER
            return not self._closing

    def give_lease_back(self) -> None:
        with self._guard:
            self._leases -= 1
            self._empty_since = time.monotonic()

    def is_over(self) -> bool:
        """Whether the server has been idle for too long; from then on it accepts no clients."""
        with self._guard:
            idle = time.monotonic() - self._empty_since
            self._closing = self._closing or (self._leases == 0 and idle > self._patience)
            return self._closing

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "interlingua-local"
    sys_version = ""
    timeout = 600
    disable_nagle_algorithm = True  # else every answer waits 40 ms for the client's receipt
    server: Front

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are private: nothing is logged."""

    def do_GET(self) -> None:
        if self.path == "/health":
            self._send(200, {"status": "ok"})
        elif not self._is_allowed():
            self._fail(find_dialect("openai-chat"), ErrorKind.AUTH, "no such key", 401)
        elif self.path == "/lease":
            self._lease()
        elif self.path == "/v1/models":
            model = {"id": NAME, "object": "model", "created": 0, "owned_by": "local"}
            self._send(200, {"object": "list", "data": [model]})
        else:
            self._nowhere()

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        name = PATHS.get(self.path, "anthropic" if self.path == COUNT else "")
        if not name:
            self._nowhere()
            return
        dialect = find_dialect(name)
        if not self._is_allowed():
            self._fail(dialect, ErrorKind.AUTH, "no such key", 401)
        elif not self.server.at_once.acquire(blocking=False):
            self._fail(dialect, ErrorKind.RATE_LIMIT, "too many requests at once", 429)
        else:
            try:
                self._answer(dialect, body)
            except (ClientGoneError, ConnectionError, TimeoutError, http.client.HTTPException):
                self.close_connection = True
            finally:
                self.server.at_once.release()

    def _answer(self, dialect: Dialect, body: bytes) -> None:
        try:
            request = dialect.read_request(body)
        except InterlinguaError as wrong:
            self._fail(dialect, ErrorKind.INVALID_REQUEST, str(wrong), 400)
            return
        request = decided(request)
        format = request.options.response_format
        shaped = dialect.name in SHAPELESS and format is not None and format.kind != "text"
        if self.path == COUNT:
            self._hand_through(dialect, request, msgspec.json.decode(body), stream=False)
        elif choices(request) or shaped:
            self._ask_otherwise(dialect, request)
        else:
            plain = without_tools(msgspec.json.decode(body))
            wire = fixes.request_body(dialect.name, plain, request)
            self._hand_through(dialect, request, wire, stream=bool(request.options.stream))

    def _hand_through(self, dialect: Dialect, request: Request, wire: Any, stream: bool) -> None:
        with self._ask(self.path, wire) as answer:
            if answer.status != 200:
                self._respond(dialect, fixes.failure(answer.status, answer.read()), stream=False)
            elif not stream:
                found = msgspec.json.decode(answer.read())
                self._send(200, fixes.response_body(dialect.name, found, request))
            else:
                self._begin_stream()
                decoder, frames = sse.Decoder(), fixes.Frames(dialect.name, request)
                while piece := answer.read1(65536):
                    for frame in decoder.feed(piece):
                        self._piece(sse.encode(frames.fixed(frame)))
                self._piece(b"")

    def _ask_otherwise(self, dialect: Dialect, request: Request) -> None:
        """In Chat Completions without a stream, and back: the whole answer has to be seen."""
        chat = find_dialect("openai-chat")
        forced = bool(choices(request))
        adapted = as_question(request) if forced else request
        options = adapted.options.replace(stream=None)
        adapted = adapted.replace(options=options)
        if dialect is not chat:
            adapted = retell(adapted, chat.name).value
        wire = fixes.request_body(chat.name, chat.write_request(adapted).wire, request)
        with self._ask("/v1/chat/completions", wire) as answer:
            body = answer.read()
        if answer.status != 200:
            self._respond(dialect, fixes.failure(answer.status, body), stream=False)
            return
        response = chat.read_response(body)
        response = as_call(response) if forced else response
        self._respond(dialect, response, stream=bool(request.options.stream))

    def _respond(self, dialect: Dialect, response: Response, stream: bool) -> None:
        if not stream:
            status = response.error.status if response.error else 200
            self._send(status or 500, dialect.write_response(response).wire)
            return
        self._begin_stream()
        writer = dialect.stream_writer()
        frames = [frame for event in unfold(response) for frame in writer.feed(event)]
        for frame in [*frames, *writer.close()]:
            self._piece(sse.encode(frame))
        self._piece(b"")

    def _ask(self, path: str, wire: Any) -> http.client.HTTPResponse:
        """llama.cpp's answer as soon as it begins. A client that leaves meanwhile ends the work."""
        connection = http.client.HTTPConnection(*self.server.upstream, timeout=ANSWER_SECONDS)
        headers = {
            "content-type": "application/json",
            "authorization": f"Bearer {self.server.upstream_key}",
            "connection": "close",
        }
        try:
            connection.request("POST", path, msgspec.json.encode(wire), headers)
            self._wait(connection.sock)
            return connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _wait(self, upstream: socket.socket) -> None:
        until = time.monotonic() + ANSWER_SECONDS
        watched = [upstream, self.connection]
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select(watched, [], [], left)
            if upstream in ready:
                return
            if self.connection in ready:
                if not self.connection.recv(1, socket.MSG_PEEK):
                    raise ClientGoneError
                watched = [upstream]  # the client's next request; it has its turn later
        raise TimeoutError

    def _lease(self) -> None:
        self.close_connection = True
        if not self.server.take_lease():
            self._send(503, {"error": {"message": "closing"}})
            return
        try:
            self._send(200, {"status": "leased"})
            self.connection.settimeout(None)
            while self.connection.recv(64):
                pass
        except OSError:
            pass
        finally:
            self.server.give_lease_back()

    def _is_allowed(self) -> bool:
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        token = self.headers.get("x-api-key") or bearer
        return hmac.compare_digest(token.encode(), self.server.key.encode())

    def _body(self) -> bytes | None:
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdecimal() or int(length) > MOST_BYTES:
            self.close_connection = True
            self._send(413 if length.isdecimal() else 411, {"error": {"message": "body size"}})
            return None
        return self.rfile.read(int(length))

    def _nowhere(self) -> None:
        chat = find_dialect("openai-chat")
        self._fail(chat, ErrorKind.INVALID_REQUEST, f"nothing at {self.path[:100]}", 404)

    def _fail(self, dialect: Dialect, kind: ErrorKind, text: str, status: int) -> None:
        self._respond(dialect, fixes.failed(kind, text, status), stream=False)

    def _send(self, status: int, body: Any) -> None:
        data = msgspec.json.encode(body)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-store")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _piece(self, data: bytes) -> None:
        """One chunk; an empty one is the last."""
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
