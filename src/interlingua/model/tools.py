"""A tool as the model sees it: name, purpose, input. Other modules run it."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Literal

from interlingua.model.base import Guarded, JsonObject, Raw, Value, check_words, plain_members
from interlingua.model.blocks import Cache, Executor


@plain_members
class SideEffects(StrEnum):
    """The effects of running a tool; `write`, `execute` and `network` need a confirmation first."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


class Grammar(Value, frozen=True):
    """The grammar for the free text of a `custom` tool; `syntax` is `lark` or `regex`."""

    syntax: str
    definition: str


class ToolDefinition(Value, metaclass=Guarded, frozen=True):
    """`input_schema` is stored and sent untouched. `side_effects` and `input_schema` may be None on
    tools read from a wire; naming rules hold when a tool is registered, not when it is read.

    `kind` is `function`, `custom` (free text in) or the provider's own word for a built-in tool."""

    name: str
    description: str | None = None
    input_schema: JsonObject | None = None
    side_effects: SideEffects | None = None
    requires_workspace: bool = False
    executor: Executor = "client"
    kind: str = "function"
    strict: bool | None = None
    deferred: bool | None = None
    output_schema: JsonObject | None = None
    grammar: Grammar | None = None
    cache: Cache | None = None
    callers: tuple[str, ...] | None = None
    """The callers of the tool: the model itself (`direct`), code that the model wrote
    (`program`)."""
    asynchronous: bool | None = None
    """Whether the model continues before the result is available."""
    raw: Raw | None = None

    other_names: ClassVar = {"parameters": "input_schema"}

    if TYPE_CHECKING:

        def __init__(
            self,
            name: str,
            description: str | None = None,
            input_schema: JsonObject | None = None,
            side_effects: SideEffects
            | Literal["none", "read", "write", "execute", "network"]
            | None = None,
            requires_workspace: bool = False,
            executor: Executor = "client",
            kind: str = "function",
            strict: bool | None = None,
            deferred: bool | None = None,
            output_schema: JsonObject | None = None,
            grammar: Grammar | None = None,
            cache: Cache | None = None,
            callers: tuple[str, ...] | None = None,
            asynchronous: bool | None = None,
            raw: Raw | None = None,
            *,
            parameters: JsonObject | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if self.side_effects is not None or self.executor != "client":
            check_words(self)
