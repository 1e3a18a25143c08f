"""DuckDB: conversions as functions of SQL, and the sessions of a store as a relation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import duckdb

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation, Shape
from interlingua.bulk.engines import RESULT_TYPE, Convert
from interlingua.store.open import open_store

import pyarrow as pa  # isort: skip


def create_function(
    connection: duckdb.DuckDBPyConnection, name: str, convert: Convert
) -> duckdb.DuckDBPyConnection:
    """`name(body)` in SQL: JSON in, a struct of `wire`, `model`, `losses` and `error` out."""

    def convert_texts(bodies: pa.ChunkedArray) -> pa.Array:
        return convert.texts(bodies.combine_chunks() if hasattr(bodies, "chunks") else bodies)

    result = _type_of(connection, RESULT_TYPE)
    return connection.create_function(name, convert_texts, ["VARCHAR"], result, type="arrow")


def read_sessions(
    connection: duckdb.DuckDBPyConnection, store: str, shape: Shape = "conversations"
) -> duckdb.DuckDBPyRelation:
    """The sessions of a store (`sqlite:///…`, `postgresql://…`) as a relation, with JSON columns as
    JSON; `blocks` has a row for each block. They are read when the relation is."""
    with open_store(store) as opened:
        return relation(connection, arrow.sessions_in(opened), shape)


def relation(
    connection: duckdb.DuckDBPyConnection,
    conversations: Iterable[Conversation],
    shape: Shape = "conversations",
) -> duckdb.DuckDBPyRelation:
    """Conversations as a relation."""
    schema = arrow.with_json(arrow.SCHEMAS[shape])
    table = pa.Table.from_batches(arrow.to_batches(conversations, shape), arrow.SCHEMAS[shape])
    return connection.from_arrow(table.cast(schema))


def conversations(relation: duckdb.DuckDBPyRelation) -> Iterator[Conversation]:
    """The conversations of a relation that has their columns."""
    return arrow.from_batches(relation.to_arrow_reader(1000))


def _type_of(connection: duckdb.DuckDBPyConnection, type: pa.DataType) -> str:
    """DuckDB's name of an Arrow type."""
    empty = pa.table({"it": pa.array([], type)})
    return str(connection.from_arrow(empty).types[0])
