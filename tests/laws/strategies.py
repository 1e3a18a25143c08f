"""Generated canonical values: JSON, blocks, messages, whole conversations, requests, streams.

Each function gives a hypothesis strategy for one value, small enough that some hundred examples
take seconds. `stored=True` gives what a session holds: ids, times and complete metadata. `raw`, and
`unknown` blocks, which consist of it, are made only with `with_raw=True`, keyed by dialect; their
keys all begin with `x_`, so that they collide with no wire's own.

Making a strategy costs more than drawing from it, so those that depend on little are cached, and
what depends on more is drawn by a plain function.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, get_args

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Cache,
    Citation,
    CompactionBlock,
    DocumentBlock,
    Executor,
    ImageBlock,
    MediaBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    ResultBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    VideoBlock,
)
from interlingua.model.events import (
    BlockEnd,
    BlockStart,
    Event,
    MessageComplete,
    MessageStart,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from interlingua.model.exchange import (
    EFFORTS,
    ErrorKind,
    Options,
    ProviderError,
    Reasoning,
    ReasoningMode,
    Request,
    Response,
    ResponseFormat,
    TaskBudget,
    ToolChoice,
)
from interlingua.model.ids import Ulids, new_tool_id
from interlingua.model.message import Changes, Message, Role
from interlingua.model.metadata import (
    CostBreakdown,
    Diagnostic,
    MessageMetadata,
    MessageStatus,
    RoutingMode,
    RoutingRecord,
    StopReason,
    Usage,
)
from interlingua.model.tools import Grammar, SideEffects, ToolDefinition

DIALECTS = (
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "ollama",
    "openrouter",
    "bedrock",
    "cohere",
)

CLIENT_TOOLS = ("read_file", "get_weather", "add")
CUSTOM_TOOLS = ("apply_patch",)
PROVIDER_TOOLS = ("web_search", "code_execution")


class Origin(NamedTuple):
    """Who made a message: the provider, the dialect it speaks, its name for the model."""

    provider: str
    protocol: str
    model: str


ORIGINS = (
    Origin("openai", "openai-chat", "gpt-4.1"),
    Origin("openai", "openai-responses", "gpt-5"),
    Origin("anthropic", "anthropic", "claude-sonnet-4-5"),
    Origin("gemini", "gemini", "gemini-3-pro-preview"),
    Origin("gemini", "gemini-interactions", "gemini-3-flash-preview"),
    Origin("ollama", "ollama", "qwen3:8b"),
    Origin("openrouter", "openrouter", "anthropic/claude-sonnet-4.5"),
    Origin("bedrock", "bedrock", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
    Origin("cohere", "cohere", "command-a-reasoning-08-2025"),
)


# JSON and text

_TRAPS = (
    "\x00",
    "a\x00b\x1f\x7f",
    "\U0001f9d1\u200d\U0001f52c\U00010348",  # beyond 16 bits, and joined
    "e\u0301 \u00e9",  # two spellings of one letter
    "\u2028\u2029\ufeff",
    'say "hi"\\n\r\n\t/',
    "  two  spaces  ",
    "<think>no</think>",
    "data: [DONE]\n\n",
    "\u05e9\u05dc\u05d5\u05dd, \u4e16\u754c",
    '{"a": 1}',
)
_CHARACTERS = st.characters(exclude_categories=["Cs"])
_BIG = 10**30


@cache
def texts(min_size: int = 0, max_size: int = 20) -> SearchStrategy[str]:
    """Unicode with NUL and astral characters, without surrogates; may be empty or only spaces."""
    return st.text(_CHARACTERS, min_size=min_size, max_size=max_size) | st.sampled_from(_TRAPS)


@cache
def words() -> SearchStrategy[str]:
    """A word that may be a name or a key on any wire."""
    return st.text("abcdefghij_", min_size=1, max_size=8).map(lambda text: "w" + text)


@cache
def json_scalars() -> SearchStrategy[Any]:
    numbers = st.integers(-99, 99) | st.integers(-_BIG, _BIG) | _floats()
    return st.none() | st.booleans() | numbers | texts()


@cache
def json_values(max_leaves: int = 6) -> SearchStrategy[Any]:
    """Any JSON value, finite and bounded."""
    return st.recursive(json_scalars(), _containers, max_leaves=max_leaves)


@cache
def json_objects(max_size: int = 3) -> SearchStrategy[dict[str, Any]]:
    return st.dictionaries(texts(), json_values(4), max_size=max_size)


def _containers(items: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.lists(items, max_size=3) | st.dictionaries(texts(), items, max_size=3)


@cache
def _floats() -> SearchStrategy[float]:
    return st.floats(allow_nan=False, allow_infinity=False)


@cache
def raws(dialects: Sequence[str] = DIALECTS) -> SearchStrategy[dict[str, Any]]:
    """What only a dialect understands, keyed by its name."""
    rest = st.dictionaries(words().map("x_{}".format), json_values(3), min_size=1, max_size=2)
    return st.dictionaries(st.sampled_from(dialects), rest, min_size=1, max_size=2)


@cache
def _maybe(strategy: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.none() | strategy


@cache
def _pick(*values: Any) -> SearchStrategy[Any]:
    """One of some fixed values."""
    return st.sampled_from(values)


@cache
def _few(strategy: SearchStrategy[Any], least: int = 0, most: int = 2) -> SearchStrategy[Any]:
    return st.lists(strategy, min_size=least, max_size=most)


@cache
def _chance() -> SearchStrategy[bool]:
    """True about one time in eight."""
    return _rarely(st.just(True), False)


@cache
def _rarely(strategy: SearchStrategy[Any], default: Any = None) -> SearchStrategy[Any]:
    """About one time in eight."""
    return st.one_of([st.just(default)] * 7 + [strategy])


@cache
def _raw(with_raw: bool) -> SearchStrategy[dict[str, Any] | None]:
    return _maybe(raws()) if with_raw else st.none()


@cache
def _opaque() -> SearchStrategy[str]:
    """Signatures and other data that nobody but its issuer can read."""
    return st.binary(min_size=6, max_size=18).map(lambda data: base64.b64encode(data).decode())


# Blocks


@cache
def caches() -> SearchStrategy[Cache]:
    return st.sampled_from((Cache(), Cache("5m"), Cache("1h")))


@st.composite
def citations(draw: DrawFn, text: str = "", with_raw: bool = False) -> Citation:
    """A citation on a block with this text."""
    start = draw(st.integers(0, len(text))) if draw(st.booleans()) else None
    end = None if start is None else draw(st.integers(start, len(text)))
    where = draw(_pick("url", "file", "document"))
    return Citation(
        cited_text=draw(_maybe(texts(1))),
        url=draw(_urls()) if where == "url" else None,
        title=draw(_maybe(texts(1))),
        file_id=draw(_file_ids()) if where == "file" else None,
        document_index=draw(st.integers(0, 3)) if where == "document" else None,
        start=start,
        end=end,
        raw=draw(_raw(with_raw)),
    )


@cache
@st.composite
def text_blocks(
    draw: DrawFn, min_size: int = 0, made: bool = False, with_raw: bool = False
) -> TextBlock:
    """`made` text is a model's: it may be signed and may cite."""
    text = draw(texts(min_size))
    count = draw(_rarely(st.integers(1, 2), 0)) if made else 0
    return TextBlock(
        text,
        signature=draw(_rarely(_opaque())) if made else None,
        citations=tuple([draw(citations(text, with_raw)) for _ in range(count)]),
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
        phase=draw(_rarely(_pick("commentary", "final_answer"))) if made else None,
    )


@cache
@st.composite
def thinking_blocks(draw: DrawFn, with_raw: bool = False) -> ThinkingBlock:
    """Signed, unsigned, or a signature alone."""
    form = draw(_pick("signed", "unsigned", "empty"))
    return ThinkingBlock(
        "" if form == "empty" else draw(texts(1)),
        signature=None if form == "unsigned" else draw(_opaque()),
        id=draw(_rarely(_thinking_ids())),
        raw=draw(_raw(with_raw)),
    )


@cache
def _thinking_ids() -> SearchStrategy[str]:
    return _opaque().map("rs_{}".format)


@cache
def redacted_thinking_blocks(with_raw: bool = False) -> SearchStrategy[RedactedThinkingBlock]:
    return st.builds(RedactedThinkingBlock, _opaque(), raw=_raw(with_raw))


@cache
@st.composite
def compaction_blocks(draw: DrawFn, made: bool = True, with_raw: bool = False) -> CompactionBlock:
    """A summary, signed or not; one that is `made` may be sealed, or have failed."""
    form = draw(_pick("summary", "summary", *(("sealed", "failed") if made else ())))
    text = draw(texts(1)) if form == "summary" else None
    signed = made and text is not None and draw(st.booleans())
    return CompactionBlock(
        text,
        draw(_opaque()) if form == "sealed" or signed else None,
        draw(_opaque()) if signed else None,
        draw(_rarely(st.integers(1, 9))),
        draw(_rarely(caches())),
        draw(_raw(with_raw)),
    )


_ID_FORMS: tuple[Callable[[int], str], ...] = (
    "call_{:024x}".format,
    "toolu_{:024d}".format,
    "{:09d}".format,
    "call|{:x}/\u00e9 and more".format,  # legal almost nowhere
    ("x" * 60 + "{:08d}").format,  # too long for some
)


@cache
def tool_ids(number: int = 0) -> SearchStrategy[str]:
    """An id as some provider makes it; different numbers give different ids."""
    return st.sampled_from(_ID_FORMS).map(lambda form: form(number))


@st.composite
def tool_use_blocks(
    draw: DrawFn,
    id: str | None = None,
    executor: Executor = "client",
    with_raw: bool = False,
) -> ToolUseBlock:
    """A call of one of the tools named above; now and then of a custom one, free text in."""
    return _tool_use(draw, draw(tool_ids()) if id is None else id, executor, with_raw)


def _tool_use(draw: DrawFn, id: str, executor: Executor, with_raw: bool) -> ToolUseBlock:
    custom = executor == "client" and draw(_chance())
    names = PROVIDER_TOOLS if executor == "provider" else CUSTOM_TOOLS if custom else CLIENT_TOOLS
    fields = {"input": draw(texts())} if custom else draw(json_objects())
    spelled = not custom and draw(_chance())
    return ToolUseBlock(
        id,
        draw(_pick(*names)),
        fields,
        raw_arguments=json.dumps(fields, indent=1) if spelled else None,
        signature=draw(_rarely(_opaque())),
        executor=executor,
        call_type="custom" if custom else None,
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
        caller=draw(_rarely(_pick("call_program"))),
    )


@st.composite
def tool_result_blocks(
    draw: DrawFn, call: ToolUseBlock | None = None, with_raw: bool = False
) -> ToolResultBlock:
    """The answer to a call: text as a rule, media or nothing at times, or an error."""
    return _tool_result(draw, call, with_raw)


@cache
def _result_contents(with_raw: bool) -> SearchStrategy[list[ResultBlock]]:
    inside: list[SearchStrategy[Any]] = [text_blocks(1, with_raw=with_raw)] * 3
    inside += [image_blocks(with_raw), document_blocks(with_raw)]
    if with_raw:
        inside.append(unknown_blocks())
    return st.lists(st.one_of(inside), max_size=2)


def _tool_result(draw: DrawFn, call: ToolUseBlock | None, with_raw: bool) -> ToolResultBlock:
    content = draw(_result_contents(with_raw))
    return ToolResultBlock(
        draw(tool_ids()) if call is None else call.id,
        tuple(content),
        is_error=draw(_chance()),
        tool_name=draw(_pick(None, call.name)) if call else None,
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
    )


@cache
def _urls() -> SearchStrategy[str]:
    return words().map("https://example.com/{}".format)


@cache
def _file_ids() -> SearchStrategy[str]:
    return words().map("file-{}".format)


@cache
def _base64() -> SearchStrategy[str]:
    return st.binary(min_size=1, max_size=12).map(lambda data: base64.b64encode(data).decode())


@cache
@st.composite
def sources(draw: DrawFn, suffix: str = "bin") -> Source:
    """The four kinds that all media share."""
    match draw(_pick("base64", "base64", "url", "file_id", "file_ref")):
        case "base64":
            return Source("base64", draw(_base64()))
        case "url":
            return Source("url", f"{draw(_urls())}.{suffix}")
        case "file_ref":
            return Source("file_ref", f"media/{draw(words())}.{suffix}")
        case _:
            provider = draw(_pick(*ORIGINS)).provider
            return Source("file_id", draw(_file_ids()), provider=provider)


@cache
@st.composite
def image_blocks(draw: DrawFn, with_raw: bool = False) -> ImageBlock:
    return ImageBlock(
        draw(sources("png")),
        draw(_pick("image/png", "image/jpeg", "image/webp", "image/gif")),
        name=draw(_rarely(words())),
        detail=draw(_rarely(_pick("auto", "low", "high"))),
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
    )


@cache
@st.composite
def audio_blocks(draw: DrawFn, made: bool = False, with_raw: bool = False) -> AudioBlock:
    return AudioBlock(
        draw(sources("wav")),
        draw(_pick("audio/wav", "audio/mpeg")),
        name=draw(_rarely(words())),
        transcript=draw(_maybe(texts(1))) if made else None,
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
    )


@cache
@st.composite
def video_blocks(draw: DrawFn, with_raw: bool = False) -> VideoBlock:
    return VideoBlock(
        draw(sources("mp4")),
        draw(_pick("video/mp4", "video/webm")),
        name=draw(_rarely(words())),
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
    )


@cache
@st.composite
def _document_sources(draw: DrawFn) -> tuple[Source, str | None]:
    match draw(st.integers(0, 4)):
        case 3:
            return Source("text", draw(texts(1))), "text/plain"
        case 4:
            return Source("blocks", content=tuple(draw(_few(text_blocks(1), 1)))), None
        case _:
            return draw(sources("pdf")), "application/pdf"


@cache
@st.composite
def document_blocks(draw: DrawFn, with_raw: bool = False) -> DocumentBlock:
    """A PDF as a rule; plain text, or blocks."""
    source, media_type = draw(_document_sources())
    return DocumentBlock(
        source,
        media_type,
        name=draw(_rarely(words())),
        title=draw(_rarely(texts(1))),
        context=draw(_rarely(texts(1))),
        cache=draw(_rarely(caches())),
        raw=draw(_raw(with_raw)),
    )


@cache
def media_blocks(with_raw: bool = False) -> SearchStrategy[MediaBlock]:
    return st.one_of(
        image_blocks(with_raw),
        document_blocks(with_raw),
        audio_blocks(with_raw=with_raw),
        video_blocks(with_raw),
    )


@cache
def _made_media(with_raw: bool) -> SearchStrategy[MediaBlock]:
    return image_blocks(with_raw) | audio_blocks(True, with_raw)


@cache
def refusal_blocks(with_raw: bool = False) -> SearchStrategy[RefusalBlock]:
    return st.builds(RefusalBlock, texts(1), raw=_raw(with_raw))


@cache
def unknown_blocks(dialects: Sequence[str] = DIALECTS) -> SearchStrategy[UnknownBlock]:
    """What a reader of one dialect did not know."""
    kind = words().map("x_{}".format)
    raw = st.builds(
        lambda dialect, word, rest: {dialect: {"type": word, "x_rest": rest}},
        st.sampled_from(dialects),
        kind,
        json_values(3),
    )
    return st.builds(UnknownBlock, raw)


BLOCKS: dict[str, SearchStrategy[Any]] = {
    "text": text_blocks() | text_blocks(made=True),
    "thinking": thinking_blocks(),
    "redacted_thinking": redacted_thinking_blocks(),
    "tool_use": tool_use_blocks() | tool_use_blocks(executor="provider"),
    "tool_result": tool_result_blocks(),
    "image": image_blocks(),
    "audio": audio_blocks() | audio_blocks(made=True),
    "video": video_blocks(),
    "document": document_blocks(),
    "refusal": refusal_blocks(),
    "compaction": compaction_blocks(),
    "unknown": unknown_blocks(),
}
"""One strategy for each word of the closed set."""


def blocks() -> SearchStrategy[Block]:
    """Any block, placed nowhere; `raw` on `unknown` ones alone."""
    return st.one_of(list(BLOCKS.values()))


# Metadata


@cache
@st.composite
def usages(draw: DrawFn, stored: bool = False, with_raw: bool = False) -> Usage:
    """Counts that obey the algebra; money and latency when a session holds it."""
    counts = st.integers(0, 100_000)
    maybe = counts if stored else _maybe(counts)
    output = draw(counts)
    usage = Usage(
        input_tokens=draw(counts),
        output_tokens=output,
        cached_input_tokens=draw(maybe),
        cache_creation_input_tokens=draw(maybe),
        reasoning_tokens=draw(st.integers(0, output)) if draw(st.booleans()) else None,
        service_tier=draw(_rarely(_pick("default", "flex", "priority", "batch", "reserved"))),
        tool_uses=draw(_split("web_search", "web_fetch", "search_unit")),
        cache_writes=draw(_split("5m", "30m", "1h", "12h")),
        input_modalities=draw(_split(*_MODALITIES)),
        output_modalities=draw(_split(*_MODALITIES)),
        raw=draw(_raw(with_raw)),
    )
    return _priced(usage, draw(st.integers(0, 60_000))) if stored else usage


_MODALITIES = ("text", "image", "audio", "video", "document")


@cache
def _split(*kinds: str) -> SearchStrategy[dict[str, int] | None]:
    """Counts by kind, seldom."""
    counts = st.dictionaries(_pick(*kinds), st.integers(0, 100_000), min_size=1)
    return _rarely(counts)


def _priced(usage: Usage, latency_ms: int) -> Usage:
    cost = CostBreakdown(
        input=(usage.input_tokens or 0) * Decimal("0.000003"),
        cached_input=(usage.cached_input_tokens or 0) * Decimal("0.0000003"),
        cache_creation=(usage.cache_creation_input_tokens or 0) * Decimal("0.00000375"),
        output=(usage.output_tokens or 0) * Decimal("0.000015"),
    )
    return usage.replace(
        cost_usd=cost.total,
        cost_breakdown=cost,
        pricing_version="2026-11-01",
        latency_ms=latency_ms,
    )


@cache
@st.composite
def routings(draw: DrawFn, model: str) -> RoutingRecord:
    mode = draw(_pick(*RoutingMode))
    return RoutingRecord(
        mode,
        model,
        draw(texts(1)),
        rule_name=draw(words()) if mode is RoutingMode.RULE else None,
        confidence=draw(st.floats(0, 1)) if mode is RoutingMode.PATTERN else None,
        alternatives_considered=draw(_pick((), ("local:smollm2-135m-instruct",))),
    )


def _stop_reason(content: Sequence[Block], draw: DrawFn) -> StopReason:
    """How a turn with this content may have ended."""
    if any(isinstance(block, RefusalBlock) for block in content):
        return StopReason.REFUSAL
    if any(isinstance(block, ToolUseBlock) and block.executor == "client" for block in content):
        return StopReason.TOOL_USE
    if not content:
        return StopReason.CONTENT_FILTER
    ends = (StopReason.END_TURN, StopReason.MAX_TOKENS, StopReason.STOP_SEQUENCE)
    end: StopReason = draw(_pick(*ends))
    return end


@cache
def _response_ids() -> SearchStrategy[str]:
    return words().map("msg_{}".format)


def _assistant_metadata(
    draw: DrawFn,
    content: Sequence[Block],
    origin: Origin,
    stored: bool = False,
    with_raw: bool = False,
) -> MessageMetadata:
    """All that a provider said about a message, and what a session adds when it keeps it."""
    model = f"{origin.provider}:{origin.model}"
    return MessageMetadata(
        model=model if stored else origin.model,
        provider=origin.provider if stored else None,
        protocol=origin.protocol,
        response_model=origin.model if draw(_chance()) else None,
        response_id=draw(_maybe(_response_ids())),
        routing=draw(routings(model)) if stored else None,
        usage=draw(usages(stored, with_raw)),
        stop_reason=_stop_reason(content, draw),
        diagnostics=tuple(draw(_rarely(_few(_diagnostics(), most=1), ()))),
        user_id=draw(_rarely(words())) if stored else None,
        team_id=draw(_rarely(words())) if stored else None,
        provider_raw=draw(_raw(with_raw)),
    )


@cache
def _diagnostics() -> SearchStrategy[Diagnostic]:
    return st.builds(Diagnostic, words(), _maybe(texts(1)), _maybe(times()), _maybe(json_objects()))


@cache
def times() -> SearchStrategy[datetime]:
    """UTC, to the microsecond."""
    return st.integers(0, 10**15).map(lambda us: _EPOCH + timedelta(microseconds=us))


_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


# Messages and conversations


@cache
@st.composite
def changes(draw: DrawFn) -> Changes:
    """What may change in mid-conversation, most of it at times."""
    names = _few(_pick(*CLIENT_TOOLS), most=1).map(tuple)
    schema = ResponseFormat("json_schema", "out", {"type": "object"})
    return Changes(
        draw(names),
        draw(_rarely(names, ())),
        draw(_maybe(_pick(*EFFORTS[1:]))),
        draw(_rarely(_pick(ResponseFormat(), schema))),
        draw(_rarely(_pick("next_user_message", "never"))),
    )


class _Scribe:
    """Writes one conversation: knows which tool ids are taken, and whether a session holds it."""

    def __init__(self, draw: DrawFn, stored: bool, with_raw: bool) -> None:
        self.draw = draw
        self.stored = stored
        self.with_raw = with_raw
        self.started = draw(times()) if stored else _EPOCH
        self.ulids = _fixed_ulids(self.started)
        self.calls = 0
        self.origins = draw(_few(_pick(*ORIGINS), 1))

    def maybe(self, parts: int = 2) -> bool:
        """True one time in `parts`."""
        return self.draw(st.integers(1, parts)) == parts

    def instructions(self) -> Message:
        role = self.draw(_pick(Role.SYSTEM, Role.DEVELOPER))
        message = self.message(role, [text_blocks(1, with_raw=self.with_raw)])
        return message.replace(changes=self.draw(_rarely(changes())))

    def user(self) -> Message:
        kinds: list[SearchStrategy[Any]] = [text_blocks(1, with_raw=self.with_raw)]
        if self.maybe():
            media = media_blocks(self.with_raw)
            kinds.insert(self.draw(st.integers(0, 1)), media)
        if self.maybe(12):
            kinds.insert(0, compaction_blocks(False, self.with_raw))
        name = self.draw(_rarely(words()))
        return self.message(Role.USER, kinds).replace(name=name)

    def message(self, role: Role, kinds: list[SearchStrategy[Any]]) -> Message:
        """A message of one block of each kind; at times something unknown at its end."""
        content = [self.draw(kind) for kind in kinds]
        if self.with_raw and self.maybe(6):
            content.append(self.draw(unknown_blocks()))
        metadata = MessageMetadata(provider_raw=self.draw(_raw(self.with_raw)))
        return Message(role, tuple(content), metadata=metadata)

    def assistant(self, calls: int) -> Message:
        """Thinking, what the provider ran, an answer, and this many calls for the client."""
        content: list[Block] = [*self.thinking(), *self.hosted()]
        if self.maybe(12):
            content.insert(0, self.draw(compaction_blocks(True, self.with_raw)))
        if not calls or self.maybe():
            content += self.answer()
        for _ in range(calls):
            content.append(self.call("client"))
            if self.maybe(6):
                content.append(self.draw(thinking_blocks(self.with_raw)))
        if self.with_raw and self.maybe(6):
            content.append(self.draw(unknown_blocks()))
        return self.signed(content)

    def signed(self, content: list[Block]) -> Message:
        """The message with its metadata; outside a session at times without."""
        metadata = MessageMetadata()
        if self.stored or self.maybe():
            origin = self.draw(_pick(*self.origins))
            metadata = _assistant_metadata(self.draw, content, origin, self.stored, self.with_raw)
        return Message.assistant(content, metadata)

    def thinking(self) -> Iterator[Block]:
        if self.maybe():
            yield from self.draw(_few(thinking_blocks(self.with_raw), 1))
            if self.maybe(4):
                yield self.draw(redacted_thinking_blocks(self.with_raw))

    def hosted(self) -> Iterator[Block]:
        """A tool that the provider runs, with its result in the same message."""
        if self.maybe(5):
            call = self.call("provider")
            yield call
            yield _tool_result(self.draw, call, self.with_raw)

    def answer(self) -> list[Block]:
        match self.draw(_pick(*("text",) * 5, "refusal", "media")):
            case "refusal":
                return [self.draw(refusal_blocks(self.with_raw))]
            case "media":
                return [self.draw(_made_media(self.with_raw))]
            case _:
                text = text_blocks(1, made=True, with_raw=self.with_raw)
                content: list[Block] = self.draw(_few(text, 1))
                return content

    def call(self, executor: Executor) -> ToolUseBlock:
        self.calls += 1
        id = new_tool_id(self.ulids) if self.stored else self.draw(tool_ids(self.calls))
        return _tool_use(self.draw, id, executor, self.with_raw)

    def result(self, call: ToolUseBlock) -> Message:
        return Message.of_result(_tool_result(self.draw, call, self.with_raw))

    def round(self) -> Iterator[Message]:
        """Calls, and their results in any order."""
        message = self.assistant(self.draw(st.integers(1, 3)))
        yield message
        calls = list(_client_calls(message))
        for place in self.draw(_orders(len(calls))):
            yield self.result(calls[place])

    def failed(self) -> Message:
        """A turn that broke off, its last call unanswered."""
        status = self.draw(_pick(MessageStatus.ERROR, MessageStatus.CANCELLED))
        message = self.assistant(self.draw(st.integers(0, 1)))
        metadata = message.metadata.replace(
            status=status,
            stop_reason=StopReason(status.value),
            error_message="the connection was lost" if status is MessageStatus.ERROR else None,
        )
        return message.replace(metadata=metadata)

    def turn(self, failures: bool) -> Iterator[Message]:
        """From a user message to the assistant message that ends it."""
        yield self.user()
        if failures and self.maybe(4):
            yield self.failed()
            yield self.user()
        for _ in range(self.draw(_pick(0, 0, 1, 2))):
            yield from self.round()
        yield self.assistant(0)

    def conversation(self, failures: bool) -> Iterator[Message]:
        for _ in range(self.draw(st.integers(0, 2))):
            yield self.instructions()
        for _ in range(self.draw(st.integers(0, 1))):
            yield from self.turn(failures)
            if self.maybe(6):
                yield self.instructions()
        yield from self.ending(failures)

    def ending(self, failures: bool) -> Iterator[Message]:
        """The user's or a tool's word, to be answered, or a turn that is over."""
        match self.draw(_pick("user", "tool", "turn")):
            case "user":
                yield self.user()
            case "tool":
                yield self.user()
                yield from self.round()
            case _:
                yield from self.turn(failures)

    def keep(self, messages: list[Message]) -> tuple[Message, ...]:
        """As the session holds them."""
        if not self.stored:
            return tuple(messages)
        session_id, stored, time = self.ulids.new(), [], self.started
        for message in messages:
            time += timedelta(microseconds=self.draw(st.integers(1, 10**7)))
            id = self.ulids.new()
            stored.append(message.replace(id=id, session_id=session_id, created_at=time))
        return tuple(stored)


@cache
def _orders(count: int) -> SearchStrategy[list[int]]:
    return st.permutations(range(count))


def _client_calls(message: Message) -> Iterator[ToolUseBlock]:
    for block in message.content:
        if isinstance(block, ToolUseBlock) and block.executor == "client":
            yield block


def _fixed_ulids(time: datetime) -> Ulids:
    """ULIDs that depend on nothing but the time given."""
    ms = int(time.timestamp() * 1000)
    return Ulids(clock=lambda: ms, random=lambda size: bytes(range(1, size + 1)))


@cache
@st.composite
def conversations(
    draw: DrawFn, stored: bool = False, with_raw: bool = False, failures: bool = False
) -> tuple[Message, ...]:
    """A whole conversation that obeys the rules: calls answered, blocks in their places.

    It ends with the user, with tool results, or with the assistant. `failures` adds turns that
    failed or were cancelled."""
    scribe = _Scribe(draw, stored, with_raw)
    return scribe.keep(list(scribe.conversation(failures)))


@cache
@st.composite
def messages(
    draw: DrawFn, role: Role | None = None, stored: bool = False, with_raw: bool = False
) -> Message:
    """One message of a role. A tool message stands alone here, its call is elsewhere."""
    scribe = _Scribe(draw, stored, with_raw)
    match role or draw(_pick(*Role)):
        case Role.USER:
            message = scribe.user()
        case Role.ASSISTANT:
            message = scribe.assistant(draw(st.integers(0, 2)))
        case Role.TOOL:
            message = scribe.result(scribe.call("client"))
        case other:
            message = scribe.message(other, [text_blocks(with_raw=with_raw)])
    return scribe.keep([message])[0]


# Requests, responses, streams

_SCHEMA_TYPES = ("string", "integer", "number", "boolean")


@cache
@st.composite
def schemas(draw: DrawFn) -> dict[str, Any]:
    """A schema that every provider accepts."""
    names = draw(st.lists(words(), max_size=3, unique=True))
    kinds = {name: {"type": draw(_pick(*_SCHEMA_TYPES))} for name in names}
    return {"type": "object", "properties": kinds, "required": names[:1]}


@cache
@st.composite
def tools(draw: DrawFn, name: str | None = None, with_raw: bool = False) -> ToolDefinition:
    """A function as a rule; by its name a custom tool, or one that the provider runs."""
    name = name or draw(_pick(*CLIENT_TOOLS, *CUSTOM_TOOLS, *PROVIDER_TOOLS))
    extra = {"cache": draw(_rarely(caches())), "raw": draw(_raw(with_raw))}
    if name in PROVIDER_TOOLS:
        return ToolDefinition(name, executor="provider", kind=name, **extra)
    described = draw(_maybe(texts(1)))
    if name in CUSTOM_TOOLS:
        grammar = draw(_rarely(st.just(Grammar("regex", "[a-z]+"))))
        return ToolDefinition(name, described, kind="custom", grammar=grammar, **extra)
    return ToolDefinition(
        name,
        described,
        draw(schemas()),
        side_effects=draw(_maybe(_pick(*SideEffects))),
        requires_workspace=draw(st.booleans()),
        strict=draw(_maybe(st.booleans())),
        callers=draw(_rarely(_pick(("direct",), ("program",), ("direct", "program")))),
        asynchronous=draw(_rarely(st.booleans())),
        **extra,
    )


def tool_choices(names: Sequence[str] = ()) -> SearchStrategy[ToolChoice]:
    modes = st.sampled_from((ToolChoice(), ToolChoice("none"), ToolChoice("any")))
    if not names:
        return modes
    return modes | st.sampled_from(names).map(lambda name: ToolChoice("any", (name,)))


@cache
@st.composite
def response_formats(draw: DrawFn) -> ResponseFormat:
    plain: ResponseFormat | None = draw(_pick(ResponseFormat(), ResponseFormat("json"), None))
    if plain is not None:
        return plain
    strict = draw(_maybe(st.booleans()))
    return ResponseFormat("json_schema", draw(words()), draw(schemas()), strict)


@cache
def reasonings() -> SearchStrategy[Reasoning]:
    effort = st.sampled_from(EFFORTS).map(Reasoning)
    budget = st.integers(1024, 32_000).map(lambda count: Reasoning(budget_tokens=count))
    shown = st.builds(Reasoning, st.just("low"), visible=st.booleans())
    modes = st.none() | st.sampled_from(get_args(ReasoningMode))
    ways = st.builds(Reasoning, st.none() | st.sampled_from(EFFORTS), mode=modes)
    return effort | budget | shown | ways


def options(names: Sequence[str] = (), with_raw: bool = False) -> SearchStrategy[Options]:
    """Any of the options; `names` are the tools that may be chosen."""
    return _options(tuple(names), with_raw)


@cache
def _options(names: tuple[str, ...], with_raw: bool) -> SearchStrategy[Options]:
    fields: dict[str, SearchStrategy[Any]] = {
        "max_output_tokens": st.integers(1, 100_000),
        "temperature": st.floats(0, 1),
        "top_p": st.floats(0, 1),
        "top_k": st.integers(1, 100).map(float),
        "seed": st.integers(0, 2**31 - 1),
        "stop": st.lists(words(), min_size=1, max_size=2).map(tuple),
        "frequency_penalty": st.floats(-2, 2),
        "presence_penalty": st.floats(-2, 2),
        "n": st.integers(1, 3),
        "logprobs": st.integers(0, 5),
        "verbosity": st.sampled_from(("low", "medium", "high")),
        "modalities": st.sampled_from((("text",), ("text", "audio"), ("text", "image"))),
        "tool_choice": tool_choices(names),
        "parallel_tool_calls": st.booleans(),
        "response_format": response_formats(),
        "reasoning": reasonings(),
        "service_tier": st.sampled_from(("auto", "default", "flex")),
        "user": words(),
        "metadata": st.dictionaries(words(), texts(), min_size=1, max_size=2),
        "stream": st.booleans(),
        "cache": caches(),
        "task_budget": st.builds(TaskBudget, st.integers(1, 9), st.none() | st.integers(0, 9)),
    }
    if with_raw:
        fields["raw"] = raws()
    few = st.lists(st.sampled_from(sorted(fields)), max_size=6, unique=True)
    chosen = few.flatmap(lambda keys: st.fixed_dictionaries({key: fields[key] for key in keys}))
    return chosen.map(lambda given: Options(**given))


@cache
@st.composite
def requests(draw: DrawFn, with_raw: bool = False, failures: bool = False) -> Request:
    """A conversation, the tools it calls and some more, and options."""
    history = draw(conversations(with_raw=with_raw, failures=failures))
    names = {block.name for m in history for block in m.content if isinstance(block, ToolUseBlock)}
    names |= set(draw(_few(_pick(*CLIENT_TOOLS), most=1)))
    offered = tuple([draw(tools(name, with_raw)) for name in sorted(names)])
    chosen = [tool.name for tool in offered if tool.executor == "client"]
    return Request(
        history,
        draw(_pick(*ORIGINS)).model,
        offered,
        draw(options(chosen, with_raw)),
        raw=draw(_raw(with_raw)),
    )


@cache
@st.composite
def responses(draw: DrawFn, with_raw: bool = False, errors: bool = True) -> Response:
    """What came back: a message, several, or an error."""
    origin = draw(_pick(*ORIGINS))
    if errors and draw(_chance()):
        return draw(failures(origin, with_raw))
    scribe = _Scribe(draw, False, with_raw)

    def made() -> Message:
        content = scribe.assistant(draw(_pick(0, 0, 1, 2))).content
        metadata = _assistant_metadata(draw, content, origin, False, with_raw)
        return Message.assistant(content, metadata)

    others = [_without_usage(made()) for _ in range(draw(_rarely(st.integers(1, 2), 0)))]
    return Response(made(), tuple(others), raw=draw(_raw(with_raw)))


def _without_usage(message: Message) -> Message:
    """An alternative has its own content and stop reason, and nothing else."""
    return message.replace(metadata=MessageMetadata(stop_reason=message.metadata.stop_reason))


@st.composite
def failures(draw: DrawFn, origin: Origin = ORIGINS[0], with_raw: bool = False) -> Response:
    """An error in place of a message."""
    error = ProviderError(
        draw(_pick(*ErrorKind)),
        draw(texts(1)),
        draw(_maybe(words())),
        draw(_maybe(_pick(400, 401, 404, 429, 500, 529))),
        draw(_raw(with_raw)),
    )
    metadata = MessageMetadata(
        protocol=origin.protocol,
        stop_reason=StopReason.ERROR,
        status=MessageStatus.ERROR,
        error_message=error.message,
    )
    return Response(Message(Role.ASSISTANT, metadata=metadata), error=error)


@cache
@st.composite
def events(draw: DrawFn, with_raw: bool = False) -> list[Event]:
    """A stream in the order the events may come, one block after the other."""
    response = draw(responses(with_raw, errors=False)).replace(alternatives=())
    metadata = response.message.metadata
    out: list[Event] = [MessageStart(model=metadata.model, response_id=metadata.response_id)]
    for index, block in enumerate(response.message.content):
        out += _block_events(draw, index, block)
    out.append(Stop(stop_reason=metadata.stop_reason))
    if metadata.usage is not None:
        out.append(UsageUpdate(metadata.usage))
    return [*out, MessageComplete(response)]


def _block_events(draw: DrawFn, index: int, block: Block) -> list[Event]:
    if isinstance(block, ToolUseBlock):
        text = block.raw_arguments or json.dumps(block.input)
        head = ToolUseStart(
            index,
            block.id,
            block.name,
            block.executor,
            block.call_type,
            raw=block.raw,
            caller=block.caller,
        )
        deltas = [ToolUseInputDelta(index, piece) for piece in draw(_cuts(text))]
        return [
            head,
            *deltas,
            ToolUseEnd(index, block.input, block.raw_arguments, block.signature),
        ]
    if not isinstance(block, (TextBlock, ThinkingBlock)):
        return [BlockStart(index, block), BlockEnd(index, block)]
    delta = TextDelta if isinstance(block, TextBlock) else ThinkingDelta
    pieces = [delta(index, piece) for piece in draw(_cuts(block.text))]
    return [BlockStart(index, type(block)("")), *pieces, BlockEnd(index, block)]


@st.composite
def _cuts(draw: DrawFn, text: str) -> list[str]:
    """A text in up to three pieces, none of them empty."""
    at = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=2))})
    return [text[start:end] for start, end in pairwise(at)]
