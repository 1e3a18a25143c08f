"""Secrets that are made up, and conversations that have them in every field."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable
from typing import Any

from interlingua.model.blocks import (
    AudioBlock,
    Block,
    Citation,
    CompactionBlock,
    DocumentBlock,
    ImageBlock,
    RefusalBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.message import Message, Role
from interlingua.model.metadata import Diagnostic, MessageMetadata

LETTERS = string.ascii_letters + string.digits
Made = tuple[str, str, str]
"""Kind, the secret itself, and the words that it stands in."""


def some(dice: random.Random, count: int, of: str = LETTERS) -> str:
    """Letters with a digit among them, as real keys have."""
    return "".join([dice.choice(of) for _ in range(count - 1)]) + dice.choice("23456789")


def _bare(kind: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Made]:
    def made(dice: random.Random) -> Made:
        secret = make(dice)
        around = dice.choice(["{}", "It is {}.", "use '{}' here", '"{}"', "key {}, then", "({})"])
        return kind, secret, around.format(secret)

    return made


def _within(
    kind: str, words: str, make: Callable[[random.Random], str]
) -> Callable[[random.Random], Made]:
    def made(dice: random.Random) -> Made:
        secret = make(dice)
        return kind, secret, words.format(secret)

    return made


def _jwt(dice: random.Random) -> str:
    claims = base64.urlsafe_b64encode(f'{{"sub":"{some(dice, 12)}"}}'.encode()).decode().rstrip("=")
    return f"eyJhbGciOiJIUzI1NiJ9.{claims}.{some(dice, 43)}"


def _pem(dice: random.Random) -> str:
    kind = dice.choice(["", "RSA ", "EC ", "OPENSSH "])
    lines = "\n".join(some(dice, 64) for _ in range(4))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{lines}\n-----END {kind}PRIVATE KEY-----"


def _basic(dice: random.Random) -> str:
    return base64.b64encode(f"u17:{some(dice, 12)}".encode()).decode()


def _ipv4(dice: random.Random) -> str:
    return ".".join(str(dice.randint(11, 240)) for _ in range(4)).replace("127.", "128.")


def _ipv6(dice: random.Random) -> str:
    return "2001:db8:" + ":".join(f"{dice.randint(4096, 65535):x}" for _ in range(6))


UPPER = string.ascii_uppercase + string.digits
MAKERS: tuple[Callable[[random.Random], Made], ...] = (
    _bare("openai-key", lambda dice: "sk-proj-" + some(dice, 80)),
    _bare("openai-key", lambda dice: "sk-" + some(dice, 48)),
    _bare("anthropic-key", lambda dice: "sk-ant-api03-" + some(dice, 90) + "-AA"),
    _bare("openrouter-key", lambda dice: "sk-or-v1-" + some(dice, 64, "0123456789abcdef")),
    _bare("google-key", lambda dice: "AIza" + some(dice, 35)),
    _bare("google-token", lambda dice: "ya29." + some(dice, 60)),
    _bare("aws-key-id", lambda dice: "AKIA" + some(dice, 16, UPPER)),
    _within("aws-secret-key", "AWS_SECRET_ACCESS_KEY={}", lambda dice: some(dice, 40)),
    _bare("github-token", lambda dice: "ghp_" + some(dice, 36)),
    _bare("github-token", lambda dice: "github_pat_" + some(dice, 22) + "_" + some(dice, 59)),
    _bare("gitlab-token", lambda dice: "glpat-" + some(dice, 20)),
    _bare(
        "slack-token", lambda dice: "xoxb-" + some(dice, 12, "0123456789") + "-" + some(dice, 24)
    ),
    _bare("stripe-key", lambda dice: "sk_live_" + some(dice, 24)),
    _bare("huggingface-token", lambda dice: "hf_" + some(dice, 34)),
    _bare("npm-token", lambda dice: "npm_" + some(dice, 36)),
    _bare("pypi-token", lambda dice: "pypi-AgEIcHlwaS5vcmc" + some(dice, 80)),
    _bare("groq-key", lambda dice: "gsk_" + some(dice, 52)),
    _bare("xai-key", lambda dice: "xai-" + some(dice, 80)),
    _bare("interlingua-key", lambda dice: "gw_" + some(dice, 43)),
    _bare("sendgrid-key", lambda dice: "SG." + some(dice, 22) + "." + some(dice, 43)),
    _bare("telegram-token", lambda dice: some(dice, 10, "123456789") + ":AA" + some(dice, 33)),
    _bare("jwt", _jwt),
    _bare("private-key", _pem),
    _within("bearer-token", "Authorization: Bearer {}", lambda dice: some(dice, 40)),
    _within("basic-auth", "authorization: Basic {}", _basic),
    _within("url-password", "postgres://u17:{}@db/app", lambda dice: some(dice, 14)),
    _within("url-key", "see https://files.test/a?x=1&sig={}", lambda dice: some(dice, 40)),
    _within("assigned-secret", "export DB_PASSWORD={}", lambda dice: some(dice, 10)),
    _within("assigned-secret", 'api_key = "{}"', lambda dice: some(dice, 32)),
    _within("assigned-secret", "client_secret: '{}'", lambda dice: some(dice, 24)),
    _within("assigned-secret", '{{\\"accessToken\\": \\"{}\\"}}', lambda dice: some(dice, 30)),
    _bare("email", lambda dice: f"{some(dice, 8).lower()}@mail.{some(dice, 6).lower()}.org"),
    _bare("ip-address", _ipv4),
    _bare("ip-address", _ipv6),
    _within("home-folder", "in /home/{}/project", lambda dice: some(dice, 9).lower()),
    _within("home-folder", r"C:\Users\{}\Desktop", lambda dice: some(dice, 9)),
)


def secrets(count: int, seed: int = 7) -> list[Made]:
    dice = random.Random(seed)
    return [MAKERS[number % len(MAKERS)](dice) for number in range(count)]


def _data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


FIELDS: tuple[Callable[[str], Block], ...] = (
    lambda said: TextBlock(said),
    lambda said: TextBlock("It says so.", citations=(Citation(cited_text=said, start=0, end=2),)),
    lambda said: TextBlock("…", raw={"openai-chat": {"note": [said]}}),
    lambda said: ThinkingBlock(said, signature="c2lnbmVk"),
    lambda said: ToolUseBlock("tu_1", "run", {"command": said}, raw_arguments='{"command": 1}'),
    lambda said: ToolUseBlock("tu_1", "run", {}, raw_arguments='{"command": "' + said),
    lambda said: ToolUseBlock("tu_1", "run", {"env": {"list": [1, {"deep": said}]}}),
    lambda said: ToolUseBlock("tu_1", "run", {said: "as a key"}),
    lambda said: ToolResultBlock("tu_1", (TextBlock(said),)),
    lambda said: ToolResultBlock("tu_1", raw={"anthropic": {"more": said}}),
    lambda said: DocumentBlock(Source("text", said), title="a file"),
    lambda said: DocumentBlock(Source("base64", _data(said)), media_type="text/plain"),
    lambda said: DocumentBlock(Source("file_id", "f_1"), title=said, context=said, name=said),
    lambda said: ImageBlock(Source("url", f"https://img.test/?q={said}"), name=said),
    lambda said: AudioBlock(Source("base64", "UklGRg=="), transcript=said),
    lambda said: RefusalBlock(said),
    lambda said: CompactionBlock(text=said),
    lambda said: UnknownBlock({"gemini": {"odd": {"said": said}}}),
)


def message_with(number: int, said: str) -> Message:
    """A message that says this in one of its fields, another one for each number."""
    place = number % (len(FIELDS) + 4)
    if place < len(FIELDS):
        return Message(Role.ASSISTANT, (FIELDS[place](said),))
    details: dict[str, Any] = {"why": said}
    about = (
        MessageMetadata(error_message=said),
        MessageMetadata(diagnostics=(Diagnostic("odd", said, details=details),)),
        MessageMetadata(provider_raw={"openai-chat": {"header": said}}),
        MessageMetadata(extra={"later": said}),
    )[place - len(FIELDS)]
    return Message(Role.ASSISTANT, (TextBlock("…"),), metadata=about)
