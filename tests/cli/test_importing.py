"""Transcripts of other agents into a store, and sessions out of it as transcripts."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

import interlingua as il
from interlingua import transcripts
from interlingua.cli.importing import import_transcript
from interlingua.model.blocks import ToolResultBlock, ToolUseBlock
from interlingua.model.losses import Report
from interlingua.model.message import Message
from interlingua.store.base import Store
from interlingua.transcripts import Branch, SubAgent, Transcript, format_of, formats
from tests.cli.homes import FLOUR, other, settled
from tests.cli.running import ok, run, told
from tests.transcripts.made import session


def branched() -> Transcript:
    """The made-up session, and two other ways to go on: after the first answer, and from there
    after the second prompt."""
    first = session()
    messages = first.messages
    late = timedelta(minutes=5)
    again = tuple(
        each.replace(created_at=each.created_at + late)
        for each in (
            Message.user("And the oven?").replace(created_at=messages[-1].created_at),
            messages[-1],
        )
        if each.created_at
    )
    second = (*messages[:6], *again)
    third = (*second[:7], messages[-1].replace(content=Message.assistant("Hot.").content))
    ways = (Branch("a", second), Branch("b", third), Branch("c", messages, True))
    return first.replace(branches=ways)


def test_branches_are_forks_that_name_where_they_leave(store: Store) -> None:
    settled = import_transcript(store, branched())
    main, second, third = (store.session(id) for id in settled.sessions)
    assert [row.message_count for row in (main, second, third)] == [8, 8, 8]
    assert (main.name, main.workspace_path) == ("Bread", "/home/user/bakery")
    assert main.parent_id is None
    assert second.parent_id == main.id
    assert second.parent_message_id == store.messages(main.id)[5].id
    assert third.parent_id == second.id
    assert third.parent_message_id == store.messages(second.id)[6].id
    assert [each.text for each in store.messages(second.id)][6:] == ["And the oven?", "Gladly. 🥖"]


def test_calls_of_a_branch_have_ids_of_their_own_and_keep_the_providers(store: Store) -> None:
    ids = import_transcript(store, branched()).sessions
    calls = [store.tool_calls(id) for id in ids]
    assert [[call.provider_id for call in each] for each in calls] == [["toolu_a", "toolu_b"]] * 3
    assert len({call.id for each in calls for call in each}) == 6
    for id in ids:
        blocks = [block for message in store.messages(id) for block in message.content]
        made = {block.id for block in blocks if isinstance(block, ToolUseBlock)}
        assert {b.tool_use_id for b in blocks if isinstance(b, ToolResultBlock)} == made


def test_what_a_branch_copied_is_paid_for_once(store: Store) -> None:
    import_transcript(store, branched())
    assert told("cost")["total"]["messages"] == 5


def test_helpers_are_sessions_that_name_the_message_that_called_them(store: Store) -> None:
    helper = SubAgent(other(), "toolu_b")
    settled = import_transcript(store, session().replace(subagents=(helper,)))
    main, own = (store.session(id) for id in settled.sessions)
    assert own.parent_id == main.id
    assert own.parent_message_id == store.messages(main.id)[2].id
    assert [message.text for message in store.messages(own.id)] == [FLOUR, "Wholemeal."]
    assert f"helper of {main.id}" in ok("sessions", "show", own.id)
    assert told("cost")["total"]["messages"] == 4


def test_nothing_is_kept_of_a_session_that_cannot_be_stored_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add, made = store.add_session, []

    def full(row: object) -> object:
        made.append(row)
        if len(made) == 2:
            raise OSError("no room")
        return add(row)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "add_session", full)
    with pytest.raises(OSError, match="no room"):
        import_transcript(store, branched())
    assert store.sessions() == []


def test_a_message_that_breaks_a_rule_is_kept_and_reported(store: Store) -> None:
    alone = Message.of_result(ToolResultBlock("toolu_x", ()))
    settled = import_transcript(store, session().replace(messages=(alone,), branches=()))
    assert settled.problems
    assert store.session(settled.sessions[0]).message_count == 1


AGENTS = [name for name in formats() if format_of(name).resume is not None]


@pytest.mark.parametrize("format", AGENTS)
def test_files_of_every_agent_can_be_imported(format: str, tmp_path: Path, store: Store) -> None:
    path = settled(other(), format, tmp_path)
    told = json.loads(ok("import", path, "--json"))
    assert (told["sessions"], told["messages"], told["failed"]) == (1, 2, 0)
    (row,) = store.sessions()
    assert (row.name, row.workspace_path) == (FLOUR, "/home/user/mill") or row.name == "Bread"
    assert row.active_model == "anthropic:claude-sonnet-4-6"


def test_the_format_can_be_said_and_read_from_standard_input(store: Store) -> None:
    turns = [{"from": "human", "value": FLOUR}, {"from": "gpt", "value": "Wholemeal."}]
    line = json.dumps({"conversations": turns})
    ok("import", "-", "--from", "sharegpt", stdin=f"{line}\n{line}\n")
    assert [row.message_count for row in store.sessions()] == [2, 2]


def test_lines_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    path = settled(other(), "codex", tmp_path)
    path.write_bytes(path.read_bytes() + b'{"cut')
    result = run("import", path)
    assert result.exit_code == 1
    assert "line" in result.stderr
    assert "1 session, 2 messages imported, 1 unreadable" in result.stderr


@pytest.mark.parametrize("format", [name for name in formats() if format_of(name).write])
def test_sessions_can_be_exported_in_every_format_that_is_written(
    format: str, tmp_path: Path, store: Store
) -> None:
    id = import_transcript(store, other()).sessions[0]
    out = tmp_path / f"out{format_of(format).suffix}"
    ok("export", id, "--to", format, "-o", out)
    read = transcripts.read(out, format)
    assert [message.text for message in read.messages] == [FLOUR, "Wholemeal."]


def test_ids_of_calls_are_those_of_their_providers_again(store: Store, tmp_path: Path) -> None:
    id = import_transcript(store, session()).sessions[0]
    ok("export", id, "--to", "pi", "-o", tmp_path / "out.jsonl")
    calls = [
        call.id for m in transcripts.read(tmp_path / "out.jsonl").messages for call in m.tool_calls
    ]
    assert calls == ["toolu_a", "toolu_b"]


def test_several_sessions_are_files_of_a_folder_or_lines_of_a_file(
    store: Store, tmp_path: Path
) -> None:
    both = [other(), other().replace(id="another")]
    ids = [import_transcript(store, each).main for each in both]
    assert run("export", "--to", "codex").exit_code == 2
    ok("export", "--to", "codex", "-o", tmp_path / "folder")
    names = sorted(path.name for path in (tmp_path / "folder").iterdir())
    assert names == sorted(f"{id}.jsonl" for id in ids)
    again = run("export", "--to", "codex", "-o", tmp_path / "folder")
    assert "not overwritten" in again.stderr
    lines = ok("export", "--to", "sharegpt").splitlines()
    assert len(lines) == 2


KEY = "ghp_" + "aB3dE5gH7jK9mN1pQ3rS5tU7vW9xY1zA3bC5"


@pytest.mark.parametrize(
    "target", ["jsonl", "canonical", "markdown", "html", "openai-chat", "claude-code"]
)
def test_an_export_can_be_without_secrets(store: Store, target: str) -> None:
    row = store.create_session("/w", name=f"About {KEY}", active_model="openai:gpt-5")
    store.append(row.id, [Message.user(f"Use {KEY} for it.")])
    result = run("export", row.id, "--to", target, "--redact")
    assert result.exit_code == 0, result.stderr
    assert KEY not in result.stdout
    assert "redacted:github" in result.stdout
    assert KEY not in result.stderr
    assert "redacted, " in result.stderr
    assert KEY in ok("export", row.id, "--to", target)


@pytest.mark.parametrize("pattern", [r"\w+", "a|", "(?s).*"])
@pytest.mark.parametrize(
    "target", ["jsonl", "canonical", "markdown", "html", "openai-chat", "claude-code"]
)
def test_a_pattern_may_match_everything(store: Store, target: str, pattern: str) -> None:
    pytest.importorskip("re2", reason="the extra `redaction` is not installed")
    row = store.create_session("/w", name="A name", active_model="openai:gpt-5")
    store.append(row.id, [Message.user("Take a seat.")])
    made = ok("export", row.id, "--to", target, "--redact", "--pattern", pattern)
    assert target != "html" or '"saving_unknown":' in made, "the page reads the summary's keys"


def test_reports_are_empty_where_everything_can_be_said(store: Store) -> None:
    from interlingua.cli.export import transcript_of

    report = Report("x")
    id = import_transcript(store, session()).sessions[0]
    made = transcript_of(store, store.session(id), report)
    assert not report.entries
    assert len(made.messages) == len(session().messages)


def grown(transcript: Transcript) -> Transcript:
    """The same session later: another question, another answer, a result of an earlier call."""
    last = transcript.messages[-1]
    more = (Message.user("And salt?"), last.replace(content=Message.assistant("A little.").content))
    late = timedelta(hours=1)
    messages = (
        *transcript.messages,
        *(each.replace(created_at=last.created_at + late) for each in more if last.created_at),
    )
    return transcript.replace(messages=messages, branches=(Branch(None, messages, True),))


def test_a_transcript_is_imported_once_and_brings_its_new_messages_later(
    store: Store, tmp_path: Path
) -> None:
    path = settled(session(), "claude-code", tmp_path)
    first = told("import", path)
    assert (first["sessions"], first["messages"]) == (1, 8)
    again = run("import", path)
    assert "0 sessions, 0 messages imported" in again.stderr
    assert "already imported: 1 session" in again.stderr
    path.unlink()
    later = settled(
        grown(transcripts.read(settled(session(), "claude-code", tmp_path))),
        "claude-code",
        tmp_path / "b",
    )
    done = run("import", later)
    assert "0 sessions, 2 messages imported" in done.stderr, done.stderr
    assert "new messages added to 1 session imported before" in done.stderr
    (row,) = store.sessions()
    assert [each.text for each in store.messages(row.id)][-2:] == ["And salt?", "A little."]


def test_results_that_come_later_belong_to_their_calls(store: Store) -> None:
    whole = session()
    begun = whole.messages[:3]
    import_transcript(store, whole.replace(messages=begun, branches=(Branch(None, begun, True),)))
    done = import_transcript(store, whole)
    assert (done.sessions, done.messages, done.problems) == ([], 5, [])
    calls = store.tool_calls(done.main)
    assert [call.status for call in calls] == ["succeeded", "failed"]


def test_a_session_that_took_another_turn_is_imported_beside(store: Store) -> None:
    import_transcript(store, session())
    changed = (*session().messages[:-1], Message.assistant("No."))
    other_way = session().replace(messages=changed, branches=(Branch(None, changed, True),))
    assert len(import_transcript(store, other_way).sessions) == 1
    assert len(store.sessions()) == 2
    assert not import_transcript(store, other_way).sessions


def test_source_and_times_stay_and_answers_are_priced(store: Store, tmp_path: Path) -> None:
    path = settled(session(), "claude-code", tmp_path)
    ok("import", path)
    (row,) = store.sessions()
    last = session().messages[-1].created_at
    assert (row.origin, row.updated_at) == ("claude-code", last)
    assert row.created_at <= row.updated_at
    assert "from claude-code" in ok("sessions", "show", row.id)
    found = told("cost")
    assert found["unknown"] == []
    assert found["total"]["cost_usd"] == told("cost", path)["total"]["cost_usd"]


def test_a_copy_that_resume_made_is_not_counted_again(tmp_path: Path) -> None:
    settled(session(), "claude-code", tmp_path)
    before = told("cost", "--transcripts", "--home", tmp_path)
    for target in ("codex", "gemini-cli", "pi"):
        ok("resume", "claude-code:latest", "--in", target, "--home", tmp_path, "--yes")
    after = told("cost", "--transcripts", "--home", tmp_path)
    assert after["total"] == before["total"]
    [row] = told("cost", "--transcripts", "--by", "session", "--home", tmp_path)["rows"]
    assert row["session"].startswith("claude-code:")


@pytest.mark.parametrize("target", ["openai-chat", "anthropic", "parts", "canonical"])
def test_a_transcript_becomes_a_request_of_any_format(tmp_path: Path, target: str) -> None:
    path = settled(session(), "claude-code", tmp_path)
    written = ok("transcripts", "convert", path, "--to", target)
    assert json.loads(written) == json.loads(ok("convert", path, "--to", target))


@pytest.mark.parametrize(
    ("target", "mark"), [("markdown", "## "), ("html", "<html"), ("jsonl", "{")]
)
def test_a_transcript_becomes_an_export_for_people(tmp_path: Path, target: str, mark: str) -> None:
    path = settled(session(), "claude-code", tmp_path)
    written = ok("transcripts", "convert", path, "--to", target)
    assert mark in written
    assert "It has risen." in written
    assert run("transcripts", "convert", path, "--to", "markdwn").exit_code == 2


def test_a_request_that_was_imported_is_not_imported_again(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'twice.db'}"
    file = tmp_path / "requests.jsonl"
    body = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
    file.write_text((json.dumps(body) + "\n") * 2)
    first = run("import", file, "--store", store)
    again = run("import", file, "--store", store)
    assert first.stderr.startswith("2 sessions, 2 messages imported"), "one file may repeat itself"
    assert again.stderr.startswith("0 sessions, 0 messages imported")
    assert "already imported: 2 sessions" in again.stderr
    copied = run("import", file, "--store", store, "--new-ids")
    assert copied.stderr.startswith("2 sessions, 2 messages imported")


def test_a_folder_is_imported_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "pile"
    (folder / "deeper").mkdir(parents=True)
    lines = [json.dumps({"messages": [{"role": "user", "content": f"hi {n}"}]}) for n in range(3)]
    (folder / "one.json").write_text(lines[0])
    (folder / "deeper" / "two.jsonl").write_text("\n".join(lines[1:]))
    (folder / "broken.json").write_text("{")
    (folder / "notes.txt").write_text("not one of them")
    (folder / "index.json").write_text('{"version": 3}')
    with il.open_store(folder / "own.db"):
        pass
    done = run("import", folder)
    assert done.exit_code == 1
    assert "skipped: 2 files without a conversation" in done.output
    assert "index.json" not in done.stderr
    assert run("import", folder / "index.json").exit_code == 1
    named = run("import", folder / "own.db")
    assert (named.exit_code, "a SQLite file that is no log of llm" in named.stderr) == (1, True)
    assert "3 sessions, 3 messages imported, 1 unreadable" in done.output
    assert "broken.json" in done.stderr
    assert "already imported: 3 sessions" in run("import", folder).output
    (tmp_path / "empty").mkdir()
    assert "has no .json" in run("import", tmp_path / "empty").stderr


def test_the_file_of_a_helper_makes_no_session_of_its_own(tmp_path: Path) -> None:
    line = {"type": "user", "sessionId": "s1", "uuid": "u1", "isSidechain": True, "cwd": "/x"}
    line |= {"parentUuid": None, "timestamp": "2026-11-16T16:52:00.000Z", "version": "2.1.0"}
    line |= {"message": {"role": "user", "content": "Look."}, "agentId": "a1"}
    file = tmp_path / "agent-a1.jsonl"
    file.write_text(json.dumps(line) + "\n")
    for _ in range(2):
        assert "0 sessions, 0 messages imported, 0 unreadable" in run("import", file).output
