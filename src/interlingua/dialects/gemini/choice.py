"""`toolConfig`, to the choice of tools and back."""

from __future__ import annotations

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.spelling import Taking, settle, spell
from interlingua.dialects.gemini.tables import MODES, NARROWED
from interlingua.model.exchange import ToolChoice


def read_tool_config(tools: Taking) -> ToolChoice | None:
    if not tools.left:
        tools.form["void"] = True
    calling = tools.inside("functionCallingConfig")
    if calling is None:
        return None
    choice = _read_choice(calling)
    tools.absorb("functionCallingConfig", calling)
    return choice


def _read_choice(calling: Taking) -> ToolChoice | None:
    if not calling.left:
        calling.form["void"] = True
    names = calling.take_strings("allowedFunctionNames")
    if names == ():
        calling.form["nobody"] = True
    word = calling.left.get("mode")
    if type(word) is not str or (mode := MODES.read(word.upper())) is None:
        if word is None:
            calling.take("mode", str, due=True)
        return ToolChoice("auto", names) if names else None
    # Calls that must fit their schemas are more than a spelling of auto: that word stays.
    if word.upper() != NARROWED or names:
        del calling.left["mode"]
        if word != _word(mode, names):
            calling.form["mode"] = word
    return ToolChoice(mode, names or ())  # type: ignore[arg-type]  # from the table


def _word(mode: str, names: tuple[str, ...] | None) -> str | None:
    return NARROWED if names and mode == "auto" else MODES.write(mode)


def write_tool_config(choice: ToolChoice | None, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    """`rest` and `form` are what was kept beside the fields."""
    out = rest.copy()
    kept = out.pop("functionCallingConfig", None) or {}
    inner = form.get("functionCallingConfig") or {}
    calling = spell(_write_choice(choice, kept, inner, scribe), inner)
    if calling or inner.get("void"):
        out["functionCallingConfig"] = calling
    return spell(out, form)


def _write_choice(choice: ToolChoice | None, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    others = {key: value for key, value in rest.items() if key != "mode"}
    plain = others.copy()
    if choice is not None:
        plain["mode"] = _word(choice.mode, choice.names)
        if choice.names:
            plain["allowedFunctionNames"] = list(choice.names)
    odd = {**plain, **rest}
    if "mode" in form:
        odd["mode"] = form["mode"]
    elif "mode" in (*form.get("absent", ()), *form.get("nil", ())):
        odd.pop("mode", None)
    if form.get("nobody") and not (choice and choice.names):
        odd["allowedFunctionNames"] = []
    return settle(choice, None, [odd, plain], _read_choice, scribe)
