"""What a transcript format is, and all that are known: ours, and those that others plugged in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.errors import DetectError
from interlingua.losses import Report
from interlingua.plugins import entry_points_of
from interlingua.transcripts.glance import Glance
from interlingua.transcripts.transcript import Transcript

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "interlingua.transcripts"
"""The entry points by which other packages bring formats of their own."""

_FOLDERS = {
    "ag-ui": "ag_ui",
    "anthropic-batch": "anthropic_batch",
    "atif": "atif",
    "chatgpt": "chatgpt",
    "claude-ai": "claude_ai",
    "claude-code": "claude_code",
    "codex": "codex",
    "copilot": "copilot",
    "gemini-cli": "gemini_cli",
    "hf-messages": "hf_messages",
    "llm": "llm",
    "openai-batch": "openai_batch",
    "openai-finetune": "openai_finetune",
    "opencode": "opencode",
    "otel": "otel",
    "pi": "pi",
    "sharegpt": "sharegpt",
    "ui-message": "ui_message",
}
_LOADED: dict[str, Format] = {}


class Sample(NamedTuple):
    """What a format is told by: the path, and the first bytes of the file (of a folder: none)."""

    path: Path
    head: bytes


class Draft(NamedTuple):
    """Files to be written: their names, relative to the folder of the main file, which comes
    first, and their bytes; and what could not be said in them."""

    files: dict[str, bytes]
    report: Report


class Found(msgspec.Struct, frozen=True):
    """A session on this machine, as far as a glance tells."""

    format: str
    path: Path
    id: str | None = None
    updated_at: float | None = None


class Utterance(NamedTuple):
    """What a line says in the conversation: who, what (JSON, its texts are searched), when; `id`
    is the same where a file says the same message again."""

    role: str
    content: Any
    time: str | None = None
    id: str | None = None


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One format of transcripts.

    `signs` says by what a file is recognised, or None. `write` says a whole transcript anew,
    `patch` the lines of one message that was changed (None: it cannot), `more` messages that
    were added behind the last line; a format without `write` is read only. `find` looks in a
    home folder, `place` says where the tool looks for a session, `resume` how it is asked to go
    on with it, and `bring` how it takes in a file that was placed, where it does not find it by
    itself; `beside` are small files that it wants near it. `session` reads one of a file with
    many, by its id; `glance` tells what a list shows without reading everything, and `said`
    what a line says in the conversation, for a search."""

    name: str
    title: str
    seen: str
    """Which version was seen last, and when."""
    signs: Callable[[Sample], str | None]
    read: Callable[[Path], Transcript]
    read_all: Callable[[Path], Iterator[Transcript]] | None = None
    write: Callable[[Transcript, str], Draft] | None = None
    patch: Callable[[Transcript, int, list[bytes]], list[bytes] | None] | None = None
    more: Callable[[Transcript, int, bytes], bytes] | None = None
    form: Callable[[str], str] | None = None
    """Which of its forms a file of this name has, where there are several: one that was read goes
    home only in its own."""
    find: Callable[[Path], Iterator[Found]] | None = None
    place: Callable[[Transcript, Path], Path] | None = None
    resume: Callable[[Transcript, Path], list[str]] | None = None
    bring: Callable[[Path], list[str]] | None = None
    beside: Callable[[Transcript, Path], dict[Path, bytes]] | None = None
    file_version: str | None = None
    """The newest version that files of this format were seen to say of themselves."""
    newest: str | None = None
    """The newest version of the tool that was seen to go on with what is written here."""
    session: Callable[[Path, str], Transcript] | None = None
    glance: Callable[[Path, str | None], Glance | None] | None = None
    said: Callable[[dict[str, Any]], Utterance | None] | None = None
    rows: bool = False
    """Whether each line of a file is a conversation."""
    unsaid: tuple[str, ...] = ()
    """Facts of a session (its fields) that the format has no place for."""
    suffix: str = ".jsonl"


def formats() -> list[str]:
    """The names of all formats."""
    return [*_FOLDERS, *(each.name for each in _plugged() if each.name not in _FOLDERS)]


def format_of(name: str) -> Format:
    """The format of this name."""
    if name in _LOADED:
        return _LOADED[name]
    if name in _FOLDERS:
        module = import_module(f"interlingua.transcripts.{_FOLDERS[name]}")
        _LOADED[name] = module.FORMAT
        return _LOADED[name]
    for point in _plugged():
        if point.name == name:
            return _LOADED.setdefault(name, _checked(point))
    raise DetectError(f"unknown transcript format {name!r}", formats())


def all_formats() -> Iterator[Format]:
    """Every format that can be loaded; one that cannot is named in a warning and left out."""
    for name in formats():
        try:
            yield format_of(name)
        except Exception as error:
            warnings.warn(f"transcript format {name!r} cannot be loaded: {error}", stacklevel=2)


def _plugged() -> tuple[EntryPoint, ...]:
    return entry_points_of(GROUP)


def _checked(point: EntryPoint) -> Format:
    """A format of somebody else. Where all formats are asked, an error of this one is a warning."""
    found = point.load()
    if not isinstance(found, Format) or found.name != point.name:
        raise TypeError(f"{point.value} is not a format of that name")
    look = None if found.find is None else partial(_found, found.name, found.find)
    return replace(found, signs=partial(_signs, found.name, found.signs), find=look)


def _signs(name: str, signs: Callable[[Sample], str | None], sample: Sample) -> str | None:
    try:
        return signs(sample)
    except Exception as error:
        warnings.warn(f"transcript format {name!r} cannot tell a file: {error}", stacklevel=2)
        return None


def _found(name: str, find: Callable[[Path], Iterator[Found]], home: Path) -> Iterator[Found]:
    try:
        yield from find(home)
    except Exception as error:
        warnings.warn(f"transcript format {name!r} finds no sessions: {error}", stacklevel=2)
