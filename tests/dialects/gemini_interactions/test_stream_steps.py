"""Steps of a stream while their pieces arrive."""

from __future__ import annotations

import interlingua as il
from interlingua.dialects.gemini_interactions import DIALECT
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseInputDelta,
    ToolUseStart,
    UsageUpdate,
)
from tests.dialects import streaming
from tests.dialects.gemini_interactions.streaming import (
    DONE,
    called,
    fold,
    frame,
    read,
    talk,
    thoughts,
    words,
    write,
)


def test_steps_are_told_by_their_pieces() -> None:
    wires = talk(thoughts(0, "Hm."), words(1, "Hel", "lo"), called(2, '{"a":', "1}"))
    kinds = [type(event) for event in read(wires)]
    assert kinds == [
        *(MessageStart, BlockStart, ThinkingDelta, BlockDelta, BlockEnd),
        *(Other, BlockStart, TextDelta, TextDelta, BlockEnd),
        *(ToolUseStart, ToolUseInputDelta, ToolUseInputDelta, ToolUseEnd),
        *(Stop, UsageUpdate, MessageComplete),
    ]


def test_arguments_that_are_no_json_are_kept_and_noted() -> None:
    response = fold(talk(called(0, '{"a": 1'), status="requires_action"))
    (call,) = response.message.tool_calls
    assert (call.input, call.raw_arguments) == ({"a": 1}, '{"a": 1')
    assert [found.type for found in response.message.metadata.diagnostics] == [
        "tool_arguments_recovered"
    ]


def test_an_answer_of_others_is_written_in_steps() -> None:
    content = (
        il.ThinkingBlock("Hm.", "c2ln"),
        il.TextBlock("Grüße", citations=(il.Citation(url="https://x", start=0, end=3),)),
        il.TextBlock(""),
        il.ImageBlock(il.Source("base64", "AAAA"), "image/png"),
        il.ToolUseBlock("fc_1", "add", {"a": 1}),
        il.ToolUseBlock("fc_2", "now", {}),
    )
    known = il.MessageMetadata(
        response_id="v1_a",
        response_model="m",
        stop_reason=il.StopReason.TOOL_USE,
        usage=il.Usage(3, 4),
    )
    response = il.Response(il.Message.assistant(content, known))
    wires, report = write(il.unfold(response))
    assert list(report.entries) == []
    starts = [wire["step"]["type"] for wire in wires[:-1] if wire["event_type"] == "step.start"]
    assert starts == ["thought", *["model_output"] * 3, *["function_call"] * 2]
    assert wires[0]["interaction"]["id"] == "v1_a"
    assert wires[-1] == DONE
    again = il.fold(streaming.events_of(DIALECT, wires, frame))
    assert again.message.content == content
    assert again.message.metadata.usage == il.Usage(3, 4)
