"""One function, `Convert`, on the engines that people already have: `datasets`, Ray Data, Daft,
Polars, DuckDB, Spark. Each has a small module of its own here, which imports it."""

from __future__ import annotations

from interlingua.engines.convert import RESULT, RESULT_TYPE, Convert

__all__ = ["RESULT", "RESULT_TYPE", "Convert"]
