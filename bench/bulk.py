"""Piles of conversations: Chat lines to Parquet to Anthropic lines, against pyarrow and orjson that
do the same with the same bytes and understand nothing of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from io import BytesIO
from itertools import islice

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

import interlingua as il
from bench import workloads
from bench.measure import Row, compare, shown
from interlingua import arrow, formats

THROUGHPUT = 2.5
CONVERSATIONS = 300
LENGTHS = (4, 12, 30)
"""Messages of a conversation, in turns."""
Lines = Sequence[bytes]


@cache
def lines(count: int = CONVERSATIONS) -> Lines:
    """Chat requests of an agent, one a line, no two the same."""
    return [_line(number) for number in range(count)]


def _line(number: int) -> bytes:
    steps = workloads.steps(random.Random(number), thinking=800, result=2000)
    length = LENGTHS[number % len(LENGTHS)]
    return workloads.encoded(workloads.chat_request(islice(steps, length)))


def through_parquet(lines: Lines) -> list[bytes]:
    """Chat in, canonical in the file, Anthropic out."""
    chat = il.dialect("openai-chat")
    requests = (chat.read_request(line) for line in lines)
    file = _written(arrow.to_batches(requests, trusted=True), arrow.SCHEMA)
    back = arrow.from_batches(pq.ParquetFile(file).iter_batches())
    return [formats.write(each, "anthropic", "openai-chat").json() for each in back]


_WIRE = pa.schema([("wire", pa.string())])


def bare(lines: Lines) -> list[bytes]:
    """The same bytes as JSON in one column."""
    texts = [orjson.dumps(orjson.loads(line)) for line in lines]
    file = _written([pa.record_batch([pa.array(texts, pa.string())], schema=_WIRE)], _WIRE)
    return [
        orjson.dumps(orjson.loads(text))
        for batch in pq.ParquetFile(file).iter_batches()
        for text in batch.column(0).cast(pa.binary()).to_pylist()
    ]


def _written(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> BytesIO:
    file = BytesIO()
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    file.seek(0)
    return file


def rows(quick: bool) -> Iterator[Row]:
    many = lines()
    timing = compare(lambda: through_parquet(many), lambda: bare(many), 5 if quick else 11)
    rate = f"{len(many) / timing.candidate:,.0f} rows/s"
    yield Row(
        f"Chat to Parquet to Anthropic, {rate}", shown(timing.floor), timing.ratio, THROUGHPUT
    )
