"""What a chat does when a line begins with `/`."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from interlingua.chat.family import family, fork_before_last_turn
from interlingua.cli import chat_lists
from interlingua.cli.chat_export import ENDINGS, export
from interlingua.cli.chat_open import LONGEST_NAME, Talk, short
from interlingua.cli.chat_screen import Screen, one_line
from interlingua.cli.terminal import plural
from interlingua.errors import InterlinguaError
from interlingua.sessions.plans import SwapPlan

LINES_OF_PLAN = 12
USAGE = 31
"""Columns of a command in the list, before what it does."""


class CommandError(InterlinguaError):
    """A command that nobody knows, or that lacks something."""


class LeaveError(Exception):
    """The user wants to leave."""


class Command(NamedTuple):
    """How a command is written, and what it does."""

    usage: str
    help: str


COMMANDS: dict[str, Command] = {
    "model": Command("/model X [--dialect D]", "go on with another model, after its plan"),
    "models": Command("/models [PART]", "models that can be asked from here"),
    "cost": Command("/cost", "what this session used and cost, by model"),
    "history": Command("/history", "the messages of this session, numbered"),
    "tree": Command("/tree", "the forks of this conversation"),
    "fork": Command("/fork [N]", "go on in a copy, of the first N messages or of all"),
    "undo": Command("/undo", "go back before the last turn, in a copy: nothing is deleted"),
    "retry": Command("/retry", "ask again where a turn failed or was broken off"),
    "attach": Command("/attach PATH…", "send files with the next message"),
    "rename": Command("/rename NAME", "give this session another name"),
    "export": Command("/export [html|json|md] [FILE]", "write this session to a file; --to FORMAT"),
    "losses": Command("/losses", "all that the last request could not say"),
    "tools": Command("/tools", "what the model may use"),
    "rules": Command("/rules [check|show|reload]", "the rules that choose models"),
    "help": Command("/help", "this list"),
    "quit": Command("/quit", "leave; so does Ctrl-D"),
}
MORE_HELP = (
    Command("/model -", "back to the model that the session began with"),
    Command("/model show", "how the model of the last turn was chosen"),
    Command("@model TEXT", "ask another model, this once; \\@ is an at sign and no order"),
    Command("\\ or Alt-Enter", "at the end of a line: it goes on"),
    Command("Ctrl-C", "stop the answer and keep what arrived; at the prompt, clear the line"),
)


class Commands:
    """Obeys. `goes_on` is set where a turn is to be gone on with; `attached` are files that wait
    for the next message."""

    def __init__(self, talk: Talk, screen: Screen, yes: Callable[[str], Awaitable[bool]]) -> None:
        self.talk = talk
        self.screen = screen
        self.yes = yes
        self.goes_on = False
        self.attached: list[str] = []

    async def run(self, line: str) -> None:
        word, _, rest = line.removeprefix("/").partition(" ")
        if word in ("exit", "q"):
            word = "quit"
        if word not in COMMANDS:
            raise CommandError(f"no command is called /{word}; /help lists them")
        try:
            words = shlex.split(rest)
        except ValueError as error:
            raise CommandError(f"/{word}: {error}") from None
        await getattr(self, f"_{word}")(words)

    # Models

    async def _model(self, words: list[str]) -> None:
        dialect = _option(words, "--dialect")
        match words:
            case []:
                self.screen.line(self._present())
            case ["show"]:
                self.screen.lines(self.talk.session.show())
            case ["-"]:
                await self.talk.session.swap(None)
                self.screen.line(self._present())
            case [name]:
                await self._change(name, dialect)
            case _:
                raise CommandError(f"usage: {COMMANDS['model'].usage}, /model -, /model show")

    def _present(self) -> str:
        model = self.talk.model
        return one_line(f"{model}, spoken to in {self.talk.spoken.get(model) or 'its usual way'}")

    async def _change(self, name: str, dialect: str | None) -> None:
        """Show the plan, ask where something would be lost, then change."""
        talk, screen = self.talk, self.screen
        model = talk.setup.router.config().names.require(name)
        before = talk.spoken.pop(model, None)
        if dialect is not None:
            _require_dialect(dialect, model, talk)
            talk.spoken[model] = dialect
        done = False
        try:
            plan = await talk.session.plan(model)
            self._tell(plan)
            if plan.refusal is None and await self._agreed(plan):
                await talk.session.swap(model)
                screen.heard(plan.report)
                done = True
        finally:
            if not done:
                talk.spoken.pop(model, None)
                if before is not None:
                    talk.spoken[model] = before
        screen.line(self._present() if done else f"The model stays {talk.model}.")

    def _tell(self, plan: SwapPlan) -> None:
        lines = plan.text.split("\n")
        style = "31" if plan.refusal is not None else "33" if _matters(plan) else "2"
        for line in lines[:LINES_OF_PLAN]:
            self.screen.lines(line, style)
        if len(lines) > LINES_OF_PLAN:
            self.screen.line(f"  … and {len(lines) - LINES_OF_PLAN} more", style)

    async def _agreed(self, plan: SwapPlan) -> bool:
        problem = self.talk.setup.problem(plan.model)
        if problem is not None:
            self.screen.warn(problem)
        if not _matters(plan) and problem is None:
            return True
        return await self.yes(f"Go on with {plan.model} all the same?")

    async def _models(self, words: list[str]) -> None:
        chat_lists.show_models(self.talk, words[0] if words else "")

    # This session

    async def _cost(self, words: list[str]) -> None:
        chat_lists.show_cost(await self.talk.session.messages(), self.talk.setup.prices)

    async def _history(self, words: list[str]) -> None:
        messages = await self.talk.session.messages()
        chat_lists.show_history(messages)

    async def _losses(self, words: list[str]) -> None:
        report = self.talk.chat.report
        self.screen.lines(str(report) if report is not None else "Nothing was sent yet.")

    async def _retry(self, words: list[str]) -> None:
        self.goes_on = True

    async def _attach(self, words: list[str]) -> None:
        from interlingua.chat.attach import attached

        if not words:
            self.screen.line(", ".join(self.attached) or "No files wait.")
            return
        attached((*self.attached, *words))  # says now what is wrong with them
        self.attached += words
        self.screen.note(f"with the next message: {', '.join(self.attached)}")

    async def _rename(self, words: list[str]) -> None:
        name = " ".join(words).strip()
        if not name:
            raise CommandError(f"usage: {COMMANDS['rename'].usage}")
        await self.talk.rename(one_line(name, LONGEST_NAME))
        self.screen.note(f"{short(self.talk.session.id)} is now {self.talk.title}")

    async def _export(self, words: list[str]) -> None:
        target = _option(words, "--to")
        ending = words.pop(0) if words and words[0] in ENDINGS and target is None else None
        if len(words) > 1:
            raise CommandError(f"usage: {COMMANDS['export'].usage}")
        file = words[0] if words else None
        await export(self.talk, self.screen, self.yes, file, target, ending)

    # Forks

    async def _fork(self, words: list[str]) -> None:
        session, at = self.talk.session, None
        if words:
            messages = await session.messages()
            number = int(words[0]) if words[0].isdecimal() and len(words[0]) < 10 else 0
            if not 1 <= number <= len(messages):
                raise CommandError(f"/fork {words[0]}: there are messages 1 to {len(messages)}")
            at = messages[number - 1].id
        row = await self.talk.store.session(session.id)
        forked = await session.fork(at, name=row.name)
        await self._move(forked.id)

    async def _undo(self, words: list[str]) -> None:
        id, taken_back = await fork_before_last_turn(self.talk.session)
        await self._move(id)
        self.screen.note(f"taken back: {taken_back.text}")

    async def _move(self, id: str) -> None:
        old = self.talk.session.id
        await self.talk.move(id)
        count = plural(self.talk.session.row.message_count, "message")
        self.screen.note(f"now in {short(id)} with {count}; {short(old)} stays as it is")

    async def _tree(self, words: list[str]) -> None:
        members = await family(self.talk.store, self.talk.session.id)
        await chat_lists.show_tree(self.talk, members)

    # The rest

    async def _tools(self, words: list[str]) -> None:
        if self.talk.tools is None:
            self.screen.line("The model has no tools: start the chat with --tools.")
        else:
            chat_lists.show_tools(self.talk)

    async def _rules(self, words: list[str]) -> None:
        chat_lists.show_rules(self.talk, self.screen, words[0] if words else "show")

    async def _help(self, words: list[str]) -> None:
        for command in (*COMMANDS.values(), *MORE_HELP):
            self.screen.line(f"{command.usage:<{USAGE}}{command.help}", hang=USAGE)

    async def _quit(self, words: list[str]) -> None:
        raise LeaveError


def _matters(plan: SwapPlan) -> bool:
    """Whether something is lost that somebody may miss."""
    return plan.critical or any(loss.severity != "info" for loss in plan.report)


def _option(words: list[str], name: str) -> str | None:
    """Take an option with its value out of the words."""
    if name not in words:
        return None
    at = words.index(name)
    if at + 1 >= len(words):
        raise CommandError(f"{name} needs a value")
    value = words[at + 1]
    del words[at : at + 2]
    return value


def _require_dialect(name: str, model: str, talk: Talk) -> None:
    provider = talk.setup.providers.get(model.partition(":")[0])
    spoken = list(provider.dialects) if provider is not None else []
    if name not in spoken:
        raise CommandError(f"{model} is not spoken to in {name!r}, but in {', '.join(spoken)}")
