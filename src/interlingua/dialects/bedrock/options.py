"""How to generate: `inferenceConfig` and what a request says about itself. The shape of the answer
is in `output.py`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.bedrock.output import keep_left, read_output, write_output
from interlingua.dialects.bedrock.shape import put_section, section
from interlingua.dialects.bedrock.tables import METADATA_LEGAL, MOST_METADATA, SERVICE_TIERS
from interlingua.dialects.shape import Kept, ShapeError, each, may_take, want
from interlingua.losses import LossKind
from interlingua.model.exchange import Options

_INFERENCE: dict[str, tuple[str, type[Any]]] = {
    "maxTokens": ("max_output_tokens", int),
    "temperature": ("temperature", float),
    "topP": ("top_p", float),
    "stopSequences": ("stop", list),
}


# -- reading --------------------------------------------------------------------------------------


def read_options(wire: Wire, kept: Kept) -> Wire:
    """The fields of the options that the body gives."""
    fields: Wire = {}
    if "inferenceConfig" in wire:
        _read_inference(wire, fields, kept)
    read_output(wire, fields, kept)
    if "requestMetadata" in wire:
        _read_metadata(wire, fields, kept)
    if "serviceTier" in wire:
        _read_tier(wire, fields, kept)
    return fields


def _read_inference(wire: Wire, fields: Wire, kept: Kept) -> None:
    config = section(wire, "inferenceConfig", kept.spelled)
    if config is None:
        return
    blank: Wire = {}
    try:
        for key, (name, kind) in _INFERENCE.items():
            if key in config and (value := may_take(config, key, kind, blank)) is not None:
                fields[name] = tuple(each(value, f".{key}", _string)) if kind is list else value
                if _fit(name, fields[name]) != fields[name]:
                    kept.form.setdefault("odd", []).append(name)
    except ShapeError as odd:
        raise odd.inside(".inferenceConfig") from None
    keep_left(config, _INFERENCE, "inferenceConfig", kept)
    if blank:
        kept.form["inferenceConfig"] = blank


def _string(item: Any) -> str:
    return want(item, str)


def _fit(name: str, value: Any) -> Any:
    """The nearest value that is accepted; None where there is none."""
    if name == "max_output_tokens":
        return value if value >= 1 else None
    if name == "stop":
        return tuple([word for word in value if word])
    return min(max(value, 0), 1)


def _read_metadata(wire: Wire, fields: Wire, kept: Kept) -> None:
    given = section(wire, "requestMetadata", kept.spelled)
    if given is None:
        return
    for key, value in given.items():
        want(value, str, f".requestMetadata.{key}")
    fields["metadata"] = given
    if _fit_metadata(given) != given:
        kept.form.setdefault("odd", []).append("metadata")


def _fit_metadata(given: dict[str, str]) -> dict[str, str]:
    legal = METADATA_LEGAL.fullmatch
    fitting = [(key, item) for key, item in given.items() if key and legal(key) and legal(item)]
    return dict(fitting[:MOST_METADATA])


def _read_tier(wire: Wire, fields: Wire, kept: Kept) -> None:
    given = section(wire, "serviceTier", kept.spelled)
    if given is None:
        return
    if len(given) == 1 and type(given.get("type")) is str and given["type"] in SERVICE_TIERS:
        fields["service_tier"] = given["type"]
    else:
        kept.rest["serviceTier"] = given


# -- writing --------------------------------------------------------------------------------------


def write_options(out: Wire, options: Options, mine: Wire, form: Wire, scribe: Scribe) -> None:
    put_section(out, "inferenceConfig", _write_inference(options, form, scribe), mine, form)
    write_output(out, options, mine, form, scribe)
    if options.metadata is not None:
        _put_metadata(out, options, options.metadata, form, scribe)
    if options.service_tier in SERVICE_TIERS:
        out["serviceTier"] = {"type": options.service_tier}
    elif options.service_tier is not None:
        scribe.lost(options, "service_tier")


def _write_inference(options: Options, form: Wire, scribe: Scribe) -> Wire:
    said: Wire = {}
    for key, (name, _) in _INFERENCE.items():
        value = getattr(options, name)
        if value is None:
            continue
        fitting = value if name in form.get("odd", ()) else _fit(name, value)
        if fitting != value:
            kind: LossKind = "dropped" if fitting is None else "approximated"
            scribe.lost(options, name, "out of range", kind=kind)
        if fitting is not None:
            said[key] = list(fitting) if name == "stop" else fitting
    return said


def _put_metadata(
    out: Wire, options: Options, given: dict[str, str], form: Wire, scribe: Scribe
) -> None:
    fitting = given if "metadata" in form.get("odd", ()) else _fit_metadata(given)
    if fitting != given or not given:
        reason = "pairs of short plain text, one to sixteen"
        scribe.lost(options, "metadata", reason, kind="approximated")
    if fitting:
        out["requestMetadata"] = fitting
