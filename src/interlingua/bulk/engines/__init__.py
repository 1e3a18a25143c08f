"""`Convert` on Ray Data, Spark, Daft, Polars, DuckDB and `datasets`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from interlingua.bulk import arrow  # isort: skip  # says which extra is missing
import pyarrow as pa

from interlingua.bulk.arrow.schema import LOSSES, SCHEMA, is_conversations
from interlingua.bulk.convert import (
    CANONICAL,
    Converted,
    Job,
    Row,
    converted,
    few_collections,
    value_of,
)
from interlingua.bulk.tables import rows_in, wire_batch
from interlingua.errors import InterlinguaError

WIRE = pa.field("wire", pa.string())
ERROR = pa.field("error", pa.string())
RESULT = (WIRE, pa.field("model", pa.string()), LOSSES, ERROR)
"""The fields of a converted row: the body as JSON, the model if the body does not name it, losses,
and the error if it could not be read."""
RESULT_TYPE = pa.struct(RESULT)


class Convert:
    """Rows of one format into another: call it with a table or a record batch. It can be pickled
    and sent anywhere.

    Tables of conversations are read as such; of any other, `column` holds bodies as JSON. The other
    columns stay. To `canonical`, what comes out are conversations (`arrow.SCHEMA`, and `error`)."""

    def __init__(
        self,
        target: str,
        source: str = "auto",
        *,
        kind: str | None = None,
        model: str | None = None,
        column: str = "wire",
    ) -> None:
        self.job = Job(target, source, kind, model)
        self.column = column

    def __call__(self, table: Any) -> pa.Table:
        table = _table(table)
        with few_collections():
            if self.job.target == CANONICAL:
                return self._canonical(table)
            others = self._others(table.schema)
            made = self._results(self._rows(table), table.num_rows)
        columns = [*(table.column(name) for name in others.names), *made.flatten()]
        return pa.table(columns, schema=self.schema(table.schema))

    def schema(self, source: pa.Schema) -> pa.Schema:
        """The output schema for tables of this schema."""
        if self.job.target == CANONICAL:
            return SCHEMA.append(ERROR)
        return pa.schema([*self._others(source), *RESULT])

    def texts(self, bodies: Any) -> pa.StructArray:
        """Bodies as JSON, converted: an array of strings in, one of `RESULT_TYPE` out."""
        texts = bodies.cast(pa.binary()).to_pylist()
        with few_collections():
            return self._results(map(_row, texts), len(texts))

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batch after batch."""
        for batch in batches:
            yield from self(batch).to_batches()

    def _others(self, source: pa.Schema) -> pa.Schema:
        if is_conversations(source):
            return pa.schema([field for field in source if field.name == "id"])
        ours = {self.column, *(field.name for field in RESULT)}
        return pa.schema([field for field in source if field.name not in ours])

    def _rows(self, table: pa.Table) -> Iterator[Row]:
        if not is_conversations(table.schema):
            texts = table.column(self.column).cast(pa.binary())
            return map(_row, texts.to_pylist())
        return (row for batch in table.to_batches() for row in rows_in(batch))

    def _results(self, rows: Iterable[Row], count: int) -> pa.StructArray:
        done: list[Converted] = []
        errors: list[str | None] = []
        for row in rows:
            try:
                done.append(converted(row, self.job))
                errors.append(None)
            except InterlinguaError as error:
                done.append(Converted(None, None, [], []))
                errors.append(str(error))
        columns = [*wire_batch(done).columns, pa.array(errors, pa.string())]
        return pa.StructArray.from_arrays(columns, fields=list(RESULT))

    def _canonical(self, table: pa.Table) -> pa.Table:
        values: list[Any] = []
        places: list[int | None] = []
        errors: list[str | None] = []
        for row in self._rows(table):
            try:
                values.append(value_of(row, self.job)[0])
                places.append(len(values) - 1)
                errors.append(None)
            except InterlinguaError as error:
                places.append(None)
                errors.append(str(error))
        made = pa.Table.from_batches(arrow.to_batches(values, trusted=True), SCHEMA)
        aligned = made.take(pa.array(places, pa.int64()))  # no place is a row of nulls
        return aligned.append_column(ERROR, pa.array(errors, pa.string()))


def _table(value: Any) -> pa.Table:
    return value if isinstance(value, pa.Table) else pa.Table.from_batches([value])


def _row(text: bytes | None) -> Row:
    return Row(problem="no body: it is null") if text is None else Row(wire=text)


__all__ = [
    "RESULT",
    "RESULT_TYPE",
    "Convert",
]
