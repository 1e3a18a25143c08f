"""One retelling, step by step; every change is in the report, at its place in what was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import PLACEHOLDER, SYSTEM_MARK, compaction_as_text
from interlingua.dialects.record import Traits
from interlingua.losses import Report, Severity
from interlingua.model.blocks import (
    TYPE_OF,
    Block,
    CompactionBlock,
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
from interlingua.retelling.changes import has_changes, settle
from interlingua.retelling.crossing import cross
from interlingua.retelling.groups import RESPONSES, has_groups, ungrouped
from interlingua.retelling.images import without_images
from interlingua.retelling.issuers import UNVERIFIED, Listener
from interlingua.retelling.labels import tell_labels
from interlingua.retelling.pairs import answers_in, calls_of, ids_fit, is_paired
from interlingua.retelling.search_options import asks_beside
from interlingua.retelling.tools import tools_for
from interlingua.retelling.wording import INSTRUCTS, VISIBLE, Wording, is_call_last

if TYPE_CHECKING:
    from interlingua.models.profile import Profile

NO_RESULT = "No result: the call was not completed."
"""The text of the error result that stands in for one that never came."""
# Bound once: looking up an enum's member costs as much as a whole step.
_ASSISTANT, _TOOL, _USER = Role.ASSISTANT, Role.TOOL, Role.USER
_COMPLETE, _PARTIAL = MessageStatus.COMPLETE, MessageStatus.PARTIAL
_CANCELLED = MessageStatus.CANCELLED


class Teller:
    """One retelling: the target's traits, the scribe, and the steps."""

    def __init__(
        self,
        value: Request | Response,
        listener: Listener,
        images: bool = True,
        profile: Profile | None = None,
    ) -> None:
        self.listener = listener
        self.target = target = listener.dialect
        self.name = target.name
        self.traits: Traits = target.traits
        self.source = listener.source
        self.at_home = self.source == self.name
        """All of it was read from the target's own dialect: its shape needs no repair."""
        self.images = images
        self.profile = profile
        self.answering = listener.is_client
        """A response goes to a client, who may see the thinking but cannot verify it."""
        self.issuers: dict[tuple[int, int], bool] = {}
        self.scribe = LossRecorder(target.name, value, Report(target.name))
        self.wording = Wording(self.name, self.traits, self.scribe)

    def request(self, request: Request) -> Request:
        changes: dict[str, Any] = {}
        # History that the provider keeps may hold the call of a result; abroad it is not there.
        kept_there = request.continues is not None and self.goes_on(request)
        seen = request.messages if self.images else without_images(request.messages, self.scribe)
        if has_changes(seen) and not self.at_home:
            settled = settle(request, seen, self.target, self.scribe)
            seen, changes["tools"], changes["options"] = settled
            request = request.replace(tools=settled.tools, options=settled.options)
        if self.profile is not None and self.name != RESPONSES and has_groups(request.tools):
            request = ungrouped(request.replace(messages=seen), self.scribe)
            seen, changes["tools"] = request.messages, request.tools
            changes["messages"] = seen
        asks = request.tools or asks_beside(request)
        if self.profile is not None and asks and not self.at_home:
            given = request if seen is request.messages else request.replace(messages=seen)
            crossed = cross(given, self.name, self.profile, self.scribe)
            if crossed is not given:
                told = {name: getattr(crossed, name) for name in ("tools", "options", "raw")}
                changes, request = {**changes, **told}, crossed
                seen = crossed.messages
        messages = self.messages(seen, paired=not kept_there)
        if messages is not request.messages:
            changes["messages"] = messages
        if request.tools:
            tools = tools_for(request.tools, self.target, self.scribe, self.at_home)
            if tools is not request.tools:
                changes["tools"] = tools
        if request.options.metadata is not None and not self.at_home:
            tell_labels(request.options, self.source, self.traits, self.scribe)
        if request.continues is not None and not kept_there:
            reason = "the history that the provider keeps is known to that provider alone"
            self.scribe.lost(request, "continues", reason, severity="error")
            changes["continues"] = None
        return request.replace(**changes) if changes else request

    def goes_on(self, request: Request) -> bool:
        """Whether the target is the one that keeps what the request continues. The value says it
        where the caller does not: by what only one dialect left in it, or by which words of it
        there are."""
        if self.source is not None:
            return self.at_home
        if request.raw:
            return self.name in request.raw
        said = request.continues
        known = () if said is None else said.__struct_fields__
        return all(name in self.traits.continues for name in known if getattr(said, name))

    def response(self, response: Response) -> Response:
        self.tell_clamped_usage(response.message)
        message = self.assistant(response.message)
        if any(type(block) is ToolUseBlock for block in message.content):
            message = self.with_ids((message,))[0]
        if not response.alternatives:
            return response if message is response.message else response.replace(message=message)
        others = [self.with_ids((self.assistant(each),))[0] for each in response.alternatives]
        return response.replace(message=message, alternatives=tuple(others))

    def tell_clamped_usage(self, message: Message) -> None:
        """Counts that contradicted each other were made to agree when they were read."""
        if any(each.type == "usage_contradicts" for each in message.metadata.diagnostics):
            reason = "the counts contradicted each other and were made to agree"
            self.scribe.lost(message, "metadata.usage", reason, "approximated", "info")

    def messages(self, messages: tuple[Message, ...], paired: bool) -> tuple[Message, ...]:
        if self.is_clean(messages):
            return messages
        told: list[Message] = []
        left_out: dict[str, Severity] = {}
        leading = True
        changed = False
        for message in messages:
            role = message.role
            new: Message | None = message
            if role is _ASSISTANT:
                ids = {block.id for block in message.content if type(block) is ToolUseBlock}
                if self.is_said(message):
                    left_out = {id: left_out[id] for id in left_out if id not in ids}
                    new = self.assistant(message)
                else:
                    left_out |= dict.fromkeys(ids, _missed(message))
                    new = None
            elif role is _TOOL and left_out and self.goes_with_its_call(message, left_out):
                new = None
            elif role in INSTRUCTS:
                new = self.wording.overheard(message)
                if new is not None and not leading and not self.traits.system_anywhere:
                    new = self.marked(new)
            if new is not None and not self.at_home:
                new = self.worded(new)
            leading = leading and role in INSTRUCTS
            changed = changed or new is not message
            if new is not None:
                told.append(new)
        out = tuple(told) if changed else messages
        if self.at_home:
            return out
        out = self.with_ids(self.paired(out) if paired else out, paired)
        return self.wording.opened(self.hoisted(out))

    def worded(self, message: Message) -> Message | None:
        """The message in a form that the target does not refuse, unless it is its own."""
        if message.role is not _ASSISTANT:
            return self.wording.spoken(message)
        if self.listener.made(message):
            return message
        said = self.wording.spoken(message)
        return None if said is None else self.wording.ordered(said)

    def is_clean(self, messages: tuple[Message, ...]) -> bool:
        """Whether there is nothing to repair: the usual history, found out in one go."""
        if self.traits.call_signature is not None or not self.traits.begins_with_model:
            return False
        is_answer, is_result = self.is_clean_answer, self.is_clean_result
        waiting: list[str] = []
        seen: set[str] = set()
        leading = True
        for message in messages:
            role = message.role
            if role is _TOOL:
                if not is_result(message.content, waiting):
                    return False
                continue
            if waiting:
                return False
            if role is _ASSISTANT:
                leading = False
                if not is_answer(message, waiting, seen):
                    return False
                continue
            if role is _USER:
                leading = False
            elif not self.is_clean_instruction(message, leading):
                return False
            if not self.wording.is_fine(message):
                return False
        return not waiting

    def is_clean_result(self, content: Any, waiting: list[str]) -> bool:
        """Whether a tool's message answers a call that waits, in order, with texts alone."""
        block = content[0] if len(content) == 1 else None
        if type(block) is not ToolResultBlock:
            return False
        id = block.tool_use_id
        if id not in waiting or (id != waiting[0] and self.traits.ordered_results):
            return False
        waiting.remove(id)
        for part in block.content:
            if type(part) is not TextBlock:
                return False
            text = part.text
            if (not text or text[0] not in VISIBLE) and self.wording.is_weak(part):
                return False
        return True

    def is_clean_answer(self, message: Message, waiting: list[str], seen: set[str]) -> bool:
        """Whether an answer is whole, its thinking the target's own, and its calls, which wait from
        now on, have ids of their own that the target takes."""
        if message.metadata.status is not _COMPLETE:
            return False
        kind = None
        content: Any = message.content
        for block in content:
            kind = type(block)
            if kind is TextBlock:
                text = block.text
                if (not text or text[0] not in VISIBLE) and self.wording.is_weak(block):
                    return False
                if block.signature is not None:
                    return False
            elif kind is ToolUseBlock:
                id = block.id
                if block.signature is not None or block.executor != "client":
                    return False
                if id in seen or self.target.legal_id(id) is None:
                    return False
                seen.add(id)
                waiting.append(id)
            elif kind is not ThinkingBlock or not self.is_issuer_of(message, block):
                return False
        return self.traits.text_behind_calls or kind is ToolUseBlock or is_call_last(content)

    def is_clean_instruction(self, message: Message, leading: bool) -> bool:
        if not leading and not self.traits.system_anywhere:
            return False
        return not any(map(self.wording.is_aside, message.content))

    # -- turns ------------------------------------------------------------------------------------

    def is_said(self, message: Message) -> bool:
        """Failed and cancelled turns are left out."""
        status = message.metadata.status
        if status is not _COMPLETE and status is not _PARTIAL:
            ended = "was stopped" if status is _CANCELLED else f"ended as {status.value}"
            self.scribe.lost(message, None, f"the turn {ended}", severity=_missed(message))
            return False
        return True

    def goes_with_its_call(self, message: Message, left_out: dict[str, Severity]) -> bool:
        """A result of a call that was left out with its turn is left out too."""
        for block in message.content:
            if type(block) is ToolResultBlock and block.tool_use_id in left_out:
                severity = left_out[block.tool_use_id]
                self.scribe.lost(message, None, "its call was left out", severity=severity)
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
                self.scribe.alias(blocks[index], block)
                break
        return self.known(message.replace(role=_USER, content=tuple(blocks)), message)

    def known(self, new: Message, original: Message) -> Message:
        self.scribe.alias(new, original)
        return new

    # -- what only the issuer can read ------------------------------------------------------------

    def assistant(self, message: Message) -> Message:
        """The message without signatures and thinking that the target cannot verify, and without
        what another vendor ran."""
        content = message.content
        told: list[Block] = []
        changed = False
        for block in content:
            new = block if is_plain(block) else self.model_block(block, message)
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

    def is_issuer_of(self, message: Message, block: Block) -> bool:
        """Whether the target can read what a block carries. Messages share their metadata, and
        blocks of a kind their `raw`, so that it is seldom found out twice."""
        key = (id(message.metadata), id(block.raw))
        known = self.issuers.get(key)
        if known is None:
            known = self.issuers[key] = self.listener.can_read(message, block)
        return known

    def model_block(self, block: Block, message: Message) -> Block | None:
        match block:
            case ThinkingBlock():
                return self.thinking(block, message)
            case CompactionBlock():
                return self.compaction(block, message)
            case RedactedThinkingBlock():
                if self.listener.can_read(message, block):
                    return block
                self.scribe.dropped(block, "only its issuer can read it")
                return None
            case TextBlock(signature=str()) | ToolUseBlock(executor="client", signature=str()):
                return block if self.listener.can_read(message, block) else self.unsigned(block)
            case ToolUseBlock(executor="provider") | ToolResultBlock():
                if self.is_home(message, block):
                    return block
                self.scribe.dropped(block, "tools that a provider runs do not cross vendors")
                return None
            case _:
                return block

    def thinking(self, block: ThinkingBlock, message: Message) -> ThinkingBlock | None:
        if self.is_issuer_of(message, block):
            return block
        if (self.traits.replays_thinking or self.answering) and block.text:
            return self.unsigned(block) if block.signature is not None else block
        self.scribe.dropped(block, "thinking goes back to its issuer only")
        return None

    def compaction(self, block: CompactionBlock, message: Message) -> Block | None:
        """Compacted history goes back to the service that made it; others are told what can be read
        of it, and so is everybody of a summary that somebody else wrote."""
        made = block.signature or block.data or message.metadata.protocol or self.listener.source
        if self.traits.compactions and made and self.listener.can_read(message, block):
            return block
        return compaction_as_text(block, self.scribe)

    def unsigned(self, block: Any) -> Any:
        self.scribe.lost(block, "signature", UNVERIFIED)
        new = block.replace(signature=None)
        self.scribe.alias(new, block)
        return new

    def is_home(self, message: Message, block: Any) -> bool:
        """Whether the target's own dialect made this block."""
        if block.raw is not None and self.name in block.raw:
            return True
        return message.metadata.protocol == self.name

    def signs(self) -> bool:
        """Whether a rule says that the model insists on signatures, whatever its name is."""
        return self.profile is not None and self.profile.tools.call_signature == "required"

    def signed(self, message: Message) -> Message:
        """A provider that insists on a signature of its own calls gets the documented stand-in."""
        if self.traits.call_signature is None or self.answering:
            return message
        sentinel = self.traits.call_signature(None if self.signs() else self.listener.model)
        if sentinel is None or self.listener.said(message):
            return message
        for index, block in enumerate(message.content):
            if type(block) is ToolUseBlock and block.executor == "client":
                if block.signature is not None:
                    return message
                new = block.replace(signature=sentinel)
                self.scribe.alias(new, block)
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
        answers = answers_in(messages)
        out: list[Message] = []
        for index, message in enumerate(messages):
            if message.role is _TOOL and not calls_of(message):
                if index not in answers.taken:
                    out.append(self.result_as_text(message))
                continue
            out.append(message)
            calls = calls_of(message)
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
        result = Message.tool_result(block.id, NO_RESULT, is_error=True, tool_name=block.name)
        self.scribe.made(result.content[0])
        return result

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

    def with_ids(self, messages: tuple[Message, ...], whole: bool = True) -> tuple[Message, ...]:
        """Ids in the target's grammar, repeats made distinct, calls and results alike. Those that
        the target gave itself stay; so do those of calls that it keeps, where this is not the
        `whole` history."""
        grammar = self.traits.ids
        if ids_fit(messages, grammar):
            return messages
        seen: dict[str, int] = {}
        now: dict[str, str] = {}
        out: list[Message] = []
        changed = False
        for message in messages:
            content: list[Block] | None = None
            own = self.listener.made(message)
            for index, block in enumerate(message.content):
                if type(block) is ToolUseBlock:
                    times = seen[block.id] = seen.get(block.id, 0) + 1
                    if own and times == 1:
                        new = block.id
                    else:
                        new = grammar.fit(block.id if times == 1 else f"{block.id}\n{times}")
                    now[block.id] = new
                    field, old = "id", block.id
                elif type(block) is ToolResultBlock:
                    old = block.tool_use_id
                    new = now.get(old) or (grammar.fit(old) if whole else old)
                    field = "tool_use_id"
                else:
                    continue
                if new != old:
                    content = content or list(message.content)
                    content[index] = block.replace(**{field: new})
                    self.scribe.alias(content[index], block)
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
                out.append(self.scribe.made(Message(_USER, tuple(waiting))))
                waiting = []
            if message.role is _TOOL and has_other_media(message, allowed):
                message = self.without_media(message, waiting)
            out.append(message)
        if waiting:
            out.append(self.scribe.made(Message(_USER, tuple(waiting))))
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
            self.scribe.alias(new, block)
            content.append(new)
        return self.known(message.replace(content=tuple(content)), message)


def _missed(message: Message) -> Severity:
    """How much it matters that a turn is left out: whoever stopped one does not miss it."""
    return "info" if message.metadata.status is _CANCELLED else "error"


def is_plain(block: Block) -> bool:
    """Whether there is nothing in a block that only its issuer could read."""
    kind = type(block)
    if kind is TextBlock:
        return block.signature is None  # type: ignore[union-attr]  # by its kind
    return kind is ToolUseBlock and block.signature is None and block.executor == "client"  # type: ignore[union-attr]  # by its kind


def has_other_media(message: Message, allowed: frozenset[str]) -> bool:
    for block in message.content:
        if type(block) is ToolResultBlock:
            for part in block.content:
                if type(part) is TextBlock:
                    continue
                tag = TYPE_OF[type(part)]
                if tag != "unknown" and tag not in allowed:
                    return True
    return False
