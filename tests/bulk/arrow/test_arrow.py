"""What stands in the columns, and what engines may do to them on the way."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import interlingua as il
from interlingua.bulk import arrow
from interlingua.bulk.arrow.schema import with_json
from interlingua.model.losses import Loss

CALL = il.ToolUseBlock("call_1", "look", {"where": None, "deep": {"a": [1, 2.5]}})
OTHER = il.ToolUseBlock("call_2", "look", {"how": "well"}, '{"how":  "well"}', "c2ln")
RESULT = il.Message.tool_result("call_1", "It is blue.", is_error=True)
PICTURE = il.ImageBlock(il.Source("base64", "aGk="), "image/png")
TOOL = il.ToolDefinition("look", "Looks.", {"type": "object", "properties": {"where": {}}})


def conversation() -> il.Request:
    return il.Request(
        (
            il.Message.user(["Look.", PICTURE]),
            il.Message.assistant([il.ThinkingBlock("Hm.", "c2ln"), CALL, OTHER]),
            RESULT,
            il.Message.tool_result("call_2", ["Two parts: ", "of text.", PICTURE]),
        ),
        "some-model",
        (TOOL,),
        il.Options(temperature=1),
    )


def answer() -> il.Response:
    usage = il.Usage(10, 5, cost_usd=Decimal("0.0000125"))
    metadata = il.MessageMetadata(
        "acme:m-1", "acme", response_id="r1", usage=usage, stop_reason=il.StopReason.END_TURN
    )
    return il.Response(il.Message.assistant("Blue.", metadata))


def table(*values: Any, **options: Any) -> pa.Table:
    return pa.Table.from_batches(arrow.to_batches(values, **options))


def same(found: list[Any], *wanted: Any) -> bool:
    return [il.dumps(value) for value in found] == [il.dumps(value) for value in wanted]


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


def test_the_schema_says_its_version_and_shape() -> None:
    made = table(conversation())
    assert made.schema.equals(arrow.SCHEMA, check_metadata=True)
    assert made.schema.metadata[b"interlingua.version"] == str(arrow.VERSION).encode()
    blocks = table(conversation(), shape="blocks")
    assert blocks.schema.equals(arrow.BLOCKS, check_metadata=True)


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


def test_blocks_cannot_be_read_back_and_a_newer_version_is_refused() -> None:
    with pytest.raises(il.ReadError, match="shape blocks"):
        list(arrow.from_batches(table(conversation(), shape="blocks")))
    newer = arrow.SCHEMA.with_metadata({**arrow.SCHEMA.metadata, b"interlingua.version": b"99"})
    with pytest.raises(il.ReadError, match="version 99"):
        list(arrow.from_batches(newer.empty_table()))
    with pytest.raises(il.ReadError, match="columns of conversations"):
        list(arrow.from_batches(pa.table({"a": [1]})))


def test_columns_come_back_as_engines_spell_them() -> None:
    wanted = conversation(), answer()
    made = table(*wanted)
    turned = made.select(made.schema.names[::-1]).replace_schema_metadata(None)
    assert same(list(arrow.from_batches(turned)), *wanted)
    without = made.drop_columns(["losses", "cost_usd", "provider"])
    assert same(list(arrow.from_batches(without)), *wanted)
    typed = made.cast(with_json(arrow.SCHEMA))
    assert typed.schema.field("options").type == pa.json_(pa.string())
    assert same(list(arrow.from_batches(typed)), *wanted)
    large = made.cast(large_of(made.schema))
    assert same(list(arrow.from_batches(large)), *wanted)
    assert same(list(arrow.from_batches(made.slice(1))), wanted[1])


def large_of(found: Any) -> Any:
    """The types that Polars and Daft give back."""
    if isinstance(found, pa.Schema):
        return pa.schema([field.with_type(large_of(field.type)) for field in found])
    if pa.types.is_string(found):
        return pa.large_string()
    if pa.types.is_list(found):
        return pa.large_list(large_of(found.value_type))
    if pa.types.is_struct(found):
        return pa.struct([field.with_type(large_of(field.type)) for field in found])
    return found


def test_a_column_that_was_edited_is_what_comes_back() -> None:
    made = table(conversation())
    at = made.schema.get_field_index("model")
    edited = made.set_column(at, made.schema.field(at), [["another"]])
    [request] = arrow.from_batches(edited)
    assert request == conversation().replace(model="another")


def test_losses_are_a_column() -> None:
    lost = Loss("dropped", "$.messages[0]", "no place", "error", "text", None, "some.rule")
    made = table(conversation(), answer(), losses=[[lost], []])
    assert made["losses"].to_pylist()[0][0]["reason"] == "no place"
    assert list(arrow.losses_of(made)) == [[lost], []]


def test_sessions_of_a_store_come_back(tmp_path: Path) -> None:
    with il.open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        row = store.create_session(str(tmp_path), name="Colours", active_model="acme:m-1")
        store.append(row.id, [il.Message.user("Look."), il.Message.user("Again.")])
        stored = list(arrow.sessions_in(store))
    [back] = arrow.from_batches(arrow.to_batches(stored))
    assert isinstance(back, arrow.StoredSession)
    assert back.row == stored[0].row
    assert same(list(back.messages), *stored[0].messages)
    assert back.row.created_at.tzinfo is UTC


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


def test_fields_that_a_newer_program_wrote_are_kept() -> None:
    made = table(il.Request((il.Message.user("hi"),), "m")).to_pylist()
    made[0]["messages"][0]["content"][0]["rest"] = '{"colour": "blue"}'
    [request] = arrow.from_batches(pa.Table.from_pylist(made, arrow.SCHEMA))
    assert request.messages[0].content[0].raw == {"interlingua": {"colour": "blue"}}
    assert b'"colour":"blue"' in il.dumps(request)


def test_an_unknown_kind_of_row_or_block_is_named() -> None:
    made = table(il.Request((il.Message.user("hi"),), "m")).to_pylist()
    made[0]["kind"] = "poem"
    with pytest.raises(il.ReadError, match="poem"):
        list(arrow.from_batches(pa.Table.from_pylist(made, arrow.SCHEMA)))
    with pytest.raises(il.WriteError, match="no conversation"):
        list(arrow.to_batches(["hi"]))  # type: ignore[list-item]
