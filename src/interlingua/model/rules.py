"""Validation: one function per invariant, collected in `RULES`.

Structural rules hold for every complete message. Provenance rules hold for the messages of a
session. Ids and stop reasons are checked on failed and cancelled messages too; a partial message
may break any rule. Readers do not validate: a provider's data is read as it is, and `validate`
lists its oddities.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import msgspec

from interlingua.errors import a_type
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    CompactionBlock,
    MediaBlock,
    Source,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.message import PLACEMENT, Message, Role
from interlingua.model.metadata import MessageStatus, RoutingMode, StopReason, Usage

if TYPE_CHECKING:
    from interlingua.coerce import Conversation

_ULID = "[0-7][0-9A-HJKMNP-TV-Z]{25}"
_is_ulid = re.compile(_ULID).fullmatch
_is_tool_id = re.compile(f"tu_{_ULID}").fullmatch
_is_model_id = re.compile(r"[^\s:/]+:\S+").fullmatch

# Bound once: looking up an enum's member costs as much as a whole rule.
_COMPLETE = MessageStatus.COMPLETE
_ASSISTANT = Role.ASSISTANT
_RULE, _PATTERN = RoutingMode.RULE, RoutingMode.PATTERN

_FINISHED = frozenset(MessageStatus) - {MessageStatus.PARTIAL}
_MEDIA: frozenset[type] = frozenset(get_args(MediaBlock))
_TOOLS: frozenset[type] = frozenset({ToolUseBlock, ToolResultBlock})
_HOLDERS = _MEDIA | {ToolResultBlock}
_RESULT_CONTENT = _MEDIA | {TextBlock, UnknownBlock}


class Violation(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """One broken rule. `block` is an index into the message's content, None the whole message."""

    rule: str
    path: str
    message_id: str | None
    block: int | None
    problem: str

    def __str__(self) -> str:
        whose = f" (message {self.message_id})" if self.message_id else ""
        return f"{self.path}{whose}: {self.problem} (rule {self.rule})"


def validate(value: Conversation | Iterable[Message] | Response) -> list[Violation]:
    """Every rule that is broken, in the order of the messages; none, and the list is empty.

    Dicts are read first: messages, or the request of a provider.

    One message alone may answer a call that is not in sight, and so may a request that continues
    history which the provider keeps. A conversation, or another request, may not.
    """
    if isinstance(value, Message):
        return _validate((value,), "$", whole=False)
    if isinstance(value, Request):
        return _validate(value.messages, "$.messages[{}]", whole=value.continues is None)
    if isinstance(value, Response):
        violations = _validate((value.message,), "$.message", whole=False)
        for number, message in enumerate(value.alternatives):
            violations += _validate((message,), f"$.alternatives[{number}]", whole=False)
        return violations
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{_TAKEN}; found {a_type(value)}")
    return _validate_any(value)


def _validate_any(value: Any) -> list[Violation]:
    """Validates messages, or values that convert to them."""
    from interlingua.model.interop import is_sdk_object

    if isinstance(value, Iterable) and not isinstance(value, Mapping) and not is_sdk_object(value):
        value = list(value)
        if all(type(each) is Message for each in value):
            return _validate(value, "$[{}]", whole=True)
    from interlingua.coerce import as_conversation

    found = as_conversation(value)
    return validate(found if isinstance(found, Request) else list(found))


_TAKEN = (
    "validate takes il.Message, a dict with role and content, a list of those, a request as a dict,"
    " il.Request or il.Response"
)


def _validate(messages: Iterable[Message], place: str, whole: bool) -> list[Violation]:
    return _validate_with(History(whole), messages, place)


def _validate_with(history: History, messages: Iterable[Message], place: str) -> list[Violation]:
    """`place` has a hole for the message's number. Paths are made only where something is wrong."""
    violations: list[Violation] = []
    for number, message in enumerate(messages):
        if type(message) is not Message:
            raise TypeError(f"{_TAKEN}; found {a_type(message)}")
        history.go_on(message)
        held = message.session_id is not None
        for name, check in _plan(message.role, message.metadata.status, held, history.kinds):
            for block, tail, problem in check(message, history):
                path = place.format(number) + tail
                violations.append(Violation(name, path, message.id, block, problem))
    return violations


def validate_appended(
    messages: Iterable[Message], session_id: str, newest: str, calls: Iterable[EarlierCall]
) -> list[Violation]:
    """The broken rules of messages that continue a session: `newest` is the greatest id so far,
    `calls` are all earlier calls that are answered now."""
    history = History(whole=True)
    history.go_on_from(session_id, newest, calls)
    return _validate_with(history, messages, "$[{}]")


class EarlierCall(NamedTuple):
    """A call of an earlier message."""

    id: str
    executor: str
    is_answered: bool


class _Call:
    """A tool id of a session: how often it was used for a call, and how often answered."""

    __slots__ = ("answered", "executor", "made")

    def __init__(self) -> None:
        self.made = 0
        self.answered = 0
        self.executor: str = "client"


class _Session:
    __slots__ = ("calls", "newest")

    def __init__(self) -> None:
        self.calls: dict[str, _Call] = {}
        self.newest = ""


class History:
    """The context of a rule: the earlier messages, and how the message follows them.

    Messages without a session id go on from the session before them. A call in an unfinished
    message counts as a call; a result in one counts as no answer. The lists are indexes into this
    message's content.
    """

    def __init__(self, whole: bool) -> None:
        self.whole = whole
        """Whether all earlier messages are here."""
        self.kinds: frozenset[type] = frozenset()
        """The classes of this message's blocks."""
        self.first_session: str | None = None
        self.is_ulid = False
        self.newest = ""
        """The greatest message id of the session before this message."""
        self.repeated: Sequence[int] = ()
        """Calls with an id that an earlier call has."""
        self.orphans: Sequence[int] = ()
        """Results without a call."""
        self.again: Sequence[int] = ()
        """Results of calls that have one."""
        self.clients: Sequence[int] = ()
        """Results of calls that are for the client to run."""
        self._here = _Session()
        self._sessions: dict[str, _Session] = {}

    def go_on_from(self, session_id: str, newest: str, calls: Iterable[EarlierCall]) -> None:
        """Continues after messages that are not loaded."""
        self.first_session = session_id
        here = self._sessions[session_id] = self._here
        here.newest = newest if _is_ulid(newest) else ""
        for each in calls:
            call = here.calls[each.id] = _Call()
            call.made = 1
            call.answered = int(each.is_answered)
            call.executor = each.executor

    def go_on(self, message: Message) -> None:
        self.kinds = kinds = frozenset(map(type, message.content))
        if message.session_id is not None:
            self._enter_session(message, message.session_id)
        if not kinds.isdisjoint(_TOOLS):
            self._pair(message)

    def _enter_session(self, message: Message, session_id: str) -> None:
        if self.first_session is None:
            self.first_session = session_id
            self._sessions[session_id] = self._here
        elif session_id not in self._sessions:
            self._sessions[session_id] = _Session()
        self._here = here = self._sessions[session_id]
        self.newest = here.newest
        id = message.id
        self.is_ulid = id is not None and _is_ulid(id) is not None
        if id is None or not self.is_ulid or id <= here.newest:
            return
        if message.metadata.status in _FINISHED:
            here.newest = id

    def _pair(self, message: Message) -> None:
        """Matches a result to an earlier call; each call with a repeated id takes one result."""
        calls = self._here.calls
        counts = message.metadata.status == _COMPLETE
        self.repeated = repeated = []
        self.orphans = orphans = []
        self.again = again = []
        self.clients = clients = []
        for index, block in enumerate(message.content):
            if type(block) is ToolUseBlock:
                call = calls.get(block.id)
                if call is None:
                    call = calls[block.id] = _Call()
                else:
                    repeated.append(index)
                call.made += 1
                call.executor = block.executor
            elif type(block) is ToolResultBlock:
                call = calls.get(block.tool_use_id)
                if call is None:
                    orphans.append(index)
                    continue
                if call.answered >= call.made:
                    again.append(index)
                if call.executor != "provider":
                    clients.append(index)
                if counts:
                    call.answered += 1


Finding = tuple[int | None, str, str]
"""The block's index, the rest of the path after the message, and the problem."""
Check = Callable[[Message, History], Sequence[Finding]]


class Rule(NamedTuple):
    """A check, its requirements, and the messages that it applies to: their roles and statuses,
    whether only in sessions, whether only with one of some `blocks`."""

    check: Check
    requirements: tuple[str, ...]
    roles: frozenset[Role]
    statuses: frozenset[MessageStatus]
    held: bool
    blocks: frozenset[type] | None

    def is_for(self, role: Role, status: MessageStatus, held: bool, kinds: frozenset[type]) -> bool:
        return (
            role in self.roles
            and status in self.statuses
            and (held or not self.held)
            and (self.blocks is None or not self.blocks.isdisjoint(kinds))
        )


RULES: dict[str, Rule] = {}


def _rule(
    *requirements: str,
    roles: Iterable[Role] = Role,
    statuses: Iterable[MessageStatus] = (_COMPLETE,),
    held: bool = False,
    blocks: Iterable[type] | None = None,
) -> Callable[[Check], Check]:
    only = None if blocks is None else frozenset(blocks)

    def enter(check: Check) -> Check:
        name = check.__name__
        RULES[name] = Rule(check, requirements, frozenset(roles), frozenset(statuses), held, only)
        return check

    return enter


@lru_cache(maxsize=4096)
def _plan(
    role: Role, status: MessageStatus, held: bool, kinds: frozenset[type]
) -> tuple[tuple[str, Check], ...]:
    """The rules for messages of one shape; a conversation has few shapes."""
    shape = (role, status, held, kinds)
    return tuple([(name, rule.check) for name, rule in RULES.items() if rule.is_for(*shape)])


# Structure


@_rule("S002-47", "S002-48", "S002-16", roles=(Role.USER, Role.ASSISTANT, Role.TOOL))
def not_empty(message: Message, history: History) -> Sequence[Finding]:
    """A model may end its turn without content, for example after a filter, if there is a stop
    reason."""
    if message.content or (message.role == _ASSISTANT and message.metadata.stop_reason):
        return ()
    return [(None, ".content", f"{message.role} messages have at least one block")]


@_rule("S002-49")
def placement(message: Message, history: History) -> Sequence[Finding]:
    allowed = _ALLOWED[message.role]
    if history.kinds <= allowed:
        return ()
    return [
        (index, f".content[{index}]", f"{_name(block)} is not allowed in {message.role} messages")
        for index, block in enumerate(message.content)
        if type(block) not in allowed
    ]


@_rule("S002-49", "S002-10", roles=(Role.TOOL,))
def one_tool_result(message: Message, history: History) -> Sequence[Finding]:
    count = [type(block) for block in message.content].count(ToolResultBlock)
    if count == 1 or not message.content:
        return ()
    return [(None, ".content", f"a tool message has exactly one tool_result, found {count}")]


@_rule("S002-59", "S002-34", roles=(Role.TOOL,))
def answered_call_is_named(message: Message, history: History) -> Sequence[Finding]:
    if message.metadata.parent_tool_use_id is not None:
        return ()
    return [(None, ".metadata.parent_tool_use_id", "a tool message names the call it answers")]


@_rule("S002-59", "S002-34", roles=(Role.TOOL,), blocks=(ToolResultBlock,))
def answered_call_is_the_results(message: Message, history: History) -> Sequence[Finding]:
    parent = message.metadata.parent_tool_use_id
    if parent is None:
        return ()
    for index, block in enumerate(message.content):
        if type(block) is ToolResultBlock and block.tool_use_id != parent:
            problem = "it differs from the tool_use_id of the result"
            return [(index, ".metadata.parent_tool_use_id", problem)]
    return ()


@_rule("S002-22", blocks=(ToolResultBlock,))
def tool_result_content(message: Message, history: History) -> Sequence[Finding]:
    findings: list[Finding] = []
    for index, block in enumerate(message.content):
        if type(block) is ToolResultBlock:
            for inner, part in enumerate(block.content):
                if type(part) not in _RESULT_CONTENT:
                    path = f".content[{index}].content[{inner}]"
                    findings.append((index, path, f"{_name(part)} is not allowed in a tool_result"))
    return findings


@_rule("S002-115", blocks=(CompactionBlock,))
def compaction_stands_for_messages(message: Message, history: History) -> Sequence[Finding]:
    return [
        (index, f".content[{index}].replaces", "compacted history replaces at least one message")
        for index, block in enumerate(message.content)
        if type(block) is CompactionBlock and block.replaces is not None and block.replaces < 1
    ]


@_rule("S002-24", blocks=_HOLDERS)
def source_fits_its_kind(message: Message, history: History) -> Sequence[Finding]:
    findings: list[Finding] = []
    for index, block in enumerate(message.content):
        if type(block) in _HOLDERS:
            for tail, problem in _source_problems(block):
                findings.append((index, f".content[{index}]{tail}", problem))
    return findings


@_rule("S002-54", "S002-52", blocks=(ToolUseBlock,))
def tool_ids_are_not_repeated(message: Message, history: History) -> Sequence[Finding]:
    return _at(history.repeated, ".id", "an earlier call has the same id")


@_rule("S002-53", blocks=(ToolResultBlock,))
def result_answers_an_earlier_call(message: Message, history: History) -> Sequence[Finding]:
    orphans = history.orphans if history.whole else ()
    return _at(orphans, ".tool_use_id", "no earlier call has this id")


@_rule("S002-54", blocks=(ToolResultBlock,))
def call_is_answered_once(message: Message, history: History) -> Sequence[Finding]:
    return _at(history.again, ".tool_use_id", "this call has a result already")


@_rule("S002-49", roles=(_ASSISTANT,), blocks=(ToolResultBlock,))
def assistant_results_are_the_providers(message: Message, history: History) -> Sequence[Finding]:
    return _at(history.clients, "", "the result of a client's call belongs in a tool message")


@_rule("S002-38", statuses=_FINISHED)
def stop_reason_fits_status(message: Message, history: History) -> Sequence[Finding]:
    """Without a model, a message needs no stop reason."""
    status, stop = message.metadata.status, message.metadata.stop_reason
    if stop is None and message.role != _ASSISTANT:
        return ()
    if _STATUS_OF_STOP.get(stop, _COMPLETE) == status:
        return ()
    reason = "no stop reason" if stop is None else f"stop reason {stop}"
    return [(None, ".metadata.stop_reason", f"status {status} does not match {reason}")]


@_rule("S002-53", "S002-14", statuses=_FINISHED, held=True)
def one_session(message: Message, history: History) -> Sequence[Finding]:
    if message.session_id == history.first_session:
        return ()
    return [(None, ".session_id", "earlier messages belong to another session")]


# Provenance


@_rule("S002-13", "S002-64", statuses=_FINISHED, held=True)
def id_is_a_ulid(message: Message, history: History) -> Sequence[Finding]:
    return () if history.is_ulid else [(None, ".id", "the id of a stored message is a ULID")]


@_rule("S002-13", "S002-64", statuses=_FINISHED, held=True)
def ids_increase(message: Message, history: History) -> Sequence[Finding]:
    if message.id is None or not history.is_ulid or message.id > history.newest:
        return ()
    return [(None, ".id", "an earlier message of the session has the same or a greater id")]


@_rule("S002-52", "S002-65", held=True, blocks=(ToolUseBlock,))
def tool_ids_are_ours(message: Message, history: History) -> Sequence[Finding]:
    return [
        (index, f".content[{index}].id", "the id of a stored call is 'tu_' and a ULID")
        for index, block in enumerate(message.content)
        if type(block) is ToolUseBlock and not _is_tool_id(block.id)
    ]


@_rule("S002-56", roles=(_ASSISTANT,), held=True)
def model_is_named(message: Message, history: History) -> Sequence[Finding]:
    if message.metadata.model is not None:
        return ()
    return [(None, ".metadata.model", "a stored assistant message names its model")]


@_rule("S002-56", roles=(_ASSISTANT,), held=True)
def provider_is_named(message: Message, history: History) -> Sequence[Finding]:
    if message.metadata.provider is not None:
        return ()
    return [(None, ".metadata.provider", "a stored assistant message names its provider")]


@_rule("S002-69", "S002-30", roles=(_ASSISTANT,), held=True)
def model_id_has_its_form(message: Message, history: History) -> Sequence[Finding]:
    model = message.metadata.model
    if model is None or _is_model_id(model):
        return ()
    return [(None, ".metadata.model", "a model id is <provider>:<name>")]


@_rule("S002-57", "S002-32", roles=(_ASSISTANT,), held=True)
def routing_is_recorded(message: Message, history: History) -> Sequence[Finding]:
    if message.metadata.routing is not None:
        return ()
    return [(None, ".metadata.routing", "a stored assistant message needs a routing record")]


@_rule("S002-39", roles=(_ASSISTANT,), held=True)
def chosen_model_is_the_model(message: Message, history: History) -> Sequence[Finding]:
    routing, model = message.metadata.routing, message.metadata.model
    if routing is None or model is None or routing.chosen_model == model:
        return ()
    return [(None, ".metadata.routing.chosen_model", "it differs from the model of the message")]


@_rule("S002-39", roles=(_ASSISTANT,), held=True)
def rule_name_is_for_rules(message: Message, history: History) -> Sequence[Finding]:
    routing = message.metadata.routing
    if routing is None or routing.rule_name is None or routing.mode == _RULE:
        return ()
    return [(None, ".metadata.routing.rule_name", f"mode {routing.mode} has no rule")]


@_rule("S002-39", roles=(_ASSISTANT,), held=True)
def confidence_is_for_patterns(message: Message, history: History) -> Sequence[Finding]:
    routing = message.metadata.routing
    if routing is None or routing.confidence is None or routing.mode == _PATTERN:
        return ()
    return [(None, ".metadata.routing.confidence", f"mode {routing.mode} has no confidence")]


@_rule("S002-39", roles=(_ASSISTANT,), held=True)
def confidence_is_a_share(message: Message, history: History) -> Sequence[Finding]:
    routing = message.metadata.routing
    if routing is None or routing.confidence is None or 0 <= routing.confidence <= 1:
        return ()
    return [(None, ".metadata.routing.confidence", "confidence lies between 0 and 1")]


@_rule("S002-58", "S002-33", roles=(_ASSISTANT,), held=True)
def usage_is_reported(message: Message, history: History) -> Sequence[Finding]:
    if message.metadata.usage is not None:
        return ()
    return [(None, ".metadata.usage", "a stored assistant message reports its usage")]


@_rule("S002-42", "S002-43", roles=(_ASSISTANT,), held=True)
def counts_are_not_negative(message: Message, history: History) -> Sequence[Finding]:
    usage = message.metadata.usage
    if usage is None or not _has_negative(usage):
        return ()
    return [
        (None, f".metadata.usage.{name}", "a count of tokens is 0 or more")
        for name in _COUNTS
        if (getattr(usage, name) or 0) < 0
    ]


@_rule("S002-43", roles=(_ASSISTANT,), held=True)
def reasoning_is_part_of_output(message: Message, history: History) -> Sequence[Finding]:
    usage = message.metadata.usage
    if usage is None or usage.reasoning_tokens is None or usage.output_tokens is None:
        return ()
    if usage.reasoning_tokens <= usage.output_tokens:
        return ()
    return [(None, ".metadata.usage.reasoning_tokens", "more tokens of reasoning than of output")]


_ALLOWED: dict[Role, frozenset[type]] = {
    role: frozenset([cls for cls, name in TYPE_OF.items() if name in names])
    for role, names in PLACEMENT.items()
}
_STATUS_OF_STOP: dict[StopReason | None, MessageStatus] = {
    StopReason.CANCELLED: MessageStatus.CANCELLED,
    StopReason.ERROR: MessageStatus.ERROR,
}
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_creation_input_tokens",
    "reasoning_tokens",
)


def _at(indexes: Sequence[int], tail: str, problem: str) -> Sequence[Finding]:
    if not indexes:
        return ()
    return [(index, f".content[{index}]{tail}", problem) for index in indexes]


def _name(block: Any) -> str:
    return TYPE_OF.get(type(block), type(block).__name__)


def _has_negative(usage: Usage) -> bool:
    return (
        (usage.input_tokens or 0) < 0
        or (usage.output_tokens or 0) < 0
        or (usage.cached_input_tokens or 0) < 0
        or (usage.cache_creation_input_tokens or 0) < 0
        or (usage.reasoning_tokens or 0) < 0
    )


def _source_problems(block: Block) -> list[tuple[str, str]]:
    """Sources in a block, nested ones included, that lack a field of their kind: path and
    problem."""
    problems: list[tuple[str, str]] = []
    todo: list[tuple[str, Block]] = [("", block)]
    while todo:
        tail, each = todo.pop()
        parts: Sequence[Block] = ()
        if isinstance(each, ToolResultBlock):
            parts = each.content
        elif isinstance(each, MediaBlock):
            tail += ".source"
            parts = each.source.content or ()
            if problem := _source_problem(each.source) or _type_problem(each):
                problems.append((tail, problem))
        for at, part in enumerate(parts):
            if type(part) in _HOLDERS:
                todo.append((f"{tail}.content[{at}]", part))
    return problems


def _source_problem(source: Source) -> str | None:
    if source.kind == "blocks":
        fits = source.content is not None and source.data is None
        return None if fits else "a source of kind blocks has content, and no data"
    fits = source.data is not None and source.content is None
    return None if fits else f"a source of kind {source.kind} has data, and no content"


def _type_problem(block: MediaBlock) -> str | None:
    """A problem if neither `media_type` nor the suffix of a file's name gives the type."""
    source = block.source
    if source.kind not in ("base64", "file_ref") or block.media_type is not None:
        return None
    name = block.name or (source.data or "" if source.kind == "file_ref" else "")
    if "." in name.rpartition("/")[2]:
        return None
    return f"media from {source.kind} needs a media_type, such as image/png"
