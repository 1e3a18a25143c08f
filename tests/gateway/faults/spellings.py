"""`python -m tests.gateway.faults.spellings --count 5000`: what a capped key may not send, in every
way to spell JSON: escapes in names and words, forms of numbers, members said twice, blanks.

The law: none of them reaches the provider; and the same requests with a small limit, and nothing
that the provider does by itself, all do."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from interlingua.client.transport import HttpRequest, Limits
from interlingua.gateway.keys.caps import Caps
from interlingua.gateway.keys.key_admin import Terms, issue
from interlingua.gateway.keys.keys import Keys
from interlingua.store.open import open_async_store, open_store
from tests.gateway.faults.cuts import FRONTS, Sweep
from tests.gateway.loops import Answered

CAP = Decimal("0.02")
TURN = [{"role": "user", "content": "hi"}]
PAPER = {"type": "document", "source": {"type": "url", "url": "https://papers.example/a.pdf"}}
FILE = {"type": "input_file", "file_url": "https://papers.example/a.pdf"}
DATA = {"fileData": {"fileUri": "https://papers.example/a.pdf", "mimeType": "application/pdf"}}
MESSAGES = {"model": "back-anthropic", "messages": TURN, "max_tokens": 9}
CHAT = {"model": "back-openai-chat", "messages": TURN, "max_tokens": 9}
RESPONSE = {"model": "back-openai-responses", "input": "hi", "max_output_tokens": 9}
CONTENT: dict[str, Any] = {
    "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    "generationConfig": {"maxOutputTokens": 9},
}
CHEAP: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", MESSAGES),
    ("openai-chat", CHAT),
    ("openai-responses", RESPONSE),
    ("gemini", CONTENT),
]
DEAR: list[tuple[str, dict[str, Any]]] = [
    ("anthropic", {**MESSAGES, "max_tokens": 60000}),
    ("anthropic", {**MESSAGES, "messages": [{"role": "user", "content": [PAPER]}]}),
    ("anthropic", {**MESSAGES, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    ("anthropic", {**MESSAGES, "mcp_servers": [{"type": "url", "url": "https://m", "name": "m"}]}),
    ("anthropic", {**MESSAGES, "speed": "fast"}),
    ("openai-chat", {**CHAT, "max_tokens": 60000}),
    ("openai-chat", {**CHAT, "max_tokens": 4000, "n": 8}),
    ("openai-chat", {**CHAT, "service_tier": "priority"}),
    ("openai-chat", {**CHAT, "web_search_options": {}}),
    ("openai-responses", {**RESPONSE, "max_output_tokens": 60000}),
    ("openai-responses", {**RESPONSE, "input": [{"role": "user", "content": [FILE]}]}),
    ("openai-responses", {**RESPONSE, "conversation": "conv_1"}),
    ("openai-responses", {**RESPONSE, "previous_response_id": "resp_1"}),
    ("openai-responses", {**RESPONSE, "background": True}),
    ("openai-responses", {**RESPONSE, "tools": [{"type": "web_search"}]}),
    ("gemini", {**CONTENT, "generationConfig": {"maxOutputTokens": 60000}}),
    ("gemini", {**CONTENT, "generationConfig": {"maxOutputTokens": 4000, "candidateCount": 8}}),
    ("gemini", {**CONTENT, "contents": [{"role": "user", "parts": [DATA]}]}),
    ("gemini", {**CONTENT, "cachedContent": "cachedContents/1"}),
    ("gemini", {**CONTENT, "tools": [{"urlContext": {}}]}),
]
SNAKE = {
    "generationConfig": "generation_config",
    "maxOutputTokens": "max_output_tokens",
    "candidateCount": "candidate_count",
    "cachedContent": "cached_content",
    "urlContext": "url_context",
    "fileData": "file_data",
    "fileUri": "file_uri",
}


class Speller:
    """The same JSON, said otherwise."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def spell(self, value: Any) -> str:
        if isinstance(value, bool) or value is None:
            return json.dumps(value)
        if isinstance(value, int):
            return self._number(value)
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return f"[{self._blank()}{','.join([self.spell(each) for each in value])}]"
        members = list(value.items())
        if len(members) > 1 and self.chance.random() < 0.2:
            members.insert(0, (members[-1][0], 1))  # said twice: the last one counts
        return f"{{{self._blank()}{','.join([self._member(*each) for each in members])}}}"

    def _member(self, name: str, value: Any) -> str:
        if name in SNAKE and self.chance.random() < 0.3:
            name = SNAKE[name]
        return f"{self._text(name)}{self._blank()}:{self.spell(value)}"

    def _text(self, text: str) -> str:
        often = self.chance.choice((0.0, 0.1, 1.0))
        marks = [
            f"\\u{ord(mark):04x}" if self.chance.random() < often else json.dumps(mark)[1:-1]
            for mark in text
        ]
        return f'"{"".join(marks)}"'

    def _number(self, value: int) -> str:
        return self.chance.choice((f"{value}", f"{value}.0", f"{value / 1000!r}e3", f'"{value}"'))

    def _blank(self) -> str:
        return self.chance.choice(("", " ", "\n\t"))


class Down(Answered):
    """An answer that costs nothing."""

    status = 500


class Counting:
    """A provider that is down, and knows how often it was asked."""

    def __init__(self) -> None:
        self.count = 0

    async def send(self, request: HttpRequest, limits: Limits) -> Answered:
        self.count += 1
        return Down([b"{}"])


async def run(home: Path, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    place, here, speller = str(home / "caps.db"), Sweep(), Speller(seed)
    with open_store(place) as books:
        token = issue(books, "k", "/w", Terms(daily_cap_usd=CAP)).token
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    async with await open_async_store(place) as store:
        gateway, provider = here.app.gateway, Counting()
        gateway.keys, gateway.caps, gateway.transport = Keys(store), Caps(store), provider
        for number in range(count):
            is_dear = number % 4 > 0
            front, wire = speller.chance.choice(DEAR if is_dear else CHEAP)
            body = speller.spell(wire) if is_dear else json.dumps(wire)
            before = provider.count
            status = await send(here.app, front, body.encode(), token)
            reached = provider.count > before
            counts[f"{'dear' if is_dear else 'cheap'}, {status}"] += 1
            if reached == is_dear:
                wrong.append(f"{front} {status} {body}")
        await gateway.close()
    return counts, wrong


async def send(app: Any, front: str, body: bytes, token: str) -> int:
    """The status of the answer."""
    collected: list[Any] = []
    sent = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        if not sent:
            await asyncio.Event().wait()
        return sent.pop(0)

    async def take(message: Any) -> None:
        collected.append(message)

    path = FRONTS[front].replace(":streamGenerateContent", ":generateContent")
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {token}".encode())],
    }
    await app(scope, receive, take)
    status: int = collected[0]["status"]
    return status


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts, wrong = asyncio.run(run(Path(folder), arguments.count, arguments.seed))
    print(f"{sum(counts.values())} requests, {dict(sorted(counts.items()))}, {len(wrong)} wrong")
    for line in wrong[:20]:
        print(line)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
