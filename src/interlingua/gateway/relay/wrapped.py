"""Clients of a host that wraps a dialect: their requests are unwrapped, and their answers are
wrapped in the last step, so that everything between them is as for every client of the dialect."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from interlingua.dialects.front import (
    EVENT_STREAM,
    Front,
    HeaderList,
    RequestPath,
    StreamWrapper,
    Wrapping,
    WrappingError,
)
from interlingua.gateway.relay.outgoing import error_frames
from interlingua.gateway.shared.fronts import Match, Send, match
from interlingua.gateway.shared.state import Refusal
from interlingua.model.exchange import ErrorKind, ProviderError

_TYPE, _LENGTH = b"content-type", b"content-length"


def opened(
    found: Match, body: bytes, headers: Mapping[bytes, bytes]
) -> tuple[Match, bytes, dict[bytes, bytes]]:
    """The request without its wrapping: the front that reads it, its body and its headers."""
    assert found.front.wrapping is not None
    try:
        request = found.front.wrapping.open(body, headers, RequestPath(*found[1:]))
        other = None if request.path is None else match(request.path)
        if other is not None and other.front.wrapping is not None:
            found = other._replace(action=found.action)
            path = RequestPath(found.action, found.model)
            request = other.front.wrapping.open(request.body, headers, path)
    except WrappingError as error:
        raise Refusal(400, ErrorKind.INVALID_REQUEST, str(error)) from None
    if found.front.wrapping is not None and found.front.wrapping.names_model:
        found = found._replace(model=None, stream=None)
    return found, request.body, dict(request.headers)


def last_frames(front: Front, error: ProviderError) -> bytes:
    """The end of a stream that is cut, wherever it is: text gets a blank line first, in case that
    the last bytes were the beginning of a frame."""
    frames, wrapping = error_frames(front, error), front.wrapping
    if wrapping is not None and wrapping.stream_type is not None:
        frames = wrapping.stream().feed(frames)
        return frames if wrapping.stream_type == EVENT_STREAM else b"\n" + frames
    return frames if front.stream_type == EVENT_STREAM else b"\n\n" + frames


class WrappedSend:
    """What a client gets, in the wrapping of its host."""

    def __init__(self, send: Send, wrapping: Wrapping, stream_type: str) -> None:
        self._send = send
        self._wrapping = wrapping
        self._stream_type = stream_type.encode()
        self._start: MutableMapping[str, Any] | None = None
        self._pieces: list[bytes] = []
        self._stream: StreamWrapper | None = None
        self._is_stream = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif self._is_stream:
            await self._say(message)
        else:
            self._pieces.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._answer()

    async def _begin(self, message: MutableMapping[str, Any]) -> None:
        headers: HeaderList = list(message["headers"])
        kind = dict(headers).get(_TYPE)
        if message["status"] != 200 or kind != self._stream_type:
            self._start = message
            return
        self._is_stream = True
        if self._wrapping.stream_type is not None:
            self._stream = self._wrapping.stream()
            others = [pair for pair in headers if pair[0] != _TYPE]
            wrapped = self._wrapping.stream_type.encode()
            message = {**message, "headers": [(_TYPE, wrapped), *others]}
        await self._send(message)

    async def _say(self, message: MutableMapping[str, Any]) -> None:
        if self._stream is not None:
            message = {**message, "body": self._stream.feed(message.get("body", b""))}
            if not message["body"] and message.get("more_body"):
                return
        await self._send(message)

    async def _answer(self) -> None:
        assert self._start is not None
        headers = [pair for pair in self._start["headers"] if pair[0] != _LENGTH]
        made = self._wrapping.answer(self._start["status"], headers, b"".join(self._pieces))
        length = (_LENGTH, b"%d" % len(made.body))
        start = {**self._start, "status": made.status, "headers": [*made.headers, length]}
        await self._send(start)
        await self._send({"type": "http.response.body", "body": made.body})
