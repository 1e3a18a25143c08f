"""`interlingua chat`: talk to a model, once or for as long as you like."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from interlingua.cli.chat_once import Question
    from interlingua.cli.chat_open import ChatOptions

MOST_PIPED = 20 * 1024 * 1024
STOPPED = 130


@click.command("chat", help="Chat with a model; with a question, answer it and exit.")
@click.argument("words", nargs=-1, metavar="[QUESTION]")
@click.option("--model", "-m", metavar="MODEL", help="An alias or <provider>:<name>.")
@click.option("--dialect", metavar="DIALECT", help="Use another dialect of the model's provider.")
@click.option("--system", "-s", metavar="TEXT", help="Instructions for the model.")
@click.option(
    "--attach", "-a", "files", multiple=True, metavar="PATH", help="Attach a file; repeatable."
)
@click.option(
    "--schema",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON Schema that the answer has to match.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="Maximum number of tokens in an answer.")
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    help="Sampling temperature; 0 for the most likely words.",
)
@click.option(
    "--tools", is_flag=True, help="Give the model the files of this folder and your MCP servers."
)
@click.option("--continue", "-c", "last", is_flag=True, help="Continue the last session.")
@click.option(
    "--resume", "-r", metavar="ID", help="Continue a session: its id, the start of it, or its name."
)
@click.option("--no-store", is_flag=True, help="Do not store the conversation.")
@click.option(
    "--store",
    "address",
    metavar="URL",
    help="A file, sqlite:///path or postgresql://…; default: INTERLINGUA_STORE or your own store.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as a canonical message.")
@click.option(
    "--dry-run", is_flag=True, help="Print the request without sending or storing anything."
)
@click.option("--hide-thinking", is_flag=True, help="Do not show the model's thinking.")
def command(
    words: tuple[str, ...],
    model: str | None,
    dialect: str | None,
    system: str | None,
    files: tuple[str, ...],
    schema: Path | None,
    max_tokens: int | None,
    temperature: float | None,
    tools: bool,
    last: bool,
    resume: str | None,
    no_store: bool,
    address: str | None,
    as_json: bool,
    dry_run: bool,
    hide_thinking: bool,
) -> None:
    from interlingua.cli.chat_open import ChatOptions

    if last and resume is not None:
        raise click.UsageError("--continue and --resume cannot be used together")
    _require_dialect(dialect)
    asked = _question(words, files)
    if asked.is_empty and (as_json or dry_run or schema is not None or not _in_terminal()):
        raise click.UsageError("no question: give one, or pipe one in")
    wanted = ChatOptions(
        model=model,
        dialect=dialect,
        system=system,
        schema=schema,
        max_tokens=max_tokens,
        temperature=temperature,
        tools=tools,
        resume="last" if last else resume,
        address=address,
        keep=not no_store,
    )
    sys.exit(_run(asked, wanted, as_json, dry_run, not hide_thinking))


def _question(words: tuple[str, ...], files: tuple[str, ...]) -> Question:
    from interlingua.cli.chat_once import Question

    return Question(" ".join(words), files, _piped())


def _in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _run(
    question: Question,
    wanted: ChatOptions,
    as_json: bool,
    dry_run: bool,
    thinking: bool,
) -> int:
    import asyncio

    try:
        if question.is_empty:
            from interlingua.cli.chat_loop import talk_on

            return asyncio.run(talk_on(wanted, thinking))
        from interlingua.cli.chat_once import ask_once, show_request

        if dry_run:
            return asyncio.run(show_request(question, wanted, as_json))
        return asyncio.run(ask_once(question, wanted, as_json, thinking))
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        # Whoever read our output has gone; what is left in its buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _piped() -> str:
    """What comes through a pipe or from a file; nothing of a terminal."""
    if sys.stdin is None or sys.stdin.closed or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(MOST_PIPED + 1)
    if len(data) > MOST_PIPED:
        raise click.UsageError(f"what is piped in has more than {MOST_PIPED} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise click.UsageError("what is piped in is no text in UTF-8: --attach it") from None


def _require_dialect(name: str | None) -> None:
    from interlingua.dialects.registry import dialects

    if name is not None and name not in dialects():
        problem = f"unknown dialect {name!r}: {', '.join(dialects())}"
        raise click.BadParameter(problem, param_hint="--dialect")
