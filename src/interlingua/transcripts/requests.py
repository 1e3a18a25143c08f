"""The requests of a session: which prompts its answers answered, in the order of their branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from interlingua.costs.elsewhere import Asked
from interlingua.model.message import Message, Role
from interlingua.transcripts.transcript import Compaction, Transcript, name_of


def requests_of(
    transcript: Transcript, counts: Callable[[Message], bool] = lambda answer: True
) -> Iterator[list[Asked]]:
    """The requests of the session, then those of each helper. An answer that is on several branches
    counts once, and only if `counts` says so."""
    seen: set[tuple[str, object]] = set()

    def is_new(answer: Message) -> bool:
        key = (name_of(answer), answer.created_at)
        if key in seen:
            return False
        seen.add(key)
        return counts(answer)

    ways = [(transcript.messages, transcript.compactions)]
    ways += [(branch.messages, ()) for branch in transcript.branches if not branch.active]
    for messages, compactions in ways:
        asked = list(_asked(messages, compactions, is_new))
        if any(each.counts for each in asked):
            yield asked
    for helper in transcript.subagents:
        yield from requests_of(helper.transcript, counts)


def _asked(
    messages: Sequence[Message],
    compactions: Sequence[Compaction],
    is_new: Callable[[Message], bool],
) -> Iterator[Asked]:
    restarts = {each.at: each for each in compactions}
    counted = any(message.metadata.usage is not None for message in messages)
    added: list[Message] = []
    restart = False
    for at, message in enumerate(messages):
        if at in restarts:
            kept = [messages[index] for index in restarts[at].preserved]
            added, restart = [*kept, message], True
            continue
        if message.role is Role.ASSISTANT and _is_answer(message, counted):
            yield Asked(tuple(added), message, restart, is_new(message))
            added, restart = [], False
        added.append(message)


def _is_answer(message: Message, counted: bool) -> bool:
    """Whether a request was answered: tokens were counted, or nothing says how many. In a session
    that `counted` any, what names neither a model nor tokens is part of another answer."""
    usage = message.metadata.usage
    if usage is None or usage.total_tokens is None:
        return message.metadata.model is not None or not counted
    return usage.total_tokens > 0
