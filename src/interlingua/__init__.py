"""One message format for the conversations of all LLM providers: read them into it, store it, and
write it for another provider, with every loss reported.

    import interlingua as il

    il.convert(data, source="openai-chat", target="anthropic", kind="request").json()

Names are loaded when they are first used, so that importing the package costs next to nothing.
Type checkers read `__init__.pyi`, which `make docs` prints from the list below.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # without `typing`, which is slow to load
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__version__ = "0.2.0"

_WHERE: dict[str, str] = {
    name: module
    for module, names in {
        "adapt.adapted": "Adapted",
        "adapt.convert": "convert plan",
        "adapt.converter": "Converter",
        "adapt.fit.fit": "Fitted fit",
        "adapt.formats": "detect",
        "adapt.history.retell": "Retold retell",
        "adapt.refusals": "refusal_category",
        "adapt.stream_convert": "StreamConverter stream_convert",
        "agents.chat.chat": "AsyncChat Chat",
        "agents.chat.delegate": "DelegateError Delegation",
        "agents.chat.files": "AttachmentError",
        "agents.tasks.agent": "Agent AsyncAgent",
        "agents.tasks.events": "TaskError",
        "client.answer": "Answer Middleware Parsed Run",
        "client.client": "AsyncClient",
        "client.deciding": "Decided",
        "client.errors": "AuthError CallCancelledError CallError CallTimeoutError"
        " ContextOverflowError InvalidRequestError NetworkError OutputError ProviderFailure"
        " RateLimitError ServerError TooLargeError",
        "client.sync": "Client decide",
        "costs.cost": "Cost UnknownCostError priced",
        "costs.table": "PriceTable",
        "dialects.record": "Dialect Written",
        "dialects.registry": "dialect dialects",
        "errors": "DepthError DetectError InterlinguaError LossError MissingExtraError ReadError"
        " SchemaError ToolInputError WriteError",
        "events.bus": "Bus",
        "local.model": "LocalModelError",
        "model.arguments": "recover",
        "model.blocks": "AudioBlock Block Cache Citation CompactionBlock ContentBlock"
        " DocumentBlock ImageBlock ImageSource RedactedThinkingBlock RefusalBlock Source"
        " TextBlock ThinkingBlock ToolResultBlock ToolUseBlock UnknownBlock VideoBlock",
        "model.codec": "dumps loads",
        "model.decisions": "DecisionAnswer Question QuestionOption",
        "model.events": "StreamEvent",
        "model.exchange": "AdapterOptions Compaction Continues ErrorKind Options ProviderError"
        " Reasoning Request Response ResponseFormat TaskBudget ToolChoice",
        "model.losses": "Loss Report",
        "model.message": "AssistantMessage Changes Message Role ToolMessage UserMessage",
        "model.metadata": "CacheDiagnosis CostBreakdown Diagnostic InputTransformation"
        " MessageMetadata MessageStatus RoutingDecisionRecord RoutingMode RoutingRecord StopReason"
        " Usage",
        "model.rules": "Violation validate",
        "model.spelled_numbers": "schema_of",
        "model.tools": "Grammar SideEffects ToolDefinition",
        "profiles.capabilities": "AdapterCapabilities Capabilities capabilities",
        "profiles.estimate.estimator": "estimate_input_tokens",
        "profiles.names": "AmbiguousModelError UnknownModelError",
        "profiles.overlay": "ProfileError",
        "profiles.profile": "Profile profile_of",
        "providers.provider": "MissingSettingError ProviderSetupError UnknownProviderError",
        "routing.decision": "AmbiguousAliasError NoModelError RoutingError SwapError"
        " UnknownAliasError",
        "routing.registry": "ModelEntry Registry",
        "routing.router": "Router",
        "sessions.adapters.adapter": "Adapter",
        "sessions.adapters.assemble": "RequestContext new_assistant_message",
        "sessions.adapters.ids": "IdMap",
        "sessions.effects": "SessionError TurnError",
        "sessions.plans": "SwapPlan",
        "sessions.session": "AsyncSession Session",
        "store.base": "AsyncStore Store",
        "store.errors": "ConflictError NotFoundError StoreError",
        "store.open": "open_async_store open_store",
        "streams": "aws jsonarray ndjson sse",
        "streams.fold": "fold fold_all unfold with_partial_input",
        "streams.frames": "Frame",
        "tools.dispatch": "Dispatcher ToolRun",
        "tools.functions": "tool",
        "tools.handlers": "CallContext McpError WorkspaceError",
        "tools.mcp": "McpServer McpServers",
        "tools.registry": "ToolRegistry",
        "tools.workspace": "Workspace",
        "transcripts.files": "TranscriptError",
        "views": "view",
    }.items()
    for name in names.split()
}

__all__ = sorted([*_WHERE, "__version__"])


_ELSEWHERE = {
    "acompletion": "il.AsyncClient().generate(model, messages)",
    "completion": "il.Client().generate(model, messages)",
    "generate": "il.Client().generate(model, messages)",
    "stream": "il.Client().stream(model, messages)",
    "Anthropic": "il.Client()",
    "AsyncAnthropic": "il.AsyncClient()",
    "AsyncOpenAI": "il.AsyncClient()",
    "OpenAI": "il.Client()",
    "AIMessage": "il.AssistantMessage",
    "HumanMessage": "il.UserMessage",
    "SystemMessage": "il.Message.system(text)",
    "completion_cost": "answer.cost, or il.priced(usage, model)",
    "cost": "answer.cost, or il.priced(usage, model)",
    "cost_per_token": "il.priced(usage, model)",
    "count_tokens": "il.estimate_input_tokens(messages)",
    "token_counter": "il.estimate_input_tokens(messages)",
    "read": "il.dialect(name).read_request(body)",
    "write": "il.dialect(name).write_request(request)",
    "transform": "il.convert(body, to=format)",
    "translate": "il.convert(body, to=format)",
    "list_models": "interlingua.profiles.capabilities.known_models()",
    "models": "interlingua.profiles.capabilities.known_models()",
}
"""Names that other libraries use, and what to write here instead."""


_MODULES = {
    "arrow": "bulk.arrow",
    "bulk": "bulk",
    "transcripts": "transcripts",
    "views": "views",
}
"""Modules that are loaded on first use, too: `il.transcripts.read(path)`."""


def __getattr__(name: str) -> object:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _WHERE:
        hint = f"; use {_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
        text = f"module {__name__!r} has no attribute {name!r}{hint}"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
    from importlib import import_module

    module = import_module(f"{__name__}.{_WHERE[name]}")
    value = getattr(module, name)
    globals()[name] = value
    return value


_MOVED = {
    "arrow": "bulk.arrow",
    "bus": "events",
    "chat": "agents.chat",
    "client.budget": "client.retry",
    "costs.own": "costs.table",
    "engines": "bulk.engines",
    "exports": "transcripts.exports",
    "losses": "model.losses",
    "models": "profiles",
    "prices": "costs",
    "redaction": "transcripts.redaction",
    "store.request_rows": "store.requests",
    "tasks": "agents.tasks",
    "transcripts.placing": "transcripts.sessions",
    "views.flat_extra": "views.flat",
}
"""The old paths of documented modules, and their new ones. The old paths work until 0.3."""


class _MovedModules:
    """Finds the modules of `_MOVED` under their old paths, with a warning."""

    @classmethod
    def find_spec(cls, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        inner = name.removeprefix("interlingua.")
        first, _, rest = (inner, "", "") if inner in _MOVED else inner.partition(".")
        if first not in _MOVED or not name.startswith("interlingua."):
            return None
        import warnings
        from importlib import import_module
        from importlib.machinery import ModuleSpec

        new = f"interlingua.{_MOVED[first]}{'.' if rest else ''}{rest}"
        if first not in _MODULES:
            warnings.warn(f"{name} has moved to {new}", DeprecationWarning, stacklevel=2)
        module = import_module(new)
        spec = ModuleSpec(name, cls, origin=new)  # type: ignore[arg-type]  # it loads by duck typing
        spec.loader_state = (module, module.__spec__)
        return spec

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        module: ModuleType = spec.loader_state[0]
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state[1]


sys.meta_path.insert(0, _MovedModules)  # type: ignore[arg-type]


def __dir__() -> list[str]:
    return __all__
