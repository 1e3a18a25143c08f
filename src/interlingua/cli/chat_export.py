"""`/export`: the session of a chat, in a file or on the screen."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from interlingua.cli import stored_sessions
from interlingua.cli.chat_open import Talk, short
from interlingua.cli.chat_screen import Screen
from interlingua.cli.stored_sessions import ExportOptions
from interlingua.cli.terminal import put
from interlingua.errors import InterlinguaError
from interlingua.losses import Report
from interlingua.store.base import Store
from interlingua.store.open import open_store

BY_ENDING = {
    ".md": stored_sessions.MARKDOWN,
    ".html": stored_sessions.HTML,
    ".jsonl": stored_sessions.JSONL,
    ".json": "canonical",
}
ENDINGS = ("html", "json", "md")
"""What may be asked for in a word; the file then has the session's name."""
LONGEST_FILE = 40


async def export(
    talk: Talk,
    screen: Screen,
    yes: Callable[[str], Awaitable[bool]],
    file: str | None,
    target: str | None,
    ending: str | None = None,
) -> None:
    """Without a file, on the screen; without a format, what the file's ending says, or Markdown.
    With an `ending` alone, in a file with the session's name."""
    path = Path(file).expanduser() if file is not None else None
    if ending is not None:
        path = path or Path(f"{file_name(talk)}.{ending}")
        target = BY_ENDING[f".{ending}"]
    if target is None:
        ending = path.suffix.lower() if path is not None else ""
        target = BY_ENDING.get(ending, stored_sessions.MARKDOWN)
    known = stored_sessions.targets()
    if target not in known:
        raise InterlinguaError(f"unknown format {target!r}: {', '.join(known)}")
    if path is not None and path.exists() and not await yes(f"Write over {path}?"):
        return
    data, report = await asyncio.to_thread(_written, talk, target)
    if path is None:
        put(data)
    else:
        await asyncio.to_thread(_keep, path, data)
        screen.note(f"{len(data):,} bytes in {path}")
    screen.losses(report)


def file_name(talk: Talk) -> str:
    """The session's name as one of a file: letters, digits and hyphens."""
    words = re.findall(r"\w+", (talk.title or "").lower())
    return "-".join(words)[:LONGEST_FILE].strip("-_") or short(talk.session.id)


def _written(talk: Talk, target: str) -> tuple[bytes, Report]:
    report = Report(target)
    with _same_store(talk) as store:
        row = store.session(talk.session.id)
        wanted = ExportOptions(target, talk.model)
        return b"".join(stored_sessions.pieces(store, row, wanted, report)), report


def _same_store(talk: Talk) -> Store:
    """The store of the chat, by the way that commands use."""
    if talk.wanted.keep:
        return open_store(talk.wanted.address)
    return open_store(Path(talk.store.where))


def _keep(path: Path, data: bytes) -> None:
    """Conversations are private; so is a file that is made for them."""
    try:
        with open(path, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
    except OSError as error:
        raise InterlinguaError(f"{path}: {error.strerror or type(error).__name__}") from None
