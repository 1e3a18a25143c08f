"""The laws of streams: over generated answers, and over recorded streams where they are there.

All recorded streams go home and fold in `test_laws`; with all laws they are `make laws`, all cuts
`python -m tests.laws.cuts`; here it is a part of them.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings

import interlingua as il
from interlingua.model.events import MessageComplete
from interlingua.streams.fold import fold
from interlingua.streams.frames import Frame
from tests.effort import examples
from tests.laws import cuts, run, strategies, streams
from tests.laws.corpus import corpus_or_skip

DIALECTS = il.dialects()
PAIRS = list(permutations(DIALECTS, 2))
LATE = frozenset({"gemini", "openai-chat", "openrouter"})
"""Dialects that say what a text rests on after everything else."""


def in_its_order(response: il.Response, name: str) -> il.Response:
    """A generated answer as this dialect says it whole: a provider streams in that order."""
    dialect = il.dialect(name)
    told = il.retell(response, dialect).value
    return dialect.read_response(dialect.write_response(told).json())


def streamed(response: il.Response, name: str) -> list[Frame]:
    return streams.write(il.dialect(name), il.unfold(in_its_order(response, name)))


# To make an answer up takes longer than to judge it: each is judged by every dialect.


@given(response=strategies.responses())
@settings(max_examples=examples(30))
def test_to_translate_a_stream_and_fold_is_to_fold_and_translate(response: il.Response) -> None:
    told = {name: streamed(response, name) for name in DIALECTS}
    for source, target in PAIRS:
        assert streams.square(source, target, told[source]) == [], (source, target)


CALL = il.ToolUseBlock("call_2", "read_file", {})
PATCH = il.ToolUseBlock("call_1", "apply_patch", {"input": "x"}, call_type="custom")
SIGNED = il.ThinkingBlock("t", "c2ln", "rs_1")
IMAGE = il.ImageBlock(il.Source("base64", "AAAA"), "image/png")
AUDIO = il.AudioBlock(il.Source("base64", "AAAA"), "audio/wav", transcript="hi")


def told(*content: il.Block) -> il.Response:
    metadata = il.MessageMetadata(stop_reason=il.StopReason.TOOL_USE, usage=il.Usage(1, 2))
    return il.Response(il.Message.assistant(content, metadata))


def written(name: str, *content: il.Block) -> list[Frame]:
    """The blocks as they stand, in the order in which they come."""
    return streams.write(il.dialect(name), il.unfold(il.retell(told(*content), name).value))


def test_a_call_of_free_text_keeps_its_place() -> None:
    frames = written("openai-chat", PATCH, CALL)
    assert streams.square("openai-chat", "openrouter", frames) == []


def test_thoughts_of_one_item_stay_one_item() -> None:
    frames = written("openrouter", SIGNED, SIGNED, il.TextBlock("a"))
    assert streams.square("openrouter", "openai-responses", frames) == []


def test_thoughts_around_a_call_are_one_text_for_ollama() -> None:
    thoughts = il.ThinkingBlock("t"), il.ThinkingBlock("u")
    frames = written("anthropic", thoughts[0], CALL, thoughts[1])
    assert streams.square("anthropic", "ollama", frames) == []


def test_commentary_that_no_call_follows_is_written_before_the_answer() -> None:
    blocks = il.TextBlock("I look.", phase="commentary"), il.TextBlock("4", phase="final_answer")
    frames = written("openai-responses", *blocks)
    assert streams.square("openai-responses", "cohere", frames) == []


def test_a_citation_that_stands_twice_is_written_twice() -> None:
    cited = il.Citation("a", title="t")
    frames = written("gemini", il.TextBlock("a b", citations=(cited, cited)), il.TextBlock("c"))
    assert streams.square("gemini", "cohere", frames) == []


def test_calls_get_ids_that_the_client_takes_whoever_signed_the_thinking() -> None:
    frames = streams.write(
        il.dialect("openai-chat"),
        il.unfold(told(il.ThinkingBlock("t", "c2ln"), CALL.replace(id="call|1"))),
    )
    assert any("thinking_blocks" in frame.data for frame in frames)
    assert streams.square("openai-chat", "anthropic", frames) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("openai-chat", (AUDIO, CALL)),
        ("openrouter", (AUDIO, CALL)),
        ("openrouter", (il.TextBlock("a"), IMAGE, CALL)),
    ],
)
def test_what_comes_late_stands_where_the_whole_answer_has_it(
    name: str, content: tuple[il.Block, ...]
) -> None:
    assert streams.folds(il.dialect(name), written(name, *content)) == []


@given(response=strategies.responses())
@settings(max_examples=examples(60))
def test_the_same_answer_streamed_and_whole_agree(response: il.Response) -> None:
    for name in DIALECTS:
        _agree_streamed_and_whole(name, response)


def _agree_streamed_and_whole(name: str, response: il.Response) -> None:
    dialect = il.dialect(name)
    told = il.retell(response, dialect).value
    # which model was asked for is nothing that a stream knows
    metadata = told.message.metadata.replace(model=None)
    told = told.replace(message=told.message.replace(metadata=metadata))
    writer = dialect.stream_writer()
    frames = [frame for event in il.unfold(told) for frame in writer.feed(event)]
    frames += writer.close()
    written = dialect.write_response(told)
    whole = dialect.read_response(written.json())
    content, lost = (
        [(loss.kind, loss.path) for loss in r]
        for r in (writer.report.entries, written.report.entries)
    )
    extra = Counter(content) - Counter(lost)
    again = fold(streams.read(dialect, frames))
    assert streams.unlike(again, whole, extra, in_order=name != "ollama") == [], name
    if told.error is None:
        assert not Counter(lost) - Counter(content), name


def cited_last(response: il.Response) -> il.Response:
    """The answer with citations in its last block only: those of others come when they are over,
    and then only the end of the message tells them."""

    def told(message: il.Message) -> il.Message:
        *others, last = message.content or (il.TextBlock(""),)
        plain = [b.replace(citations=()) if isinstance(b, il.TextBlock) else b for b in others]
        return message.replace(content=(*plain, last))

    first, *rest = map(told, (response.message, *response.alternatives))
    return response.replace(message=first, alternatives=tuple(rest))


@given(response=strategies.responses())
@settings(max_examples=examples(60))
def test_a_stream_that_was_written_goes_home_and_folds(response: il.Response) -> None:
    for name in DIALECTS:
        frames = streamed(cited_last(response) if name in LATE else response, name)
        assert streams.home(il.dialect(name), frames) == [], name
        assert streams.folds(il.dialect(name), frames) == [], name


@pytest.mark.parametrize("name", DIALECTS)
def test_a_part_of_the_recorded_streams_is_the_whole_answers_equal_abroad(name: str) -> None:
    corpus_or_skip()
    allowed = run.excepted()
    every = [case for case in run.cases(name) if case.kind == "stream"]
    part = every[:: max(len(every) // 20, 1)]
    failed = [
        f"{case.record} {law}: {found[0]}"
        for case in part
        for law, found in run.examine(case, ["L3"]).problems.items()
        if (case.record, case.kind, law) not in allowed
    ]
    assert part
    assert failed == []


@pytest.mark.parametrize("name", DIALECTS)
def test_a_recorded_stream_that_is_cut_gives_the_same_frames_and_is_never_complete(
    name: str,
) -> None:
    corpus_or_skip()
    every = [each for each in cuts.recorded([name]) if sum(map(len, each[2])) < 200]
    every = every or list(cuts.recorded([name]))
    part = every[:: max(len(every) // 6, 1)]
    outcomes = [cuts.examine(*each, every=7) for each in part]
    assert [f"{each.record}: {each.problems[0]}" for each in outcomes if each.problems] == []
    assert sum(each.cuts for each in outcomes) > 100


def test_a_cut_that_passes_for_the_whole_is_found() -> None:
    """The check itself: a reader that takes any end for a good one is caught."""
    frames = streamed(il.Response(il.Message.assistant("Hello")), "openai-chat")
    assert cuts.examine("openai-chat", "1", frames).problems == []

    class Gullible:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def feed(self, frame: Frame) -> list[Any]:
            self.texts.append(frame.data)
            return []

        def close(self) -> list[Any]:
            return [MessageComplete(il.Response(il.Message.assistant("".join(self.texts))))]

    class Trusting:
        stream_reader = Gullible

    told = cuts.told_after(Trusting(), frames)  # type: ignore[arg-type]  # it has all that is asked
    assert None not in told
    assert told[0] != told[-1]
