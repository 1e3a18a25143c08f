"""`Convert` on Ray Data, Spark, Daft, Polars, DuckDB and `datasets`."""

from __future__ import annotations

from interlingua.bulk.engines.convert import RESULT, RESULT_TYPE, Convert

__all__ = ["RESULT", "RESULT_TYPE", "Convert"]
