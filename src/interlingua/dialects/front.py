"""The record by which the gateway serves a dialect to clients, and passes its answers on unchanged.
A dialect that can be served has a module `front` with a `FRONT` in it.

Hosts may serve a dialect under paths of their own, and wrap it: Bedrock's `invoke` around the
Messages API, Vertex's `rawPredict`. A gateway unwraps the requests of such clients, and wraps their
answers.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from interlingua.model.metadata import StopReason, Usage
from interlingua.streams import aws, sse
from interlingua.streams.frames import Frame

if TYPE_CHECKING:
    from interlingua.model.exchange import Response


Headers = Mapping[bytes, bytes]
HeaderList = list[tuple[bytes, bytes]]
BETAS = b"anthropic-beta"
ERROR_TYPE = b"x-amzn-errortype"
GOOGLE_VERSIONS = ("v1beta", "v1", "v1alpha")
"""The versions that Google's SDK may have in its paths; the first is that of its documentation."""
EVENT_STREAM = "application/vnd.amazon.eventstream"
BEDROCK_NAMES = re.compile(r"arn:aws|(?:[a-z-]+\.)?[a-z0-9-]+\.[a-z][^:]*:\d")
"""Addresses of models, and names with a vendor and a version: `anthropic.claude-…-v1:0`."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class WrappingError(ValueError):
    """A body does not have the form that its path takes."""


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
    """Whether a body may be sent unchanged to a provider of the dialect."""
    names_model: bool = False
    """Whether an unwrapped body has the model and stream that the path has."""

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        """Unwraps a request; `WrappingError` for a body that is not a request."""
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
    """A request of the Messages API with model and stream in its path, and version and betas in
    its body."""

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
"""Substitutes for statuses that Amazon does not use."""
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
    """Claude at Bedrock in Anthropic's own format."""

    stream_type = EVENT_STREAM
    names_model = True

    def open(self, body: bytes, headers: Headers, path: RequestPath) -> Opened:
        return _MESSAGES.open(body, headers, path)

    def stream(self) -> StreamWrapper:
        return InvokeStream()


_MESSAGES = MessagesWrapping()


Wire = dict[str, Any]
Action = Literal["generate", "count_tokens", "compact", "embed", "complete", "decide"]


class RequestPath(NamedTuple):
    """The operation of a path. `model` and `stream` are set if the path has them."""

    action: Action = "generate"
    model: str | None = None
    stream: bool | None = None


class Peek(NamedTuple):
    """The facts about an answer that passes through unchanged."""

    usage: Usage
    stop_reason: StopReason


class Ending:
    """Whether a stream with so many answers has come to its end. Only frames with one of the marks
    in them are looked into. One that nothing is known of is taken to be at its end always."""

    marks: tuple[bytes, ...] = ()
    """Byte patterns of a frame that may be the last one."""
    silent: frozenset[bytes] = frozenset()
    """The marks of frames that contain nothing else."""

    def __init__(self, answers: int = 1) -> None:
        self.is_reached = not self.marks
        """Whether the answer is complete, and nothing is missing if the stream ends now."""
        self.is_last = False
        """Whether nothing more is to come."""
        self.answers = answers

    def look(self, data: str, name: str | None = None) -> None:
        """The data of one frame, and its name."""
        try:
            self._look(data, name)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return  # what we cannot read is the client's business

    def _look(self, data: str, name: str | None) -> None:
        """Whether this frame carries it."""

    def reach(self, last: bool = True) -> None:
        self.is_reached = True
        self.is_last = self.is_last or last


class _Named(msgspec.Struct):
    type: str | None = None


_named = msgspec.json.Decoder(_Named).decode


class NamedEnding(Ending):
    """A stream whose last event is known by its type."""

    last: frozenset[str] = frozenset()

    def _look(self, data: str, name: str | None) -> None:
        if (_named(data).type or name) in self.last:
            self.reach()


class Filler:
    """Adds members that the API promises even when they are empty. `request` is the body, because
    some APIs repeat a part of it."""

    def __init__(self, request: bytes) -> None:
        pass

    def whole(self, wire: Wire) -> Wire:
        """The answer with all promised members; existing ones are not changed."""
        return wire

    def frames(self, data: bytes) -> bytes:
        """Whole frames of a stream, likewise."""
        return data


class Stored(NamedTuple):
    """How an API stores its answers, to be continued by later requests."""

    previous: str
    """The member of a request with the id of the answer that it continues."""
    keepers: frozenset[str]
    """Providers that keep them themselves."""
    title: str
    """The API's name for an answer, for people."""
    names: tuple[bytes, ...]
    """Members of a request that refer to data at a provider, in their JSON spelling."""


class PlainTurn(msgspec.Struct, forbid_unknown_fields=True):
    """A message that is a text."""

    role: str
    content: str


class PlainRequest(Protocol):
    """A request with nothing but texts and a limit."""

    n: int | None

    def limits(self) -> tuple[int | None, ...]: ...


def facts_beside(code: str | None, facts: Mapping[str, str]) -> Wire:
    """An error with a code of its own: other known facts are beside its message."""
    return dict(facts)


def code_beside(code: str | None, facts: Mapping[str, str]) -> Wire:
    """Adds the code beside the message of an error without a field for it."""
    return dict(facts) if code is None else {"code": code, **facts}


def as_it_is(body: bytes) -> bytes:
    return body


class Front(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One dialect as a gateway serves it."""

    dialect: str
    provider: str
    """The provider of a model name without one."""
    paths: Mapping[str, Action]
    path: Callable[[str], RequestPath | None] | None = None
    """Reads paths that have more in them, such as a model's name."""
    stream_type: str = "text/event-stream"
    streams_by_default: bool = False
    keep_alive: bytes | None = b": keep-alive\n\n"
    """Bytes that may be sent during silence; None if the dialect has none."""
    tagged_names: bool = False
    """Names of models have a colon of their own."""
    own_names: re.Pattern[str] | None = None
    """Names of models that are its provider's own, although they look like others."""
    needs_id: bool = False
    """Clients expect an id of every answer, and the writer makes none up."""
    usage_on_request: bool = False
    """A stream has its usage only if the request sets `stream_options.include_usage`."""
    request_id: bytes | None = None
    """A header in which clients look for the id of their request, beside the usual one."""
    headers_up: frozenset[bytes] = frozenset()
    """Client headers that a provider of the same dialect receives; no others are sent on."""
    errors: str | None = None
    """The dialect of its errors, where that is another one."""
    error_details: Callable[[str | None, Mapping[str, str]], Wire] = facts_beside
    """The place of our errors' code and facts in the raw data of the dialect."""
    filler: type[Filler] = Filler
    fills_frames: bool = False
    """Whether its filler has something to do in streams."""
    ending: type[Ending] = Ending
    marks: tuple[bytes, ...] = (b'"usage"', b'"error"')
    """Byte patterns of frames with usage or an error."""
    speaks: bytes | None = None
    """Byte patterns of a stream that has begun to answer, if it may end without that."""
    texts: bytes = b"text"
    """A pattern for the members that carry content in a stream, each content once."""
    peek: Callable[[bytes], Peek | None] | None = None
    """Reads the usual answer no further than has to be."""
    plain: msgspec.json.Decoder[Any] | None = None
    """Parses a request (`PlainRequest`) that needs no full reading."""
    unbounded: Mapping[str, str] = {}
    """Members of requests that have no field of ours and cannot be limited, with a text for
    people."""
    repeats_field: Callable[[Any], bool] | None = None
    """Whether the rest of a request's wire repeats the value of a field of ours."""
    stored: Stored | None = None
    """How its answers are stored; None if every request contains the whole conversation."""
    counted: str | None = None
    """The key of the count in an answer to a count of tokens; None if it has no such endpoint."""
    count_members: Mapping[str, Any] = {}
    """The other members of that answer."""
    to_count: Callable[[bytes], bytes] = as_it_is
    """The request inside the body that is to be counted."""
    wrapping: Wrapping | None = None
    """The wrapping of requests and answers by its host."""
    error_header: str | None = None
    """A header in which a provider names the type of an error."""
    restyle: Callable[[Response], Response] | None = None
    """Makes an answer one of an older version of the dialect."""
