"""The page about the chat says what the chat says."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import click
import pytest

from interlingua.cli.chat import command
from interlingua.cli.chat_commands import COMMANDS, MORE_HELP, USAGE, CommandError, Commands

PAGE = (Path(__file__).parents[2] / "docs" / "chat.md").read_text(encoding="utf-8")


def test_the_page_has_every_command_as_help_lists_it() -> None:
    for each in (*COMMANDS.values(), *MORE_HELP):
        assert f"\n{each.usage:<{USAGE}}{each.help}\n" in PAGE, each.usage


def test_the_page_has_every_option() -> None:
    names = [name for option in command.params for name in option.opts]
    options = [name for name in names if name.startswith("-")]
    assert "--dry-run" in options
    for name in options:
        assert f"`{name}`" in PAGE, name
    assert isinstance(command, click.Command)


def test_every_command_is_obeyed_by_something() -> None:
    assert all(callable(getattr(Commands, f"_{name}", None)) for name in COMMANDS)


@pytest.mark.parametrize(
    ("line", "hint"), [("/modl", "did you mean /model?"), ("/zzz", "/help lists all")]
)
def test_an_unknown_command_suggests_the_nearest(line: str, hint: str) -> None:
    unused: Any = None
    commands = Commands(unused, unused, unused)
    with pytest.raises(CommandError, match=re.escape(hint)):
        asyncio.run(commands.run(line))
