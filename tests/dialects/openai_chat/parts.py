"""Parts of messages, for tests."""

from __future__ import annotations

from typing import Any

from interlingua.model.blocks import Block
from interlingua.model.message import Message, Role
from tests.dialects.openai_chat.wires import first, losses, user, write


def part_of(part: Any) -> Block:
    return first(user([part])).content[0]


def said(block: Block) -> tuple[Any, list[tuple[str, str]]]:
    wire, report = write(Message(Role.USER, (block,)))
    return wire["messages"][0]["content"], losses(report)
