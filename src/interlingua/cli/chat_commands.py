"""The commands of a chat: lines that begin with `/`."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NamedTuple

from interlingua.agents.chat.chat import Member, family, fork_before_last_turn
from interlingua.cli.chat import LONGEST_NAME, Talk, servers_path, short
from interlingua.cli.chat_screen import Screen, one_line
from interlingua.cli.export import HTML, JSONL, MARKDOWN, ExportOptions, pieces, targets
from interlingua.cli.main import unknown
from interlingua.cli.terminal import Column, dollars, plural, put, say, show_table, spent
from interlingua.costs.cost import total
from interlingua.errors import InterlinguaError
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.sessions.plans import SwapPlan
from interlingua.store.base import Store
from interlingua.store.open import open_store
from interlingua.transcripts.exports import status_text

if TYPE_CHECKING:
    from interlingua.costs.table import PriceTable


ABLE = {
    "supports_images": "images",
    "supports_tools": "tools",
    "supports_thinking": "thinking",
    "supports_structured_output": "schema",
}
LONGEST = 70
MOST_IN_TREE = 100


def show_models(talk: Talk, part: str) -> None:
    """The models usable now; the one in use is marked."""
    usable = talk.setup.usable()
    aliases = talk.setup.router.config().names.aliases
    prices = talk.setup.prices
    found = [id for id in usable if part.lower() in id.lower() or aliases.get(part) == id]
    rows = []
    for id in found:
        able = talk.setup.model_lookup.capabilities(id)
        price = prices.models.get(id) if prices else None
        rows.append(
            [
                "*" if id == talk.model else "",
                id,
                ", ".join(alias for alias, model in aliases.items() if model == id),
                f"{able.max_context_tokens:,}" if able.max_context_tokens else "?",
                dollars(price.input if price else None),
                dollars(price.output if price else None),
                " ".join(word for field, word in ABLE.items() if getattr(able, field)),
            ]
        )
    columns = [Column(""), Column("model", "cyan"), Column("alias", "yellow")]
    columns += [Column("window", right=True), Column("in", "green", right=True)]
    columns += [Column("out", "green", right=True), Column("can", "dim", shrink=True)]
    if rows:
        show_table(columns, rows)
    without = sorted({key for key in talk.setup.providers if talk.setup.problem(f"{key}:x")})
    say(f"US dollars per million tokens. Without a key: {', '.join(without) or 'none'}.", "dim")


def show_cost(messages: Sequence[Message], prices: PriceTable | None) -> None:
    """Tokens and dollars by model, in the order of their first answer."""
    used: dict[str, list[Usage]] = {}
    for message in messages:
        if message.metadata.usage is not None:
            used.setdefault(message.metadata.model or "?", []).append(message.metadata.usage)
    if not used:
        say("Nothing was used yet.")
        return
    rows = [[model, *_sums(usages)] for model, usages in used.items()]
    everything = [usage for usages in used.values() for usage in usages]
    columns = [Column("model", "cyan"), Column("answers", right=True), Column("in", right=True)]
    columns += [Column("cached", right=True), Column("out", right=True)]
    columns += [Column("cost", "green", right=True)]
    show_table(columns, rows, total=["total", *_sums(everything)])
    versions = sorted({usage.pricing_version for usage in everything if usage.pricing_version})
    if versions:
        say(f"prices of {', '.join(versions)}", "dim")


def _sums(usages: list[Usage]) -> list[str]:
    def count(field: str) -> str:
        return f"{sum(getattr(usage, field) or 0 for usage in usages):,}"

    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    lacks = len(costs) < len(usages) or any(usage.unpriced for usage in usages)
    return [
        str(len(usages)),
        count("prompt_tokens"),
        count("cached_input_tokens"),
        count("output_tokens"),
        spent(total(*costs) if costs else None, lacks),
    ]


def show_history(messages: Sequence[Message]) -> None:
    """One line for each message."""
    rows = []
    for number, message in enumerate(messages, 1):
        text = message.text or ", ".join(block.type for block in message.content)
        flag = status_text(message.metadata.status)
        rows.append([str(number), message.role.value, flag, one_line(text, LONGEST)])
    if not rows:
        say("There are no messages yet.")
        return
    columns = [Column("", right=True), Column("role", "cyan"), Column("", "yellow")]
    show_table([*columns, Column("text", shrink=True)], rows)


async def show_tree(talk: Talk, members: Sequence[Member]) -> None:
    """Sessions as a tree of forks, each with its last words."""
    for row, depth in members[:MOST_IN_TREE]:
        mark = "*" if row.id == talk.session.id else " "
        last = await talk.store.tail(row.id, 1)
        words = f" · {last[0].text}" if last and last[0].text else ""
        start = f"{mark} {'   ' * (depth - 1)}{'└─ ' if depth else ''}"
        line = f"{short(row.id)} · {plural(row.message_count, 'message')}{words}"
        room = max(40, get_terminal_size().columns - len(start) - 1)
        say(start + one_line(line, room), "bold" if mark == "*" else "")
    if len(members) > MOST_IN_TREE:
        say(f"  … and {len(members) - MOST_IN_TREE} more", "dim")


def show_tools(talk: Talk) -> None:
    """The tools, their permissions, and their servers."""
    assert talk.tools is not None
    rows = [
        [tool.name, tool.side_effects.value if tool.side_effects else "?", tool.description or ""]
        for tool in talk.tools
    ]
    columns = [Column("tool", "cyan"), Column("effects", "yellow"), Column("does", shrink=True)]
    show_table(columns, rows)
    for status in talk.servers.status() if talk.servers is not None else []:
        problem = f": {status.problem}" if status.problem else ""
        say(one_line(f"server {status.name} is {status.state}{problem}", 200), "dim")
    if talk.servers is None:
        say(f"MCP servers are configured in {servers_path()}.", "dim")
    say("Confirmation is required for everything except reading.", "dim")


def show_rules(talk: Talk, screen: Screen, word: str) -> None:
    """`check` the file for errors, `show` the rules in force, `reload` them."""
    rules = talk.setup.rules
    policy = rules.read(reload=word in ("reload", "check")).policy
    if word not in ("check", "show", "reload"):
        screen.error("usage: /rules check, /rules show or /rules reload")
        return
    for problem in rules.problems:
        screen.error(f"{rules.path}: {problem}")
    if not rules.path.exists():
        screen.line(one_line(f"There are no rules: {rules.path} does not exist.", 300))
        return
    if rules.problems:
        screen.line("The last valid rules stay active.")
    scope = policy.scope(talk.session.row.workspace_path)
    facts = [f"version {policy.version or 'none'}"]
    facts.append(f"default {scope.default or policy.everywhere.default or 'none'}")
    screen.line(one_line(" · ".join([str(rules.path), *facts]), 300))
    if word == "show":
        for rule in (*scope.rules, *policy.everywhere.rules):
            screen.line(one_line(f"  {rule.name} → {rule.model}", 200))


LINES_OF_PLAN = 12
USAGE = 31
"""Columns of a command in the list, before its description."""


class CommandError(InterlinguaError):
    """An unknown command, or one that lacks an argument."""


class LeaveError(Exception):
    """The user wants to leave."""


class Command(NamedTuple):
    """The usage of a command, and its function."""

    usage: str
    help: str


COMMANDS: dict[str, Command] = {
    "model": Command(
        "/model X [--dialect D]", "switch to another model, after showing what changes"
    ),
    "models": Command("/models [PART]", "models that are available here"),
    "cost": Command("/cost", "what this session used and cost, by model"),
    "history": Command("/history", "the messages of this session, numbered"),
    "tree": Command("/tree", "the forks of this conversation"),
    "fork": Command("/fork [N]", "continue in a copy of the first N messages, or of all"),
    "undo": Command("/undo", "undo the last turn, in a copy; nothing is deleted"),
    "retry": Command("/retry", "retry a turn that failed or was interrupted"),
    "rate": Command("/rate up|down", "rate the last answer; routing can learn from it"),
    "attach": Command("/attach PATH…", "send files with the next message"),
    "rename": Command("/rename NAME", "give this session another name"),
    "export": Command("/export [html|json|md] [FILE]", "write this session to a file; --to FORMAT"),
    "losses": Command("/losses", "show all losses of the last request"),
    "tools": Command("/tools", "what the model may use"),
    "rules": Command("/rules [check|show|reload]", "the rules that choose models"),
    "help": Command("/help", "this list"),
    "quit": Command("/quit", "leave; so does Ctrl-D"),
}
MORE_HELP = (
    Command("/model -", "switch back to the first model of the session"),
    Command("/model show", "how the model of the last turn was chosen"),
    Command("@model TEXT", "ask another model once; \\@ is a plain @"),
    Command("\\ or Alt-Enter", "at the end of a line: continue on the next line"),
    Command(
        "Ctrl-C", "stop the answer (the part that arrived is stored); at the prompt, clear the line"
    ),
)


class Commands:
    """Runs commands. `goes_on` is set if a turn is to be continued; `attached` are files for the
    next message."""

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
            near = get_close_matches(word, COMMANDS, 1)
            hint = f"; did you mean /{near[0]}?" if near else "; /help lists all"
            raise CommandError(f"unknown command /{word}{hint}")
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
                await self.talk.swap(None)
                self.screen.line(self._present())
            case [name]:
                await self._change(name, dialect)
            case _:
                raise CommandError(f"usage: {COMMANDS['model'].usage}, /model -, /model show")

    def _present(self) -> str:
        model = self.talk.model
        dialect = self.talk.dialects.get(model)
        return one_line(model if dialect is None else f"{model}, dialect {dialect}")

    async def _change(self, name: str, dialect: str | None) -> None:
        """Show the plan, ask where something would be lost, then change."""
        talk, screen = self.talk, self.screen
        model = talk.setup.router.config().names.require(name)
        before = talk.dialects.pop(model, None)
        if dialect is not None:
            _require_dialect(dialect, model, talk)
            talk.dialects[model] = dialect
        done = False
        try:
            plan = await talk.session.plan(model)
            self._tell(plan)
            if plan.refusal is None and await self._agreed(plan):
                await talk.swap(name)
                screen.mark_shown(plan.report)
                done = True
        finally:
            if not done:
                talk.dialects.pop(model, None)
                if before is not None:
                    talk.dialects[model] = before
        screen.line(self._present() if done else f"The model is still {talk.model}.")

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
        return await self.yes(f"Continue with {plan.model} anyway?")

    async def _models(self, words: list[str]) -> None:
        show_models(self.talk, words[0] if words else "")

    # This session

    async def _cost(self, words: list[str]) -> None:
        show_cost(await self.talk.session.messages(), self.talk.setup.prices)

    async def _history(self, words: list[str]) -> None:
        messages = await self.talk.session.messages()
        show_history(messages)

    async def _losses(self, words: list[str]) -> None:
        report = self.talk.chat.report
        self.screen.lines(str(report) if report is not None else "Nothing was sent yet.")

    async def _retry(self, words: list[str]) -> None:
        self.goes_on = True

    async def _rate(self, words: list[str]) -> None:
        if words not in (["up"], ["down"]):
            raise CommandError(f"usage: {COMMANDS['rate'].usage}")
        await self.talk.session.rate("up" if words == ["up"] else "down")
        self.screen.note(f"rated {words[0]}")

    async def _attach(self, words: list[str]) -> None:
        from interlingua.agents.chat.files import attached

        if not words:
            self.screen.line(", ".join(self.attached) or "No files are attached.")
            return
        attached((*self.attached, *words))  # raises now for files that cannot be attached
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
                raise CommandError(f"/fork {words[0]}: messages are numbered 1 to {len(messages)}")
            at = messages[number - 1].id
        row = await self.talk.store.session(session.id)
        forked = await session.fork(at, name=row.name)
        await self._move(forked.id)

    async def _undo(self, words: list[str]) -> None:
        id, taken_back = await fork_before_last_turn(self.talk.session)
        await self._move(id)
        self.screen.note(f"undone: {taken_back.text}")

    async def _move(self, id: str) -> None:
        old = self.talk.session.id
        await self.talk.move(id)
        count = plural(self.talk.session.row.message_count, "message")
        self.screen.note(f"now in {short(id)} with {count}; {short(old)} is unchanged")

    async def _tree(self, words: list[str]) -> None:
        members = await family(self.talk.store, self.talk.session.id)
        await show_tree(self.talk, members)

    # The rest

    async def _tools(self, words: list[str]) -> None:
        if self.talk.tools is None:
            self.screen.line("The model has no tools: start the chat with --tools.")
        else:
            show_tools(self.talk)

    async def _rules(self, words: list[str]) -> None:
        show_rules(self.talk, self.screen, words[0] if words else "show")

    async def _help(self, words: list[str]) -> None:
        for command in (*COMMANDS.values(), *MORE_HELP):
            self.screen.line(f"{command.usage:<{USAGE}}{command.help}", hang=USAGE)

    async def _quit(self, words: list[str]) -> None:
        raise LeaveError


def _matters(plan: SwapPlan) -> bool:
    """Whether anything is lost."""
    return plan.critical or bool(plan.report)


def _option(words: list[str], name: str) -> str | None:
    """Removes an option and its value from the words."""
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
    dialects = list(provider.dialects) if provider is not None else []
    if name not in dialects:
        raise CommandError(f"{model} does not support {name!r}, only {', '.join(dialects)}")


BY_ENDING = {
    ".md": MARKDOWN,
    ".html": HTML,
    ".jsonl": JSONL,
    ".json": "canonical",
}
ENDINGS = ("html", "json", "md")
"""Formats that a single word can name; the file then has the session's name."""
LONGEST_FILE = 40


async def export(
    talk: Talk,
    screen: Screen,
    yes: Callable[[str], Awaitable[bool]],
    file: str | None,
    target: str | None,
    ending: str | None = None,
) -> None:
    """Exports the session. Without a file, to the screen; without a format, in that of the
    file's ending, or Markdown. With an `ending` alone, to a file with the session's name."""
    path = Path(file).expanduser() if file is not None else None
    if ending is not None:
        path = path or Path(f"{file_name(talk)}.{ending}")
        target = BY_ENDING[f".{ending}"]
    if target is None:
        ending = path.suffix.lower() if path is not None else ""
        target = BY_ENDING.get(ending, MARKDOWN)
    known = targets()
    if target not in known:
        raise InterlinguaError(unknown("format", target, known))
    if path is not None and path.exists() and not await yes(f"Overwrite {path}?"):
        return
    data, report = await asyncio.to_thread(_written, talk, target)
    if path is None:
        put(data)
    else:
        await asyncio.to_thread(_keep, path, data)
        screen.note(f"{len(data):,} bytes in {path}")
    screen.losses(report)


def file_name(talk: Talk) -> str:
    """The session's name as one of a file: letters, digits and hyphens."""
    words = re.findall(r"\w+", (talk.title or "").lower())
    return "-".join(words)[:LONGEST_FILE].strip("-_") or short(talk.session.id)


def _written(talk: Talk, target: str) -> tuple[bytes, Report]:
    report = Report(target)
    with _same_store(talk) as store:
        row = store.session(talk.session.id)
        options = ExportOptions(target, talk.model)
        return b"".join(pieces(store, row, options, report)), report


def _same_store(talk: Talk) -> Store:
    """The store of the chat, by the way that commands use."""
    if talk.chat_options.keep:
        return open_store(talk.chat_options.address)
    return open_store(Path(talk.store.where))


def _keep(path: Path, data: bytes) -> None:
    """Conversations are private; so is a file that is made for them."""
    try:
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
    except OSError as error:
        raise InterlinguaError(f"{path}: {error.strerror or type(error).__name__}") from None
