"""Conversations as Arrow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc
import pytest

import interlingua as il
from interlingua.bulk import arrow
from interlingua.model.losses import Loss
from tests.bulk.arrow.values import answer, conversation, table


def test_arguments_and_schemas_are_json_and_never_padded() -> None:
    [row] = table(conversation()).to_pylist()
    calls = row["messages"][1]["content"][1:]
    assert [call["input"] for call in calls] == [
        '{"where":null,"deep":{"a":[1,2.5]}}',
        '{"how":"well"}',
    ]
    assert calls[1]["raw_arguments"] == '{"how":  "well"}'
    assert row["tools"][0]["input_schema"] == '{"type":"object","properties":{"where":{}}}'
    assert row["options"] == '{"temperature":1}'


def test_blocks_have_a_row_each_with_the_whole_text_of_results() -> None:
    blocks = table(conversation(), answer(), shape="blocks")
    assert blocks["type"].to_pylist() == [
        *("text", "image", "thinking", "tool_use", "tool_use", "tool_result", "tool_result"),
        "text",
    ]
    assert blocks["conversation"].to_pylist() == [0] * 7 + [1]
    assert blocks["message"].to_pylist() == [0, 0, 1, 1, 1, 2, 3, 0]
    assert blocks["block"].to_pylist() == [0, 1, 0, 1, 2, 0, 0, 0]
    assert blocks["text"].to_pylist()[-2] == "Two parts: of text."
    calls = blocks.filter(pc.equal(blocks["type"], "tool_use"))
    results = blocks.filter(pc.equal(blocks["type"], "tool_result"))
    joined = calls.select(["id", "name"]).join(
        results.select(["tool_use_id", "text"]), "id", "tool_use_id"
    )
    assert sorted(joined["text"].to_pylist()) == ["It is blue.", "Two parts: of text."]


def test_losses_are_a_column() -> None:
    lost = Loss("dropped", "$.messages[0]", "no place", "error", "text", None, "some.rule")
    made = table(conversation(), answer(), losses=[[lost], []])
    assert made["losses"].to_pylist()[0][0]["reason"] == "no place"
    assert list(arrow.losses_of(made)) == [[lost], []]


def test_times_are_exact_to_the_microsecond() -> None:
    time = datetime(1, 1, 1, 0, 0, 0, 1, tzinfo=UTC)
    message = il.Message.user("hi").replace(created_at=time, id="m1", session_id="s1")
    [back] = arrow.from_batches(arrow.to_batches([il.Request((message,))]))
    assert back.messages[0] == message


def test_batches_end_at_so_many_rows_or_bytes() -> None:
    values = [conversation()] * 5
    assert [batch.num_rows for batch in arrow.to_batches(values, rows=2)] == [2, 2, 1]
    assert [batch.num_rows for batch in arrow.to_batches(values, size=1)] == [1] * 5


@pytest.mark.parametrize("odd", [float("nan"), {1: 2}, {1, 2}])
def test_what_json_cannot_hold_is_refused(odd: Any) -> None:
    call = il.ToolUseBlock("a", "b", {"x": odd})
    with pytest.raises(il.WriteError):
        list(arrow.to_batches([il.Request((il.Message.assistant([call]),))]))


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(il.WriteError):
        list(arrow.to_batches([il.Request((il.Message.user("\ud800"),))]))
