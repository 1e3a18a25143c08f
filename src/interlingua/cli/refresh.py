"""`interlingua models --refresh PROVIDER`: what a provider says of its models, kept as rules."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from interlingua import config
from interlingua.cli.profile import text
from interlingua.cli.terminal import Column, put_json, show_table
from interlingua.models.profile import bundled
from interlingua.models.provider_lists import Difference, as_toml, differences

COLUMNS = [
    Column("model", "cyan", shrink=True),
    Column("field"),
    Column("ours", shrink=True),
    Column("rule", "yellow", wide=100),
    Column("theirs", "green", shrink=True),
]


def refreshed(key: str, as_json: bool) -> None:
    """Ask, write the file, and show where our rules say something else."""
    from interlingua.client.refresh import listed_rules
    from interlingua.providers.registry import own_path, provider

    rules = asyncio.run(listed_rules(provider(key, own_path())))
    path = config.provider_list_path(key)
    head = f"What {key} says of its models. Written by `interlingua models --refresh {key}`."
    _write(path, as_toml(rules, head))
    found = differences(rules, bundled())
    if as_json:
        told = [each._asdict() for each in found]
        put_json({"file": str(path), "rules": rules, "differences": told})
        return
    if found:
        show_table(COLUMNS, [_row(each) for each in found])
    click.echo(
        f"{len(rules)} models, {len(found)} differences from the package's rules: {path}", err=True
    )


def _row(each: Difference) -> list[str]:
    return [each.model, each.field, text(each.ours), each.rule, text(each.theirs)]


def _write(path: Path, content: str) -> None:
    """The whole file or nothing of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(content, encoding="utf-8")
    os.replace(new, path)
