"""Token counts: read, written and paid for."""

from __future__ import annotations

from interlingua.dialects.cohere import DIALECT
from tests.dialects.cohere.wires import ANSWER


def test_what_was_cached_is_a_part_of_the_prompt() -> None:
    usage = DIALECT.read_response(ANSWER).message.metadata.usage
    assert usage is not None
    counts = (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens)
    assert counts == (18, 32, 9)
    assert usage.reasoning_tokens == 2
