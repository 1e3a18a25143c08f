"""What holds for the messages of every other library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlingua.model.blocks import Block, ToolResultBlock
from interlingua.model.message import Message
from interlingua.model.walk import rewrite
from interlingua.views import view
from tests.laws.strategies import conversations
from tests.views.comparing import Comparison, few

LIBRARIES = ("pydantic-ai",)
PROVENANCE = ("provider", "protocol", "model", "response_model", "raw_stop_reason")
DERIVED = (*PROVENANCE, "tool_name")


@pytest.mark.parametrize("name", LIBRARIES)
@few
@given(
    st.tuples(st.booleans(), st.booleans()).flatmap(lambda how: conversations(*how, failures=True))
)
def test_what_reading_back_misses_is_what_the_report_lists(
    name: str, messages: tuple[Message, ...]
) -> None:
    wire, report = view(name).write(messages)
    back = view(name).read(wire)
    report.losses = [loss for loss in report if loss.path.rpartition(".")[2] not in DERIVED]
    Comparison(name, report).check(list(map(_aside, messages)), list(map(_aside, back)))


def _aside(message: Message) -> Message:
    """Without who made it, since one word says provider, dialect and model; and without names of
    tools, which a result may have from its call."""
    metadata = message.metadata.replace(**dict.fromkeys(PROVENANCE))
    message = message.replace(metadata=metadata)
    return rewrite(message, lambda block: [_unnamed(block)])


def _unnamed(block: Block) -> Block:
    return block.replace(tool_name=None) if isinstance(block, ToolResultBlock) else block
