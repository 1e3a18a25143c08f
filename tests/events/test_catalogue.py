"""The list of types is closed, complete, and does not meet the names of the live stream."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

import interlingua as il
from interlingua.events import CATALOGUE, EventType, Sensitivity
from interlingua.events.catalogue import ALIASES, TYPES
from interlingua.events.payloads import TraceSwept
from tests.events.kinds import fields_of
from tools import event_pages

DOMAINS = (
    *("session", "turn", "llm", "tool", "route", "skill", "memory", "delegate", "feedback", "bus"),
    *("pattern", "provider", "eval", "routing", "gateway", "quota", "trace"),
)
"""What a type may begin with. `skill`, `memory` and `eval` are reserved and have no types yet."""

LIVE_PREFIXES = ("message.", "text.", "thinking.", "tool.use_")
"""These names belong to the live stream, whose events are not stored."""

EVERY_TYPE = """
session.created session.resumed session.ended turn.started turn.completed turn.cancelled
llm.call_started llm.call_completed llm.call_failed
tool.called tool.completed tool.failed tool.input_invalid
tool.confirmation_requested tool.confirmation_resolved
route.decided route.overridden routing.policy_invalid routing.provider_unavailable
routing.provider_recovered routing.constraint_failure
pattern.recorded pattern.matched pattern.evicted pattern.override_dismissed
delegate.started delegate.completed delegate.failed feedback.explicit feedback.implicit
bus.subscriber_registered bus.subscriber_unregistered bus.gap_detected provider.degraded
gateway.key_issued gateway.key_revoked gateway.key_rotated gateway.auth_failed
gateway.quota_exceeded quota.alert trace.swept
"""


def problems_of(types: Iterable[EventType]) -> list[str]:
    """What is wrong with a list of types."""
    problems: list[str] = []
    seen: set[str] = set()
    for each in types:
        if each.name in seen:
            problems.append(f"{each.name} is listed twice")
        seen.add(each.name)
        if each.name.startswith(LIVE_PREFIXES):
            problems.append(f"{each.name} has a prefix of the live stream")
        domain, dot, rest = each.name.partition(".")
        if domain not in DOMAINS or not dot or not rest:
            problems.append(f"{each.name} is in none of the domains {', '.join(DOMAINS)}")
    return problems


def test_the_catalogue_has_these_types_and_no_others() -> None:
    assert sorted(CATALOGUE) == sorted(EVERY_TYPE.split())


def test_the_catalogue_breaks_none_of_its_own_rules() -> None:
    assert problems_of(TYPES) == []
    assert len({each.payload for each in TYPES}) == len(TYPES)
    assert set(ALIASES.values()) <= set(CATALOGUE)


@pytest.mark.parametrize("prefix", LIVE_PREFIXES)
def test_a_type_that_begins_like_the_live_stream_is_found(prefix: str) -> None:
    problems = problems_of([EventType(prefix + "x", TraceSwept, "")])
    assert any("live stream" in problem for problem in problems)


def test_a_type_outside_the_domains_or_twice_is_found() -> None:
    assert "none of the domains" in problems_of([EventType("weather.changed", TraceSwept, "")])[0]
    assert "none of the domains" in problems_of([EventType("turn.", TraceSwept, "")])[0]
    assert "twice" in problems_of([TYPES[0], TYPES[0]])[0]
    assert {each.name.split(".")[0] for each in TYPES} | {"skill", "memory", "eval"} == set(DOMAINS)


def test_a_new_type_is_private_until_somebody_decides_otherwise() -> None:
    assert EventType("turn.new", TraceSwept, "").floor is Sensitivity.PRIVATE


def test_types_with_paths_commands_or_redacted_text_are_private() -> None:
    for name, each in CATALOGUE.items():
        sensitive = {"workspace_path", "path", "command", "files_modified"}
        redacted = any(field.startswith("redacted_") for field in fields_of(name))
        if redacted or fields_of(name) & sensitive:
            assert each.floor is Sensitivity.PRIVATE, name


@pytest.mark.requirement("S002-28")
def test_dropped_blocks_full_queues_and_failing_handlers_have_no_type(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = ("drop", "overflow", "full", "handler", "lossy", "loss", "block")
    assert not [name for name in CATALOGUE if any(word in name for word in words)]
    caplog.set_level(logging.WARNING)
    request = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "hello"},
                ],
            },
            {"role": "user", "content": "go on"},
        ],
    }
    il.convert(request, source="anthropic", target="openai-chat", kind="request")
    assert [record.levelno for record in caplog.records].count(logging.WARNING) == 1


@pytest.mark.requirement("S002-55")
def test_the_documents_spelling_of_invalid_tool_input_means_the_catalogues() -> None:
    assert ALIASES["tool_input_invalid"] in CATALOGUE


def test_the_printed_page_is_what_the_catalogue_says() -> None:
    page = Path(__file__).parents[2] / "docs" / "events.md"
    text = page.read_text(encoding="utf-8")
    assert event_pages.table() in text, "make docs"


def test_the_program_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).parents[2] / "docs" / "events.md"
    (code,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, "events.md", "exec"), {})
    assert capsys.readouterr().out == "session.resumed s1\n"
