"""Programs that are killed in the middle of an answer leave a session that can be gone on with."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import interlingua as il
from interlingua.sessions import TurnError
from interlingua.store.open import open_store
from tests.sessions.talk import new_session, opened, take_turn, trace, types
from tests.sessions.wires import answer

ROOT = Path(__file__).parents[2]

# Streams an answer up to a word, says so, and then waits to be killed.
SPEAKER = """
import sys, time
from interlingua.sessions import call
from interlingua.store.open import open_store
from tests.sessions.talk import opened
from tests.sessions.test_call import until
from tests.sessions.wires import answer, stream

address, id, word = sys.argv[1:]
call.SAVE_EVERY = 0.0
with open_store(address) as store:
    turn = opened(store, id).begin("Tell me a story")
    told = turn.call()
    pieces = stream("anthropic", answer("anthropic", 1, calls=True, text="Once upon a time"))
    for piece in until(pieces, word.encode()):
        told.feed(piece)
    print("said", flush=True)
    time.sleep(120)
"""


def killed_after(address: str, id: str, word: str) -> None:
    command = [sys.executable, "-c", SPEAKER, address, id, word]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True) as speaker:
        try:
            assert speaker.stdout is not None
            assert speaker.stdout.readline() == "said\n"
        finally:
            speaker.send_signal(signal.SIGKILL)
            speaker.wait(timeout=30)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
@pytest.mark.parametrize("word", ["Once upon", "read_file"])
def test_a_program_killed_while_an_answer_arrives_leaves_what_was_said(
    address: str, word: str
) -> None:
    with open_store(address) as store:
        session = new_session(store)
        take_turn(session, "hi", 0)
    killed_after(address, session.id, word)
    with open_store(address) as store:
        again = opened(store, session.id)
        *_, asked, partial = again.messages()
        assert asked.text == "Tell me a story"
        assert partial.text == "Once upon a time"
        assert partial.metadata.status is il.MessageStatus.PARTIAL
        assert il.validate(again.messages()) == []
        assert again.unanswered() == {}
        turn = again.begin("Are you there?")
        stored = again.messages()[3]
        assert stored.id == partial.id
        assert stored.text == "Once upon a time"
        assert stored.metadata.status is il.MessageStatus.ERROR
        assert "interrupted" in (stored.metadata.error_message or "")
        call = turn.call()
        assert b"Once upon a time" not in il.dumps(call.wire), "it was never whole"
        last = [block["text"] for block in call.wire["messages"][-1]["content"]]
        assert last == ["Tell me a story", "Are you there?"]
        call.complete(answer("anthropic", 2))
        assert turn.ended
        assert store.unanswered(session.id) == []
        assert [r.status for r in store.tool_calls(session.id) if r.executor == "client"] in (
            [],
            ["cancelled"],
        )
        assert types(store, again).count("turn.started") == 3, types(store, again)
        assert trace(store, again)[-1].type == "turn.completed"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 here")
def test_the_question_of_a_killed_program_is_answered_after_resuming(address: str) -> None:
    with open_store(address) as store:
        session = new_session(store)
    killed_after(address, session.id, "read_file")
    with open_store(address) as store:
        again = opened(store, session.id)
        turn = again.resume()
        assert turn.open_calls() == {}
        call = turn.call()
        assert [m["role"] for m in call.wire["messages"]] == ["user"]
        call.complete(answer("anthropic", 2))
        assert turn.ended
        statuses = [m.metadata.status.value for m in again.messages()]
        assert statuses == ["complete", "error", "complete"]
        with pytest.raises(TurnError):
            again.resume()
