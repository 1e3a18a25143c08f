"""`interlingua resume`: go on with a session in another tool."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from interlingua.cli.main import unknown
from interlingua.cli.options import (
    from_option,
    home_option,
    json_option,
    redact_options,
    store_option,
)
from interlingua.cli.stores import find_session, opened
from interlingua.cli.terminal import cell, complain, plural, put_json

if TYPE_CHECKING:
    from interlingua.costs.table import PriceTable
    from interlingua.model.losses import Report
    from interlingua.transcripts import Found, Skipped, Transcript
    from interlingua.transcripts.sessions import Plan
    from interlingua.transcripts.transcript import Answer


SESSION = (
    "SESSION is a file, an id or the beginning of one (`codex:` before it names the agent), or"
    " `latest`."
)


def known_format(name: str, option: str) -> str:
    """The name of a format; a usage error if it is unknown."""
    from interlingua.transcripts import formats

    known = formats()
    if name not in known:
        raise click.BadParameter(unknown("format", name, known), param_hint=option)
    return name


def pick_session(name: str, home: Path | None, format: str | None) -> Found:
    """The session with this name; prints the files that the search skipped."""
    from interlingua.transcripts.sessions import pick

    skipped: list[Skipped] = []
    try:
        return pick(name, home, [known_format(format, "--from")] if format else [], skipped)
    finally:
        for each in skipped:
            complain(str(each))


def cost_of_answer(answer: Answer, table: PriceTable) -> Decimal | None:
    """The cost that a tool recorded, else the cost by the table; None if neither is known."""
    from interlingua.costs.cost import UnknownCostError, cost_of
    from interlingua.dialects.anthropic.response import hour_cache_tokens
    from interlingua.profiles.names import UnknownModelError

    if answer.usage.cost_usd is not None:
        return answer.usage.cost_usd
    if answer.model is None:
        return None
    try:
        longer = hour_cache_tokens(answer.usage)
        return cost_of(answer.usage, answer.model, table, answer.created_at, longer).total
    except (UnknownModelError, UnknownCostError, ValueError):
        return None


def complain_of_losses(report: Report) -> None:
    """Losses that matter, on standard error."""
    if report:
        complain(str(report))


CHAT = "chat"
STORE = "store:"
"""The prefix of names of sessions in the store."""
TOLD = 12
"""Losses that are listed one by one."""


@click.command("resume", help=f"Continue a session in another tool. {SESSION}")
@click.argument("session")
@click.option(
    "--in",
    "target",
    required=True,
    metavar="TOOL",
    help="The tool to continue in: codex, claude-code, …, chat.",
)
@from_option("The format, if it is not clear.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Continue in this folder instead of the original one.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@click.option("--run", is_flag=True, help="Start the tool; without this, the command is printed.")
@click.option("--dry-run", is_flag=True, help="Show what would be lost, without writing anything.")
@click.option(
    "--untested", is_flag=True, help="Proceed even if this version of the tool is untested."
)
@redact_options
@json_option
@store_option
@home_option
def command(
    session: str,
    target: str,
    format: str | None,
    folder: Path | None,
    yes: bool,
    run: bool,
    dry_run: bool,
    untested: bool,
    redact: bool,
    patterns: tuple[str, ...],
    as_json: bool,
    address: str | None,
    home: Path | None,
) -> None:
    _require_tool(target)
    if as_json and run:
        raise click.UsageError("--json and --run cannot be used together")
    found, transcript = _opened(session, format, address, home)
    if redact:
        from interlingua.cli.export import Hiding

        hiding = Hiding(patterns)
        transcript = hiding.transcript(transcript, keep_folder=True)
        hiding.tell()
    if folder is not None:
        transcript = transcript.replace(folder=str(folder.expanduser().absolute()), origin=None)
    if target == CHAT:
        if not dry_run:
            _chat(transcript, address, run, as_json)
        return
    from interlingua.transcripts.sessions import plan

    planned = plan(transcript, target, home, None if redact or folder else found)
    _check(planned, untested, run)
    if not as_json:
        _tell(planned)
    if not dry_run:
        _carry_out(planned, yes, run, as_json, home)


def _require_tool(target: str) -> None:
    from interlingua.transcripts.sessions import agents

    known = [*agents(), CHAT]
    if target not in known:
        raise click.BadParameter(unknown("tool", target, known), param_hint="--in")


def _opened(
    session: str, format: str | None, address: str | None, home: Path | None
) -> tuple[Found | None, Transcript]:
    """The session, and its file unless it is in the store."""
    from interlingua.transcripts import sessions

    found = None
    if session.startswith(STORE):
        transcript = _stored(session.removeprefix(STORE), address)
    else:
        found = pick_session(session, home, format)
        transcript = sessions.opened(found)
    complain_of_losses(transcript.report)
    return found, transcript


def _carry_out(plan: Plan, yes: bool, run: bool, as_json: bool, home: Path | None) -> None:
    from interlingua.transcripts.sessions import carry_out

    if plan.files:
        _ask(plan.report, yes)
        carry_out(plan)
    if as_json:
        put_json(_plan_dict(plan))
    else:
        _go_on(plan.commands, plan.folder, run, home)


def _stored(id: str, address: str | None) -> Transcript:
    from interlingua.cli.export import transcript_of
    from interlingua.model.losses import Report

    report = Report("transcript")
    with opened(address) as store:
        transcript = transcript_of(store, find_session(store, id), report)
    return transcript.replace(report=report)


def _check(plan: Plan, untested: bool, run: bool) -> None:
    """Whether the tool is there, and of a version that is known."""
    from interlingua.transcripts.sessions import installed_version, require_known

    program = plan.commands[-1][0]
    if run and shutil.which(program) is None:
        raise click.UsageError(
            f"{program} is not installed; without --run the session is only prepared"
        )
    if plan.files and not untested:
        require_known(plan.format, program, installed_version(program))


def _tell(plan: Plan) -> None:
    """Announce the plan, for people."""
    if not plan.files:
        click.echo(f"It is already a {plan.format.title} session.", err=True)
        return
    click.echo(f"{plan.format.title}: {cell(str(plan.path))}", err=True)
    _tell_losses(plan.report)
    if plan.folder and not Path(plan.folder).is_dir():
        complain(cell(f"folder {plan.folder} does not exist; choose another with --folder"))


def _tell_losses(report: Report) -> None:
    losses = report.losses
    if not losses:
        click.echo("Nothing is lost.", err=True)
        return
    click.echo(f"{plural(len(losses), 'thing')} cannot be carried over:", err=True)
    for loss in losses[:TOLD]:
        complain(f"  {loss}")
    if len(losses) > TOLD:
        complain(f"  and {len(losses) - TOLD:,} more")


def _ask(report: Report, yes: bool) -> None:
    if yes or not report:
        return
    click.confirm("Continue?", abort=True, err=True)


def _plan_dict(plan: Plan) -> dict[str, object]:
    return {
        "format": plan.format.name,
        "id": plan.id,
        "folder": plan.folder,
        "path": str(plan.path),
        "written": [str(path) for path in plan.files],
        "commands": plan.commands,
        "losses": plan.report.losses,
        "notes": plan.report.notes,
    }


def _go_on(
    commands: list[list[str]], folder: str | None, run: bool, home: Path | None = None
) -> None:
    """Run the commands one after another where the session works, or print them."""
    there = folder if folder and Path(folder).is_dir() else None
    if not run:
        steps = [*([["cd", _as_path(folder)]] if folder else []), *commands]
        click.echo(" && ".join(" ".join(map(_quoted, step)) for step in steps))
        return
    environ = {**os.environ, **({"HOME": str(home)} if home is not None else {})}
    for each in commands:
        code = subprocess.run(each, cwd=there, env=environ, check=False).returncode
        if code:
            sys.exit(code)


def _as_path(folder: str) -> str:
    """A folder that `cd` does not take for an option."""
    return f"./{folder}" if folder.startswith("-") else folder


def _quoted(word: str) -> str:
    """A word for a shell, on one line; control characters become escapes of bash and zsh."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = [
        char if char.isprintable() and char not in "\\'" else f"\\U{ord(char):08x}" for char in word
    ]
    return f"$'{''.join(escaped)}'"


def _chat(transcript: Transcript, address: str | None, run: bool, as_json: bool) -> None:
    """Continues in our own chat: the session is imported into the store."""
    from interlingua.cli.importing import import_transcript

    with opened(address, make=True) as store:
        settled = import_transcript(store, transcript)
    for problem in settled.problems:
        complain(problem)
    id = settled.main
    command = ["interlingua", "chat", "--resume", id, *(["--store", address] if address else [])]
    if as_json:
        put_json({"format": CHAT, "id": id, "folder": transcript.folder, "commands": [command]})
    elif run:
        _go_on([[sys.executable, "-m", *command]], transcript.folder, run)
    else:
        _go_on([command], transcript.folder, run)
