"""How to generate: the keys of a body that are neither messages nor tools."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.kernel.errors import want
from interlingua.dialects.kernel.fields import (
    NOT_OURS,
    Field,
    Reading,
    Table,
    inside,
    plain,
    strings,
    together,
)
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import Wire
from interlingua.dialects.ollama.tables import EFFORTS, MOST_LOGPROBS, NUMBERS
from interlingua.model.exchange import Options, Reasoning, ResponseFormat

# -- numbers --------------------------------------------------------------------------------------


def _is_whole(number: float) -> bool:
    return number == round(number)


def _write_top_k(options: Any, recorder: LossRecorder) -> int:
    """The server takes whole numbers only."""
    number: float = options.top_k
    recorder.lost(options, "top_k", "out of range", kind="approximated")
    return round(number)


# -- format ---------------------------------------------------------------------------------------


def _read_format(given: Any) -> Reading:
    if type(given) is dict:
        return {"response_format": ResponseFormat("json_schema", schema=given)}
    if given == "json":
        return {"response_format": ResponseFormat("json")}
    return NOT_OURS if given else {}


def _write_format(options: Any, recorder: LossRecorder) -> Any:
    wanted: ResponseFormat = options.response_format
    if wanted.kind == "json_schema" and wanted.schema is not None:
        recorder.unwritten(wanted, frozenset({"kind", "schema"}))
        return wanted.schema
    if wanted.kind not in ("json", "text"):
        recorder.lost(options, "response_format.kind", "it has no schema", kind="approximated")
    recorder.unwritten(wanted, frozenset({"kind"}))
    return "json" if wanted.kind in ("json", "json_schema") else None


# -- think ----------------------------------------------------------------------------------------


def _read_think(given: Any) -> Reading:
    if given is True:
        return {"reasoning": Reasoning(visible=True, mode="on")}
    if given is False:
        return {"reasoning": Reasoning(mode="off")}
    if type(given) is str and EFFORTS.get(given) == given:
        return {"reasoning": Reasoning(effort=given)}  # type: ignore[arg-type]  # a word of the table
    return NOT_OURS


def _write_think(options: Any, recorder: LossRecorder) -> bool | str:
    wanted: Reasoning = options.reasoning
    think = _think(options, wanted, recorder)
    if wanted.budget_tokens is not None:
        recorder.lost(options, "reasoning.budget_tokens", "thinking has no budget here")
    if wanted.mode not in (None, "on", "off"):
        reason = "it thinks, or it does not"
        recorder.lost(options, "reasoning.mode", reason, kind="approximated")
    if wanted.visible is not None and think is not True:
        reason = "what a model thinks is shown whenever it does"
        recorder.lost(options, "reasoning.visible", reason, severity="info")
    elif wanted.visible is False:
        recorder.lost(options, "reasoning.visible", "thinking cannot be hidden")
    return think


def _think(options: Options, wanted: Reasoning, recorder: LossRecorder) -> bool | str:
    if wanted.mode == "off":
        if wanted.effort is not None:
            recorder.lost(options, "reasoning.effort", "thinking is off")
        return False
    if wanted.effort is None:
        return True
    word = EFFORTS.get(wanted.effort)
    if word is None:
        recorder.lost(options, "reasoning.effort")
        return True
    if word != wanted.effort:
        recorder.lost(options, "reasoning.effort", f"said as {word}", kind="approximated")
    return word


# -- logprobs -------------------------------------------------------------------------------------


def _read_logprobs(given: Wire) -> Reading:
    wanted = want(given.get("logprobs", False), bool, ".logprobs")
    most = want(given.get("top_logprobs", 0), int, ".top_logprobs")
    return {"logprobs": most} if wanted else {}


def _write_logprobs(options: Any, recorder: LossRecorder) -> Wire:
    most: int = options.logprobs
    if most > MOST_LOGPROBS:
        recorder.lost(options, "logprobs", f"said as {MOST_LOGPROBS}", kind="approximated")
        most = MOST_LOGPROBS
    return {"logprobs": True, "top_logprobs": most} if most else {"logprobs": True}


OPTIONS = Table(
    Options,
    inside(
        "options",
        # A negative one says that there is no limit, or only that of the context.
        plain("num_predict", "max_output_tokens", int, fits=lambda limit: limit >= 0),
        plain("top_k", "top_k", float, fits=_is_whole)._replace(write=_write_top_k),
        *[plain(key, attr, kind) for key, (attr, kind) in NUMBERS.items()],
        strings("stop", "stop", alone=True),
    ),
    Field("format", ("response_format",), _read_format, _write_format),
    Field("think", ("reasoning",), _read_think, _write_think, few=True),
    together(("logprobs", "top_logprobs"), ("logprobs",), _read_logprobs, _write_logprobs),
    # The server streams unless it is told otherwise.
    plain("stream", "stream", bool, missing=True, fill=lambda _: False),
    beside=("model", "messages", "tools"),
)
