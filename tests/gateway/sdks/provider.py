"""A provider on loopback that speaks every dialect: it reads what it is asked with our readers,
plays one small part, and can be told to break like the replay server that it is."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from typing import Any

import interlingua as il
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import Targets
from interlingua.dialects.front import Filler
from interlingua.dialects.kernel.wire import encode
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.model.events import Event
from tests.cassettes.cases import IDS, MODELS
from tests.replay.exchanges import Exchange
from tests.replay.routes import Route as Asked
from tests.replay.server import ReplayServer

BACKS = {
    "openai-chat": "openai:gpt-5-mini",
    "openai-responses": "openai:gpt-5-mini",
    "anthropic": "anthropic:claude-sonnet-4-6",
    "gemini": "gemini:gemini-3-pro-preview",
    "ollama": "ollama:qwen3-vl:8b",
    "bedrock": "bedrock:global.anthropic.claude-sonnet-4-6",
    "openrouter": "openrouter:anthropic/claude-sonnet-4.5",
    "cohere": "cohere:command-a-plus-05-2026",
}
"""A model for each dialect that can be behind the gateway."""
ROUTES = {f"back-{name}": RouteSettings(model, dialect=name) for name, model in BACKS.items()}
SIGNING = frozenset({"anthropic", "bedrock", "gemini", "openai-responses"})
"""Dialects whose models want to see again what they signed."""
CITIES = ("Paris", "Tromsø")
ANSWER = 'Grüße, 世界 🙂\n"quoted" \\ and done.'
THOUGHT = "Let me see … 思"
_CALL_IDS = {"anthropic": "toolu_{}", "bedrock": "tooluse_{}"}


def settings(**changes: Any) -> Settings:
    usual: dict[str, Any] = {"routes": ROUTES, "retry": RetryPolicy(0), "raises": False}
    return Settings(**{**usual, **changes})


def targets(url: str) -> Targets:
    """Every provider at one place."""
    paths = {
        "openai": "/v1",
        "anthropic": "",
        "gemini": "/v1beta",
        "ollama": "",
        "bedrock": "",
        "openrouter": "/api/v1",
        "cohere": "",
    }
    environ = {**os.environ, "AWS_REGION": "us-east-1"}
    places = {name: url + path for name, path in paths.items()}
    return Targets(keys=dict.fromkeys(paths, "k-up"), base_urls=places, environ=environ)


class Upstream(ReplayServer):
    """What it says follows from what it is asked: results of calls are told, a question for the
    weather makes two calls, a picture is measured, anything else has the same answer."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.asked: list[il.Request] = []
        self.issued: set[str] = set()
        """Signatures that were given away."""
        self.size = 7
        """Characters in one piece of a stream."""
        self.answers: list[Exchange] = []
        """What it says first, whatever it is asked."""
        self._count = itertools.count(1)

    def _choose(self, id: str | None, route: Asked | None, body: bytes) -> Exchange | None:
        if self.answers:
            return self.answers.pop(0)
        if id is not None or route is None:
            return super()._choose(id, route, body)
        is_stream = bool(route.is_stream)
        model = route.model or MODELS[route.dialect]
        request = il.dialect(route.dialect).read_request(body, model, is_stream)
        self.asked.append(request)
        response = self._answered(route.dialect, request)
        codec, name = il.dialect(route.dialect), f"{route.dialect}-{len(self.asked)}"
        front = codec.front
        filler = Filler(body) if front is None else front.filler(body)
        if response.error is None and is_stream:
            writer = codec.stream_writer()
            frames = [f for event in self._events(response) for f in writer.feed(event)]
            frames += writer.close()
            frames = [_filled(filler, frame) for frame in frames]
            return Exchange(name, route.dialect, "", frames=tuple(frames))
        status = 200 if response.error is None else response.error.status or 400
        wire = codec.write_response(response).wire
        content = encode(filler.whole(wire) if response.error is None else wire)
        return Exchange(name, route.dialect, "", status=status, body=content)

    def _answered(self, dialect: str, request: il.Request) -> il.Response:
        number = next(self._count)
        missing = "there is nothing to answer" if not request.messages else None
        missing = missing if missing or dialect not in SIGNING else self._missing(dialect, request)
        if missing is not None:
            error = il.ProviderError(il.ErrorKind.INVALID_REQUEST, missing, status=400)
            failed = il.MessageMetadata(status=il.MessageStatus.ERROR)
            return il.Response(il.Message.assistant((), failed), error=error)
        content = tuple(self._content(dialect, request, number))
        calls = any(isinstance(block, il.ToolUseBlock) for block in content)
        metadata = il.MessageMetadata(
            response_id=f"{IDS[dialect]}{number}" if dialect in IDS else None,
            response_model=None
            if dialect in ("bedrock", "cohere")
            else request.model or MODELS[dialect],
            stop_reason=il.StopReason.TOOL_USE if calls else il.StopReason.END_TURN,
            usage=il.Usage(21, 13),
            status=il.MessageStatus.COMPLETE,
        )
        return il.Response(il.Message.assistant(content, metadata))

    def _content(self, dialect: str, request: il.Request, number: int) -> Iterator[il.Block]:
        last = request.messages[-1]
        results = _results(request)
        words = last.text
        if results:
            yield il.TextBlock("I heard: " + "; ".join(results))
        elif request.tools and "weather" in words:
            yield from self._calls(dialect, number)
        elif pictures := [each for each in last.content if isinstance(each, il.ImageBlock)]:
            size = len(pictures[0].source.data or "")
            yield il.TextBlock(f"I see {pictures[0].media_type} of {size}")
        elif "think" in words or request.options.reasoning is not None:
            yield from self._thinking(dialect, number)
            yield il.TextBlock(ANSWER)
        else:
            yield il.TextBlock(ANSWER)

    def _thinking(self, dialect: str, number: int) -> Iterator[il.Block]:
        if dialect == "openai-chat":
            return
        signature = None if dialect in ("ollama", "gemini", "cohere") else self._signature(number)
        id = f"rs_{number}" if dialect == "openai-responses" else None
        yield il.ThinkingBlock(THOUGHT, signature, id)

    def _calls(self, dialect: str, number: int) -> Iterator[il.Block]:
        yield from self._thinking(dialect, number)
        yield il.TextBlock("I look it up.")
        for place, city in enumerate(CITIES):
            id = _CALL_IDS.get(dialect, "call_{}").format(f"{number}x{place}")
            signed = dialect == "gemini" and place == 0
            signature = self._signature(number) if signed else None
            yield il.ToolUseBlock(id, "get_weather", {"city": city}, signature=signature)

    def _signature(self, number: int) -> str:
        signature = f"c2lnbmVk{number:08d}"
        self.issued.add(signature)
        return signature

    def _missing(self, dialect: str, request: il.Request) -> str | None:
        """What is not there of the turns that we signed, as their makers would complain."""
        for message in request.messages:
            if message.role is not il.Role.ASSISTANT or not message.tool_calls:
                continue
            blocks = [message.tool_calls[0]] if dialect == "gemini" else list(message.content[:1])
            signature = getattr(blocks[0], "signature", None)
            if signature is None:
                return f"a turn of {dialect} with calls came back without its signature"
            if signature not in self.issued:
                return f"a signature that is not ours: {signature}"
        return None

    def _events(self, response: il.Response) -> Iterator[Event]:
        """Text comes in pieces."""
        for event in il.unfold(response):
            text = getattr(event, "text", "")
            if len(text) <= self.size:
                yield event
                continue
            for at in range(0, len(text), self.size):
                yield event.replace(text=text[at : at + self.size])


def _filled(filler: Filler, frame: il.Frame) -> il.Frame:
    """A frame as the provider itself would have it, which repeats more than our writers do."""
    return il.Frame(frame.event, filler.frames(b"data: " + frame.data.encode())[6:].decode())


def _results(request: il.Request) -> list[str]:
    """The results at the end of the conversation."""
    found: list[str] = []
    for message in reversed(request.messages):
        if message.role is not il.Role.TOOL:
            break
        for block in message.content:
            if isinstance(block, il.ToolResultBlock):
                found.insert(0, "".join(getattr(part, "text", "") for part in block.content))
    return found
