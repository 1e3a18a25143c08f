"""Hosts that serve a dialect under paths of their own, and wrap it: Bedrock's `invoke` around the
Messages API, Vertex's `rawPredict`. A gateway takes the wrapping off what clients send, and puts
it around what they get."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from interlingua.dialects.front import RequestPath, Wire
from interlingua.streams import aws, sse
from interlingua.streams.frames import Frame

Headers = Mapping[bytes, bytes]
HeaderList = list[tuple[bytes, bytes]]
BETAS = b"anthropic-beta"
ERROR_TYPE = b"x-amzn-errortype"
EVENT_STREAM = "application/vnd.amazon.eventstream"
BEDROCK_NAMES = re.compile(r"arn:aws|(?:[a-z-]+\.)?[a-z0-9-]+\.[a-z][^:]*:\d")
"""Addresses of models, and names with a vendor and a version: `anthropic.claude-…-v1:0`."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class WrappingError(ValueError):
    """A body is not what its path takes."""


class Opened(NamedTuple):
    """A request without its wrapping. `path` is there if another front has to read it."""

    body: bytes
    headers: Headers
    path: str | None = None


class WrappedAnswer(NamedTuple):
    """An answer in one piece as a host sends it."""

    status: int
    headers: HeaderList
    body: bytes


class StreamWrapper:
    """Wraps one stream: whole frames of the dialect in, bytes for the client out."""

    def feed(self, data: bytes) -> bytes:
        raise NotImplementedError


class Wrapping:
    """The wrapping of one host; this one changes nothing."""

    stream_type: str | None = None
    """The content type of its streams, where they are wrapped."""
    passes: bool = True
    """Whether a body may go as it is to a provider of the dialect."""
    names_model: bool = False
    """Whether an opened body says model and stream, which the path said before."""

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        """`WrappingError` for a body that is no request."""
        return Opened(body, headers)

    def stream(self) -> StreamWrapper:
        raise NotImplementedError

    def answer(self, status: int, headers: HeaderList, body: bytes) -> WrappedAnswer:
        return WrappedAnswer(status, headers, body)


def _object(body: bytes) -> Wire:
    try:
        wire = _decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise WrappingError(f"invalid request body: {error}") from None
    if not isinstance(wire, dict):
        raise WrappingError("invalid request body: expected an object")
    return wire


# -- Claude at a host -----------------------------------------------------------------------------


class MessagesWrapping(Wrapping):
    """A request of the Messages API whose model and stream are said by its path, and its version
    and betas by its body."""

    names_model = True

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        wire = _object(body)
        if not isinstance(wire.get("messages"), list):
            text = "expected a request of the Messages API, with `messages` (a model of Anthropic)"
            raise WrappingError(text)
        wire.pop("anthropic_version", None)
        betas = wire.pop("anthropic_beta", None)
        if isinstance(betas, list) and betas:
            own = headers.get(BETAS)
            names = [*(own.decode("latin-1").split(",") if own else ()), *map(str, betas)]
            known = ",".join(dict.fromkeys(name.strip() for name in names))
            headers = {**headers, BETAS: known.encode("latin-1", "replace")}
        if path.model is not None:
            wire = {"model": path.model, **wire}
        if path.stream is not None:
            wire["stream"] = path.stream
        return Opened(_encode(wire), headers)


# -- Amazon ---------------------------------------------------------------------------------------

_TYPES = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
    529: "ServiceUnavailableException",
}
"""The type of an error by its status."""
_STATUSES = {401: 403, 529: 503}
"""Statuses that Amazon does not have, and what it has for them."""
_EXCEPTIONS = {
    "invalid_request_error": "validationException",
    "rate_limit_error": "throttlingException",
    "overloaded_error": "serviceUnavailableException",
    "timeout_error": "modelTimeoutException",
    "api_error": "internalServerException",
}
"""Errors of the Messages API as exceptions of a stream."""


def error_type(status: int) -> str:
    usual = "ValidationException" if status < 500 else "InternalServerException"
    return _TYPES.get(status, usual)


class AwsWrapping(Wrapping):
    """Errors as Amazon's SDKs read them, and counts of tokens in both of their shapes."""

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        if path.action != "count_tokens":
            return Opened(body, headers)
        wire = _object(body).get("input")
        wire = wire if isinstance(wire, dict) else {}
        if isinstance(wire.get("converse"), dict):
            return Opened(_encode(wire["converse"]), headers)
        invoked = wire.get("invokeModel")
        packed = invoked.get("body") if isinstance(invoked, dict) else None
        if not isinstance(packed, str):
            raise WrappingError("input: expected `converse` or `invokeModel`")
        try:
            return Opened(b64decode(packed, validate=True), headers, f"/model/{path.model}/invoke")
        except ValueError:
            raise WrappingError("input.invokeModel.body: expected base64") from None

    def answer(self, status: int, headers: HeaderList, body: bytes) -> WrappedAnswer:
        if status < 400:
            return WrappedAnswer(status, headers, body)
        try:
            wire = _decode(body)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            wire = None
        wire = (
            wire if isinstance(wire, dict) else {"message": body[:500].decode("utf-8", "replace")}
        )
        inner = wire.get("error")
        details = {**inner} if isinstance(inner, dict) else {**wire}
        details.pop("type", None)
        named = dict(headers).get(ERROR_TYPE)
        if named is None:
            named = error_type(status).encode()
            headers = [*headers, (ERROR_TYPE, named)]
        details["__type"] = named.decode("latin-1").partition(":")[0]
        return WrappedAnswer(_STATUSES.get(status, status), headers, _encode(details))


class InvokeStream(StreamWrapper):
    """Events of the Messages API, each in a chunk of an AWS event stream."""

    def __init__(self) -> None:
        self._decoder = sse.Decoder()

    def feed(self, data: bytes) -> bytes:
        return b"".join([aws.encode(_chunk(frame)) for frame in self._decoder.feed(data)])


def _chunk(frame: Frame) -> Frame:
    if frame.event == "error":
        error: Any = _decode(frame.data.encode()).get("error")
        error = error if isinstance(error, dict) else {}
        name = _EXCEPTIONS.get(str(error.get("type")), "modelStreamErrorException")
        details = {key: value for key, value in error.items() if key != "type"}
        return Frame(name, _encode(details).decode())
    packed = b64encode(frame.data.encode()).decode()
    return Frame("chunk", _encode({"bytes": packed}).decode())


class InvokeWrapping(AwsWrapping):
    """Claude at Bedrock in Anthropic's own words."""

    stream_type = EVENT_STREAM
    names_model = True

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        return _MESSAGES.open(body, headers, path)

    def stream(self) -> StreamWrapper:
        return InvokeStream()


_MESSAGES = MessagesWrapping()
