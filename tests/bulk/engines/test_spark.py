"""Spark, the real one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.bulk.engines.jobs import (
    COUNT,
    TO_ANTHROPIC,
    conversations,
    require_converted,
    require_same,
)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="make engines installs pyspark, which needs Java")
    from pyspark.sql import SparkSession

    path = ":".join(sys.path)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.executorEnv.PYTHONPATH", path)
        .config("spark.pyspark.python", sys.executable)
        .getOrCreate()
    )
    yield session
    session.stop()


def test_spark_maps_it_in_two_processes(
    spark: Any, parquet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from interlingua.bulk.engines import spark as adapter

    value = spark.read.parquet(str(parquet)).repartition(4)
    made = adapter.mapped(value, TO_ANTHROPIC).toArrow()
    require_converted(made.to_pylist())


def test_spark_gives_conversations_back(spark: Any, tmp_path: Path) -> None:
    from interlingua.bulk.engines import spark as adapter

    pq.write_table(conversations(), tmp_path / "c.parquet")
    frame = spark.read.parquet(str(tmp_path / "c.parquet"))
    assert frame.count() == COUNT
    require_same(list(adapter.conversations(frame)))
