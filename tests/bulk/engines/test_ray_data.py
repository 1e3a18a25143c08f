"""Ray Data, the real one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bulk.engines.jobs import TO_ANTHROPIC, conversations, require_converted, require_same

pytestmark = pytest.mark.filterwarnings("default")


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
    value = ray.data.read_parquet(str(parquet)).repartition(4)
    require_converted(ray_data.mapped(value, TO_ANTHROPIC).take_all())


def test_of_two_processors_none_is_set_aside_for_other_steps(ray: Any, parquet: Path) -> None:
    from interlingua.bulk.engines import ray_data

    made = ray_data.mapped(ray.data.read_parquet(str(parquet)), TO_ANTHROPIC)
    assert not made.context.op_resource_reservation_enabled
    assert ray.data.DataContext.get_current().op_resource_reservation_enabled


def test_ray_gives_conversations_back(ray: Any) -> None:
    from interlingua.bulk.engines import ray_data

    require_same(list(ray_data.conversations(ray.data.from_arrow(conversations()))))
