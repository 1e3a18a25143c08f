"""What is said on the cassettes: small conversations, and exchanges that our own writers make of
them for each dialect. They stand in for providers as long as there are no keys to ask them with.

Each body goes home once before it is taped: the order of keys that a body has from then on is kept
to the byte, while one that was just made of canonical values may have its keys in another order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import interlingua as il
from interlingua.model.events import Event, StreamError
from tests.cassettes import home
from tests.replay.exchanges import Exchange
from tests.replay.routes import path_of

MODELS = {
    "openai-chat": "gpt-5-mini",
    "openai-responses": "gpt-5-mini",
    "anthropic": "claude-sonnet-5",
    "gemini": "gemini-3-flash",
    "gemini-interactions": "gemini-3-flash",
    "ollama": "qwen3:8b",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "openrouter": "anthropic/claude-sonnet-5",
    "cohere": "command-a-plus-05-2026",
}
_NAMELESS = frozenset({"bedrock", "cohere"})
"""Dialects whose answers do not say which model they are of."""
IDS = {
    "openai-chat": "chatcmpl-c1",
    "openai-responses": "resp_c1",
    "anthropic": "msg_c1",
    "gemini": "c1",
    "gemini-interactions": "v1_c1",
    "openrouter": "gen-c1",
    "cohere": "c1",
}
"""Of responses; the others' have none."""

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Its name"}},
    "required": ["city"],
}
TOOL = il.ToolDefinition("get_weather", "Tells the weather of a city.", SCHEMA)
# A picture of one pixel.
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJ"
    "RU5ErkJggg=="
)
SIGNATURE = "c2lnbmVkIGJ5IG5vYm9keQ=="
SYSTEM = il.Message.system("You answer in one sentence.")
GREETING = "Grüße, 世界 🙂\n"


@dataclass(frozen=True)
class Case:
    """A request and its answer."""

    name: str
    messages: tuple[il.Message, ...]
    content: tuple[il.Block, ...] = ()
    tools: tuple[il.ToolDefinition, ...] = ()
    options: il.Options = field(default_factory=il.Options)
    stop_reason: il.StopReason = il.StopReason.END_TURN
    error: il.ProviderError | None = None
    partial: tuple[il.Block, ...] = ()
    """What had been said when a stream failed."""


_UNSIGNED = frozenset({"ollama", "cohere"})
_SIGNED = frozenset(
    {"anthropic", "bedrock", "openrouter", "openai-responses", "gemini", "gemini-interactions"}
)
"""Dialects with thinking, without a signature and with one."""


def _options(dialect: str) -> il.Options:
    # Anthropic refuses a temperature since version 2026-10-21.
    temperature = None if dialect == "anthropic" else 0.5
    return il.Options(max_output_tokens=256, temperature=temperature)


def _thinking(dialect: str) -> il.ThinkingBlock:
    return il.ThinkingBlock("They greet me.", None if dialect in _UNSIGNED else SIGNATURE)


_NAMES_RESULTS = ("gemini", "ollama")
"""Dialects whose results say which tool they are of."""
_ID = {"anthropic": "toolu_{}", "bedrock": "tooluse_{}"}


def _call(dialect: str, number: int, city: str) -> il.ToolUseBlock:
    """A call with an id as the dialect has it."""
    id = _ID.get(dialect, "call_{}").format(number)
    return il.ToolUseBlock(id, "get_weather", {"city": city})


def cases(dialect: str) -> Iterator[Case]:
    """Those that this dialect can say."""
    made: list[Callable[[str], Case | None]] = [_text, _tools, _think, _image, _error]
    for make in made:
        case = make(dialect)
        if case is not None:
            yield case


def _text(dialect: str) -> Case:
    asked = (SYSTEM, il.Message.user("Say hello to the world."))
    return Case("text", asked, (il.TextBlock(GREETING),), options=_options(dialect))


def _tools(dialect: str) -> Case:
    first = _call(dialect, 1, "Oslo")
    name = first.name if dialect in _NAMES_RESULTS else None
    asked = (
        SYSTEM,
        il.Message.user("What is the weather in Oslo, Bergen and Tromsø?"),
        il.Message.assistant((il.TextBlock("Oslo first."), first)),
        il.Message.tool_result(first.id, "12 degrees", tool_name=name),
    )
    calls = (_call(dialect, 2, "Bergen"), _call(dialect, 3, "Tromsø"))
    content = (il.TextBlock("Now the others."), *calls)
    return Case("tools", asked, content, (TOOL,), _options(dialect), il.StopReason.TOOL_USE)


def _think(dialect: str) -> Case | None:
    if dialect not in _SIGNED | _UNSIGNED:
        return None
    asked = (
        il.Message.user("Hello"),
        il.Message.assistant((_thinking(dialect), il.TextBlock("Hello to you."))),
        il.Message.user("And again?"),
    )
    options = il.Options(max_output_tokens=4096)
    return Case("thinking", asked, (_thinking(dialect), il.TextBlock("Again.")), (), options)


def _image(dialect: str) -> Case:
    picture = il.ImageBlock(il.Source("base64", PIXEL), media_type="image/png")
    asked = (il.Message.user((il.TextBlock("What is this?"), picture)),)
    return Case("image", asked, (il.TextBlock("A pixel."),), options=_options(dialect))


def _error(dialect: str) -> Case:
    error = il.ProviderError(il.ErrorKind.RATE_LIMIT, "Too many requests", status=429)
    asked = (il.Message.user("Hello"),)
    return Case(
        "error", asked, options=_options(dialect), error=error, partial=(il.TextBlock("Hel"),)
    )


# -- as exchanges ---------------------------------------------------------------------------------


@cache
def exchanges(dialect: str) -> tuple[Exchange, ...]:
    """Every case of a dialect, whole and streamed, as our writers say it."""
    return tuple(
        exchange(dialect, case, is_stream) for case in cases(dialect) for is_stream in (False, True)
    )


def exchange(dialect: str, case: Case, is_stream: bool) -> Exchange:
    asked = request(dialect, case, is_stream)
    body = home.request(dialect, written_request(dialect, asked), asked.model, is_stream)
    path = path_of(dialect, asked.model, is_stream)
    if dialect == "gemini" and is_stream:
        path += "?alt=sse"
    id = f"{dialect}.{case.name}{'.stream' if is_stream else ''}"
    if is_stream:
        content = home.frames(dialect, frames(dialect, case))
        return Exchange(id, dialect, path, body, frames=tuple(content))
    status = case.error.status if case.error is not None and case.error.status else 200
    answer = il.dialect(dialect).write_response(response(dialect, case)).json()
    return Exchange(id, dialect, path, body, status, home.response(dialect, answer))


def written_request(dialect: str, asked: il.Request) -> bytes:
    written = il.dialect(dialect).write_request(asked)
    written.report.require_lossless()
    return written.json()


def request(dialect: str, case: Case, is_stream: bool) -> il.Request:
    # In some dialects the URL says it, and there the body has no place for it.
    stream = None if dialect in ("gemini", "bedrock") else is_stream
    options = case.options.replace(stream=stream)
    return il.Request(case.messages, MODELS[dialect], case.tools, options)


def response(dialect: str, case: Case) -> il.Response:
    status = il.MessageStatus.ERROR if case.error else il.MessageStatus.COMPLETE
    metadata = il.MessageMetadata(
        response_id=None if case.error else IDS.get(dialect),
        response_model=None if case.error or dialect in _NAMELESS else MODELS[dialect],
        stop_reason=il.StopReason.ERROR if case.error else case.stop_reason,
        usage=None if case.error else il.Usage(21, 13),
        status=status,
    )
    return il.Response(il.Message.assistant(case.content, metadata), error=case.error)


def frames(dialect: str, case: Case) -> Iterator[il.Frame]:
    """The answer as a stream; an error comes after something was said."""
    writer = il.dialect(dialect).stream_writer()
    for event in itertools.chain.from_iterable(map(_in_pieces, _events(dialect, case))):
        yield from writer.feed(event)
    yield from writer.close()


def _events(dialect: str, case: Case) -> list[Event]:
    if case.error is None:
        return il.unfold(response(dialect, case))
    begun = Case(case.name, case.messages, case.partial)
    items = [event for event in il.unfold(response(dialect, begun)) if _is_begin(event)]
    return [*items, StreamError(case.error)]


def _is_begin(event: Event) -> bool:
    return event.__struct_config__.tag in ("message_start", "block_start", "text_delta")


def _in_pieces(event: Event, size: int = 7) -> list[Event]:
    """Text comes in several pieces."""
    text = getattr(event, "text", "")
    if len(text) <= size:
        return [event]
    return [event.replace(text=text[at : at + size]) for at in range(0, len(text), size)]
