"""Arrow back as conversations."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import interlingua as il
from interlingua.bulk import arrow
from interlingua.bulk.arrow.schema import with_json
from tests.bulk.arrow.values import answer, conversation, same, table


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
    with pytest.raises(il.WriteError, match="expected a conversation"):
        list(arrow.to_batches(["hi"]))  # type: ignore[list-item]
