"""A request on its way out: adapted to its target, then written.

Conversions, clients, sessions, adapters and the gateway all go through `adapt` and `write`, so that
the same request gives the same body and the same report everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from interlingua.adapt.adapted import Adapted
from interlingua.adapt.caching import apply_caching, marked_again
from interlingua.adapt.facts import Facts, facts_of
from interlingua.adapt.fit.fit import apply_rules, fits
from interlingua.adapt.history.issuers import Recipient
from interlingua.adapt.history.request_parts import NO_IMAGES
from interlingua.adapt.history.rewriter import HistoryRewriter
from interlingua.adapt.target import Target, WireTarget
from interlingua.dialects.kernel.recorder import LossRecorder
from interlingua.dialects.kernel.wire import SpelledTexts
from interlingua.dialects.record import Written
from interlingua.model.blocks import Block, TextBlock, ToolResultBlock
from interlingua.model.exchange import Request
from interlingua.model.losses import Report
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.profile import Profile


def adapt(
    request: Request,
    target: WireTarget,
    source: str | None = None,
    *,
    history: bool = True,
    facts: Facts | None = None,
    recorder: LossRecorder | None = None,
    owner: str | None = None,
    size: int | None = None,
    spelled: SpelledTexts | None = None,
) -> Adapted:
    """Adapt a request to its target: first its history, then to the rules of the model.

    `source` is the dialect that the request was read from, where that is known. Without `history`
    only the rules apply: the request is in the target's own dialect, and its history stays as the
    client wrote it. `facts` are those of the request, where the caller has them already; `owner` is
    whose request it is, where several share one account at the provider; `size` is how many bytes
    it was read from, and `spelled` are texts as they were spelled there."""
    facts = facts_of(request) if facts is None else facts
    name, profile, quick = target.dialect.name, target.profile, target.quick
    request = request if target.alias_of is None else request.replace(model=target.alias_of)
    recorder = recorder or LossRecorder(name, request, Report(name, service=target.service))
    recorder.spelled = spelled
    if target.remark is not None:
        recorder.report.entries.append(target.remark)
    if history and facts.flags & target.concerns:
        request, facts = rewrite_history(request, facts, target, source, recorder)
    answer_adapter = None
    if quick is not None and profile is not None and not fits(request, quick, facts):
        request, answer_adapter = apply_rules(request, profile, recorder, facts)
    least = target.least_letters
    # JSON in canonical form may have blanks that the body has not, but never twice its letters.
    if least is not None and (size is None or 2 * size >= least):
        again = marked_again(request, target, facts, recorder)
        if again is None and (_is_known(recorder) or _has_letters(request, least)):
            again = apply_caching(request, target, facts, recorder, owner)
        request = again or request
    return Adapted(request, recorder, answer_adapter, target)


def _is_known(recorder: LossRecorder) -> bool:
    """Whether a request with the same beginning had breakpoints."""
    return recorder.memory is not None and recorder.memory.known is not None


def _has_letters(request: Request, letters: int) -> bool:
    """Whether a prompt has about so many letters, or more."""
    if request.tools:
        letters -= sum(map(_tool_letters, request.tools))
    for message in request.messages:
        if letters <= 0:
            break
        for block in message.content:
            letters -= len(block.text) if type(block) is TextBlock else _letters(block)
    return letters <= 0


def _tool_letters(tool: ToolDefinition) -> int:
    return len(tool.description or "") + 500


def _letters(block: Block) -> int:
    """About how many letters a block has that is not text."""
    if type(block) is not ToolResultBlock:
        return 500
    return sum([len(part.text) if type(part) is TextBlock else 500 for part in block.content])


def rewrite_history(
    request: Request, facts: Facts, target: WireTarget, source: str | None, recorder: LossRecorder
) -> tuple[Request, Facts]:
    """The request with a history that its target accepts, and the facts of that."""
    profile, model = target.profile, request.model
    recipient = Recipient(target.dialect, model, target.provider_key, False, False, source, model)
    rewriter = HistoryRewriter(recipient, recorder, target.accepts_images, profile, target.hoist)
    rewritten = rewriter.request(request, facts)
    if profile is not None and profile.media.image is False:
        _name_image_rule(recorder.report, profile)
    return rewritten


def _name_image_rule(report: Report, profile: Profile) -> None:
    """Adds the rule behind omitted images to their losses. They are replaced before anything is
    moved, so that a placeholder is at the place of each; the rule is known only here."""
    rule = profile.rule("media.image")
    for index, loss in enumerate(report.entries):
        if loss.code == NO_IMAGES.code and rule is not None:
            reason = f"{profile.name} takes no images ({rule})"
            report.entries[index] = replace(loss, reason=reason, rule=rule.id)


def write(adapted: Adapted, *, addressed: bool = True) -> Written:
    """Write an adapted request: under its host's field names and, unless `addressed` is False, with
    the members that its address needs in a body."""
    target, answer_adapter = adapted.target, adapted.answer_adapter
    assert target is not None, "adapt() names the target; retell() and fit() do not"
    if (host := target.host) is None:
        written = target.dialect.write_request(adapted.value, adapted.recorder)
    else:
        written = target.dialect.write_request(adapted.value, adapted.recorder, host)
    wire = written.wire
    if addressed and type(target) is not WireTarget and isinstance(target, Target):
        wire = target.addressed(wire)
    if answer_adapter is None and wire is written.wire:
        return written
    return replace(written, wire=wire, answer_adapter=answer_adapter)


class WrittenRequest(NamedTuple):
    """A written body and its target, for a caller that sends the same request to the same
    target."""

    request: Request
    target: Target
    body: Written
    on_use: Callable[[], None]
    """Called when it is sent."""
    text: bytes | None = None
    """The JSON of the body, if it is available."""

    def serves(self, request: Request, target: Target, stream: bool) -> bool:
        own = self.target
        return (
            self.request is request
            and self.body.stream is stream
            and (own.model, own.name, own.images) == (target.model, target.name, target.images)
            and own.dialect is target.dialect
            and own.provider == target.provider
            and own.profile == target.profile
        )
