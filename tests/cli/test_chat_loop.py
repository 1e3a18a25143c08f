"""`interlingua chat` in a real terminal, against a provider on loopback."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import interlingua as il
from interlingua.store.base import Store
from tests.agents.chat.provider import ANTHROPIC, KEY, OPENAI, Provider
from tests.cli.chatting import chat, needs_tmux, terminal

pytestmark = needs_tmux


@pytest.fixture
def provider(home: Path) -> Iterator[Provider]:
    with Provider() as served:
        served.configure(home)
        yield served


def session_of(screen: str, store: Store) -> str:
    """The session that a chat names when it begins, by its whole id."""
    found = re.search(r"(?:session |\()([0-9A-Z]{10})\b", screen)
    assert found is not None, screen
    (row,) = [row for row in store.sessions() if row.id.startswith(found[1])]
    return row.id


@pytest.mark.requirement("S002-90")
def test_a_conversation_with_a_change_of_model_and_its_plan(
    provider: Provider, home: Path, store: Store
) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        first = shown.wait("claude-sonnet-4-6>")
        id = session_of(first, store)
        assert first.startswith(f"{ANTHROPIC} · new session {id[:10]} · ~/interlingua.db")
        shown.type("think")
        assert "Hm, let me think.\n\nThought.\n\n" in shown.wait("100 in, 20 out")
        assert "\x1b[2mHm, let me think." in shown.styled(), "thoughts are dim"
        shown.type(f"/model {OPENAI}")
        plan = shown.wait("anyway? [y/N]")
        assert f"{OPENAI}: about" in plan
        assert "thinking dropped" in plan
        shown.type("n")
        shown.wait(f"The model is still {ANTHROPIC}.")
        shown.type(f"/model {OPENAI}")
        shown.wait("anyway? [y/N]", 2)
        shown.type("y")
        shown.wait("gpt-4.1>")
        shown.type("hello")
        seen = shown.wait("Answer 2 to: hello")
        assert "losses for" not in seen, "the plan has told it"
        shown.type("/losses")
        shown.wait("openai-chat: 1 dropped", 3)
        shown.type("/model show")
        assert f"Model of the last turn: {OPENAI}" in shown.wait("manual_sticky")
        shown.type("/model -")
        shown.wait(f"{ANTHROPIC}, dialect anthropic")
        shown.type("/cost")
        costs = shown.wait("prices of")
        assert re.search(rf"{ANTHROPIC} +1 +100 +0 +20 +\$0\.0006", costs)
        assert re.search(r"total +2 +200 +0 +40", costs)
        shown.type("/quit")
        assert shown.ended() == 0
    models = [m.metadata.model for m in store.messages(id)]
    assert models == [None, ANTHROPIC, None, OPENAI]
    assert store.session(id).name == "think"


@pytest.mark.requirement("S002-92")
def test_a_model_that_cannot_take_the_images_is_refused(
    provider: Provider, home: Path, store: Store
) -> None:
    (home / "cat.png").write_bytes(b"\x89PNG of a cat")
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type("/attach cat.png")
        shown.wait("with the next message: cat.png")
        shown.type("what is it?")
        shown.wait("100 in")
        shown.type("/model local")
        seen = shown.wait(f"The model is still {ANTHROPIC}.")
        assert "Cannot switch to local:smollm2-135m-instruct" in seen
        assert "contains an image" in seen
    kinds = [part["type"] for part in provider.requests[0]["messages"][0]["content"]]
    assert kinds == ["image", "text"]


def test_one_message_goes_to_another_model(provider: Provider, home: Path) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type(f"@{OPENAI} hello")
        seen = shown.wait("100 in")
        assert f"{OPENAI} answers (@{OPENAI} at the start of the message)" in seen
        assert "gpt-4.1 · 100 in" in seen
        shown.type("@nobody hello")
        shown.wait("no model or alias is called 'nobody'")
        shown.type("and you?")
        shown.wait("claude-sonnet-4-6 · 100 in")
    assert [request["model"] for request in provider.requests] == ["gpt-4.1", "claude-sonnet-4-6"]


def test_ctrl_c_keeps_the_partial_answer_and_hangs_up(
    provider: Provider, home: Path, store: Store
) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        id = session_of(shown.wait("sonnet-4-6>"), store)
        shown.type("slow")
        shown.wait("w9 ")
        shown.press("C-c")
        seen = shown.wait("stopped; the part that arrived is stored")
        assert provider.left.wait(5), "the provider sees that nobody listens any more"
        message = store.messages(id)[-1]
        assert message.metadata.status is il.MessageStatus.CANCELLED
        assert message.text.split()[:10] == [f"w{n}" for n in range(10)]
        assert " ".join(message.text.split()[-2:]) in " ".join(seen.split())
        shown.type("/history")
        assert re.search(r"2 +assistant +stopped +w0", shown.wait("role"))
        shown.type(f"/model {OPENAI}")
        plan = shown.wait("gpt-4.1>")
        assert "anyway?" not in plan, "nobody misses what was stopped"
        assert "error" not in plan
        shown.type(f"/model {ANTHROPIC}")
        shown.wait(f"{ANTHROPIC}, dialect anthropic")
        shown.press("h", "a", "l", "f", "C-c")
        shown.type("whole")
        shown.wait("Answer 2 to: whole")
        shown.wait("sonnet-4-6>", 6)
        shown.press("C-d")
        assert shown.ended() == 0


def test_a_killed_chat_goes_on_where_it_was(provider: Provider, home: Path, store: Store) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        id = session_of(shown.wait("sonnet-4-6>"), store)
        shown.type("hello")
        shown.wait("100 in")
        shown.type("slow")
        shown.wait("w60 ")  # what arrives is stored about once a second
        os.kill(shown.pid(), signal.SIGKILL)
        assert shown.ended() == 128 + signal.SIGKILL
    partial = store.messages(id)[-1]
    assert partial.metadata.status is il.MessageStatus.PARTIAL
    assert partial.text.startswith("w0")
    provider.pace = 0.0
    with terminal(home, "-c") as shown:
        seen = shown.wait("/retry continues it")
        assert session_of(seen, store) == id
        assert "hello (" in seen, "a session has a name"
        assert "> slow" in seen
        assert "< w0 " in seen
        shown.type("/retry")
        shown.wait("100 in")
        shown.type("/history")
        history = shown.wait("role")
        assert re.search(r"4 +assistant +error +w0", history)
        assert re.search(r"5 +assistant +w0", history)
    assert provider.requests[-1]["messages"][-1]["content"][0]["text"] == "slow"


def test_forks_undo_and_the_tree_they_make(provider: Provider, home: Path, store: Store) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        id = session_of(shown.wait("sonnet-4-6>"), store)
        for number, word in enumerate(("one", "two"), 1):
            shown.type(word)
            shown.wait("100 in", number)
        shown.type("/undo")
        shown.wait(f"{id[:10]} is unchanged")
        shown.wait("undone: two")
        shown.type("three")
        shown.wait("Answer 3 to: three")
        shown.type("/fork 1")
        shown.wait("with 1 message;")
        shown.type("/fork 9")
        shown.wait("messages are numbered 1 to 1")
        shown.type("/tree")
        tree = shown.wait("└─", 2)
    texts = [m["content"][0]["text"] for m in provider.requests[2]["messages"]]
    assert texts == ["one", "Answer 1 to: one", "three"], "what was taken back is not sent"
    rows = {row.id: row for row in store.sessions()}
    assert {row.name for row in rows.values()} == {"one"}
    assert {len(store.messages(row)) for row in rows} == {4, 1}
    undone = next(row for row in rows.values() if row.parent_id == id)
    forked = next(row for row in rows.values() if row.parent_id == undone.id)
    lines = [line for line in tree.split("\n") if re.match(r"[* ] .*[0-9A-Z]{10} · ", line)]
    shorts = [re.findall(r"[0-9A-Z]{10}", line)[0] for line in lines]
    assert shorts == [each[:10] for each in (id, undone.id, forked.id)]
    assert [line[0] for line in lines] == [" ", " ", "*"]


def test_a_session_is_renamed_and_exported(provider: Provider, home: Path, store: Store) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type("hello")
        shown.wait("100 in")
        shown.type("/export")
        shown.wait("## assistant")
        shown.type("/export out.json --to openai-chat")
        shown.wait("bytes in out.json")
        shown.type("/export out.json")
        shown.wait("Overwrite out.json? [y/N]")
        shown.type("n")
        shown.type("/export out.txt --to nothing")
        shown.wait("unknown format 'nothing'")
        shown.type("/rename The mill: a plan")
        shown.wait("is now The mill: a plan")
        for ending in ("html", "json", "md"):
            shown.type(f"/export {ending}")
            shown.wait(f"bytes in the-mill-a-plan.{ending}")
    written = json.loads((home / "out.json").read_text())
    assert [m["content"] for m in written["messages"]] == ["hello", "Answer 1 to: hello"]
    assert (home / "out.json").stat().st_mode & 0o777 == 0o600
    assert (home / "the-mill-a-plan.html").read_text().startswith("<!doctype html>")
    assert json.loads((home / "the-mill-a-plan.json").read_text())
    assert "Answer 1 to: hello" in (home / "the-mill-a-plan.md").read_text()
    assert [row.name for row in store.sessions()] == ["The mill: a plan"]
    assert chat(home, "-r", "the mill: a plan", "again").returncode == 0


def test_tools_ask_before_they_write(provider: Provider, home: Path) -> None:
    with terminal(home, "-m", ANTHROPIC, "--tools") as shown:
        shown.wait("sonnet-4-6>")
        shown.type("/tools")
        shown.wait("write_file")
        shown.type("write b.txt")
        asked = shown.wait("[y/N]")
        assert 'Allow write_file (write) {"path":"b.txt","text":"written\\n"}?' in asked
        shown.type("n")
        shown.wait("← write_file was not allowed to run.")
        shown.wait("40 out")
        assert not (home / "b.txt").exists()
        shown.type("write b.txt")
        shown.wait("[y/N]", 2)
        shown.type("y")
        shown.wait("← 8 bytes written to b.txt")
        assert (home / "b.txt").read_text() == "written\n"


def test_lines_go_on_and_commands_are_completed(provider: Provider, home: Path) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type("one\\")
        shown.press("t", "w", "o", "Escape", "Enter")
        shown.type("three")
        shown.wait("100 in")
        shown.press("/", "h", "i", "s", "Tab")
        shown.wait("> /history")
        shown.press("Enter")
        shown.wait("role")
        shown.type("/nothing")
        shown.wait("unknown command /nothing")
        shown.type("/help")
        shown.wait("Ctrl-C")
    sent = provider.requests[0]["messages"][0]["content"][0]["text"]
    assert sent == "one\ntwo\nthree"
    file = home / "chat-history"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "+three" in file.read_text()


def test_nothing_of_an_answer_acts_on_the_terminal(provider: Provider, home: Path) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type("odd")
        seen = shown.wait("100 in")
        assert "\\x1b[31mred\\x1b[0m\\x07 \\u202eback" in seen
        assert "\x1b[31m" not in shown.styled()


def test_a_failure_leaves_the_chat_where_it_was(provider: Provider, home: Path) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        shown.wait("sonnet-4-6>")
        shown.type("fail")
        seen = shown.wait("/retry asks again")
        assert "no such luck" in seen
        assert KEY not in seen
        for times in (2, 3):
            shown.type("break")
            shown.wait("/retry asks again", times)
        shown.type("hello")
        shown.wait("Answer 4 to: hello")


def test_two_terminals_in_one_session_do_not_overwrite_each_other(
    provider: Provider, home: Path, store: Store
) -> None:
    with terminal(home, "-m", ANTHROPIC) as shown:
        id = session_of(shown.wait("sonnet-4-6>"), store)
        shown.type("one")
        shown.wait("100 in")
        assert chat(home, "-c", "from elsewhere").returncode == 0
        shown.type("two")
        shown.wait("Send your message again")
        shown.type("two")
        shown.wait("Answer 3 to: two")
    texts = [message.text for message in store.messages(id)]
    assert texts[::2] == ["one", "from elsewhere", "two"]


def test_a_chat_in_which_nobody_spoke_leaves_no_session(
    provider: Provider, home: Path, store: Store
) -> None:
    with terminal(home, "-s", "Be brief.") as shown:
        shown.wait("sonnet>")
        shown.press("C-d")
        assert shown.ended() == 0
    assert store.sessions() == []
    chat(home, "-m", ANTHROPIC, "hello")
    with terminal(home, "-c") as shown:
        assert "< Answer 1 to: hello" in shown.wait("sonnet-4-6>")
        shown.press("C-d")
        assert shown.ended() == 0
    assert len(store.sessions()) == 1
