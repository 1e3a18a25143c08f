"""An interactive chat: reads lines, sends them or runs their commands, and shows answers, until
Ctrl-D."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from interlingua import config
from interlingua.agents.chat.files import attached
from interlingua.cli.chat import ChatOptions, Talk, opened_talk, short
from interlingua.cli.chat_commands import COMMANDS, Commands, LeaveError
from interlingua.cli.chat_screen import Screen, clean, one_line
from interlingua.cli.terminal import dollars, on_terminal, put, put_json, say
from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.model.blocks import TextBlock, UserBlock
from interlingua.model.events import MessageComplete
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.routing.availability import Availability
from interlingua.store.errors import ConflictError

if TYPE_CHECKING:
    from interlingua.agents.chat.chat import ChatEvent
    from interlingua.tools.confirm import Confirmation


LONGEST = 400


def question_text(question: Confirmation) -> str:
    """The model's request on one line: the tool, its effects, and its input."""
    arguments = msgspec.json.encode(question.input).decode()
    effects = question.side_effects.value
    return one_line(f"Allow {question.tool.name} ({effects}) {arguments}?", LONGEST)


FAILED, STOPPED = 1, 130


class Question(NamedTuple):
    """A question: its words, attached files, and piped text."""

    words: str = ""
    files: tuple[str, ...] = ()
    piped: str = ""

    @property
    def is_empty(self) -> bool:
        return not self.words.strip() and not self.piped.strip() and not self.files

    def message(self) -> Message:
        """Files first, then the words, then the piped text, so that `@model` is only recognised in
        the words."""
        texts = [text for text in (self.words, self.piped) if text]
        blocks: list[UserBlock] = [*attached(self.files), *[TextBlock(text) for text in texts]]
        return Message.user(blocks)

    def title(self) -> str:
        return self.words or self.piped[:200] or ", ".join(self.files)


async def ask_once(
    question: Question, chat_options: ChatOptions, as_json: bool, thinking: bool
) -> int:
    """Asks, shows the answer, and returns the exit code."""
    message = question.message()
    screen = Screen(answer=not as_json, thinking=thinking)
    async with opened_talk(chat_options, confirm=_consent) as talk:
        await talk.wait(screen.note)
        await _choose(talk, screen)
        await talk.name(question.title())
        parts = talk.say(message)
        code = 0
        try:
            if not await shown_turn(talk, screen, parts):
                screen.warn(f"stopped{await _stored(talk)}")
                code = STOPPED
        except InterlinguaError as error:
            screen.error(f"interlingua: {error}")
            if stored := await _stored(talk):
                screen.note(stored.removeprefix("; "))
            code = FAILED
        if talk.chat.turn is None:
            return code
        if as_json:
            _put_last(talk)
        elif code == 0 and sys.stderr.isatty():
            screen.ended(talk.chat.turn.answers, talk.answered_by(talk.chat.turn))
        if code == 0 and talk.shape is not None:
            return _checked(talk, screen)
    return code


async def _choose(talk: Talk, screen: Screen) -> None:
    """Moves a resumed session to the model of `-m`, as `/model` does: shows the losses, and asks
    for no confirmation."""
    model = talk.chat_options.model
    if model is not None and not talk.is_new:
        plan = await talk.session.plan(model)
        await talk.swap(model)
        screen.losses(plan.report)


async def _stored(talk: Talk) -> str:
    """How to continue the conversation; empty if it is not stored."""
    if not talk.chat_options.keep or not await talk.is_answered():
        return ""
    id = short(talk.session.id) if sys.stderr.isatty() else talk.session.id
    return f"; the conversation is stored: continue with -r {id}"


def _put_last(talk: Talk) -> None:
    from interlingua.model.codec import dumps

    turn = talk.chat.turn
    if turn is not None and turn.answers:
        put(dumps(turn.answers[-1]) + b"\n")


def _checked(talk: Talk, screen: Screen) -> int:
    """The exit code: whether the answer has the requested shape."""
    from interlingua.client.answer import Answer
    from interlingua.client.errors import OutputError
    from interlingua.model.losses import Report

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
    """Asks on the terminal, even if the question came through a pipe; without a terminal, the
    answer is no."""
    try:
        with open("/dev/tty", "r+", encoding="utf-8", buffering=1) as terminal:
            terminal.write(f"{question_text(question)} [y/N] ")
            terminal.flush()
            return terminal.readline().strip().lower() in ("y", "yes")
    except OSError:
        print(
            one_line(
                f"{question.tool.name}: denied, as it needs confirmation and there is no terminal"
            ),
            file=sys.stderr,
        )
        return False


async def show_request(question: Question, chat_options: ChatOptions, as_json: bool) -> int:
    """Print the request that the question would make. Nothing is sent and nothing is stored."""
    from interlingua.agents.chat.setup import dry

    message = question.message()
    screen = Screen()
    async with opened_talk(chat_options._replace(keep=False)) as talk:
        await _choose(talk, screen)
        turn = await talk.session.begin(message)
        call = await turn.call(stream=True)
        request = dry(talk.setup, turn, call)
    for note in request.notes:
        screen.note(note)
    screen.losses(request.report)
    if request.ahead is not None:
        cost = request.ahead.cost_usd
        price = "" if cost is None else f", {dollars(cost)} without the answer"
        screen.note(f"predicted: {request.ahead.text}{price}")
        for each in request.ahead.unknown:
            screen.note(f"unknown: {each}")
    if as_json:
        put_json(request.as_json())
    elif on_terminal():
        say(request.text(pretty=True))
    else:
        put(request.text().encode())
    return 0


async def shown_turn(talk: Talk, screen: Screen, parts: AsyncGenerator[ChatEvent, None]) -> bool:
    """Shows a turn; False if the user stopped it. Errors are raised after showing what had arrived;
    the turn ends either way."""
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
    meant, begun, last_report = talk.model, False, None
    async with aclosing(parts):
        async for event in parts:
            turn, report = talk.chat.turn, talk.chat.report
            if not begun and turn is not None:
                begun = True
                _tell_model(screen, meant, turn.decision)
            if report is not last_report:
                last_report = report
                screen.losses(report)
            screen.show(event)


def _tell_model(screen: Screen, meant: str, decision: Any) -> None:
    """Shows which model answers if it is not the intended one."""
    winner = decision.winner
    if winner is None or winner.candidate_model == meant:
        return
    passed = [f"{s.candidate_model}: {s.reason}" for s in decision.chain if s.validation_failure]
    because = f"; skipped {'; '.join(passed)}" if passed else ""
    screen.note(f"{winner.candidate_model} answers ({winner.reason}{because})")


@contextmanager
def silent_keys() -> Iterator[None]:
    """Keys typed while an answer arrives wait for the prompt and are not echoed."""
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


SHOWN_AGAIN = 400
"""Characters of the last messages that are shown when a session is resumed."""


async def talk_on(chat_options: ChatOptions, thinking: bool) -> int:
    """Talks until the user leaves; returns the exit code."""
    loops: list[ChatLoop] = []

    async def confirm(question: Confirmation) -> bool:
        return await loops[0].allowed(question)

    async with opened_talk(chat_options, confirm=confirm) as talk:
        loops.append(ChatLoop(talk, Screen(thinking=thinking)))
        await loops[0].greet()
        if chat_options.model is not None and not talk.is_new:
            await loops[0].commands.run(shlex.join(["/model", chat_options.model]))
        while await loops[0].step():
            pass
    return 0


class ChatLoop:
    """Reads the user's lines and runs the turns."""

    def __init__(self, talk: Talk, screen: Screen) -> None:
        self.talk = talk
        self.screen = screen
        self.prompt = Prompt(talk, list(COMMANDS))
        self.commands = Commands(talk, screen, self.prompt.yes)
        self._asking = asyncio.Lock()

    async def greet(self) -> None:
        talk, screen = self.talk, self.screen
        session = f"new session {short(talk.session.id)}"
        if not talk.is_new:
            session = f"{talk.title or 'session'} ({short(talk.session.id)})"
        home = str(Path.home())
        where = talk.where.replace(home, "~", 1) if talk.where.startswith(home) else talk.where
        screen.note(f"{talk.model} · {session} · {where} · /help")
        problem = talk.setup.problem(talk.model)
        if problem is not None:
            screen.warn(problem)
        if not talk.is_new:
            await self._recall()

    async def _recall(self) -> None:
        """The last words of a resumed session, and whether something is missing."""
        messages = await self.talk.session.tail(6)
        for message in messages[-2:]:
            if message.role in (Role.USER, Role.ASSISTANT):
                who = ">" if message.role is Role.USER else "<"
                self.screen.line(f"{who} {one_line(message.text, SHOWN_AGAIN)}", "2")
        if await self.talk.is_busy():
            self.screen.warn("Another program is running a turn of this session.")
        elif messages and _is_broken_off(messages[-1]):
            self.screen.warn("The last turn was interrupted; /retry continues it.")

    async def step(self) -> bool:
        """One line of the user's; False if it was the last."""
        try:
            line = await self.prompt.line(self._before())
        except KeyboardInterrupt:
            return True
        except EOFError:
            return False
        if not line.strip() and not self.commands.attached:
            return True
        self.screen.room(written=True)
        try:
            if line.startswith("/"):
                await self._obey(line.strip())
            else:
                await self._turn(self._message(line))
        except LeaveError:
            return False
        except ConflictError:
            await self.talk.session.reload()
            self.screen.warn(
                "Another program changed this session; it was reloaded. Send your message again."
            )
        except InterlinguaError as error:
            self.screen.error(str(error))
        except (KeyboardInterrupt, asyncio.CancelledError):
            self.screen.warn("stopped")
        return True

    async def _obey(self, line: str) -> None:
        await self.commands.run(line)
        if self.commands.goes_on:
            self.commands.goes_on = False
            await self._turn(None)
        else:
            self.screen.room(written=True)

    def _message(self, line: str) -> Message:
        files, self.commands.attached = tuple(self.commands.attached), []
        blocks: list[UserBlock] = list(attached(files))
        return Message.user([*blocks, *([TextBlock(line)] if line.strip() else [])])

    async def _turn(self, message: Message | None) -> None:
        talk, screen = self.talk, self.screen
        await talk.wait(screen.note)
        if message is not None:
            await talk.name(message.text)
        before = talk.chat.turn
        # The user decides whether to try again; no other model is tried without asking.
        talk.setup.router.availability = Availability()
        parts = talk.say(message)
        try:
            with silent_keys():
                done = await shown_turn(talk, screen, parts)
        except InterlinguaError as error:
            if isinstance(error, ConflictError):
                raise
            screen.error(str(error))
            if talk.chat.turn is not before:
                screen.note("/retry asks again, /model chooses another model.")
            return
        turn = talk.chat.turn
        if not done:
            screen.warn("stopped; the part that arrived is stored")
        elif turn is not None:
            screen.ended(turn.answers, talk.answered_by(turn))

    async def allowed(self, question: Confirmation) -> bool:
        """Whether a tool may run; one question at a time."""
        async with self._asking:
            self.screen.fresh()
            return await self.prompt.yes(question_text(question))

    def _before(self) -> str:
        """The prompt: the next model, by its shortest name."""
        self.screen.room()
        return self.screen.styled(f"{clean(self.talk.named(self.talk.model))}>", "1") + " "


def _is_broken_off(last: Message) -> bool:
    """Whether a session ends in the middle of a turn."""
    if last.role is not Role.ASSISTANT:
        return last.role in (Role.USER, Role.TOOL)
    broken = (MessageStatus.PARTIAL, MessageStatus.ERROR)
    return last.metadata.status in broken or bool(last.tool_calls)


try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import ANSI
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
except ImportError:
    raise MissingExtraError("an interactive chat", "cli") from None


FILE = "chat-history"
MOST_HISTORY = 1 << 20
"""Bytes of the history's file; beyond that its older half is forgotten."""


class Prompt:
    """Reads the user's messages, and answers to yes-or-no questions."""

    def __init__(self, talk: Talk, commands: Sequence[str]) -> None:
        history: History = InMemoryHistory()
        if talk.chat_options.keep:
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
        """The user's line. Raises KeyboardInterrupt on Ctrl-C, EOFError on Ctrl-D."""
        return await self._lines.prompt_async(ANSI(before))

    async def yes(self, question: str) -> bool:
        """Whether the user answers yes; leaving the question means no."""
        try:
            answer = await self._answers.prompt_async(f"{question} [y/N] ")
        except (KeyboardInterrupt, EOFError):
            return False
        return answer.strip().lower() in ("y", "yes")


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
    """Names of models that are available here, the short ones first."""
    known = talk.setup.router.config().names
    usable = talk.setup.usable()
    short = [alias for alias, model in known.aliases.items() if model in set(usable)]
    return [*short, *usable]


def history_file() -> Path:
    """The file of the prompt's history: readable by its owner only, and bounded."""
    path = config.data_folder() / FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o600))
    os.chmod(path, 0o600)
    if path.stat().st_size > MOST_HISTORY:
        recent = path.read_bytes()[-MOST_HISTORY // 2 :]
        # An entry is a line with its time, `# …`, and after it its own lines, `+…`.
        path.write_bytes(b"\n# " + recent.partition(b"\n# ")[2])
    return path
