"""What writing a stream home and abroad have in common."""

from __future__ import annotations

from interlingua.dialects.base import Quiet
from interlingua.dialects.gemini.tables import NAME
from interlingua.losses import Report

QUIET = Quiet(NAME, None, Report(NAME))
