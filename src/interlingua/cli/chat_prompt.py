"""The line where people write: history, completion, and lines that go on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua import config
from interlingua.errors import MissingExtraError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
except ImportError:
    raise MissingExtraError("an interactive chat", "cli") from None

if TYPE_CHECKING:
    from interlingua.cli.chat_open import Talk

FILE = "chat-history"
MOST_HISTORY = 1 << 20
"""Bytes of the history's file; beyond that its older half is forgotten."""


class Prompt:
    """Asks for what is to be said, and for yes or no."""

    def __init__(self, talk: Talk, commands: Sequence[str]) -> None:
        history: History = InMemoryHistory()
        if talk.wanted.keep:
            history = FileHistory(str(history_file()))
        self._lines: PromptSession[str] = PromptSession(
            history=history,
            completer=Words(commands, lambda: names_of(talk)),
            complete_while_typing=False,
            multiline=True,
            key_bindings=_keys(),
            prompt_continuation="… ",
            enable_open_in_editor=False,
        )
        self._answers: PromptSession[str] = PromptSession()

    async def line(self, before: str) -> str:
        """What the user says. Raises KeyboardInterrupt on Ctrl-C, EOFError on Ctrl-D."""
        return await self._lines.prompt_async(ANSI(before))

    async def yes(self, question: str) -> bool:
        """Whether the user says yes; leaving the question is a no."""
        try:
            said = await self._answers.prompt_async(f"{question} [y/N] ")
        except (KeyboardInterrupt, EOFError):
            return False
        return said.strip().lower() in ("y", "yes")


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.document.is_cursor_at_the_end and buffer.text.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def go_on(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys


class Words(Completer):
    """Completes commands after `/`, and models after `/model` and `@`."""

    def __init__(self, commands: Sequence[str], names: Callable[[], Iterable[str]]) -> None:
        self._commands = commands
        self._names = names

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        for word, start in self._fitting(text):
            yield Completion(word, start)

    def _fitting(self, text: str) -> Iterator[tuple[str, int]]:
        head, space, rest = text.partition(" ")
        if text.startswith("/") and not space:
            words, begun = [f"/{each}" for each in self._commands], text
        elif head == "/model" and " " not in rest:
            words, begun = [*self._names(), "-", "show"], rest
        elif text.startswith("@") and not space:
            words, begun = [f"@{each}" for each in self._names()], text
        else:
            return
        yield from ((word, -len(begun)) for word in words if word.startswith(begun))


def names_of(talk: Talk) -> list[str]:
    """Names of models that can be asked from here, the short ones first."""
    known = talk.setup.router.config().names
    usable = talk.setup.usable()
    short = [alias for alias, model in known.aliases.items() if model in set(usable)]
    return [*short, *usable]


def history_file() -> Path:
    """The file of what was written at the prompt, for its owner's eyes alone and not too long."""
    path = config.data_folder() / FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))
    os.chmod(path, 0o600)
    if path.stat().st_size > MOST_HISTORY:
        kept = path.read_bytes()[-MOST_HISTORY // 2 :]
        # An entry is a line with its time, `# …`, and after it its own lines, `+…`.
        path.write_bytes(b"\n# " + kept.partition(b"\n# ")[2])
    return path
