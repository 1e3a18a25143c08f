"""`python -m bench.engines`: the same function with one worker and with two, on Ray, and on Daft
over Ray, with as many local nodes; beside it a job of Arrow's own functions alone, which shows what
the engine and the machine give. Needs the engines (`make engines` installs them)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import workloads
from bench.measure import ROOT
from interlingua.bulk.engines import RESULT, Convert

ROWS = 12_000
FILES = 8
ROUNDS = 3


class ArrowAlone(Convert):
    """As long a job on the same rows, in Arrow's own code: no Python runs for a row."""

    def texts(self, bodies: Any) -> pa.StructArray:
        for _ in range(2):
            found = pc.count_substring_regex(bodies, "[aeiou][^aeiou]{1,3}[aeiou]")
        empty = [pa.nulls(len(bodies), field.type) for field in RESULT[1:]]
        return pa.StructArray.from_arrays([found.cast(pa.string()), *empty], fields=list(RESULT))

    def __call__(self, table: Any) -> pa.Table:
        made = self.texts(table.column(self.column).combine_chunks())
        return pa.table([table.column("number"), *made.flatten()], self.schema(table.schema))


JOBS = {
    "conversion": Convert("anthropic", "openai-chat", column="body"),
    "Arrow alone": ArrowAlone("anthropic", "openai-chat", column="body"),
}


def write_bodies(folder: Path) -> None:
    """Rows in several files, as much as two workers need to have their hands full."""
    line = workloads.encoded(workloads.chat_request(workloads.transcript(8))).decode()
    for number in range(FILES):
        rows = pa.table({"number": list(range(ROWS // FILES)), "body": [line] * (ROWS // FILES)})
        pq.write_table(rows, folder / f"{number}.parquet", row_group_size=100)


def with_ray(folder: Path, workers: int, convert: Convert) -> Callable[[], int]:
    import ray

    from interlingua.bulk.engines import ray_data

    _cluster(workers)
    value = ray.data.read_parquet(str(folder)).repartition(FILES * 4).materialize()
    return lambda: ray_data.mapped(value, convert, num_cpus=1).materialize().count()


def with_daft(folder: Path, workers: int, convert: Convert) -> Callable[[], int]:
    import daft

    from interlingua.bulk.engines import daft as adapter

    daft.set_runner_ray(_cluster(workers))
    value = daft.read_parquet(f"{folder}/*.parquet").into_partitions(FILES).collect()
    return lambda: len(adapter.mapped(value, convert).select("error").collect())


def _cluster(nodes: int) -> str:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    for _ in range(nodes - 1):
        cluster.add_node(num_cpus=1)
    variables = {"PYTHONPATH": ":".join([str(ROOT), str(ROOT / "src"), *sys.path])}
    ray.init(cluster.address, runtime_env={"env_vars": variables}, log_to_driver=False)
    return str(cluster.address)


ENGINES: dict[str, Callable[[Path, int, Convert], Callable[[], int]]] = {
    "ray": with_ray,
    "daft": with_daft,
}


def measured(engine: str, workers: int, job_name: str) -> None:
    """In a process of its own: the best of some rounds, after one to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        write_bodies(Path(folder))
        job = ENGINES[engine](Path(folder), workers, JOBS[job_name])
        job()
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            assert job() == ROWS
            times.append(time.perf_counter() - start)
    print(f"seconds {min(times)}", flush=True)


def main(arguments: list[str]) -> None:
    if len(arguments) == 3:
        measured(arguments[0], int(arguments[1]), arguments[2])
        return
    for engine in arguments or ENGINES:
        for name in JOBS:
            one, two = (_seconds(engine, workers, name) for workers in (1, 2))
            rates = f"{ROWS / one:,.0f} rows/s with one worker, {ROWS / two:,.0f} with two"
            print(f"{engine}, {name}: {rates}: {one / two:.2f} times", flush=True)


def _seconds(engine: str, workers: int, name: str) -> float:
    command: list[Any] = [sys.executable, "-m", "bench.engines", engine, str(workers), name]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("seconds ")]
    if not lines:  # a cluster may end with an error when all is done
        raise RuntimeError(run.stderr[-2000:])
    return float(lines[0].split()[1])


if __name__ == "__main__":
    main(sys.argv[1:])
