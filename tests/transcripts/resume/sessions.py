"""Sessions that tools are asked to go on with: made-up ones, and samples where they are there."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from struct import pack

from interlingua import transcripts
from interlingua.model.blocks import (
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.message import Message
from interlingua.transcripts import Branch, Compaction, Transcript
from interlingua.transcripts.transcript import summary_message
from tests.transcripts.made import answer
from tests.transcripts.samples import samples

AGENTS = ("claude-code", "codex", "pi", "gemini-cli", "opencode")
_START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def made(compacted: bool = False) -> Transcript:
    """Text, thinking, calls at once, a failed result, pictures from both sides; then a summary."""
    messages = tuple(
        message.replace(created_at=_START + timedelta(seconds=at))
        for at, message in enumerate([*_before(), *(_after() if compacted else ())])
    )
    summary = len(_before())
    return Transcript(
        format="made-up",
        messages=messages,
        id="3f0c7a52-6a1b-4d58-8a7e-2b1f9f5f7c11",
        title="Bread",
        created_at=_START,
        branches=(Branch(None, messages, True),),
        compactions=(Compaction(summary, (summary - 1,)),) if compacted else (),
    )


def _before() -> list[Message]:
    return [
        Message.system("Answer in one line."),
        Message.user(["Is the dough ready?\u2028Look: Grüße 🥖", _picture(200)]),
        answer(
            ThinkingBlock("Two files.", "c2lnbmVk" * 30),
            TextBlock("I look."),
            ToolUseBlock("toolu_01a", "read", {"path": "dough.txt", "n": 1.5, "deep": {"a": [1]}}),
            ToolUseBlock("toolu_01b", "read", {"path": "oven.txt"}),
        ),
        Message.of_result(ToolResultBlock("toolu_01b", (TextBlock("no such file"),), True, "read")),
        Message.of_result(ToolResultBlock("toolu_01a", (TextBlock("risen"),), False, "read")),
        answer(ToolUseBlock("toolu_01c", "look", {"path": "crumb.png"})),
        Message.of_result(
            ToolResultBlock("toolu_01c", (TextBlock("a picture"), _picture(90)), False, "look")
        ),
        answer(TextBlock("It has risen.\n\n    1 < 2 && \"quoted\" \\ 'so'")),
        Message.user("Thanks."),
        answer(TextBlock("Gladly.")),
    ]


def _after() -> list[Message]:
    return [
        summary_message("The dough has risen; the oven's file is not there."),
        Message.user("And the oven?"),
        answer(
            ThinkingBlock("Ask the oven.", "b3Zlbg==" * 30),
            ToolUseBlock("toolu_02a", "bash", {"command": "oven --state"}),
        ),
        Message.of_result(ToolResultBlock("toolu_02a", (TextBlock("220 degrees"),), False, "bash")),
        answer(TextBlock("It is hot.")),
    ]


def _picture(grey: int) -> ImageBlock:
    """A real PNG, eight by eight: some tools look into pictures."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return pack(">I", len(data)) + kind + data + pack(">I", check)

    rows = (b"\0" + bytes([grey]) * 8) * 8
    head = chunk(b"IHDR", pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return ImageBlock(Source("base64", b64encode(png).decode()), "image/png")


def all_sessions(folder: Path) -> Iterator[tuple[str, Transcript]]:
    """Made-up ones, the same once through each format, and the samples of each."""
    for name, session in (("made-up", made()), ("made-up, compacted", made(True))):
        yield name, session
        for agent in AGENTS:
            suffix = "json" if agent == "opencode" else "jsonl"
            path = folder / f"{name} {agent}" / f"{session.id}.{suffix}"
            transcripts.write(session, path, agent)
            yield f"{name} > {agent}", transcripts.read(path)
    for sample in samples(*AGENTS):
        yield sample.id, transcripts.read(sample.path, sample.format)
