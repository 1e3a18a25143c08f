"""Taking secrets out of values, whose structure is not changed.

A value is walked twice: first to learn all secrets, then to take them out, so that one that is
recognised in one place (behind `PASSWORD=`) is gone from all others, too.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from interlingua.errors import InterlinguaError, MissingExtraError
from interlingua.model.base import Value
from interlingua.model.blocks import Citation, DocumentBlock, Source, TextBlock, ToolUseBlock
from interlingua.model.message import Message
from interlingua.model.spelled_numbers import SpelledFloat, spelled
from interlingua.transcripts.redaction.shapes import (
    ASSIGNMENTS,
    KEYS,
    PEOPLE,
    Shape,
    assigned,
    is_secret,
    words,
)

LONGEST = 200_000
"""Characters of a pattern."""
MEMORY = 16 * 1024 * 1024
"""Bytes that RE2 may use for a pattern; one that needs more is refused."""
_LONE = re.compile("[\ud800-\udfff]")


class PatternError(InterlinguaError):
    """A pattern that is not understood, is not allowed, or is too large."""


class UserPattern:
    """One pattern; `^` and `$` are the ends of lines."""

    def __init__(self, pattern: str) -> None:
        try:
            import re2
        except ImportError:
            raise MissingExtraError("redaction by patterns of your own", "redaction") from None
        if len(pattern) > LONGEST:
            raise PatternError(f"a pattern has at most {LONGEST} characters, found {len(pattern)}")
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MEMORY
        try:
            self._compiled: Any = re2.compile(f"(?m){pattern}", options)
        except (re2.error, UnicodeError) as error:
            why = error.args[0] if error.args else "not understood"
            text = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(error)
            raise PatternError(f"pattern {pattern[:80]!r}: {text[:200]}") from None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of its matches, without empty ones."""
        if not text.isascii() and _LONE.search(text):  # which RE2 does not support
            text = _LONE.sub("\ufffd", text)
        for match in self._compiled.finditer(text):
            start, end = match.span()
            if end > start:
                yield start, end


ASSIGNED = "assigned-secret"
"""The kind of a secret that is known by the name in front of it."""
KINDS: tuple[str, ...] = (
    *dict.fromkeys(shape.kind for shape in KEYS),
    ASSIGNED,
    *dict.fromkeys(shape.kind for shape in PEOPLE),
)
"""All kinds there are, in the order in which they are preferred; own patterns come before them."""


class Finding(NamedTuple):
    """Something that was taken out. The thing itself is not in here."""

    kind: str
    place: str
    """JSON pointer into the current value; for a key, of the object that has it."""
    placeholder: str
    """The placeholder; empty if a whole field was removed."""
    length: int
    """The length of the original, in characters."""


class Redacted(NamedTuple):
    value: Any
    findings: tuple[Finding, ...]


class OwnPattern(msgspec.Struct, frozen=True):
    """A user's regular expression without lookaround or back references; its name is the kind."""

    name: str
    pattern: str

    def __post_init__(self) -> None:
        if not self.name.replace("-", "").replace("_", "").isalnum() or len(self.name) > 40:
            raise ValueError(f"the name of a pattern has letters, digits, - and _: {self.name!r}")
        UserPattern(self.pattern)  # raises for an invalid pattern


class Rules(msgspec.Struct, frozen=True, dict=True):
    """`kinds` limits the search (None is all of `KINDS`), `keep` are texts that stay."""

    kinds: frozenset[str] | None = None
    patterns: tuple[OwnPattern, ...] = ()
    keep: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if self.kinds is not None and (unknown := self.kinds - set(KINDS)):
            raise ValueError(f"unknown kind {', '.join(sorted(unknown))}: {', '.join(KINDS)}")

    def wants(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds

    @cached_property
    def own(self) -> tuple[tuple[str, UserPattern], ...]:
        return tuple([(own.name, UserPattern(own.pattern)) for own in self.patterns])

    @cached_property
    def signs(self) -> dict[str, tuple[Shape, ...]]:
        """The shapes, by a substring that each of their matches has."""
        found: dict[str, tuple[Shape, ...]] = {}
        for shape in (*KEYS, *PEOPLE):
            for sign in shape.signs if self.wants(shape.kind) else ():
                found[sign] = (*found.get(sign, ()), shape)
        return found


ALL = Rules()


_SHORTEST = 5
"""A text with less in it is not looked at by the rules that are built in."""
TAKEN_OUT = "[redacted:"
"""The prefix of a placeholder."""
_PLACEHOLDER = re.compile(r"\[redacted:[\w-]{1,60}:\d{1,12}\]")
_RANK = {kind: rank for rank, kind in enumerate(KINDS)}


class Span(NamedTuple):
    start: int
    end: int
    kind: str


def spans(text: str, rules: Rules) -> list[Span]:
    """From left to right; overlapping spans are merged."""
    taken = [match.span() for match in _PLACEHOLDER.finditer(text)] if TAKEN_OUT in text else []
    found = [
        span
        for span in _all(text, rules)
        if text[span.start : span.end] not in rules.keep and not _is_inside(span.start, taken)
    ]
    return joined(found)


def _is_inside(at: int, taken: list[tuple[int, int]]) -> bool:
    before = bisect_right(taken, at, key=lambda each: each[0]) - 1
    return before >= 0 and at < taken[before][1]


def joined(found: list[Span]) -> list[Span]:
    """Spans in order; overlapping ones are merged."""
    out: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if out and span.start < out[-1].end:
            out[-1] = _join(out[-1], span)
        else:
            out.append(span)
    return out


def _join(a: Span, b: Span) -> Span:
    kind = min(a.kind, b.kind, key=lambda each: _RANK.get(each, -1))
    return Span(a.start, max(a.end, b.end), kind)


def _all(text: str, rules: Rules) -> Iterator[Span]:
    for name, pattern in rules.own:
        for start, end in pattern.spans(text):
            yield Span(start, end, name)
    if len(text) < _SHORTEST:
        return
    lower = text.lower()
    signs = [sign for sign in rules.signs if sign in lower]
    for shape in _promised(signs, rules):
        for match in shape.pattern.finditer(text):
            if shape.holds(match):
                yield Span(*match.span(match.re.groups), shape.kind)
    if rules.wants(ASSIGNED) and any(sign in text for sign in ASSIGNMENTS):
        for start, end in assigned(text):
            yield Span(start, end, ASSIGNED)


def _promised(signs: list[str], rules: Rules) -> Iterator[Shape]:
    """The shapes with a sign in this text, each once."""
    if len(signs) < 2:
        return iter(rules.signs[signs[0]] if signs else ())
    return iter({id(shape): shape for sign in signs for shape in rules.signs[sign]}.values())


SPREADING = 8
"""A secret of this many characters is removed everywhere, even where it is not recognised."""
SEALED = "sealed-text"
"""The kind of a field that had to go since it belongs to a text that was changed."""
_SEALS = words("signature thoughtSignature thought_signature encrypted_content encrypted_reasoning")
_STRUCTURAL = words("type role kind object")
"""Keys of plain JSON whose values identify a format."""


def redact(value: Any, rules: Rules = ALL) -> Redacted:
    """A copy without secrets, and findings; equal secrets get equal placeholders."""
    redactor = Redactor(rules)
    redactor.learn(value)
    return redactor.redact(value)


class Redactor:
    """Redacts many values with the same placeholders: `learn` from all, then `redact` each."""

    def __init__(self, rules: Rules = ALL) -> None:
        self.rules = rules
        self._placeholders: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}
        self._found: dict[str, list[Span]] = {}
        """By text: each is looked at twice, and many are the same."""
        self._known: dict[str, tuple[str, str]] = {}
        """Texts to take out wherever they occur: each secret, also in its JSON spelling inside a
        text, with its kind and itself."""
        self._heads: dict[str, list[str]] = {}
        """The same by how they begin."""

    def learn(self, value: Any, fixed_keys: bool = False) -> None:
        """Remember the secrets of a value."""
        _Walk(self, learning=True, fixed_keys=fixed_keys).any(value, "")

    def redact(self, value: Any, place: str = "", fixed_keys: bool = False) -> Redacted:
        """The value without its secrets. `place` is its place in a larger value; `fixed_keys` are
        keys of a schema, which contain no secrets and stay."""
        walk = _Walk(self, fixed_keys=fixed_keys)
        changed = walk.any(value, place)
        return Redacted(changed, tuple(walk.findings))

    def placeholder(self, kind: str, secret: str) -> str:
        """The same for the same secret."""
        kind, secret = self._known.get(secret, (kind, secret))
        known = self._placeholders.get((kind, secret))
        if known is None:
            self._counts[kind] = number = self._counts.get(kind, 0) + 1
            known = self._placeholders[kind, secret] = f"{TAKEN_OUT}{kind}:{number}]"
        return known

    def secrets(self, placeholders: Iterable[str]) -> frozenset[str]:
        """The originals of these placeholders."""
        chosen = set(placeholders)
        known = self._placeholders.items()
        return frozenset([secret for (_, secret), placeholder in known if placeholder in chosen])

    def placeholders(self) -> dict[str, str]:
        """All placeholders, and their originals."""
        return {text: secret for (_, secret), text in self._placeholders.items()}

    def remember(self, kind: str, secret: str) -> None:
        if len(secret) >= SPREADING and secret not in self._known:
            for spelled in {secret, msgspec.json.encode(secret).decode()[1:-1]}:
                self._known[spelled] = (kind, secret)
                self._heads.setdefault(spelled[:SPREADING], []).append(spelled)

    def spans(self, text: str, name: str | None = None) -> list[Span]:
        """The spans to remove from a text; `name` is its key."""
        found = self._found.get(text)
        if found is None:
            found = self._found[text] = spans(text, self.rules)
        if not found and self._is_named(name, text):
            return [Span(0, len(text), ASSIGNED)]
        return self._with_known(text, found)

    def _is_named(self, name: str | None, text: str) -> bool:
        if name is None or " " in text or text in self.rules.keep:
            return False
        return self.rules.wants(ASSIGNED) and is_secret(name, text, quoted=True)

    def _with_known(self, text: str, found: list[Span]) -> list[Span]:
        more = [
            Span(at, at + len(secret), self._known[secret][0]) for at, secret in self._there(text)
        ]
        return joined([*found, *more]) if more else found

    def _there(self, text: str) -> Iterator[tuple[int, str]]:
        """Known secrets in a text: searched one by one, or at each position if there are many."""
        if len(self._known) < len(text):
            for secret in self._known:
                yield from ((at, secret) for at in _places_of(secret, text))
            return
        for at in range(len(text) - SPREADING + 1):
            for secret in self._heads.get(text[at : at + SPREADING], ()):
                if text.startswith(secret, at):
                    yield at, secret


def _places_of(secret: str, text: str) -> Iterator[int]:
    at = text.find(secret)
    while at >= 0:
        yield at
        at = text.find(secret, at + len(secret))


class _Walk:
    """One way through a value."""

    def __init__(
        self, redactor: Redactor, learning: bool = False, fixed_keys: bool = False
    ) -> None:
        self.redactor = redactor
        self.learning = learning
        self.fixed_keys = fixed_keys
        self.findings: list[Finding] = []

    def any(self, value: Any, place: str, name: str | None = None) -> Any:
        if type(value) is str:
            return self.text(value, place, name)[0]
        if isinstance(value, Value):
            return self.value(value, place)
        if isinstance(value, Mapping):
            return self.mapping(value, place)
        if isinstance(value, (list, tuple)):
            return self.items(value, place, name)
        return value

    def text(self, text: str, place: str, name: str | None = None) -> tuple[str, list[Span]]:
        """The text without secrets, and their places."""
        found = self.redactor.spans(text, name)
        pieces, at = [], 0
        for span in found:
            secret = text[span.start : span.end]
            if self.learning:
                self.redactor.remember(span.kind, secret)
                continue
            placeholder = self.redactor.placeholder(span.kind, secret)
            self.findings.append(Finding(span.kind, place, placeholder, len(secret)))
            pieces += [text[at : span.start], placeholder]
            at = span.end
        return ("".join([*pieces, text[at:]]) if pieces else text), found

    def items(self, items: Sequence[Any], place: str, name: str | None) -> Any:
        changed = [self.any(item, f"{place}/{i}", name) for i, item in enumerate(items)]
        if all(a is b for a, b in zip(changed, items, strict=True)):
            return items
        return tuple(changed) if isinstance(items, tuple) else changed

    def mapping(self, mapping: Mapping[str, Any], place: str) -> Any:
        changed: dict[str, Any] = {}
        before = len(self.findings)
        for key, item in mapping.items():
            is_open = type(key) is str and not self.fixed_keys
            new_key = self.text(key, place)[0] if is_open else key
            inner = f"{place}/{_escaped(new_key)}"
            if key in _STRUCTURAL and type(item) is str and item.isidentifier():
                changed[new_key] = item
            else:
                changed[new_key] = self.any(item, inner, str(key))
        if len(self.findings) == before:
            return mapping
        self._break_seals(mapping, changed, place)
        return changed

    def _break_seals(self, before: Mapping[str, Any], changed: dict[str, Any], place: str) -> None:
        """A signature beside a text that was changed would be refused by its issuer."""
        for key in _SEALS & changed.keys():
            if isinstance(before[key], str):
                del changed[key]
                self._gone(f"{place}/{key}", before[key])

    def _gone(self, place: str, was: str) -> None:
        self.findings.append(Finding(SEALED, place, "", len(was)))

    def value(self, value: Value, place: str) -> Any:
        before = len(self.findings)
        if isinstance(value, Source) and value.kind == "base64":
            return value  # its block knows whether it is text
        changes = self._fields(value, place)
        if type(value) is TextBlock and "text" in changes:
            changes["citations"] = self._cited(value, changes)
        if isinstance(value, DocumentBlock):
            changes.update(self._document(value, place))
        if len(self.findings) == before:
            return value
        return value.replace(**self._sound(value, changes, place))

    def _fields(self, value: Value, place: str) -> dict[str, Any]:
        changes = {}
        for name in _open_fields(type(value)):
            item = getattr(value, name)
            if item is None or item == ():
                continue
            changed = self.any(item, f"{place}/{name}")
            if changed is not item:
                changes[name] = changed
        return changes

    def _sound(self, value: Value, changes: dict[str, Any], place: str) -> dict[str, Any]:
        """Other fields that depend on a changed one."""
        signature = getattr(value, "signature", None)
        if signature is not None and changes:
            changes["signature"] = None
            self._gone(f"{place}/signature", signature)
        if isinstance(value, ToolUseBlock) and "input" in changes:
            changes["raw_arguments"] = None  # it spells an input that is gone
        if isinstance(value, Message) and value.metadata.logprobs and "content" in changes:
            # They are the text again, token by token.
            metadata = changes.get("metadata", value.metadata)
            changes["metadata"] = metadata.replace(logprobs=())
            self._gone(f"{place}/metadata/logprobs", "")
        return changes

    def _cited(self, block: TextBlock, changes: dict[str, Any]) -> tuple[Citation, ...]:
        """Citations whose ends follow their text."""
        found = self.redactor.spans(block.text)
        secrets = [block.text[span.start : span.end] for span in found]
        placeholders = [
            self.redactor.placeholder(span.kind, secret)
            for span, secret in zip(found, secrets, strict=True)
        ]
        move = moved(found, placeholders)
        citations: tuple[Citation, ...] = changes.get("citations", block.citations)
        return tuple(
            [
                each.replace(
                    start=None if each.start is None else move(each.start, False),
                    end=None if each.end is None else move(each.end, True),
                )
                for each in citations
            ]
        )

    def _document(self, block: DocumentBlock, place: str) -> dict[str, Any]:
        """The text of a document that is stored as base64."""
        text = _text_of(block)
        if text is None:
            return {}
        changed, _ = self.text(text, f"{place}/source/data")
        if changed == text:
            return {}
        data = base64.b64encode(changed.encode()).decode()
        return {"source": block.source.replace(data=data)}


def moved(found: list[Span], placeholders: list[str]) -> Callable[[int, bool], int]:
    """Maps a position in a text to the one after its spans were replaced."""

    def move(at: int, is_end: bool) -> int:
        shift = 0
        for span, placeholder in zip(found, placeholders, strict=True):
            if at >= span.end:
                shift += len(placeholder) - (span.end - span.start)
            elif at > span.start:
                return span.start + shift + (len(placeholder) if is_end else 0)
        return at + shift

    return move


def _text_of(block: DocumentBlock) -> str | None:
    kind = block.media_type or ""
    is_text = kind.startswith("text/") or kind in ("application/json", "application/xml")
    if block.source.kind != "base64" or not is_text or not block.source.data:
        return None
    try:
        return base64.b64decode(block.source.data).decode()
    except (binascii.Error, ValueError):
        return None


@cache
def _open_fields(cls: type[Value]) -> tuple[str, ...]:
    """Fields that can contain any text, unlike enumerated values."""
    hints = get_type_hints(cls)
    return tuple([name for name in cls.__struct_fields__ if _is_open(hints[name])])


def _is_open(hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return False
    if get_args(hint) and get_origin(hint) is not dict:
        return any(_is_open(each) for each in get_args(hint) if each is not ...)
    if hint is Any or hint is str or get_origin(hint) is dict or hint is dict:
        return True
    return isinstance(hint, type) and issubclass(hint, Value)


def _escaped(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


_decode = msgspec.json.Decoder(float_hook=SpelledFloat).decode
_encode = msgspec.json.Encoder(enc_hook=spelled).encode


def redact_lines(lines: Iterable[bytes], rules: Rules = ALL) -> Redacted:
    """Redacts JSON Lines; places begin with the line's index, and clean lines keep their bytes."""
    parsed = [_Line(line.rstrip(b"\r\n")) for line in lines]
    redactor = Redactor(rules)
    for line in parsed:
        redactor.learn(line.value)
    out: list[bytes] = []
    findings: list[Finding] = []
    for number, line in enumerate(parsed):
        value, found = redactor.redact(line.value)
        out.append(line.written(value) if found else line.data)
        findings += [each._replace(place=f"/{number}{each.place}") for each in found]
    return Redacted(out, tuple(findings))


class _Line:
    """One line, read as JSON where it is."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_json = True
        try:
            self.value: Any = _decode(data)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self.is_json = False
            self.value = data.decode("utf-8", "surrogateescape")

    def written(self, value: Any) -> bytes:
        return _encode(value) if self.is_json else value.encode("utf-8", "surrogateescape")
