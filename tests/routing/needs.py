"""Turns with their needs, for tests."""

from __future__ import annotations

from interlingua.model.blocks import ImageBlock, Source, ToolUseBlock

PNG = ImageBlock(Source("base64", "aGk="), "image/png")

CALL = ToolUseBlock("tu_1", "look", {})
