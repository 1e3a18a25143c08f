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
    """Each batch converted, where it lies; `concurrency`, `num_cpus` and so on are Ray's own. With
    few processors none is set aside for other steps of this dataset: of two, one would be left."""
    made = dataset.map_batches(convert.__call__, batch_format="pyarrow", **options)
    if ray.cluster_resources().get("CPU", 0) <= _FEW:
        made.context.op_resource_reservation_enabled = False
    return made


def conversations(dataset: ray.data.Dataset) -> Iterator[Conversation]:
    """The conversations of a dataset, here, a batch at a time."""
    return arrow.from_batches(dataset.iter_batches(batch_format="pyarrow", batch_size=1000))
