"""What both APIs of Google's models say alike: labels, and how tokens add up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from interlingua.dialects.kernel.kept import form_of
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.base import Raw
from interlingua.model.exchange import Options
from interlingua.model.metadata import Usage

# -- labels ---------------------------------------------------------------------------------------

APIS = ("gemini", "gemini-interactions")
_LABEL_KEY = re.compile(r"[^\W\d_][\w-]{0,62}")
_LABEL_VALUE = re.compile(r"[\w-]{0,63}")


def is_label(key: str, value: str) -> bool:
    """Whether Google takes this for a label: no capitals, no blanks (its cloud's rules for labels,
    read 2025-11)."""
    if key != key.lower() or value != value.lower():
        return False
    return bool(_LABEL_KEY.fullmatch(key) and _LABEL_VALUE.fullmatch(value))


def write_labels(options: Options, raw: Raw | None, out: Wire, recorder: LossRecorder) -> None:
    """Metadata as labels, which are for the bill and have a grammar of their own; those that were
    labels in one of the APIs (`$form.labels`) stay as they are."""
    said = options.metadata or {}
    if not said or any(form_of(name, raw).get("labels") for name in APIS):
        out["labels"] = said
        return
    labels = {key: item for key, item in said.items() if is_label(key, item)}
    if not labels:
        recorder.lost(options, "metadata", "labels cannot hold it")
        return
    out["labels"] = labels
    reason = "said as labels for the bill"
    if len(labels) < len(said):
        reason = f"{reason}, which cannot hold all of it"
    recorder.lost(options, "metadata", reason, kind="approximated")


# -- tokens ---------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """What an API calls its counts. The prompt's includes what came from the cache, that of what
    was said leaves out what was thought."""

    prompt: str
    cached: str
    said: str
    thought: str

    def read(self, given: Mapping[str, int | None]) -> Usage:
        """The counts as disjoint ones; negative ones are clamped."""
        prompt, cached, said, thought = [
            None if (tokens := given.get(name)) is None else max(tokens, 0) for name in self
        ]
        output = None if said is None and thought is None else (said or 0) + (thought or 0)
        return Usage(fresh_input(prompt, cached, None), output, cached, reasoning_tokens=thought)

    def write(self, usage: Usage) -> dict[str, int]:
        out: dict[str, int] = {}
        if (prompt := usage.prompt_tokens) is not None:
            out[self.prompt] = prompt
        if usage.cached_input_tokens is not None:
            out[self.cached] = usage.cached_input_tokens
        if usage.output_tokens is not None:
            out[self.said] = max(usage.output_tokens - (usage.reasoning_tokens or 0), 0)
        if usage.reasoning_tokens is not None:
            out[self.thought] = usage.reasoning_tokens
        return out
