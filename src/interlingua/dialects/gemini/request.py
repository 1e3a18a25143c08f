"""The body of a request. Model and stream are in the URL; a body that names the model all the same
has `model` in its spelling."""

from __future__ import annotations

from typing import Any

from interlingua.dialects.base import Scribe, Wire
from interlingua.dialects.gemini.choice import read_tool_config, write_tool_config
from interlingua.dialects.gemini.config import read_config, write_config
from interlingua.dialects.gemini.contents import read_contents, read_system, write_messages
from interlingua.dialects.gemini.spelling import Taking, WrongShapeError, mine, spell
from interlingua.dialects.gemini.tables import SAID_OPTIONS, SERVICE_TIERS, is_label
from interlingua.dialects.gemini.tools import read_tools, write_tools
from interlingua.model.exchange import Continues, Options, Request
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

_NO_OPTIONS = Request().options
_TOKEN = frozenset({"token"})

# -- reading --------------------------------------------------------------------------------------


def read_request(wire: Any, model: str | None = None, stream: bool | None = None) -> Request:
    try:
        body = Taking(wire)
        messages = _read_messages(body)
        tools = _read_tools(body) if "tools" in body.left else ()
        options = _read_options(body, stream)
        token = body.take("continuationToken", str)
        model = _read_model(body, model)
    except WrongShapeError as odd:
        raise odd.error("request") from None
    continues = None if token is None else Continues(token=token)
    return Request(tuple(messages), model, tools, options, continues, body.raw())


def _read_messages(body: Taking) -> list[Message]:
    messages: list[Message] = []
    key = "systemInstruction" if "systemInstruction" in body.left else "system_instruction"
    if type(body.left.get(key)) is str:
        system: Any = body.take("systemInstruction", str)
    else:
        system = body.take("systemInstruction", dict)
    if system is not None:
        messages.append(read_system(system, (None, "systemInstruction")))
    if type(contents := body.left.get("contents")) is dict:
        body.form["one"] = True
        body.left["contents"] = [contents]
    contents = body.take("contents", list, due=True)
    return messages + read_contents(contents or [], (None, "contents"))


def _read_tools(body: Taking) -> tuple[ToolDefinition, ...]:
    if type(entry := body.left.get("tools")) is dict:
        body.form["tool"] = True
        body.left["tools"] = [entry]
    entries = body.take("tools", list)
    if entries is None:
        return ()
    tools, hollow = read_tools(entries, (None, "tools"))
    if not entries:
        body.form["toolless"] = True
    if hollow:
        body.form["hollow"] = hollow
    return tools


def _read_options(body: Taking, stream: bool | None) -> Options:
    given: dict[str, Any] = {}
    if (config := body.inside("generationConfig")) is not None:
        read_config(config, given)
        body.absorb("generationConfig", config)
    if (tools := body.inside("toolConfig")) is not None:
        given["tool_choice"] = read_tool_config(tools)
        body.absorb("toolConfig", tools)
    if (labels := _read_labels(body)) is not None:
        given["metadata"] = labels
        body.form["labels"] = True
    if (tier := _read_tier(body)) is not None:
        given["service_tier"] = tier
    if stream is not None:
        given["stream"] = stream
    return Options(**given) if given else _NO_OPTIONS


def _read_labels(body: Taking) -> dict[str, str] | None:
    labels = body.take("labels", dict)
    for key, value in (labels or {}).items():
        if type(value) is not str:
            raise WrongShapeError(((None, "labels"), key), "a string", value)
    return labels


def _read_tier(body: Taking) -> str | None:
    word = body.take("serviceTier", str)
    if word is None:
        return None
    tier = word.lower() if word.lower() in SERVICE_TIERS else word
    if SERVICE_TIERS.get(tier) != word or tier != word:
        body.form["tier"] = word
    return tier


def _read_model(body: Taking, model: str | None) -> str | None:
    """The URL's model, or else the body's; another one in the body stays there."""
    named = body.left.get("model")
    if type(named) is not str or model not in (None, named):
        return model
    del body.left["model"]
    body.form["model"] = True
    return named


# -- writing --------------------------------------------------------------------------------------


def write_request(request: Request, scribe: Scribe) -> Wire:
    rest, form = mine(request.raw)
    system, contents = write_messages(request.messages, scribe)
    body: Wire = {"contents": contents}
    if system is not None:
        body["systemInstruction"] = system
    if request.tools or form:
        _write_tools(body, request, form, scribe)
    if request.options is not _NO_OPTIONS or rest or form:
        rest = _write_options(body, request.options, rest, form, scribe)
    if request.continues is not None:
        _write_continues(body, request, scribe)
    if request.raw is None:
        return body
    scribe.unsaid_raw(request, request.raw)
    return _spell_body({**rest, **body}, request, form)


def _spell_body(body: Wire, request: Request, form: Wire) -> Wire:
    if form.get("model") is True and request.model is not None:
        body["model"] = request.model
    if form.get("one") and len(body["contents"]) == 1:
        body["contents"] = body["contents"][0]
    return spell(body, form)


def _write_tools(body: Wire, request: Request, form: Wire, scribe: Scribe) -> None:
    entries = write_tools(request.tools, form.get("hollow") or {}, scribe)
    if form.get("tool") and len(entries) == 1:
        body["tools"] = entries[0]
    elif entries or form.get("toolless"):
        body["tools"] = entries


def _write_options(body: Wire, options: Options, rest: Wire, form: Wire, scribe: Scribe) -> Wire:
    """Add the options to the body; gives what is left of `rest`."""
    rest = dict(rest)
    inner = form.get("generationConfig") or {}
    config = write_config(options, rest.pop("generationConfig", None) or {}, inner, scribe)
    if config or inner.get("void"):
        body["generationConfig"] = config
    inner = form.get("toolConfig") or {}
    kept = rest.pop("toolConfig", None) or {}
    tools = write_tool_config(options.tool_choice, kept, inner, scribe)
    if tools or inner.get("void"):
        body["toolConfig"] = tools
    if options.metadata is not None:
        _write_labels(body, options, options.metadata, form, scribe)
    if options.service_tier is not None:
        _write_tier(body, options, form, scribe)
    scribe.unsaid(options, SAID_OPTIONS)
    return rest


def _write_labels(
    body: Wire, options: Options, metadata: dict[str, str], form: Wire, scribe: Scribe
) -> None:
    """Metadata as labels, which are for the bill and have a grammar of their own; those that were
    labels stay as they are."""
    if form.get("labels") or not metadata:
        body["labels"] = metadata
        return
    labels = {key: value for key, value in metadata.items() if is_label(key, value)}
    if labels:
        body["labels"] = labels
        reason = "said as labels for the bill"
        if len(labels) < len(metadata):
            reason = f"{reason}, which cannot hold all of it"
        scribe.lost(options, "metadata", reason, kind="approximated")
    else:
        scribe.lost(options, "metadata", "labels cannot hold it")


def _write_tier(body: Wire, options: Options, form: Wire, scribe: Scribe) -> None:
    tier = options.service_tier or ""
    word = form.get("tier")
    if type(word) is not str or tier not in (word, word.lower()):
        word = SERVICE_TIERS.get(tier)
    if word is None:
        scribe.lost(options, "service_tier")
        return
    if word.lower() != tier and word != tier:
        scribe.lost(options, "service_tier", "the nearest tier", kind="approximated")
    body["serviceTier"] = word


def _write_continues(body: Wire, request: Request, scribe: Scribe) -> None:
    continues = request.continues
    assert continues is not None
    if continues.token is not None:
        body["continuationToken"] = continues.token
    if continues != Continues(token=continues.token):
        scribe.unsaid(continues, _TOKEN)
        scribe.lost(request, "continues", "only a token goes on from here", kind="approximated")
