"""Our connections build on parts of uvicorn that are its own, so its versions are pinned to those
that have them. `make uvicorn` runs the connections' tests with both ends of that range."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

ROOT = Path(__file__).parents[3]


def test_uvicorn_has_the_parts_that_our_connections_use() -> None:
    for name in ("_start_asgi_task", "_unset_keepalive_if_required", "on_response_complete"):
        assert callable(getattr(HttpToolsProtocol, name, None)), name
    assert list(inspect.signature(HttpToolsProtocol._start_asgi_task).parameters) == [
        *("self", "cycle", "app")
    ]
    source = inspect.getsource(RequestResponseCycle)
    for name in ("more_body", "waiting_for_100_continue", "message_event", "on_response", "flow"):
        assert f"self.{name}" in source, name


def test_the_ends_of_the_range_are_those_that_make_uvicorn_tries() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["optional-dependencies"]["gateway"]
    assert "uvicorn>=0.53,<0.55" in wanted
    tried = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "UVICORN_ENDS = 0.53.0 0.54.0" in tried
