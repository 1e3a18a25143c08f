"""Spark: `Convert` as the function of `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation
from interlingua.bulk.engines import Convert

import pyarrow as pa  # isort: skip


def mapped(frame: DataFrame, convert: Convert) -> DataFrame:
    """The frame, converted where its partitions lie. The workers need this package."""
    schema = convert.schema(to_arrow_schema(frame.schema))

    def convert_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return convert.batches(batches)

    return frame.mapInArrow(convert_batches, from_arrow_schema(schema))


def conversations(frame: DataFrame) -> Iterator[Conversation]:
    """The conversations of a frame, collected here."""
    return arrow.from_batches(frame.toArrow())
