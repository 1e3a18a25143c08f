"""Where losses stand in the source body; the law of places is in `tests/laws/at.py`."""

from __future__ import annotations

import pytest

import interlingua as il

MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize("turns", [1, 2])
def test_marks_of_instructions_and_messages(turns: int) -> None:
    """A message of one block has the place of the block, and the mark is the block's."""
    text = {"type": "text", "text": "hi", **MARK}
    body = {
        "model": "claude-sonnet-4-6",
        "max_tokens": 10,
        "system": [text],
        "messages": [{"role": role, "content": [text]} for role in ("user", "assistant")[:turns]],
    }
    written = il.convert(body, to="gemini", model="gemini-2.5-pro")
    messages = [f"$.messages[{number}].content[0].cache_control" for number in range(turns)]
    places = ["$.system[0].cache_control", *messages]
    assert [entry.at for entry in written.report.notes] == [(place,) for place in places]
