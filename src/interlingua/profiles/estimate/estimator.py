"""The estimate itself: a sum of counts times coefficients of the model's family."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from operator import is_
from typing import TYPE_CHECKING, Any

import msgspec

from interlingua.model.blocks import (
    Block,
    CompactionBlock,
    RedactedThinkingBlock,
    RefusalBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.model.exchange import Options, Request
from interlingua.model.message import Message, Role
from interlingua.model.tools import ToolDefinition
from interlingua.profiles.estimate.features import (
    NUMBERS,
    TEXTS,
    MediaRules,
    Pieces,
    PieceWeights,
    RequestFeatures,
    WeighedPieces,
    count,
    count_block,
    media_of,
    media_tokens,
)

if TYPE_CHECKING:
    from interlingua.coerce import Conversation

COLUMNS = (*TEXTS, *NUMBERS, "always")
"""The coefficients of a family; `always` is the beginning of every prompt."""

# What a name may carry beside the model: region and maker in front, edition at the end.
_MAKER = re.compile(r"^((us|eu|apac|jp|au|global)\.)?([a-z0-9]+\.)?(?=[a-z])")
_EDITION = re.compile(
    r"(-20\d{6}|-20\d\d-\d\d-\d\d|@.*|-latest|-v\d(:\d)?|:free|-preview|-\d{3,4})+$"
)


class Family(msgspec.Struct, frozen=True):
    """Models that cut text and lay out a prompt alike."""

    name: str
    match: str
    """A pattern for `<provider>:<model>`; the first family that matches counts."""
    coefficients: dict[str, float]


class LearnedWeights(msgspec.Struct, frozen=True):
    """All learned weights: of pieces, of families, and the differences of single models."""

    split: str
    weights: dict[str, float]
    families: list[Family]
    models: dict[str, dict[str, float]]
    media: dict[str, MediaRules]


def estimate_input_tokens(
    messages: Conversation | Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    model: str = "",
    options: Options | None = None,
) -> int:
    """Tokens of the prompt: of text, messages, dicts or a whole request, whose tools, model and
    options count where none are passed. `model` is `<provider>:<name>`; of an unknown one, the
    average of all. `options` matter where they put text into the prompt, as an output schema
    does."""
    if not isinstance(messages, (tuple, list)) or any(type(m) is not Message for m in messages):
        from interlingua.coerce import as_conversation

        found = as_conversation(messages)  # type: ignore[arg-type]  # which refuses other things
        if isinstance(found, Request):
            tools, model = tools or found.tools, model or found.model or ""
            options = options or found.options
            found = found.messages
        messages = found
    learned = load()
    family = family_of(model)
    counted = count(messages, tools, options, thinks(model))
    tokens = weigh(counted, learned.weights, coefficients_of(model))
    provider = family.name if family.name in learned.media else "other"
    tokens += media_tokens(messages, learned.media[provider])
    return max(1, round(tokens)) if messages or tokens else 0


_ROOM = 100


class Estimator:
    """Estimates prompts for one model, and caches the estimate of each piece of text, so a growing
    history costs only what is new. The cache is keyed by the identity of the texts, so messages may
    be copied around them."""

    def __init__(self, model: str) -> None:
        self.model = model
        learned = load()
        family = family_of(model)
        self._weights = learned.weights
        self._coefficients = coefficients_of(model)
        self._media = learned.media[family.name if family.name in learned.media else "other"]
        self._thinks = thinks(model)
        self._known: dict[int, tuple[object, float]] = {}
        self._last: tuple[tuple[Message, ...], bool, tuple[float, int]] = ((), False, (0.0, 0))
        """The last history, whether it has instructions, and its sums."""
        self._beside: tuple[Any, Any, float] = (None, None, 0.0)
        """The last tools and options, and their tokens in a prompt without instructions."""

    def tokens(
        self,
        messages: Sequence[Message],
        tools: Iterable[ToolDefinition] = (),
        options: Options | None = None,
    ) -> int:
        """Like `estimate_input_tokens`."""
        history, instructs, sums = self._last
        if len(messages) < len(history) or not all(map(is_, messages, history)):
            history, instructs, sums = (), False, (0.0, 0)
            if len(self._known) > _ROOM + 2 * len(messages):
                self._forget_others(messages)  # some of it is of histories that are no more
        new = messages[len(history) :]
        instructs = instructs or any(each.role in _INSTRUCT for each in new)
        sums = self._add(new, *sums)
        self._last = (tuple(messages), instructs, sums)
        tokens = self._sum(*sums) + self._of_rest(tools, options)
        if instructs:
            tokens += self._coefficients["instructions"]
        return max(1, round(tokens)) if messages or tokens else 0

    def _forget_others(self, messages: Sequence[Message]) -> None:
        blocks = [block for message in messages for block in message.content]
        ids = [id(getattr(block, _HELD.get(type(block), ""), block)) for block in blocks]
        self._known = {each: self._known[each] for each in ids if each in self._known}

    def _of_rest(self, tools: Iterable[ToolDefinition], options: Options | None) -> float:
        """Tokens of tools and options; those of the last one are cached."""
        known_tools, known_options, tokens = self._beside
        if tools is not known_tools or options is not known_options:
            counted = count((), tools, options, self._thinks)
            tokens = weigh(counted, self._weights, self._coefficients)
            if isinstance(tools, tuple):
                self._beside = (tools, options, tokens)
        return tokens

    @property
    def per_message(self) -> float:
        """Tokens around each message."""
        return self._coefficients["messages"]

    def of_block(self, block: Block) -> float:
        """Tokens of one block."""
        held: object = getattr(block, _HELD.get(type(block), ""), block)
        found = self._known.get(id(held))
        if found is None:
            found = self._known[id(held)] = (held, self._weigh(block))
        return found[1]

    def of_tool(self, tool: ToolDefinition) -> float:
        """Tokens of one tool in a prompt that has others."""
        with_one, without = (count((), tools, None, self._thinks) for tools in ([tool], []))
        with_one.any_tools = 0
        weights, coefficients = self._weights, self._coefficients
        return weigh(with_one, weights, coefficients) - weigh(without, weights, coefficients)

    def added(self, messages: Iterable[Message]) -> float:
        """Tokens that these messages add to a prompt."""
        return self._sum(*self._add(messages, 0.0, 0))

    def _sum(self, tokens: float, counted: int) -> float:
        return tokens + counted * self._coefficients["messages"]

    def _add(self, messages: Iterable[Message], tokens: float, counted: int) -> tuple[float, int]:
        """The tokens of blocks, and the number of messages, with those of these messages."""
        known = self._known
        for message in messages:
            if message.changes is not None and not message.content:
                continue  # it has no information
            counted += 1
            for block in message.content:
                held: object = getattr(block, _HELD.get(type(block), ""), block)
                found = known.get(id(held))
                if found is None:
                    found = known[id(held)] = (held, self._weigh(block))
                tokens += found[1]
        return tokens, counted

    def _weigh(self, block: Block) -> float:
        coefficients = self._coefficients
        pieces = WeighedPieces(known=_piece_weights())
        counted = RequestFeatures(pieces, pieces, pieces, pieces, pieces, pieces, pieces, thinks=0)
        count_block(counted, block)  # all texts of a block are of one kind
        tokens = 0.0 if type(block) in _NO_MEDIA else media_of(block, self._media)
        for name in _IN_BLOCKS[type(block)]:
            found = getattr(counted, name)
            value = found.weigh(self._weights) if isinstance(found, Pieces) else found
            tokens += value * coefficients[name]
        return tokens

    def of_counts(self, block: Block, counts: BlockCounts) -> float:
        """The tokens of a block whose counts are known: they are the same for all models."""
        tokens = 0.0 if type(block) in _NO_MEDIA else media_of(block, self._media)
        for name, value in counts:
            tokens += value * self._coefficients[name]
        return tokens

    @property
    def per_text(self) -> float:
        """Tokens for a piece of plain text of average weight."""
        return self._coefficients["text"]


BlockCounts = tuple[tuple[str, float], ...]
"""Features of a block: the name of a coefficient, and its count."""


def block_counts(block: Block) -> BlockCounts:
    """The counts of one block, without its media."""
    counted, weights = RequestFeatures(thinks=0), load().weights
    count_block(counted, block)
    values = [(name, getattr(counted, name)) for name in _IN_BLOCKS[type(block)]]
    return tuple(
        (name, value.weigh(weights) if isinstance(value, Pieces) else float(value))
        for name, value in values
    )


# What a block's tokens are made of, which stays the same object when the block gets another id.
_HELD: dict[type, str] = {ToolUseBlock: "input", ToolResultBlock: "content"}
# The counts that a block adds to.
_IN_BLOCKS: dict[type, tuple[str, ...]] = defaultdict(
    tuple,
    {
        TextBlock: ("text", "signatures"),
        RefusalBlock: ("text",),
        ThinkingBlock: ("thinking", "signatures"),
        RedactedThinkingBlock: ("signatures",),
        CompactionBlock: ("text", "signatures"),
        ToolUseBlock: ("calls", "tool_uses", "signatures"),
        ToolResultBlock: ("results", "tool_results"),
    },
)
_NO_MEDIA = frozenset(_IN_BLOCKS) - {ToolResultBlock}
_INSTRUCT = frozenset({Role.SYSTEM, Role.DEVELOPER})
_NO_PIECES = Pieces()


def weigh(
    counted: RequestFeatures, weights: Mapping[str, float], coefficients: Mapping[str, float]
) -> float:
    values = vector(counted, weights)
    return sum(value * coefficients[name] for name, value in zip(COLUMNS, values, strict=True))


def vector(counted: RequestFeatures, weights: Mapping[str, float]) -> list[float]:
    """The counts in the order of COLUMNS, texts as weighed pieces."""
    pieces = [getattr(counted, name) for name in TEXTS]
    texts = [0.0 if each == _NO_PIECES else each.weigh(weights) for each in pieces]
    return [*texts, *(float(getattr(counted, name)) for name in NUMBERS), 1.0]


@cache
def load() -> LearnedWeights:
    file = resources.files(__package__).joinpath("data", "coefficients.json")
    return msgspec.json.decode(file.read_bytes(), type=LearnedWeights)


@cache
def _piece_weights() -> PieceWeights:
    return PieceWeights(load().weights)


@lru_cache(maxsize=512)
def family_of(model: str) -> Family:
    return next(f for f in load().families if re.search(f.match, model.lower()))


@lru_cache(maxsize=512)
def coefficients_of(model: str) -> dict[str, float]:
    """The coefficients of the family, with the known overhead of this model."""
    family = family_of(model)
    own = load().models.get(f"{family.name}/{plain_name(model)}", {})
    return {**family.coefficients, **own}


def thinks(model: str) -> bool:
    """False for names of models that answer without thinking; the first is DeepSeek's."""
    return not re.search(r"deepseek-chat|non-(reasoning|thinking)", model.lower())


def plain_name(model: str) -> str:
    """The model without provider, maker, region and edition; some write versions with a dot where
    Anthropic has a dash."""
    name = model.lower().partition(":")[2].rpartition("/")[2]
    name = _EDITION.sub("", _MAKER.sub("", name)) or name
    return name.replace(".", "-") if name.startswith("claude") else name
