"""One question, one answer: `interlingua chat "question"`, and with `--dry-run` none at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from interlingua.chat.attach import attached
from interlingua.cli.chat_open import ChatOptions, Talk, opened_talk, short
from interlingua.cli.chat_screen import Screen, one_line
from interlingua.cli.chat_turn import shown_turn
from interlingua.cli.terminal import on_terminal, put, put_json, say
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import TextBlock, UserBlock
from interlingua.model.events import MessageComplete
from interlingua.model.message import Message

if TYPE_CHECKING:
    from interlingua.tools.confirm import Confirmation

FAILED, STOPPED = 1, 130


class Question(NamedTuple):
    """What is asked: words, files that were named, and what came through a pipe."""

    words: str = ""
    files: tuple[str, ...] = ()
    piped: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.words.strip() and not self.piped.strip() and not self.files

    def message(self) -> Message:
        """Files first, then the words, then the pipe: so that `@model` leads the words, and not
        what happens to be piped."""
        texts = [text for text in (self.words, self.piped) if text]
        blocks: list[UserBlock] = [*attached(self.files), *[TextBlock(text) for text in texts]]
        return Message.user(blocks)

    def title(self) -> str:
        return self.words or self.piped[:200] or ", ".join(self.files)


async def ask_once(question: Question, wanted: ChatOptions, as_json: bool, thinking: bool) -> int:
    """Ask, show the answer, and give the exit code."""
    message = question.message()
    screen = Screen(answer=not as_json, thinking=thinking)
    async with opened_talk(wanted, confirm=_consent) as talk:
        await talk.wait(screen.note)
        await _choose(talk, screen)
        await talk.name(question.title())
        parts = talk.chat.say(message)
        code = 0
        try:
            if not await shown_turn(talk, screen, parts):
                screen.warn(f"stopped; what arrived is kept{_where(talk)}")
                code = STOPPED
        except InterlinguaError as error:
            screen.error(f"interlingua: {error}")
            if talk.chat.turn is not None:
                screen.note(f"what arrived is kept{_where(talk)}")
            code = FAILED
        if talk.chat.turn is None:
            return code
        if as_json:
            _put_last(talk)
        elif code == 0 and sys.stderr.isatty():
            screen.ended(talk.chat.turn.answers, talk.named(talk.chat.turn.model))
        if code == 0 and talk.shape is not None:
            return _checked(talk, screen)
    return code


async def _choose(talk: Talk, screen: Screen) -> None:
    """The model of `-m` in a session that goes on: as with `/model` it holds from now on, what
    is lost is told, and nobody is asked."""
    model = talk.wanted.model
    if model is not None and not talk.is_new:
        plan = await talk.session.plan(model)
        await talk.session.swap(model)
        screen.losses(plan.report)


def _where(talk: Talk) -> str:
    if not talk.wanted.keep:
        return " no longer than this"
    id = short(talk.session.id) if sys.stderr.isatty() else talk.session.id
    return f" in session {id}; go on with -r {id}"


def _put_last(talk: Talk) -> None:
    from interlingua.model.codec import dumps

    turn = talk.chat.turn
    if turn is not None and turn.answers:
        put(dumps(turn.answers[-1]) + b"\n")


def _checked(talk: Talk, screen: Screen) -> int:
    """Whether the answer has the shape that was asked for."""
    from interlingua.client.answer import Answer
    from interlingua.client.errors import OutputError
    from interlingua.losses import Report

    last = screen.last
    assert talk.shape is not None
    if not isinstance(last, MessageComplete):
        return FAILED
    report = talk.chat.report or Report("")
    try:
        talk.shape.read(Answer(last.response, report, talk.model))
    except OutputError as error:
        screen.error(f"interlingua: {error}")
        return FAILED
    return 0


def _consent(question: Confirmation) -> bool:
    """Ask on the terminal, also where the question came through a pipe; nobody there is a no."""
    from interlingua.cli.chat_ask import asked_about

    try:
        with open("/dev/tty", "r+", encoding="utf-8", buffering=1) as terminal:
            terminal.write(f"{asked_about(question)} [y/N] ")
            terminal.flush()
            return terminal.readline().strip().lower() in ("y", "yes")
    except OSError:
        print(one_line(f"{question.tool.name}: there is nobody to ask"), file=sys.stderr)
        return False


async def show_request(question: Question, wanted: ChatOptions, as_json: bool) -> int:
    """Print the request that the question would make. Nothing is sent and nothing is stored."""
    from interlingua.chat.dry_run import dry

    message = question.message()
    screen = Screen()
    async with opened_talk(wanted._replace(keep=False)) as talk:
        await _choose(talk, screen)
        turn = await talk.session.begin(message)
        call = await turn.call(stream=True)
        request = dry(talk.setup, turn, call)
    for note in request.notes:
        screen.note(note)
    screen.losses(request.report)
    if as_json:
        put_json(request.as_json())
    elif on_terminal():
        say(request.text(pretty=True))
    else:
        put(request.text().encode())
    return 0
