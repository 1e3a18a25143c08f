"""Token counts. The prompt's includes what came from the cache, the answer's leaves out what was
thought, and what tools added to the prompt is counted apart; `total_tokens` is the sum of all."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.gemini_interactions.tables import NAME
from interlingua.dialects.google import Counts
from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.kept import Kept, form_in, mine_of, put_back
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import CONTRADICTS, count
from interlingua.dialects.kernel.wire import Wire
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, CACHED = "total_input_tokens", "total_cached_tokens"
OUTPUT, THOUGHT = "total_output_tokens", "total_thought_tokens"
TOOLS, TOTAL = "total_tool_use_tokens", "total_tokens"
_COUNTS = Counts(PROMPT, CACHED, OUTPUT, THOUGHT)
_SAID = frozenset(
    {"input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "raw"}
)
_NUMBERS = frozenset({*_COUNTS, TOTAL})


def read_usage(wire: Any, found: list[Diagnostic]) -> Usage | None:
    if wire is None:
        return None
    kept = Kept()
    given: dict[str, int] = {}
    for key, item in want(wire, dict, ".usage").items():
        tokens = count(item) if key in _NUMBERS else None
        if tokens is None:
            kept.add(key, item)
        else:
            given[key] = tokens
    total = given.pop(TOTAL, None)
    usage = _COUNTS.read(given)
    said = _COUNTS.write(usage)
    if any(said.get(key) != tokens for key, tokens in given.items()):
        kept.form["wire"] = given
        found.append(CONTRADICTS)
    for key in said.keys() - given.keys():
        kept.miss(key)
    if total is None:
        kept.miss(TOTAL)
    elif total != (sum_of := _total(said, kept.rest)):
        kept.form["total"] = [total, sum_of]  # one that is no sum stands until a count changes
    return usage.replace(raw=kept.raw(NAME))


def _total(counts: dict[str, int], rest: Wire) -> int:
    said = sum([counts.get(key, 0) for key in (PROMPT, OUTPUT, THOUGHT)])
    return said + (count(rest.get(TOOLS)) or 0)


def write_usage(usage: Usage, recorder: LossRecorder) -> Wire:
    mine = mine_of(NAME, usage.raw)
    form, counts = form_in(mine), _COUNTS.write(usage)
    given, total = form.get("wire"), _total(counts, mine)
    out: Wire
    if type(given) is dict and _numbers(_COUNTS.read(given)) == _numbers(usage):
        out = dict(given)
    else:
        _tell(usage, counts, recorder)
        gone = {key for key in form.get("absent", ()) if not counts.get(key)}
        if PROMPT in form.get("absent", ()) and usage.input_tokens is None:
            gone.add(PROMPT)  # what came from the cache is no more than that
        out = {key: tokens for key, tokens in counts.items() if key not in gone}
    if form.get("total", (None, None))[1] == total:
        out[TOTAL] = form["total"][0]
    elif counts and TOTAL not in form.get("absent", ()):
        out[TOTAL] = total
    recorder.unwritten(usage, _SAID)
    return out if usage.raw is None else put_back(out, usage, usage.raw, recorder)


def _numbers(usage: Usage) -> tuple[int | None, ...]:
    return (
        *(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens),
        *(usage.cache_creation_input_tokens, usage.reasoning_tokens),
    )


def _tell(usage: Usage, counts: dict[str, int], recorder: LossRecorder) -> None:
    """What the wire's counts cannot say of ours."""
    again = _COUNTS.read(counts)
    for name in ("input_tokens", "output_tokens", "reasoning_tokens"):
        held = getattr(usage, name)
        if held is not None and getattr(again, name) != held:
            recorder.lost(usage, name, "counted with the others", kind="approximated")
