"""Changes of model, for tests."""

from __future__ import annotations

import interlingua as il
from interlingua.sessions import Session
from interlingua.store.base import Store
from tests.sessions.talk import new_session, take_turn
from tests.sessions.wires import MODELS, image

SONNET = MODELS["anthropic"]

BLIND = "openai:gpt-4"


def with_image(store: Store) -> Session:
    session = new_session(store)
    take_turn(session, [il.TextBlock("What is this?"), image()], 1)
    return session
