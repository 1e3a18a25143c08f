"""The caller's own words about a request, which not every service takes for the same."""

from __future__ import annotations

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.record import Traits
from interlingua.dialects.registry import dialect, dialects
from interlingua.model.exchange import Options

BILLED = "labels"
"""What the words are called where they are printed on the bill."""


def tell_labels(options: Options, source: str | None, target: Traits, scribe: LossRecorder) -> None:
    """Labels for a bill, where they are said as metadata, which bills do not show. The way back is
    the writer's to tell, who knows their grammar."""
    if source not in dialects() or target.metadata in (None, BILLED):
        return
    if dialect(source).traits.metadata == BILLED:
        reason = f"labels for the bill, said as {target.metadata}"
        scribe.lost(options, "metadata", reason, "approximated")
