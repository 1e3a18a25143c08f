"""Costs of sessions' answers by the price table of this machine, and the requests that they
answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from interlingua.costs.cost import Costs, unpriced_parts
from interlingua.costs.elsewhere import Asked
from interlingua.costs.table import own_table, with_own_version
from interlingua.dialects.anthropic.response import hour_cache_tokens
from interlingua.errors import InterlinguaError
from interlingua.model.message import Message, Role
from interlingua.transcripts.transcript import Answer, Compaction, Transcript, name_of


class Prices:
    """Costs of answers by the price table of this machine."""

    def __init__(self) -> None:
        self.table = own_table()
        self.prices = with_own_version(self.table).version

    def __call__(self, answers: Iterable[Answer]) -> tuple[Decimal | None, int]:
        """The sum, and the number of answers without a known price, or with one for a part of
        their usage only. None if nothing is known."""
        costs, noted, known, unpriced = Costs(self.table), Decimal(0), 0, 0
        for answer in answers:
            usage = answer.usage
            if usage.cost_usd is not None:
                noted += usage.cost_usd
                known += 1
                unpriced += bool(unpriced_parts(usage, answer.model, self.table))
                continue
            try:
                longer = hour_cache_tokens(usage)
                costs.add(usage, answer.model or "", answer.created_at, longer)
            except (InterlinguaError, ValueError):  # no known model, or no known price
                unpriced += 1
            else:
                known += 1
                unpriced += bool(unpriced_parts(usage, answer.model, self.table))
        return (noted + costs.total if known else None), unpriced


def requests_of(
    transcript: Transcript, counts: Callable[[Message], bool] = lambda answer: True
) -> Iterator[list[Asked]]:
    """The requests of the session, then those of each helper. An answer that is on several
    branches counts once, and only if `counts` is true for it."""
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
            preserved = [messages[index] for index in restarts[at].preserved]
            added, restart = [*preserved, message], True
            continue
        if message.role is Role.ASSISTANT and _is_answer(message, counted):
            yield Asked(tuple(added), message, restart, is_new(message))
            added, restart = [], False
        added.append(message)


def _is_answer(message: Message, counted: bool) -> bool:
    """Whether a request was answered: tokens were counted, or no count exists. In a session that
    `counted` any, a message that names neither a model nor tokens is part of another answer."""
    usage = message.metadata.usage
    if usage is None or usage.total_tokens is None:
        return message.metadata.model is not None or not counted
    return usage.total_tokens > 0
