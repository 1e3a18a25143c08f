"""The estimate itself: a sum of counts times coefficients of the model's family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib import resources

import msgspec

from interlingua.estimate.features import NUMBERS, TEXTS, Counted, count
from interlingua.estimate.media import MediaRules, media_tokens
from interlingua.model.exchange import Options
from interlingua.model.message import Message
from interlingua.model.tools import ToolDefinition

COLUMNS = (*TEXTS, *NUMBERS, "always")
"""What a family has a coefficient for; `always` is what every prompt begins with."""

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


class Learned(msgspec.Struct, frozen=True):
    """Everything that was learned: piece weights, families, and what single models add."""

    split: str
    weights: dict[str, float]
    families: list[Family]
    models: dict[str, dict[str, float]]
    media: dict[str, MediaRules]


def estimate_input_tokens(
    messages: Iterable[Message],
    tools: Iterable[ToolDefinition] = (),
    model: str = "",
    options: Options | None = None,
) -> int:
    """Tokens of the prompt. `model` is `<provider>:<name>`; of an unknown one, the average of all.
    `options` matter where they put text into the prompt, as an output schema does."""
    messages = tuple(messages)
    learned = load()
    family = family_of(model)
    counted = count(messages, tools, options, thinks(model))
    tokens = weigh(counted, learned.weights, coefficients_of(model))
    provider = family.name if family.name in learned.media else "other"
    tokens += media_tokens(messages, learned.media[provider])
    return max(1, round(tokens)) if messages or tokens else 0


def weigh(
    counted: Counted, weights: Mapping[str, float], coefficients: Mapping[str, float]
) -> float:
    values = vector(counted, weights)
    return sum(value * coefficients[name] for name, value in zip(COLUMNS, values, strict=True))


def vector(counted: Counted, weights: Mapping[str, float]) -> list[float]:
    """The counts in the order of COLUMNS, texts as weighed pieces."""
    texts = [getattr(counted, name).weigh(weights) for name in TEXTS]
    return [*texts, *(float(getattr(counted, name)) for name in NUMBERS), 1.0]


@cache
def load() -> Learned:
    file = resources.files(__package__).joinpath("data", "coefficients.json")
    return msgspec.json.decode(file.read_bytes(), type=Learned)


@lru_cache(maxsize=512)
def family_of(model: str) -> Family:
    return next(f for f in load().families if re.search(f.match, model.lower()))


@lru_cache(maxsize=512)
def coefficients_of(model: str) -> dict[str, float]:
    """The family's, with what this very model is known to add."""
    family = family_of(model)
    own = load().models.get(f"{family.name}/{plain_name(model)}", {})
    return {**family.coefficients, **own}


def thinks(model: str) -> bool:
    """Names that say that the model answers at once; the first is DeepSeek's for that."""
    return not re.search(r"deepseek-chat|non-(reasoning|thinking)", model.lower())


def plain_name(model: str) -> str:
    """The model without provider, maker, region and edition; some write versions with a dot where
    Anthropic has a dash."""
    name = model.lower().partition(":")[2].rpartition("/")[2]
    name = _EDITION.sub("", _MAKER.sub("", name)) or name
    return name.replace(".", "-") if name.startswith("claude") else name
