"""`interlingua demo` and the bundled example."""

from __future__ import annotations

import json

from interlingua.cli.demo import example
from interlingua.dialects.registry import dialect, dialects
from interlingua.model.blocks import TYPE_OF
from interlingua.model.rules import validate
from tests.cli.test_main import run


def test_the_example_is_valid_and_has_something_of_everything() -> None:
    messages = example()
    assert validate(messages) == []
    assert [message.role.value for message in messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    types = {TYPE_OF[type(block)] for message in messages for block in message.content}
    assert types == {"text", "image", "thinking", "tool_use", "tool_result"}


def test_the_demo_shows_one_request_in_every_dialect_and_what_it_loses() -> None:
    done = run("demo", "--all")
    assert done.returncode == 0, done.stderr.decode()
    output = done.stdout.decode()
    assert all(f"\n{name}: " in output for name in dialects())
    assert output.count("lost: ") == len(dialects())
    assert "warning: seed dropped: Anthropic has no equivalent" in output
    assert '{"functionCall":{"name":"search_handbook"' in output
    assert max(map(len, output.splitlines())) <= 100


def test_the_demo_shows_one_message_in_three_formats() -> None:
    output = run("demo").stdout.decode()
    blocks = output.split("\n\n")[1:4]
    assert [block.split("(")[1].split(")")[0] for block in blocks] == [
        "openai-chat",
        "anthropic",
        "gemini",
    ]
    for block, word in zip(blocks, ("tool_calls", "tool_use", "functionCall"), strict=True):
        body, _, lost = block.partition("\n  lost: ")
        message = json.loads(body.partition("\n")[2])
        assert word in json.dumps(message)
        assert int(lost[0]) == lost.count("warning: ")
    assert "None" not in output
    assert max(map(len, output.splitlines())) <= 100


def test_the_demo_as_json_can_be_read_back() -> None:
    parsed = json.loads(run("demo", "--json").stdout)
    assert set(parsed["dialects"]) == set(dialects())
    assert len(parsed["request"]["messages"]) == 4
    for name, form in parsed["dialects"].items():
        again = dialect(name).read_request(form["wire"], form["model"])
        assert [call.name for message in again.messages for call in message.tool_calls] == [
            "search_handbook"
        ]
        assert form["losses"]
