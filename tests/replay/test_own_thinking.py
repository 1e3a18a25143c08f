"""A model's own thinking goes back to it, turn after turn, in the form that its host takes: from a
session, from the client, and through the gateway. The replay server stands in for the hosts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import interlingua as il
from interlingua.client import AsyncClient, Client
from interlingua.client.targets import Targets
from interlingua.client.transport import HttpTransport
from interlingua.gateway.gateway import Gateway
from interlingua.gateway.memory.memory import Memory
from interlingua.gateway.relay.app import App
from interlingua.gateway.settings import Settings
from interlingua.model.tools import SideEffects
from interlingua.providers.provider import Auth, Paths, Provider
from interlingua.providers.read import providers
from interlingua.routing.registry import Registry
from interlingua.routing.router import Router
from interlingua.sessions.setting import lookup
from interlingua.store.open import open_async_store
from tests.gateway.loops import Client as FrontClient
from tests.gateway.loops import ask
from tests.replay.exchanges import Exchange
from tests.replay.server import ReplayServer

Wire = Any
THOUGHTS = ("Paris first.", "Then Rome.", "Oslo is left.", "That is all.")
CITIES = ("Paris", "Rome", "Oslo")
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = il.ToolDefinition("weather", "The weather in a city.", SCHEMA, SideEffects.READ)


class Host(NamedTuple):
    """A host's way to think aloud: how its answers say it, and where its requests do."""

    model: str
    said: Callable[[str, str | None], Wire]
    """Thinking and text, as keys of a message."""
    with_calls_only: bool = False

    @property
    def provider(self) -> str:
        return self.model.partition(":")[0]

    def sent(self, turns: list[Wire]) -> list[str]:
        """The thinking of each of the model's turns in a request, in this host's form."""
        return [self._thought(turn) for turn in turns if turn["role"] == "assistant"]

    def _thought(self, turn: Wire) -> str:
        for thought in THOUGHTS:
            keys = self.said(thought, turn.get("content"))
            if self.provider == "mistral":
                chunks = turn["content"] if isinstance(turn["content"], list) else []
                keys = {"content": [each for each in chunks if each["type"] == "thinking"]}
                wanted = {"content": self.said(thought, None)["content"]}
                if keys == wanted:
                    return thought
            elif all(turn.get(key) == item for key, item in keys.items() if key != "content"):
                return thought
        return ""


def _under(key: str) -> Callable[[str, str | None], Wire]:
    return lambda thought, text: {"content": text, key: thought}


def _in_chunks(thought: str, text: str | None) -> Wire:
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    return {"content": [chunk, *([{"type": "text", "text": text}] if text else [])]}


HOSTS = {
    "deepseek": Host("deepseek:deepseek-reasoner", _under("reasoning_content"), True),
    "mistral": Host("mistral:magistral-medium-2509", _in_chunks),
    "groq": Host("groq:qwen/qwen3-32b", _under("reasoning")),
    "xai": Host("xai:grok-3-mini", _under("reasoning_content")),
    "vllm": Host("my-vllm:zai-org/GLM-4.6", _under("reasoning")),
}
"""The last one is a server of the user's own, of which no table knows anything."""


PAIRS = [
    (name, front)
    for name in HOSTS
    for front in ("anthropic", "openai-responses", "gemini", "ollama")
    if name == "vllm" or front not in providers()[name].dialects
]
"""Who is asked in another dialect than the client's; what both sides speak goes as it is."""


def _answer(host: Host, number: int) -> Wire:
    """The answer of a turn: three calls, one after the other, then a text."""
    message: Wire = {"role": "assistant"}
    if number < len(CITIES):
        arguments = json.dumps({"city": CITIES[number]})
        # vLLM's and DeepSeek's ids are longer than OpenAI's may be; Mistral's have nine letters.
        id = f"call0000{number}" if host.provider == "mistral" else f"chatcmpl-tool-{number:032}"
        call = {"name": "weather", "arguments": arguments}
        message |= host.said(THOUGHTS[number], None)
        message["tool_calls"] = [{"id": id, "type": "function", "function": call}]
    else:
        message |= host.said(THOUGHTS[3], "Sunny everywhere.")
    finish = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 1,
        "model": host.model.partition(":")[2],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }


class Played:
    """A host that gives one answer after the other, and what it was asked."""

    def __init__(self, host: Host, server: ReplayServer) -> None:
        self.host, self.server = host, server
        self.turn = 0

    def place(self) -> str:
        """Where the next answer is."""
        at = min(self.turn, len(CITIES))
        self.turn += 1
        return f"{self.server.url}/@{at}/v1"

    @property
    def options(self) -> dict[str, Any]:
        own = Provider(
            key="my-vllm",
            auth=(Auth(style="none"),),
            dialect="openai-chat",
            dialects={"openai-chat": Paths(request="/chat/completions")},
        )
        key = self.host.provider
        return {
            "providers": {**providers(), own.key: own},
            "keys": {key: "test-key-0123456789"} if key != own.key else {},
            "base_urls": {key: self.place},
            "environ": {},
        }

    def asked(self) -> list[list[Wire]]:
        return [json.loads(each.body)["messages"] for each in self.server.received]

    def check(self) -> None:
        """Every request repeats the thinking of all turns before it, and so does the one after the
        last answer; hosts that take it with calls only get it with calls."""
        asked = self.asked()
        assert len(asked) == 5
        for number, messages in enumerate(asked[:4]):
            assert self.host.sent(messages) == list(THOUGHTS[:number]), messages
        last = "" if self.host.with_calls_only else THOUGHTS[3]
        assert self.host.sent(asked[4]) == [*THOUGHTS[:3], last]
        ids = [call["id"] for m in asked[4] for call in m.get("tool_calls", ())]
        own = [_answer(self.host, n)["choices"][0]["message"]["tool_calls"][0] for n in range(3)]
        assert ids == [call["id"] for call in own]


@contextmanager
def played(name: str) -> Iterator[Played]:
    host = HOSTS[name]
    exchanges = [
        Exchange(
            str(number),
            "openai-chat",
            "/v1/chat/completions",
            body=json.dumps(_answer(host, number)).encode(),
        )
        for number in range(len(CITIES) + 1)
    ]
    with ReplayServer(exchanges) as server:
        yield Played(host, server)


def result_of(call: il.ToolUseBlock) -> il.Message:
    return il.Message.tool_result(call.id, f"sunny in {call.input['city']}", tool_name="weather")


@pytest.mark.requirement("P44")
@pytest.mark.parametrize("name", HOSTS)
def test_a_session_sends_every_host_its_own_thinking_back(name: str, tmp_path: Path) -> None:
    with played(name) as host, il.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        dialects = {host.host.model: "openai-chat"}
        session = il.Session.create(
            store,
            str(tmp_path),
            model=host.host.model,
            tools=[TOOL],
            dialects=dialects,
            router=Router(Registry.of([host.host.model]), lookup),
        )
        written: list[Wire] = []
        with Client(**host.options) as client:
            for words in ("How is the weather?", "Thank you."):
                turn = session.begin(words)
                while not turn.ended:
                    call = turn.call()
                    written.append(call.wire["messages"])
                    answer = client.generate(turn.model, call.request)
                    message = call.answer(answer.response)
                    turn.results(*map(result_of, message.tool_calls))
        host.check()
        assert written == host.asked(), "what the session says it sends is what is sent"


@pytest.mark.parametrize("name", HOSTS)
def test_the_client_sends_every_host_its_own_thinking_back(name: str) -> None:
    async def main() -> None:
        history: list[il.Message] = [il.Message.user("How is the weather?")]
        async with AsyncClient(**host.options) as client:
            for _ in range(5):
                answer = await client.generate(host.host.model, history, [TOOL])
                results = [result_of(call) for call in answer.message.tool_calls]
                history += [answer.message, *(results or [il.Message.user("Thank you.")])]

    with played(name) as host:
        asyncio.run(main())
        host.check()


@pytest.mark.parametrize(("name", "front"), PAIRS)
def test_the_gateway_sends_every_host_its_own_thinking_back(
    name: str, front: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with await open_async_store(f"sqlite:///{tmp_path}/g.db") as store:
            transport = HttpTransport()
            gateway = Gateway(
                Settings(raises=True),
                targets=Targets(**host.options),
                transport=transport,
                memory=Memory(store),
            )
            client = FrontClient(front, host.host.model, "How is the weather?")
            for _ in range(5):
                if not client.hear(await ask(App(gateway), client, False)):
                    client.say("Thank you.")
            await transport.close()

    with played(name) as host:
        asyncio.run(main())
        asked = host.asked()
        for number, messages in enumerate(asked[:4]):
            assert host.host.sent(messages) == list(THOUGHTS[:number]), messages
