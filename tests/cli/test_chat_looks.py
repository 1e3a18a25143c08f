"""How a chat looks, at three widths: screens of a real terminal, kept in `screens/`.

`python -m tests.cli.test_chat_looks` renews them; the difference is what there is to review."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.cli.chat_markdown import PAUSE, Flow
from interlingua.cli.chat_screen import Screen, Words, clean, filled
from interlingua.model.events import TextDelta, ThinkingDelta, ToolUseEnd, ToolUseStart
from tests.cli.chatting import TMUX, needs_tmux
from tests.effort import examples

SCREENS = Path(__file__).parent / "screens"
WIDTHS = (60, 80, 120)
LINES = 24
ANSWER = """\
# The mill

The mill by the river was closed for years. **Last spring** a baker bought it, and now people come \
from *far away* for the bread: `make bread`, see <https://example.org/mill>.

1. Mend the wheel, which has lost eleven of its forty blades and can be heard in the village.
2. Clean the stones:
   - the lower one
   - the upper one
3. Bake.

```python
def bake(loaves: int) -> str:
    return f"{loaves} loaves of {'rye'}"
```

| bread | price | made of |
| --- | ---: | --- |
| rye | 4.50 | rye flour, water, salt, and a starter that is older than the baker |
| white | 3.00 | wheat |

> An old pond,
> a frog jumps in.

<b>No</b> tag is lost, no [address](https://example.org), no ![picture](river.png), and no \
&#x202e;letter turns the line around. 世界!
"""
THOUGHT = (
    "The user wants to know about the mill. I should look at the notes first, because they may say "
    "whether the river is high."
)


class Page(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


def pieces(text: str, size: int = 7) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def turn(width: int) -> str:
    """What a chat writes to a terminal of this width in one turn, and around it."""
    page = Page()
    size = os.terminal_size((width, LINES))
    with mock.patch("os.get_terminal_size", return_value=size):
        screen = Screen(out=page, err=page)
        screen.note("local:a-model · new session 01M7HBG874 · ~/interlingua.db · /help")
        screen.room()
        page.write("local> Tell me of the mill.\n")
        screen.room(written=True)
        for piece in pieces(THOUGHT):
            screen.show(ThinkingDelta(0, piece))
        screen.show(ToolUseStart(1, "tu_1", "read_file"))
        screen.show(ToolUseEnd(1, {"path": "notes.txt"}))
        screen.show(il.ToolResultBlock("tu_1", (il.TextBlock("The river is high.\nNo bread."),)))
        for piece in pieces(ANSWER):
            screen.show(TextDelta(2, piece))
            time.sleep(0)
        screen.finish()
        usage = il.Usage(100, 20, cost_usd=Decimal("0.0006"), latency_ms=1500)
        result = il.MessageMetadata(usage=usage, stop_reason=il.StopReason.MAX_TOKENS)
        screen.ended([il.Message.assistant(ANSWER, result)], "a-model")
        screen.room()
        page.write("local> ")
    return page.getvalue()


def on_glass(data: str, width: int, lines: int = LINES) -> str:
    """What a terminal shows of that, from the first line."""
    assert TMUX is not None
    with tempfile.TemporaryDirectory(prefix="il-", dir="/tmp") as folder:
        place = Path(folder)
        (place / "data").write_text(data, encoding="utf-8")
        (place / "conf").write_text("set -g remain-on-exit on\nset -g status off\n")
        tmux = [TMUX, "-S", f"{place}/socket", "-f", f"{place}/conf"]
        size = ["-x", str(width), "-y", str(lines)]
        show = f"cat {place}/data; touch {place}/done; sleep 60"
        subprocess.run([*tmux, "new-session", "-d", "-s", "it", *size, show], check=True)
        try:
            _wait(lambda: (place / "done").exists())
            seen = subprocess.run(
                [*tmux, "capture-pane", "-p", "-S", "-500", "-t", "it"],
                capture_output=True,
                text=True,
                check=True,
            )
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
    return "\n".join(line.rstrip() for line in seen.stdout.rstrip().split("\n")) + "\n"


def _wait(is_there: Callable[[], bool]) -> None:
    end = time.monotonic() + 40
    while not is_there():
        assert time.monotonic() < end, "the terminal shows nothing"
        time.sleep(0.02)
    time.sleep(0.1)  # tmux has read it, and draws


@pytest.fixture(autouse=True)
def usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    _make_usual(monkeypatch)


def _make_usual(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "COLUMNS", "LINES", "TTY_COMPATIBLE"):
        patch.delenv(name, raising=False)


@needs_tmux
@pytest.mark.parametrize("width", WIDTHS)
def test_a_turn_looks_as_it_is_kept(width: int) -> None:
    assert on_glass(turn(width), width) == (SCREENS / f"{width}.txt").read_text("utf-8")


def flowing(text: str, width: int, size: int, lines: int = LINES) -> str:
    """What is written of a text that comes in pieces of this size, each of which is looked at."""
    page, now = Page(), [0.0]

    def clock() -> float:
        now[0] += PAUSE
        return now[0]

    flow = Flow(page, clean, lambda: (width, lines), 100, clock)
    for piece in pieces(text, size):
        flow.feed(piece)
    flow.end()
    return page.getvalue()


@needs_tmux
def test_however_it_comes_the_same_is_seen() -> None:
    whole = on_glass(flowing(ANSWER, 60, len(ANSWER)), 60)
    for size in (1, 3, 11):
        assert on_glass(flowing(ANSWER, 60, size), 60) == whole


@needs_tmux
def test_a_block_that_is_taller_than_the_terminal_is_seen_once_and_whole() -> None:
    code = "\n".join(f"line {number}" for number in range(60))
    seen = on_glass(flowing(f"Look:\n\n```text\n{code}\n```\n\nDone.", 60, 5, 12), 60, 12)
    assert [line.strip() for line in seen.split("\n")] == [
        *("Look:", ""),
        *(f"line {number}" for number in range(60)),
        *("", "Done.", ""),
    ]


def test_words_are_appended_and_nothing_is_written_twice() -> None:
    """Plain text moves no cursor: that is what does not flicker."""
    words = " ".join(f"word{number}" for number in range(80))
    written = flowing(words, 60, 4)
    assert "\x1b[" not in written.replace("\x1b[K", "") or written.count("\r") < 15
    assert max(map(len, written.replace("\r", "\n").split("\n"))) < 70


@given(st.text(), st.integers(1, 9), st.integers(20, 60))
@settings(max_examples=examples(40), deadline=None)
def test_no_answer_acts_on_the_terminal(text: str, size: int, width: int) -> None:
    written = flowing(text, width, size)
    rest = written.replace("\x1b[K", "").replace("\x1b[J", "").replace("\r", "")
    for code in _codes(rest):
        rest = rest.replace(code, "")
    assert all(char.isprintable() or char in "\n\u200c\u200d" for char in rest), repr(written)


def _codes(text: str) -> set[str]:
    """Colours, and steps upwards."""
    import re

    return set(re.findall(r"\x1b\[[0-9;]*[mA]", text))


@given(st.text(st.characters(categories=("L", "N", "P", "Z"), exclude_characters="\u2028\u2029")))
@settings(max_examples=examples(60), deadline=None)
def test_words_lose_nothing_but_spaces_at_the_end_of_lines(text: str) -> None:
    words = Words(20)
    seen = "".join([*(words.feed(piece) for piece in pieces(text, 3)), words.end()])
    assert seen.split() == text.split()
    for line in seen.split("\n"):
        assert len(line) <= 20 or " " not in line.strip()


def test_a_long_line_goes_on_below_its_beginning() -> None:
    assert filled("  one two three", 9) == "  one two\n  three"
    assert filled("one two three", 9, 3) == "one two\n   three"
    assert filled("short", 9) == "short"


def test_a_terminal_without_a_cursor_gets_the_text_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    page = Page()
    screen = Screen(out=page, err=page)
    screen.show(TextDelta(0, "# **No** Markdown\n"))
    screen.finish()
    assert page.getvalue() == "# **No** Markdown\n"


def test_rich_is_not_imported_before_there_is_something_to_show() -> None:
    code = (
        "import sys, interlingua.cli.chat_loop; "
        "sys.exit(any(name.split('.')[0] in ('rich', 'markdown_it') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def renew() -> None:
    with pytest.MonkeyPatch.context() as patch:
        _make_usual(patch)
        for width in WIDTHS:
            (SCREENS / f"{width}.txt").write_text(on_glass(turn(width), width), "utf-8")


if __name__ == "__main__":
    renew()
