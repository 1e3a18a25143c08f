"""Token counts: two of them, among the keys of the answer. The prompt is one number, what came from
a cache included."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import Field, Reading, Table
from interlingua.dialects.kernel.kept import Kept, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, counted
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.tables import NAME
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, OUTPUT = "prompt_eval_count", "eval_count"


def _read_prompt(given: Any) -> Reading:
    return {"input_tokens": max(want(given, int), 0)}


def _write_prompt(usage: Any, recorder: LossRecorder) -> int:
    fresh, cached = usage.input_tokens, usage.cached_input_tokens
    prompt = (fresh or 0) + (cached or 0) + (usage.cache_creation_input_tokens or 0)
    for name in ("cached_input_tokens", "cache_creation_input_tokens"):
        if getattr(usage, name) is not None:
            recorder.lost(usage, name)
    if fresh is not None and fresh != prompt:
        reason = "the whole prompt is said as one number"
        recorder.lost(usage, "input_tokens", reason, kind="approximated")
    return prompt


USAGE = Table(
    Usage,
    Field(
        PROMPT,
        ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"),
        _read_prompt,
        _write_prompt,
    ),
    counted(OUTPUT, "output_tokens"),
)


def read_usage(wire: Wire, found: list[Diagnostic]) -> Usage | None:
    """The counts of an answer, if there are any. A negative one is none, and keeps its spelling."""
    prompt, output = wire.get(PROMPT), wire.get(OUTPUT)
    if type(prompt) is int and type(output) is int and prompt >= 0 and output >= 0:
        return Usage(prompt, output)  # what there nearly always is
    counts = {key: wire[key] for key in (PROMPT, OUTPUT) if wire.get(key) is not None}
    if not counts:
        return None
    kept = Kept()
    attrs = USAGE.read(counts, kept)
    if kept.form:
        found.append(CONTRADICTS)
    return Usage(**attrs, raw=kept.raw(NAME))


def write_usage(usage: Usage, out: Wire, recorder: LossRecorder) -> None:
    USAGE.write(usage, out, mine_of(NAME, usage.raw), recorder)
    if usage.raw is not None:
        put_back(out, usage, usage.raw, recorder)
