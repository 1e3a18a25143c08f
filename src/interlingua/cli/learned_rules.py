"""`interlingua models --learned`: what models refused through the gateway, as ready-made rules."""

from __future__ import annotations

import click
import msgspec

from interlingua.cli.terminal import put_json
from interlingua.config import learned_path, profiles_path
from interlingua.fitting.lessons import rule_of


def show_learned(as_json: bool) -> None:
    """Print a rule for each parameter that was refused."""
    from interlingua.client.lessons import read_lessons

    lessons = read_lessons(learned_path())
    if as_json:
        put_json([msgspec.to_builtins(each) for each in lessons])
        return
    if not lessons:
        click.echo("No model has refused anything through a gateway of this machine.", err=True)
        return
    click.echo("\n\n".join(map(rule_of, lessons)))
    click.echo(f"What holds for good belongs into {profiles_path()}.", err=True)
