"""Google's Interactions API as the official client asks for it: with another provider's model
behind the gateway, whole and streamed; interactions that are gone on from, fetched and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import types

from interlingua.client.targets import Targets
from interlingua.gateway.memory.responses import ids_named, keeps
from tests.gateway.serving import ANTHROPIC, Upstream, key, served

READ = {
    "type": "function",
    "name": "read_file",
    "description": "Reads.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}


@contextmanager
def client(base: str, token: str) -> Iterator[genai.Client]:
    made = genai.Client(
        api_key=token, vertexai=False, http_options=types.HttpOptions(base_url=base, timeout=20_000)
    )
    try:
        yield made
    finally:
        made.close()


def ask(
    home: Path,
    work: Callable[[Any, Upstream], None],
    other: Callable[[Any], None] | None = None,
    **terms: Any,
) -> None:
    """Have the client at work, with a key of these terms; and a second one with another key."""

    async def inside(provider: Upstream) -> None:
        provider.configure(home)
        made, theirs = key(home, **terms).token, key(home, **terms).token
        async with served(home) as gateway:

            def both() -> None:
                with client(gateway.base, made) as own:
                    work(own.interactions, provider)
                if other is not None:
                    with client(gateway.base, theirs) as their:
                        other(their.interactions)

            await asyncio.to_thread(both)

    with Upstream() as provider:
        asyncio.run(inside(provider))


def test_the_client_hears_a_whole_answer(tmp_path: Path) -> None:
    def work(interactions: Any, provider: Upstream) -> None:
        result = interactions.create(
            model=ANTHROPIC, input="Hello", system_instruction="Be brief.", store=False
        )
        assert result.status == "completed"
        assert result.output_text == "Answer 1 to: Hello"
        assert (result.model, result.object) == (ANTHROPIC, "interaction")
        assert result.created
        assert result.id
        assert result.usage.total_input_tokens + result.usage.total_output_tokens
        assert provider.requests[0]["system"] == "Be brief."

    ask(tmp_path, work)


def test_the_client_hears_a_stream(tmp_path: Path) -> None:
    def work(interactions: Any, provider: Upstream) -> None:
        events = list(interactions.create(model=ANTHROPIC, input="think hard", stream=True))
        kinds = [event.event_type for event in events]
        assert kinds[0] == "interaction.created"
        assert kinds[-1] == "interaction.completed"
        starts = [event.step.type for event in events if event.event_type == "step.start"]
        assert starts == ["thought", "model_output"]
        deltas = [event.delta for event in events if event.event_type == "step.delta"]
        text = "".join(delta.text for delta in deltas if delta.type == "text")
        assert text == "Thought."
        assert events[-1].interaction.id == events[0].interaction.id
        assert events[-1].interaction.usage.total_output_tokens is not None

    ask(tmp_path, work)


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_is_answered_without_state(tmp_path: Path, stream: bool) -> None:
    def work(interactions: Any, provider: Upstream) -> None:
        items: list[Any] = [
            {"type": "user_input", "content": [{"type": "text", "text": "read a.txt"}]}
        ]
        outcome = interactions.create(model=ANTHROPIC, input=items, tools=[READ], store=False)
        call = outcome.steps[-1]
        assert outcome.status == "requires_action"
        assert (call.type, call.name, call.arguments) == (
            *("function_call", "read_file"),
            {"path": "a.txt"},
        )
        items += [step.model_dump(exclude_none=True) for step in outcome.steps]
        items.append({"type": "function_result", "call_id": call.id, "result": "Nothing."})
        again = interactions.create(
            model=ANTHROPIC, input=items, tools=[READ], store=False, stream=stream
        )
        last = list(again)[-1].interaction if stream else again
        assert last.status == "completed"
        result = provider.requests[1]["messages"][-1]["content"][0]
        assert (result["type"], result["tool_use_id"]) == ("tool_result", call.id)

    ask(tmp_path, work)


def test_an_interaction_goes_on_from_another(tmp_path: Path) -> None:
    remaining: list[str] = []

    def work(interactions: Any, provider: Upstream) -> None:
        first = interactions.create(model=ANTHROPIC, input="one", system_instruction="Once.")
        second = interactions.create(model=ANTHROPIC, input="two", previous_interaction_id=first.id)
        assert second.previous_interaction_id == first.id
        list(
            interactions.create(
                model=ANTHROPIC, input="three", previous_interaction_id=second.id, stream=True
            )
        )
        asked = provider.requests[2]
        texts = [part["text"] for turn in asked["messages"] for part in turn["content"]]
        assert texts == [
            *("one", "Answer 1 to: one", "two", "Answer 2 to: two", "three"),
        ]
        assert "system" not in asked, "instructions hold for one interaction"
        found = interactions.get(first.id)
        assert (found.id, found.output_text) == (first.id, "Answer 1 to: one")
        remaining.append(first.id)
        interactions.delete(second.id)
        with pytest.raises(Exception, match=f"'{second.id}' not found"):
            interactions.get(second.id)
        with pytest.raises(Exception, match="nothing is cancelled"):
            interactions.cancel(first.id)

    def other(interactions: Any) -> None:
        with pytest.raises(Exception, match="not found"):
            interactions.get(remaining[0])
        with pytest.raises(Exception, match=r"Previous interaction with id .* not found"):
            interactions.create(model=ANTHROPIC, input="x", previous_interaction_id=remaining[0])

    ask(tmp_path, work, other, keep_content=True)


def test_without_leave_to_keep_anything_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    def work(interactions: Any, provider: Upstream) -> None:
        first = interactions.create(model=ANTHROPIC, input="one")
        with pytest.raises(Exception, match=r"Previous interaction with id .* not found"):
            interactions.create(model=ANTHROPIC, input="two", previous_interaction_id=first.id)
        assert len(provider.requests) == 1

    ask(tmp_path, work)


def test_an_error_comes_in_the_clients_own_words(tmp_path: Path) -> None:
    def work(interactions: Any, provider: Upstream) -> None:
        with pytest.raises(Exception, match=r"Error code: (4|5)\d\d - \{'error': \{'code'"):
            interactions.create(model=ANTHROPIC, input="fail please")
        with pytest.raises(Exception, match="model"):
            interactions.create(model="nobody:nothing", input="x")

    ask(tmp_path, work)


def test_google_keeps_its_own_interactions() -> None:
    targets, name = Targets(), "gemini:gemini-2.5-flash"
    assert keeps(targets.find(name, "gemini-interactions"), "gemini-interactions")
    assert not keeps(targets.find(name), "gemini-interactions")
    body = b'{"previous_interaction_id": "v1_a", "input": "x"}'
    assert ids_named(body, "gemini-interactions") == ["v1_a"]
