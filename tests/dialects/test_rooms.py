"""The modules of every dialect have the same names: who knows one dialect finds the way in all."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlingua as il

DIALECTS = Path(il.__file__).parent / "dialects"
ON_THE_KERNEL = [
    *("anthropic", "bedrock", "cohere", "gemini", "gemini-interactions", "ollama"),
    *("openai-chat", "openai-responses", "openrouter"),
]
"""Dialects whose rooms are held; the others follow."""

ROOMS = {
    *("__init__", "tables", "options", "tools", "usage", "errors"),
    *("text", "thinking", "calls", "media", "citations", "hosted"),
    *("parts", "messages", "request", "response", "stream", "quirks"),
    *("stream_writer", "stream_candidate", "stream_steps"),
    *("v1_request", "v1_response", "v1_stream"),
    *("front", "signs", "hosts", "codec"),
}
"""`v1_…` are modules of an older API. A `codec` stands for `request`, `response` and `stream`
where they are another dialect's with other tables."""
STREAM_ROOMS = {"__init__", "reader", "writer", "answer"}
TRANSLATING = {"request", "response", "stream"}
NEEDED = {"__init__", "tables"}
OUTSIDE = ("interlingua.dialects.base", "interlingua.dialects.shape")
"""Where dialects look that are not on the kernel."""


def rooms_of(path: Path) -> set[str]:
    return {each.stem for each in path.iterdir() if each.suffix == ".py" or each.is_dir()} - {
        "__pycache__"
    }


@pytest.mark.parametrize("name", ON_THE_KERNEL)
def test_a_dialect_has_the_common_rooms_and_no_others(name: str) -> None:
    found = rooms_of(DIALECTS / name.replace("-", "_"))
    assert found - ROOMS == set()
    assert NEEDED - found == set()
    assert found & (TRANSLATING | {"codec"}) in (TRANSLATING, {"codec"})
    stream = DIALECTS / name.replace("-", "_") / "stream"
    if stream.is_dir():
        assert rooms_of(stream) - STREAM_ROOMS == set()


@pytest.mark.parametrize("name", ON_THE_KERNEL)
def test_a_dialect_on_the_kernel_uses_nothing_of_before(name: str) -> None:
    for path in (DIALECTS / name.replace("-", "_")).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not [each for each in OUTSIDE if f"{each} import" in text], path
        assert "dialects.streaming" not in text, path
