"""What a chat lists: models, money, messages, forks, tools and rules."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from interlingua.chat.family import Member
from interlingua.cli.chat_open import Talk, servers_path, short
from interlingua.cli.chat_screen import Screen, one_line
from interlingua.cli.terminal import Column, dollars, plural, say, show_table
from interlingua.exports.words import status_text
from interlingua.model.blocks import TYPE_OF
from interlingua.model.message import Message
from interlingua.model.metadata import Usage
from interlingua.prices.cost import total

if TYPE_CHECKING:
    from interlingua.prices.table import PriceTable

ABLE = {
    "supports_images": "images",
    "supports_tools": "tools",
    "supports_thinking": "thinking",
    "supports_structured_output": "schema",
}
LONGEST = 70
MOST_IN_TREE = 100


def show_models(talk: Talk, part: str) -> None:
    """Models that can be asked now; the one in use is marked."""
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
    without = sorted({key for key in talk.setup.providers if not _is_usable(talk, key)})
    say(f"US dollars per million tokens. Without a key: {', '.join(without) or 'none'}.", "dim")


def _is_usable(talk: Talk, key: str) -> bool:
    return talk.setup.problem(f"{key}:x") is None


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

    costs = [usage.cost_usd for usage in usages]
    known = [cost for cost in costs if cost is not None]
    cost: Decimal | None = total(*known) if len(known) == len(costs) else None
    return [
        str(len(usages)),
        count("prompt_tokens"),
        count("cached_input_tokens"),
        count("output_tokens"),
        dollars(cost),
    ]


def show_history(messages: Sequence[Message]) -> None:
    """One line for each message."""
    rows = []
    for number, message in enumerate(messages, 1):
        told = message.text or ", ".join(TYPE_OF[type(block)] for block in message.content)
        flag = status_text(message.metadata.status)
        rows.append([str(number), message.role.value, flag, one_line(told, LONGEST)])
    if not rows:
        say("Nothing was said yet.")
        return
    columns = [Column("", right=True), Column("role", "cyan"), Column("", "yellow")]
    show_table([*columns, Column("text", shrink=True)], rows)


async def show_tree(talk: Talk, members: Sequence[Member]) -> None:
    """Sessions under those they were forked from, each with its last words."""
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
    """The tools, what each may do, and the servers they come from."""
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
        say(f"Servers of {servers_path()} would be here too.", "dim")
    say("Everything but reading asks you first.", "dim")


def show_rules(talk: Talk, screen: Screen, word: str) -> None:
    """`check` what is wrong with the file, `show` what is in force, `reload` it."""
    rules = talk.setup.rules
    policy = rules.read(reload=word in ("reload", "check")).policy
    if word not in ("check", "show", "reload"):
        screen.error("usage: /rules check, /rules show or /rules reload")
        return
    for problem in rules.problems:
        screen.error(f"{rules.path}: {problem}")
    if not rules.path.exists():
        screen.line(one_line(f"There are no rules: {rules.path} is not there.", 300))
        return
    if rules.problems:
        screen.line("The last good rules stay in force.")
    scope = policy.scope(talk.session.row.workspace_path)
    facts = [f"version {policy.version or 'none'}"]
    facts.append(f"default {scope.default or policy.everywhere.default or 'none'}")
    screen.line(one_line(" · ".join([str(rules.path), *facts]), 300))
    if word == "show":
        for rule in (*scope.rules, *policy.everywhere.rules):
            screen.line(one_line(f"  {rule.name} → {rule.model}", 200))
