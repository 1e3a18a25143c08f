"""The Chat Completions wire as facts, with what the compatible hosts add to it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.laws.facts.chat_stream import assembled
from tests.laws.facts.shape import (
    Facts,
    Piece,
    Tool,
    by_claude,
    by_modality,
    calls_of,
    counts,
    data_url,
    derived,
    fresh,
    opaque,
    parsed,
    put,
)

STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "model_length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
    "eos": "end_turn",  # Together
}
ISSUERS = {
    "anthropic-claude-v1": "anthropic",
    "google-gemini-v1": "google",
    "openai-responses-v1": "openai",
    "azure-openai-responses-v1": "openai",
}
OPTIONS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "min_p": "min_p",
    "seed": "seed",
    "random_seed": "seed",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "repetition_penalty": "repetition_penalty",
    "n": "n",
    "parallel_tool_calls": "parallel_tool_calls",
    "service_tier": "service_tier",
    "user": "user",
    "safety_identifier": "user",
    "prompt_cache_key": "cache_key",
    "prompt_cache_retention": "cache_retention",
    "metadata": "metadata",
    "verbosity": "verbosity",
    "modalities": "modalities",
    "logit_bias": "logit_bias",
    "stream": "stream",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort",
}


def request(wire: Any) -> Facts:
    facts = Facts(lasts="30m")
    for message in wire.get("messages") or ():
        facts.pieces += _message(message)
    facts.tools = [_tool(each) for each in wire.get("tools") or ()]
    facts.tools += [_function(each, {}) for each in wire.get("functions") or ()]
    facts.options = _options(wire)
    return facts


def _message(message: Any) -> list[Piece]:
    role = message.get("role") or "user"
    if role in ("tool", "function"):
        return _result(message)
    pieces = _thoughts(message, role) if role == "assistant" else []
    pieces += _content(message.get("content"), role)
    if message.get("refusal"):
        pieces.append(Piece("refusal", role, message["refusal"]))
    audio = message.get("audio") or {}
    if audio.get("data") or audio.get("id"):
        pieces.append(
            Piece(
                "audio",
                role,
                audio.get("transcript") or "",
                data=audio.get("data") or audio.get("id"),
            )
        )
    pieces += [_part(each, role) for each in message.get("images") or ()]
    pieces += [_call(each) for each in message.get("tool_calls") or ()]
    legacy = message.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):
        pieces.append(Piece("call", role, name=legacy["name"], data=parsed(legacy["arguments"])))
    _annotated(pieces, message)
    google = ((message.get("extra_content") or {}).get("google") or {}).get("thought_signature")
    if google and pieces:
        pieces[0].signature, pieces[0].issuer = google, "google"
    if pieces:
        pieces[-1].cache = pieces[-1].cache if pieces[-1].cache is not None else _cache(message)
    for piece in pieces:
        piece.speaker = message.get("name") or None
    return pieces


def _annotated(pieces: list[Piece], message: Any) -> None:
    cites = []
    for each in message.get("annotations") or ():
        cited = each.get("url_citation") or {}
        cites += [str(cited["url"])] if cited.get("url") else []
    texts = [piece for piece in pieces if piece.kind == "text"]
    if cites and texts:
        texts[0].cites = tuple(cites)


def _thoughts(message: Any, role: str) -> list[Piece]:
    """Details tell the same as the plain text beside them, and more."""
    details = message.get("reasoning_details") or ()
    plain = message.get("reasoning_content") or message.get("reasoning")
    signature = message.get("reasoning_signature") or None
    pieces = [_detail(each, role) for each in details if isinstance(each, dict)]
    if plain and not any(piece.kind == "thinking" and piece.text for piece in pieces):
        thought = Piece("thinking", role, plain, signature=signature)
        thought.issuer = "host" if signature else None
        pieces.insert(0, thought)
    return pieces


def _detail(each: Any, role: str) -> Piece:
    issuer = ISSUERS.get(each.get("format"), "host")
    match each.get("type"):
        case "reasoning.text":
            return Piece(
                "thinking",
                role,
                each.get("text") or "",
                signature=each.get("signature") or None,
                issuer=issuer,
            )
        case "reasoning.summary":
            return Piece("thinking", role, each.get("summary") or "", issuer=issuer)
        case "reasoning.encrypted":
            return Piece("redacted", role, data=each.get("data"), issuer=issuer)
    return opaque(role, each)


def _content(content: Any, role: str) -> list[Piece]:
    if isinstance(content, str):
        return [Piece("text", role, content)] if content else []
    if isinstance(content, dict):
        return [Piece("text", role, json.dumps(content, ensure_ascii=False, separators=(",", ":")))]
    return [_part(part, role) for part in content or ()]


def _part(part: Any, role: str) -> Piece:
    kind = part.get("type") if isinstance(part, dict) else None
    match kind:
        case "text":
            piece = Piece("text", role, part["text"])
        case "refusal":
            piece = Piece("refusal", role, part["refusal"])
        case "thinking":
            inner = part.get("thinking")
            texts = [each.get("text", "") for each in inner] if isinstance(inner, list) else [inner]
            signature = part.get("signature") or None
            piece = Piece("thinking", role, "".join(texts), signature=signature, issuer="host")
        case "image_url" | "video_url" | "input_video" | "document_url":
            piece = _linked(part, kind, role)
        case "input_audio":
            sound = part["input_audio"]
            sound = sound if isinstance(sound, dict) else {"data": sound}
            form = sound.get("format")
            types = {"mp3": "audio/mpeg"}
            named = types.get(form, f"audio/{form}") if form else None
            piece = Piece("audio", role, data=data_url(sound["data"])[1], media_type=named)
        case "file":
            piece = _file(part, role)
        case _:
            return opaque(role, part)
    piece.cache = _cache(part)
    return piece


def _linked(part: Any, kind: str, role: str) -> Piece:
    link = part.get(kind)
    url = link["url"] if isinstance(link, dict) else link
    media_type, data = data_url(url)
    word = {"image_url": "image", "document_url": "document"}.get(kind, "video")
    piece = Piece(word, role, data=data, media_type=media_type)
    if isinstance(link, dict):
        piece.detail = link.get("detail")
    piece.name = part.get("document_name")
    return piece


def _file(part: Any, role: str) -> Piece:
    file = part.get("file") or part
    media_type, data = data_url(file.get("file_data") or "")
    data = data or file.get("file_id")
    return Piece("document", role, name=file.get("filename"), data=data, media_type=media_type)


def _cache(wire: Any) -> str | None:
    mark = wire.get("cache_control") or wire.get("prompt_cache_breakpoint")
    return (mark.get("ttl") or "") if isinstance(mark, dict) else None


def _call(call: Any) -> Piece:
    piece = Piece("call", "assistant", id=call.get("id"), cache=_cache(call))
    if call.get("type") == "custom" or (call.get("function") is None and "custom" in call):
        custom = call["custom"]
        piece.name, piece.data, piece.text = custom["name"], {"input": custom["input"]}, "custom"
        return piece
    function = call.get("function") or {}
    piece.name, piece.data = function.get("name"), parsed(function.get("arguments") or "")
    google = ((call.get("extra_content") or {}).get("google") or {}).get("thought_signature")
    if google:
        piece.signature, piece.issuer = google, "google"
    return piece


def _result(message: Any) -> list[Piece]:
    parts = _content(message.get("content"), "tool")
    texts = [part.text for part in parts if part.kind == "text"]
    result = Piece("result", "tool", "\n".join(texts), message.get("tool_call_id"))
    result.name = message.get("name")
    caches = [part.cache for part in parts if part.cache is not None]
    result.cache = caches[-1] if caches else _cache(message)
    return [result, *[part for part in parts if part.kind != "text"]]


def _tool(tool: Any) -> Tool:
    kind = tool.get("type") or "function"
    if kind == "function":
        return _function(tool.get("function") or {}, tool)
    if kind == "custom":
        custom = tool["custom"]
        form = custom.get("format") or {}
        found = Tool(custom["name"], "custom", custom.get("description"))
        if form.get("type") == "grammar":
            grammar = form.get("grammar") or form
            found.grammar = grammar["syntax"], grammar["definition"]
        return found
    return Tool(kind, kind)


def _function(function: Any, tool: Any) -> Tool:
    return Tool(
        function["name"],
        "function",
        function.get("description"),
        function.get("parameters"),
        function.get("strict"),
        cache=_cache(tool),
        deferred=tool.get("defer_loading"),
    )


def _options(wire: Any) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for key, name in OPTIONS.items():
        put(options, name, wire.get(key))
    caching = wire.get("prompt_cache_options") or {}
    put(options, "cache_mode", caching.get("mode"))
    put(options, "cache_ttl", caching.get("ttl"))
    stop = wire.get("stop")
    put(options, "stop", [stop] if isinstance(stop, str) else stop)
    if wire.get("logprobs"):
        options["logprobs"] = wire.get("top_logprobs") or 0
    put(options, "cache", _cache(wire) if "cache_control" in wire else None)
    _reasoning(wire, options)
    _choice(wire.get("tool_choice", wire.get("function_call")), options)
    _format(wire.get("response_format") or {}, options)
    return options


def _reasoning(wire: Any, options: dict[str, Any]) -> None:
    """Each host has a switch of its own: DeepSeek, Z.ai; Qwen; OpenRouter; Groq."""
    thinking = wire.get("thinking") or {}
    switch = wire.get("enable_thinking")
    reasoning = wire.get("reasoning") or {}
    modes = {"enabled": "on", "disabled": "off"}
    if thinking.get("type") is not None:
        options["reasoning.mode"] = modes.get(thinking["type"], thinking["type"])
    elif switch is not None:
        options["reasoning.mode"] = "on" if switch else "off"
    elif reasoning.get("enabled") is not None:
        options["reasoning.mode"] = "on" if reasoning["enabled"] else "off"
    elif wire.get("reasoning_effort") == "default" or wire.get("reasoning") == {}:
        options["reasoning.mode"] = "on"
        options.pop("reasoning.effort", None)
    put(options, "reasoning.effort", reasoning.get("effort"))
    budget = reasoning.get("max_tokens")
    put(options, "reasoning.budget_tokens", budget or thinking.get("budget_tokens"))
    shown = reasoning.get("exclude")
    if shown is not None:
        options["reasoning.visible"] = not shown


def _choice(choice: Any, options: dict[str, Any]) -> None:
    words = {"auto": "auto", "none": "none", "required": "any", "any": "any"}
    if isinstance(choice, str):
        options["tool_choice"] = (words.get(choice, choice), ())
    elif isinstance(choice, dict):
        allowed = choice.get("allowed_tools")
        if allowed:
            names = [_chosen(each) for each in allowed["tools"]]
            options["tool_choice"] = (words[allowed["mode"]], tuple(sorted(names)))
        else:
            options["tool_choice"] = ("any", (_chosen(choice),))


def _chosen(choice: Any) -> str:
    inner = choice.get("function") or choice.get("custom") or choice
    return str(inner.get("name") or choice.get("type"))


def _format(form: Any, options: dict[str, Any]) -> None:
    kinds = {"json_object": "json", "json_schema": "json_schema", "text": "text"}
    kind = form.get("type")
    if kind in kinds:
        options["response_format.kind"] = kinds[kind]
    shape = form.get("json_schema") or {}
    for key in ("name", "schema", "strict", "description"):
        put(options, f"response_format.{key}", shape.get(key))


def response(wire: Any) -> Facts:
    choices = wire.get("choices")
    if choices is None:
        error = wire.get("error") or wire.get("detail") or wire.get("message")
        text = error.get("message") if isinstance(error, dict) else error
        return Facts(error=str(text))
    answers = [_answer(choice) for choice in choices]
    first = answers[0] if answers else Facts()
    first.usage = usage(wire.get("usage") or {})
    first.others = answers[1:]
    if wire.get("error"):
        first.error = str(wire["error"].get("message"))
    return first


def _answer(choice: Any) -> Facts:
    message = choice.get("message") or {}
    facts = Facts(_message({"role": "assistant", **message}))
    word = choice.get("finish_reason")
    facts.stop = STOPS.get(word, "other") if word is not None else None
    if facts.stop == "end_turn" and any(piece.kind == "refusal" for piece in facts.pieces):
        facts.stop = "refusal"
    if facts.stop == "end_turn" and calls_of(facts.pieces):
        facts.meant = "tool_use"
    return facts


def usage(wire: Any) -> dict[str, int]:
    """OpenAI's names, and those under which DeepSeek and gateways say the same."""
    inside = wire.get("prompt_tokens_details") or {}
    out = wire.get("completion_tokens_details") or {}
    cached = _first(
        inside.get("cached_tokens"),
        wire.get("prompt_cache_hit_tokens"),
        wire.get("cached_tokens"),
        wire.get("num_cached_tokens"),
        wire.get("cache_read_input_tokens"),
    )
    creation = _first(inside.get("cache_write_tokens"), wire.get("cache_creation_input_tokens"))
    reasoning = _first(out.get("reasoning_tokens"), wire.get("reasoning_tokens"))
    prompt, output = wire.get("prompt_tokens"), wire.get("completion_tokens")
    total = wire.get("total_tokens")
    prompt, output = derived(prompt, output, total)
    if prompt and output is not None and reasoning is None and total and total > prompt + output:
        # Google leaves out what was thought, which only the sum tells.
        output, reasoning = total - prompt, total - prompt - output
    elif prompt and output is not None and reasoning:
        # xAI counts what was thought beside the answer, and only the sum tells.
        beside = wire.get("total_tokens") == prompt + output + reasoning
        output = output + reasoning if beside else output
    tokens = counts(
        input=fresh(prompt, cached, creation),
        cached=cached,
        creation=creation,
        output=output,
        reasoning=reasoning,
    )
    parts = {**by_modality("prompt", inside), **by_modality("answer", out)}
    return {**tokens, **parts, **by_claude(wire, "server_tool_use_details")}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def stream(frames: Iterable[tuple[str | None, Any]]) -> list[Facts]:
    """`[DONE]` after an answer without a reason to end is an end for which there is no word. Where
    the usage has come in a chunk of its own, it is a whole answer whose reason is null."""
    frames = list(frames)
    whole = assembled(frames)
    facts = response(whole)
    every = [facts, *facts.others]
    chunks = [data for _, data in frames if isinstance(data, dict)]
    counted = any(each.get("usage") and each.get("choices") == [] for each in chunks)
    done = any(data == "[DONE]" for _, data in frames) and any(each.pieces for each in every)
    for each in every if done and not counted else ():
        each.stop = each.stop or "other"
    is_stopped = all(each.stop is not None for each in every)
    facts.ended = bool(whole["choices"]) and (is_stopped or (done and counted))
    return [facts]
