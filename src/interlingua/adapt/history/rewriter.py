"""A history rewritten for its target, step by step; every change is in the report.

`steps_for` is the table of contents: each step names the facts that concern it, and is skipped
where none of them holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import islice
from operator import is_
from typing import TYPE_CHECKING, Any

from interlingua.adapt.facts import (
    ASSISTANT,
    BESIDE,
    BLANK,
    CALLS,
    CHANGES,
    CONTINUES,
    DIRECTIVE,
    ISSUED,
    LATER,
    MODEL_FIRST,
    OPTIONS,
    OTHER,
    RAW,
    REPEATED_IDS,
    RESULT_OTHER,
    TEXT_AFTER_CALLS,
    THINKING,
    TOOLS,
    UNFINISHED,
    UNORDERED,
    Facts,
    facts_of,
)
from interlingua.adapt.history.calls import media_behind_results, paired, with_legal_ids
from interlingua.adapt.history.changes import settle
from interlingua.adapt.history.compacted import pack, unpack
from interlingua.adapt.history.issuers import UNVERIFIED, Recipient
from interlingua.adapt.history.request_parts import (
    RESPONSES,
    STORING,
    budget_as_limit,
    has_groups,
    in_front,
    report_labels,
    tools_for,
    ungrouped,
    unstored,
    with_allowed_tools,
    without_images,
    without_order,
)
from interlingua.adapt.history.text_rules import INSTRUCTS, TextRules
from interlingua.adapt.history.tool_mapping import map_vendor_tools
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.words import (
    PLACEHOLDER,
    SYSTEM_MARK,
    compaction_as_text,
    speech_as_text,
)
from interlingua.dialects.record import Dialect, Traits
from interlingua.dialects.registry import is_dialect, traits_of
from interlingua.model.blocks import (
    AudioBlock,
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Request, Response
from interlingua.model.losses import Severity
from interlingua.model.message import Message, Role
from interlingua.model.metadata import MessageStatus
from interlingua.model.reasons import because

if TYPE_CHECKING:
    from interlingua.profiles.profile import Profile

# Bound once: looking up an enum's member costs as much as a whole step.
_ASSISTANT, _TOOL, _USER = Role.ASSISTANT, Role.TOOL, Role.USER
_COMPLETE, _PARTIAL = MessageStatus.COMPLETE, MessageStatus.PARTIAL
_CANCELLED = MessageStatus.CANCELLED
_ORDERING = ("gemini", "gemini-interactions")
"""Dialects whose schemas may order properties."""


class HistoryRewriter:
    """Rewrites one value for its recipient."""

    def __init__(
        self,
        recipient: Recipient,
        recorder: LossRecorder,
        images: bool = True,
        profile: Profile | None = None,
        hoist: bool = False,
    ) -> None:
        self.recipient = recipient
        self.recorder = recorder
        self.target = target = recipient.dialect
        self.name = target.name
        self.traits: Traits = target.traits
        self.source = recipient.source
        self.at_home = self.source == self.name
        """All of it was read from the target's own dialect: its shape needs no repair."""
        self.profile = profile
        self.steps = steps_for(target, self.source, images, hoist, profile is not None)
        self.is_continued = False
        """Whether the target stores the history that the request continues."""
        self.answering = recipient.is_client
        """Whether the response goes to a client, which may see the thinking but cannot verify
        it."""
        self.issuers: dict[tuple[int, int], bool] = {}

    # -- requests ---------------------------------------------------------------------------------

    def request(self, request: Request, facts: Facts) -> tuple[Request, Facts]:
        """The request as its target accepts it, and the facts of that."""
        if request.continues is not None:
            self.is_continued = self.continues_here(request)
        for concerns, rewrite in self.steps:
            if facts.flags & concerns:
                rewritten = rewrite(self, request, facts)
                if rewritten.messages is not request.messages:
                    facts = facts_of(rewritten)
                elif rewritten is not request:
                    facts = facts.asking(rewritten)
                request = rewritten
        return request, facts

    def continues_here(self, request: Request) -> bool:
        """Whether the target stores what the request continues. Where the caller does not name
        the source, members that only one dialect has identify it, or the fields by which it
        continues."""
        if self.source is not None:
            return self.at_home
        if request.raw:
            return self.name in request.raw
        continues = request.continues
        known = () if continues is None else continues.__struct_fields__
        return all(name in self.traits.continues for name in known if getattr(continues, name))

    def hoisted(self, request: Request, _: Facts) -> Request:
        return in_front(request, self.recorder)

    def imageless(self, request: Request, _: Facts) -> Request:
        return request.replace(messages=without_images(request.messages, self.recorder))

    def settled(self, request: Request, _: Facts) -> Request:
        return settle(request, self.target, self.recorder)

    def unordered(self, request: Request, _: Facts) -> Request:
        return without_order(request, self.recorder)

    def unstored(self, request: Request, _: Facts) -> Request:
        return unstored(request, self.name)

    def allowed(self, request: Request, _: Facts) -> Request:
        if request.options.tool_choice is None:
            return request
        return with_allowed_tools(request, self.target, self.recorder)

    def ungrouped(self, request: Request, _: Facts) -> Request:
        return ungrouped(request, self.recorder) if has_groups(request.tools) else request

    def mapped(self, request: Request, _: Facts) -> Request:
        assert self.profile is not None
        return map_vendor_tools(request, self.name, self.profile, self.recorder)

    def rewritten(self, request: Request, facts: Facts) -> Request:
        flags = facts.flags & _message_concerns(self.target)
        calls = facts.calls if flags & THINKING else None
        if calls is not None and self.reads_all(list(calls.thinking.values())):
            flags &= ~THINKING
        if flags & CALLS and self.call_sentinel is None:
            flags &= ~CALLS
        if not flags:
            return request
        return with_messages(request, self.messages(request.messages, flags))

    def reads_all(self, thinking: list[tuple[Message, ThinkingBlock]]) -> bool:
        """Whether the target can read all of the thinking; the result for earlier turns is
        remembered."""
        memory: Any = self.recorder.memory
        known: list[Any] = []
        if memory is not None and memory.readable[0] == self.recipient:
            known = memory.readable[1]
        count = len(known)
        if count > len(thinking) or not all(map(is_, known, thinking)):
            count = 0
        if not all(self.is_issuer_of(message, block) for message, block in thinking[count:]):
            return False
        if memory is not None:
            memory.readable = (self.recipient, thinking)
        return True

    def paired(self, request: Request, facts: Facts) -> Request:
        ordered = self.traits.ordered_results
        fine = facts.is_paired and not (ordered and facts.flags & UNORDERED)
        if self.is_continued or fine:
            return request
        return with_messages(request, paired(request.messages, self.recorder, ordered))

    def identified(self, request: Request, facts: Facts) -> Request:
        calls = facts.calls
        if calls is None:
            return request
        unchecked = islice(calls.ids, calls.legal.get(self.name, 0), None)
        if not facts.flags & REPEATED_IDS and None not in map(self.target.legal_id, unchecked):
            calls.legal[self.name] = len(calls.ids)
            return request
        whole = not self.is_continued
        messages = with_legal_ids(request.messages, self.recipient, self.recorder, whole)
        return with_messages(request, messages)

    def media_moved(self, request: Request, _: Facts) -> Request:
        messages = media_behind_results(request.messages, self.target, self.recorder)
        return with_messages(request, messages)

    def user_first(self, request: Request, _: Facts) -> Request:
        return with_messages(request, self.text_rules.with_user_first(request.messages))

    def tools(self, request: Request, _: Facts) -> Request:
        tools = tools_for(request.tools, self.target, self.recorder)
        return request if tools is request.tools else request.replace(tools=tools)

    def budgeted(self, request: Request, _: Facts) -> Request:
        return budget_as_limit(request, self.recorder)

    def labelled(self, request: Request, _: Facts) -> Request:
        if request.options.metadata is None:
            return request
        provider = None if self.profile is None else self.profile.provider
        return report_labels(request, self.source, self.target, provider, self.recorder)

    def discontinued(self, request: Request, _: Facts) -> Request:
        if self.is_continued:
            return request
        reason = because("continues_foreign")
        self.recorder.lost(request, "continues", reason)
        return request.replace(continues=None)

    # -- responses --------------------------------------------------------------------------------

    def response(self, response: Response) -> Response:
        # counts that contradicted each other were made to agree when they were read
        if any(each.type == "usage_contradicts" for each in response.message.metadata.diagnostics):
            reason = because("usage_clamped")
            self.recorder.lost(response.message, "metadata.usage", reason, "approximated")
        message = self.assistant(response.message)
        if any(type(block) is ToolUseBlock for block in message.content):
            message = self.with_ids(message)
        if not response.alternatives:
            return response if message is response.message else response.replace(message=message)
        others = tuple([self.with_ids(self.assistant(each)) for each in response.alternatives])
        return response.replace(message=message, alternatives=others)

    def with_ids(self, message: Message) -> Message:
        return with_legal_ids((message,), self.recipient, self.recorder)[0]

    # -- messages ---------------------------------------------------------------------------------

    @cached_property
    def text_rules(self) -> TextRules:
        return TextRules(self.name, self.traits, self.recorder)

    def messages(self, messages: tuple[Message, ...], flags: int) -> tuple[Message, ...]:
        """Each message without what the target cannot verify, and in a form that it accepts.
        `flags` are the facts to look for."""
        rewritten: list[Message] = []
        left_out: dict[str, Severity] = {}
        changed, leading = False, True
        memory, recipient = self.recorder.memory, (self.recipient, self.profile)
        has_odd_texts = not self.at_home and flags & _TEXTS
        for message in messages:
            role = message.role
            new: Message | None = message
            if role is _ASSISTANT:
                if flags & UNFINISHED and self.is_left_out(message, left_out):
                    new = None
                elif memory is None:
                    new = self.assistant(message)
                else:
                    new = memory.rewritten(message, self.assistant, recipient)
            elif role is _TOOL:
                if left_out and self.goes_with_its_call(message, left_out):
                    new = None
            elif role is not _USER and flags & (DIRECTIVE | LATER):
                new = self.instruction(message, leading)
            if new is not None and has_odd_texts:
                new = self.in_accepted_form(new)
            leading = leading and role in INSTRUCTS
            changed = changed or new is not message
            if new is not None:
                rewritten.append(new)
        return tuple(rewritten) if changed else messages

    def instruction(self, message: Message, leading: bool) -> Message | None:
        """Instructions without lines to other services, and as user text where the target accepts
        none there."""
        new = self.text_rules.without_foreign_directives(message)
        if new is None or leading or self.traits.system_anywhere:
            return new
        return self.marked(new)

    def in_accepted_form(self, message: Message) -> Message | None:
        """The message in a form that the target does not refuse, unless it is its own."""
        if message.role is not _ASSISTANT:
            return self.text_rules.without_blank_texts(message)
        if self.recipient.is_from_same_host(message):
            return message
        accepted = self.text_rules.without_blank_texts(message)
        return None if accepted is None else self.text_rules.with_text_before_calls(accepted)

    def is_left_out(self, message: Message, left_out: dict[str, Severity]) -> bool:
        """Whether a turn failed or was cancelled; its calls are left out with it."""
        ids = {block.id for block in message.content if type(block) is ToolUseBlock}
        status = message.metadata.status
        if status is _COMPLETE or status is _PARTIAL:
            for id in ids:
                left_out.pop(id, None)
            return False
        ended = "was stopped" if status is _CANCELLED else f"ended as {status.value}"
        severity: Severity = "info" if status is _CANCELLED else "error"
        self.recorder.lost(message, None, because("turn_failed", ended=ended), severity=severity)
        left_out.update(dict.fromkeys(ids, severity))
        return True

    def goes_with_its_call(self, message: Message, left_out: dict[str, Severity]) -> bool:
        """A result of a call that was left out with its turn is left out too."""
        for block in message.content:
            if type(block) is ToolResultBlock and block.tool_use_id in left_out:
                severity = left_out[block.tool_use_id]
                self.recorder.lost(message, None, because("call_left_out"), severity=severity)
                return True
        return False

    def marked(self, message: Message) -> Message:
        """Instructions in mid-conversation, as user text in their place."""
        reason = because("instructions_as_user")
        self.recorder.lost(message, "role", reason, kind="downgraded")
        blocks: list[Block] = list(message.content)
        for index, block in enumerate(blocks):
            if type(block) is TextBlock:
                blocks[index] = block.replace(text=SYSTEM_MARK + block.text)
                self.recorder.alias(blocks[index], block)
                break
        return self.known(message.replace(role=_USER, content=tuple(blocks)), message)

    def known(self, new: Message, original: Message) -> Message:
        self.recorder.alias(new, original)
        return new

    # -- what only the issuer can read ------------------------------------------------------------

    def assistant(self, message: Message) -> Message:
        """The message without signatures and thinking that the target cannot verify, and without
        what another vendor ran."""
        content = message.content
        rewritten: list[Block] = []
        changed = False
        for block in content:
            new = block if is_plain(block) else self.model_block(block, message)
            changed = changed or new is not block
            if new is not None:
                rewritten.append(new)
        if not changed:
            return self.signed(message)
        if not rewritten:
            reason = because("message_replaced")
            self.recorder.lost(message, "content", reason, kind="approximated")
            rewritten = [TextBlock(PLACEHOLDER)]
        return self.signed(self.known(message.replace(content=tuple(rewritten)), message))

    def is_issuer_of(self, message: Message, block: Block) -> bool:
        """Whether the target can read the signed data of a block. Messages share their metadata,
        and blocks of a kind their `raw`, so the result is cached."""
        key = (id(message.metadata), id(block.raw))
        known = self.issuers.get(key)
        if known is None:
            known = self.issuers[key] = self.recipient.can_read(message, block)
        return known

    def model_block(self, block: Block, message: Message) -> Block | None:
        match block:
            case ThinkingBlock():
                return self.thinking(block, message)
            case CompactionBlock():
                return self.compaction(block, message)
            case AudioBlock(transcript=str(text)) if text and not self.traits.speaks:
                return speech_as_text(block, self.recorder)
            case RedactedThinkingBlock():
                if self.recipient.can_read(message, block):
                    return block
                self.recorder.dropped(block, because("issuer_only"))
                return None
            case TextBlock(signature=str()):
                return block if self.recipient.can_read(message, block) else self.unsigned(block)
            case ToolUseBlock(executor="client"):
                return self.client_call(block, message)
            case ToolUseBlock(executor="provider") | ToolResultBlock():
                if self.is_home(message, block):
                    return block
                self.recorder.dropped(block, because("hosted_tool_foreign"))
                return None
            case _:
                return block

    def client_call(self, block: ToolUseBlock, message: Message) -> ToolUseBlock:
        """A call for the client, without a signature or program that the target does not know."""
        if block.signature is not None and not self.recipient.can_read(message, block):
            block = self.unsigned(block)
        if block.caller is not None and not self.is_home(message, block):
            self.recorder.lost(block, "caller", because("program_left_out"))
            new = block.replace(caller=None)
            self.recorder.alias(new, block)
            return new
        return block

    def thinking(self, block: ThinkingBlock, message: Message) -> ThinkingBlock | None:
        if self.is_issuer_of(message, block):
            return block
        if (self.traits.replays_thinking or self.answering) and block.text:
            return self.unsigned(block) if block.signature is not None else block
        self.recorder.dropped(block, because("thinking_foreign"))
        return None

    def compaction(self, block: CompactionBlock, message: Message) -> Block | None:
        """Compacted history goes back to the service that made it; others get its readable part,
        and every target does of a summary by another service."""
        packed = None if self.answering else unpack(block.data)
        if packed is not None:
            self.recorder.alias(packed.block, block)
            if packed.issuer == self.recipient.dialect.name:
                return packed.block.replace(text=None)  # it reads the rest
            return compaction_as_text(packed.block, self.recorder)
        issued = block.signature or block.data or message.metadata.protocol or self.recipient.source
        if self.traits.compactions and issued and self.recipient.can_read(message, block):
            return block
        issuer = message.metadata.protocol or self.recipient.source
        if self.answering and self.traits.shows_summaries and _is_encrypted(block, issuer):
            assert issuer is not None
            self.recorder.lost(block, None, because("compaction_packed"), kind="approximated")
            new = pack(block, issuer)
            self.recorder.alias(new, block)
            return new
        return compaction_as_text(block, self.recorder)

    def unsigned(self, block: Any) -> Any:
        self.recorder.lost(block, "signature", UNVERIFIED)
        new = block.replace(signature=None)
        self.recorder.alias(new, block)
        return new

    def is_home(self, message: Message, block: Any) -> bool:
        """Whether the target's own dialect made this block."""
        if block.raw is not None and self.name in block.raw:
            return True
        return message.metadata.protocol == self.name

    def signs(self) -> bool:
        """Whether a rule requires signatures of the model, whatever its name is."""
        return self.profile is not None and self.profile.tools.call_signature == "required"

    @cached_property
    def call_sentinel(self) -> str | None:
        """The placeholder for a signature that the target requires; None if it requires none."""
        if self.traits.call_signature is None or self.answering:
            return None
        return self.traits.call_signature(None if self.signs() else self.recipient.model)

    def signed(self, message: Message) -> Message:
        """Adds the documented stand-in for a provider that requires a signature of its own on
        calls."""
        sentinel = self.call_sentinel
        if sentinel is None or self.recipient.is_from_same_model(message):
            return message
        for index, block in enumerate(message.content):
            if type(block) is ToolUseBlock and block.executor == "client":
                if block.signature is not None:
                    return message
                new = block.replace(signature=sentinel)
                self.recorder.alias(new, block)
                reason = because("signature_stand_in")
                self.recorder.lost(block, "signature", reason, kind="approximated")
                content = (*message.content[:index], new, *message.content[index + 1 :])
                return self.known(message.replace(content=content), message)
        return message


Step = Callable[[HistoryRewriter, Request, Facts], Request]


@lru_cache(512)
def steps_for(
    target: Dialect, source: str | None, images: bool, hoist: bool, fitted: bool
) -> tuple[tuple[int, Step], ...]:
    """The steps of rewriting a request for a target, with the facts that concern each; `fitted` if
    the rules of its model are known."""
    name, traits = target.name, target.traits
    abroad = source != name
    reorders = abroad and source in _ORDERING and not traits.orders_properties
    rewriter = HistoryRewriter
    steps: tuple[tuple[bool, int, Step], ...] = (
        (hoist, LATER, rewriter.hoisted),
        (not images, OTHER, rewriter.imageless),
        (abroad, CHANGES, rewriter.settled),
        (reorders, TOOLS | ASSISTANT | CONTINUES, rewriter.unordered),
        (abroad and name in STORING, RAW, rewriter.unstored),
        (abroad, OPTIONS, rewriter.allowed),
        (fitted and name != RESPONSES, TOOLS, rewriter.ungrouped),
        (abroad and fitted, TOOLS | BESIDE, rewriter.mapped),
        (True, _message_concerns(target), rewriter.rewritten),
        (abroad, CALLS, rewriter.paired),
        (abroad, CALLS, rewriter.identified),
        (abroad, RESULT_OTHER, rewriter.media_moved),
        (abroad and not traits.begins_with_model, MODEL_FIRST, rewriter.user_first),
        (abroad, TOOLS, rewriter.tools),
        (abroad and not traits.task_budget, OPTIONS, rewriter.budgeted),
        (abroad, OPTIONS, rewriter.labelled),
        (True, CONTINUES, rewriter.discontinued),
    )
    return tuple([(concerns, step) for applies, concerns, step in steps if applies])


def history_concerns(target: Dialect, images: bool, hoist: bool, fitted: bool) -> int:
    """The facts of a request that some step for this target is about."""
    concerns = 0
    for each, _ in steps_for(target, None, images, hoist, fitted):
        concerns |= each
    return concerns


@lru_cache(64)
def _message_concerns(target: Dialect) -> int:
    traits = target.traits
    concerns = UNFINISHED | ISSUED | THINKING | DIRECTIVE
    concerns |= 0 if traits.allowed_text == "any" else BLANK
    concerns |= 0 if traits.text_behind_calls else TEXT_AFTER_CALLS
    concerns |= 0 if traits.system_anywhere else LATER
    return concerns if traits.call_signature is None else concerns | CALLS


_TEXTS = BLANK | TEXT_AFTER_CALLS | ISSUED
"""Facts by which a turn may have texts that the target refuses: compacted history or audio may
become one."""


def with_messages(request: Request, messages: tuple[Message, ...]) -> Request:
    return request if messages is request.messages else request.replace(messages=messages)


def is_plain(block: Block) -> bool:
    """Whether there is nothing in a block that only its issuer could read."""
    kind = type(block)
    if kind is TextBlock:
        return block.signature is None  # type: ignore[union-attr]  # by its kind
    if kind is not ToolUseBlock or block.signature is not None:  # type: ignore[union-attr]  # by its kind
        return False
    return block.executor == "client" and block.caller is None  # type: ignore[union-attr]  # by its kind


def _is_encrypted(block: CompactionBlock, issuer: str | None) -> bool:
    """Whether only a known issuer can read the block."""
    is_known = issuer is not None and is_dialect(issuer) and traits_of(issuer).compactions
    return is_known and block.data is not None and not block.text
