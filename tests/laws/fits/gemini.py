"""Gemini's models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.laws.fits.names import Model
from tests.laws.fits.refusal import Refusal, at

SERVER = ("googleSearch", "googleSearchRetrieval", "urlContext", "codeExecution", "fileSearch")


def contents(model: Model, wire: Any, is_developer: bool) -> Iterator[Refusal]:
    config = wire.get("generationConfig") or {}
    yield from thought(model, config.get("thinkingConfig") or {})
    yield from tools(model, wire, config)
    heat = config.get("temperature")
    if heat is not None and not 0 <= heat <= 2:
        yield Refusal("GEM-TEMP", f"temperature {heat}")
    penalties = [key for key in ("presencePenalty", "frequencyPenalty") if config.get(key)]
    if penalties and is_developer and model.version == (2, 5):
        yield Refusal("GEM-PENALTY", ", ".join(penalties))
    if model.version >= (3, 0):
        yield from signed(wire)
    else:
        yield from looked_at(wire)


def looked_at(wire: Any) -> Iterator[Refusal]:
    """Before Gemini 3 the resolution is one for the whole request."""
    if any("mediaResolution" in part for part in _parts(wire.get("contents"))):
        yield Refusal("GEM-RESOLUTION", "a resolution for one image")


def gemma(model: Model, wire: Any) -> Iterator[Refusal]:
    """Gemma 3 has no instructions: "Developer instruction is not enabled"."""
    yield from looked_at(wire)
    if model.version < (4, 0) and wire.get("systemInstruction"):
        yield Refusal("GEMMA-SYSTEM", "systemInstruction")


def thought(model: Model, config: Any) -> Iterator[Refusal]:
    budget, level = config.get("thinkingBudget"), config.get("thinkingLevel")
    level = level.upper() if isinstance(level, str) else level
    if model.version < (2, 5):
        if budget or level:
            yield Refusal("GEM-THINK", "thinkingConfig before 2.5")
        return
    if budget is not None and level is not None:
        yield Refusal("GEM-THINK", "a budget and a level")
    if model.version < (3, 0):
        if level is not None:
            yield Refusal("GEM-LEVEL", "a level before 3")
        yield from budgeted(model, budget)
        return
    if budget == 0:
        yield Refusal("GEM-OFF", "thinking cannot be switched off")
    if level is not None and level not in levels(model):
        yield Refusal("GEM-LEVEL", f"level {level} of {sorted(levels(model))}")


def budgeted(model: Model, budget: Any) -> Iterator[Refusal]:
    if budget is None or budget == -1:
        return
    least, most = (128, 32768) if model.has("pro") else (512 if model.has("lite") else 1, 24576)
    if budget == 0 and not model.has("pro"):
        return
    if not least <= budget <= most:
        yield Refusal("GEM-BUDGET", f"a budget of {budget} of {least} to {most}")


def levels(model: Model) -> frozenset[str]:
    usual = {"LOW", "MEDIUM", "HIGH"}
    if model.has("pro") and model.version == (3, 0):
        return frozenset({"LOW", "HIGH"})
    is_early_flash = model.has("flash") and model.version <= (3, 6)
    return frozenset(usual | {"MINIMAL"} if is_early_flash else usual)


def tools(model: Model, wire: Any, config: Any) -> Iterator[Refusal]:
    every = [tool for tool in wire.get("tools") or () if isinstance(tool, dict)]
    functions = any(tool.get("functionDeclarations") for tool in every)
    hosted = {key for tool in every for key in SERVER if key in tool}
    mode = at(wire, "toolConfig", "functionCallingConfig", "mode")
    is_json = config.get("responseMimeType") == "application/json"
    if functions and is_json and model.version < (3, 0):
        yield Refusal("GEM-JSON-TOOLS", "JSON and functions")
    elif functions and is_json and mode == "ANY":
        yield Refusal("GEM-JSON-TOOLS", "JSON and a forced function")
    if functions and hosted - {"codeExecution"} and model.version < (3, 0):
        yield Refusal("GEM-MIXED", f"functions and {', '.join(sorted(hosted))}")
    if model.version < (3, 0) and any(
        at(part, "functionResponse", "parts") for part in _parts(wire.get("contents"))
    ):
        yield Refusal("GEM-FR-PARTS", "media inside a result")


def _parts(contents: Any) -> Iterator[Any]:
    for content in contents or ():
        yield from content.get("parts") or ()


def signed(wire: Any) -> Iterator[Refusal]:
    """In the turn that is under way, the first call of each step has its signature."""
    contents = wire.get("contents") or []
    begins = 0
    for number, content in enumerate(contents):
        parts = content.get("parts") or ()
        is_user = content.get("role", "user") == "user"
        if is_user and any("functionResponse" not in part for part in parts):
            begins = number
    for content in contents[begins:]:
        calls = [part for part in content.get("parts") or () if "functionCall" in part]
        if content.get("role") == "model" and calls and not calls[0].get("thoughtSignature"):
            yield Refusal("GEM-SIGNATURE", "the first call of a step has no signature")
