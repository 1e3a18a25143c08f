"""Which piece of one conversation is which piece of another one."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence

from tests.laws.facts.shape import MEDIA, Piece, parsed

Same = Callable[[Piece, Piece], bool]
Rest = list[str]


class Alignment:
    """`pairs`: indexes of the first conversation to those of the second. `rest`: what texts of the
    second say beyond what was found in them, by index. `retold`: pieces of the first that are only
    a part of some text now, with its index."""

    def __init__(self, ours: Sequence[Piece], theirs: Sequence[Piece]) -> None:
        self.ours, self.theirs = ours, theirs
        self.pairs: dict[int, int] = {}
        self.taken: set[int] = set()
        self.retold: dict[int, int] = {}
        self.rest: dict[int, Rest] = {
            index: [piece.text] for index, piece in enumerate(theirs) if piece.kind == "text"
        }
        self._pieces()
        self._summaries()
        self._texts()
        self._retold()

    def lost(self) -> list[int]:
        return [i for i in range(len(self.ours)) if i not in self.pairs and i not in self.retold]

    def added(self) -> list[int]:
        """Pieces of the second that are nothing of the first."""
        partly = set(self.pairs.values()) | set(self.retold.values())
        return [
            index
            for index, piece in enumerate(self.theirs)
            if index not in partly and (piece.kind != "text" or piece.text.strip())
        ]

    def _pieces(self) -> None:
        self._by("call", lambda a, b: a.name == b.name and a.data == b.data)
        self._by("call", lambda a, b: a.name == b.name)
        self._by("call", lambda a, b: a.data == b.data)
        self._results()
        for kind in MEDIA:
            self._by(kind, same_data)
        self._media()
        for kind in ("thinking", "refusal", "compaction"):
            self._by(kind, lambda a, b: a.text == b.text and a.signature == b.signature)
            self._by(kind, lambda a, b: a.text == b.text)
        for kind in ("redacted", "change", "opaque"):
            self._by(kind, lambda a, b: a.data == b.data)
        for kind in ("thinking", "refusal"):
            self._covered(kind)

    def _by(self, kind: str, same: Same) -> None:
        """Pairs of one kind, in order, of those that have none yet."""
        for i in self._open(kind):
            for j in self._free(kind):
                if same(self.ours[i], self.theirs[j]):
                    self._pair(i, j)
                    break

    def _media(self) -> None:
        """The same data, said to be of another kind."""
        for i, piece in enumerate(self.ours):
            if piece.kind in MEDIA and i not in self.pairs:
                for j, other in enumerate(self.theirs):
                    if other.kind in MEDIA and j not in self.taken and same_data(piece, other):
                        self._pair(i, j)
                        break

    def _open(self, kind: str) -> list[int]:
        return [i for i, p in enumerate(self.ours) if p.kind == kind and i not in self.pairs]

    def _free(self, kind: str) -> list[int]:
        return [j for j, p in enumerate(self.theirs) if p.kind == kind and j not in self.taken]

    def _pair(self, i: int, j: int) -> None:
        self.pairs[i] = j
        self.taken.add(j)

    def _results(self) -> None:
        """A result is that of its call, whatever ids are; one without a call is known by its id or
        its words."""
        ours, theirs = answered(self.ours), answered(self.theirs)
        for i in self._open("result"):
            call = ours.get(i)
            for j in self._free("result"):
                other = theirs.get(j)
                alone = call is None and other is None
                own = self.ours[i], self.theirs[j]
                if (call is not None and self.pairs.get(call) == other) or (
                    alone and (own[0].id == own[1].id or same_text(own[0].text, own[1].text))
                ):
                    self._pair(i, j)
                    break

    def _covered(self, kind: str) -> None:
        """Several pieces that are one now, or one that is several: the same words in a row."""
        for j in self._free(kind):
            run = cover(self.theirs[j].text, [(i, self.ours[i].text) for i in self._open(kind)])
            for i in run:
                self._pair(i, j)

    # -- texts ------------------------------------------------------------------------------------

    def _texts(self) -> None:
        for alike in (_same_role, _same_side, _any_role):
            self._equal(alike)
            self._runs(alike)
        for alike in (_same_role, _same_side, _any_role):
            self._inside(alike)

    def _equal(self, alike: Same) -> None:
        for i in self._open("text"):
            for j in self._free("text"):
                own, other = self.ours[i], self.theirs[j]
                if own.text == other.text and alike(own, other):
                    self._pair(i, j)
                    self.rest[j] = []
                    break

    def _runs(self, alike: Same) -> None:
        for j in self._free("text"):
            other = self.theirs[j]
            own = [(i, self.ours[i].text) for i in self._open("text") if alike(self.ours[i], other)]
            run = cover(other.text, own)
            for i in run:
                self._pair(i, j)
            if run:
                self.rest[j] = []
        self._split(alike)

    def _split(self, alike: Same) -> None:
        """One text that several are now."""
        for i in self._open("text"):
            own = self.ours[i]
            free = [
                (j, self.theirs[j].text) for j in self._free("text") if alike(own, self.theirs[j])
            ]
            run = cover(own.text, free)
            for j in run:
                self._pair(i, j)
                self.rest[j] = []

    def _inside(self, alike: Same) -> None:
        """Texts that others have been put beside: the longest first."""
        for i in sorted(self._open("text"), key=lambda i: -len(self.ours[i].text)):
            if not self.ours[i].text:
                continue
            for j, segments in self.rest.items():
                if alike(self.ours[i], self.theirs[j]) and take(segments, self.ours[i].text):
                    self.pairs[i] = j
                    self.taken.add(j)
                    break

    def _summaries(self) -> None:
        """Compacted history that is text now; its words may be those of other texts too."""
        for i in self._open("compaction"):
            found = self._found(self.ours[i].text)
            if found is not None:
                self.retold[i] = found

    def _retold(self) -> None:
        """What is no piece of its own kind any more may be a part of some text."""
        for i in self.lost():
            for words in said_by(self.ours[i]):
                found = self._found(words)
                found = self._found_by_line(words) if found is None else found
                found = self._found_in_a_result(words) if found is None else found
                if found is not None:
                    self.retold[i] = found
                    break

    def _found_in_a_result(self, words: str) -> int | None:
        for j, piece in enumerate(self.theirs):
            if piece.kind == "result" and words.strip() and words in piece.text:
                return j
        return None

    def _found(self, words: str) -> int | None:
        for j, segments in self.rest.items():
            if take(segments, words):
                return j
        return None

    def _found_by_line(self, words: str) -> int | None:
        """Several texts of one piece, each somewhere."""
        lines = [line for line in words.split("\n") if line.strip()]
        every = [segment for segments in self.rest.values() for segment in segments]
        if len(lines) < 2 or not all(any(line in each for each in every) for line in lines):
            return None
        places = [self._found(line) for line in lines]
        return places[0]


def _same_role(a: Piece, b: Piece) -> bool:
    return a.role == b.role


def _same_side(a: Piece, b: Piece) -> bool:
    sides = {"developer": "system"}
    return sides.get(a.role, a.role) == sides.get(b.role, b.role)


def _any_role(a: Piece, b: Piece) -> bool:
    return True


def answered(pieces: Sequence[Piece]) -> dict[int, int]:
    """Index of a result to that of the nearest earlier call with its id."""
    calls: dict[str | None, int] = {}
    found: dict[int, int] = {}
    for index, piece in enumerate(pieces):
        if piece.kind == "call":
            calls[piece.id] = index
        elif piece.kind == "result" and piece.id in calls:
            found[index] = calls[piece.id]
    return found


def cover(text: str, parts: Sequence[tuple[int, str]]) -> list[int]:
    """The first parts in a row which, put together with nothing but blanks between, are the text;
    none where there are no such."""
    for start in range(len(parts)):
        at, run = 0, []
        for index, part in parts[start:]:
            if not part:
                continue
            here = at + len(text[at:]) - len(text[at:].lstrip())
            if text.startswith(part, at):
                at += len(part)
            elif text.startswith(part, here):
                at = here + len(part)
            else:
                break
            run.append(index)
            if not text[at:].strip():
                return run
    return []


def take(segments: Rest, words: str) -> bool:
    """Take the words out of what is left of a text; they begin and end where words do."""
    if not words.strip():
        return False
    for number, segment in enumerate(segments):
        at = segment.find(words)
        end = at + len(words)
        if (
            at < 0
            or (segment[:at][-1:].isalnum() and words[0].isalnum())
            or (segment[end : end + 1].isalnum() and words[-1].isalnum())
        ):
            continue
        segments[number : number + 1] = [segment[:at], segment[end:]]
        return True
    return False


def said_by(piece: Piece) -> Iterable[str]:
    """The words by which a piece may be known in a text."""
    if piece.text:
        yield piece.text
    if isinstance(piece.data, str) and piece.data:
        yield piece.data
    if isinstance(piece.data, dict):
        for item in piece.data.values():
            if isinstance(item, str) and len(item) > 8:
                yield item


def same_data(a: Piece, b: Piece) -> bool:
    """The same media: as they are, or a text as the bytes of one."""
    if a.data == b.data:
        return True
    return any(_encoded(x.data) == y.data for x, y in ((a, b), (b, a)) if isinstance(x.data, str))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def same_text(a: str, b: str) -> bool:
    """The same words, whatever blanks are between parts; or the same JSON."""
    if a == b or a.split() == b.split():
        return True
    if a[:1] not in '{["' and b[:1] not in '{["':
        return False
    return bool(parsed(a) == parsed(b))
