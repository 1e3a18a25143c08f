"""L15, incremental = whole, over some recorded conversations and over generated ones."""

from __future__ import annotations

import copy
import itertools
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.adapt.history.rewriter import HistoryRewriter
from interlingua.model.message import Message
from tests.laws.corpus import corpus_or_skip
from tests.laws.incremental import MARKED, TARGETS, Check, bodies, check_record, conversations_in
from tests.laws.strategies import requests

SOURCES = ("anthropic", "gemini", "openai-chat", "openai-responses", "openrouter")
"""Dialects that are read message by message; for the others a conversion is always whole."""
AGENT: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 100,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is the weather?"},
        *[
            message
            for number in range(6)
            for message in (
                {
                    "role": "assistant",
                    "content": f"Look {number}.",
                    "tool_calls": [
                        {
                            "id": f"call_{number}",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at":1}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": f"call_{number}", "content": f"Rain {number}."},
            )
        ],
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
}


def test_recorded_conversations_give_what_whole_conversions_give() -> None:
    folder = corpus_or_skip()
    count = hits = 0
    for record, key in conversations_in(every=60, folder=folder):
        converted, remembered = check_record(record, key)
        count, hits = count + converted, hits + remembered
    assert hits * 4 > count, "hardly anything was remembered, so hardly anything was tested"


@settings(max_examples=25, deadline=None)
@given(request=requests(with_raw=True), seed=st.integers(0, 2**32), data=st.data())
def test_generated_conversations_give_what_whole_conversions_give(
    request: il.Request, seed: int, data: st.DataObject
) -> None:
    rng = random.Random(seed)
    source, target = rng.choice(SOURCES), rng.choice(TARGETS)
    wire = il.dialect(source).write_request(request).wire
    key = il.dialect(source).traits.messages
    if not isinstance(wire.get(key), list) or not wire[key]:
        return
    check = Check(source, target, 2 ** rng.randint(12, 24), target in MARKED and seed % 2 == 0)
    for body in bodies(wire, key, rng):
        check.require(msgspec.json.encode(body))


@pytest.mark.parametrize("target", TARGETS)
def test_items_of_one_answer_stay_together(target: str) -> None:
    """Where a body ended within the items of an answer, reading goes on before the answer."""
    items: list[Any] = [{"role": "user", "content": "Run it."}]
    for number in range(4):
        call = {"type": "function_call", "call_id": f"c{number}", "name": "run", "arguments": "{}"}
        items += [
            {"type": "message", "role": "assistant", "content": f"Run {number}."},
            {"type": "function_call", **call},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "done"},
        ]
    check = Check("openai-responses", target)
    for count in range(1, len(items) + 1):
        wire = {"model": "gpt-5", "instructions": "Be brief.", "input": items[:count]}
        check.require(msgspec.json.encode(wire))
    assert check.converter.figures.hits == len(items) - 1
    wire["input"] = [*items, {"type": "item_reference", "id": "msg_1"}]
    check.require(msgspec.json.encode(wire))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("blank", [b"", b" \n"])
def test_an_agent_costs_what_is_new(target: str, blank: bytes) -> None:
    check = Check("openai-chat", target, marks=bool(blank) and target in MARKED)
    for count in range(2, len(AGENT["messages"]) + 1):
        body = msgspec.json.encode({**AGENT, "messages": AGENT["messages"][:count]})
        check.require(body.replace(b"},{", b"}" + blank + b"," + blank + b"{"))
    assert check.converter.figures.misses == 1


def _thinking(turns: int) -> list[Any]:
    """A conversation whose model thinks before each call."""
    listed: list[Any] = [{"role": "user", "content": [{"type": "text", "text": "Look."}]}]
    for number in range(turns):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "look", "input": {}}
        thought = {"type": "thinking", "thinking": f"Hm {number}.", "signature": "c2ln"}
        rain = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "Rain."}
        listed += [
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [rain]},
        ]
    return listed


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("openai-chat", "openai:gpt-5"),
        ("openai-responses", "openai:gpt-5"),
        ("gemini", "gemini:gemini-3.1-pro"),
        ("ollama", None),
        ("cohere", None),
    ],
)
def test_a_turn_is_rewritten_and_written_once(
    target: str, model: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewritten: list[Message] = []
    whole = HistoryRewriter.assistant

    def counted(self: HistoryRewriter, message: Message) -> Message:
        rewritten.append(message)
        return whole(self, message)

    check = Check("anthropic", target, model=model)
    monkeypatch.setattr(HistoryRewriter, "assistant", counted)
    for turns in range(1, 8):
        rewritten.clear()
        wire = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": _thinking(turns)}
        body = msgspec.json.encode(wire)
        check.converter.convert(body)
        assert len(rewritten) == 1, "only the new turn"
        (held,) = check.converter._conversations._held.values()
        (written,) = held[1].written.values()
        assert written.reused >= len(written.turns) - 3, "turns are not written again"
        check.require(body)


@pytest.mark.parametrize("target", ["deepseek", "groq", "mistral"])
def test_a_host_is_a_target(target: str) -> None:
    """A provider by its name, or by that of a model, as `il.convert` takes them."""
    body = msgspec.json.encode(AGENT)
    for how in ({"target": target}, {"target": "openai-chat", "model": f"{target}:some-model"}):
        converter = il.Converter("openai-chat", **how)
        for _ in range(2):
            assert converter.convert(body).json() == il.convert(body, "openai-chat", **how).json()


def test_a_body_that_only_seems_to_go_on_is_converted_whole() -> None:
    check = Check("openai-chat", "anthropic")
    body = msgspec.json.encode(AGENT)
    check.require(body)
    end = body.index(b'],"tools"')
    more = b',{"role":"user","content":"More."}'
    for tail in (
        more + b"," + b"",
        more + b'],"messages":[{"role":"user","content":"Only this."}',
        b"," + more,
        more[1:],
        b" ",
        more + b'],"x":[1',
        more + b"\x0b",
        b',{"role":"user","content":"\xff"}',
    ):
        check.require(body[:end] + tail + body[end:], repr(tail))


def _spoil_values(check: Check) -> None:
    for _, conversation in check.converter._conversations._held.values():
        other = list(conversation.messages)
        other[1] = Message.user("Planted.")
        conversation.messages = tuple(other)


def _spoil_bytes(check: Check) -> None:
    for _, conversation in check.converter._conversations._held.values():
        for turns in conversation.written.values():
            turns.text = turns.text.replace(b"weather", b"planted")


def _spoil_breakpoints(check: Check) -> None:
    for _, conversation in check.converter._conversations._held.values():
        for turns in conversation.written.values():
            turns.splices = {place: text + b" " for place, text in turns.splices.items()}


def _spoil_state(check: Check) -> None:
    for _, conversation in check.converter._conversations._held.values():
        conversation.counts = [count - 1 for count in conversation.counts]


@pytest.mark.parametrize("spoil", [_spoil_values, _spoil_bytes, _spoil_state, _spoil_breakpoints])
def test_the_law_fails_with_a_spoiled_memory(spoil: Any) -> None:
    check = Check("openai-chat", "anthropic", marks=True)
    check.require(msgspec.json.encode({**AGENT, "messages": AGENT["messages"][:8]}))
    spoil(check)
    with pytest.raises((AssertionError, msgspec.DecodeError)):
        check.require(msgspec.json.encode(AGENT))


@pytest.mark.parametrize("between", ["", "Hm."])
def test_a_breakpoint_is_in_its_turn_whatever_follows(between: str) -> None:
    check = Check("anthropic", "anthropic", marks=True)
    turns = [{"role": "user", "content": [{"type": "text", "text": "Is anybody there?"}]}]
    for number in range(6):
        body = msgspec.json.encode({"model": "m", "max_tokens": 9, "messages": turns})
        check.require(body)
        turns += [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": between}] if between else [],
            },
            {"role": "user", "content": [{"type": "text", "text": f"Number {number}."}]},
        ]


def test_an_edited_wire_of_a_remembered_body_is_written_as_edited() -> None:
    converter = il.Converter("openai-chat", "anthropic")
    converter._conversations.least = 0
    body = msgspec.json.encode(AGENT)
    for _ in range(2):
        written = converter.convert(body)
        assert b"planted" not in written.json()
        written.wire["messages"][0]["content"] = "planted"
        assert b"planted" in written.json()


def test_what_is_remembered_is_bounded() -> None:
    converter = il.Converter("openai-chat", "anthropic", max_bytes=100_000)
    converter._conversations.least = 0
    for number in itertools.count():
        request = copy.deepcopy(AGENT)
        request["messages"][1]["content"] = f"Number {number}: how is the weather?"
        converter.convert(msgspec.json.encode(request))
        assert converter._conversations.size <= 100_000
        if converter.figures.evictions > 3:
            break
    off = il.Converter("openai-chat", "anthropic", max_bytes=0)
    off.convert(msgspec.json.encode(AGENT))
    assert len(off._conversations) == 0
