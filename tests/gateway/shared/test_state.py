"""What came in and what was decided are values; what came back is the one thing written to."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
from msgspec.structs import replace

import interlingua.gateway
from interlingua.gateway.relay.inbound import Envelope, Inbound
from interlingua.gateway.shared import bodies
from interlingua.gateway.shared.state import Arrival, Decision, Exchange, Principal, Recall
from interlingua.model.exchange import Request

HOME = Path(interlingua.gateway.__file__).parent
_RELAY = (
    "app",
    "continued",
    "counting",
    "deciding",
    "single",
    "embedding",
    "inbound",
    "replaced",
    "sending",
)


def test_nobody_can_write_to_what_came_in_or_to_what_was_decided() -> None:
    recall = Recall(Request(), None, ())
    for value in (Arrival("req_1", "anthropic"), Decision(), Principal(), Envelope(), recall):
        for name in inspect.signature(type(value)).parameters:
            with pytest.raises(AttributeError):
                setattr(value, name, None)
    assert issubclass(Inbound, tuple)


def test_an_exchange_is_those_two_and_an_outcome() -> None:
    assert Exchange.__struct_fields__ == ("arrival", "decision", "outcome")


def test_a_request_that_is_known_better_is_another_arrival() -> None:
    first = Arrival("req_1", "anthropic", action="generate")
    who = Principal("gk_1")
    last = replace(first.by(who), client_model="m", stream=True)
    assert (first.principal, first.client_model, first.stream) == (Principal(), None, False)
    assert (last.principal, last.client_model, last.stream) == (who, "m", True)
    assert (last.id, last.at, last.began) == (first.id, first.at, first.began)


def test_an_exchange_is_given_another_arrival_or_decision_in_few_places() -> None:
    """The request's own way, that of what is passed on, compaction, which makes requests of its
    own, the meter of sessions, and the trace, which adds places to the report: who else wants to
    know asks for a part."""
    places: set[str] = set()
    for path in HOME.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = {each.attr for each in targets if isinstance(each, ast.Attribute)}
            if names & {"arrival", "decision"}:
                places.add(path.relative_to(HOME).as_posix())
    relay = {f"relay/{name}.py" for name in _RELAY}
    own = {"compaction/compactor.py", "compaction/clearing.py", "sessions/metered_client.py"}
    trace = {"telemetry/places.py", "telemetry/trace.py"}
    assert places == relay | own | trace | {
        "responses/websocket.py",
        "paths/files.py",
        "paths/passing.py",
    }


@pytest.mark.parametrize("has_library", [True, False])
@pytest.mark.parametrize("size", [0, 10, 4090, 4096, 100_000])
def test_a_word_is_found_wherever_it_is_in_a_body(
    size: int, has_library: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_library:
        monkeypatch.setattr(bodies, "_memmem", None)
    word = b"file_id"
    assert not bodies.contains(b"\0file_i" * (size // 7), word)
    for before in {size, max(size - 3, 0), max(size - 7, 0)}:
        for behind in (0, 1, 5000):
            assert bodies.contains(b"\0" * before + word + b"f" * behind, word), (before, behind)
