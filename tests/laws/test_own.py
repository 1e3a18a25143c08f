"""What a model said goes back to it as it was (L13): in its own dialect, and at every host of the
provider table that speaks Chat Completions, in the form that the host takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlingua as il
from interlingua.adapt.target import find_target
from interlingua.dialects.openai_chat.tables import HOSTS
from interlingua.providers.profiles import ModelLookup
from interlingua.providers.read import providers
from tests.adapt.writing import written_for
from tests.effort import examples
from tests.laws import laws, strategies

CHAT = il.dialect("openai-chat")
SERVED = {key: each for key, each in providers().items() if CHAT.name in each.dialects}
MODEL = "some-thinker-4"


@pytest.mark.parametrize("name", il.dialects())
@given(value=strategies.requests() | strategies.responses())
@settings(max_examples=examples(60))
def test_l13_retelling_to_its_own_dialect_and_model_changes_nothing(name: str, value: Any) -> None:
    dialect = il.dialect(name)
    kind = "request" if isinstance(value, il.Request) else "response"
    retold = il.retell(value, dialect)
    written = laws.write(dialect, retold.value, retold.recorder)
    content = laws.read(dialect, kind, written.wire, getattr(value, "model", None))
    assert laws.own(dialect, content) == []
    assert laws.own(dialect, content, source=name) == []


# -- hosts ----------------------------------------------------------------------------------------

WORDS = st.text("abc éж\n", min_size=1).filter(lambda text: not text.isspace())


@st.composite
def turns(draw: st.DrawFn, provider: str) -> tuple[il.Message, ...]:
    """A turn that thought, as this host said it and a session keeps it, with its results."""
    calls = [
        il.ToolUseBlock(f"call_{draw(st.integers(0, 10**30)):031}_{number:014}", "look", {"n": 1})
        for number in range(draw(st.integers(0, 2)))
    ]
    texts = [il.TextBlock(draw(WORDS))] if not calls or draw(st.booleans()) else []
    made_by = il.MessageMetadata(model=f"{provider}:{MODEL}", provider=provider, protocol=CHAT.name)
    content = il.Message.assistant([il.ThinkingBlock(draw(WORDS)), *texts, *calls], made_by)
    results = [il.Message.tool_result(call.id, "done") for call in calls]
    return (il.Message.user("Go on."), content, *results)


@pytest.mark.parametrize("provider", SERVED)
@given(data=st.data())
@settings(max_examples=examples(30))
def test_l13_a_host_gets_its_own_thinking_back_where_it_takes_any(
    provider: str, data: st.DataObject
) -> None:
    history = sum(data.draw(st.lists(turns(provider), min_size=1, max_size=3)), ())
    request = il.Request(_apart(history), MODEL)
    assert laws.own(CHAT, request, provider) == []
    served = SERVED[provider]
    lookup = ModelLookup({provider: served}, False)
    target = find_target(lookup, f"{provider}:{MODEL}", CHAT.name)
    written = written_for(request, target)
    content = iter(m for m in written.wire["messages"] if m["role"] == "assistant")
    for message in request.messages:
        if message.role is il.Role.ASSISTANT:
            wire = next(content)
            thought = message.content[0].text  # type: ignore[union-attr]  # it is thinking
            if takes_thinking(served.switches.host, message):
                assert thought in thinking_in(wire), wire
            else:
                assert not thinking_in(wire)
    reasons = {loss.block_type for loss in written.report.entries}
    assert reasons <= {"thinking"}


def _apart(messages: tuple[il.Message, ...]) -> tuple[il.Message, ...]:
    """With calls that no two turns share."""
    seen: dict[str, int] = {}
    out: list[il.Message] = []
    for message in messages:
        content: list[Any] = []
        for block in message.content:
            if isinstance(block, il.ToolUseBlock):
                seen[block.id] = seen.get(block.id, 0) + 1
                block = block.replace(id=f"{block.id}_{seen[block.id]}")
            elif isinstance(block, il.ToolResultBlock):
                id = f"{block.tool_use_id}_{seen[block.tool_use_id]}"
                block = block.replace(tool_use_id=id)
            content.append(block)
        out.append(message.replace(content=tuple(content)))
    return tuple(out)


def takes_thinking(host: str | None, message: il.Message) -> bool:
    rule = HOSTS[host].replay if host else "own"
    return rule in ("own", "always") or (rule == "calls" and bool(message.tool_calls))


def thinking_in(wire: dict[str, Any]) -> list[str]:
    """Every text that a message of the wire marks as thinking."""
    found = [wire[key] for key in ("reasoning_content", "reasoning") if wire.get(key)]
    for part in wire["content"] if isinstance(wire["content"], list) else ():
        if part["type"] == "thinking":
            found += [piece["text"] for piece in part["thinking"]]
    return found
