"""Saying history to another dialect or model: the one place where anything is repaired or left out.

Canonical in, canonical out, on a copy; what is stored stays as it is. Each step is a function of
its own; every change is in the report, at its place in the value that was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from interlingua.callable_module import let_call
from interlingua.dialects.base import PLACEHOLDER, SYSTEM_MARK, Dialect, Scribe, Traits
from interlingua.dialects.registry import dialect as dialect_of
from interlingua.ids import IdGrammar
from interlingua.losses import Loss, Report
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    ImageBlock,
    RedactedThinkingBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.model.tools import ToolDefinition
from interlingua.schemas import narrow

NO_RESULT = "No result: the call was not completed."
"""The text of the error result that stands in for one that never came."""
UNVERIFIED = "only its issuer can verify it"
NO_IMAGE = "[image left out: this model takes no images]"
"""Stands for a run of images where the model takes none, and within a result:"""
NO_RESULT_IMAGE = "[image of the result left out: this model takes no images]"
# Bound once: looking up an enum's member costs as much as a whole step.
_ASSISTANT, _TOOL, _USER = Role.ASSISTANT, Role.TOOL, Role.USER
_INSTRUCTS = frozenset({Role.SYSTEM, Role.DEVELOPER})
_COMPLETE, _PARTIAL = MessageStatus.COMPLETE, MessageStatus.PARTIAL

OWN_KINDS = frozenset({"function", "custom"})
"""Kinds of tools that mean the same to every vendor."""
FAMILIES: dict[str, str | None] = {
    "anthropic": "anthropic",
    "bedrock": "anthropic",
    "gemini": "google",
    "openai-responses": "openai",
    "openrouter": "openrouter",
    "openai-chat": None,
    "ollama": None,
}
"""Dialect to signing family: who can read the signatures that came through it."""


class Retold(msgspec.Struct, frozen=True):
    """`value` is what to write; `scribe` knows which original stands behind each part of it."""

    value: Any
    report: Report
    scribe: Scribe


def retell(
    value: Any,
    target: str | Dialect,
    model: str | None = None,
    *,
    source: str | None = None,
    strict_issuer: bool = False,
    images: bool = True,
) -> Retold:
    """Say a request, a response, or messages so that `target` (and its `model`) can take them.

    `source` is the dialect they were read from, where it is known; with `strict_issuer` signatures
    go back only through the very dialect that they came by, not to their whole signing family.
    Without `images`, the model takes none, and a placeholder stands for each run of them."""
    to = dialect_of(target) if isinstance(target, str) else target
    if not images:
        pass  # somebody has to look for them
    elif type(value) is Response:
        answer = _plain_answer(value, to, model, source, strict_issuer)
        if answer is not None:
            return answer
    elif type(value) is Request and _is_simple(value):
        report = Report(to.name)
        return Retold(value, report, Scribe(to.name, value, report))
    if isinstance(value, Message):
        value = (value,)
    if isinstance(value, (list, tuple)):
        value = Request(tuple(value))
        told = retell(value, to, model, source=source, strict_issuer=strict_issuer, images=images)
        return Retold(told.value.messages, told.report, told.scribe)
    teller = _Teller(value, to, model, source, strict_issuer, images)
    told_value = teller.response(value) if isinstance(value, Response) else teller.request(value)
    return Retold(told_value, teller.scribe.report, teller.scribe)


def _is_simple(request: Request) -> bool:
    """Whether nobody but the user has spoken yet, after the instructions: nothing to repair."""
    if request.tools or request.continues is not None:
        return False
    leading = True
    for message in request.messages:
        role = message.role
        if role is _USER:
            leading = False
        elif role is _ASSISTANT or role is _TOOL or not leading:
            return False
    return True


def _plain_answer(
    response: Response, to: Dialect, model: str | None, source: str | None, strict_issuer: bool
) -> Retold | None:
    """The usual answer, said without looking for what it does not have: text, calls whose ids fit,
    and thinking, of which a signature may have to go. None for all others."""
    traits, message = to.traits, response.message
    if response.alternatives or traits.call_signature is not None:
        return None
    signed: list[int] = []
    ids: list[str] = []
    content: Any = message.content
    for index, block in enumerate(content):
        kind = type(block)
        if kind is ToolUseBlock:
            if block.signature is not None or block.executor != "client":
                return None
            ids.append(block.id)
        elif kind is ThinkingBlock:
            if block.raw is not None or not block.text:
                return None
            if block.signature is not None:
                signed.append(index)
        elif kind is not TextBlock or block.signature is not None:
            return None
    if ids and not (len(ids) == len(set(ids)) and all(map(to.legal_id, ids))):
        return None
    losses: list[Loss] = []
    protocol = message.metadata.protocol or source
    if signed and not _can_verify(to, model, message, protocol, strict_issuer):
        told = list(content)
        for index in signed:
            told[index] = replace(told[index], signature=None)
            path = f"$.message.content[{index}].signature"
            losses.append(Loss("dropped", path, UNVERIFIED, "warning", "thinking", message.id))
        response = replace(response, message=replace(message, content=tuple(told)))
    report = Report(to.name, losses)
    return Retold(response, report, Scribe(to.name, response, report))


class _Teller:
    """One retelling: the target's traits, the scribe, and the steps."""

    def __init__(
        self,
        value: Request | Response,
        target: Dialect,
        model: str | None,
        source: str | None,
        strict_issuer: bool,
        images: bool = True,
    ) -> None:
        self.target = target
        self.name = target.name
        self.traits: Traits = target.traits
        self.model = model
        self.source = source
        self.strict_issuer = strict_issuer
        self.images = images
        self.answering = isinstance(value, Response)
        """A response goes to a client, who may see the thinking but cannot verify it."""
        self.issuers: dict[int, bool] = {}
        self.scribe = Scribe(target.name, value, Report(target.name))

    def request(self, request: Request) -> Request:
        changes: dict[str, Any] = {}
        # History that the provider keeps may hold the call of a result; abroad it is not there.
        kept_there = request.continues is not None and self.source == self.name
        seen = request.messages if self.images else self.without_images(request.messages)
        messages = self.messages(seen, paired=not kept_there)
        if messages is not request.messages:
            changes["messages"] = messages
        if request.tools:
            tools = self.tools(request.tools)
            if tools is not request.tools:
                changes["tools"] = tools
        if request.continues is not None and self.source != self.name:
            reason = "the history that the provider keeps is known to that provider alone"
            self.scribe.lost(request, "continues", reason, severity="error")
            changes["continues"] = None
        return request.replace(**changes) if changes else request

    def response(self, response: Response) -> Response:
        message = self.assistant(response.message)
        if any(type(block) is ToolUseBlock for block in message.content):
            message = self.with_ids((message,))[0]
        if not response.alternatives:
            return response if message is response.message else response.replace(message=message)
        others = [self.with_ids((self.assistant(each),))[0] for each in response.alternatives]
        return response.replace(message=message, alternatives=tuple(others))

    def messages(self, messages: tuple[Message, ...], paired: bool) -> tuple[Message, ...]:
        if self.is_clean(messages):
            return messages
        told: list[Message] = []
        left_out: set[str] = set()
        leading = True
        changed = False
        for message in messages:
            role = message.role
            new: Message | None = message
            if role is _ASSISTANT:
                ids = {block.id for block in message.content if type(block) is ToolUseBlock}
                if self.is_said(message):
                    left_out -= ids
                    new = self.assistant(message)
                else:
                    left_out |= ids
                    new = None
            elif role is _TOOL and left_out and self.goes_with_its_call(message, left_out):
                new = None
            elif role in _INSTRUCTS and not leading and not self.traits.system_anywhere:
                new = self.marked(message)
            leading = leading and role in _INSTRUCTS
            changed = changed or new is not message
            if new is not None:
                told.append(new)
        out = tuple(told) if changed else messages
        return self.hoisted(self.with_ids(self.paired(out) if paired else out))

    def is_clean(self, messages: tuple[Message, ...]) -> bool:
        """Whether there is nothing to repair: the usual history, found out in one go."""
        if self.traits.call_signature is not None:
            return False
        legal, ordered = self.target.legal_id, self.traits.ordered_results
        waiting: list[str] = []
        seen: set[str] = set()
        leading = True
        for message in messages:
            role = message.role
            content: Any = message.content
            if role is _TOOL:
                block = content[0] if len(content) == 1 else None
                if type(block) is not ToolResultBlock or block.tool_use_id not in waiting:
                    return False
                if ordered and waiting[0] != block.tool_use_id:
                    return False
                waiting.remove(block.tool_use_id)
                for part in block.content:
                    if type(part) is not TextBlock:
                        return False
                continue
            if waiting:
                return False
            if role is _ASSISTANT:
                if message.metadata.status is not _COMPLETE:
                    return False
                for block in content:
                    kind = type(block)
                    if kind is ToolUseBlock:
                        id = block.id
                        if block.signature is not None or block.executor != "client":
                            return False
                        if id in seen or legal(id) is None:
                            return False
                        seen.add(id)
                        waiting.append(id)
                    elif kind is ThinkingBlock:
                        if block.raw is not None or not self.is_issuer_of(message):
                            return False
                    elif kind is not TextBlock or block.signature is not None:
                        return False
            elif role is not _USER and not leading and not self.traits.system_anywhere:
                return False
            leading = leading and role in _INSTRUCTS
        return not waiting

    # -- turns ------------------------------------------------------------------------------------

    def is_said(self, message: Message) -> bool:
        """Failed and cancelled turns are left out."""
        status = message.metadata.status
        if status is not _COMPLETE and status is not _PARTIAL:
            self.scribe.lost(message, None, f"the turn ended as {status.value}", severity="error")
            return False
        return True

    def goes_with_its_call(self, message: Message, left_out: set[str]) -> bool:
        """A result of a call that was left out with its turn is left out too."""
        for block in message.content:
            if type(block) is ToolResultBlock and block.tool_use_id in left_out:
                self.scribe.lost(message, None, "its call was left out", severity="error")
                return True
        return False

    def marked(self, message: Message) -> Message:
        """Instructions in mid-conversation, as user text in their place."""
        reason = f"{self.name} takes instructions at the start only; said as marked user text"
        self.scribe.lost(message, "role", reason, kind="downgraded")
        blocks: list[Block] = list(message.content)
        for index, block in enumerate(blocks):
            if type(block) is TextBlock:
                blocks[index] = block.replace(text=SYSTEM_MARK + block.text)
                self.scribe.also_known(blocks[index], block)
                break
        return self.known(message.replace(role=_USER, content=tuple(blocks)), message)

    def known(self, new: Message, original: Message) -> Message:
        self.scribe.also_known(new, original)
        return new

    # -- what only the issuer can read ------------------------------------------------------------

    def assistant(self, message: Message) -> Message:
        """The message without signatures and thinking that the target cannot verify, and without
        what another vendor ran."""
        content = message.content
        told: list[Block] = []
        changed = False
        for block in content:
            new = block if _is_plain(block) else self.model_block(block, message)
            changed = changed or new is not block
            if new is not None:
                told.append(new)
        if not changed:
            return self.signed(message)
        if not told:
            reason = "nothing of it can be said; a placeholder stands in its place"
            self.scribe.lost(message, "content", reason, kind="approximated")
            told = [TextBlock(PLACEHOLDER)]
        return self.signed(self.known(message.replace(content=tuple(told)), message))

    def is_issuer_of(self, message: Message) -> bool:
        """`is_issuer` for blocks that name no issuer themselves; messages share their metadata."""
        metadata = message.metadata
        known = self.issuers.get(id(metadata))
        if known is None:
            known = self.issuers[id(metadata)] = self.is_issuer(message, _NOTHING)
        return known

    def model_block(self, block: Block, message: Message) -> Block | None:
        match block:
            case ThinkingBlock():
                return self.thinking(block, message)
            case RedactedThinkingBlock():
                if self.is_issuer(message, block):
                    return block
                self.scribe.dropped(block, "only its issuer can read it")
                return None
            case TextBlock(signature=str()) | ToolUseBlock(executor="client", signature=str()):
                return block if self.is_issuer(message, block) else self.unsigned(block)
            case ToolUseBlock(executor="provider") | ToolResultBlock():
                if self.is_home(message, block):
                    return block
                self.scribe.dropped(block, "tools that a provider runs do not cross vendors")
                return None
            case _:
                return block

    def thinking(self, block: ThinkingBlock, message: Message) -> ThinkingBlock | None:
        own = self.is_issuer_of(message) if block.raw is None else self.is_issuer(message, block)
        if own:
            return block
        if (self.traits.replays_thinking or self.answering) and block.text:
            return self.unsigned(block) if block.signature is not None else block
        self.scribe.dropped(block, "thinking goes back to its issuer only")
        return None

    def unsigned(self, block: Any) -> Any:
        self.scribe.lost(block, "signature", UNVERIFIED)
        new = block.replace(signature=None)
        self.scribe.also_known(new, block)
        return new

    def is_issuer(self, message: Message, block: Block) -> bool:
        """Whether the target can verify what this block carries: same signing family and model, or
        unknown on either side."""
        named = issuer_in_wire(block)
        if named is not None and self.name == "openrouter":
            return True  # an aggregator hands on what it was given; the format names the reader
        protocol = named or message.metadata.protocol or self.source
        return _can_verify(self.target, self.model, message, protocol, self.strict_issuer)

    def is_home(self, message: Message, block: Any) -> bool:
        """Whether the target's own dialect made this block."""
        if block.raw is not None and self.name in block.raw:
            return True
        return message.metadata.protocol == self.name

    def signed(self, message: Message) -> Message:
        """A provider that insists on a signature of its own calls gets the documented stand-in."""
        if self.traits.call_signature is None or self.answering:
            return message
        sentinel = self.traits.call_signature(self.model)
        if sentinel is None:
            return message
        for index, block in enumerate(message.content):
            if type(block) is ToolUseBlock and block.executor == "client":
                if block.signature is not None:
                    return message
                new = block.replace(signature=sentinel)
                self.scribe.also_known(new, block)
                reason = "no signature exists; the documented stand-in is sent"
                self.scribe.lost(block, "signature", reason, kind="approximated", severity="info")
                content = (*message.content[:index], new, *message.content[index + 1 :])
                return self.known(message.replace(content=content), message)
        return message

    # -- calls and results ------------------------------------------------------------------------

    def paired(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Every client call answered right behind its turn, every result behind its call."""
        ordered = self.traits.ordered_results
        if is_paired(messages, ordered):
            return messages
        answers = _answers(messages)
        out: list[Message] = []
        for index, message in enumerate(messages):
            if message.role is _TOOL and not _calls(message):
                if index not in answers.taken:
                    out.append(self.result_as_text(message))
                continue
            out.append(message)
            calls = _calls(message)
            places = [answers.of[id(block)] for block in calls if id(block) in answers.of]
            for number, place in enumerate(places if ordered else sorted(places)):
                if place != index + 1 + number:
                    reason = "results follow the turn of their calls"
                    self.scribe.lost(messages[place], None, reason, kind="moved", severity="info")
                out.append(messages[place])
            out += [self.missing_result(block) for block in calls if id(block) not in answers.of]
        return tuple(out)

    def missing_result(self, block: ToolUseBlock) -> Message:
        reason = "the call has no result; an error result stands in for it"
        self.scribe.lost(block, None, reason, kind="approximated", severity="info")
        return Message.tool_result(block.id, NO_RESULT, is_error=True, tool_name=block.name)

    def result_as_text(self, message: Message) -> Message:
        """A result whose call is not there, as user text."""
        reason = "the result has no call; said as user text"
        self.scribe.lost(message, None, reason, kind="downgraded", severity="error")
        content: list[Block] = []
        for block in message.content:
            if type(block) is ToolResultBlock:
                name = f" of {block.tool_name}" if block.tool_name else ""
                content.append(TextBlock(f"[tool result{name}]"))
                content.extend(block.content)
            else:
                content.append(block)
        return self.known(Message(_USER, tuple(content)), message)

    def with_ids(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Ids in the target's grammar, repeats made distinct, calls and results alike."""
        grammar = self.traits.ids
        if _ids_fit(messages, grammar):
            return messages
        seen: dict[str, int] = {}
        now: dict[str, str] = {}
        out: list[Message] = []
        changed = False
        for message in messages:
            content: list[Block] | None = None
            for index, block in enumerate(message.content):
                if type(block) is ToolUseBlock:
                    times = seen[block.id] = seen.get(block.id, 0) + 1
                    new = grammar.fit(block.id if times == 1 else f"{block.id}\n{times}")
                    now[block.id] = new
                    field, old = "id", block.id
                elif type(block) is ToolResultBlock:
                    old = block.tool_use_id
                    new = now.get(old) or grammar.fit(old)
                    field = "tool_use_id"
                else:
                    continue
                if new != old:
                    content = content or list(message.content)
                    content[index] = block.replace(**{field: new})
                    self.scribe.also_known(content[index], block)
            changed = changed or content is not None
            out.append(self.renamed(message, content) if content else message)
        return tuple(out) if changed else messages

    def renamed(self, message: Message, content: list[Block]) -> Message:
        metadata = message.metadata
        if metadata.parent_tool_use_id is not None and type(content[0]) is ToolResultBlock:
            metadata = metadata.replace(parent_tool_use_id=content[0].tool_use_id)
        return self.known(message.replace(content=tuple(content), metadata=metadata), message)

    def hoisted(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Media that a result cannot hold follows the batch of results in a user message."""
        allowed = self.traits.result_media
        out: list[Message] = []
        waiting: list[Block] = []
        for message in messages:
            if message.role is not _TOOL and waiting:
                out.append(Message(_USER, tuple(waiting)))
                waiting = []
            if message.role is _TOOL and _has_other_media(message, allowed):
                message = self.without_media(message, waiting)
            out.append(message)
        if waiting:
            out.append(Message(_USER, tuple(waiting)))
        return tuple(out) if len(out) != len(messages) else messages

    def without_media(self, message: Message, waiting: list[Block]) -> Message:
        content: list[Block] = []
        for block in message.content:
            if type(block) is not ToolResultBlock:
                content.append(block)
                continue
            inner: list[ResultBlock] = []
            for part in block.content:
                kind = TYPE_OF[type(part)]
                if kind in ("text", "unknown") or kind in self.traits.result_media:
                    inner.append(part)
                    continue
                reason = f"{self.name} takes no {kind} inside a result; it follows the results"
                self.scribe.lost(part, None, reason, kind="moved", severity="info")
                inner.append(TextBlock(f"[{kind} of {block.tool_use_id} follows]"))
                waiting.append(part)
            new = block.replace(content=tuple(inner))
            self.scribe.also_known(new, block)
            content.append(new)
        return self.known(message.replace(content=tuple(content)), message)

    def without_images(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Each run of images becomes one placeholder, so that what was said about them still has
        something to refer to."""
        return tuple([self.message_without_images(message) for message in messages])

    def message_without_images(self, message: Message) -> Message:
        content: list[Block] = []
        for block in self.placeheld(message.content, NO_IMAGE):
            if type(block) is ToolResultBlock:
                inner = self.placeheld(block.content, NO_RESULT_IMAGE)
                if len(inner) != len(block.content) or any(map(is_not, inner, block.content)):
                    new = block.replace(content=tuple(inner))
                    self.scribe.also_known(new, block)
                    block = new
            content.append(block)
        if len(content) == len(message.content) and not any(map(is_not, content, message.content)):
            return message
        return self.known(message.replace(content=tuple(content)), message)

    def placeheld(self, blocks: Sequence[Any], placeholder: str) -> list[Any]:
        out: list[Any] = []
        in_run = False
        for block in blocks:
            is_image = type(block) is ImageBlock
            if is_image:
                self.scribe.dropped(block, "the model takes no images", severity="error")
            if not (is_image and in_run):
                out.append(TextBlock(placeholder) if is_image else block)
            in_run = is_image
        return out

    # -- tools ------------------------------------------------------------------------------------

    def tools(self, tools: tuple[ToolDefinition, ...]) -> tuple[ToolDefinition, ...]:
        out = [new for tool in tools if (new := self.tool(tool)) is not None]
        same = len(out) == len(tools) and all(a is b for a, b in zip(out, tools, strict=True))
        return tools if same else tuple(out)

    def tool(self, tool: ToolDefinition) -> ToolDefinition | None:
        if (tool.kind not in OWN_KINDS or tool.executor == "provider") and (
            tool.raw is None or self.name not in tool.raw
        ):
            reason = "tools that a vendor defines do not cross vendors"
            self.scribe.lost(tool, None, reason, severity="error")
            return None
        keywords = self.traits.schema_keywords
        if keywords is None or tool.input_schema is None:
            return tool
        schema, dropped = narrow(tool.input_schema, keywords)
        for path in dropped:
            reason = f"{self.name} ignores this keyword"
            self.scribe.lost(tool, f"input_schema{path}", reason)
        if not dropped:
            return tool
        new = tool.replace(input_schema=schema)
        self.scribe.also_known(new, tool)
        return new


def _can_verify(
    to: Dialect, model: str | None, message: Message, protocol: str | None, strict_issuer: bool
) -> bool:
    """Whether `to` and its model are those that signed, as far as they are known."""
    family = to.traits.family
    if protocol is None:
        return family is not None
    if family is None or family != FAMILIES.get(protocol, protocol):
        return False
    if strict_issuer and protocol != to.name:
        return False
    metadata = message.metadata
    made_by = _bare(metadata.model or metadata.response_model)
    return made_by is None or model is None or made_by == _bare(model)


def issuer_in_wire(block: Block) -> str | None:
    """The dialect that a block's own wire names as the issuer (OpenRouter's `format`)."""
    raw = getattr(block, "raw", None)
    if raw is None or "openrouter" not in raw:
        return None
    word = raw["openrouter"].get("format")
    return OPENROUTER_FORMATS.get(word) if isinstance(word, str) else None


OPENROUTER_FORMATS: dict[str, str] = {
    "anthropic-claude-v1": "anthropic",
    "google-gemini-v1": "gemini",
    "openai-responses-v1": "openai-responses",
    "azure-openai-responses-v1": "openai-responses",
}


def is_paired(messages: Sequence[Message], ordered: bool = False) -> bool:
    """Whether results stand right behind the turn of their calls, all of them and no others (and in
    call order, if that is asked for), so that there is nothing to repair."""
    waiting: list[str] = []
    for message in messages:
        if message.role is _TOOL:
            for block in message.content:
                if type(block) is not ToolResultBlock:
                    continue
                answered = block.tool_use_id
                if answered not in waiting or (ordered and answered != waiting[0]):
                    return False
                waiting.remove(answered)
        else:
            if waiting:
                return False
            if message.role is _ASSISTANT:
                waiting = [block.id for block in _calls(message)]
    return not waiting


def _ids_fit(messages: Sequence[Message], grammar: IdGrammar) -> bool:
    """Whether all ids are legal and no two calls have the same; the usual case."""
    legal = grammar.matcher()
    seen: set[str] = set()
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock:
                if block.id in seen or legal(block.id) is None:
                    return False
                seen.add(block.id)
            elif type(block) is ToolResultBlock:
                known = block.tool_use_id in seen
                if not known and legal(block.tool_use_id) is None:
                    return False
    return True


class _Answers(NamedTuple):
    of: dict[int, int]
    """Identity of a call's block to the index of the message that answers it."""
    taken: set[int]
    """Indexes of messages that answer some call."""


def _answers(messages: Sequence[Message]) -> _Answers:
    """A result belongs to the nearest earlier call with its id, and only the first answers it."""
    latest: dict[str, ToolUseBlock] = {}
    answers = _Answers({}, set())
    for index, message in enumerate(messages):
        for block in _calls(message):
            latest[block.id] = block
        if message.role is _TOOL:
            for result in message.content:
                if type(result) is ToolResultBlock and result.tool_use_id in latest:
                    call = latest[result.tool_use_id]
                    if id(call) not in answers.of:
                        answers.of[id(call)] = index
                        answers.taken.add(index)
    return answers


def _calls(message: Message) -> list[ToolUseBlock]:
    """The calls that the client has to answer."""
    return [
        block
        for block in message.content
        if type(block) is ToolUseBlock and block.executor == "client"
    ]


_NOTHING = TextBlock("")


def _is_plain(block: Block) -> bool:
    """Whether there is nothing in a block that only its issuer could read."""
    kind = type(block)
    if kind is TextBlock:
        return block.signature is None  # type: ignore[union-attr]  # by its kind
    return kind is ToolUseBlock and block.signature is None and block.executor == "client"  # type: ignore[union-attr]  # by its kind


def _has_other_media(message: Message, allowed: frozenset[str]) -> bool:
    for block in message.content:
        if type(block) is ToolResultBlock:
            for part in block.content:
                if type(part) is TextBlock:
                    continue
                tag = TYPE_OF[type(part)]
                if tag != "unknown" and tag not in allowed:
                    return True
    return False


def _bare(model: str | None) -> str | None:
    """A model's name without its provider."""
    return None if model is None else model.partition(":")[2] or model


let_call(__name__, "retell")
