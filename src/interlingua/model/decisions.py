"""Values of two other kinds of request: decisions (typed questions about a conversation, and
answers with probabilities) and embeddings (texts and media in, one vector for each of them out)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from interlingua.model.base import Raw, Value, check_words
from interlingua.model.blocks import Block
from interlingua.model.message import Message
from interlingua.model.metadata import Usage

Choice = str | bool
QuestionKind = Literal["predicate", "choice", "score", "other"]
AnswerKind = Literal["predicate", "choice", "score", "refusal", "other"]


class QuestionOption(Value, frozen=True):
    """A choice, or a level of a score: a text or a boolean, and its meaning."""

    value: Choice
    description: str | None = None


class Question(Value, frozen=True):
    """One question. A predicate is true or false; a choice has options, and a score has levels from
    the lowest to the highest. `other` is a kind that only one vendor has."""

    kind: QuestionKind
    instructions: str
    options: tuple[QuestionOption, ...] = ()
    """For a predicate: empty, or the meanings of `True` and `False`."""
    name: str | None = None
    media: tuple[Block, ...] = ()
    """Images that belong to the instructions."""
    raw: Raw | None = None

    def __post_init__(self) -> None:
        check_words(self)

    @property
    def values(self) -> tuple[Choice, ...]:
        """The possible answers."""
        if self.kind == "predicate":
            return (True, False)
        return tuple([option.value for option in self.options])


class Likelihood(Value, frozen=True):
    """The probability of one option."""

    value: Choice
    probability: float


class DecisionAnswer(Value, frozen=True):
    """The answer to one question. `probabilities` add up to 1, in the order of the options; a
    refusal has none, and neither has a vendor that reports none."""

    kind: AnswerKind
    name: str | None = None
    value: Choice | float | None = None
    """The most probable option; of a score, the expected level, from 0."""
    probabilities: tuple[Likelihood, ...] = ()
    confidence: float | None = None
    raw: Raw | None = None

    def __post_init__(self) -> None:
        check_words(self)

    @property
    def probability(self) -> float | None:
        """The probability that a predicate is true."""
        known = {each.value: each.probability for each in self.probabilities}
        return known.get(True) if self.kind == "predicate" else None


class DecisionRequest(Value, frozen=True):
    """Everything that is sent for some decisions."""

    messages: tuple[Message, ...]
    questions: tuple[Question, ...]
    model: str | None = None
    user: str | None = None
    cache_key: str | None = None
    raw: Raw | None = None


class Decisions(Value, frozen=True):
    """Answers in the order of the questions."""

    answers: tuple[DecisionAnswer, ...]
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None
    raw: Raw | None = None


def likelihoods(values: Iterable[Choice], numbers: Iterable[float]) -> tuple[Likelihood, ...]:
    """Probabilities that add up to 1, whatever the numbers add up to."""
    known = [max(0.0, number) for number in numbers]
    total = sum(known)
    even = 1 / len(known) if known else 0.0
    parts = [number / total if total else even for number in known]
    return tuple([Likelihood(value, part) for value, part in zip(values, parts, strict=True)])


def answer_of(
    question: Question, numbers: Iterable[float], confidence: float | None = None
) -> DecisionAnswer:
    """The answer with these probabilities of the question's values."""
    known = likelihoods(question.values, numbers)
    best = max(known, key=lambda each: each.probability)
    value: Choice | float = best.value
    if question.kind == "score":
        value = sum(level * each.probability for level, each in enumerate(known))
    sure = best.probability if confidence is None else confidence
    kind: AnswerKind = question.kind
    return DecisionAnswer(kind, question.name, value, known, sure)


InputType = Literal[
    "query",
    "document",
    "similarity",
    "classification",
    "clustering",
    "question",
    "fact",
    "code_query",
    "image",
]
"""The purpose of the vectors, which some models require."""
EmbedInput = str | tuple[int, ...] | tuple[Block, ...]
"""A text, the tokens of one, or text and media that share a vector."""


class EmbedRequest(Value, frozen=True):
    """Everything that is sent for some vectors."""

    inputs: tuple[EmbedInput, ...]
    model: str | None = None
    dimensions: int | None = None
    input_type: InputType | None = None
    encodings: tuple[str, ...] = ()
    """The formats of numbers that the client requests: `float`, `base64`, or one of a vendor's
    own."""
    truncate: Literal["start", "end", "none"] | None = None
    """Which end of a too long text is cut off; `none` makes it an error."""
    title: str | None = None
    """The title of the embedded document."""
    user: str | None = None
    single: bool = False
    """Whether the request has a form with one input and one vector."""
    raw: Raw | None = None
    """Data that only the source dialect understands."""


class Embeddings(Value, frozen=True):
    """Vectors in the order of the inputs."""

    vectors: tuple[tuple[float, ...], ...]
    model: str | None = None
    usage: Usage | None = None
    id: str | None = None
