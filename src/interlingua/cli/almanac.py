"""`interlingua almanac`: all known fields, literals, endpoints and model rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click
import msgspec

from interlingua import __version__
from interlingua.cli.options import json_option
from interlingua.cli.terminal import put_json, say
from interlingua.profiles.almanac import endpoints, rules, surfaces, words


@click.command("almanac", help="List every field, literal, endpoint and model rule, with sources.")
@click.option("--surface", "only", type=click.Choice(surfaces()), help="Only one API or SDK.")
@json_option
def command(only: str | None, as_json: bool) -> None:
    chosen = [only] if only else surfaces()
    found = {name: words(name) for name in chosen}
    if as_json:
        every = [each for lines in found.values() for each in lines]
        whole: dict[str, Any] = {"version": __version__, "words": every}
        if only is None:
            whole |= {"rules": rules(), "endpoints": endpoints()}
        put_json(msgspec.to_builtins(whole))
        return
    for name, lines in found.items():
        counts = Counter(each.status for each in lines)
        shares = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        say(f"{name:<20}{len(lines):>5} words: {shares}")
    if only is None:
        say(f"{len(rules())} rules about models, {len(endpoints())} endpoints of SDKs")
        say("`--json` prints all of them, with the reason, source and date of each.")
