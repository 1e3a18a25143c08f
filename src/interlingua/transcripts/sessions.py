"""The sessions on this machine: found, searched, summarised, opened, and placed for other tools.

The overview of a long file takes a while, so it is cached in the user's cache folder, for the path,
the size and the time of the file; of a file that has changed since it is made anew.

A session that another tool continues gets an id that no session of the tool has, and its files are
new ones: no existing file is changed. The files were tried with certain versions of each tool; a
later version is refused until it was tried, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec

from interlingua.errors import InterlinguaError
from interlingua.model.codec import dumps
from interlingua.model.losses import Report
from interlingua.transcripts import draft
from interlingua.transcripts.files import (
    LineSource,
    TranscriptError,
    VersionError,
    collector_at_rest,
    errors_as_ours,
    lines_in,
    os_errors_as_ours,
    place,
    require_inside,
)
from interlingua.transcripts.files import opened as opened_file
from interlingua.transcripts.format import (
    Format,
    Found,
    Skipped,
    Utterance,
    all_formats,
    format_of,
    is_later,
)
from interlingua.transcripts.transcript import Answer, Overview, Transcript, overview_of
from interlingua.transcripts.values import NOT_JSON, decoded, seconds

_AROUND = 60
"""Characters that are shown on each side of a hit."""
_PLAIN = re.compile(r"[ !#-.0-\[\]-~]+")
"""Runs of characters that JSON has no second spelling for in any file that is seen here."""
_decode = msgspec.json.Decoder().decode


class Hit(msgspec.Struct, frozen=True):
    """A search result: session, file and line or message, role, and surrounding text."""

    format: str
    session: str | None
    path: str
    place: str
    role: str
    text: str
    time: str | None = None


def hits_in(found: Found, text: str) -> Iterator[Hit | str]:
    """All hits in a session, its helpers included; a text is the reason why it cannot be read."""
    of = format_of(found.format)
    try:
        if of.search_text is None:
            yield from _in_messages(found, text)
        else:
            found = yield from _in_lines(found, found.path, of, text)
            for path in _helpers(found):
                yield from _in_lines(found, path, of, text)
    except Exception as error:  # one bad file must not hide the others
        yield problem_of(found, error)


def _helpers(found: Found) -> list[Path]:
    """Files of helpers, in a folder named like the file or the session."""
    beside = found.path.parent
    folders = dict.fromkeys(beside / name for name in (found.path.stem, found.id) if name)
    own = [each for each in folders if each.parent == beside and each.name != ".."]
    return [path for each in own for path in sorted(each.rglob("*.jsonl"))]


def _in_lines(found: Found, path: Path, of: Format, text: str) -> Generator[Hit | str, None, Found]:
    """The hits in one file; returns the session with its id, if its first line has that."""
    assert of.search_text is not None
    may_hold, needle = filter_of(text), text.lower()
    seen: set[tuple[str, str]] = set()
    with opened_file(path) as file:
        for number, line in enumerate(lines_in(file, path), 1):
            if number == 1 and path == found.path:
                found = _named(found, line)
            entry = _searchable(line, of) if may_hold(line) else None
            if entry is None:
                continue
            for snippet in _snippets(entry.content, needle):
                key = (entry.id if isinstance(entry.id, str) else str(number), snippet)
                if key not in seen:
                    seen.add(key)
                    time = entry.time if isinstance(entry.time, str) else None
                    where = (found.format, found.id, str(path), f"line {number}")
                    yield Hit(*where, str(entry.role), snippet, time)
    return found


def _searchable(line: bytes, of: Format) -> Utterance | None:
    assert of.search_text is not None
    value = decoded(line)
    return of.search_text(value) if isinstance(value, dict) else None


def filter_of(text: str) -> Callable[[bytes], bool]:
    """Returns a filter of lines that may contain the text: their bytes contain a part of it that
    JSON spells in only one way, ignoring case. Only these lines are decoded."""
    runs = _PLAIN.findall(text)
    if runs:
        needle = max(runs, key=len).lower().encode()
        return lambda line: needle in line.lower()
    spellings = {text.encode(), text.lower().encode(), text.upper().encode()}
    return lambda line: any(each in line for each in spellings) or b"\\" in line


def _in_messages(found: Found, text: str) -> Iterator[Hit]:
    """For files that have to be read whole."""
    needle = text.lower()
    transcript = opened(found)
    for number, message in enumerate(transcript.messages, 1):
        content = _decode(dumps(message)).get("content")
        for snippet in _snippets(content, needle):
            time = message.created_at.isoformat() if message.created_at else None
            yield Hit(
                found.format,
                transcript.id,
                str(found.path),
                f"message {number}",
                message.role.value,
                snippet,
                time,
            )


def _snippets(content: Any, needle: str) -> Iterator[str]:
    """The surroundings of the text, once for each string that holds it."""
    for text in _strings(content):
        at = text.lower().find(needle)
        if at >= 0:
            start, end = max(at - _AROUND, 0), at + len(needle) + _AROUND
            cut = " ".join(text[start:end].split())
            yield f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)


LATEST = "latest"
_NAMED = 5
"""Candidates that an error names."""
_RECENT = 20
"""The number of files among which the latest session is searched."""
_FIRST = 1 << 16
"""Bytes of a first line."""
_FORM = 4
"""The version of cached overviews; others are not used."""


def find(
    home: Path | None = None,
    formats: Iterable[str] = (),
    skipped: list[Skipped] | None = None,
    named: bool = True,
) -> Iterator[Found]:
    """Sessions of these agents (default: all); `skipped` collects unreadable files. Without `named`
    no file is opened, and those without their id in their name have none."""
    folder = Path.home() if home is None else home
    chosen = set(formats)
    for each in all_formats():
        if each.find is None or (chosen and each.name not in chosen):
            continue
        for one in _guarded(each.name, each.find, folder):
            if isinstance(one, Found):
                yield _named(one) if named else one
            elif skipped is not None:
                skipped.append(one)


def _named(found: Found, first: bytes | None = None) -> Found:
    """The same with its id, which the first line of its file may have."""
    id_in = format_of(found.format).id_in
    if found.id is not None or id_in is None:
        return found
    if first is None:
        try:
            with errors_as_ours(found.path), opened_file(found.path) as file:
                first = file.readline(_FIRST)
        except TranscriptError:
            return found
    return msgspec.structs.replace(found, id=id_in(first))


def _guarded(
    name: str, look: Callable[[Path], Iterator[Found | Skipped]], home: Path
) -> Iterator[Found | Skipped]:
    """The sessions of one agent; errors in its files do not affect other agents."""
    try:
        yield from look(home)
    except Exception as error:
        yield Skipped(name, home, problem(error))


def problem(error: Exception) -> str:
    """A file's error as a text for people."""
    if isinstance(error, InterlinguaError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"it cannot be read ({type(error).__name__}: {error})"


def here(
    home: Path | None = None,
    formats: Iterable[str] = (),
    skipped: list[Skipped] | None = None,
    named: bool = True,
) -> list[Found]:
    """Sessions of these agents (or all), newest first, as `find` gives them."""
    return sorted(find(home, formats, skipped, named), key=lambda one: -(one.updated_at or 0.0))


def pick(
    name: str,
    home: Path | None = None,
    formats: Iterable[str] = (),
    skipped: list[Skipped] | None = None,
) -> Found:
    """The session with this path, id, unique beginning of an id, title, `codex:id`, or `latest`."""
    path = Path(name)
    if _is_there(path):
        return at(path, next(iter(formats), None))
    agent, colon, rest = name.partition(":")
    if colon and any(agent == each.name for each in all_formats()):
        formats, name = [agent], rest
    found = here(home, formats, skipped)
    if name != LATEST:
        return _only(name, found)
    if not found:
        raise TranscriptError(name, "no agent has a session on this machine")
    return _latest(found[:_RECENT])


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _latest(found: list[Found]) -> Found:
    """The session with the newest message: copied files may share their times."""
    readable = [
        (overview, each)
        for each, overview in overviews(found, look)
        if isinstance(overview, Overview)
    ]
    own = [(overview, each) for overview, each in readable if overview.parent is None] or readable
    times = [(changed(overview, each), each) for overview, each in own]
    return max(times, key=lambda pair: pair[0])[1] if times else found[0]


def changed(overview: Overview, found: Found) -> float:
    """The time of a session's last message, or of its file's last change."""
    time = overview.updated_at or overview.created_at
    return time.timestamp() if time else found.updated_at or 0.0


def at(path: Path, format: str | None = None) -> Found:
    """The session in a file; the format is detected if it is not set."""
    from interlingua import transcripts

    known = format or transcripts.detect(path).format
    return Found(known, path, None, seconds(path.stat().st_mtime))


def _only(name: str, found: list[Found]) -> Found:
    start = name.lower()
    same = [each for each in found if (each.id or "").lower() == start]
    fitting = same or [
        each for each in found if start and (each.id or "").lower().startswith(start)
    ]
    fitting = fitting or [each for each in found if start and _is_listed_as(each, start)]
    if not fitting:
        raise TranscriptError(name, "no session with this id or title, and no file with this path")
    if len(fitting) > 1:
        names = ", ".join(f"{each.format}:{each.id}" for each in fitting[:_NAMED])
        more = " and others" if len(fitting) > _NAMED else ""
        raise TranscriptError(name, f"several sessions match: {names}{more}")
    return fitting[0]


def _is_listed_as(found: Found, name: str) -> bool:
    """Whether its file calls it so: an id that is not the file's name, or its title."""
    try:
        overview = look(found)
    except Exception:  # one bad file must not hide the others
        return False
    return (overview.id or "").lower().startswith(name) or (overview.title or "").lower() == name


def opened(found: Found) -> Transcript:
    """The whole session."""
    from interlingua import transcripts

    of = format_of(found.format)
    if found.id is not None and of.session is not None:
        with errors_as_ours(found.path):
            return of.session(found.path, found.id)
    if found.id is None:
        return transcripts.read(found.path, found.format)
    if of.read_all is None:
        return transcripts.read(found.path, found.format)
    for each in transcripts.read_all(found.path, found.format):
        if each.id == found.id:
            return each
    raise TranscriptError(found.path, f"it contains no session {found.id}")


def look(found: Found) -> Overview:
    """The overview of a session; `TranscriptError` if it cannot be read at all."""
    of = format_of(found.format)
    with collector_at_rest(), errors_as_ours(found.path):
        overview = of.overview(found.path, found.id) if of.overview is not None else None
        return overview_of(opened(found)) if overview is None else overview


class StoredOverview(msgspec.Struct, frozen=True):
    """A cached overview without answers, their cost, and the state of the file and the prices."""

    form: int
    size: int
    time: int
    prices: str
    models: list[str]
    overview: Overview
    cost: Decimal | None
    unpriced: int


class Pricing(Protocol):
    """Costs of answers: `prices` names the table."""

    prices: str

    def __call__(self, answers: tuple[Answer, ...]) -> tuple[Decimal | None, int]: ...


class Overviews:
    """Overviews with their costs, cached in `folder` if there is one. Those of files with fewer
    bytes than `least` are not: reading such a file takes no longer than opening another one."""

    least = 1 << 12

    def __init__(self, pricing: Pricing, folder: Path | None) -> None:
        self.pricing = pricing
        self.folder = folder

    def of(self, found: Found) -> StoredOverview:
        state = (*_state(found.path), self.pricing.prices)
        place = self._place(found) if state[0] >= self.least else None
        stored = self._stored(place)
        if stored is not None and (stored.size, stored.time, stored.prices) == state:
            return stored
        overview = look(found)
        models = dict.fromkeys(answer.model for answer in overview.answers if answer.model)
        without = msgspec.structs.replace(overview, answers=())
        stored = StoredOverview(
            _FORM, *state, list(models), without, *self.pricing(overview.answers)
        )
        self._keep(stored, place)
        return stored

    def _place(self, found: Found) -> Path | None:
        if self.folder is None:
            return None
        of = format_of(found.format)
        several = of.session is not None or of.read_all is not None
        key = f"{found.format}\n{found.path.absolute()}\n{found.id if several else None}"
        return self.folder / f"{hashlib.sha256(os.fsencode(key)).hexdigest()[:32]}.json"

    def _stored(self, place: Path | None) -> StoredOverview | None:
        if place is None:
            return None
        try:
            stored = _decoder.decode(place.read_bytes())
        except (OSError, *NOT_JSON):
            return None
        return stored if stored.form == _FORM else None

    def _keep(self, stored: StoredOverview, place: Path | None) -> None:
        """A folder that cannot be written to is no reason to fail."""
        if place is None:
            return
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(msgspec.json.encode(stored))
            os.replace(file.name, place)
        except OSError:
            return


_decoder = msgspec.json.Decoder(StoredOverview)


def _state(path: Path) -> tuple[int, int]:
    """Size and time of a file; of a database, of the log beside it too."""
    size = time = 0
    for each in (path, path.with_name(f"{path.name}-wal")):
        try:
            about = each.stat()
        except OSError:
            continue
        size, time = size + about.st_size, max(time, about.st_mtime_ns)
    return size, time


T = TypeVar("T")


def overviews(found: Iterable[Found], of: Callable[[Found], T]) -> Iterator[tuple[Found, T | str]]:
    """The overview of each session, or why it cannot be read."""
    for each in found:
        try:
            yield each, of(each)
        except Exception as error:  # one bad file must not hide the others
            yield each, problem_of(each, error)


def problem_of(found: Found, error: Exception) -> str:
    """Why a session cannot be read, with its path."""
    reason = problem(error)
    return reason if isinstance(error, InterlinguaError) else f"{found.path}: {reason}"


_PATIENCE = 20
"""Seconds that a tool may take to print its version."""
_ID = re.compile(r"ses_[0-9A-Za-z]{1,64}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
"""The ids that tools make, all of them harmless in a path."""


class Plan(NamedTuple):
    """The files to write, their losses, and the commands; no files if the tool has the session."""

    format: Format
    id: str | None
    folder: str | None
    path: Path
    root: Path
    files: dict[Path, Iterable[bytes]]
    report: Report
    commands: list[list[str]]


def agents() -> list[str]:
    """The formats of tools that can continue a session."""
    from interlingua.transcripts.format import all_formats

    return [each.name for each in all_formats() if each.place and each.resume and each.write]


def plan(
    transcript: Transcript, format: str, home: Path | None = None, found: Found | None = None
) -> Plan:
    """How a tool continues this session; `found` is its file, if it is unchanged."""
    source = LineSource(transcript, transcript.messages)
    to, transcript = format_of(format), transcript.encodable()
    if to.place is None or to.resume is None:
        raise TranscriptError(format, f"no tool can continue from it: {', '.join(agents())}")
    folder = Path.home() if home is None else home
    root = to.root(folder) if to.root is not None else folder
    known = here(folder, [format])
    if found is not None and (found.format, found.path) in [(k.format, k.path) for k in known]:
        go_on = [to.resume(transcript, found.path)]
        lies = (transcript.id, transcript.folder, found.path, root)
        return Plan(to, *lies, {}, Report(format), go_on)
    with os_errors_as_ours(root):
        transcript, path = _free(transcript, to, folder, root, known)
    if transcript.origin is None:
        # Gemini CLI removes sessions at its start that were not changed for a month (0.61.0, seen
        # 2026-11-17): one that is resumed today is touched today.
        transcript = transcript.replace(updated_at=datetime.now(UTC))
    files, report = draft(transcript, format, path.name)
    report.source = source
    main, *beside = files
    places = {path: files[main]} | {path.parent / name: files[name] for name in beside}
    if to.sidecars is not None:
        sidecars = to.sidecars(transcript, path).items()
        places |= {each: (data,) for each, data in sidecars if not each.exists()}
    commands = [
        *([to.import_command(path)] if to.import_command else []),
        to.resume(transcript, path),
    ]
    return Plan(to, transcript.id, transcript.folder, path, root, places, report, commands)


def carry_out(plan: Plan) -> None:
    """Write the files, all or none."""
    place(plan.files, plan.root)


def _free(
    transcript: Transcript, to: Format, home: Path, root: Path, known: list[Found]
) -> tuple[Transcript, Path]:
    """The session under an id that the tool does not have yet, and its path."""
    assert to.place is not None
    taken = {each.id for each in known}
    own = (
        transcript.id
        if transcript.format == to.name and _ID.fullmatch(transcript.id or "")
        else None
    )
    made = str(uuid5(NAMESPACE_URL, f"{to.name}:{transcript.format}:{transcript.id}"))
    for name in (own or made, made if transcript.id else str(uuid4()), str(uuid4())):
        named = transcript if name == own else transcript.replace(id=name, origin=None)
        path = to.place(named, home)
        require_inside(path, root)
        if name not in taken and path.stem not in taken and not path.exists():
            break
    return named, path


def installed_version(program: str) -> str | None:
    """The version of the tool on this machine; None if it is missing or does not print one."""
    where = shutil.which(program)
    if where is None:
        return None
    try:
        ask = [where, "--version"]
        process = subprocess.run(
            ask, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    number = re.search(r"\d+(\.\d+)+", process.stdout)
    return number[0] if number else None


def require_known(to: Format, program: str, version: str | None) -> None:
    """`VersionError` where the tool is of a later series than any that was tried."""
    if version is not None and is_later(version, to.tested_tool):
        raise VersionError(
            f"{program} {version}",
            f"not supported yet: {to.tested_tool} is the newest tested version",
        )
