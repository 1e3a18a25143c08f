"""`interlingua models`: known models, what they can do and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from interlingua.cli.stores import json_option
from interlingua.cli.terminal import Column, dollars, put_json, show_table
from interlingua.models.aliases import aliases
from interlingua.models.capabilities import (
    Capabilities,
    capabilities,
    known_models,
    usual_dialect,
)
from interlingua.routing.registry import provider_of

if TYPE_CHECKING:
    from interlingua.prices.table import PriceTable

ABLE = {
    "supports_images": "images",
    "supports_tools": "tools",
    "supports_thinking": "thinking",
    "supports_structured_output": "schema",
    "supports_prompt_caching": "cache",
}
"""Capabilities that differ between models, and a word for each."""


@click.command("models", help="List the models you can use now, with capabilities and prices.")
@click.argument("name", required=False)
@click.option("--provider", help="Only models of this provider.")
@click.option("--all", "every", is_flag=True, help="List all known models, with or without a key.")
@click.option("--now", is_flag=True, help="Only models you can use now, even if NAME is given.")
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
        from interlingua.cli.refresh import refreshed

        refreshed(refresh, as_json)
    elif learned:
        from interlingua.cli.learned_rules import show_learned

        show_learned(as_json)
    elif profile:
        from interlingua.cli.profile import show_profile

        show_profile(name, dialect, as_json)
    else:
        _list_models(name, provider, now or not (every or name or provider), as_json)


def _list_models(name: str | None, provider: str | None, now: bool, as_json: bool) -> None:
    from interlingua.prices.own import own_table

    table = own_table()
    known = list(dict.fromkeys([*known_models(), *table]))
    _require_provider(provider, known)
    part = aliases().get(name or "", name or "").lower()
    listed = _usable_now(known) if now else known
    ids = [id for id in listed if part in id.lower() and provider in (None, provider_of(id))]
    if as_json:
        put_json({"pricing_version": table.version, "models": [_told(id, table) for id in ids]})
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
    from interlingua.chat.setup import Setup
    from interlingua.client.reach import of_reachable

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


def _told(id: str, table: PriceTable) -> dict[str, Any]:
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
