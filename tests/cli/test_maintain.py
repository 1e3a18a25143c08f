"""`interlingua maintain` deletes what is old enough at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from interlingua.events.event import NO_SESSION
from interlingua.model.ids import first_ulid
from interlingua.store.open import open_store
from interlingua.store.requests import RequestRow
from interlingua.store.rows import EventRow
from tests.cli.running import ok, run


def filled(path: Path) -> str:
    at = datetime.now(UTC) - timedelta(days=40)
    ids = [first_ulid(int(at.timestamp() * 1000) + number) for number in range(3)]
    events = [EventRow(id, NO_SESSION, "llm.call_failed", at, "agent", "private", {}) for id in ids]
    with open_store(str(path)) as store:
        rows = [RequestRow(f"req_{id}", at, "openai-chat", 200, 1) for id in ids]
        store.append_requests(rows, events)
    return str(path)


def test_ages_of_the_settings_are_used_and_the_trace_says_what_went(tmp_path: Path) -> None:
    address = filled(tmp_path / "s.db")
    content = run("maintain", "--store", address).stderr
    assert content.startswith("deleted 0 requests, 0 loss reports, 2 events, 0 stored answers; ")
    with open_store(address) as store:
        [swept] = store.events(NO_SESSION, types=["trace.swept"])
        assert swept.payload["deleted"] == 2


def test_ages_can_be_given(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    config.write_text("[retention]\nevents = 0\n")
    address = filled(tmp_path / "s.db")
    more = ("--requests", "30", "--config", str(config), "--vacuum", "--json")
    done = json.loads(ok("maintain", "--store", address, *more))
    assert (done["requests"], done["events"]) == (2, 0)
