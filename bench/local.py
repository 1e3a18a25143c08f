"""`python -m bench.local`: fifty everyday questions for the bundled local model.

Asked one after the other as `interlingua chat` asks them, with nothing but the question. Exits with
1 when more than two answers run into the limit, or half of them take more than five seconds.
`INTERLINGUA_LOCAL_WEIGHTS` asks another model, `--show` prints what was said.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import interlingua as il
from interlingua import local

MOST_CUT = 2
MOST_SECONDS = 5.0
KNOWN: dict[str, str] = {
    "What is the capital of France?": "Paris",
    "How many days are there in a leap year?": "366",
    "What colour do you get when you mix blue and yellow?": "green",
    "Who wrote Romeo and Juliet?": "Shakespeare",
    "What is 12 plus 30?": r"\b42\b",
    "What is the largest planet in the solar system?": "Jupiter",
    "What is the opposite of hot?": "cold",
    "How many minutes are in three hours?": r"\b180\b",
    "What is the freezing point of water in Celsius?": r"(?<![\d-])0\b|zero",
    'Translate "good morning" into Spanish.': "buenos d",
    "What is the plural of mouse?": "mice",
    "List the seasons of the year.": "spring.*summer.*(autumn|fall).*winter",
    "Which animal is known as man's best friend?": r"\bdog",
    "What year did the Second World War end?": "1945",
    "What is the fastest land animal?": "cheetah",
    "Is a tomato a fruit or a vegetable?": "fruit",
    "What is the square root of 81?": r"\b9\b|nine",
    "What does HTTP stand for?": "hypertext transfer protocol",
    "What is the boiling point of water?": r"\b(100|212)",
}
"""Questions with an answer that can be told by a word in it."""
OPEN = (
    "How do I boil an egg?",
    "Tell me a joke.",
    "What does a compiler do?",
    "Write a short thank-you note to a colleague.",
    "Why is the sky blue?",
    "Name three fruits.",
    "How do I cool down a cup of tea quickly?",
    "What is a good breakfast for a busy morning?",
    "Explain what an API is in one sentence.",
    "Suggest a name for a black cat.",
    "What should I pack for a weekend at the sea?",
    "Hello, how are you?",
    "Who are you?",
    "Can you help me?",
    "What is photosynthesis?",
    "Give me a tip for sleeping better.",
    "How do I say sorry to a friend?",
    "What is the difference between a lake and a river?",
    "How do I remove a coffee stain from a shirt?",
    "Write a haiku about rain.",
    "What can I cook with rice and eggs?",
    "How does a bicycle stay upright?",
    "What is Python used for?",
    "Write a Python function that adds two numbers.",
    "How often should I water a cactus?",
    "Give me two ideas for a birthday present for my mother.",
    "Summarise in one sentence: The mill by the river was closed for years. Last spring a baker "
    "bought it, and now people come from far away for the bread.",
    "How do I write a polite email asking for a day off?",
    "What is a noun?",
    "Tell me something interesting about the moon.",
    "How can I learn a new language?",
)


class Said(NamedTuple):
    """One answer, and what it took."""

    question: str
    text: str
    tokens: int
    is_cut: bool
    seconds: float
    work: float
    """Seconds of processors that the server spent; not a number where nobody counts them."""

    @property
    def is_right(self) -> bool:
        pattern = KNOWN.get(self.question)
        return pattern is not None and bool(re.search(pattern, self.text, re.I | re.S))


def work_of(pid: int) -> float:
    """Seconds of processors that a process has had."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def ask(client: il.Client, question: str, pid: int) -> Said:
    began, worked = time.monotonic(), work_of(pid)
    answer = client.generate("local", question)
    seconds, work = time.monotonic() - began, work_of(pid) - worked
    tokens = answer.usage.output_tokens if answer.usage else None
    is_cut = answer.stop_reason is il.StopReason.MAX_TOKENS
    return Said(question, answer.text, tokens or 0, is_cut, seconds, work)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.local", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print every answer")
    parser.add_argument("--count", type=int, default=50, help="ask only so many")
    chosen = parser.parse_args()
    items: list[Said] = []
    with local.start() as server, il.Client() as client:
        for question in [*KNOWN, *OPEN][: chosen.count]:
            items.append(ask(client, question, server.pid))
            if chosen.show:
                print(f"{question}\n    {items[-1].tokens} tokens: {items[-1].text!r}", flush=True)
    return told(items)


def told(said: list[Said]) -> int:
    """Print what came of it; 1 if it is not good enough."""
    cut = sum(each.is_cut for each in said)
    seconds, work = [each.seconds for each in said], [each.work for each in said]
    tokens = [each.tokens for each in said]
    known = [each for each in said if each.question in KNOWN]
    half = median(seconds)
    print(f"{len(said)} questions, {cut} answers ran into the limit (at most {MOST_CUT})")
    print(f"median {half:.1f} s (at most {MOST_SECONDS:g}), longest {max(seconds):.1f} s")
    print(
        f"median {median(work):.2f} s of a processor, {sum(tokens) / sum(work):.0f} tokens in one"
    )
    print(f"median {median(tokens):g} tokens, longest {max(tokens)}")
    print(f"{sum(each.is_right for each in known)} of {len(known)} known answers are right")
    return int(cut > MOST_CUT or half > MOST_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
