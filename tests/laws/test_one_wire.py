"""L14, one wire: what a session says it will send, what a client sends and what the gateway sends
for one request are the same body, and so are their reports. Over every provider and dialect of the
table, from every front; a real gateway in process, and a transport that only listens."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

import interlingua as il
from interlingua.agents.chat.setup import OwnRegistry
from interlingua.client.client import AsyncClient
from interlingua.client.retry import RetryPolicy
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpRequest, Limits, Reply, TransportError
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import RouteSettings, Settings
from interlingua.gateway.shared.fronts import fronts
from interlingua.gateway.shared.state import Exchange
from interlingua.model.losses import Loss
from interlingua.model.metadata import MessageMetadata
from interlingua.profiles.capabilities import expected_capabilities
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.read import compatible, providers
from interlingua.routing.router import Router
from interlingua.sessions.session import Session
from interlingua.store.base import Store
from tests.store.places import memory_folder

ACME = compatible("acme", "http://127.0.0.1:1/v1")
PROVIDERS = {**providers(), "acme": ACME}
MODELS = {
    "acme": "some-model",
    "anthropic": "claude-sonnet-4-5",
    "openai": "gpt-4o",
    "azure": "gpt-4o",
    "gemini": "gemini-2.5-flash",
    "vertex": "gemini-2.5-flash",
    "ollama": "llama3.2",
    "openrouter": "anthropic/claude-sonnet-4",
    "mistral": "mistral-small-latest",
    "groq": "openai/gpt-oss-20b",
    "deepseek": "deepseek-chat",
    "xai": "grok-4",
    "together": "deepseek-ai/DeepSeek-V3",
    "fireworks": "accounts/fireworks/models/deepseek-v3",
    "cerebras": "gpt-oss-120b",
    "perplexity": "sonar-pro",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "local": "smollm2-135m-instruct",
}
CLAUDE_AT = {("vertex", "anthropic"): "claude-sonnet-4-5"}
PLACES = [(key, dialect) for key, known in PROVIDERS.items() for dialect in known.dialects]
ENVIRON = {
    **{name: "k" * 24 for known in PROVIDERS.values() for way in known.auth for name in way.env},
    "AWS_REGION": "eu-west-1",
    "GOOGLE_CLOUD_PROJECT": "proj",
    "AZURE_OPENAI_ENDPOINT": "https://acme.openai.azure.com/",
    "INTERLINGUA_LOCAL_URL": "http://127.0.0.1:9",
}
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
LOOK = il.ToolDefinition(
    "look_up",
    "Looks something up.",
    {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    side_effects=il.SideEffects.READ,
)
U, A, S, D = il.Message.user, il.Message.assistant, il.Message.system, il.Message.developer


def called(id: str) -> tuple[il.Message, ...]:
    use = il.ToolUseBlock(id, "look_up", {"word": "home"})
    return U("look"), A([il.TextBlock("I look."), use]), il.Message.tool_result(id, "found")


ASKED: dict[str, il.Request] = {
    "plain": il.Request((S("Be brief."), U("hi"))),
    "roles": il.Request((S("Be brief."), D("In French."), U("hi"), A("Salut."), U("and?"))),
    "later": il.Request((U("hi"), A("Hello."), D("In French."), U("and?"))),
    "words": il.Request(
        (U("hi"),),
        options=il.Options(max_output_tokens=300, seed=7, user="u-1", stop=("END",)),
    ),
    "tools": il.Request((*called("call_1"), U("and?")), tools=(LOOK,)),
    "cached": il.Request((S("Answer with care. " * 900), U("hi"), A("Hello."), U("and?"))),
    "odd ids": il.Request((*called("call-" + "x" * 60), U("and?")), tools=(LOOK,)),
    "image": il.Request(
        (U([il.TextBlock("what?"), il.ImageBlock(il.Source("base64", PIXEL), "image/png")]),)
    ),
    "shape": il.Request(
        (U("a city"),),
        options=il.Options(
            response_format=il.ResponseFormat(
                "json_schema", "city", {"type": "object", "properties": {"n": {"type": "string"}}}
            )
        ),
    ),
}


class Said(NamedTuple):
    """A body, and what it could not say."""

    body: Any
    losses: list[str]


class Listening:
    """A transport that hears what is sent, and answers nothing."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    async def send(self, request: HttpRequest, limits: Limits) -> Reply:
        self.heard.append(request.body)
        raise TransportError("connect", "nobody is there", sent=False)

    async def close(self) -> None:
        return None


class Telling:
    """A trace that records the losses of a request when it goes up."""

    spans = ()  # not None: the headers of a trace are asked for

    def __init__(self) -> None:
        self.losses: list[Loss] = []

    def headers(self, exchange: Exchange, incoming: Any) -> dict[str, str]:
        assert exchange.decision.report is not None
        self.losses = list(exchange.decision.report.entries)
        return {}

    def finished(self, exchange: Exchange) -> None:
        return None


def shown(losses: Any) -> list[str]:
    """Losses without the ids that only a session's messages have."""
    return sorted(str(loss) for loss in losses)


class Place(NamedTuple):
    """A model at a provider, and the dialect it is asked in, where that is not the usual one."""

    key: str
    model: str
    dialect: str | None
    usual: str


def place(key: str, dialect: str) -> Place:
    model = f"{key}:{CLAUDE_AT.get((key, dialect), MODELS.get(key, 'some-model'))}"
    usual = TARGETS.find(model).dialect.name
    return Place(key, model, None if usual == dialect else dialect, usual)


TARGETS = Targets(PROVIDERS, environ=ENVIRON, profiles=())
RULES = ModelLookup(PROVIDERS, ())
ANYTHING = expected_capabilities("openai:gpt-5").replace(max_context_tokens=None)
"""Which model a session takes is another question."""
CHATS = AsyncClient(PROVIDERS, environ=ENVIRON, profiles=(), max_retries=0, transport=Listening())


async def by_client(at: Place, request: il.Request, stream: bool) -> Said:
    heard = Listening()
    client = CHATS
    client.asker.transport = heard
    call = client.call(at.model, request, dialect=at.dialect, stream=stream)
    target = client.asker.target(at.model, call)
    prepared = client.asker.targets.prepare(request, target, stream)
    asking = client.stream if stream else client.generate
    made: Any = asking(at.model, request, dialect=at.dialect)
    with pytest.raises(il.InterlinguaError):
        await (made.__aenter__() if stream else made)
    assert heard.heard[0] == prepared.http.body
    return Said(json.loads(heard.heard[0]), shown(prepared.report.entries))


def by_session(store: Store, at: Place, request: il.Request, stream: bool) -> Said:
    dialects = {} if at.dialect is None else {at.model: at.dialect}
    session = Session.create(
        store,
        model=at.model,
        dialects=dialects,
        tools=[LOOK] if request.tools else None,
        profiles=RULES,
        router=Router(OwnRegistry((), PROVIDERS), lambda model: ANYTHING),
    )
    made = MessageMetadata(provider=at.key)
    earlier = [
        message.replace(metadata=message.metadata.replace(provider=made.provider))
        if message.role is il.Role.ASSISTANT
        else message
        for message in request.messages[:-1]
    ]
    session.append(*earlier)
    call = session.begin(request.messages[-1], options=request.options).call(stream=stream)
    losses = [msgspec.structs.replace(loss, message_id=None) for loss in call.report.entries]
    return Said(json.loads(json.dumps(call.wire)), shown(losses))


async def by_gateway(at: Place, path: str, wire: Any, stream: bool) -> Said:
    heard, collected = Listening(), Telling()
    routes = {"asked": RouteSettings(at.model, dialect=at.dialect or at.usual)}
    settings = Settings(routes=routes, retry=RetryPolicy(0), raises=True)
    gateway = Gateway(settings, targets=TARGETS, transport=heard, trace=collected)
    body = json.dumps(wire).encode()
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    sent: list[Any] = []
    gone = asyncio.Event()
    first = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        message = next(first, None)
        if message is None:
            await gone.wait()
        return message

    async def send(message: Any) -> None:
        sent.append(message)

    await App(gateway)(scope, receive, send)
    assert heard.heard, sent
    return Said(json.loads(heard.heard[0]), shown(collected.losses))


def path_at(front: Any, stream: bool) -> str:
    if front.paths:
        return next(path for path, action in front.paths.items() if action == "generate")
    if front.dialect == "bedrock":
        return f"/model/asked/{'converse-stream' if stream else 'converse'}"
    return f"/v1beta/models/asked:{'streamGenerateContent' if stream else 'generateContent'}"


def cases(first: int) -> Iterator[tuple[Any, str, bool]]:
    """Every request from every front, every other one as a stream."""
    for number, (front, name) in enumerate(itertools.product(fronts(), ASKED), first):
        yield front, name, number % 2 == 0


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with memory_folder() as folder, il.open_store(f"sqlite:///{folder}/one-wire.db") as opened:
        yield opened


@pytest.mark.parametrize(("key", "dialect"), PLACES)
def test_session_client_and_gateway_send_one_body(store: Store, key: str, dialect: str) -> None:
    at = place(key, dialect)

    async def all_cases() -> list[str]:
        return [
            problem
            for front, name, stream in cases(PLACES.index((key, dialect)))
            for problem in await differences(store, at, front, name, stream)
        ]

    problems = asyncio.run(all_cases())
    assert not problems, "\n".join([f"{len(problems)} of them", *problems[:4]])


async def differences(store: Store, at: Place, front: Any, name: str, stream: bool) -> list[str]:
    speaks = il.dialect(front.dialect)
    request = ASKED[name]
    request = request.replace(model="asked", options=request.options.replace(stream=stream))
    wire = speaks.write_request(il.retell(request, front.dialect).value).wire
    read = speaks.read_request(json.loads(json.dumps(wire)), "asked", stream)
    client = await by_client(at, read, stream)
    gateway = await by_gateway(at, path_at(front, stream), wire, stream)
    session = by_session(store, at, read, stream)
    where = f"{front.dialect}, {name}, {'stream' if stream else 'whole'}"
    return [
        f"{where}: {who} {what}\n  {one}\n  {other}"
        for who, content in (("gateway", gateway), ("session", session))
        for what, one, other in zip(("body", "report"), client, content, strict=True)
        if one != other
    ]


@pytest.mark.parametrize(
    ("key", "word"), [("anthropic", "cache_control"), ("openai", "prompt_cache_key")]
)
def test_the_one_body_has_what_the_cache_needs(store: Store, key: str, word: str) -> None:
    at, request = place(key, PROVIDERS[key].dialect), ASKED["cached"]
    client = asyncio.run(by_client(at, request, False))
    session = by_session(store, at, request, False)
    assert word in json.dumps(client.body)
    assert client == session
