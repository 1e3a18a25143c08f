"""A stream that goes through untouched, but for the model's name: a client hears the name again
that it said itself."""

from __future__ import annotations

import json
import re


class Echo:
    """`said` is the client's name for the model, `name` the provider's, which may answer with an
    edition of it. Only whole frames are given to it."""

    def __init__(self, said: str, name: str) -> None:
        # In what is said, quotes are escaped: this is found in the frame itself only.
        self._told = re.compile(rb'("model"\s*:\s*)"%b[^"\\]*"' % re.escape(_inside(name)))
        self._new = b'\\g<1>"' + _inside(said).replace(b"\\", b"\\\\") + b'"'

    def __call__(self, data: bytes) -> bytes:
        return self._told.sub(self._new, data) if b'"model"' in data else data


def _inside(text: str) -> bytes:
    """The text as it stands between the quotes of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()
