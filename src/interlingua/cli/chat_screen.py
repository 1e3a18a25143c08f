"""What a chat shows: the answer as it arrives, and around it what people want to know.

The answer's text goes to standard output, all else to standard error. In a pipe the text is as the
model wrote it; on a terminal no character of it can move the cursor or turn a line around.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

import msgspec

from interlingua.cli.main import shown
from interlingua.cli.terminal import counted, dollars
from interlingua.losses import Loss, Report
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
from interlingua.model.message import Message
from interlingua.model.metadata import StopReason, Usage
from interlingua.prices.cost import total

if TYPE_CHECKING:
    from interlingua.chat.chat import Said

DIM, BOLD, RED, YELLOW, CYAN, GREEN = "2", "1", "31", "33", "36", "32"
WIDTH = 100
"""Of the one line that a call, a result or a loss gets, where the terminal is not narrower."""
_JOINERS = "\u200c\u200d"
"""Invisible, and part of words and emoji: they neither move nor turn anything."""
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
    """Text on one line that is no longer than this."""
    flat = clean(" ".join(text[: 4 * width].split()))
    return flat if len(flat) <= width else f"{flat[: width - 1]}…"


class Screen:
    """Where a turn is shown. `answer` false shows no text of the answer: it comes as JSON."""

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
        self._answer = answer
        self._thinking = thinking
        self._colour = self.err.isatty() and not os.environ.get("NO_COLOR")
        self._out_open = False
        """Whether the last line of the answer has not ended."""
        self._err_open = False
        self._thinks = False
        self._calls: dict[int, ToolUseStart] = {}
        self._refusals: set[int] = set()
        self._told: dict[str, set[Loss]] = {}
        """By dialect, what the user knows not to have been said in it."""
        self.last: MessageComplete | StreamError | None = None

    # Lines

    def line(self, text: str = "", *styles: str) -> None:
        """A line of our own, beside the answer."""
        self.fresh()
        self._write(self.err, self.styled(text, *styles) + "\n")

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
        """End a line that is still open, so that the next thing begins one. In a pipe the answer
        is nobody's neighbour."""
        if self._thinks:
            self._thinks = False
            self._write(self.err, self._code("0"))
        if self._err_open:
            self._err_open = False
            self._write(self.err, "\n")
        if self.is_terminal:
            self.end_answer()

    def end_answer(self) -> None:
        """Whatever a model said ends with a line."""
        if self._out_open:
            self._out_open = False
            self._write(self.out, "\n")

    def finish(self) -> None:
        """The end of a turn."""
        self.fresh()
        self.end_answer()

    # What a turn gives

    def show(self, said: Said) -> None:
        match said:
            case TextDelta():
                self._text(said.text)
            case ThinkingDelta():
                self._thought(said.text)
            case ToolUseStart():
                self._calls[said.index] = said
            case ToolUseEnd():
                start = self._calls.pop(said.index, None)
                if start is not None:
                    self._call(start.name, said.input, start.executor)
            case BlockStart(block=RefusalBlock() as block):
                self._refusals.add(said.index)
                self._beside(block.text, YELLOW)
            case BlockDelta() if said.index in self._refusals and isinstance(said.value, str):
                self._beside(said.value, YELLOW)
            case BlockEnd():
                self._block(said.block)
            case ToolResultBlock():
                self._result(said)
            case MessageComplete() | StreamError():
                self.end_answer()
                self._calls.clear()
                self._refusals.clear()
                self.last = said
            case _:
                pass

    def _text(self, text: str) -> None:
        if not self._answer or not text:
            return
        if self._err_open:
            self.fresh()
        self._write(self.out, clean(text) if self.is_terminal else text)
        self._out_open = not text.endswith("\n")

    def _thought(self, text: str) -> None:
        if not self._thinking or not text:
            return
        if not self._thinks:
            self.fresh()
            self._write(self.err, self._code(DIM))
            self._thinks = True
        self._write(self.err, clean(text))
        self._err_open = True

    def _beside(self, text: str, style: str) -> None:
        if not text:
            return
        if not self._err_open:
            self.fresh()
        self._write(self.err, self.styled(clean(text), style))
        self._err_open = True

    def _call(self, name: str, input: object, executor: str) -> None:
        given = msgspec.json.encode(input).decode()
        where = " (there)" if executor == "provider" else ""
        self.line(one_line(f"→ {name}{where} {given}", self._width()), CYAN)

    def _result(self, block: ToolResultBlock) -> None:
        from interlingua.exports.markdown import said

        text = said(block).text
        lines = len(text.splitlines())
        size = f" ({counted(lines, 'line')})" if lines > 1 else ""
        style = RED if block.is_error else DIM
        width = self._width() - len(size)
        self.line(one_line(f"← {text or '(nothing)'}", width) + size, style)

    def _block(self, block: Block) -> None:
        """The end of a block that was not shown piece by piece."""
        from interlingua.exports.markdown import said

        if isinstance(block, ToolResultBlock):
            self._result(block)
        elif not isinstance(block, TextBlock | ThinkingBlock | RefusalBlock | ToolUseBlock):
            told = said(block)
            self.line(one_line(f"[{told.label}] {told.text}", self._width()), DIM)

    # After a turn

    def losses(self, report: Report | None) -> None:
        """What the request could not say, in one line. What is lost to nobody is not told, and
        what was told of an earlier request is not told again."""
        if report is None:
            return
        known = self._told.get(report.target, set())
        new = [each for each in self.heard(report) if each not in known]
        if new:
            counts = Counter(each.kind for each in new)
            head = ", ".join(f"{count} {kind}" for kind, count in counts.items())
            text = f"not said to {report.target}: {head}; {new[0]}"
            self.line(one_line(text, self._width()), YELLOW)

    def heard(self, report: Report) -> list[Loss]:
        """The losses that matter; the user knows of them from now on."""
        matter = [each for each in report if each.severity != "info"]
        self._told[report.target] = set(matter)
        return matter

    def ended(self, answers: Iterable[Message], model: str) -> None:
        """What the turn used and cost, and why it ended if that is not as it should be."""
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
        costs = [usage.cost_usd for usage in known]
        if all(cost is not None for cost in costs):
            facts.append(dollars(total(*[cost for cost in costs if cost is not None])))
        took = sum(usage.latency_ms or 0 for usage in known)
        facts.append(f"{took / 1000:.1f} s")
        self.note(" · ".join(facts))

    # The terminal

    def _width(self) -> int:
        try:
            return min(WIDTH, os.get_terminal_size(self.err.fileno()).columns - 1)
        except (OSError, ValueError):
            return WIDTH

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
