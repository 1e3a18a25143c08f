"""`interlingua almanac`: every field, literal, endpoint and model rule that we know of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from interlingua import __version__
from interlingua.cli.options import json_option
from interlingua.cli.terminal import put_json, say
from interlingua.profiles.almanac import rules, surfaces, words
from interlingua.providers.read import providers


@click.command("almanac", help="List every field, literal, endpoint and model rule, with sources.")
@click.option("--surface", "only", type=click.Choice(surfaces()), help="Only the words of one.")
@json_option
def command(only: str | None, as_json: bool) -> None:
    chosen = [only] if only else surfaces()
    found = {name: words(name) for name in chosen}
    if as_json:
        every = [each for lines in found.values() for each in lines]
        whole: dict[str, Any] = {"version": __version__, "words": every}
        if only is None:
            whole |= {"rules": rules(), "endpoints": list(endpoints())}
        put_json(msgspec.to_builtins(whole))
        return
    for name, lines in found.items():
        counts = Counter(each.status for each in lines)
        shares = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        say(f"{name:<20}{len(lines):>5} words: {shares}")
    if only is None:
        say(f"{len(rules())} rules about models, {len(list(endpoints()))} endpoints of providers")
        say("`--json` prints all of them, with the reason, source and date of each.")


def endpoints() -> Iterator[dict[str, str]]:
    """The endpoints of each provider that are asked, by what for."""
    for key, provider in sorted(providers().items()):
        for dialect, paths in provider.dialects.items():
            for purpose, path in msgspec.to_builtins(paths).items():
                if isinstance(path, str) and path.startswith("/"):
                    yield {
                        "provider": key,
                        "dialect": dialect,
                        "purpose": purpose,
                        "path": path,
                        "source": "the provider's own library",
                        "read": "2026-11",
                    }
