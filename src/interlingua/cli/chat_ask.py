"""Questions of yes and no about tools, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from interlingua.cli.chat_screen import one_line

if TYPE_CHECKING:
    from interlingua.tools.confirm import Confirmation

LONGEST = 400


def asked_about(question: Confirmation) -> str:
    """What the model wants to do, on one line: the tool, what it may do, and its input."""
    given = msgspec.json.encode(question.input).decode()
    effects = question.side_effects.value
    return one_line(f"Allow {question.tool.name} ({effects}) {given}?", LONGEST)
