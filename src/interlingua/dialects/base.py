"""What all dialects share: the record that describes one, tables, raw data, and the scribe that
keeps account of what a writer could not say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import msgspec

from interlingua.dialects import private
from interlingua.errors import DepthError, DetectError, LossError, ReadError, WriteError, found
from interlingua.ids import IdGrammar
from interlingua.losses import LossKind, Report, Severity
from interlingua.model import codec
from interlingua.model.base import Raw, Value, _defaults, same
from interlingua.model.blocks import SUMMARY as SUMMARY
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    CompactionBlock,
    ImageBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request, Response, ToolChoice
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.model.spelled import spelled
from interlingua.model.tools import ToolDefinition

if TYPE_CHECKING:
    from interlingua.fitting.back import Back
    from interlingua.model.events import Event
    from interlingua.streams.frames import Frame

Wire = dict[str, Any]
W = TypeVar("W")
V = TypeVar("V")
T = TypeVar("T")

ERROR_MARK = "[tool error] "
"""Stands before a failed result's text where the wire has no flag; readers take it off."""
SYSTEM_MARK = "[system] "
"""Stands before instructions in mid-conversation that had to become user text."""
PLACEHOLDER = "[nothing that can be shown here]"
"""The text of a message whose every block had to be left out."""
EARLIER = "[earlier turns are not shown]"
"""What the user says before a history that begins with the model, where that is refused."""

NO_REASON = "stop_reason_missing"
"""The diagnostic of a message that ended without a word why."""

WORDS: dict[type, str] = {
    str: "a string",
    dict: "an object",
    list: "a list",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
}
"""The JSON types, as errors call them."""


class Traits(NamedTuple):
    """What retelling needs to know about a dialect; the writers know the rest."""

    family: str | None = None
    """Whose signatures and encrypted thinking it takes; None where it takes nobody's."""
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
    """What a tool result may hold beside text."""
    error_flag: bool = True
    """Has a place for a failed tool result."""
    replays_thinking: bool = False
    """Takes unsigned thinking back as thinking."""
    results_in_user_turn: bool = False
    """Tool results are blocks of a user turn, and come first in it."""
    ordered_results: bool = False
    """Results must come in the order of their calls."""
    schema_keywords: frozenset[str] | None = None
    """The JSON Schema keywords that it keeps; None where it takes all."""
    call_signature: Callable[[str | None], str | None] | None = None
    """For a model: what to send as the signature of a call that has none, if it insists on one."""
    metadata: str | None = None
    """What it calls the caller's own words about a request; None where it has no place for them."""
    texts: Literal["any", "answers", "visible"] = "any"
    """The texts that a request may hold: any, no empty one of a model, or none that is blank."""
    begins_with_model: bool = True
    """A history may begin with the model's turn."""
    text_behind_calls: bool = True
    """In a turn of the model text may stand behind its last call."""
    continues: frozenset[str] = frozenset()
    """The fields of `Continues` that it alone has."""
    messages_apart: bool = False
    """A stream may tell several messages, each with its own beginning and end."""
    closes_blocks: bool = False
    """In its streams nothing can be added to a block that has ended."""
    compactions: bool = False
    """Takes its own compacted history back."""
    changes: frozenset[str] = frozenset()
    """What of `Changes` an instruction in mid-conversation can say."""
    changes_inside: bool = False
    """Changes may stand in the midst of a turn, between calls and results."""
    defers_added: bool = False
    """A tool that is added later is declared at the start, and deferred until then."""


class Dialect:
    """One wire format, two ways. The functions are pure: no I/O, no state between calls.

    `folder` is the package that has them, in modules `request`, `response`, `stream_reader` and
    `stream_writer`; each module is loaded when it is first needed."""

    def __init__(self, name: str, title: str, traits: Traits, folder: str) -> None:
        self.name = name
        self.title = title
        self.traits = traits
        self.legal_id = traits.ids.matcher()
        self._folder = folder
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

    def _load(self, module: str, function: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"{self._folder}.{module}"), function)
        self.__dict__[f"_{function}"] = found
        return found

    def load(self, kind: str) -> None:
        """Have the code for requests or responses at hand."""
        import_module(f"{self._folder}.{kind}")

    def __repr__(self) -> str:
        return f"<Dialect {self.name}>"

    def read_request(
        self, wire: Wire | bytes | str, model: str | None = None, stream: bool | None = None
    ) -> Request:
        """`model` and `stream` are for dialects that say them in the URL."""
        try:
            try:
                body = _decode(wire) if isinstance(wire, bytes) else parse(wire, self._request)
            except (msgspec.DecodeError, UnicodeError):
                body = parse(wire, self._request)  # which says what is wrong
            return self._read_request(body, model, stream)
        except RecursionError:
            raise DepthError(self._request, codec.STORED_DEPTH) from None

    def read_response(self, wire: Wire | bytes | str) -> Response:
        """An error body reads as an empty message of status `error`."""
        try:
            try:
                body = _decode(wire) if isinstance(wire, bytes) else parse(wire, self._response)
            except (msgspec.DecodeError, UnicodeError):
                body = parse(wire, self._response)  # which says what is wrong
            return self._read_response(body)
        except RecursionError:
            raise DepthError(self._response, codec.STORED_DEPTH) from None

    def write_request(
        self, request: Request, scribe: Scribe | None = None, host: str | None = None
    ) -> Written:
        """`host` is who speaks the dialect with words of its own, where the dialect knows any."""
        scribe = scribe or Scribe(self.name, request, Report(self.name))
        if host is None:
            wire = self._write_request(request, scribe)
        else:
            wire = self._write_request(request, scribe, host)
        if scribe._critical is not None:
            scribe.refuse_critical()
        return Written(wire, scribe.report, request.model, request.options.stream)

    def write_response(self, response: Response, scribe: Scribe | None = None) -> Written:
        scribe = scribe or Scribe(self.name, response, Report(self.name))
        wire = self._write_response(response, scribe)
        return Written(wire, scribe.report, response.message.metadata.response_model, None)

    def stream_reader(self) -> StreamReader:
        """A new reader of one stream."""
        reader: StreamReader = self._stream("reader")()
        return reader

    def stream_writer(self) -> StreamWriter:
        """A new writer of one stream."""
        writer: StreamWriter = self._stream("writer")()
        return writer

    def _stream(self, side: str) -> Any:
        from importlib.util import find_spec

        module = f"{self._folder}.stream_{side}"
        if find_spec(module) is None:
            raise DetectError(f"{self.name} has no streams yet")
        return getattr(import_module(module), f"Stream{side.capitalize()}")


class StreamReader(Protocol):
    """Frames in, events out. Where `marks` is False, pieces need not say which frame they came
    from: only the way home asks for it."""

    marks: bool

    def feed(self, frame: Frame) -> list[Event]: ...
    def close(self) -> list[Event]: ...


class StreamWriter(Protocol):
    """Events in, frames out. `steps` has what is done with each kind of event, once the first one
    has come: `feed` without the way to it."""

    report: Report
    steps: dict[type, Callable[[Any], list[Frame]]]

    def feed(self, event: Event) -> list[Frame]: ...
    def close(self) -> list[Frame]: ...


class Written(msgspec.Struct, frozen=True):
    """What a writer gives: the wire, what was lost, and what the URL has to say."""

    wire: Any
    report: Report
    model: str | None = None
    stream: bool | None = None
    back: Back | None = None
    """How to read the answer, where the model had to be asked in another way."""

    def json(self) -> bytes:
        """The wire as bytes."""
        try:
            return _encode(self.wire)
        except (UnicodeEncodeError, RecursionError, TypeError, OverflowError):
            return encode(self.wire)  # which says what is wrong


_encode = msgspec.json.Encoder(enc_hook=spelled).encode
_decode = msgspec.json.Decoder().decode


def encode(wire: Any) -> bytes:
    """Wire JSON as bytes. NaN never gets here: readers refuse it."""
    try:
        return _encode(wire)
    except (UnicodeEncodeError, RecursionError, TypeError, OverflowError) as odd:
        raise WriteError("wire JSON", "$", str(odd)) from None


def parse(wire: Any, what: str) -> Any:
    """Wire JSON from bytes or text; JSON that is parsed already is only looked over."""
    if type(wire) is bytes or type(wire) is str:
        try:
            return _decode(wire)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return codec.parse(wire, what)
    codec.require_json(wire, what)
    return wire


class TwoWay(Generic[W, V]):
    """A table of wire words and canonical values, read both ways.

    The first wire word for a value is the one written; a word that is not in the table reads as
    `otherwise`, and the wire's own word is kept beside it."""

    def __init__(self, words: dict[W, V], otherwise: V | None = None) -> None:
        self.words = words
        self.otherwise = otherwise
        self._back: dict[V, W] = {}
        for word, value in words.items():
            self._back.setdefault(value, word)

    def read(self, word: W) -> V | None:
        try:
            return self.words.get(word, self.otherwise)
        except TypeError:  # not hashable, so no word at all
            return self.otherwise

    def write(self, value: V) -> W | None:
        return self._back.get(value)


def keep(dialect: str, rest: Wire | None, form: Wire | None = None) -> Raw | None:
    """What only this dialect understands, as a `raw`: `rest` is content, `form` is spelling."""
    if form:
        return {dialect: {**(rest or {}), "$form": form}}
    return {dialect: rest} if rest else None


def kept(dialect: str, raw: Raw | None) -> Wire:
    """The content that `keep` kept for this dialect."""
    if raw is None or dialect not in raw:
        return {}
    mine: Wire = raw[dialect]
    if "$form" in mine:
        return {key: value for key, value in mine.items() if key != "$form"}
    return mine


def form_of(dialect: str, raw: Raw | None) -> Wire:
    """The spelling that `keep` kept for this dialect."""
    if raw is None or dialect not in raw:
        return {}
    form: Wire = raw[dialect].get("$form") or {}
    return form


def own_word(metadata: MessageMetadata, *names: str) -> Any:
    """The wire's word for why a message ended, if a dialect of these names said it: in another one
    the same word may say something else. Whose `provider_raw` a message has, read it; `protocol`
    may name the issuer of its thinking instead."""
    word, raw = metadata.raw_stop_reason, metadata.provider_raw
    if word is None:
        return None
    said_here = metadata.protocol in names if not raw else any(name in raw for name in names)
    return word if said_here else None


def ended_unsaid(metadata: MessageMetadata) -> bool:
    """Whether nobody said why a message ended. It may be cut off, so that the word for a full
    answer would say too much of it, and the one for an answer that was cut is nearest."""
    return any(found.type == NO_REASON for found in metadata.diagnostics)


def rest_of(wire: Wire, known: Iterable[str]) -> Wire | None:
    """What is left of an object beside the known keys; None when nothing is."""
    rest = {key: value for key, value in wire.items() if key not in known}
    return rest or None


def expect(value: Any, kind: type[V], what: str, path: str) -> V:
    """`value` if it is of this JSON type, else a `ReadError` with the place."""
    if type(value) is kind:
        return value
    if kind is float and type(value) is int:
        return value  # type: ignore[return-value]  # an integer is a number
    raise ReadError(what, path, WORDS[kind], found(value))


def count(value: Any) -> int | None:
    """A count of tokens: a whole number, however it is spelled; None for anything else."""
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    return None


def fresh_input(total: int | None, cached: int | None, written: int | None) -> int | None:
    """The fresh part of a prompt whose total includes the cached and the written part."""
    return None if total is None else max(total - (cached or 0) - (written or 0), 0)


class Scribe(msgspec.Struct, eq=False):
    """What a writer carries along: it finds the path of whatever could not be said.

    A value is found by identity in the value that was to be said, so that writers need no paths;
    `also_known` says which original stands behind a value that retelling made."""

    dialect: str
    origin: Request | Response | None
    report: Report
    _places: dict[int, list[tuple[str, Message | None]]] | None = None
    _aliases: dict[int, tuple[Any, Any]] | None = None
    _critical: list[int] | None = None
    _told: dict[tuple[int, str | None], int] | None = None
    _calls: dict[str, str] | None = None
    _made: dict[int, Any] | None = None

    def made(self, value: T) -> T:
        """A value that nobody said: why it is there was told, and nothing of it can be lost."""
        if self._made is None:
            self._made = {}
        self._made[id(value)] = value
        return value

    def called(self, result: ToolResultBlock) -> str | None:
        """The name of the tool whose call a result answers, where the call is there to say it."""
        if self._calls is None:
            messages = getattr(self.origin, "messages", ())
            blocks = [block for message in messages for block in message.content]
            self._calls = {b.id: b.name for b in blocks if type(b) is ToolUseBlock}
        answered: str = self.original(result).tool_use_id
        return self._calls.get(answered)

    def also_known(self, new: Value, original: Value) -> None:
        """`new` stands for `original` of the value that was to be said."""
        if self._aliases is None:
            self._aliases = {}
        self._aliases[id(new)] = (new, original)  # both stay alive, so that identities do

    def original(self, value: Any) -> Any:
        if self._aliases is not None:
            while id(value) in self._aliases:
                value = self._aliases[id(value)][1]
        return value

    def path(self, value: Any, field: str | None = None) -> tuple[str, Message | None]:
        """Where a value stands. One that stands in several places is told of once for each."""
        value = self.original(value)
        told = self._told
        if told is None:
            told = self._told = {}
        times = told[id(value), field] = told.get((id(value), field), -1) + 1
        if self._places is None:
            if len(told) <= _FEW and not times and (place := _place(self.origin, value)):
                return place
            self._places = _places(self.origin)
        places = self._places.get(id(value))
        return places[min(times, len(places) - 1)] if places else ("$", None)

    def unsaid(self, value: Value, said: frozenset[str]) -> None:
        """Report every field that holds something and is not among those said, and all of `raw`
        that other dialects put there."""
        defaults = _defaults(type(value))
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item is None or name in said or item is defaults[name]:
                continue
            if name == "raw":
                self.unsaid_raw(value, item)
            elif not same(item, defaults[name]):
                self.lost(value, name)

    def unsaid_raw(self, value: Value, raw: Raw, field: str = "raw") -> None:
        for dialect, rest in raw.items():
            if dialect != self.dialect and isinstance(rest, dict):
                for key in rest:
                    if key != "$form":
                        asked = key in private.WORDS and isinstance(value, _ASKED)
                        severity: Severity = "warning" if asked else "info"
                        reason = private.reason_of(dialect, key)
                        self.lost(value, f"{field}.{dialect}.{key}", reason, severity=severity)

    def lost(
        self,
        value: Any,
        field: str | None = None,
        reason: str | None = None,
        kind: LossKind = "dropped",
        severity: Severity = "warning",
        rule: str | None = None,
    ) -> None:
        """A loss at a value, or at one of its fields, unless that says what is done anyway."""
        if field is not None and says_nothing(value, field):
            return
        if self._made is not None and id(self.original(value)) in self._made:
            return
        path, message = self.path(value, field)
        self.report.add(
            kind,
            f"{path}.{field}" if field else path,
            reason or f"{self.dialect} has no place for it",
            severity,
            TYPE_OF.get(type(value)),
            message.id if message else None,
            rule,
        )

    def filled(self, value: Any, field: str, said: str) -> None:
        """A field that holds nothing and has to be there: what is said in its place."""
        self.lost(value, field, f"needed here; said as {said!r}", "approximated", "info")

    def dropped(
        self,
        block: Block,
        reason: str | None = None,
        severity: Severity = "warning",
        rule: str | None = None,
    ) -> None:
        """A whole block is left out: one loss, one warning in the log; an error if critical."""
        path, message = self.path(block)
        self.report.dropped_block(
            path,
            TYPE_OF.get(type(block), "unknown"),
            reason or f"{self.dialect} has no place for it",
            severity,
            message.id if message else None,
            message.session_id if message else None,
            rule,
        )
        if message is not None and _is_critical(message, self.original(block)):
            self._critical = [*(self._critical or ()), len(self.report.losses) - 1]

    def refuse_critical(self) -> None:
        """Fail if a block was dropped that its message calls critical."""
        if self._critical:
            losses = [self.report.losses[index] for index in self._critical]
            raise LossError(f"{self.dialect} request", Report(self.dialect, losses))


_ASKED = (Request, Options, ToolDefinition)
"""What asks for something, where a loss changes what is done."""


class Quiet(Scribe):
    """Keeps no account: the losses of a stream are counted once, when all of it is known."""

    def lost(self, *_: Any, **__: Any) -> None:
        pass

    def dropped(self, *_: Any, **__: Any) -> None:
        pass

    def unsaid(self, *_: Any) -> None:
        pass

    def unsaid_raw(self, *_: Any) -> None:
        pass


_ORDINARY_TIERS = ("auto", "default", "standard", "standard_only", "unspecified")
DONE_ANYWAY: dict[type, dict[str, tuple[Any, ...]]] = {
    Options: {
        "n": (1,),
        "parallel_tool_calls": (True,),
        "tool_choice": (ToolChoice("auto"),),
        "service_tier": _ORDINARY_TIERS,
        "modalities": (("text",),),
        "frequency_penalty": (0,),
        "presence_penalty": (0,),
        "stop": ((),),
        "metadata": ({},),
    },
    ToolDefinition: {"strict": (False,)},
    ImageBlock: {"detail": ("auto",)},
}
"""Values that say what every service does anyway; leaving one out changes nothing."""


def says_nothing(value: Any, field: str) -> bool:
    """Whether this field says what would be done without it."""
    fields = DONE_ANYWAY.get(type(value))
    return fields is not None and field in fields and getattr(value, field) in fields[field]


def _is_critical(message: Message, block: Any) -> bool:
    critical = message.metadata.critical
    if isinstance(critical, bool):
        return critical
    return any(message.content[i] is block for i in critical if i < len(message.content))


_FEW = 4
"""So many losses are looked for one by one; for more of them an index of all places is made."""


def _place(origin: Any, value: Any) -> tuple[str, Message | None] | None:
    """The path of one value, where it is a message, a block, or the options."""
    if isinstance(origin, Request):
        if value is origin.options:
            return "$.options", None
        messages, path = origin.messages, "$.messages[{}]"
    elif isinstance(origin, Response):
        messages, path = (origin.message,), "$.message"
    else:
        return None
    for number, message in enumerate(messages):
        if message is value:
            return path.format(number), message
        for index, block in enumerate(message.content):
            if block is value:
                return f"{path.format(number)}.content[{index}]", message
    return None


def _places(origin: Any) -> dict[int, list[tuple[str, Message | None]]]:
    """Every part of a value by identity: its paths, and the message it belongs to."""
    places: dict[int, list[tuple[str, Message | None]]] = {}

    def note(value: Any, path: str, message: Message | None) -> None:
        if isinstance(value, tuple):
            for index, item in enumerate(value):
                note(item, f"{path}[{index}]", message)
        elif isinstance(value, Value):
            message = value if isinstance(value, Message) else message
            places.setdefault(id(value), []).append((path, message))
            for name in value.__struct_fields__:
                item = getattr(value, name)
                if isinstance(item, (tuple, Value)) and item != ():
                    note(item, f"{path}.{name}", message)

    note(origin, "$", None)
    return places


def compaction_as_text(block: CompactionBlock, scribe: Scribe) -> TextBlock | None:
    """Compacted history for a dialect that has no such block: its summary as labelled text; None
    where there is nothing that anybody but its issuer could read."""
    if not block.text:
        if block.data is None:
            scribe.dropped(block, "a compaction that failed says nothing", "info")
        else:
            scribe.dropped(block, "history that only its issuer can read", "error")
        return None
    scribe.lost(block, None, "compacted history is said as labelled text", kind="downgraded")
    if block.raw is not None:
        scribe.unsaid_raw(block, block.raw)
    text = TextBlock(SUMMARY.format(block.text), cache=block.cache)
    scribe.also_known(text, block)
    return text


def unsaid_changes(message: Message, scribe: Scribe, said: frozenset[str] = frozenset()) -> None:
    """Report what a message changes for all that follows and this dialect has no word for."""
    changes = message.changes
    for name in changes.__struct_fields__ if changes is not None else ():
        item = getattr(changes, name)
        if item and name not in said and (name, item) != ("clear_at", "never"):
            scribe.lost(message, f"changes.{name}")


def only_results(message: Message) -> bool:
    return message.role is Role.TOOL and all(type(b) is ToolResultBlock for b in message.content)
