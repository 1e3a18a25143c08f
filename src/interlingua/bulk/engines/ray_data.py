"""Ray Data: `Convert` as the function of `map_batches`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ray.data

from interlingua.bulk import arrow
from interlingua.bulk.arrow import Conversation
from interlingua.bulk.engines import Convert


def mapped(dataset: ray.data.Dataset, convert: Convert, **options: Any) -> ray.data.Dataset:
    """Each batch converted, where it lies; `concurrency`, `num_cpus` and so on are Ray's own."""
    return dataset.map_batches(convert.__call__, batch_format="pyarrow", **options)


def conversations(dataset: ray.data.Dataset) -> Iterator[Conversation]:
    """The conversations of a dataset, here, a batch at a time."""
    return arrow.from_batches(dataset.iter_batches(batch_format="pyarrow", batch_size=1000))
