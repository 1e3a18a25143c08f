"""The record of a dialect: its name, what others have to know about it, and the way to its code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import msgspec

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.stream_home import MarkedReader
from interlingua.dialects.kernel.wire import (
    SpelledTexts,
    Wire,
    decode_quickly,
    encode,
    encode_quickly,
    parse,
    sdk_arguments,
)
from interlingua.errors import DepthError, DetectError, WriteError, a_type
from interlingua.model import codec
from interlingua.model.blocks import Cache
from interlingua.model.exchange import Request, Response
from interlingua.model.ids import IdGrammar
from interlingua.model.losses import Report
from interlingua.model.message import Message, Role

if TYPE_CHECKING:
    from interlingua.adapt.fit.answers import AnswerAdapter
    from interlingua.dialects.framing import Decoder
    from interlingua.dialects.front import Front
    from interlingua.model.events import Event
    from interlingua.model.metadata import Usage
    from interlingua.streams.frames import Frame


Framing = Literal["sse", "ndjson", "aws"]


ReadStraight = Callable[[bytes], tuple[Request, SpelledTexts] | None]
"""Reads a request with the usual members and messages from its bytes, without JSON values in
between; None for any other body."""
ReadMore = Callable[[list[Any], list[Message], Any], Iterator[Any]]
"""Reads wire messages after those of a list, and appends to it; takes the state that it yielded
after the last one, and yields after each the state for the next, or `WITHIN`."""


BreakpointIn = Callable[[Message, Cache], bytes | None]
"""What a breakpoint at the end of a message adds to the JSON of the last part of its turn, behind
its other members; None if it changes more of the message's written form."""


class Counting(NamedTuple):
    """How the tokens of a prompt are counted for this dialect."""

    answer: str
    """The key of the count in the answer."""
    without: frozenset[str] = frozenset()
    """Members of a request that a count does not take."""
    wrapped: Callable[[Wire, str], Wire] | None = None
    """The request that is sent, with the model's name; None if it is the request itself."""


class HostVariant(Protocol):
    """How one service differs from its dialect; fields that are not here only the dialect reads."""

    @property
    def stream_usage(self) -> bool:
        """Streams have token counts only on request."""

    @property
    def replay(self) -> str:
        """Which thinking it takes back: `never`, or the rule by which it does."""


class Hosts(NamedTuple):
    """The services that use a dialect with field names of their own."""

    named: Mapping[str, HostVariant]
    of_switches: Callable[[Any], HostVariant | None]
    """The variant for the switches of a provider; None where it is the dialect itself."""


class ThinkingBinding(NamedTuple):
    """Models whose thinking is bound to the history before it (`Dialect.relax_binding`)."""

    provider: str
    family: str
    since: tuple[int, int]
    """The first version."""


class Traits(NamedTuple):
    """The traits of a dialect that other modules need; its readers and writers know the rest."""

    family: str | None = None
    """The group of issuers whose signatures and encrypted thinking it accepts; None accepts
    none."""
    hoists_instructions: bool = False
    """Leading instructions go to a field of their own."""
    developer: bool = False
    """Knows the role developer."""
    system_anywhere: bool = True
    """Takes instructions in mid-conversation."""
    ids: IdGrammar = IdGrammar(r"[\x20-\x7e]", 1, 512)
    """Tool ids that it accepts."""
    optional_ids: bool = False
    """Calls need no id; made-up ones are not written."""
    result_media: frozenset[str] = frozenset()
    """The media that a tool result may hold beside text."""
    result_texts: bool = False
    """A document that is text may stand in a tool result as a document."""
    error_flag: bool = True
    """Has a place for a failed tool result."""
    replays_thinking: bool = False
    """Takes unsigned thinking back as thinking."""
    results_in_user_turn: bool = False
    """Tool results are blocks of a user turn, and come first in it."""
    ordered_results: bool = False
    """Results must come in the order of their calls."""
    task_budget: bool = False
    """Takes a budget of tokens for a whole task."""
    stored_metadata: bool = False
    """Accepts metadata only with an answer that is to be stored."""
    orders_properties: bool = False
    """Its schemas may define the order of properties (`propertyOrdering`)."""
    speaks: bool = False
    """Its answers may be sound."""
    choices: frozenset[Literal["none", "one", "some"]] = frozenset({"none", "one", "some"})
    """Restrictions of a tool choice: no calls, calls of one tool only, or calls of some."""
    defines_called: bool = False
    """Refuses calls in the history unless it is given tools."""
    schema_keywords: frozenset[str] | None = None
    """The JSON Schema keywords that it keeps; None where it takes all."""
    call_signature: Callable[[str | None], str | None] | None = None
    """For a model: what to send as the signature of a call that has none, if it insists on one."""
    metadata: str | None = None
    """Its key for the caller's metadata; None if it has none."""
    allowed_text: Literal["any", "answers", "visible"] = "any"
    """The texts that a request may hold: any, no empty one of a model, or none that is blank."""
    begins_with_model: bool = True
    """A history may begin with the model's turn."""
    text_behind_calls: bool = True
    """In a turn of the model text may stand behind its last call."""
    continues: frozenset[str] = frozenset()
    """The fields of `Continues` that it alone has."""
    ends_with_connection: bool = False
    """A stream may continue after its stop reason: it is complete when the connection ends in
    good order."""
    messages_apart: bool = False
    """A stream may carry several messages, each with its own beginning and end."""
    closes_blocks: bool = False
    """In its streams nothing can be added to a block that has ended."""
    compactions: bool = False
    """Takes its own compacted history back."""
    shows_summaries: bool = False
    """Compacted history shows its summary to the client; without one it counts as failed."""
    changes: frozenset[str] = frozenset()
    """The `Changes` that an instruction in mid-conversation can express."""
    changes_inside: bool = False
    """Changes may stand in the midst of a turn, between calls and results."""
    defers_added: bool = False
    """A tool that is added later is declared at the start, and deferred until then."""
    framing: Framing = "sse"
    """The framing of its streams."""
    unicode_newlines: bool = False
    """Its clients end a line at every mark that Unicode calls a line end."""
    relays_signatures: bool = False
    """It hands on what others signed; each piece names its issuer."""
    needs_limit: bool = False
    """Requests must have an output limit."""
    sampling_by_model: bool = False
    """Sampling options are sent only to models that are known to accept them."""
    adaptive_thinking: bool = False
    """A model may be left to find its own budget for thinking."""
    breakpoint_parts: bool = False
    """A cache breakpoint is a part of its own behind another part: not inside a tool's result, and
    not behind a document that is not a PDF."""
    effort_key_varies: bool = False
    """The place of the effort depends on the model."""
    code_calls: bool = False
    """Tools may be called by code that the service runs."""
    free_text_tools: bool = False
    """Has tools that take free text; for others such a tool takes an object with the text."""
    instruction_roles: bool = False
    """Instructions are messages of one of two roles."""
    hosts: Hosts | None = None
    """The services that use it with field names of their own; None if there are no such
    services."""
    binding: ThinkingBinding | None = None
    """Which models bind their thinking to the history before it."""
    asks_for_thinking: Wire | None = None
    """The request member that makes it return encrypted thinking, if it must be requested."""
    hour_cache: bool = False
    """Its usage separates tokens that are cached for an hour (`usage.hour_cache_tokens`)."""
    betas: bool = False
    """Some features of a request have to be named by a header (`request.betas_of`)."""
    paths: Mapping[str, Any] = MappingProxyType({})
    """The usual paths of a server of this dialect."""
    messages: str = "messages"
    """The path of the messages in a request."""
    models_path: str | None = None
    """The path of the list of models."""
    model_prefix: str = ""
    """An optional prefix of a model's name that an address does not have."""
    counting: Counting | None = None
    """Its endpoint for counting tokens; None if it has none."""


_NO_VALUE = "{} takes {}; found {}: il.convert takes JSON and objects of SDKs"


class Dialect:
    """One wire format, two ways. The functions are pure: no I/O, no state between calls.

    `folder` is the package that has them, in modules `request`, `response` and `stream`, or all of
    them in the one that `room` names; each is loaded when it is first needed."""

    def __init__(
        self, name: str, title: str, traits: Traits, folder: str, room: str | None = None
    ) -> None:
        self.name = name
        self.title = title
        self.traits = traits
        self.legal_id = traits.ids.matcher()
        self.package, self._room = folder, room
        self._request, self._response = f"{name} request", f"{name} response"

    # The real functions take these places as soon as one of them is called.

    def _read_request(self, *args: Any) -> Request:
        read: Callable[..., Request] = self._load("request", "read_request")
        return read(*args)

    def _write_request(self, *args: Any) -> Any:
        return self._load("request", "write_request")(*args)

    def _read_response(self, *args: Any) -> Response:
        read: Callable[..., Response] = self._load("response", "read_response")
        return read(*args)

    def _write_response(self, *args: Any) -> Any:
        return self._load("response", "write_response")(*args)

    def _betas_of(self, wire: Wire) -> list[str]:
        found: list[str] = self._load("request", "betas_of")(wire)
        return found

    def _relax_binding(self, wire: Wire) -> Wire:
        relaxed: Wire = self._load("text", "relax_binding")(wire)
        return relaxed

    def _host_differs(
        self, host: HostVariant, body: bytes, members: Mapping[str, Any] | None = None
    ) -> bool:
        differs: bool = self._load("hosts", "host_differs")(host, body, members)
        return differs

    def _hour_cache_tokens(self, usage: Usage) -> int:
        count: int = self._load("response", "hour_cache_tokens")(usage)
        return count

    def _load(self, module: str, function: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(self._module(module)), function)
        self.__dict__[f"_{function}"] = found
        return found

    def _module(self, kind: str) -> str:
        return f"{self.package}.{self._room or kind}"

    @cached_property
    def decoder(self) -> Callable[[], Decoder] | None:
        """The decoder of its streams, if they have more than one framing."""
        if find_spec(self._module("stream")) is None:
            return None
        make: Callable[[], Decoder] | None = getattr(self._stream, "make_decoder", None)
        return make

    @cached_property
    def read_more(self) -> ReadMore | None:
        """The reader of messages that follow others; None if all have to be read at once."""
        read: ReadMore | None = getattr(import_module(self._module("request")), "read_more", None)
        return read

    @cached_property
    def read_straight(self) -> ReadStraight | None:
        """The reader of requests from bytes; None if all are read from parsed JSON."""
        module = import_module(self._module("request"))
        read: ReadStraight | None = getattr(module, "read_straight", None)
        return read

    def read_without(self, wire: Wire, model: str | None, stream: bool | None) -> Request:
        """A request whose list of messages is empty, with messages of `read_more` in their
        place."""
        module = import_module(self._module("request"))
        read = getattr(module, "read_without", None)
        return (read or self.read_parsed)(wire, model, stream)

    @cached_property
    def breakpoint_in(self) -> BreakpointIn | None:
        """Puts a breakpoint into a turn that is already written, if that is possible."""
        module = import_module(self._module("request"))
        found: BreakpointIn | None = getattr(module, "breakpoint_in", None)
        return found

    def betas_of(self, wire: Wire) -> list[str]:
        """The features of a request that a header has to name."""
        if not self.traits.betas:
            return []
        return self._betas_of(wire)

    def relax_binding(self, wire: Wire) -> Wire:
        """The body of a request, asking to drop thinking that no longer fits its history."""
        return self._relax_binding(wire)

    def host_differs(
        self, host: HostVariant, body: bytes, members: Mapping[str, Any] | None = None
    ) -> bool:
        """Whether a body of the dialect has something that this host calls otherwise or refuses;
        its `members` are passed where they are known already."""
        return self._host_differs(host, body, members)

    def hour_cache_tokens(self, usage: Usage) -> int:
        """Tokens that were written to a cache for an hour."""
        if not self.traits.hour_cache:
            return 0
        return self._hour_cache_tokens(usage)

    @cached_property
    def signs(self) -> Any:
        """The module by whose `SIGNS` and `BODIES` it is recognised (`dialects.signs`): its
        `signs`, or else its tables."""
        for name in (f"{self.package}.signs", f"{self.package}.tables"):
            if find_spec(name) is not None and hasattr(import_module(name), "SIGNS"):
                return import_module(name)
        return None

    @cached_property
    def front(self) -> Front | None:
        """The gateway's record of the dialect; None if it cannot be served."""
        name = f"{self.package}.front"
        if find_spec(name) is None:
            return None
        front: Front = import_module(name).FRONT
        return front

    @cached_property
    def hosted(self) -> tuple[Front, ...]:
        """Other fronts of it: paths of hosts that wrap it, or older versions."""
        if self.front is None:
            return ()
        fronts: tuple[Front, ...] = getattr(import_module(f"{self.package}.front"), "HOSTED", ())
        return fronts

    def load(self, kind: str) -> None:
        """Have the code for requests or responses at hand."""
        import_module(self._module(kind))

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    def read_request(
        self, wire: Wire | bytes | str, model: str | None = None, stream: bool | None = None
    ) -> Request:
        """`model` and `stream` are for dialects that have them in the URL."""
        try:
            try:
                body = (
                    decode_quickly(wire) if isinstance(wire, bytes) else parse(wire, self._request)
                )
            except (msgspec.DecodeError, UnicodeError):
                body = parse(wire, self._request)  # which raises with the reason
        except RecursionError:
            raise DepthError(self._request, codec.STORED_DEPTH) from None
        return self.read_parsed(body, model, stream)

    def read_parsed(
        self, body: Any, model: str | None = None, stream: bool | None = None
    ) -> Request:
        """A request from parsed JSON."""
        try:
            return self._read_request(body, model, stream)
        except RecursionError:
            raise DepthError(self._request, codec.STORED_DEPTH) from None

    def read_response(self, wire: Wire | bytes | str) -> Response:
        """An error body reads as an empty message of status `error`."""
        try:
            try:
                body = (
                    decode_quickly(wire) if isinstance(wire, bytes) else parse(wire, self._response)
                )
            except (msgspec.DecodeError, UnicodeError):
                body = parse(wire, self._response)  # which raises with the reason
            return self._read_response(body)
        except RecursionError:
            raise DepthError(self._response, codec.STORED_DEPTH) from None

    def write_request(
        self,
        request: Request,
        recorder: LossRecorder | None = None,
        host: str | HostVariant | None = None,
    ) -> Written:
        """`host`: the provider variant (or its name) whose field names to use."""
        if not isinstance(request, Request):
            raise TypeError(_NO_VALUE.format("write_request", "il.Request", a_type(request)))
        recorder = recorder or LossRecorder(self.name, request, Report(self.name))
        try:
            if host is None:
                wire = self._write_request(request, recorder)
            else:
                wire = self._write_request(request, recorder, host)
        except KeyError as error:
            if not error.args or not isinstance(error.args[0], Role):
                raise
            problem = f"no equivalent for the role {error.args[0].value!r}"
            raise WriteError(f"{self.name} request", "$.messages", problem) from None
        if recorder._critical is not None:
            recorder.refuse_critical()
        if (spelled := recorder.spelled) is None:
            return Written(wire, recorder.report, request.model, request.options.stream)
        stream = request.options.stream
        return Written(wire, recorder.report, request.model, stream, _spelled=spelled)

    def write_response(self, response: Response, recorder: LossRecorder | None = None) -> Written:
        if not isinstance(response, Response):
            raise TypeError(_NO_VALUE.format("write_response", "il.Response", a_type(response)))
        recorder = recorder or LossRecorder(self.name, response, Report(self.name))
        wire = self._write_response(response, recorder)
        return Written(wire, recorder.report, response.message.metadata.response_model, None)

    def stream_reader(self) -> StreamReader:
        """A new reader of one stream."""
        return MarkedReader(self.name, self._stream.StreamReader())

    def stream_writer(self) -> StreamWriter:
        """A new writer of one stream."""
        writer: StreamWriter = self._stream.StreamWriter()
        return writer

    @cached_property
    def _stream(self) -> Any:
        name = self._module("stream")
        if find_spec(name) is None:
            raise DetectError(f"{self.name} has no streams yet")
        return import_module(name)


class StreamReader(Protocol):
    """Frames in, events out. Where `marks` is False, pieces need not record their frame: only
    the way home uses it."""

    marks: bool

    def feed(self, frame: Frame) -> list[Event]: ...
    def close(self) -> list[Event]: ...


class StreamWriter(Protocol):
    """Events in, frames out. `steps` has what is done with each kind of event, once the first one
    has come: `feed` without the way to it. `source` is the dialect that the events came from."""

    report: Report
    source: str | None
    steps: dict[type, Callable[[Any], list[Frame]]]

    def feed(self, event: Event) -> list[Frame]: ...
    def close(self) -> list[Frame]: ...


class Written(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """The result of a writer: the wire, its report, and what belongs into the URL."""

    wire: Any
    report: Report
    model: str | None = None
    stream: bool | None = None
    answer_adapter: AnswerAdapter | None = None
    """Translates the answer back if the request was changed for the model."""
    text: bytes | None = None
    """The wire with its numbers as they were spelled, if `wire` alone would lose that."""
    _spelled: SpelledTexts | None = None

    @property
    def back(self) -> AnswerAdapter | None:
        """The name of `answer_adapter` in earlier releases."""
        return self.answer_adapter

    def for_sdk(self) -> dict[str, Any]:
        """A request as keyword arguments of the vendor's own SDK, whose keys differ from the body's
        in places: `client.messages.create(**written.for_sdk())`, `client.converse(**…)`."""
        return sdk_arguments(self.wire, self.report.target, self.model)

    def json(self) -> bytes:
        """The wire as bytes."""
        if self.text is not None and decode_quickly(self.text) == self.wire:  # else it was edited
            return self.text
        try:
            if self._spelled is not None:
                return self._spelled.encode(self.wire)
            return encode_quickly(self.wire)
        except (UnicodeEncodeError, RecursionError, TypeError, OverflowError):
            return encode(self.wire)  # which raises with the reason
