"""Options, for tests."""

from __future__ import annotations

from interlingua.model.exchange import Reasoning

HIGH = Reasoning("high")
