"""Bytes, cut anywhere."""

import itertools
from typing import Any

from hypothesis import strategies as st

from interlingua.streams.frames import Frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)

OBJECTS = st.dictionaries(TEXTS, TEXTS | st.integers() | st.lists(TEXTS, max_size=2), max_size=3)

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=10)


def frames_of(decoder: Any, pieces: list[bytes]) -> list[Frame]:
    found = [frame for piece in pieces for frame in decoder.feed(piece)]
    return found + decoder.close()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    at = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(at)]
