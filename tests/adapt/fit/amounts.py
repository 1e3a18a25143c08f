"""Requests with a lot of one thing, for tests."""

from __future__ import annotations

from typing import Any

import interlingua as il
from interlingua.model.blocks import Block, TextBlock
from interlingua.profiles.overlay import profile_from
from interlingua.profiles.profile import Profile, profile_of


def said(*blocks: Block) -> il.Message:
    return il.Message.user([TextBlock("look"), *blocks])


def ruled(**said: Any) -> Profile:
    return profile_from(said, profile_of("some-model"))
