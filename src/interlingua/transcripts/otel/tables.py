"""Words of the conventions (status "development", read 2026-11-17)."""

from __future__ import annotations

from interlingua.model.metadata import StopReason
from interlingua.telemetry import PROVIDER_WORDS

INPUT = "gen_ai.input.messages"
OUTPUT = "gen_ai.output.messages"
INSTRUCTIONS = "gen_ai.system_instructions"
TOOLS = "gen_ai.tool.definitions"
OPERATION = "gen_ai.operation.name"
CONVERSATION = "gen_ai.conversation.id"
PROVIDER = "gen_ai.provider.name"
MODEL = "gen_ai.request.model"
ANSWERED_BY = "gen_ai.response.model"
RESPONSE = "gen_ai.response.id"
ENDS = "gen_ai.response.finish_reasons"
CALL = "gen_ai.tool.call.id"
AGENT = "gen_ai.agent.id"
PROMPT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED = "gen_ai.usage.cache_read.input_tokens"
WRITTEN = "gen_ai.usage.cache_write.input_tokens"
REASONED = "gen_ai.usage.reasoning.output_tokens"
COST = "operation.cost"
"""In US dollars; a word of pydantic-ai, not of the conventions."""

OLDER = {
    PROVIDER: ("gen_ai.system",),
    PROMPT_TOKENS: ("gen_ai.usage.prompt_tokens",),
    OUTPUT_TOKENS: ("gen_ai.usage.completion_tokens",),
    WRITTEN: (
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
    ),
    REASONED: ("gen_ai.usage.details.reasoning_tokens",),
}
"""Other names of attributes, of earlier versions and of pydantic-ai."""

INFERENCE = ("chat", "text_completion", "generate_content")
"""Operations in which a model is asked."""
TOOL_RUN = "execute_tool"

DETAILS = "gen_ai.client.inference.operation.details"
"""An event that says of a request what its span may say too."""
CHOICE = "gen_ai.choice"
ROLES_OF_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events up to 1.36, one a message."""
PROMPTS = ("gen_ai.content.prompt", "gen_ai.prompt")
COMPLETIONS = ("gen_ai.content.completion", "gen_ai.completion")
"""Events up to 1.27, one for all messages, and the attribute that holds them."""

STOPS = {
    "stop": StopReason.END_TURN,
    "end_turn": StopReason.END_TURN,
    "length": StopReason.MAX_TOKENS,
    "max_tokens": StopReason.MAX_TOKENS,
    "tool_call": StopReason.TOOL_USE,
    "tool_calls": StopReason.TOOL_USE,
    "tool_use": StopReason.TOOL_USE,
    "content_filter": StopReason.CONTENT_FILTER,
    "refusal": StopReason.REFUSAL,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "compaction": StopReason.PAUSE,
    "error": StopReason.ERROR,
}
STOP_WORDS = {reason: word for word, reason in reversed(STOPS.items())}

PROVIDERS = {word: name for name, word in PROVIDER_WORDS.items()}
"""Names of the convention where they are not ours."""
