"""A coverage-guided fuzzer of the readers: python -m tests.fuzz -runs=100000

Needs atheris, which `make fuzz` installs; its options are those of libFuzzer. The first byte of an
input chooses a dialect and a reader. An error of ours is a proper answer; any other is a find, and
the input is written to a file `crash-…`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["interlingua"]):
    import interlingua as il
    from interlingua.streams.frames import Frame

    HELLO = {"model": "gpt-5", "seed": 7, "messages": [{"role": "user", "content": "Hello."}]}
    SEEDS = [il.convert(HELLO, to=name).json() for name in il.dialects()]
    for name, seed in zip(il.dialects(), SEEDS, strict=True):
        il.dialect(name).read_request(seed, "gpt-5")  # what is loaded later is instrumented too


def frame_reader(name: str) -> Callable[[bytes], object]:
    return lambda data: il.dialect(name).stream_reader().feed(Frame(None, data.decode()))


def request_reader(name: str) -> Callable[[bytes], object]:
    return lambda data: il.dialect(name).read_request(data, "gpt-5")


TARGETS: list[Callable[[bytes], object]] = [
    *[request_reader(name) for name in il.dialects()],
    *[il.dialect(name).read_response for name in il.dialects()],
    *[frame_reader(name) for name in il.dialects()],
    il.loads,
]


def read(data: bytes) -> None:
    if not data:
        return
    with suppress(il.InterlinguaError, UnicodeDecodeError):
        TARGETS[data[0] % len(TARGETS)](data[1:])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for index in range(len(TARGETS)):
            seed = bytes([index]) + SEEDS[index % len(SEEDS)]
            Path(folder, f"seed-{index}").write_bytes(seed)
        atheris.Setup([*sys.argv, folder], read)
        atheris.Fuzz()
