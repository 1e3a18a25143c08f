"""An interactive chat: a line is read, said or obeyed, and the answer shown, until Ctrl-D."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from interlingua.chat.attach import attached
from interlingua.cli.chat_ask import asked_about
from interlingua.cli.chat_commands import COMMANDS, Commands, LeaveError
from interlingua.cli.chat_open import ChatOptions, Talk, opened_talk, short
from interlingua.cli.chat_prompt import Prompt
from interlingua.cli.chat_screen import Screen, clean, one_line
from interlingua.cli.chat_turn import shown_turn, silent_keys
from interlingua.errors import InterlinguaError
from interlingua.model.blocks import TextBlock, UserBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.routing.availability import Availability
from interlingua.store.errors import ConflictError

if TYPE_CHECKING:
    from interlingua.tools.confirm import Confirmation

SHOWN_AGAIN = 400
"""Characters of the last messages that are shown when a session is resumed."""


async def talk_on(wanted: ChatOptions, thinking: bool) -> int:
    """Talk until the user leaves; gives the exit code."""
    room: list[Room] = []

    async def confirm(question: Confirmation) -> bool:
        return await room[0].allowed(question)

    async with opened_talk(wanted, confirm=confirm) as talk:
        room.append(Room(talk, Screen(thinking=thinking)))
        await room[0].greet()
        if wanted.model is not None and not talk.is_new:
            await room[0].commands.run(shlex.join(["/model", wanted.model]))
        while await room[0].step():
            pass
    return 0


class Room:
    """Where the user and the model meet."""

    def __init__(self, talk: Talk, screen: Screen) -> None:
        self.talk = talk
        self.screen = screen
        self.prompt = Prompt(talk, list(COMMANDS))
        self.commands = Commands(talk, screen, self.prompt.yes)
        self._asking = asyncio.Lock()

    async def greet(self) -> None:
        talk, screen = self.talk, self.screen
        kept = f"new session {short(talk.session.id)}"
        if not talk.is_new:
            kept = f"{talk.title or 'session'} ({short(talk.session.id)})"
        home = str(Path.home())
        where = talk.where.replace(home, "~", 1) if talk.where.startswith(home) else talk.where
        screen.note(f"{talk.model} · {kept} · {where} · /help")
        problem = talk.setup.problem(talk.model)
        if problem is not None:
            screen.warn(problem)
        if not talk.is_new:
            await self._recall()

    async def _recall(self) -> None:
        """The last words of a session that goes on, and whether something is missing."""
        messages = await self.talk.session.tail(6)
        for message in messages[-2:]:
            if message.role in (Role.USER, Role.ASSISTANT):
                who = ">" if message.role is Role.USER else "<"
                self.screen.line(f"{who} {one_line(message.text, SHOWN_AGAIN)}", "2")
        if await self.talk.is_busy():
            self.screen.warn("Another program has a turn of this session under way.")
        elif messages and _is_broken_off(messages[-1]):
            self.screen.warn("The last turn was broken off; what arrived is kept. /retry goes on.")

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
                "Somebody else went on in this session; it was read again. Say it again."
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
        # Whoever sits here decides whether to try again; models are not passed over unasked.
        talk.setup.router.availability = Availability()
        parts = talk.chat.resume() if message is None else talk.chat.say(message)
        try:
            with silent_keys():
                done = await shown_turn(talk, screen, parts)
        except InterlinguaError as error:
            if isinstance(error, ConflictError):
                raise
            screen.error(str(error))
            if talk.chat.turn is not before:
                screen.note("What arrived is kept; /retry asks again, /model chooses another.")
            return
        turn = talk.chat.turn
        if not done:
            screen.warn("stopped; what arrived is kept")
        elif turn is not None:
            screen.ended(turn.answers, talk.named(turn.model))

    async def allowed(self, question: Confirmation) -> bool:
        """Whether a tool may run; one question at a time."""
        async with self._asking:
            self.screen.fresh()
            return await self.prompt.yes(asked_about(question))

    def _before(self) -> str:
        """The prompt: who is meant, by the shortest name."""
        self.screen.room()
        return self.screen.styled(f"{clean(self.talk.named(self.talk.model))}>", "1") + " "


def _is_broken_off(last: Message) -> bool:
    """Whether a session ends in the middle of a turn."""
    if last.role is not Role.ASSISTANT:
        return last.role in (Role.USER, Role.TOOL)
    broken = (MessageStatus.PARTIAL, MessageStatus.ERROR)
    return last.metadata.status in broken or bool(last.tool_calls)
