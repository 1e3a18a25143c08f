"""Piles of conversations: Chat lines to Parquet to Anthropic lines, against pyarrow and orjson that
do the same with the same bytes and understand nothing of them."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from io import BytesIO
from itertools import islice
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

import interlingua as il
from bench import workloads
from bench.measure import ROOT, Row, compare, shown
from interlingua.adapt import formats
from interlingua.bulk import arrow
from interlingua.bulk.convert import Job, few_collections
from interlingua.bulk.run import convert_files

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
    steps = workloads.steps(random.Random(number), thinking=800, result=4000)
    length = LENGTHS[number % len(LENGTHS)]
    return workloads.encoded(workloads.chat_request(islice(steps, length)))


def through_parquet(lines: Lines) -> list[bytes]:
    """Chat in, canonical in the file, Anthropic out."""
    chat = il.dialect("openai-chat")
    requests = (chat.read_request(line) for line in lines)
    file = _written(arrow.to_batches(requests, trusted=True), arrow.SCHEMA)
    back = arrow.from_batches(pq.ParquetFile(file).iter_batches())
    return [formats.write(each, "anthropic", "openai-chat").json() for each in back]


def bare(lines: Lines) -> list[bytes]:
    """The same bytes as the rows that pyarrow makes of them by itself."""
    table = pa.Table.from_pylist([orjson.loads(line) for line in lines])
    file = _written(table.to_batches(), table.schema)
    return [
        orjson.dumps(row)
        for batch in pq.ParquetFile(file).iter_batches()
        for row in batch.to_pylist()
    ]


def _written(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> BytesIO:
    file = BytesIO()
    with pq.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    file.seek(0)
    return file


# Files


ROWS = {True: 12_000, False: 30_000}
"""Rows of the file that is converted with one core and with two, by whether it has to be quick."""
CORES = 1 / 1.8
GROWTH = {True: (2_000, 20_000), False: (10_000, 300_000)}
"""Rows of a small file and of a large one, whose conversion takes no more memory."""
MEMORY = 1.1


def write_lines(path: Path, count: int) -> None:
    """So many short conversations."""
    each = [_line(number) for number in range(0, 300, 3)]
    with path.open("wb") as file:
        for number in range(count):
            file.write(each[number % len(each)] + b"\n")


def converted(path: Path, output: Path, jobs: int) -> None:
    convert_files([path], output, Job("anthropic", "openai-chat"), jobs=jobs)


def _cores(quick: bool) -> Row:
    """How long the longest of two workers is busy, and the process that gives them their parts,
    beside one process that does it all. It is CPU time: a machine that others use as well gives two
    processes no more time than one."""
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        write_lines(path, ROWS[quick])
        one, _ = _busy(lambda: converted(path, output, 1))
        own, workers = _busy(lambda: converted(path, output, 2))
    rate = f"{ROWS[quick] / (own + workers / 2):,.0f} rows/s"
    return Row(f"two cores beside one, {rate}", shown(one), (own + workers / 2) / one, CORES)


def _busy(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds of CPU time of this process and of its children, which are done by then."""
    before = _cpu()
    work()
    after = _cpu()
    return after[0] - before[0], after[1] - before[1]


def _cpu() -> tuple[float, float]:
    collected = [resource.getrusage(who) for who in (_OWN, _WORKERS)]
    own, workers = (each.ru_utime + each.ru_stime for each in collected)
    return own, workers


def _memory(quick: bool) -> Row:
    small, large = GROWTH[quick]
    peaks = [_peak(count) for count in (small, large)]
    result = f"{peaks[0] / 2**20:.0f} MiB, {small:,} rows"
    return Row(f"memory of {large:,} rows", result, peaks[1] / peaks[0], MEMORY)


def _peak(count: int) -> int:
    """The most memory of a fresh process and of the largest of its two workers, together."""
    program = "import sys; from bench import bulk; bulk.child(int(sys.argv[1]))"
    run = subprocess.run(
        [sys.executable, "-c", program, str(count)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(run.stdout)


def child(count: int) -> None:
    """The other side of `_peak`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "in.jsonl"
        write_lines(path, count)
        converted(path, Path(folder) / "out.jsonl", 2)
    used = [resource.getrusage(who).ru_maxrss for who in (_OWN, _WORKERS)]
    print(sum(used) * (1 if sys.platform == "darwin" else 1024))


_OWN, _WORKERS = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN


def rows(quick: bool) -> Iterator[Row]:
    many = lines()
    with few_collections():
        timing = compare(lambda: through_parquet(many), lambda: bare(many), 7 if quick else 21)
    rate = f"{len(many) / timing.candidate:,.0f} rows/s"
    name = f"Chat to Parquet to Anthropic, {rate}"
    yield Row(name, shown(timing.floor), timing.ratio, THROUGHPUT)
    yield _cores(quick)
    yield _memory(quick)
