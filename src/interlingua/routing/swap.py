"""Whether a model can take a turn, or continue the whole history of a session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from interlingua.events.payloads import ConstraintFailure, FailureCode, RouteOverridden
from interlingua.model.blocks import ImageBlock, TextBlock
from interlingua.model.message import Message, walk
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.capabilities import ExpectedCapabilities
from interlingua.routing.decision import OverrideError
from interlingua.routing.registry import Registry
from interlingua.routing.turn import UNKNOWN_MEDIA_TYPE, Needs, needs_of


class Capabilities(Protocol):
    """The fields of a capability record that routing looks at; None is a missing declaration."""

    @property
    def supports_images(self) -> bool | None: ...
    @property
    def supports_tools(self) -> bool | None: ...
    @property
    def supports_system_prompt(self) -> bool | None: ...
    @property
    def supports_structured_output(self) -> bool | None: ...
    @property
    def max_context_tokens(self) -> int | None: ...
    @property
    def accepted_image_media_types(self) -> Collection[str] | None: ...


CapabilityLookup = Callable[[str], Capabilities | None]
"""Looks up a model's record by its id; None if it is unknown."""

Unavailable = Callable[[str], str | None]
"""Why a model is passed over at the moment; None where it is not."""


class Failure(NamedTuple):
    code: FailureCode
    reason: str


def never_unavailable(model: str) -> str | None:
    """For programs that keep no account of failures."""
    return None


def failure_of(
    model: str,
    needs: Needs,
    registry: Registry,
    capabilities: CapabilityLookup,
    unavailable: Unavailable = never_unavailable,
) -> Failure | None:
    """Why a model cannot serve a turn with these needs. Only the needs are checked."""
    if model not in registry:
        return Failure(FailureCode.NOT_CONFIGURED, "it is not configured")
    why = unavailable(model)
    if why is not None:
        return Failure(FailureCode.PROVIDER_UNAVAILABLE, why)
    return shortcoming_of(needs, capabilities(model)) or _distrust(model, needs, registry)


def _distrust(model: str, needs: Needs, registry: Registry) -> Failure | None:
    """The side effects of the turn's tools that this model's turns do not allow."""
    allowed = registry.allowed_effects(model)
    if allowed is None:
        return None
    wrong = [effect.value for effect in needs.side_effects if effect not in allowed]
    if not wrong:
        return None
    text = f"it is not allowed tools that {' or '.join(_EFFECTS[each] for each in wrong)}"
    return Failure(FailureCode.SIDE_EFFECTS_NOT_ALLOWED, text)


_EFFECTS = {
    "none": "compute",
    "read": "read",
    "write": "write files",
    "execute": "execute code",
    "network": "change things over the network",
}


def shortcoming_of(needs: Needs, record: Capabilities | None) -> Failure | None:
    """What is needed but not supported. An undeclared capability counts as yes for tools and system
    prompts, as no for images and structured output, and as no limit for the window."""
    problem = _image_problem(needs, record)
    if problem is not None:
        return Failure(FailureCode.NO_VISION_SUPPORT, problem)
    window = record.max_context_tokens if record is not None else None
    tokens = needs.input_tokens + needs.output_tokens
    if window is not None and tokens > window:
        text = f"about {tokens:,} tokens do not fit into its window of {window:,}"
        return Failure(FailureCode.EXCEEDS_CONTEXT_WINDOW, text)
    for name, default, code, words in _SWITCHES:
        declared = getattr(record, f"supports_{name}") if record is not None else None
        if getattr(needs, name) and not (default if declared is None else declared):
            return Failure(code, f"it does not support {words}")
    return None


_SWITCHES = (
    ("tools", True, FailureCode.NO_TOOL_SUPPORT, "tools"),
    ("system_prompt", True, FailureCode.NO_SYSTEM_PROMPT_SUPPORT, "system prompts"),
    ("structured_output", False, FailureCode.NO_STRUCTURED_OUTPUT_SUPPORT, "structured output"),
)
"""The needs of a turn, their default if nothing is declared, and the message if they are not
met."""


def _image_problem(needs: Needs, record: Capabilities | None) -> str | None:
    if needs.image_media_types is None:
        return None
    if record is None or not record.supports_images:
        return "it does not support images"
    accepted = record.accepted_image_media_types
    if not accepted:
        return None  # nothing is declared, so nothing can be refused
    known = {type.lower() for type in accepted}
    wrong = [t for t in needs.image_media_types if t != UNKNOWN_MEDIA_TYPE and t not in known]
    return f"it does not accept {', '.join(wrong)}" if wrong else None


@dataclass(frozen=True)
class Refusal:
    """Why the model stays as it is."""

    model: str
    failure: Failure
    images: int = 0
    active_model: str | None = None

    @property
    def text(self) -> str:
        """The message for the user: which model, why, and that nothing has changed."""
        why = self.failure.reason
        if self.failure.code is FailureCode.NO_VISION_SUPPORT:
            count = "an image" if self.images == 1 else f"{self.images} images"
            why = f"the conversation contains {count}, and {why.replace('it ', 'the model ', 1)}"
        active = self.active_model or "not set"
        return f"Cannot switch to {self.model}: {why}. The active model is unchanged: {active}."

    def event(self) -> ConstraintFailure:
        """The payload of `routing.constraint_failure`."""
        return ConstraintFailure(
            model=self.model,
            code=self.failure.code,
            reason=self.failure.reason,
            active_model=self.active_model,
        )


def check_swap(
    model: str,
    history: Sequence[Message],
    registry: Registry,
    capabilities: CapabilityLookup,
    *,
    active_model: str | None = None,
    tools: Sequence[ToolDefinition] = (),
    input_tokens: int = 0,
) -> Refusal | None:
    """None if the model can take over the session as it is. Checks images anywhere in the history,
    their media types, the tools and the window, but not whether the model is available now: the
    next turn does that."""
    needs = needs_of(history, tools, input_tokens=input_tokens)
    failure = failure_of(model, needs, registry, capabilities)
    has_images = needs.image_media_types is not None
    if failure is None and has_images and isinstance(capabilities(model), ExpectedCapabilities):
        failure = Failure(FailureCode.NO_VISION_SUPPORT, "it is not known to support images")
    if failure is None:
        return None
    images = sum(isinstance(block, ImageBlock) for _, _, block in walk(history))
    return Refusal(model, failure, images, active_model)


class Command(NamedTuple):
    """A command line that routing understands; `argument` may be empty."""

    name: Literal["model", "rules", "models", "cost"]
    argument: str = ""


_NAMES: dict[str, Literal["model", "rules", "models", "cost"]] = {
    "/model": "model",
    "/rules": "rules",
    "/models": "models",
    "/cost": "cost",
}


def parse_command(text: str) -> Command | None:
    """Parses `/model <id>`, `/model -`, `/model show`, `/rules check|show|reload`, `/models` and
    `/cost`; None for any other text."""
    head, _, rest = text.strip().partition(" ")
    name = _NAMES.get(head)
    if name is None or "\n" in text.strip():
        return None
    return Command(name, rest.strip())


@dataclass
class Choice:
    """One session's sticky model. A choice during a turn takes effect at its end; the last of
    several wins."""

    model: str | None = None
    in_turn: bool = False
    _waits: bool = False
    _next: str | None = None

    def set(self, model: str | None) -> RouteOverridden:
        """Choose a model, or with None take the choice back."""
        event = RouteOverridden(
            via="command", model=model, previous_model=self.model, queued=self.in_turn
        )
        if self.in_turn:
            self._waits, self._next = True, model
        else:
            self.model = model
        return event

    @property
    def queued(self) -> bool:
        return self._waits

    def begin_turn(self) -> str | None:
        """The sticky model of the turn that begins now."""
        self.in_turn = True
        return self.model

    def end_turn(self) -> None:
        """Choices made during the turn take effect."""
        self.in_turn = False
        if self._waits:
            self.model, self._waits, self._next = self._next, False, None


_HINT = "; to begin a message with an at sign, write \\@"


class AddressedText(NamedTuple):
    """The rest of the text, and its addressee: `name` as written, `model` the id behind it."""

    message: Message
    name: str | None = None
    model: str | None = None


def split_override(text: str) -> tuple[str | None, str]:
    """The name after a leading `@`, if there is one, and the text without it (or without the
    backslash that escapes it). An `@` with nothing behind it is plain text."""
    if text.startswith("\\@"):
        return None, text[1:]
    if not text.startswith("@") or len(text) == 1 or text[1].isspace():
        return None, text
    parts = text[1:].split(maxsplit=1)
    return parts[0], parts[1] if len(parts) > 1 else ""


def address(message: Message, registry: Registry) -> AddressedText:
    """Reads the order at the start of a user message. An unknown name, or one with nothing after
    it, is an error: the writer expects another model to see the message, or more text.

    The first text block counts, whatever media stands before it. Media is a body too."""
    at = next((i for i, block in enumerate(message.content) if type(block) is TextBlock), None)
    if at is None:
        return AddressedText(message)
    block = message.content[at]
    assert isinstance(block, TextBlock)
    name, body = split_override(block.text)
    if name is None and body == block.text:
        return AddressedText(message)
    rest = (block.replace(text=body),) if body else ()
    addressed = message.replace(content=(*message.content[:at], *rest, *message.content[at + 1 :]))
    if name is None:
        return AddressedText(addressed)
    model = registry.require(name, _HINT)
    if not addressed.content:
        raise OverrideError(f"@{name} has no text after it{_HINT}")
    return AddressedText(addressed, name, model)
