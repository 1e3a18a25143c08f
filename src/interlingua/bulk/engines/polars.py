"""Polars: `Convert` on data frames, at once or lazily."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import polars as pl

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation
from interlingua.bulk.engines import Convert

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def mapped(frame: Frame, convert: Convert) -> Frame:
    """The frame, converted. A lazy one stays lazy, and is converted batch after batch where the
    engine streams."""
    if isinstance(frame, pl.DataFrame):
        return _converted(frame, convert)
    source = pl.DataFrame(schema=frame.collect_schema()).to_arrow().schema
    schema = pl.DataFrame(pl.from_arrow(convert.schema(source).empty_table())).schema
    return frame.map_batches(lambda part: _converted(part, convert), schema=schema, streamable=True)


def _converted(frame: pl.DataFrame, convert: Convert) -> pl.DataFrame:
    return pl.DataFrame(pl.from_arrow(convert(frame.to_arrow())))


def conversations(frame: pl.DataFrame) -> Iterator[Conversation]:
    """The conversations of a data frame."""
    return arrow.from_batches(frame.to_arrow())
