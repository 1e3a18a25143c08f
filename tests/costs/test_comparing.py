"""Which part of a request differs from the one before it, and what that costs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from interlingua.costs.comparing import (
    MOST_OF_OWNER,
    SentPrompts,
    SentTurn,
    SentTurns,
    merged,
    prompt_of,
)
from interlingua.costs.table import bundled
from interlingua.model.metadata import CacheDiagnosis, Usage

CLAUDE = "anthropic:claude-sonnet-4-6"
LONG = "Be careful. " * 500
AT = datetime(2026, 11, 18, 12, tzinfo=UTC)
MARK = {"cache_control": {"type": "ephemeral"}}


def body(turns: int = 1, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number in range(turns):
        if number:
            messages.append({"role": "assistant", "content": f"answer {number}"})
        text = {"type": "text", "text": f"question {number}"}
        if number == turns - 1:
            text |= MARK
        messages.append({"role": "user", "content": [text]})
    return {"model": "m", "system": LONG, "tools": [{"name": "a"}], "messages": messages, **more}


class Sent:
    """Requests one after the other, each answered with so many tokens."""

    def __init__(self, prompts: SentPrompts | None = None) -> None:
        self.prompts = SentPrompts() if prompts is None else prompts
        self.at = AT

    def __call__(
        self,
        wire: dict[str, Any],
        cached: int = 0,
        model: str = CLAUDE,
        owner: str | None = "ada",
        deployment: str = "",
        names: tuple[str, ...] = (),
    ) -> CacheDiagnosis | None:
        data = json.dumps(wire, separators=(",", ":")).encode()
        compared = self.prompts.compare(owner, data, model, deployment, names, self.at)
        assert compared is not None
        usage = Usage(2000 - cached, 10, cached, 0)
        found = compared.diagnosis(usage, bundled())
        self.prompts.answered(compared, usage)
        self.at += timedelta(minutes=1)
        return found


def test_the_first_request_has_no_diagnosis_and_the_next_is_a_hit() -> None:
    send = Sent()
    assert send(body(1)) is None
    found = send(body(2), cached=1900)
    assert found == CacheDiagnosis("hit", since=AT, source="comparison")


@pytest.mark.parametrize(
    ("changed", "reason", "part"),
    [
        ({"tools": [{"name": "b"}]}, "tools_changed", "tools"),
        ({"system": LONG + "Now."}, "system_changed", "system"),
        ({"thinking": {"type": "adaptive"}}, "reasoning_changed", "thinking"),
        ({"tool_choice": {"type": "any"}}, "options_changed", "tool_choice"),
        ({"service_tier": "auto"}, "service_tier_changed", "service_tier"),
    ],
)
def test_a_change_is_named_with_its_part_and_its_cost(
    changed: dict[str, Any], reason: str, part: str
) -> None:
    send = Sent()
    send(body(2))
    found = send(body(3, **changed))
    assert found is not None
    assert (found.outcome, found.reason, found.changed) == ("miss", reason, (part,))
    assert (found.missed_tokens, found.since) == (2000, AT)
    # 2,000 tokens at $3 in place of $0.30 for a million
    assert found.cost_usd == Decimal("0.0054")


def test_a_message_that_changed_has_its_number() -> None:
    send = Sent()
    send(body(3))
    wire = body(4)
    wire["messages"][2]["content"][0]["text"] = "another question"
    found = send(wire)
    assert found is not None
    assert (found.reason, found.changed) == ("messages_changed", ("messages[2]",))
    shorter = body(2)
    shorter["messages"][0]["content"][0]["text"] = "A summary."
    compacted = send(shorter)
    assert compacted is not None
    assert compacted.reason == "context_compacted"


def test_model_deployment_time_and_missing_marks() -> None:
    send = Sent()
    send(body(1))
    model = send(body(2), model="anthropic:claude-sonnet-4-5")
    other = send(body(3), model="anthropic:claude-sonnet-4-5", deployment="2")
    assert model is not None
    assert (model.reason, model.changed) == ("model_changed", ("model",))
    assert other is not None
    assert other.reason == "deployment_changed"
    send = Sent()
    send(body(1), deployment="1")
    moved = send(body(2), deployment="2")
    assert moved is not None
    assert (moved.reason, moved.changed) == ("deployment_changed", ("deployment",))
    assert moved.cost_usd
    send.at += timedelta(minutes=30)
    late = send(body(3), deployment="2")
    assert late is not None
    assert (late.outcome, late.reason) == ("miss", "expired")
    unmarked = [body(1), body(2)]
    for wire in unmarked:
        for message in wire["messages"]:
            if isinstance(message["content"], list):
                message["content"][0].pop("cache_control", None)
    send = Sent()
    send(unmarked[0])
    found = send(unmarked[1])
    assert found is not None
    assert found.reason == "not_marked"


def test_owners_never_meet_and_names_decide() -> None:
    send = Sent()
    send(body(1), owner="ada")
    assert send(body(2), owner="bob") is None
    assert send(body(2, system="x" * 3000), owner="ada", names=("k",)) is not None
    fresh = body(1, system="y" * 3000)
    fresh["messages"][0]["content"] = "nothing alike"
    named = send(fresh, owner="ada", names=("k",))
    assert named is not None
    assert named.changed[0] == "system"


def test_memory_is_bounded_and_holds_no_content() -> None:
    prompts = SentPrompts(40_000)
    send = Sent(prompts)
    for number in range(300):
        wire = body(1)
        wire["messages"][0]["content"] = f"secret {number}"
        send(wire, owner=f"owner {number % 3}")
    assert prompts.size <= 40_000
    assert 0 < len(prompts) < 300
    assert b"secret" not in repr(prompts.__dict__).encode()
    prompts = SentPrompts()
    send = Sent(prompts)
    for number in range(MOST_OF_OWNER + 50):
        wire = body(1)
        wire["messages"][0]["content"] = f"secret {number}"
        send(wire)
    assert len(prompts) == MOST_OF_OWNER


@pytest.mark.parametrize("name", ["messages", "input"])
def test_messages_that_were_sent_before_need_not_be_looked_at(name: str) -> None:
    """The digests are those of the whole body, and those of known messages are not made again."""
    known: list[SentTurn] = []
    for turns in (1, 2, 4, 5):
        wire = body(turns, model="m" * turns)
        listed = [{"role": "system", "content": "Hush."}, *wire.pop("messages")]
        pieces = [json.dumps(each, separators=(",", ":")).encode() for each in listed]
        outside = json.dumps({**wire, name: []}, separators=(",", ":")).encode()
        head = outside[: outside.rindex(b"[]") + 1]
        text, ends = head, []
        for piece in pieces:
            text += (b", " if ends else b"") + piece
            ends.append(len(text))
        data = text + outside[len(head) :]
        sent = SentTurns(outside, data, len(head), ends, known[:-1])
        found = prompt_of(data, CLAUDE, "", AT, sent)
        assert found == prompt_of(data, CLAUDE, "", AT)
        assert found is not None
        assert found.is_marked
        assert all(a is b for a, b in zip(sent.known, known[:-1], strict=False))
        known = sent.known
    known[1] = known[1]._replace(digest=b"planted!")
    assert prompt_of(data, CLAUDE, "", AT, sent) != prompt_of(data, CLAUDE, "", AT)


def test_a_text_is_the_same_alone_and_in_a_list_with_or_without_a_breakpoint() -> None:
    text = {"text": 'Say "}]}, then {"cache_control":{}}.'}
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    more = {"type": "text", "text": "a"}
    contents: list[Any] = [
        text["text"],
        [{"type": "text", **text}],
        [{"type": "text", **text, **mark}],
        [{"type": "input_text", **text}],
        [{"type": "text", **text}, more],
        [{"type": "image", "source": {}}, more],
    ]
    wires = [{"messages": [{"role": "user", "content": each}]} for each in contents]
    bodies = [json.dumps(wire, separators=(",", ":")).encode() for wire in wires]
    prompts = [found for each in bodies if (found := prompt_of(each, CLAUDE, "", AT))]
    assert len(prompts) == len(bodies)
    assert [each.messages == prompts[0].messages for each in prompts] == [True] * 4 + [False] * 2
    assert [each.is_marked for each in prompts] == [False, False, True, False, False, False]


def test_small_and_unreadable_bodies_are_left_alone() -> None:
    prompts = SentPrompts()
    assert prompts.compare(None, b"{}", CLAUDE) is None
    for data in (b"[" * 5000, b"{" + b" " * 5000, b'{"messages": 1, "x": "' + b"y" * 5000):
        assert prompts.compare(None, data, CLAUDE) is None


def test_the_providers_word_counts_and_ours_adds_to_it() -> None:
    own = CacheDiagnosis(
        "miss", "system_changed", 10, 10, ("system",), AT, Decimal(1), "comparison"
    )
    theirs = CacheDiagnosis("miss", "tools_changed", 7)
    both = merged(theirs, own)
    assert both is not None
    assert (both.reason, both.missed_tokens, both.changed) == ("tools_changed", 7, ("system",))
    assert (both.cost_usd, both.source) == (Decimal(1), "provider")
    assert merged(None, own) is own
    assert merged(theirs, None) is theirs


@pytest.mark.parametrize(("minutes", "outcome"), [(2, "hit"), (30, "miss")])
def test_before_its_usage_is_known_a_late_request_is_expected_to_miss(
    minutes: int, outcome: str
) -> None:
    send = Sent()
    send(body(1))
    data = json.dumps(body(2), separators=(",", ":")).encode()
    at = AT + timedelta(minutes=minutes)
    compared = send.prompts.compare("ada", data, CLAUDE, at=at)
    assert compared is not None
    compared.prices = bundled()
    found = compared.diagnosis()
    assert found is not None
    assert found.outcome == outcome
    assert (found.reason == "expired") is (outcome == "miss")
    assert bool(found.cost_usd) is (outcome == "miss")


def test_what_is_written_again_costs_what_writing_does() -> None:
    """Of 2,000 tokens before, 1,500 are there now: 1,000 written for 5m, 300 for 1h, 200 fresh."""
    send = Sent()
    send(body(2))
    data = json.dumps(body(3, system=LONG + "Now."), separators=(",", ":")).encode()
    compared = send.prompts.compare("ada", data, CLAUDE, at=AT + timedelta(minutes=1))
    assert compared is not None
    usage = Usage(200, 10, 0, 1300, cache_writes={"5m": 1000, "1h": 300})
    found = compared.diagnosis(usage, bundled())
    assert found is not None
    assert found.missed_tokens == 1500
    spent = Decimal(1000) * Decimal("3.75") + 300 * 6 + 200 * 3
    assert found.cost_usd == (spent - 1500 * Decimal("0.3")) / 1_000_000


@pytest.mark.parametrize(
    ("model", "cached", "outcome"),
    [
        ("gemini:gemini-2.5-flash", None, "miss"),  # which leaves the count out where it is 0
        ("gemini:gemini-2.5-flash", 1500, "hit"),
        ("ollama:qwen3", None, "unavailable"),
    ],
)
def test_no_count_of_cached_tokens_is_no_hit(model: str, cached: int | None, outcome: str) -> None:
    prompts, usage = SentPrompts(), Usage(6000, 10)
    for number, used in ((1, usage), (2, Usage(6000 - (cached or 0), 10, cached))):
        data = json.dumps(body(number, system=LONG * 4), separators=(",", ":")).encode()
        compared = prompts.compare("ada", data, model, at=AT + timedelta(minutes=number))
        assert compared is not None
        found = compared.diagnosis(used, bundled())
        prompts.answered(compared, used)
    assert found is not None
    assert found.outcome == outcome
