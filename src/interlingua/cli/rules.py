"""`interlingua rules`: the file that says which model gets which turn."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from interlingua import config
from interlingua.cli.stores import json_option
from interlingua.cli.terminal import Column, cell, plural, put_json, say, show_table
from interlingua.routing.files import PolicyFile, check_rules
from interlingua.routing.predicates import Problem

file_argument = click.argument(
    "file", type=click.Path(dir_okay=False, path_type=Path), required=False
)


@click.group("rules", help="Check or show the rules that choose a model.")
def command() -> None:
    pass


@command.command("check", help="List all problems in a rules file; default: your own.")
@file_argument
@json_option
def check(file: Path | None, as_json: bool) -> None:
    path = file or config.rules_path()
    problems = check_rules(path)
    if as_json:
        told = [{"path": each.path, "message": each.message} for each in problems]
        put_json({"file": str(path), "ok": not problems, "problems": told})
    else:
        _tell(path, problems)
    sys.exit(1 if problems else 0)


def _tell(path: Path, problems: list[Problem]) -> None:
    for problem in problems:
        say(cell(f"{path}: {problem}"), "red")
    click.echo(cell(f"{path}: {plural(len(problems), 'problem')}"), err=True)


@command.command("show", help="Show the rules in the order they are tried; default: your own file.")
@file_argument
@json_option
def show(file: Path | None, as_json: bool) -> None:
    path = file or config.rules_path()
    if file is None and not path.exists():
        click.echo(cell(f"There are no rules: {path} is not there."), err=True)
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


def _rows(written: dict[str, Any]) -> Iterator[list[str]]:
    """Those of workspaces first: they are tried before the others."""
    scopes = [*written.get("workspaces", {}).items(), ("everywhere", written)]
    for where, scope in scopes:
        for index, rule in enumerate(scope.get("rules", [])):
            when = ", ".join(f"{name} {_said(value)}" for name, value in rule["when"].items())
            yield [rule.get("name", f"rule_{index}"), rule["use"], when or "always", where]


def _said(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
