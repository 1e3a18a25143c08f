"""`interlingua sessions`: show, copy and remove stored sessions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import msgspec

from interlingua.cli.main import shown
from interlingua.cli.options import (
    Group,
    json_option,
    limit_option,
    own_name,
    redact_options,
    report_options,
    store_option,
)
from interlingua.cli.stores import find_message, find_session, numbered, opened
from interlingua.cli.terminal import (
    Column,
    cell,
    minute,
    plural,
    put,
    put_json,
    say,
    show_table,
)

if TYPE_CHECKING:
    from interlingua.model.message import Message
    from interlingua.store.rows import SessionRow

STYLES = {"user": "bold green", "assistant": "bold cyan", "tool": "bold yellow"}
ID = "An id, the beginning of one, or `last`."
TARGETS = (
    "jsonl, which can be imported; markdown; html; canonical; a dialect; a view; a transcript."
)


@click.group(
    "sessions", cls=Group, help="List, show, search, fork, export, prune and delete sessions."
)
def command() -> None:
    pass


@command.command("list", help="List sessions, most recently changed first.")
@limit_option(20)
@json_option
@store_option
def list_(limit: int, as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows = store.sessions(limit + 1)
    more, rows = len(rows) > limit, rows[:limit]
    if as_json:
        put_json(rows)
        return
    if not rows:
        click.echo("There are no sessions yet.", err=True)
        return
    columns = [
        Column("id", "cyan", narrow_last=True),
        Column("name", shrink=True),
        Column("messages", right=True),
        Column("model", "green", shrink=True, wide=120),
        Column("changed (UTC)", "dim", wide=90),
    ]
    show_table(columns, [_row(row) for row in rows])
    if more:
        click.echo("There are more; show them with --limit.", err=True)


def _row(row: SessionRow) -> list[str]:
    count = f"{row.message_count:,}"
    return [row.id, row.name or "", count, row.active_model or "", minute(row.updated_at)]


@command.command("show", help=f"Show a session and its last messages. {ID}")
@click.argument("id")
@limit_option(50)
@click.option("--full", is_flag=True, help="Show full texts instead of their beginnings.")
@click.option("--raw", is_flag=True, help="Print messages as stored, one JSON object per line.")
@json_option
@store_option
def show(id: str, limit: int, full: bool, raw: bool, as_json: bool, address: str | None) -> None:
    from interlingua.model.codec import dumps

    with opened(address) as store:
        row = find_session(store, id)
        messages = numbered(store, row, limit)
    if raw:
        put(b"".join(dumps(message) + b"\n" for _, message in messages))
    elif as_json:
        stored = [msgspec.Raw(dumps(message)) for _, message in messages]
        put_json({"session": row, "messages": stored})
    else:
        _show(row, messages, full)


def _show_parent(row: SessionRow) -> None:
    from interlingua.store.rows import IMPORTED, WORKER

    policy = row.routing_policy or {}
    origin = policy.get(IMPORTED)
    if WORKER in policy:
        say(cell(f"worker of {row.parent_id}"), "dim")
        return
    helper = isinstance(origin, dict) and origin.get("helper")
    what = "helper of" if helper else "forked from"
    say(cell(f"{what} {row.parent_id} at {row.parent_message_id}"), "dim")


def _source(row: SessionRow) -> str:
    from interlingua.store.rows import ORIGINS

    return "" if row.origin in ORIGINS else f"from {row.origin}"


def _show(row: SessionRow, messages: list[tuple[int, Message]], full: bool) -> None:
    say(cell(row.name or row.id), "bold")
    facts = [row.id, plural(row.message_count, "message"), row.active_model or "", _source(row)]
    facts += [f"started {minute(row.created_at)}", f"changed {minute(row.updated_at)} UTC"]
    say(cell(" · ".join(fact for fact in facts if fact)), "dim")
    say(cell(row.workspace_path), "dim")
    if row.parent_id:
        _show_parent(row)
    if messages and messages[0][0] > 1:
        say(f"\n({plural(messages[0][0] - 1, 'earlier message')}: --limit)", "dim")
    for number, message in messages:
        _show_message(number, message, full)


def _show_message(number: int, message: Message, full: bool) -> None:
    from interlingua.transcripts.exports import clipped, head, labelled_text

    role = message.role.value
    known = head(message)
    say("")
    say(f"[{number}] {role}{cell(f' · {known}' if known else '')}", STYLES.get(role, "bold"))
    if message.metadata.cache_diagnosis is not None:
        say(cell(f"    cache {message.metadata.cache_diagnosis}"), "dim")
    for changed in message.metadata.input_transformations:
        say(cell(f"    input {changed}"), "dim")
    for block in message.content:
        label, text, _ = labelled_text(block)
        text = clipped(text, full)
        label = f"[{label}] " if label else ""
        for line in f"{label}{text}".split("\n"):
            say(f"    {line}" if line else "", "dim" if label else "")


@command.command("search", help="Find messages that contain all the words; word* matches a prefix.")
@click.argument("words", nargs=-1, required=True)
@click.option("--session", "id", help=f"Search one session only. {ID}")
@limit_option(20)
@json_option
@store_option
def search(
    words: tuple[str, ...], id: str | None, limit: int, as_json: bool, address: str | None
) -> None:
    with opened(address) as store:
        session_id = find_session(store, id).id if id else None
        hits = store.search(" ".join(words), session_id=session_id, limit=limit)
    if as_json:
        put_json(hits)
        return
    if not hits:
        click.echo("No message has all of these words.", err=True)
        return
    columns = [
        Column("session", "cyan"),
        Column("message", right=True),
        Column("role", "green", wide=60),
        Column("when (UTC)", "dim", wide=100),
        Column("text", shrink=True),
    ]
    rows = [[h.session_id, str(h.seq), h.role, minute(h.created_at), h.snippet] for h in hits]
    show_table(columns, rows)


@command.command("fork", help=f"Create a session with copies of another one's messages. {ID}")
@click.argument("id")
@click.option(
    "--at", "message", help="The last message to copy: its number, id or start of the id."
)
@click.option("--name", help="The new session's name.")
@json_option
@store_option
def fork(
    id: str, message: str | None, name: str | None, as_json: bool, address: str | None
) -> None:
    with opened(address) as store:
        row = find_session(store, id)
        at = find_message(store, row, message).id if message else None
        child = store.fork(row.id, at, name=name)
    if as_json:
        put_json(child)
    else:
        say(child.id)
        click.echo(f"{plural(child.message_count, 'message')} of {shown(row.id)}", err=True)


@command.command("export", help=f"Export one session in any format. {ID}")
@click.argument("id")
@click.option("--to", "target", default="jsonl", show_default=True, callback=own_name, help=TARGETS)
@click.option("--model", help="The model to continue with; default: the session's own.")
@redact_options
@report_options
@store_option
def export(id: str, **options: Any) -> None:
    from interlingua.cli.export import export_sessions

    sys.exit(export_sessions((id,), **options))


@command.command("delete", help=f"Delete sessions and everything that belongs to them. {ID}")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@json_option
@store_option
def delete(ids: tuple[str, ...], yes: bool, as_json: bool, address: str | None) -> None:
    with opened(address) as store:
        rows = {row.id: row for row in (find_session(store, id) for id in ids)}
        for row in rows.values():
            count = plural(row.message_count, "message")
            what = cell(f"{row.id} ({row.name or 'no name'}, {count})")
            if not yes and not click.confirm(f"Delete {what} for good?", err=True):
                raise click.Abort
            store.delete_session(row.id)
            if not as_json:
                click.echo(f"deleted {what}", err=True)
    if as_json:
        put_json({"deleted": list(rows)})


@command.command("prune", help="Remove old or large provider data stored with messages.")
@click.argument("id", required=False)
@click.option(
    "--older-than",
    type=click.IntRange(0),
    metavar="DAYS",
    help="Only messages older than this many days.",
)
@click.option(
    "--larger-than",
    type=click.IntRange(0),
    metavar="BYTES",
    help="Only data larger than this many bytes.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be removed, without changing anything."
)
@json_option
@store_option
def prune_(
    id: str | None,
    older_than: int | None,
    larger_than: int | None,
    dry_run: bool,
    as_json: bool,
    address: str | None,
) -> None:
    from datetime import UTC, datetime, timedelta

    from interlingua.sessions.pruning import prune

    if older_than is None and larger_than is None:
        raise click.UsageError("pass --older-than, --larger-than, or both")
    before = None if older_than is None else datetime.now(UTC) - timedelta(days=older_than)
    with opened(address) as store:
        session_id = None if id is None else find_session(store, id).id
        done = prune(
            store,
            before=before,
            larger_than=larger_than,
            session_id=session_id,
            dry_run=dry_run,
        )
    if as_json:
        put_json({"messages": done.messages, "bytes": done.bytes, "dry_run": dry_run})
        return
    verb = "would lose" if dry_run else "lost"
    click.echo(f"{plural(done.messages, 'message')} {verb} {done.bytes:,} bytes", err=True)
