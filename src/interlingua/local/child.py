"""The process in which the model runs: `python -m interlingua.local.child`.

It is a process of its own so that a crash in native code does not affect the caller. Settings come
as one line of JSON on stdin; one line of JSON on stdout has the address, or the error.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from importlib import import_module, resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from interlingua.local.front import Front
from interlingua.local.model import (
    CONTEXT,
    INSTRUCTIONS,
    NAME,
    PENALISED_TOKENS,
    USUAL_FREQUENCY_PENALTY,
    USUAL_OUTPUT,
    USUAL_TEMPERATURE,
    USUAL_TOP_P,
)

_MOST_THREADS = 4
_STEP = 0.1


def main() -> int:
    settings = json.loads(sys.stdin.readline())
    out = os.dup(1)
    os.dup2(2, 1)  # nothing else may write to where the one line is expected
    try:
        model, address, key = _load(settings["weights"])
    except Exception as problem:  # the edge of the process: what is left is to report it
        _reply(out, {"error": f"{type(problem).__name__}: {problem}"[:500]})
        return 1
    front = Front(address, key, settings["key"], model)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    _reply(out, {"port": front.server_address[1], "pid": os.getpid()})
    while not front.is_over():
        time.sleep(_STEP)
    _forget(Path(settings["note"]))
    os._exit(0)  # no reader is left; the native threads need no clean-up


def _load(weights: str) -> tuple[Any, tuple[str, int], str]:
    xllamacpp = import_module("xllamacpp")
    key = secrets.token_urlsafe(24)
    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.cors_origins = ""
    params.ui = False
    params.endpoint_slots = False
    params.offline = True
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_predict = USUAL_OUTPUT
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.sampling.temp = USUAL_TEMPERATURE
    params.sampling.top_p = USUAL_TOP_P
    params.sampling.penalty_freq = USUAL_FREQUENCY_PENALTY
    params.sampling.penalty_last_n = PENALISED_TOKENS
    params.warmup = False
    params.verbosity = 1
    params.sse_ping_interval = -1
    params.cpuparams.n_threads = _threads()
    params.chat_template = template()
    server = xllamacpp.Server(params)
    address = urlsplit(server.listening_address)
    return server, (str(address.hostname), int(address.port or 0)), key


def template() -> str:
    """The template that renders conversations for the model."""
    file = resources.files(__package__).joinpath("data", "template.jinja")
    return file.read_text("utf-8").replace("@INSTRUCTIONS@", INSTRUCTIONS)


def _threads() -> int:
    """All cores but one. Threads wait for each other at every step, so if another program takes one
    core, all wait (two threads on two busy cores: 2 tokens a second, one thread: 30)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, min(_MOST_THREADS, (cores or 1) - 1))


def _reply(out: int, line: dict[str, Any]) -> None:
    try:
        os.write(out, json.dumps(line).encode() + b"\n")
    except OSError:  # the parent is gone; the missing lease will end this process
        pass
    finally:
        os.close(out)


def _forget(note: Path) -> None:
    """Takes our note away, unless another server has left its own there."""
    try:
        if json.loads(note.read_text())["pid"] == os.getpid():
            note.unlink()
    except (OSError, ValueError, KeyError):
        pass


if __name__ == "__main__":
    sys.exit(main())
