"""Words of OpenAI's batches (the public types, 2026-11-16)."""

from __future__ import annotations

from interlingua.batches import OBJECTS as OBJECTS
from interlingua.batches import URLS as URLS

NAME = "openai-batch"
