"""What is being said: one copy, and readers that each read on where they were."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import interlingua as il
from interlingua.gateway.tasks.feeds import Live, ReadPosition
from interlingua.gateway.tasks.overview import Reader
from interlingua.model import events as ev
from interlingua.store.task_rows import TaskRow

START = ev.MessageStart(role=il.Role.ASSISTANT)
TOLD = ev.MessageComplete(il.Response(il.Message.assistant("x")))


def read(frames: bytes, into: dict[int, str]) -> None:
    """Frames as a client takes them: a text goes to its offset."""
    for frame in il.sse.Decoder().feed(frames):
        assert frame.event == "maria.delta"
        parsed = json.loads(frame.data)
        before = into.get(parsed["index"], "")
        assert parsed["offset"] <= len(before)
        into[parsed["index"]] = before[: parsed["offset"]] + parsed["text"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.text(max_size=5)), max_size=30),
    st.lists(st.booleans(), min_size=30, max_size=30),
    st.integers(0, 30),
)
def test_every_reader_gets_the_whole_text_however_it_reads(
    pieces: list[tuple[int, str]], looks: list[bool], joined: int
) -> None:
    live = Live()
    early, late = ReadPosition(live), None
    got: dict[int, str] = {}
    late_got: dict[int, str] = {}
    live.take(START, "m1", 3)
    whole: dict[int, str] = {}
    for number, (index, text) in enumerate(pieces):
        if number == joined:
            late = ReadPosition(live)
        live.take(ev.TextDelta(index, text), "m1", 3)
        whole[index] = whole.get(index, "") + text
        if looks[number]:
            read(early.growth(), got)
    late = late or ReadPosition(live)
    live.take(TOLD, "m1", 3)
    for listening, found in ((early, got), (late, late_got)):
        read(listening.growth(), found)
        assert sorted(filter(None, found.values())) == sorted(filter(None, whole.values()))
        assert listening.growth() == b""
    assert ReadPosition(live).growth() == b"", "what is whole is told as an event"


def test_an_answer_belongs_behind_what_was_told_before_it() -> None:
    live = Live()
    listening = ReadPosition(live)
    live.take(START, None, 4)
    live.take(ev.TextDelta(0, "a"), None, 4)
    assert listening.growth() == b"", "it has no name yet"
    assert not listening.is_before(4)
    assert listening.is_before(5)
    live.take(ev.ToolUseStart(1, "tu_1", "read_file"), "m1", 4)
    frames = il.sse.Decoder().feed(listening.growth())
    parsed = [json.loads(frame.data) for frame in frames]
    assert [each["msg"] for each in parsed] == ["TextDelta", "ToolCallDelta"]
    assert parsed[1]["tool_call"] == {"id": "tu_1", "name": "read_file"}
    live.take(START, None, 9)
    live.take(ev.TextDelta(0, "b"), "m2", 9)
    (again,) = il.sse.Decoder().feed(listening.growth())
    assert json.loads(again.data)["message_id"] == "m2"


def test_what_another_process_stores_of_an_answer_is_heard_as_it_grows() -> None:
    live = Live()
    listening = ReadPosition(live)
    got: dict[int, str] = {}
    for text in ("", "Hel", "Hello", "Hello"):
        message = il.Message.assistant([il.ThinkingBlock("Hm"), il.TextBlock(text)])
        live.see(message.replace(id="m1"), 2)
        read(listening.growth(), got)
    assert got == {0: "Hm", 1: "Hello"}


def test_a_task_that_the_list_had_already_is_not_told_again() -> None:
    row = TaskRow(
        *("t1", "me", "/w", "idle", None, 0, False, False, False, 0, 0),
        created_at=1,
        changed_at=5,
        ended_at=None,
    )
    reader = Reader("me")
    reader.put(row)
    reader.note([row])
    assert reader.taken() == []
    reader.put(replace(row, changed_at=4))
    reader.put(replace(row, changed_at=6, owner="somebody else"))
    assert reader.pending == {}
    newer = replace(row, changed_at=6)
    reader.put(newer)
    reader.put(newer)
    assert reader.taken() == [newer]
    reader.put(newer)
    assert reader.taken() == []
