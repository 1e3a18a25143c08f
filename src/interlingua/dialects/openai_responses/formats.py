"""The objects of a request's body that hold several options: `text` and `reasoning`."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire, expect
from interlingua.dialects.openai_responses.spelling import spare
from interlingua.dialects.openai_responses.tables import (
    FORMAT_NAME,
    FORMATS,
    NAME,
    SUMMARIES,
    SUMMARY,
    VERBOSITIES,
)
from interlingua.losses import LossKind
from interlingua.model.exchange import EFFORTS, Options, Reasoning, ResponseFormat

_FORMAT_FIELDS: dict[str, type] = {"name": str, "schema": dict, "strict": bool, "description": str}


class Body:
    """What is found in a request's body, as it is read."""

    __slots__ = ("continues", "form", "options", "rest")

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}
        self.continues: dict[str, Any] = {}
        self.rest: Wire = {}
        self.form: Wire = {}


# Reading -------------------------------------------------------------------------------------


def read_text(body: Body, key: str, value: Any) -> None:
    expect(value, dict, NAME, "$.text")
    known = set()
    if type(value.get("verbosity")) is str:
        body.options["verbosity"] = value["verbosity"]
        known.add("verbosity")
        if value["verbosity"] not in VERBOSITIES:
            body.form["verbosity"] = value["verbosity"]
    if type(value.get("format")) is dict:
        known.add("format")
        _read_format(body, value["format"])
    _keep(body, "text", value, known)


def _read_format(body: Body, value: Wire) -> None:
    word = value.get("type")
    kind: Any = FORMATS.read(word) if type(word) is str else None
    if kind is None:
        body.rest["text_format"] = value
        return
    fields: dict[str, Any] = {}
    known = {"type"}
    if kind == "json_schema":
        for name, json_type in _FORMAT_FIELDS.items():
            if type(value.get(name)) is json_type:
                fields[name] = value[name]
                known.add(name)
        gone = [name for name in ("name", "schema") if name not in value]
        if gone:
            body.form["format_absent"] = gone
    body.options["response_format"] = ResponseFormat(kind, **fields)
    _keep(body, "text_format", value, known)


def read_reasoning_options(body: Body, key: str, value: Any) -> None:
    expect(value, dict, NAME, "$.reasoning")
    known = set()
    effort, visible = value.get("effort"), None
    if type(effort) is str and effort in EFFORTS:
        known.add("effort")
    else:
        effort = None
    if "summary" in value and value["summary"] is None:
        visible = False
        known.add("summary")
    elif type(value.get("summary")) is str and value["summary"] in SUMMARIES:
        visible = True
        known.add("summary")
        if value["summary"] != SUMMARY:
            body.form["summary"] = value["summary"]
    if known:
        body.options["reasoning"] = Reasoning(effort, None, visible)
    _keep(body, "reasoning", value, known)


def _keep(body: Body, key: str, value: Wire, known: set[str]) -> None:
    """What an object says beside its fields."""
    rest, spelled = spare(value, known)
    if rest:
        body.rest[key] = rest
    if spelled or not value:
        body.form[key] = spelled


# Writing -------------------------------------------------------------------------------------


def write_word(
    wire: Wire, key: str, options: Options, words: frozenset[str], form: Wire, scribe: Scribe
) -> None:
    """A word of a closed set; another only where it was read here."""
    word = getattr(options, key)
    if word in words or form.get(key) == word:
        wire[key] = word
    else:
        scribe.lost(options, key, f"{NAME} has no such word")


def write_text(options: Options, wire: Wire, rest: Wire, form: Wire, scribe: Scribe) -> None:
    text: Wire = {}
    if options.response_format is not None:
        text["format"] = _write_format(options.response_format, rest, form, scribe)
    elif "text_format" in rest:
        text["format"] = rest.pop("text_format")
    if options.verbosity is not None:
        write_word(text, "verbosity", options, VERBOSITIES, form, scribe)
    _restore(wire, "text", text, rest, form)


def _write_format(wanted: ResponseFormat, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    wire: Wire = {"type": FORMATS.write(wanted.kind) or "text"}
    if wanted.kind not in FORMATS.words.values():
        scribe.lost(wanted, "kind")
    if wanted.kind == "json_schema":
        for key in _FORMAT_FIELDS:
            value = getattr(wanted, key)
            if value is not None:
                wire[key] = value
        gone = form.get("format_absent", ())
        kept = {**form.get("text_format", {}), **rest.get("text_format", {})}
        for key, filler in (("name", FORMAT_NAME), ("schema", {})):
            if key not in wire and key not in gone and key not in kept:
                wire[key] = filler
                scribe.filled(wanted, key, str(filler))
    else:
        scribe.unsaid(wanted, frozenset({"kind"}))
    for kept in (rest.pop("text_format", {}), form.get("text_format", {})):
        for key, value in kept.items():
            wire.setdefault(key, value)
    return wire


def write_reasoning_options(
    reasoning: Reasoning | None, wire: Wire, rest: Wire, form: Wire, scribe: Scribe
) -> None:
    written: Wire = {}
    if reasoning is not None:
        off = reasoning.mode == "off"
        if off:
            written["effort"] = "none"
        elif reasoning.effort in EFFORTS:
            written["effort"] = reasoning.effort
        if reasoning.visible is not None:
            written["summary"] = form.get("summary", SUMMARY) if reasoning.visible else None
        if written:
            _lose_reasoning(reasoning, off, scribe)
        else:
            scribe.lost(reasoning, None, "thinking is asked for by an effort only")
    _restore(wire, "reasoning", written, rest, form)


def _lose_reasoning(reasoning: Reasoning, off: bool, scribe: Scribe) -> None:
    if reasoning.effort is not None and (off or reasoning.effort not in EFFORTS):
        scribe.lost(reasoning, "effort", "thinking is off" if off else None)
    if reasoning.budget_tokens is not None:
        scribe.lost(reasoning, "budget_tokens")
    if reasoning.mode is not None and not off:
        kind: LossKind = "dropped" if reasoning.effort is None else "approximated"
        scribe.lost(reasoning, "mode", "thinking is asked for by an effort only", kind=kind)


def _restore(wire: Wire, key: str, written: Wire, rest: Wire, form: Wire) -> None:
    """Write an object with what was kept of it, if there is any of it."""
    for kept in (rest.pop(key, {}), form.get(key, {})):
        if type(kept) is dict:
            for name, value in kept.items():
                written.setdefault(name, value)
    if written or key in form:
        wire[key] = written
