"""`interlingua models`: known models, their capabilities and prices."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua import config
from interlingua.cli.options import Group, json_option, store_option
from interlingua.cli.stores import opened
from interlingua.cli.terminal import Column, cell, dollars, plural, put_json, say, show_table
from interlingua.config import learned_path, profiles_path
from interlingua.profiles.capabilities import (
    Capabilities,
    capabilities,
    known_models,
    usual_dialect,
)
from interlingua.profiles.resolving import aliases, resolve
from interlingua.providers.profiles import lookup_here
from interlingua.routing.predicates import Problem
from interlingua.routing.registry import provider_of
from interlingua.routing.router import PolicyFile, check_rules

if TYPE_CHECKING:
    from interlingua.costs.table import PriceTable
    from interlingua.profiles.profile import Profile, Rule


ABLE = {
    "supports_images": "images",
    "supports_tools": "tools",
    "supports_thinking": "thinking",
    "supports_structured_output": "schema",
    "supports_prompt_caching": "cache",
}
"""Capabilities that differ between models, and their short names."""


@click.command("models", help="List the models you can use now, with capabilities and prices.")
@click.argument("name", required=False)
@click.option("--provider", help="Only models of this provider.")
@click.option("--all", "every", is_flag=True, help="List all known models, with or without a key.")
@click.option("--now", is_flag=True, help="Only models you can use now, even with NAME.")
@click.option(
    "--profile", is_flag=True, help="Show what one model accepts, and which rules say so."
)
@click.option("--dialect", help="With --profile: for this dialect instead of the default one.")
@click.option(
    "--refresh",
    metavar="PROVIDER",
    help="Ask a provider what its models accept, and save that as your own rules.",
)
@click.option(
    "--learned",
    is_flag=True,
    help="Print rules for the parameters that models rejected through the gateway.",
)
@json_option
def command(
    name: str | None,
    provider: str | None,
    every: bool,
    now: bool,
    profile: bool,
    dialect: str | None,
    refresh: str | None,
    learned: bool,
    as_json: bool,
) -> None:
    """NAME is a part of the id, or an alias; with --profile the whole id. All known models are
    searched for it."""
    if refresh is not None:
        refreshed(refresh, as_json)
    elif learned:
        show_learned(as_json)
    elif profile:
        show_profile(name, dialect, as_json)
    else:
        _list_models(name, provider, now or not (every or name or provider), as_json)


def _list_models(name: str | None, provider: str | None, now: bool, as_json: bool) -> None:
    from interlingua.costs.table import own_table

    table = own_table()
    known = list(dict.fromkeys([*known_models(), *table]))
    _require_provider(provider, known)
    part = aliases().get(name or "", name or "").lower()
    listed = _usable_now(known) if now else known
    ids = [id for id in listed if part in id.lower() and provider in (None, provider_of(id))]
    if as_json:
        put_json(
            {"pricing_version": table.version, "models": [_model_dict(id, table) for id in ids]}
        )
    elif not ids:
        click.echo("No known model has this in its name.", err=True)
    else:
        _show(ids, table)
        if len(ids) < len(known) and not (name or provider):
            text = "Models you can use now, with the keys that are set here; --all lists every one."
            click.echo(text, err=True)


def _require_provider(provider: str | None, known: list[str]) -> None:
    providers = sorted({provider_of(id) for id in known})
    if provider is not None and provider not in providers:
        problem = f"unknown provider {provider!r}: {', '.join(providers)}"
        raise click.BadParameter(problem, param_hint="--provider")


def _usable_now(known: list[str]) -> list[str]:
    from interlingua.agents.chat.setup import Setup
    from interlingua.client.targets import of_reachable

    return of_reachable(Setup().reached(), known)


def _show(ids: list[str], table: PriceTable) -> None:
    columns = [
        Column("model", "cyan", shrink=True),
        Column("alias", "yellow", wide=60),
        Column("window", right=True),
        Column("in", "green", right=True),
        Column("out", "green", right=True),
        Column("can", "dim", shrink=True, wide=100),
    ]
    short = aliases()
    show_table(columns, [_row(id, table, short) for id in ids])
    click.echo(f"US dollars per million tokens, prices of {table.version}", err=True)


def _capabilities(id: str) -> Capabilities | None:
    """None for a model that only the user's prices have."""
    return capabilities(id) if id in known_models() else None


def _row(id: str, table: PriceTable, short: dict[str, str]) -> list[str]:
    able = _capabilities(id)
    names = [alias for alias, target in short.items() if target == id]
    price = table.models.get(id)
    return [
        id,
        ", ".join(names),
        _tokens(able.max_context_tokens if able else None),
        dollars(price.input if price else None),
        dollars(price.output if price else None),
        " ".join(word for field, word in ABLE.items() if getattr(able, field, False)),
    ]


def _tokens(count: int | None) -> str:
    """`8k`, `131k`, `1M`, `1.05M`; the exact number is in the JSON."""
    if count is None:
        return "?"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.3g}M"
    return f"{count // 1000}k" if count >= 1000 else str(count)


def _model_dict(id: str, table: PriceTable) -> dict[str, Any]:
    provider = provider_of(id)
    able = _capabilities(id)
    return {
        "id": id,
        "provider": provider,
        "dialect": usual_dialect(id) if able else None,
        "aliases": [alias for alias, target in aliases().items() if target == id],
        "capabilities": able,
        "price": table.models.get(id),
    }


def show_learned(as_json: bool) -> None:
    """Print a rule for each parameter that was refused."""
    from interlingua.adapt.fit.lessons import rule_of
    from interlingua.client.lessons import read_lessons

    lessons = read_lessons(learned_path())
    if as_json:
        put_json([msgspec.to_builtins(each) for each in lessons])
        return
    if not lessons:
        click.echo("No model has refused anything through a gateway of this machine.", err=True)
        return
    click.echo("\n\n".join(map(rule_of, lessons)))
    click.echo(f"Copy the rules to keep into {profiles_path()}.", err=True)


COLUMNS = [
    Column("model", "cyan", shrink=True),
    Column("field"),
    Column("ours", shrink=True),
    Column("rule", "yellow", wide=100),
    Column("theirs", "green", shrink=True),
]


def refreshed(key: str, as_json: bool) -> None:
    """Asks the provider for its models, writes the file, and shows where our rules differ."""
    import asyncio

    from interlingua.client.refresh import listed_rules
    from interlingua.profiles.profile import bundled
    from interlingua.profiles.provider_lists import as_toml, differences
    from interlingua.providers.read import own_path, provider

    rules = asyncio.run(listed_rules(provider(key, own_path())))
    path = config.provider_list_path(key)
    head = f"The models that {key} lists. Written by `interlingua models --refresh {key}`."
    _replace_file(path, as_toml(rules, head))
    found = differences(rules, bundled())
    if as_json:
        put_json(
            {
                "file": str(path),
                "rules": rules,
                "differences": [each._asdict() for each in found],
            }
        )
        return
    if found:
        rows = [[e.model, e.field, text(e.ours), e.rule, text(e.theirs)] for e in found]
        show_table(COLUMNS, rows)
    click.echo(
        f"{len(rules)} models, {len(found)} differences from the package's rules: {path}", err=True
    )


def _replace_file(path: Path, content: str) -> None:
    """The whole file or nothing of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(content, encoding="utf-8")
    os.replace(new, path)


PROFILE_COLUMNS = [
    Column("field", "cyan"),
    Column("value", shrink=True),
    Column("rule", "yellow"),
    Column("evidence", wide=80),
    Column("since", "dim", wide=100),
    Column("sources", "dim", shrink=True, wide=120),
]

LONGEST = 60
"""Letters of a value."""


def show_profile(name: str | None, dialect: str | None, as_json: bool) -> None:
    """Print the profile of a model id or an alias."""
    if name is None:
        raise click.UsageError("--profile needs a model: <provider>:<name>, or an alias")
    id = resolve(name)
    models = lookup_here()
    asked_in = dialect or models.dialect(id)
    profile = models.known_profile(id, asked_in)
    if as_json:
        put_json({"model": id, "dialect": asked_in, **profile_dict(profile)})
        return
    if not profile:
        click.echo(f"There are no rules for {id}: requests are written as they are.", err=True)
        return
    show_table(PROFILE_COLUMNS, rows(profile))
    click.echo(f"{id}, in the dialect {asked_in}", err=True)


def rows(profile: Profile) -> list[list[str]]:
    """A line for each field, group by group."""
    return [
        [
            field,
            text(value),
            rule.id,
            rule.sure,
            rule.since or "",
            ", ".join(rule.sources),
        ]
        for field, value, rule in _ordered(profile)
    ]


def _ordered(profile: Profile) -> list[tuple[str, Any, Rule]]:
    from interlingua.profiles.profile import GROUPS

    order = list(GROUPS)
    return sorted(
        profile.fields(), key=lambda field: (order.index(field[0].split(".")[0]), field[0])
    )


def text(value: Any) -> str:
    """A value in a line; a long list is cut short, since the JSON has all of it."""
    plain = msgspec.to_builtins(value)
    match plain:
        case bool():
            return "yes" if plain else "no"
        case (int() | float() as least, int() | float() as most):
            return f"{least:g} to {most:g}" if most < 1e6 else f"from {least:g}"
        case list() | tuple():
            return _cut(", ".join(map(str, plain)) or "none")
        case dict():
            return _cut(", ".join(f"{key} {item}" for key, item in plain.items()))
        case _:
            return str(plain)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def profile_dict(profile: Profile) -> dict[str, Any]:
    """The same for machines."""
    groups: dict[str, dict[str, Any]] = {}
    behind: dict[str, Any] = {}
    for place, value, rule in _ordered(profile):
        group, _, field = place.partition(".")
        groups.setdefault(group, {})[field] = value
        behind[place] = {
            name: getattr(rule, name) for name in ("id", "sure", "since", "sources", "note")
        }
    return {"profile": groups, "rules": behind}


file_argument = click.argument(
    "file", type=click.Path(dir_okay=False, path_type=Path), required=False
)


@click.group("rules", cls=Group, help="Check or show the rules that choose a model.")
def rules_command() -> None:
    pass


@rules_command.command("check", help="List all problems in a rules file; default: your own.")
@file_argument
@json_option
def check(file: Path | None, as_json: bool) -> None:
    path = file or config.rules_path()
    problems = check_rules(path)
    if as_json:
        rows = [{"path": each.path, "message": each.message} for each in problems]
        put_json({"file": str(path), "ok": not problems, "problems": rows})
    else:
        _tell(path, problems)
    sys.exit(1 if problems else 0)


def _tell(path: Path, problems: list[Problem]) -> None:
    for problem in problems:
        say(cell(f"{path}: {problem}"), "red")
    click.echo(cell(f"{path}: {plural(len(problems), 'problem')}"), err=True)


@rules_command.command(
    "show", help="Show the rules in the order they are tried; default: your own file."
)
@file_argument
@json_option
def show(file: Path | None, as_json: bool) -> None:
    path = file or config.rules_path()
    if file is None and not path.exists():
        click.echo(cell(f"There are no rules: {path} does not exist."), err=True)
        return
    policy_file = PolicyFile(path)
    policy = policy_file.read().policy
    if policy_file.problems:
        _tell(path, policy_file.problems)
        sys.exit(1)
    written = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    if as_json:
        put_json({"file": str(path), "version": policy.version, "rules": written})
        return
    say(cell(f"{path}, version {policy.version}"), "bold")
    say(cell(f"default: {policy.everywhere.default or 'none'}"))
    for alias, model in policy.aliases.items():
        say(cell(f"alias {alias}: {model}"))
    for workspace, scope in policy.workspaces.items():
        if scope.default:
            say(cell(f"default in {workspace}: {scope.default}"))
    rows = list(_rows(written))
    if rows:
        columns = [
            Column("rule", "cyan"),
            Column("use", "green", shrink=True),
            Column("when", shrink=True),
            Column("where", "dim", shrink=True),
        ]
        show_table(columns, rows)


@rules_command.command("learned", help="Show which models did best on which kinds of turns.")
@click.option("--reset", is_flag=True, help="Delete these statistics.")
@store_option
@json_option
def learned(reset: bool, address: str | None, as_json: bool) -> None:
    with opened(address) as store:
        if reset:
            forgotten = store.reset_patterns()
            click.echo(
                f"deleted the statistics of {plural(len(forgotten), 'kind')} of turns", err=True
            )
            return
        kinds = store.pattern_kinds()
    if as_json:
        keys = ("kind", "model", "turns", "success")
        put_json([dict(zip(keys, row, strict=True)) for row in kinds])
    elif not kinds:
        click.echo("Nothing recorded yet; [pattern] enabled = true switches it on.", err=True)
    else:
        columns = [
            Column("kind of turn", "cyan", shrink=True),
            Column("model", "green", shrink=True),
            Column("turns"),
            Column("success"),
        ]
        rows = [[kind, model, str(count), f"{good:.0%}"] for kind, model, count, good in kinds]
        show_table(columns, rows)


def _rows(written: dict[str, Any]) -> Iterator[list[str]]:
    """The rules of workspaces first, because they are tried first."""
    scopes = [*written.get("workspaces", {}).items(), ("everywhere", written)]
    for where, scope in scopes:
        for index, rule in enumerate(scope.get("rules", [])):
            when = ", ".join(f"{name} {_value_text(value)}" for name, value in rule["when"].items())
            yield [rule.get("name", f"rule_{index}"), rule["use"], when or "always", where]


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
