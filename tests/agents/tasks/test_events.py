"""The events of a task."""

from __future__ import annotations

import pytest

import interlingua as il
from interlingua.agents.tasks import (
    AsyncAgent,
    assistant_message,
    events,
    system_message,
    tool_message,
    user_message,
)


@pytest.mark.requirement("S004-10")
def test_a_constructor_per_role() -> None:
    made = [
        AsyncAgent.user_message("u"),
        AsyncAgent.system_message("s"),
        AsyncAgent.assistant_message("a"),
        AsyncAgent.tool_message("t", "call_1"),
    ]
    assert made == [
        user_message("u"),
        system_message("s"),
        assistant_message("a"),
        tool_message("t", "call_1"),
    ]
    assert [message.role.value for message in made] == ["user", "system", "assistant", "tool"]


def test_the_note_which_of_the_queue_a_message_was_is_nobodys_loss() -> None:
    message = events.marked(user_message("hi"), "7aa2537f")
    assert events.mark_of(message) == "7aa2537f"
    assert events.mark_of(il.loads(il.dumps(message))) == "7aa2537f"
    request = il.Request(messages=(message,), model="m", options=il.Options(max_output_tokens=9))
    for name in il.dialects():
        retold = il.retell(request, name)
        assert retold.report.entries == []
        assert il.dialect(name).write_request(retold.value).report.entries == []
