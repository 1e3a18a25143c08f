"""The reasons for losses and notes: codes, severities and sentences, in one table.

A sentence follows the name of its subject: "seed" and "dropped: {to} has no equivalent". The other
modules name a code, and `Report.add` completes the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Final, Literal

Severity = Literal["info", "warning", "error"]

TITLES: Final = {
    "anthropic": "Anthropic",
    "azure": "Azure OpenAI",
    "bedrock": "Bedrock",
    "bedrock-cohere": "Cohere on Bedrock",
    "cerebras": "Cerebras",
    "cohere": "Cohere",
    "deepseek": "DeepSeek",
    "fireworks": "Fireworks",
    "gemini": "Gemini",
    "gemini-interactions": "Gemini Interactions",
    "groq": "Groq",
    "mistral": "Mistral",
    "ollama": "Ollama",
    "openai": "OpenAI",
    "openai-chat": "OpenAI Chat",
    "openai-responses": "OpenAI Responses",
    "openrouter": "OpenRouter",
    "perplexity": "Perplexity",
    "titan": "Amazon Titan",
    "titan-v1": "Amazon Titan",
    "together": "Together AI",
    "vertex": "Vertex AI",
    "xai": "xAI",
}
"""Names of the targets in sentences; others have their own name."""


class Reason(str):
    """A sentence with its code and severity; `{to}` and `{model}` are filled in later."""

    __slots__ = ("code", "severity")
    code: str
    severity: Severity

    def about(self, model: str, rule: object = None) -> Reason:
        """The same for a model, with the rule of its profile."""
        text = self.replace("{model}", model)
        reason = Reason(text if rule is None else f"{text} ({rule})")
        reason.code, reason.severity = self.code, self.severity
        return reason

    def completed(self, target: str, path: str, block_type: str | None) -> tuple[str, str]:
        """The code and the whole sentence for a loss at a path."""
        name = path.rpartition(".")[2]
        if name.endswith("]") and path[:1] == "$":
            name = name.partition("[")[0]
            name = _ITEMS.get(name) or name.removesuffix("s")
            name = block_type or "block" if name == "content" else name
        elif name == "$":
            name = "conversation"
        elif path[:1] != "$":
            name = "record"  # a line of a file
        code = self.code
        if code.startswith("unsupported"):
            code = f"{name}_unsupported" if _NAME.fullmatch(name) else "field_unsupported"
        return code, f"{_shown(name, path)} {_filled(self, target)}"


def in_own_words(reason: str, path: str, place: str) -> str:
    """The sentence with the name that the source has for the field at a path."""
    name, own = path.rpartition(".")[2], place.rpartition(".")[2]
    name = _shown(name, path)
    if _RENAMED.fullmatch(path) and _KEY.fullmatch(own) and reason.startswith(f"{name} "):
        return own + reason.removeprefix(name)
    return reason


def _shown(name: str, path: str) -> str:
    if name == "kind":
        return next((word for start, word in _KINDS.items() if path.startswith(start)), name)
    return _SHOWN.get(name, name)


@lru_cache(2048)
def _filled(text: str, target: str) -> str:
    return text.replace("{to}", TITLES.get(target, target)).replace("{model}", "the model")


def because(code: str, **facts: Any) -> Reason:
    """The reason with this code; `facts` complete its sentence."""
    if not facts:
        return _plain(code)
    severity, text = REASONS[code]
    reason = Reason(text.format(**facts, to="{to}", model="{model}"))
    reason.code, reason.severity = code, severity
    return reason


@cache
def _plain(code: str) -> Reason:
    severity, text = REASONS[code]
    reason = Reason(text)
    reason.code, reason.severity = code, severity
    return reason


def source_unsupported(kind: str) -> Reason:
    """The reason for media whose source has a kind that the target does not accept."""
    if kind == "file_ref":
        return because("file_not_loaded")
    return because("source_kind", how=_SOURCES.get(kind, f"from a source of kind {kind!r}"))


_SOURCES = {
    "base64": "with inline data",
    "blocks": "made of blocks",
    "file_id": "by file id; send its data",
    "text": "made of text",
    "url": "by URL; send its data",
}
_SHOWN = {"max_output_tokens": "max_tokens", "call_type": "custom call"}
"""Names of fields for people, where most vendors have another than we."""
_KINDS = {"$.tools[": "custom tool", "$.error.": "error kind"}
"""The name of a `kind` of thing, by the beginning of its path."""
_RENAMED = re.compile(
    r"\$\.(?:options\.(?:\w+|reasoning\.mode)|continues|.*\.citations\[\d+\]\.\w+)"
)
_KEY = re.compile(r"[A-Za-z_][\w-]*")
_NAME = re.compile("[a-z_]{1,40}")
_ITEMS = {"messages": "message", "tools": "tool", "alternatives": "answer", "content": "content"}


def private(dialect: str, key: str, is_setting: bool) -> Reason:
    """The reason for dropping a key of `raw`; `is_setting` if the key is a setting."""
    if key == "user":
        return because("user_beside")
    if key in STORED:
        return because("continues_foreign")
    asks = (is_setting or key in CONTENT) and key not in NOTED
    meaning = PRIVATE.get(key)
    code = "vendor_setting" if asks else "vendor_field"
    if meaning is None:
        return because(code, dialect=TITLES.get(dialect, dialect))
    return because(f"{code}_known", dialect=TITLES.get(dialect, dialect), meaning=meaning)


def not_at(host: str | None, key: str, is_note: bool = False) -> Reason:
    """The reason for a key that a host of the dialect does not have."""
    code = "host_field" if is_note or key in NOTED else "host_setting"
    title, meaning = TITLES.get(host or "", host), PRIVATE.get(key)
    if meaning is None:
        return because(code, host=title)
    return because(f"{code}_known", host=title, meaning=meaning)


def private_keys(own: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The keys of `raw` with their paths in it; each setting of a group of settings is one."""
    for key, item in own.items():
        if key in GROUPS and isinstance(item, dict) and item:
            yield from ((f"{key}.{inner}", inner) for inner in item)
        elif key != "$form":
            yield key, key


GROUPS = frozenset(
    {
        *("$item", "additionalModelRequestFields", "generationConfig", "generation_config"),
        *("inferenceConfig", "options", "output_config", "reasoning", "text", "toolConfig"),
    }
)
"""Objects that hold settings with and without fields; and `$item`, the keys of an output item."""
PRIVATE: dict[str, str] = {
    "caller": "whose code made the call",
    "container": "the container that code and skills run in",
    "context_management": "how the service trims or summarizes the history",
    "diagnostics": "why the prompt was not found in the cache",
    "fallback_credit": "a credit for the use of a fallback model",
    "fallbacks": "the models to fall back to if this one fails",
    "guardrailConfig": "the guardrail that filters prompt and answer",
    "guardrails": "the guardrails that filter prompt and answer",
    "inference_geo": "the region in which the model runs",
    "iterations": "the token counts of each round of the answer",
    "max_tool_calls": "how many calls of hosted tools an answer may make",
    "mcp_servers": "the MCP servers that the service talks to",
    "modelArmorConfig": "the templates that filter prompt and answer",
    "model_armor_config": "the templates that filter prompt and answer",
    "models": "the models to fall back to if this one fails",
    "moderation": "how prompt and answer are moderated",
    "provider": "which hosts may serve the request, and what they may do with it",
    "safe_prompt": "the safety prompt in front of the conversation",
    "safetySettings": "which harmful content is blocked",
    "safety_mode": "which safety instructions the service adds",
    "safety_settings": "which harmful content is blocked",
    "speed": "the speed at which the answer is generated",
    "stop_details": "why the model refused, with a category",
}
"""Keys that only one service has, explained for readers of loss reports."""
STORED = frozenset({"cachedContent", "cached_content"})
"""Keys that refer to a beginning of the prompt that the provider stores."""
CONTENT = frozenset({"videoMetadata", "video_metadata", "mediaResolution", "media_resolution"})
"""Keys of blocks that change how a model reads them."""
NOTED = frozenset(
    {
        *("additionalModelResponseFieldPaths", "anthropic_version", "background", "cache_prompt"),
        *("client_metadata", "debug", "eager_input_streaming", "include", "include_obfuscation"),
        *("keep_alive", "labels", "performanceConfig", "prediction", "prompt_cache_key"),
        *("prompt_cache_options", "prompt_cache_retention", "requestMetadata"),
        *("safety_identifier", "session_id", "store", "stream_options", "trace"),
        *("usage", "user"),
    }
)
"""Keys of requests that change the price, the speed or the records, but not the answer."""


ADDED = frozenset(
    {
        *("cache_breakpoint_added", "cache_key_added", "filled", "max_tokens_capped"),
        *("max_tokens_filled", "max_tokens_guessed", "model_missing"),
        *("output_limit_by_cap", "output_limit_default"),
        *("signature_stand_in", "stop_reason_guessed", "tools_declared", "type_guessed"),
        *("unknown_as_zero", "usage_estimated"),
    }
)
"""Codes of additions: nothing in the source corresponds to them."""


REASONS: Final[dict[str, tuple[Severity, str]]] = {
    "advisor_unknown": ("error", "dropped: {to} does not know {name!r} as an advisor"),
    "answer_too_short": (
        "warning",
        "dropped: {model} cannot think within so small a token limit; raise the limit",
    ),
    "answer_without_documents": ("warning", "dropped: answers of {to} have no documents"),
    "answer_without_images": ("warning", "dropped: answers of {to} have no images"),
    "arguments_cut": ("warning", "sent as far as complete: the arguments were cut"),
    "arguments_invalid": ("error", "replaced by an empty object: the arguments are not JSON"),
    "arguments_object": ("warning", "sent as parsed: {to} takes arguments as an object"),
    "arguments_repaired": ("info", "sent as parsed: {to} takes arguments as an object"),
    "around_body": ("info", "dropped: it is outside the body, and only the body is converted"),
    "async_live_only": (
        "warning",
        "dropped: outside of live sessions {to} waits for the result of every tool",
    ),
    "audio_as_transcript": ("warning", "sent as its transcript: answers of {to} have no audio"),
    "branches_left": ("warning", "dropped: {count} other branches"),
    "branches_left_out": ("warning", "dropped: a request is one branch of a session"),
    "budget_as_effort": ("warning", "replaced by effort {nearest}: {model} has no thinking budget"),
    "budget_as_limit": (
        "warning",
        "sent as a limit of this answer, {value} tokens: {to} has no budget for a task",
    ),
    "budget_clamped": (
        "warning",
        "{budget} set to {accepted}: {model} does not accept this budget",
    ),
    "cache_at_the_end": ("info", "moved to the last block: {model} accepts it on blocks only"),
    "cache_behind_result": ("info", "moved behind the result: {to} has no breakpoint inside"),
    "cache_breakpoint_added": ("info", "added: the prompt up to here is cached for {ttl}"),
    "cache_hit_unstated": ("info", "sent as null: {to} says only why a cache was missed"),
    "cache_key_added": ("info", "added: with it, requests of one conversation share a cache"),
    "cache_lifetime": ("info", "{asked} set to {ttl}: {to} has no such lifetime"),
    "cache_marks_limited": ("info", "dropped: {model} accepts fewer cache breakpoints"),
    "cache_not_here": ("info", "dropped: {to} accepts no cache breakpoint here"),
    "cache_off": ("info", "dropped: prompt caching is switched off"),
    "cache_on_part": ("info", "moved to the last part of the result"),
    "cache_reason": ("warning", "{reason} sent as {value}: {to} has no such reason"),
    "cache_too_short": (
        "info",
        "dropped: {model} accepts fewer cache breakpoints and caches nothing this short",
    ),
    "cache_ttl": ("info", "set to {ttl}: {to} has no such lifetime"),
    "cache_ttl_default": ("info", "set to the default: {to} has lifetimes {known}"),
    "cache_ttl_for_model": ("info", "{asked} set to {ttl}: {model} has no such lifetime here"),
    "cache_ttl_unsupported": ("info", "{ttl} dropped: {to} has no such lifetime"),
    "cached_included": ("warning", "includes the cached tokens: {to} counts them together"),
    "cached_included_view": ("info", "includes the tokens written to the cache"),
    "call_left_out": ("error", "dropped: its call was left out"),
    "call_shown_failed": ("warning", "shown as failed: the call has no result"),
    "call_signature": ("warning", "dropped: {to} does not sign tool calls"),
    "call_without_result": ("error", "answered by an error result: the call has no result"),
    "calls_as_plain_text": ("error", "sent as text: {model} accepts no tools in {dialect}"),
    "calls_as_text": ("warning", "stored as text: the calls are not valid JSON: {error}"),
    "changes_from_start": (
        "info",
        "applied from the start: {to} cannot change it in mid-conversation",
    ),
    "citation_by_document": ("warning", "dropped: implied by the cited document"),
    "citation_index": ("info", "sent without the index, which {to} makes itself"),
    "citation_no_range": ("info", "set to 0: {to} requires a range"),
    "citation_range": ("warning", "dropped: the text has no such range"),
    "citation_without_place": ("warning", "dropped: it has no location that {to} can cite"),
    "citations_instructions": ("info", "dropped: instructions of {to} are plain text"),
    "citations_role": ("warning", "dropped: only text of the model has citations in {to}"),
    "client_notes": ("info", "left in the file: {count} notes of the client to the model"),
    "code_result_unnamed": (
        "warning",
        "dropped: results of code execution have no tool name in {to}",
    ),
    "compaction_as_text": ("warning", "sent as labelled text: {to} has no compacted history"),
    "compaction_encrypted": ("error", "dropped: only its issuer can read this history"),
    "compaction_failed": ("info", "dropped: a compaction that failed has no content"),
    "compaction_packed": (
        "info",
        "sent with a placeholder for the summary: only its issuer can read this history",
    ),
    "compaction_requested": (
        "error",
        "dropped: the answer should be a compaction of the conversation, not its next turn",
    ),
    "compaction_whole": ("info", "dropped: a summary in {to} always replaces everything before it"),
    "completion_as_chat": ("warning", "sent as a user message: the prompt goes to a chat API"),
    "content_unsupported": ("warning", "dropped: messages of {to} cannot contain it"),
    "context_cleared": ("info", "cleared by the gateway as the request asks: {count} {what}"),
    "context_compacted": ("info", "compacted by the gateway: a summary replaced {count} of them"),
    "context_edit": ("warning", "left in the file: it is an edit of the model's context"),
    "context_edit_unknown": ("warning", "dropped: the gateway does not know this edit"),
    "continues_foreign": (
        "error",
        "dropped: only the provider that stores the history knows it; send the messages themselves",
    ),
    "continues_token_only": ("warning", "approximated: {to} continues from a token only"),
    "count_differs": ("warning", "approximated: {to} has {what}"),
    "counted_as_fresh": ("warning", "counted as input tokens: {to} has no count of cache writes"),
    "counts_differ": ("warning", "converted: {to} counts differently"),
    "prompt_cut": (
        "warning",
        "cut by the server: about {tokens} tokens do not fit into num_ctx, which is {limit}",
    ),
    "prompt_may_be_cut": (
        "warning",
        "may be cut by the server: about {tokens} tokens, and num_ctx is not set"
        " ({limit} on small machines)",
    ),
    "kinds_uncounted": ("info", "dropped: {to} does not count {kinds}"),
    "custom_call_as_function": (
        "warning",
        "sent as a function call with one text argument: {to} has no custom tools",
    ),
    "custom_tool_as_function": (
        "warning",
        "sent as a function with one text argument: {to} has no custom tools",
    ),
    "custom_tool_text_only": ("warning", "sent as text: a custom tool takes free text only"),
    "data_url_inlined": ("info", "sent as inline data"),
    "detail_unsupported": ("warning", "dropped: {to} has no detail level {detail!r}"),
    "developer_as_system": ("info", "sent as system: {to} has no developer role"),
    "document_as_text": ("warning", "sent as text: {to} has no text documents"),
    "document_inside": ("warning", "dropped: {to} accepts no document inside another"),
    "document_of_texts": ("warning", "approximated: a document of {to} consists of plain texts"),
    "document_pdf_only": ("warning", "dropped: {to} accepts documents as PDF or as text only"),
    "document_text_for_model": ("warning", "sent as text: {model} accepts no documents"),
    "document_text_only": ("warning", "dropped: documents of {to} are text"),
    "documents_hoisted": ("info", "moved to the top level of the request, as {to} requires"),
    "effort_as_budget": (
        "warning",
        "{effort} replaced by a budget of {budget} tokens: {model} takes a thinking budget",
    ),
    "effort_beside_tools": (
        "warning",
        "dropped: {model} accepts no effort beside tools in {dialect}",
    ),
    "effort_capped_off": (
        "warning",
        "set to {most}: {model} accepts no higher effort while thinking is off",
    ),
    "effort_decides": ("info", "dropped: the effort takes precedence"),
    "effort_nearest": ("warning", "set to {nearest}: {model} has no effort {effort}"),
    "effort_unsupported_budget": ("warning", "dropped: {to} takes a thinking budget instead"),
    "decision_block": ("error", "dropped: {to} decides on text and images only"),
    "decision_booleans": ("warning", "sent as texts: choices of {to} have no booleans"),
    "decision_by_chat": (
        "warning",
        "approximated: a chat model answers, and its probabilities are its own estimates",
    ),
    "decision_by_logprobs": (
        "warning",
        "approximated: a chat model answers, and the probabilities are those of its tokens",
    ),
    "decision_criteria": ("info", "sent in the instructions: {to} has no criteria of a predicate"),
    "decision_levels": ("info", "sent as one text: levels of {to} have no label of their own"),
    "decision_media": ("error", "dropped: {to} takes no image here"),
    "decision_refused": (
        "warning",
        "left without an answer: the model refused it, and the form has no refusals",
    ),
    "decision_transcript": ("warning", "sent as one text: {to} decides on text without roles"),
    "decision_unsure": (
        "warning",
        "set to 1: the model did not report how probable its choice is",
    ),
    "embedding_joined": ("warning", "joined into one text: {to} accepts one text for a vector"),
    "embedding_near": ("warning", "written as {value}: {to} has no exact equivalent"),
    "embedding_type": (
        "warning",
        "set to {value}: {to} requires the purpose of the vectors, and the request has none",
    ),
    "empty": ("info", "dropped: it is empty"),
    "empty_replaced": ("info", "replaced by a placeholder: it is empty"),
    "encrypted_foreign": (
        "warning",
        "dropped: {to} has no encrypted content, and none of it is readable",
    ),
    "error_by_text": ("warning", "approximated: {to} shows the kind of an error only in its text"),
    "error_by_type": ("warning", "dropped: implied by the type of the result"),
    "error_code_unknown": ("warning", "approximated: {to} has its own error codes only"),
    "error_code_unsupported": ("warning", "dropped: failed responses of {to} have no such code"),
    "error_has_message": ("warning", "dropped: the error has its own message"),
    "error_in_text": ("info", "left in the text: {to} has no error flag"),
    "error_is_stop": ("info", "implied by the error"),
    "error_kind_nearest": ("warning", "approximated: {to} expresses the kind by status and code"),
    "error_marked": ("warning", "sent as a prefix of the text: {to} has no error flag"),
    "error_without_message": (
        "warning",
        "dropped: an error response of {to} has no message of the assistant",
    ),
    "error_without_usage": ("info", "dropped: an error has no usage"),
    "event_unsupported": ("warning", "dropped: {to} has no {event} event"),
    "events_left_out": ("warning", "dropped: {count} events have no message content"),
    "executor_fixed": ("warning", "dropped: the type of the tool determines who runs it"),
    "executor_read_as": ("warning", "read as a call that the {who} runs"),
    "field_misspelled": ("warning", "dropped: unknown field; did you mean {near!r}?"),
    "field_unknown": ("warning", "dropped: {dialect} documents no such field"),
    "file_by_url": (
        "warning",
        "approximated: only the URL shows whether it is a file of the Files API",
    ),
    "file_foreign": ("warning", "dropped: another provider stores the file; upload it to {to}"),
    "file_garbled": ("error", "dropped: the file is truncated or corrupt: {error}"),
    "file_not_loaded": ("warning", "dropped: load the file first; {to} cannot read the workspace"),
    "file_owner_implied": ("info", "dropped: {to} does not name the owner of a file"),
    "files_beside": ("info", "listed beside the messages: placeholders in the text refer to them"),
    "filled": ("info", "set to {value!r}: {to} requires one"),
    "foreign_directive": ("info", "dropped: the line is a directive for another service"),
    "foreign_model": (
        "warning",
        "{name!r} belongs to {vendor}, and {to} does not serve it;"
        " pass model=, such as {example!r}",
    ),
    "format_by_instructions": ("warning", "requested in the instructions: {model} {why}"),
    "format_by_tool": ("warning", "requested through a tool call: {model} {why}"),
    "host_field": ("info", "dropped: {host} has no such field"),
    "host_field_known": ("info", "dropped: {host} has no such field ({meaning})"),
    "host_setting": ("warning", "dropped: {host} has no such setting"),
    "host_setting_known": ("warning", "dropped: {host} has no such setting ({meaning})"),
    "hosted_result_foreign": ("warning", "dropped: no hosted tool of {to} produced it"),
    "hosted_tool_choice": (
        "error",
        "left to the model: a tool that the provider runs cannot be chosen",
    ),
    "hosted_tool_foreign": (
        "warning",
        "dropped: tools that one provider runs are unknown to others",
    ),
    "image_inline_only": (
        "warning",
        "dropped: {to} accepts images with inline data only; embed it",
    ),
    "image_source_unsupported": ("warning", "dropped: {to} accepts images inline or by URL"),
    "inlined": ("info", "fetched and sent as inline data: {model} accepts no media by URL"),
    "instructions_as_user": (
        "warning",
        "sent as marked user text: {to} accepts instructions at the start only",
    ),
    "instructions_behind_user": (
        "info",
        "moved after the next user turn: {model} accepts instructions only there",
    ),
    "instructions_expire": (
        "info",
        "dropped: the instructions are left out after the next user message",
    ),
    "instructions_expired": ("warning", "dropped: these instructions have expired"),
    "instructions_hoisted": ("info", 'moved to the front, as requested by instructions="hoist"'),
    "instructions_joined": ("warning", "joined into one system prompt: {to} has one"),
    "instructions_marked": ("warning", "sent as marked user text: {model} {why}"),
    "instructions_one_level": ("warning", "sent as system: {to} has one level of instructions"),
    "instructions_role": ("info", "sent as {role}: {model} takes instructions in that role"),
    "instructions_text_only": ("warning", "dropped: instructions of {to} are plain text"),
    "instructions_to_front": (
        "info",
        "moved to the start: {model} accepts instructions only there",
    ),
    "invalid_json": ("error", "dropped: invalid JSON: {error}"),
    "issuer_only": ("warning", "dropped: only its issuer can read it"),
    "item_place_lost": ("warning", "dropped: the position of {id} in the history is unknown"),
    "joined": ("info", "joined with the one before it: {to} has one per message"),
    "joined_text": ("warning", "joined into one text: {to} has one text here"),
    "json_needs_schema": ("warning", "dropped: {to} returns JSON only with a schema; pass one"),
    "json_without_schema": ("warning", "set to json: there is no schema"),
    "kept_as_extra": ("warning", "stored as extra data: {to} cannot represent {what}"),
    "kept_as_extra_part": ("warning", "stored as extra data: {to} cannot represent part of it"),
    "labels_cannot_hold": ("info", "dropped: labels of {to} cannot represent it"),
    "learned": ("warning", "{how}: {name} rejected it before"),
    "left_behind": ("warning", "dropped: {count} in all"),
    "logprobs_by_text": (
        "info",
        "dropped: {to} has log probabilities of text pieces, not of tokens",
    ),
    "logprobs_chosen_only": ("warning", "reduced to the chosen token: {to} has no alternatives"),
    "logprobs_without_text": ("info", "dropped: there is no text that they belong to"),
    "max_tokens_capped": (
        "warning",
        "set to {limit}: {to} requires a limit, and its SDK accepts no larger one without"
        " streaming; a stream of {model} may have {most}",
    ),
    "max_tokens_filled": (
        "info",
        "set to {usual}: {to} requires a limit, and this is the maximum of {model}",
    ),
    "max_tokens_guessed": (
        "warning",
        "set to {limit}: {to} requires a limit, and the maximum of the model is unknown;"
        " set max_tokens",
    ),
    "max_tokens_lowered": (
        "warning",
        "{wanted} set to {most}: {model} returns at most that many tokens",
    ),
    "max_tokens_raised": ("warning", "{wanted} set to {least}: {model} accepts no smaller limit"),
    "mcp_allowed_tools": ("error", "dropped: {to} cannot limit which of its tools are allowed"),
    "mcp_approval": ("error", "dropped: its calls need approval, which {to} does not ask for"),
    "mcp_connector": ("error", "dropped: only its own provider knows the connector"),
    "mcp_headers_unsupported": ("warning", "dropped: the tool of {model} takes no headers"),
    "mcp_server_unnamed": ("error", "dropped: the request does not name its server"),
    "mcp_transport": ("error", "dropped: only its own provider knows the transport"),
    "media_by_url": ("error", "dropped: {model} accepts no media by URL{how}"),
    "media_limit": ("error", "dropped: {model} accepts {limit}"),
    "media_read_otherwise": (
        "warning",
        "read as another kind of media: {to} uses the media type",
    ),
    "media_type_alias": ("info", "sent as {usual}: {model} knows the type by that name"),
    "media_type_missing": ("warning", "dropped: {to} requires a media type, and none is known"),
    "media_type_unsupported": ("warning", "dropped: {to} has no such media type"),
    "message_replaced": ("warning", "replaced by a placeholder: {to} can represent nothing of it"),
    "messages_joined": ("info", "joined: several messages of a stream follow each other as one"),
    "metadata_as_labels": ("warning", "sent as {field}: {to} has billing labels instead"),
    "metadata_labels_cut": (
        "warning",
        "sent as {field}, which cannot contain all of it: {to} has billing labels instead",
    ),
    "metadata_needs_store": ("info", "dropped: {to} accepts it only if answers are stored"),
    "metadata_not_object": (
        "warning",
        "dropped: its metadata is not an object, so extra data cannot be added",
    ),
    "metadata_pairs": ("warning", "cut: {to} accepts 1 to 16 pairs of short text"),
    "milliseconds": ("info", "cut to milliseconds"),
    "modalities_cut": ("warning", "cut: {to} does not have all of them"),
    "modalities_style": ("warning", "written in upper case, as {to} requires"),
    "mode_as_budget": (
        "warning",
        "replaced by a budget of {budget} tokens: {model} takes a thinking budget",
    ),
    "mode_as_effort": ("warning", "replaced by effort {nearest}: {model} takes an effort"),
    "model_alias": ("info", "{alias!r} sent as {name!r}, its name at {to}"),
    "model_missing": (
        "warning",
        "missing: {to} requires one; pass model={example}",
    ),
    "model_rejects": ("warning", "dropped: {model} does not accept it"),
    "model_unknown": ("warning", "unknown: the file names none"),
    "model_unknown_for_option": (
        "warning",
        "dropped: newer models of {to} reject it; name a model that accepts it",
    ),
    "model_without_images": ("error", "dropped: the model takes no images"),
    "model_without_media": ("error", "dropped: {model} accepts no {media}"),
    "model_without_tools": ("error", "dropped: {model} accepts no tools in {dialect}"),
    "more_conversations": ("warning", "dropped: {count} more conversations; use read_all"),
    "name_as_title": ("info", "sent as the title: {to} has no file name"),
    "nearest_float": ("info", "rounded to 64 bits"),
    "nearest_value": ("warning", "set to the nearest value of {to}"),
    "no_audio_video": ("warning", "dropped: {to} accepts neither audio nor video"),
    "no_effort": ("warning", "dropped: {model} has no effort setting"),
    "no_end_user": ("info", "dropped: {model} accepts no id of an end user"),
    "no_hosted_tools": ("warning", "dropped: {to} runs no tools itself"),
    "no_schema_wanted": ("warning", "dropped: the format has no schema"),
    "no_stop_sequences": ("warning", "dropped: {model} accepts no stop sequences"),
    "no_such_effort": ("warning", "dropped: {model} has no effort {effort}"),
    "no_such_verbosity": ("warning", "dropped: {model} has no verbosity {wanted}"),
    "no_thinking_budget": ("warning", "dropped: {to} has no thinking budget"),
    "no_tool_groups": ("warning", "dropped: {to} has no tool groups"),
    "no_tool_to_choose": ("warning", "dropped: there is no tool to choose"),
    "no_tools_called": ("info", "dropped: no tool can be called"),
    "not_a_number": ("warning", "dropped: it is not a JSON number"),
    "not_an_event": ("error", "dropped: it is not an event"),
    "not_an_object": ("error", "dropped: expected an object, found {found}"),
    "not_inlined": (
        "error",
        "dropped: {model} accepts no media by URL, and it could not be fetched: {why}",
    ),
    "not_messages": ("error", "dropped: it is not a list of messages"),
    "not_otlp": ("error", "dropped: it is not OTLP"),
    "not_sent": ("warning", "dropped: {to} does not send {what}"),
    "not_streamed": ("warning", "dropped: streams of {to} do not carry it"),
    "nothing_to_hide": (
        "info",
        "dropped: {model} does not think by default, so there is nothing to hide",
    ),
    "old_tables": ("warning", "dropped: {count} answers are in tables of older versions"),
    "one_answer": ("warning", "set to 1: {model} returns one answer"),
    "one_choice": ("warning", "dropped: {to} has one answer per response"),
    "one_limit": ("warning", "dropped: the host accepts one limit"),
    "one_of_options": ("warning", "dropped: {model} accepts it or {other}, not both"),
    "one_tool_or_all": ("warning", "dropped: {to} can require one tool or any tool, not several"),
    "only_beside_tools": ("info", "dropped: {model} accepts it only beside tools"),
    "only_in_total": ("info", "only in the total: the format has no field for it"),
    "only_tool_unnamed": ("info", "set to any: the only tool cannot be required by name"),
    "only_without_reasoning": ("warning", "dropped: {model} accepts it only without reasoning"),
    "only_without_thinking": (
        "warning",
        "dropped: {model} accepts it only while thinking is off",
    ),
    "option_changed": ("info", "set to its latest value: a message changes it in mid-conversation"),
    "option_clamped": (
        "warning",
        "{value} set to {near}: {model} accepts {option} from {low} to {high}",
    ),
    "order_fixed": ("info", "reordered: the order of parts is fixed in {to}"),
    "out_of_range": ("warning", "dropped: the value is outside the range of {to}"),
    "output_limit_by_cap": (
        "info",
        "set to {tokens}: the request has none, and the caps of its key allow no more",
    ),
    "output_limit_default": (
        "info",
        "set to {tokens}: the request has none, and this is the default of its key or route",
    ),
    "output_limit_lowered": (
        "warning",
        "lowered to {tokens}, the highest that its key or route allows",
    ),
    "parallel_calls_fixed": ("warning", "dropped: {model} cannot switch parallel calls"),
    "parent_missing": ("error", "dropped: the file of the parent thread {thread} is missing"),
    "phase_role": ("warning", "dropped: only text of the model has a phase"),
    "prefill_unsupported": (
        "warning",
        "followed by a user turn that asks to continue: {model} cannot continue its own turn",
    ),
    "provider_dropped": ("warning", "dropped by the provider: {reason}"),
    "range_while_thinking": (
        "warning",
        "dropped: {model} accepts {low} to {high} while thinking is on",
    ),
    "read_as": ("warning", "read as {value}: {to} has no exact equivalent"),
    "read_as_note": ("info", "read as {value}: {to} has no exact equivalent"),
    "read_as_provider": ("info", "read as a model of {provider}"),
    "read_differently": ("error", "read differently by {to}: {problem}"),
    "reasoning_exceeds_output": (
        "warning",
        "limited to the output tokens: reasoning is a part of them",
    ),
    "redacted": (
        "info",
        "sent with placeholders for {count} secrets, as its key or gateway requires",
    ),
    "refusal_as_text": ("warning", "sent as text: {to} has no refusals"),
    "renamed": ("info", "sent as {name!r}: {to} does not accept the name"),
    "request_only": ("info", "dropped: requests have no such field"),
    "request_without_usage": ("info", "dropped: a request has no model and usage of answers"),
    "result_content_unsupported": ("warning", "dropped: tool results of {to} cannot contain it"),
    "result_document_as_text": (
        "warning",
        "sent as text: {to} accepts no documents inside tool results",
    ),
    "result_document_for_model": (
        "warning",
        "sent as text: {model} accepts no documents inside tool results",
    ),
    "no_programs": ("warning", "dropped: no code that could call the tool runs at {to}"),
    "progress_unsupported": (
        "info",
        "sent without {count} {event} events: {to} has no such progress events",
    ),
    "program_left_out": (
        "info",
        "dropped: code made the call, and only its issuer has that code",
    ),
    "result_holds_one": ("warning", "dropped: the result holds one item"),
    "result_looks_failed": (
        "warning",
        "read as an error: its text begins like that of a failed result",
    ),
    "result_media_for_model": (
        "info",
        "moved after the tool results: {model} accepts no {kind} inside them",
    ),
    "result_media_moved": (
        "info",
        "moved after the tool results: {to} accepts no {kind} inside them",
    ),
    "result_second": ("info", "moved after the first result: a call has one result"),
    "result_without_call": ("error", "sent as user text: the result has no call"),
    "result_without_call_dropped": ("warning", "dropped: its call is missing"),
    "results_apart": ("info", "moved into separate messages, as {to} requires"),
    "results_reordered": ("info", "moved after the turn of its calls: results have to follow it"),
    "role_calls_no_tools": ("warning", "dropped: only assistant messages have tool calls"),
    "role_does_not_think": ("warning", "dropped: only assistant messages have thinking"),
    "rounded": ("warning", "rounded: {to} takes whole numbers"),
    "rows_follow": ("warning", "dropped: more conversations follow the first; use read_all"),
    "run_unfinished": ("warning", "dropped: the run {run} has no end"),
    "schema_always_strict": ("info", "dropped: {to} always enforces a schema"),
    "schema_closed": (
        "warning",
        "set to additionalProperties: false: {model} requires closed objects",
    ),
    "schema_flat": ("warning", "reduced to types and descriptions: {to} has no JSON Schema here"),
    "schema_keyword_described": (
        "warning",
        "moved into the description: {model} does not accept the keyword",
    ),
    "schema_keyword_ignored": ("warning", "dropped: {to} ignores this schema keyword"),
    "schema_not_strict": ("warning", "dropped: {model} cannot enforce this schema"),
    "schema_order": ("info", "dropped: {keyword} only orders properties, and only Gemini knows it"),
    "schema_wrapped": ("warning", "wrapped in an object: {model} accepts object schemas only"),
    "sent_as": ("warning", "sent as {value}: {to} has no exact equivalent"),
    "sent_as_text": ("warning", "sent as text: {to} has no equivalent"),
    "sent_as_user": ("warning", "sent as user: {to} has no other role here"),
    "sent_by_id": ("info", "sent by its id: {to} stores the audio"),
    "signature_foreign": ("warning", "dropped: {to} cannot carry signatures of {issuer}"),
    "signature_stand_in": (
        "info",
        "replaced by the documented stand-in: {to} requires a signature and there is none",
    ),
    "signatures_not_stored": ("warning", "dropped: {to} stores no signatures"),
    "source_kind": ("warning", "dropped: {to} does not accept it {how}"),
    "status_in_http": ("info", "dropped: implied by the HTTP status"),
    "stop_cut": ("warning", "cut to the first {most}: {model} accepts at most that many"),
    "stop_reason_as_stop": ("warning", "sent as stop: {to} has no exact equivalent"),
    "stop_reason_guessed": (
        "warning",
        "filled in: a stream of {to} ends with a reason, and none is known",
    ),
    "stop_too_long": (
        "warning",
        "dropped where longer than {longest} characters: {model} accepts no longer ones",
    ),
    "stream_continued": ("warning", "interrupted and continued by {by}"),
    "stream_cut": ("warning", "dropped: the stream was interrupted before it was complete"),
    "stream_incomplete": ("error", "dropped: the stream ends before its answer is complete"),
    "stream_one_answer": ("warning", "dropped: a stream carries one answer"),
    "stream_one_message": ("warning", "dropped: a stream of {to} has one message"),
    "stream_too_late": (
        "warning",
        "dropped: a stream of {to} sends it at the start, when it was not yet known",
    ),
    "stream_without_parts": ("warning", "dropped: a stream of {to} has text without parts"),
    "strict_for_all": ("warning", "dropped: {to} is strict for all tools or for none"),
    "strict_needs_closed": (
        "warning",
        "dropped: {model} is strict only if objects are closed and all properties are required",
    ),
    "subagent_unknown": ("warning", "dropped: sent by a subagent that was never started"),
    "subagents_left": ("warning", "dropped: {count} sessions of subagents"),
    "subagents_left_out": ("warning", "dropped: a request has no subagents"),
    "summarized": ("info", "dropped: a summary replaces these messages"),
    "summary_moved": ("info", "moved: {to} puts a summary before the messages that follow it"),
    "text_as_document": ("warning", "sent as the bytes of a document: {to} has no text sources"),
    "text_before_calls": ("info", "moved before the calls: {to} requires text first"),
    "text_content_unsupported": ("warning", "dropped: {to} cannot contain text here"),
    "text_file": ("info", "sent as a plain text file"),
    "text_signature": ("warning", "dropped: {to} does not sign text"),
    "thinking_adaptive": ("warning", "set to adaptive: {model} cannot think between calls only"),
    "thinking_always_on": ("warning", "dropped: {model} always thinks"),
    "thinking_by_effort": ("warning", "dropped: {to} requests thinking by an effort only"),
    "thinking_by_itself": ("info", "dropped: {model} thinks by default"),
    "thinking_fixed": ("warning", "dropped: the thinking of {model} cannot be configured"),
    "thinking_foreign": ("warning", "dropped: thinking is sent back to its issuer only"),
    "thinking_level_default": ("warning", "dropped: {to} decides how much to think"),
    "thinking_nearly_off": ("warning", "set to {how}: {model} always thinks"),
    "thinking_not_hidden": ("warning", "dropped: {to} cannot hide thinking"),
    "thinking_off": ("warning", "dropped: thinking is off"),
    "thinking_on_only": ("warning", "set to on: {model} can only switch thinking on or off"),
    "thinking_on_or_off": ("warning", "approximated: {to} can only switch thinking on or off"),
    "thinking_removed": (
        "warning",
        "dropped: the provider removed thinking from the input ({reason}); {to} cannot report it",
    ),
    "thinking_shown": ("info", "dropped: {to} always shows thinking"),
    "thinking_unplaced": (
        "warning",
        "dropped: the provider removed thinking from the input ({reason}); {to} reports it only "
        "with a place in its own request, which is unknown",
    ),
    "thinking_with_calls": (
        "info",
        "dropped: the host accepts earlier thinking only with tool calls",
    ),
    "tier_nearest": ("info", "set to the nearest tier of {to}"),
    "title_as_name": ("info", "sent as the file name: {to} has no title"),
    "too_late": ("warning", "dropped: it arrived after its block had ended"),
    "too_many_answers": ("warning", "set to {most}: {model} returns at most that many answers"),
    "too_many_tools": ("error", "dropped: {model} accepts at most {most} tools"),
    "token_bytes": ("info", "bytes dropped: tokens of {to} are text"),
    "token_ids": ("info", "numbers of tokens dropped: {to} names tokens by their text"),
    "tool_added": ("info", "listed from the start: the tool was added in mid-conversation"),
    "tool_already_there": ("warning", "replaced by {tool}, which is in the list already"),
    "tool_as_options": ("warning", "replaced by {options} of {model}"),
    "tool_by_type": ("info", "dropped: implied by the type of the tool"),
    "tool_choice_unnamed": ("warning", "dropped: {to} cannot require a tool by name"),
    "tool_choice_weakened": (
        "error",
        "{left}: {model} does not accept {choice}{when}",
    ),
    "tool_instructions": ("warning", "dropped: the tool has instructions of its own"),
    "tool_mapped": ("warning", "replaced by {tool} of {model}{runs}"),
    "tool_message_empty": ("error", "dropped: a tool message without a result"),
    "tool_message_results": ("warning", "dropped: tool messages contain results only"),
    "tool_name_changed": (
        "info",
        "set to {name}: {model} does not accept the name; answers have the original one",
    ),
    "tool_name_fixed": ("warning", "dropped: a built-in tool of {to} has a fixed name"),
    "tool_name_taken": ("error", "dropped: another tool already uses its name in {to}"),
    "tool_not_allowed": (
        "warning",
        "dropped: the tool may not be called, and {to} cannot express that",
    ),
    "tool_not_yet_added": ("info", "left out: the tool is added later in the conversation"),
    "tool_option_nearest": ("warning", "replaced by {near}: {model} has no exact equivalent"),
    "tool_option_unsupported": ("warning", "dropped: the tool of {model} has no such option"),
    "tool_options_exclusive": ("warning", "dropped: {model} accepts it or {other}, not both"),
    "tool_removed": ("warning", "dropped: the tool is removed in mid-conversation"),
    "tool_renamed": ("warning", "set to {tool}: {to} fixes the name"),
    "tool_settings_once": ("warning", "dropped: {model} accepts one set of settings for {tool}"),
    "tool_stored": ("error", "dropped: it needs {what}, which only its own provider has"),
    "tool_undeclared": ("warning", "dropped: no tool is named {name}"),
    "tool_ungrouped": ("info", "listed on its own under both names: {to} has no tool groups"),
    "tools_declared": (
        "info",
        "added without a schema: {to} requires declarations of tools that the history calls",
    ),
    "tools_exclusive": (
        "error",
        "dropped: {model} accepts its provider's tools or functions, not both",
    ),
    "tools_left_out": ("info", "expressed by leaving out the tools that may not be called"),
    "tools_undeclared": ("warning", "dropped: no tool has this name"),
    "tools_without_thinking": (
        "warning",
        "switched off: {model} accepts tools in {dialect} only without thinking",
    ),
    "trace_without_content": ("warning", "dropped: the trace does not contain message content"),
    "turn_failed": ("error", "dropped: the turn {ended}"),
    "turn_functions_only": ("warning", "dropped: a turn can contain function calls only"),
    "turn_part": ("warning", "dropped: a turn cannot contain a part of type {type}"),
    "turn_without_audio": ("warning", "dropped: a turn cannot contain audio"),
    "turns_joined": (
        "info",
        "joined with the message before it: {model} requires turns to alternate",
    ),
    "type_by_data": ("info", "dropped: implied by the data"),
    "type_by_url": ("info", "dropped: implied by the URL"),
    "type_guessed": ("info", "set to a default: {to} requires a media type, and none is known"),
    "type_implied": ("info", "dropped: it is text"),
    "unknown_as_assistant": ("info", "read as assistant, as {to} reads unknown items"),
    "unknown_as_zero": ("info", "set to 0: {to} has no unknown counts"),
    "unknown_block": ("warning", "dropped: only the dialect that it was read from understands it"),
    "unknown_roles": ("error", "dropped: {count} messages have an unknown role"),
    "unreadable": ("error", "dropped: {error}"),
    "unsigned_thinking": ("warning", "dropped: {to} accepts signed thinking only"),
    "unsupported": ("warning", "dropped: {to} has no equivalent"),
    "unsupported_note": ("info", "dropped: {to} has no equivalent"),
    "unverified": ("warning", "dropped: only its issuer can verify it"),
    "usage_clamped": ("warning", "corrected: the token counts contradicted each other"),
    "usage_estimated": ("info", "estimated: the provider does not report token counts"),
    "usage_once": ("warning", "dropped: {to} has one usage for all choices"),
    "user_beside": ("info", "dropped: safety_identifier names the end user in its place"),
    "user_first": ("info", "preceded by a placeholder: {to} requires a user message first"),
    "v1_text_only": ("warning", "dropped: a message of Cohere v1 is text"),
    "value_differs": ("warning", "changed: {to} reads it as another value"),
    "value_unsupported": ("warning", "dropped: {to} has no such value"),
    "vendor_field": ("info", "dropped: only {dialect} has it"),
    "vendor_field_known": ("info", "dropped: only {dialect} has it ({meaning})"),
    "vendor_setting": ("warning", "dropped: only {dialect} has it"),
    "vendor_setting_known": ("warning", "dropped: only {dialect} has it ({meaning})"),
    "vendor_tool_foreign": (
        "error",
        "dropped: another vendor defines the tool, and the model has no equivalent",
    ),
    "vendor_tool_unknown": ("warning", "dropped: the tool belongs to another service"),
    "version_untested": (
        "warning",
        "{version} is untested: files of {title} are tested up to {tested}",
    ),
    "visibility_fixed": ("info", "dropped: {model} has no switch that shows or hides its thinking"),
}
"""By code: the severity, which is `info` for notes, and the sentence."""
