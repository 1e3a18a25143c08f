"""Middleware: in the order of registration on the way in, in reverse on the way out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

import interlingua as il
from interlingua.client import Answer, Call, CallError, Middleware, ServerError
from interlingua.model.events import Event, MessageComplete, Other, TextDelta
from tests.client import served
from tests.client.served import MODELS, TEXT, client_of, serving

SONNET = MODELS["anthropic"]


class Noted(Middleware):
    def __init__(self, name: str, notes: list[str]) -> None:
        self.name, self.notes = name, notes

    def request(self, call: Call) -> Call:
        self.notes.append(f"{self.name} in")
        return call

    async def answer(self, call: Call, answer: Answer) -> Answer:
        await asyncio.sleep(0)
        self.notes.append(f"{self.name} out")
        return answer

    def event(self, call: Call, event: Event) -> Event | None:
        if isinstance(event, MessageComplete):
            self.notes.append(f"{self.name} last event")
        return event

    def error(self, call: Call, error: CallError) -> CallError:
        self.notes.append(f"{self.name} error")
        return error


async def drained(client: Any, **how: Any) -> Any:
    stream = client.stream(SONNET, "Hello", **how)
    events = []
    async with stream:
        async for event in stream:
            events.append(event)
    return stream, events


def test_the_first_in_is_the_last_out() -> None:
    notes: list[str] = []

    async def main() -> None:
        layers = [Noted("a", notes), Noted("b", notes)]
        with serving(served.whole("anthropic"), served.streamed("anthropic")) as server:
            async with client_of(server, "whole-anthropic", middleware=layers) as client:
                await client.generate(SONNET, "Hello")
                assert notes == ["a in", "b in", "b out", "a out"]
                notes.clear()
            async with client_of(server, "stream-anthropic", middleware=layers) as client:
                await drained(client)
                order = ["b last event", "a last event", "b out", "a out"]
                assert notes == ["a in", "b in", *order]
                notes.clear()
                server.stage(always="overloaded status=503")
                with pytest.raises(ServerError):
                    await drained(client)
                assert notes == ["a in", "b in", "b error", "a error"], "once, however many tries"

    asyncio.run(main())


def test_a_request_and_an_answer_can_be_changed() -> None:
    class Polite(Middleware):
        async def request(self, call: Call) -> Call:
            system = il.Message.system("Be polite.")
            request = call.request.replace(messages=(system, *call.request.messages))
            return call.replace(request=request)

        def answer(self, call: Call, answer: Answer) -> Answer | Awaitable[Answer]:
            message = answer.message.replace(content=(il.TextBlock("Please."),))
            response = answer.response.replace(message=message)
            return Answer(response, answer.report, answer.model)

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            async with client_of(server, "whole-anthropic", middleware=[Polite()]) as client:
                answer = await client.generate(SONNET, "Hello")
            assert b"Be polite." in server.received[0].body
        assert answer.text == "Please."

    asyncio.run(main())


def test_events_can_be_changed_and_left_out() -> None:
    class Loud(Middleware):
        def event(self, call: Call, event: Event) -> Event | None:
            if isinstance(event, Other):
                return None
            if isinstance(event, TextDelta):
                return event.replace(text=event.text.upper())
            return event

    async def main() -> None:
        with serving(served.streamed("anthropic")) as server:
            async with client_of(server, "stream-anthropic", middleware=[Loud()]) as client:
                _, events = await drained(client)
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert text == TEXT.upper()

    asyncio.run(main())


def test_an_error_can_be_replaced_and_the_new_one_is_raised() -> None:
    class Named(Middleware):
        def error(self, call: Call, error: CallError) -> CallError:
            return CallError(f"{call.models[0]} failed", attempts=error.attempts)

    async def main() -> None:
        with serving(served.whole("anthropic")) as server:
            server.stage(always="failing status=400")
            async with client_of(server, "whole-anthropic", middleware=[Named()]) as client:
                with pytest.raises(CallError, match=f"{SONNET} failed"):
                    await client.generate(SONNET, "Hello")

    asyncio.run(main())
