"""The adapters, each with the real engine: `make engines` installs them. Where one is not there,
its tests are skipped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import interlingua as il
from interlingua.bulk import arrow
from tests.bulk.engines.jobs import (
    COUNT,
    TO_ANTHROPIC,
    bodies,
    conversations,
    requests,
    require_converted,
    require_same,
)

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    path = tmp_path / "bodies.parquet"
    pq.write_table(bodies(), path, row_group_size=10)
    return path


# datasets


@pytest.fixture
def datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return pytest.importorskip("datasets", reason="make engines installs datasets")


def test_datasets_maps_it_with_several_processes(datasets: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import hf_datasets

    given = datasets.Dataset.from_parquet(str(parquet), cache_dir=str(parquet.parent / "cache"))
    made = hf_datasets.mapped(given, TO_ANTHROPIC, num_proc=2, batch_size=8)
    require_converted(list(made))


def test_datasets_has_json_where_conversations_are_open(datasets: Any) -> None:
    from interlingua.bulk.engines import hf_datasets

    made = hf_datasets.dataset(requests())
    assert made.features == hf_datasets.features()
    call = made[3]["messages"][2]["content"][0]
    assert call["input"] == {"where": 3}
    require_same(list(hf_datasets.conversations(made)))


# Ray


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="make engines installs ray[data]")
    pytest.importorskip("ray.data")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    cluster.add_node(num_cpus=1)
    path = ":".join(sys.path)
    ray.init(address=cluster.address, runtime_env={"env_vars": {"PYTHONPATH": path}})
    yield ray
    ray.shutdown()
    cluster.shutdown()


def test_ray_maps_it_on_a_cluster_of_two_nodes(ray: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import ray_data

    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    given = ray.data.read_parquet(str(parquet)).repartition(4)
    require_converted(ray_data.mapped(given, TO_ANTHROPIC).take_all())


def test_ray_gives_conversations_back(ray: Any) -> None:
    from interlingua.bulk.engines import ray_data

    require_same(list(ray_data.conversations(ray.data.from_arrow(conversations()))))


# Daft


@pytest.fixture
def daft() -> Any:
    return pytest.importorskip("daft", reason="make engines installs daft")


def test_daft_maps_it(daft: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import daft as adapter

    made = adapter.mapped(daft.read_parquet(str(parquet)), TO_ANTHROPIC)
    require_converted(made.to_pylist())


def test_daft_gives_conversations_back(daft: Any) -> None:
    require_same(list(arrow.from_batches(daft.from_arrow(conversations()).to_arrow())))


# Polars


def test_polars_maps_it_at_once_and_lazily(parquet: Path) -> None:
    polars = pytest.importorskip("polars", reason="make engines installs polars")
    from interlingua.bulk.engines import polars as adapter

    require_converted(adapter.mapped(polars.read_parquet(parquet), TO_ANTHROPIC).to_dicts())
    lazy = adapter.mapped(polars.scan_parquet(parquet), TO_ANTHROPIC)
    require_converted(lazy.collect(engine="streaming").to_dicts())
    require_same(list(adapter.conversations(polars.from_arrow(conversations()))))


# DuckDB


@pytest.fixture
def duck() -> Iterator[Any]:
    duckdb = pytest.importorskip("duckdb", reason="make engines installs duckdb")
    with duckdb.connect() as connection:
        yield connection


def test_duckdb_has_it_as_a_function(duck: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import duckdb as adapter

    adapter.create_function(duck, "to_anthropic", TO_ANTHROPIC)
    query = f"select number, unnest(to_anthropic(body)) from '{parquet}'"
    require_converted(duck.sql(query).to_arrow_table().to_pylist())


def test_duckdb_reads_the_sessions_of_a_store(duck: Any, tmp_path: Path) -> None:
    from interlingua.bulk.engines import duckdb as adapter

    url = f"sqlite:///{tmp_path / 'store.db'}"
    with il.open_store(url) as store:
        row = store.create_session(str(tmp_path), name="Colours", active_model="acme:m-1")
        store.append(row.id, [il.Message.user("Look."), il.Message.user("Again.")])
    sessions = adapter.read_sessions(duck, url)
    query = "select name, model, len(messages), rest->>'$.workspace_path' from sessions"
    assert duck.sql(query).fetchall() == [("Colours", "acme:m-1", 2, str(tmp_path))]
    assert [each.row.id for each in adapter.conversations(sessions)] == [row.id]
    blocks = adapter.read_sessions(duck, url, "blocks")
    assert duck.sql("select text from blocks order by message").fetchall() == [
        ("Look.",),
        ("Again.",),
    ]
    assert len(blocks.columns) > 10


# Spark


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

    given = spark.read.parquet(str(parquet)).repartition(4)
    made = adapter.mapped(given, TO_ANTHROPIC).toArrow()
    require_converted(made.to_pylist())


def test_spark_gives_conversations_back(spark: Any, tmp_path: Path) -> None:
    from interlingua.bulk.engines import spark as adapter

    pq.write_table(conversations(), tmp_path / "c.parquet")
    frame = spark.read.parquet(str(tmp_path / "c.parquet"))
    assert frame.count() == COUNT
    require_same(list(adapter.conversations(frame)))
