"""One message format that every LLM provider's conversation can be read into, kept in and written
out of, with nothing lost silently.

    import interlingua as il

    il.convert(data, source="openai-chat", target="anthropic", kind="request").json()

Names are loaded when they are first used, so that importing the package costs next to nothing.
Type checkers read `__init__.pyi`, which `make docs` prints from the list below.
"""

from __future__ import annotations

__version__ = "0.1.0"

_WHERE: dict[str, str] = {
    name: module
    for module, names in {
        "adapters.adapter": "Adapter",
        "adapters.assemble": "RequestContext",
        "adapters.ids": "IdMap",
        "adapters.start": "new_assistant_message",
        "arguments": "recover",
        "bus.bus": "Bus",
        "chat.chat": "Chat",
        "client.answer": "Answer Parsed Run",
        "client.client": "AsyncClient",
        "client.errors": "CallError OutputError",
        "client.sync": "Client",
        "dialects.record": "Dialect Written",
        "dialects.registry": "dialect dialects",
        "errors": "DepthError DetectError InterlinguaError LossError MissingExtraError"
        " ReadError SchemaError ToolInputError WriteError",
        "estimate.estimator": "estimate_input_tokens",
        "fitting.fit": "Fitted fit",
        "formats": "detect",
        "losses": "Loss Report",
        "model.blocks": "AudioBlock Block Cache Citation CompactionBlock ContentBlock DocumentBlock"
        " ImageBlock ImageSource RedactedThinkingBlock RefusalBlock Source TextBlock ThinkingBlock"
        " ToolResultBlock ToolUseBlock UnknownBlock VideoBlock",
        "model.changes": "Changes",
        "model.codec": "dumps loads",
        "model.events": "StreamEvent",
        "model.exchange": "AdapterOptions Continues ErrorKind Options ProviderError Reasoning"
        " Request Response ResponseFormat ToolChoice",
        "model.message": "Message Role",
        "model.metadata": "CostBreakdown Diagnostic MessageMetadata MessageStatus"
        " RoutingDecisionRecord RoutingMode RoutingRecord StopReason Usage",
        "model.rules": "Violation validate",
        "model.spelled_numbers": "schema_of",
        "model.tools": "Grammar SideEffects ToolDefinition",
        "models.capabilities": "AdapterCapabilities Capabilities capabilities",
        "models.names": "AmbiguousModelError UnknownModelError",
        "models.profile": "Profile profile_of",
        "prices.cost": "Cost UnknownCostError",
        "prices.table": "PriceTable",
        "retell": "Retold retell",
        "routing.errors": "NoModelError SwapError",
        "routing.registry": "ModelEntry Registry",
        "routing.router": "Router",
        "sessions.aio": "AsyncSession",
        "sessions.errors": "SessionError TurnError",
        "sessions.plans": "SwapPlan",
        "sessions.session": "Session",
        "store.base": "AsyncStore Store",
        "store.errors": "ConflictError NotFoundError StoreError",
        "store.open": "open_async_store open_store",
        "streams": "aws jsonarray ndjson sse",
        "streams.convert": "StreamConverter stream_convert",
        "streams.fold": "fold fold_all unfold with_partial_input",
        "streams.frames": "Frame",
        "tasks.agent": "Agent",
        "tasks.aio": "AsyncAgent",
        "tools.context": "CallContext",
        "tools.dispatch": "Dispatcher ToolRun",
        "tools.functions": "tool",
        "tools.mcp": "McpServer McpServers",
        "tools.registry": "ToolRegistry",
        "tools.workspace": "Workspace",
        "translate": "convert plan",
        "views": "view",
    }.items()
    for name in names.split()
}

__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        import sys

        text = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    from importlib import import_module

    module = import_module(f"{__name__}.{_WHERE[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
