"""The way home of streams: the frames themselves, until an event was changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.dialects.kernel.stream_home import Home, MarkedReader, is_marked, mark_content
from interlingua.model.events import (
    Event,
    MessageComplete,
    MessageStart,
    Other,
    Stop,
    TextDelta,
    ThinkingDelta,
    UsageUpdate,
)
from interlingua.model.losses import Report
from interlingua.streams.frames import Frame
from tests.dialects.streaming import events_of, frames_of

DIALECT = il.dialect("ollama")
_decode = msgspec.json.Decoder(list[Event]).decode


def _line(**message: Any) -> str:
    # spaced as no writer of ours does it, so that a frame made again would show
    return f'{{ "model": "m", "message": {msgspec.json.encode(message).decode()}, "done": false }}'


LINES = [
    _line(role="assistant", content="", thinking="Hm"),
    _line(role="assistant", content="Hel"),
    '{ "status": "still here" }',
    _line(role="assistant", content="lo"),
    '{ "model": "m", "message": { "role": "assistant", "content": "" }, "done": true, '
    '"done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2 }',
]
FRAMES = [Frame("named" if number == 1 else None, line) for number, line in enumerate(LINES)]


def events() -> list[Event]:
    return events_of(DIALECT, FRAMES, Frame)


def written(told: list[Event]) -> list[Frame]:
    return frames_of(DIALECT, told)[0]


def folded(frames: list[Frame]) -> il.Response:
    return il.fold(events_of(DIALECT, frames, Frame))


def test_frames_go_home_byte_for_byte() -> None:
    assert written(events()) == FRAMES
    assert written(_decode(msgspec.json.encode(events()))) == FRAMES


def test_the_first_event_of_a_frame_brings_it_along() -> None:
    marked = [event.frame.number for event in events() if is_marked(event.frame, "ollama")]
    assert marked == [0, 1, 2, 3, 4]


def test_without_marks_events_know_no_frames() -> None:
    reader = DIALECT.stream_reader()
    reader.marks = False
    assert not reader.marks
    assert all(event.frame is None for frame in FRAMES for event in reader.feed(frame))
    reader.marks = True
    assert reader.marks


def _edited(event: Any) -> Any:
    match event:
        case TextDelta() | ThinkingDelta():
            return event.replace(text=event.text + "!")
        case MessageStart():
            return event.replace(model="another")
        case Stop():
            return event.replace(stop_reason=il.StopReason.MAX_TOKENS)
        case UsageUpdate():
            return event.replace(usage=il.Usage(30, 20))
        case _:
            return None


CHANGEABLE = [number for number, event in enumerate(events()) if _edited(event) is not None]


@given(st.sampled_from(CHANGEABLE))
def test_an_event_that_was_changed_is_told_and_what_came_before_it_is_as_it_was(
    number: int,
) -> None:
    emitted = events()
    emitted[number] = _edited(emitted[number])
    frames = written(emitted)
    frame = emitted[number].frame
    assert frame is not None
    assert frames[: frame.number] == FRAMES[: frame.number]
    before, after = folded(FRAMES).message, folded(frames).message
    match emitted[number]:
        case TextDelta():
            assert len(after.text) == len(before.text) + 1
            assert after.text.replace("!", "") == before.text
        case ThinkingDelta():
            assert after.reasoning == before.reasoning + "!"
        case MessageStart():
            assert after.metadata.response_model == "another"
        case Stop():
            assert after.metadata.stop_reason is il.StopReason.MAX_TOKENS
        case UsageUpdate():
            assert after.metadata.usage == il.Usage(30, 20)


def test_a_text_that_becomes_shorter_is_not_filled_up_at_its_end() -> None:
    emitted = [e.replace(text="H") if isinstance(e, TextDelta) else e for e in events()]
    assert folded(written(emitted)).message.text == "HH"


def test_a_frame_of_which_an_event_is_missing_is_said_anew() -> None:
    emitted = [e for e in events() if not isinstance(e, UsageUpdate)]
    frames = written(emitted)
    assert frames[:4] == FRAMES[:4]
    assert frames[4] != FRAMES[4]
    assert folded(frames).message.text == "Hello"


def test_a_stream_of_which_a_frame_is_missing_is_said_anew_from_there() -> None:
    emitted = [e for e in events() if e.frame is None or e.frame.number != 1]
    frames = written(emitted)
    assert frames[0] == FRAMES[0]
    assert not set(frames) & set(FRAMES[1:])
    assert folded(frames).message.text == "lo"


def test_a_frame_that_says_nothing_may_be_left_out() -> None:
    emitted = [e for e in events() if not isinstance(e, Other)]
    assert written(emitted) == [*FRAMES[:2], *FRAMES[3:]]


def test_an_event_that_is_put_in_is_said() -> None:
    emitted = events()
    place = next(number for number, event in enumerate(emitted) if isinstance(event, TextDelta))
    emitted.insert(place + 1, emitted[place].replace(text="p, hel", frame=None))
    assert folded(written(emitted)).message.text == "Help, hello"


def test_what_is_lost_is_reported_only_where_the_stream_was_changed() -> None:
    lines = [LINES[1], LINES[0], LINES[3], LINES[4]]  # thinking between two texts
    emitted = events_of(DIALECT, [Frame(None, line) for line in lines], Frame)
    assert frames_of(DIALECT, emitted)[1].entries == []
    emitted[0] = _edited(emitted[0])
    assert [loss.kind for loss in frames_of(DIALECT, emitted)[1].entries] == ["approximated"]


class _Numbering:
    """A way for others that numbers its frames, and grows by exclamations."""

    grows = ("!",)

    def __init__(self) -> None:
        self.number = 0
        self.frames: list[Frame] = []
        self.steps: Any = dict.fromkeys((type(event) for event in events()), self._step)

    def _step(self, event: Event) -> list[Frame]:
        self.number += 1
        return [Frame(None, str(self.number))]

    def resume(self, count: int, frames: list[Frame]) -> None:
        self.number = 100 + count
        self.frames = frames

    def close(self) -> list[Frame]:
        return []


def test_who_numbers_frames_is_told_how_many_went_home() -> None:
    way, report = _Numbering(), Report("ollama")
    home = Home("ollama", way, way.steps, report, report)
    emitted = events()
    (place,) = [
        number for number, event in enumerate(emitted) if getattr(event, "text", "") == "lo"
    ]
    emitted[place] = _edited(emitted[place])
    frames = [frame for event in emitted for frame in home.steps[type(event)](event)]
    assert frames[:3] == FRAMES[:3]
    assert [frame.data for frame in frames[3:5]] == ["104", "105"]


@pytest.mark.parametrize(("first", "kept"), [("Oh", 1), ("Oh!", 4)])
def test_who_takes_over_is_given_the_frames_that_are_more_than_a_piece(
    first: str, kept: int
) -> None:
    way, report = _Numbering(), Report("ollama")
    home = Home("ollama", way, way.steps, report, report)
    texts = [first, " well", ", ", " fine"]
    frames = [Frame(None, _line(role="assistant", content=text)) for text in texts]
    for event in events_of(DIALECT, [*frames, FRAMES[-1]], Frame):
        home.steps[type(event)](_edited(event) if type(event) is Stop else event)
    assert way.frames == frames[:kept]


def test_events_of_other_wires_are_written_like_any() -> None:
    bare = [event.replace(frame=None) for event in events()]
    assert written(bare) != FRAMES
    assert folded(written(bare)).message.text == "Hello"


@pytest.mark.parametrize("cut", range(1, len(LINES)))
def test_a_stream_that_breaks_off_says_so_behind_what_came(cut: int) -> None:
    frames = written(events_of(DIALECT, FRAMES[:cut], Frame))
    assert frames[:cut] == FRAMES[:cut]
    assert '"error"' in frames[cut].data


def test_the_marks_of_before_are_no_frames_and_the_stream_is_said_anew() -> None:
    old = [
        event.replace(frame=event.frame.replace(rest={"ollama": {"created_at": "then"}}))
        if event.frame is not None and event.frame.rest is not None
        else event
        for event in events()
    ]
    assert folded(written(old)).message.text == "Hello"


def test_several_messages_and_silence_between_them_go_home() -> None:
    frames = [*FRAMES, *FRAMES[1:]]
    emitted = events_of(DIALECT, frames, Frame)
    assert written(emitted) == frames
    assert sum(isinstance(event, MessageComplete) for event in emitted) == 2
    assert sum(isinstance(event, Other) for event in emitted) == 2


class _Waiting:
    """A reader for whose host a complete message may not be all."""

    def __init__(self) -> None:
        self._reader: Any = DIALECT.stream_reader()
        self._reader.marks = False
        self.waits = False

    def feed(self, frame: Frame) -> list[Event]:
        emitted: list[Event] = self._reader.feed(frame) if frame.data[0] == "{" else []
        self.waits = any(isinstance(event, MessageComplete) for event in emitted)
        return emitted

    def close(self) -> list[Event]:
        closed: list[Event] = self._reader.close()
        return closed


def test_the_end_of_a_message_waits_for_what_a_host_sends_after_it() -> None:
    reader = MarkedReader("ollama", _Waiting())
    frames = [*FRAMES, Frame(None, "[DONE]"), *FRAMES, Frame(None, "[DONE]")]
    emitted = [event for frame in frames for event in reader.feed(frame)]
    ends = [event for event in emitted if isinstance(event, MessageComplete)]
    assert len(ends) == 1
    emitted += reader.close()
    assert isinstance(emitted[-1], MessageComplete)
    assert written(emitted) == frames


@pytest.mark.parametrize(
    "changed",
    [
        lambda event: event.replace(index=event.index + 1),
        lambda event: event.replace(choice=1),
        lambda event: ThinkingDelta(event.index, event.text, frame=event.frame),
    ],
)
def test_a_piece_of_which_anything_was_changed_is_said_anew(changed: Any) -> None:
    emitted = events()
    place = [number for number, event in enumerate(emitted) if isinstance(event, TextDelta)][1]
    emitted[place] = changed(emitted[place])
    for stored in (emitted, _decode(msgspec.json.encode(emitted))):
        assert FRAMES[3] not in written(stored)


def test_many_pieces_that_went_home_are_told_to_who_takes_over() -> None:
    pieces = [Frame(None, _line(role="assistant", content=f"{number} ")) for number in range(3000)]
    emitted = events_of(DIALECT, [*pieces, FRAMES[4]], Frame)
    emitted[-3] = emitted[-3].replace(stop_reason=il.StopReason.MAX_TOKENS)
    frames = written(emitted)
    assert frames[: len(pieces)] == pieces
    assert folded(frames).message.text == "".join(f"{number} " for number in range(3000))
    assert folded(frames).message.metadata.stop_reason is il.StopReason.MAX_TOKENS


def _in_full(event: Any) -> Any:
    """The event with the long form of its mark."""
    if not is_marked(event.frame, "ollama"):
        return event
    rest = {"ollama": mark_content(event.frame, "ollama")}
    return event.replace(frame=event.frame.replace(rest=rest))


PIECES = [*FRAMES[:2], *[Frame(None, _line(role="assistant", content="l"))] * 3, *FRAMES[3:]]
TOLD = events_of(DIALECT, PIECES, Frame)


@given(st.sampled_from([None, *range(len(TOLD))]), st.sampled_from([None, *range(len(TOLD))]))
def test_the_short_form_of_a_mark_says_what_the_long_one_says(
    changed: int | None, left_out: int | None
) -> None:
    result = list(TOLD)
    if changed is not None:
        result[changed] = _edited(result[changed]) or result[changed]
    if left_out is not None:
        del result[left_out]
    assert frames_of(DIALECT, result) == frames_of(DIALECT, [_in_full(event) for event in result])


def test_a_piece_that_is_all_of_the_next_frame_has_the_short_form() -> None:
    remaining = [event.frame.rest["ollama"] for event in TOLD if is_marked(event.frame, "ollama")]  # type: ignore[union-attr, index]  # it is marked
    assert ["piece" in each for each in remaining] == [False, False, True, True, True, True, False]
