"""One turn on the screen: shown as it arrives, stopped by Ctrl-C, and said how it ended."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING, Any

from interlingua.cli.chat_screen import Screen

if TYPE_CHECKING:
    from interlingua.chat.chat import ChatEvent
    from interlingua.cli.chat_open import Talk


async def shown_turn(talk: Talk, screen: Screen, parts: AsyncGenerator[ChatEvent, None]) -> bool:
    """Show a turn; False if the user stopped it. What fails is raised after what arrived was
    shown, and the turn is over either way."""
    task = asyncio.ensure_future(_shown(talk, screen, parts))
    try:
        with on_interrupt(task.cancel):
            await task
    except asyncio.CancelledError:
        if not task.cancelled():
            raise
        return False
    finally:
        screen.finish()
    return True


async def _shown(talk: Talk, screen: Screen, parts: AsyncGenerator[ChatEvent, None]) -> None:
    meant, begun, told = talk.model, False, None
    async with aclosing(parts):
        async for event in parts:
            turn, report = talk.chat.turn, talk.chat.report
            if not begun and turn is not None:
                begun = True
                _tell_model(screen, meant, turn.decision)
            if report is not told:
                told = report
                screen.losses(report)
            screen.show(event)


def _tell_model(screen: Screen, meant: str, decision: Any) -> None:
    """Say who answers where that is not who was meant."""
    winner = decision.winner
    if winner is None or winner.candidate_model == meant:
        return
    passed = [f"{s.candidate_model}: {s.reason}" for s in decision.chain if s.validation_failure]
    because = f"; passed over {'; '.join(passed)}" if passed else ""
    screen.note(f"{winner.candidate_model} answers ({winner.reason}{because})")


@contextmanager
def silent_keys() -> Iterator[None]:
    """What is typed while an answer arrives waits for the prompt, and is not shown in its midst."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(keyboard, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextmanager
def on_interrupt(stop: Callable[[], Any]) -> Iterator[None]:
    """Ctrl-C calls this, while we are inside."""
    loop = asyncio.get_running_loop()
    before = signal.getsignal(signal.SIGINT)
    try:
        loop.add_signal_handler(signal.SIGINT, stop)
    except NotImplementedError:  # Windows
        signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(stop))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, before)
