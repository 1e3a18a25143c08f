"""The judge of `python -m tests.transcripts.resume` sees what is wrong, and only that."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua.transcripts import Transcript
from tests.loopback import answering
from tests.transcripts.resume.items import Item, items_of
from tests.transcripts.resume.judge import judged
from tests.transcripts.resume.listening import listening
from tests.transcripts.resume.sessions import made

PROMPT = Item("text", "user", "Probe?")


def sent(session: Transcript) -> list[Item]:
    """The session as a tool would send it to Anthropic's API, in plain JSON."""
    first, second = (block.source.data for block in _pictures(session))
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png"}}
    deep = {"path": "dough.txt", "n": 1.5, "deep": {"a": [1]}}
    look = {"path": "crumb.png"}
    body: dict[str, Any] = {
        "messages": [
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": "<system-reminder>\nIt is Monday.\n</system-reminder>",
                    },
                    {"type": "text", "text": "Is the dough ready?\u2028Look: Grüße 🥖"},
                    {**image, "source": {**image["source"], "data": first}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Two files.", "signature": "c2lnbmVk" * 30},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "a", "name": "read", "input": deep},
                    {"type": "tool_use", "id": "b", "name": "read", "input": {"path": "oven.txt"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "risen"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "b",
                        "content": "no such file",
                        "is_error": True,
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": "look", "input": look}],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c",
                        "content": [
                            {"type": "text", "text": "a picture"},
                            {**image, "source": {**image["source"], "data": second}},
                        ],
                    }
                ],
            },
            {"role": "assistant", "content": "It has risen.\n\n    1 < 2 && \"quoted\" \\ 'so'"},
            {"role": "user", "content": "Thanks."},
            {"role": "assistant", "content": "Gladly."},
            {"role": "user", "content": "Probe?"},
        ]
    }
    return items_of(body)


def _pictures(session: Transcript) -> tuple[Any, Any]:
    prompt: Any = session.messages[1].content[1]
    result: Any = session.messages[6].content[0]
    return prompt, result.content[1]


def test_a_session_that_was_sent_whole_has_no_problems() -> None:
    verdict = judged(made(), sent(made()), "Probe?")
    assert verdict.problems == []
    counts = (verdict.texts, verdict.calls, verdict.results, verdict.pictures, verdict.thinking)
    assert counts == (5, 3, 3, 2, 1)


@pytest.mark.parametrize("at", range(14))
def test_whatever_is_missing_is_seen(at: int) -> None:
    whole = [item for item in sent(made()) if "system-reminder" not in item.text]
    assert len(whole) == 14
    del whole[at]
    problems = judged(made(), whole, "Probe?").problems
    assert bool(problems) != (at == 2)  # tools do not send thinking to every model


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (Item("text", "assistant", "I look."), Item("text", "user", "I look.")),
        (Item("text", "user", "Thanks."), Item("text", "user", "Thanks!")),
        (Item("result", "a", "risen", "", False), Item("result", "a", "risen", "", True)),
        (Item("result", "a", "risen", "", False), Item("result", "b", "risen", "", False)),
    ],
)
def test_whatever_is_changed_is_seen(old: Item, new: Item) -> None:
    items = sent(made())
    items[items.index(old)] = new
    assert judged(made(), items, "Probe?").problems


def test_thinking_that_nobody_thought_is_seen() -> None:
    items = [*sent(made())[:-1], Item("thinking", "assistant", "Two files.", "other"), PROMPT]
    assert any("not the session's" in each for each in judged(made(), items, "Probe?").problems)


def test_a_summary_has_to_be_sent_and_what_came_before_it_not() -> None:
    problems = judged(made(compacted=True), sent(made()), "Probe?").problems
    assert any("summary was not sent" in each for each in problems)
    assert any(each.startswith("+") for each in problems)


def test_three_wires_say_the_same() -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "one"}
    anthropic = items_of(
        {
            "messages": [
                {"role": "user", "content": "Hi."},
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        }
    )
    responses = items_of(
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
                {"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"n": 1}'},
                {"type": "function_call_output", "call_id": "a", "output": "one"},
            ]
        }
    )
    asked = {"functionCall": {"id": "a", "name": "read", "args": {"n": 1}}}
    collected = {"functionResponse": {"id": "a", "name": "read", "response": {"output": "one"}}}
    gemini = items_of(
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi."}]},
                {"role": "model", "parts": [asked]},
                {"role": "user", "parts": [collected]},
            ]
        }
    )
    assert anthropic == gemini
    assert [item._replace(failed=None) for item in anthropic] == responses


def test_who_listens_passes_on_and_writes_down() -> None:
    import urllib.request

    with answering(b"data: {}\n\n") as model, listening(model) as listener:
        request = urllib.request.Request(f"{listener.url}/v1/messages", b'{"messages": []}')
        with urllib.request.urlopen(request, timeout=10) as reply:
            assert reply.read() == b"data: {}\n\n"
        (heard,) = listener.heard
    assert (heard.path, heard.body, heard.status) == ("/v1/messages", {"messages": []}, 200)
