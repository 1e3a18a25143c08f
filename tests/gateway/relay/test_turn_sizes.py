"""What is looked at once of a conversation, and not again with each of its turns: its size, its
duplicate keys, and whether it can be converted. The findings are those of the whole request."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua.adapt.remembered import Conversation, Conversations
from interlingua.client.targets import Targets
from interlingua.dialects.registry import dialect
from interlingua.gateway.relay.inbound import _with_unique_keys, require_convertible
from interlingua.gateway.shared.refusals import Refusal
from interlingua.gateway.shared.sizes import SHORT, most_of

CHAT = dialect("openai-chat")
LONG = "Look at the oven, and at it again. " * (SHORT // 30)


def bodies(*more: dict[str, Any]) -> list[bytes]:
    """A conversation that grows by one message at a time."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    messages = [
        {"role": "user", "content": LONG},
        {"role": "assistant", "content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "hot"},
        *more,
    ]
    return [
        msgspec.json.encode({"model": "m", "messages": messages[: count + 1]})
        for count in range(len(messages))
    ]


def read(memory: Conversations, body: bytes) -> Conversation:
    found = memory.read(body, CHAT)
    assert found is not None
    return found


def test_the_size_of_a_turn_is_that_of_the_whole_request() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}
    asked = {"role": "user", "content": [{"type": "text", "text": "And this?"}, picture]}
    memory = Conversations(2**24)
    targets = (Targets(environ={}, profiles=()).find("openai:gpt-4.1"),)
    for body in bodies({"role": "assistant", "content": "Ready."}, asked):
        request = read(memory, body).request
        found = read(memory, body)
        whole = most_of(request, targets, CHAT.name, body)
        assert most_of(found.request, targets, CHAT.name, body, conversation=found) == whole
    assert memory.figures.hits > 5


@pytest.mark.parametrize("place", ["first", "later", "beside"])
def test_duplicate_keys_are_found_wherever_they_come(place: str) -> None:
    old, new = {
        "first": (b'"role":"user"', b'"role":"system","role":"user"'),
        "later": (b'"hot"', b'"cold","content":"hot"'),
        "beside": (b'"model":"m"', b'"model":"n","model":"m"'),
    }[place]
    memory = Conversations(2**24)
    for number, body in enumerate(bodies({"role": "user", "content": "Thanks."})):
        twice = body.replace(old, new, 1)
        expected = body if place != "later" or number >= 2 else twice
        found = memory.read(twice, CHAT)
        for _ in range(2):  # also when it was looked at before
            unique = _with_unique_keys(twice, found)
            assert msgspec.json.decode(unique) == msgspec.json.decode(expected)
            assert (unique is twice) == (twice == expected)


def test_what_was_searched_once_is_not_searched_again() -> None:
    memory = Conversations(2**24)
    first, *others = bodies({"role": "user", "content": "Thanks."})
    found = read(memory, first)
    assert found.unchecked(first) == first
    _with_unique_keys(first, found)
    for body in others:
        found = read(memory, body)
        assert len(found.unchecked(body)) < 300
        _with_unique_keys(body, found)


def test_a_call_that_is_not_json_is_refused_each_time_it_comes() -> None:
    bad = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "no JSON"}}
    turn = {"role": "assistant", "content": None, "tool_calls": [bad]}
    memory = Conversations(2**24)
    *fine, last = bodies(turn)
    for body in fine:
        found = read(memory, body)
        require_convertible(found.request, found)
    for _ in range(2):
        found = read(memory, last)
        with pytest.raises(Refusal, match="c2"):
            require_convertible(found.request, found)
