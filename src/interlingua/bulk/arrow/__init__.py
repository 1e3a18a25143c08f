"""Conversations as Arrow tables and Parquet files, whole and exact.

    from interlingua import arrow

    pq.write_table(pa.Table.from_batches(arrow.to_batches(requests), arrow.SCHEMA), "c.parquet")
    requests = list(arrow.from_batches(pq.read_table("c.parquet")))

Two shapes: `conversations` (`SCHEMA`, one row each, read back as they were) and `blocks` (`BLOCKS`,
one row per block, for SQL). Needs the extra `arrow`.
"""

from __future__ import annotations

from interlingua.bulk.arrow.schema import BLOCKS, LOSSES, SCHEMA, SCHEMAS, VERSION, Shape, with_json  # isort: skip  # says which extra is missing
from interlingua.bulk.arrow.parts import Conversation, StoredSession, sessions_in
from interlingua.bulk.arrow.read import from_batches, losses_of
from interlingua.bulk.arrow.write import to_batches

__all__ = [
    "BLOCKS",
    "LOSSES",
    "SCHEMA",
    "SCHEMAS",
    "VERSION",
    "Conversation",
    "Shape",
    "StoredSession",
    "from_batches",
    "losses_of",
    "sessions_in",
    "to_batches",
    "with_json",
]
