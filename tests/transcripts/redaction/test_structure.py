"""What is redacted is still what it was: its structure, and the same words for same things."""

from __future__ import annotations

import msgspec
import pytest

import interlingua as il
from interlingua.model.blocks import Citation, TextBlock, ThinkingBlock, ToolUseBlock
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageMetadata
from interlingua.transcripts.redaction import OwnPattern, Redactor, Rules, redact, redact_lines

KEY = "sk-proj-" + "a1B2c3D4e5" * 4


def test_the_same_secret_is_the_same_placeholder_everywhere() -> None:
    other = KEY.replace("a1", "z9")
    value, findings = redact([f"one {KEY}", {"two": other}, f"three {KEY}"])
    first, second = "[redacted:openai-key:1]", "[redacted:openai-key:2]"
    assert value == [f"one {first}", {"two": second}, f"three {first}"]
    assert [finding.place for finding in findings] == ["/0", "/1/two", "/2"]


def test_a_secret_that_is_recognised_once_is_gone_everywhere() -> None:
    value, _ = redact(["try tr0ub4dor-and-3 first", "DB_PASSWORD=tr0ub4dor-and-3"])
    text = "[redacted:assigned-secret:1]"
    assert value == [f"try {text} first", f"DB_PASSWORD={text}"]


def test_names_of_keys_tell_what_their_values_are() -> None:
    value, _ = redact({"password": "correct-horse", "password_hint": "correct horse?", "n": 1})
    assert value["password"] == "[redacted:assigned-secret:1]"
    assert value["password_hint"] == "correct horse?"
    assert value["n"] == 1


def test_a_signature_goes_only_where_its_text_was_changed() -> None:
    message = Message.assistant([ThinkingBlock("plain", "c2ln"), ThinkingBlock(KEY, "c2ln")])
    value, findings = redact(message)
    assert [block.signature for block in value.content] == ["c2ln", None]
    assert [(each.kind, each.place) for each in findings] == [
        ("openai-key", "/content/1/text"),
        ("sealed-text", "/content/1/signature"),
    ]


def test_a_remembered_spelling_goes_with_the_input_that_it_spells() -> None:
    call = ToolUseBlock("tu_1", "run", {"key": KEY}, raw_arguments='{"key" : "' + KEY + '"}')
    (block,) = redact(Message.assistant([call])).value.content
    assert block.input == {"key": "[redacted:openai-key:1]"}
    assert block.raw_arguments is None


def test_citations_follow_their_text() -> None:
    text = f"{KEY} says this and that"
    at = text.index("this")
    block = TextBlock(text, citations=(Citation(start=at, end=at + 4), Citation(start=0, end=3)))
    (changed,) = redact(Message.assistant([block])).value.content
    first, second = changed.citations
    assert changed.text[first.start : first.end] == "this"
    assert changed.text[second.start : second.end] == "[redacted:openai-key:1]"


def test_probabilities_of_tokens_go_with_their_text() -> None:
    metadata = MessageMetadata(logprobs=({"token": KEY[:9], "logprob": -1.0},))
    message = Message(Role.ASSISTANT, (TextBlock(KEY),), metadata=metadata)
    assert redact(message).value.metadata.logprobs == ()


def test_what_has_nothing_to_hide_is_the_same_object() -> None:
    messages = [Message.user("Hello"), Message.assistant("Good day")]
    assert redact(messages).value is messages
    lines = [b'{"n": 1.50, "big": 123456789012345678901234567890}', b"not JSON", b""]
    assert redact_lines(lines).value == lines


def test_lines_that_are_no_json_are_looked_at_as_text() -> None:
    out, findings = redact_lines(
        [f"oops {KEY}".encode(), b'{"n": 1.50, "k": "' + KEY.encode() + b'"}']
    )
    assert out == [b"oops [redacted:openai-key:1]", b'{"n":1.50,"k":"[redacted:openai-key:1]"}']
    assert [finding.place for finding in findings] == ["/0", "/1/k"]


def test_words_of_closed_lists_stay_whatever_a_pattern_says() -> None:
    rules = Rules(patterns=(OwnPattern("all", "[a-z_0-9]+"),))
    message = Message.user([TextBlock("hello"), il.ImageBlock(il.Source("base64", "aGk="))])
    value = redact(message, rules).value
    assert il.loads(il.dumps(value)) == value
    assert value.content[0].text == "[redacted:all:1]"
    assert value.role is Role.USER


def test_kinds_can_be_chosen_and_texts_kept() -> None:
    text = f"box17@mail.test.org {KEY}"
    assert redact(text, Rules(kinds=frozenset({"email"}))).value == f"[redacted:email:1] {KEY}"
    stored = Rules(keep=frozenset({"box17@mail.test.org"}))
    assert redact(text, stored).value == "box17@mail.test.org [redacted:openai-key:1]"
    with pytest.raises(ValueError, match="unknown kind"):
        Rules(kinds=frozenset({"emails"}))


def test_own_patterns_have_names_of_their_own() -> None:
    rules = Rules(patterns=(OwnPattern("ticket", r"(?i)\bacme-\d{3,}\b"),))
    value, findings = redact("see ACME-1234 and acme-12", rules)
    assert value == "see [redacted:ticket:1] and acme-12"
    assert findings[0].kind == "ticket"
    assert findings[0].length == 9
    with pytest.raises(ValueError, match="the name of a pattern"):
        OwnPattern("a:b]", "x")


def test_several_values_share_placeholders() -> None:
    redactor = Redactor()
    redactor.learn(KEY)
    assert redactor.redact(f"a {KEY}").value == "a [redacted:openai-key:1]"
    assert redactor.redact([KEY]).value == ["[redacted:openai-key:1]"]


def test_findings_are_json() -> None:
    assert b"openai-key" in msgspec.json.encode(redact(KEY).findings)
