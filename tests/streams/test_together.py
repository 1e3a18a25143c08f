"""Tool calls, streamed parts and translation at once: one conversation over three providers."""

from __future__ import annotations

from typing import Any

import pytest

import interlingua as il
from interlingua.dialects.framing import decoder, encoder

ANSWER = il.Response(
    il.Message.assistant(
        [
            il.ThinkingBlock("The user wants the weather.", "c2lnbmVk"),
            "Let me look.",
            il.ToolUseBlock("toolu_01", "get_weather", {"city": "Ulaanbaatar"}),
            il.ToolUseBlock("toolu_02", "get_time", {}),
        ],
        il.MessageMetadata(
            protocol="anthropic",
            response_model="claude-sonnet-4-6",
            response_id="msg_01",
            usage=il.Usage(12, 34),
            stop_reason=il.StopReason.TOOL_USE,
        ),
    )
)
RESULTS = (
    il.Message.tool_result("toolu_01", "-21 °C", tool_name="get_weather"),
    il.Message.tool_result("toolu_02", "clock is broken", is_error=True, tool_name="get_time"),
)


def streamed(name: str) -> bytes:
    """The answer as a provider streams it."""
    writer, encode = il.dialect(name).stream_writer(), encoder(name)
    frames = [frame for event in il.unfold(ANSWER) for frame in writer.feed(event)]
    return b"".join(map(encode, [*frames, *writer.close()]))


def heard(name: str, data: bytes) -> il.Response:
    """What a client of `name` makes of a stream."""
    pieces, reader = decoder(name), il.dialect(name).stream_reader()
    frames = [*pieces.feed(data), *pieces.close()]
    return il.fold([*[e for frame in frames for e in reader.feed(frame)], *reader.close()])


def calls_of(message: il.Message) -> list[tuple[str, Any]]:
    return [(call.name, call.input) for call in message.tool_calls]


@pytest.mark.requirement("S001-24")
@pytest.mark.parametrize("client", il.dialects())
@pytest.mark.parametrize("next_provider", il.dialects())
def test_a_streamed_call_is_answered_and_said_to_another_provider(
    client: str, next_provider: str
) -> None:
    data = streamed("anthropic")
    result = b"".join(il.stream_convert([data[:100], data[100:]], "anthropic", client))
    message = heard(client, result).message
    assert calls_of(message) == calls_of(ANSWER.message)
    ids = [call.id for call in message.tool_calls]
    results = [
        il.Message.tool_result(id, each.content[0].content, each.content[0].is_error)  # type: ignore[union-attr]  # a result
        for id, each in zip(ids, RESULTS, strict=True)
    ]
    history = il.Request((il.Message.user("Weather?"), message, *results), "some-model")
    target = il.dialect(next_provider)
    retold = il.retell(history, target)
    wire = target.write_request(retold.value, retold.recorder).wire
    back = target.read_request(wire, "some-model")
    assert [each for m in back.messages for each in calls_of(m)] == calls_of(ANSWER.message)
    answers = [b for m in back.messages for b in m.content if isinstance(b, il.ToolResultBlock)]
    assert [each.is_error for each in answers] == [False, True]
    asked = [call.id for m in back.messages for call in m.tool_calls]
    assert [each.tool_use_id for each in answers] == asked


def test_the_signature_stays_at_home() -> None:
    data = streamed("anthropic")
    same = il.stream_convert([data], "anthropic", "anthropic")
    assert b"c2lnbmVk" in b"".join(same)
    assert not same.report.entries
    other = il.stream_convert([data], "anthropic", "openai-chat")
    assert b"c2lnbmVk" not in b"".join(other)
    assert [loss.path for loss in other.report.entries] == ["$.message.content[0].signature"]
