"""What is said in a session."""

from __future__ import annotations

import interlingua as il
from interlingua.model.message import Role
from interlingua.transcripts import Transcript


def said(transcript: Transcript) -> set[tuple[str, str, bool]]:
    """Every text, call and result, whatever their order."""
    found: set[tuple[str, str, bool]] = set()
    for message in transcript.messages:
        if message.role in (Role.SYSTEM, Role.DEVELOPER):
            continue
        for block in message.content:
            if isinstance(block, il.TextBlock):
                found.add((str(message.role), block.text, False))
            elif isinstance(block, il.ToolUseBlock):
                found.add((block.name, str(block.input), False))
            elif isinstance(block, il.ToolResultBlock):
                found.add(("result", str([each.text for each in block.content]), block.is_error))  # type: ignore[union-attr]
    return found
