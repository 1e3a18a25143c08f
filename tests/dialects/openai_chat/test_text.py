"""Text, what it cites, thinking among it, and cache breakpoints."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.model.blocks import Cache, Citation, TextBlock, ThinkingBlock
from interlingua.model.metadata import StopReason
from tests.dialects.openai_chat.parts import part_of, said
from tests.dialects.openai_chat.wires import (
    assistant,
    body,
    first,
    losses,
    made,
    read,
    text,
    user,
    write_answer,
)

MARK = {"mode": "explicit"}


def test_thinking_chunks_stay_among_the_text() -> None:
    thinking = {"type": "thinking", "thinking": [text("Hm.")], "closed": True, "signature": "s"}
    message = first(assistant([thinking, text("144")]))
    assert message.content == (ThinkingBlock("Hm.", "s"), TextBlock("144"))
    assert message.reasoning == "Hm."


@pytest.mark.parametrize(
    "inner",
    [
        "Hm.",
        [],
        [text("Hm"), text(".")],
        [text("Hm."), {"type": "reference", "reference_ids": [1]}],
    ],
)
def test_thinking_chunks_of_every_shape_go_home(inner: Any) -> None:
    message = first(assistant([{"type": "thinking", "thinking": inner}, text("144")]))
    assert message.reasoning in ("Hm.", "")


def test_references_are_citations_of_documents_by_number() -> None:
    part = {"type": "reference", "reference_ids": [0, 2]}
    block = first(assistant([text("Paris."), part])).content[1]
    assert block == TextBlock(
        "", citations=(Citation(document_index=0), Citation(document_index=2))
    )


@pytest.mark.requirement("P38")
def test_a_breakpoint_on_any_part() -> None:
    assert part_of(text("a", prompt_cache_breakpoint=MARK)) == TextBlock("a", cache=Cache())
    timed = text("a", prompt_cache_breakpoint={"mode": "explicit", "ttl": "12h"})
    assert part_of(timed) == TextBlock("a", cache=Cache("12h"))
    assert said(TextBlock("a", cache=Cache("12h"))) == ([timed], [])


def test_times_that_no_cache_has_are_approximated() -> None:
    content, lost = said(TextBlock("a", cache=Cache("5m")))
    assert content[0]["prompt_cache_breakpoint"] == {"mode": "explicit", "ttl": "30m"}
    assert lost == [("approximated", "$.messages[0].content[0].cache.ttl")]


@pytest.mark.parametrize(
    "marks",
    [
        {"cache_control": {"type": "ephemeral"}},
        {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"cache_control": {"type": "ephemeral"}, "prompt_cache_breakpoint": MARK},
        {"cache_control": {"type": "ephemeral", "ttl": "5m"}, "prompt_cache_breakpoint": MARK},
        {"prompt_cache_breakpoint": {"mode": "implicit", "ttl": None}},
    ],
)
def test_marks_of_every_spelling_go_home(marks: dict[str, Any]) -> None:
    assert isinstance(part_of(text("a", **marks)).cache, Cache)


def test_an_edited_time_is_written_in_the_spelling_that_was_read() -> None:
    block = part_of(text("a", cache_control={"type": "ephemeral"}))
    content, lost = said(block.replace(cache=Cache("1h")))
    assert content == [text("a", cache_control={"type": "ephemeral", "ttl": "1h"})]
    assert lost == []


def test_a_mark_beside_the_content_stands_for_one_after_its_last_block() -> None:
    request = read(body(user("a", cache_control={"type": "ephemeral"})))
    assert request.messages[0].content == (TextBlock("a", cache=Cache()),)


def test_responses_have_no_cache_marks() -> None:
    wire, report = write_answer(
        made(TextBlock("a", cache=Cache()), stop_reason=StopReason.END_TURN)
    )
    assert wire["choices"][0]["message"]["content"] == "a"
    assert losses(report) == [("dropped", "$.message.content[0].cache")]
