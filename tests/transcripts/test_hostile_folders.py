"""Whatever lies in the folders of agents, the sessions beside it are found and listed."""

from __future__ import annotations

import json
import os
import resource
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import product
from pathlib import Path

import pytest
import zstandard

import interlingua as il
from interlingua import transcripts
from interlingua.transcripts import Skipped, files
from interlingua.transcripts.lines import LinesFile
from interlingua.transcripts.sessions import agents, carry_out, here, look, pick, plan
from tests.cli.running import forked, process
from tests.transcripts.made import session

MEMORY = 2 << 30
LINES = ["claude-code", "codex", "copilot", "gemini-cli", "pi"]
_COLUMNS = "id, parent_id, slug, directory, title, version, time_created, time_updated"


def dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def loop(path: Path) -> None:
    path.symlink_to(path)


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def endless_device(path: Path) -> None:
    path.symlink_to("/dev/urandom")


def unix_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)  # the paths of sockets are short
        server.bind(path.name)


def packed_line(path: Path) -> None:
    """One line of four gigabytes in a small file."""
    piece = zstandard.ZstdCompressor().compress(b" " * (64 << 20))
    path.write_bytes(zstandard.ZstdCompressor().compress(b'{"a":"') + piece * 64)


def many_lines(path: Path) -> None:
    piece = zstandard.ZstdCompressor().compress(b"{}\n" * (8 << 20))
    path.write_bytes(piece * 100)


def sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def broken_zstd(path: Path) -> None:
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"\xff" * 100)


def broken_gzip(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b" + b"\x00" * 100)


def far_times(path: Path) -> None:
    lines = [
        {"type": "user", "uuid": str(n), "parentUuid": None, "timestamp": time, "sessionId": "x"}
        for n, time in enumerate(["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    os.utime(path, (1 << 33, 1 << 33))


def deep(path: Path) -> None:
    path.write_bytes(b'{"type":"user","message":' + b"[" * 10_000 + b"]" * 10_000 + b"}\n")


FILES = [
    *(dangling, loop, folder, pipe, device, endless_device, unix_socket, packed_line, many_lines),
    *(sparse, broken_zstd, broken_gzip, far_times, deep),
]


def no_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000)


def other_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE sessions (id, text)")


def _tables(path: Path, session: str) -> sqlite3.Connection:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE message (id, session_id, data)")
    database.execute("CREATE TABLE part (id, session_id, message_id, data)")
    database.execute(session)
    return database


def text_as_time(path: Path) -> None:
    with closing(_tables(path, f"CREATE TABLE session ({_COLUMNS})")) as database:
        row = "'ses_1', NULL, 's', '/w', 't', '1', 'yesterday', 'today'"
        database.execute(f"INSERT INTO session VALUES ({row})")
        database.execute("INSERT INTO session VALUES (7, NULL, 1, 2, 3, 4, 1e300, 1e300)")
        database.execute("INSERT INTO session VALUES (NULL, NULL, 1, 2, 3, 4, -1e18, X'ff')")
        database.commit()


def endless_view(path: Path) -> None:
    rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    columns = "'ses_' || i AS id, NULL AS parent_id, i AS time_updated"
    with closing(_tables(path, f"CREATE VIEW session AS {rows} SELECT {columns} FROM n")):
        pass


def pipe_beside(path: Path) -> None:
    text_as_time(path)
    os.mkfifo(path.with_name(path.name + "-wal"))


DATABASES = [no_database, other_version, text_as_time, endless_view, pipe_beside, dangling, pipe]


def home_with_sessions(home: Path) -> dict[str, Path]:
    """A home with a session of each agent; where each of them lies."""
    places = {}
    for name in agents():
        made = plan(session(), name, home)
        carry_out(made)
        places[name] = made.path
    return places


def beside(path: Path, agent: str, number: int) -> Path:
    """Where another session of the agent could lie."""
    if agent == "copilot":
        (path.parent.parent / f"other{number}").mkdir()
        return path.parent.parent / f"other{number}" / path.name
    return path.with_name(f"{path.stem[:-2]}{number:02}.jsonl")


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


@pytest.fixture(autouse=True)
def smaller_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are soon reached; a process of its own has the real ones."""
    monkeypatch.setattr(files, "LONGEST_LINE", 1 << 22)
    monkeypatch.setattr(LinesFile, "most", (1 << 14, files.LARGEST))


@pytest.mark.parametrize("agent", LINES)
def test_bad_files_hide_no_session(agent: str, tmp_path: Path) -> None:
    places = home_with_sessions(tmp_path)
    bad = {make: beside(places[agent], agent, number) for number, make in enumerate(FILES)}
    for make, path in bad.items():
        make(path)
    skipped: list[Skipped] = []
    found = here(tmp_path, skipped=skipped)
    assert {each.path for each in found} >= {places[name] for name in LINES}
    assert {each.path for each in skipped} == {bad[make] for make in FILES[:7]}
    done = forked("transcripts", "list", "--json", "--no-cache", "--home", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    listed = {row["path"] for row in rows if row["skipped"] is None}
    assert listed >= {str(places[name]) for name in LINES}
    passed_over = {row["path"] for row in rows if row["skipped"] is not None}
    assert passed_over >= {str(bad[make]) for make in FILES[:12]}
    result = done.stderr.decode()
    assert all(str(bad[make]) in result for make in FILES[:12])


@pytest.mark.parametrize("make", DATABASES, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "place", ["opencode/opencode.db", "../../.config/io.datasette.llm/logs.db"]
)
def test_a_bad_database_hides_no_session(
    place: str, make: Callable[[Path], None], tmp_path: Path
) -> None:
    places = home_with_sessions(tmp_path)
    path = tmp_path / ".local" / "share" / place
    (tmp_path / ".local" / "share").mkdir(parents=True, exist_ok=True)
    path.parent.resolve().mkdir(parents=True, exist_ok=True)
    make(path.parent.resolve() / path.name)
    done = forked("transcripts", "list", "--json", "--no-cache", "--home", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    listed = {row["path"] for row in rows if row["skipped"] is None}
    assert listed >= {str(places[name]) for name in LINES}
    if make is not text_as_time or "llm" in place:
        assert [row for row in rows if row["skipped"]]
        assert path.name in str(rows)


def test_the_command_stays_within_its_memory(tmp_path: Path) -> None:
    places = home_with_sessions(tmp_path)
    for number, make in enumerate((packed_line, many_lines, sparse, device, pipe)):
        make(places["claude-code"].with_name(f"{number}.jsonl"))
    done = process(*("transcripts", "list", "--no-cache", "--home", tmp_path), before=limited)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 1 + len(LINES)
    assert len(done.stderr.splitlines()) == 5


def test_latest_is_found_among_bad_files(tmp_path: Path) -> None:
    places = home_with_sessions(tmp_path)
    for number, make in enumerate(FILES):
        if make is not far_times:
            make(places["pi"].with_name(f"{number}.jsonl"))
    assert pick("latest", tmp_path).path in places.values()
    done = forked("transcripts", "show", "latest", "--home", tmp_path)
    assert done.returncode == 0
    assert b"not a regular file" in done.stderr


@pytest.mark.parametrize("make", FILES[:12], ids=lambda make: make.__name__)
@pytest.mark.parametrize("format", [None, "claude-code", "codex"])
def test_a_bad_file_that_is_named_is_refused_with_words(
    format: str | None, make: Callable[[Path], None], tmp_path: Path
) -> None:
    make(tmp_path / "file.jsonl")
    with pytest.raises(il.InterlinguaError):
        transcripts.read(tmp_path / "file.jsonl", format)


def test_helpers_that_call_each_other_are_read_once(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(_tables(path, f"CREATE TABLE session ({_COLUMNS})")) as database:
        for own, other in (("ses_a", "ses_b"), ("ses_b", "ses_a")):
            part = {"type": "tool", "callID": "c", "tool": "task"}
            part["state"] = {"status": "completed", "metadata": {"sessionId": other}}  # type: ignore[assignment]
            row = (own, None, "s", "/w", "t", "1", 1, 1)
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            message = (f"m_{own}", own, '{"role": "assistant"}')
            database.execute("INSERT INTO message VALUES (?, ?, ?)", message)
            values = (f"p_{own}", own, f"m_{own}", json.dumps(part))
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", values)
        database.commit()
    [helper] = transcripts.read(path).subagents
    assert not helper.transcript.subagents


SESSION_COLUMNS = _COLUMNS.split(", ")
READ_COLUMNS = [("session", name) for name in SESSION_COLUMNS]
READ_COLUMNS += [("message", name) for name in ("id", "session_id", "data")]
READ_COLUMNS += [("part", name) for name in ("id", "session_id", "message_id", "data")]
DEEP = '{"a":' * 10_000 + "1" + "}" * 10_000
VALUES = {
    "bytes that are no UTF-8": b"\xff\xfe{\x80",
    "bytes in a JSON string": b'{"role": "user", "type": "text", "text": "\xff\xed\xa0\x80"}',
    "a value nested deeply": DEEP,
    "a deep value in an object": f'{{"role": "user", "type": "text", "text": {DEEP}}}',
}


@pytest.mark.parametrize(("table", "column"), READ_COLUMNS)
def test_odd_values_in_any_column_of_opencode_are_read_or_refused_with_words(
    table: str, column: str, tmp_path: Path
) -> None:
    path = tmp_path / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with closing(_tables(path, f"CREATE TABLE session ({_COLUMNS})")) as database:
        for number in range(2 * len(VALUES) + 1):
            name = f"ses_{number}"
            row = (name, None, "s", "/w", "t", "1", 1, 1)
            database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            message = (f"m_{name}", name, '{"role": "user"}')
            database.execute("INSERT INTO message VALUES (?, ?, ?)", message)
            part = (f"p_{name}", name, f"m_{name}", '{"type": "text", "text": "Hello"}')
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", part)
        spellings = product(("TEXT", "BLOB"), VALUES.values())
        for number, (kind, value) in enumerate(spellings, 1):
            change = f"UPDATE {table} SET {column} = CAST(? AS {kind}) WHERE rowid = ?"
            database.execute(change, (value, number))
        database.commit()
    found = here(tmp_path, ["opencode"])
    assert f"ses_{2 * len(VALUES)}" in [each.id for each in found]
    for each in found:
        with suppress(il.InterlinguaError):
            look(each)
    texts = []
    with suppress(il.InterlinguaError):
        for read in transcripts.read_all(path):
            texts += [message.text for message in read.messages]
    assert "Hello" in texts
