"""Decides from a body's keys whether it may need adapting: the gateway does not read a body of the
target's own dialect unless a rule concerns something in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from interlingua.adapt.fit.amounts import limits_media
from interlingua.profiles.profile import Profile

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed", "logit_bias")
_REASONING = ("carrier", "efforts", "budget", "off", "off_to")
_CHOICE = ("choice", "thinking_choice", "budget_choice")
_OUTPUT = ("schema", "json", "closed", "without", "strict_closed", "const_as_enum", "formats")

# Fields of a profile, and the keys of a body that they are about.
_KEYS: dict[str, dict[str, tuple[str, ...]]] = {
    "openai-chat": {
        **{f"sampling.{name}": (name,) for name in _SAMPLING},
        "sampling.penalties": ("frequency_penalty", "presence_penalty"),
        "sampling.repetition_penalty": ("repetition_penalty",),
        "sampling.logprobs": ("logprobs",),
        "sampling.n": ("n",),
        **dict.fromkeys([f"reasoning.{name}" for name in _REASONING], ("reasoning_effort",)),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("tool_choice",)),
        **dict.fromkeys([f"output.{name}" for name in _OUTPUT], ("response_format",)),
        "output.verbosity": ("verbosity",),
        "limits.stop": ("stop",),
        "tools.effort": ("tools",),
        "tools.calls": ("tools",),
        "tools.parallel_switch": ("parallel_tool_calls",),
        "speaks.tools_dialect": ("tools",),
        "speaks.server_dialect": ("web_search_options",),
        "limits.output": ("max_tokens", "max_completion_tokens"),
        "words.user": ("user", "safety_identifier"),
    },
    "openai-responses": {
        **{f"sampling.{name}": (name,) for name in ("temperature", "top_p")},
        "sampling.logprobs": ("top_logprobs", "include"),
        **dict.fromkeys([f"reasoning.{name}" for name in _REASONING], ("reasoning",)),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("tool_choice",)),
        **dict.fromkeys([f"output.{name}" for name in (*_OUTPUT, "verbosity")], ("text",)),
        "limits.output": ("max_output_tokens",),
        "words.user": ("user", "safety_identifier"),
    },
    "anthropic": {
        "cache.whole": ("cache_control",),
        **{f"sampling.{name}": (name,) for name in ("temperature", "top_p", "top_k")},
        **dict.fromkeys(
            [f"reasoning.{name}" for name in _REASONING], ("thinking", "output_config")
        ),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("tool_choice",)),
        **dict.fromkeys([f"output.{name}" for name in _OUTPUT], ("output_config", "output_format")),
        "limits.stop": ("stop_sequences",),
        "limits.output": ("max_tokens",),
    },
    "gemini": {
        **dict.fromkeys(
            [f"sampling.{name}" for name in (*_SAMPLING, "penalties", "logprobs", "n")]
            + [f"reasoning.{name}" for name in _REASONING]
            + [f"output.{name}" for name in _OUTPUT]
            + ["limits.output", "limits.stop", "sampling.temperature_range"],
            ("generationConfig", "generation_config"),
        ),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("toolConfig", "tool_config")),
        "tools.with_server": ("tools",),
    },
    "gemini-interactions": {
        **dict.fromkeys(
            [f"sampling.{name}" for name in _SAMPLING]
            + [f"reasoning.{name}" for name in _REASONING]
            + [f"tools.{name}" for name in _CHOICE]
            + ["limits.output", "limits.stop", "sampling.temperature_range"],
            ("generation_config",),
        ),
        **dict.fromkeys([f"output.{name}" for name in _OUTPUT], ("response_format",)),
        "tools.with_server": ("tools",),
    },
    "ollama": {
        **dict.fromkeys(
            [f"sampling.{name}" for name in (*_SAMPLING, "penalties", "repetition_penalty")],
            ("options",),
        ),
        "sampling.logprobs": ("logprobs", "top_logprobs"),
        **dict.fromkeys([f"reasoning.{name}" for name in _REASONING], ("think",)),
        "tools.calls": ("tools",),
    },
    "bedrock": {
        **dict.fromkeys(
            [f"sampling.{name}" for name in (*_SAMPLING, "temperature_range")]
            + ["limits.output", "limits.stop"],
            ("inferenceConfig", "additionalModelRequestFields"),
        ),
        **dict.fromkeys(
            [f"reasoning.{name}" for name in _REASONING], ("additionalModelRequestFields",)
        ),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("toolConfig",)),
        **dict.fromkeys([f"output.{name}" for name in _OUTPUT], ("outputConfig",)),
    },
    "cohere": {
        **{f"sampling.{name}": (name,) for name in ("temperature", "seed", "logprobs")},
        "sampling.top_p": ("p",),
        "sampling.top_k": ("k",),
        "sampling.penalties": ("frequency_penalty", "presence_penalty"),
        **dict.fromkeys([f"reasoning.{name}" for name in _REASONING], ("thinking",)),
        **dict.fromkeys([f"tools.{name}" for name in _CHOICE], ("tool_choice",)),
        **dict.fromkeys([f"output.{name}" for name in _OUTPUT], ("response_format",)),
        "limits.stop": ("stop_sequences",),
        "limits.output": ("max_tokens",),
    },
}
_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})
"""Keys that as a rule are there, and only matter where their number does."""
_TTL = b'"ttl"'
_INSTRUCTIONS = re.compile(rb'"role"\s*:\s*"(?:system|developer)"')
_DEVELOPER = re.compile(rb'"role"\s*:\s*"developer"')
_ROLE = re.compile(rb'"role"\s*:\s*"([a-z]+)"')
_STRICT = re.compile(rb'"strict"\s*:\s*true')
_URL = re.compile(rb'"https?:', re.IGNORECASE)
_MEDIA_WORDS = "image|document|file|video|audio|input_[a-z]+|image_url|inlineData"
_MEDIA = re.compile(f'"(?:{_MEDIA_WORDS})"'.encode())


class WatchedKeys(NamedTuple):
    """The parts of a body that a profile has rules about."""

    keys: frozenset[str]
    limits: frozenset[str]
    least: int
    most: int
    mid: bool
    prefill: bool
    marks: tuple[bytes, int] | None
    strict: bool
    media: bool
    by_url: bool
    """Whether media has to come with its data."""
    ttls: bool
    pieces: int
    """Images and documents that may stand in any case."""
    sizes: bool
    """Whether large media may be refused."""
    ends: bool
    """Whether the last message may not be one of instructions."""
    never: bool
    """Whether every body has to be read."""
    system: bool
    """Whether instructions may have one role only."""
    words: tuple[bytes, ...]
    """The text that precedes each piece of media."""
    signs: re.Pattern[bytes]
    """Byte patterns of values that need a closer look than their keys."""


@lru_cache(512)
def watched_keys(profile: Profile, dialect: str) -> WatchedKeys:
    table = _KEYS.get(dialect, {})
    found = {key for field, keys in table.items() if _matters(profile, field) for key in keys}
    limits, tools = profile.limits, profile.tools
    mark = profile.cache.mark
    counted = mark is not None and limits.cache_marks is not None
    marks = (f'"{mark}"'.encode(), limits.cache_marks or 0) if counted else None
    kinds = (getattr(profile.media, kind) for kind in ("image", "pdf", "document", "audio"))
    word = profile.words.max_tokens
    refused = {"max_tokens", "max_completion_tokens"} - {word} if word else set()
    return WatchedKeys(
        frozenset(found - _LIMITS) | refused,
        frozenset(found & _LIMITS),
        limits.min_output or 0,
        limits.output or 2**62,
        profile.instructions.mid not in (None, "any"),
        profile.turns.prefill not in (None, "yes"),
        marks,
        bool(tools.strict_closed or tools.strict_tools),
        False in kinds,
        profile.media.by_url in ("no", "fetch"),
        profile.cache.ttls is not None,
        _least(limits.images, limits.documents, limits.media, limits.turn_images),
        limits_media(profile),
        profile.turns.last is not None and "system" not in profile.turns.last,
        bool(profile.turns.alternate) or profile.instructions.role == "user",
        profile.instructions.role == "system",
        _PIECES.get(dialect, _ALL_PIECES),
        _signs(mark, dialect),
    )


def _signs(mark: str | None, dialect: str) -> re.Pattern[bytes]:
    """One look for all that is looked for in a body, since most have nothing of it."""
    words = [b"ttl", _MEDIA_WORDS.encode()]
    words += [re.escape(piece.strip(b'"')) for piece in _PIECES.get(dialect, _ALL_PIECES)]
    words += [] if mark is None else [re.escape(mark.encode())]
    role, strict = rb'role"\s*:\s*"(?:system|developer)"', rb'strict"\s*:\s*true'
    return re.compile(rb'"(?:(?:%b)"|%b|%b)' % (b"|".join(words), role, strict))


def _least(*limits: int | None) -> int:
    return min((each for each in limits if each is not None), default=2**62)


def _matters(profile: Profile, field: str) -> bool:
    """Whether a rule may change anything: those that allow all do not."""
    if field not in profile.rules:
        return False
    group, _, name = field.partition(".")
    return getattr(getattr(profile, group), name) not in (None, "always", "native", True)


_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_number = msgspec.json.Decoder(Any)


def touches(
    profile: Profile, dialect: str, body: bytes, members: Mapping[str, msgspec.Raw] | None = None
) -> bool:
    """Whether a rule is about something in the body, whose `members` may be known already. A
    body that cannot be read is passed on."""
    rules = watched_keys(profile, dialect)
    try:
        members = _members.decode(body) if members is None else members
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    if rules.never or not rules.keys.isdisjoint(members):
        return True
    for key in rules.limits:
        if key in members and not _is_within(members[key], rules):
            return True
    turns = bytes(members.get("messages") or members.get("input") or b"")
    if rules.signs.search(body) is not None and _shows(body, turns, rules):
        return True
    return (rules.prefill or rules.ends) and _end_matters(turns, rules)


def _shows(body: bytes, turns: bytes, rules: WatchedKeys) -> bool:
    """Whether the body has something that a rule is about, whatever its keys are."""
    if rules.marks is not None and body.count(rules.marks[0]) > rules.marks[1]:
        return True
    if rules.ttls and _TTL in body:
        return True
    if rules.strict and _STRICT.search(body):
        return True
    if rules.system and _DEVELOPER.search(body):
        return True
    if (rules.media or (rules.by_url and _URL.search(body))) and _MEDIA.search(body):
        return True
    if rules.sizes and _is_much(body, rules):
        return True
    return rules.mid and _INSTRUCTIONS.search(turns) is not None


def shows_media(body: bytes) -> bool:
    """Whether there may be media in the body."""
    return _MEDIA.search(body) is not None or any(piece in body for piece in _ALL_PIECES)


def _is_much(body: bytes, rules: WatchedKeys) -> bool:
    """Whether there may be more or larger media than is taken."""
    found = sum(map(body.count, rules.words))
    return found > rules.pieces or (found > 0 and len(body) > _SMALL)


# Counting too many costs a needless closer look, and nothing else.
_PIECES: dict[str, tuple[bytes, ...]] = {
    "openai-chat": (b'"image_url"', b'"file"'),
    "openrouter": (b'"image_url"', b'"file"'),
    "openai-responses": (b'"input_image"', b'"input_file"'),
    "anthropic": (b'"image"', b'"document"'),
    "bedrock": (b'"image"', b'"document"'),
    "gemini": (b'"inlineData"', b'"inline_data"'),
    "ollama": (b'"images"',),
}
_ALL_PIECES = tuple(dict.fromkeys(piece for pieces in _PIECES.values() for piece in pieces))
_SMALL = 1 << 16
"""Bytes of a body in which no image is too large."""


def _is_within(value: msgspec.Raw, rules: WatchedKeys) -> bool:
    try:
        number = _number.decode(value)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return True
    return not isinstance(number, (int, float)) or rules.least <= number <= rules.most


def _end_matters(turns: bytes, rules: WatchedKeys) -> bool:
    last = _last_role(turns)
    if last == b"assistant":
        return rules.prefill
    return rules.ends and last in (b"system", b"developer")


def _last_role(turns: bytes) -> bytes | None:
    found = _ROLE.match(turns, max(0, turns.rfind(b'"role"')))
    if found is not None:
        return found[1]
    roles = _ROLE.findall(turns)
    return roles[-1] if roles else None
