"""Token counts. On the wire the prompt includes what was cached, and the completion the reasoning;
some hosts leave the reasoning out of the completion, which the total tells."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.usage import count, fresh_input
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.openai_chat.shape import Note, form_in, mine_of, put_back, want
from interlingua.dialects.openai_chat.tables import Tables
from interlingua.model.metadata import Diagnostic, Usage

PROMPT, COMPLETION, TOTAL = "prompt_tokens", "completion_tokens", "total_tokens"
INPUT_DETAILS, OUTPUT_DETAILS = "prompt_tokens_details", "completion_tokens_details"
ALIASES: dict[str, str] = {
    "cached_tokens": "cached_input_tokens",
    "num_cached_tokens": "cached_input_tokens",
    "prompt_cache_hit_tokens": "cached_input_tokens",
    "cache_read_input_tokens": "cached_input_tokens",
    "prompt_cache_miss_tokens": "input_tokens",
    "cache_creation_input_tokens": "cache_creation_input_tokens",
    "reasoning_tokens": "reasoning_tokens",
}
"""Keys beside the usual ones under which hosts say a count, or say it again."""


def read_usage(wire: Any, t: Tables) -> tuple[Usage, Diagnostic | None]:
    """Usage, and a diagnostic where its numbers contradict each other."""
    plain = _read_plainly(want(wire, dict, ".usage"), t)
    if plain is not None:
        return plain, None
    note = Note()
    found = _Counts(wire)
    fields, odd = found.fields(note)
    if odd:
        note.form = {"wire": wire}
        return Usage(**fields, raw=note.raw(t.name)), Diagnostic("usage_contradicts", odd)
    taken = {key for key in (PROMPT, COMPLETION, TOTAL) if count(wire.get(key)) is not None}
    for key, keys in _DETAILS.items():
        if type(wire.get(key)) is dict and wire[key]:
            taken.add(key)
            used = {name for name in keys if count(wire[key].get(name)) is not None}
            note.leave_inner(wire, key, used)
    also = [key for key in ALIASES if key in wire and _repeats(wire, key, fields[ALIASES[key]])]
    if also:
        note.form["also"] = also
        taken.update(also)
    note.leave(wire, taken, (PROMPT, COMPLETION, TOTAL, INPUT_DETAILS, OUTPUT_DETAILS))
    note.absent(wire, (PROMPT, COMPLETION, TOTAL))
    return Usage(**fields, raw=note.raw(t.name)), None


_DETAILS = {
    INPUT_DETAILS: ("cached_tokens", "cache_write_tokens"),
    OUTPUT_DETAILS: ("reasoning_tokens",),
}


_USUAL = frozenset({PROMPT, COMPLETION, TOTAL, INPUT_DETAILS, OUTPUT_DETAILS})


def _read_plainly(wire: Wire, t: Tables) -> Usage | None:
    """Usage as OpenAI itself says it, with numbers that add up; None for any other."""
    prompt, output, total = wire.get(PROMPT), wire.get(COMPLETION), wire.get(TOTAL)
    if not (type(prompt) is int and type(output) is int and total == prompt + output):
        return None
    if not wire.keys() <= _USUAL or type(total) is not int:
        return None
    rest: Wire = {}
    inputs = _read_inner(wire, INPUT_DETAILS, rest)
    outputs = _read_inner(wire, OUTPUT_DETAILS, rest)
    if inputs is None or outputs is None:
        return None
    cached, written = inputs.get("cached_tokens"), inputs.get("cache_write_tokens")
    reasoning = outputs.get("reasoning_tokens")
    fresh = prompt - (cached or 0) - (written or 0)
    if fresh < 0 or output < (reasoning or 0) or min(cached or 0, written or 0, reasoning or 0) < 0:
        return None
    return Usage(fresh, output, cached, written, reasoning, raw={t.name: rest} if rest else None)


def _read_inner(wire: Wire, key: str, rest: Wire) -> dict[str, int] | None:
    """The counts of the details at `key`, the others kept in `rest`; None where one is no count."""
    inner = wire.get(key, _NO_DETAILS)
    if type(inner) is not dict or (not inner and key in wire):
        return None
    found: dict[str, int] = {}
    for name, value in inner.items():
        if type(value) is not int:
            return None
        if name in _DETAILS[key]:
            found[name] = value
        else:
            rest.setdefault(key, {})[name] = value
    return found


_NO_DETAILS: Wire = {}


def _repeats(wire: Wire, key: str, value: int | None) -> bool:
    return value is not None and count(wire.get(key)) == value


class _Counts:
    """The numbers of a wire's usage."""

    def __init__(self, wire: Wire) -> None:
        inputs, outputs = _object(wire, INPUT_DETAILS), _object(wire, OUTPUT_DETAILS)
        self.prompt, self.completion = count(wire.get(PROMPT)), count(wire.get(COMPLETION))
        self.total = count(wire.get(TOTAL))
        self.cached = count(inputs.get("cached_tokens"))
        self.written = count(inputs.get("cache_write_tokens"))
        self.reasoning = count(outputs.get("reasoning_tokens"))
        self.aside: list[str] = []
        """Fields that only an alias says."""
        for key in [key for key in ALIASES if key in wire]:
            field, value = ALIASES[key], count(wire[key])
            name = _SHORT.get(field)
            if name and value is not None and getattr(self, name) is None:
                setattr(self, name, value)
                self.aside.append(field)

    def fields(self, note: Note) -> tuple[dict[str, Any], str | None]:
        """The canonical counts, clamped; and what is odd about the wire's."""
        odd = self._oddity()
        prompt, output = _least(self.prompt), _least(self.completion)
        reasoning = _least(self.reasoning)
        if odd is None:
            output, reasoning = self._apart(output, reasoning, note)
            extra = self._extra(prompt, output)
            if extra:
                note.form["total"] = extra
        cached, written = _within(self.cached, prompt), _within(self.written, prompt)
        if prompt is not None and (cached or 0) + (written or 0) > prompt:
            written = prompt - (cached or 0)
        if self.aside:
            note.form["aside"] = self.aside
        return {
            "input_tokens": fresh_input(prompt, cached, written),
            "output_tokens": output,
            "cached_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "reasoning_tokens": _within(reasoning, output),
        }, odd

    def _apart(
        self, output: int | None, reasoning: int | None, note: Note
    ) -> tuple[int | None, int | None]:
        """Output with the reasoning that the completion leaves out, if the total counts it."""
        missing = (self.total or 0) - (self.prompt or 0) - (self.completion or 0)
        if missing <= 0 or output is None or self.prompt is None:
            return output, reasoning
        if reasoning == missing:  # xAI
            note.form["reasoning"] = "apart"
            return output + missing, reasoning
        if reasoning is None:  # Google: thoughts are in the total alone
            note.form["reasoning"] = "hidden"
            return output + missing, missing
        return output, reasoning

    def _extra(self, prompt: int | None, output: int | None) -> int:
        return 0 if self.total is None else self.total - (prompt or 0) - (output or 0)

    def _oddity(self) -> str | None:
        counts = (self.prompt, self.completion, self.cached, self.written, self.reasoning)
        if any(each is not None and each < 0 for each in counts):
            return "a count is negative"
        if (self.cached or 0) + (self.written or 0) > (self.prompt or 0):
            return "more of the prompt was cached than there is"
        if (self.reasoning or 0) > (self.completion or 0) and not self._is_apart():
            return "more was reasoned than said"
        return None

    def _is_apart(self) -> bool:
        known = (self.prompt or 0) + (self.completion or 0) + (self.reasoning or 0)
        return self.total == known


_SHORT = {
    "cached_input_tokens": "cached",
    "cache_creation_input_tokens": "written",
    "reasoning_tokens": "reasoning",
}


def _object(wire: Wire, key: str) -> Wire:
    inner = wire.get(key)
    return inner if type(inner) is dict else {}


def _least(value: int | None) -> int | None:
    return None if value is None else max(value, 0)


def _within(value: int | None, whole: int | None) -> int | None:
    value = _least(value)
    return value if value is None or whole is None else min(value, whole)


def write_usage(usage: Usage, t: Tables, recorder: LossRecorder) -> Wire | None:
    """The wire's usage; None where nothing is known of it."""
    if usage.raw is None and usage.input_tokens is not None and usage.output_tokens is not None:
        return _write_plainly(usage, recorder)
    mine = mine_of(t.name, usage.raw)
    form = form_in(mine)
    if "wire" in form and _still_says(form["wire"], usage, t):
        wire: Wire = form["wire"]
        return wire
    recorder.unwritten(usage, _SAID)
    prompt, output, reasoning = usage.prompt_tokens, usage.output_tokens, usage.reasoning_tokens
    apart = (reasoning or 0) if "reasoning" in form else 0
    aside = form.get("aside", ())
    out: Wire = {
        PROMPT: prompt or 0,
        COMPLETION: max((output or 0) - apart, 0),
        TOTAL: (prompt or 0) + (output or 0) + form.get("total", 0),
    }
    fillers = {TOTAL: out[TOTAL]}
    if prompt is None and output is None and not mine:
        return None
    if usage.input_tokens is None:
        fillers[PROMPT] = out[PROMPT]  # a count of cached tokens alone is no prompt
    if output is None:
        fillers[COMPLETION] = 0
    _put_count(out, INPUT_DETAILS, "cached_tokens", usage.cached_input_tokens, aside)
    _put_count(out, INPUT_DETAILS, "cache_write_tokens", usage.cache_creation_input_tokens, aside)
    if form.get("reasoning") != "hidden":
        _put_count(out, OUTPUT_DETAILS, "reasoning_tokens", reasoning, aside)
    for key in form.get("also", ()):
        out[key] = getattr(usage, ALIASES[key])
    return put_back(out, mine, fillers)


def _write_plainly(usage: Usage, recorder: LossRecorder) -> Wire:
    fresh, output = usage.input_tokens or 0, usage.output_tokens or 0
    cached, written = usage.cached_input_tokens, usage.cache_creation_input_tokens
    if (
        usage.estimated
        or usage.cost_usd is not None
        or usage.cost_breakdown is not None
        or usage.pricing_version is not None
        or usage.latency_ms is not None
    ):
        recorder.unwritten(usage, _SAID)
    prompt = fresh + (cached or 0) + (written or 0)
    wire: Wire = {PROMPT: prompt, COMPLETION: output, TOTAL: prompt + output}
    if cached is not None or written is not None:
        inputs = wire[INPUT_DETAILS] = {}
        if cached is not None:
            inputs["cached_tokens"] = cached
        if written is not None:
            inputs["cache_write_tokens"] = written
    if usage.reasoning_tokens is not None:
        wire[OUTPUT_DETAILS] = {"reasoning_tokens": usage.reasoning_tokens}
    return wire


_FIELD = {
    "cached_tokens": "cached_input_tokens",
    "cache_write_tokens": "cache_creation_input_tokens",
    "reasoning_tokens": "reasoning_tokens",
}


def _put_count(out: Wire, key: str, name: str, value: int | None, aside: Any) -> None:
    if value is not None and _FIELD[name] not in aside:
        out.setdefault(key, {})[name] = value


def _still_says(wire: Wire, usage: Usage, t: Tables) -> bool:
    read, _ = read_usage(wire, t)
    return read == usage


_SAID = frozenset(
    {
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "cache_creation_input_tokens",
        "reasoning_tokens",
    }
)
