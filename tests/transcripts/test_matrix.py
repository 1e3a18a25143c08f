"""What does not survive between two formats is told."""

from __future__ import annotations

import pytest

from interlingua.transcripts import format_of
from tools.transcript_pages import PROBES, fate, own_fate, report_of, writable

FACTS = {
    "session's id": "id",
    "title": "title",
    "folder": "folder",
    "definitions of tools": "tools",
}
BESIDE = ("times", "ids of messages", "why answers ended")
"""What every message has: where it is only kept beside, that is not told for each."""


@pytest.mark.parametrize("source", writable())
def test_what_another_format_cannot_say_is_in_the_report(source: str) -> None:
    for target in writable():
        for probe in PROBES if target != source else ():
            found = fate(probe, source, target)
            if found in ("-", "shown") or (found == "kept" and probe.name in (*BESIDE, *FACTS)):
                continue
            report = report_of(probe, source, target)
            if FACTS.get(probe.name, "id") == "id":
                assert report.entries or probe.name in FACTS, f"{probe.name} to {target}"
            else:
                paths = [loss.path for loss in report.entries]
                assert f"$.{FACTS[probe.name]}" in paths, f"{probe.name} to {target}"


@pytest.mark.parametrize("name", writable())
def test_a_format_names_the_facts_that_it_has_no_place_for(name: str) -> None:
    lost = {
        FACTS[probe.name]
        for probe in PROBES
        if probe.name in FACTS and own_fate(probe, name) == "lost"
    }
    assert lost - {"id"} == set(format_of(name).unsupported_fields) - {"id"}


def test_prompts_answers_and_calls_arrive_everywhere() -> None:
    for probe in PROBES:
        if probe.name in ("prompts", "answers", "calls"):
            for source in writable():
                others = [target for target in writable() if target != source]
                assert {fate(probe, source, target) for target in others} == {"shown"}
