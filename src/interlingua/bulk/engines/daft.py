"""Daft: `Convert` as an expression on a column of bodies, or on whole tables of conversations."""

from __future__ import annotations

from typing import Any

import daft

from interlingua.bulk.engines import RESULT, RESULT_TYPE, Convert

import pyarrow as pa  # isort: skip


def converted(bodies: Any, convert: Convert, **options: Any) -> Any:
    """An expression: a column of JSON bodies as a struct of `wire`, `model`, `losses`, `error`.
    `use_process`, `batch_size` and so on are those of `daft.func.batch`."""

    def convert_texts(texts: Any) -> pa.Array:
        return convert.texts(_plain(texts.to_arrow()))

    convert_texts.__annotations__ = {"texts": daft.Series, "return": pa.Array}
    dtype = daft.DataType.from_arrow_type(RESULT_TYPE)
    return daft.func.batch(return_dtype=dtype, **options)(convert_texts)(bodies)


def mapped(frame: daft.DataFrame, convert: Convert, **options: Any) -> daft.DataFrame:
    """The frame with `convert.column` in the target format, and the other columns of a result."""
    column = "__converted"
    made = frame.with_column(column, converted(daft.col(convert.column), convert, **options))
    results = [daft.col(column).get(field.name).alias(field.name) for field in RESULT]
    others = [name for name in frame.column_names if name not in {field.name for field in RESULT}]
    return made.select(*[name for name in others if name != convert.column], *results)


def _plain(texts: Any) -> pa.Array:
    return texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
