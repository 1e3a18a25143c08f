"""OpenAI's models, by Chat Completions and by Responses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.laws.fits import media
from tests.laws.fits.names import Model
from tests.laws.fits.refusal import Refusal, at, count, is_open, objects

NOT_STRICT = ("allOf", "propertyNames", "not", "dependentRequired", "if", "then", "else")


def is_plain(model: Model) -> bool:
    """A model that does not think."""
    return (model.family == "gpt" and model.version < (5, 0)) or model.has("chat", "chatgpt")


def never_none(model: Model) -> bool:
    return model.has("astra") or (model.version >= (6, 1) and model.has("sol"))


def chat(model: Model, wire: Any) -> Iterator[Refusal]:
    effort = wire.get("reasoning_effort")
    yield from sampled(model, wire, effort, wire.get("logprobs"))
    yield from worded(model, wire)
    yield from media.chat(wire, 500, "OAI-IMAGES")
    if effort is not None and effort not in efforts(model, is_chat=True):
        yield Refusal("OAI-EFFORT", f"effort {effort} of {sorted(efforts(model, True))}")
    yield from functions(model, wire, effort)
    if model.has("pro", "codex") and not is_plain(model):
        yield Refusal("OAI-CHAT", "not served on Chat")
    if wire.get("verbosity") is not None and not _verbosity(model, wire["verbosity"]):
        yield Refusal("OAI-VERBOSITY", f"verbosity {wire['verbosity']}")
    yield from cached(model, wire)
    if wire.get("parallel_tool_calls") is not None and not wire.get("tools"):
        yield Refusal("OAI-PARALLEL", "parallel_tool_calls without tools")
    schema = at(wire, "response_format", "json_schema")
    if schema is not None and schema.get("strict"):
        yield from strict(schema.get("schema"), "the output's schema")
    for tool in wire.get("tools") or ():
        if at(tool, "function", "strict"):
            yield from strict(at(tool, "function", "parameters"), "a strict tool's schema")
    if not is_plain(model) and any(part.get("type") == "input_audio" for part in _parts(wire)):
        yield Refusal("OAI-AUDIO", "an audio part")


def _parts(wire: Any) -> Iterator[Any]:
    for message in wire.get("messages") or ():
        content = message.get("content") if isinstance(message, dict) else None
        yield from (part for part in content or () if isinstance(part, dict))


def responses(model: Model, wire: Any) -> Iterator[Refusal]:
    effort = at(wire, "reasoning", "effort")
    asked = "message.output_text.logprobs" in (wire.get("include") or ()) or None
    yield from sampled(model, wire, effort, asked or wire.get("top_logprobs"))
    if effort is not None and effort not in efforts(model, is_chat=False):
        yield Refusal("OAI-EFFORT", f"effort {effort} of {sorted(efforts(model, False))}")
    verbosity = at(wire, "text", "verbosity")
    if verbosity is not None and not _verbosity(model, verbosity):
        yield Refusal("OAI-VERBOSITY", f"verbosity {verbosity}")
    yield from cached(model, wire)
    form = at(wire, "text", "format") or {}
    if form.get("type") == "json_schema" and form.get("strict"):
        yield from strict(form.get("schema"), "the output's schema")
    for tool in wire.get("tools") or ():
        if tool.get("type") == "function" and tool.get("strict"):
            yield from strict(tool.get("parameters"), "a strict tool's schema")


def efforts(model: Model, is_chat: bool) -> frozenset[str]:
    version = model.version
    usual = {"low", "medium", "high"}
    if is_plain(model):
        return frozenset()
    if model.family == "o":
        return frozenset(usual)
    if version == (5, 0):
        return frozenset({"high"} if model.has("pro") else usual | {"minimal"})
    if model.has("pro", "codex"):
        usual |= {"xhigh"}
        return frozenset(usual | {"none", "max"})  # their lists are not known well enough
    if version == (5, 1):
        return frozenset(usual | {"none"})
    found = usual | {"xhigh"}
    if not never_none(model):
        found |= {"none"}
    if version >= (5, 6) and not is_chat:
        found |= {"max"}
    return frozenset(found)


def sampled(model: Model, wire: Any, effort: Any, logprobs: Any) -> Iterator[Refusal]:
    heat = wire.get("temperature")
    if heat is not None and not 0 <= heat <= 2:
        yield Refusal("OAI-TEMP-RANGE", f"temperature {heat}")
    items = [key for key in ("temperature", "top_p") if wire.get(key) not in (None, 1)]
    items += ["logprobs"] if logprobs else []
    if not items or is_plain(model):
        return
    if model.family == "o" or model.version == (5, 0) or never_none(model):
        yield Refusal("OAI-SAMPLING", f"{', '.join(items)}, never")
    elif effort not in (None, "none") or (effort is None and model.version >= (5, 5)):
        yield Refusal("OAI-SAMPLING", f"{', '.join(items)} with effort {effort}")


def worded(model: Model, wire: Any) -> Iterator[Refusal]:
    """Words of Chat that models which think do not take."""
    stops = wire.get("stop")
    if is_plain(model):
        if isinstance(stops, list) and len(stops) > 4:
            yield Refusal("OAI-STOP", f"{len(stops)} stop words")
        return
    for key in ("presence_penalty", "frequency_penalty", "logit_bias"):
        if wire.get(key):
            yield Refusal("OAI-PENALTY", key)
    if stops and (model.family == "gpt" or model.name == "o1-mini"):
        yield Refusal("OAI-STOP", "stop")
    if wire.get("max_tokens") is not None:
        yield Refusal("OAI-MAX-NAME", "max_tokens")


def functions(model: Model, wire: Any, effort: Any) -> Iterator[Refusal]:
    if not wire.get("tools") or is_plain(model) or model.family == "o":
        return
    if never_none(model):
        yield Refusal("OAI-TOOLS-CHAT", "tools on Chat")
    elif model.version >= (5, 6):
        if effort != "none":
            yield Refusal("OAI-TOOLS-CHAT", f"tools on Chat with effort {effort}")
    elif model.version >= (5, 4) and effort not in (None, "none"):
        yield Refusal("OAI-TOOLS-CHAT", f"tools on Chat with effort {effort}")


def _verbosity(model: Model, word: Any) -> bool:
    return word == "medium" or (not is_plain(model) and word in ("low", "high"))


def cached(model: Model, wire: Any) -> Iterator[Refusal]:
    has = count(wire.get("messages") or wire.get("input"), "prompt_cache_breakpoint")
    if has and (model.family == "o" or model.version < (5, 6)):
        yield Refusal("OAI-CACHE-BP", f"{has} cache marks")


def strict(schema: Any, what: str) -> Iterator[Refusal]:
    for each in objects(schema):
        found = [key for key in NOT_STRICT if key in each]
        if found:
            yield Refusal("OAI-STRICT", f"{what} has {', '.join(found)}")
        if is_open(each):
            yield Refusal("OAI-STRICT", f"{what} is open")
        missing = set(each.get("properties") or ()) - set(each.get("required") or ())
        if missing:
            yield Refusal("OAI-STRICT", f"{what} does not require {sorted(missing)[:3]}")
