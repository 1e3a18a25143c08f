"""What a chat shows of a turn, on a terminal and in a pipe."""

from __future__ import annotations

import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlingua as il
from interlingua.agents.chat.chat import ChatEvent
from interlingua.cli.chat_screen import Screen, clean, one_line
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
)


class Paper(io.StringIO):
    """A stream that is a terminal, or says it is."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def shown(*said: ChatEvent, terminal: bool = False, **how: bool) -> tuple[str, str]:
    """What stands in the output and beside it; on a terminal both are one."""
    out = Paper(terminal)
    err = out if terminal else Paper(False)
    screen = Screen(out=out, err=err, **how)
    for each in said:
        screen.show(each)
    screen.finish()
    return out.getvalue(), "" if terminal else err.getvalue()


THOUGHT = ThinkingDelta(0, "Hm.")
CALL = (ToolUseStart(1, "tu_1", "add"), ToolUseEnd(1, {"a": 1}))
RESULT = il.ToolResultBlock("tu_1", (il.TextBlock("one\ntwo"),))
END = il.unfold(il.Response(il.Message.assistant("x")))[-1]


def test_in_a_pipe_the_text_is_alone_and_each_answer_ends_with_a_line() -> None:
    out, err = shown(
        THOUGHT, TextDelta(1, "I look"), *CALL, END, RESULT, TextDelta(0, "Done\n"), END
    )
    assert out == "I look\nDone\n"
    assert err == 'Hm.\n→ add {"a":1}\n← one two (2 lines)\n'


def test_on_a_terminal_every_piece_begins_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    out, _ = shown(THOUGHT, TextDelta(1, "I look"), *CALL, END, RESULT, terminal=True)
    assert out == (
        "\x1b[2mHm.\x1b[0m\n\nI look\n\n"
        '\x1b[36m→ add {"a":1}\x1b[0m\n\x1b[2m← one two (2 lines)\x1b[0m\n'
    )
    out, _ = shown(TextDelta(0, "One."), END, TextDelta(0, "Two."), END, terminal=True)
    assert out == "One.\n\nTwo.\n", "answers do not run into each other"
    monkeypatch.setenv("NO_COLOR", "1")
    out, _ = shown(THOUGHT, TextDelta(1, "I look"), terminal=True)
    assert out == "Hm.\n\nI look\n"


def test_thinking_can_be_hidden_and_the_text_left_to_others() -> None:
    assert shown(THOUGHT, TextDelta(1, "Yes"), thinking=False) == ("Yes\n", "")
    assert shown(THOUGHT, TextDelta(1, "Yes"), answer=False) == ("", "Hm.\n")


def test_a_refusal_and_media_are_told_beside_the_text() -> None:
    image = il.ImageBlock(il.Source("base64", "AAAA"), "image/png")
    pieces = (
        BlockStart(0, il.RefusalBlock("")),
        BlockDelta(0, "text", "I will "),
        BlockDelta(0, "text", "not."),
        BlockEnd(0, il.RefusalBlock("I will not.")),
        BlockEnd(1, image),
    )
    assert shown(*pieces) == ("", "I will not.\n[image] image/png, 3 bytes\n")


def test_losses_are_printed_in_one_line_and_once() -> None:
    err = Paper(False)
    screen = Screen(out=Paper(False), err=err)
    report = il.Report("openai-chat")
    report.add("moved", "$.a", "nobody minds", "info")
    screen.losses(report)
    screen.losses(None)
    assert err.getvalue() == ""
    report.add("dropped", "$.messages[1]", "no place for it")
    for _ in range(2):
        screen.losses(report)
    line = "losses for openai-chat: 1 dropped; warning: $.messages[1]: dropped: no place for it\n"
    assert err.getvalue() == line


def test_the_end_of_a_turn_tells_what_it_used_and_why_it_was_cut() -> None:
    err = Paper(False)
    screen = Screen(out=Paper(False), err=err)
    usage = il.Usage(input_tokens=1200, output_tokens=30, cost_usd=Decimal("0.5"), latency_ms=1500)
    known = il.MessageMetadata(usage=usage, stop_reason=il.StopReason.MAX_TOKENS)
    screen.ended([il.Message.assistant("x", known)] * 2, "a:b")
    result = "the answer was cut at the limit of tokens\na:b · 2,400 in, 60 out · $1.00 · 3.0 s\n"
    assert err.getvalue() == result


@given(st.text())
def test_no_text_acts_on_a_terminal(text: str) -> None:
    seen = clean(text)
    assert all(char.isprintable() or char in "\n\u200c\u200d" for char in seen)
    assert "\n" not in one_line(text, 40)
    assert len(one_line(text, 40)) <= 40


def test_ordinary_text_is_shown_as_it_is() -> None:
    family_emoji = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert clean(f"Grüße 世界 {family_emoji}\r\n\tcode") == f"Grüße 世界 {family_emoji}\n    code"
    assert clean("\x1b[2J\u202e") == "\\x1b[2J\\u202e"
