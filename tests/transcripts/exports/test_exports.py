"""Sessions as files for people: nothing that was redacted is in them, and nothing runs in them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime

import pytest

import interlingua as il
from interlingua.costs.table import bundled
from interlingua.model.message import Message
from interlingua.model.metadata import MessageMetadata, Usage
from interlingua.store.rows import SessionRow
from interlingua.transcripts.exports import (
    KINDS,
    ExportFormat,
    SessionExport,
    answers_of,
    bundle,
    redact_export,
    totals_of,
)
from interlingua.transcripts.redaction import OwnPattern, Rules
from tests.transcripts.redaction.planted import message_with, secrets

COUNT = 1000
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def session(messages: list[Message], name: str = "a name", folder: str = ".") -> SessionExport:
    row = SessionRow("01JD3ZK9Q6V7W8X9Y0ABCDEFGH", folder, NOW, NOW, name=name)
    summary = totals_of(answers_of(messages, bundled()))
    return SessionExport(row, tuple(messages), summary, {})


def seen_in(data: bytes) -> str:
    """All that somebody could read in a file: as it is, without escapes, and inside of base64."""
    text = data.decode()
    plain = text.replace("\\u003c", "<").replace("\\n", "\n").replace('\\"', '"')
    plain += plain.replace("\\\\", "\\")
    found = re.findall(r'"data":"([A-Za-z0-9+/=]+)"', text)
    inside = [base64.b64decode(each[: len(each) // 4 * 4]) for each in found]
    return text + plain + " ".join(each.decode("utf-8", "replace") for each in inside)


@pytest.mark.parametrize("format", KINDS)
def test_a_thousand_secrets_are_gone_from_exports(format: ExportFormat) -> None:
    made = secrets(COUNT)
    messages = [message_with(number, content) for number, (_, _, content) in enumerate(made)]
    whole = session(messages, name=made[0][2], folder=f"/home/{made[-2][1]}/x")
    there = seen_in(whole.written(format))
    shown = [secret for _, secret, _ in made if secret in there]
    assert len(shown) > (COUNT // 2 if format == "markdown" else COUNT - 1), "they were there"
    left = seen_in(redact_export(whole, Rules()).session.written(format))
    assert not [content for _, secret, content in made if secret in left]


def test_what_is_wanted_stays_and_the_rest_goes() -> None:
    whole = session([Message.user("box17@mail.test.org and box18@mail.test.org, ACME-12")])
    rules = Rules(patterns=(OwnPattern("ticket", r"ACME-\d+"),))
    made = redact_export(whole, rules, ["[redacted:email:1]"])
    assert (
        made.session.messages[0].text
        == "box17@mail.test.org and [redacted:email:1], [redacted:ticket:1]"
    )
    assert [finding.place for finding in made.findings] == ["/messages/0/content/0/text"] * 2


@pytest.mark.parametrize("pattern", [r"\w+", "a|", "(?s).*", "^messages$"])
def test_patterns_of_a_user_leave_the_keys_of_the_export(pattern: str) -> None:
    usage = MessageMetadata(model="openai:gpt-4.1-mini", usage=Usage(input_tokens=3))
    whole = session([Message.user("all messages"), Message.assistant("a note", usage)])
    made = redact_export(whole, Rules(patterns=(OwnPattern("own", pattern),)))
    assert keys_of(made.session.summary) == keys_of(whole.summary)
    assert (made.session.messages[0].text == "all messages") == (pattern == "^messages$")


def keys_of(value: object) -> list[str]:
    if isinstance(value, dict):
        return [*value, *[key for each in value.values() for key in keys_of(each)]]
    return [key for each in value for key in keys_of(each)] if isinstance(value, list) else []


def test_the_file_lets_nothing_else_run() -> None:
    bad = "</script><script>window.ran=1</script>"
    data = session([Message.user(bad)], name=f"</title>{bad}").written("html").decode()
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", data, re.DOTALL)
    assert [kind for kind, _ in scripts] == [' type="application/json" id="conversation"', ""]
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', data)
    digest = base64.b64encode(hashlib.sha256(scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    parsed = json.loads(scripts[0][1])
    assert parsed["messages"][0]["content"][0]["text"] == bad
    assert parsed["row"]["name"] == f"</title>{bad}"
    assert data.count("<title>") == data.count("</title>") == 1


def test_the_file_asks_nobody() -> None:
    script = bundle()
    assert "fetch(" not in script
    assert "import " not in script
    assert "export " not in re.sub(r"//.*", "", script)


def test_lines_can_be_read_again() -> None:
    messages = [Message.user("one"), Message.assistant("two")]
    head, *lines = session(messages).written("jsonl").splitlines()
    assert "updated_at" not in json.loads(head)["session"]
    assert [il.loads(line) for line in lines] == messages
