"""Parquet files of a run: the contents of rows of any schema, and the files for converted rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from interlingua.bulk import arrow  # says which extra is missing
from interlingua.bulk.arrow.schema import LOSSES, is_conversations
from interlingua.bulk.arrow.write import loss_row
from interlingua.bulk.convert import Converted, Row
from interlingua.errors import InterlinguaError, ReadError
from interlingua.model.losses import Loss

import pyarrow as pa  # isort: skip
import pyarrow.parquet as pq  # isort: skip

ROWS = 500
"""Rows that are taken out of a file at a time."""
GROUP = 32 * 1024 * 1024
"""Bytes of a group of rows in a file, about."""
WIRE = pa.schema(
    [
        pa.field("wire", pa.string(), metadata={"interlingua": "json"}),
        pa.field("model", pa.string()),
        LOSSES,
    ],
    metadata={b"interlingua.version": str(arrow.VERSION), b"interlingua.shape": "wire"},
)
"""Bodies of a dialect or view as rows: each as JSON, the model if the body does not name it, and
the losses."""


def group_sizes(path: Path) -> list[int]:
    """The share of each group of rows in the bytes of the file."""
    metadata, whole = _open(path).metadata, path.stat().st_size
    rows = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    return [whole * count // max(metadata.num_rows, 1) for count in rows]


def rows_of(path: Path, group: int) -> Iterator[Row]:
    for batch in _open(path).iter_batches(ROWS, row_groups=[group]):
        yield from rows_in(batch)


def rows_in(batch: pa.RecordBatch) -> Iterator[Row]:
    """The rows of a table of any schema."""
    return _conversations(batch) if is_conversations(batch.schema) else _wires(batch)


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise ReadError(str(path), "$", "a Parquet file", str(error)) from None


def _conversations(batch: pa.RecordBatch) -> Iterator[Row]:
    """A batch at once; row by row if something in it cannot be read, to name the row."""
    try:
        yield from [Row(value) for value in arrow.from_batches(batch)]
    except InterlinguaError as error:
        if batch.num_rows == 1:
            yield Row(wire=_shown(batch), problem=str(error))
            return
        for at in range(batch.num_rows):
            yield from _conversations(batch.slice(at, 1))


def _shown(batch: pa.RecordBatch) -> dict[str, Any]:
    """A row that cannot be read, as far as it can be shown."""
    [row] = batch.select(
        [n for n in ("kind", "id", "name", "model") if n in batch.schema.names]
    ).to_pylist()
    return dict(row)


def _wires(batch: pa.RecordBatch) -> Iterator[Row]:
    """Bodies in a column `wire`, or rows that are bodies themselves."""
    if "wire" in batch.schema.names:
        for text in batch.column("wire").cast(pa.binary()).to_pylist():
            yield Row(wire=text) if text is not None else Row(problem="no body: `wire` is null")
        return
    for row in batch.to_pylist():
        yield Row(wire=_unpadded(row))


def _unpadded(value: Any) -> Any:
    """A row as the original object: nulls that are only padding for keys of other rows are
    removed."""
    if isinstance(value, dict):
        return {key: _unpadded(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_unpadded(item) for item in value]
    return value


def wire_batch(rows: list[Converted]) -> pa.RecordBatch:
    losses = [[_plain(loss) for loss in row.losses] for row in rows]
    columns = [
        pa.array([row.wire for row in rows], pa.string()),
        pa.array([row.model for row in rows], pa.string()),
        pa.array(losses, LOSSES.type),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=WIRE)


def _plain(loss: Loss) -> dict[str, Any]:
    return dict(zip(loss.__struct_fields__, loss_row(loss), strict=True))


def write(path: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """A Parquet file with groups of rows of about the same size."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(each.nbytes for each in waiting) >= GROUP:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting, schema))


def schema_of(target: str) -> pa.Schema:
    """The schema of a file in this format."""
    return arrow.SCHEMA if target == "canonical" else WIRE


def join(parts: Iterable[Path], path: Path, schema: pa.Schema) -> None:
    """All parts in one file, group by group."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for part in parts:
            file = pq.ParquetFile(part)
            for at in range(file.num_row_groups):
                writer.write_table(file.read_row_group(at).cast(schema))
