"""Wires of Cohere's first chat API, for tests."""

from __future__ import annotations

import interlingua as il

OTHERS = [name for name in il.dialects() if name != "cohere"]
