"""Conversations with models that answer what `wires.py` says."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.model.message import Content
from interlingua.sessions import Call, Session, Turn
from interlingua.store.base import Store
from interlingua.store.rows import EventRow
from tests.sessions.wires import MODELS, PROFILES, SPOKEN, TOOLS, answer, image, stream

USUAL: dict[str, Any] = {"tools": TOOLS, "profiles": PROFILES}


def new_session(store: Store, dialect: str = "anthropic", **more: Any) -> Session:
    return Session.create(store, "/w", model=MODELS[dialect], dialects=SPOKEN, **{**USUAL, **more})


def opened(store: Store, id: str, **more: Any) -> Session:
    return Session.open(store, id, dialects=SPOKEN, **{**USUAL, **more})


def spoken(call: Call) -> str:
    """The dialect of a call."""
    return call.adapter.dialect.name


def results_of(turn: Turn, failing: bool = False) -> list[il.Message]:
    """What the tools gave: text, and at times an error."""
    return [
        il.Message.tool_result(
            id, f"{name}: done", is_error=failing and name == "read_file", tool_name=name
        )
        for id, name in turn.open_calls().items()
    ]


def take_turn(
    session: Session,
    content: Content = "What now?",
    number: int = 0,
    calls: bool = False,
    failing: bool = False,
) -> list[Call]:
    """A whole turn, with a round of tools if there are to be calls; gives its calls to the
    model."""
    turn = session.begin(content)
    made = [turn.call()]
    if calls:
        made[-1].complete(answer(spoken(made[-1]), number * 2, calls=True))
        turn.results(*results_of(turn, failing))
        made.append(turn.call())
    made[-1].complete(answer(spoken(made[-1]), number * 2 + 1))
    assert turn.ended
    return made


def turn_with_everything(session: Session, model: str, number: int) -> list[Call]:
    """At times a picture; two calls at once, of which one fails, and an answer that is streamed."""
    session.swap(model)
    asked: list[il.Block] = [il.TextBlock(f"Question {number}")]
    turn = session.begin([*asked, image()] if number % 4 == 0 else asked)
    first = turn.call()
    first.complete(answer(spoken(first), number * 2, calls=True))
    turn.results(*results_of(turn, failing=True))
    second = turn.call()
    for _ in second.stream(stream(spoken(second), answer(spoken(second), number * 2 + 1))):
        pass
    assert turn.ended
    return [first, second]


def trace(store: Store, session: Session) -> list[EventRow]:
    return store.events(session.id)


def types(store: Store, session: Session) -> list[str]:
    return [event.type for event in trace(store, session)]


def dumped(session: Session) -> list[bytes]:
    """The history as the store has it."""
    return [il.dumps(message) for message in session.store.messages(session.id)]
