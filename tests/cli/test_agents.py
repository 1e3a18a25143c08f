"""Sessions of other agents from the command line: listed, shown, searched, converted."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from interlingua import config, transcripts
from interlingua.model.message import Message
from interlingua.transcripts.sessions import Overviews, agents
from tests.cli.homes import FLOUR, everything, other, settled
from tests.cli.running import ok, on_terminal, run, told
from tests.transcripts.made import session


@pytest.fixture
def agents_home(tmp_path: Path) -> Path:
    """Claude Code has the older session, Codex the later one."""
    folder = tmp_path / "agents"
    settled(session(), "claude-code", folder)
    settled(other(), "codex", folder)
    return folder


def ids(home: Path) -> dict[str, str]:
    return {row["format"]: row["id"] for row in told("transcripts", "list", "--home", home)}


# List


def test_the_list_has_all_agents_and_the_last_changed_first(agents_home: Path) -> None:
    rows = told("transcripts", "list", "--home", agents_home)
    assert [row["format"] for row in rows] == ["codex", "claude-code"]
    assert [row["title"] for row in rows] == [FLOUR, "Is the dough ready? Look."]
    assert [row["folder"] for row in rows] == ["/home/user/mill", "/home/user/bakery"]
    assert [row["messages"] for row in rows] == [2, 8]
    assert [row["unpriced"] for row in rows] == [0, 0]
    assert Decimal(rows[1]["cost_usd"]) == 3 * Decimal(rows[0]["cost_usd"]) > 0


def test_the_list_says_as_much_as_reading_the_files(agents_home: Path) -> None:
    for row in told("transcripts", "list", "--home", agents_home):
        read = transcripts.read(row["path"])
        assert row["messages"] == len(read.messages)
        assert row["id"] == read.id


@pytest.mark.parametrize(
    "options",
    [
        ("--from", "codex"),
        ("--folder", "/home/user/mill"),
        ("--title", "RYE"),
        ("--limit", "1"),
    ],
)
def test_the_list_can_be_narrowed(agents_home: Path, options: tuple[str, ...]) -> None:
    rows = told("transcripts", "list", "--home", agents_home, *options)
    assert [row["format"] for row in rows] == ["codex"]


def test_an_overview_is_cached_until_its_file_changes(
    agents_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Overviews, "least", 0)  # small files are not cached
    before = told("transcripts", "list", "--home", agents_home)
    stored = list((config.cache_folder() / "transcripts").iterdir())
    assert len(stored) == 2
    for each in stored:
        each.write_bytes(each.read_bytes().replace(b'"messages":8', b'"messages":80'))
    assert [row["messages"] for row in told("transcripts", "list", "--home", agents_home)] == [
        2,
        80,
    ]
    fresh = told("transcripts", "list", "--home", agents_home, "--no-cache")
    assert fresh == before
    path = Path(before[1]["path"])
    path.write_bytes(path.read_bytes() + b"\n")
    assert told("transcripts", "list", "--home", agents_home) == before


def test_a_session_that_cannot_be_read_is_told_and_the_others_are_listed(
    agents_home: Path,
) -> None:
    broken = agents_home / ".claude" / "projects" / "-x" / "broken.jsonl"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"not JSON\n")
    result = run("transcripts", "list", "--home", agents_home, "--json")
    rows = json.loads(result.stdout)
    (passed_over,) = [row for row in rows if row["skipped"] is not None]
    assert passed_over["path"] == str(broken)
    assert len([row["id"] for row in rows if row["skipped"] is None]) == 2
    assert "broken.jsonl" in result.stderr


def test_a_home_without_agents_is_no_error(tmp_path: Path) -> None:
    result = run("transcripts", "list", "--home", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_list_on_a_terminal_shows_a_table(agents_home: Path) -> None:
    code, seen = on_terminal("transcripts", "list", "--home", agents_home, columns=120)
    assert code == 0
    assert "Which flour" in seen
    assert seen.index("codex") < seen.index("claude-code")


# Show


def test_a_session_is_shown_with_its_tools_folded(agents_home: Path) -> None:
    id = ids(agents_home)["claude-code"][:8]
    text = ok("transcripts", "show", id, "--home", agents_home)
    assert '▸ read {"path":"oven.txt"} → an error, 1 line, 12 characters' in text
    assert "no such file" not in text
    assert "Gladly." in text


def test_tools_can_be_unfolded(agents_home: Path) -> None:
    id = ids(agents_home)["claude-code"]
    text = ok("transcripts", "show", id, "--home", agents_home, "--tools")
    assert "[result: an error] no such file" in text


def test_the_latest_session_is_the_one_in_which_somebody_spoke_last(agents_home: Path) -> None:
    shown = told("transcripts", "show", "latest", "--home", agents_home)
    assert shown["format"] == "codex"
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant"]


def test_a_file_anywhere_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    transcripts.write(other(), path, "pi")
    assert told("transcripts", "show", path)["format"] == "pi"


def test_an_id_that_several_sessions_have_is_an_error_that_names_them(tmp_path: Path) -> None:
    for format in ("pi", "codex"):
        path = tmp_path / f"{format}.jsonl"
        transcripts.write(other(), path, format)
        form = transcripts.format_of(format)
        assert form.place is not None
        place = form.place(other(), tmp_path)
        place.parent.mkdir(parents=True)
        path.rename(place)
    result = run("transcripts", "show", "9b4d", "--home", tmp_path)
    assert result.exit_code == 1
    assert "pi:9b4d" in result.stderr
    assert "codex:9b4d" in result.stderr
    assert told("transcripts", "show", "pi:9b4d", "--home", tmp_path)["format"] == "pi"


def test_what_is_missing_is_reported_in_one_line(agents_home: Path) -> None:
    result = run("transcripts", "show", "zzz", "--home", agents_home)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no session with this id" in result.stderr


# Search


@pytest.mark.parametrize("text", ["RYE bread", "dough.txt", "no such file"])
def test_what_was_said_is_found_in_any_case(agents_home: Path, text: str) -> None:
    hits = told("transcripts", "search", text, "--home", agents_home)
    assert len(hits) == 1
    path, line = Path(hits[0]["path"]), int(hits[0]["place"].removeprefix("line "))
    assert text.lower().encode() in path.read_bytes().split(b"\n")[line - 1].lower()


def test_letters_beyond_ascii_are_found_as_they_are_and_as_escapes(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects" / "-x"
    projects.mkdir(parents=True)
    for name, escape in (("a", False), ("b", True)):
        line = {"type": "user", "uuid": name, "parentUuid": None, "sessionId": name}
        line["message"] = {"role": "user", "content": "Где мука?"}  # type: ignore[assignment]
        (projects / f"{name}.jsonl").write_text(json.dumps(line, ensure_ascii=escape) + "\n")
    assert len(told("transcripts", "search", "мука", "--home", tmp_path)) == 2


def test_what_a_tool_notes_beside_the_conversation_is_not_found(agents_home: Path) -> None:
    assert told("transcripts", "search", "cli_version", "--home", agents_home) == []
    assert told("transcripts", "search", "/home/user/mill", "--home", agents_home) == []


@pytest.mark.parametrize("odd", ["", ".", "..", None, ["x"], {"a": 1}])
def test_odd_values_stop_neither_the_list_nor_a_search(tmp_path: Path, odd: object) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "mill" / "chats"
    chats.mkdir(parents=True)
    about = {"sessionId": odd, "projectHash": "0", "startTime": "2026-03-01T12:00:00Z"}
    fields = {"id": odd, "type": "user", "timestamp": odd, "content": [{"text": FLOUR}]}
    lines = "".join(json.dumps(each) + "\n" for each in (about, fields))
    (chats / "session-2026-03-01T12-00-x.jsonl").write_text(lines)
    (chats.parent / "other.jsonl").write_text(lines)
    rollout = tmp_path / ".codex" / "sessions" / "rollout-x.jsonl"
    rollout.parent.mkdir(parents=True)
    item = {"type": "response_item", "payload": {"type": odd, "role": odd, "content": FLOUR}}
    rollout.write_text(json.dumps(item) + "\n")
    assert run("transcripts", "list", "--home", tmp_path).exit_code == 0
    hits = told("transcripts", "search", "rye", "--home", tmp_path)
    assert sorted(hit["format"] for hit in hits) == ["codex", "gemini-cli"]


# Convert


@pytest.mark.parametrize("target", [name for name in agents() if name != "opencode"])
def test_a_session_is_converted_and_nothing_is_overwritten(
    agents_home: Path, tmp_path: Path, target: str
) -> None:
    before = everything(agents_home)
    out = tmp_path / "out.jsonl"
    where = ("--home", agents_home, "-o", out)
    ok("transcripts", "convert", "codex:" + ids(agents_home)["codex"], "--to", target, *where)
    assert transcripts.read(out).messages[0].text == FLOUR
    again = run("transcripts", "convert", "latest", "--to", target, *where)
    assert again.exit_code == 1
    assert "not overwritten" in again.stderr
    assert everything(agents_home) == before


def test_losses_are_told_and_make_strict_fail(agents_home: Path, tmp_path: Path) -> None:
    id = ids(agents_home)["claude-code"]
    report = tmp_path / "report.json"
    how = ("--to", "sharegpt", "--home", agents_home, "--strict", "--report", report)
    result = run("transcripts", "convert", id, *how)
    assert result.exit_code == 3
    assert "thinking" in result.stderr
    assert json.loads(report.read_bytes())["losses"]
    assert json.loads(result.stdout)["conversations"]


KEY = "sk-ant-api03-" + "Ab3" * 31 + "-Zz9AAAA"


def test_keys_are_taken_out_on_the_way(tmp_path: Path) -> None:
    content = Message.user(f"My key is {KEY}, and the code word is kangaroo.")
    path = settled(other().replace(messages=(content,), branches=()), "codex", tmp_path / "agents")
    for target in ("codex", "claude-code", "sharegpt"):
        how = ("--to", target, "--redact", "--pattern", "animal=kangaroo")
        result = run("transcripts", "convert", path, *how)
        assert result.exit_code == 0, result.stderr
        assert KEY not in result.stdout
        assert "kangaroo" not in result.stdout
        assert "[redacted:animal:1]" in result.stdout
        assert "animal" in result.stderr
        assert KEY not in result.stderr
        for line in result.stdout.splitlines():
            json.loads(line)


# Cost


def test_each_answer_costs_once_also_where_a_fork_copied_it(agents_home: Path) -> None:
    whole = told("cost", "--transcripts", "--home", agents_home)["total"]
    assert (whole["messages"], whole["unpriced"]) == (4, 0)
    path = next((agents_home / ".claude").rglob("*.jsonl"))
    copy = path.with_name("00000000-5b7e-4c1d-9a3f-0c9e5d1b2a60.jsonl")
    copy.write_bytes(path.read_bytes())
    assert told("cost", "--transcripts", "--home", agents_home)["total"] == whole
    assert told("cost", path)["total"]["messages"] == 3
    days = told("cost", "--transcripts", "--home", agents_home, "--by", "day")["rows"]
    assert [row["day"] for row in days] == ["2026-03-01", "2026-03-02"]
