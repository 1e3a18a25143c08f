"""What the engines are given in tests: bodies as rows, and what must come out."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import interlingua as il
from interlingua.bulk import arrow
from interlingua.bulk.engines import Convert
from tests.bulk.rows import body

COUNT = 30
BAD = 7
"""The row that cannot be read."""
TO_ANTHROPIC = Convert("anthropic", "openai-chat", column="body")


def bodies() -> pa.Table:
    texts = [json.dumps(body(number)) for number in range(COUNT)]
    texts[BAD] = "{broken"
    return pa.table({"number": list(range(COUNT)), "body": texts})


def requests() -> list[il.Request]:
    read = il.dialect("openai-chat").read_request
    return [read(body(number)) for number in range(COUNT)]


def conversations() -> pa.Table:
    return pa.Table.from_batches(arrow.to_batches(requests()), arrow.SCHEMA)


def require_converted(rows: list[dict[str, Any]]) -> None:
    """Rows with `number` and a result, in any order."""
    assert sorted(row["number"] for row in rows) == list(range(COUNT))
    for row in rows:
        if row["number"] == BAD:
            assert row["wire"] is None
            assert "JSON" in row["error"]
            continue
        result = il.convert(body(row["number"]), "openai-chat", "anthropic")
        assert json.loads(row["wire"]) == result.wire
        assert [loss["reason"] for loss in row["losses"]] == [
            each.reason for each in result.report.entries
        ]
        assert row["error"] is None


def require_same(values: list[Any]) -> None:
    assert sorted(map(il.dumps, values)) == sorted(map(il.dumps, requests()))
