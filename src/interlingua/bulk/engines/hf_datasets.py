"""Hugging Face `datasets`: conversations as a dataset, and `Convert` as the function of a `map`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import datasets

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation
from interlingua.bulk.engines import Convert

import pyarrow as pa  # isort: skip


def features(schema: pa.Schema = arrow.SCHEMA) -> datasets.Features:
    """The features of conversations, with `Json()` for values without a fixed schema, so that rows
    contain objects."""
    return datasets.Features.from_arrow_schema(arrow.with_json(schema))


def dataset(conversations: Iterable[Conversation]) -> datasets.Dataset:
    """Conversations as a dataset in memory."""
    table = pa.Table.from_batches(arrow.to_batches(conversations), arrow.SCHEMA)
    return datasets.Dataset(datasets.table.InMemoryTable(table.cast(arrow.with_json(arrow.SCHEMA))))


def conversations(dataset: datasets.Dataset) -> Iterable[Conversation]:
    """The conversations of a dataset."""
    return arrow.from_batches(
        batch for table in dataset.with_format("arrow").iter(1000) for batch in table.to_batches()
    )


def mapped(dataset: Any, convert: Convert, **options: Any) -> Any:
    """`dataset.map` with this function; `num_proc` and all other options are its own."""
    in_arrow = dataset.with_format("arrow")
    source = dataset.features.arrow_schema
    removed = [name for name in source.names if name not in convert.schema(source).names]
    made = in_arrow.map(convert, batched=True, remove_columns=removed, **options)
    return made.with_format(None)
