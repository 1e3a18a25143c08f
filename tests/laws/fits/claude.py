"""Claude's models, by the Messages API and by Converse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.laws.fits import media
from tests.laws.fits.names import Model
from tests.laws.fits.refusal import Refusal, at, count, found, is_open, objects

NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
LENGTHS = ("minLength", "maxLength")
MOST_MARKS = 4
MOST_STRICT, MOST_OPTIONAL, MOST_UNIONS = 20, 24, 16


def messages(model: Model, wire: Any) -> Iterator[Refusal]:
    thinking, choice = at(wire, "thinking") or {}, at(wire, "tool_choice", "type")
    asked = {key: wire.get(key) for key in ("temperature", "top_p", "top_k")}
    effort = at(wire, "output_config", "effort")
    yield from thought(model, thinking, effort, wire.get("max_tokens"))
    yield from sampled(model, asked, thinking)
    yield from forced(model, choice in ("any", "tool"), thinking)
    yield from turns(model, wire)
    schema = at(wire, "output_config", "format", "schema") or at(wire, "output_format", "schema")
    if schema is not None:
        yield from formatted(model, schema)
    yield from tools(wire)
    if (wire.get("max_tokens") or 0) > most_output(model):
        yield Refusal("ANT-MAX", f"max_tokens {wire['max_tokens']} of {most_output(model)}")
    if count(wire, "cache_control") > MOST_MARKS:
        yield Refusal("ANT-CACHE-4", f"{count(wire, 'cache_control')} cache marks")
    yield from lasting(wire)
    yield from media.messages(model, wire)


def lasting(wire: Any) -> Iterator[Refusal]:
    """Marks in the order in which a prompt is read: those that last an hour come first."""
    marks = [
        *found(wire.get("tools"), "cache_control"),
        *found(wire.get("system"), "cache_control"),
        *found(wire.get("messages"), "cache_control"),
    ]
    times = [mark.get("ttl") or "5m" for mark in marks]
    if set(times) - {"5m", "1h"}:
        yield Refusal("ANT-TTL", f"marks that last {sorted(set(times))}")
    if "5m" in times and "1h" in times[times.index("5m") :]:
        yield Refusal("ANT-TTL-ORDER", f"marks that last {times}")


def converse(model: Model, wire: Any) -> Iterator[Refusal]:
    more, inference = at(wire, "additionalModelRequestFields") or {}, at(wire, "inferenceConfig")
    thinking = more.get("thinking") or more.get("reasoning_config") or {}
    effort = at(more, "output_config", "effort") or at(wire, "outputConfig", "effort")
    yield from thought(model, thinking, effort, at(inference, "maxTokens"))
    asked = {"temperature": at(inference, "temperature"), "top_p": at(inference, "topP")}
    yield from sampled(model, {**asked, "top_k": more.get("top_k")}, thinking)
    choice = at(wire, "toolConfig", "toolChoice") or {}
    yield from forced(model, "any" in choice or "tool" in choice, thinking)
    if (at(inference, "maxTokens") or 0) > most_output(model):
        yield Refusal("ANT-MAX", f"maxTokens {at(inference, 'maxTokens')}")
    last = (wire.get("messages") or [{}])[-1]
    if model.version >= (4, 6) and last.get("role") == "assistant":
        yield Refusal("ANT-PREFILL", "the last turn is the assistant's")
    for tool in at(wire, "toolConfig", "tools") or ():
        schema = at(tool, "toolSpec", "inputSchema", "json")
        if isinstance(schema, dict) and schema.get("type") != "object":
            yield Refusal("ANT-SCHEMA-TYPE", f"a schema of type {schema.get('type')}")
    longest = {"5m", "1h"} if model.version >= (4, 5) else {"5m"}
    times = {mark.get("ttl") or "5m" for mark in found(wire, "cachePoint")}
    if times - longest:
        yield Refusal("BR-TTL", f"marks that last {sorted(times)}")
    parts = list(converse_parts(wire))
    if any("video" in part for part in parts):
        yield Refusal("BR-VIDEO", "Claude takes no video")
    if any(at(part, "image", "source", "s3Location") for part in parts):
        yield Refusal("BR-S3", "Claude takes no image from S3")


def converse_parts(wire: Any) -> Iterator[Any]:
    """All parts of all turns, those inside of results too."""
    for message in wire.get("messages") or ():
        for part in message.get("content") or ():
            yield part
            yield from at(part, "toolResult", "content") or ()


def is_thinking(model: Model, thinking: Any) -> bool:
    kind = thinking.get("type")
    return kind in ("enabled", "adaptive") or (model.version >= (5, 0) and kind != "disabled")


def thought(model: Model, thinking: Any, effort: Any, limit: Any) -> Iterator[Refusal]:
    version, kind = model.version, thinking.get("type")
    if effort is not None and effort not in efforts(model):
        yield Refusal("ANT-EFFORT", f"effort {effort} of {sorted(efforts(model))}")
    if kind in ("enabled", "adaptive") and version < (3, 7):
        yield Refusal("ANT-BUDGET", f"thinking {kind} before 3.7")
    if kind == "enabled":
        if version >= (4, 7):
            yield Refusal("ANT-BUDGET", "thinking enabled from 4.7 on")
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            yield Refusal("ANT-BUDGET-LEAST", f"a budget of {budget}")
        elif isinstance(limit, int) and budget >= limit:
            yield Refusal("ANT-BUDGET-MOST", f"a budget of {budget} within {limit}")
    if kind == "adaptive" and version < (4, 6):
        yield Refusal("ANT-ADAPTIVE", "adaptive before 4.6")
    if kind == "disabled" and always_thinks(model):
        yield Refusal("ANT-CANNOT-DISABLE", "thinking cannot be switched off")
    if kind == "disabled" and version >= (5, 0) and effort in ("xhigh", "max"):
        yield Refusal("ANT-OFF-EFFORT", f"disabled with effort {effort}")
    if kind == "between_tools" and not (model.has("sonnet") and version >= (5, 5)):
        yield Refusal("ANT-BETWEEN", "between_tools")


def efforts(model: Model) -> frozenset[str]:
    if model.version < (4, 5):
        return frozenset()
    if model.version == (4, 5):
        return frozenset({"low", "medium", "high"} if model.has("opus") else ())
    if model.version == (4, 6):
        return frozenset({"low", "medium", "high", "max"})
    return frozenset({"low", "medium", "high", "xhigh", "max"})


def always_thinks(model: Model) -> bool:
    if model.has("fable", "mythos"):
        return model.version >= (5, 0)
    return model.has("opus", "sonnet") and model.version >= (5, 1)


def sampled(model: Model, asked: dict[str, Any], thinking: Any) -> Iterator[Refusal]:
    heat, share = asked["temperature"], asked["top_p"]
    if model.version >= (4, 7):
        items = [name for name, item in asked.items() if item is not None and item != 1]
        if items:
            yield Refusal("ANT-SAMPLING", f"{', '.join(items)} from 4.7 on")
        return
    if heat is not None and not 0 <= heat <= 1:
        yield Refusal("ANT-TEMP-RANGE", f"temperature {heat}")
    is_newer = model.version >= (4, 5) or (model.version == (4, 1) and model.has("opus"))
    if is_newer and heat is not None and share is not None:
        yield Refusal("ANT-TEMP-XOR-TOPP", "temperature and top_p")
    if thinking.get("type") in ("enabled", "adaptive"):
        if heat not in (None, 1) or asked["top_k"] is not None:
            yield Refusal("ANT-THINK-SAMPLING", "temperature or top_k while thinking")
        if share is not None and share < 0.95:
            yield Refusal("ANT-THINK-SAMPLING", f"top_p {share} while thinking")


def forced(model: Model, is_forced: bool, thinking: Any) -> Iterator[Refusal]:
    if not is_forced:
        return
    if model.version >= (5, 1) and model.has("fable", "mythos", "opus", "sonnet"):
        yield Refusal("ANT-FORCED", "a tool is forced")
    elif thinking.get("type") == "enabled":
        yield Refusal("ANT-FORCED", "a tool is forced while thinking is enabled")


def turns(model: Model, wire: Any) -> Iterator[Refusal]:
    roles = [at(message, "role") for message in wire.get("messages") or ()]
    for number, role in enumerate(roles):
        if role != "system":
            continue
        if model.version < (4, 8):
            yield Refusal("ANT-MIDSYS", "role system in messages")
        elif number == 0 or roles[number - 1] not in ("user", "system"):
            yield Refusal("ANT-MIDSYS-PLACE", "a system turn that follows no user turn")
        elif number + 1 < len(roles) and roles[number + 1] not in ("assistant", "system"):
            yield Refusal("ANT-MIDSYS-PLACE", "a system turn before a user turn")
    if roles and roles[-1] == "assistant" and model.version >= (4, 6):
        yield Refusal("ANT-PREFILL", "the last turn is the assistant's")


def formatted(model: Model, schema: Any) -> Iterator[Refusal]:
    if model.version < (4, 5) and not (model.version == (4, 1) and model.has("opus")):
        yield Refusal("ANT-NO-SCHEMA", "output_config.format")
    yield from strict(schema, "the output's schema")


def strict(schema: Any, what: str) -> Iterator[Refusal]:
    every = list(objects(schema))
    for each in every:
        found = [key for key in (*NUMBERS, *LENGTHS) if key in each]
        if found:
            yield Refusal("ANT-SCHEMA-KEYS", f"{what} has {', '.join(found)}")
        if is_open(each):
            yield Refusal("ANT-SCHEMA-OPEN", f"{what} is open")


def tools(wire: Any) -> Iterator[Refusal]:
    bound = []
    for tool in wire.get("tools") or ():
        schema = tool.get("input_schema")
        if isinstance(schema, dict) and schema.get("type") != "object":
            yield Refusal("ANT-SCHEMA-TYPE", f"a schema of type {schema.get('type')}")
        if tool.get("strict") is True:
            bound.append(schema)
    if len(bound) > MOST_STRICT:
        yield Refusal("ANT-STRICT", f"{len(bound)} strict tools")
    every = [each for schema in bound for each in objects(schema)]
    optional = sum(
        len(set(each.get("properties") or ()) - set(each.get("required") or ())) for each in every
    )
    unions = sum("anyOf" in each or isinstance(each.get("type"), list) for each in every)
    if optional > MOST_OPTIONAL:
        yield Refusal("ANT-STRICT", f"{optional} optional parameters")
    if unions > MOST_UNIONS:
        yield Refusal("ANT-STRICT", f"{unions} unions")
    for schema in bound:
        yield from strict(schema, "a strict tool's schema")


def most_output(model: Model) -> int:
    version = model.version
    if version >= (4, 6):
        return 128_000
    if version >= (4, 5):
        return 64_000
    if version >= (4, 0):
        return 32_000 if model.has("opus") else 64_000
    if version >= (3, 7):
        return 128_000  # with a header; 64,000 without
    return 8192 if version >= (3, 5) else 4096
