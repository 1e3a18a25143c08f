"""Patterns of the user's own, and the time that any pattern takes."""

from __future__ import annotations

import sys
import time

import pytest

from interlingua.errors import MissingExtraError
from interlingua.transcripts.redaction import KINDS, OwnPattern, PatternError, Rules, redact
from interlingua.transcripts.redaction.redactor import LONGEST, UserPattern
from interlingua.transcripts.redaction.shapes import KEYS, PEOPLE

pytest.importorskip("re2", reason="the extra `redaction` is not installed")
MANY = "[" + "".join([chr(0x4E00 + 2 * number) for number in range(15_000)]) + "]"
REFUSED = ["(?=a)", "(?<!a)b", r"(a)\1", "(a", "a)", "*a", "[a", "\\", "a{5,2}", "[z-a]", "\ud800"]


@pytest.mark.parametrize("pattern", [r"^(\w+\s?)*$", MANY, "(?i)ſ", r"\bACME-\d{3,5}\b"])
def test_patterns_that_were_internal_errors_match(pattern: str) -> None:
    rules = Rules(patterns=(OwnPattern("own", pattern),))
    text = "words and words\nACME-1234\n\u4e00 ſ"
    assert redact(text, rules).findings


@pytest.mark.parametrize("pattern", [*REFUSED, "a" * (LONGEST + 1), "((a{100}){100}){100}"])
def test_what_cannot_be_used_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(PatternError):
        OwnPattern("own", pattern)


def test_places_are_counted_in_characters() -> None:
    text = "äx\nxß\ud800y\nxy"
    assert [text[a:b] for a, b in UserPattern("^x.*$").spans(text)] == ["xß\ud800y", "xy"]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*b", "(.*)*x", "(a?){30}a{30}"])
def test_patterns_that_hang_elsewhere_take_no_time(pattern: str) -> None:
    began = time.perf_counter()
    list(UserPattern(pattern).spans("a" * 20_000 + "!"))
    assert time.perf_counter() - began < 5


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(MissingExtraError, match="redaction"):
        OwnPattern("own", "a")
    assert redact("sk-ant-" + "a1" * 30).findings, "built-in shapes need no extra"


SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzQRSTUVWKEY"[:40]


@pytest.mark.parametrize(
    "text",
    [
        f"aws_secret_access_key = {SECRET}",
        f'{{"SecretAccessKey": "{SECRET}"}}',
        f"AWS_SECRET_ACCESS_KEY={SECRET}",
        f'"aws_secret_access_key\\": \\"{SECRET}\\"',
        f"os.environ['AWS_SECRET_ACCESS_KEY'] = '{SECRET}'",
        f"<SecretAccessKey>{SECRET}</SecretAccessKey>",
        f"<SecretAccessKey>\n  {SECRET}\n</SecretAccessKey>",
        f"aws configure set aws_secret_access_key {SECRET}",
        f"tool --secret-access-key {SECRET} --region x",
        f"aws_secret_access_key := {SECRET}",
        f"aws_secret_access_key＝{SECRET}",
        f"AWS Secret Access Key [None]: {SECRET}",
        f"AWS Secret Access Key [****************4f9Q]: {SECRET}",
    ],
)
def test_secret_access_keys_of_aws_are_found(text: str) -> None:
    assert "aws-secret-key" in KINDS
    assert SECRET not in redact(text).value


@pytest.mark.parametrize(
    "text",
    ["aws_session_token = {}", "<SessionToken>{}</SessionToken>", "x-amz-security-token: {}"],
)
def test_session_tokens_of_aws_are_found(text: str) -> None:
    token = SECRET * 5 + "=="
    assert redact(text.format(token)).value == text.format("[redacted:aws-session-token:1]")


@pytest.mark.parametrize("text", ["os.environ['DB_PASSWORD'] = '{}'", "db_password＝{}"])
def test_values_of_names_in_brackets_and_behind_wide_signs_are_found(text: str) -> None:
    assert redact(text.format("hunter22x")).value == text.format("[redacted:assigned-secret:1]")


def spent(text: str) -> float:
    """Seconds of this thread alone, whatever else the machine does."""
    began = time.thread_time()
    redact(text)
    return time.thread_time() - began


HOSTILE = {sign: sign for shape in (*KEYS, *PEOPLE) for sign in shape.signs if sign.strip()} | {
    "pem": "-----BEGIN PRIVATE KEY-----",
    "url": "://a:",
    "dots": "a.a@",
    "name": "api_key=",
}


@pytest.mark.parametrize("sign", HOSTILE.values(), ids=list(HOSTILE))
@pytest.mark.parametrize("filler", ["", "a", " ", "-", "1."])
def test_built_in_shapes_take_time_in_proportion_to_the_text(sign: str, filler: str) -> None:
    piece = sign + filler * 8
    small, large = (piece * (size // len(piece)) for size in (8_000, 32_000))
    limit = max(0.05, min(spent(small), spent(small)) * 4 * 4)
    assert min(spent(large), spent(large)) < limit
