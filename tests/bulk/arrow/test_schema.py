"""The published shapes of conversations."""

from __future__ import annotations

from decimal import Decimal

import interlingua as il
from interlingua.bulk import arrow
from interlingua.transcripts.transcript import Transcript
from tests.bulk.arrow.values import answer, conversation, table


def test_what_is_always_there_has_columns() -> None:
    [asked, answered] = table(conversation(), answer()).to_pylist()
    assert (asked["kind"], asked["model"]) == ("request", "some-model")
    assert [message["role"] for message in asked["messages"]][:2] == ["user", "assistant"]
    assert asked["messages"][2]["content"][0]["text"] == "It is blue."
    assert asked["messages"][2]["content"][0]["is_error"] is True
    assert answered["id"] == "r1"
    assert (answered["model"], answered["provider"]) == ("acme:m-1", "acme")
    assert (answered["input_tokens"], answered["output_tokens"]) == (10, 5)
    assert answered["cost_usd"] == Decimal("0.0000125")
    assert answered["messages"][0]["stop_reason"] == "end_turn"


def test_a_cost_that_is_known_in_part_is_none() -> None:
    lacks = il.Message.assistant("Red.", il.MessageMetadata(usage=il.Usage(10, 5)))
    [found] = table(Transcript.of("pi", (answer().message, lacks))).to_pylist()
    assert (found["input_tokens"], found["cost_usd"]) == (20, None)


def test_the_schema_says_its_version_and_shape() -> None:
    made = table(conversation())
    assert made.schema.equals(arrow.SCHEMA, check_metadata=True)
    assert made.schema.metadata[b"interlingua.version"] == str(arrow.VERSION).encode()
    blocks = table(conversation(), shape="blocks")
    assert blocks.schema.equals(arrow.BLOCKS, check_metadata=True)
