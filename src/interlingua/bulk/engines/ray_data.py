"""Ray Data: `Convert` as the function of `map_batches`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ray.data

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation
from interlingua.bulk.engines import Convert

_FEW = 4
"""Processors of a cluster."""


def mapped(dataset: ray.data.Dataset, convert: Convert, **options: Any) -> ray.data.Dataset:
    """Converts each batch on the node that has it; `concurrency`, `num_cpus` and other options are
    Ray's. On a small cluster, Ray's reservation of half of the processors for other steps is
    switched off for this dataset, because it would leave one of two."""
    made = dataset.map_batches(convert.__call__, batch_format="pyarrow", **options)
    if ray.cluster_resources().get("CPU", 0) <= _FEW:
        made.context.op_resource_reservation_enabled = False
    return made


def conversations(dataset: ray.data.Dataset) -> Iterator[Conversation]:
    """The conversations of a dataset, here, a batch at a time."""
    return arrow.from_batches(dataset.iter_batches(batch_format="pyarrow", batch_size=1000))
