"""The screen of a chat: the answer as it arrives, tool calls, losses and costs.

The answer's text goes to standard output, all else to standard error. In a pipe the text is as the
model wrote it; on a terminal no character of it can move the cursor or turn a line around.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import msgspec

from interlingua.cli.main import shown
from interlingua.cli.terminal import plural, spent
from interlingua.costs.cost import total
from interlingua.model.blocks import (
    Block,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.events import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    MessageComplete,
    StreamError,
    TextDelta,
    ThinkingDelta,
    ToolUseEnd,
    ToolUseStart,
)
from interlingua.model.losses import Loss, Report
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason, Usage

if TYPE_CHECKING:
    from interlingua.agents.chat.chat import ChatEvent
    from interlingua.cli.chat_markdown import Flow


DIM, BOLD, RED, YELLOW, CYAN, GREEN = "2", "1", "31", "33", "36", "32"
WIDTH = 100
"""Columns of the one line for a call, a result or a loss, unless the terminal is narrower."""
_JOINERS = "\u200c\u200d"
"""Invisible parts of words and emoji, which do not move the cursor or change direction."""
_ENDINGS = {
    StopReason.MAX_TOKENS: "the answer was cut at the limit of tokens",
    StopReason.CONTENT_FILTER: "the provider's filter ended the answer",
    StopReason.REFUSAL: "the model refused",
    StopReason.PAUSE: "the model paused",
}


def clean(text: str) -> str:
    """A model's text for a terminal: lines stay lines, tabs are spaces, all else that acts on a
    terminal is shown as an escape."""
    if text.isprintable():
        return text
    text = text.replace("\r", "").expandtabs(4)
    return "".join(char if char in _JOINERS else shown(char) for char in text)


def one_line(text: str, width: int = WIDTH) -> str:
    """Text on one line of at most this width."""
    flat = clean(" ".join(text[: 4 * width].split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


class Screen:
    """Shows a turn. With `answer` false, it shows no text of the answer, which is printed as
    JSON."""

    def __init__(
        self,
        *,
        answer: bool = True,
        thinking: bool = True,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self.is_terminal = self.out.isatty()
        self._flows = self.is_terminal and os.environ.get("TERM") != "dumb"
        """Whether Markdown can be shown: a terminal on which the cursor moves."""
        self._answer = answer
        self._thinking = thinking
        self._colour = self.err.isatty() and not os.environ.get("NO_COLOR")
        self._out_open = False
        """Whether the last line of the answer has not ended."""
        self._err_open = False
        self._flow: Flow | None = None
        """The answer on a terminal, while it arrives."""
        self._words: Words | None = None
        """The status shown beside the spinner."""
        self._part = ""
        """The kind of the last thing shown: a blank line separates two kinds."""
        self._calls: dict[int, ToolUseStart] = {}
        self._refusals: set[int] = set()
        self._shown_losses: dict[str, set[Loss]] = {}
        """The losses that the user has seen, by dialect."""
        self.last: MessageComplete | StreamError | None = None

    # Lines

    def line(self, text: str = "", *styles: str, part: str = "line", hang: int = 0) -> None:
        """Prints a line of the program, outside the answer. Lines of one `part` are grouped. Long
        text continues on the next line, indented by `hang` columns."""
        self._begin(part)
        if self.err.isatty():
            text = filled(text, self._width(), hang)
        self._write(self.err, self.styled(text, *styles) + "\n")

    def room(self, written: bool = False) -> None:
        """Prints an empty line before the next output, if there is none. `written`: another part of
        the program has printed a line."""
        self._part = "else" if written else self._part
        self._begin("")

    def _begin(self, part: str) -> None:
        """Starts a part of this kind; on a terminal, after an empty line."""
        self.fresh()
        if self._part and part != self._part and self.err.isatty():
            self._write(self.err, "\n")
        self._part = part

    def lines(self, text: str, *styles: str) -> None:
        for each in text.split("\n"):
            self.line(clean(each), *styles)

    def note(self, text: str) -> None:
        self.line(one_line(text, 4 * WIDTH), DIM)

    def warn(self, text: str) -> None:
        self.line(one_line(text, 8 * WIDTH), YELLOW)

    def error(self, text: str) -> None:
        self.line(one_line(text, 8 * WIDTH), RED)

    def fresh(self) -> None:
        """Ends an open line, so that the next output starts a new one. In a pipe, only the answer
        is printed."""
        if self._words is not None:
            self._write(self.err, self._words.end() + self._code("0"))
            self._words = None
        if self._err_open:
            self._err_open = False
            self._write(self.err, "\n")
        if self.is_terminal:
            self.end_answer()

    def end_answer(self) -> None:
        """Ends the output of a model with a line break."""
        if self._flow is not None:
            self._flow.end()
            self._flow = None
        elif self._out_open:
            self._out_open = False
            self._write(self.out, "\n")

    def finish(self) -> None:
        """The end of a turn."""
        self.fresh()
        self.end_answer()

    # What a turn gives

    def show(self, event: ChatEvent) -> None:
        match event:
            case TextDelta():
                self._text(event.text)
            case ThinkingDelta():
                self._thought(event.text)
            case ToolUseStart():
                self._calls[event.index] = event
            case ToolUseEnd():
                start = self._calls.pop(event.index, None)
                if start is not None:
                    self._call(start.name, event.input, start.executor)
            case BlockStart(block=RefusalBlock() as block):
                self._refusals.add(event.index)
                self._beside(block.text, YELLOW)
            case BlockDelta() if event.index in self._refusals and isinstance(event.value, str):
                self._beside(event.value, YELLOW)
            case BlockEnd():
                self._block(event.block)
            case ToolResultBlock():
                self._result(event)
            case MessageComplete() | StreamError():
                self.end_answer()
                self._part = "message" if self._part == "answer" else self._part
                self._calls.clear()
                self._refusals.clear()
                self.last = event
            case _:
                pass

    def _text(self, text: str) -> None:
        if not self._answer or not text:
            return
        if self._part != "answer":
            self._begin("answer")
        if self._flows:
            self._flow = self._flow or self._new_flow()
            self._flow.feed(text)
            return
        self._write(self.out, clean(text) if self.is_terminal else text)
        self._out_open = not text.endswith("\n")

    def _new_flow(self) -> Flow:
        from interlingua.cli.chat_markdown import Flow  # with it comes rich

        return Flow(self.out, clean, self._size, WIDTH)

    def _thought(self, text: str) -> None:
        if self._thinking and text:
            self._beside(text, DIM, "thought")

    def _beside(self, text: str, style: str, part: str = "refusal") -> None:
        """Streamed text that is not part of the answer."""
        if not text:
            return
        if self._part != part:
            self._begin(part)
        if self._words is None:
            # Only people need lines that end between words.
            self._words = Words(self._width() if self.err.isatty() else sys.maxsize)
            self._write(self.err, self._code(style))
        self._write(self.err, self._words.feed(clean(text)))
        self._err_open = True

    def _call(self, name: str, input: object, executor: str) -> None:
        arguments = msgspec.json.encode(input).decode()
        where = " (there)" if executor == "provider" else ""
        self.line(one_line(f"→ {name}{where} {arguments}", self._width()), CYAN, part="tool")

    def _result(self, block: ToolResultBlock) -> None:
        from interlingua.transcripts.exports import labelled_text

        text = labelled_text(block).text
        lines = len(text.splitlines())
        size = f" ({plural(lines, 'line')})" if lines > 1 else ""
        style = RED if block.is_error else DIM
        width = self._width() - len(size)
        self.line(one_line(f"← {text or '(nothing)'}", width) + size, style, part="tool")

    def _block(self, block: Block) -> None:
        """The end of a block that was not shown piece by piece."""
        from interlingua.transcripts.exports import labelled_text

        if isinstance(block, ToolResultBlock):
            self._result(block)
        elif not isinstance(block, TextBlock | ThinkingBlock | RefusalBlock | ToolUseBlock):
            labelled = labelled_text(block)
            self.line(
                one_line(f"[{labelled.label}] {labelled.text}", self._width()), DIM, part="media"
            )

    # After a turn

    def losses(self, report: Report | None) -> None:
        """Shows new losses in one line; those already shown are skipped."""
        if report is None:
            return
        known = self._shown_losses.get(report.target, set())
        new = [each for each in self.mark_shown(report) if each not in known]
        if new:
            counts = Counter(each.kind for each in new)
            head = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            text = f"losses for {report.target}: {head}; {new[0]}"
            self.line(one_line(text, self._width()), YELLOW)

    def mark_shown(self, report: Report) -> list[Loss]:
        """The losses, which are remembered as shown."""
        self._shown_losses[report.target] = set(report.losses)
        return report.losses

    def ended(self, answers: Iterable[Message], model: str) -> None:
        """Show the usage and cost of the turn, and an unusual end."""
        answers = list(answers)
        reason = answers[-1].metadata.stop_reason if answers else None
        if reason in _ENDINGS:
            self.warn(_ENDINGS[reason])
        usages = [message.metadata.usage for message in answers]
        known = [usage for usage in usages if usage is not None]
        if not known:
            return
        facts = [model, f"{_tokens(known, 'prompt_tokens')} in"]
        facts[-1] += f", {_tokens(known, 'output_tokens')} out"
        costs = [usage.cost_usd for usage in known if usage.cost_usd is not None]
        if costs:
            lacks = len(costs) < len(known) or any(usage.unpriced for usage in known)
            facts.append(spent(total(*costs), lacks))
        took = sum(usage.latency_ms or 0 for usage in known)
        facts.append(f"{took / 1000:.1f} s")
        self.note(" · ".join(facts))

    # The terminal

    def _width(self) -> int:
        return min(WIDTH, self._size()[0] - 1)

    def _size(self) -> tuple[int, int]:
        """Columns and lines."""
        for stream in (self.err, self.out):
            try:
                columns, lines = os.get_terminal_size(stream.fileno())
            except (OSError, ValueError):
                continue
            if columns and lines:
                return columns, lines
        return WIDTH + 1, 24

    def styled(self, text: str, *styles: str) -> str:
        if not self._colour or not styles:
            return text
        return f"\x1b[{';'.join(styles)}m{text}\x1b[0m"

    def _code(self, code: str) -> str:
        return f"\x1b[{code}m" if self._colour else ""

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()


def _tokens(usages: list[Usage], field: str) -> str:
    counts = [getattr(usage, field) for usage in usages]
    return "?" if None in counts else f"{sum(counts):,}"


_PIECES = re.compile(r"\n|[^\S\n]+|\S+")


class Words:
    """Splits text into complete words: the last word waits for its end."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, text: str) -> str:
        return "".join(self._fed(piece) for piece in _PIECES.findall(text))

    def _fed(self, piece: str) -> str:
        if not piece.isspace():
            self._word += piece
            return ""
        word = self.end()
        if piece == "\n":
            self._column, self._space = 0, ""
            return word + "\n"
        self._space += piece
        return word

    def end(self) -> str:
        """The remaining word."""
        space, word, self._space, self._word = self._space, self._word, "", ""
        if not word:
            self._space = space
            return ""
        if self._column and self._column + len(space) + len(word) > self._width:
            self._column = len(word)
            return f"\n{word}"
        self._column += len(space) + len(word)
        return space + word


def filled(text: str, width: int, hang: int = 0) -> str:
    """Wraps a line; continuation lines have its indentation, or more."""
    if len(text) <= width:
        return text
    start = max(len(text) - len(text.lstrip(" ")), hang)
    return textwrap.fill(
        text, width, subsequent_indent=" " * min(start, width // 2), break_on_hyphens=False
    )
